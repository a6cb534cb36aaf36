/* SPDX-License-Identifier: MIT */
/* Pools: what an allocation is like, the numbers by tag, and each rule broken on purpose. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ntddk.h"

#include "openndk/wdk.h"
#include "wdk/checked_pool.h"
#include "wdk/inuse.h"
#include "wdk/pool.h"
#include "wdk/special_pool.h"
#include "wdk/thread.h"
#include "wdk/reports.h"

enum { TAG = 'tseT', OTHER_TAG = 'rhtO', THREADS = 4, ROUNDS = 3000, SLOTS = 64 };

static int go_on(void **state)
{
    (void)state;
    ondk_wdk_set_checks(ONDK_WDK_CHECKS_GO_ON);
    return 0;
}

static int off(void **state)
{
    (void)state;
    ondk_wdk_set_checks(ONDK_WDK_CHECKS_OFF);
    return 0;
}

/* What is left of a tag, as the report says it; "" if nothing. */
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

/* ---- Behaviour, with checks off and on ---------------------------------------------------------------------------- */

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
    static const size_t sizes[] = { 24, 1500, 8192 };
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
    assert_int_equal(pool_outstanding(), 0);
}

static void test_too_large(void **state)
{
    (void)state;
    assert_null(ExAllocatePoolWithTag(NonPagedPoolNx, MAXSIZE_T, TAG));
    assert_null(ExAllocatePoolWithTag(NonPagedPoolNx, MAXSIZE_T - 5000, TAG));
    assert_null(ExAllocatePoolWithQuotaTag((POOL_TYPE)(PagedPool | POOL_QUOTA_FAIL_INSTEAD_OF_RAISE), MAXSIZE_T / 4, TAG));
    assert_null(ExAllocatePool2(POOL_FLAG_NON_PAGED, MAXSIZE_T - 16, TAG));
    assert_int_equal(pool_outstanding(), 0);
}

static ULONG raised_by_type(POOL_TYPE type, bool quota)
{
    __try {
        assert_null(quota ? ExAllocatePoolWithQuotaTag(type, MAXSIZE_T, TAG) : ExAllocatePoolWithTag(type, MAXSIZE_T, TAG));
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
    assert_int_equal(pool_outstanding(), 3);
    left_of("Test", line, sizeof line);
    assert_string_equal(line, "2 blocks, 5100 octets");
    left_of("Othr", line, sizeof line);
    assert_string_equal(line, "1 blocks, 7 octets");
    ExFreePoolWithTag(a, TAG);
    ExFreePoolWithTag(b, 0);
    ExFreePool(c);
    left_of("Test", line, sizeof line);
    assert_string_equal(line, "");
    assert_int_equal(pool_outstanding(), 0);
}

static void *free_it(void *block)
{
    ExFreePoolWithTag(block, TAG);
    return NULL;
}

/* More tags than have a place, and a block that a thread which has ended gave back. */
static void test_many_tags(void **state)
{
    static PVOID blocks[700];
    pthread_t thread;
    PVOID block = ExAllocatePoolWithTag(NonPagedPoolNx, 10, TAG);

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, free_it, block), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(pool_outstanding(), 0);
    for (ULONG i = 0; i < RTL_NUMBER_OF(blocks); i++)
        blocks[i] = ExAllocatePoolWithTag(NonPagedPoolNx, 3, 'aaaa' + i);
    assert_int_equal(pool_outstanding(), RTL_NUMBER_OF(blocks));
    for (ULONG i = 0; i < RTL_NUMBER_OF(blocks); i++)
        ExFreePoolWithTag(blocks[i], 'aaaa' + i);
    assert_int_equal(pool_outstanding(), 0);
}

static void test_either_mode_frees(void **state)
{
    struct reports r;
    PVOID plain, recorded;

    (void)state;
    ondk_wdk_set_checks(ONDK_WDK_CHECKS_OFF);
    plain = ExAllocatePoolWithTag(NonPagedPoolNx, 100, TAG);
    reports_start(&r);
    recorded = ExAllocatePoolWithTag(NonPagedPoolNx, 100, TAG);
    ExFreePoolWithTag(plain, TAG);
    ondk_wdk_set_checks(ONDK_WDK_CHECKS_OFF);
    ExFreePoolWithTag(recorded, TAG);
    assert_int_equal(reports_end(&r), 0);
    free(r.text);
    assert_int_equal(pool_outstanding(), 0);
}

/* ---- Rules -------------------------------------------------------------------------------------------------------- */

static void test_wrong_tag(void **state)
{
    struct reports r;
    PVOID block = ExAllocatePoolWithTag(NonPagedPoolNx, 40, TAG);

    (void)state;
    reports_start(&r);
    ExFreePoolWithTag(block, OTHER_TAG);
    assert_true(reports_is_one(&r, "pool-wrong-tag", "allocated by"));
    assert_int_equal(pool_outstanding(), 0);
}

static void test_double_free(void **state)
{
    struct reports r;
    PVOID block = ExAllocatePoolWithTag(NonPagedPoolNx, 40, TAG);

    (void)state;
    reports_start(&r);
    ExFreePool(block);
    ExFreePool(block);
    assert_true(reports_is_one(&r, "pool-double-free", "freed by"));
    assert_int_equal(pool_outstanding(), 0);
}

static void test_bad_address(void **state)
{
    UCHAR *block = ExAllocatePoolWithTag(NonPagedPoolNx, 200, TAG);
    struct reports r;
    ULONG local[16] = { 0 };

    (void)state;
    reports_start(&r);
    ExFreePool(&local[8]);
    assert_true(reports_is_one(&r, "pool-bad-address", "never allocated"));
    reports_start(&r);
    ExFreePool(NULL);
    assert_true(reports_is_one(&r, "pool-bad-address", "never allocated"));
    reports_start(&r);
    ExFreePool((PVOID)(ULONG_PTR)0x10);
    assert_true(reports_is_one(&r, "pool-bad-address", "never allocated"));
    if (!checked_pool_sanitized()) { /* which knows no block by an address within it */
        reports_start(&r);
        ExFreePool(block + 16);
        assert_true(reports_is_one(&r, "pool-bad-address", "allocated by"));
    }
    ExFreePool(block);
}

static void test_bad_request(void **state)
{
    struct reports r;
    PVOID block;

    (void)state;
    reports_start(&r);
    block = ExAllocatePoolWithTag(NonPagedPoolNx, 0, TAG);
    assert_true(reports_is_one(&r, "pool-bad-request", "0 octets"));
    ExFreePool(block);
    reports_start(&r);
    block = ExAllocatePoolWithTag(NonPagedPoolNx, 8, 0);
    assert_true(reports_is_one(&r, "pool-bad-request", "tag of 0"));
    ExFreePool(block);
    reports_start(&r);
    assert_null(ExAllocatePool2(POOL_FLAG_NON_PAGED, 8, 0));
    assert_true(reports_is_one(&r, "pool-bad-request", "tag of 0"));
    reports_start(&r);
    assert_null(ExAllocatePool2(POOL_FLAG_NON_PAGED | POOL_FLAG_PAGED, 8, TAG));
    assert_true(reports_is_one(&r, "pool-bad-request", "flags"));
    reports_start(&r);
    assert_null(ExAllocatePool2(POOL_FLAG_NON_PAGED | 0x10000, 8, TAG));
    assert_true(reports_is_one(&r, "pool-bad-request", "flags"));
    reports_start(&r);
    irql_set(DISPATCH_LEVEL);
    block = ExAllocatePoolWithTag(PagedPool, 8, TAG);
    irql_set(PASSIVE_LEVEL);
    assert_true(reports_is_one(&r, "pool-bad-request", "IRQL 2"));
    reports_start(&r);
    irql_set(DISPATCH_LEVEL);
    ExFreePool(block);
    irql_set(PASSIVE_LEVEL);
    assert_true(reports_is_one(&r, "irql-too-high", "ExFreePool"));
    assert_int_equal(pool_outstanding(), 0);
}

/* Through a volatile, or the compiler sees it and refuses. */
static void poke(volatile UCHAR *at, UCHAR value)
{
    *at = value;
}

/* Under AddressSanitizer these are its to find: the child that does it does not come back. */
static void test_sanitizer_sees(void (*wrong)(void))
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(0);
        wrong();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void write_beyond(void)
{
    UCHAR *block = ExAllocatePoolWithTag(NonPagedPoolNx, 48, TAG);

    poke(block + 48, 1);
}

static void write_in_front(void)
{
    UCHAR *block = ExAllocatePoolWithTag(NonPagedPoolNx, 48, TAG);

    poke(block - 1, 1);
}

static void write_freed(void)
{
    UCHAR *block = ExAllocatePoolWithTag(NonPagedPoolNx, 48, TAG);

    ExFreePool(block);
    poke(block + 5, 1);
}

/* In the octets up to the alignment, which no page guards: seen when it is freed. */
static void test_small_overrun(void **state)
{
    struct reports r;
    UCHAR *block;

    (void)state;
    if (checked_pool_sanitized())
        return test_sanitizer_sees(write_beyond);
    block = ExAllocatePoolWithTag(NonPagedPoolNx, 45, TAG);
    reports_start(&r);
    poke(block + 46, 0);
    assert_int_equal(ondk_wdk_violations(), r.before);
    ExFreePool(block);
    assert_true(reports_is_one(&r, "pool-overrun", "in ExFreePool"));
}

static void test_overrun(void **state)
{
    struct reports r;
    UCHAR *block;

    (void)state;
    if (checked_pool_sanitized())
        return test_sanitizer_sees(write_beyond);
    block = ExAllocatePoolWithTag(NonPagedPoolNx, 45, TAG);
    reports_start(&r);
    for (int i = 40; i < 60; i++)
        poke(block + i, 1); /* through the three octets that no page guards into the page that does */
    ExFreePool(block);
    assert_true(reports_is_one(&r, "pool-overrun", "written to behind its end"));

    block = ExAllocatePoolWithTag(NonPagedPoolNx, 3 * PAGE_SIZE, TAG);
    reports_start(&r);
    assert_int_equal(((volatile UCHAR *)block)[3 * PAGE_SIZE], 0);
    assert_true(reports_is_one(&r, "pool-overrun", "read behind its end"));
    ExFreePool(block);
}

static void test_underrun(void **state)
{
    struct reports r;
    UCHAR *block;

    (void)state;
    if (checked_pool_sanitized())
        return test_sanitizer_sees(write_in_front);
    block = ExAllocatePoolWithTag(NonPagedPoolNx, 48, TAG);
    reports_start(&r);
    poke(block - 1, 1);
    ExFreePool(block);
    assert_true(reports_is_one(&r, "pool-underrun", "in ExFreePool"));

    block = ExAllocatePoolWithTag(NonPagedPoolNx, 3 * PAGE_SIZE, TAG);
    reports_start(&r);
    poke(block - 1, 1);
    ExFreePool(block);
    assert_true(reports_is_one(&r, "pool-underrun", "written to in front"));
}

static void test_use_after_free(void **state)
{
    static const size_t sizes[] = { 48, 5 * PAGE_SIZE };

    (void)state;
    if (checked_pool_sanitized())
        return test_sanitizer_sees(write_freed);
    for (size_t i = 0; i < RTL_NUMBER_OF(sizes); i++) {
        UCHAR *block = ExAllocatePoolWithTag(NonPagedPoolNx, sizes[i], TAG);
        struct reports r;

        reports_start(&r);
        ExFreePool(block);
        poke(block + 5, 1);
        poke(block + 6, 1); /* the page is open now */
        assert_true(reports_is_one(&r, "pool-use-after-free", "freed by"));
    }
}

/* The driver's own handler, or the host program's, still gets what is not ours. */
static sigjmp_buf elsewhere;

static void on_other_fault(int number)
{
    (void)number;
    siglongjmp(elsewhere, 1);
}

static bool fault_elsewhere(void)
{
    if (sigsetjmp(elsewhere, 1))
        return true;
    poke((UCHAR *)(ULONG_PTR)getpagesize() - 8, 1);
    return false;
}

static void test_stop_ends_the_program(void **state)
{
    int status;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(0);
        ondk_wdk_set_checks(ONDK_WDK_CHECKS_STOP);
        write_freed();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (checked_pool_sanitized())
        assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    else
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* First of all: the program's handler was there before the pool's. */
static void test_other_faults_pass_on(void **state)
{
    struct sigaction action = { .sa_handler = on_other_fault };
    PVOID block;
    int status;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        sigaction(SIGSEGV, &action, NULL);
        ondk_wdk_set_checks(ONDK_WDK_CHECKS_GO_ON);
        block = ExAllocatePoolWithTag(NonPagedPoolNx, 48, TAG);
        ExFreePool(block);
        _exit(fault_elsewhere() ? 7 : 8);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* More blocks than may have pages of their own. */
static void test_beyond_special_pool(void **state)
{
    enum { MANY = 40, SPECIAL = 30 };
    PVOID blocks[MANY];
    unsigned special = 0;
    struct reports r;

    (void)state;
    special_limit(SPECIAL);
    for (int i = 0; i < MANY; i++) {
        struct pool_block found;

        blocks[i] = ExAllocatePoolWithTag(NonPagedPoolNx, 32, TAG);
        assert_non_null(blocks[i]);
        assert_true(checked_pool_find(blocks[i], &found));
        special += found.run != NULL;
    }
    reports_start(&r);
    if (checked_pool_sanitized()) {
        assert_int_equal(special, 0);
    } else {
        assert_int_equal(special, SPECIAL);
        poke((UCHAR *)blocks[MANY - 1] + 32, 1);
    }
    ExFreePool(blocks[MANY - 1]);
    if (checked_pool_sanitized()) {
        assert_int_equal(reports_end(&r), 0);
        free(r.text);
    } else {
        assert_true(reports_is_one(&r, "pool-overrun", "in ExFreePool"));
        reports_start(&r);
        poke(blocks[MANY - 1], 1); /* freed: seen when one looks again */
        pool_report(r.out);
        assert_true(reports_is_one(&r, "pool-use-after-free", "written to after it was freed"));
        reports_start(&r);
        poke((UCHAR *)blocks[MANY - 2] - 9, 1);
        ExFreePool(blocks[MANY - 2]);
        assert_true(reports_is_one(&r, "pool-underrun", "in ExFreePool"));
        blocks[MANY - 2] = NULL;
    }
    for (int i = 0; i < MANY - 1; i++)
        if (blocks[i])
            ExFreePool(blocks[i]);
    assert_int_equal(pool_outstanding(), 0);
}

static const void *used;

static bool find_used(const void *start, size_t size, struct inuse_found *out)
{
    if (!used || (uintptr_t)used - (uintptr_t)start >= size)
        return false;
    out->object = used;
    out->what = "something of the test's";
    return true;
}

/* An event that a thread waits for stands for it elsewhere. */
static void test_freed_in_use(void **state)
{
    struct reports r;
    UCHAR *block = ExAllocatePoolWithTag(NonPagedPoolNx, 64, TAG);

    (void)state;
    inuse_add_source(find_used);
    used = block + 16;
    reports_start(&r);
    ExFreePool(block);
    used = NULL;
    assert_true(reports_is_one(&r, "object-freed-in-use", "something of the test's"));
}

/* ---- At random ---------------------------------------------------------------------------------------------------- */

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
    uint32_t before = ondk_wdk_violations();

    (void)state;
    for (unsigned i = 0; i < THREADS; i++) {
        seeds[i] = i + 1;
        assert_int_equal(pthread_create(&threads[i], NULL, at_random, &seeds[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(ondk_wdk_violations(), before);
    assert_int_equal(pool_outstanding(), 0);
}

#define IN_BOTH(test) cmocka_unit_test_setup(test, off), cmocka_unit_test_setup(test, go_on)
#define CHECKED(test) cmocka_unit_test_setup(test, go_on)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHECKED(test_other_faults_pass_on),
        IN_BOTH(test_alignment),
        IN_BOTH(test_zeroed),
        IN_BOTH(test_too_large),
        IN_BOTH(test_raises),
        IN_BOTH(test_numbers_by_tag),
        IN_BOTH(test_many_tags),
        CHECKED(test_either_mode_frees),
        CHECKED(test_wrong_tag),
        CHECKED(test_double_free),
        CHECKED(test_bad_address),
        CHECKED(test_bad_request),
        CHECKED(test_small_overrun),
        CHECKED(test_overrun),
        CHECKED(test_underrun),
        CHECKED(test_use_after_free),
        CHECKED(test_stop_ends_the_program),
        CHECKED(test_freed_in_use),
        IN_BOTH(test_at_random),
        CHECKED(test_beyond_special_pool),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
