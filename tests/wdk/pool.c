/* SPDX-License-Identifier: MIT */
/* Pools: properties of allocations, and the numbers by tag, with checks off and on. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "ntddk.h"

#include "modes.h"
#include "report.h"
#include "wdk/mm/checked_pool.h"
#include "wdk/mm/pool.h"
#include "openndk/verify.h"

enum { TAG = 'tseT', OTHER_TAG = 'rhtO', THREADS = 4, ROUNDS = 3000, SLOTS = 64 };

/* Returns the report's line about the remaining memory of a tag; "" if there is none. */
static void left_of(const char *tag, char *line, size_t size)
{
    char *text = NULL, *at, wanted[32];
    size_t length;
    FILE *out = open_memstream(&text, &length);

    pool_report(out);
    fclose(out);
    snprintf(wanted, sizeof wanted, "left: pool, tag %s: ", tag);
    at = strstr(text, wanted);
    snprintf(line, size, "%.*s", at ? (int)strcspn(at + strlen(wanted), "\n") : 0, at ? at + strlen(wanted) : "");
    free(text);
}

static void test_alignment(void **state)
{
    static const size_t sizes[] = { 1, 15, 16, 100, 1000, 2049, 4000, 4095, 4096, 4097, 12288, 100000, 5 << 20 };
    PVOID blocks[8];

    (void)state;
    for (size_t i = 0; i < RTL_NUMBER_OF(sizes); i++) {
        for (size_t j = 0; j < RTL_NUMBER_OF(blocks); j++) {
            blocks[j] = ExAllocatePoolWithTag(j & 1 ? PagedPool : NonPagedPoolNx, sizes[i], TAG);
            assert_non_null(blocks[j]);
            assert_int_equal((ULONG_PTR)blocks[j] % (sizes[i] >= PAGE_SIZE ? PAGE_SIZE : 16), 0);
            if (sizes[i] < PAGE_SIZE)
                assert_true((ULONG_PTR)blocks[j] % PAGE_SIZE + sizes[i] <= PAGE_SIZE);
            memset(blocks[j], 0x5a, sizes[i]);
        }
        for (size_t j = 0; j < RTL_NUMBER_OF(blocks); j++)
            ExFreePoolWithTag(blocks[j], TAG);
    }
    blocks[0] = ExAllocatePool2(POOL_FLAG_NON_PAGED | POOL_FLAG_CACHE_ALIGNED, 100, TAG);
    blocks[1] = ExAllocatePoolWithTag(NonPagedPoolNxCacheAligned, 100, TAG);
    assert_int_equal((ULONG_PTR)blocks[0] % 64, 0);
    assert_int_equal((ULONG_PTR)blocks[1] % 64, 0);
    ExFreePool(blocks[0]);
    ExFreePool(blocks[1]);
}

static bool is_zero(const UCHAR *block, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (block[i])
            return false;
    return true;
}

static void free_dirty(PVOID block, size_t size)
{
    assert_non_null(block);
    memset(block, 0xee, size);
    ExFreePool(block);
}

/* Each time after a block with other contents was freed. */
static void test_zeroed(void **state)
{
    static const size_t sizes[] = { 24, 1500, 8192, 70000, 1 << 20 };
    POOL_EXTENDED_PARAMETER priority = { .Type = PoolExtendedParameterPriority, .Priority = HighPoolPriority };

    (void)state;
    for (size_t i = 0; i < RTL_NUMBER_OF(sizes); i++) {
        size_t n = sizes[i];
        PVOID blocks[6];

        free_dirty(ExAllocatePoolUninitialized(NonPagedPoolNx, n, TAG), n);
        blocks[0] = ExAllocatePoolZero(NonPagedPoolNx, n, TAG);
        blocks[1] = ExAllocatePoolQuotaZero(PagedPool, n, TAG);
        blocks[2] = ExAllocatePoolPriorityZero(NonPagedPool, n, TAG, LowPoolPriority);
        blocks[3] = ExAllocatePool2(POOL_FLAG_NON_PAGED, n, TAG);
        blocks[4] = ExAllocatePool2(POOL_FLAG_PAGED | POOL_FLAG_USE_QUOTA, n, TAG);
        blocks[5] = ExAllocatePool3(POOL_FLAG_NON_PAGED, n, TAG, &priority, 1);
        for (size_t j = 0; j < RTL_NUMBER_OF(blocks); j++) {
            assert_non_null(blocks[j]);
            assert_true(is_zero(blocks[j], n));
            free_dirty(blocks[j], n);
        }
        free_dirty(ExAllocatePool2(POOL_FLAG_NON_PAGED | POOL_FLAG_UNINITIALIZED, n, TAG), n);
        free_dirty(ExAllocatePool(NonPagedPool, n), n);
        free_dirty(ExAllocatePoolWithQuota(PagedPool, n), n);
        free_dirty(ExAllocatePoolWithQuotaTag(NonPagedPool, n, TAG), n);
        free_dirty(ExAllocatePoolQuotaUninitialized(PagedPool, n, TAG), n);
        free_dirty(ExAllocatePoolPriorityUninitialized(PagedPool, n, TAG, NormalPoolPriority), n);
        ExFreePool2(ExAllocatePoolWithTagPriority(NonPagedPoolNx, n, TAG, NormalPoolPriority), TAG, NULL, 0);
    }
    assert_int_equal(pool_block_count(), 0);
}

static bool host_can_populate(void)
{
    void *page = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool can = page != MAP_FAILED && madvise(page, PAGE_SIZE, MADV_POPULATE_WRITE) == 0;

    munmap(page, PAGE_SIZE);
    return can;
}

/* New blocks, together more than a chunk of pages. */
static void test_resident(void **state)
{
    enum { BLOCKS = 200, SIZE = 65536, PAGES = SIZE / PAGE_SIZE };
    PVOID blocks[BLOCKS];
    unsigned char in_memory[PAGES];

    (void)state;
    if (checked_pool_is_on() || !host_can_populate()) {
        print_message("blocks are another allocator's, or the host brings in pages one by one\n");
        skip();
    }
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = ExAllocatePoolWithTag(NonPagedPoolNx, SIZE, TAG);
        assert_non_null(blocks[i]);
        assert_int_equal(mincore(blocks[i], SIZE, in_memory), 0);
        for (int k = 0; k < PAGES; k++)
            assert_true(in_memory[k] & 1);
    }
    for (int i = 0; i < BLOCKS; i++)
        ExFreePoolWithTag(blocks[i], TAG);
    assert_int_equal(pool_block_count(), 0);
}

static void test_too_large(void **state)
{
    (void)state;
    assert_null(ExAllocatePoolWithTag(NonPagedPoolNx, MAXSIZE_T, TAG));
    assert_null(ExAllocatePoolWithTag(NonPagedPoolNx, MAXSIZE_T - 5000, TAG));
    assert_null(
        ExAllocatePoolWithQuotaTag((POOL_TYPE)(PagedPool | POOL_QUOTA_FAIL_INSTEAD_OF_RAISE), MAXSIZE_T / 4, TAG));
    assert_null(ExAllocatePool2(POOL_FLAG_NON_PAGED, MAXSIZE_T - 16, TAG));
    assert_int_equal(pool_block_count(), 0);
}

static ULONG raised_by_type(POOL_TYPE type, bool quota)
{
    __try {
        assert_null(quota ? ExAllocatePoolWithQuotaTag(type, MAXSIZE_T, TAG)
                          : ExAllocatePoolWithTag(type, MAXSIZE_T, TAG));
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        return GetExceptionCode();
    }
    return 0;
}

static ULONG raised_by_flags(POOL_FLAGS flags)
{
    __try {
        assert_null(ExAllocatePool2(flags, MAXSIZE_T, TAG));
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        return GetExceptionCode();
    }
    return 0;
}

static void test_raises(void **state)
{
    const ULONG none = (ULONG)STATUS_INSUFFICIENT_RESOURCES;

    (void)state;
    assert_int_equal(raised_by_type((POOL_TYPE)(PagedPool | POOL_RAISE_IF_ALLOCATION_FAILURE), false), none);
    assert_int_equal(raised_by_type(PagedPool, true), none);
    assert_int_equal(raised_by_type((POOL_TYPE)(PagedPool | POOL_QUOTA_FAIL_INSTEAD_OF_RAISE), true), 0);
    assert_int_equal(raised_by_flags(POOL_FLAG_PAGED | POOL_FLAG_RAISE_ON_FAILURE), none);
    assert_int_equal(raised_by_flags(POOL_FLAG_PAGED | POOL_FLAG_USE_QUOTA), 0);
}

static void test_numbers_by_tag(void **state)
{
    char line[100];
    PVOID a, b, c;

    (void)state;
    a = ExAllocatePoolWithTag(NonPagedPoolNx, 100, TAG);
    b = ExAllocatePoolWithTag(PagedPool, 5000, TAG);
    c = ExAllocatePool2(POOL_FLAG_PAGED, 7, OTHER_TAG);
    assert_int_equal(pool_block_count(), 3);
    left_of("Test", line, sizeof line);
    assert_string_equal(line, "2 blocks, 5100 bytes");
    left_of("Othr", line, sizeof line);
    assert_string_equal(line, "1 blocks, 7 bytes");
    ExFreePoolWithTag(a, TAG);
    ExFreePoolWithTag(b, 0);
    ExFreePool(c);
    left_of("Test", line, sizeof line);
    assert_string_equal(line, "");
    assert_int_equal(pool_block_count(), 0);
}

static void *free_it(void *block)
{
    ExFreePoolWithTag(block, TAG);
    return NULL;
}

/* More tags than the table has, and a block freed by a thread that has ended. */
static void test_many_tags(void **state)
{
    static PVOID blocks[700];
    pthread_t thread;
    PVOID block = ExAllocatePoolWithTag(NonPagedPoolNx, 10, TAG);

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, free_it, block), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(pool_block_count(), 0);
    for (ULONG i = 0; i < RTL_NUMBER_OF(blocks); i++)
        blocks[i] = ExAllocatePoolWithTag(NonPagedPoolNx, 3, 'aaaa' + i);
    assert_int_equal(pool_block_count(), RTL_NUMBER_OF(blocks));
    for (ULONG i = 0; i < RTL_NUMBER_OF(blocks); i++)
        ExFreePoolWithTag(blocks[i], 'aaaa' + i);
    assert_int_equal(pool_block_count(), 0);
}

static void test_either_mode_frees(void **state)
{
    struct report *r;
    PVOID plain, recorded;

    (void)state;
    ondk_verify_set_mode(ONDK_VERIFY_OFF);
    plain = ExAllocatePoolWithTag(NonPagedPoolNx, 100, TAG);
    r = report_start();
    recorded = ExAllocatePoolWithTag(NonPagedPoolNx, 100, TAG);
    ExFreePoolWithTag(plain, TAG);
    ondk_verify_set_mode(ONDK_VERIFY_OFF);
    ExFreePoolWithTag(recorded, TAG);
    report_is_empty(r);
    assert_int_equal(pool_block_count(), 0);
}

/* ---- At random -------------------------------------------------------------------------------------------------- */

struct slot {
    UCHAR *block;
    size_t size;
    ULONG tag;
};

static void fill_slot(struct slot *s, unsigned *seed)
{
    s->size = (size_t)rand_r(seed) % (rand_r(seed) % 8 ? 600 : 20000) + 1;
    s->tag = 'a001' + (ULONG)rand_r(seed) % 3;
    s->block = ExAllocatePoolWithTag(rand_r(seed) % 2 ? PagedPool : NonPagedPoolNx, s->size, s->tag);
    assert_non_null(s->block);
    memset(s->block, (int)(s->size % 251), s->size);
}

static void empty_slot(struct slot *s)
{
    for (size_t i = 0; i < s->size; i++)
        assert_int_equal(s->block[i], s->size % 251);
    ExFreePoolWithTag(s->block, s->tag);
    s->block = NULL;
}

static void *at_random(void *seed_at)
{
    struct slot slots[SLOTS] = { { NULL, 0, 0 } };
    unsigned seed = *(unsigned *)seed_at;

    for (int i = 0; i < ROUNDS; i++) {
        struct slot *s = &slots[rand_r(&seed) % SLOTS];

        if (s->block)
            empty_slot(s);
        else
            fill_slot(s, &seed);
    }
    for (int i = 0; i < SLOTS; i++)
        if (slots[i].block)
            empty_slot(&slots[i]);
    return NULL;
}

static void test_at_random(void **state)
{
    pthread_t threads[THREADS];
    unsigned seeds[THREADS];
    uint32_t before = ondk_verify_breaches();

    (void)state;
    for (unsigned i = 0; i < THREADS; i++) {
        seeds[i] = i + 1;
        assert_int_equal(pthread_create(&threads[i], NULL, at_random, &seeds[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(ondk_verify_breaches(), before);
    assert_int_equal(pool_block_count(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_BOTH(test_alignment),
        IN_BOTH(test_zeroed),
        cmocka_unit_test_setup(test_resident, checks_off),
        IN_BOTH(test_too_large),
        IN_BOTH(test_raises),
        IN_BOTH(test_numbers_by_tag),
        IN_BOTH(test_many_tags),
        CHECKED(test_either_mode_frees),
        IN_BOTH(test_at_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
