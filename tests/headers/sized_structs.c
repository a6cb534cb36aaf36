/* SPDX-License-Identifier: MIT */
/*
 * A program and a library of different versions. This file is compiled with the current headers, with older ones
 * (SIZED_OLDER: structs end earlier) and with newer ones (SIZED_NEWER: structs have `added` at their end), and linked
 * with the same library. resize_structs.py generates those headers.
 */
#include <net/if.h>
#include <stddef.h>
#include <string.h>

#include "contract/kit/kit.h"
#include "contract/kit/net.h"
#include "headers/true_sizes.h"
#include "openndk/adapter.h"
#include "openndk/config.h"
#include "openndk/counters.h"
#include "openndk/netstat.h"
#include "openndk/verify.h"

enum { ROOM = 4, GUARD = 512, GUARD_BYTE = 0xa5 };

#define GUARDED(type)                                                                                                  \
    struct {                                                                                                           \
        type entries[ROOM];                                                                                            \
        uint8_t guard[GUARD];                                                                                          \
    }
#define GUARD_ALL(guarded) memset(&(guarded), GUARD_BYTE, sizeof(guarded))
/* Checks that nothing behind the first n entries was written, and that members unknown to the library are zero. */
#define CHECK_GUARDED(guarded, n)                                                                                      \
    do {                                                                                                               \
        check_bytes(&(guarded).entries[n], (char *)(&(guarded) + 1) - (char *)&(guarded).entries[n], GUARD_BYTE);      \
        for (unsigned checked = 0; checked < (n); checked++)                                                           \
            CHECK_ADDED(&(guarded).entries[checked]);                                                                  \
    } while (0)
#ifdef SIZED_NEWER
#define CHECK_ADDED(entry) check_bytes((entry)->added, sizeof(entry)->added, 0)
#else
#define CHECK_ADDED(entry) ((void)(entry))
#endif

static void check_bytes(const void *bytes, size_t size, uint8_t value)
{
    for (size_t i = 0; i < size; i++)
        CHECK_EQ(((const uint8_t *)bytes)[i], value);
}

/* Returns whether creates of an adapter that is opened with these options pend. */
static bool creates_pend_with(const ondk_config_t *options)
{
    struct kit_call create = { 0 };
    NDK_ADAPTER *adapter;
    NDK_PD *pd = NULL;

    CHECK_STATUS(ondk_open_adapter_with((NDK_VERSION){ 2, 1 }, kit_loopback(), options, &adapter), STATUS_SUCCESS);
    NTSTATUS status = adapter->Dispatch->NdkCreatePd(adapter, kit_create_done, &create, &pd);
    CHECK_STATUS(kit_final(&create, status), STATUS_SUCCESS);
    (void)kit_close(status == STATUS_PENDING ? (void *)create.object : pd);
    ondk_close_adapter(adapter);
    return status == STATUS_PENDING;
}

/* The same for an adapter with the configuration of the process. */
static bool creates_pend(void)
{
    return creates_pend_with(NULL);
}

#if defined SIZED_OLDER
#define SIZE_IS_RIGHT(type, size) (sizeof(type) < (size))
#elif defined SIZED_NEWER
/* If the library's struct ended in padding, the new member would lie there, and the library would not see it. */
#define SIZE_IS_RIGHT(type, size) (offsetof(type, added) == (size))
#else
#define SIZE_IS_RIGHT(type, size) (sizeof(type) == (size))
#endif

CASE(sizes_are_different, 0)
{
    CHECK(SIZE_IS_RIGHT(ondk_config_t, true_sizes.config));
    CHECK(SIZE_IS_RIGHT(ondk_counters_t, true_sizes.counters));
    CHECK(SIZE_IS_RIGHT(ondk_adapter_entry_t, true_sizes.adapter_entry));
    CHECK(SIZE_IS_RIGHT(ondk_connection_t, true_sizes.connection));
    CHECK(SIZE_IS_RIGHT(ondk_listener_t, true_sizes.listener));
    CHECK(SIZE_IS_RIGHT(ondk_endpoint_t, true_sizes.endpoint));
    CHECK(SIZE_IS_RIGHT(ondk_failure_t, true_sizes.failure));
    CHECK(SIZE_IS_RIGHT(ondk_protection_domain_t, true_sizes.protection_domain));
    CHECK(SIZE_IS_RIGHT(ondk_completion_queue_t, true_sizes.completion_queue));
    CHECK(SIZE_IS_RIGHT(ondk_queue_pair_t, true_sizes.queue_pair));
    CHECK(SIZE_IS_RIGHT(ondk_shared_receive_queue_t, true_sizes.shared_receive_queue));
    CHECK(SIZE_IS_RIGHT(ondk_memory_region_t, true_sizes.memory_region));
    CHECK(SIZE_IS_RIGHT(ondk_memory_window_t, true_sizes.memory_window));
    CHECK(SIZE_IS_RIGHT(ondk_verify_config_t, true_sizes.verify_config));
    CHECK(SIZE_IS_RIGHT(ondk_verify_rule_t, true_sizes.verify_rule));
}

/* pend_creates represents a field that an older program does not have. The environment then sets its value. */
CASE(config_of_any_version, 0)
{
    GUARDED(ondk_config_t) c;
    void (*init)(ondk_config_t *) = ondk_config_init;

    CHECK_STATUS(ondk_configure(NULL), STATUS_SUCCESS);
    CHECK(!creates_pend());
    setenv("ONDK_PEND_CREATES", "1", 1);
    GUARD_ALL(c);
    init(&c.entries[0]);
    CHECK_GUARDED(c, 1);
    CHECK_EQ(c.entries[0].size, sizeof(ondk_config_t));
    CHECK_EQ(c.entries[0].connect_ms, 10000);
    CHECK_STATUS(ondk_config_profile(&c.entries[0], "narrow"), STATUS_SUCCESS);
    CHECK_GUARDED(c, 1);
    CHECK_EQ(c.entries[0].max_private, 56);
    CHECK_STATUS(ondk_configure(&c.entries[0]), STATUS_SUCCESS);
    CHECK(creates_pend());
#ifndef SIZED_OLDER
    c.entries[0].pend_creates = 0;
    CHECK_STATUS(ondk_configure(&c.entries[0]), STATUS_SUCCESS);
    CHECK(!creates_pend());
    c.entries[0].pend_creates = 1;
#endif
#ifdef SIZED_NEWER
    CHECK(!creates_pend());
    c.entries[0].added[3] = 1;
    CHECK_STATUS(ondk_configure(&c.entries[0]), STATUS_INVALID_PARAMETER);
    CHECK(!creates_pend()); /* nothing has changed */
    c.entries[0].added[3] = 0;
    CHECK_STATUS(ondk_configure(&c.entries[0]), STATUS_SUCCESS);
    CHECK(creates_pend());
#endif
    unsetenv("ONDK_PEND_CREATES");
    CHECK_STATUS(ondk_configure(&c.entries[0]), STATUS_SUCCESS);
#ifdef SIZED_OLDER
    CHECK(!creates_pend());
#else
    CHECK(creates_pend());
#endif
}

/* Options at open are read in the same way. */
CASE(options_of_any_version, 0)
{
    ondk_config_t c;

    CHECK_STATUS(ondk_configure(NULL), STATUS_SUCCESS);
    ondk_config_init(&c);
    CHECK(!creates_pend_with(&c));
    setenv("ONDK_PEND_CREATES", "1", 1);
#ifdef SIZED_OLDER
    CHECK(creates_pend_with(&c)); /* the program's struct lacks the field */
#else
    CHECK(!creates_pend_with(&c));
    c.pend_creates = 1;
#endif
    unsetenv("ONDK_PEND_CREATES");
#ifdef SIZED_OLDER
    CHECK(!creates_pend_with(&c));
#else
    CHECK(creates_pend_with(&c));
#endif
#ifdef SIZED_NEWER
    NDK_ADAPTER *adapter = NULL;

    c.added[3] = 1;
    CHECK_STATUS(ondk_open_adapter_with((NDK_VERSION){ 2, 1 }, kit_loopback(), &c, &adapter), STATUS_INVALID_PARAMETER);
    CHECK(!adapter);
#endif
}

/* A size that no version of the struct has is refused, and nothing changes. */
CASE(config_of_no_version, 0)
{
    static const uint32_t sizes[] = { 0, 4, 9, 4100, 0xfffffffc };
    ondk_config_t c;

    ondk_config_init(&c);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ondk_config_t before = c;

        before.size = c.size = sizes[i];
        CHECK_STATUS(ondk_configure(&c), STATUS_INVALID_PARAMETER);
        CHECK_STATUS(ondk_config_profile(&c, "narrow"), STATUS_INVALID_PARAMETER);
        CHECK(!memcmp(&before, &c, sizeof c));
    }
}

CASE(counters_of_any_version, 0)
{
    static struct kit_pair p;
    GUARDED(ondk_counters_t) c;

    kit_pair_open(&p);
    GUARD_ALL(c);
    ondk_adapter_counters(p.active.adapter, &c.entries[0]);
    CHECK_GUARDED(c, 1);
    CHECK_EQ(c.entries[0].initiated_connections, 1);
    CHECK_EQ(c.entries[0].connection_errors, 0);
    ondk_adapter_counters(p.passive.adapter, &c.entries[1]);
    CHECK_GUARDED(c, 2);
    CHECK_EQ(c.entries[1].accepted_connections, 1);
    kit_pair_close(&p);
}

CASE(adapters_of_any_version, KIT_NETNS)
{
    struct kit_child other;
    GUARDED(ondk_adapter_entry_t) a;
    bool lo = false, cable = false;

    kit_fork(&other, kit_wait_join, true);
    kit_cable(&other);
    GUARD_ALL(a);
    CHECK_EQ(ondk_enumerate_adapters(NULL, 0), 2);
    CHECK_EQ(ondk_enumerate_adapters(a.entries, ROOM), 2);
    CHECK_GUARDED(a, 2);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(a.entries[i].if_index, if_nametoindex(a.entries[i].name));
        lo = lo || !strcmp(a.entries[i].name, "lo");
        cable = cable || !strcmp(a.entries[i].name, "near");
        CHECK(a.entries[i].up && a.entries[i].address_count > 0);
    }
    CHECK(lo && cable);
    GUARD_ALL(a);
    CHECK_EQ(ondk_enumerate_adapters(a.entries, 1), 2);
    CHECK_GUARDED(a, 1);
    kit_join(&other);
}

CASE(connections_of_any_version, KIT_FAMILIES)
{
    static struct kit_side active, passive;
    static struct kit_listener l;
    NDK_ADAPTER *adapter = kit_open(2, 1);
    GUARDED(ondk_connection_t) c;

    kit_side_open(&active, adapter);
    kit_side_open(&passive, adapter);
    kit_listen(&l, adapter);
    kit_establish(&active, &passive, &l);
    GUARD_ALL(c);
    CHECK_EQ(ondk_adapter_connections(adapter, NULL, 0), 2);
    CHECK_EQ(ondk_adapter_connections(adapter, c.entries, 1), 2);
    CHECK_GUARDED(c, 1);
    CHECK_EQ(ondk_adapter_connections(adapter, c.entries, ROOM), 2);
    CHECK_GUARDED(c, 2);
    CHECK(c.entries[0].initiated + c.entries[1].initiated == 1);
    for (int i = 0; i < 2; i++) {
        CHECK(!strcmp(c.entries[i].state, "established"));
        CHECK(kit_address_equal(&c.entries[i].local, &c.entries[1 - i].foreign));
        CHECK_EQ(c.entries[i].if_index, kit_loopback());
        CHECK(c.entries[i].inbound_reads > 0);
    }
    kit_close_connector(&active);
    kit_close_connector(&passive);
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS); /* the close waits for the listener's connector */
    kit_side_close(&active);
    kit_side_close(&passive);
    kit_close_adapter(adapter);
}

CASE(listeners_of_any_version, KIT_FAMILIES)
{
    static struct kit_listener l[3];
    NDK_ADAPTER *adapter = kit_open(2, 1);
    GUARDED(ondk_listener_t) got;
    ondk_listener_t *at = got.entries;
    bool seen[3] = { false };

    for (int i = 0; i < 3; i++)
        kit_listen(&l[i], adapter);
    GUARD_ALL(got);
    CHECK_EQ(ondk_adapter_listeners(adapter, at++, 2), 3); /* its arguments are evaluated once */
    CHECK(at == &got.entries[1]);
    CHECK_GUARDED(got, 2);
    CHECK_EQ(ondk_adapter_listeners(adapter, got.entries, ROOM), 3);
    CHECK_GUARDED(got, 3);
    for (int i = 0; i < 3; i++) {
        CHECK(!strcmp(got.entries[i].state, "listening"));
        for (int j = 0; j < 3; j++)
            seen[j] = seen[j] || kit_address_equal(&got.entries[i].local, &l[j].address);
    }
    CHECK(seen[0] && seen[1] && seen[2]);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(kit_close(l[i].listener), STATUS_SUCCESS);
    kit_close_adapter(adapter);
}

CASE(endpoints_of_any_version, KIT_FAMILIES)
{
    struct sockaddr_storage any = kit_host(0), local[2] = { { 0 } };
    NDK_ADAPTER *adapter = kit_open(2, 1);
    GUARDED(ondk_endpoint_t) got;
    NDK_SHARED_ENDPOINT *e[2];

    for (int i = 0; i < 2; i++) {
        ULONG size = sizeof local[i];

        CHECK_STATUS(kit_shared_endpoint(adapter, &any, &e[i]), STATUS_SUCCESS);
        CHECK_STATUS(e[i]->Dispatch->NdkGetLocalAddress(e[i], (PSOCKADDR)&local[i], &size), STATUS_SUCCESS);
    }
    GUARD_ALL(got);
    CHECK_EQ(ondk_adapter_endpoints(adapter, got.entries, ROOM), 2);
    CHECK_GUARDED(got, 2);
    CHECK(kit_address_equal(&got.entries[0].local, &local[0]) || kit_address_equal(&got.entries[0].local, &local[1]));
    CHECK(kit_address_equal(&got.entries[1].local, &local[0]) || kit_address_equal(&got.entries[1].local, &local[1]));
    CHECK(!kit_address_equal(&got.entries[0].local, &got.entries[1].local));
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(kit_close(e[i]), STATUS_SUCCESS);
    kit_close_adapter(adapter);
}

CASE(failures_of_any_version, KIT_FAMILIES)
{
    static struct kit_side s;
    struct sockaddr_storage source = kit_host(0), to[2];
    GUARDED(ondk_failure_t) got;

    kit_side_open(&s, NULL);
    for (int i = 0; i < 2; i++) {
        to[i] = kit_free_address();
        CHECK_STATUS(kit_connect(&s, &source, &to[i], NULL, 0), STATUS_CONNECTION_REFUSED);
    }
    GUARD_ALL(got);
    CHECK_EQ(ondk_adapter_failures(s.adapter, got.entries, 1), 2);
    CHECK_GUARDED(got, 1);
    CHECK_EQ(ondk_adapter_failures(s.adapter, got.entries, ROOM), 2);
    CHECK_GUARDED(got, 2);
    for (int i = 0; i < 2; i++) {
        CHECK(kit_address_equal(&got.entries[i].foreign, &to[1 - i]));
        CHECK(!strcmp(got.entries[i].phase, "connecting"));
        CHECK_EQ(got.entries[i].reason, 0x00210000);
    }
    kit_side_close(&s);
}

/* The list has two objects. Copies one of them, then both. */
#define CHECK_OBJECTS(type, list)                                                                                      \
    do {                                                                                                               \
        GUARDED(type) got;                                                                                             \
        GUARD_ALL(got);                                                                                                \
        CHECK_EQ(list(s.adapter, got.entries, 1), 2);                                                                  \
        CHECK_GUARDED(got, 1);                                                                                         \
        CHECK_EQ(list(s.adapter, got.entries, ROOM), 2);                                                               \
        CHECK_GUARDED(got, 2);                                                                                         \
        for (int i = 0; i < 2; i++)                                                                                    \
            CHECK(got.entries[i].state[0] >= 'a' && got.entries[i].state[0] <= 'z');                                   \
    } while (0)

CASE(objects_of_any_version, 0)
{
    static struct kit_side s, t;

    kit_side_open(&s, NULL);
    kit_side_open(&t, s.adapter);
    CHECK_OBJECTS(ondk_protection_domain_t, ondk_adapter_protection_domains);
    CHECK_OBJECTS(ondk_completion_queue_t, ondk_adapter_completion_queues);
    CHECK_OBJECTS(ondk_queue_pair_t, ondk_adapter_queue_pairs);
    CHECK_OBJECTS(ondk_memory_region_t, ondk_adapter_memory_regions);
    kit_side_close(&t);
    kit_side_close(&s);
}

CASE(verification_of_any_version, 0)
{
    GUARDED(ondk_verify_config_t) config;
    GUARDED(ondk_verify_rule_t) rules;

    GUARD_ALL(config);
    ondk_verify_config_init(&config.entries[0]);
    CHECK_GUARDED(config, 1);
    config.entries[0].mode = ONDK_VERIFY_REPORT;
    CHECK_STATUS(ondk_verify_configure(&config.entries[0]), STATUS_SUCCESS);
#ifdef SIZED_NEWER
    config.entries[0].added[0] = 1;
    CHECK_STATUS(ondk_verify_configure(&config.entries[0]), STATUS_INVALID_PARAMETER);
#endif
    GUARD_ALL(rules);
    CHECK(ondk_verify_rules(rules.entries, 2) > 2);
    CHECK_GUARDED(rules, 2);
    for (int i = 0; i < 2; i++)
        CHECK(rules.entries[i].name[0] >= 'a' && rules.entries[i].name[0] <= 'z');
}
