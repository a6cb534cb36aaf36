/* SPDX-License-Identifier: MIT */
/* Keeps the table of functions that the host supplies, and implements these functions for a plain program. */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <ndk/ndkpi.h>

#include "base/sized.h"
#include "verify/call.h"
#include "verify/host.h"
#include "verify/memory.h"
#include "verify/rules.h"

_Static_assert(VERIFY_MAX_SOCKADDR == sizeof(struct sockaddr_in6), "the longest sockaddr that is mapped");

enum { MAX_HOST_SIZE = 4096 };
enum { MDL_IS_PARTIAL = 0x10, MDL_IS_PAGE_READ = 0x40, MDL_IS_IO_SPACE = 0x800 }; /* Windows' values of MdlFlags */

static int32_t plain_irql(void)
{
    return ONDK_VERIFY_NO_IRQL;
}

static uint64_t plain_callback_begin(void)
{
    return 0;
}

static void plain_callback_end(uint64_t mark, const char *callback, const void *routine)
{
    (void)mark;
    (void)callback;
    (void)routine;
}

static int32_t plain_stack_bounds(uintptr_t *low, size_t *size)
{
    pthread_attr_t attr;
    void *start = NULL;
    bool known;

    if (pthread_getattr_np(pthread_self(), &attr))
        return false;
    known = pthread_attr_getstack(&attr, &start, size) == 0;
    pthread_attr_destroy(&attr);
    *low = (uintptr_t)start;
    return known;
}

static int32_t plain_address_to_provider(const void *sockaddr, size_t length, void *room)
{
    (void)sockaddr;
    (void)length;
    (void)room;
    return false;
}

static void plain_address_to_consumer(void *sockaddr, size_t length)
{
    (void)sockaddr;
    (void)length;
}

/*
 * Returns the state of an MDL in a plain program. MDL_IS_PAGE_READ counts as locked, because the memory manager locks
 * the pages that it reads. MDL_IS_IO_SPACE counts as locked, because device memory is never paged.
 */
static uint32_t plain_mdl_state(const MDL *mdl)
{
    const unsigned locked = MDL_PAGES_LOCKED | MDL_SOURCE_IS_NONPAGED_POOL | MDL_IS_PARTIAL | MDL_IS_PAGE_READ |
                            MDL_IS_IO_SPACE;

    return (unsigned)mdl->MdlFlags & locked ? ONDK_VERIFY_MDL_LOCKED : ONDK_VERIFY_MDL_UNLOCKED;
}

static const ondk_verify_host_t plain_host = {
    .size = sizeof(plain_host),
    .irql = plain_irql,
    .callback_begin = plain_callback_begin,
    .callback_end = plain_callback_end,
    .stack_bounds = plain_stack_bounds,
    .address_to_provider = plain_address_to_provider,
    .address_to_consumer = plain_address_to_consumer,
    .memory_state = memory_plain_state,
    .mdl_state = plain_mdl_state,
};

/*
 * A table that ondk_verify_set_host has set. Tables are never freed, because another thread may still use an earlier
 * table.
 */
struct host {
    ondk_verify_host_t table; /* must be the first member */
    const ondk_verify_host_t *earlier;
};

static _Atomic(const ondk_verify_host_t *) host_now = &plain_host;

#define HOST_SET(to, from, entry)                                                                                      \
    do {                                                                                                               \
        if ((from)->entry)                                                                                             \
            (to)->entry = (from)->entry;                                                                               \
    } while (0)

int32_t ondk_verify_set_host(const ondk_verify_host_t *host)
{
    ondk_verify_host_t given = { .size = 0 };
    struct host *made;

    if (host && (host->size < sizeof(given.size) || host->size > MAX_HOST_SIZE || host->size % sizeof(void *) ||
                 !sized_read(&given, sizeof(given), host, host->size) || given.reserved))
        return STATUS_INVALID_PARAMETER;
    made = malloc(sizeof(*made));
    if (!made)
        return STATUS_INSUFFICIENT_RESOURCES;
    *made = (struct host){ .table = plain_host };
    HOST_SET(&made->table, &given, irql);
    HOST_SET(&made->table, &given, callback_begin);
    HOST_SET(&made->table, &given, callback_end);
    HOST_SET(&made->table, &given, stack_bounds);
    HOST_SET(&made->table, &given, address_to_provider);
    HOST_SET(&made->table, &given, address_to_consumer);
    HOST_SET(&made->table, &given, memory_state);
    HOST_SET(&made->table, &given, mdl_state);
    made->earlier = atomic_load(&host_now);
    while (!atomic_compare_exchange_weak(&host_now, &made->earlier, &made->table))
        ;
    return STATUS_SUCCESS;
}

const ondk_verify_host_t *verify_host(void)
{
    return atomic_load_explicit(&host_now, memory_order_acquire);
}

void verify_report_irql(const char *routine, int now, int max)
{
    report_breach(&verify_rules[RULE_IRQL_TOO_HIGH], routine, (uint64_t)now, (uint64_t)max, 0, 0,
                  "IRQL is %d, at most %d is allowed", now, max);
}

/*
 * Reports a call in a callback if `max` is below DISPATCH_LEVEL, because a provider may run callbacks at that level.
 * Runs only if the host does not report an IRQL.
 */
static void host_check_callback(const char *routine, int max)
{
    const char *callback = max < VERIFY_DISPATCH_LEVEL ? callback_current() : NULL;

    if (callback)
        report_breach(&verify_rules[RULE_IRQL_TOO_HIGH], routine, VERIFY_DISPATCH_LEVEL, (uint64_t)max, 0, 0,
                      "called in a callback, %s, whose IRQL may be %d; at most %d is allowed", callback,
                      VERIFY_DISPATCH_LEVEL, max);
}

void verify_check_irql(const char *routine, int max)
{
    int now;

    if (!verify_on())
        return;
    now = verify_host()->irql();
    if (now == ONDK_VERIFY_NO_IRQL)
        host_check_callback(routine, max);
    else if (now > max)
        verify_report_irql(routine, now, max);
}
