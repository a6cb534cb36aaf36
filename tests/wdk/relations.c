/* SPDX-License-Identifier: MIT */
/* Relations of processors: each is in one core, one package and one node; and the size of the result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wdm.h"

typedef SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX information;

static information *query(PPROCESSOR_NUMBER processor, LOGICAL_PROCESSOR_RELATIONSHIP type, ULONG *length)
{
    information *info;
    ULONG needed = 0;

    *length = 0;
    if (KeQueryLogicalProcessorRelationship(processor, type, NULL, length) == STATUS_SUCCESS) {
        assert_int_equal(*length, 0); /* no relation */
        return NULL;
    }
    needed = *length;
    info = malloc(needed); /* the exact size, so a sanitizer reports accesses beyond it */
    assert_non_null(info);
    *length = needed - 1;
    assert_int_equal(KeQueryLogicalProcessorRelationship(processor, type, info, length), STATUS_INFO_LENGTH_MISMATCH);
    assert_int_equal(*length, needed);
    assert_int_equal(KeQueryLogicalProcessorRelationship(processor, type, info, length), STATUS_SUCCESS);
    assert_int_equal(*length, needed);
    return info;
}

static information *next(information *at)
{
    return (information *)(void *)((char *)at + at->Size);
}

/* Returns the number of sets of that type with the processor. */
static unsigned sets_with(information *at, ULONG length, LOGICAL_PROCESSOR_RELATIONSHIP type, PROCESSOR_NUMBER p)
{
    information *end = (information *)(void *)((char *)at + length);
    unsigned n = 0;

    for (; at < end; at = next(at)) {
        const GROUP_AFFINITY *masks = type == RelationNumaNode ? at->NumaNode.GroupMasks : at->Processor.GroupMask;
        USHORT count = type == RelationNumaNode ? at->NumaNode.GroupCount : at->Processor.GroupCount;

        if (at->Relationship != type)
            continue;
        assert_true(count > 0);
        for (USHORT i = 0; i < count; i++)
            n += masks[i].Group == p.Group && masks[i].Mask >> p.Number & 1;
    }
    assert_ptr_equal(at, end);
    return n;
}

static void test_each_in_one(void **state)
{
    static const LOGICAL_PROCESSOR_RELATIONSHIP types[] = { RelationProcessorCore, RelationProcessorPackage,
                                                            RelationProcessorDie, RelationNumaNode };
    ULONG length, all_length;
    information *all = query(NULL, RelationAll, &all_length);
    PROCESSOR_NUMBER p;

    (void)state;
    for (size_t t = 0; t < RTL_NUMBER_OF(types); t++)
        for (ULONG i = 0; i < KeQueryActiveProcessorCountEx(ALL_PROCESSOR_GROUPS); i++) {
            information *info;

            assert_int_equal(KeGetProcessorNumberFromIndex(i, &p), STATUS_SUCCESS);
            assert_int_equal(sets_with(all, all_length, types[t], p), 1);
            info = query(&p, types[t], &length);
            assert_int_equal(info->Size, length);
            assert_int_equal(info->Relationship, types[t]);
            assert_int_equal(sets_with(info, length, types[t], p), 1);
            free(info);
        }
    free(all);
}

static void test_groups(void **state)
{
    ULONG length;
    information *info = query(NULL, RelationGroup, &length);

    (void)state;
    assert_int_equal(info->Relationship, RelationGroup);
    assert_int_equal(info->Size, length);
    assert_int_equal(info->Group.ActiveGroupCount, KeQueryActiveGroupCount());
    assert_true(info->Group.GroupInfo[0].ActiveProcessorMask == KeQueryGroupAffinity(0));
    assert_int_equal(info->Group.GroupInfo[0].ActiveProcessorCount, KeQueryActiveProcessorCountEx(0));
    free(info);
}

/* If the host reports no caches, there are none. */
static void test_caches(void **state)
{
    ULONG length;
    information *info = query(NULL, RelationCache, &length), *end = info ? (void *)((char *)info + length) : NULL;

    (void)state;
    for (information *at = info; at != end; at = next(at)) {
        assert_int_equal(at->Relationship, RelationCache);
        assert_true(at->Cache.Level >= 1 && at->Cache.Level <= 4 && at->Cache.GroupCount);
        assert_true(at->Cache.GroupMask.Mask && at->Cache.Type <= CacheUnknown);
        assert_true(at->Cache.LineSize == 0 || at->Cache.CacheSize % at->Cache.LineSize == 0);
    }
    free(info);
}

static void test_bad(void **state)
{
    PROCESSOR_NUMBER nobody = { .Group = 1000 };
    ULONG length = 0;

    (void)state;
    assert_int_equal(KeQueryLogicalProcessorRelationship(&nobody, RelationAll, NULL, &length),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(KeQueryLogicalProcessorRelationship(NULL, (LOGICAL_PROCESSOR_RELATIONSHIP)77, NULL, &length),
                     STATUS_INVALID_PARAMETER);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_each_in_one), cmocka_unit_test(test_groups),
                                        cmocka_unit_test(test_caches), cmocka_unit_test(test_bad) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
