/* SPDX-License-Identifier: MIT */
/* The lists of connections, listeners and shared endpoints: their contents, and when entries appear and disappear. */
#include <string.h>
#include <unistd.h>

#include "contract/kit/kit.h"
#include "contract/kit/raw.h"
#include "openndk/adapter.h"
#include "openndk/config.h"
#include "openndk/netstat.h"

enum { ROOM = 8 };

/* Returns the only connection of an adapter. */
static ondk_connection_t only_connection(const struct kit_side *s)
{
    ondk_connection_t all[ROOM];

    CHECK_EQ(ondk_adapter_connections(s->adapter, all, ROOM), 1);
    CHECK_EQ(all[0].if_index, kit_loopback());
    CHECK_EQ(all[0].owner_pid, getpid());
    return all[0];
}

static void check_state(const ondk_connection_t *c, const char *state)
{
    if (strcmp(c->state, state))
        kit_fail(__FILE__, __LINE__, "state: expected %s, saw %s", state, c->state);
}

CASE(list_of_connections, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_call connect = { 0 }, accept = { 0 }, ending = { 0 };
    struct sockaddr_storage source = kit_host(0);
    ondk_connection_t a, b;

    kit_pair_open_idle(&p);
    CHECK_EQ(ondk_adapter_connections(p.active.adapter, NULL, 0), 0);
    NTSTATUS connecting = kit_connect_start(&p.active, &connect, &source, &p.listener.address, NULL, 0);
    p.passive.connector = kit_next_request(&p.listener);
    a = only_connection(&p.active);
    b = only_connection(&p.passive);
    check_state(&a, "connecting");
    check_state(&b, "requested");
    CHECK(a.initiated == 1 && b.initiated == 0);
    CHECK(kit_address_equal(&a.foreign, &p.listener.address) && kit_address_equal(&b.local, &p.listener.address));
    CHECK_EQ(a.inbound_reads + a.outbound_reads, 0);
    CHECK_EQ(a.was_established + a.mpa_revision + a.crc, 0);
    NTSTATUS accepting = kit_accept_start(&p.passive, &accept, NULL, 0);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_SUCCESS);
    a = only_connection(&p.active);
    b = only_connection(&p.passive);
    check_state(&a, "replied");
    check_state(&b, "accepting");
    CHECK_STATUS(kit_complete_connect(&p.active), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_SUCCESS);
    a = only_connection(&p.active);
    b = only_connection(&p.passive);
    check_state(&a, "established");
    check_state(&b, "established");
    struct sockaddr_storage local = kit_local_address(p.active.connector);
    CHECK(kit_address_equal(&a.local, &local) && kit_address_equal(&b.foreign, &local));
    CHECK(kit_address_equal(&a.foreign, &p.listener.address) && kit_address_equal(&b.local, &p.listener.address));
    ULONG inbound, outbound;
    CHECK_STATUS(
        p.active.connector->Dispatch->NdkGetConnectionData(p.active.connector, &inbound, &outbound, NULL, NULL),
        STATUS_SUCCESS);
    CHECK_EQ(a.inbound_reads, inbound);
    CHECK_EQ(a.outbound_reads, outbound);
    NTSTATUS disconnecting = p.active.connector->Dispatch->NdkDisconnect(p.active.connector, kit_request_done, &ending);
    kit_wait_count(&p.passive.disconnected, 1);
    a = only_connection(&p.active);
    b = only_connection(&p.passive);
    check_state(&a, "disconnecting");
    check_state(&b, "peer-gone");
    CHECK_STATUS(kit_disconnect(&p.passive), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&ending, disconnecting), STATUS_SUCCESS);
    a = only_connection(&p.active);
    check_state(&a, "ended");
    CHECK(kit_address_equal(&a.local, &local)); /* still in use */
    kit_close_connector(&p.active);
    CHECK_EQ(ondk_adapter_connections(p.active.adapter, NULL, 0), 0);
    kit_pair_close(&p);
}

static ondk_listener_t only_listener(const struct kit_pair *p)
{
    ondk_listener_t all[ROOM];

    CHECK_EQ(ondk_adapter_listeners(p->passive.adapter, all, ROOM), 1);
    return all[0];
}

/* The limits of a listener, and the requests that count against them. */
CASE(list_of_waiting_requests, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct raw_frame request = raw_enhanced(true, 1, 1);
    ondk_config_t config;
    int s[2];

    ondk_config_init(&config);
    config.backlog = 3;
    config.max_unfinished = 5;
    CHECK_STATUS(ondk_configure(&config), STATUS_SUCCESS);
    kit_pair_open_idle(&p);
    ondk_listener_t l = only_listener(&p);
    CHECK(l.backlog == 3 && l.max_unfinished == 5 && l.waiting == 0 && l.abandoned == 0 && l.paused == 0);
    for (int i = 0; i < 2; i++) {
        s[i] = raw_connect(&p.listener.address);
        raw_send_frame(s[i], false, &request);
        kit_wait_count(&p.listener.requests, i + 1);
        CHECK_EQ(only_listener(&p).waiting, (uint32_t)i + 1);
    }
    raw_close(s[0], false);
    do
        l = only_listener(&p);
    while (l.abandoned != 1 || l.waiting != 1); /* the two are not changed together */
    NDK_LISTENER *listener = p.listener.listener;
    listener->Dispatch->NdkControlConnectEvents(listener, TRUE);
    CHECK_EQ(only_listener(&p).paused, 1);
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(kit_close(kit_next_request(&p.listener)), STATUS_SUCCESS);
    CHECK_EQ(only_listener(&p).waiting + only_listener(&p).abandoned, 0);
    raw_close(s[1], false);
    kit_pair_close(&p);
}

/* Each side lists the revision and the use of CRC on which both have agreed. */
static void check_agreement(uint32_t revision, uint32_t active_crc, uint32_t passive_crc)
{
    static struct kit_pair p;
    ondk_config_t config;

    ondk_config_init(&config);
    config.mpa_revision = revision;
    config.crc = active_crc;
    CHECK_STATUS(ondk_configure(&config), STATUS_SUCCESS);
    kit_side_open(&p.active, NULL);
    config.crc = passive_crc;
    CHECK_STATUS(ondk_configure(&config), STATUS_SUCCESS);
    kit_side_open(&p.passive, NULL);
    kit_listen(&p.listener, p.passive.adapter);
    kit_establish(&p.active, &p.passive, &p.listener);
    ondk_connection_t a = only_connection(&p.active), b = only_connection(&p.passive);
    CHECK(a.was_established == 1 && b.was_established == 1);
    CHECK(a.mpa_revision == revision && b.mpa_revision == revision);
    CHECK(a.crc == (active_crc | passive_crc) && b.crc == a.crc);
    kit_pair_close(&p);
}

CASE(list_what_was_agreed, KIT_FAMILIES)
{
    check_agreement(2, 1, 0);
    check_agreement(2, 0, 0);
    check_agreement(1, 0, 1);
    check_agreement(0, 0, 0);
}

/*
 * While connecting to a silent peer, the entry has the requested addresses; after a failure, those of the next attempt.
 */
CASE(list_while_connecting, KIT_FAMILIES)
{
    static struct kit_side s;
    struct kit_call call = { 0 };
    struct sockaddr_storage source = kit_host(0), silent = kit_host(0), nobody = kit_free_address();
    int listener = raw_listen(&silent);

    kit_side_open(&s, NULL);
    CHECK_STATUS(kit_connect(&s, &source, &nobody, NULL, 0), STATUS_CONNECTION_REFUSED);
    CHECK_EQ(ondk_adapter_connections(s.adapter, NULL, 0), 0);
    NTSTATUS connecting = kit_connect_start(&s, &call, &source, &silent, NULL, 0);
    int peer = raw_accept(listener);
    ondk_connection_t c = only_connection(&s);
    check_state(&c, "connecting");
    CHECK(kit_address_equal(&c.foreign, &silent));
    CHECK(kit_address_equal(&c.local, &source));
    kit_close_connector(&s);
    CHECK_STATUS(kit_final(&call, connecting), STATUS_CANCELLED);
    CHECK_EQ(ondk_adapter_connections(s.adapter, NULL, 0), 0);
    raw_close(peer, false);
    raw_close(listener, false);
    kit_side_close(&s);
}

CASE(list_of_listeners, KIT_FAMILIES)
{
    static struct kit_listener l[3];
    struct sockaddr_storage at = kit_host(0);
    ondk_listener_t all[ROOM];
    NDK_ADAPTER *adapter = kit_open(2, 1);

    CHECK_EQ(ondk_adapter_listeners(adapter, all, ROOM), 0);
    kit_listener_create(&l[0], adapter);
    CHECK_EQ(ondk_adapter_listeners(adapter, all, ROOM), 1);
    CHECK(all[0].local.ss_family == 0 && !strcmp(all[0].state, "idle"));
    CHECK_STATUS(kit_listen_status(&l[0], &at), STATUS_SUCCESS);
    CHECK_EQ(ondk_adapter_listeners(adapter, all, ROOM), 1);
    CHECK(!strcmp(all[0].state, "listening"));
    ULONG size = sizeof at;
    CHECK_STATUS(l[0].listener->Dispatch->NdkGetLocalAddress(l[0].listener, (PSOCKADDR)&at, &size), STATUS_SUCCESS);
    CHECK(kit_address_equal(&all[0].local, &at));
    CHECK_EQ(all[0].if_index, kit_loopback());
    CHECK_EQ(all[0].owner_pid, getpid());
    kit_listen(&l[1], adapter);
    kit_listen(&l[2], adapter);
    memset(all, 0xa5, sizeof all);
    CHECK_EQ(ondk_adapter_listeners(adapter, all, 2), 3); /* more entries than the array has */
    CHECK(!strcmp(all[1].state, "listening") && all[2].if_index == 0xa5a5a5a5);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(kit_close(l[i].listener), STATUS_SUCCESS);
    CHECK_EQ(ondk_adapter_listeners(adapter, all, ROOM), 0);
    ondk_close_adapter(adapter);
}

CASE(list_of_endpoints, KIT_FAMILIES)
{
    struct sockaddr_storage any = kit_host(0), local = { 0 };
    ULONG size = sizeof local;
    ondk_endpoint_t all[ROOM];
    NDK_SHARED_ENDPOINT *e;
    NDK_ADAPTER *adapter = kit_open(2, 1), *other = kit_open(2, 1);

    CHECK_STATUS(kit_shared_endpoint(adapter, &any, &e), STATUS_SUCCESS);
    CHECK_STATUS(e->Dispatch->NdkGetLocalAddress(e, (PSOCKADDR)&local, &size), STATUS_SUCCESS);
    CHECK_EQ(ondk_adapter_endpoints(adapter, all, ROOM), 1);
    CHECK(kit_address_equal(&all[0].local, &local));
    CHECK_EQ(all[0].if_index, kit_loopback());
    CHECK_EQ(all[0].owner_pid, getpid());
    CHECK_EQ(ondk_adapter_endpoints(other, all, ROOM), 0); /* each adapter has its own list */
    CHECK_STATUS(kit_close(e), STATUS_SUCCESS);
    CHECK_EQ(ondk_adapter_endpoints(adapter, all, ROOM), 0);
    ondk_close_adapter(adapter);
    ondk_close_adapter(other);
}

/* ---- lists while everything comes and goes ---- */

enum { ROUNDS = 150, MAKERS = 2 };
static atomic_int makers_left;

static void *make_and_close(void *arg)
{
    NDK_ADAPTER *adapter = arg;
    struct sockaddr_storage source = kit_host(0), nobody = kit_host(9);
    static struct kit_listener l[MAKERS];
    static struct kit_side s[MAKERS];
    static atomic_int next;
    int me = atomic_fetch_add(&next, 1);

    kit_side_open(&s[me], adapter);
    for (int i = 0; i < ROUNDS; i++) {
        NDK_SHARED_ENDPOINT *e;
        CHECK_STATUS(kit_shared_endpoint(adapter, &source, &e), STATUS_SUCCESS);
        memset(&l[me], 0, sizeof l[me]);
        kit_listen(&l[me], adapter);
        CHECK_STATUS(kit_connect(&s[me], &source, &nobody, NULL, 0), STATUS_CONNECTION_REFUSED);
        kit_close_connector(&s[me]);
        CHECK_STATUS(kit_close(e), STATUS_SUCCESS);
        CHECK_STATUS(kit_close(l[me].listener), STATUS_SUCCESS);
    }
    kit_side_close(&s[me]);
    atomic_fetch_sub(&makers_left, 1);
    return NULL;
}

CASE(list_during_churn, 0)
{
    pthread_t threads[MAKERS];
    ondk_connection_t connections[ROOM];
    ondk_listener_t listeners[ROOM];
    ondk_endpoint_t endpoints[ROOM];
    NDK_ADAPTER *adapter = kit_open(2, 1);

    atomic_store(&makers_left, MAKERS);
    for (int i = 0; i < MAKERS; i++)
        CHECK(pthread_create(&threads[i], NULL, make_and_close, adapter) == 0);
    while (atomic_load(&makers_left)) {
        uint32_t n = ondk_adapter_connections(adapter, connections, ROOM);
        CHECK(n <= MAKERS);
        for (uint32_t i = 0; i < n; i++)
            CHECK(connections[i].state && connections[i].foreign.ss_family == AF_INET);
        CHECK(ondk_adapter_listeners(adapter, listeners, ROOM) <= MAKERS);
        n = ondk_adapter_endpoints(adapter, endpoints, ROOM);
        CHECK(n <= MAKERS);
        for (uint32_t i = 0; i < n; i++)
            CHECK(kit_port(&endpoints[i].local) >= 49152);
    }
    for (int i = 0; i < MAKERS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK_EQ(ondk_adapter_connections(adapter, NULL, 0) + ondk_adapter_listeners(adapter, NULL, 0) +
                 ondk_adapter_endpoints(adapter, NULL, 0),
             0);
    ondk_close_adapter(adapter);
}

/* ---- lists of many objects ---- */

enum { MANY = 150, CHURNED = 90, READINGS = 1000 };
static atomic_bool churn_ends;

static NDK_PD *make_pd(NDK_ADAPTER *adapter)
{
    struct kit_call call = { 0 };
    NDK_PD *pd;

    CHECK_STATUS(kit_final(&call, adapter->Dispatch->NdkCreatePd(adapter, kit_create_done, &call, &pd)),
                 STATUS_SUCCESS);
    return pd;
}

/*
 * As of a caller with a later version of the struct. Writing it takes long, so that many objects end during a reading.
 */
struct wide_entry {
    ondk_protection_domain_t pd;
    char later[16384];
};

/* Ids must fall, so that no object is listed twice. Returns how many of the ids are those of `lasting`. */
static uint32_t count_lasting(const struct wide_entry *all, uint32_t count, const uint32_t *lasting)
{
    uint32_t found = 0, next = MANY;

    for (uint32_t i = 0; i < count; i++) {
        CHECK(i == 0 || all[i].pd.id < all[i - 1].pd.id);
        while (next > 0 && lasting[next - 1] > all[i].pd.id)
            next--;
        found += next > 0 && lasting[next - 1] == all[i].pd.id;
    }
    return found;
}

CASE(list_of_many, 0)
{
    static ondk_protection_domain_t all[MANY + 1];
    static NDK_PD *pds[MANY];
    NDK_ADAPTER *adapter = kit_open(2, 1);

    for (int i = 0; i < MANY; i++)
        pds[i] = make_pd(adapter);
    CHECK_EQ(ondk_adapter_protection_domains(adapter, NULL, 0), MANY);
    for (uint32_t capacity = 1; capacity <= MANY + 1; capacity++) {
        memset(all, 0xa5, sizeof all);
        CHECK_EQ(ondk_adapter_protection_domains(adapter, all, capacity), MANY);
        for (uint32_t i = 0; i < capacity && i < MANY; i++)
            CHECK_EQ(all[i].id, MANY - i);
        CHECK(capacity > MANY || all[capacity].id == 0xa5a5a5a5);
    }
    for (int i = 0; i < MANY; i++)
        CHECK_STATUS(kit_close(pds[i]), STATUS_SUCCESS);
    CHECK_EQ(ondk_adapter_protection_domains(adapter, all, MANY), 0);
    ondk_close_adapter(adapter);
}

struct churn {
    NDK_ADAPTER *adapter;
    NDK_PD *pds[CHURNED];
};

/* Replaces objects in an order that ends them all over the list. */
static void *replace_pds(void *arg)
{
    struct churn *c = arg;

    for (unsigned i = 0; !atomic_load(&churn_ends); i += 37) {
        CHECK_STATUS(kit_close(c->pds[i % CHURNED]), STATUS_SUCCESS);
        c->pds[i % CHURNED] = make_pd(c->adapter);
    }
    for (int i = 0; i < CHURNED; i++)
        CHECK_STATUS(kit_close(c->pds[i]), STATUS_SUCCESS);
    return NULL;
}

/* An object that exists all the time is listed exactly once, although its neighbors in the list come and go. */
CASE(list_of_many_during_churn, 0)
{
    enum { ROOM_FOR_ALL = 2 * (MANY + CHURNED) };
    static struct wide_entry all[ROOM_FOR_ALL];
    static struct churn c;
    static NDK_PD *pds[MANY];
    static uint32_t lasting[MANY];
    pthread_t thread;
    NDK_ADAPTER *adapter = c.adapter = kit_open(2, 1);

    for (int i = 0; i < MANY; i++) {
        pds[i] = make_pd(adapter);
        CHECK_EQ(ondk_adapter_protection_domains(adapter, &all[0].pd, 1), i + 1 + (i < CHURNED ? i : CHURNED));
        lasting[i] = all[0].pd.id;
        if (i < CHURNED)
            c.pds[i] = make_pd(adapter);
    }
    atomic_store(&churn_ends, false);
    CHECK(pthread_create(&thread, NULL, replace_pds, &c) == 0);
    for (int i = 0; i < READINGS; i++) {
        uint32_t count = ondk_adapter_protection_domains_sized(adapter, &all[0].pd, ROOM_FOR_ALL, sizeof all[0]);
        CHECK(count <= ROOM_FOR_ALL);
        CHECK_EQ(count_lasting(all, count, lasting), MANY);
        count = ondk_adapter_protection_domains(adapter, NULL, 0);
        CHECK(count >= MANY + CHURNED - 1 && count <= MANY + CHURNED);
    }
    atomic_store(&churn_ends, true);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_EQ(ondk_adapter_protection_domains(adapter, NULL, 0), MANY);
    for (int i = 0; i < MANY; i++)
        CHECK_STATUS(kit_close(pds[i]), STATUS_SUCCESS);
    ondk_close_adapter(adapter);
}
