/* SPDX-License-Identifier: MIT */
/*
 * Intrinsics of Microsoft's compiler for which the host's compiler has an equivalent: _mm_pause, __rdtsc, vector
 * intrinsics, and the interlocked operations under the names of Microsoft's compiler. __cpuid and the privileged
 * instructions are missing.
 */
#ifndef ONDK_WDK_INTRIN_H
#define ONDK_WDK_INTRIN_H

#include "ntdef.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "wdm/interlocked.h"

#endif
