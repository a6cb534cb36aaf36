/* SPDX-License-Identifier: MIT */
/* Listeners, shared endpoints and connectors of the consumers: see sim_consumer.h. */
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "openndk/adapter.h"
#include "sim/sim.h"
#include "sim/sim_consumer.h"
#include "sim/sim_net.h"
#include "sim/sim_traffic.h"

enum { ID = 4, ATTEMPTS = 64, MOST_PRIVATE = 508, REQUEST_DATA = 1000, REPLY_DATA = 2000, READ_LIMIT = 8 };

enum phase {
    FRESH,      /* can connect */
    CONNECTING,
    REPLIED,    /* the peer has accepted */
    COMPLETING,
    REQUESTED,  /* a peer asks */
    ACCEPTING,
    UP,
    LEAVING,    /* disconnect is pending */
    OVER,
};

struct conn {
    struct obj o;
    bool active;
    enum phase phase;
    struct qp *qp;
    struct conn *peer;
    struct obj *endpoint;
    unsigned attempt, request_len[ATTEMPTS]; /* the active side's private data */
    unsigned reply_len;                      /* the passive side's */
    bool answered;                   /* the passive side's: reply_len holds */
    bool left;                       /* disconnect has taken effect */
    bool told;                       /* that the peer is gone */
    unsigned posted_before;          /* when disconnect was called */
    NTSTATUS parted;                 /* how disconnect ended */
};

struct listening {
    struct obj o;
    bool listening, paused;
    struct addr address;
};

static const NTSTATUS connect_ends[] = {
    STATUS_SUCCESS, STATUS_NETWORK_UNREACHABLE, STATUS_HOST_UNREACHABLE, STATUS_CONNECTION_REFUSED, STATUS_IO_TIMEOUT,
    STATUS_SHARING_VIOLATION, STATUS_INVALID_ADDRESS, STATUS_TOO_MANY_ADDRESSES, STATUS_ADDRESS_ALREADY_EXISTS,
    STATUS_INSUFFICIENT_RESOURCES, STATUS_CANCELLED, STATUS_PENDING};
static const NTSTATUS shared_ends[] = {
    STATUS_SUCCESS, STATUS_NETWORK_UNREACHABLE, STATUS_HOST_UNREACHABLE, STATUS_CONNECTION_REFUSED, STATUS_IO_TIMEOUT,
    STATUS_ADDRESS_ALREADY_EXISTS, STATUS_INSUFFICIENT_RESOURCES, STATUS_CANCELLED, STATUS_PENDING};
static const NTSTATUS establish_ends[] = {
    STATUS_SUCCESS, STATUS_CONNECTION_ABORTED, STATUS_IO_TIMEOUT, STATUS_CANCELLED, STATUS_PENDING};
static const NTSTATUS disconnect_ends[] = {
    STATUS_SUCCESS, STATUS_CONNECTION_ABORTED, STATUS_IO_TIMEOUT, STATUS_CANCELLED, STATUS_PENDING};
static const NTSTATUS listen_ends[] = {
    STATUS_SUCCESS, STATUS_INSUFFICIENT_RESOURCES, STATUS_SHARING_VIOLATION, STATUS_INVALID_ADDRESS,
    STATUS_TOO_MANY_ADDRESSES, STATUS_CANCELLED, STATUS_PENDING};
static const NTSTATUS success_alone[] = {STATUS_SUCCESS, STATUS_PENDING};
static const NTSTATUS invalid_alone[] = {STATUS_CONNECTION_INVALID, STATUS_PENDING};

static const NTSTATUS *only_success(const NTSTATUS *usual)
{
    return sim_scenario.orderly ? success_alone : usual;
}

static uint64_t limit(unsigned ms)
{
    return ms * SIM_MS + 3 * SIM_SECOND;
}

static const ondk_config_t *config(const struct conn *c)
{
    return &sim_scenario.config[c->o.host];
}

/* The queue pair may see its requests cancelled, or lost, from now on. */
static void disturb(struct conn *c)
{
    if (c->qp)
        c->qp->disturbed = true;
}

static struct conn *conn_at(unsigned id)
{
    return id < object_count && objects[id]->kind == CONNECTOR ? (struct conn *)objects[id] : NULL;
}

unsigned connection_count(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < object_count; i++)
        count += conn_at(i) && conn_at(i)->phase != FRESH && conn_at(i)->phase != OVER;
    return count;
}

/* ---- private data ---- */

static unsigned fill_private(struct conn *c, uint8_t *data, unsigned least, unsigned number)
{
    unsigned most = config(c)->max_private, len;

    len = least + (unsigned)sim_below(most - least + 1);
    for (unsigned i = 0; i < len; i++)
        data[i] = traffic_byte(c->o.id, number, i);
    if (least) {
        uint16_t name[2] = {(uint16_t)c->o.id, (uint16_t)c->attempt};

        memcpy(data, name, ID);
    }
    return len;
}

/* silent: the peer may have said nothing. */
static unsigned get_private(struct conn *c, uint8_t *data, bool silent)
{
    ULONG len = MOST_PRIVATE, in = 0, out = 0;
    NDK_CONNECTOR *n = c->o.ndk.connector;
    NTSTATUS status;

    c->o.calls++;
    status = n->Dispatch->NdkGetConnectionData(n, &in, &out, data, &len);
    c->o.calls--;
    if (silent && status == STATUS_INVALID_DEVICE_STATE)
        return 0;
    sim_check(status == STATUS_SUCCESS, "%s: connection data: %s", obj_name(&c->o), ondk_status_name(status));
    if (c->qp)
        c->qp->reads = out;
    return len;
}

static void check_private(const struct conn *c, const uint8_t *data, unsigned len, const struct conn *from,
                          unsigned expected, unsigned number, unsigned skip)
{
    sim_check(len == expected, "%s: %u bytes of private data, %s gave %u", obj_name(&c->o), len, obj_name(&from->o),
              expected);
    for (unsigned i = skip; i < len; i++)
        sim_check(data[i] == traffic_byte(from->o.id, number, i), "%s: wrong private data", obj_name(&c->o));
}

/* ---- established, and its end ---- */

static VOID peer_gone(PVOID context)
{
    struct conn *c = context;

    obj_enter(&c->o, "the peer is gone");
    sim_check(!c->told, "%s: the peer is gone twice", obj_name(&c->o));
    sim_check(c->phase == UP, "%s: the peer is gone before it was established", obj_name(&c->o));
    sim_check(!c->left, "%s: told of the peer's end after it had disconnected", obj_name(&c->o));
    sim_check(c->o.life == OPEN, "%s: told of the peer's end after it was closed", obj_name(&c->o));
    c->told = true;
    disturb(c);
    obj_leave(&c->o);
}

static VOID peer_gone_ex(PVOID context, ULONG reason)
{
    sim_check(reason != 0, "%s: gone for no reason", obj_name(context));
    peer_gone(context);
}

static void established(struct req *q, NTSTATUS status)
{
    struct conn *c = (struct conn *)q->o;
    uint8_t data[MOST_PRIVATE];

    c->phase = status ? OVER : UP;
    c->qp->connected = !status;
    if (status || c->o.life != OPEN) {
        disturb(c);
        return;
    }
    (void)get_private(c, data, false);
    if (c->active && sim_scenario.orderly)
        (void)post_send(c->qp, 0); /* where nothing else does, this lets the peer begin to send */
}

static void parted(struct req *q, NTSTATUS status)
{
    struct conn *c = (struct conn *)q->o;

    c->phase = OVER;
    c->parted = status;
    c->qp->connected = false;
    qp_check_completed(c->qp, c->posted_before, "disconnected");
}

static void disconnect(struct conn *c)
{
    NDK_CONNECTOR *n = c->o.ndk.connector;
    NTSTATUS status;
    struct req *q;

    if (!obj_is_open(&c->o) || c->phase != UP)
        return;
    disturb(c);
    c->posted_before = c->qp->posted;
    c->phase = LEAVING;
    q = req_new(&c->o, "disconnect", only_success(disconnect_ends), limit(3 * config(c)->disconnect_ms), parted);
    status = n->Dispatch->NdkDisconnect(n, req_done, q);
    c->left = true;
    req_returned(q, status);
}

void connection_disconnect(unsigned host)
{
    struct conn *c = obj_pick(CONNECTOR, host, NULL);

    if (c)
        disconnect(c);
}

/* ---- the connecting side ---- */

static void rejected_data(struct conn *c)
{
    uint8_t data[MOST_PRIVATE];
    unsigned len;

    if (c->o.life != OPEN || (len = get_private(c, data, true)) == 0)
        return;
    sim_check(c->peer && c->peer->answered, "%s: private data from nobody", obj_name(&c->o));
    check_private(c, data, len, c->peer, c->peer->reply_len, REPLY_DATA, 0);
}

/* A queue pair that has not been connected can be used by somebody else. */
static void let_go(struct conn *c)
{
    if (c->qp)
        c->qp->in_use = false;
    c->qp = NULL;
}

static void conn_gone(struct obj *o)
{
    if (((struct conn *)o)->phase == FRESH)
        let_go((struct conn *)o);
}

static void connected(struct req *q, NTSTATUS status)
{
    struct conn *c = (struct conn *)q->o;
    uint8_t data[MOST_PRIVATE];

    if (status) {
        if (status == STATUS_CONNECTION_REFUSED)
            rejected_data(c);
        c->phase = FRESH;
        c->peer = NULL;
        if (c->o.life == OPEN)
            let_go(c);
        return;
    }
    c->phase = REPLIED;
    sim_check(c->peer && c->peer->answered, "%s: nobody has accepted", obj_name(&c->o));
    c->qp->peer = c->peer->qp;
    obj_parent(&c->o, &c->qp->o);
    if (c->endpoint)
        obj_parent(&c->o, c->endpoint);
    if (c->o.life == OPEN)
        check_private(c, data, get_private(c, data, false), c->peer, c->peer->reply_len, REPLY_DATA, 0);
}

static bool is_fresh(struct obj *o)
{
    const struct conn *c = (struct conn *)o;

    return c->phase == FRESH && c->active && c->attempt + 1 < ATTEMPTS;
}

static bool is_listening(struct obj *o)
{
    return ((struct listening *)o)->listening;
}

static struct conn *conn_new(unsigned host)
{
    struct conn *c = obj_new(CONNECTOR, host, sizeof *c);
    struct obj *adapter = consumer_adapter(host);
    NDK_CONNECTOR *out = (NDK_CONNECTOR *)&obj_unwritten;

    if (!c)
        return NULL;
    c->active = true;
    c->o.gone = conn_gone;
    obj_parent(&c->o, adapter);
    obj_created(&c->o,
                adapter->ndk.adapter->Dispatch->NdkCreateConnector(adapter->ndk.adapter, obj_create_done, c, &out), &out);
    return c;
}

/* False: there is nowhere to go yet. */
static bool choose_target(struct addr *target)
{
    struct listening *l;

    if (sim_chance(sim_scenario.hopeless)) {
        *target = sim_chance(500) ? sim_net_nobody((unsigned)sim_below(3)) : sim_net_address((unsigned)sim_below(SIM_HOSTS), false);
        addr_set_port(target, (uint16_t)(1 + sim_below(10)));
        return true;
    }
    l = obj_pick(LISTENER, (unsigned)sim_below(SIM_HOSTS), is_listening);
    if (!l)
        return false;
    *target = l->address;
    return true;
}

static struct addr choose_source(unsigned host, const struct addr *target)
{
    bool strange = sim_chance(sim_scenario.hopeless);
    struct addr source = sim_net_address(strange && sim_chance(300) ? !host : host, target->sa.sa_family == AF_INET6);

    addr_set_port(&source, strange ? (uint16_t)(5000 + sim_below(3)) : 0);
    return source;
}

static struct obj *choose_endpoint(unsigned host, const struct addr *target)
{
    struct obj *e = sim_chance(250) ? obj_pick(ENDPOINT, host, NULL) : NULL;
    struct addr source;
    uint8_t raw[sizeof source];
    ULONG len = sizeof raw;

    if (!e || e->ndk.endpoint->Dispatch->NdkGetLocalAddress(e->ndk.endpoint, (PSOCKADDR)(void *)raw, &len) ||
        !addr_from(&source, raw, len) || source.sa.sa_family != target->sa.sa_family)
        return NULL;
    return e;
}

static void connect_to(struct conn *c, const struct addr *target)
{
    const ondk_config_t *limits = config(c);
    uint64_t most = limit(limits->connect_ms + limits->reply_ms);
    NDK_CONNECTOR *n = c->o.ndk.connector;
    struct obj *endpoint = choose_endpoint(c->o.host, target);
    struct addr source = choose_source(c->o.host, target);
    PSOCKADDR to = (PSOCKADDR)(uintptr_t)&target->sa;
    uint8_t data[MOST_PRIVATE];
    ULONG in = sim_scenario.orderly ? 32 : (ULONG)sim_below(READ_LIMIT), out = 1 + (ULONG)sim_below(READ_LIMIT);
    struct req *q;

    c->attempt++;
    c->request_len[c->attempt] = fill_private(c, data, ID, REQUEST_DATA + c->attempt);
    c->endpoint = endpoint;
    if (endpoint) {
        endpoint->calls++;
        q = req_new(&c->o, "connect, shared endpoint", shared_ends, most, connected);
        req_returned(q, n->Dispatch->NdkConnectWithSharedEndpoint(n, c->qp->o.ndk.qp, endpoint->ndk.endpoint, to,
                                                                  addr_len(target), in, out, data, c->request_len[c->attempt],
                                                                  req_done, q));
        endpoint->calls--;
        return;
    }
    q = req_new(&c->o, "connect", only_success(connect_ends), most, connected);
    req_returned(q, n->Dispatch->NdkConnect(n, c->qp->o.ndk.qp, &source.sa, addr_len(&source), to, addr_len(target), in,
                                            out, data, c->request_len[c->attempt], req_done, q));
}

void connection_connect(unsigned host)
{
    struct conn *c = obj_pick(CONNECTOR, host, is_fresh);
    struct qp *qp = obj_pick(QP, host, qp_is_free);
    struct addr target;

    if (!c)
        (void)conn_new(host);
    if (!qp)
        (void)qp_new(host);
    if (!c || !qp || c->o.pending || !choose_target(&target))
        return;
    /* Before the first call: somebody may act in the middle of it, and is not to do this too. */
    c->qp = qp;
    c->phase = CONNECTING;
    qp->in_use = true;
    c->o.calls++;
    qp->o.calls++;
    for (unsigned n = (unsigned)sim_below(4); n; n--)
        (void)post_receive(qp);
    connect_to(c, &target);
    qp->o.calls--;
    c->o.calls--;
}

static void complete(struct conn *c)
{
    NDK_CONNECTOR *n = c->o.ndk.connector;
    uint64_t most = limit(config(c)->establish_ms);
    struct req *q;

    c->phase = COMPLETING;
    q = req_new(&c->o, "complete", only_success(establish_ends), most, established);
    if (n->Header.Version.Major == 2 && sim_chance(500))
        req_returned(q, n->Dispatch->NdkCompleteConnectEx(n, peer_gone_ex, c, req_done, q));
    else
        req_returned(q, n->Dispatch->NdkCompleteConnect(n, peer_gone, c, req_done, q));
}

/* ---- the listening side ---- */

static void accept_it(struct conn *c)
{
    NDK_CONNECTOR *n = c->o.ndk.connector;
    uint64_t most = limit(2 * config(c)->establish_ms);
    struct qp *qp = obj_pick(QP, c->o.host, qp_is_free);
    uint8_t data[MOST_PRIVATE];
    ULONG in = sim_scenario.orderly ? 32 : (ULONG)sim_below(READ_LIMIT), out = 1 + (ULONG)sim_below(READ_LIMIT);
    struct req *q;

    if (!qp) {
        (void)qp_new(c->o.host);
        return;
    }
    /* Before the first call: somebody may act in the middle of it, and is not to do this too. */
    qp->in_use = true;
    c->phase = ACCEPTING;
    if (!post_receive(qp) && !qp->received && sim_scenario.orderly) {
        (void)region_new(c->o.host, LOCAL);
        (void)cq_new(c->o.host);
        (void)qp_new(c->o.host);
        qp->in_use = false;
        c->phase = REQUESTED;
        return;
    }
    c->qp = qp;
    c->answered = true;
    c->reply_len = fill_private(c, data, 0, REPLY_DATA);
    qp->peer = c->peer ? c->peer->qp : NULL;
    obj_parent(&c->o, &qp->o);
    q = req_new(&c->o, "accept", only_success(establish_ends), most, established);
    qp->o.calls++;
    if (n->Header.Version.Major == 2 && sim_chance(500))
        req_returned(q, n->Dispatch->NdkAcceptEx(n, qp->o.ndk.qp, in, out, data, c->reply_len, peer_gone_ex, c, req_done, q));
    else
        req_returned(q, n->Dispatch->NdkAccept(n, qp->o.ndk.qp, in, out, data, c->reply_len, peer_gone, c, req_done, q));
    qp->o.calls--;
}

static void reject(struct conn *c)
{
    NDK_CONNECTOR *n = c->o.ndk.connector;
    uint8_t data[MOST_PRIVATE];
    bool passive = c->phase == REQUESTED;
    NTSTATUS status;

    if (passive) {
        c->reply_len = fill_private(c, data, 0, REPLY_DATA);
        c->answered = true;
    }
    c->phase = OVER;
    disturb(c);
    c->o.calls++;
    status = n->Dispatch->NdkReject(n, data, passive ? c->reply_len : 0);
    c->o.calls--;
    sim_trace("%s: reject: %s", obj_name(&c->o), ondk_status_name(status));
    sim_check(status == STATUS_SUCCESS || status == STATUS_CONNECTION_ABORTED || status == STATUS_IO_TIMEOUT,
              "%s: reject answers %s", obj_name(&c->o), ondk_status_name(status));
}

static void answer(struct conn *c)
{
    bool reject_it = !sim_scenario.orderly && sim_chance(80);

    if (!obj_is_open(&c->o) || c->o.calls)
        return;
    if ((c->phase == REPLIED || c->phase == REQUESTED) && reject_it)
        reject(c);
    else if (c->phase == REPLIED)
        complete(c);
    else if (c->phase == REQUESTED)
        accept_it(c);
}

static bool waits(struct obj *o)
{
    return ((struct conn *)o)->phase == REPLIED || ((struct conn *)o)->phase == REQUESTED;
}

void connection_answer(unsigned host)
{
    struct conn *c = obj_pick(CONNECTOR, host, waits);

    if (c)
        answer(c);
}

/* Whose request this is. One of an earlier attempt, which its maker has given up, is nobody's any more. */
static void find_peer(struct conn *c)
{
    uint8_t data[MOST_PRIVATE];
    uint16_t name[2] = {0};
    unsigned len = get_private(c, data, false);
    struct conn *peer;

    if (len >= ID)
        memcpy(name, data, ID);
    peer = conn_at(name[0]);
    sim_check(peer && peer->active && name[1] <= peer->attempt, "%s: a request from nobody", obj_name(&c->o));
    check_private(c, data, len, peer, peer->request_len[name[1]], REQUEST_DATA + name[1], ID);
    sim_trace("%s: asked by %s, attempt %u", obj_name(&c->o), obj_name(&peer->o), name[1]);
    if (name[1] != peer->attempt || peer->phase != CONNECTING)
        return;
    sim_check(!peer->peer, "%s: asked twice by one attempt", obj_name(&peer->o));
    c->peer = peer;
    peer->peer = c;
}

static VOID arrived(PVOID context, NDK_CONNECTOR *n)
{
    struct listening *l = context;
    struct conn *c = obj_new(CONNECTOR, l->o.host, sizeof *c);

    sim_check(c, "too many objects");
    obj_enter(&l->o, "a request");
    sim_check(l->o.life == OPEN, "%s: a request after its close", obj_name(&l->o));
    c->o.life = OPEN;
    c->o.ndk.connector = n;
    c->phase = REQUESTED;
    obj_parent(&c->o, consumer_adapter(l->o.host));
    obj_parent(&c->o, &l->o);
    find_peer(c);
    if (sim_chance(sim_scenario.inside))
        answer(c);
    obj_leave(&l->o);
}

static void listens(struct req *q, NTSTATUS status)
{
    struct listening *l = (struct listening *)q->o;
    NDK_LISTENER *n = l->o.ndk.listener;
    struct addr raw;
    ULONG len = sizeof raw;

    if (status || l->o.life != OPEN)
        return;
    sim_check(n->Dispatch->NdkGetLocalAddress(n, &raw.sa, &len) == STATUS_SUCCESS && addr_from(&l->address, &raw, len) &&
                  addr_port(&l->address) != 0,
              "%s: no address", obj_name(&l->o));
    l->listening = true;
}

static void listen_at(struct obj *o)
{
    struct addr a = sim_net_address(o->host, sim_chance(300));
    NDK_LISTENER *n = o->ndk.listener;
    struct req *q;

    if (sim_chance(sim_scenario.hopeless))
        addr_set_port(&a, (uint16_t)(5000 + sim_below(3)));
    q = req_new(o, "listen", only_success(listen_ends), SIM_SECOND, listens);
    req_returned(q, n->Dispatch->NdkListen(n, &a.sa, addr_len(&a), req_done, q));
}

static bool is_idle(struct obj *o)
{
    return !((struct listening *)o)->listening && !o->pending;
}

void connection_listen(unsigned host)
{
    struct obj *adapter = consumer_adapter(host);
    struct listening *l = obj_pick(LISTENER, host, is_idle);
    NDK_LISTENER *out = (NDK_LISTENER *)&obj_unwritten;

    if (l) {
        listen_at(&l->o);
        return;
    }
    if (!(l = obj_new(LISTENER, host, sizeof *l)))
        return;
    l->o.born = listen_at;
    obj_parent(&l->o, adapter);
    obj_created(&l->o,
                adapter->ndk.adapter->Dispatch->NdkCreateListener(adapter->ndk.adapter, arrived, l, obj_create_done, l,
                                                                  &out),
                &out);
}

void connection_pause(unsigned host)
{
    struct listening *l = obj_pick(LISTENER, host, is_listening);

    if (!l)
        return;
    l->paused = !l->paused;
    sim_trace("%s: pause %d", obj_name(&l->o), l->paused);
    l->o.calls++;
    l->o.ndk.listener->Dispatch->NdkControlConnectEvents(l->o.ndk.listener, l->paused);
    l->o.calls--;
}

void connection_endpoint(unsigned host)
{
    struct obj *adapter = consumer_adapter(host), *o = obj_new(ENDPOINT, host, sizeof *o);
    struct addr a = sim_net_address(host, sim_chance(300));
    NDK_SHARED_ENDPOINT *out = (NDK_SHARED_ENDPOINT *)&obj_unwritten;

    if (!o)
        return;
    if (sim_chance(sim_scenario.hopeless))
        addr_set_port(&a, (uint16_t)(5000 + sim_below(3)));
    obj_parent(o, adapter);
    obj_created(o,
                adapter->ndk.adapter->Dispatch->NdkCreateSharedEndpoint(adapter->ndk.adapter, &a.sa, addr_len(&a),
                                                                        obj_create_done, o, &out),
                &out);
}

/* ---- looking, and calling at the wrong time ---- */

static bool is_up(struct obj *o)
{
    return ((struct conn *)o)->phase == UP;
}

static struct addr address_of(struct conn *c, bool own)
{
    NDK_CONNECTOR *n = c->o.ndk.connector;
    struct addr raw, a;
    ULONG len = sizeof raw;
    NTSTATUS status = own ? n->Dispatch->NdkGetLocalAddress(n, &raw.sa, &len)
                          : n->Dispatch->NdkGetPeerAddress(n, &raw.sa, &len);

    sim_check(status == STATUS_SUCCESS && addr_from(&a, &raw, len), "%s: no address: %s", obj_name(&c->o),
              ondk_status_name(status));
    return a;
}

void connection_ask(unsigned host)
{
    struct conn *c = obj_pick(CONNECTOR, host, is_up);
    struct addr mine, theirs;

    if (!c || !c->peer || !obj_is_open(&c->peer->o) || c->peer->phase == CONNECTING)
        return;
    if (c->peer->peer != c)
        return;
    mine = address_of(c, true);
    theirs = address_of(c->peer, false);
    sim_check(addr_equal(&mine, &theirs), "%s and %s disagree on an address", obj_name(&c->o), obj_name(&c->peer->o));
}

void connection_wrong(unsigned host)
{
    struct conn *c = obj_pick(CONNECTOR, host, NULL);
    NDK_CONNECTOR *n;
    struct req *q;

    if (!c || c->o.pending || c->o.calls || (c->phase != FRESH && c->phase != UP && c->phase != REQUESTED))
        return;
    n = c->o.ndk.connector;
    q = req_new(&c->o, "complete, at the wrong time", invalid_alone, SIM_SECOND, NULL);
    req_returned(q, n->Dispatch->NdkCompleteConnect(n, peer_gone, c, req_done, q));
    if (c->phase == UP)
        return;
    q = req_new(&c->o, "disconnect, at the wrong time", invalid_alone, SIM_SECOND, NULL);
    req_returned(q, n->Dispatch->NdkDisconnect(n, req_done, q));
}

struct qp *connection_any_qp(unsigned host)
{
    struct conn *c = obj_pick(CONNECTOR, host, is_up);

    return c && obj_is_open(&c->qp->o) ? c->qp : NULL;
}

/* ---- an orderly end ---- */

bool connection_all_settled(bool explain)
{
    bool all = true;

    for (unsigned i = 0; i < object_count; i++) {
        struct conn *c = conn_at(i);

        if (!c || c->phase == FRESH || c->phase == OVER)
            continue;
        answer(c);
        if (c->phase == UP && c->active && c->qp->sent == 0)
            (void)post_send(c->qp, 0);
        if (c->phase == UP && qp_is_drained(c->qp))
            continue;
        all = false;
        if (explain)
            sim_trace("%s, of %s: waits in phase %u", obj_name(&c->o), c->qp ? obj_name(&c->qp->o) : "nobody", c->phase);
    }
    return all;
}

void connection_all_established(void)
{
    for (unsigned i = 0; i < object_count; i++)
        sim_check(!conn_at(i) || conn_at(i)->phase == FRESH || conn_at(i)->phase == UP, "%s: not established",
                  obj_name(objects[i]));
}

void connection_leave(bool first)
{
    for (unsigned i = 0; i < object_count; i++) {
        struct conn *c = conn_at(i);

        if (!c || c->phase != UP)
            continue;
        /* One of the two, or both, begin; the other one follows when it is told. */
        if (c->told || (first && (c->active ? !sim_chance(300) : sim_chance(300))))
            disconnect(c);
    }
}

bool connection_all_left(void)
{
    for (unsigned i = 0; i < object_count; i++) {
        const struct conn *c = conn_at(i);

        if (c && (c->phase == UP || c->phase == LEAVING)) {
            if (c->phase == UP && c->peer && c->peer->phase == UP && !c->peer->left)
                disconnect((struct conn *)objects[i]);
            return false;
        }
    }
    return true;
}
