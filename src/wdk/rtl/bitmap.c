/* SPDX-License-Identifier: MIT */
/* Bitmaps: see wdm/rtl.h. */
#include <stdbool.h>
#include <string.h>

#include "wdm.h"

enum { BITS = 32 };
static const ULONG nothing = 0xffffffff;

VOID RtlInitializeBitMap(PRTL_BITMAP BitMapHeader, PULONG BitMapBuffer, ULONG SizeOfBitMap)
{
    BitMapHeader->SizeOfBitMap = SizeOfBitMap;
    BitMapHeader->Buffer = BitMapBuffer;
}

static size_t octets_of(const RTL_BITMAP *map)
{
    return ((size_t)map->SizeOfBitMap + BITS - 1) / BITS * sizeof(ULONG);
}

VOID RtlClearAllBits(PRTL_BITMAP BitMapHeader)
{
    memset(BitMapHeader->Buffer, 0, octets_of(BitMapHeader));
}

VOID RtlSetAllBits(PRTL_BITMAP BitMapHeader)
{
    memset(BitMapHeader->Buffer, 0xff, octets_of(BitMapHeader));
}

static void set(PRTL_BITMAP map, ULONG bit, bool to)
{
    ULONG mask = 1u << bit % BITS;

    if (to)
        map->Buffer[bit / BITS] |= mask;
    else
        map->Buffer[bit / BITS] &= ~mask;
}

static bool test(const RTL_BITMAP *map, ULONG bit)
{
    return map->Buffer[bit / BITS] >> bit % BITS & 1;
}

static bool is_inside(const RTL_BITMAP *map, ULONG start, ULONG count)
{
    return start <= map->SizeOfBitMap && count <= map->SizeOfBitMap - start;
}

static void set_run(PRTL_BITMAP map, ULONG start, ULONG count, bool to)
{
    for (ULONG i = 0; is_inside(map, start, count) && i < count; i++)
        set(map, start + i, to);
}

static bool is_run(const RTL_BITMAP *map, ULONG start, ULONG count, bool of)
{
    if (!count || !is_inside(map, start, count))
        return false;
    for (ULONG i = 0; i < count; i++)
        if (test(map, start + i) != of)
            return false;
    return true;
}

VOID RtlSetBit(PRTL_BITMAP BitMapHeader, ULONG BitNumber)
{
    set(BitMapHeader, BitNumber, true);
}

VOID RtlClearBit(PRTL_BITMAP BitMapHeader, ULONG BitNumber)
{
    set(BitMapHeader, BitNumber, false);
}

BOOLEAN RtlTestBit(PRTL_BITMAP BitMapHeader, ULONG BitNumber)
{
    return test(BitMapHeader, BitNumber);
}

VOID RtlSetBits(PRTL_BITMAP BitMapHeader, ULONG StartingIndex, ULONG NumberToSet)
{
    set_run(BitMapHeader, StartingIndex, NumberToSet, true);
}

VOID RtlClearBits(PRTL_BITMAP BitMapHeader, ULONG StartingIndex, ULONG NumberToClear)
{
    set_run(BitMapHeader, StartingIndex, NumberToClear, false);
}

BOOLEAN RtlAreBitsSet(PRTL_BITMAP BitMapHeader, ULONG StartingIndex, ULONG Length)
{
    return is_run(BitMapHeader, StartingIndex, Length, true);
}

BOOLEAN RtlAreBitsClear(PRTL_BITMAP BitMapHeader, ULONG StartingIndex, ULONG Length)
{
    return is_run(BitMapHeader, StartingIndex, Length, false);
}

ULONG RtlNumberOfSetBits(PRTL_BITMAP BitMapHeader)
{
    ULONG n = 0;

    for (ULONG bit = 0; bit < BitMapHeader->SizeOfBitMap; bit++)
        n += test(BitMapHeader, bit);
    return n;
}

ULONG RtlNumberOfClearBits(PRTL_BITMAP BitMapHeader)
{
    return BitMapHeader->SizeOfBitMap - RtlNumberOfSetBits(BitMapHeader);
}

/* From `from`, before `to`. */
static ULONG find_run_between(const RTL_BITMAP *map, ULONG from, ULONG to, ULONG count, bool of)
{
    ULONG run = 0;

    for (ULONG bit = from; bit < map->SizeOfBitMap; bit++) {
        run = test(map, bit) == of ? run + 1 : 0;
        if (run >= count)
            return bit + 1 - count;
        if (!run && bit >= to)
            break;
    }
    return nothing;
}

/* From the hint to the end, then from the beginning. Nothing to find is found at the hint's octet. */
static ULONG find_run(const RTL_BITMAP *map, ULONG count, ULONG hint, bool of)
{
    ULONG found;

    if (hint >= map->SizeOfBitMap)
        hint = 0;
    if (!count)
        return hint & ~7u;
    found = find_run_between(map, hint, map->SizeOfBitMap, count, of);
    return found == nothing && hint ? find_run_between(map, 0, hint, count, of) : found;
}

ULONG RtlFindSetBits(PRTL_BITMAP BitMapHeader, ULONG NumberToFind, ULONG HintIndex)
{
    return find_run(BitMapHeader, NumberToFind, HintIndex, true);
}

ULONG RtlFindClearBits(PRTL_BITMAP BitMapHeader, ULONG NumberToFind, ULONG HintIndex)
{
    return find_run(BitMapHeader, NumberToFind, HintIndex, false);
}

static ULONG find_and_turn(PRTL_BITMAP map, ULONG count, ULONG hint, bool of)
{
    ULONG found = find_run(map, count, hint, of);

    if (found != nothing)
        set_run(map, found, count, !of);
    return found;
}

ULONG RtlFindSetBitsAndClear(PRTL_BITMAP BitMapHeader, ULONG NumberToFind, ULONG HintIndex)
{
    return find_and_turn(BitMapHeader, NumberToFind, HintIndex, true);
}

ULONG RtlFindClearBitsAndSet(PRTL_BITMAP BitMapHeader, ULONG NumberToFind, ULONG HintIndex)
{
    return find_and_turn(BitMapHeader, NumberToFind, HintIndex, false);
}

CCHAR RtlFindMostSignificantBit(ULONGLONG Set)
{
    return (CCHAR)(Set ? 63 - __builtin_clzll(Set) : -1);
}

CCHAR RtlFindLeastSignificantBit(ULONGLONG Set)
{
    return (CCHAR)(Set ? __builtin_ctzll(Set) : -1);
}
