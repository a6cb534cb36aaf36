/* SPDX-License-Identifier: MIT */
/* Processors and nodes of the host: see processor.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "wdm.h"

#include "wdk/ke/processor.h"

enum { GROUP = PROCESSOR_GROUP, MAX_NODES = 64 };

static uint32_t count, nodes;
static uint16_t host_of[MAX_PROCESSORS];  /* each processor's number on the host */
static uint16_t index_of[MAX_PROCESSORS]; /* index: the number of a processor on the host; value: its number here */
static uint8_t node_of[MAX_PROCESSORS];
static cpu_set_t allowed;

_Static_assert(CPU_SETSIZE == MAX_PROCESSORS, "cpu_set_t");

/* Parses a list in the form of sysfs: "0-3,8". */
static void processor_parse_list(FILE *f, struct processor_set *set)
{
    unsigned first, last;
    int c;

    while (fscanf(f, "%u", &first) == 1) {
        last = first;
        c = fgetc(f);
        if (c == '-') {
            if (fscanf(f, "%u", &last) != 1)
                break;
            c = fgetc(f);
        }
        for (unsigned cpu = first; cpu <= last && cpu < MAX_PROCESSORS; cpu++)
            if (CPU_ISSET(cpu, &allowed))
                set->group[index_of[cpu] / GROUP] |= 1ULL << index_of[cpu] % GROUP;
        if (c != ',')
            break;
    }
}

bool processor_read_set(const char *path, struct processor_set *set)
{
    FILE *f = fopen(path, "re");
    bool any = false;

    *set = (struct processor_set){ { 0 } };
    if (!f)
        return false;
    processor_parse_list(f, set);
    fclose(f);
    for (int g = 0; g < PROCESSOR_GROUPS; g++)
        any = any || set->group[g];
    return any;
}

uint32_t processor_host(uint32_t index)
{
    return host_of[index];
}

/* Numbers the nodes from 0. A node without a processor of this process has no number. */
static void processor_read_nodes(void)
{
    struct processor_set set;
    char path[64];

    for (unsigned n = 0; n < MAX_NODES; n++) {
        snprintf(path, sizeof path, "/sys/devices/system/node/node%u/cpulist", n);
        if (!processor_read_set(path, &set))
            continue;
        for (uint32_t i = 0; i < count; i++)
            if (set.group[i / GROUP] >> i % GROUP & 1)
                node_of[i] = (uint8_t)nodes;
        nodes++;
    }
    if (nodes == 0)
        nodes = 1;
}

__attribute__((constructor)) static void processor_read_host(void)
{
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        CPU_SET(0, &allowed);
    for (unsigned cpu = 0; cpu < MAX_PROCESSORS; cpu++)
        if (CPU_ISSET(cpu, &allowed)) {
            host_of[count] = (uint16_t)cpu;
            index_of[cpu] = (uint16_t)count++;
        }
    processor_read_nodes();
}

uint32_t processor_count(void)
{
    return count;
}

uint32_t processor_now(void)
{
    int cpu = sched_getcpu();

    return cpu >= 0 && cpu < MAX_PROCESSORS ? index_of[cpu] : 0;
}

uint64_t processor_group(uint32_t group)
{
    uint32_t first = group * GROUP;

    if (first >= count)
        return 0;
    return count - first >= GROUP ? UINT64_MAX : (1ULL << (count - first)) - 1;
}

/*
 * Binds a thread (0: the calling thread) to all processors that the process could use at its start. If the process may
 * use none of these processors any more, the host refuses. Then the function requests all processors, and the host
 * binds the thread to those that the process may use.
 */
static void processor_bind_to_allowed(pid_t thread)
{
    cpu_set_t all;

    if (!sched_setaffinity(thread, sizeof allowed, &allowed))
        return;
    memset(&all, 0xff, sizeof all);
    (void)sched_setaffinity(thread, sizeof all, &all);
}

void processor_bind(uint32_t group, uint64_t mask)
{
    cpu_set_t set;

    if (!mask) {
        processor_bind_to_allowed(0);
        return;
    }
    CPU_ZERO(&set);
    for (uint32_t i = 0; i < GROUP; i++)
        if (mask >> i & 1)
            CPU_SET(host_of[group * GROUP + i], &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

void processor_unbind(void)
{
    processor_bind_to_allowed(0);
}

void processor_pull_thread(uint32_t thread)
{
    int cpu = sched_getcpu();
    cpu_set_t set;

    if (cpu < 0 || cpu >= CPU_SETSIZE)
        return;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    (void)sched_setaffinity((pid_t)thread, sizeof set, &set);
}

void processor_release_thread(uint32_t thread)
{
    processor_bind_to_allowed((pid_t)thread);
}

ULONG KeQueryActiveProcessorCountEx(USHORT GroupNumber)
{
    return GroupNumber == ALL_PROCESSOR_GROUPS ? count : (ULONG)__builtin_popcountll(processor_group(GroupNumber));
}

ULONG KeQueryActiveProcessorCount(PKAFFINITY ActiveProcessors)
{
    if (ActiveProcessors)
        *ActiveProcessors = processor_group(0);
    return KeQueryActiveProcessorCountEx(0);
}

/* Returns the number of active processors, because no processor is added while the system runs. */
ULONG KeQueryMaximumProcessorCountEx(USHORT GroupNumber)
{
    return KeQueryActiveProcessorCountEx(GroupNumber);
}

ULONG KeQueryMaximumProcessorCount(VOID)
{
    return KeQueryActiveProcessorCountEx(0);
}

USHORT KeQueryActiveGroupCount(VOID)
{
    return (USHORT)((count + GROUP - 1) / GROUP);
}

USHORT KeQueryMaximumGroupCount(VOID)
{
    return KeQueryActiveGroupCount();
}

KAFFINITY KeQueryActiveProcessors(VOID)
{
    return processor_group(0);
}

KAFFINITY KeQueryGroupAffinity(USHORT GroupNumber)
{
    return processor_group(GroupNumber);
}

static PROCESSOR_NUMBER processor_number_of(uint32_t index)
{
    return (PROCESSOR_NUMBER){ .Group = (USHORT)(index / GROUP), .Number = (UCHAR)(index % GROUP) };
}

ULONG KeGetCurrentProcessorNumberEx(PPROCESSOR_NUMBER ProcNumber)
{
    uint32_t index = processor_now();

    if (ProcNumber)
        *ProcNumber = processor_number_of(index);
    return index;
}

NTSTATUS KeGetProcessorNumberFromIndex(ULONG ProcIndex, PPROCESSOR_NUMBER ProcNumber)
{
    if (ProcIndex >= count)
        return STATUS_INVALID_PARAMETER;
    *ProcNumber = processor_number_of(ProcIndex);
    return STATUS_SUCCESS;
}

ULONG KeGetProcessorIndexFromNumber(PPROCESSOR_NUMBER ProcNumber)
{
    uint32_t index = (uint32_t)ProcNumber->Group * GROUP + ProcNumber->Number;

    return ProcNumber->Number < GROUP && index < count ? index : INVALID_PROCESSOR_INDEX;
}

USHORT KeQueryHighestNodeNumber(VOID)
{
    return (USHORT)(nodes - 1);
}

USHORT KeGetCurrentNodeNumber(VOID)
{
    return node_of[processor_now()];
}

static KAFFINITY processor_node_mask(uint32_t node, uint32_t group)
{
    KAFFINITY mask = 0;

    for (uint32_t i = group * GROUP; i < (group + 1) * GROUP && i < count; i++)
        if (node_of[i] == node)
            mask |= 1ULL << i % GROUP;
    return mask;
}

void processor_node(uint32_t node, struct processor_set *set)
{
    *set = (struct processor_set){ { 0 } };
    for (uint32_t g = 0; g < KeQueryActiveGroupCount(); g++)
        set->group[g] = processor_node_mask(node, g);
}

/* Returns the node's processors in one group. If they are in several groups, chooses the group with most of them. */
VOID KeQueryNodeActiveAffinity(USHORT NodeNumber, PGROUP_AFFINITY Affinity, PUSHORT Count)
{
    GROUP_AFFINITY best = { 0 };

    for (uint32_t g = 0; g < KeQueryActiveGroupCount(); g++) {
        KAFFINITY mask = NodeNumber < nodes ? processor_node_mask(NodeNumber, g) : 0;

        if (__builtin_popcountll(mask) > __builtin_popcountll(best.Mask))
            best = (GROUP_AFFINITY){ .Mask = mask, .Group = (USHORT)g };
    }
    if (Affinity)
        *Affinity = best;
    if (Count)
        *Count = (USHORT)__builtin_popcountll(best.Mask);
}

USHORT KeQueryNodeMaximumProcessorCount(USHORT NodeNumber)
{
    USHORT most;

    KeQueryNodeActiveAffinity(NodeNumber, NULL, &most);
    return most;
}
