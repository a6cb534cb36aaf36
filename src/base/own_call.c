/* SPDX-License-Identifier: MIT */
/* See own_call.h. */
#include "base/own_call.h"

_Thread_local unsigned own_calls;
