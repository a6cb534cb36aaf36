/* SPDX-License-Identifier: MIT */
/* Detects memory that is freed while NDK uses it: see memory.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "openndk/verify.h"
#include "verify/host.h"
#include "verify/memory.h"
#include "verify/setting.h"
#include "verify/verify.h"

enum { MAX_USE_TEXT = 512 };

/* ---- AddressSanitizer -------------------------------------------------------------------------------------------- */

/*
 * Functions of AddressSanitizer, from its allocator_interface.h and asan_interface.h. They are NULL if no part of the
 * program was built with AddressSanitizer.
 */
typedef void free_hook(const volatile void *start);
extern int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                                     free_hook *on_free) __attribute__((weak));
extern void *__asan_region_is_poisoned(void *start, size_t size) __attribute__((weak));
extern size_t __asan_get_free_stack(void *address, void **trace, size_t size, int *thread_id) __attribute__((weak));
extern const char *__asan_locate_address(void *address, char *name, size_t name_size, void **start, size_t *size)
    __attribute__((weak));
extern void __asan_get_shadow_mapping(size_t *scale, size_t *offset) __attribute__((weak));

/* The values in shadow memory for a stack frame whose function has returned, and for a scope that has ended. */
enum { ASAN_AFTER_RETURN = 0xf5, ASAN_AFTER_SCOPE = 0xf8 };

static bool asan_is_here(void)
{
    return __sanitizer_install_malloc_and_free_hooks && __asan_region_is_poisoned && __asan_get_free_stack &&
           __asan_locate_address && __asan_get_shadow_mapping;
}

static bool memory_is_mapped(const void *address)
{
    uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    unsigned char resident;

    return mincore((void *)((uintptr_t)address & ~(page_size - 1)), 1, &resident) == 0 || errno != ENOMEM;
}

/*
 * Returns true if a poisoned address is heap memory that was freed, or memory of a stack frame or scope that has ended.
 * Returns false for a gap between two allocations. The function is not instrumented, because the sanitizer cannot check
 * accesses to its own shadow memory.
 */
__attribute__((no_sanitize_address)) static bool asan_is_dead(void *address)
{
    size_t scale, offset;
    unsigned char mark;
    void *frame;

    if (__asan_get_free_stack(address, &frame, 1, &(int){ 0 }) > 0)
        return true;
    if (!memory_is_mapped(address))
        return false;
    __asan_get_shadow_mapping(&scale, &offset);
    mark = *(const unsigned char *)(((uintptr_t)address >> scale) + offset);
    return mark == ASAN_AFTER_RETURN || mark == ASAN_AFTER_SCOPE;
}

static uint32_t asan_state(void *address)
{
    if (!__asan_region_is_poisoned(address, 1))
        return ONDK_VERIFY_MEMORY_ALIVE;
    return asan_is_dead(address) ? ONDK_VERIFY_MEMORY_FREED : ONDK_VERIFY_MEMORY_UNKNOWN;
}

/* ---- The state of memory ----------------------------------------------------------------------------------------- */

uint32_t memory_plain_state(const void *address)
{
    if (!memory_is_mapped(address))
        return ONDK_VERIFY_MEMORY_FREED;
    return asan_is_here() ? asan_state((void *)(uintptr_t)address) : ONDK_VERIFY_MEMORY_UNKNOWN;
}

static bool host_is_plain(void)
{
    return verify_host()->memory_state == memory_plain_state;
}

bool memory_can_ask_often(void)
{
    return verify_is_full() || (host_is_plain() && asan_is_here());
}

bool memory_is_freed(const void *start, size_t size)
{
    const ondk_verify_host_t *host = verify_host();

    return size && ((host->memory_state(start) | host->memory_state((const char *)start + size - 1)) &
                    ONDK_VERIFY_MEMORY_FREED);
}

/* ---- Frees ------------------------------------------------------------------------------------------------------- */

/*
 * While `unchecked` is not 0, memory that this thread frees is not checked. `unchecked` is the number of checks that
 * the thread is in, plus the number of calls of memory_begin_lock that memory_end_lock has not ended.
 */
static _Thread_local unsigned unchecked;

void memory_begin_lock(void)
{
    unchecked++;
}

void memory_end_lock(void)
{
    unchecked--;
}

static void memory_check_free(const char *routine, const void *start, size_t size)
{
    char text[MAX_USE_TEXT];
    struct verify_use use;

    if (!verify_find_use(start, size, &use))
        return;
    (void)snprintf(text, sizeof(text), "%p: %s: %s%s%s %p, in %zu bytes at %p", use.object, use.what,
                   use.routine ? use.routine : "", use.routine ? " of " : "", use.owner_type, use.owner, size, start);
    if (use.by.depth)
        report_add_stack("in use since", &use.by);
    report_set_object(&(struct report_object){ use.owner, use.owner_type, NULL, { NULL } });
    report_breach(use.rule, routine, (uintptr_t)start, (uintptr_t)use.object, (uintptr_t)use.owner, 0, "%s", text);
}

void ondk_verify_check_free(const void *start, size_t size)
{
    STACK_CALL("ondk_verify_check_free");
    if (verify_on() && size)
        memory_check_free("ondk_verify_check_free", start, size);
}

static void memory_on_free(const volatile void *start)
{
    size_t size = 0;
    void *block;
    char name[1];

    if (!verify_on() || unchecked || !host_is_plain())
        return;
    unchecked++;
    (void)__asan_locate_address((void *)(uintptr_t)start, name, sizeof(name), &block, &size);
    if (size)
        memory_check_free("free", (const void *)(uintptr_t)start, size);
    unchecked--;
}

static void memory_on_malloc(const volatile void *start, size_t size)
{
    (void)start;
    (void)size;
}

void memory_watch_frees(void)
{
    static atomic_bool watched;

    if (asan_is_here() && !atomic_exchange(&watched, true))
        (void)__sanitizer_install_malloc_and_free_hooks(memory_on_malloc, memory_on_free);
}
