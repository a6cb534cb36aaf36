/* SPDX-License-Identifier: MIT */
/* The rules of pool, each broken on purpose. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ntddk.h"

#include "child.h"
#include "modes.h"
#include "report.h"
#include "wdk/common/inuse.h"
#include "wdk/ke/thread.h"
#include "wdk/mm/checked_pool.h"
#include "wdk/mm/pool.h"
#include "openndk/verify.h"

enum { TAG = 'tseT', OTHER_TAG = 'rhtO' };

static void test_wrong_tag(void **state)
{
    struct report *r;
    PVOID block = ExAllocatePoolWithTag(NonPagedPoolNx, 40, TAG);

    (void)state;
    r = report_start();
    ExFreePoolWithTag(block, OTHER_TAG);
    report_says(r, "pool-wrong-tag in ", "allocated by");
    assert_int_equal(pool_block_count(), 0);
}

static void test_double_free(void **state)
{
    struct report *r;
    PVOID block = ExAllocatePoolWithTag(NonPagedPoolNx, 40, TAG);

    (void)state;
    r = report_start();
    ExFreePool(block);
    ExFreePool(block);
    report_says(r, "pool-double-free in ", "freed by");
    assert_int_equal(pool_block_count(), 0);
}

static void test_bad_address(void **state)
{
    UCHAR *block = ExAllocatePoolWithTag(NonPagedPoolNx, 200, TAG);
    struct report *r;
    ULONG local[16] = { 0 };

    (void)state;
    r = report_start();
    ExFreePool(&local[8]);
    report_says(r, "pool-bad-address in ", "never allocated");
    r = report_start();
    ExFreePool(NULL);
    report_says(r, "pool-bad-address in ", "never allocated");
    r = report_start();
    ExFreePool((PVOID)(ULONG_PTR)0x10);
    report_says(r, "pool-bad-address in ", "never allocated");
    if (!checked_pool_under_asan) { /* which finds no block by an inner address */
        r = report_start();
        ExFreePool(block + 16);
        report_says(r, "pool-bad-address in ", "allocated by");
    }
    ExFreePool(block);
}

static void test_bad_request(void **state)
{
    struct report *r;
    PVOID block;

    (void)state;
    r = report_start();
    block = ExAllocatePoolWithTag(NonPagedPoolNx, 0, TAG);
    report_says(r, "pool-bad-request in ", "0 bytes");
    ExFreePool(block);
    r = report_start();
    block = ExAllocatePoolWithTag(NonPagedPoolNx, 8, 0);
    report_says(r, "pool-bad-request in ", "tag of 0");
    ExFreePool(block);
    r = report_start();
    assert_null(ExAllocatePool2(POOL_FLAG_NON_PAGED, 8, 0));
    report_says(r, "pool-bad-request in ", "tag of 0");
    r = report_start();
    assert_null(ExAllocatePool2(POOL_FLAG_NON_PAGED | POOL_FLAG_PAGED, 8, TAG));
    report_says(r, "pool-bad-request in ", "flags");
    r = report_start();
    assert_null(ExAllocatePool2(POOL_FLAG_NON_PAGED | 0x10000, 8, TAG));
    report_says(r, "pool-bad-request in ", "flags");
    r = report_start();
    irql_set(DISPATCH_LEVEL);
    block = ExAllocatePoolWithTag(PagedPool, 8, TAG);
    irql_set(PASSIVE_LEVEL);
    report_says(r, "pool-bad-request in ", "IRQL 2");
    r = report_start();
    irql_set(DISPATCH_LEVEL);
    ExFreePool(block);
    irql_set(PASSIVE_LEVEL);
    report_is(r, "irql-too-high in ExFreePool");
    assert_int_equal(pool_block_count(), 0);
}

/* No driver has a secure pool, so a parameter for one is refused unless it is optional. */
static void test_extended_parameters(void **state)
{
    static const POOL_EXTENDED_PARAMETER secure = { .Type = PoolExtendedParameterSecurePool };
    static const POOL_EXTENDED_PARAMETER optional = { .Type = PoolExtendedParameterSecurePool, .Optional = 1 };
    static const POOL_EXTENDED_PARAMETER node = { .Type = PoolExtendedParameterNumaNode };
    struct report *r;

    (void)state;
    r = report_start();
    assert_null(ExAllocatePool3(POOL_FLAG_NON_PAGED, 8, TAG, &secure, 1));
    report_says(r, "pool-bad-request in ", "parameters");
    r = report_start();
    assert_null(ExAllocatePool3(POOL_FLAG_PAGED, 8, TAG, &node, 1));
    report_says(r, "pool-bad-request in ", "parameters");
    r = report_start();
    assert_null(ExAllocatePool3(POOL_FLAG_NON_PAGED, 8, TAG, NULL, 1));
    report_says(r, "pool-bad-request in ", "parameters");
    r = report_start();
    ExFreePoolWithTag(ExAllocatePool3(POOL_FLAG_NON_PAGED, 8, TAG, &optional, 1), TAG);
    ExFreePoolWithTag(ExAllocatePool3(POOL_FLAG_NON_PAGED, 8, TAG, &node, 1), TAG);
    report_is_empty(r);
    assert_int_equal(pool_block_count(), 0);
}

/* Uses a volatile, because the compiler refuses visible mistakes. */
static void poke(volatile UCHAR *at, UCHAR value)
{
    *at = value;
}

/* AddressSanitizer reports these mistakes itself and ends the child. */
static void test_sanitizer_sees(void (*wrong)(void))
{
    assert_int_not_equal(child_status(wrong), 0);
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

/* Writes the bytes up to the alignment, which no page guards: reported at the free. */
static void test_small_overrun(void **state)
{
    struct report *r;
    UCHAR *block;

    (void)state;
    if (checked_pool_under_asan)
        return test_sanitizer_sees(write_beyond);
    block = ExAllocatePoolWithTag(NonPagedPoolNx, 45, TAG);
    r = report_start();
    poke(block + 46, 0);
    assert_int_equal(report_so_far(r), 0);
    ExFreePool(block);
    report_is(r, "pool-overrun in ExFreePool");
}

static void test_overrun(void **state)
{
    struct report *r;
    UCHAR *block;

    (void)state;
    if (checked_pool_under_asan)
        return test_sanitizer_sees(write_beyond);
    block = ExAllocatePoolWithTag(NonPagedPoolNx, 45, TAG);
    r = report_start();
    for (int i = 40; i < 60; i++)
        poke(block + i, 1); /* through the three bytes that no page guards into the page that does */
    ExFreePool(block);
    report_says(r, "pool-overrun in ", "written to behind its end");

    block = ExAllocatePoolWithTag(NonPagedPoolNx, 3 * PAGE_SIZE, TAG);
    r = report_start();
    assert_int_equal(((volatile UCHAR *)block)[3 * PAGE_SIZE], 0);
    report_says(r, "read behind its end", "rule: A driver reads and writes only the bytes");
    ExFreePool(block);
}

static void test_underrun(void **state)
{
    struct report *r;
    UCHAR *block;

    (void)state;
    if (checked_pool_under_asan)
        return test_sanitizer_sees(write_in_front);
    block = ExAllocatePoolWithTag(NonPagedPoolNx, 48, TAG);
    r = report_start();
    poke(block - 1, 1);
    ExFreePool(block);
    report_is(r, "pool-underrun in ExFreePool");

    block = ExAllocatePoolWithTag(NonPagedPoolNx, 3 * PAGE_SIZE, TAG);
    r = report_start();
    poke(block - 1, 1);
    ExFreePool(block);
    report_says(r, "pool-underrun in ", "written to in front");
}

static void test_use_after_free(void **state)
{
    static const size_t sizes[] = { 48, 5 * PAGE_SIZE };

    (void)state;
    if (checked_pool_under_asan)
        return test_sanitizer_sees(write_freed);
    for (size_t i = 0; i < RTL_NUMBER_OF(sizes); i++) {
        UCHAR *block = ExAllocatePoolWithTag(NonPagedPoolNx, sizes[i], TAG);
        struct report *r;

        r = report_start();
        ExFreePool(block);
        poke(block + 5, 1);
        poke(block + 6, 1); /* the page is accessible now */
        report_says(r, "pool-use-after-free in ", "freed by");
    }
}

/* The handler of the driver or of the host program still gets other faults. */
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

static void write_freed_and_stop(void)
{
    ondk_verify_set_mode(ONDK_VERIFY_STOP);
    write_freed();
}

static void test_stop_ends_the_program(void **state)
{
    (void)state;
    if (checked_pool_under_asan)
        test_sanitizer_sees(write_freed_and_stop);
    else
        child_aborts(write_freed_and_stop);
}

/* The first test: the program's handler was installed before the pool's. */
static void test_other_faults_pass_on(void **state)
{
    struct sigaction action = { .sa_handler = on_other_fault };
    PVOID block;
    int status;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        sigaction(SIGSEGV, &action, NULL);
        ondk_verify_set_mode(ONDK_VERIFY_REPORT);
        block = ExAllocatePoolWithTag(NonPagedPoolNx, 48, TAG);
        ExFreePool(block);
        _exit(fault_elsewhere() ? 7 : 8);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static bool is_special(PVOID address)
{
    struct pool_block found;

    assert_true(checked_pool_find(address, &found));
    return found.run != NULL;
}

/* Breaks rules with two blocks that have no pages of their own. */
static void break_common_blocks(UCHAR *first, UCHAR *second)
{
    struct report *r = report_start();

    poke(first + 32, 1);
    ExFreePool(first);
    report_is(r, "pool-overrun in ExFreePool");
    r = report_start();
    poke(first, 1); /* freed: reported at the next check */
    pool_report(r->out);
    report_says(r, "pool-use-after-free in ", "written to after it was freed");
    r = report_start();
    poke(second - 9, 1);
    ExFreePool(second);
    report_is(r, "pool-underrun in ExFreePool");
}

/* More blocks than may have pages of their own: a quarter of the mappings that Linux allows by default. */
static void test_beyond_special_pool(void **state)
{
    enum { MOST = 65530 / 4 };
    PVOID *blocks = calloc(MOST, sizeof *blocks), first, second;
    unsigned count = 0;

    (void)state;
    assert_non_null(blocks);
    while ((first = ExAllocatePoolWithTag(NonPagedPoolNx, 32, TAG)) != NULL && is_special(first) && count < MOST)
        blocks[count++] = first;
    second = ExAllocatePoolWithTag(NonPagedPoolNx, 32, TAG);
    assert_true(first && second);
    if (checked_pool_under_asan)
        assert_int_equal(count, 0);
    if (checked_pool_under_asan || is_special(second)) {
        ExFreePool(first);
        ExFreePool(second);
    } else {
        assert_true(count > 1000);
        break_common_blocks(first, second);
    }
    while (count)
        ExFreePool(blocks[--count]);
    free(blocks);
    assert_int_equal(pool_block_count(), 0);
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

/* A freed event that a thread waits for is reported. */
static void test_freed_in_use(void **state)
{
    struct report *r;
    UCHAR *block = ExAllocatePoolWithTag(NonPagedPoolNx, 64, TAG);

    (void)state;
    inuse_add_source(find_used);
    used = block + 16;
    r = report_start();
    ExFreePool(block);
    used = NULL;
    report_says(r, "object-freed-in-use in ", "something of the test's");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHECKED(test_other_faults_pass_on),
        CHECKED(test_wrong_tag),
        CHECKED(test_double_free),
        CHECKED(test_bad_address),
        CHECKED(test_bad_request),
        CHECKED(test_extended_parameters),
        CHECKED(test_small_overrun),
        CHECKED(test_overrun),
        CHECKED(test_underrun),
        CHECKED(test_use_after_free),
        CHECKED(test_stop_ends_the_program),
        CHECKED(test_freed_in_use),
        CHECKED(test_beyond_special_pool),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
