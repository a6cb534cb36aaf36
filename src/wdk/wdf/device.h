/* SPDX-License-Identifier: MIT */
/* The framework's devices and files. */
#ifndef WDK_WDF_DEVICE_H
#define WDK_WDF_DEVICE_H

#include <pthread.h>
#include <stdbool.h>

#include "wdf.h"

#include "wdk/wdf/callback.h"
#include "wdk/wdf/object.h"
#include "wdk/wdf/pnp.h"

enum { WDF_QUEUED_TYPES = WdfRequestTypeDeviceControlInternal + 1 }; /* how many request types may have a queue */

/*
 * A routine for the IRPs of one major function. `minors` has one bit for each minor function that the routine is for.
 */
struct wdf_preprocess {
    PFN_WDFDEVICE_WDM_IRP_PREPROCESS routine;
    uint64_t minors[4];
};

/* A driver sets this up before it creates a device. WDFDEVICE_INIT is the public name. */
struct WDFDEVICE_INIT {
    struct wdf_object *driver;
    UNICODE_STRING name, sddl; /* copies; Buffer is NULL if there is none */
    WDF_DEVICE_IO_TYPE io_type;
    DEVICE_TYPE type;
    ULONG characteristics;
    BOOLEAN exclusive;
    bool has_class;
    WDF_FILEOBJECT_CONFIG file;
    WDF_OBJECT_ATTRIBUTES file_attributes, request_attributes; /* Size 0: not set */
    PFN_WDF_IO_IN_CALLER_CONTEXT in_caller_context;
    PFN_WDF_DEVICE_SHUTDOWN_NOTIFICATION shutdown;
    PDEVICE_OBJECT physical;     /* the device that the PnP manager has found; NULL: a control device */
    struct wdf_device **created; /* receives the device that is created for `physical` */
    WDF_PNPPOWER_EVENT_CALLBACKS pnp_events;
    bool power_pageable;
    bool preprocesses; /* a routine of `preprocess` is set */
    struct wdf_preprocess preprocess[IRP_MJ_MAXIMUM_FUNCTION + 1];
};

struct wdf_queue;
struct wdf_target;

struct wdf_device {
    struct wdf_object object;
    struct wdf_device *next; /* in the list of all devices */
    PDEVICE_OBJECT device;
    bool miniport; /* the device belongs to the port driver */
    struct wdf_sync sync;
    struct WDFDEVICE_INIT init;
    struct wdf_pnp pnp;
    struct wdf_target *target; /* the device below, or NULL */
    UNICODE_STRING link;       /* the symbolic link; Buffer is NULL if there is none */
    bool finished;             /* WdfControlFinishInitializing was called */
    pthread_mutex_t lock;      /* guards the members below, and `finished` */
    LIST_ENTRY queues, files;
    struct wdf_queue *default_queue, *queue_of[WDF_QUEUED_TYPES];
};

/*
 * Returns `init`. If `init` is NULL or, while checks are on, is not a structure that the driver may use, reports the
 * pointer and returns NULL. `caller` is the address in the driver from which `routine` was called.
 */
struct WDFDEVICE_INIT *wdf_init_of(const char *routine, PWDFDEVICE_INIT init, const void *caller);
void wdf_init_free_strings(struct WDFDEVICE_INIT *init);
/*
 * Returns the structure for EvtDriverDeviceAdd, or NULL if out of memory. WdfDeviceCreate sets *created, and then frees
 * the structure.
 */
PWDFDEVICE_INIT wdf_init_for_physical(struct wdf_object *driver, PDEVICE_OBJECT physical, struct wdf_device **created);

/*
 * Returns the device with a reference and begins an activity; the caller ends both. Returns NULL if the framework has
 * no such device, or its driver may already be unloaded.
 */
struct wdf_device *wdf_device_enter(PDEVICE_OBJECT device);
/* The routine for all IRPs of a driver that is not a miniport. */
DRIVER_DISPATCH wdf_dispatch;
/* Completes an IRP that has no request object, and returns the status. */
NTSTATUS wdf_complete_irp(PIRP irp, NTSTATUS status);

struct wdf_request;
/*
 * Puts the request into the queue for its type. Returns STATUS_INVALID_DEVICE_REQUEST if there is no such queue, and
 * STATUS_WDF_BUSY if the queue accepts no requests; the caller then still owns the request.
 */
NTSTATUS wdf_device_enqueue(struct wdf_device *d, struct wdf_request *r, bool by_driver);

/* Copies a string. Returns false if out of memory. The caller frees the buffer. */
bool wdf_copy_string(UNICODE_STRING *to, PCUNICODE_STRING from);

struct wdf_file {
    struct wdf_object object;
    PFILE_OBJECT file;
    LIST_ENTRY link; /* in the device's list */
};

NTSTATUS wdf_file_create(struct wdf_device *d, PIRP irp);
NTSTATUS wdf_file_cleanup(struct wdf_device *d, PIRP irp);
NTSTATUS wdf_file_close(struct wdf_device *d, PIRP irp);
/* Returns the framework's object for the file, or NULL. The object exists until IRP_MJ_CLOSE. */
struct wdf_file *wdf_file_find(struct wdf_device *d, PFILE_OBJECT file);
/* Calls EvtDeviceFileCreate. */
void wdf_file_call_create(struct wdf_device *d, struct wdf_request *r);
/* Deletes the framework's object of a file. Does nothing if `f` is NULL. */
void wdf_file_discard(struct wdf_device *d, struct wdf_file *f);

#endif
