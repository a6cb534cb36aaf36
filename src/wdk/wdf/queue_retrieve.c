/* SPDX-License-Identifier: MIT */
/*
 * Implements the routines that retrieve waiting requests. See queue.h. A request is retrieved only after its cancel
 * routine was removed, under the queue's lock.
 */
#include "wdf.h"

#include "wdk/common/check.h"
#include "wdk/wdf/queue.h"
#include "wdk/wdf/request.h"

static NTSTATUS queue_retrieve(struct wdf_queue *q, PFILE_OBJECT file, WDFREQUEST *out)
{
    NTSTATUS status = STATUS_SUCCESS;

    *out = NULL;
    if (q->config.DispatchType == WdfIoQueueDispatchParallel)
        return STATUS_INVALID_DEVICE_STATE;
    pthread_mutex_lock(&q->lock);
    if (!q->delivers || !q->powered)
        status = STATUS_WDF_PAUSED;
    else
        *out = (WDFREQUEST)wdf_queue_retrieve(q, file);
    q->missed = q->missed || (NT_SUCCESS(status) && !*out && !file && q->n_waiting);
    pthread_mutex_unlock(&q->lock);
    return NT_SUCCESS(status) && !*out ? STATUS_NO_MORE_ENTRIES : status;
}

NTSTATUS WdfIoQueueRetrieveNextRequest(WDFQUEUE Queue, WDFREQUEST *OutRequest)
{
    struct wdf_queue *q = wdf_queue_of("WdfIoQueueRetrieveNextRequest", Queue);

    if (!q || !wdf_check_pointer("WdfIoQueueRetrieveNextRequest", OutRequest, __builtin_return_address(0)))
        return STATUS_INVALID_PARAMETER;
    return queue_retrieve(q, NULL, OutRequest);
}

NTSTATUS WdfIoQueueRetrieveRequestByFileObject(WDFQUEUE Queue, WDFFILEOBJECT FileObject, WDFREQUEST *OutRequest)
{
    const char *routine = "WdfIoQueueRetrieveRequestByFileObject";
    struct wdf_queue *q = wdf_queue_of(routine, Queue);
    struct wdf_file *f = wdf_object_lookup(routine, FileObject, WDF_FILE);

    if (!q || !f || !wdf_check_pointer(routine, OutRequest, __builtin_return_address(0)))
        return STATUS_INVALID_PARAMETER;
    return queue_retrieve(q, f->file, OutRequest);
}

/*
 * Returns the first request behind `e` that belongs to the file (NULL: to any file), with a reference. Requires the
 * lock.
 */
static struct wdf_request *queue_find_behind(struct wdf_queue *q, LIST_ENTRY *e, PFILE_OBJECT file)
{
    for (e = e->Flink; e != &q->waiting; e = e->Flink) {
        struct wdf_request *r = CONTAINING_RECORD(e, struct wdf_request, link);

        if (wdf_queue_is_of_file(r, file)) {
            wdf_object_ref_for_driver(&r->object);
            return r;
        }
    }
    return NULL;
}

NTSTATUS WdfIoQueueFindRequest(WDFQUEUE Queue, WDFREQUEST FoundRequest, WDFFILEOBJECT FileObject,
                               PWDF_REQUEST_PARAMETERS Parameters, WDFREQUEST *OutRequest)
{
    const char *routine = "WdfIoQueueFindRequest";
    struct wdf_queue *q = wdf_queue_of(routine, Queue);
    struct wdf_file *f = FileObject ? wdf_object_lookup(routine, FileObject, WDF_FILE) : NULL;
    struct wdf_request *found = FoundRequest ? wdf_object_lookup(routine, FoundRequest, WDF_REQUEST) : NULL, *r = NULL;
    NTSTATUS status = STATUS_NO_MORE_ENTRIES;

    if (!q || (FileObject && !f) || (FoundRequest && !found) ||
        !wdf_check_pointer(routine, OutRequest, __builtin_return_address(0)))
        return STATUS_INVALID_PARAMETER;
    if (q->config.DispatchType != WdfIoQueueDispatchManual) {
        wdf_report_queue(routine, q, "its requests are not dispatched manually");
        return STATUS_INVALID_DEVICE_REQUEST;
    }
    pthread_mutex_lock(&q->lock);
    if (found && !wdf_queue_has_waiting(q, found))
        status = STATUS_NOT_FOUND;
    else
        r = queue_find_behind(q, found ? &found->link : &q->waiting, f ? f->file : NULL);
    if (r && Parameters)
        wdf_request_parameters(r->irp, Parameters);
    pthread_mutex_unlock(&q->lock);
    *OutRequest = (WDFREQUEST)r;
    return r ? STATUS_SUCCESS : status;
}

NTSTATUS WdfIoQueueRetrieveFoundRequest(WDFQUEUE Queue, WDFREQUEST FoundRequest, WDFREQUEST *OutRequest)
{
    const char *routine = "WdfIoQueueRetrieveFoundRequest";
    struct wdf_queue *q = wdf_queue_of(routine, Queue);
    struct wdf_request *r = wdf_object_lookup(routine, FoundRequest, WDF_REQUEST);
    NTSTATUS status = STATUS_SUCCESS;

    if (!q || !r || !wdf_check_pointer(routine, OutRequest, __builtin_return_address(0)))
        return STATUS_INVALID_PARAMETER;
    *OutRequest = NULL;
    if (q->config.DispatchType == WdfIoQueueDispatchParallel)
        return STATUS_INVALID_DEVICE_STATE;
    pthread_mutex_lock(&q->lock);
    if (!q->delivers || !q->powered)
        status = STATUS_WDF_PAUSED;
    else if (!wdf_queue_has_waiting(q, r) || !wdf_queue_retrieve_this(q, r))
        status = STATUS_NOT_FOUND;
    else
        *OutRequest = FoundRequest;
    pthread_mutex_unlock(&q->lock);
    return status;
}
