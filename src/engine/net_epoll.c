/* SPDX-License-Identifier: MIT */
/*
 * The kernel's TCP behind net.h. Each shard has one epoll set, edge-triggered, each socket registered once, for input;
 * and for output, too, from the first time on that it finds no room: most never do, and would be woken in vain. What
 * epoll tells is remembered in the socket's flags, and a socket is in its poller's list exactly while it has something
 * to report; so an owner that stops early is reminded, and epoll is not asked again.
 *
 * The sleeping thread never takes events: it waits until the epoll set itself is readable (ppoll, beside an eventfd),
 * and then competes for the token like everybody. So an event is only ever looked at by the owner, and a socket that
 * the owner closes cannot come back out of another thread's array of events.
 *
 * With a few connections only, asking epoll costs more than reading does: most turns then take it for granted that
 * there is input and have it read, and epoll is asked every now and then, and whenever the thread has slept on it.
 * While a consumer polls and goes on polling, nobody sleeps on it either: then those few leave the epoll set, as being
 * in it costs each message some hundred nanoseconds, and are in it again before the thread may sleep.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/mutant.h"
#include "engine/net.h"
#include "engine/net_internal.h"
#include "engine/shard.h"

enum {
    EVENTS = 64,
    NS_PER_S = 1000000000,
    FEW = 2,           /* so many connections are read on a guess */
    GUESSES = 8,       /* at most so often in a row */
    UNWATCHED = 64,    /* polls under a lease before leaving the epoll set is worth it; then guesses in a row */
    LONG_ANSWER = 192 * 1024, /* octets in a row */
    UNABLE_NS = 1000000, /* between two looks at sockets that the epoll set had no room for */
};

struct poller {
    int epoll_fd;
    int wake_fd;
    unsigned ready_count;
    TAILQ_HEAD(, net_socket) ready;
    unsigned connections, remembered, guesses;
    unsigned reads;              /* that brought something, or the end */
    struct net_socket *few[FEW]; /* connections, the first `remembered` of them */
    unsigned leased;             /* polls under a lease, one after the other, that looked on a guess */
    atomic_bool unwatched;       /* some of the few may not be in the epoll set */
    atomic_bool slept;           /* what ended the sleep is found in epoll */
};

/* ---- the poller ---- */

static int kernel_poller_create(struct net *net, struct shard *s, void **out)
{
    struct poller *p = calloc(1, sizeof *p);
    int err;

    (void)net;
    (void)s;
    if (!p)
        return ENOMEM;
    TAILQ_INIT(&p->ready);
    p->epoll_fd = descriptors_epoll();
    err = errno;
    p->wake_fd = p->epoll_fd < 0 ? -1 : descriptors_eventfd(EFD_NONBLOCK);
    if (p->wake_fd >= 0) {
        *out = p;
        return 0;
    }
    if (p->epoll_fd >= 0) {
        err = errno;
        descriptors_close(p->epoll_fd);
    }
    free(p);
    return err;
}

static void kernel_poller_destroy(struct net *net, void *poller)
{
    struct poller *p = poller;

    (void)net;
    assert(TAILQ_EMPTY(&p->ready));
    descriptors_close(p->wake_fd);
    descriptors_close(p->epoll_fd);
    free(p);
}

static unsigned reportable(const struct net_socket *socket)
{
    unsigned events = socket->flags & WRITABLE ? NET_WRITE : 0;

    if ((socket->flags & (READABLE | HELD | CONNECTING)) == READABLE)
        events |= NET_READ;
    return events;
}

/* Restores: in the list exactly while there is something to report. */
void socket_update_list(struct net_socket *socket)
{
    bool listed = (socket->flags & LISTED) != 0;
    struct poller *p;

    if (!socket->shard || listed == (reportable(socket) != 0))
        return;
    p = shard_poller(socket->shard);
    socket->flags ^= LISTED;
    if (listed) {
        TAILQ_REMOVE(&p->ready, socket, link);
        p->ready_count--;
    } else {
        TAILQ_INSERT_TAIL(&p->ready, socket, link);
        p->ready_count++;
    }
}

static void note(struct net_socket *socket, uint32_t events)
{
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        socket->flags |= READABLE;
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        socket->flags |= HANGUP | (socket->flags & CONNECTING ? DOUBTFUL : 0);
    if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR) && socket->flags & BLOCKED) {
        socket->flags &= ~(unsigned)BLOCKED;
        socket->flags |= WRITABLE;
    }
    socket_update_list(socket);
}

static int collect(struct poller *p)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(p->epoll_fd, events, EVENTS, 0);

    for (int i = 0; i < n; i++)
        note(events[i].data.ptr, events[i].events);
    return n;
}

static int watch(struct net_socket *socket, const struct poller *p)
{
    struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.ptr = socket };
    int how = socket->flags & WATCHED ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

    if (!(socket->flags & LISTENING))
        event.events |= EPOLLRDHUP;
    if (socket->flags & FOR_OUTPUT)
        event.events |= EPOLLOUT;
    if (epoll_ctl(p->epoll_fd, how, socket->fd, &event))
        return errno;
    socket->flags |= WATCHED;
    return 0;
}

static void unwatch(struct net_socket *socket, const struct poller *p)
{
    if (socket->flags & WATCHED)
        (void)epoll_ctl(p->epoll_fd, EPOLL_CTL_DEL, socket->fd, NULL);
    socket->flags &= ~(unsigned)WATCHED;
}

/* What is ready by now is told as new by the epoll set. */
static void watch_few(struct poller *p)
{
    bool failed = false;

    p->leased = 0;
    if (!atomic_load_explicit(&p->unwatched, memory_order_relaxed) || MUTANT(net_lease_over_unwatched))
        return;
    for (unsigned i = 0; i < p->remembered; i++)
        if (!(p->few[i]->flags & WATCHED) && watch(p->few[i], p))
            failed = true;
    atomic_store_explicit(&p->unwatched, failed, memory_order_relaxed);
}

static void unwatch_few(struct poller *p)
{
    for (unsigned i = 0; i < p->remembered; i++)
        unwatch(p->few[i], p);
    atomic_store_explicit(&p->unwatched, true, memory_order_relaxed);
}

/* Whether reading all of them tells what there is to know of them. */
static bool can_guess(const struct poller *p)
{
    if (p->connections != p->remembered)
        return false;
    for (unsigned i = 0; i < p->remembered; i++)
        if (p->few[i]->flags & (BLOCKED | CONNECTING))
            return false;
    return true;
}

/* The few are told of input that may be there, without a place in the list: mostly there is none. How many were. */
static unsigned guess(struct poller *p)
{
    unsigned told = 0;

    for (unsigned i = 0; i < p->remembered; i++) {
        struct net_socket *socket = p->few[i];

        socket->flags |= READABLE;
        if (socket->flags & (LISTED | HELD | CONNECTING))
            continue;
        told++;
        socket->ready(socket, NET_READ);
    }
    /* Those that are left: any of them may have been closed. */
    for (unsigned i = 0; i < p->remembered; i++)
        socket_update_list(p->few[i]);
    return told;
}

/* How many were told of input on a guess. */
static unsigned look(struct poller *p, bool leased)
{
    bool guesses = can_guess(p), unwatched;

    if (!guesses || !leased)
        watch_few(p);
    if (guesses && p->guesses > 0 && !atomic_load_explicit(&p->slept, memory_order_relaxed)) {
        p->guesses--;
        if (leased && ++p->leased == UNWATCHED)
            unwatch_few(p);
    } else {
        atomic_store_explicit(&p->slept, false, memory_order_relaxed);
        unwatched = atomic_load_explicit(&p->unwatched, memory_order_relaxed);
        p->guesses = unwatched ? UNWATCHED : p->remembered ? GUESSES : 0;
        (void)collect(p);
        if (!unwatched)
            return 0;
    }
    return guess(p);
}

static void report(struct poller *p, struct net_socket *socket)
{
    unsigned events = reportable(socket);

    if (socket->flags & WRITABLE)
        socket->flags &= ~(unsigned)(WRITABLE | CONNECTING);
    /* To the end of the list, or out of it, before the owner is told: it may close the socket. */
    TAILQ_REMOVE(&p->ready, socket, link);
    p->ready_count--;
    socket->flags &= ~(unsigned)LISTED;
    socket_update_list(socket);
    socket->ready(socket, events);
}

static int kernel_poll(struct net *net, void *poller, unsigned max, bool leased, bool *left)
{
    struct poller *p = poller;
    unsigned n, served = 0, before = p->reads;
    unsigned guessed = look(p, leased);

    (void)net;
    guessed = p->reads == before ? 0 : guessed; /* in vain, so nothing was done */
    n = p->ready_count < max ? p->ready_count : max;
    for (; served < n && !TAILQ_EMPTY(&p->ready); served++)
        report(p, TAILQ_FIRST(&p->ready));
    *left = !TAILQ_EMPTY(&p->ready);
    return (int)(guessed + served);
}

static void kernel_watch(struct net *net, void *poller)
{
    (void)net;
    watch_few(poller);
}

static void kernel_wait(struct net *net, void *poller, uint64_t now, uint64_t deadline)
{
    struct poller *p = poller;
    struct pollfd fds[2] = { { .fd = p->epoll_fd, .events = POLLIN }, { .fd = p->wake_fd, .events = POLLIN } };
    struct timespec timeout;
    eventfd_t count;
    uint64_t ns;

    (void)net;
    if (atomic_load_explicit(&p->unwatched, memory_order_relaxed) && deadline > now + UNABLE_NS &&
        !MUTANT(net_unwatched_sleeps))
        deadline = now + UNABLE_NS;
    ns = deadline > now ? deadline - now : 0;
    timeout = (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S) };
    atomic_store_explicit(&p->slept, true, memory_order_relaxed);
    if (ppoll(fds, 2, deadline == UINT64_MAX ? NULL : &timeout, NULL) > 0 && fds[1].revents)
        (void)eventfd_read(p->wake_fd, &count);
}

static void kernel_wake(struct net *net, void *poller)
{
    struct poller *p = poller;

    (void)net;
    (void)eventfd_write(p->wake_fd, 1);
}

/* ---- a socket's place ---- */

static void remember(struct poller *p, struct net_socket *socket)
{
    p->connections++;
    p->leased = 0;
    if (p->remembered < FEW)
        p->few[p->remembered++] = socket;
}

static void forget(struct poller *p, const struct net_socket *socket)
{
    p->connections--;
    for (unsigned i = 0; i < p->remembered; i++)
        if (p->few[i] == socket)
            p->few[i--] = p->few[--p->remembered];
}

static void kernel_detach(struct net_socket *socket)
{
    struct poller *p = shard_poller(socket->shard);

    assert(shard_is_owner(socket->shard));
    unwatch(socket, p);
    /* What has been seen is seen again when the new set takes it up. */
    socket->flags &= ~(unsigned)(READABLE | HANGUP);
    if (socket->flags & WRITABLE)
        socket->flags = (socket->flags & ~(unsigned)WRITABLE) | BLOCKED;
    socket_update_list(socket);
    socket->shard = NULL;
    if (!(socket->flags & LISTENING))
        forget(p, socket);
}

int socket_attach(struct net_socket *socket, struct shard *s)
{
    struct poller *p = shard_poller(s);
    int err;

    assert(shard_is_owner(s));
    if (socket->flags & BLOCKED)
        socket->flags |= FOR_OUTPUT;
    err = watch(socket, p);
    if (err)
        return err;
    socket->shard = s;
    if (!(socket->flags & LISTENING))
        remember(p, socket);
    return 0;
}

void socket_set_up(struct net_socket *socket, struct net *net, int fd, unsigned flags)
{
    socket->net = net;
    socket->shard = NULL;
    socket->reservation = NULL;
    socket->fd = fd;
    socket->error = 0;
    socket->flags = flags;
    socket->received_since_send = 0;
    atomic_init(&socket->paused, false);
}

void socket_set_reservation(struct net_socket *socket, struct net_reservation *r)
{
    reservation_ref(r);
    socket->reservation = r;
}

/*
 * What a close does to the peer: an end of stream, or a reset. A socket is made to reset, and told otherwise only when
 * it is closed in good order: so the peers of a process that dies see an abort, not the notice of a disconnect.
 */
void socket_reset_on_close(int fd, bool reset)
{
    struct linger linger = { .l_onoff = reset, .l_linger = 0 };

    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

/* The owner waits for room. */
static void block(struct net_socket *socket)
{
    socket->flags |= BLOCKED;
    if (!socket->shard || socket->flags & FOR_OUTPUT)
        return; /* attach asks for it; or it has been */
    socket->flags |= FOR_OUTPUT;
    /*
     * Room that has come in the meantime is told, and this needs no memory, so that it cannot fail. One that is not
     * watched is so again with the next look.
     */
    if (socket->flags & WATCHED)
        (void)watch(socket, shard_poller(socket->shard));
}

void socket_close(struct net_socket *socket, bool reset)
{
    struct net_reservation *r = socket->reservation;

    if (socket->shard)
        kernel_detach(socket);
    if (!reset)
        socket_reset_on_close(socket->fd, false);
    descriptors_close(socket->fd);
    socket->fd = -1;
    socket->reservation = NULL;
    if (r)
        reservation_unref(r); /* after the close: who gets the address next finds it free */
}

/* ---- sending ---- */

static size_t total(const struct iovec *iov, int iovcnt)
{
    size_t sum = 0;

    for (int i = 0; i < iovcnt; i++)
        sum += iov[i].iov_len;
    return sum;
}

/*
 * Called after EFAULT: memory of the consumer's is not mapped, although registered memory must be. Touching the memory
 * raises the fault that copying would have raised, so a program's or sanitizer's handler reports it or maps the memory.
 * Otherwise the connection would be lost without a reason. The bytes stay as they are: perhaps no data comes for them.
 */
static void touch_memory(const struct iovec *iov, int iovcnt, bool write)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    for (int i = 0; i < iovcnt; i++) {
        uintptr_t at = (uintptr_t)iov[i].iov_base, end = at + iov[i].iov_len;

        for (; at < end; at = (at / page + 1) * page) {
            volatile char *byte = (volatile char *)at;
            char value = *byte;

            if (write)
                *byte = value;
        }
    }
}

static ssize_t send_once(struct net_socket *socket, const struct iovec *iov, int iovcnt)
{
    struct msghdr message = { .msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)iovcnt };
    ssize_t n;

    do
        n = iovcnt == 1 ? send(socket->fd, iov->iov_base, iov->iov_len, MSG_NOSIGNAL | MSG_DONTWAIT)
                        : sendmsg(socket->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n;
}

static ssize_t receive_once(struct net_socket *socket, const struct iovec *iov, int iovcnt)
{
    ssize_t n;

    do
        n = iovcnt == 1 ? recv(socket->fd, iov->iov_base, iov->iov_len, 0) : readv(socket->fd, iov, iovcnt);
    while (n < 0 && errno == EINTR);
    return n;
}

static ssize_t kernel_send(struct net_socket *socket, const struct iovec *iov, int iovcnt)
{
    ssize_t n = send_once(socket, iov, iovcnt);

    if (n < 0 && errno == EFAULT) {
        touch_memory(iov, iovcnt, false);
        n = send_once(socket, iov, iovcnt);
    }
    if (n < 0 && errno != EAGAIN)
        return -errno;
    if (n > 0)
        socket->received_since_send = 0;
    if (n < 0 || (size_t)n < total(iov, iovcnt))
        block(socket);
    return n < 0 ? -EAGAIN : n;
}

/* ---- receiving ---- */

/*
 * A socket that answers what it receives is taken for one end of a dialogue: its acknowledgements wait for the next
 * answer to go with. Where that answer asked for much data, or credits it, the peer would wait for them, and BBR think
 * the path slower than it is. So the kernel is told, once for each such stretch of data, that this is no dialogue.
 */
static void hear(struct net_socket *socket, size_t octets)
{
    int on = 1;

    if (socket->received_since_send >= LONG_ANSWER)
        return;
    socket->received_since_send = octets < LONG_ANSWER - socket->received_since_send
                                      ? socket->received_since_send + (uint32_t)octets
                                      : LONG_ANSWER;
    if ((socket->received_since_send >= LONG_ANSWER || MUTANT(net_answers_hurried)) && !MUTANT(net_long_answers_wait))
        (void)setsockopt(socket->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

static ssize_t kernel_recv(struct net_socket *socket, const struct iovec *iov, int iovcnt)
{
    ssize_t n = receive_once(socket, iov, iovcnt);

    if (n < 0 && errno == EFAULT) {
        touch_memory(iov, iovcnt, true);
        n = receive_once(socket, iov, iovcnt);
    }
    if (n < 0)
        n = -errno;
    else if (socket->shard)
        ((struct poller *)shard_poller(socket->shard))->reads++;
    if (n > 0)
        hear(socket, (size_t)n);
    /*
     * Nothing more to read: an error, the end, or less than was asked for. The last would lose the end of the stream
     * that came along with the last bytes, so it does not count once that has been seen; what comes after this read
     * makes a new edge.
     */
    if (n <= 0 || (!(socket->flags & HANGUP) && (size_t)n < total(iov, iovcnt))) {
        socket->flags &= ~(unsigned)READABLE;
        socket_update_list(socket);
    }
    return n;
}

static void kernel_set_readable(struct net_socket *socket)
{
    socket->flags |= READABLE;
    socket_update_list(socket);
    shard_set_sockets_ready(socket->shard);
}

static void kernel_pause_read(struct net_socket *socket, bool on)
{
    if (on)
        socket->flags |= HELD;
    else
        socket->flags &= ~(unsigned)HELD;
    socket_update_list(socket);
    if (!on && socket->flags & LISTED)
        shard_set_sockets_ready(socket->shard);
}

static size_t kernel_max_segment(struct net_socket *socket)
{
    int size = 0;
    socklen_t len = sizeof size;

    if (getsockopt(socket->fd, IPPROTO_TCP, TCP_MAXSEG, &size, &len) || size <= 0)
        return 536; /* what every path carries (RFC 9293) */
    return (size_t)size;
}

static size_t kernel_unacked_bytes(struct net_socket *socket)
{
    int octets = 0;

    return ioctl(socket->fd, SIOCOUTQ, &octets) || octets < 0 ? 0 : (size_t)octets;
}

static void kernel_shut_write(struct net_socket *socket)
{
    (void)shutdown(socket->fd, SHUT_WR);
}

struct net *net_kernel(void)
{
    static const struct net_ops ops = {
        .poller_create = kernel_poller_create,
        .poller_destroy = kernel_poller_destroy,
        .poll = kernel_poll,
        .watch = kernel_watch,
        .wait = kernel_wait,
        .wake = kernel_wake,
        .reserve = reservation_create,
        .reservation_ref = reservation_ref,
        .reservation_unref = reservation_unref,
        .connect = net_connect,
        .connect_result = net_connect_result,
        .listen = net_listen,
        .listen_pause = net_listen_pause,
        .accept = net_accept,
        .reset_accept_queue = net_reset_accept_queue,
        .count_free_sockets = net_count_free_sockets,
        .send = kernel_send,
        .recv = kernel_recv,
        .set_readable = kernel_set_readable,
        .pause_read = kernel_pause_read,
        .max_segment = kernel_max_segment,
        .set_liveness = net_set_liveness,
        .unacked_bytes = kernel_unacked_bytes,
        .shut_write = kernel_shut_write,
        .detach = kernel_detach,
        .attach = socket_attach,
        .interface_watch = net_interface_watch,
        .interface_is_removed = net_interface_is_removed,
        .close = socket_close,
    };
    static struct net kernel = { .ops = &ops };

    reservation_watch_forks();
    return &kernel;
}
