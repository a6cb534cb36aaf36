/* SPDX-License-Identifier: MIT */
/* The thread that owns the sockets of Winsock Kernel: see socket.h. */
#include <pthread.h>
#include <stdlib.h>

#include "wdm.h"

#include "wdk/ke/thread.h"
#include "wdk/wsk/socket.h"

enum { READY_MOST = 32, STARVED_MS = 20 };

static pthread_mutex_t life = PTHREAD_MUTEX_INITIALIZER; /* over starting and stopping; never taken by the thread */
static pthread_t thread;
static bool runs;
static atomic_bool stopping;
static atomic_uint sockets;
static struct wsk_poll *host;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over posts, woken */
static LIST_ENTRY posts = { &posts, &posts };
static bool woken; /* it will look at the posts before it sleeps */

static LIST_ENTRY again = { &again, &again }; /* the thread's own */
static bool starved;

/* ---- Posts ------------------------------------------------------------------------------------------------------- */

/* The post may be run, and the thread and its host be gone, as soon as the lock is free. */
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

/* All that is in one list goes over to the other, which was none before. */
static void move(LIST_ENTRY *from, LIST_ENTRY *to)
{
    link_init(to);
    if (link_empty(from))
        return;
    *to = *from;
    to->Flink->Blink = to->Blink->Flink = to;
    link_init(from);
}

/* Those that are there now: what they post in their turn comes after the host's sockets have been looked at. */
static void run_posts(void)
{
    LIST_ENTRY now;

    pthread_mutex_lock(&lock);
    move(&posts, &now);
    pthread_mutex_unlock(&lock);
    while (!link_empty(&now)) {
        struct wsk_post *post = CONTAINING_RECORD(now.Flink, struct wsk_post, link);

        link_remove(&post->link);
        post->run(post);
    }
}

/* If there are none, the next one has to wake the thread. */
static bool has_posts(void)
{
    bool has;

    pthread_mutex_lock(&lock);
    has = woken = !link_empty(&posts);
    pthread_mutex_unlock(&lock);
    return has;
}

/* ---- Sockets ----------------------------------------------------------------------------------------------------- */

void wsk_thread_again(struct wsk_socket *s, bool is_starved)
{
    link_remove(&s->again);
    link_insert_before(&again, &s->again);
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

/* Those that are there now: a pump may put its socket in again. */
static void run_again(void)
{
    LIST_ENTRY now;

    starved = false;
    move(&again, &now);
    while (!link_empty(&now)) {
        struct wsk_socket *s = CONTAINING_RECORD(now.Flink, struct wsk_socket, again);

        link_remove(&s->again);
        wsk_socket_pump(s);
    }
}

static int patience(void)
{
    if (has_posts())
        return 0;
    return link_empty(&again) ? -1 : starved ? STARVED_MS : 0;
}

/* A socket is freed by a post or by its pump, so that those of one round are all there still. */
static void *run(void *argument)
{
    struct wsk_ready ready[READY_MOST];

    (void)argument;
    (void)irql_set(DISPATCH_LEVEL);
    while (!atomic_load(&stopping)) {
        int n = wsk_host_wait(host, ready, READY_MOST, patience());

        for (int i = 0; i < n; i++)
            if (ready[i].tag)
                wsk_socket_ready(ready[i].tag, ready[i].failed);
        run_posts();
        run_again();
    }
    return NULL;
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

static bool start(void)
{
    host = wsk_host_poll_new();
    if (!host)
        return false;
    atomic_store(&stopping, false);
    pthread_mutex_lock(&lock);
    woken = false;
    pthread_mutex_unlock(&lock);
    runs = thread_create(&thread, NULL, run, NULL) == 0;
    if (!runs)
        wsk_host_poll_free(host);
    return runs;
}

bool wsk_thread_take(void)
{
    bool taken;

    pthread_mutex_lock(&life);
    taken = runs || start();
    if (taken)
        atomic_fetch_add(&sockets, 1);
    pthread_mutex_unlock(&life);
    return taken;
}

void wsk_thread_give(void)
{
    atomic_fetch_sub(&sockets, 1);
}

void wsk_thread_stop(void)
{
    pthread_mutex_lock(&life);
    if (runs && atomic_load(&sockets) == 0) {
        atomic_store(&stopping, true);
        wsk_host_wake(host);
        pthread_join(thread, NULL);
        wsk_host_poll_free(host);
        runs = false;
    }
    pthread_mutex_unlock(&life);
}
