/* SPDX-License-Identifier: MIT */
/* Generic tables of both kinds: order, equal elements, enumeration, deletion, and the shape of the trees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ntddk.h"

enum { KEYS = 512 };

struct element {
    ULONG key;
    ULONG64 value;
};

static unsigned blocks, allocations_left = ~0u;
static bool present[KEYS];
static ULONG inserted[KEYS], inserted_count;

static RTL_GENERIC_COMPARE_RESULTS order_of(const struct element *a, const struct element *b)
{
    return a->key < b->key ? GenericLessThan : a->key > b->key ? GenericGreaterThan : GenericEqual;
}

static void *allocate(ULONG size)
{
    if (!allocations_left)
        return NULL;
    allocations_left--;
    blocks++;
    return malloc(size);
}

static void release(void *block)
{
    blocks--;
    free(block);
}

static RTL_GENERIC_COMPARE_RESULTS NTAPI compare_avl(PRTL_AVL_TABLE table, PVOID first, PVOID second)
{
    assert_ptr_equal(table->TableContext, present);
    return order_of(first, second);
}
static PVOID NTAPI allocate_avl(PRTL_AVL_TABLE table, CLONG size)
{
    (void)table;
    return allocate(size);
}
static VOID NTAPI free_avl(PRTL_AVL_TABLE table, PVOID block)
{
    (void)table;
    release(block);
}
static RTL_GENERIC_COMPARE_RESULTS NTAPI compare_splay(PRTL_GENERIC_TABLE table, PVOID first, PVOID second)
{
    assert_ptr_equal(table->TableContext, present);
    return order_of(first, second);
}
static PVOID NTAPI allocate_splay(PRTL_GENERIC_TABLE table, CLONG size)
{
    (void)table;
    return allocate(size);
}
static VOID NTAPI free_splay(PRTL_GENERIC_TABLE table, PVOID block)
{
    (void)table;
    release(block);
}

/* ---- One interface for both -------------------------------------------------------------------------------------- */

static RTL_AVL_TABLE avl;
static RTL_GENERIC_TABLE splay;
static bool is_avl;

static struct element *insert(ULONG key, BOOLEAN *is_new)
{
    struct element e = { key, key * 3ull };

    return is_avl ? RtlInsertElementGenericTableAvl(&avl, &e, sizeof e, is_new)
                  : RtlInsertElementGenericTable(&splay, &e, sizeof e, is_new);
}

static struct element *lookup(ULONG key)
{
    struct element e = { key, 0 };

    return is_avl ? RtlLookupElementGenericTableAvl(&avl, &e) : RtlLookupElementGenericTable(&splay, &e);
}

static BOOLEAN delete (ULONG key)
{
    struct element e = { key, 0 };

    return is_avl ? RtlDeleteElementGenericTableAvl(&avl, &e) : RtlDeleteElementGenericTable(&splay, &e);
}

static struct element *enumerate(BOOLEAN restart)
{
    return is_avl ? RtlEnumerateGenericTableAvl(&avl, restart) : RtlEnumerateGenericTable(&splay, restart);
}

static struct element *enumerate_from(PVOID *key)
{
    return is_avl ? RtlEnumerateGenericTableWithoutSplayingAvl(&avl, key)
                  : RtlEnumerateGenericTableWithoutSplaying(&splay, key);
}

static struct element *get(ULONG number)
{
    return is_avl ? RtlGetElementGenericTableAvl(&avl, number) : RtlGetElementGenericTable(&splay, number);
}

static ULONG count(void)
{
    return is_avl ? RtlNumberGenericTableElementsAvl(&avl) : RtlNumberGenericTableElements(&splay);
}

static BOOLEAN is_empty(void)
{
    return is_avl ? RtlIsGenericTableEmptyAvl(&avl) : RtlIsGenericTableEmpty(&splay);
}

/* ---- The trees' rules -------------------------------------------------------------------------------------------- */

/* Returns the depth of the node's tree. */
static int check_avl(PRTL_BALANCED_LINKS node, PRTL_BALANCED_LINKS parent)
{
    int left, right;

    if (!node)
        return 0;
    assert_ptr_equal(node->Parent, parent);
    left = check_avl(node->LeftChild, node);
    right = check_avl(node->RightChild, node);
    assert_int_equal(node->Balance, right - left);
    assert_true(abs(right - left) <= 1);
    return 1 + (left > right ? left : right);
}

static ULONG check_splay(PRTL_SPLAY_LINKS node, PRTL_SPLAY_LINKS parent)
{
    if (!node)
        return 0;
    assert_ptr_equal(node->Parent, parent);
    return 1 + check_splay(node->LeftChild, node) + check_splay(node->RightChild, node);
}

static void check_table(void)
{
    ULONG key, elements = 0, at = 0;
    PVOID restart = NULL;
    struct element *e;

    for (key = 0; key < KEYS; key++)
        elements += present[key];
    assert_int_equal(count(), elements);
    assert_int_equal(is_empty(), !elements);
    assert_int_equal(blocks, elements);
    if (is_avl)
        assert_int_equal(check_avl(avl.BalancedRoot.RightChild, &avl.BalancedRoot), avl.DepthOfTree);
    else
        assert_int_equal(check_splay(splay.TableRoot, splay.TableRoot), elements);
    for (key = 0; key < KEYS; key++)
        if (present[key]) {
            e = enumerate_from(&restart);
            assert_non_null(e);
            assert_int_equal(e->key, key);
            assert_int_equal(e->value, key * 3);
            assert_int_equal(get(at)->key, is_avl ? key : inserted[at]);
            at++;
        }
    assert_null(enumerate_from(&restart));
    assert_null(get(elements));
}

static void forget_inserted(ULONG key)
{
    ULONG i = 0;

    while (inserted[i] != key)
        i++;
    memmove(inserted + i, inserted + i + 1, (--inserted_count - i) * sizeof *inserted);
}

static void change(ULONG key, bool add)
{
    BOOLEAN is_new = 2;

    if (add) {
        struct element *e = insert(key, &is_new);

        assert_int_equal(e->key, key);
        assert_int_equal(is_new, !present[key]);
        if (is_new)
            inserted[inserted_count++] = key;
    } else {
        assert_int_equal(delete (key), present[key]);
        if (present[key])
            forget_inserted(key);
    }
    present[key] = add;
    assert_int_equal(lookup(key) != NULL, add);
}

static void begin(bool of_avl)
{
    is_avl = of_avl;
    memset(present, 0, sizeof present);
    inserted_count = 0;
    if (is_avl)
        RtlInitializeGenericTableAvl(&avl, compare_avl, allocate_avl, free_avl, present);
    else
        RtlInitializeGenericTable(&splay, compare_splay, allocate_splay, free_splay, present);
    check_table();
}

static void end(void)
{
    ULONG key;

    for (key = 0; key < KEYS; key++)
        change(key, false);
    check_table();
}

static void test_order(void **state)
{
    ULONG key, i;

    (void)state;
    for (i = 0; i < 2; i++) {
        begin(i);
        for (key = 0; key < KEYS; key++)
            change(key, true);
        check_table();
        for (key = 0; key < KEYS; key += 2)
            change(KEYS - 1 - key, false);
        check_table();
        end();
        for (key = KEYS; key-- > 0;)
            change(key, true);
        check_table();
        end();
    }
}

static void test_random(void **state)
{
    unsigned i, kind;
    uint64_t random = 1;

    (void)state;
    for (kind = 0; kind < 2; kind++) {
        begin(kind);
        for (i = 0; i < 4000; i++) {
            random = random * 6364136223846793005 + 1442695040888963407;
            change((ULONG)(random >> 40) % (i % 1000 < 500 ? KEYS : 24), random >> 63);
            if (i % 50 == 0)
                check_table();
        }
        end();
    }
}

static void test_no_memory(void **state)
{
    unsigned i;

    (void)state;
    for (i = 0; i < 2; i++) {
        BOOLEAN is_new = TRUE;

        begin(i);
        change(4, true);
        allocations_left = 0;
        assert_null(insert(5, &is_new));
        assert_false(is_new);
        assert_int_equal(insert(4, NULL)->key, 4); /* needs no memory */
        allocations_left = ~0u;
        assert_non_null(insert(5, NULL));
        present[5] = true;
        inserted[inserted_count++] = 5;
        end();
    }
}

/* An element that the enumeration has returned may be deleted from an AVL tree. */
static void test_enumerate(void **state)
{
    ULONG key = 0;
    struct element *e;

    (void)state;
    begin(false);
    for (key = 0; key < 20; key++)
        change(key * 7 % 20, true);
    for (e = enumerate(TRUE), key = 0; e; e = enumerate(FALSE), key++)
        assert_int_equal(e->key, key);
    assert_int_equal(key, 20);
    end();
    assert_null(enumerate(TRUE));

    begin(true);
    for (key = 0; key < 20; key++)
        change(key * 7 % 20, true);
    for (e = enumerate(TRUE), key = 0; e; e = enumerate(FALSE), key++) {
        assert_int_equal(e->key, key);
        if (key % 2 == 0)
            change(key, false);
    }
    assert_int_equal(key, 20);
    assert_int_equal(count(), 10);
    end();
    assert_null(enumerate(TRUE));
}

static void test_full(void **state)
{
    struct element e = { 9, 27 };
    TABLE_SEARCH_RESULT result;
    PVOID place;

    (void)state;
    begin(true);
    assert_null(RtlLookupElementGenericTableFullAvl(&avl, &e, &place, &result));
    assert_int_equal(result, TableEmptyTree);
    assert_non_null(RtlInsertElementGenericTableFullAvl(&avl, &e, sizeof e, NULL, place, result));
    present[9] = true;
    inserted[inserted_count++] = 9;
    e = (struct element){ 3, 9 };
    assert_null(RtlLookupElementGenericTableFullAvl(&avl, &e, &place, &result));
    assert_int_equal(result, TableInsertAsLeft);
    assert_non_null(RtlInsertElementGenericTableFullAvl(&avl, &e, sizeof e, NULL, place, result));
    present[3] = true;
    inserted[inserted_count++] = 3;
    assert_non_null(RtlLookupElementGenericTableFullAvl(&avl, &e, &place, &result));
    assert_int_equal(result, TableFoundNode);
    check_table();
    end();

    begin(false);
    assert_null(RtlLookupElementGenericTableFull(&splay, &e, &place, &result));
    assert_non_null(RtlInsertElementGenericTableFull(&splay, &e, sizeof e, NULL, place, result));
    present[3] = true;
    inserted[inserted_count++] = 3;
    e = (struct element){ 9, 27 };
    assert_null(RtlLookupElementGenericTableFull(&splay, &e, &place, &result));
    assert_int_equal(result, TableInsertAsRight);
    assert_non_null(RtlInsertElementGenericTableFull(&splay, &e, sizeof e, NULL, place, result));
    present[9] = true;
    inserted[inserted_count++] = 9;
    check_table();
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_order), cmocka_unit_test(test_random),
                                        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_enumerate),
                                        cmocka_unit_test(test_full) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
