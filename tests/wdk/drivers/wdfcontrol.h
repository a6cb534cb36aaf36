/* SPDX-License-Identifier: MIT */
/* The requests between the driver wdfcontrol and its host. */
#ifndef TESTS_WDK_DRIVERS_WDFCONTROL_H
#define TESTS_WDK_DRIVERS_WDFCONTROL_H

/* Control codes: device type 0x22, any access; the last two bits are the method. */
#define WDFCONTROL_CODE(function, method) (0x220000u | 0x2000u | (unsigned)(function) << 2 | (unsigned)(method))

enum { WDFCONTROL_BUFFERED = 0, WDFCONTROL_IN_DIRECT = 1, WDFCONTROL_OUT_DIRECT = 2, WDFCONTROL_NEITHER = 3 };

enum wdfcontrol_function {
    WDFCONTROL_REVERSE = 1, /* output: the input, reversed */
    WDFCONTROL_HOLD,        /* pends in the manual queue */
    WDFCONTROL_HOLD_TOLD,   /* pends in the manual queue with EvtIoCanceledOnQueue */
    WDFCONTROL_MARK,        /* pends with EvtRequestCancel */
    WDFCONTROL_RELEASE,     /* completes the first request of the manual queue; or, if none, of the read queue */
    WDFCONTROL_UNMARK,      /* unmarks and completes what MARK holds; output: the status of the call */
    WDFCONTROL_STATE,       /* input: a queue; output: struct wdfcontrol_state */
    WDFCONTROL_CHANGE,      /* input: struct wdfcontrol_change */
    WDFCONTROL_EVENTS,      /* output: the events since the last call, a text */
    WDFCONTROL_FIND,        /* input: a text; completes the held request whose input begins with this text */
    WDFCONTROL_INSIDE,      /* counts the handlers that run at once; output: struct wdfcontrol_inside */
    WDFCONTROL_BREAK,       /* input: the number of a case */
    WDFCONTROL_OBJECTS,     /* checks objects of other kinds; output: the line that failed, or 0 */
    WDFCONTROL_OWN_FILE,    /* releases the held requests of the sender's file; output: how many */
    WDFCONTROL_MARK_ALONE,  /* pends with a cancel callback that no lock delays */
    WDFCONTROL_MARK_READ,   /* marks the read that the driver owns */
    WDFCONTROL_REQUEUE,     /* requeues the first request of the manual queue after WdfIoQueueStopAndPurge */
    WDFCONTROL_FLUSH,       /* waits for the work item of a read of WDFCONTROL_LINGER bytes */
};

enum { WDFCONTROL_QUEUE_DEFAULT, WDFCONTROL_QUEUE_READ, WDFCONTROL_QUEUE_MANUAL, WDFCONTROL_QUEUE_TOLD };
/* A read of this length: a work item stops the queue, while the handler still runs after the completion. */
enum { WDFCONTROL_LINGER = 5 };
enum { WDFCONTROL_STOP, WDFCONTROL_DRAIN, WDFCONTROL_PURGE, WDFCONTROL_STOP_AND_PURGE, WDFCONTROL_START };

struct wdfcontrol_state {
    unsigned state, waiting, owned;
    unsigned marks;    /* requests that WDFCONTROL_MARK has marked since the load */
    unsigned reading;  /* 1 if the driver has a read that WDFCONTROL_RELEASE or WDFCONTROL_MARK_READ can use */
    unsigned notified; /* 1 if the event of WdfIoQueueReadyNotify was appended since the last WDFCONTROL_EVENTS */
};

struct wdfcontrol_change {
    unsigned queue, change;
};

struct wdfcontrol_inside {
    unsigned most, irql;
};

/* The rules that WDFCONTROL_BREAK breaks. */
enum wdfcontrol_case {
    WDFCONTROL_HANDLE_WRONG,
    WDFCONTROL_HANDLE_DELETED,
    WDFCONTROL_INIT_CONSUMED,
    WDFCONTROL_PARAMETER_NULL,
    WDFCONTROL_COMPLETE_TWICE,
    WDFCONTROL_COMPLETE_QUEUED,
    WDFCONTROL_COMPLETE_CANCELABLE,
    WDFCONTROL_FORWARD_CANCELABLE,
    WDFCONTROL_TOO_MUCH,
    WDFCONTROL_MEMORY_HELD,
    WDFCONTROL_STOP_ACKNOWLEDGE,
    WDFCONTROL_ENQUEUE_LATE,
    WDFCONTROL_UNANSWERED,
    WDFCONTROL_DELETE_REQUEST,
    WDFCONTROL_DELETE_QUEUE,
    WDFCONTROL_DEREFERENCE,
    WDFCONTROL_WAIT_IN_HANDLER,
    WDFCONTROL_DRAIN_STOPPED,
    WDFCONTROL_CHANGE_TWICE,
    WDFCONTROL_LOCK_WRONG,
    WDFCONTROL_LOCK_TWICE,
    WDFCONTROL_LOCK_FOREIGN,
    WDFCONTROL_IRQL_RAISED,
    WDFCONTROL_REGION_ENTERED,
    WDFCONTROL_IRQL_TOO_HIGH,
    WDFCONTROL_CASES
};

#endif
