/* SPDX-License-Identifier: MIT */
/*
 * The thread that tells other processes what this one's adapters do.
 *
 * Two locks. `life` is held while the server is started and ended, the join included; `list` guards the adapters' list
 * and is held while a snapshot is made into memory, never while something is sent. The thread takes `list` alone, so
 * that waiting for it under `life` ends.
 *
 * The thread serves several readers at once, each with a snapshot and a time limit of its own, and waits only in poll.
 * Shutting the listening socket down wakes it there.
 *
 * Any user can bind a name before this process does. Then the server takes a name that nobody can know in advance;
 * readers find it in the list of sockets and judge it by the kernel's word on who listens.
 *
 * After fork the child has no thread and no socket (base/descriptors.h), and forgets the adapters, which are its
 * parent's. It may open its own.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "provider/stat_server.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/fork.h"
#include "base/library_thread.h"
#include "base/random.h"
#include "provider/adapter.h"
#include "provider/stat_json.h"

enum {
    READER_MS = 2000,  /* what one reader may take */
    RETRY_MS = 100,    /* without descriptors for a reader */
    MAX_READERS = 8,   /* are served at once */
    MAX_WAITING = 128, /* may wait to be served */
    NAME_TRIES = 4,
};

static struct {
    pthread_mutex_t life, list;
    LIST_HEAD(, adapter) adapters; /* list */
    uint32_t number;               /* list; of the newest adapter */
    int socket;                    /* life; -1: there is no server */
    pthread_t thread;              /* life */
    atomic_bool stopping;
} server = { .life = PTHREAD_MUTEX_INITIALIZER, .list = PTHREAD_MUTEX_INITIALIZER, .socket = -1 };

struct reader {
    int fd;
    char *text;
    size_t size, sent;
    int64_t deadline_ms;
};

/* What the thread works on. */
struct service {
    int listener;
    bool resting; /* there was no descriptor for a reader: the next look is RETRY_MS later */
    int count;
    struct reader readers[MAX_READERS];
};

/* ---- a reader ---- */

/* All of it, to be freed; NULL: no memory. */
static char *snapshot(size_t *size)
{
    char *memory = NULL;
    FILE *out = open_memstream(&memory, size);
    struct adapter *a;
    bool whole = true, first = true;

    if (!out)
        return NULL;
    stat_json_begin(out);
    pthread_mutex_lock(&server.list);
    LIST_FOREACH(a, &server.adapters, published) {
        whole = stat_json_adapter(out, a, first) && whole;
        first = false;
    }
    pthread_mutex_unlock(&server.list);
    stat_json_end(out);
    whole = !ferror(out) && whole;
    if (fclose(out) == 0 && whole)
        return memory;
    free(memory);
    return NULL;
}

/* The same user, or root. */
static bool may_read(int reader)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);

    if (getsockopt(reader, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
        return false;
    return peer.uid == geteuid() || peer.uid == 0;
}

static int64_t now_ms(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Sends what there is room for. Returns false if the reader needs no more: it has everything, is gone, or is late. */
static bool reader_continue(struct reader *r)
{
    ssize_t n = 1;

    while (r->sent < r->size && n > 0) {
        n = send(r->fd, r->text + r->sent, r->size - r->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0)
            r->sent += (size_t)n;
    }
    if (r->sent == r->size || (n < 0 && errno != EAGAIN && errno != EINTR))
        return false;
    return now_ms() < r->deadline_ms;
}

static void reader_end(struct reader *r)
{
    free(r->text);
    descriptors_close(r->fd);
}

/* ---- the thread ---- */

static void service_remove(struct service *s, int i)
{
    reader_end(&s->readers[i]);
    s->readers[i] = s->readers[--s->count];
}

static void service_add(struct service *s, int fd)
{
    struct reader *r = &s->readers[s->count];

    *r = (struct reader){ .fd = fd, .deadline_ms = now_ms() + READER_MS };
    r->text = may_read(fd) ? snapshot(&r->size) : NULL;
    if (r->text && reader_continue(r))
        s->count++;
    else
        reader_end(r);
}

/* Takes the readers who wait, as far as there is room. */
static void service_accept(struct service *s)
{
    while (s->count < MAX_READERS && !atomic_load(&server.stopping)) {
        int fd = descriptors_accept(s->listener, NULL, NULL, SOCK_NONBLOCK);

        if (fd >= 0) {
            service_add(s, fd);
        } else if (errno != EINTR && errno != ECONNABORTED) {
            s->resting = errno != EAGAIN;
            return;
        }
    }
}

static int service_timeout_ms(const struct service *s)
{
    int64_t left = s->resting ? RETRY_MS : -1, now = s->count ? now_ms() : 0;

    for (int i = 0; i < s->count; i++) {
        int64_t of_reader = s->readers[i].deadline_ms - now;

        if (of_reader > INT32_MAX)
            continue;
        if (of_reader < 0)
            of_reader = 0;
        if (left < 0 || of_reader < left)
            left = of_reader;
    }
    return (int)left;
}

static void service_wait(struct service *s)
{
    struct pollfd fds[1 + MAX_READERS] = { { .fd = s->listener } };

    if (s->count < MAX_READERS && !s->resting)
        fds[0].events = POLLIN;
    for (int i = 0; i < s->count; i++)
        fds[1 + i] = (struct pollfd){ .fd = s->readers[i].fd, .events = POLLOUT };
    (void)poll(fds, 1 + (nfds_t)s->count, service_timeout_ms(s));
    s->resting = false;
}

static void *run(void *arg)
{
    struct service s = { .listener = (int)(intptr_t)arg };

    while (!atomic_load(&server.stopping)) {
        service_wait(&s);
        for (int i = s.count - 1; i >= 0; i--)
            if (!reader_continue(&s.readers[i]))
                service_remove(&s, i);
        service_accept(&s);
    }
    while (s.count > 0)
        service_remove(&s, s.count - 1);
    return NULL;
}

/* ---- beginning and end ---- */

/* Binds "openndk.stat.PID", or that with something behind it which nobody can have taken yet, and listens. */
static bool take_name(int listener)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    char *text = name.sun_path + 1;
    const size_t room = sizeof name.sun_path - 1;
    int tries = NAME_TRIES;
    int n = snprintf(text, room, "openndk.stat.%ld", (long)getpid());

    for (int i = 0; i < tries; i++) {
        socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);

        if (bind(listener, (struct sockaddr *)&name, len) == 0)
            return listen(listener, MAX_WAITING) == 0;
        if (errno != EADDRINUSE)
            break;
        n = snprintf(text, room, "openndk.stat.%ld.%016" PRIx64, (long)getpid(), random_u64());
    }
    return false;
}

/* Under life. */
static void start(void)
{
    int s = descriptors_socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

    if (s < 0)
        return;
    /* A reader that comes as soon as the adapter is open finds it. */
    if (!take_name(s)) {
        descriptors_close(s);
        return;
    }
    atomic_store(&server.stopping, false);
    int error = library_thread_create(&server.thread, NULL, run, (void *)(intptr_t)s);
    if (error) {
        descriptors_close(s);
        return;
    }
    (void)pthread_setname_np(server.thread, "openndk-stat");
    server.socket = s;
}

/* Under life. */
static void stop(void)
{
    atomic_store(&server.stopping, true);
    (void)shutdown(server.socket, SHUT_RDWR);
    pthread_join(server.thread, NULL);
    descriptors_close(server.socket);
    server.socket = -1;
}

static void before_fork(void)
{
    pthread_mutex_lock(&server.life);
    pthread_mutex_lock(&server.list);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&server.list);
    pthread_mutex_unlock(&server.life);
}

static void in_child(void)
{
    struct adapter *a;

    while ((a = LIST_FIRST(&server.adapters)) != NULL) {
        LIST_REMOVE(a, published);
        a->number = 0;
    }
    server.socket = -1;
    after_fork();
}

/* Behind fork.c's handlers: sockets are opened under life. */
__attribute__((constructor(FORK_NEXT))) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork, in_child);
}

void stat_server_add(struct adapter *a)
{
    pthread_mutex_lock(&server.life);
    pthread_mutex_lock(&server.list);
    a->number = ++server.number;
    LIST_INSERT_HEAD(&server.adapters, a, published);
    pthread_mutex_unlock(&server.list);
    if (server.socket < 0)
        start();
    pthread_mutex_unlock(&server.life);
}

void stat_server_remove(struct adapter *a)
{
    pthread_mutex_lock(&server.life);
    if (a->number) {
        pthread_mutex_lock(&server.list);
        LIST_REMOVE(a, published);
        bool last = LIST_EMPTY(&server.adapters);
        pthread_mutex_unlock(&server.list);
        if (last && server.socket >= 0)
            stop();
    }
    pthread_mutex_unlock(&server.life);
}
