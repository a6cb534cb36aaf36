/* SPDX-License-Identifier: MIT */
/*
 * Interlocked operations, ordered reads and writes, barriers and bit scans. Any IRQL. Increment, Decrement and Add
 * return the new value. The other operations return the previous value. A form without a suffix is a full barrier.
 */
#ifndef ONDK_WDK_WDM_INTERLOCKED_H
#define ONDK_WDK_WDM_INTERLOCKED_H

#include "../ntdef.h"

/*
 * _mm_lfence, _mm_mfence, _mm_sfence, _mm_pause and others. The compiler's header would include <stdlib.h> for
 * _mm_malloc. The macros below prevent this, because drivers may define functions and types with names of <stdlib.h>.
 */
#if defined(__x86_64__)
#if defined(_MM_MALLOC_H_INCLUDED) || defined(__MM_MALLOC_H)
#include <emmintrin.h>
#else
#define _MM_MALLOC_H_INCLUDED /* gcc's header tests this */
#define __MM_MALLOC_H         /* clang's header tests this */
#include <emmintrin.h>
#undef _MM_MALLOC_H_INCLUDED
#undef __MM_MALLOC_H
#endif
#endif

EXTERN_C_START

/* ---- Read, change, write ----------------------------------------------------------------------------------------- */

#define ONDK_INTERLOCKED_ARITHMETIC(type, tail, order)                                                            \
    FORCEINLINE type InterlockedIncrement##tail(_Inout_ type volatile *Addend)                                    \
    {                                                                                                             \
        return __atomic_add_fetch(Addend, 1, order);                                                              \
    }                                                                                                             \
    FORCEINLINE type InterlockedDecrement##tail(_Inout_ type volatile *Addend)                                    \
    {                                                                                                             \
        return __atomic_sub_fetch(Addend, 1, order);                                                              \
    }                                                                                                             \
    FORCEINLINE type InterlockedAdd##tail(_Inout_ type volatile *Addend, _In_ type Value)                         \
    {                                                                                                             \
        return __atomic_add_fetch(Addend, Value, order);                                                          \
    }                                                                                                             \
    FORCEINLINE type InterlockedExchangeAdd##tail(_Inout_ type volatile *Addend, _In_ type Value)                 \
    {                                                                                                             \
        return __atomic_fetch_add(Addend, Value, order);                                                          \
    }

#define ONDK_INTERLOCKED_EXCHANGE(type, tail, order, other)                                                       \
    FORCEINLINE type InterlockedExchange##tail(_Inout_ type volatile *Target, _In_ type Value)                    \
    {                                                                                                             \
        return __atomic_exchange_n(Target, Value, order);                                                         \
    }                                                                                                             \
    FORCEINLINE type InterlockedCompareExchange##tail(_Inout_ type volatile *Destination, _In_ type Exchange,     \
                                                      _In_ type Comperand)                                        \
    {                                                                                                             \
        (void)__atomic_compare_exchange_n(Destination, &Comperand, Exchange, 0, order, other);                    \
        return Comperand;                                                                                         \
    }

#define ONDK_INTERLOCKED_BITWISE(type, tail, order)                                                               \
    FORCEINLINE type InterlockedAnd##tail(_Inout_ type volatile *Destination, _In_ type Value)                    \
    {                                                                                                             \
        return __atomic_fetch_and(Destination, Value, order);                                                     \
    }                                                                                                             \
    FORCEINLINE type InterlockedOr##tail(_Inout_ type volatile *Destination, _In_ type Value)                     \
    {                                                                                                             \
        return __atomic_fetch_or(Destination, Value, order);                                                      \
    }                                                                                                             \
    FORCEINLINE type InterlockedXor##tail(_Inout_ type volatile *Destination, _In_ type Value)                    \
    {                                                                                                             \
        return __atomic_fetch_xor(Destination, Value, order);                                                     \
    }

#define ONDK_INTERLOCKED(type, tail, order, other)                                                                \
    ONDK_INTERLOCKED_ARITHMETIC(type, tail, order)                                                                \
    ONDK_INTERLOCKED_EXCHANGE(type, tail, order, other)                                                           \
    ONDK_INTERLOCKED_BITWISE(type, tail, order)

/*
 * Windows' names have the width after the ordering: InterlockedAndAcquire64. The bitwise operations also have names in
 * the reverse order: InterlockedAnd64Acquire.
 */
#define ONDK_INTERLOCKED_ORDERED(type, width, form, order, other)                                                 \
    ONDK_INTERLOCKED(type, form##width, order, other)                                                             \
    ONDK_INTERLOCKED_BITWISE(type, width##form, order)

ONDK_INTERLOCKED(LONG, , __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
ONDK_INTERLOCKED(LONG, Acquire, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)
ONDK_INTERLOCKED(LONG, Release, __ATOMIC_RELEASE, __ATOMIC_RELAXED)
ONDK_INTERLOCKED(LONG, NoFence, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
ONDK_INTERLOCKED(LONG64, 64, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
ONDK_INTERLOCKED_ORDERED(LONG64, 64, Acquire, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)
ONDK_INTERLOCKED_ORDERED(LONG64, 64, Release, __ATOMIC_RELEASE, __ATOMIC_RELAXED)
ONDK_INTERLOCKED_ORDERED(LONG64, 64, NoFence, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
ONDK_INTERLOCKED(SHORT, 16, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
ONDK_INTERLOCKED_ORDERED(SHORT, 16, Acquire, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)
ONDK_INTERLOCKED_ORDERED(SHORT, 16, Release, __ATOMIC_RELEASE, __ATOMIC_RELAXED)
ONDK_INTERLOCKED_ORDERED(SHORT, 16, NoFence, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
ONDK_INTERLOCKED(CHAR, 8, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

ONDK_INTERLOCKED_EXCHANGE(PVOID, Pointer, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
ONDK_INTERLOCKED_EXCHANGE(PVOID, PointerAcquire, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)
ONDK_INTERLOCKED_EXCHANGE(PVOID, PointerRelease, __ATOMIC_RELEASE, __ATOMIC_RELAXED)
ONDK_INTERLOCKED_EXCHANGE(PVOID, PointerNoFence, __ATOMIC_RELAXED, __ATOMIC_RELAXED)

ONDK_INTERLOCKED_ARITHMETIC(SIZE_T, SizeT, __ATOMIC_SEQ_CST)
ONDK_INTERLOCKED_EXCHANGE(SIZE_T, SizeT, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

/*
 * These functions return the previous value of bit number Bit, counted from the start of Base. As on Windows, the bit
 * may be beyond the first LONG.
 */
#define ONDK_INTERLOCKED_BIT(type, utype, tail, shift)                                                            \
    FORCEINLINE BOOLEAN InterlockedBitTestAndSet##tail(_Inout_ type volatile *Base, _In_ type Bit)                \
    {                                                                                                             \
        utype mask = (utype)1 << (Bit & ((1 << shift) - 1));                                                      \
        return (__atomic_fetch_or((utype volatile *)Base + (Bit >> shift), mask, __ATOMIC_SEQ_CST) & mask) != 0;  \
    }                                                                                                             \
    FORCEINLINE BOOLEAN InterlockedBitTestAndReset##tail(_Inout_ type volatile *Base, _In_ type Bit)              \
    {                                                                                                             \
        utype mask = (utype)1 << (Bit & ((1 << shift) - 1));                                                      \
        return (__atomic_fetch_and((utype volatile *)Base + (Bit >> shift), ~mask, __ATOMIC_SEQ_CST) & mask) != 0; \
    }                                                                                                             \
    FORCEINLINE BOOLEAN InterlockedBitTestAndComplement##tail(_Inout_ type volatile *Base, _In_ type Bit)         \
    {                                                                                                             \
        utype mask = (utype)1 << (Bit & ((1 << shift) - 1));                                                      \
        return (__atomic_fetch_xor((utype volatile *)Base + (Bit >> shift), mask, __ATOMIC_SEQ_CST) & mask) != 0; \
    }                                                                                                             \
    FORCEINLINE BOOLEAN BitTest##tail(_In_ const type *Base, _In_ type Bit)                                       \
    {                                                                                                             \
        return ((utype)Base[Bit >> shift] >> (Bit & ((1 << shift) - 1))) & 1;                                     \
    }

ONDK_INTERLOCKED_BIT(LONG, ULONG, , 5)
ONDK_INTERLOCKED_BIT(LONG64, ULONG64, 64, 6)

#if defined(__x86_64__)
/*
 * Compares the 16 bytes at Destination with the 16 bytes at ComparandResult. If both are equal, stores the new value at
 * Destination and returns TRUE. Otherwise copies the value at Destination to ComparandResult and returns FALSE.
 * Destination must be 16-byte aligned.
 */
NTKERNELAPI BOOLEAN InterlockedCompareExchange128(_Inout_ LONG64 volatile *Destination, _In_ LONG64 ExchangeHigh,
                                                  _In_ LONG64 ExchangeLow, _Inout_ LONG64 *ComparandResult);
#define _InterlockedCompareExchange128 InterlockedCompareExchange128
#endif

/* Casts the target, because drivers pass the address of a pointer of some other type. */
#define ONDK_ANY_POINTER(target) ((PVOID volatile *)(target))
#define InterlockedExchangePointer(target, value) (InterlockedExchangePointer)(ONDK_ANY_POINTER(target), value)
#define InterlockedCompareExchangePointer(target, value, comparand) \
    (InterlockedCompareExchangePointer)(ONDK_ANY_POINTER(target), value, comparand)

/* The interlocked operations under the names of Microsoft's compiler. */
#define _InterlockedIncrement InterlockedIncrement
#define _InterlockedIncrement16 InterlockedIncrement16
#define _InterlockedIncrement64 InterlockedIncrement64
#define _InterlockedDecrement InterlockedDecrement
#define _InterlockedDecrement16 InterlockedDecrement16
#define _InterlockedDecrement64 InterlockedDecrement64
#define _InterlockedExchange InterlockedExchange
#define _InterlockedExchange8 InterlockedExchange8
#define _InterlockedExchange16 InterlockedExchange16
#define _InterlockedExchange64 InterlockedExchange64
#define _InterlockedExchangePointer InterlockedExchangePointer
#define _InterlockedExchangeAdd InterlockedExchangeAdd
#define _InterlockedExchangeAdd8 InterlockedExchangeAdd8
#define _InterlockedExchangeAdd16 InterlockedExchangeAdd16
#define _InterlockedExchangeAdd64 InterlockedExchangeAdd64
#define _InterlockedCompareExchange InterlockedCompareExchange
#define _InterlockedCompareExchange8 InterlockedCompareExchange8
#define _InterlockedCompareExchange16 InterlockedCompareExchange16
#define _InterlockedCompareExchange64 InterlockedCompareExchange64
#define _InterlockedCompareExchangePointer InterlockedCompareExchangePointer
#define _InterlockedAnd InterlockedAnd
#define _InterlockedAnd8 InterlockedAnd8
#define _InterlockedAnd16 InterlockedAnd16
#define _InterlockedAnd64 InterlockedAnd64
#define _InterlockedOr InterlockedOr
#define _InterlockedOr8 InterlockedOr8
#define _InterlockedOr16 InterlockedOr16
#define _InterlockedOr64 InterlockedOr64
#define _InterlockedXor InterlockedXor
#define _InterlockedXor8 InterlockedXor8
#define _InterlockedXor16 InterlockedXor16
#define _InterlockedXor64 InterlockedXor64
#define _interlockedbittestandset InterlockedBitTestAndSet
#define _interlockedbittestandreset InterlockedBitTestAndReset
#define _interlockedbittestandset64 InterlockedBitTestAndSet64
#define _interlockedbittestandreset64 InterlockedBitTestAndReset64

/* ---- Ordered reads and writes ------------------------------------------------------------------------------------ */

#define ONDK_READ_WRITE_NAMED(type, acquire, read, release, write)                                                \
    FORCEINLINE type acquire(_In_ type const volatile *Source)                                                    \
    {                                                                                                             \
        return __atomic_load_n(Source, __ATOMIC_ACQUIRE);                                                         \
    }                                                                                                             \
    FORCEINLINE type read(_In_ type const volatile *Source)                                                       \
    {                                                                                                             \
        return __atomic_load_n(Source, __ATOMIC_RELAXED);                                                         \
    }                                                                                                             \
    FORCEINLINE VOID release(_Out_ type volatile *Destination, _In_ type Value)                                   \
    {                                                                                                             \
        __atomic_store_n(Destination, Value, __ATOMIC_RELEASE);                                                   \
    }                                                                                                             \
    FORCEINLINE VOID write(_Out_ type volatile *Destination, _In_ type Value)                                     \
    {                                                                                                             \
        __atomic_store_n(Destination, Value, __ATOMIC_RELAXED);                                                   \
    }

/* Defines for example ReadAcquire64, ReadNoFence64, WriteRelease64 and WriteNoFence64. */
#define ONDK_READ_WRITE(type, width) \
    ONDK_READ_WRITE_NAMED(type, ReadAcquire##width, ReadNoFence##width, WriteRelease##width, WriteNoFence##width)
/* Defines for example ReadULongAcquire, ReadULongNoFence, WriteULongRelease and WriteULongNoFence. */
#define ONDK_READ_WRITE_OF(type, name) \
    ONDK_READ_WRITE_NAMED(type, Read##name##Acquire, Read##name##NoFence, Write##name##Release, Write##name##NoFence)

ONDK_READ_WRITE(CHAR, 8)
ONDK_READ_WRITE(SHORT, 16)
ONDK_READ_WRITE(LONG, )
ONDK_READ_WRITE(LONG64, 64)
ONDK_READ_WRITE_OF(UCHAR, UChar)
ONDK_READ_WRITE_OF(USHORT, UShort)
ONDK_READ_WRITE_OF(ULONG, ULong)
ONDK_READ_WRITE_OF(ULONG64, ULong64)
ONDK_READ_WRITE_OF(BOOLEAN, Boolean)
ONDK_READ_WRITE_OF(LONG_PTR, LongPtr)
ONDK_READ_WRITE_OF(ULONG_PTR, ULongPtr)
ONDK_READ_WRITE_OF(SIZE_T, SizeT)
ONDK_READ_WRITE_OF(PVOID, Pointer)

#define ReadRaw8 ReadNoFence8
#define ReadRaw16 ReadNoFence16
#define ReadRaw ReadNoFence
#define ReadRaw64 ReadNoFence64
#define ReadULongRaw ReadULongNoFence
#define ReadULong64Raw ReadULong64NoFence
#define ReadPointerRaw ReadPointerNoFence
#define WriteRaw8 WriteNoFence8
#define WriteRaw16 WriteNoFence16
#define WriteRaw WriteNoFence
#define WriteRaw64 WriteNoFence64
#define WriteULongRaw WriteULongNoFence
#define WriteULong64Raw WriteULong64NoFence
#define WritePointerRaw WritePointerNoFence

/* ---- Barriers ---------------------------------------------------------------------------------------------------- */

#define KeMemoryBarrier() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define KeMemoryBarrierWithoutFence() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#define MemoryBarrier() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define _ReadWriteBarrier() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#define _ReadBarrier() __atomic_signal_fence(__ATOMIC_ACQUIRE)
#define _WriteBarrier() __atomic_signal_fence(__ATOMIC_RELEASE)

#if defined(__x86_64__)
#define YieldProcessor() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define YieldProcessor() __asm__ __volatile__("yield" ::: "memory")
#else
#define YieldProcessor() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#endif

/* ---- Bits -------------------------------------------------------------------------------------------------------- */

/* If Mask is 0, these functions return FALSE and leave *Index unchanged. */
FORCEINLINE BOOLEAN BitScanForward(_Out_ ULONG *Index, _In_ ULONG Mask)
{
    if (Mask)
        *Index = (ULONG)__builtin_ctz(Mask);
    return Mask != 0;
}

FORCEINLINE BOOLEAN BitScanReverse(_Out_ ULONG *Index, _In_ ULONG Mask)
{
    if (Mask)
        *Index = 31u - (ULONG)__builtin_clz(Mask);
    return Mask != 0;
}

FORCEINLINE BOOLEAN BitScanForward64(_Out_ ULONG *Index, _In_ ULONG64 Mask)
{
    if (Mask)
        *Index = (ULONG)__builtin_ctzll(Mask);
    return Mask != 0;
}

FORCEINLINE BOOLEAN BitScanReverse64(_Out_ ULONG *Index, _In_ ULONG64 Mask)
{
    if (Mask)
        *Index = 63u - (ULONG)__builtin_clzll(Mask);
    return Mask != 0;
}

#define _InlineInterlockedAdd64 InterlockedAdd64
#define _BitScanForward BitScanForward
#define _BitScanReverse BitScanReverse
#define _BitScanForward64 BitScanForward64
#define _BitScanReverse64 BitScanReverse64

FORCEINLINE ULONG PopulationCount64(_In_ ULONG64 Operand)
{
    return (ULONG)__builtin_popcountll(Operand);
}

#define __popcnt16(Operand) ((USHORT)__builtin_popcount((USHORT)(Operand)))
#define __popcnt(Operand) ((ULONG)__builtin_popcount(Operand))
#define __popcnt64(Operand) ((ULONG64)__builtin_popcountll(Operand))

EXTERN_C_END

#endif
