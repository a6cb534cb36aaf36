/* SPDX-License-Identifier: MIT */
/* Requests of the service's thread that it waits for: creates, closes, registrations. */
#ifndef HOSTILE_WAIT_H
#define HOSTILE_WAIT_H

#include <pthread.h>
#include <stdbool.h>

#include "ndk/ndkpi.h"

struct wait {
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool done;
    NTSTATUS status;
    NDK_OBJECT_HEADER *object;
};

void wait_init(struct wait *w);
void wait_created(void *context, NTSTATUS status, NDK_OBJECT_HEADER *object);
void wait_requested(void *context, NTSTATUS status);
/* Waits if status is STATUS_PENDING. A created object is stored in *object. */
NTSTATUS wait_for(struct wait *w, NTSTATUS status, void *object);
void wait_close(struct wait *w, NDK_OBJECT_HEADER *object, NDK_FN_CLOSE_OBJECT close);

#endif
