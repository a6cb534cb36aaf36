/* SPDX-License-Identifier: MIT */
/*
 * Creates, closes and ends NDK objects, and completes requests. Only this file calls the consumer's completion
 * routines, with two exceptions: connector.c calls the routine of NdkConnect, and listener.c calls the routine of
 * NdkListen. An object that uses another object is its successor, and the used object is the antecedent. For example, a
 * QP is a successor of its PD, and the PD is an antecedent of the QP.
 *
 *   state      handle    references  what may happen
 *   MADE       held      handle      object_created, or object_unref(HANDLE) by a creator that gives up
 *   OPEN       held      any         calls, requests, callbacks, successors
 *   CLOSING    held      any         `closing` is set, cancel runs; from here on object_try_ref fails
 *   DRAINING   dropped   others      close has returned PENDING; references are only dropped
 *   RETIRING   dropped   none        retire has begun something that has not ended
 *   FINISHED   dropped   none        in this order: destroy runs, the close completion runs, the memory is freed,
 *                                    the CHILD references on the antecedents are dropped
 *
 *   from       event                                    to         thread
 *   MADE       object_created                           OPEN       the creating thread
 *   OPEN       object_close                             CLOSING    the closing thread
 *   CLOSING    the handle is dropped, others are left   DRAINING   the closing thread: STATUS_PENDING
 *   CLOSING    the handle was the last reference        RETIRING   the closing thread
 *   DRAINING   the last reference is dropped            RETIRING   the thread that drops it
 *   RETIRING   retire returned true, in object_close    FINISHED   the closing thread: STATUS_SUCCESS, no callback
 *   RETIRING   retire returned true, elsewhere          FINISHED   the object's shard, in callback context
 *   RETIRING   object_retired                           FINISHED   the object's shard, in callback context
 *
 * Invariants:
 *   1. Only the thread whose decrement makes the count zero retires the object. The count never rises from zero: a
 *      thread takes a reference only if it has one already, or with the lock held while `closing` is not set. Close
 *      sets `closing` before it drops the handle.
 *   2. close returns SUCCESS if its own decrement was the last and retire returned true. Otherwise it returns PENDING.
 *   3. A successor drops its CHILD references after its close completion has returned. So when an antecedent's close
 *      completion begins, the close completions of all successors have returned. The adapter ends after all objects.
 *   4. While a routine of the consumer runs, no lock is held and no shard is owned.
 *   5. A thread does not access the object after its own last decrement, or after it has queued the object's end.
 */
#include "provider/object.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "provider/adapter.h"
#include "provider/close_report.h"

static void object_run_finish(struct task *task);
static void object_run_created(struct task *task);
static void request_run(struct task *task);

static struct object *object_of_finish(struct task *task)
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
    if (kind != REF_INTERNAL)
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

uint32_t object_users(const struct object *o)
{
    return atomic_load_explicit(&o->kinds[REF_CHILD], memory_order_relaxed);
}

const char *object_state(const struct object *o, const char *state)
{
    return object_is_closing(o) ? "closing" : state;
}

/*
 * Drops a reference. Returns true if it was the last one. The caller then sees all writes of all threads that had
 * references.
 */
static bool object_drop_ref(struct object *o, enum object_ref kind)
{
    if (kind != REF_INTERNAL) {
        unsigned had = atomic_fetch_sub_explicit(&o->kinds[kind], 1, memory_order_relaxed);

        assert(had > 0);
        (void)had;
    }
    return atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) == 1;
}

/*
 * Begins the end of an object that has no references. Returns true if the object can be destroyed now. If the result is
 * false, another thread may already have freed the object.
 */
static bool object_retire(struct object *o)
{
    for (int kind = 0; kind < REF_KINDS; kind++)
        assert(atomic_load_explicit(&o->kinds[kind], memory_order_relaxed) == 0);
    if (!o->type->retire)
        return true;
    live_list_set_retiring(&o->adapter->live, o);
    return o->type->retire(o);
}

void object_unref(struct object *o, enum object_ref kind)
{
    if (object_drop_ref(o, kind) && object_retire(o))
        object_retired(o);
}

void object_retired(struct object *o)
{
    o->finish.run = object_run_finish;
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
        assert(o->antecedent_count < MAX_ANTECEDENTS);
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

bool object_depends_on(struct object *o, const struct object *antecedent)
{
    bool depends = false;

    spin_lock(&o->lock);
    for (unsigned i = 0; i < o->antecedent_count; i++)
        depends = depends || o->antecedents[i] == antecedent;
    spin_unlock(&o->lock);
    return depends;
}

/*
 * Destroys the object, calls the close completion and frees the memory. Drops the references on the antecedents last,
 * because the antecedents must outlive the close completion.
 */
static void object_finish(struct object *o)
{
    struct object *antecedents[MAX_ANTECEDENTS];
    struct adapter *adapter = o->adapter;
    unsigned count = o->antecedent_count;

    memcpy(antecedents, o->antecedents, sizeof(antecedents));
    live_list_hide(&adapter->live, o);
    if (o->type->destroy)
        o->type->destroy(o);
    if (o->close_pended && o->close_done)
        o->close_done(o->close_context);
    live_list_remove(&adapter->live, o);
    free(o->memory);
    for (unsigned i = 0; i < count; i++)
        object_unref(antecedents[i], REF_CHILD);
}

static void object_run_finish(struct task *task)
{
    object_finish(object_of_finish(task));
}

static bool object_begin_close(struct object *o)
{
    spin_lock(&o->lock);
    bool first = !atomic_load_explicit(&o->closing, memory_order_relaxed);
    atomic_store_explicit(&o->closing, true, memory_order_release);
    spin_unlock(&o->lock);
    return first;
}

NTSTATUS object_close(struct object *o, NDK_FN_CLOSE_COMPLETION done, void *context)
{
    if (!object_begin_close(o))
        return STATUS_PENDING;
    o->close_done = done;
    o->close_context = context;
    o->close_pended = true;
    close_report_begin(o);
    if (o->type->cancel)
        o->type->cancel(o);
    if (!object_drop_ref(o, REF_HANDLE) || !object_retire(o))
        return STATUS_PENDING;
    o->close_pended = false;
    object_finish(o);
    return STATUS_SUCCESS;
}

static void object_run_created(struct task *task)
{
    struct object *o = object_of_finish(task);

    o->create_done(o->create_context, STATUS_SUCCESS, o->header);
    object_unref(o, REF_CALLBACK);
}

NTSTATUS object_created(struct adapter *adapter, struct object *o, NDK_FN_CREATE_COMPLETION done, void *context,
                        NDK_OBJECT_HEADER **out)
{
    live_list_insert(&adapter->live, o);
    if (!adapter->config.pend_creates || !done) {
        *out = o->header;
        return STATUS_SUCCESS;
    }
    o->create_done = done;
    o->create_context = context;
    o->finish.run = object_run_created;
    object_ref(o, REF_CALLBACK);
    /* o is not accessed after this call, because the consumer may receive and close o before the call returns. */
    object_call(o, &o->finish);
    return STATUS_PENDING;
}

void request_begin(struct request *r, struct object *o, NDK_FN_REQUEST_COMPLETION done, void *context)
{
    object_ref(o, REF_REQUEST);
    r->task.run = request_run;
    r->object = o;
    r->done = done;
    r->context = context;
    atomic_store(&r->pending, true);
}

static void request_run(struct task *task)
{
    struct request *r = (struct request *)((char *)task - offsetof(struct request, task));
    struct object *o = r->object;
    NDK_FN_REQUEST_COMPLETION done = r->done;
    void *context = r->context;
    NTSTATUS status = r->status;

    atomic_store(&r->pending, false);
    /* *r is not accessed from here on: inside `done`, the consumer may begin the request again or close the object. */
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
