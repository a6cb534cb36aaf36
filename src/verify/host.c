/* SPDX-License-Identifier: MIT */
/* The host's table, and the functions of a plain program as host. */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

#include "verify/host.h"
#include "verify/rules.h"

_Static_assert(VERIFY_MAX_SOCKADDR == sizeof(struct sockaddr_in6), "the longest sockaddr that is mapped");

static int plain_irql(void)
{
    return VERIFY_NO_IRQL;
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

static bool plain_address_to_provider(const void *sockaddr, size_t length, void *room)
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

bool verify_thread_stack_bounds(uintptr_t *low, size_t *size)
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

static const struct verify_host plain_host = {
    .irql = plain_irql,
    .callback_begin = plain_callback_begin,
    .callback_end = plain_callback_end,
    .stack_bounds = verify_thread_stack_bounds,
    .address_to_provider = plain_address_to_provider,
    .address_to_consumer = plain_address_to_consumer,
};

static _Atomic(const struct verify_host *) host = &plain_host;

void verify_set_host(const struct verify_host *new_host)
{
    atomic_store(&host, new_host);
}

const struct verify_host *verify_host(void)
{
    return atomic_load_explicit(&host, memory_order_relaxed);
}

void verify_report_irql(const char *routine, int now, int max)
{
    report_breach(&verify_rules[RULE_IRQL_TOO_HIGH], routine, (uint64_t)now, (uint64_t)max, 0, 0,
                  "IRQL is %d, at most %d is allowed", now, max);
}

void verify_check_irql(const char *routine, int max)
{
    int now;

    if (!verify_on())
        return;
    now = verify_host()->irql();
    if (now > max)
        verify_report_irql(routine, now, max);
}
