/* SPDX-License-Identifier: MIT */
/* Logical address mappings without memory: the call fails with that status and leaves nothing mapped. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fabric/iwarp/adapter.h"
#include "fabric/iwarp/memory.h"
#include "iwarp/memory.h"

/*
 * Allocations that succeed before the rest fail; negative: all succeed. The linker replaces the real functions by
 * these.
 */
static int until_none = -1;

void *__real_malloc(size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static bool refused(void)
{
    if (until_none > 0)
        until_none--;
    else if (until_none == 0)
        return true;
    return false;
}

void *__wrap_malloc(size_t size)
{
    return refused() ? NULL : __real_malloc(size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return refused() ? NULL : __real_aligned_alloc(alignment, size);
}

static void test_lam(void **state)
{
    static uint8_t memory[100];
    struct iwarp_fabric f = { .memory = mem_table_create(1) };
    struct fabric_lam *lam = NULL;
    int n, error = ENOMEM;

    (void)state;
    assert_non_null(f.memory);
    for (n = 0; n < 20 && error; n++) {
        until_none = n;
        error = iwarp_lam_create(&f.base, memory, UINT64_C(3) << 31, &lam); /* several parts */
        assert_true(error == 0 || (error == ENOMEM && !lam));
    }
    until_none = -1;
    assert_int_equal(n, 3); /* two allocations: its own, and the table's first slots */
    iwarp_lam_release(lam);
    mem_table_destroy(f.memory); /* asserts that every region is freed */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_lam) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
