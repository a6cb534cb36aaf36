/* SPDX-License-Identifier: MIT */
/* Cores, caches, nodes and groups that processors share (wdm/processor.h), as the host's sysfs lists them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "wdk/ke/processor.h"
#include "wdk/ke/thread.h"

enum { MAX_CACHES = 16, ALL = -1 };

struct writer {
    char *out;
    ULONG room, used;
    int64_t only; /* only sets with this processor are written; ALL: every set is written */
};

typedef SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX information;

/*
 * Writes one entry: `head`, then `tail`, which is the array at the entry's end. `size` is the offset of the array, and
 * tail_size is its size in bytes. If there is no room, only counts the bytes.
 */
static void relation_write(struct writer *w, information *head, size_t size, const void *tail, size_t tail_size)
{
    head->Size = (ULONG)(size + tail_size);
    if (w->used + head->Size <= w->room) {
        memcpy(w->out + w->used, head, size);
        memcpy(w->out + w->used + size, tail, tail_size);
    }
    w->used += head->Size;
}

static bool relation_set_has(const struct processor_set *s, uint32_t index)
{
    return s->group[index / PROCESSOR_GROUP] >> index % PROCESSOR_GROUP & 1;
}

static bool relation_is_wanted(const struct writer *w, const struct processor_set *s)
{
    return w->only == ALL || relation_set_has(s, (uint32_t)w->only);
}

static uint32_t relation_set_first(const struct processor_set *s)
{
    uint32_t i = 0;

    while (!relation_set_has(s, i))
        i++;
    return i;
}

/* Writes one mask for each group in which the set has processors. Returns the number of masks. */
static USHORT relation_set_masks(const struct processor_set *s, GROUP_AFFINITY masks[PROCESSOR_GROUPS])
{
    USHORT n = 0;

    for (USHORT g = 0; g < PROCESSOR_GROUPS; g++)
        if (s->group[g])
            masks[n++] = (GROUP_AFFINITY){ .Mask = s->group[g], .Group = g };
    return n;
}

/* ---- Cores, dies, packages --------------------------------------------------------------------------------------- */

static void relation_read_siblings(uint32_t index, LOGICAL_PROCESSOR_RELATIONSHIP type, struct processor_set *s)
{
    char path[96];

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/%s", processor_host(index),
             type == RelationProcessorCore  ? "thread_siblings_list"
             : type == RelationProcessorDie ? "die_cpus_list"
                                            : "package_cpus_list");
    if (processor_read_set(path, s) && relation_set_has(s, index))
        return;
    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < processor_count(); i++)
        if (i == index || type != RelationProcessorCore)
            s->group[i / PROCESSOR_GROUP] |= 1ULL << i % PROCESSOR_GROUP;
}

/* Writes each set of processors once, when the loop reaches the set's first processor. */
static void relation_write_siblings(struct writer *w, LOGICAL_PROCESSOR_RELATIONSHIP type)
{
    GROUP_AFFINITY masks[PROCESSOR_GROUPS];
    struct processor_set s;

    for (uint32_t i = 0; i < processor_count(); i++) {
        information head = { .Relationship = type };

        relation_read_siblings(i, type, &s);
        if (relation_set_first(&s) != i || !relation_is_wanted(w, &s))
            continue;
        head.Processor.GroupCount = relation_set_masks(&s, masks);
        if (type == RelationProcessorCore && (head.Processor.GroupCount > 1 || masks[0].Mask & (masks[0].Mask - 1)))
            head.Processor.Flags = LTP_PC_SMT;
        relation_write(w, &head, offsetof(information, Processor.GroupMask), masks,
                       head.Processor.GroupCount * sizeof *masks);
    }
}

/* ---- Caches ------------------------------------------------------------------------------------------------------ */

static bool cache_read_text(uint32_t index, int cache, const char *what, char text[32])
{
    char path[96];
    FILE *f;
    bool good;

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/cache/index%d/%s", processor_host(index), cache, what);
    f = fopen(path, "re");
    if (!f)
        return false;
    good = fgets(text, 32, f) != NULL;
    fclose(f);
    return good;
}

static ULONG cache_read_number(uint32_t index, int cache, const char *what)
{
    char text[32], *end;
    unsigned long n = cache_read_text(index, cache, what, text) ? strtoul(text, &end, 10) : 0;

    return (ULONG)(n && *end == 'K' ? n << 10 : n && *end == 'M' ? n << 20 : n);
}

static PROCESSOR_CACHE_TYPE cache_read_type(uint32_t index, int cache)
{
    char text[32];

    if (!cache_read_text(index, cache, "type", text))
        return CacheUnknown;
    return text[0] == 'D'   ? CacheData
           : text[0] == 'I' ? CacheInstruction
           : text[0] == 'U' ? CacheUnified
                            : CacheUnknown;
}

static void cache_write(struct writer *w, uint32_t index, int cache, const struct processor_set *s)
{
    GROUP_AFFINITY masks[PROCESSOR_GROUPS];
    information head = { .Relationship = RelationCache };

    head.Cache.Level = (UCHAR)cache_read_number(index, cache, "level");
    head.Cache.Associativity = (UCHAR)min(cache_read_number(index, cache, "ways_of_associativity"), 0xfeu);
    head.Cache.LineSize = (USHORT)cache_read_number(index, cache, "coherency_line_size");
    head.Cache.CacheSize = cache_read_number(index, cache, "size");
    head.Cache.Type = cache_read_type(index, cache);
    head.Cache.GroupCount = relation_set_masks(s, masks);
    relation_write(w, &head, offsetof(information, Cache.GroupMasks), masks, head.Cache.GroupCount * sizeof *masks);
}

static void cache_write_all(struct writer *w)
{
    struct processor_set s;
    char path[96];

    for (uint32_t i = 0; i < processor_count(); i++)
        for (int cache = 0; cache < MAX_CACHES; cache++) {
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/cache/index%d/shared_cpu_list",
                     processor_host(i), cache);
            if (!processor_read_set(path, &s))
                break;
            if (relation_set_first(&s) == i && relation_is_wanted(w, &s))
                cache_write(w, i, cache, &s);
        }
}

/* ---- Nodes and groups -------------------------------------------------------------------------------------------- */

/*
 * Writes an entry for each node. An entry of RelationNumaNodeEx has a mask for each group in which the node has
 * processors. An entry of RelationNumaNode has only one mask. If the caller has requested a processor, it is the mask
 * of that processor's group, otherwise the mask of the group with most of the node's processors.
 */
static void relation_write_nodes(struct writer *w, LOGICAL_PROCESSOR_RELATIONSHIP type)
{
    GROUP_AFFINITY masks[PROCESSOR_GROUPS], *mask = masks;
    struct processor_set s;

    for (USHORT node = 0; node <= KeQueryHighestNodeNumber(); node++) {
        information head = { .Relationship = RelationNumaNode };

        processor_node(node, &s);
        if (!relation_is_wanted(w, &s))
            continue;
        head.NumaNode.NodeNumber = node;
        head.NumaNode.GroupCount = relation_set_masks(&s, masks);
        if (type == RelationNumaNode) {
            head.NumaNode.GroupCount = 1;
            if (w->only == ALL)
                KeQueryNodeActiveAffinity(node, masks, NULL);
            else
                for (mask = masks; mask->Group != w->only / PROCESSOR_GROUP; mask++)
                    ;
        }
        relation_write(w, &head, offsetof(information, NumaNode.GroupMasks), mask,
                       head.NumaNode.GroupCount * sizeof *mask);
    }
}

static void relation_write_groups(struct writer *w)
{
    PROCESSOR_GROUP_INFO groups[PROCESSOR_GROUPS] = { 0 };
    information head = { .Relationship = RelationGroup };

    head.Group.MaximumGroupCount = head.Group.ActiveGroupCount = KeQueryActiveGroupCount();
    for (USHORT g = 0; g < head.Group.ActiveGroupCount; g++) {
        groups[g].ActiveProcessorMask = processor_group(g);
        groups[g].MaximumProcessorCount = groups[g].ActiveProcessorCount = (UCHAR)KeQueryActiveProcessorCountEx(g);
    }
    relation_write(w, &head, offsetof(information, Group.GroupInfo), groups,
                   head.Group.ActiveGroupCount * sizeof *groups);
}

/* ---- All relations ----------------------------------------------------------------------------------------------- */

static bool relation_write_type(struct writer *w, LOGICAL_PROCESSOR_RELATIONSHIP type)
{
    switch (type) {
    case RelationProcessorCore:
    case RelationProcessorPackage:
    case RelationProcessorDie:
        relation_write_siblings(w, type);
        return true;
    case RelationNumaNode:
    case RelationNumaNodeEx:
        relation_write_nodes(w, type);
        return true;
    case RelationCache:
        cache_write_all(w);
        return true;
    case RelationGroup:
        relation_write_groups(w);
        return true;
    case RelationAll:
        return relation_write_type(w, RelationProcessorCore) && relation_write_type(w, RelationNumaNodeEx) &&
               relation_write_type(w, RelationCache) && relation_write_type(w, RelationProcessorPackage) &&
               relation_write_type(w, RelationGroup) && relation_write_type(w, RelationProcessorDie);
    default:
        return false;
    }
}

NTSTATUS KeQueryLogicalProcessorRelationship(PPROCESSOR_NUMBER ProcessorNumber,
                                             LOGICAL_PROCESSOR_RELATIONSHIP RelationshipType,
                                             PSYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX Information, PULONG Length)
{
    struct writer w = { (char *)Information, Information ? *Length : 0, 0, ALL };

    irql_check_max("KeQueryLogicalProcessorRelationship", DISPATCH_LEVEL);
    if (ProcessorNumber) {
        w.only = KeGetProcessorIndexFromNumber(ProcessorNumber);
        if (w.only == INVALID_PROCESSOR_INDEX || ProcessorNumber->Reserved)
            return STATUS_INVALID_PARAMETER;
    }
    if (!relation_write_type(&w, RelationshipType))
        return STATUS_INVALID_PARAMETER;
    *Length = w.used;
    return w.used > w.room ? STATUS_INFO_LENGTH_MISMATCH : STATUS_SUCCESS;
}
