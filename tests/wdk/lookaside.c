/* SPDX-License-Identifier: MIT */
/*
 * Lookaside lists: cached entries, the arguments of the driver's functions, and the report of a list that was not
 * deleted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ntddk.h"

#include "modes.h"
#include "report.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/mm/checked_pool.h"
#include "wdk/mm/pool.h"

enum { TAG = 'kooL', MANY = 400 };

/* Returns how many of MANY the list caches when all are freed. */
static unsigned kept(void)
{
    return checked_pool_is_on() ? 0 : EX_MAXIMUM_LOOKASIDE_DEPTH_BASE;
}

static void test_nonpaged(void **state)
{
    NPAGED_LOOKASIDE_LIST list;
    static PVOID entries[MANY];
    PVOID last;

    (void)state;
    ExInitializeNPagedLookasideList(&list, NULL, NULL, POOL_NX_ALLOCATION, 100, TAG, 0);
    assert_true(live_has(LIVE_LOOKASIDE, &list));
    for (int i = 0; i < MANY; i++) {
        entries[i] = ExAllocateFromNPagedLookasideList(&list);
        assert_non_null(entries[i]);
        memset(entries[i], i, 100);
    }
    assert_int_equal(pool_block_count(), MANY);
    for (int i = 0; i < MANY; i++)
        ExFreeToNPagedLookasideList(&list, entries[i]);
    assert_int_equal(pool_block_count(), kept());
    last = ExAllocateFromNPagedLookasideList(&list);
    if (kept())
        assert_ptr_equal(last, entries[kept() - 1]); /* last in, first out */
    ExFreeToNPagedLookasideList(&list, last);
    assert_int_equal(list.L.TotalAllocates, MANY + 1);
    assert_int_equal(list.L.TotalFrees, MANY + 1);
    ExDeleteNPagedLookasideList(&list);
    assert_int_equal(pool_block_count(), 0);
    assert_false(live_has(LIVE_LOOKASIDE, &list));
}

static unsigned allocated, freed;

static PVOID paged_allocate(POOL_TYPE type, SIZE_T size, ULONG tag)
{
    assert_int_equal(type, PagedPool);
    assert_int_equal(size, 40);
    assert_int_equal(tag, TAG);
    allocated++;
    return ExAllocatePoolWithTag(type, size, tag);
}

static VOID paged_free(PVOID buffer)
{
    freed++;
    ExFreePoolWithTag(buffer, TAG);
}

static void test_paged_with_functions(void **state)
{
    PAGED_LOOKASIDE_LIST list;
    PVOID a, b;

    (void)state;
    allocated = freed = 0;
    ExInitializePagedLookasideList(&list, paged_allocate, paged_free, 0, 40, TAG, 0);
    a = ExAllocateFromPagedLookasideList(&list);
    b = ExAllocateFromPagedLookasideList(&list);
    ExFreeToPagedLookasideList(&list, a);
    ExFreeToPagedLookasideList(&list, b);
    assert_int_equal(allocated, 2);
    assert_int_equal(freed, kept() ? 0 : 2);
    ExDeletePagedLookasideList(&list);
    assert_int_equal(freed, 2);
    assert_int_equal(pool_block_count(), 0);
}

/* As in drivers: the list is a member of the context. */
struct context {
    LOOKASIDE_LIST_EX list;
    unsigned allocated, freed;
    POOL_TYPE type;
};

static PVOID ex_allocate(POOL_TYPE type, SIZE_T size, ULONG tag, PLOOKASIDE_LIST_EX list)
{
    struct context *c = CONTAINING_RECORD(list, struct context, list);

    c->allocated++;
    c->type = type;
    return ExAllocatePoolWithTag((POOL_TYPE)(type & ~(ULONG)POOL_RAISE_IF_ALLOCATION_FAILURE), size, tag);
}

static VOID ex_free(PVOID buffer, PLOOKASIDE_LIST_EX list)
{
    CONTAINING_RECORD(list, struct context, list)->freed++;
    ExFreePool(buffer);
}

static void test_ex(void **state)
{
    struct context c = { .allocated = 0 };
    PVOID entry;

    (void)state;
    assert_int_equal(ExInitializeLookasideListEx(&c.list, NULL, NULL, (POOL_TYPE)0x4000, 0, 8, TAG, 0),
                     STATUS_INVALID_PARAMETER_4);
    assert_int_equal(ExInitializeLookasideListEx(&c.list, NULL, NULL, PagedPool, 3, 8, TAG, 0),
                     STATUS_INVALID_PARAMETER_5);
    assert_int_equal(ExInitializeLookasideListEx(&c.list, ex_allocate, ex_free, NonPagedPoolNx,
                                                 EX_LOOKASIDE_LIST_EX_FLAGS_RAISE_ON_FAIL, 64, TAG, 0),
                     STATUS_SUCCESS);
    entry = ExAllocateFromLookasideListEx(&c.list);
    assert_int_equal(c.type, NonPagedPoolNx | POOL_RAISE_IF_ALLOCATION_FAILURE);
    ExFreeToLookasideListEx(&c.list, entry);
    ExFlushLookasideListEx(&c.list);
    assert_int_equal(c.freed, 1);
    entry = ExAllocateFromLookasideListEx(&c.list);
    ExFreeToLookasideListEx(&c.list, entry);
    ExDeleteLookasideListEx(&c.list);
    assert_int_equal(c.allocated, 2);
    assert_int_equal(c.freed, 2);

    /* Too small for a link: nothing can be cached. */
    assert_int_equal(ExInitializeLookasideListEx(&c.list, NULL, NULL, PagedPool, 0, 4, TAG, 0), STATUS_SUCCESS);
    ExFreeToLookasideListEx(&c.list, ExAllocateFromLookasideListEx(&c.list));
    assert_int_equal(pool_block_count(), 0);
    ExDeleteLookasideListEx(&c.list);
}

static void test_misuse(void **state)
{
    NPAGED_LOOKASIDE_LIST *list = ExAllocatePoolZero(NonPagedPoolNx, sizeof *list, TAG);
    PAGED_LOOKASIDE_LIST paged;
    struct report *r;

    (void)state;
    r = report_start();
    ExDeleteNPagedLookasideList(list);
    report_says(r, "object-not-initialized in ", "no lookaside list");
    ExInitializeNPagedLookasideList(list, NULL, NULL, 0, 100, TAG, 0);
    r = report_start();
    ExInitializeNPagedLookasideList(list, NULL, NULL, 0, 100, TAG, 0);
    report_says(r, "object-reinitialized in ", "has not been deleted");
    r = report_start();
    ExFreePool(list);
    report_says(r, "object-freed-in-use in ", "lookaside list");
    assert_true(live_remove(LIVE_LOOKASIDE, list));

    ExInitializePagedLookasideList(&paged, NULL, NULL, 0, 100, TAG, 0);
    r = report_start();
    irql_set(DISPATCH_LEVEL);
    ExDeletePagedLookasideList(&paged);
    irql_set(PASSIVE_LEVEL);
    report_is(r, "irql-too-high in ExDeletePagedLookasideList");
}

/* An entry freed to the list counts as freed memory. */
static void test_entry_freed_twice(void **state)
{
    NPAGED_LOOKASIDE_LIST list;
    struct report *r;
    PVOID entry;

    (void)state;
    ExInitializeNPagedLookasideList(&list, NULL, NULL, 0, 100, TAG, 0);
    entry = ExAllocateFromNPagedLookasideList(&list);
    ExFreeToNPagedLookasideList(&list, entry);
    r = report_start();
    ExFreeToNPagedLookasideList(&list, entry);
    report_says(r, "pool-double-free in ", "freed by");
    ExDeleteNPagedLookasideList(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_BOTH(test_nonpaged), IN_BOTH(test_paged_with_functions), IN_BOTH(test_ex),
        CHECKED(test_misuse),   CHECKED(test_entry_freed_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
