/* SPDX-License-Identifier: MIT */
/*
 * Waiting for NDK calls that return STATUS_PENDING. The functions of this file wait: see host.h.
 *
 *     struct target_wait wait;
 *
 *     target_wait_init(&wait);
 *     status = target_wait_create(&wait, adapter->Dispatch->NdkCreatePd(adapter, target_on_created, &wait, &pd), &pd);
 *     target_wait_fini(&wait);
 */
#ifndef NVME_TARGET_WAIT_H
#define NVME_TARGET_WAIT_H

#include "host.h"

/* The wait for one call at a time. It must exist until the call has completed. */
struct target_wait {
    struct host_semaphore done;
    NTSTATUS status;
    NDK_OBJECT_HEADER *object;
};

void target_wait_init(struct target_wait *wait);
void target_wait_fini(struct target_wait *wait);

/* Completion routines. Their context is the struct target_wait. */
void target_on_created(void *context, NTSTATUS status, NDK_OBJECT_HEADER *object);
void target_on_completed(void *context, NTSTATUS status);

/* Returns the final status of a call that returned `status`. */
NTSTATUS target_wait_for(struct target_wait *wait, NTSTATUS status);
/* The same for a create. If the create was pending, *object, a pointer to an object, receives the object. */
NTSTATUS target_wait_create(struct target_wait *wait, NTSTATUS status, void *object);
/* Closes an object and waits until the close has completed. */
void target_close(NDK_OBJECT_HEADER *object, NDK_FN_CLOSE_OBJECT close);

#endif
