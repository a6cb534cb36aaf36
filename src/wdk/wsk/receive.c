/* SPDX-License-Identifier: MIT */
/*
 * Receiving over a connection. Calls of WskReceive come first; else data is indicated, from a copy: the octets stay
 * with the host until the driver has accepted them, so that what it leaves is received later as if nothing had been.
 *
 * An indication is one block: WSK_DATA_INDICATIONs, each with an MDL whose data begins behind room for headers, as it
 * does where it comes from a network card.
 */
#include <errno.h>
#include <string.h>

#include "wdm.h"

#include "wdk/common/check.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/mm/pool.h"
#include "wdk/wsk/socket.h"

enum { PARTS_MOST = 4, PART = 16384, HEADERS = 54, DRAINED_AT_ONCE = 1 << 16, RETAINED_MUCH = 1 << 20 };
enum { INDICATIONS_AT_ONCE = 16 }; /* then other sockets have their turn */

struct part {
    WSK_DATA_INDICATION indication;
    SIZE_T octets; /* of the first: of all that is indicated, whatever the driver makes of its lengths */
    MDL mdl;
    PFN_NUMBER frames[(PART + HEADERS) / PAGE_SIZE + 2];
    UCHAR data[HEADERS + PART];
};

struct block {
    struct part first; /* its indication is what the driver has */
};

/* ---- The end ----------------------------------------------------------------------------------------------------- */

static void end(struct wsk_socket *s)
{
    struct wsk_request *r;

    s->ended = true;
    while ((r = wsk_request_first(&s->receives)))
        wsk_request_finish(r, STATUS_SUCCESS, r->done);
    wsk_event_disconnect(s);
}

/* Is the next thing to be received the peer's end? */
static ssize_t look(struct wsk_socket *s)
{
    UCHAR octet;
    const struct iovec part = { &octet, 1 };

    return wsk_host_receive(s->fd, &part, 1, true);
}

static void lose(struct wsk_socket *s, int error)
{
    NTSTATUS status = wsk_status(error);

    (void)wsk_host_take_error(s->fd);
    wsk_connect_lose(s, status, status, true);
}

/* ---- WskReceive -------------------------------------------------------------------------------------------------- */

static ssize_t take(struct wsk_socket *s, struct wsk_request *r)
{
    struct iovec parts[WSK_PARTS];
    ssize_t got;

    if (r->flags & WSK_FLAG_DRAIN)
        return wsk_host_discard(s->fd, DRAINED_AT_ONCE);
    got = wsk_host_receive(s->fd, parts, wsk_cursor_parts(&r->cursor, parts), false);
    if (got > 0) {
        wsk_cursor_advance(&r->cursor, (SIZE_T)got);
        r->done += (SIZE_T)got;
    }
    return got;
}

static bool is_satisfied(const struct wsk_request *r)
{
    if (r->flags & WSK_FLAG_DRAIN)
        return false;
    return !r->cursor.left || (r->done && (!(r->flags & WSK_FLAG_WAITALL)));
}

/* False: there is nothing now. */
static bool serve(struct wsk_socket *s, struct wsk_request *r)
{
    ssize_t got;

    if (is_satisfied(r) || s->ended) {
        wsk_request_finish(r, STATUS_SUCCESS, r->done);
        return true;
    }
    got = take(s, r);
    if (got == -EAGAIN)
        return false;
    if (got < 0)
        lose(s, (int)got);
    else if (got == 0)
        end(s);
    else if (is_satisfied(r))
        wsk_request_finish(r, STATUS_SUCCESS, r->done);
    return got > 0;
}

/* ---- WskReceiveEvent --------------------------------------------------------------------------------------------- */

static struct block *block_new(SIZE_T octets)
{
    SIZE_T count = (octets + PART - 1) / PART;
    struct block *b = pool_alloc(count * sizeof(struct part));
    struct part *p = b ? &b->first : NULL;

    for (SIZE_T i = 0; p && i < count; i++, p++) {
        MmInitializeMdl(&p->mdl, p->data, sizeof p->data);
        MmBuildMdlForNonPagedPool(&p->mdl);
        p->indication.Next = i + 1 < count ? &p[1].indication : NULL;
        p->indication.Buffer = (WSK_BUF){ &p->mdl, HEADERS, min(octets, PART) };
        octets -= p->indication.Buffer.Length;
    }
    return b;
}

static void cut(struct block *b, SIZE_T octets)
{
    WSK_DATA_INDICATION *d = &b->first.indication;

    b->first.octets = octets;
    for (; octets > d->Buffer.Length; d = d->Next)
        octets -= d->Buffer.Length;
    d->Buffer.Length = octets;
    d->Next = NULL;
}

/* Less than there is where the peer has marked an octet as urgent: the host stops before it once. */
static ssize_t fill(struct wsk_socket *s, struct block *b)
{
    struct iovec parts[PARTS_MOST];
    ssize_t got;
    int n = 0;

    for (WSK_DATA_INDICATION *d = &b->first.indication; d; d = d->Next)
        parts[n++] = (struct iovec){ CONTAINING_RECORD(d, struct part, indication)->data + HEADERS, d->Buffer.Length };
    got = wsk_host_receive(s->fd, parts, n, true);
    if (got > 0)
        cut(b, (SIZE_T)got);
    return got;
}

static void forget(struct wsk_socket *s, struct block *b, SIZE_T octets)
{
    if (live_remove(LIVE_WSK, b)) {
        atomic_fetch_sub(&s->retained, octets);
        pool_free("WskReceiveEvent", b);
    } else if (check_on()) {
        check_failed(CHECK_WSK_INDICATION, "WskReceiveEvent", (uintptr_t)b, 0, 0, 0,
                     "%p has been released, and the event did not return STATUS_PENDING", (void *)b);
    }
}

/* What the driver has taken. It may release the block, from another thread, as soon as it is called. */
static SIZE_T call(struct wsk_socket *s, struct block *b, SIZE_T octets)
{
    ULONG flags = WSK_FLAG_AT_DISPATCH_LEVEL;
    SIZE_T accepted = octets;
    struct thread_mark mark = thread_mark_get();
    PFN_WSK_RECEIVE_EVENT routine = s->on_connection->WskReceiveEvent;
    NTSTATUS status;

    if (atomic_fetch_add(&s->retained, octets) > RETAINED_MUCH)
        flags |= WSK_FLAG_RELEASE_ASAP;
    live_add_made(LIVE_WSK, b, "WSK_DATA_INDICATION", &s->opened);
    status = routine(s->context, flags, &b->first.indication, octets, &accepted);
    thread_mark_check(&mark, "WskReceiveEvent", (const void *)(uintptr_t)routine);
    if (status == STATUS_PENDING)
        return octets;
    forget(s, b, octets);
    if (status != STATUS_SUCCESS)
        accepted = 0;
    if (accepted < octets)
        s->paused = true;
    return min(accepted, octets);
}

/* False: there is nothing to indicate, or nobody to indicate it to. */
static bool indicate(struct wsk_socket *s)
{
    SIZE_T octets = min(wsk_host_available(s->fd), (SIZE_T)PARTS_MOST * PART), accepted;
    struct block *b;
    ssize_t got;

    if (!octets || !s->on_connection || !s->on_connection->WskReceiveEvent || s->paused ||
        !wsk_event_begin(s, WSK_EVENT_RECEIVE))
        return false;
    b = block_new(octets);
    got = b ? fill(s, b) : -ENOMEM;
    if (got <= 0) {
        if (b)
            pool_free("WskReceiveEvent", b);
        wsk_event_end(s);
        wsk_thread_again(s, true);
        return false;
    }
    accepted = call(s, b, (SIZE_T)got);
    if (accepted)
        (void)wsk_host_discard(s->fd, accepted);
    wsk_event_end(s);
    return true;
}

/* Nobody receives: is there the end? Data that waits comes before it. */
static void look_for_end(struct wsk_socket *s)
{
    ssize_t got = look(s);

    if (got == 0)
        end(s);
    else if (got < 0 && got != -EAGAIN)
        lose(s, (int)got);
}

void wsk_receive_pump(struct wsk_socket *s)
{
    for (int i = 0; wsk_state(s) == WSK_CONNECTED && !(s->ended && link_empty(&s->receives)); i++) {
        struct wsk_request *r = wsk_request_first(&s->receives);

        if (i >= INDICATIONS_AT_ONCE) {
            wsk_thread_again(s, false);
            return;
        }
        if (r ? serve(s, r) : indicate(s))
            continue;
        if (!r && wsk_state(s) == WSK_CONNECTED)
            look_for_end(s);
        return;
    }
}

/* ---- WskRelease -------------------------------------------------------------------------------------------------- */

NTSTATUS WSKAPI wsk_receive_release(PWSK_SOCKET Socket, PWSK_DATA_INDICATION DataIndication)
{
    struct wsk_socket *s = (struct wsk_socket *)Socket;
    struct block *b = (struct block *)DataIndication;
    NTSTATUS status = wsk_take_back(Socket, b, "WskReceiveEvent");

    if (status != STATUS_SUCCESS)
        return status;
    atomic_fetch_sub(&s->retained, b->first.octets);
    pool_free("WskRelease", b);
    return STATUS_SUCCESS;
}
