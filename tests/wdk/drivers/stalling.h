/* SPDX-License-Identifier: MIT */
/* The controls of the device Stalling, each of which ends late, after its cancellation, or never. */
#ifndef TESTS_WDK_STALLING_H
#define TESTS_WDK_STALLING_H

#define STALLING(function) ((0x22 << 16) | ((function) << 2))

enum {
    STALL_PEND = 0x801,     /* pending until it is cancelled or released */
    STALL_DEAF,             /* pending without a cancel routine until it is released */
    STALL_INSIDE,           /* its dispatch routine returns when it is released */
    STALL_COMPLETED_FIRST,  /* a thread takes it from the cancel routine and completes it after its cancellation */
    STALL_CANCELLED_FIRST,  /* the cancel routine waits until a thread has tried to take it */
    STALL_MEETING,          /* a thread tries to take it as soon as Cancel is set, while IoCancelIrp does the same */
    STALL_CANCEL_STAYS,     /* its cancel routine completes it, and returns on STALL_RELEASE_CANCEL */
    STALL_RELEASE,          /* ends one of the others */
    STALL_RELEASE_CANCEL,
};

#endif
