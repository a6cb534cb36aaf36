/* SPDX-License-Identifier: MIT */
/* Declares the function that records the calls on an adapter in the trace. */
#ifndef FRONT_TRACE_H
#define FRONT_TRACE_H

#include "ndk/ndkpi.h"

/* Records the calls on an adapter that has been opened, if tracing is on. */
void front_trace_calls(NDK_ADAPTER *adapter);

#endif
