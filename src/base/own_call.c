/* SPDX-License-Identifier: MIT */
/* Defines own_calls: see own_call.h. */
#include "base/own_call.h"

_Thread_local unsigned own_calls;
