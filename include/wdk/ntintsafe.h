/* SPDX-License-Identifier: MIT */
/*
 * Arithmetic and conversions. On overflow a routine returns STATUS_INTEGER_OVERFLOW and sets all bits of the result.
 * The routines are RtlXToY for each pair of types X and Y, and RtlXAdd, RtlXSub and RtlXMult for each type X. Any IRQL.
 */
#ifndef ONDK_WDK_NTINTSAFE_H
#define ONDK_WDK_NTINTSAFE_H

#include "ntdef.h"
#include "ntstatus.h"

#define ONDK_INTSAFE_CONVERT(from, from_type, to, to_type)                                              \
    FORCEINLINE NTSTATUS Rtl##from##To##to(_In_ from_type Operand, _Out_ to_type *Result)               \
    {                                                                                                   \
        if (__builtin_add_overflow(Operand, 0, Result)) {                                               \
            *Result = (to_type)-1;                                                                      \
            return STATUS_INTEGER_OVERFLOW;                                                             \
        }                                                                                               \
        return STATUS_SUCCESS;                                                                          \
    }

#define ONDK_INTSAFE_OPERATION(name, type, operation, builtin)                                          \
    FORCEINLINE NTSTATUS Rtl##name##operation(_In_ type First, _In_ type Second, _Out_ type *Result)    \
    {                                                                                                   \
        if (builtin(First, Second, Result)) {                                                           \
            *Result = (type)-1;                                                                         \
            return STATUS_INTEGER_OVERFLOW;                                                             \
        }                                                                                               \
        return STATUS_SUCCESS;                                                                          \
    }

/* Each apply(NAME, TYPE) has a type and the type's name in routine names, for example UINT and UInt of RtlUIntAdd. */
#define ONDK_INTSAFE_TYPES(apply)                                                                       \
    apply(Int8, INT8) apply(UInt8, UINT8) apply(Short, SHORT) apply(UShort, USHORT) apply(Int, INT)     \
    apply(UInt, UINT) apply(Long, LONG) apply(ULong, ULONG) apply(LongLong, LONGLONG)                   \
    apply(ULongLong, ULONGLONG) apply(IntPtr, INT_PTR) apply(UIntPtr, UINT_PTR) apply(LongPtr, LONG_PTR)\
    apply(ULongPtr, ULONG_PTR) apply(SizeT, size_t) apply(SSizeT, SSIZE_T) apply(SIZET, SIZE_T)         \
    apply(SSIZET, SSIZE_T) apply(Byte, BYTE) apply(UChar, UCHAR) apply(Char, CHAR) apply(Word, WORD)    \
    apply(DWord, DWORD) apply(DWordPtr, DWORD_PTR) apply(Int64, INT64) apply(UInt64, UINT64)            \
    apply(Int16, INT16) apply(UInt16, UINT16) apply(Int32, INT32) apply(UInt32, UINT32)                 \
    apply(Long64, LONG64) apply(ULong64, ULONG64) apply(DWordLong, DWORDLONG)

#define ONDK_INTSAFE_ARITHMETIC(name, type)                                                             \
    ONDK_INTSAFE_OPERATION(name, type, Add, __builtin_add_overflow)                                     \
    ONDK_INTSAFE_OPERATION(name, type, Sub, __builtin_sub_overflow)                                     \
    ONDK_INTSAFE_OPERATION(name, type, Mult, __builtin_mul_overflow)
ONDK_INTSAFE_TYPES(ONDK_INTSAFE_ARITHMETIC)

#define ONDK_INTSAFE_TO(from, from_type)                                                                \
    ONDK_INTSAFE_CONVERT(from, from_type, Int8, INT8)                                                   \
    ONDK_INTSAFE_CONVERT(from, from_type, UInt8, UINT8)                                                 \
    ONDK_INTSAFE_CONVERT(from, from_type, Byte, BYTE)                                                   \
    ONDK_INTSAFE_CONVERT(from, from_type, UChar, UCHAR)                                                 \
    ONDK_INTSAFE_CONVERT(from, from_type, Char, CHAR)                                                   \
    ONDK_INTSAFE_CONVERT(from, from_type, Short, SHORT)                                                 \
    ONDK_INTSAFE_CONVERT(from, from_type, UShort, USHORT)                                               \
    ONDK_INTSAFE_CONVERT(from, from_type, Word, WORD)                                                   \
    ONDK_INTSAFE_CONVERT(from, from_type, Int, INT)                                                     \
    ONDK_INTSAFE_CONVERT(from, from_type, UInt, UINT)                                                   \
    ONDK_INTSAFE_CONVERT(from, from_type, Long, LONG)                                                   \
    ONDK_INTSAFE_CONVERT(from, from_type, ULong, ULONG)                                                 \
    ONDK_INTSAFE_CONVERT(from, from_type, DWord, DWORD)                                                 \
    ONDK_INTSAFE_CONVERT(from, from_type, LongLong, LONGLONG)                                           \
    ONDK_INTSAFE_CONVERT(from, from_type, ULongLong, ULONGLONG)                                         \
    ONDK_INTSAFE_CONVERT(from, from_type, IntPtr, INT_PTR)                                              \
    ONDK_INTSAFE_CONVERT(from, from_type, UIntPtr, UINT_PTR)                                            \
    ONDK_INTSAFE_CONVERT(from, from_type, LongPtr, LONG_PTR)                                            \
    ONDK_INTSAFE_CONVERT(from, from_type, ULongPtr, ULONG_PTR)                                          \
    ONDK_INTSAFE_CONVERT(from, from_type, DWordPtr, DWORD_PTR)                                          \
    ONDK_INTSAFE_CONVERT(from, from_type, SizeT, size_t)                                                \
    ONDK_INTSAFE_CONVERT(from, from_type, SSizeT, SSIZE_T)                                              \
    ONDK_INTSAFE_CONVERT(from, from_type, SIZET, SIZE_T)                                                \
    ONDK_INTSAFE_CONVERT(from, from_type, SSIZET, SSIZE_T)
ONDK_INTSAFE_TYPES(ONDK_INTSAFE_TO)

#endif
