/* SPDX-License-Identifier: MIT */
/* Ends the packing that pshpack1.h, pshpack2.h, pshpack4.h or pshpack8.h has begun. May be included several times. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpragma-pack"
#endif
#pragma pack(pop)
