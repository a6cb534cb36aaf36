/* SPDX-License-Identifier: MIT */
/*
 * Implements datagram sockets. Sends run in the order of the calls. A received datagram completes a pending
 * WskReceiveFrom. If there is none, WskReceiveFromEvent receives a list of datagrams. Datagrams that the driver does
 * not accept are stored in `refused`, and later receives return these datagrams first. The event is then disabled, so
 * that `refused` does not grow without limit. Exception: a static event stays enabled, and such datagrams are dropped.
 */
#include <errno.h>
#include <string.h>

#include "wdm.h"
#include "ws2ipdef.h"

#include "wdk/common/check.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/mm/pool.h"
#include "wdk/wsk/socket.h"

enum { MAX_LIST = 16, MAX_DATAGRAM = 65536, HEADERS_SIZE = 42, CONTROL_SIZE = WSA_CMSG_SPACE(sizeof(IN6_PKTINFO)) };

struct wsk_datagram {
    WSK_DATAGRAM_INDICATION indication; /* must be first: the driver's PWSK_DATAGRAM_INDICATION points at it */
    struct wsk_datagram *next;          /* used instead of indication.Next, which the driver may change */
    SIZE_T bytes;
    struct wsk_address from;
    struct wsk_packet_info info;
    DECLSPEC_ALIGN(8) UCHAR control[CONTROL_SIZE];
    MDL mdl;
    PFN_NUMBER frames[(MAX_DATAGRAM + HEADERS_SIZE) / PAGE_SIZE + 2];
    UCHAR data[];
};

void wsk_datagrams_free(struct wsk_datagram *list)
{
    while (list) {
        struct wsk_datagram *next = list->next;

        pool_free("WskRelease", list);
        list = next;
    }
}

/* ---- Control messages -------------------------------------------------------------------------------------------- */

static ULONG wsk_datagram_put_control(UCHAR control[CONTROL_SIZE], const struct wsk_packet_info *info)
{
    const ULONG size = info->v6 ? sizeof(IN6_PKTINFO) : sizeof(IN_PKTINFO);
    CMSGHDR header = { WSA_CMSG_LEN(size), info->v6 ? IPPROTO_IPV6 : IPPROTO_IP, info->v6 ? IPV6_PKTINFO : IP_PKTINFO };
    UCHAR *data = WSA_CMSG_DATA(control);
    const SIZE_T address = info->v6 ? 16 : 4;

    memset(control, 0, CONTROL_SIZE);
    memcpy(control, &header, sizeof header);
    memcpy(data, info->address, address);
    memcpy(data + address, &info->interface, sizeof info->interface);
    return (ULONG)WSA_CMSG_SPACE(size);
}

bool wsk_datagram_parse_control(const CMSGHDR *control, ULONG length, struct wsk_packet_info *info)
{
    SIZE_T address;

    *info = (struct wsk_packet_info){ .present = length > 0 };
    if (!length)
        return true;
    if (!control || length < sizeof *control || control->cmsg_len > length)
        return false;
    info->v6 = control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type == IPV6_PKTINFO;
    if (!info->v6 && !(control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_PKTINFO))
        return false;
    address = info->v6 ? 16 : 4;
    if (control->cmsg_len < WSA_CMSG_LEN(address + sizeof info->interface))
        return false;
    memcpy(info->address, WSA_CMSG_DATA(control), address);
    memcpy(&info->interface, WSA_CMSG_DATA(control) + address, sizeof info->interface);
    return true;
}

static ULONG wsk_datagram_flags(const struct wsk_packet_info *info)
{
    return (info->broadcast ? MSG_BCAST : 0) | (info->multicast ? MSG_MCAST : 0) | (info->truncated ? MSG_TRUNC : 0);
}

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

/* Moves the cursor to the next buffer of WskSendMessages. Returns false if the list has no further buffer. */
static bool wsk_datagram_next_message(struct wsk_request *r)
{
    if (!r->list || !r->list->Next)
        return false;
    r->list = r->list->Next;
    return wsk_cursor_set(&r->cursor, &r->list->Buffer);
}

static int wsk_datagram_send_request(struct wsk_socket *s, struct wsk_request *r)
{
    struct iovec parts[WSK_MAX_PARTS];

    if (!wsk_request_may_send(r))
        return -ENETUNREACH;
    do {
        ssize_t sent = wsk_host_send_to(s->fd, parts, wsk_cursor_parts(&r->cursor, parts), &r->address, &r->info);

        if (sent < 0)
            return (int)sent;
        r->done += (SIZE_T)sent;
    } while (wsk_datagram_next_message(r));
    return 0;
}

static void wsk_datagram_send_all(struct wsk_socket *s)
{
    struct wsk_request *r;

    while ((r = wsk_request_first(&s->sends))) {
        int error = wsk_datagram_send_request(s, r);

        if (error == -EAGAIN)
            return;
        wsk_request_finish(r, wsk_status(error), r->done);
    }
}

/* ---- Receiving --------------------------------------------------------------------------------------------------- */

static bool wsk_datagram_is_same_address(const struct wsk_address *a, const struct wsk_address *b,
                                         ADDRESS_FAMILY family)
{
    enum { PORT = 2, V4 = 4, V6 = 8 };
    const SIZE_T at = family == AF_INET6 ? V6 : V4, size = family == AF_INET6 ? 16 : 4;

    return !memcmp(a->bytes + PORT, b->bytes + PORT, 2) && !memcmp(a->bytes + at, b->bytes + at, size);
}

/* Returns true if the datagram comes from the fixed remote address, or if no remote address is fixed. */
static bool wsk_datagram_is_wanted(struct wsk_socket *s, const struct wsk_address *from)
{
    bool wanted;

    pthread_mutex_lock(&s->lock);
    wanted = !s->has_fixed_remote || wsk_datagram_is_same_address(from, &s->fixed_remote, s->family);
    pthread_mutex_unlock(&s->lock);
    return wanted;
}

/* Receives the next wanted datagram into the request's buffer. Returns its size, or an errno negated. */
static ssize_t wsk_datagram_receive(struct wsk_socket *s, struct wsk_request *r, struct wsk_address *from)
{
    struct iovec parts[WSK_MAX_PARTS];
    ssize_t got;

    do
        got = wsk_host_receive_from(s->fd, parts, wsk_cursor_parts(&r->cursor, parts), from, &r->info);
    while (got >= 0 && !wsk_datagram_is_wanted(s, from));
    return got;
}

/* Copies the first refused datagram into the request's buffer, and frees the datagram. Returns the bytes copied. */
static ssize_t wsk_datagram_receive_refused(struct wsk_socket *s, struct wsk_request *r, struct wsk_address *from)
{
    struct wsk_datagram *d = s->refused;
    struct iovec parts[WSK_MAX_PARTS];
    const UCHAR *data = d->data + HEADERS_SIZE;
    SIZE_T remaining = d->bytes, done = 0;
    int n = wsk_cursor_parts(&r->cursor, parts);

    for (int i = 0; i < n && remaining; i++) {
        SIZE_T here = min(parts[i].iov_len, remaining);

        memcpy(parts[i].iov_base, data + done, here);
        done += here;
        remaining -= here;
    }
    *from = d->from;
    r->info = d->info;
    r->info.truncated = remaining > 0;
    s->refused = d->next;
    pool_free("WskReceiveFrom", d);
    return (ssize_t)done;
}

static void wsk_datagram_return_control(struct wsk_socket *s, struct wsk_request *r)
{
    UCHAR control[CONTROL_SIZE];
    ULONG flags = wsk_datagram_flags(&r->info), size, room;

    if (r->control_length) {
        room = *r->control_length;
        size = r->info.present && atomic_load(&s->packet_info) ? wsk_datagram_put_control(control, &r->info) : 0;
        if (r->control)
            memcpy(r->control, control, min(size, room));
        if (size > room || (size && !r->control))
            flags |= MSG_CTRUNC;
        *r->control_length = size;
    }
    if (r->control_flags)
        *r->control_flags = flags;
}

/* Completes the request with a datagram or an error. Returns false if no datagram has arrived. */
static bool wsk_datagram_serve_request(struct wsk_socket *s, struct wsk_request *r)
{
    struct wsk_address from;
    ssize_t got = s->refused ? wsk_datagram_receive_refused(s, r, &from) : wsk_datagram_receive(s, r, &from);

    if (got == -EAGAIN)
        return false;
    if (got < 0) {
        wsk_request_finish(r, wsk_status((int)got), 0);
        return true;
    }
    if (r->remote_out)
        memcpy(r->remote_out, from.bytes, wsk_address_size(s->family));
    wsk_datagram_return_control(s, r);
    wsk_request_finish(r, r->info.truncated ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS, (ULONG_PTR)got);
    return true;
}

/* ---- WskReceiveFromEvent ----------------------------------------------------------------------------------------- */

static struct wsk_datagram *wsk_datagram_alloc(SIZE_T bytes)
{
    struct wsk_datagram *d = pool_alloc(sizeof *d + HEADERS_SIZE + bytes);

    if (!d)
        return NULL;
    MmInitializeMdl(&d->mdl, d->data, HEADERS_SIZE + bytes);
    MmBuildMdlForNonPagedPool(&d->mdl);
    return d;
}

static void wsk_datagram_init_indication(struct wsk_socket *s, struct wsk_datagram *d)
{
    d->indication = (WSK_DATAGRAM_INDICATION){ .Buffer = { &d->mdl, HEADERS_SIZE, d->bytes },
                                               .RemoteAddress = (PSOCKADDR)d->from.bytes };
    if (d->info.present && atomic_load(&s->packet_info)) {
        d->indication.ControlInfoLength = wsk_datagram_put_control(d->control, &d->info);
        d->indication.ControlInfo = (CMSGHDR *)(void *)d->control;
    }
}

/*
 * Receives the next wanted datagram. On failure returns NULL and sets *error, which is -EAGAIN if there is no datagram.
 */
static struct wsk_datagram *wsk_datagram_receive_one(struct wsk_socket *s, int *error)
{
    for (;;) {
        const SIZE_T bytes = wsk_host_available(s->fd);
        struct wsk_datagram *d = wsk_datagram_alloc(bytes);
        struct iovec part = { d ? d->data + HEADERS_SIZE : NULL, bytes };
        ssize_t got = d ? wsk_host_receive_from(s->fd, &part, 1, &d->from, &d->info) : -ENOMEM;

        *error = got < 0 ? (int)got : 0;
        if (got >= 0 && wsk_datagram_is_wanted(s, &d->from)) {
            d->bytes = (SIZE_T)got;
            wsk_datagram_init_indication(s, d);
            return d;
        }
        if (d)
            pool_free("WskReceiveFromEvent", d);
        if (got < 0)
            return NULL;
    }
}

/*
 * Receives up to MAX_LIST datagrams with the same flags, because an event passes one set of flags for its whole list. A
 * datagram with other flags is stored in `refused`, and begins the next list.
 */
static struct wsk_datagram *wsk_datagram_receive_list(struct wsk_socket *s, int *error)
{
    struct wsk_datagram *list = wsk_datagram_receive_one(s, error), *last = list;

    for (int n = 1; last && n < MAX_LIST; n++) {
        struct wsk_datagram *d = wsk_host_available(s->fd) ? wsk_datagram_receive_one(s, error) : NULL;

        if (d && wsk_datagram_flags(&d->info) != wsk_datagram_flags(&list->info))
            s->refused = d;
        if (!d || s->refused)
            break;
        last->next = d;
        last->indication.Next = &d->indication;
        last = d;
    }
    return list;
}

/*
 * Removes the first datagram of `refused`, and those directly behind it with the same flags. Initializes each
 * indication again, because the driver may have changed it before it refused the datagram.
 */
static struct wsk_datagram *wsk_datagram_pop_refused(struct wsk_socket *s)
{
    struct wsk_datagram *list = s->refused, *last = list;

    if (!list)
        return NULL;
    wsk_datagram_init_indication(s, last);
    while (last->next && wsk_datagram_flags(&last->next->info) == wsk_datagram_flags(&list->info)) {
        wsk_datagram_init_indication(s, last->next);
        last->indication.Next = &last->next->indication;
        last = last->next;
    }
    s->refused = last->next;
    last->next = NULL;
    return list;
}

static SIZE_T wsk_datagram_total_bytes(const struct wsk_datagram *d)
{
    SIZE_T bytes = 0;

    for (; d; d = d->next)
        bytes += d->bytes;
    return bytes;
}

static void wsk_datagram_store_refused(struct wsk_socket *s, struct wsk_datagram *list)
{
    struct wsk_datagram **at = &list;

    if (s->static_events & WSK_EVENT_RECEIVE_FROM) {
        /* The datagrams are dropped. A static event stays enabled, so `refused` could grow without limit. */
        wsk_datagrams_free(list);
        return;
    }
    while (*at)
        at = &(*at)->next;
    *at = s->refused;
    s->refused = list;
    pthread_mutex_lock(&s->lock);
    s->events &= ~(ULONG)WSK_EVENT_RECEIVE_FROM;
    pthread_mutex_unlock(&s->lock);
}

static void wsk_datagram_call_event(struct wsk_socket *s, struct wsk_datagram *list)
{
    const SIZE_T bytes = wsk_datagram_total_bytes(list);
    const ULONG flags = WSK_FLAG_AT_DISPATCH_LEVEL | (wsk_datagram_flags(&list->info) & (MSG_BCAST | MSG_MCAST));
    PFN_WSK_RECEIVE_FROM_EVENT routine = s->on_datagram->WskReceiveFromEvent;
    struct thread_mark mark = thread_mark_get();
    struct kernel_call call;
    NTSTATUS status;

    atomic_fetch_add(&s->retained, bytes);
    live_add_made(LIVE_WSK_INDICATION, list, "WSK_DATAGRAM_INDICATION", &s->opened);
    call = KERNEL_CALL(WskReceiveFromEvent, .object = (uintptr_t)s, .bytes = bytes, .flags = flags);
    status = routine(s->context, flags, &list->indication);
    thread_mark_check(&mark, "WskReceiveFromEvent", (const void *)(uintptr_t)routine);
    (void)kernel_call_return(&call, status);
    if (status == STATUS_PENDING)
        return;
    if (!live_remove(LIVE_WSK_INDICATION, list)) {
        if (check_on())
            check_failed(CHECK_WSK_INDICATION, "WskReceiveFromEvent", (uintptr_t)list, 0, 0, 0,
                         "%p has been released, and the event did not return STATUS_PENDING", (void *)list);
        return;
    }
    atomic_fetch_sub(&s->retained, bytes);
    if (status == STATUS_SUCCESS)
        wsk_datagrams_free(list);
    else
        wsk_datagram_store_refused(s, list);
}

/*
 * Calls WskReceiveFromEvent with the next datagrams. Returns false if there are none, or if the event is not enabled.
 */
static bool wsk_datagram_indicate(struct wsk_socket *s)
{
    struct wsk_datagram *list;
    int error = 0;

    if (!s->on_datagram || !s->on_datagram->WskReceiveFromEvent || !wsk_event_begin(s, WSK_EVENT_RECEIVE_FROM))
        return false;
    list = wsk_datagram_pop_refused(s);
    if (!list)
        list = wsk_datagram_receive_list(s, &error);
    if (list)
        wsk_datagram_call_event(s, list);
    else if (error != -EAGAIN)
        wsk_thread_pump_again(s, true);
    wsk_event_end(s);
    return list != NULL;
}

void wsk_datagram_pump(struct wsk_socket *s)
{
    enum { AT_ONCE = 64 };

    if (wsk_state(s) != WSK_BOUND)
        return;
    wsk_datagram_send_all(s);
    for (int i = 0; i < AT_ONCE; i++) {
        struct wsk_request *r = wsk_request_first(&s->receives);

        if (!(r ? wsk_datagram_serve_request(s, r) : wsk_datagram_indicate(s)))
            return;
    }
    wsk_thread_pump_again(s, false); /* serve the other sockets first */
}

NTSTATUS WSKAPI wsk_datagram_release(PWSK_SOCKET Socket, PWSK_DATAGRAM_INDICATION DatagramIndication)
{
    const struct kernel_call call = KERNEL_CALL(WskRelease, .object = (uintptr_t)Socket,
                                                .indication = (uintptr_t)DatagramIndication);
    struct wsk_socket *s = (struct wsk_socket *)Socket;
    struct wsk_datagram *list = (struct wsk_datagram *)DatagramIndication;
    NTSTATUS status = wsk_indication_remove(Socket, list, "WskReceiveFromEvent");

    if (status == STATUS_SUCCESS) {
        atomic_fetch_sub(&s->retained, wsk_datagram_total_bytes(list));
        wsk_datagrams_free(list);
    }
    return kernel_call_return(&call, status);
}
