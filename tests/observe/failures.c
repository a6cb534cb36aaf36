/* SPDX-License-Identifier: MIT */
/*
 * The list of failed and refused connections: what is an entry, which failures are the same one, and that peers cannot
 * push each other's entries out. causes.c has an entry for each cause.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "contract/kit/net.h"
#include "contract/kit/raw.h"
#include "observe/outcome.h"

enum { ROLE_ENTRIES = 32 };

/* ---- connects ---- */

CASE(failures_of_connects, KIT_FAMILIES)
{
    static struct kit_side s;
    struct sockaddr_storage source = kit_host(0), nobody = kit_free_address(), foreign = kit_host(0);
    struct outcome refused = {
        INITIATED, "connecting", STATUS_CONNECTION_REFUSED, REASON(REFUSED), &source, &nobody, 0
    };

    kit_side_open(&s, NULL);
    CHECK_EQ(ondk_adapter_failures(s.adapter, NULL, 0), 0);
    CHECK_STATUS(kit_connect(&s, &source, &nobody, NULL, 0), STATUS_CONNECTION_REFUSED);
    ondk_failure_t first = outcome_wait(&s, &refused, 1);
    CHECK(kit_port(&first.local) >= KIT_PORT_FIRST);
    CHECK_STATUS(kit_connect(&s, &source, &nobody, NULL, 0), STATUS_CONNECTION_REFUSED);
    refused.count = 2;
    ondk_failure_t again = outcome_wait(&s, &refused, 1);
    CHECK(again.first_time_ns == first.first_time_ns && again.last_time_ns > first.last_time_ns);
    /* A local address that is not the adapter's. */
    foreign = kit_address(kit_family() == AF_INET ? "192.0.2.7" : "2001:db8::7", 5000);
    CHECK_STATUS(kit_connect(&s, &foreign, &nobody, NULL, 0), STATUS_INVALID_ADDRESS);
    outcome_wait(&s,
                 &(struct outcome){ INITIATED, "connecting", STATUS_INVALID_ADDRESS, REASON(ADDRESS_FOREIGN), &foreign,
                                    &nobody, 0 },
                 2);
    kit_side_close(&s);
    /* Also those of closed adapters remain in the list of the process. */
    CHECK_EQ(ondk_adapter_failures(NULL, NULL, 0), 2);
}

CASE(failures_on_both_sides_of_a_reject, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct sockaddr_storage source = kit_host(0);
    struct kit_call call = { 0 };

    kit_pair_open_idle(&p);
    NTSTATUS connecting = kit_connect_start(&p.active, &call, &source, &p.listener.address, "abc", 3);
    NDK_CONNECTOR *c = kit_next_request(&p.listener);
    CHECK_STATUS(c->Dispatch->NdkReject(c, NULL, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&call, connecting), STATUS_CONNECTION_REFUSED);
    CHECK_STATUS(kit_close(c), STATUS_SUCCESS);
    ondk_failure_t a = outcome_wait(&p.active,
                                    &(struct outcome){ INITIATED, "requesting", STATUS_CONNECTION_REFUSED,
                                                       REASON(REJECTED), &source, &p.listener.address, 0 },
                                    1);
    outcome_wait(&p.passive,
                 &(struct outcome){ ACCEPTED | REFUSED, "requested", STATUS_CONNECTION_REFUSED, REASON(LOCAL_REJECT),
                                    &p.listener.address, &a.local, 0 },
                 1);
    kit_pair_close(&p);
}

CASE(failures_of_established_connections, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    struct sockaddr_storage near = kit_local_address(p.active.connector);
    CHECK_EQ(ondk_adapter_failures(NULL, NULL, 0), 0);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 8), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_send(&p.active, 2, 0, 100), STATUS_SUCCESS); /* longer than the receive */
    kit_wait_count(&p.active.disconnected, 1);
    kit_wait_count(&p.passive.disconnected, 1);
    outcome_wait(&p.active,
                 &(struct outcome){ INITIATED, "established", STATUS_CONNECTION_ABORTED, 0x02261205, &near,
                                    &p.listener.address, 0 },
                 1);
    outcome_wait(&p.passive,
                 &(struct outcome){ ACCEPTED, "established", STATUS_CONNECTION_ABORTED, 0x01311205, &p.listener.address,
                                    &near, 0 },
                 1);
    kit_pair_close(&p);
}

CASE(failures_do_not_list_normal_ends, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    kit_pair_disconnect(&p);
    kit_pair_close(&p);
    CHECK_EQ(ondk_adapter_failures(NULL, NULL, 0), 0);
}

CASE(failures_list_both_sides_of_a_close, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    kit_close_connector(&p.active); /* to the peer this is a reset */
    kit_wait_count(&p.passive.disconnected, 1);
    CHECK_EQ(ondk_adapter_failures(p.active.adapter, NULL, 0), 1);
    CHECK_EQ(ondk_adapter_failures(p.passive.adapter, NULL, 0), 1);
    kit_pair_close(&p);
}

/* A child of fork has a list of its own. */
CASE(failures_after_fork, 0)
{
    static struct kit_side s;
    struct sockaddr_storage source = kit_host(0), nobody = kit_free_address();
    int status;

    kit_side_open(&s, NULL);
    CHECK_STATUS(kit_connect(&s, &source, &nobody, NULL, 0), STATUS_CONNECTION_REFUSED);
    pid_t child = fork();
    if (child == 0) {
        CHECK_EQ(ondk_adapter_failures(NULL, NULL, 0), 0);
#ifndef __SANITIZE_THREAD__ /* which ends a child that starts threads */
        static struct kit_side own;

        kit_side_open(&own, NULL);
        CHECK_STATUS(kit_connect(&own, &source, &nobody, NULL, 0), STATUS_CONNECTION_REFUSED);
        CHECK_EQ(ondk_adapter_failures(NULL, NULL, 0), 1);
        kit_side_close(&own);
#endif
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(ondk_adapter_failures(NULL, NULL, 0), 1);
    kit_side_close(&s);
}

/* ---- floods ---- */

static int connect_from(unsigned host, const struct kit_listener *l)
{
    struct sockaddr_storage source = { 0 };
    char text[32];

    snprintf(text, sizeof text, "127.0.%u.%u", host / 250, host % 250 + 1);
    source = kit_address(text, 0);
    return raw_connect_from(&source, &l->address);
}

/* Sends bytes that are no MPA request, and waits for the end. */
static void send_garbage(unsigned host, const struct kit_listener *l)
{
    int s = connect_from(host, l);

    raw_send(s, "GET / HTTP/1.0\r\n\r\n  ", 20);
    CHECK(raw_wait_end(s));
    raw_close(s, false);
}

/*
 * Peers that fail in every way, from many sources: they have one half of the list, and one source cannot take it all.
 */
CASE(failures_in_a_flood, 0)
{
    enum { VICTIM = 1, FLOOD = 300, SOURCES = 200 };
    static struct kit_side active, passive;
    static struct kit_listener l[ROLE_ENTRIES + 8];
    struct sockaddr_storage source = kit_host(0), nobody = kit_free_address();
    ondk_failure_t all[OUTCOME_ROOM];
    uint32_t count, seen = 0;

    kit_side_open(&active, NULL);
    kit_side_open(&passive, NULL);
    for (int i = 0; i < ROLE_ENTRIES + 8; i++)
        kit_listen(&l[i], passive.adapter);
    CHECK_STATUS(kit_connect(&active, &source, &nobody, NULL, 0), STATUS_CONNECTION_REFUSED);
    send_garbage(VICTIM, &l[0]);
    /* One source repeats one failure. */
    for (int i = 0; i < FLOOD; i++)
        send_garbage(2, &l[0]);
    count = ondk_adapter_failures(passive.adapter, all, OUTCOME_ROOM);
    CHECK_EQ(count, 2);
    CHECK_EQ(all[0].count, FLOOD);
    /* One source fails in more ways than there are entries. */
    for (int i = 0; i < ROLE_ENTRIES + 8; i++)
        send_garbage(3, &l[i]);
    count = ondk_adapter_failures(passive.adapter, all, OUTCOME_ROOM);
    CHECK_EQ(count, ROLE_ENTRIES);
    CHECK_EQ(kit_port(&all[0].local), kit_port(&l[ROLE_ENTRIES + 7].address));
    for (uint32_t i = 0; i < count; i++)
        seen += (uint32_t)(((struct sockaddr_in *)&all[i].foreign)->sin_addr.s_addr != htonl(0x7f000004));
    CHECK_EQ(seen, 2); /* those of the other two sources */
    CHECK_EQ(all[ROLE_ENTRIES - 1].count, 1);
    CHECK_EQ(all[ROLE_ENTRIES - 2].count, FLOOD);
    /* Many sources push out each other, but not what this side initiated. */
    for (unsigned i = 10; i < SOURCES; i++)
        send_garbage(i, &l[0]);
    CHECK_EQ(ondk_adapter_failures(passive.adapter, all, OUTCOME_ROOM), ROLE_ENTRIES);
    CHECK_EQ(ondk_adapter_failures(active.adapter, all, OUTCOME_ROOM), 1);
    CHECK_EQ(ondk_adapter_failures(NULL, all, OUTCOME_ROOM), ROLE_ENTRIES + 1);
    for (int i = 0; i < ROLE_ENTRIES + 8; i++)
        CHECK_STATUS(kit_close(l[i].listener), STATUS_SUCCESS);
    kit_side_close(&active);
    kit_side_close(&passive);
}
