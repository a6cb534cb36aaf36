/* SPDX-License-Identifier: MIT */
/* The consumer that contract cases are written with: see kit.h. */
#define _GNU_SOURCE
#include "contract/kit/kit.h"
#include "contract/program/network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <time.h>
#include <unistd.h>

static const NDK_VERSION newest = { 2, 1 };

/* ---- addresses ---- */

uint32_t kit_loopback(void)
{
    uint32_t index = if_nametoindex("lo");
    CHECK(index != 0);
    return index;
}

uint32_t kit_interface(void)
{
    return network_interface.index ? network_interface.index : kit_loopback();
}

static void kit_set_port(struct sockaddr_storage *a, uint16_t port)
{
    if (a->ss_family == AF_INET)
        ((struct sockaddr_in *)a)->sin_port = htons(port);
    else
        ((struct sockaddr_in6 *)a)->sin6_port = htons(port);
}

struct sockaddr_storage kit_address(const char *text, uint16_t port)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM }, *found = NULL;
    struct sockaddr_storage a;

    memset(&a, 0, sizeof a);
    CHECK(getaddrinfo(text, NULL, &hints, &found) == 0 && found);
    memcpy(&a, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    kit_set_port(&a, port);
    return a;
}

struct sockaddr_storage kit_host(uint16_t port)
{
    int family = kit_family() == AF_INET6;
    struct sockaddr_storage a = network_interface.addresses[family];

    if (!network_interface.index)
        return kit_address(family ? "::1" : "127.0.0.1", port);
    if (!network_interface.has_address[family])
        kit_skip("the interface has no %s address", family ? "IPv6" : "IPv4");
    kit_set_port(&a, port);
    return a;
}

struct sockaddr_storage kit_free_address(void)
{
    static uint16_t next = 20000; /* each call tries another port: a port that was just closed may not be usable yet */

    for (int tries = 0; tries < 1000; tries++) {
        struct sockaddr_storage a = kit_host(next++);
        int s = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool fits = s >= 0 && bind(s, (struct sockaddr *)&a, kit_address_len(&a)) == 0;

        close(s);
        if (fits)
            return a;
    }
    kit_skip("no free port among a thousand");
}

ULONG kit_address_len(const struct sockaddr_storage *a)
{
    return a->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

uint16_t kit_port(const struct sockaddr_storage *a)
{
    return ntohs(a->ss_family == AF_INET ? ((const struct sockaddr_in *)a)->sin_port
                                         : ((const struct sockaddr_in6 *)a)->sin6_port);
}

bool kit_address_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    if (a->ss_family != b->ss_family || kit_port(a) != kit_port(b))
        return false;
    if (a->ss_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr == ((const struct sockaddr_in *)b)->sin_addr.s_addr;
    return memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr, &((const struct sockaddr_in6 *)b)->sin6_addr, 16) == 0;
}

/* ---- waiting ---- */

static pthread_mutex_t wait_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wait_change = PTHREAD_COND_INITIALIZER;

void kit_increment(atomic_int *counter)
{
    pthread_mutex_lock(&wait_lock);
    atomic_fetch_add(counter, 1);
    pthread_cond_broadcast(&wait_change);
    pthread_mutex_unlock(&wait_lock);
}

void kit_wait_count(atomic_int *counter, int value)
{
    pthread_mutex_lock(&wait_lock);
    while (atomic_load(counter) < value)
        pthread_cond_wait(&wait_change, &wait_lock);
    pthread_mutex_unlock(&wait_lock);
}

void kit_wait_calls(struct kit_call *call, int calls)
{
    kit_wait_count(&call->calls, calls);
}

void kit_pause(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 50 * 1000 * 1000 }, NULL);
}

static void call_complete(struct kit_call *call)
{
    static atomic_int completions;

    call->thread = pthread_self();
    call->order = atomic_fetch_add(&completions, 1);
    if (call->inside)
        call->inside(call);
    kit_increment(&call->calls);
}

void kit_request_done(void *context, NTSTATUS status)
{
    struct kit_call *call = context;

    call->status = status;
    call_complete(call);
}

void kit_create_done(void *context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    struct kit_call *call = context;

    call->status = status;
    call->object = object;
    call_complete(call);
}

void kit_close_done(void *context)
{
    struct kit_call *call = context;

    call->status = STATUS_SUCCESS;
    call_complete(call);
}

NTSTATUS kit_final(struct kit_call *call, NTSTATUS inline_status)
{
    if (inline_status == STATUS_PENDING) {
        kit_wait_calls(call, 1);
        CHECK_EQ(atomic_load(&call->calls), 1);
        return call->status;
    }
    CHECK_EQ(atomic_load(&call->calls), 0);
    return inline_status;
}

/* ---- objects ---- */

NTSTATUS kit_close(void *object)
{
    /* Every dispatch table except the adapter's begins with the close function. */
    struct any {
        NDK_OBJECT_HEADER header;
        const NDK_FN_CLOSE_OBJECT *dispatch;
    } *any = object;
    struct kit_call call = { 0 };

    return kit_final(&call, any->dispatch[0](&any->header, kit_close_done, &call));
}

NDK_CONNECTOR *kit_connector(NDK_ADAPTER *adapter)
{
    struct kit_call call = { 0 };
    NDK_CONNECTOR *connector = NULL;
    NTSTATUS status = adapter->Dispatch->NdkCreateConnector(adapter, kit_create_done, &call, &connector);

    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    return status == STATUS_PENDING ? (NDK_CONNECTOR *)call.object : connector;
}

NTSTATUS kit_shared_endpoint(NDK_ADAPTER *adapter, const struct sockaddr_storage *address, NDK_SHARED_ENDPOINT **out)
{
    struct kit_call call = { 0 };
    NDK_SHARED_ENDPOINT *endpoint = NULL;
    NTSTATUS status = adapter->Dispatch->NdkCreateSharedEndpoint(adapter, (PSOCKADDR)address, kit_address_len(address),
                                                                 kit_create_done, &call, &endpoint);
    NTSTATUS final = kit_final(&call, status);

    *out = status == STATUS_PENDING ? (NDK_SHARED_ENDPOINT *)call.object : endpoint;
    return final;
}

NDK_PD *kit_pd(NDK_ADAPTER *adapter)
{
    struct kit_call call = { 0 };
    NDK_PD *pd = NULL;
    NTSTATUS status = adapter->Dispatch->NdkCreatePd(adapter, kit_create_done, &call, &pd);

    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    return status == STATUS_PENDING ? (NDK_PD *)call.object : pd;
}

void kit_on_notify(void *context, NTSTATUS status)
{
    struct kit_side *s = context;

    s->cq_status = status;
    if (s->inside_notified)
        s->inside_notified(s);
    kit_increment(&s->notified);
}

void kit_on_disconnect(void *context)
{
    struct kit_side *s = context;

    if (s->inside_disconnected)
        s->inside_disconnected(s);
    kit_increment(&s->disconnected);
}

static NDK_CQ *kit_side_create_cq(struct kit_side *s)
{
    struct kit_call call = { 0 };
    NDK_CQ *cq = NULL;
    NTSTATUS status = s->adapter->Dispatch->NdkCreateCq(s->adapter, s->depth * 2, kit_on_notify, s, NULL,
                                                        kit_create_done, &call, &cq);

    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    return status == STATUS_PENDING ? (NDK_CQ *)call.object : cq;
}

static ULONG kit_min(ULONG a, ULONG b)
{
    return a < b ? a : b;
}

NDK_QP *kit_qp(struct kit_side *s, ULONG depth)
{
    struct kit_call call = { 0 };
    NDK_QP *qp = NULL;
    ULONG receive = kit_min(KIT_SGES, kit_info()->MaxReceiveRequestSge);
    ULONG initiate = kit_min(KIT_SGES, kit_info()->MaxInitiatorRequestSge);
    NTSTATUS status = s->pd->Dispatch->NdkCreateQp(s->pd, s->cq, s->cq, s, depth, depth, receive, initiate, 0,
                                                   kit_create_done, &call, &qp);

    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    return status == STATUS_PENDING ? (NDK_QP *)call.object : qp;
}

NDK_MR *kit_mr(struct kit_side *s, void *memory, ULONG len, ULONG flags, MDL *mdl, UINT32 *token)
{
    struct kit_call create = { 0 }, reg = { 0 };
    NDK_MR *mr = NULL;
    NTSTATUS status = s->pd->Dispatch->NdkCreateMr(s->pd, FALSE, kit_create_done, &create, &mr);

    CHECK_STATUS(kit_final(&create, status), STATUS_SUCCESS);
    if (status == STATUS_PENDING)
        mr = (NDK_MR *)create.object;
    kit_init_mdl(mdl, memory, len, NULL);
    status = mr->Dispatch->NdkRegisterMr(mr, mdl, len, flags, kit_request_done, &reg);
    CHECK_STATUS(kit_final(&reg, status), STATUS_SUCCESS);
    *token = mr->Dispatch->NdkGetRemoteTokenFromMr(mr);
    return mr;
}

void kit_side_open(struct kit_side *s, NDK_ADAPTER *adapter)
{
    ULONG depth = s->depth ? s->depth : KIT_DEPTH;

    memset(s, 0, sizeof *s);
    s->depth = depth;
    s->owns_adapter = adapter == NULL;
    s->adapter = adapter ? adapter : kit_open(newest.Major, newest.Minor);
    s->pd = kit_pd(s->adapter);
    s->cq = kit_side_create_cq(s);
    s->qp = kit_qp(s, depth);
    s->memory = aligned_alloc(PAGE_SIZE, KIT_MEMORY);
    CHECK(s->memory != NULL);
    memset(s->memory, 0, KIT_MEMORY);
    s->mr = kit_mr(s, s->memory, KIT_MEMORY,
                   NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ | NDK_MR_FLAG_ALLOW_REMOTE_WRITE,
                   &s->mdl, &s->remote_token);
    s->local_token = s->mr->Dispatch->NdkGetLocalTokenFromMr(s->mr);
}

void kit_side_close(struct kit_side *s)
{
    void *objects[] = { s->connector, s->qp, s->mr, s->cq, s->pd };

    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++)
        if (objects[i])
            CHECK_STATUS(kit_close(objects[i]), STATUS_SUCCESS);
    if (s->owns_adapter)
        kit_close_adapter(s->adapter);
    free(s->memory);
    memset(s, 0, sizeof *s);
}

/* ---- listeners ---- */

static void kit_on_request(void *context, NDK_CONNECTOR *connector)
{
    struct kit_listener *l = context;

    if (l->inside) {
        l->inside(l, connector);
    } else {
        pthread_mutex_lock(&l->lock);
        CHECK(atomic_load(&l->requests) < (int)(sizeof l->queue / sizeof l->queue[0]));
        l->queue[atomic_load(&l->requests)] = connector;
        pthread_mutex_unlock(&l->lock);
    }
    kit_increment(&l->requests);
}

void kit_listener_create(struct kit_listener *l, NDK_ADAPTER *adapter)
{
    struct kit_call call = { 0 };
    NTSTATUS status;

    atomic_store(&l->requests, 0);
    atomic_store(&l->taken, 0);
    pthread_mutex_init(&l->lock, NULL);
    status = adapter->Dispatch->NdkCreateListener(adapter, kit_on_request, l, kit_create_done, &call, &l->listener);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    if (status == STATUS_PENDING)
        l->listener = (NDK_LISTENER *)call.object;
}

NTSTATUS kit_listen_status(struct kit_listener *l, const struct sockaddr_storage *address)
{
    struct kit_call call = { 0 };

    return kit_final(&call, l->listener->Dispatch->NdkListen(l->listener, (PSOCKADDR)address, kit_address_len(address),
                                                             kit_request_done, &call));
}

void kit_listen_at(struct kit_listener *l, NDK_ADAPTER *adapter, const struct sockaddr_storage *address)
{
    ULONG len = sizeof l->address;

    kit_listener_create(l, adapter);
    CHECK_STATUS(kit_listen_status(l, address), STATUS_SUCCESS);
    CHECK_STATUS(l->listener->Dispatch->NdkGetLocalAddress(l->listener, (PSOCKADDR)&l->address, &len), STATUS_SUCCESS);
}

void kit_listen(struct kit_listener *l, NDK_ADAPTER *adapter)
{
    struct sockaddr_storage any_port = kit_host(0);

    kit_listen_at(l, adapter, &any_port);
}

NDK_CONNECTOR *kit_next_request(struct kit_listener *l)
{
    int mine = atomic_fetch_add(&l->taken, 1);
    NDK_CONNECTOR *connector;

    kit_wait_count(&l->requests, mine + 1);
    pthread_mutex_lock(&l->lock);
    connector = l->queue[mine];
    pthread_mutex_unlock(&l->lock);
    return connector;
}

/* ---- steps ---- */

enum { KIT_READS = 8 };

NTSTATUS kit_connect_start(struct kit_side *s, struct kit_call *call, const struct sockaddr_storage *source,
                           const struct sockaddr_storage *destination, const void *data, ULONG len)
{
    if (!s->connector)
        s->connector = kit_connector(s->adapter);
    return s->connector->Dispatch->NdkConnect(s->connector, s->qp, (PSOCKADDR)source, kit_address_len(source),
                                              (PSOCKADDR)destination, kit_address_len(destination), KIT_READS,
                                              KIT_READS, (PVOID)data, len, kit_request_done, call);
}

NTSTATUS kit_connect(struct kit_side *s, const struct sockaddr_storage *source,
                     const struct sockaddr_storage *destination, const void *data, ULONG len)
{
    struct kit_call call = { 0 };

    return kit_final(&call, kit_connect_start(s, &call, source, destination, data, len));
}

NTSTATUS kit_connect_shared_start(struct kit_side *s, struct kit_call *call, NDK_SHARED_ENDPOINT *endpoint,
                                  const struct sockaddr_storage *destination)
{
    if (!s->connector)
        s->connector = kit_connector(s->adapter);
    return s->connector->Dispatch->NdkConnectWithSharedEndpoint(s->connector, s->qp, endpoint, (PSOCKADDR)destination,
                                                                kit_address_len(destination), KIT_READS, KIT_READS,
                                                                NULL, 0, kit_request_done, call);
}

NTSTATUS kit_connect_shared(struct kit_side *s, NDK_SHARED_ENDPOINT *endpoint,
                            const struct sockaddr_storage *destination)
{
    struct kit_call call = { 0 };

    return kit_final(&call, kit_connect_shared_start(s, &call, endpoint, destination));
}

struct sockaddr_storage kit_local_address(NDK_CONNECTOR *c)
{
    struct sockaddr_storage a;
    ULONG len = sizeof a;

    memset(&a, 0, sizeof a);
    CHECK_STATUS(c->Dispatch->NdkGetLocalAddress(c, (PSOCKADDR)&a, &len), STATUS_SUCCESS);
    CHECK_EQ(len, kit_address_len(&a));
    return a;
}

struct sockaddr_storage kit_peer_address(NDK_CONNECTOR *c)
{
    struct sockaddr_storage a;
    ULONG len = sizeof a;

    memset(&a, 0, sizeof a);
    CHECK_STATUS(c->Dispatch->NdkGetPeerAddress(c, (PSOCKADDR)&a, &len), STATUS_SUCCESS);
    CHECK_EQ(len, kit_address_len(&a));
    return a;
}

NTSTATUS kit_complete_connect(struct kit_side *s)
{
    struct kit_call call = { 0 };

    return kit_final(
        &call, s->connector->Dispatch->NdkCompleteConnect(s->connector, kit_on_disconnect, s, kit_request_done, &call));
}

NTSTATUS kit_accept_start(struct kit_side *s, struct kit_call *call, const void *data, ULONG len)
{
    return s->connector->Dispatch->NdkAccept(s->connector, s->qp, KIT_READS, KIT_READS, (PVOID)data, len,
                                             kit_on_disconnect, s, kit_request_done, call);
}

NTSTATUS kit_accept(struct kit_side *s, const void *data, ULONG len)
{
    struct kit_call call = { 0 };

    return kit_final(&call, kit_accept_start(s, &call, data, len));
}

NTSTATUS kit_disconnect(struct kit_side *s)
{
    struct kit_call call = { 0 };

    return kit_final(&call, s->connector->Dispatch->NdkDisconnect(s->connector, kit_request_done, &call));
}

/*
 * Waits until the next request arrives at l, or the connect call ends without a request. Returns STATUS_SUCCESS if the
 * request has arrived, otherwise the status of the connect call.
 */
static NTSTATUS kit_wait_request(struct kit_listener *l, struct kit_call *connect, NTSTATUS connecting)
{
    int wanted = atomic_load(&l->taken) + 1;

    pthread_mutex_lock(&wait_lock);
    while (connecting == STATUS_PENDING && atomic_load(&l->requests) < wanted && atomic_load(&connect->calls) == 0)
        pthread_cond_wait(&wait_change, &wait_lock);
    pthread_mutex_unlock(&wait_lock);
    return atomic_load(&l->requests) < wanted ? kit_final(connect, connecting) : STATUS_SUCCESS;
}

/* Waits for the request, accepts it, and completes the connection. The connect call has returned `connecting`. */
static NTSTATUS kit_finish_establish(struct kit_side *active, struct kit_side *passive, struct kit_listener *l,
                                     struct kit_call *connect, NTSTATUS connecting)
{
    struct kit_call accept = { 0 };
    NTSTATUS accepting, status = kit_wait_request(l, connect, connecting);

    if (status != STATUS_SUCCESS)
        return status;
    passive->connector = kit_next_request(l);
    accepting = kit_accept_start(passive, &accept, NULL, 0);
    CHECK_STATUS(kit_final(connect, connecting), STATUS_SUCCESS);
    CHECK_STATUS(kit_complete_connect(active), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_SUCCESS);
    return STATUS_SUCCESS;
}

void kit_establish_from(struct kit_side *active, struct kit_side *passive, struct kit_listener *l,
                        const struct sockaddr_storage *source)
{
    struct kit_call call = { 0 };
    NTSTATUS connecting;

    kit_need_flag(NDK_ADAPTER_FLAG_LOOPBACK_CONNECTIONS_SUPPORTED);
    connecting = kit_connect_start(active, &call, source, &l->address, NULL, 0);
    CHECK_STATUS(kit_finish_establish(active, passive, l, &call, connecting), STATUS_SUCCESS);
}

NTSTATUS kit_try_establish(struct kit_side *active, struct kit_side *passive, struct kit_listener *l,
                           NDK_SHARED_ENDPOINT *endpoint)
{
    struct sockaddr_storage source = kit_host(0);
    struct kit_call call = { 0 };
    NTSTATUS connecting;

    kit_need_flag(NDK_ADAPTER_FLAG_LOOPBACK_CONNECTIONS_SUPPORTED);
    if (l->address.ss_family == AF_INET6) /* the listener may be on another address than loopback */
        memcpy(&((struct sockaddr_in6 *)&source)->sin6_addr, &((struct sockaddr_in6 *)&l->address)->sin6_addr, 16);
    if (endpoint)
        connecting = kit_connect_shared_start(active, &call, endpoint, &l->address);
    else
        connecting = kit_connect_start(active, &call, &source, &l->address, NULL, 0);
    return kit_finish_establish(active, passive, l, &call, connecting);
}

void kit_establish(struct kit_side *active, struct kit_side *passive, struct kit_listener *l)
{
    CHECK_STATUS(kit_try_establish(active, passive, l, NULL), STATUS_SUCCESS);
}

void kit_pair_open_idle(struct kit_pair *p)
{
    kit_need_flag(NDK_ADAPTER_FLAG_LOOPBACK_CONNECTIONS_SUPPORTED);
    kit_side_open(&p->active, NULL);
    kit_side_open(&p->passive, NULL);
    kit_listen(&p->listener, p->passive.adapter);
}

void kit_close_connector(struct kit_side *s)
{
    if (s->connector)
        CHECK_STATUS(kit_close(s->connector), STATUS_SUCCESS);
    s->connector = NULL;
}

void kit_pair_open(struct kit_pair *p)
{
    kit_pair_open_idle(p);
    kit_establish(&p->active, &p->passive, &p->listener);
}

void kit_pair_disconnect(struct kit_pair *p)
{
    struct kit_call call = { 0 };
    NDK_CONNECTOR *a = p->active.connector;
    NTSTATUS status = a->Dispatch->NdkDisconnect(a, kit_request_done, &call);

    kit_wait_count(&p->passive.disconnected, 1);
    CHECK_STATUS(kit_disconnect(&p->passive), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
}

void kit_pair_close(struct kit_pair *p)
{
    struct kit_call call = { 0 };
    NDK_LISTENER *l = p->listener.listener;
    NTSTATUS status = STATUS_SUCCESS;

    if (l) /* the close stays pending until the connectors of the listener's requests are closed */
        status = l->Dispatch->NdkCloseListener(&l->Header, kit_close_done, &call);
    kit_side_close(&p->active);
    if (p->passive.owns_adapter && p->passive.connector) {
        CHECK_STATUS(kit_close(p->passive.connector), STATUS_SUCCESS);
        p->passive.connector = NULL;
    }
    if (l)
        CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    kit_side_close(&p->passive);
}
