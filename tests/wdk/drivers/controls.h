/* SPDX-License-Identifier: MIT */
/* The controls of the device of controls.c. Methods: 0 buffered, 1 in direct, 2 out direct, 3 neither. */
#ifndef TESTS_WDK_CONTROLS_H
#define TESTS_WDK_CONTROLS_H

#define CONTROL(function, method) ((0x22 << 16) | ((function) << 2) | (method))

enum {
    ECHO = 0x800,    /* output: each byte of the input plus one */
    QUEUE,           /* stays in the cancel-safe queue */
    COMPLETE_OLDEST, /* completes the oldest queued request, like ECHO */
    LATER,           /* like QUEUE; a thread completes it a moment later */
    WARN,            /* STATUS_BUFFER_OVERFLOW with output */
    FAIL,            /* an error with output, which is dropped */
    COUNTS,          /* output: the counts of create, cleanup, close and cancel */
    FORWARD,         /* to itself as INNER, through IoBuildDeviceIoControlRequest; method: the input's first byte */
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
    BREAK_LENGTH,        /* Information exceeds the output buffer */
    BREAK_FREE,          /* IoFreeIrp of the system's request */
    BREAK_FREE_TWICE,
    BREAK_INITIALIZE,  /* IoInitializeIrp of an IRP of IoAllocateIrp */
    BREAK_CANCEL_LOCK, /* released without having been acquired */
    COMPLETE_LATE,     /* completes the request of BREAK_NOT_COMPLETED, with output */
    FILTER_COUNTS,     /* the device above: completed, pending, shutdowns */
    BREAK_DELETE,      /* IoDeleteDevice twice */
    BREAK_ATTACHED,    /* IoDeleteDevice of one that is attached */
    INTERFACES,        /* output: the line of the first expectation about device interfaces that is not met, or 0 */
    HANDLE_FIRST,      /* flushes the second device, closes its handle (cleanup), then a reference (close) */
};

#endif
