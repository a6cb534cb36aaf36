/* SPDX-License-Identifier: MIT */
/*
 * The host is the program that the consumer runs in. The verify layer calls the host's functions for IRQL, callbacks,
 * stacks and addresses through the table below. The kernel surface (src/wdk), which gives drivers Windows' routines,
 * sets its own table (src/wdk/ndk/verify_host.c). The default is the table of a plain program, which has no IRQL.
 *
 * Only plain C types are used here, and a sockaddr is opaque, because the kernel surface (src/wdk) has other base types
 * and another AF_INET6.
 */
#ifndef VERIFY_HOST_H
#define VERIFY_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/private_export.h"

enum { VERIFY_NO_IRQL = -1, VERIFY_PASSIVE_LEVEL = 0, VERIFY_DISPATCH_LEVEL = 2 };
enum { VERIFY_MAX_SOCKADDR = 28 }; /* the longest sockaddr that is mapped: an IPv6 one */

/* No entry is NULL. An entry about a thread is called on that thread. */
struct verify_host {
    /* Returns the calling thread's IRQL, or VERIFY_NO_IRQL. */
    int (*irql)(void);

    /*
     * Called before and after each callback into the consumer. callback_end receives the mark that callback_begin
     * returned, the name of the callback's type, and the consumer's routine. callback_end reports a routine that
     * returned at another IRQL or with locks held.
     */
    uint64_t (*callback_begin)(void);
    void (*callback_end)(uint64_t mark, const char *callback, const void *routine);

    /* Sets the lowest address and the size of the calling thread's stack. Returns false if they are unknown. */
    bool (*stack_bounds)(uintptr_t *low, size_t *size);

    /*
     * Converts the consumer's address and writes the provider's address to `room`, which has VERIFY_MAX_SOCKADDR bytes.
     * `length` is at most VERIFY_MAX_SOCKADDR. Returns false if consumer and provider use the same addresses.
     */
    bool (*address_to_provider)(const void *sockaddr, size_t length, void *room);
    /* Converts the provider's address to the consumer's address, in place. */
    void (*address_to_consumer)(void *sockaddr, size_t length);
};

/* Must be called before the first adapter is wrapped. The table must stay valid for ever. */
void verify_set_host(const struct verify_host *host) PRIVATE_EXPORT(verify_set_host);
const struct verify_host *verify_host(void);

/* Implements stack_bounds for threads of the C library. */
bool verify_thread_stack_bounds(uintptr_t *low, size_t *size) PRIVATE_EXPORT(verify_thread_stack_bounds);

/* Reports the call of an NDK routine if the calling thread's IRQL is above max. */
void verify_check_irql(const char *routine, int max);
/* Reports that a routine was called at an IRQL above max. */
void verify_report_irql(const char *routine, int now, int max) PRIVATE_EXPORT(verify_report_irql);

#endif
