/* SPDX-License-Identifier: MIT */
/* Declares I/O targets, and the requests that are sent to them. */
#ifndef WDK_WDF_TARGET_H
#define WDK_WDF_TARGET_H

#include <pthread.h>
#include <stdbool.h>

#include "wdf.h"

#include "wdk/wdf/device.h"
#include "wdk/wdf/object.h"
#include "wdk/wdf/request.h"

/* The device that an open target has. */
struct wdf_target_device {
    PDEVICE_OBJECT device; /* with a reference, unless the target is local or has a file; NULL: closed */
    PFILE_OBJECT file;     /* with a reference, or NULL */
    HANDLE handle;         /* of `file`, if the target was opened by name */
};

/* The requests that are sent to a target. */
struct wdf_sent {
    LIST_ENTRY requests; /* struct wdf_send */
    unsigned finishing;  /* requests that are no longer in the list, and whose completion routines have not returned */
};

/* The state machine is in docs/threads.md. wdf_target_lock guards the members from `state` on. */
struct wdf_target {
    struct wdf_object object;
    struct wdf_device *device; /* the target's owner */
    bool local;                /* the target is the device below the owner, and is open until it is deleted */
    struct {
        UNICODE_STRING name;
        ACCESS_MASK access;
        ULONG share, attributes, disposition, options;
    } reopen; /* used only while `opening` is true */
    WDF_IO_TARGET_STATE state;
    bool opening;     /* WdfIoTargetOpen runs */
    unsigned changes; /* calls of WdfIoTargetStart, WdfIoTargetStop and WdfIoTargetPurge that run */
    struct wdf_target_device open;
    unsigned opens;                 /* calls of WdfIoTargetOpen that succeeded */
    unsigned users;                 /* threads that use `open` although they have sent no request yet */
    LIST_ENTRY waiting;             /* struct wdf_send; WdfIoTargetStart sends them */
    struct wdf_sent sent, ignoring; /* ignoring: with WDF_REQUEST_SEND_OPTION_IGNORE_TARGET_STATE */
};

/*
 * Guards the states of all targets and of the requests that are sent to them. No other lock is acquired under it,
 * except those of ObReferenceObject.
 */
extern pthread_mutex_t wdf_target_lock;
extern pthread_cond_t wdf_target_changed; /* a wait of a target may be over */

/* A buffer of a request to a target: memory of a driver. */
struct wdf_span {
    struct wdf_object *memory; /* the memory object, or NULL */
    PMDL mdl;                  /* the driver's MDL, or NULL */
    PVOID address;
    size_t length, offset; /* offset: of `address` in the memory object */
};

/*
 * The state of a request to a target. IDLE: the driver may use the request. SENT: the target's driver owns the IRP.
 * WAITING: the target is stopped, and the IRP has the cancel routine of send.c. Only the code that has removed this
 * routine, or the routine itself, removes the request from the target's list `waiting`. `holders` counts the target,
 * the timer if the send has a timeout, and the threads that are cancelling the IRP. The last holder finishes the
 * request, so the IRP exists while a thread cancels it.
 */
enum wdf_send_state { SEND_IDLE, SEND_WAITING, SEND_SENT };

struct wdf_send {
    struct wdf_request *request;
    struct wdf_target *target; /* with a reference; NULL if the request is IDLE */
    struct wdf_sent *sent;     /* the target's requests of this kind */
    LIST_ENTRY link;           /* in `sent`, or in the target's list `waiting` */
    _Atomic(enum wdf_send_state) state;
    unsigned holders;
    bool formatted; /* the IRP has the buffers of the last format */
    bool ready;     /* formatted, and not sent after the last format */
    bool synchronous, timed_out;
    bool failed; /* the last send was refused with `status` */
    PFN_WDF_REQUEST_COMPLETION_ROUTINE routine;
    WDFCONTEXT context;
    WDF_REQUEST_COMPLETION_PARAMS params;
    struct wdf_span in, out; /* with references on the memory objects */
    PVOID system;            /* the system buffer that the framework has allocated for the IRP, or NULL */
    PMDL mdl;                /* the MDL that the framework has built for the IRP, or NULL */
    bool locked;             /* the pages of `mdl` are locked */
    bool copies_out;         /* the completion copies the system buffer to `out` */
    struct {
        PVOID system, user;
        PMDL mdl;
    } saved;         /* the original buffers of a received request's IRP */
    NTSTATUS status; /* of the last completion, of a refused send, or given to WdfRequestReuse */
    KEVENT done;
    KTIMER timer;
    KDPC dpc;
};

/* The parameters of a request to a target. */
struct wdf_what {
    UCHAR major;
    ULONG code; /* of a device control */
    LONGLONG offset;
    struct wdf_span in, out;
};

/* Returns r->send, and allocates it if it is NULL. Returns NULL if out of memory. */
struct wdf_send *wdf_send_of(struct wdf_request *r);
/* Frees the buffers of the last format, before the request's IRP is completed. */
void wdf_send_end(struct wdf_request *r);
/* Frees r->send. Called when the request is destroyed: a thread that cancels the request may use r->send until then. */
void wdf_send_free(struct wdf_request *r);
NTSTATUS wdf_send_format(struct wdf_target *t, struct wdf_request *r, const struct wdf_what *what);
/* Sends a formatted request. If the request cannot be sent, sets r->send->status and returns false. */
bool wdf_send(struct wdf_target *t, struct wdf_request *r, const WDF_REQUEST_SEND_OPTIONS *options);
/* Cancels a request. Returns false if the request is not sent, or has no cancel routine. */
bool wdf_send_cancel(struct wdf_request *r);
/* Adds a holder. Returns false if the request is IDLE, or has no holder any more. Requires the lock. */
bool wdf_send_try_ref(struct wdf_send *s);
/* Cancels the request, and drops the holder that wdf_send_try_ref has added. Returns what IoCancelIrp returns. */
bool wdf_send_cancel_and_unref(struct wdf_send *s);
bool wdf_send_is_sent(const struct wdf_request *r);
/* Frees the IRP of a created request if the framework has to. The request then has no IRP. */
void wdf_send_free_irp(struct wdf_request *r);
/* Prepares the request for a new use (WdfRequestReuse): removes its format and completion routine, sets its status. */
void wdf_send_reset(struct wdf_send *s, NTSTATUS status);
/* Formats a request for a target with the parameters of its IRP's current stack location, if it has one. */
void wdf_send_format_current(struct wdf_send *s);
/* Returns the request if the driver has created it and it is not sent, and otherwise NULL. */
struct wdf_request *wdf_request_created(const char *routine, WDFREQUEST request);
/* Returns true if this thread runs a completion routine of a request that was sent to the target. */
bool wdf_send_is_finishing(const struct wdf_target *t);
/* Returns true if this thread runs a completion routine of the driver whose object is `root`. */
bool wdf_send_is_in_routine(const struct wdf_object *root);
/*
 * Removes a request from the target's list `waiting`, makes it SENT and returns it. The caller must then call
 * wdf_send_resume or wdf_send_refuse. Returns NULL if no request waits, except requests that are being cancelled.
 * Requires the lock.
 */
struct wdf_send *wdf_send_pop_waiting(struct wdf_target *t);
/* Sends the IRP of a request that wdf_send_pop_waiting has returned. */
void wdf_send_resume(struct wdf_send *s);
/* Completes a request that wdf_send_pop_waiting has returned, without sending it. `status` is the request's status. */
void wdf_send_refuse(struct wdf_send *s, NTSTATUS status);
/* Returns the target, or NULL if the handle is wrong. Reports an IRQL above `irql`. */
struct wdf_target *wdf_target_of(const char *routine, WDFIOTARGET target, KIRQL irql);
/*
 * Cancels the requests in `sent` that have not come back. Does not cancel requests that are sent later. If t->opens is
 * not `opens`, the target was opened again. Then all earlier requests have come back, and nothing is cancelled.
 */
void wdf_target_cancel(struct wdf_target *t, struct wdf_sent *sent, unsigned opens);
/* Completes the waiting requests without sending them, unless t->opens is not `opens`. */
void wdf_target_refuse_waiting(struct wdf_target *t, unsigned opens);
/*
 * Returns true if all requests have come back and their completion routines have returned. If the caller is a
 * completion routine of the target, running routines are ignored, because the caller would otherwise wait for its own
 * end, or for a routine that waits for the caller. Requires the lock.
 */
bool wdf_target_is_back(const struct wdf_target *t, const struct wdf_sent *sent);
/* Creates the local target of `d`: the device below `d`. Requires that `d` is an enumerated device. */
NTSTATUS wdf_target_create_local(struct wdf_device *d);
/*
 * Sets *span to the part of the memory object that `offset` selects (NULL: the whole object). Returns
 * STATUS_INVALID_DEVICE_REQUEST if the part exceeds the object.
 */
NTSTATUS wdf_span_of_memory(const char *routine, WDFMEMORY memory, PWDFMEMORY_OFFSET offset, struct wdf_span *span);

#endif
