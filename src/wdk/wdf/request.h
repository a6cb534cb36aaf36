/* SPDX-License-Identifier: MIT */
/* Declares requests: their states, completion and cancellation. */
#ifndef WDK_WDF_REQUEST_H
#define WDK_WDF_REQUEST_H

#include <stdatomic.h>
#include <stdbool.h>

#include "wdf.h"

#include "wdk/wdf/callback.h"
#include "wdk/wdf/device.h"
#include "wdk/wdf/object.h"
#include "wdk/wdf/queue.h"

/*
 * The owner of a request. CALLER: the driver, in EvtIoInCallerContext. NONE: the request is complete. CREATED: the
 * driver has created the request, and owns it always.
 */
enum wdf_owner { OWNER_FRAMEWORK, OWNER_CALLER, OWNER_DRIVER, OWNER_NONE, OWNER_CREATED };

/*
 * MARKED: the IRP has the cancel routine of request.c. CLAIMED: the routine was removed for a cancellation, so the
 * cancel callback will be called. CALLED: the callback was called.
 */
enum wdf_cancel { CANCEL_NONE, CANCEL_MARKED, CANCEL_CLAIMED, CANCEL_CALLED };

/*
 * The stop of a request by a power-managed queue. CANCELLED: the request was cancelled before it was delivered, so
 * EvtIoStop is not called. ASKED: EvtIoStop was called or is being called.
 */
enum wdf_stop { STOP_NONE, STOP_CANCELLED, STOP_ASKED, STOP_ACKNOWLEDGED };

/*
 * Values of parameter 2 with WDF_REQUEST_ERROR. SENT: the request is sent to an I/O target. UNWATCHED: the driver sends
 * a received request without a completion routine, so the driver could not complete the request afterwards. FORGOTTEN:
 * the request must not be sent with WDF_REQUEST_SEND_OPTION_SEND_AND_FORGET.
 */
enum { WDF_REQUEST_SENT = 0x105, WDF_REQUEST_UNWATCHED = 0x106, WDF_REQUEST_FORGOTTEN = 0x107 };

struct wdf_memory;
struct wdf_mdl;
struct wdf_send;

struct wdf_request {
    struct wdf_object object;
    PIRP irp; /* NULL after the completion */
    struct wdf_device *device;
    struct wdf_queue *queue; /* the queue that holds or has delivered the request, with a reference; or NULL */
    struct wdf_file *file;   /* may be NULL */
    LIST_ENTRY link;         /* in one of the queue's lists, under the queue's lock */
    _Atomic(enum wdf_owner) owner;
    bool by_driver; /* the driver has put the request into the queue */
    bool is_create;
    bool created;           /* by the driver, for an I/O target */
    bool from_irp;          /* by WdfRequestCreateFromIrp */
    bool own_irp;           /* the framework has allocated `irp` */
    bool frees_irp;         /* the framework frees `irp` */
    struct wdf_send *send;  /* what the request needs to be sent to an I/O target, or NULL */
    atomic_bool in_cleanup; /* the cleanup callbacks are running; they may read the request */
    _Atomic(enum wdf_cancel) cancel_state;
    _Atomic(PFN_WDF_REQUEST_CANCEL) cancel;
    /* The request counts as cancelled even if the IRP is not cancelled, for example after a purge. */
    atomic_bool purged;
    enum wdf_stop stop; /* under the queue's lock */
    /*
     * Under the queue's lock: a callback with the lock of the scope will be called for the request and has not begun.
     * It is a request handler, or EvtIoCanceledOnQueue, which has a reference on the request until then.
     */
    bool unbegun;
    atomic_bool in_cancel;           /* EvtIoCanceledOnQueue was called, so the request cannot return to a queue */
    struct wdf_object *claimed_with; /* the object whose lock EvtRequestCancel holds; set when the request is claimed */
    struct wdf_deferred deferred;    /* of EvtRequestCancel */
    struct wdf_deferred deferred_on_queue; /* of EvtIoCanceledOnQueue */
    struct wdf_memory *input, *output;     /* memory objects of the request's buffers, or NULL */
    struct wdf_mdl *mdls;                  /* MDLs that the framework has built for the request */
};

struct wdf_mdl {
    struct wdf_mdl *next;
    PMDL mdl;
    bool locked;
};

/* Creates a request for the IRP. The framework owns the request. */
NTSTATUS wdf_request_new(struct wdf_device *d, PIRP irp, struct wdf_request **out);
WDF_REQUEST_TYPE wdf_request_type(PIRP irp);
/*
 * Ends a request that nobody else can complete: calls the cleanup callbacks, deletes the request, completes the IRP,
 * and removes the request from its queue. Requires that r->owner is OWNER_NONE.
 */
void wdf_request_finish(struct wdf_request *r, NTSTATUS status, ULONG_PTR information, CCHAR boost);
/* Ends the request as wdf_request_finish does, but sends the IRP to the device with the sender's parameters. */
void wdf_request_pass_on(struct wdf_request *r, PDEVICE_OBJECT device);
/* Completes a request that the framework owns. */
void wdf_request_fail(struct wdf_request *r, NTSTATUS status);
/* Returns the request if the driver owns it. Otherwise reports the routine and returns NULL. */
struct wdf_request *wdf_request_owned(const char *routine, WDFREQUEST request);
/*
 * Claims a request that is marked cancelable: adds references on it and its queue, which wdf_request_cancel_claimed
 * drops. Returns false if the request is not marked. Requires the queue's lock.
 */
bool wdf_request_claim(struct wdf_request *r);
/* Calls the cancel callback of a claimed request, now or on a worker. */
void wdf_request_cancel_claimed(struct wdf_request *r);
/*
 * Calls the cancel callback of a claimed request with the lock `sync` (NULL: this thread has the lock of the scope).
 * Does nothing if another thread has called it. Requires a reference on the request.
 */
void wdf_request_call_cancel(struct wdf_request *r, struct wdf_sync *sync);
/* Reports a request that EvtIoInCallerContext has left unanswered. */
void wdf_request_check_answered(struct wdf_request *r);
/* Reports a request whose cancel callback may still be called, and returns false. */
bool wdf_request_check_uncancelable(const char *routine, struct wdf_request *r);
void wdf_report_request(const char *routine, struct wdf_request *r, uint64_t error, const char *what);
/* Fills in the parameters from the IRP. */
void wdf_request_parameters(PIRP irp, PWDF_REQUEST_PARAMETERS out);
/* Frees the MDLs that were built for the request. */
void wdf_request_free_mdls(struct wdf_request *r);

#endif
