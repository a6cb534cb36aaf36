/* SPDX-License-Identifier: MIT */
/*
 * Lifetime of all ten NDK object types: one mechanism.
 *
 * An object lives on named references. The handle is the consumer's and goes at close; each successor holds its
 * antecedents (CHILD); each pending request and each callback that is queued or runs holds its object. Close refuses
 * what is new, starts the type's cancel, and drops the handle. Who drops the last reference finishes the object:
 *
 *     destroy (the type frees what is inside)  ->  close completion, where close answered PENDING
 *     ->  only after it returned: the CHILD references on the antecedents go  ->  memory is freed
 *
 * So a close stays pending while anything is outstanding, an antecedent outlives its successors' close callbacks, and
 * nothing touches the object after its last callback.
 */
#ifndef PROVIDER_OBJECT_H
#define PROVIDER_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/spin.h"
#include "engine/shard.h"
#include "ndk/ndkpi.h"

enum object_ref { REF_HANDLE, REF_CHILD, REF_REQUEST, REF_CALLBACK, REF_LOOKUP, REF_KINDS };
enum { OBJECT_ANTECEDENTS = 6 };

struct object;

struct object_type {
    NDK_OBJECT_TYPE ndk_type;
    /* Close has begun: cancel what is pending. Called once, in the closing thread. May be NULL. */
    void (*cancel)(struct object *o);
    /* No reference is left: free what the object owns, not the object itself. Any thread that drops the last one. */
    void (*destroy)(struct object *o);
};

struct adapter;

/* Embedded in each object's struct, which begins with the public one (NDK_QP ...). */
struct object {
    const struct object_type *type;
    NDK_OBJECT_HEADER *header;
    void *memory;                 /* what free() takes at the end */
    struct adapter *adapter;
    struct shard *_Atomic shard;  /* delivers its callbacks */
    struct spin lock;             /* guards antecedents and `closing`; a leaf */
    atomic_uint refs;
    atomic_uint kinds[REF_KINDS]; /* for reports alone */
    atomic_bool closing;
    bool close_pended;            /* written by close before it drops the handle */
    struct object *antecedents[OBJECT_ANTECEDENTS];
    unsigned antecedent_count;
    NDK_FN_CLOSE_COMPLETION close_done;
    void *close_context;
    struct shard_task finish;
};

/* Initialises header (version, type, NdkReserved zero) and the object with its HANDLE reference. */
void object_init(struct object *o, const struct object_type *type, NDK_OBJECT_HEADER *header, void *memory,
                 struct adapter *adapter, struct shard *shard);
void object_ref(struct object *o, enum object_ref kind);
void object_unref(struct object *o, enum object_ref kind);
/* Only while the handle is held (not closing): for calls that start something. False: the object is being closed. */
bool object_try_ref(struct object *o, enum object_ref kind);
/* Takes a CHILD reference on an antecedent for the rest of o's life. */
void object_depend(struct object *o, struct object *antecedent);
bool object_is_closing(const struct object *o);

/*
 * The consumer's close. STATUS_SUCCESS: gone, no callback will come. STATUS_PENDING: done(context) is the object's last
 * callback. A second close is the consumer's bug and is ignored: it answers STATUS_PENDING and no callback comes for it.
 */
NTSTATUS object_close(struct object *o, NDK_FN_CLOSE_COMPLETION done, void *context);

/*
 * Hands a finished object to its creator: inline (STATUS_SUCCESS, *out written), or, where the adapter is configured to
 * pend creations, by STATUS_PENDING and done from callback context. status other than SUCCESS: object is NULL.
 */
NTSTATUS object_created(struct adapter *adapter, struct object *o, NDK_FN_CREATE_COMPLETION done, void *context,
                        NDK_OBJECT_HEADER **out);

/*
 * A request of the consumer's that is answered later: embedded, one for each kind that an object can have pending.
 * request_begin takes REF_REQUEST; request_complete queues done(context, status) on the object's shard and drops the
 * reference after it returned.
 */
struct request {
    struct shard_task task;
    struct object *object;
    NDK_FN_REQUEST_COMPLETION done;
    void *context;
    NTSTATUS status;
};
void request_begin(struct request *r, struct object *o, NDK_FN_REQUEST_COMPLETION done, void *context);
void request_complete(struct request *r, NTSTATUS status);
/* The request ends inline: no callback. */
void request_cancel(struct request *r);

#endif
