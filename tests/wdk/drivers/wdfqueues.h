/* SPDX-License-Identifier: MIT */
/* The cases of the driver wdfqueues. A device control 0x220000 | case << 2 runs one. */
#ifndef TESTS_WDK_DRIVERS_WDFQUEUES_H
#define TESTS_WDK_DRIVERS_WDFQUEUES_H

#define WDFQUEUES_CODE(number) (0x220000u | (unsigned)(number) << 2)

/* Each case outputs the line of the first check that fails, or 0. */
enum wdfqueues_case {
    WDFQUEUES_LEVELS,           /* which execution levels a queue of the device's scope can have */
    WDFQUEUES_REFUSED_DEFAULT,  /* no callbacks for a queue that was not created */
    WDFQUEUES_HANDLER_RUNS,     /* the callback of a stop comes after the last handler */
    WDFQUEUES_STOP_AND_PURGE,   /* the callbacks of a stop and of a purge wait at the same time */
    WDFQUEUES_DELETED_PURGING,  /* the callback of a purge is called before the deletion ends */
    WDFQUEUES_DELETED_WITH_LOCK, /* a thread with the lock of callbacks purges and deletes a queue */
    WDFQUEUES_DELETED_UNBEGUN,  /* the same, while other threads wait for the lock to call a callback of the queue */
    WDFQUEUES_DELETED_BESIDE_HANDLER, /* an EvtIoQueueState deletes its queue while a request handler runs */
    WDFQUEUES_RETRIEVE_FOUND,   /* WdfIoQueueRetrieveFoundRequest on a parallel queue */
    WDFQUEUES_IS_CANCELED,      /* WdfRequestIsCanceled after a purge */
    WDFQUEUES_WORK_REQUEUED,    /* a work item's callback queues and deletes the item */
    WDFQUEUES_NOTICE_BEHIND,    /* a request arrives behind one that is being cancelled */
    WDFQUEUES_DELETED_IN_CANCEL, /* a queue is deleted while its cancel callback runs */
    WDFQUEUES_DELETED_IN_NOTICE, /* a queue is deleted while its EvtIoQueueState runs, or by it */
    WDFQUEUES_CANCEL_DELAYED,   /* a worker makes the call of the cancel callback */
    WDFQUEUES_PURGE_RACE,       /* purges while requests are marked, unmarked and completed */
    WDFQUEUES_MARK_RACE,        /* cancellations while requests are marked */
    WDFQUEUES_TIMER_RACE,       /* timers are created below a parent that is deleted */
    WDFQUEUES_TARGET_SYNCHRONOUS, /* requests to an I/O target for which the driver waits */
    WDFQUEUES_TARGET_ASYNCHRONOUS,
    WDFQUEUES_TARGET_FROM_IRP, /* requests with IRPs of the driver */
    WDFQUEUES_TARGET_CANCELS, /* by WdfRequestCancelSentRequest and WdfIoTargetClose */
    WDFQUEUES_TARGET_FORWARDS,
    WDFQUEUES_TARGET_REFORMATS, /* a received request is sent with other buffers */
    WDFQUEUES_TARGET_CLOSE_WAITS,   /* WdfIoTargetClose waits for a completion routine */
    WDFQUEUES_TARGET_DELETE_WAITS,  /* and so does the deletion */
    WDFQUEUES_TARGET_CLOSED_INSIDE, /* a completion routine closes its target */
    WDFQUEUES_TARGET_REOPENED_INSIDE, /* a completion routine closes and opens a target that is being closed */
    WDFQUEUES_TARGET_CLOSE_LATE, /* a close goes on after the target was closed and opened again */
    WDFQUEUES_TARGET_CLEANUP_FIRST, /* EvtCleanupCallback comes before the requests are cancelled */
    WDFQUEUES_TARGET_NOT_REOPENED,  /* after the deletion */
    WDFQUEUES_TARGET_FILE,          /* a target with a file object */
    WDFQUEUES_TARGET_CLOSED_FORGETTING, /* the cleanup of a request that is forgotten closes its target */
    WDFQUEUES_TARGET_STOPPED,       /* what happens to requests that wait in a stopped target */
    WDFQUEUES_TARGET_STOP_CANCELS,
    WDFQUEUES_TARGET_STOP_WAITS, /* for a completion routine */
    WDFQUEUES_TARGET_PURGE_WAITS,
    WDFQUEUES_TARGET_PURGED,
    WDFQUEUES_TARGET_FORWARDED_WAITS, /* a received request waits in a stopped target */
    WDFQUEUES_TARGET_STOP_RACE,       /* requests are sent and cancelled while the target is stopped and purged */
    WDFQUEUES_CHECKS,           /* the number of the cases above; those below break a rule */
    WDFQUEUES_START_DRAINING = WDFQUEUES_CHECKS,
    WDFQUEUES_DRAIN_STOPPED,
    WDFQUEUES_FIND_PARALLEL,
    WDFQUEUES_DELETED_OWNING, /* an EvtIoQueueState deletes its queue while the driver owns a request */
    WDFQUEUES_IS_CANCELED_MARKED,
    WDFQUEUES_TIMER_DELETES_ITSELF,
    WDFQUEUES_TIMER_WAITS,
    WDFQUEUES_WORK_FLUSHES,
    WDFQUEUES_REUSE_SENT,
    WDFQUEUES_DELETE_SENT,
    WDFQUEUES_COMPLETE_CREATED,
    WDFQUEUES_SEND_CANCELABLE,
    WDFQUEUES_SEND_UNWATCHED,
    WDFQUEUES_TARGET_RULES, /* the cases from here on are in break_target_state */
    WDFQUEUES_TARGET_DELETED_INSIDE = WDFQUEUES_TARGET_RULES,
    WDFQUEUES_TARGET_DELETED_BY_STOP, /* a stop cancels the request whose completion routine deletes the target */
    WDFQUEUES_TARGET_DELETED_BY_PURGE,
    WDFQUEUES_TARGET_DELETED_BY_CLOSE,
    WDFQUEUES_FORGET_TO_FILE,
    WDFQUEUES_FORGET_FORMATTED,
    WDFQUEUES_TARGET_STOP_INSIDE,
    WDFQUEUES_TARGET_PURGED_BY_HANDLER,
    WDFQUEUES_TARGET_OVERLAP,
    WDFQUEUES_CASES
};

#endif
