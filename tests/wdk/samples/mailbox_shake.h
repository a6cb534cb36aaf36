/* SPDX-License-Identifier: MIT */
/*
 * Compiled in front of the mailbox sample: the driver is delayed after it has completed a request, so that the next
 * request is delivered meanwhile.
 */
#ifndef TESTS_WDK_SAMPLES_MAILBOX_SHAKE_H
#define TESTS_WDK_SAMPLES_MAILBOX_SHAKE_H

#include <ntddk.h>
#include <wdf.h>

extern int usleep(unsigned us); /* the host's: no wait of the kernel */

static inline VOID shaken_complete(WDFREQUEST request, NTSTATUS status)
{
    WdfRequestComplete(request, status);
    usleep(300);
}

#define WdfRequestComplete shaken_complete

#endif
