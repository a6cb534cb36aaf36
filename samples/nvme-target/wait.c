/* SPDX-License-Identifier: MIT */
/* Waits for NDK calls: see wait.h. */
#include "wait.h"

#include <string.h>

void target_wait_init(struct target_wait *wait)
{
    host_semaphore_init(&wait->done);
    wait->status = STATUS_SUCCESS;
    wait->object = NULL;
}

void target_wait_fini(struct target_wait *wait)
{
    host_semaphore_fini(&wait->done);
}

void target_on_created(void *context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    struct target_wait *wait = context;

    wait->status = status;
    wait->object = object;
    host_semaphore_post(&wait->done); /* the waiter may return and free `wait` now */
}

void target_on_completed(void *context, NTSTATUS status)
{
    target_on_created(context, status, NULL);
}

static void target_on_closed(void *context)
{
    target_on_created(context, STATUS_SUCCESS, NULL);
}

NTSTATUS target_wait_for(struct target_wait *wait, NTSTATUS status)
{
    if (status != STATUS_PENDING)
        return status;
    host_semaphore_wait(&wait->done);
    return wait->status;
}

NTSTATUS target_wait_create(struct target_wait *wait, NTSTATUS status, void *object)
{
    bool is_pending = status == STATUS_PENDING;

    status = target_wait_for(wait, status);
    if (is_pending && NT_SUCCESS(status))
        memcpy(object, &wait->object, sizeof wait->object);
    return status;
}

void target_close(NDK_OBJECT_HEADER *object, NDK_FN_CLOSE_OBJECT close)
{
    struct target_wait wait;

    target_wait_init(&wait);
    target_wait_for(&wait, close(object, target_on_closed, &wait));
    target_wait_fini(&wait);
}
