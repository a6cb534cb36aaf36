/* SPDX-License-Identifier: MIT */
/*
 * Receives over a connection. Pending WskReceive requests receive the data first. If there are none, WskReceiveEvent
 * receives a copy. The bytes stay in the host's buffer until the driver has accepted them. Bytes that the driver does
 * not accept are therefore received again.
 *
 * An indication is one block of WSK_DATA_INDICATIONs. In each MDL, space for headers precedes the data, as if the data
 * had come from a network card.
 */
#include <errno.h>
#include <string.h>

#include "wdm.h"

#include "wdk/common/check.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/mm/pool.h"
#include "wdk/wsk/socket.h"

enum { MAX_PARTS = 4, PART_SIZE = 16384, HEADERS_SIZE = 54, MAX_DRAINED_BYTES = 1 << 16, RELEASE_ASAP_BYTES = 1 << 20 };
enum { MAX_INDICATIONS = 16 }; /* number of indications after which the socket thread serves the other sockets */

struct wsk_receive_part {
    WSK_DATA_INDICATION indication;
    /*
     * In the first part: the size of the whole indication. It is stored here, because the driver may change
     * Buffer.Length.
     */
    SIZE_T bytes;
    MDL mdl;
    PFN_NUMBER frames[(PART_SIZE + HEADERS_SIZE) / PAGE_SIZE + 2];
    UCHAR data[HEADERS_SIZE + PART_SIZE];
};

struct wsk_receive_block {
    struct wsk_receive_part first; /* must be first: the driver's PWSK_DATA_INDICATION points at it */
};

/* ---- The connection's end ---------------------------------------------------------------------------------------- */

static void wsk_receive_handle_fin(struct wsk_socket *s)
{
    struct wsk_request *r;

    s->fin_received = true;
    while ((r = wsk_request_first(&s->receives)))
        wsk_request_finish(r, STATUS_SUCCESS, r->done);
    wsk_event_disconnect(s);
}

/* Returns 0 if the peer's FIN is received next, 1 if data is received next, or an errno negated. */
static ssize_t wsk_receive_peek(struct wsk_socket *s)
{
    UCHAR byte;
    const struct iovec part = { &byte, 1 };

    return wsk_host_receive(s->fd, &part, 1, true);
}

static void wsk_receive_lose(struct wsk_socket *s, int error)
{
    NTSTATUS status = wsk_status(error);

    (void)wsk_host_pop_error(s->fd);
    wsk_connect_lose(s, status, status, true);
}

/* ---- WskReceive -------------------------------------------------------------------------------------------------- */

static ssize_t wsk_receive_into_request(struct wsk_socket *s, struct wsk_request *r)
{
    struct iovec parts[WSK_MAX_PARTS];
    ssize_t got;

    if (r->flags & WSK_FLAG_DRAIN)
        return wsk_host_discard(s->fd, MAX_DRAINED_BYTES);
    got = wsk_host_receive(s->fd, parts, wsk_cursor_parts(&r->cursor, parts), false);
    if (got > 0) {
        wsk_cursor_advance(&r->cursor, (SIZE_T)got);
        r->done += (SIZE_T)got;
    }
    return got;
}

static bool wsk_receive_is_complete(const struct wsk_request *r)
{
    if (r->flags & WSK_FLAG_DRAIN)
        return false;
    return !r->cursor.remaining || (r->done && (!(r->flags & WSK_FLAG_WAITALL)));
}

/*
 * Receives for the request, and completes it if it is done. Returns false if the caller must stop: there is no data
 * now, or this call has received a FIN or an error.
 */
static bool wsk_receive_serve_request(struct wsk_socket *s, struct wsk_request *r)
{
    ssize_t got;

    if (wsk_receive_is_complete(r) || s->fin_received) {
        wsk_request_finish(r, STATUS_SUCCESS, r->done);
        return true;
    }
    got = wsk_receive_into_request(s, r);
    if (got == -EAGAIN)
        return false;
    if (got < 0)
        wsk_receive_lose(s, (int)got);
    else if (got == 0)
        wsk_receive_handle_fin(s);
    else if (wsk_receive_is_complete(r))
        wsk_request_finish(r, STATUS_SUCCESS, r->done);
    return got > 0;
}

/* ---- WskReceiveEvent --------------------------------------------------------------------------------------------- */

static struct wsk_receive_block *wsk_receive_block_alloc(SIZE_T bytes)
{
    SIZE_T count = (bytes + PART_SIZE - 1) / PART_SIZE;
    struct wsk_receive_block *b = pool_alloc(count * sizeof(struct wsk_receive_part));
    struct wsk_receive_part *p = b ? &b->first : NULL;

    for (SIZE_T i = 0; p && i < count; i++, p++) {
        MmInitializeMdl(&p->mdl, p->data, sizeof p->data);
        MmBuildMdlForNonPagedPool(&p->mdl);
        p->indication.Next = i + 1 < count ? &p[1].indication : NULL;
        p->indication.Buffer = (WSK_BUF){ &p->mdl, HEADERS_SIZE, min(bytes, PART_SIZE) };
        bytes -= p->indication.Buffer.Length;
    }
    return b;
}

static void wsk_receive_block_truncate(struct wsk_receive_block *b, SIZE_T bytes)
{
    WSK_DATA_INDICATION *d = &b->first.indication;

    b->first.bytes = bytes;
    for (; bytes > d->Buffer.Length; d = d->Next)
        bytes -= d->Buffer.Length;
    d->Buffer.Length = bytes;
    d->Next = NULL;
}

/*
 * Copies received data to the block. The data stays in the host's buffer. A copy ends before a byte that the peer has
 * marked as urgent; the next copy begins with that byte.
 */
static ssize_t wsk_receive_block_fill(struct wsk_socket *s, struct wsk_receive_block *b)
{
    struct iovec parts[MAX_PARTS];
    ssize_t got;
    int n = 0;

    for (WSK_DATA_INDICATION *d = &b->first.indication; d; d = d->Next)
        parts[n++] = (struct iovec){ CONTAINING_RECORD(d, struct wsk_receive_part, indication)->data + HEADERS_SIZE,
                                     d->Buffer.Length };
    got = wsk_host_receive(s->fd, parts, n, true);
    if (got > 0)
        wsk_receive_block_truncate(b, (SIZE_T)got);
    return got;
}

static void wsk_receive_block_reclaim(struct wsk_socket *s, struct wsk_receive_block *b, SIZE_T bytes)
{
    if (live_remove(LIVE_WSK_INDICATION, b)) {
        atomic_fetch_sub(&s->retained, bytes);
        pool_free("WskReceiveEvent", b);
    } else if (check_on()) {
        check_failed(CHECK_WSK_INDICATION, "WskReceiveEvent", (uintptr_t)b, 0, 0, 0,
                     "%p has been released, and the event did not return STATUS_PENDING", (void *)b);
    }
}

/*
 * Calls WskReceiveEvent. Returns the number of bytes that the driver has accepted. If the event returns STATUS_PENDING,
 * the caller must no longer use the block, because the driver may already have released it.
 */
static SIZE_T wsk_receive_call_event(struct wsk_socket *s, struct wsk_receive_block *b, SIZE_T bytes)
{
    ULONG flags = WSK_FLAG_AT_DISPATCH_LEVEL;
    SIZE_T accepted = bytes;
    struct thread_mark mark = thread_mark_get();
    PFN_WSK_RECEIVE_EVENT routine = s->on_connection->WskReceiveEvent;
    struct kernel_call call;
    NTSTATUS status;

    if (atomic_fetch_add(&s->retained, bytes) > RELEASE_ASAP_BYTES)
        flags |= WSK_FLAG_RELEASE_ASAP;
    live_add_made(LIVE_WSK_INDICATION, b, "WSK_DATA_INDICATION", &s->opened);
    call = KERNEL_CALL(WskReceiveEvent, .object = (uintptr_t)s, .bytes = bytes, .flags = flags);
    status = routine(s->context, flags, &b->first.indication, bytes, &accepted);
    thread_mark_check(&mark, "WskReceiveEvent", (const void *)(uintptr_t)routine);
    (void)kernel_call_return_with(&call, status, (struct kernel_call_result){ .bytes = accepted });
    if (status == STATUS_PENDING)
        return bytes;
    wsk_receive_block_reclaim(s, b, bytes);
    if (status != STATUS_SUCCESS)
        accepted = 0;
    if (accepted < bytes)
        s->paused = true;
    return min(accepted, bytes);
}

/* Calls WskReceiveEvent with the next data. Returns false if the event was not called. */
static bool wsk_receive_indicate(struct wsk_socket *s)
{
    SIZE_T bytes = min(wsk_host_available(s->fd), (SIZE_T)MAX_PARTS * PART_SIZE), accepted;
    struct wsk_receive_block *b;
    ssize_t got;

    if (!bytes || !s->on_connection || !s->on_connection->WskReceiveEvent || s->paused ||
        !wsk_event_begin(s, WSK_EVENT_RECEIVE))
        return false;
    b = wsk_receive_block_alloc(bytes);
    got = b ? wsk_receive_block_fill(s, b) : -ENOMEM;
    if (got <= 0) {
        if (b)
            pool_free("WskReceiveEvent", b);
        wsk_event_end(s);
        wsk_thread_pump_again(s, true);
        return false;
    }
    accepted = wsk_receive_call_event(s, b, (SIZE_T)got);
    if (accepted)
        (void)wsk_host_discard(s->fd, accepted);
    wsk_event_end(s);
    return true;
}

/*
 * Detects the peer's FIN or an error while no WskReceive is pending. A FIN is detected only after all data was
 * received.
 */
static void wsk_receive_check_fin(struct wsk_socket *s)
{
    ssize_t got = wsk_receive_peek(s);

    if (got == 0)
        wsk_receive_handle_fin(s);
    else if (got < 0 && got != -EAGAIN)
        wsk_receive_lose(s, (int)got);
}

void wsk_receive_pump(struct wsk_socket *s)
{
    for (int i = 0; wsk_state(s) == WSK_CONNECTED && !(s->fin_received && link_empty(&s->receives)); i++) {
        struct wsk_request *r = wsk_request_first(&s->receives);

        if (i >= MAX_INDICATIONS) {
            wsk_thread_pump_again(s, false);
            return;
        }
        if (r ? wsk_receive_serve_request(s, r) : wsk_receive_indicate(s))
            continue;
        if (!r && wsk_state(s) == WSK_CONNECTED)
            wsk_receive_check_fin(s);
        return;
    }
}

/* ---- WskRelease -------------------------------------------------------------------------------------------------- */

NTSTATUS WSKAPI wsk_receive_release(PWSK_SOCKET Socket, PWSK_DATA_INDICATION DataIndication)
{
    const struct kernel_call call = KERNEL_CALL(WskRelease, .object = (uintptr_t)Socket,
                                                .indication = (uintptr_t)DataIndication);
    struct wsk_socket *s = (struct wsk_socket *)Socket;
    struct wsk_receive_block *b = (struct wsk_receive_block *)DataIndication;
    NTSTATUS status = wsk_indication_remove(Socket, b, "WskReceiveEvent");

    if (status == STATUS_SUCCESS) {
        atomic_fetch_sub(&s->retained, b->first.bytes);
        pool_free("WskRelease", b);
    }
    return kernel_call_return(&call, status);
}
