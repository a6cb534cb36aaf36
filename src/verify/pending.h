/* SPDX-License-Identifier: MIT */
/*
 * NDK calls whose completion callback is still to come, and what happens to their contexts meanwhile. A context in
 * pool is found by whoever frees the pool (inuse.h). One on the stack of the thread that called is dead when that
 * thread has returned from the function that it is in, which is seen when the completion comes, or with the thread's
 * next NDK call.
 */
#ifndef WDK_NDK_PENDING_H
#define WDK_NDK_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "verify/stack.h"
#include "wdk/common/inuse.h"

/* Embedded in what the call is remembered by. */
struct ndk_pending {
    TAILQ_ENTRY(ndk_pending) list;
    const char *routine;  /* "NdkConnect"; NULL: not in the list */
    const void *context;
    int thread;           /* that called, where the context is on its stack; else 0 */
    bool reported;
    struct stack by;
};

/* Before the provider is called. Nothing while checks are off. */
void ndk_pending_begin(struct ndk_pending *p, const char *routine, const void *context);
/* It will not complete by a callback: it was answered inline. */
void ndk_pending_drop(struct ndk_pending *p);
/* Its callback comes: in front of it. frame: the caller's. */
void ndk_pending_end(struct ndk_pending *p, const void *frame);
/* The thread makes another call, from the frame: what has died on its stack since is reported. */
void ndk_pending_look(const char *routine, const void *frame);
/* For inuse.h. */
bool ndk_pending_find(const void *start, size_t size, struct inuse_found *out);

#endif
