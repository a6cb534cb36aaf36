/* SPDX-License-Identifier: MIT */
/* ProbeForRead and ProbeForWrite: what they raise, and that they change nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "wdm.h"

#include "child.h"

static NTSTATUS probed(bool write, volatile void *address, SIZE_T length, ULONG alignment)
{
    volatile NTSTATUS status = STATUS_SUCCESS;

    __try {
        if (write)
            ProbeForWrite(address, length, alignment);
        else
            ProbeForRead(address, length, alignment);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        status = (NTSTATUS)GetExceptionCode();
    }
    return status;
}

static void test_memory(void **state)
{
    enum { PAGES = 3 };
    char *pages = mmap(NULL, PAGES * PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_ptr_not_equal(pages, MAP_FAILED);
    memset(pages, 5, PAGE_SIZE);
    mprotect(pages + PAGE_SIZE, PAGE_SIZE, PROT_READ);
    mprotect(pages + 2 * PAGE_SIZE, PAGE_SIZE, PROT_NONE);
    assert_int_equal(probed(false, pages, 2 * PAGE_SIZE, 1), STATUS_SUCCESS);
    assert_int_equal(probed(false, pages, 2 * PAGE_SIZE + 1, 1), STATUS_ACCESS_VIOLATION);
    assert_int_equal(probed(false, pages + 2 * PAGE_SIZE - 1, 2, 1), STATUS_ACCESS_VIOLATION);
    assert_int_equal(probed(true, pages, PAGE_SIZE, 1), STATUS_SUCCESS);
    assert_int_equal(pages[0], 5);
    if (!madvise(pages, PAGE_SIZE, MADV_POPULATE_WRITE))
        assert_int_equal(probed(true, pages, PAGE_SIZE + 1, 1), STATUS_ACCESS_VIOLATION);
    munmap(pages, PAGES * PAGE_SIZE);
}

static void test_range(void **state)
{
    ULONG64 buffer[2] = { 1, 2 };
    PUCHAR bytes = (PUCHAR)buffer;

    (void)state;
    assert_int_equal(probed(false, bytes, 16, 8), STATUS_SUCCESS);
    assert_int_equal(probed(true, bytes, 16, 8), STATUS_SUCCESS);
    assert_int_equal(buffer[0] + buffer[1], 3);
    assert_int_equal(probed(false, bytes + 4, 4, 8), STATUS_DATATYPE_MISALIGNMENT);
    assert_int_equal(probed(true, bytes + 1, 4, 2), STATUS_DATATYPE_MISALIGNMENT);
    assert_int_equal(probed(false, bytes + 4, 4, 4), STATUS_SUCCESS);
    assert_int_equal(probed(false, bytes + 1, 0, 8), STATUS_SUCCESS); /* no length, no check */
    assert_int_equal(probed(false, NULL, 0, 1), STATUS_SUCCESS);
    assert_int_equal(probed(false, NULL, 1, 1), STATUS_ACCESS_VIOLATION);
    assert_int_equal(probed(false, bytes, ~(SIZE_T)0, 1), STATUS_ACCESS_VIOLATION);
    assert_int_equal(probed(true, (PVOID)(ULONG_PTR)0xffffffff80000000, 8, 8), STATUS_ACCESS_VIOLATION);
    assert_int_equal(probed(true, (PVOID)(ULONG_PTR)0x00007fffffffeff8, 16, 8), STATUS_ACCESS_VIOLATION);
}

static void probe_at_dispatch(void)
{
    static UCHAR byte;
    KIRQL old;

    KeRaiseIrql(DISPATCH_LEVEL, &old);
    ProbeForRead(&byte, 1, 1);
}

static void test_irql(void **state)
{
    (void)state;
    child_aborts(probe_at_dispatch);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_memory), cmocka_unit_test(test_range),
                                        cmocka_unit_test(test_irql) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
