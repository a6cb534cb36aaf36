/* SPDX-License-Identifier: MIT */
/*
 * Waits for NDK calls that return STATUS_PENDING. The functions of this file need a thread that may wait: see host.h.
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

/* The state of a wait for one NDK call. It must exist until the call has completed. */
struct target_wait {
    struct host_semaphore done;
    NTSTATUS status;
    NDK_OBJECT_HEADER *object;
};

void target_wait_init(struct target_wait *wait);
void target_wait_fini(struct target_wait *wait);

/*
 * The callbacks of the call. They store its result, and wake the thread that waits. `context` is the struct
 * target_wait.
 */
void target_on_created(void *context, NTSTATUS status, NDK_OBJECT_HEADER *object);
void target_on_completed(void *context, NTSTATUS status);

/* Waits if `status` is STATUS_PENDING. Returns the final status of the call that has returned `status`. */
NTSTATUS target_wait_for(struct target_wait *wait, NTSTATUS status);
/*
 * Works like target_wait_for, but for a call that creates an object. `object` points to the object's pointer. If the
 * call was pending, the pointer receives the created object.
 */
NTSTATUS target_wait_create(struct target_wait *wait, NTSTATUS status, void *object);
/* Closes an object and waits until the close has completed. */
void target_close(NDK_OBJECT_HEADER *object, NDK_FN_CLOSE_OBJECT close);

#endif
