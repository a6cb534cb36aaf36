/* SPDX-License-Identifier: MIT */
/* All peers of an attack, in one epoll loop: see peers.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* accept4 */
#endif
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "hostile/peers_internal.h"

enum { TICK_MS = 5, EVENTS_AT_ONCE = 256, STARTS_AT_ONCE = 256, SENDS_AT_ONCE = 8 };

struct options options;
struct totals totals;
const struct attack *running;

static struct {
    struct peer *peers; /* options.connections elements */
    unsigned *free_slots;
    unsigned free_count, begun; /* begun: the number of slots ever used */
    int epoll, listener;
    bool stdin_ended, ready;
    unsigned source;
} all;

/* ---- time and chance ---- */

uint64_t clock_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t clock_ms(void)
{
    return clock_ns() / 1000000u;
}

uint32_t seeded_below(uint32_t limit)
{
    static uint64_t state;
    static bool is_set;

    if (!is_set)
        state = options.seed;
    is_set = true;
    return (uint32_t)(random_next(&state) >> 32) % limit;
}

void seeded_fill(void *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)seeded_below(256);
}

void totals_time(uint64_t since_ns)
{
    if (totals.times_count < MAX_TIMES)
        totals.times_us[totals.times_count++] = (uint32_t)((clock_ns() - since_ns) / 1000u);
}

/* ---- one peer in the loop ---- */

void peer_watch(struct peer *p)
{
    struct epoll_event e = { .data.ptr = p };

    if (p->state == PEER_CONNECTING || p->out_len || (running->writable && p->state == PEER_OPEN))
        e.events |= EPOLLOUT;
    if (!p->deaf)
        e.events |= EPOLLIN | EPOLLRDHUP;
    epoll_ctl(all.epoll, EPOLL_CTL_MOD, p->fd, &e);
}

void peers_slot_is_free(struct peer *p)
{
    all.free_slots[all.free_count++] = p->slot;
}

void peer_arrived(struct peer *p)
{
    if (!p->arrived)
        totals.arrived++;
    p->arrived = true;
}

void peer_due_in(struct peer *p, unsigned ms)
{
    p->due_ms = clock_ms() + ms;
}

/* ---- connecting ---- */

static socklen_t address_size(const struct sockaddr_storage *a)
{
    return a->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

/* Returns the next connection's source address. IPv6: the same host in the next /64. */
static struct sockaddr_storage next_source(void)
{
    struct sockaddr_storage a = options.source;
    uint32_t n = all.source++ % (options.sources ? options.sources : 1), word;

    if (a.ss_family == AF_INET) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)&a;
        v4->sin_addr.s_addr = htonl(ntohl(v4->sin_addr.s_addr) + n);
    } else {
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&a;
        memcpy(&word, v6->sin6_addr.s6_addr + 4, 4);
        word = htonl(ntohl(word) + n);
        memcpy(v6->sin6_addr.s6_addr + 4, &word, 4);
    }
    return a;
}

static bool bind_source(int fd)
{
    struct sockaddr_storage from;
    int on = 1;

    if (!options.source.ss_family)
        return true;
    from = next_source();
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    if (from.ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof on);
    return bind(fd, (struct sockaddr *)&from, address_size(&from)) == 0;
}

static void set_up(int fd)
{
    int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (options.mss)
        setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &options.mss, sizeof options.mss);
    if (running->receive_buffer)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &running->receive_buffer, sizeof running->receive_buffer);
}

/* Puts a peer with this socket into a free slot. */
static struct peer *add_peer(int fd, enum peer_state state)
{
    unsigned slot = all.free_slots[--all.free_count];
    struct peer *p = &all.peers[slot];
    struct epoll_event e = { .events = EPOLLIN | EPOLLOUT, .data.ptr = p };

    *p = (struct peer){ .fd = fd, .state = state, .slot = slot, .number = totals.started++, .since_ns = clock_ns() };
    if (state != PEER_CONNECTING)
        e.events = EPOLLIN | EPOLLRDHUP;
    epoll_ctl(all.epoll, EPOLL_CTL_ADD, fd, &e);
    return p;
}

/* Returns false if no socket is available. */
static bool start_one(void)
{
    int fd = socket(options.target.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || !bind_source(fd)) {
        fprintf(stderr, "hostile: no socket: %s\n", strerror(errno));
        totals.failed++;
        if (fd >= 0)
            close(fd);
        return false;
    }
    set_up(fd);
    if (connect(fd, (struct sockaddr *)&options.target, address_size(&options.target)) && errno != EINPROGRESS) {
        totals.refused++;
        totals.started++;
        totals.arrived++;
        close(fd);
        return true;
    }
    (void)add_peer(fd, PEER_CONNECTING);
    return true;
}

static void connected(struct peer *p)
{
    p->state = PEER_CONNECTED;
    totals.connected++;
    if (running->connected)
        running->connected(p);
    else
        peer_request(p);
}

static void finish_connect(struct peer *p)
{
    socklen_t len = sizeof(int);
    int error = 0;

    getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &len);
    if (error) {
        totals.refused += error == ECONNREFUSED || error == ECONNRESET;
        totals.failed += error != ECONNREFUSED && error != ECONNRESET;
        peer_ended(p, error == ECONNREFUSED ? "refused" : strerror(error));
        return;
    }
    connected(p);
    if (p->state != PEER_FREE)
        peer_watch(p);
}

/* ---- a server's side ---- */

static bool start_server(void)
{
    struct epoll_event e = { .events = EPOLLIN, .data.ptr = &all };
    int on = 1;

    all.listener = socket(options.target.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    setsockopt(all.listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(all.listener, (struct sockaddr *)&options.target, address_size(&options.target)) ||
        listen(all.listener, 128) || epoll_ctl(all.epoll, EPOLL_CTL_ADD, all.listener, &e)) {
        fprintf(stderr, "hostile: cannot listen: %s\n", strerror(errno));
        return false;
    }
    printf("ready\n");
    fflush(stdout);
    all.ready = true;
    return true;
}

static void accept_all(void)
{
    int fd;

    while (all.free_count && (fd = accept4(all.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        set_up(fd);
        connected(add_peer(fd, PEER_CONNECTED));
    }
}

/* ---- the loop ---- */

static bool may_start(void)
{
    return !running->is_server && all.free_count && totals.started < options.total &&
           (options.reconnect || totals.started < options.connections);
}

static bool is_done(uint64_t end_ms)
{
    bool none_open = all.free_count == options.connections;

    if (options.until_stdin ? all.stdin_ended : none_open && !may_start() && !running->is_server)
        return true;
    if (running->is_server && totals.started >= options.total && none_open)
        return true;
    return clock_ms() >= end_ms;
}

static void handle_writable(struct peer *p)
{
    if (p->state == PEER_CONNECTING) {
        finish_connect(p);
        return;
    }
    unsigned number = p->number;
    for (int i = 0; i < SENDS_AT_ONCE && peer_send_rest(p) && running->writable && p->state == PEER_OPEN; i++) {
        running->writable(p);
        if (p->state == PEER_FREE || p->number != number)
            return;
    }
    peer_watch(p);
}

static void handle(const struct epoll_event *e)
{
    struct peer *p = e->data.ptr;

    if (!p) {
        char any[64];
        all.stdin_ended = read(STDIN_FILENO, any, sizeof any) <= 0;
        return;
    }
    if (e->data.ptr == &all) {
        accept_all();
        return;
    }
    if (p->state == PEER_FREE) /* an earlier event of this round ended it */
        return;
    unsigned number = p->number;
    if (e->events & (EPOLLOUT | EPOLLERR) && (p->out_len || running->writable || p->state == PEER_CONNECTING))
        handle_writable(p);
    if (p->state == PEER_FREE || p->number != number || p->state == PEER_CONNECTING)
        return;
    /* A deaf peer must not read, but a reset must end it. */
    if (p->deaf && e->events & (EPOLLERR | EPOLLHUP))
        peer_ended(p, "reset");
    else if (!p->deaf && e->events & (EPOLLIN | EPOLLERR | EPOLLHUP | EPOLLRDHUP))
        peer_read(p);
}

static void run_due(uint64_t now)
{
    for (unsigned i = 0; i < options.connections; i++) {
        struct peer *p = &all.peers[i];

        if (p->state == PEER_FREE || !p->due_ms || p->due_ms > now)
            continue;
        p->due_ms = 0;
        running->due(p);
    }
}

/* Prints `ready` when each of the first connections has arrived (peer_arrived) or ended. */
static void peers_print_ready(void)
{
    if (all.ready || totals.arrived < options.connections)
        return;
    all.ready = true;
    printf("ready\n");
    fflush(stdout);
}

static bool begin(void)
{
    struct epoll_event in = { .events = EPOLLIN, .data.ptr = NULL };

    all.peers = calloc(options.connections, sizeof *all.peers);
    all.free_slots = calloc(options.connections, sizeof *all.free_slots);
    all.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!all.peers || !all.free_slots || all.epoll < 0)
        return false;
    for (unsigned i = 0; i < options.connections; i++)
        all.free_slots[all.free_count++] = options.connections - 1 - i;
    if (options.until_stdin && epoll_ctl(all.epoll, EPOLL_CTL_ADD, STDIN_FILENO, &in) && errno == EPERM)
        all.stdin_ended = true; /* epoll refuses a regular file, whose end counts as reached */
    return true;
}

static void end(void)
{
    for (unsigned i = 0; i < options.connections; i++)
        if (all.peers[i].state != PEER_FREE)
            close(all.peers[i].fd);
    if (running->is_server)
        close(all.listener);
    close(all.epoll);
}

bool peers_run(const struct attack *attack)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    uint64_t end_ms = clock_ms() + (uint64_t)options.seconds * 1000, tick = 0;
    bool well = true;

    running = attack;
    if (!begin() || (attack->is_server && !start_server()))
        return false;
    while (well && !is_done(end_ms)) {
        for (int i = 0; i < STARTS_AT_ONCE && may_start() && well; i++)
            well = start_one();
        int n = epoll_wait(all.epoll, events, EVENTS_AT_ONCE, TICK_MS);
        for (int i = 0; i < n; i++)
            handle(&events[i]);
        if (attack->due && clock_ms() >= tick) {
            run_due(clock_ms());
            tick = clock_ms() + TICK_MS;
        }
        peers_print_ready();
    }
    end();
    return well;
}
