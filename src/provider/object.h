/* SPDX-License-Identifier: MIT */
/*
 * Lifetime of all ten NDK object types: one mechanism.
 *
 * An object lives on named references. The handle is the consumer's and goes at close; each successor holds its
 * antecedents (CHILD); each pending request and each callback that is queued or runs holds its object. Close refuses
 * what is new, starts the type's cancel, and drops the handle. Who drops the last reference finishes the object:
 *
 *     retire (where something of the type's has to end first)  ->  destroy (the type frees what is inside)
 *     ->  close completion, where close answered PENDING
 *     ->  only after it returned: the CHILD references on the antecedents go, and the memory is freed
 *
 * So a close stays pending while anything is outstanding, an antecedent outlives its successors' close callbacks, and
 * nothing touches the object after its last callback.
 */
#ifndef PROVIDER_OBJECT_H
#define PROVIDER_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/spin.h"
#include "base/task.h"
#include "ndk/ndkpi.h"

/*
 * LOOKUP: a call of the consumer's, or an upcall, that looks at the object until it returns; the only one not counted
 * by kind, as every post takes one.
 */
enum object_ref { REF_HANDLE, REF_CHILD, REF_REQUEST, REF_CALLBACK, REF_LOOKUP, REF_KINDS };
enum { OBJECT_ANTECEDENTS = 6 };

struct object;

struct object_type {
    NDK_OBJECT_TYPE ndk_type;
    /* Close has begun: cancel what is pending. Called once, in the closing thread. May be NULL. */
    void (*cancel)(struct object *o);
    /*
     * No reference is left: start what has to end before destroy. True: nothing has to. False: object_retired follows,
     * once, from any thread, perhaps inside this call. Any thread that drops the last reference. May be NULL.
     */
    bool (*retire)(struct object *o);
    /* Free what the object owns, not the object itself. Callback context, or the closing thread. */
    void (*destroy)(struct object *o);
};

struct adapter;

/* Embedded in each object's struct right behind the public one (NDK_QP ...), which that struct begins with. */
struct object {
    const struct object_type *type;
    NDK_OBJECT_HEADER *header;
    void *memory;                 /* what free() takes at the end */
    struct adapter *adapter;
    struct shard *_Atomic shard;  /* delivers its callbacks */
    struct spin lock;             /* guards antecedents and `closing`; a leaf */
    atomic_uint refs;
    atomic_uint kinds[REF_KINDS]; /* for reports and assertions alone */
    atomic_bool closing;
    bool close_pended;            /* written by close before it drops the handle */
    struct object *antecedents[OBJECT_ANTECEDENTS];
    unsigned antecedent_count;
    NDK_FN_CREATE_COMPLETION create_done;
    void *create_context;
    NDK_FN_CLOSE_COMPLETION close_done;
    void *close_context;
    struct task finish;     /* the pended creation's delivery, later the end of the object */
    LIST_ENTRY(object) live_link; /* live.c's, as are the next two */
    bool live_entered;
    bool live_hidden;             /* it ends: nothing but this struct can be looked at */
};

/* Initialises header (version, type, NdkReserved zero) and the object with its HANDLE reference. */
void object_init(struct object *o, const struct object_type *type, NDK_OBJECT_HEADER *header, void *memory,
                 struct adapter *adapter, struct shard *shard);
void object_ref(struct object *o, enum object_ref kind);
void object_unref(struct object *o, enum object_ref kind);
/* Only while the handle is held (not closing): for calls that start something. False: the object is being closed. */
bool object_try_ref(struct object *o, enum object_ref kind);
/* Takes a CHILD reference on an antecedent for the rest of o's life. One that is held already is not taken again. */
void object_depend(struct object *o, struct object *antecedent);
/* Gives it back early: a failed attempt's queue pair or endpoint. Nothing where it is not held. */
void object_undepend(struct object *o, struct object *antecedent);
bool object_is_closing(const struct object *o);
/* The end of what retire began. */
void object_retired(struct object *o);

/* Queues task on the object's shard with shard_call. The caller holds a reference for the task, which gives it back. */
void object_call(struct object *o, struct task *task);

/*
 * The consumer's close. STATUS_SUCCESS: gone, no callback will come. STATUS_PENDING: done(context) is the object's last
 * callback. A second close is the consumer's bug and is ignored: it answers STATUS_PENDING and has no callback.
 */
NTSTATUS object_close(struct object *o, NDK_FN_CLOSE_COMPLETION done, void *context);

/*
 * Hands a finished object to its creator: inline (STATUS_SUCCESS, *out written), or, where the adapter is configured to
 * pend creations, by STATUS_PENDING and done from callback context. A creation that fails does so inline, without this.
 */
NTSTATUS object_created(struct adapter *adapter, struct object *o, NDK_FN_CREATE_COMPLETION done, void *context,
                        NDK_OBJECT_HEADER **out);

/*
 * A request of the consumer's that is answered later: embedded, one for each kind that an object can have pending.
 * request_begin takes REF_REQUEST; request_complete queues done(context, status) on the object's shard and drops the
 * reference after it returned. From inside done on, the request may begin again.
 */
struct request {
    struct task task;
    struct object *object;
    NDK_FN_REQUEST_COMPLETION done;
    void *context;
    NTSTATUS status;
    atomic_bool pending; /* from request_begin until done is about to be called, or request_cancel */
};
void request_begin(struct request *r, struct object *o, NDK_FN_REQUEST_COMPLETION done, void *context);
void request_complete(struct request *r, NTSTATUS status);
/* The request ends inline: no callback. */
void request_cancel(struct request *r);
bool request_is_pending(const struct request *r);

/* ---- Entries of dispatch tables that are the same for all types ---- */

enum { OBJECT_OFFSET = sizeof(NDK_QP) }; /* all public structs have one size */
static_assert(sizeof(NDK_QP) == sizeof(NDK_ADAPTER) && sizeof(NDK_QP) == sizeof(NDK_CONNECTOR), "one size");

/* The object behind a public struct. */
static inline struct object *object_of(NDK_OBJECT_HEADER *header)
{
    return (struct object *)((char *)header + OBJECT_OFFSET);
}
#define OBJECT_ASSERT_LAYOUT(tag) \
    static_assert(offsetof(struct tag, pub) == 0 && offsetof(struct tag, obj) == OBJECT_OFFSET, #tag)

/* NDK_FN_CLOSE_OBJECT and NDK_FN_QUERY_EXTENSION_INTERFACE. */
NTSTATUS object_ndk_close(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context);
NTSTATUS object_ndk_query_extension(NDK_OBJECT_HEADER *header, GUID *id, NDK_VERSION version,
                                    NDK_EXTENSION_INTERFACE *out);

#endif
