/* SPDX-License-Identifier: MIT */
/*
 * Implements the thread that publishes this process's adapters to other processes. The thread also passes the trace of
 * this process to them (trace_server.h).
 *
 * Two locks. `lifetime` is held while the server is started, and while it is stopped and its thread is joined. `list`
 * guards the list of adapters, and is held while a snapshot is written to memory, but not while the snapshot is sent.
 * The invariant: the thread takes only `list`, so a join of the thread with `lifetime` held cannot deadlock.
 *
 * The thread serves several readers at the same time, each with a snapshot of its own, and drops those that receive
 * nothing for a time. It waits only in poll. The shutdown of the listening socket ends that wait.
 *
 * Any user can bind the server's usual name before the server binds it. The server then binds a name that nobody can
 * predict. Readers find that name in the list of sockets, and the kernel reports to the readers which user listens.
 *
 * After fork, the child process has no server thread and no server socket (base/descriptors.h). The child empties the
 * list, because the adapters in the list belong to its parent. The child may open adapters of its own.
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
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/fork.h"
#include "base/library_thread.h"
#include "base/random.h"
#include "base/user.h"
#include "provider/adapter.h"
#include "provider/stat_json.h"
#include "provider/trace_server.h"

enum {
    READER_MS = 2000,  /* a reader that receives nothing for this time is dropped */
    RETRY_MS = 100,    /* pause if there is no free descriptor for a reader */
    MAX_READERS = 8,   /* maximum number of readers that are served at the same time */
    MAX_WAITING = 128, /* maximum number of readers that wait to be served */
    MAX_NAME_TRIES = 4,
    MAX_TRACE_TURN = 8, /* maximum number of requests for the trace that are answered before other readers are served */
};

static struct {
    pthread_mutex_t lifetime, list;
    LIST_HEAD(, adapter) adapters; /* guarded by `list` */
    uint32_t number;               /* the number of the newest adapter; guarded by `list` */
    int socket;                    /* -1: there is no server; guarded by `lifetime` */
    int trace_socket;              /* -1: the trace is not passed; guarded by `lifetime` */
    pthread_t thread;              /* guarded by `lifetime` */
    atomic_bool stopping;
} server = {
    .lifetime = PTHREAD_MUTEX_INITIALIZER, .list = PTHREAD_MUTEX_INITIALIZER, .socket = -1, .trace_socket = -1
};

struct reader {
    int fd;
    char *text;
    size_t size, sent;
    int64_t deadline_ms;
};

/* The thread's state. */
struct stat_service {
    int listener, trace_listener; /* trace_listener: -1 if there is none */
    bool pauses;                  /* no descriptor was free for a reader, so the thread accepts none for RETRY_MS */
    int count;
    struct reader readers[MAX_READERS];
};

/* ---- a reader ---- */

/* Returns the snapshot, which the caller frees, or NULL if out of memory. */
static char *stat_server_snapshot(size_t *size)
{
    char *memory = NULL;
    FILE *out = open_memstream(&memory, size);
    struct adapter *a;
    bool is_complete = true, first = true;

    if (!out)
        return NULL;
    stat_json_begin(out);
    pthread_mutex_lock(&server.list);
    LIST_FOREACH (a, &server.adapters, published) {
        is_complete = stat_json_adapter(out, a, first) && is_complete;
        first = false;
    }
    pthread_mutex_unlock(&server.list);
    stat_json_end(out);
    is_complete = !ferror(out) && is_complete;
    if (fclose(out) == 0 && is_complete)
        return memory;
    free(memory);
    return NULL;
}

/* Records the open adapters in the trace. Needed if the trace has begun after they were opened. */
static void stat_server_trace_adapters(void)
{
    struct adapter *a;

    pthread_mutex_lock(&server.list);
    LIST_FOREACH (a, &server.adapters, published)
        adapter_trace(a);
    pthread_mutex_unlock(&server.list);
}

/* Returns true if the reader runs as the user of this process, or as root. */
static bool reader_is_allowed(int reader)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);

    if (getsockopt(reader, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
        return false;
    return peer.uid == 0 || user_is_own(peer.uid);
}

/*
 * Returns true if the reader could also trace this process with ptrace. Requires that reader_is_allowed has accepted
 * the reader. If the process has had privileges that its user lacks, only root may trace it.
 */
static bool reader_can_trace(int reader)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);

    return getsockopt(reader, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
           (peer.uid == 0 || prctl(PR_GET_DUMPABLE) == 1);
}

static int64_t stat_server_now_ms(void)
{
    struct timespec now = { 0 };

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/*
 * Sends as much as the socket accepts. Returns false if the reader has received everything, has closed the connection,
 * or has received nothing for READER_MS.
 */
static bool reader_continue(struct reader *r)
{
    size_t before = r->sent;
    ssize_t n = 1;

    while (r->sent < r->size && n > 0) {
        n = send(r->fd, r->text + r->sent, r->size - r->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0)
            r->sent += (size_t)n;
    }
    if (r->sent > before)
        r->deadline_ms = stat_server_now_ms() + READER_MS;
    if (r->sent == r->size || (n < 0 && errno != EAGAIN && errno != EINTR))
        return false;
    return stat_server_now_ms() < r->deadline_ms;
}

static void reader_end(struct reader *r)
{
    free(r->text);
    descriptors_close(r->fd);
}

/* ---- the thread ---- */

static void stat_service_remove(struct stat_service *s, int i)
{
    reader_end(&s->readers[i]);
    s->readers[i] = s->readers[--s->count];
}

static void stat_service_add(struct stat_service *s, int fd)
{
    struct reader *r = &s->readers[s->count];

    *r = (struct reader){ .fd = fd };
    r->text = reader_is_allowed(fd) ? stat_server_snapshot(&r->size) : NULL;
    if (r->text && reader_continue(r))
        s->count++;
    else
        reader_end(r);
}

/* Accepts waiting readers until MAX_READERS are being served. */
static void stat_service_accept(struct stat_service *s)
{
    while (s->count < MAX_READERS && !atomic_load(&server.stopping)) {
        int fd = descriptors_accept(s->listener, NULL, NULL, SOCK_NONBLOCK);

        if (fd >= 0) {
            stat_service_add(s, fd);
        } else if (errno != EINTR && errno != ECONNABORTED) {
            s->pauses = errno != EAGAIN;
            return;
        }
    }
}

/*
 * Answers requests for the trace. Each answer fits into the socket's buffer, so the thread does not wait for the
 * reader.
 */
static void stat_service_accept_trace(struct stat_service *s)
{
    for (int i = 0; s->trace_listener >= 0 && i < MAX_TRACE_TURN; i++) {
        int fd = descriptors_accept(s->trace_listener, NULL, NULL, SOCK_NONBLOCK);

        if (fd < 0) {
            s->pauses = s->pauses || (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED);
            return;
        }
        if (reader_is_allowed(fd) && reader_can_trace(fd))
            trace_server_answer(fd, stat_server_trace_adapters);
        descriptors_close(fd);
    }
}

static int stat_service_timeout_ms(const struct stat_service *s)
{
    int64_t timeout = s->pauses ? RETRY_MS : -1, now = s->count ? stat_server_now_ms() : 0;

    for (int i = 0; i < s->count; i++) {
        int64_t of_reader = s->readers[i].deadline_ms - now;

        if (of_reader > INT32_MAX)
            continue;
        if (of_reader < 0)
            of_reader = 0;
        if (timeout < 0 || of_reader < timeout)
            timeout = of_reader;
    }
    return (int)timeout;
}

static void stat_service_wait(struct stat_service *s)
{
    struct pollfd fds[2 + MAX_READERS] = { { .fd = s->listener }, { .fd = s->trace_listener } };

    if (s->count < MAX_READERS && !s->pauses)
        fds[0].events = POLLIN;
    if (!s->pauses)
        fds[1].events = POLLIN;
    for (int i = 0; i < s->count; i++)
        fds[2 + i] = (struct pollfd){ .fd = s->readers[i].fd, .events = POLLOUT };
    (void)poll(fds, 2 + (nfds_t)s->count, stat_service_timeout_ms(s));
    s->pauses = false;
}

/*
 * Runs the server's thread. While it runs, the sockets do not change, because other code changes them only after the
 * thread has ended.
 */
static void *stat_server_run(void *unused)
{
    struct stat_service s = { .listener = server.socket, .trace_listener = server.trace_socket };

    (void)unused;

    while (!atomic_load(&server.stopping)) {
        stat_service_wait(&s);
        for (int i = s.count - 1; i >= 0; i--)
            if (!reader_continue(&s.readers[i]))
                stat_service_remove(&s, i);
        stat_service_accept(&s);
        stat_service_accept_trace(&s);
    }
    while (s.count > 0)
        stat_service_remove(&s, s.count - 1);
    return NULL;
}

/* ---- start and stop ---- */

/* Binds the name "PREFIX.PID" and listens. If that name is in use, adds a random suffix. */
static bool stat_server_bind_name(int listener, const char *prefix)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    char *text = name.sun_path + 1;
    const size_t room = sizeof name.sun_path - 1;
    int tries = MAX_NAME_TRIES;
    int n = snprintf(text, room, "%s.%ld", prefix, (long)getpid());

    for (int i = 0; i < tries; i++) {
        socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);

        if (bind(listener, (struct sockaddr *)&name, len) == 0)
            return listen(listener, MAX_WAITING) == 0;
        if (errno != EADDRINUSE)
            break;
        n = snprintf(text, room, "%s.%ld.%016" PRIx64, prefix, (long)getpid(), random_u64());
    }
    return false;
}

/* Returns a socket that listens, or -1. */
static int stat_server_listen(const char *prefix)
{
    int s = descriptors_socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

    if (s < 0 || stat_server_bind_name(s, prefix))
        return s;
    descriptors_close(s);
    return -1;
}

static void stat_server_close_sockets(int s, int trace)
{
    descriptors_close(s);
    if (trace >= 0)
        descriptors_close(trace);
}

/* Starts the server. Does nothing if a resource is missing. Requires the lock server.lifetime. */
static void stat_server_start(void)
{
    /* The sockets are bound here, not by the thread. So readers can connect when ondk_open_adapter has returned. */
    int s = stat_server_listen("openndk.stat"), trace, error;

    if (s < 0)
        return;
    trace = stat_server_listen("openndk.trace");
    atomic_store(&server.stopping, false);
    server.socket = s;
    server.trace_socket = trace;
    error = library_thread_create(&server.thread, NULL, stat_server_run, NULL);
    if (error) {
        stat_server_close_sockets(s, trace);
        server.socket = server.trace_socket = -1;
        return;
    }
    (void)pthread_setname_np(server.thread, "openndk-stat");
}

/* Stops the server, and waits until its thread has ended. Requires the lock server.lifetime. */
static void stat_server_stop(void)
{
    atomic_store(&server.stopping, true);
    (void)shutdown(server.socket, SHUT_RDWR);
    pthread_join(server.thread, NULL);
    stat_server_close_sockets(server.socket, server.trace_socket);
    server.socket = server.trace_socket = -1;
}

static void stat_server_before_fork(void)
{
    pthread_mutex_lock(&server.lifetime);
    pthread_mutex_lock(&server.list);
}

static void stat_server_after_fork(void)
{
    pthread_mutex_unlock(&server.list);
    pthread_mutex_unlock(&server.lifetime);
}

static void stat_server_in_child(void)
{
    struct adapter *a;

    while ((a = LIST_FIRST(&server.adapters)) != NULL) {
        LIST_REMOVE(a, published);
        a->number = 0;
    }
    server.socket = server.trace_socket = -1;
    stat_server_after_fork();
}

/*
 * Installs the fork handlers after those of fork.c. Before a fork, the C library runs handlers in the reverse order of
 * installation. So fork locks `lifetime` first, then the lock of base/fork.h. A thread that opens a socket takes the
 * two locks in the same order.
 */
__attribute__((constructor(FORK_NEXT))) static void stat_server_install_fork_handlers(void)
{
    (void)pthread_atfork(stat_server_before_fork, stat_server_after_fork, stat_server_in_child);
}

void stat_server_add(struct adapter *a)
{
    pthread_mutex_lock(&server.lifetime);
    pthread_mutex_lock(&server.list);
    a->number = ++server.number;
    LIST_INSERT_HEAD(&server.adapters, a, published);
    pthread_mutex_unlock(&server.list);
    if (server.socket < 0)
        stat_server_start();
    pthread_mutex_unlock(&server.lifetime);
}

void stat_server_remove(struct adapter *a)
{
    pthread_mutex_lock(&server.lifetime);
    if (a->number) {
        pthread_mutex_lock(&server.list);
        LIST_REMOVE(a, published);
        bool last = LIST_EMPTY(&server.adapters);
        pthread_mutex_unlock(&server.list);
        if (last && server.socket >= 0)
            stat_server_stop();
    }
    pthread_mutex_unlock(&server.lifetime);
}
