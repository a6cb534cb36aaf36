/* SPDX-License-Identifier: MIT */
/*
 * Abstract: the thread that tells other processes what this one's adapters do.
 *
 * Two locks. `life` is held while the server is started and ended, the join included; `list` guards the adapters' list
 * and is held while a snapshot is made into memory, never while something is sent. The thread takes `list` alone, so
 * that waiting for it under `life` ends.
 *
 * One reader at a time, each with a time limit: a reader that does not read keeps others waiting that long. Shutting
 * the listening socket down wakes the thread wherever it waits.
 *
 * After fork the child has no thread: it closes its copy of the socket, so that nobody connects to a name that does not
 * answer, and forgets the adapters, which are its parent's. It may open its own. Until the child has run so far, or a
 * spawned one has executed its program, the name of a socket that the parent has closed stays taken: where the name is
 * taken the thread tries again and again.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "provider/stat_server.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/library_thread.h"
#include "base/mutant.h"
#include "provider/adapter.h"
#include "provider/stat_json.h"

enum {
    READER_MS = 2000, /* what one reader may take */
    RETRY_MS = 100,   /* without descriptors for a reader; while the name is taken. The end waits as long for that */
    READERS = 16,     /* may wait to be served */
};

static struct {
    pthread_mutex_t life, list;
    LIST_HEAD(, adapter) adapters; /* list */
    uint32_t number;               /* list; of the newest adapter */
    int socket;                    /* life; -1: there is no server */
    pthread_t thread;              /* life */
    bool named;                    /* the thread's while there is one */
    atomic_bool stopping;
} server = { .life = PTHREAD_MUTEX_INITIALIZER, .list = PTHREAD_MUTEX_INITIALIZER, .socket = -1 };

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
    return peer.uid == geteuid() || peer.uid == 0 || MUTANT(obs_anybody_reads);
}

static int64_t now_ms(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* True: there is room before the time is over, and nobody wants the server to stop. */
static bool wait_for_room(int listener, int reader, int64_t end)
{
    struct pollfd fds[2] = { { .fd = reader, .events = POLLOUT }, { .fd = listener } };
    int64_t left = end - now_ms();

    if (MUTANT(obs_reader_has_all_time))
        left = INT32_MAX;
    if (left <= 0 || atomic_load(&server.stopping))
        return false;
    return poll(fds, 2, (int)left) > 0 && (fds[0].revents & POLLOUT) && !(fds[0].revents & (POLLERR | POLLHUP));
}

static void send_all(int listener, int reader, const char *from, size_t size)
{
    int64_t end = now_ms() + READER_MS;

    while (size > 0) {
        ssize_t n = send(reader, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            from += n;
            size -= (size_t)n;
        } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
            return;
        } else if (!wait_for_room(listener, reader, end)) {
            return;
        }
    }
}

static void serve(int listener, int reader)
{
    size_t size = 0;
    char *text = may_read(reader) ? snapshot(&size) : NULL;

    if (text)
        send_all(listener, reader, text, size);
    free(text);
    /* A child forked meanwhile has a copy: the reader is to see the end all the same. */
    (void)shutdown(reader, SHUT_RDWR);
    close(reader);
}

static bool take_name(int listener)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "openndk.stat.%ld", (long)getpid());
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);

    return bind(listener, (struct sockaddr *)&name, len) == 0 && listen(listener, READERS) == 0;
}

static void *run(void *arg)
{
    int listener = (int)(intptr_t)arg;

    while (!server.named && !atomic_load(&server.stopping)) {
        (void)poll(NULL, 0, RETRY_MS);
        server.named = !MUTANT(obs_taken_name_is_final) && take_name(listener);
    }
    while (!atomic_load(&server.stopping)) {
        int reader = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (reader >= 0) {
            serve(listener, reader);
        } else if (errno != EINTR && errno != ECONNABORTED) {
            struct pollfd stop = { .fd = listener };
            (void)poll(&stop, 1, RETRY_MS);
        }
    }
    return NULL;
}

/* ---- beginning and end ---- */

/* Under life. */
static void start(void)
{
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (s < 0)
        return;
    /* A reader that comes as soon as the adapter is open is to find it. */
    server.named = take_name(s);
    atomic_store(&server.stopping, false);
    int error = library_thread_create(&server.thread, NULL, run, (void *)(intptr_t)s);
    if (error) {
        close(s);
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
    close(server.socket);
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
    if (server.socket >= 0 && !MUTANT(obs_child_keeps_the_name))
        close(server.socket);
    server.socket = -1;
    after_fork();
}

static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork, in_child);
}

void stat_server_enter(struct adapter *a)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&server.life);
    pthread_mutex_lock(&server.list);
    a->number = ++server.number;
    LIST_INSERT_HEAD(&server.adapters, a, published);
    pthread_mutex_unlock(&server.list);
    if (server.socket < 0)
        start();
    pthread_mutex_unlock(&server.life);
}

void stat_server_leave(struct adapter *a)
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
