/* SPDX-License-Identifier: MIT */
/*
 * Objects that a thread waits for: events, semaphores, mutexes, timers, threads; and the waits.
 */
#ifndef ONDK_WDK_WDM_DISPATCHER_H
#define ONDK_WDK_WDM_DISPATCHER_H

#include "../ntdef.h"

EXTERN_C_START

typedef struct _DISPATCHER_HEADER {
    UCHAR Type;
    UCHAR Reserved[3];
    volatile LONG SignalState;
    LIST_ENTRY WaitListHead;
} DISPATCHER_HEADER;

typedef struct _KEVENT {
    DISPATCHER_HEADER Header;
} KEVENT, *PKEVENT, *PRKEVENT;

typedef enum _EVENT_TYPE { NotificationEvent, SynchronizationEvent } EVENT_TYPE;

EXTERN_C_END

#endif
