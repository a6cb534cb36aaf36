/* SPDX-License-Identifier: MIT */
/* Requests that are waited for: see wait.h. */
#include "hostile/wait.h"

#include <string.h>

void wait_init(struct wait *w)
{
    memset(w, 0, sizeof *w);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->change, NULL);
}

void wait_created(void *context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    struct wait *w = context;

    pthread_mutex_lock(&w->lock);
    w->status = status;
    w->object = object;
    w->done = true;
    pthread_cond_signal(&w->change);
    pthread_mutex_unlock(&w->lock);
}

void wait_requested(void *context, NTSTATUS status)
{
    wait_created(context, status, NULL);
}

static void closed(void *context)
{
    wait_created(context, STATUS_SUCCESS, NULL);
}

NTSTATUS wait_for(struct wait *w, NTSTATUS status, void *object)
{
    if (status != STATUS_PENDING)
        return status;
    pthread_mutex_lock(&w->lock);
    while (!w->done)
        pthread_cond_wait(&w->change, &w->lock);
    w->done = false;
    status = w->status;
    pthread_mutex_unlock(&w->lock);
    if (object && NT_SUCCESS(status))
        memcpy(object, &w->object, sizeof w->object);
    return status;
}

void wait_close(struct wait *w, NDK_OBJECT_HEADER *object, NDK_FN_CLOSE_OBJECT close)
{
    (void)wait_for(w, close(object, closed, w), NULL);
}
