/* SPDX-License-Identifier: MIT */
/* Implements the bounds of the current thread's stack: see wdm/thread.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>

#include "wdm.h"

#include "wdk/ke/thread.h"

/* The bounds are stored, because pthread_getattr_np reads a file to find those of a process' first thread. */
static _Thread_local uintptr_t stack_low;
static _Thread_local size_t stack_size;

static void stack_find_bounds(void)
{
    pthread_attr_t attr;
    void *low = NULL;

    if (stack_size || pthread_getattr_np(pthread_self(), &attr))
        return;
    if (!pthread_attr_getstack(&attr, &low, &stack_size))
        stack_low = (uintptr_t)low;
    pthread_attr_destroy(&attr);
}

VOID IoGetStackLimits(PULONG_PTR LowLimit, PULONG_PTR HighLimit)
{
    stack_find_bounds();
    *LowLimit = stack_low;
    *HighLimit = stack_low + stack_size;
}

PVOID IoGetInitialStack(VOID)
{
    irql_check_max("IoGetInitialStack", APC_LEVEL);
    stack_find_bounds();
    return (PVOID)(stack_low + stack_size);
}
