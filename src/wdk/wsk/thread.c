/* SPDX-License-Identifier: MIT */
/*
 * Runs the thread that owns the sockets of Winsock Kernel: see socket.h. The first socket starts the thread, which runs
 * until WskDeregister of the last client calls wsk_thread_stop.
 */
#include <pthread.h>
#include <stdlib.h>

#include "wdm.h"

#include "wdk/ke/thread.h"
#include "wdk/wsk/socket.h"

enum { MAX_READY = 32, STARVED_MS = 20 };

/*
 * Guards start and stop. wsk_thread_stop waits for the end of the socket thread with this lock held. The socket thread
 * locks it, too, when it accepts a connection. This is no deadlock, because wsk_thread_stop waits only if `sockets` is
 * 0, and a connection is accepted only while `sockets` includes its listener.
 */
static pthread_mutex_t life = PTHREAD_MUTEX_INITIALIZER;
static pthread_t thread;
static bool is_running;
static atomic_bool stopping;
static atomic_uint sockets;
static struct wsk_poll *host;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `posts` and `woken` */
static LIST_ENTRY posts = { &posts, &posts };
static bool woken; /* the socket thread will run the queued posts without another wake */

static LIST_ENTRY pump_again = { &pump_again, &pump_again }; /* only the socket thread uses pump_again and starved */
static bool starved;

/* ---- Posts ------------------------------------------------------------------------------------------------------- */

/*
 * Queues the post and wakes the socket thread. The wake comes before the unlock: after the unlock the socket thread may
 * run the post and end, and then `host` is freed.
 */
void wsk_thread_post(struct wsk_post *post, void (*run)(struct wsk_post *post))
{
    post->run = run;
    pthread_mutex_lock(&lock);
    link_insert_before(&posts, &post->link);
    if (!woken)
        wsk_host_wake(host);
    woken = true;
    pthread_mutex_unlock(&lock);
}

/* Initializes `to`, and moves all entries of `from` to it. */
static void wsk_thread_move_list(LIST_ENTRY *from, LIST_ENTRY *to)
{
    link_init(to);
    if (link_empty(from))
        return;
    *to = *from;
    to->Flink->Blink = to->Blink->Flink = to;
    link_init(from);
}

/* Runs the queued posts. A post that is queued meanwhile runs in the next round, after the ready sockets. */
static void wsk_thread_run_posts(void)
{
    LIST_ENTRY now;

    pthread_mutex_lock(&lock);
    wsk_thread_move_list(&posts, &now);
    pthread_mutex_unlock(&lock);
    while (!link_empty(&now)) {
        struct wsk_post *post = CONTAINING_RECORD(now.Flink, struct wsk_post, link);

        link_remove(&post->link);
        post->run(post);
    }
}

/* Returns true if there are posts. Otherwise clears `woken`, so that the next post wakes the thread. */
static bool wsk_thread_has_posts(void)
{
    bool has;

    pthread_mutex_lock(&lock);
    has = woken = !link_empty(&posts);
    pthread_mutex_unlock(&lock);
    return has;
}

/* ---- Sockets ----------------------------------------------------------------------------------------------------- */

void wsk_thread_pump_again(struct wsk_socket *s, bool is_starved)
{
    link_remove(&s->pump_again);
    link_insert_before(&pump_again, &s->pump_again);
    starved = starved || is_starved;
}

NTSTATUS wsk_thread_watch(struct wsk_socket *s)
{
    int error = wsk_host_watch(host, s->fd, s);

    return error ? wsk_status(error) : STATUS_SUCCESS;
}

void wsk_thread_unwatch(struct wsk_socket *s)
{
    wsk_host_unwatch(host, s->fd);
}

/* Pumps the sockets that are in pump_again now. A socket that is inserted meanwhile is pumped in the next round. */
static void wsk_thread_run_pumps(void)
{
    LIST_ENTRY now;

    starved = false;
    wsk_thread_move_list(&pump_again, &now);
    while (!link_empty(&now)) {
        struct wsk_socket *s = CONTAINING_RECORD(now.Flink, struct wsk_socket, pump_again);

        link_remove(&s->pump_again);
        wsk_socket_pump(s);
    }
}

static int wsk_thread_timeout_ms(void)
{
    if (wsk_thread_has_posts())
        return 0;
    return link_empty(&pump_again) ? -1 : starved ? STARVED_MS : 0;
}

/*
 * Handles all ready sockets first, then runs posts and pumps sockets: a post or a pump may free a socket at which
 * `ready` points.
 */
static void *wsk_thread_run(void *argument)
{
    struct wsk_ready ready[MAX_READY];

    (void)argument;
    (void)irql_set(DISPATCH_LEVEL);
    while (!atomic_load(&stopping)) {
        int n = wsk_host_wait(host, ready, MAX_READY, wsk_thread_timeout_ms());

        for (int i = 0; i < n; i++)
            if (ready[i].tag)
                wsk_socket_handle_ready(ready[i].tag, ready[i].failed);
        wsk_thread_run_posts();
        wsk_thread_run_pumps();
    }
    return NULL;
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

static bool wsk_thread_start(void)
{
    host = wsk_host_poll_new();
    if (!host)
        return false;
    atomic_store(&stopping, false);
    pthread_mutex_lock(&lock);
    woken = false;
    pthread_mutex_unlock(&lock);
    is_running = thread_create(&thread, NULL, wsk_thread_run, NULL) == 0;
    if (!is_running)
        wsk_host_poll_free(host);
    return is_running;
}

bool wsk_thread_acquire(void)
{
    bool started;

    pthread_mutex_lock(&life);
    started = is_running || wsk_thread_start();
    if (started)
        atomic_fetch_add(&sockets, 1);
    pthread_mutex_unlock(&life);
    return started;
}

void wsk_thread_release(void)
{
    atomic_fetch_sub(&sockets, 1);
}

void wsk_thread_stop(void)
{
    pthread_mutex_lock(&life);
    if (is_running && atomic_load(&sockets) == 0) {
        atomic_store(&stopping, true);
        wsk_host_wake(host);
        pthread_join(thread, NULL);
        wsk_host_poll_free(host);
        is_running = false;
    }
    pthread_mutex_unlock(&life);
}
