/* SPDX-License-Identifier: MIT */
/*
 * Implements bitmaps: see wdm/rtl.h. A range outside of the bitmap is ignored. The index of a single bit is not
 * checked.
 */
#include <stdbool.h>
#include <string.h>

#include "wdm.h"

enum { BITS_PER_WORD = 32 };
static const ULONG not_found = 0xffffffff;

VOID RtlInitializeBitMap(PRTL_BITMAP BitMapHeader, PULONG BitMapBuffer, ULONG SizeOfBitMap)
{
    BitMapHeader->SizeOfBitMap = SizeOfBitMap;
    BitMapHeader->Buffer = BitMapBuffer;
}

static size_t rtl_bitmap_size(const RTL_BITMAP *map)
{
    return ((size_t)map->SizeOfBitMap + BITS_PER_WORD - 1) / BITS_PER_WORD * sizeof(ULONG);
}

VOID RtlClearAllBits(PRTL_BITMAP BitMapHeader)
{
    memset(BitMapHeader->Buffer, 0, rtl_bitmap_size(BitMapHeader));
}

VOID RtlSetAllBits(PRTL_BITMAP BitMapHeader)
{
    memset(BitMapHeader->Buffer, 0xff, rtl_bitmap_size(BitMapHeader));
}

static void rtl_bitmap_set_bit(PRTL_BITMAP map, ULONG bit, bool to)
{
    ULONG mask = 1u << bit % BITS_PER_WORD;

    if (to)
        map->Buffer[bit / BITS_PER_WORD] |= mask;
    else
        map->Buffer[bit / BITS_PER_WORD] &= ~mask;
}

static bool rtl_bitmap_test_bit(const RTL_BITMAP *map, ULONG bit)
{
    return map->Buffer[bit / BITS_PER_WORD] >> bit % BITS_PER_WORD & 1;
}

static bool rtl_bitmap_has_range(const RTL_BITMAP *map, ULONG start, ULONG count)
{
    return start <= map->SizeOfBitMap && count <= map->SizeOfBitMap - start;
}

static void rtl_bitmap_set_run(PRTL_BITMAP map, ULONG start, ULONG count, bool to)
{
    for (ULONG i = 0; rtl_bitmap_has_range(map, start, count) && i < count; i++)
        rtl_bitmap_set_bit(map, start + i, to);
}

static bool rtl_bitmap_is_run(const RTL_BITMAP *map, ULONG start, ULONG count, bool of)
{
    if (!count || !rtl_bitmap_has_range(map, start, count))
        return false;
    for (ULONG i = 0; i < count; i++)
        if (rtl_bitmap_test_bit(map, start + i) != of)
            return false;
    return true;
}

VOID RtlSetBit(PRTL_BITMAP BitMapHeader, ULONG BitNumber)
{
    rtl_bitmap_set_bit(BitMapHeader, BitNumber, true);
}

VOID RtlClearBit(PRTL_BITMAP BitMapHeader, ULONG BitNumber)
{
    rtl_bitmap_set_bit(BitMapHeader, BitNumber, false);
}

BOOLEAN RtlTestBit(PRTL_BITMAP BitMapHeader, ULONG BitNumber)
{
    return rtl_bitmap_test_bit(BitMapHeader, BitNumber);
}

VOID RtlSetBits(PRTL_BITMAP BitMapHeader, ULONG StartingIndex, ULONG NumberToSet)
{
    rtl_bitmap_set_run(BitMapHeader, StartingIndex, NumberToSet, true);
}

VOID RtlClearBits(PRTL_BITMAP BitMapHeader, ULONG StartingIndex, ULONG NumberToClear)
{
    rtl_bitmap_set_run(BitMapHeader, StartingIndex, NumberToClear, false);
}

BOOLEAN RtlAreBitsSet(PRTL_BITMAP BitMapHeader, ULONG StartingIndex, ULONG Length)
{
    return rtl_bitmap_is_run(BitMapHeader, StartingIndex, Length, true);
}

BOOLEAN RtlAreBitsClear(PRTL_BITMAP BitMapHeader, ULONG StartingIndex, ULONG Length)
{
    return rtl_bitmap_is_run(BitMapHeader, StartingIndex, Length, false);
}

ULONG RtlNumberOfSetBits(PRTL_BITMAP BitMapHeader)
{
    ULONG n = 0;

    for (ULONG bit = 0; bit < BitMapHeader->SizeOfBitMap; bit++)
        n += rtl_bitmap_test_bit(BitMapHeader, bit);
    return n;
}

ULONG RtlNumberOfClearBits(PRTL_BITMAP BitMapHeader)
{
    return BitMapHeader->SizeOfBitMap - RtlNumberOfSetBits(BitMapHeader);
}

/*
 * Finds the first run of `count` bits with the value `of`. The run must begin between `from` and `to`, but may continue
 * after `to`.
 */
static ULONG rtl_bitmap_find_run_between(const RTL_BITMAP *map, ULONG from, ULONG to, ULONG count, bool of)
{
    ULONG run = 0;

    for (ULONG bit = from; bit < map->SizeOfBitMap; bit++) {
        run = rtl_bitmap_test_bit(map, bit) == of ? run + 1 : 0;
        if (run >= count)
            return bit + 1 - count;
        if (!run && bit >= to)
            break;
    }
    return not_found;
}

/*
 * Returns the index of the first bit of a run of `count` bits that equal `of`. Searches from bit `hint` to the end, and
 * then from the beginning. If `count` is 0, returns `hint` rounded down to a multiple of 8.
 */
static ULONG rtl_bitmap_find_run(const RTL_BITMAP *map, ULONG count, ULONG hint, bool of)
{
    ULONG found;

    if (hint >= map->SizeOfBitMap)
        hint = 0;
    if (!count)
        return hint & ~7u;
    found = rtl_bitmap_find_run_between(map, hint, map->SizeOfBitMap, count, of);
    return found == not_found && hint ? rtl_bitmap_find_run_between(map, 0, hint, count, of) : found;
}

ULONG RtlFindSetBits(PRTL_BITMAP BitMapHeader, ULONG NumberToFind, ULONG HintIndex)
{
    return rtl_bitmap_find_run(BitMapHeader, NumberToFind, HintIndex, true);
}

ULONG RtlFindClearBits(PRTL_BITMAP BitMapHeader, ULONG NumberToFind, ULONG HintIndex)
{
    return rtl_bitmap_find_run(BitMapHeader, NumberToFind, HintIndex, false);
}

static ULONG rtl_bitmap_find_and_invert(PRTL_BITMAP map, ULONG count, ULONG hint, bool of)
{
    ULONG found = rtl_bitmap_find_run(map, count, hint, of);

    if (found != not_found)
        rtl_bitmap_set_run(map, found, count, !of);
    return found;
}

ULONG RtlFindSetBitsAndClear(PRTL_BITMAP BitMapHeader, ULONG NumberToFind, ULONG HintIndex)
{
    return rtl_bitmap_find_and_invert(BitMapHeader, NumberToFind, HintIndex, true);
}

ULONG RtlFindClearBitsAndSet(PRTL_BITMAP BitMapHeader, ULONG NumberToFind, ULONG HintIndex)
{
    return rtl_bitmap_find_and_invert(BitMapHeader, NumberToFind, HintIndex, false);
}

CCHAR RtlFindMostSignificantBit(ULONGLONG Set)
{
    return (CCHAR)(Set ? 63 - __builtin_clzll(Set) : -1);
}

CCHAR RtlFindLeastSignificantBit(ULONGLONG Set)
{
    return (CCHAR)(Set ? __builtin_ctzll(Set) : -1);
}
