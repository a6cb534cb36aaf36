/* SPDX-License-Identifier: MIT */
/*
 * Posts the IRPs of Winsock Kernel's sockets to the socket thread as requests, and completes and cancels the requests.
 * The cancel routine of an IRP only queues the request's member `cancel`, a wsk_post, to the socket thread. When
 * `cancel` runs, the socket thread decides whether the request can still be cancelled. The invariant: if the cancel
 * routine has run, the request is not freed before `cancel` has run.
 */
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "wdk/common/bug_code.h"
#include "wdk/common/check.h"
#include "wdk/common/live.h"
#include "wdk/common/outside.h"
#include "wdk/io/irp.h"
#include "wdk/ke/thread.h"
#include "wdk/mm/mdl_use.h"
#include "wdk/wsk/socket.h"

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

bool wsk_cursor_set(struct wsk_cursor *c, const WSK_BUF *buffer)
{
    SIZE_T room = 0;

    *c = (struct wsk_cursor){ NULL, 0, 0 };
    if (!buffer)
        return false;
    if (!buffer->Length)
        return true;
    if (!buffer->Mdl || buffer->Offset > MmGetMdlByteCount(buffer->Mdl))
        return false;
    /* Offset + Length may overflow. So `room` is compared with Offset, and then room - Offset with Length. */
    for (PMDL mdl = buffer->Mdl; mdl && (room < buffer->Offset || room - buffer->Offset < buffer->Length);
         mdl = mdl->Next) {
        if (!MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority))
            return false;
        room += MmGetMdlByteCount(mdl);
    }
    *c = (struct wsk_cursor){ buffer->Mdl, buffer->Offset, buffer->Length };
    return room - buffer->Offset >= buffer->Length;
}

int wsk_cursor_parts(const struct wsk_cursor *c, struct iovec parts[WSK_MAX_PARTS])
{
    SIZE_T offset = c->offset, remaining = c->remaining;
    int n = 0;

    for (PMDL mdl = c->mdl; remaining && n < WSK_MAX_PARTS; mdl = mdl->Next) {
        SIZE_T here = min(MmGetMdlByteCount(mdl) - offset, remaining);

        if (here) {
            parts[n].iov_base = (char *)MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority) + offset;
            parts[n++].iov_len = here;
        }
        remaining -= here;
        offset = 0;
    }
    return n;
}

bool wsk_cursor_set_whole(struct wsk_cursor *c, const WSK_BUF *buffer)
{
    SIZE_T offset, remaining;
    int n = 0;

    if (!wsk_cursor_set(c, buffer))
        return false;
    offset = c->offset;
    remaining = c->remaining;
    for (PMDL mdl = c->mdl; remaining; mdl = mdl->Next) {
        SIZE_T here = min(MmGetMdlByteCount(mdl) - offset, remaining);

        n += here > 0;
        remaining -= here;
        offset = 0;
    }
    return n <= WSK_MAX_PARTS;
}

void wsk_cursor_advance(struct wsk_cursor *c, SIZE_T bytes)
{
    c->remaining -= bytes;
    c->offset += bytes;
    while (c->remaining && c->offset >= MmGetMdlByteCount(c->mdl)) {
        c->offset -= MmGetMdlByteCount(c->mdl);
        c->mdl = c->mdl->Next;
    }
}

/* ---- Begin ------------------------------------------------------------------------------------------------------- */

bool wsk_socket_is_usable(const char *routine, PWSK_SOCKET handle)
{
    struct wsk_socket *s = (struct wsk_socket *)handle;

    if (!s)
        return false;
    if (!check_on() || !atomic_load(&s->closed))
        return true;
    report_add_stack("closed by", &s->closed_by);
    check_failed(CHECK_WSK_CLOSED_USED, routine, (uintptr_t)s, 0, 0, 0, "socket %p has been closed", (void *)s);
    return false;
}

NTSTATUS wsk_complete_irp(PIRP irp, NTSTATUS status, ULONG_PTR information)
{
    if (irp) {
        IoSetNextIrpStackLocation(irp); /* to the location that has the completion routine of the caller */
        irp->IoStatus.Status = status;
        irp->IoStatus.Information = information;
        irp_complete(irp);
    }
    return status;
}

void wsk_trace_completed(const struct kernel_call *call, PIRP irp, NTSTATUS status, ULONG_PTR information)
{
    bool creates = call->type == TRACE_TYPE_WskAccept || call->type == TRACE_TYPE_WskSocketConnect;

    if (call->begun_ns)
        TRACE(wsk_completed, 0, .object = call->object, .routine = call->type, .irp = (uintptr_t)irp,
              .status = (uint32_t)status, .created = creates ? information : 0, .bytes = creates ? 0 : information,
              .duration = kernel_call_duration(call));
}

bool wsk_request_may_send(const struct wsk_request *r)
{
    struct wsk_address host;

    return !outside_is_forbidden() ||
           outside_may_send(r->call.routine, host.bytes, wsk_address_to_host(host.bytes, &r->address));
}

struct wsk_request *wsk_request_alloc(const struct kernel_call *call, struct wsk_socket *s,
                                      enum wsk_operation operation, PIRP irp)
{
    struct wsk_request *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    link_init(&r->link);
    r->socket = s;
    r->operation = operation;
    r->irp = irp;
    r->call = *call;
    if (irp->CurrentLocation <= 1)
        check_bug(NO_MORE_IRP_STACK_LOCATIONS, (uintptr_t)irp, 0, 0, 0);
    IoSetNextIrpStackLocation(irp);
    irp->Tail.Overlay.DriverContext[0] = r;
    return r;
}

struct wsk_request *wsk_request_begin(const struct kernel_call *call, PWSK_SOCKET handle, enum wsk_operation operation,
                                      PIRP irp, NTSTATUS *status)
{
    struct wsk_request *r;

    irql_check_max(call->routine, DISPATCH_LEVEL);
    *status = irp ? STATUS_INVALID_HANDLE : STATUS_INVALID_PARAMETER;
    if (!irp)
        return NULL;
    if (!wsk_socket_is_usable(call->routine, handle)) {
        (void)wsk_complete_irp(irp, *status, 0);
        return NULL;
    }
    r = wsk_request_alloc(call, (struct wsk_socket *)handle, operation, irp);
    if (!r)
        *status = wsk_complete_irp(irp, STATUS_INSUFFICIENT_RESOURCES, 0);
    return r;
}

/* ---- End --------------------------------------------------------------------------------------------------------- */

static void wsk_request_complete_irp(PIRP irp, NTSTATUS status, ULONG_PTR information)
{
    irp->IoStatus.Status = status;
    irp->IoStatus.Information = information;
    irp_complete(irp);
}

NTSTATUS wsk_request_refuse(struct wsk_request *r, NTSTATUS status)
{
    PIRP irp = r->irp;

    free(r);
    wsk_request_complete_irp(irp, status, 0);
    return status;
}

/*
 * Frees the request and completes its IRP. The socket's member `pending` counts the request until the IRP's completion
 * routine has returned.
 */
static void wsk_request_complete(struct wsk_request *r)
{
    struct wsk_socket *s = r->socket;
    PIRP irp = r->irp;
    NTSTATUS status = r->status;
    ULONG_PTR information = r->information;
    struct wsk_socket *connected = r->connected;

    mdl_use_end(r->use);
    wsk_trace_completed(&r->call, irp, status, information);
    free(r);
    wsk_request_complete_irp(irp, status, information);
    if (connected)
        wsk_connect_handle_delivered(connected);
    s->pending--;
    if (s->closing && !s->pending)
        wsk_socket_close(s);
}

void wsk_request_finish(struct wsk_request *r, NTSTATUS status, ULONG_PTR information)
{
    link_remove(&r->link);
    r->status = status;
    r->information = information;
    if (r->armed && !IoSetCancelRoutine(r->irp, NULL))
        r->finished = true;
    else
        wsk_request_complete(r);
}

void wsk_request_finish_connected(struct wsk_request *r, struct wsk_socket *s)
{
    r->connected = s;
    s->delivering = true;
    wsk_request_finish(r, STATUS_SUCCESS, r->operation == WSK_CONNECT ? 0 : (ULONG_PTR)s);
}

void wsk_request_finish_all(LIST_ENTRY *requests, NTSTATUS status)
{
    while (!link_empty(requests))
        wsk_request_finish(wsk_request_first(requests), status, 0);
}

/* ---- Posting and cancelling -------------------------------------------------------------------------------------- */

static void wsk_request_run_cancel(struct wsk_post *post)
{
    struct wsk_request *r = CONTAINING_RECORD(post, struct wsk_request, cancel);

    r->armed = false;
    if (r->finished)
        wsk_request_complete(r);
    else
        wsk_request_cancel(r);
}

static VOID wsk_request_cancel_irp(PDEVICE_OBJECT device, PIRP irp)
{
    struct wsk_request *r = irp->Tail.Overlay.DriverContext[0];

    UNREFERENCED_PARAMETER(device);
    IoReleaseCancelSpinLock(irp->CancelIrql);
    wsk_thread_post(&r->cancel, wsk_request_run_cancel);
}

/* Sets the cancel routine. Returns false if the IRP is already cancelled and the routine will not run. */
static bool wsk_request_arm(struct wsk_request *r)
{
    (void)IoSetCancelRoutine(r->irp, wsk_request_cancel_irp);
    r->armed = true;
    if (!irp_is_cancelled(r->irp) || !IoSetCancelRoutine(r->irp, NULL))
        return true;
    r->armed = false;
    return false;
}

static void wsk_request_run(struct wsk_post *post)
{
    struct wsk_request *r = CONTAINING_RECORD(post, struct wsk_request, post);
    struct wsk_socket *s = r->socket;

    if (r->operation == WSK_CLOSE) {
        s->close_request = r;
        wsk_socket_close(s);
        return;
    }
    s->pending++;
    if (!wsk_request_arm(r))
        wsk_request_finish(r, STATUS_CANCELLED, 0);
    else
        wsk_request_start(r);
}

/* Records the MDLs of the request's buffers, so that a report is made if the driver unlocks or frees one too early. */
static void wsk_request_begin_use(struct wsk_request *r)
{
    const struct mdl_user user = { r->call.routine, "WSK_SOCKET", r->socket };

    if (!r->list)
        mdl_use_add(&r->use, r->cursor.mdl, r->cursor.offset + r->cursor.remaining);
    for (PWSK_BUF_LIST b = r->list; b; b = b->Next)
        mdl_use_add(&r->use, b->Buffer.Mdl, b->Buffer.Length ? b->Buffer.Offset + b->Buffer.Length : 0);
    mdl_use_begin(r->use, &user);
}

NTSTATUS wsk_request_post(struct wsk_request *r)
{
    if (check_on())
        wsk_request_begin_use(r);
    IoMarkIrpPending(r->irp);
    wsk_thread_post(&r->post, wsk_request_run);
    return STATUS_PENDING;
}
