/* SPDX-License-Identifier: MIT */
/* Memory descriptor lists: their contents, their use by the provider, and each rule broken on purpose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "ntddk.h"
#include "ndkpi.h"

#include "live_count.h"
#include "modes.h"
#include "provider/mdl.h"
#include "report.h"
#include "verify/rules.h"
#include "wdk/common/inuse.h"
#include "wdk/ke/thread.h"
#include "wdk/mm/checked_pool.h"
#include "wdk/mm/locked_pages.h"
#include "wdk/mm/pool.h"

enum { TAG = 'ldmT' };

static const PHYSICAL_ADDRESS lowest = { .QuadPart = 0 }, highest = { .QuadPart = -1 };

static void assert_describes(PMDL mdl, PVOID start, ULONG length)
{
    PPFN_NUMBER pages = MmGetMdlPfnArray(mdl);

    assert_ptr_equal(MmGetMdlVirtualAddress(mdl), start);
    assert_int_equal(MmGetMdlByteCount(mdl), length);
    assert_int_equal(MmGetMdlByteOffset(mdl), BYTE_OFFSET(start));
    assert_ptr_equal(MmGetMdlBaseVa(mdl), PAGE_ALIGN(start));
    for (ULONG i = 0; i < ADDRESS_AND_SIZE_TO_SPAN_PAGES(start, length); i++)
        assert_true(pages[i] == ((ULONG_PTR)start >> PAGE_SHIFT) + i);
}

static void test_macros(void **state)
{
    PVOID at = (PVOID)(ULONG_PTR)0x12345ff0;

    (void)state;
    assert_int_equal(ADDRESS_AND_SIZE_TO_SPAN_PAGES(at, 16), 1);
    assert_int_equal(ADDRESS_AND_SIZE_TO_SPAN_PAGES(at, 17), 2);
    assert_int_equal(ADDRESS_AND_SIZE_TO_SPAN_PAGES(at, 0), 1);
    assert_int_equal(ADDRESS_AND_SIZE_TO_SPAN_PAGES(0, 0), 0);
    assert_int_equal(ADDRESS_AND_SIZE_TO_SPAN_PAGES(at, MAXULONG), 0x100001);
    assert_true(PAGE_ALIGN(at) == (PVOID)(ULONG_PTR)0x12345000);
    assert_int_equal(ROUND_TO_PAGES(4097), 8192);
    assert_int_equal(BYTES_TO_PAGES(8192), 2);
    assert_int_equal(MmSizeOfMdl(at, 17), sizeof(MDL) + 2 * sizeof(PFN_NUMBER));
    assert_true(MmGetPhysicalAddress(at).QuadPart == 0x12345ff0);
}

static void test_nonpaged_pool(void **state)
{
    UCHAR *buffer = ExAllocatePoolWithTag(NonPagedPoolNx, 20000, TAG);
    PMDL mdl = IoAllocateMdl(buffer + 100, 10000, FALSE, FALSE, NULL);

    (void)state;
    assert_non_null(mdl);
    assert_true(live_has(LIVE_MDL, mdl));
    assert_null(mdl->Next);
    assert_int_equal(mdl->MdlFlags, 0);
    assert_int_equal(mdl->Size, MmSizeOfMdl(buffer + 100, 10000));
    MmBuildMdlForNonPagedPool(mdl);
    assert_int_equal(mdl->MdlFlags, MDL_SOURCE_IS_NONPAGED_POOL);
    assert_describes(mdl, buffer + 100, 10000);
    assert_ptr_equal(MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority | MdlMappingNoExecute), buffer + 100);
    assert_ptr_equal(MmGetSystemAddressForMdl(mdl), buffer + 100);
    assert_true(mdl_is_range(mdl, 10000));
    assert_false(mdl_is_range(mdl, 10001));
    assert_ptr_equal(mdl_memory(mdl), buffer + 100);
    KeFlushIoBuffers(mdl, TRUE, TRUE);
    ExFreePool(buffer); /* the buffer first is allowed */
    IoFreeMdl(mdl);
    assert_false(live_has(LIVE_MDL, mdl));
    assert_int_equal(pool_block_count(), 0);
}

static void test_lock(void **state)
{
    UCHAR *buffer = ExAllocatePoolWithTag(PagedPool, 9000, TAG);
    PMDL mdl = IoAllocateMdl(buffer, 9000, FALSE, FALSE, NULL);
    UCHAR local[100];
    PMDL on_stack = IoAllocateMdl(local, sizeof local, FALSE, FALSE, NULL);

    (void)state;
    MmProbeAndLockPages(mdl, KernelMode, IoModifyAccess);
    assert_int_equal(mdl->MdlFlags, MDL_PAGES_LOCKED | MDL_WRITE_OPERATION);
    assert_describes(mdl, buffer, 9000);
    assert_true(mdl_is_range(mdl, 9000));
    assert_ptr_equal(MmGetSystemAddressForMdlSafe(mdl, HighPagePriority), buffer);
    assert_true(mdl->MdlFlags & MDL_MAPPED_TO_SYSTEM_VA);
    assert_ptr_equal(MmGetSystemAddressForMdlSafe(mdl, HighPagePriority), buffer);
    MmUnlockPages(mdl);
    assert_int_equal(mdl->MdlFlags, 0);
    MmProbeAndLockPages(mdl, UserMode, IoReadAccess);
    assert_int_equal(mdl->MdlFlags, MDL_PAGES_LOCKED);
    assert_ptr_equal(MmMapLockedPages(mdl, KernelMode), buffer);
    MmUnmapLockedPages(buffer, mdl);
    assert_int_equal(mdl->MdlFlags, MDL_PAGES_LOCKED);
    MmUnlockPages(mdl);
    MmProbeAndLockPages(on_stack, KernelMode, IoWriteAccess);
    assert_describes(on_stack, local, sizeof local);
    MmUnlockPages(on_stack);
    IoFreeMdl(on_stack);
    IoFreeMdl(mdl);
    ExFreePool(buffer);
}

static ULONG lock_raises(PMDL mdl, LOCK_OPERATION operation)
{
    __try {
        MmProbeAndLockPages(mdl, UserMode, operation);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        return GetExceptionCode();
    }
    MmUnlockPages(mdl);
    return 0;
}

static void test_probe(void **state)
{
    const ULONG violation = (ULONG)STATUS_ACCESS_VIOLATION;
    UCHAR *pages = mmap(NULL, 3 * PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    PMDL mdl = IoAllocateMdl(pages + 10, 2 * PAGE_SIZE, FALSE, FALSE, NULL);
    PMDL first = IoAllocateMdl(pages, PAGE_SIZE, FALSE, FALSE, NULL);

    (void)state;
    assert_int_equal(lock_raises(mdl, IoWriteAccess), 0);
    assert_int_equal(mprotect(pages + PAGE_SIZE, PAGE_SIZE, PROT_READ), 0);
    assert_int_equal(lock_raises(mdl, IoWriteAccess), violation);
    assert_int_equal(lock_raises(mdl, IoReadAccess), 0);
    assert_true(MmIsAddressValid(pages + PAGE_SIZE + 5));
    assert_int_equal(mprotect(pages + PAGE_SIZE, PAGE_SIZE, PROT_NONE), 0);
    assert_int_equal(lock_raises(mdl, IoReadAccess), violation);
    assert_false(MmIsAddressValid(pages + PAGE_SIZE));
    assert_int_equal(munmap(pages + PAGE_SIZE, 2 * PAGE_SIZE), 0);
    assert_int_equal(lock_raises(mdl, IoReadAccess), violation);
    assert_int_equal(lock_raises(first, IoModifyAccess), 0);
    assert_true(MmIsAddressValid(pages + PAGE_SIZE - 1));
    assert_false(MmIsAddressValid(NULL));
    IoFreeMdl(mdl);
    IoFreeMdl(first);
    assert_int_equal(munmap(pages, PAGE_SIZE), 0);
}

static void test_partial(void **state)
{
    UCHAR *buffer = ExAllocatePoolWithTag(NonPagedPoolNx, 5 * PAGE_SIZE, TAG);
    PMDL source = IoAllocateMdl(buffer + 50, 4 * PAGE_SIZE, FALSE, FALSE, NULL);
    PMDL part = IoAllocateMdl(buffer + 50, 4 * PAGE_SIZE, FALSE, FALSE, NULL);

    (void)state;
    MmProbeAndLockPages(source, KernelMode, IoWriteAccess);
    IoBuildPartialMdl(source, part, buffer + PAGE_SIZE + 7, 5000);
    assert_int_equal(part->MdlFlags, MDL_PARTIAL);
    assert_describes(part, buffer + PAGE_SIZE + 7, 5000);
    assert_ptr_equal(MmGetSystemAddressForMdlSafe(part, NormalPagePriority), buffer + PAGE_SIZE + 7);
    assert_int_equal(part->MdlFlags, MDL_PARTIAL | MDL_PARTIAL_HAS_BEEN_MAPPED | MDL_MAPPED_TO_SYSTEM_VA);
    MmPrepareMdlForReuse(part);
    assert_int_equal(part->MdlFlags, MDL_PARTIAL);
    assert_ptr_equal(MmGetSystemAddressForMdlSafe(source, NormalPagePriority), buffer + 50);
    IoBuildPartialMdl(source, part, buffer + 2 * PAGE_SIZE, 0); /* to the end, in the source's mapping */
    assert_describes(part, buffer + 2 * PAGE_SIZE, 2 * PAGE_SIZE + 50);
    assert_ptr_equal(MmGetSystemAddressForMdlSafe(part, NormalPagePriority), buffer + 2 * PAGE_SIZE);
    assert_int_equal(part->MdlFlags, MDL_PARTIAL | MDL_MAPPED_TO_SYSTEM_VA);
    MmPrepareMdlForReuse(part);
    IoFreeMdl(part);

    assert_int_equal(MmAdvanceMdl(source, 4 * PAGE_SIZE + 1), STATUS_INVALID_PARAMETER_2);
    assert_int_equal(MmAdvanceMdl(source, PAGE_SIZE), STATUS_SUCCESS);
    assert_describes(source, buffer + 50 + PAGE_SIZE, 3 * PAGE_SIZE);
    assert_ptr_equal(MmGetSystemAddressForMdlSafe(source, NormalPagePriority), buffer + 50 + PAGE_SIZE);
    MmUnlockPages(source);
    IoFreeMdl(source);
    ExFreePool(buffer);
}

/* MmUnlockPages unlocks all pages, even if the MDL was advanced after MmProbeAndLockPages. */
static void test_advanced(void **state)
{
    UCHAR *buffer = ExAllocatePoolWithTag(PagedPool, 3 * PAGE_SIZE, TAG);
    PMDL mdl = IoAllocateMdl(buffer, 3 * PAGE_SIZE, FALSE, FALSE, NULL);

    (void)state;
    MmProbeAndLockPages(mdl, KernelMode, IoWriteAccess);
    assert_int_equal(MmAdvanceMdl(mdl, PAGE_SIZE + 1), STATUS_SUCCESS);
    assert_true(locked_pages_may_contain(buffer + 2 * PAGE_SIZE));
    MmUnlockPages(mdl);
    for (int i = 0; i < 3; i++)
        assert_false(locked_pages_may_contain(buffer + (SIZE_T)i * PAGE_SIZE));
    IoFreeMdl(mdl);
    ExFreePool(buffer);
}

/* Each routine that ends the mapping of an MDL also ends its record. */
static void test_mapped_pages(void **state)
{
    PMDL pages = MmAllocatePagesForMdl(lowest, highest, lowest, PAGE_SIZE), part;
    UCHAR *at = MmGetMdlVirtualAddress(pages);

    (void)state;
    assert_ptr_equal(MmGetSystemAddressForMdlSafe(pages, NormalPagePriority), at);
    assert_true(mapped_pages_may_contain(at));
    MmUnmapLockedPages(at, pages);
    assert_false(mapped_pages_may_contain(at));

    part = IoAllocateMdl(at, PAGE_SIZE, FALSE, FALSE, NULL);
    for (int i = 0; i < 2; i++) {
        IoBuildPartialMdl(pages, part, at, PAGE_SIZE);
        assert_false(mapped_pages_may_contain(at));
        assert_ptr_equal(MmGetSystemAddressForMdlSafe(part, NormalPagePriority), at);
        assert_true(mapped_pages_may_contain(at));
    }
    IoFreeMdl(part);
    assert_false(mapped_pages_may_contain(at));

    part = IoAllocateMdl(at, PAGE_SIZE, FALSE, FALSE, NULL);
    MmProbeAndLockPages(part, KernelMode, IoReadAccess);
    assert_ptr_equal(MmGetSystemAddressForMdlSafe(part, NormalPagePriority), at);
    MmUnlockPages(part);
    assert_false(mapped_pages_may_contain(at));
    IoFreeMdl(part);

    assert_ptr_equal(MmGetSystemAddressForMdlSafe(pages, NormalPagePriority), at);
    MmFreePagesFromMdl(pages);
    assert_false(mapped_pages_may_contain(at));
    ExFreePool(pages);
}

static void test_chains(void **state)
{
    UCHAR *buffer = ExAllocatePoolWithTag(NonPagedPoolNx, 6000, TAG);
    static IRP irp;
    PMDL a, b, c;

    (void)state;
    irp.MdlAddress = NULL;
    a = IoAllocateMdl(buffer, 1000, FALSE, FALSE, &irp);
    b = IoAllocateMdl(buffer + 1000, 3000, TRUE, FALSE, &irp);
    c = IoAllocateMdl(buffer + 4000, 2000, TRUE, FALSE, &irp);
    assert_ptr_equal(irp.MdlAddress, a);
    assert_ptr_equal(a->Next, b);
    assert_ptr_equal(b->Next, c);
    for (PMDL mdl = irp.MdlAddress; mdl; mdl = mdl->Next)
        MmBuildMdlForNonPagedPool(mdl);
    assert_true(mdl_is_range(a, 6000));
    assert_false(mdl_is_range(a, 6001));
    for (PMDL mdl = irp.MdlAddress, next; mdl; mdl = next) {
        next = mdl->Next;
        IoFreeMdl(mdl);
    }
    ExFreePool(buffer);
    assert_null(IoAllocateMdl(buffer, MAXULONG, FALSE, FALSE, NULL));
}

static void test_pages_of_their_own(void **state)
{
    const PHYSICAL_ADDRESS skip = { .QuadPart = 0 }, low = { .QuadPart = 0xffffff };
    PMDL mdl = MmAllocatePagesForMdl(lowest, highest, skip, 3 * PAGE_SIZE - 5);
    UCHAR *at;

    (void)state;
    assert_non_null(mdl);
    assert_int_equal(MmGetMdlByteCount(mdl), 3 * PAGE_SIZE);
    assert_int_equal(MmGetMdlByteOffset(mdl), 0);
    assert_true(mdl_is_range(mdl, 3 * PAGE_SIZE));
    at = MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority);
    assert_true(at[0] == 0 && !memcmp(at, at + 1, 3 * PAGE_SIZE - 1));
    assert_describes(mdl, at, 3 * PAGE_SIZE);
    assert_int_equal(live_count(), 1);
    MmFreePagesFromMdl(mdl);
    assert_int_equal(live_count(), 0);
    assert_int_equal(pool_block_count(), 1);
    ExFreePool(mdl);
    assert_null(MmAllocatePagesForMdlEx(lowest, low, skip, PAGE_SIZE, MmCached, MM_DONT_ZERO_ALLOCATION));
    assert_null(MmAllocatePagesForMdl(lowest, highest, skip, 0));
    assert_int_equal(pool_block_count(), 0);
}

static void test_contiguous(void **state)
{
    const PHYSICAL_ADDRESS low = { .QuadPart = 0xffffff }, none = { .QuadPart = 0 };
    PVOID a = MmAllocateContiguousMemory(100, highest);
    PVOID b = MmAllocateContiguousMemorySpecifyCache(3 * PAGE_SIZE, lowest, highest, none, MmNonCached);
    PVOID c = MmAllocateContiguousNodeMemory(5000, lowest, highest, none, PAGE_READWRITE, MM_ANY_NODE_OK);
    PVOID d = MmAllocateContiguousMemorySpecifyCacheNode(1, lowest, highest, none, MmCached, 0);

    (void)state;
    assert_true(a && IS_PAGE_ALIGNED(a) && b && IS_PAGE_ALIGNED(b) && c && IS_PAGE_ALIGNED(c) && d &&
                IS_PAGE_ALIGNED(d));
    memset(b, 1, 3 * PAGE_SIZE);
    assert_int_equal(pool_block_count(), 4);
    MmFreeContiguousMemory(a);
    MmFreeContiguousMemorySpecifyCache(b, 3 * PAGE_SIZE, MmNonCached);
    MmFreeContiguousMemory(c);
    MmFreeContiguousMemory(d);
    assert_null(MmAllocateContiguousMemory(100, low));
    assert_null(MmAllocateContiguousMemory(MAXSIZE_T - 100, highest));
    assert_int_equal(pool_block_count(), 0);
}

/* ---- Rules ------------------------------------------------------------------------------------------------------ */

static UCHAR nonpaged[3 * PAGE_SIZE]; /* a driver's data is not pageable */

static PMDL new_mdl(void)
{
    return IoAllocateMdl(nonpaged + 10, 5000, FALSE, FALSE, NULL);
}

static void test_not_locked(void **state)
{
    PMDL mdl = new_mdl(), part = new_mdl();
    struct report *r;

    (void)state;
    r = report_start();
    MmUnlockPages(mdl);
    report_is(r, "mdl-not-locked in MmUnlockPages");
    r = report_start();
    assert_ptr_equal(MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority), nonpaged + 10);
    report_says(r, "mdl-not-locked in ", "mapped");
    r = report_start();
    IoBuildPartialMdl(mdl, part, nonpaged + 20, 100);
    report_says(r, "mdl-not-locked in ", "source");
    IoFreeMdl(part);
    IoFreeMdl(mdl);
    mdl = new_mdl();
    MmBuildMdlForNonPagedPool(mdl);
    r = report_start();
    MmUnlockPages(mdl); /* what was built is not unlocked */
    report_is(r, "mdl-not-locked in MmUnlockPages");
    IoFreeMdl(mdl);
}

static void test_freed_locked(void **state)
{
    PMDL mdl = new_mdl();
    struct report *r;

    (void)state;
    MmProbeAndLockPages(mdl, KernelMode, IoReadAccess);
    r = report_start();
    IoFreeMdl(mdl);
    report_says(r, "mdl-freed-locked in ", "still locked");
}

static void test_misused_twice(void **state)
{
    PMDL mdl = new_mdl();
    struct report *r;

    (void)state;
    MmProbeAndLockPages(mdl, KernelMode, IoReadAccess);
    r = report_start();
    MmProbeAndLockPages(mdl, KernelMode, IoReadAccess);
    report_says(r, "mdl-misused in ", "locked or built already");
    (void)MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority);
    r = report_start();
    (void)MmMapLockedPagesSpecifyCache(mdl, KernelMode, MmCached, NULL, FALSE, NormalPagePriority);
    report_says(r, "mdl-misused in ", "mapped already");
    MmUnmapLockedPages(nonpaged + 10, mdl);
    r = report_start();
    MmUnmapLockedPages(nonpaged + 10, mdl);
    report_says(r, "mdl-misused in ", "not mapped there");
    MmUnlockPages(mdl);
    MmBuildMdlForNonPagedPool(mdl);
    r = report_start();
    MmBuildMdlForNonPagedPool(mdl);
    report_says(r, "mdl-misused in ", "built or locked already");
    IoFreeMdl(mdl);
}

static void test_misused_memory(void **state)
{
    UCHAR local[64], *paged = ExAllocatePoolWithTag(PagedPool, 64, TAG);
    PMDL a = IoAllocateMdl(local, 64, FALSE, FALSE, NULL), b = IoAllocateMdl(paged, 64, FALSE, FALSE, NULL);
    struct report *r;

    (void)state;
    r = report_start();
    MmBuildMdlForNonPagedPool(a);
    report_says(r, "mdl-misused in ", "over the stack");
    r = report_start();
    MmBuildMdlForNonPagedPool(b);
    report_says(r, "mdl-misused in ", "paged pool");
    IoFreeMdl(a);
    IoFreeMdl(b);
    b = IoAllocateMdl(paged, 64, FALSE, FALSE, NULL);
    r = report_start();
    irql_set(DISPATCH_LEVEL);
    MmProbeAndLockPages(b, KernelMode, IoReadAccess);
    irql_set(PASSIVE_LEVEL);
    report_is(r, "irql-too-high in MmProbeAndLockPages");
    MmUnlockPages(b);
    IoFreeMdl(b);
    ExFreePool(paged);
}

static void test_misused_parts(void **state)
{
    PMDL mdl = new_mdl(), small = IoAllocateMdl(nonpaged, 10, FALSE, FALSE, NULL);
    struct report *r;

    (void)state;
    MmBuildMdlForNonPagedPool(mdl);
    r = report_start();
    IoBuildPartialMdl(mdl, small, nonpaged + 10, 5001);
    report_says(r, "mdl-misused in ", "does not lie in the source");
    r = report_start();
    IoBuildPartialMdl(mdl, small, nonpaged + 9, 5);
    report_says(r, "mdl-misused in ", "does not lie in the source");
    r = report_start();
    IoBuildPartialMdl(mdl, small, nonpaged + 10, 5000);
    report_says(r, "mdl-misused in ", "no room");
    r = report_start();
    MmFreePagesFromMdl(mdl);
    report_says(r, "mdl-misused in ", "has not allocated");
    IoFreeMdl(small);
    r = report_start();
    IoFreeMdl(small);
    report_is(r, "pool-double-free in IoFreeMdl");
    IoFreeMdl(mdl);
}

static PMDL used;

static bool find_used(const void *start, size_t size, struct inuse_found *out)
{
    if (!used || (uintptr_t)used - (uintptr_t)start >= size)
        return false;
    *out = (struct inuse_found){ .rule = &verify_rules[RULE_MDL_FREED],
                                 .object = used,
                                 .what = "MDL of a registered region" };
    return true;
}

/* The layer that registers regions reports the memory in use. */
static void test_freed_in_use(void **state)
{
    PMDL mdl = new_mdl();
    struct report *r;

    (void)state;
    inuse_add_source(find_used);
    used = mdl;
    r = report_start();
    IoFreeMdl(mdl);
    used = NULL;
    report_is(r, "mdl-freed-in-use in IoFreeMdl");
}

/* As drivers do that also compile with kits without MmGetSystemAddressForMdlSafe. */
#define MmGetSystemAddressForMdlSafe(mdl, priority) own_system_address(mdl)
static PVOID own_system_address(PMDL mdl)
{
    return MmGetSystemAddressForMdl(mdl);
}

static void test_own_macro(void **state)
{
    PMDL mdl = IoAllocateMdl(state, sizeof(void *), FALSE, FALSE, NULL);

    MmBuildMdlForNonPagedPool(mdl);
    assert_ptr_equal(MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority), state);
    IoFreeMdl(mdl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_macros), cmocka_unit_test(test_own_macro),
        IN_BOTH(test_nonpaged_pool),   IN_BOTH(test_lock),
        IN_BOTH(test_probe),           IN_BOTH(test_partial),
        IN_BOTH(test_advanced),        IN_BOTH(test_mapped_pages),
        IN_BOTH(test_chains),          IN_BOTH(test_pages_of_their_own),
        IN_BOTH(test_contiguous),      CHECKED(test_not_locked),
        CHECKED(test_freed_locked),    CHECKED(test_misused_twice),
        CHECKED(test_misused_memory),  CHECKED(test_misused_parts),
        CHECKED(test_freed_in_use),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
