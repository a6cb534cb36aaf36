/* SPDX-License-Identifier: MIT */
/* The lines of layouts_security.inc hold, as those of layouts.inc do: see layouts.c. */
#ifdef THEIRS
#include <ntifs.h>
#else
#include "ntifs.h"
#endif

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type);
#define AT(type, member, offset) _Static_assert(__builtin_offsetof(type, member) == (offset), #type "." #member);
#define IS(name, value) _Static_assert((unsigned)(name) == (value), #name);
#include "layouts_security.inc"
