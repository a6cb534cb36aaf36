/* SPDX-License-Identifier: MIT */
/*
 * Manages the lifetime of NDK objects of all ten types.
 *
 * An object exists while it has references. The consumer has one reference, called the handle, which close drops. An
 * object that uses another object (the antecedent) is a successor of that object, and has a CHILD reference on it. Each
 * pending request, and each callback that is queued or running, has a reference on its object. Close refuses new calls,
 * runs the type's `cancel`, and drops the handle. When the last reference is dropped, the object ends. If close drops
 * that reference, the object ends in the closing thread. Otherwise the object ends on the shard's thread. The steps of
 * the end:
 *
 *     retire (if something of the type must end first)  ->  destroy (the type frees what the object owns)
 *     ->  close completion, if close returned PENDING
 *     ->  after the close completion: free the memory, drop the CHILD references on the antecedents
 *
 * The invariant: a close is pending while anything is outstanding, an antecedent outlives its successors' close
 * callbacks, and nothing accesses the object after its last callback.
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
 * A running call has a REF_INTERNAL reference. An object of the fabric that reports events to the NDK object has one,
 * too. kinds[] does not count REF_INTERNAL, because that would slow every post.
 */
enum object_ref { REF_HANDLE, REF_CHILD, REF_REQUEST, REF_CALLBACK, REF_INTERNAL, REF_KINDS };
enum { MAX_ANTECEDENTS = 6 };

struct object;
union live_entry;

struct object_type {
    NDK_OBJECT_TYPE ndk_type;
    /* Cancels the object's pending work. Called once by close, in the closing thread. May be NULL. */
    void (*cancel)(struct object *o);
    /*
     * Begins the work that must end before destroy. Called by the thread that drops the last reference. Returns true if
     * there is no such work. Otherwise the type's code calls object_retired once, in any thread, perhaps inside this
     * call. May be NULL.
     */
    bool (*retire)(struct object *o);
    /*
     * Frees everything that the object owns, but not the object. Runs in callback context or in the closing thread. May
     * be NULL.
     */
    void (*destroy)(struct object *o);
    /*
     * Fills the object's entry in the public lists. Returns false if the object must not be listed now. Requires the
     * lock of the adapter's lists. Not called for hidden objects. NULL if objects of this type are never listed.
     */
    bool (*describe)(struct object *o, union live_entry *entry);
};

struct adapter;

/* Each object's struct begins with its public struct (NDK_QP ...), and this struct follows immediately. */
struct object {
    const struct object_type *type;
    NDK_OBJECT_HEADER *header;
    void *memory; /* the object's struct, which is freed at the end */
    struct adapter *adapter;
    struct shard *_Atomic shard; /* the shard whose thread runs the object's callbacks */
    struct spin lock;            /* guards antecedents and `closing`; a leaf lock */
    atomic_uint refs;
    atomic_uint kinds[REF_KINDS]; /* only for reports and assertions */
    atomic_bool closing;
    bool close_pended; /* set before close drops the handle; reset if close returns STATUS_SUCCESS */
    struct object *antecedents[MAX_ANTECEDENTS];
    unsigned antecedent_count;
    NDK_FN_CREATE_COMPLETION create_done;
    void *create_context;
    NDK_FN_CLOSE_COMPLETION close_done;
    void *close_context;
    struct task finish;           /* the task that delivers a pended creation and later ends the object */
    LIST_ENTRY(object) live_link; /* live.c uses the members from here on */
    uint32_t live_id; /* unique, from 1, among the adapter's objects of this type; constant after the insertion */
    bool live_inserted;
    bool live_retiring;  /* no reference is left, so the fabric's object behind this one must not be accessed */
    bool live_hidden;    /* the object is ending, so only its struct object may be accessed */
    bool live_is_queued; /* the object is in live.closes, the queue of pending closes */
    TAILQ_ENTRY(object) live_close; /* link in live.closes */
    uint64_t live_closed_ns;        /* when the close began */
};

/* Initializes the header (version, type, NdkReserved zero) and the object with its HANDLE reference. */
void object_init(struct object *o, const struct object_type *type, NDK_OBJECT_HEADER *header, void *memory,
                 struct adapter *adapter, struct shard *shard);
void object_ref(struct object *o, enum object_ref kind);
void object_unref(struct object *o, enum object_ref kind);
/* Takes a reference and returns true. Returns false if the object is being closed. */
bool object_try_ref(struct object *o, enum object_ref kind);
/* Takes a CHILD reference on the antecedent, unless o has one already. The reference is dropped when o ends. */
void object_depend(struct object *o, struct object *antecedent);
/*
 * Drops the CHILD reference of o on the antecedent now, not when o ends. Does nothing if o has no such reference. Used
 * for the queue pair and the endpoint of a failed connection attempt.
 */
void object_undepend(struct object *o, struct object *antecedent);
/*
 * Returns true if o has a CHILD reference on the antecedent. It does not matter if the antecedent has been freed: the
 * function only compares pointers.
 */
bool object_depends_on(struct object *o, const struct object *antecedent);
bool object_is_closing(const struct object *o);
uint32_t object_users(const struct object *o); /* the number of objects that depend on o */
/* Returns `state`, or "closing" if the object is being closed. */
const char *object_state(const struct object *o, const char *state);
/*
 * Continues the end of the object after `retire` has returned false. The object's type calls this when the work that
 * `retire` began has ended.
 */
void object_retired(struct object *o);

/*
 * Queues a callback on the object's shard. Requires that the caller has taken a reference on the object. The task drops
 * this reference.
 */
void object_call(struct object *o, struct task *task);

/*
 * Closes the object for the consumer. If the object ends during this call, returns STATUS_SUCCESS and does not call
 * `done`. Otherwise returns STATUS_PENDING, and done(context) will be the object's last callback. The consumer must not
 * close an object twice. A second close returns STATUS_PENDING and does nothing else.
 */
NTSTATUS object_close(struct object *o, NDK_FN_CLOSE_COMPLETION done, void *context);

/*
 * Passes a new object to the consumer. Sets *out and returns STATUS_SUCCESS. If the adapter is configured to pend
 * creations, returns STATUS_PENDING instead and calls `done` in callback context. A create function that fails returns
 * its error inline and does not call this function.
 */
NTSTATUS object_created(struct adapter *adapter, struct object *o, NDK_FN_CREATE_COMPLETION done, void *context,
                        NDK_OBJECT_HEADER **out);

/*
 * A request of the consumer that completes later. An object has one such struct for each kind of request that can be
 * pending. request_begin takes a REF_REQUEST on the object. request_complete queues done(context, status) on the
 * object's shard. The REF_REQUEST is dropped after `done` has returned. The consumer may begin the request again inside
 * `done`.
 */
struct request {
    struct task task;
    struct object *object;
    NDK_FN_REQUEST_COMPLETION done;
    void *context;
    NTSTATUS status;
    atomic_bool pending; /* true from request_begin until shortly before `done`, or until request_cancel */
};
void request_begin(struct request *r, struct object *o, NDK_FN_REQUEST_COMPLETION done, void *context);
void request_complete(struct request *r, NTSTATUS status);
/* Ends a request without a callback, because the consumer's call returns the final status. */
void request_cancel(struct request *r);
bool request_is_pending(const struct request *r);

/* ---- Entries of dispatch tables that are the same for all types ---- */

enum { OBJECT_OFFSET = sizeof(NDK_QP) }; /* all public structs have the same size */
static_assert(sizeof(NDK_QP) == sizeof(NDK_ADAPTER) && sizeof(NDK_QP) == sizeof(NDK_CONNECTOR), "one size");

/* Returns the struct object that follows the public struct `header`. */
static inline struct object *object_of(NDK_OBJECT_HEADER *header)
{
    return (struct object *)((char *)header + OBJECT_OFFSET);
}
#define OBJECT_ASSERT_LAYOUT(tag)                                                                                      \
    static_assert(offsetof(struct tag, pub) == 0 && offsetof(struct tag, obj) == OBJECT_OFFSET, #tag)

/* The functions of the types NDK_FN_CLOSE_OBJECT and NDK_FN_QUERY_EXTENSION_INTERFACE. */
NTSTATUS object_ndk_close(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context);
NTSTATUS object_ndk_query_extension(NDK_OBJECT_HEADER *header, GUID *id, NDK_VERSION version,
                                    NDK_EXTENSION_INTERFACE *out);

#endif
