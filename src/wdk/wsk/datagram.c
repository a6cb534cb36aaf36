/* SPDX-License-Identifier: MIT */
/*
 * Datagrams: sent in the order of the calls, received by WskReceiveFrom or indicated in lists. What the driver does not
 * accept is kept and comes first afterwards; the event is disabled then, so that it does not become more.
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

enum { LIST_MOST = 16, LARGEST = 65536, HEADERS = 42, CONTROL = WSA_CMSG_SPACE(sizeof(IN6_PKTINFO)) };

struct wsk_datagram {
    WSK_DATAGRAM_INDICATION indication; /* first: the driver has it */
    struct wsk_datagram *next;          /* as the driver may change all of the indication */
    SIZE_T octets;
    struct wsk_address from;
    struct wsk_packet_info info;
    DECLSPEC_ALIGN(8) UCHAR control[CONTROL];
    MDL mdl;
    PFN_NUMBER frames[(LARGEST + HEADERS) / PAGE_SIZE + 2];
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

static ULONG put_info(UCHAR control[CONTROL], const struct wsk_packet_info *info)
{
    const ULONG size = info->v6 ? sizeof(IN6_PKTINFO) : sizeof(IN_PKTINFO);
    CMSGHDR header = { WSA_CMSG_LEN(size), info->v6 ? IPPROTO_IPV6 : IPPROTO_IP, info->v6 ? IPV6_PKTINFO : IP_PKTINFO };
    UCHAR *data = WSA_CMSG_DATA(control);
    const SIZE_T address = info->v6 ? 16 : 4;

    memset(control, 0, CONTROL);
    memcpy(control, &header, sizeof header);
    memcpy(data, info->address, address);
    memcpy(data + address, &info->interface, sizeof info->interface);
    return (ULONG)WSA_CMSG_SPACE(size);
}

bool wsk_datagram_info(const CMSGHDR *control, ULONG length, struct wsk_packet_info *info)
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

static ULONG flags_of(const struct wsk_packet_info *info)
{
    return (info->broadcast ? MSG_BCAST : 0) | (info->multicast ? MSG_MCAST : 0) | (info->truncated ? MSG_TRUNC : 0);
}

/* ---- Sending ----------------------------------------------------------------------------------------------------- */

/* Those of WskSendMessages one after the other. */
static bool next_message(struct wsk_request *r)
{
    if (!r->list || !r->list->Next)
        return false;
    r->list = r->list->Next;
    return wsk_cursor_set(&r->cursor, &r->list->Buffer);
}

static int send_one(struct wsk_socket *s, struct wsk_request *r)
{
    struct iovec parts[WSK_PARTS];

    do {
        ssize_t sent = wsk_host_send_to(s->fd, parts, wsk_cursor_parts(&r->cursor, parts), &r->address, &r->info);

        if (sent < 0)
            return (int)sent;
        r->done += (SIZE_T)sent;
    } while (next_message(r));
    return 0;
}

static void send_all(struct wsk_socket *s)
{
    struct wsk_request *r;

    while ((r = wsk_request_first(&s->sends))) {
        int error = send_one(s, r);

        if (error == -EAGAIN)
            return;
        wsk_request_finish(r, wsk_status(error), r->done);
    }
}

/* ---- What comes -------------------------------------------------------------------------------------------------- */

static bool is_same(const struct wsk_address *a, const struct wsk_address *b, ADDRESS_FAMILY family)
{
    enum { PORT = 2, V4 = 4, V6 = 8 };
    const SIZE_T at = family == AF_INET6 ? V6 : V4, size = family == AF_INET6 ? 16 : 4;

    return !memcmp(a->octets + PORT, b->octets + PORT, 2) && !memcmp(a->octets + at, b->octets + at, size);
}

static bool is_wanted(struct wsk_socket *s, const struct wsk_address *from)
{
    bool wanted;

    pthread_mutex_lock(&s->lock);
    wanted = !s->has_fixed_remote || is_same(from, &s->fixed_remote, s->family);
    pthread_mutex_unlock(&s->lock);
    return wanted;
}

/* Into the driver's memory. */
static ssize_t receive_into(struct wsk_socket *s, struct wsk_request *r, struct wsk_address *from)
{
    struct iovec parts[WSK_PARTS];
    ssize_t got;

    do
        got = wsk_host_receive_from(s->fd, parts, wsk_cursor_parts(&r->cursor, parts), from, &r->info);
    while (got >= 0 && !is_wanted(s, from));
    return got;
}

/* The same of one that the driver did not accept before. */
static ssize_t take_held(struct wsk_socket *s, struct wsk_request *r, struct wsk_address *from)
{
    struct wsk_datagram *d = s->held;
    struct iovec parts[WSK_PARTS];
    const UCHAR *data = d->data + HEADERS;
    SIZE_T left = d->octets, done = 0;
    int n = wsk_cursor_parts(&r->cursor, parts);

    for (int i = 0; i < n && left; i++) {
        SIZE_T here = min(parts[i].iov_len, left);

        memcpy(parts[i].iov_base, data + done, here);
        done += here;
        left -= here;
    }
    *from = d->from;
    r->info = d->info;
    r->info.truncated = left > 0;
    s->held = d->next;
    pool_free("WskReceiveFrom", d);
    return (ssize_t)done;
}

static void tell_control(struct wsk_socket *s, struct wsk_request *r)
{
    UCHAR control[CONTROL];
    ULONG flags = flags_of(&r->info), size, room;

    if (r->control_length) {
        room = *r->control_length;
        size = r->info.present && atomic_load(&s->packet_info) ? put_info(control, &r->info) : 0;
        if (r->control)
            memcpy(r->control, control, min(size, room));
        if (size > room || (size && !r->control))
            flags |= MSG_CTRUNC;
        *r->control_length = size;
    }
    if (r->control_flags)
        *r->control_flags = flags;
}

/* False: there is none. */
static bool serve(struct wsk_socket *s, struct wsk_request *r)
{
    struct wsk_address from;
    ssize_t got = s->held ? take_held(s, r, &from) : receive_into(s, r, &from);

    if (got == -EAGAIN)
        return false;
    if (got < 0) {
        wsk_request_finish(r, wsk_status((int)got), 0);
        return true;
    }
    if (r->remote_out)
        memcpy(r->remote_out, from.octets, wsk_address_size(s->family));
    tell_control(s, r);
    wsk_request_finish(r, r->info.truncated ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS,
                       (ULONG_PTR)got);
    return true;
}

/* ---- WskReceiveFromEvent ----------------------------------------------------------------------------------------- */

static struct wsk_datagram *datagram_new(SIZE_T octets)
{
    struct wsk_datagram *d = pool_alloc(sizeof *d + HEADERS + octets);

    if (!d)
        return NULL;
    MmInitializeMdl(&d->mdl, d->data, HEADERS + octets);
    MmBuildMdlForNonPagedPool(&d->mdl);
    return d;
}

static void describe(struct wsk_socket *s, struct wsk_datagram *d)
{
    d->indication = (WSK_DATAGRAM_INDICATION){ .Buffer = { &d->mdl, HEADERS, d->octets },
                                               .RemoteAddress = (PSOCKADDR)d->from.octets };
    if (d->info.present && atomic_load(&s->packet_info)) {
        d->indication.ControlInfoLength = put_info(d->control, &d->info);
        d->indication.ControlInfo = (CMSGHDR *)(void *)d->control;
    }
}

/* The next datagram that is wanted. *error: -EAGAIN, or there is no memory. */
static struct wsk_datagram *receive_one(struct wsk_socket *s, int *error)
{
    for (;;) {
        const SIZE_T octets = wsk_host_available(s->fd);
        struct wsk_datagram *d = datagram_new(octets);
        struct iovec part = { d ? d->data + HEADERS : NULL, octets };
        ssize_t got = d ? wsk_host_receive_from(s->fd, &part, 1, &d->from, &d->info) : -ENOMEM;

        *error = got < 0 ? (int)got : 0;
        if (got >= 0 && is_wanted(s, &d->from)) {
            d->octets = (SIZE_T)got;
            describe(s, d);
            return d;
        }
        if (d)
            pool_free("WskReceiveFromEvent", d);
        if (got < 0)
            return NULL;
    }
}

/* Of one kind, as the event has one set of flags for all; one of another kind is kept for the next. */
static struct wsk_datagram *receive_list(struct wsk_socket *s, int *error)
{
    struct wsk_datagram *list = receive_one(s, error), *last = list;

    for (int n = 1; last && n < LIST_MOST; n++) {
        struct wsk_datagram *d = wsk_host_available(s->fd) ? receive_one(s, error) : NULL;

        if (d && flags_of(&d->info) != flags_of(&list->info))
            s->held = d;
        if (!d || s->held)
            break;
        last->next = d;
        last->indication.Next = &d->indication;
        last = d;
    }
    return list;
}

/* The same of what is held: it is described anew, as what was refused may have come to it since. */
static struct wsk_datagram *take_held_list(struct wsk_socket *s)
{
    struct wsk_datagram *list = s->held, *last = list;

    if (!list)
        return NULL;
    describe(s, last);
    while (last->next &&
           flags_of(&last->next->info) == flags_of(&list->info)) {
        describe(s, last->next);
        last->indication.Next = &last->next->indication;
        last = last->next;
    }
    s->held = last->next;
    last->next = NULL;
    return list;
}

static SIZE_T octets_of(const struct wsk_datagram *d)
{
    SIZE_T octets = 0;

    for (; d; d = d->next)
        octets += d->octets;
    return octets;
}

static void refused(struct wsk_socket *s, struct wsk_datagram *list)
{
    struct wsk_datagram **at = &list;

    if (s->static_events & WSK_EVENT_RECEIVE_FROM) {
        wsk_datagrams_free(list); /* it stays enabled, and so there is no later */
        return;
    }
    while (*at)
        at = &(*at)->next;
    *at = s->held;
    s->held = list;
    pthread_mutex_lock(&s->lock);
    s->events &= ~(ULONG)WSK_EVENT_RECEIVE_FROM;
    pthread_mutex_unlock(&s->lock);
}

static void call(struct wsk_socket *s, struct wsk_datagram *list)
{
    const SIZE_T octets = octets_of(list);
    const ULONG flags = WSK_FLAG_AT_DISPATCH_LEVEL | (flags_of(&list->info) & (MSG_BCAST | MSG_MCAST));
    PFN_WSK_RECEIVE_FROM_EVENT routine = s->on_datagram->WskReceiveFromEvent;
    struct thread_mark mark = thread_mark_get();
    NTSTATUS status;

    atomic_fetch_add(&s->retained, octets);
    live_add_made(LIVE_WSK, list, "WSK_DATAGRAM_INDICATION", &s->opened);
    status = routine(s->context, flags, &list->indication);
    thread_mark_check(&mark, "WskReceiveFromEvent", (const void *)(uintptr_t)routine);
    if (status == STATUS_PENDING)
        return;
    if (!live_remove(LIVE_WSK, list)) {
        if (check_on())
            check_failed(CHECK_WSK_INDICATION, "WskReceiveFromEvent", (uintptr_t)list, 0, 0, 0,
                         "%p has been released, and the event did not return STATUS_PENDING", (void *)list);
        return;
    }
    atomic_fetch_sub(&s->retained, octets);
    if (status == STATUS_SUCCESS)
        wsk_datagrams_free(list);
    else
        refused(s, list);
}

/* False: there is nothing to indicate, or nobody to indicate it to. */
static bool indicate(struct wsk_socket *s)
{
    struct wsk_datagram *list;
    int error = 0;

    if (!s->on_datagram || !s->on_datagram->WskReceiveFromEvent || !wsk_event_begin(s, WSK_EVENT_RECEIVE_FROM))
        return false;
    list = take_held_list(s);
    if (!list)
        list = receive_list(s, &error);
    if (list)
        call(s, list);
    else if (error != -EAGAIN)
        wsk_thread_again(s, true);
    wsk_event_end(s);
    return list != NULL;
}

void wsk_datagram_pump(struct wsk_socket *s)
{
    enum { AT_ONCE = 64 };

    if (wsk_state(s) != WSK_BOUND)
        return;
    send_all(s);
    for (int i = 0; i < AT_ONCE; i++) {
        struct wsk_request *r = wsk_request_first(&s->receives);

        if (!(r ? serve(s, r) : indicate(s)))
            return;
    }
    wsk_thread_again(s, false); /* others have their turn */
}

NTSTATUS WSKAPI wsk_datagram_release(PWSK_SOCKET Socket, PWSK_DATAGRAM_INDICATION DatagramIndication)
{
    struct wsk_socket *s = (struct wsk_socket *)Socket;
    struct wsk_datagram *list = (struct wsk_datagram *)DatagramIndication;
    NTSTATUS status = wsk_take_back(Socket, list, "WskReceiveFromEvent");

    if (status != STATUS_SUCCESS)
        return status;
    atomic_fetch_sub(&s->retained, octets_of(list));
    wsk_datagrams_free(list);
    return STATUS_SUCCESS;
}
