/* SPDX-License-Identifier: MIT */
/*
 * Every line of layouts.inc holds. Compiled with our headers for this host, and with mingw-w64's (-DTHEIRS) for
 * Windows: what both accept is right in both.
 */
#ifdef THEIRS
#include "theirs.h"
#else
#include "ndis.h"
#include "netioapi.h"
#include "wdm.h"
#include "ws2ipdef.h"
#include "mstcpip.h"
#endif

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type);
#define AT(type, member, offset) _Static_assert(__builtin_offsetof(type, member) == (offset), #type "." #member);
#define IS(name, value) _Static_assert((unsigned)(name) == (value), #name);
#include "layouts.inc"
