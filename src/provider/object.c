/* SPDX-License-Identifier: MIT */
/*
 * Abstract: creation, requests, close and end of NDK objects. The one place that calls a consumer's completion routine.
 *
 *   state      handle  references    what may happen
 *   MADE       held    handle        object_created, or object_unref(HANDLE) by a creator that gives up
 *   OPEN       held    any           calls, requests, callbacks, successors
 *   CLOSING    held    any           `closing` is set, cancel runs; object_try_ref fails from here on
 *   DRAINING   gone    others        close has answered PENDING; references only go, each when its part has ended
 *   RETIRING   gone    none          retire has begun something that has not ended
 *   FINISHED   gone    none          destroy, close completion, antecedents, memory
 *
 *   from       event                                        to          by
 *   MADE       object_created                               OPEN        the creating thread
 *   OPEN       object_close                                 CLOSING     the closing thread
 *   CLOSING    the handle goes, others are left             DRAINING    the closing thread: STATUS_PENDING
 *   CLOSING    the handle was the last reference            RETIRING    the closing thread
 *   DRAINING   the last reference goes                      RETIRING    whoever drops it
 *   RETIRING   retire answered true, in object_close        FINISHED    the closing thread: STATUS_SUCCESS, no callback
 *   RETIRING   retire answered true, elsewhere              FINISHED    the object's shard, in callback context
 *   RETIRING   object_retired                               FINISHED    the object's shard, in callback context
 *
 * Invariants:
 *   1. The thread whose decrement made the count zero, and no other, finishes the object. The count never rises from
 *      zero: a reference is taken by who holds another, or, under the lock, before `closing` is set, which precedes
 *      the end of the handle.
 *   2. close answers SUCCESS exactly when its own decrement was the last and retire had nothing to wait for. A
 *      decrement elsewhere can be the last only after close's, so that close has answered, or will answer, PENDING.
 *   3. A CHILD reference goes when the close completion of its owner has returned. So an antecedent's close completion
 *      begins after every successor's has returned, and the adapter's end is after all of them.
 *   4. No lock is held, and no shard is owned, while a consumer is called.
 *   5. After its last decrement, or after it has queued the object's end, a thread does not look at the object again.
 *      (The shard it is still inside of then waits for such visitors before it goes.)
 */
#include "provider/object.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "provider/adapter.h"

static void run_finish(struct task *task);
static void run_created(struct task *task);
static void run_request(struct task *task);

static struct object *finish_object(struct task *task)
{
    return (struct object *)((char *)task - offsetof(struct object, finish));
}

void object_init(struct object *o, const struct object_type *type, NDK_OBJECT_HEADER *header, void *memory,
                 struct adapter *adapter, struct shard *shard)
{
    memset(o, 0, sizeof(*o));
    memset(header, 0, sizeof(*header));
    header->Version = adapter->version;
    header->ObjectType = type->ndk_type;
    o->type = type;
    o->header = header;
    o->memory = memory;
    o->adapter = adapter;
    atomic_init(&o->shard, shard);
    spin_init(&o->lock);
    atomic_init(&o->refs, 1);
    for (int kind = 0; kind < REF_KINDS; kind++)
        atomic_init(&o->kinds[kind], kind == REF_HANDLE);
    atomic_init(&o->closing, false);
}

void object_ref(struct object *o, enum object_ref kind)
{
    unsigned before = atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);

    assert(before > 0);
    (void)before;
    if (kind != REF_LOOKUP)
        atomic_fetch_add_explicit(&o->kinds[kind], 1, memory_order_relaxed);
}

bool object_try_ref(struct object *o, enum object_ref kind)
{
    spin_lock(&o->lock);
    bool open = !atomic_load_explicit(&o->closing, memory_order_relaxed);
    if (open)
        object_ref(o, kind);
    spin_unlock(&o->lock);
    return open;
}

bool object_is_closing(const struct object *o)
{
    return atomic_load_explicit(&o->closing, memory_order_acquire);
}

/* True: it was the last, and everything that was done under the others is seen by the caller. */
static bool drop(struct object *o, enum object_ref kind)
{
    if (kind != REF_LOOKUP) {
        unsigned had = atomic_fetch_sub_explicit(&o->kinds[kind], 1, memory_order_relaxed);

        assert(had > 0);
        (void)had;
    }
    return atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) == 1;
}

/* No reference is left. True: it can be destroyed now. False: it may be gone already. */
static bool retire(struct object *o)
{
    for (int kind = 0; kind < REF_KINDS; kind++)
        assert(atomic_load_explicit(&o->kinds[kind], memory_order_relaxed) == 0);
    return !o->type->retire || o->type->retire(o);
}

void object_unref(struct object *o, enum object_ref kind)
{
    if (drop(o, kind) && retire(o))
        object_retired(o);
}

void object_retired(struct object *o)
{
    o->finish.run = run_finish;
    object_call(o, &o->finish);
}

void object_call(struct object *o, struct task *task)
{
    o->adapter->fabric->ops->call(atomic_load(&o->shard), task);
}

void object_depend(struct object *o, struct object *antecedent)
{
    bool held = false;

    spin_lock(&o->lock);
    for (unsigned i = 0; i < o->antecedent_count; i++)
        held = held || o->antecedents[i] == antecedent;
    if (!held) {
        assert(o->antecedent_count < OBJECT_ANTECEDENTS);
        object_ref(antecedent, REF_CHILD);
        o->antecedents[o->antecedent_count++] = antecedent;
    }
    spin_unlock(&o->lock);
}

void object_undepend(struct object *o, struct object *antecedent)
{
    bool held = false;

    spin_lock(&o->lock);
    for (unsigned i = 0; i < o->antecedent_count && !held; i++) {
        if (o->antecedents[i] == antecedent) {
            o->antecedents[i] = o->antecedents[--o->antecedent_count];
            held = true;
        }
    }
    spin_unlock(&o->lock);
    if (held)
        object_unref(antecedent, REF_CHILD);
}

/* The object ends here. Its antecedents are let go of last: they outlive the callback, and this function's work. */
static void finish(struct object *o)
{
    struct object *antecedents[OBJECT_ANTECEDENTS];
    struct adapter *adapter = o->adapter;
    unsigned count = o->antecedent_count;

    memcpy(antecedents, o->antecedents, sizeof(antecedents));
    live_hide(&adapter->live, o);
    o->type->destroy(o);
    if (o->close_pended && o->close_done) {
        o->close_done(o->close_context);
    }
    live_leave(&adapter->live, o);
    free(o->memory);
    for (unsigned i = 0; i < count; i++)
        object_unref(antecedents[i], REF_CHILD);
}

static void run_finish(struct task *task)
{
    finish(finish_object(task));
}

static bool begin_close(struct object *o)
{
    spin_lock(&o->lock);
    bool first = !atomic_load_explicit(&o->closing, memory_order_relaxed);
    atomic_store_explicit(&o->closing, true, memory_order_release);
    spin_unlock(&o->lock);
    return first;
}

NTSTATUS object_close(struct object *o, NDK_FN_CLOSE_COMPLETION done, void *context)
{
    if (!begin_close(o))
        return STATUS_PENDING;
    o->close_done = done;
    o->close_context = context;
    o->close_pended = true;
    if (o->type->cancel)
        o->type->cancel(o);
    if (!drop(o, REF_HANDLE) || !retire(o))
        return STATUS_PENDING;
    o->close_pended = false;
    finish(o);
    return STATUS_SUCCESS;
}

static void run_created(struct task *task)
{
    struct object *o = finish_object(task);

    o->create_done(o->create_context, STATUS_SUCCESS, o->header);
    object_unref(o, REF_CALLBACK);
}

NTSTATUS object_created(struct adapter *adapter, struct object *o, NDK_FN_CREATE_COMPLETION done, void *context,
                        NDK_OBJECT_HEADER **out)
{
    live_enter(&adapter->live, o);
    if (!adapter->config.pend_creates || !done) {
        *out = o->header;
        return STATUS_SUCCESS;
    }
    o->create_done = done;
    o->create_context = context;
    o->finish.run = run_created;
    object_ref(o, REF_CALLBACK);
    /* From the call on the consumer may have it, and may have closed it. */
    object_call(o, &o->finish);
    return STATUS_PENDING;
}

void request_begin(struct request *r, struct object *o, NDK_FN_REQUEST_COMPLETION done, void *context)
{
    object_ref(o, REF_REQUEST);
    r->task.run = run_request;
    r->object = o;
    r->done = done;
    r->context = context;
    atomic_store(&r->pending, true);
}

static void run_request(struct task *task)
{
    struct request *r = (struct request *)((char *)task - offsetof(struct request, task));
    struct object *o = r->object;
    NDK_FN_REQUEST_COMPLETION done = r->done;
    void *context = r->context;
    NTSTATUS status = r->status;

    atomic_store(&r->pending, false);
    /* The consumer may begin it again in there, or close: of the request nothing is looked at any more. */
    done(context, status);
    object_unref(o, REF_REQUEST);
}

void request_complete(struct request *r, NTSTATUS status)
{
    r->status = status;
    object_call(r->object, &r->task);
}

void request_cancel(struct request *r)
{
    atomic_store(&r->pending, false);
    object_unref(r->object, REF_REQUEST);
}

bool request_is_pending(const struct request *r)
{
    return atomic_load(&r->pending);
}

NTSTATUS object_ndk_close(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context)
{
    return object_close(object_of(header), done, context);
}

NTSTATUS object_ndk_query_extension(NDK_OBJECT_HEADER *header, GUID *id, NDK_VERSION version,
                                    NDK_EXTENSION_INTERFACE *out)
{
    (void)header, (void)id, (void)version, (void)out;
    return STATUS_NOT_SUPPORTED;
}
