/* SPDX-License-Identifier: MIT */
/* What the device of controls.c understands. Methods: 0 buffered, 1 in direct, 2 out direct, 3 neither. */
#ifndef TESTS_WDK_CONTROLS_H
#define TESTS_WDK_CONTROLS_H

#define CONTROL(function, method) ((0x22 << 16) | ((function) << 2) | (method))

enum {
    ECHO = 0x800, /* output: each octet of the input, plus one */
    HOLD,         /* stays in the cancel-safe queue */
    LET_GO,       /* ends the oldest that is held with the input's octets */
    LATER,        /* as HOLD; ended by a thread, a moment later */
    WARN,         /* STATUS_BUFFER_OVERFLOW with output */
    FAIL,         /* an error with output, which nobody gets */
    COUNTS,       /* output: how often create, cleanup, close, cancel have come */
    FORWARD,      /* to itself as INNER, through IoBuildDeviceIoControlRequest; method: the input's first octet */
    INNER,
    TRANSFERS,           /* reads and writes that the driver builds */
    LOG,                 /* an entry for the event log */
    DELETE_OTHER,        /* deletes the second device */
    BREAK_PENDING,       /* returns STATUS_PENDING without the mark */
    BREAK_MARK,          /* marks and does not return STATUS_PENDING */
    BREAK_NOT_COMPLETED, /* a final status, never completed */
    BREAK_TWICE,         /* completed twice */
    BREAK_STATUS,        /* completed with STATUS_PENDING */
    BREAK_CANCEL,        /* completed with a cancel routine */
    BREAK_LENGTH,        /* Information beyond the room */
    BREAK_FREE,          /* IoFreeIrp of the system's request */
    BREAK_FREE_TWICE,
    BREAK_INITIALIZE,  /* IoInitializeIrp of what IoAllocateIrp gave */
    BREAK_CANCEL_LOCK, /* released without having been acquired */
    COMPLETE_LATE,     /* completes what BREAK_NOT_COMPLETED has left, with output */
    FILTER_COUNTS,     /* the device above: completed, pending, shutdowns */
    BREAK_DELETE,      /* IoDeleteDevice twice */
    BREAK_ATTACHED,    /* IoDeleteDevice of one that is attached */
    HANDLE_FIRST,      /* a handle and a reference to the second device: cleanup comes with one, close with the other */
};

#endif
