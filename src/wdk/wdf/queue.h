/* SPDX-License-Identifier: MIT */
/*
 * I/O queues. A request is in `waiting` while the framework owns it, and in `owned` from its delivery until it is
 * completed or put into a queue. While a request waits, its IRP has the cancel routine of queue.c: only the code that
 * has removed this routine, or the routine itself, takes the request out of `waiting`.
 */
#ifndef WDK_WDF_QUEUE_H
#define WDK_WDF_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

#include "wdf.h"

#include "wdk/wdf/callback.h"
#include "wdk/wdf/device.h"
#include "wdk/wdf/object.h"

struct wdf_request;

struct wdf_notice {
    PFN_WDF_IO_QUEUE_STATE routine;
    WDFCONTEXT context;
};

/*
 * The goal of a change of state. STOPPED: the driver owns no request of the queue, and no request handler runs.
 * EMPTIED: in addition, no request waits.
 */
enum wdf_goal { GOAL_STOPPED, GOAL_EMPTIED, GOALS };

/* The wait of a queue for a goal. Two waits for the same goal never overlap. */
struct wdf_goal_wait {
    struct wdf_notice notice; /* called when the goal is reached; routine NULL: none */
    bool synchronous;         /* a thread waits */
    bool drains;              /* a drain has begun the wait */
};

struct wdf_queue {
    struct wdf_object object;
    struct wdf_device *device;
    LIST_ENTRY link; /* in the device's list */
    WDF_IO_QUEUE_CONFIG config;
    ULONG max_owned;      /* a request is delivered only while the driver owns fewer requests than this */
    struct wdf_sync sync; /* the queue's own lock; unused if the queue uses the device's lock */
    struct wdf_deferred deferred;
    pthread_mutex_t lock; /* guards the members below; no other lock except those of object.c is acquired under it */
    pthread_cond_t done;
    LIST_ENTRY waiting, owned;
    ULONG n_waiting, n_owned;
    bool accepts, delivers;
    bool power_managed;   /* delivers only while the device is started */
    bool powered;         /* true unless the queue is power-managed and its device is not started */
    ULONG n_acknowledged; /* owned requests that WdfRequestStopAcknowledge has named */
    bool shut_down;       /* the device is removed or the queue is deleted: the queue never accepts requests again */
    /*
     * A purge, a stop with a purge, or the shutdown sets `purged`. Any other change of state clears it. While `purged`
     * is true, the framework cancels each request that the driver marks cancelable or requeues.
     */
    bool purged;
    /* A retrieval has found only requests that are being cancelled. The next insertion then sets ready_due. */
    bool missed;
    bool is_deferred; /* `deferred` is queued */
    bool orphaned; /* a thread with the lock of callbacks deletes the queue: no handler or notice is called any more */
    unsigned dispatchers; /* calls of wdf_queue_dispatch that deliver */
    unsigned handlers;    /* request handlers that run */
    unsigned notices;     /* callbacks of type EvtIoQueueState that run */
    unsigned notices_begun;
    struct wdf_goal_wait waits[GOALS];
    struct wdf_notice on_ready; /* WdfIoQueueReadyNotify */
    bool ready_due;             /* on_ready has to be called */
};

/*
 * Puts a request at the end of the queue, or at its front. Returns STATUS_WDF_BUSY if `at_front` is false and the queue
 * accepts no requests; the caller then still owns the request. `by_driver` is true if the driver has put the request
 * into the queue.
 */
NTSTATUS wdf_queue_insert(struct wdf_queue *q, struct wdf_request *r, bool at_front, bool by_driver);
/*
 * Delivers the queue's notices and requests. `arrival` is true if a request has arrived. This request is then delivered
 * even if this thread is in a request handler of the queue, unless the queue limits how many requests the driver owns.
 */
void wdf_queue_dispatch(struct wdf_queue *q, bool arrival);
/*
 * Two steps of a completion. wdf_queue_unlink removes the request from the queue's list, but the queue still counts it.
 * After the IRP is complete, wdf_queue_finish_one decrements this count, delivers what can be delivered now, and drops
 * the request's reference on the queue.
 */
void wdf_queue_unlink(struct wdf_queue *q, struct wdf_request *r);
void wdf_queue_finish_one(struct wdf_queue *q);
/*
 * Moves a request that the driver owns (it is in `owned` of the queue `from`) to the queue `to`, or to the front of
 * `from`. Returns STATUS_WDF_BUSY as wdf_queue_insert does.
 */
NTSTATUS wdf_queue_move(struct wdf_queue *from, struct wdf_queue *to, struct wdf_request *r, bool at_front);
/*
 * Finds the first waiting request of this file (NULL: of any file) that is not being cancelled. Moves it to the list
 * `owned`, and returns it. Returns NULL if there is none. Requires the lock.
 */
struct wdf_request *wdf_queue_retrieve(struct wdf_queue *q, PFILE_OBJECT file);
/* Moves a waiting request to the list `owned`. Returns false if the request is being cancelled. Requires the lock. */
bool wdf_queue_retrieve_this(struct wdf_queue *q, struct wdf_request *r);
/* Returns true if the request waits in the queue. Does not access the request. Requires the lock. */
bool wdf_queue_has_waiting(const struct wdf_queue *q, const struct wdf_request *r);
/* Returns true if the waiting request belongs to the file (NULL: to any file). Requires the lock. */
bool wdf_queue_is_of_file(const struct wdf_request *r, PFILE_OBJECT file);
/* Cancels the requests of the file (NULL: all) that wait now. */
void wdf_queue_cancel_waiting(struct wdf_queue *q, PFILE_OBJECT file);
/*
 * Finds a request with a callback that has not begun, because the thread that calls it waits for the lock of the scope.
 * Returns the request with a reference, or NULL if there is none. The caller must then call wdf_queue_cancel_unbegun.
 * Requires the lock, and that this thread has the lock of the scope.
 */
struct wdf_request *wdf_queue_find_unbegun(struct wdf_queue *q);
/*
 * Calls the EvtRequestCancel or EvtIoCanceledOnQueue of the request, or completes it if it has neither. Drops the
 * reference of wdf_queue_find_unbegun.
 */
void wdf_queue_cancel_unbegun(struct wdf_queue *q, struct wdf_request *r);
/* Returns true if the queue has reached the goal, apart from handlers that still run. Requires the lock. */
bool wdf_queue_has_reached(const struct wdf_queue *q, enum wdf_goal goal);
/*
 * Purges the device's power-managed queues if `power_managed` is true, otherwise its other queues. The queues never
 * accept requests again. Waits until the driver owns none of their requests, and no request handler and no
 * EvtIoQueueState runs.
 */
void wdf_device_shut_down_queues(struct wdf_device *d, bool power_managed);
/*
 * Stops the queue for its deletion: purges it, and waits until the driver owns none of its requests, and no request
 * handler and no EvtIoQueueState runs.
 */
void wdf_queue_stop_for_delete(struct wdf_object *o);
/*
 * Returns the queue behind `q`, or the first queue if `q` is NULL, with a reference. Drops the reference on `q`.
 * Returns NULL if there is no further queue.
 */
struct wdf_queue *wdf_device_next_queue(struct wdf_device *d, struct wdf_queue *q);
/*
 * Starts or stops the device's power-managed queues. A stop calls EvtIoStop for the requests that the driver owns, and
 * waits until each is completed, acknowledged or requeued.
 */
void wdf_device_set_power(struct wdf_device *d, bool on);
/* Acknowledges the stop of a request that stays with the driver. Returns false if the request is not being stopped. */
bool wdf_queue_acknowledge(struct wdf_queue *q, struct wdf_request *r);
/* Returns the queue, or NULL if the handle is wrong. Reports an IRQL above DISPATCH_LEVEL. */
struct wdf_queue *wdf_queue_of(const char *routine, WDFQUEUE queue);
/* Reports a broken rule `wdf-queue`. */
void wdf_report_queue(const char *routine, struct wdf_queue *q, const char *what);
/* Returns true if this thread is in a request handler of the object's driver. */
bool wdf_in_request_handler(struct wdf_object *o);
/* Returns true if this thread runs a request handler of the queue. */
bool wdf_queue_is_in_handler(const struct wdf_queue *q);
/* Returns true if this thread runs a request handler or an EvtIoQueueState of the queue. */
bool wdf_queue_has_frame(const struct wdf_queue *q);

#endif
