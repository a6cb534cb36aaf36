/* SPDX-License-Identifier: MIT */
/*
 * What Microsoft's compiler has built in, where the host's compiler has the same: _mm_pause, __rdtsc, vectors, and the
 * interlocked operations under the compiler's names. Not there: __cpuid and the rest of the privileged instructions.
 */
#ifndef ONDK_WDK_INTRIN_H
#define ONDK_WDK_INTRIN_H

#include "ntdef.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "wdm/interlocked.h"

#endif
