/* SPDX-License-Identifier: MIT */
/*
 * Implements the kernel's functions that the verify layer calls. They return the IRQL, report locks that are still held
 * after a callback, convert addresses, and return the state of pool memory and MDLs.
 *
 * Two other functions search the verify layer. The functions of live.h call host_walk_open, so that an unload reports
 * the NDK objects and calls that have not ended. The functions of inuse.h call host_find_use, so that the kernel
 * reports memory that is freed while an NDK object or call uses it.
 */
#include <pthread.h>
#include <string.h>

#include "wdm.h"
#include "ndkpi.h"

#include "verify/address.h"
#include "verify/verify.h"
#include "wdk/common/address_map.h"
#include "wdk/common/inuse.h"
#include "wdk/common/live.h"
#include "wdk/common/missing.h"
#include "wdk/common/outside.h"
#include "wdk/ke/thread.h"
#include "wdk/mm/locked_pages.h"
#include "wdk/mm/pool.h"
#include "wdk/ndk/provider.h"
#include "wdk/ndk/verify_host.h"

_Static_assert((int)VERIFY_PASSIVE_LEVEL == PASSIVE_LEVEL && (int)VERIFY_DISPATCH_LEVEL == DISPATCH_LEVEL, "IRQL");
_Static_assert((int)VERIFY_MAX_SOCKADDR == (int)ADDRESS_MAP_SOCKADDR, "the longest address");

static int32_t host_irql(void)
{
    return irql_now();
}

/* Returns the members of the thread's mark (struct thread_mark) in one number. */
static uint64_t host_callback_begin(void)
{
    struct thread_mark mark = thread_mark_get();

    return (uint64_t)mark.queue_joins << 32 | (uint64_t)mark.held << 8 | mark.irql;
}

static void host_callback_end(uint64_t mark, const char *callback, const void *routine)
{
    const struct thread_mark before = { .irql = (KIRQL)mark,
                                        .held = (unsigned)(mark >> 8) & 0xffffff,
                                        .queue_joins = (unsigned)(mark >> 32) };

    thread_mark_check(&before, callback, routine);
}

/*
 * Copies the driver's address to `room` and converts it for the provider. Returns false if the provider accepts the
 * address as it is. A foreign provider expects the host's value of AF_INET6. The driver uses Windows' value. OpenNDK's
 * provider accepts either value.
 */
static int32_t host_address_to_provider(const void *sockaddr, size_t length, void *room)
{
    if (!address_map_has_entries() && !ndk_provider_is_foreign())
        return false;
    memcpy(room, sockaddr, length);
    address_map_to_host(room, length);
    if (ndk_provider_is_foreign())
        address_family_to_host(room, length);
    return true;
}

static void host_address_to_consumer(void *sockaddr, size_t length)
{
    if (address_map_has_entries())
        address_map_to_driver(sockaddr, length);
    if (ndk_provider_is_foreign())
        address_family_to_driver(sockaddr, length);
}

static uint32_t host_memory_state(const void *address)
{
    switch (pool_state_at(address)) {
    case POOL_ALLOCATED:
        return ONDK_VERIFY_MEMORY_ALIVE;
    case POOL_ALLOCATED_PAGED:
        return ONDK_VERIFY_MEMORY_ALIVE | (locked_pages_may_contain(address) ? 0 : ONDK_VERIFY_MEMORY_PAGED);
    case POOL_FREED:
        return ONDK_VERIFY_MEMORY_FREED;
    default:
        return ONDK_VERIFY_MEMORY_UNKNOWN;
    }
}

/* Returns true if the MDL's pages were locked for read access only: MDL_WRITE_OPERATION is then not set. */
static bool host_mdl_is_read_only(const MDL *mdl)
{
    const unsigned others = MDL_WRITE_OPERATION | MDL_SOURCE_IS_NONPAGED_POOL | MDL_PARTIAL | MDL_IO_PAGE_READ |
                            MDL_IO_SPACE;
    unsigned flags = (unsigned short)mdl->MdlFlags;

    return flags & MDL_PAGES_LOCKED && !(flags & others) && locked_pages_may_contain(MmGetMdlVirtualAddress(mdl)) &&
           !live_has(LIVE_MDL, mdl->StartVa); /* the pages of MmAllocatePagesForMdl are writable */
}

static uint32_t host_mdl_state(const MDL *mdl)
{
    const unsigned locked = MDL_PAGES_LOCKED | MDL_SOURCE_IS_NONPAGED_POOL | MDL_PARTIAL | MDL_IO_PAGE_READ |
                            MDL_IO_SPACE;

    if (host_mdl_is_read_only(mdl))
        return ONDK_VERIFY_MDL_READ_ONLY;
    return (unsigned)mdl->MdlFlags & locked ? ONDK_VERIFY_MDL_LOCKED : ONDK_VERIFY_MDL_UNLOCKED;
}

/* The kernel's functions for the verify layer. A member that is not set here has the default of openndk/verify.h. */
static const ondk_verify_host_t kernel_host = {
    .size = sizeof kernel_host,
    .irql = host_irql,
    .callback_begin = host_callback_begin,
    .callback_end = host_callback_end,
    .address_to_provider = host_address_to_provider,
    .address_to_consumer = host_address_to_consumer,
    .memory_state = host_memory_state,
    .mdl_state = host_mdl_state,
};

static bool host_find_use(const void *start, size_t size, struct inuse_found *out)
{
    struct verify_use use;

    if (!verify_find_use(start, size, &use))
        return false;
    *out = (struct inuse_found){
        .rule = use.rule,
        .object = use.object,
        .what = use.what,
        .routine = use.routine,
        .owner_type = use.owner_type,
        .owner = use.owner,
        .by = use.by,
    };
    return true;
}

struct host_walk {
    live_on_entry *visit;
    void *context;
};

static void host_copy_open(void *context, const struct verify_open *open)
{
    const struct host_walk *walk = context;

    walk->visit(walk->context, open->is_call ? LIVE_NDK_REQUEST : LIVE_NDK_OBJECT, open->object, open->what, &open->by);
}

static void host_walk_open(live_on_entry *visit, void *context)
{
    verify_walk_open(host_copy_open, &(struct host_walk){ visit, context });
}

static bool host_observe_address(const char *routine, const void *address, size_t length, bool is_local)
{
    missing_check_address(routine, address, length, is_local);
    return is_local || outside_may_send(routine, address, length);
}

static void host_start(void)
{
    (void)ondk_verify_set_host(&kernel_host); /* fails only if out of memory */
    address_set_observer(host_observe_address);
    inuse_add_source(host_find_use);
    live_add_foreign_source(host_walk_open);
}

void ndk_verify_host_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, host_start);
}
