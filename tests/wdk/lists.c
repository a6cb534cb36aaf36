/* SPDX-License-Identifier: MIT */
/* Interlocked operations and lists: their results, concurrent use, and reports of corrupt links. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ntddk.h"

#include "openndk/wdk.h"
#include "report.h"
#include "openndk/verify.h"

enum { THREADS = 4, ROUNDS = 5000 };

static void test_interlocked(void **state)
{
    LONG volatile number = 5;
    LONG64 volatile wide = 1;
    SHORT volatile narrow = MAXSHORT;
    PVOID volatile pointer = NULL;
    LONG bits[2] = { 0, 0 };

    (void)state;
    assert_int_equal(InterlockedIncrement(&number), 6);
    assert_int_equal(InterlockedDecrement(&number), 5);
    assert_int_equal(InterlockedAdd(&number, 10), 15);
    assert_int_equal(_InlineInterlockedAdd64(&wide, 2), 3);
    assert_int_equal(_InlineInterlockedAdd64(&wide, -2), 1);
    assert_int_equal(__popcnt16(0x8101), 3);
    assert_int_equal(InterlockedExchangeAdd(&number, -5), 15);
    assert_int_equal(InterlockedExchange(&number, 3), 10);
    assert_int_equal(InterlockedCompareExchange(&number, 8, 4), 3);
    assert_int_equal(InterlockedCompareExchange(&number, 8, 3), 3);
    assert_int_equal(InterlockedOr(&number, 7), 8);
    assert_int_equal(InterlockedAnd(&number, 9), 15);
    assert_int_equal(InterlockedXorAcquire(&number, 1), 9);
    assert_int_equal(ReadAcquire(&number), 8);
    number = MAXLONG;
    assert_int_equal(InterlockedIncrementNoFence(&number), MINLONG);
    assert_int_equal(InterlockedIncrementAcquire64(&wide), 2);
    assert_int_equal(InterlockedOr64Release(&wide, 1LL << 40), 2);
    assert_true(ReadNoFence64(&wide) == ((1LL << 40) | 2));
    assert_int_equal(InterlockedIncrement16(&narrow), (SHORT)MINSHORT);
    assert_null(InterlockedExchangePointer(&pointer, bits));
    assert_ptr_equal(InterlockedCompareExchangePointer(&pointer, NULL, bits), bits);
    assert_null(ReadPointerAcquire(&pointer));
    assert_false(InterlockedBitTestAndSet(bits, 33));
    assert_int_equal(bits[1], 2);
    assert_true(InterlockedBitTestAndSet(bits, 33));
    assert_true(InterlockedBitTestAndReset(bits, 33));
    assert_int_equal(bits[1], 0);
    assert_false(InterlockedBitTestAndSet(bits, 31));
    assert_int_equal(bits[0], MINLONG);
}

#if defined(__x86_64__)
static void test_compare_exchange_128(void **state)
{
    DECLSPEC_ALIGN(16) LONG64 at[2] = { 1, 2 };
    LONG64 seen[2] = { 1, 3 };

    (void)state;
    assert_false(InterlockedCompareExchange128(at, 7, 6, seen));
    assert_true(seen[0] == 1 && seen[1] == 2);
    assert_true(InterlockedCompareExchange128(at, 7, 6, seen));
    assert_true(at[0] == 6 && at[1] == 7 && seen[0] == 1 && seen[1] == 2);
}
#endif

static void test_bits(void **state)
{
    ULONG index = 99;

    (void)state;
    assert_false(BitScanForward(&index, 0));
    assert_true(BitScanForward(&index, 0x50));
    assert_int_equal(index, 4);
    assert_true(BitScanReverse(&index, 0x50));
    assert_int_equal(index, 6);
    assert_true(BitScanReverse64(&index, 1ULL << 63 | 1));
    assert_int_equal(index, 63);
    assert_true(BitScanForward64(&index, 1ULL << 63));
    assert_int_equal(index, 63);
    assert_int_equal(PopulationCount64(MAXULONGLONG), 64);
}

static void test_doubly_linked(void **state)
{
    LIST_ENTRY head, e[4], other;

    (void)state;
    InitializeListHead(&head);
    assert_true(IsListEmpty(&head));
    InsertTailList(&head, &e[1]);
    InsertTailList(&head, &e[2]);
    InsertHeadList(&head, &e[0]);
    assert_ptr_equal(head.Flink, &e[0]);
    assert_ptr_equal(head.Blink, &e[2]);
    assert_false(RemoveEntryList(&e[1]));
    assert_ptr_equal(RemoveTailList(&head), &e[2]);
    assert_true(RemoveEntryList(&e[0]));
    assert_ptr_equal(RemoveHeadList(&head), &head);

    InsertTailList(&head, &e[0]);
    InitializeListHead(&other);
    InsertTailList(&other, &e[1]);
    InsertTailList(&other, &e[2]);
    RemoveEntryList(&other);
    AppendTailList(&head, &e[1]);
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(RemoveHeadList(&head), &e[i]);
    assert_true(IsListEmpty(&head));
}

static void test_corrupt_links_are_reported(void **state)
{
    LIST_ENTRY head, a, b;
    uint32_t before = ondk_verify_breaches();
    struct report *r;

    (void)state;
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    InitializeListHead(&head);
    InsertTailList(&head, &a);
    InsertTailList(&head, &b);
    RemoveEntryList(&a);
    assert_int_equal(ondk_verify_breaches(), before);
    r = report_start();
    RemoveEntryList(&a); /* once too often */
    report_is(r, "list-corrupt in LIST_ENTRY");

    b.Blink = &a;
    InsertTailList(&head, &a);
    assert_int_equal(ondk_verify_breaches(), before + 2);

    ondk_verify_set_mode(ONDK_VERIFY_OFF);
    InitializeListHead(&head);
    InsertTailList(&head, &a);
    RemoveEntryList(&a);
    RemoveEntryList(&a);
    assert_int_equal(ondk_verify_breaches(), before + 2);
    ondk_verify_set_mode(ONDK_VERIFY_STOP);
}

static void test_under_spin_lock(void **state)
{
    KSPIN_LOCK lock = 0;
    LIST_ENTRY head, a, b;
    SINGLE_LIST_ENTRY single = { NULL }, x, y;
    LARGE_INTEGER sum = { .QuadPart = 5 }, seven = { .QuadPart = 7 };
    ULONG number = MAXULONG;
    LONGLONG comperand = 12, exchange = 1;

    (void)state;
    InitializeListHead(&head);
    assert_null(ExInterlockedRemoveHeadList(&head, &lock));
    assert_null(ExInterlockedInsertHeadList(&head, &a, &lock));
    assert_ptr_equal(ExInterlockedInsertHeadList(&head, &b, &lock), &a);
    assert_ptr_equal(ExInterlockedRemoveHeadList(&head, &lock), &b);
    assert_ptr_equal(ExInterlockedInsertTailList(&head, &b, &lock), &a);
    assert_ptr_equal(head.Blink, &b);
    assert_null(ExInterlockedPushEntryList(&single, &x, &lock));
    assert_ptr_equal(ExInterlockedPushEntryList(&single, &y, &lock), &x);
    assert_ptr_equal(ExInterlockedPopEntryList(&single, &lock), &y);
    assert_ptr_equal(ExInterlockedPopEntryList(&single, &lock), &x);
    assert_null(ExInterlockedPopEntryList(&single, &lock));
    assert_int_equal(ExInterlockedAddLargeInteger(&sum, seven, &lock).QuadPart, 5);
    assert_int_equal(sum.QuadPart, 12);
    assert_int_equal(ExInterlockedCompareExchange64(&sum.QuadPart, &exchange, &comperand, &lock), 12);
    assert_int_equal(sum.QuadPart, 1);
    assert_int_equal(ExInterlockedAddUlong(&number, 2, &lock), MAXULONG);
    assert_int_equal(number, 1);
    ExInterlockedAddLargeStatistic(&sum, MAXULONG);
    assert_true(sum.QuadPart == 0x100000000LL);
}

static void test_slist(void **state)
{
    SLIST_HEADER head;
    SLIST_ENTRY e[3];

    (void)state;
    ExInitializeSListHead(&head);
    assert_null(InterlockedPopEntrySList(&head));
    assert_int_equal(ExQueryDepthSList(&head), 0);
    assert_null(ExInterlockedPushEntrySList(&head, &e[0], NULL));
    assert_ptr_equal(InterlockedPushEntrySList(&head, &e[1]), &e[0]);
    assert_ptr_equal(InterlockedPushEntrySList(&head, &e[2]), &e[1]);
    assert_int_equal(ExQueryDepthSList(&head), 3);
    assert_int_equal(head.HeaderX64.Depth, 3);
    assert_ptr_equal(FirstEntrySList(&head), &e[2]);
    assert_ptr_equal(ExInterlockedPopEntrySList(&head, NULL), &e[2]);
    assert_int_equal(QueryDepthSList(&head), 2);
    assert_ptr_equal(ExInterlockedFlushSList(&head), &e[1]);
    assert_ptr_equal(e[1].Next, &e[0]);
    assert_null(e[0].Next);
    assert_int_equal(QueryDepthSList(&head), 0);
    assert_null(InterlockedFlushSList(&head));
}

struct shared {
    SLIST_HEADER full, empty;
    KSPIN_LOCK lock;
    LIST_ENTRY list;
    LONG volatile count;
    LARGE_INTEGER sum;
};

struct item {
    SLIST_ENTRY link;
    LIST_ENTRY entry;
    ULONG owner; /* not atomic: only the thread that has popped the item accesses it */
};

static void *churn(void *context)
{
    struct shared *s = context;
    LARGE_INTEGER one = { .QuadPart = 1 };

    for (int i = 0; i < ROUNDS; i++) {
        PSLIST_ENTRY popped = InterlockedPopEntrySList(&s->full);
        struct item *item = popped ? CONTAINING_RECORD(popped, struct item, link) : NULL;
        PLIST_ENTRY entry;

        InterlockedIncrement(&s->count);
        ExInterlockedAddLargeInteger(&s->sum, one, &s->lock);
        if (!item)
            continue;
        item->owner++;
        ExInterlockedInsertTailList(&s->list, &item->entry, &s->lock);
        entry = ExInterlockedRemoveHeadList(&s->list, &s->lock);
        if (entry)
            InterlockedPushEntrySList(&s->full, &CONTAINING_RECORD(entry, struct item, entry)->link);
    }
    return NULL;
}

static void test_threads(void **state)
{
    static struct shared s;
    static struct item items[8];
    pthread_t threads[THREADS];
    int n = 0;

    (void)state;
    InitializeSListHead(&s.full);
    InitializeListHead(&s.list);
    for (int i = 0; i < 8; i++)
        InterlockedPushEntrySList(&s.full, &items[i].link);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, &s), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(s.count, THREADS * ROUNDS);
    assert_int_equal(s.sum.QuadPart, THREADS * ROUNDS);
    assert_int_equal(QueryDepthSList(&s.full), 8);
    for (PSLIST_ENTRY e = InterlockedFlushSList(&s.full); e; e = e->Next)
        n++;
    assert_int_equal(n, 8);
    assert_true(IsListEmpty(&s.list));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interlocked),
#if defined(__x86_64__)
        cmocka_unit_test(test_compare_exchange_128),
#endif
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_doubly_linked),
        cmocka_unit_test(test_corrupt_links_are_reported),
        cmocka_unit_test(test_under_spin_lock),
        cmocka_unit_test(test_slist),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
