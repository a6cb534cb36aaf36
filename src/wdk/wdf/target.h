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

struct wdf_target {
    struct wdf_object object;
    struct wdf_device *device; /* the target's owner */
    bool local;                /* the device below the owner; always open */
    PDEVICE_OBJECT target;     /* with a reference, unless the target is local; NULL: closed */
    PFILE_OBJECT file;         /* with a reference, or NULL */
    HANDLE handle;             /* of `file`, if the target was opened by name */
    struct {
        UNICODE_STRING name;
        ACCESS_MASK access;
        ULONG share, attributes, disposition, options;
    } reopen;
    WDF_IO_TARGET_STATE state; /* under wdf_target_lock */
    LIST_ENTRY sent;           /* struct wdf_send; under wdf_target_lock */
};

/* Guards the states of all targets and of the requests that are sent to them. No other lock is acquired under it. */
extern pthread_mutex_t wdf_target_lock;
extern pthread_cond_t wdf_target_changed; /* a request was finished */

/* A buffer of a request to a target: memory of a driver. */
struct wdf_span {
    struct wdf_object *memory; /* the memory object, or NULL */
    PMDL mdl;                  /* the driver's MDL, or NULL */
    PVOID address;
    size_t length, offset; /* offset: of `address` in the memory object */
};

/*
 * The state of a request to a target. IDLE: the driver may use the request. SENT: the IRP is the target's.
 * `holders` counts the target and those threads that cancel the IRP: the last one finishes the request, so the IRP
 * exists while it is cancelled.
 */
enum wdf_send_state { SEND_IDLE, SEND_SENT };

struct wdf_send {
    struct wdf_request *request;
    struct wdf_target *target; /* while the request is sent; with a reference */
    LIST_ENTRY link;
    _Atomic(enum wdf_send_state) state;
    unsigned holders;
    bool formatted; /* the IRP has the buffers of this request */
    bool ready;     /* formatted, and not sent since */
    bool synchronous, timed_out;
    bool failed; /* the last send was refused with `status` */
    PFN_WDF_REQUEST_COMPLETION_ROUTINE routine;
    WDFCONTEXT context;
    WDF_REQUEST_COMPLETION_PARAMS params;
    struct wdf_span in, out; /* with references on the memory objects */
    PVOID system;            /* the IRP's system buffer; from pool */
    PMDL mdl;                /* the IRP's MDL that the framework has built */
    bool locked;             /* the pages of `mdl` are locked */
    bool copies_out;         /* the completion copies the system buffer to `out` */
    struct {
        PVOID system, user;
        PMDL mdl;
    } saved;         /* the buffers of a received request's IRP */
    NTSTATUS status; /* of a request that was not sent, or was reused */
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

/* Returns the request's part for sending, or NULL if out of memory. */
struct wdf_send *wdf_send_of(struct wdf_request *r);
/* Frees the buffers of the last format, before the request's IRP is completed. */
void wdf_send_end(struct wdf_request *r);
/* Frees it. Called when the request is destroyed: a thread that cancels the request may use it until then. */
void wdf_send_free(struct wdf_request *r);
NTSTATUS wdf_send_format(struct wdf_target *t, struct wdf_request *r, const struct wdf_what *what);
/* Sends a formatted request. Returns false if it was not sent, and sets its status. */
bool wdf_send(struct wdf_target *t, struct wdf_request *r, const WDF_REQUEST_SEND_OPTIONS *options);
/* Cancels a request. Returns false if the request is not sent, or has no cancel routine. */
bool wdf_send_cancel(struct wdf_request *r);
bool wdf_send_is_sent(const struct wdf_request *r);
/* Makes the request as new, with this status. */
void wdf_send_reset(struct wdf_send *s, NTSTATUS status);
/* Formats a received request for the target as it was received. */
void wdf_send_format_current(struct wdf_send *s);
/* Returns the request if the driver has created it and it is not sent, and otherwise NULL. */
struct wdf_request *wdf_request_created(const char *routine, WDFREQUEST request);
/* Creates the target of the device below an enumerated device. */
NTSTATUS wdf_target_create_local(struct wdf_device *d);
/* Sets *span to the part of the memory object. Returns STATUS_INVALID_DEVICE_REQUEST if it exceeds the buffer. */
NTSTATUS wdf_span_of_memory(const char *routine, WDFMEMORY memory, PWDFMEMORY_OFFSET offset, struct wdf_span *span);

#endif
