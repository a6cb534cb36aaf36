/* SPDX-License-Identifier: MIT */
/* LSN: the listener, its address, and connect requests. */
#include <errno.h>
#include <unistd.h>

#include "contract/kit/kit.h"
#include "contract/kit/net.h"
#include "contract/kit/raw.h"

/* Listens at the address, and closes the listener. Returns the status of NdkListen. */
static NTSTATUS listen_status(NDK_ADAPTER *adapter, const struct sockaddr_storage *at)
{
    static struct kit_listener l;
    NTSTATUS status;

    kit_listener_create(&l, adapter);
    status = kit_listen_status(&l, at);
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
    return status;
}

/* covers: LSN-01 */
CASE(lsn_01_listens_at_port_zero_and_tells_the_port, KIT_FAMILIES)
{
    static struct kit_pair p;
    static struct kit_listener l[20];
    struct sockaddr_storage expected;

    kit_pair_open_idle(&p);
    for (int i = 0; i < 20; i++) {
        kit_listen(&l[i], p.passive.adapter);
        CHECK(kit_port_is_dynamic(kit_port(&l[i].address)));
        expected = kit_host(kit_port(&l[i].address));
        CHECK(kit_address_equal(&l[i].address, &expected));
        for (int j = 0; j < i; j++)
            CHECK(kit_port(&l[i].address) != kit_port(&l[j].address));
    }
    kit_establish(&p.active, &p.passive, &l[11]); /* the request must arrive at the listener of this address */
    kit_exchange(&p.active, &p.passive);
    kit_close_connector(&p.passive);
    for (int i = 0; i < 20; i++)
        CHECK_STATUS(kit_close(l[i].listener), STATUS_SUCCESS);
    kit_pair_close(&p);
}

/* covers: LSN-01 */
CASE(lsn_01_listens_where_it_is_told, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage at = kit_free_address();

    kit_side_open(&p.active, NULL);
    kit_side_open(&p.passive, NULL);
    kit_listen_at(&p.listener, p.passive.adapter, &at);
    CHECK(kit_address_equal(&p.listener.address, &at));
    kit_establish(&p.active, &p.passive, &p.listener);
    kit_pair_close(&p);
}

/* covers: LSN-02 */
CASE(lsn_02_foreign_addresses, KIT_FAMILIES)
{
    bool four = kit_family() == AF_INET;
    struct sockaddr_storage foreign = kit_address(four ? "192.0.2.1" : "2001:db8::1", 0);
    struct sockaddr_storage any = kit_address(four ? "0.0.0.0" : "::", 4791), host = kit_host(0);
    static struct kit_listener l;
    NDK_ADAPTER *adapter = kit_open(2, 1);

    kit_listener_create(&l, adapter);
    CHECK_STATUS(kit_listen_status(&l, &foreign), STATUS_INVALID_ADDRESS);
    CHECK_STATUS(kit_listen_status(&l, &any), STATUS_INVALID_ADDRESS);
    CHECK_STATUS(kit_listen_status(&l, &host), STATUS_SUCCESS); /* the same listener at another address */
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
    kit_close_adapter(adapter);
}

/* An address of this host, but of another interface. */
/* covers: LSN-02 */
CASE(lsn_02_an_address_of_another_adapter, KIT_FAMILIES | KIT_NETNS)
{
    struct sockaddr_storage near = kit_cable_host(1, 0), host = kit_host(0);
    NDK_ADAPTER *on_lo, *on_near;
    struct kit_child other;

    kit_fork(&other, kit_wait_join, true);
    kit_cable(&other);
    on_lo = kit_open(2, 1);
    on_near = kit_open_interface("near");
    CHECK_STATUS(listen_status(on_lo, &near), STATUS_INVALID_ADDRESS);
    CHECK_STATUS(listen_status(on_near, &host), STATUS_INVALID_ADDRESS);
    CHECK_STATUS(listen_status(on_near, &near), STATUS_SUCCESS);
    kit_close_adapter(on_lo);
    kit_close_adapter(on_near);
    kit_join(&other);
}

/* covers: LSN-02 */
CASE(lsn_02_addresses_in_use, KIT_FAMILIES)
{
    static struct kit_side s;
    static struct kit_listener l;
    struct sockaddr_storage at = kit_free_address(), far = kit_host(0);
    struct kit_call call = { 0 };
    int foreign = raw_listen(&at), listener = raw_listen(&far), peer;
    NDK_SHARED_ENDPOINT *e;
    NTSTATUS status;

    kit_side_open(&s, NULL);
    kit_listen(&l, s.adapter);
    CHECK_STATUS(listen_status(s.adapter, &l.address), STATUS_SHARING_VIOLATION);
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
    CHECK_STATUS(listen_status(s.adapter, &l.address), STATUS_SUCCESS);
    CHECK_STATUS(listen_status(s.adapter, &at), STATUS_SHARING_VIOLATION); /* a foreign socket */
    raw_close(foreign, false);
    CHECK_STATUS(kit_shared_endpoint(s.adapter, &at, &e), STATUS_SUCCESS);
    CHECK_STATUS(listen_status(s.adapter, &at), STATUS_SHARING_VIOLATION);
    CHECK_STATUS(kit_close(e), STATUS_SUCCESS);
    CHECK_STATUS(listen_status(s.adapter, &at), STATUS_SUCCESS);
    status = kit_connect_start(&s, &call, &at, &far, NULL, 0);
    peer = raw_accept(listener);
    CHECK_STATUS(listen_status(s.adapter, &at), STATUS_SHARING_VIOLATION); /* a connector */
    kit_close_connector(&s);
    CHECK_STATUS(kit_final(&call, status), STATUS_CANCELLED);
    CHECK_STATUS(listen_status(s.adapter, &at), STATUS_SUCCESS);
    raw_close(peer, false);
    raw_close(listener, false);
    kit_side_close(&s);
}

/* covers: LSN-02 */
CASE(lsn_02_every_port_is_taken, KIT_FAMILIES | KIT_NETNS)
{
    static int sockets[KIT_PORTS];
    static struct kit_listener l;
    struct sockaddr_storage any = kit_host(0);
    NDK_ADAPTER *adapter = kit_open(2, 1);

    kit_bind_ports(sockets);
    CHECK_STATUS(listen_status(adapter, &any), STATUS_TOO_MANY_ADDRESSES);
    close(sockets[16383]);
    kit_listen(&l, adapter);
    CHECK_EQ(kit_port(&l.address), 65535);
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
    kit_close_adapter(adapter);
}

/* ---- requests ---- */

enum { DATA = 50 };

struct seen {
    ULONG inbound, outbound, len;
    uint8_t data[DATA];
    struct sockaddr_storage local, peer;
    NDK_CONNECTOR *connector;
};

static void query_inside(struct kit_listener *l, NDK_CONNECTOR *connector)
{
    struct seen *s = l->arg;

    s->connector = connector;
    s->len = sizeof s->data;
    CHECK_STATUS(connector->Dispatch->NdkGetConnectionData(connector, &s->inbound, &s->outbound, s->data, &s->len),
                 STATUS_SUCCESS);
    s->local = kit_local_address(connector);
    s->peer = kit_peer_address(connector);
}

/* covers: LSN-03 */
CASE(lsn_03_everything_is_readable_inside_the_event, KIT_FAMILIES)
{
    static struct kit_pair p;
    static struct seen seen;
    struct sockaddr_storage source = kit_free_address();
    struct kit_call call = { 0 };
    uint8_t data[DATA];
    NTSTATUS status;

    kit_need_reads(8);
    kit_pair_open_idle(&p);
    p.listener.inside = query_inside;
    p.listener.arg = &seen;
    kit_pattern(data, sizeof data, 8);
    status = kit_connect_start(&p.active, &call, &source, &p.listener.address, data, sizeof data);
    kit_wait_count(&p.listener.requests, 1);
    CHECK_EQ(seen.inbound, 8);
    CHECK_EQ(seen.outbound, 8);
    CHECK_EQ(seen.len, sizeof data);
    CHECK(kit_pattern_is(seen.data, sizeof data, 8));
    CHECK(kit_address_equal(&seen.local, &p.listener.address));
    CHECK(kit_address_equal(&seen.peer, &source));
    CHECK_STATUS(kit_close(seen.connector), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&call, status), STATUS_CONNECTION_REFUSED);
    kit_pair_close(&p);
}

enum { MANY = 50 };

/* covers: LSN-03 */
CASE(lsn_03_one_event_and_one_connector_for_each_request, KIT_FAMILIES)
{
    static struct kit_side s;
    static struct kit_listener l;
    NDK_CONNECTOR *seen[MANY];
    int peers[MANY];
    struct raw_frame f = raw_enhanced(true, 1, 1);

    kit_side_open(&s, NULL);
    kit_listen(&l, s.adapter);
    for (int i = 0; i < MANY; i++) {
        peers[i] = raw_connect(&l.address);
        f.len = 1;
        f.data[0] = (uint8_t)i;
        raw_send_frame(peers[i], false, &f);
    }
    for (int i = 0; i < MANY; i++) {
        seen[i] = kit_next_request(&l);
        for (int j = 0; j < i; j++)
            CHECK(seen[i] != seen[j]);
    }
    kit_pause();
    CHECK_EQ(atomic_load(&l.requests), MANY);
    for (int i = 0; i < MANY; i++) {
        CHECK_STATUS(kit_close(seen[i]), STATUS_SUCCESS);
        raw_close(peers[i], false);
    }
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
    kit_side_close(&s);
}

/* covers: LSN-04 */
CASE(lsn_04_paused, KIT_FAMILIES)
{
    static struct kit_pair p;
    static struct kit_side late;
    struct sockaddr_storage source = kit_host(0);
    NDK_LISTENER *l;

    kit_pair_open(&p);
    l = p.listener.listener;
    kit_side_open(&late, NULL);
    l->Dispatch->NdkControlConnectEvents(l, TRUE);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(kit_connect(&late, &source, &p.listener.address, NULL, 0), STATUS_CONNECTION_REFUSED);
    CHECK_EQ(atomic_load(&p.listener.requests), 1);
    CHECK_STATUS(listen_status(late.adapter, &p.listener.address), STATUS_SHARING_VIOLATION);
    kit_exchange(&p.active, &p.passive); /* earlier connections still work */
    l->Dispatch->NdkControlConnectEvents(l, FALSE);
    kit_close_connector(&p.active);
    kit_close_connector(&p.passive);
    CHECK_STATUS(kit_close(p.passive.qp), STATUS_SUCCESS);
    p.passive.qp = kit_qp(&p.passive, KIT_DEPTH);
    kit_establish(&late, &p.passive, &p.listener);
    kit_exchange(&late, &p.passive);
    kit_side_close(&late);
    kit_pair_close(&p);
}

/* Pause and resume may be called in any number and order; the last one counts. */
/* covers: LSN-04 */
CASE(lsn_04_paused_and_restarted_many_times, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage source = kit_host(0);
    NDK_LISTENER *l;

    kit_side_open(&p.active, NULL);
    kit_side_open(&p.passive, NULL);
    kit_listener_create(&p.listener, p.passive.adapter);
    l = p.listener.listener;
    l->Dispatch->NdkControlConnectEvents(l, TRUE); /* before it listens */
    p.listener.address = kit_free_address();
    CHECK_STATUS(kit_listen_status(&p.listener, &p.listener.address), STATUS_SUCCESS);
    CHECK_STATUS(kit_connect(&p.active, &source, &p.listener.address, NULL, 0), STATUS_CONNECTION_REFUSED);
    for (int i = 0; i < 20; i++) {
        l->Dispatch->NdkControlConnectEvents(l, FALSE);
        l->Dispatch->NdkControlConnectEvents(l, FALSE);
        l->Dispatch->NdkControlConnectEvents(l, TRUE);
        l->Dispatch->NdkControlConnectEvents(l, TRUE);
    }
    CHECK_STATUS(kit_connect(&p.active, &source, &p.listener.address, NULL, 0), STATUS_CONNECTION_REFUSED);
    l->Dispatch->NdkControlConnectEvents(l, FALSE);
    kit_establish(&p.active, &p.passive, &p.listener);
    kit_exchange(&p.active, &p.passive);
    kit_pair_close(&p);
}

/* ---- address queries ---- */

typedef NTSTATUS (*query)(void *object, PSOCKADDR buffer, ULONG *len);

static NTSTATUS of_listener(void *o, PSOCKADDR buffer, ULONG *len)
{
    NDK_LISTENER *l = o;
    return l->Dispatch->NdkGetLocalAddress(l, buffer, len);
}

static NTSTATUS of_endpoint(void *o, PSOCKADDR buffer, ULONG *len)
{
    NDK_SHARED_ENDPOINT *e = o;
    return e->Dispatch->NdkGetLocalAddress(e, buffer, len);
}

static NTSTATUS of_local(void *o, PSOCKADDR buffer, ULONG *len)
{
    NDK_CONNECTOR *c = o;
    return c->Dispatch->NdkGetLocalAddress(c, buffer, len);
}

static NTSTATUS of_peer(void *o, PSOCKADDR buffer, ULONG *len)
{
    NDK_CONNECTOR *c = o;
    return c->Dispatch->NdkGetPeerAddress(c, buffer, len);
}

static void check_query(query ask, void *object)
{
    struct sockaddr_storage host = kit_host(0);
    ULONG needed = kit_address_len(&host), len;
    uint8_t buffer[sizeof host + 1];

    for (ULONG room = 0; room < needed; room++) {
        memset(buffer, 0xab, sizeof buffer);
        len = room;
        CHECK_STATUS(ask(object, (PSOCKADDR)buffer, &len), STATUS_BUFFER_TOO_SMALL);
        CHECK_EQ(len, needed);
        CHECK_EQ(buffer[room], 0xab);
    }
    len = 0;
    CHECK_STATUS(ask(object, NULL, &len), STATUS_BUFFER_TOO_SMALL);
    CHECK_EQ(len, needed);
    memset(buffer, 0xab, sizeof buffer);
    CHECK_STATUS(ask(object, (PSOCKADDR)buffer, &len), STATUS_SUCCESS);
    CHECK_EQ(len, needed);
    CHECK_EQ(buffer[needed], 0xab);
    len = sizeof buffer;
    CHECK_STATUS(ask(object, (PSOCKADDR)buffer, &len), STATUS_SUCCESS);
    CHECK_EQ(len, needed);
    memcpy(&host, buffer, needed);
    CHECK_EQ(host.ss_family, kit_family());
    CHECK(kit_port(&host) != 0);
}

/* covers: LSN-05 */
CASE(lsn_05_short_buffers, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage any = kit_host(0);
    NDK_SHARED_ENDPOINT *e;

    kit_pair_open(&p);
    CHECK_STATUS(kit_shared_endpoint(p.active.adapter, &any, &e), STATUS_SUCCESS);
    check_query(of_listener, p.listener.listener);
    check_query(of_endpoint, e);
    check_query(of_local, p.active.connector);
    check_query(of_peer, p.active.connector);
    check_query(of_local, p.passive.connector);
    check_query(of_peer, p.passive.connector);
    CHECK_STATUS(kit_close(e), STATUS_SUCCESS);
    kit_pair_close(&p);
}

/* ---- close of the listener ---- */

/* covers: LSN-06 */
CASE(lsn_06_close_refuses_and_leaves_connections_alone, KIT_FAMILIES)
{
    static struct kit_pair p;
    static struct kit_side late;
    struct sockaddr_storage source = kit_host(0);
    struct kit_call closing = { 0 };
    NDK_LISTENER *l;

    kit_pair_open(&p);
    kit_side_open(&late, NULL);
    l = p.listener.listener;
    CHECK_STATUS(l->Dispatch->NdkCloseListener(&l->Header, kit_close_done, &closing), STATUS_PENDING);
    p.listener.listener = NULL;
    CHECK_STATUS(kit_connect(&late, &source, &p.listener.address, NULL, 0), STATUS_CONNECTION_REFUSED);
    CHECK_EQ(atomic_load(&p.listener.requests), 1);
    kit_exchange(&p.active, &p.passive);
    kit_exchange(&p.passive, &p.active);
    kit_pause();
    CHECK_EQ(atomic_load(&closing.calls), 0);
    kit_pair_disconnect(&p);
    kit_pause();
    CHECK_EQ(atomic_load(&closing.calls), 0);
    kit_close_connector(&p.passive);
    CHECK_STATUS(kit_final(&closing, STATUS_PENDING), STATUS_SUCCESS);
    kit_side_close(&late);
    kit_pair_close(&p);
}

/* covers: LSN-07 */
CASE(lsn_07_taken_until_listener_and_connectors_are_closed, KIT_FAMILIES)
{
    static struct kit_pair p, q;
    struct kit_call closing = { 0 };
    NDK_LISTENER *l;
    NTSTATUS status;

    kit_pair_open(&p);
    kit_side_open(&q.active, p.active.adapter);
    kit_side_open(&q.passive, p.passive.adapter);
    kit_establish(&q.active, &q.passive, &p.listener);
    l = p.listener.listener;
    status = l->Dispatch->NdkCloseListener(&l->Header, kit_close_done, &closing);
    p.listener.listener = NULL;
    CHECK_STATUS(listen_status(p.active.adapter, &p.listener.address), STATUS_SHARING_VIOLATION);
    kit_close_connector(&p.passive);
    CHECK_STATUS(listen_status(p.active.adapter, &p.listener.address), STATUS_SHARING_VIOLATION);
    kit_exchange(&q.active, &q.passive);
    kit_pair_disconnect(&q); /* the connection has no socket any more, but still a connector */
    CHECK_STATUS(listen_status(p.active.adapter, &p.listener.address), STATUS_SHARING_VIOLATION);
    kit_close_connector(&q.passive);
    CHECK_STATUS(kit_final(&closing, status), STATUS_SUCCESS);
    CHECK_STATUS(listen_status(p.active.adapter, &p.listener.address), STATUS_SUCCESS);
    kit_side_close(&q.active);
    kit_side_close(&q.passive);
    kit_pair_close(&p);
}
