/* SPDX-License-Identifier: MIT */
/* Virtual memory: reservation, commitment, decommitment and release. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ntifs.h"

#include "child.h"
#include "live_count.h"
#include "report.h"

enum { GRANULARITY = 0x10000 };

static NTSTATUS allocate(char **base, SIZE_T *size, ULONG type, ULONG protect)
{
    return ZwAllocateVirtualMemory(NtCurrentProcess(), (PVOID *)base, 0, size, type, protect);
}

static NTSTATUS release(char **base, SIZE_T *size, ULONG type)
{
    return ZwFreeVirtualMemory(NtCurrentProcess(), (PVOID *)base, size, type);
}

static void test_commit_at_once(void **state)
{
    uint32_t before = live_count();
    char *base = NULL;
    SIZE_T size = 5000;

    (void)state;
    assert_int_equal(allocate(&base, &size, MEM_COMMIT, PAGE_READWRITE), STATUS_SUCCESS);
    assert_int_equal(size, 8192);
    assert_int_equal((uintptr_t)base % GRANULARITY, 0);
    assert_int_equal(base[8191], 0);
    base[8191] = 1;
    assert_int_equal(live_count(), before + 1);
    base += 4096;
    size = 0;
    assert_int_equal(release(&base, &size, MEM_RELEASE), STATUS_FREE_VM_NOT_AT_BASE);
    base -= 4096;
    size = 8192;
    assert_int_equal(release(&base, &size, MEM_RELEASE), STATUS_INVALID_PARAMETER_3);
    size = 0;
    assert_int_equal(release(&base, &size, MEM_RELEASE | MEM_DECOMMIT), STATUS_INVALID_PARAMETER_4);
    assert_int_equal(release(&base, &size, MEM_RELEASE), STATUS_SUCCESS);
    assert_int_equal(size, 8192);
    size = 0;
    assert_int_equal(release(&base, &size, MEM_RELEASE), STATUS_MEMORY_NOT_ALLOCATED);
    assert_int_equal(live_count(), before);
}

static void test_in_steps(void **state)
{
    char *base = NULL, *page, *taken;
    SIZE_T size = 4 * GRANULARITY, part;

    (void)state;
    assert_int_equal(allocate(&base, &size, MEM_RESERVE, PAGE_NOACCESS), STATUS_SUCCESS);
    assert_false(MmIsAddressValid(base));
    taken = base + GRANULARITY + 1;
    part = 4096;
    assert_int_equal(allocate(&taken, &part, MEM_RESERVE, PAGE_READWRITE), STATUS_CONFLICTING_ADDRESSES);
    page = base + 8191; /* two pages have a part of it */
    part = 2;
    assert_int_equal(allocate(&page, &part, MEM_COMMIT, PAGE_READWRITE), STATUS_SUCCESS);
    assert_ptr_equal(page, base + 4096);
    assert_int_equal(part, 8192);
    page[0] = page[8191] = 9;
    assert_false(MmIsAddressValid(base));
    part = 1;
    assert_int_equal(release(&page, &part, MEM_DECOMMIT), STATUS_SUCCESS);
    assert_int_equal(part, 4096);
    assert_false(MmIsAddressValid(page));
    assert_int_equal(page[8191], 9);
    assert_int_equal(allocate(&page, &part, MEM_COMMIT, PAGE_READWRITE), STATUS_SUCCESS);
    assert_int_equal(page[0], 0);
    part = 0;
    assert_int_equal(release(&page, &part, MEM_DECOMMIT), STATUS_FREE_VM_NOT_AT_BASE);
    part = 5 * GRANULARITY;
    page = base;
    assert_int_equal(allocate(&page, &part, MEM_COMMIT, PAGE_READWRITE), STATUS_CONFLICTING_ADDRESSES);
    size = 0;
    assert_int_equal(release(&base, &size, MEM_DECOMMIT), STATUS_SUCCESS);
    assert_int_equal(size, 4 * GRANULARITY);
    assert_false(MmIsAddressValid(base + 3 * 4096));
    size = 0;
    assert_int_equal(release(&base, &size, MEM_RELEASE), STATUS_SUCCESS);
    part = 4096;
    assert_int_equal(allocate(&taken, &part, MEM_RESERVE | MEM_COMMIT, PAGE_READONLY), STATUS_SUCCESS);
    assert_int_equal((uintptr_t)taken % GRANULARITY, 0);
    part = 0;
    assert_int_equal(release(&taken, &part, MEM_RELEASE), STATUS_SUCCESS);
}

static void free_with_timer(void)
{
    LARGE_INTEGER later = { .QuadPart = -600000000 };
    char *base = NULL;
    SIZE_T size = 4096;

    ondk_verify_set_mode(ONDK_VERIFY_STOP);
    assert_int_equal(allocate(&base, &size, MEM_COMMIT, PAGE_READWRITE), STATUS_SUCCESS);
    KeInitializeTimer((PKTIMER)(void *)base);
    KeSetTimer((PKTIMER)(void *)base, later, NULL);
    size = 0;
    (void)release(&base, &size, MEM_RELEASE);
}

static void test_refuses(void **state)
{
    struct report *r;
    char *base = NULL;
    SIZE_T size = 0;

    (void)state;
    assert_int_equal(allocate(&base, &size, MEM_COMMIT, PAGE_READWRITE), STATUS_INVALID_PARAMETER_4);
    size = 1;
    assert_int_equal(allocate(&base, &size, MEM_RELEASE, PAGE_READWRITE), STATUS_INVALID_PARAMETER_5);
    assert_int_equal(allocate(&base, &size, MEM_TOP_DOWN, PAGE_READWRITE), STATUS_INVALID_PARAMETER_5);
    assert_int_equal(allocate(&base, &size, MEM_COMMIT, PAGE_WRITECOPY), STATUS_INVALID_PAGE_PROTECTION);
    assert_int_equal(allocate(&base, &size, MEM_COMMIT, PAGE_READWRITE | PAGE_GUARD), STATUS_INVALID_PAGE_PROTECTION);
    size = -(SIZE_T)4096; /* would wrap with the bytes that alignment needs */
    assert_int_equal(allocate(&base, &size, MEM_RESERVE, PAGE_READWRITE), STATUS_NO_MEMORY);
    assert_null(base);
    child_aborts(free_with_timer);
    r = report_start();
    assert_int_equal(ZwFreeVirtualMemory((HANDLE)(LONG_PTR)12, (PVOID *)&base, &size, MEM_RELEASE),
                     STATUS_INVALID_HANDLE);
    report_is(r, "handle-invalid in ZwFreeVirtualMemory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commit_at_once),
        cmocka_unit_test(test_in_steps),
        cmocka_unit_test(test_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
