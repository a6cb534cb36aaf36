/* SPDX-License-Identifier: MIT */
/*
 * The table by which the layer asks its host, the program that the consumer runs in. The kernel surface registers its
 * table (src/wdk/ndk/verify_host.c). Without a call the host is a plain program, which has no IRQL.
 *
 * Plain C types only, and a sockaddr is opaque: the kernel surface has other base types and another AF_INET6.
 */
#ifndef VERIFY_HOST_H
#define VERIFY_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VERIFY_NO_IRQL = -1, VERIFY_PASSIVE_LEVEL = 0, VERIFY_DISPATCH_LEVEL = 2 };
enum { VERIFY_MAX_SOCKADDR = 28 }; /* the longest sockaddr that is mapped: an IPv6 one */

/* Every entry is set. Each is called on the thread that it is about. */
struct verify_host {
    /* The calling thread's IRQL, or VERIFY_NO_IRQL. */
    int (*irql)(void);

    /*
     * Before and after each callback into the consumer. callback_end receives what callback_begin returned, the name of
     * the callback's type and the consumer's routine. It reports what the routine left behind: another IRQL, locks.
     */
    uint64_t (*callback_begin)(void);
    void (*callback_end)(uint64_t mark, const char *callback, const void *routine);

    /* The lowest address and the size of the calling thread's stack. Returns false if they are unknown. */
    bool (*stack_bounds)(uintptr_t *low, size_t *size);

    /*
     * Writes to room, of VERIFY_MAX_SOCKADDR bytes, the provider's address for one of the consumer's, of at most as
     * many. Returns false if both use the same addresses.
     */
    bool (*address_to_provider)(const void *sockaddr, size_t length, void *room);
    /* Replaces the provider's address by the consumer's. */
    void (*address_to_consumer)(void *sockaddr, size_t length);
};

/* Before the first adapter is wrapped. The table must stay valid for ever. */
void verify_set_host(const struct verify_host *host);
const struct verify_host *verify_host(void);

/* The answer to stack_bounds for threads of the C library. */
bool verify_thread_stack_bounds(uintptr_t *low, size_t *size);

/* Reports the caller of an NDK routine if its IRQL is above max. */
void verify_check_irql(const char *routine, int max);
/* Reports that a routine was called at an IRQL above max. */
void verify_report_irql(const char *routine, int now, int max);

#endif
