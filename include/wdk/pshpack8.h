/* SPDX-License-Identifier: MIT */
/* Packs the structures behind its #include to 8 bytes, up to poppack.h. May be included several times. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpragma-pack"
#endif
#pragma pack(push, 8)
