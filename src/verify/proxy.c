/* SPDX-License-Identifier: MIT */
/*
 * Implements what all proxies share: creation, use, close, and the search for memory that they use. A proxy is in the
 * list of open proxies or in the list of closed proxies from its insertion until it is freed. A thread that reads the
 * state PROXY_CLOSING under the lock finds closed_by set.
 */
#include <stdlib.h>

#include "base/fork.h"
#include "base/spin.h"
#include "verify/memory.h"
#include "verify/argument.h"
#include "verify/proxy.h"
#include "verify/queue.h"

enum { MAX_CLOSED = 1024 }; /* maximum number of closed proxies that are kept, to report later calls on them */

TAILQ_HEAD(proxy_list, proxy);
static struct spin list_lock; /* guards both lists, closed_count, and closed_by of each proxy */
static struct proxy_list open_list = TAILQ_HEAD_INITIALIZER(open_list);
static struct proxy_list closed_list = TAILQ_HEAD_INITIALIZER(closed_list);
static unsigned closed_count;
static _Atomic uint64_t last_serial;

/* clang-format off */
static const char *const type_names[NdkObjectTypeMax] = {
    [NdkObjectTypeAdapter] = "NDK_ADAPTER", [NdkObjectTypeQp] = "NDK_QP", [NdkObjectTypeCq] = "NDK_CQ",
    [NdkObjectTypeMr] = "NDK_MR", [NdkObjectTypeMw] = "NDK_MW", [NdkObjectTypePd] = "NDK_PD",
    [NdkObjectTypeSharedEndpoint] = "NDK_SHARED_ENDPOINT", [NdkObjectTypeConnector] = "NDK_CONNECTOR",
    [NdkObjectTypeListener] = "NDK_LISTENER", [NdkObjectTypeSrq] = "NDK_SRQ",
};
/* clang-format on */

const char *proxy_type_name(const struct proxy *p)
{
    return type_names[p->type];
}

void proxy_set_report_object(const struct proxy *p)
{
    unsigned count = atomic_load(&p->history.count);
    char text[CALL_HISTORY * 64];
    int n = 0;

    report_set_object(&(struct report_object){ p, type_names[p->type], &p->created_by, { NULL } });
    if (p->add_notes)
        p->add_notes(p);
    for (unsigned i = count < CALL_HISTORY ? 0 : count - CALL_HISTORY; i < count; i++) {
        const char *routine = atomic_load(&p->history.last[i % CALL_HISTORY].routine);

        n += snprintf(text + n, sizeof text - (size_t)n, "%s%s by thread %d", n ? ", " : "", routine ? routine : "?",
                      atomic_load(&p->history.last[i % CALL_HISTORY].thread));
    }
    if (n)
        report_add_note("last calls: %s", text);
}

const struct proxy *proxy_adapter(const struct proxy *p)
{
    return p->adapter ? p->adapter : p;
}

void proxy_lock_all(void)
{
    memory_begin_lock();
    spin_lock(&list_lock);
}

void proxy_unlock_all(void)
{
    spin_unlock(&list_lock);
    memory_end_lock();
}

void proxy_guard_fork(void)
{
    fork_guard(&list_lock);
}

/* ---- lifetime ---- */

struct proxy *proxy_create(size_t size, NDK_OBJECT_TYPE type, const void *dispatch, struct proxy *parent)
{
    struct proxy *p = calloc(1, size);

    if (!p)
        return NULL;
    /* A connect event creates a connector without a call of the consumer. So the listener's stack is copied. */
    if (parent && parent->type == NdkObjectTypeListener)
        p->created_by = parent->created_by;
    else if (verify_on())
        stack_capture_call(&p->created_by, __builtin_return_address(0));
    p->type = type;
    p->serial = atomic_fetch_add(&last_serial, 1) + 1;
    p->pub.dispatch = dispatch;
    atomic_init(&p->state, PROXY_OPEN);
    atomic_init(&p->refs, 1);
    if (parent) {
        proxy_ref(parent);
        p->parent = parent;
        p->adapter = parent->adapter ? parent->adapter : parent;
        atomic_fetch_add(&p->adapter->children, 1);
    }
    return p;
}

/*
 * Inserts a watched proxy at the head of the list, and any other proxy at the tail. A search for watched proxies ends
 * at the first proxy that is not watched. This keeps the search short: a consumer may have thousands of idle regions,
 * which are not watched.
 */
void proxy_insert(struct proxy *p)
{
    p->watched = p->context || p->type == NdkObjectTypeQp || p->type == NdkObjectTypeSrq;
    spin_lock(&list_lock);
    if (p->watched)
        TAILQ_INSERT_HEAD(&open_list, p, list);
    else
        TAILQ_INSERT_TAIL(&open_list, p, list);
    spin_unlock(&list_lock);
}

void proxy_watch(struct proxy *p)
{
    if (p->watched || atomic_load(&p->state) == PROXY_CLOSED)
        return;
    p->watched = true;
    TAILQ_REMOVE(&open_list, p, list);
    TAILQ_INSERT_HEAD(&open_list, p, list);
}

void proxy_ref(struct proxy *p)
{
    atomic_fetch_add(&p->refs, 1);
}

void proxy_unref(struct proxy *p)
{
    struct proxy *parent;

    for (; p && atomic_fetch_sub(&p->refs, 1) == 1; p = parent) {
        parent = p->parent;
        if (p->on_free)
            p->on_free(p);
        free(p);
    }
}

/* Decrements the adapter's number of open objects. The adapter's close waits until this number is 0. */
static void proxy_release_adapter(struct proxy *adapter)
{
    if (adapter)
        atomic_fetch_sub(&adapter->children, 1);
}

bool proxy_exists(const void *pub)
{
    struct proxy *p, *q;

    spin_lock(&list_lock);
    TAILQ_FOREACH (p, &open_list, list)
        if (p == pub)
            break;
    TAILQ_FOREACH (q, &closed_list, list)
        if (q == pub)
            break;
    spin_unlock(&list_lock);
    return p || q;
}

static void (*_Atomic proxy_observer)(const void *object, const void *proxy); /* may be NULL */

void verify_set_on_proxy(void (*on_proxy)(const void *object, const void *proxy))
{
    atomic_store(&proxy_observer, on_proxy);
}

void proxy_set_real(struct proxy *p, void *real)
{
    void (*on_proxy)(const void *object, const void *proxy) = atomic_load(&proxy_observer);
    const NDK_OBJECT_HEADER *header = real;

    p->real = real;
    atomic_store(&p->is_created, true);
    p->pub.header.Version = header->Version;
    p->pub.header.ObjectType = header->ObjectType;
    if (on_proxy)
        on_proxy(real, p);
}

static void proxy_discard(struct proxy *p)
{
    if (p->on_end)
        p->on_end(p);
    spin_lock(&list_lock);
    TAILQ_REMOVE(&open_list, p, list);
    spin_unlock(&list_lock);
    proxy_release_adapter(p->adapter);
    proxy_unref(p);
}

/* ---- creation ---- */

void proxy_begin_create(struct proxy *p, const char *routine, NDK_FN_CREATE_COMPLETION done, void *context)
{
    argument_check_completion(p->parent, routine, done);
    p->created = done;
    p->created_context = context;
    if (!p->created_by.entry) /* stack_capture_call may have set `entry` already */
        p->created_by.entry = routine;
    proxy_insert(p);
    pending_begin(&p->creating, &(struct pending_object){ proxy_type_name(p), p, proxy_adapter(p) }, routine, context,
                  __builtin_return_address(0));
}

static void proxy_on_created(PVOID proxy, NTSTATUS status, NDK_OBJECT_HEADER *real)
{
    struct proxy *p = proxy;
    const struct proxy *adapter = p->adapter;
    NDK_FN_CREATE_COMPLETION done = p->created;
    void *context = p->created_context;

    pending_complete(&p->creating, __builtin_frame_address(0));
    call_set_completed(p->parent);
    if (NT_SUCCESS(status)) {
        proxy_set_real(p, real);
    } else {
        proxy_discard(p);
        p = NULL;
    }
    PROXY_CALLBACK(adapter, "NdkCreateCompletion", done, context, status, p ? &p->pub.header : NULL);
}

NDK_FN_CREATE_COMPLETION proxy_create_routine(const struct proxy *p)
{
    return p->created ? proxy_on_created : NULL;
}

NTSTATUS proxy_end_create(struct proxy *p, NTSTATUS status, const void *object, void *out)
{
    if (status == STATUS_PENDING)
        return status;
    pending_remove(&p->creating);
    if (!NT_SUCCESS(status)) {
        proxy_discard(p);
        return status;
    }
    proxy_set_real(p, *(void *const *)object);
    *(void **)out = p;
    return status;
}

/* ---- use ---- */

static void proxy_report_closed(enum verify_rule rule, const struct proxy *p, const char *routine)
{
    bool is_pending = atomic_load(&p->state) == PROXY_CLOSING;
    struct stack by;

    if (!verify_on())
        return;
    spin_lock(&list_lock);
    by = p->closed_by;
    spin_unlock(&list_lock);
    report_add_stack("closed by", &by);
    proxy_set_report_object(p);
    report_breach(&verify_rules[rule], routine, (uintptr_t)p, p->type, 0, 0, "%s %p is closed%s", type_names[p->type],
                  (const void *)p, is_pending ? ", and the close is pending" : "");
}

/*
 * Returns true if calls on p are allowed. Calls on an adapter are allowed while its close waits, because objects that
 * are still open may need them.
 */
static bool proxy_is_usable(const struct proxy *p)
{
    int state = atomic_load(&p->state);

    return state == PROXY_OPEN || (state == PROXY_CLOSING && p->type == NdkObjectTypeAdapter);
}

void *proxy_real_at(const void *pub, const char *routine)
{
    const struct proxy *p = pub;

    if (!p)
        return NULL;
    if (proxy_is_usable(p))
        return p->real;
    proxy_report_closed(RULE_CLOSED_USED, p, routine);
    return NULL;
}

/*
 * Reports a call during which another thread has closed the object. Does not report a call on an adapter: the close of
 * an adapter waits for calls in progress, so the close may begin during a call.
 */
void proxy_check_still_open(const struct call *c)
{
    const struct proxy *p = c->p;
    struct stack by;
    int closed_thread;

    if (!verify_on() || p->type == NdkObjectTypeAdapter || atomic_load(&p->state) == PROXY_OPEN ||
        atomic_load(&p->completions) != c->completions)
        return;
    spin_lock(&list_lock);
    by = p->closed_by;
    closed_thread = atomic_load(&p->closed_thread);
    spin_unlock(&list_lock);
    if (closed_thread == verify_this_thread())
        return;
    report_add_stack("closed by", &by);
    proxy_set_report_object(p);
    report_breach(&verify_rules[RULE_CLOSE_DURING_CALL], c->routine, (uintptr_t)p, p->type,
                  (uint64_t)verify_this_thread(), 0, "thread %d closed %s %p while thread %d was in the call",
                  closed_thread, type_names[p->type], (const void *)p, verify_this_thread());
}

NTSTATUS proxy_query_extension(NDK_OBJECT_HEADER *header, GUID *id, NDK_VERSION version, NDK_EXTENSION_INTERFACE *out)
{
    PROXY_CALL(p, header, "NdkQueryExtension");

    if (!p)
        return STATUS_INVALID_DEVICE_STATE;
    if (p->type == NdkObjectTypeAdapter)
        return ((NDK_ADAPTER *)p->real)->Dispatch->NdkQueryExtension(p->real, id, version, out);
    return ((NDK_PD *)p->real)->Dispatch->NdkQueryExtension(p->real, id, version, out);
}

/* ---- close ---- */

bool proxy_begin_close(struct proxy *p, const char *routine)
{
    int open = PROXY_OPEN;
    struct stack now = { .depth = 0 };

    if (verify_on())
        stack_capture_call(&now, __builtin_return_address(0));
    now.entry = routine;
    spin_lock(&list_lock);
    bool first = atomic_compare_exchange_strong(&p->state, &open, PROXY_CLOSING);
    if (first) {
        p->closed_by = now;
        atomic_store(&p->closed_thread, verify_this_thread());
    }
    spin_unlock(&list_lock);
    if (!first)
        proxy_report_closed(RULE_CLOSED_TWICE, p, routine);
    return first;
}

void proxy_end_close(struct proxy *p)
{
    struct proxy *oldest = NULL;

    atomic_store(&p->state, PROXY_CLOSED);
    if (p->on_end)
        p->on_end(p);
    spin_lock(&list_lock);
    TAILQ_REMOVE(&open_list, p, list);
    TAILQ_INSERT_TAIL(&closed_list, p, list);
    if (++closed_count > MAX_CLOSED) {
        oldest = TAILQ_FIRST(&closed_list);
        TAILQ_REMOVE(&closed_list, oldest, list);
        closed_count--;
    }
    spin_unlock(&list_lock);
    if (oldest)
        proxy_unref(oldest);
}

static void proxy_on_closed(PVOID proxy)
{
    struct proxy *p = proxy;
    struct proxy *adapter = p->adapter;
    NDK_FN_CLOSE_COMPLETION done = p->closed;
    void *context = p->closed_context;

    pending_complete(&p->closing, __builtin_frame_address(0));
    proxy_end_close(p);
    if (done)
        PROXY_CALLBACK(adapter, "NdkCloseCompletion", done, context);
    proxy_release_adapter(adapter); /* not earlier, because the adapter's close must wait for the callback */
}

static const char *proxy_close_name(NDK_OBJECT_TYPE type)
{
    static const char *const close_names[NdkObjectTypeMax] = {
        [NdkObjectTypeQp] = "NdkCloseQp",
        [NdkObjectTypeCq] = "NdkCloseCq",
        [NdkObjectTypeMr] = "NdkCloseMr",
        [NdkObjectTypeMw] = "NdkCloseMw",
        [NdkObjectTypePd] = "NdkClosePd",
        [NdkObjectTypeSrq] = "NdkCloseSrq",
        [NdkObjectTypeSharedEndpoint] = "NdkCloseSharedEndpoint",
        [NdkObjectTypeConnector] = "NdkCloseConnector",
        [NdkObjectTypeListener] = "NdkCloseListener",
    };

    return close_names[type];
}

/*
 * Implements the close entries of all types. The function is always inlined. So __builtin_return_address and
 * __builtin_frame_address return the values of the routine that the consumer has called.
 */
static inline __attribute__((always_inline)) NTSTATUS proxy_close(NDK_OBJECT_TYPE entry, NDK_OBJECT_HEADER *header,
                                                                  NDK_FN_CLOSE_COMPLETION done, PVOID context)
{
    struct proxy *p = (struct proxy *)header;
    const char *routine = proxy_close_name(entry);
    NTSTATUS status;

    STACK_CALL(routine);
    verify_check_irql(routine, VERIFY_DISPATCH_LEVEL);
    pending_check_stack(routine, __builtin_frame_address(0));
    if (!argument_check_close(p, routine, entry))
        return STATUS_INVALID_PARAMETER;
    argument_check_completion(p, routine, done);
    if (!proxy_begin_close(p, routine))
        return STATUS_PENDING; /* as OpenNDK's provider does for a second close */
    if (p->type == NdkObjectTypeMr)
        region_memory_check(p, routine);
    if (p->on_closing)
        p->on_closing(p);
    p->closed = done;
    p->closed_context = context;
    pending_begin(&p->closing, &(struct pending_object){ proxy_type_name(p), p, proxy_adapter(p) }, routine, context,
                  __builtin_return_address(0));
    /*
     * Every dispatch table except the adapter's begins with the close routine. So this call works for every type of
     * object.
     */
    status = ((NDK_PD *)p->real)->Dispatch->NdkClosePd(p->real, proxy_on_closed, p);
    if (status == STATUS_PENDING)
        return status;
    pending_remove(&p->closing);
    struct proxy *adapter = p->adapter;
    proxy_end_close(p);
    proxy_release_adapter(adapter);
    return status;
}

#define PROXY_CLOSE(name, type)                                                                                        \
    NTSTATUS proxy_close_##name(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context)                \
    {                                                                                                                  \
        return proxy_close(NdkObjectType##type, header, done, context);                                                \
    }

PROXY_CLOSE(cq, Cq)
PROXY_CLOSE(pd, Pd)
PROXY_CLOSE(mr, Mr)
PROXY_CLOSE(mw, Mw)
PROXY_CLOSE(srq, Srq)
PROXY_CLOSE(qp, Qp)
PROXY_CLOSE(shared_endpoint, SharedEndpoint)
PROXY_CLOSE(connector, Connector)
PROXY_CLOSE(listener, Listener)

/* ---- memory in use ---- */

static bool proxy_is_inside(const void *at, const void *start, size_t size)
{
    return (uintptr_t)at - (uintptr_t)start < size;
}

/* Sets *use. `by` is the stack of the call that began the use, or NULL if that stack is not known. Returns true. */
static bool proxy_set_use(struct verify_use *use, enum verify_rule rule, const void *object, const char *what,
                          const struct stack *by)
{
    *use = (struct verify_use){ .rule = &verify_rules[rule], .object = object, .what = what };
    if (by) {
        use->by = *by;
        use->routine = by->entry;
    }
    return true;
}

/*
 * Finds a use of the memory [start, start + size) by p, and describes it in *use. Returns false if there is none.
 * Requires the proxies' lock.
 */
static bool proxy_find_use(struct proxy *p, const void *start, size_t size, struct verify_use *use)
{
    /* The consumer may free the QPContext as soon as it closes the queue pair. */
    bool idle = p->type == NdkObjectTypeQp && atomic_load(&p->state) != PROXY_OPEN;

    if (p->context && !idle && proxy_is_inside(p->context, start, size))
        return proxy_set_use(use, RULE_CONTEXT_FREED, p->context, "callback context of an NDK object that is open",
                             &p->created_by);
    for (unsigned i = 0; i < p->mdl_count; i++)
        if (proxy_is_inside(p->mdls[i], start, size))
            return proxy_set_use(use, RULE_MDL_FREED, p->mdls[i], "MDL of a registered NDK_MR", NULL);
    return queue_find_use(p, start, size, use);
}

struct proxy *proxy_next_open(const struct proxy *p)
{
    return p ? TAILQ_NEXT(p, list) : TAILQ_FIRST(&open_list);
}

struct proxy *proxy_find_open(const void *pub)
{
    struct proxy *p;

    spin_lock(&list_lock);
    TAILQ_FOREACH (p, &open_list, list)
        if (p == pub)
            break;
    if (p)
        proxy_ref(p);
    spin_unlock(&list_lock);
    return p;
}

/*
 * Finds a region whose memory overlaps [start, start + size). Describes the use in *use, and marks the region's memory
 * as reported. Returns NULL if there is none. Requires the proxies' lock.
 */
static struct proxy *proxy_find_region(const void *start, size_t size, struct verify_use *use)
{
    struct proxy *p = NULL;

    while ((p = proxy_next_watched(p)) && !region_memory_find_use(&p->memory, start, size, use))
        ;
    return p;
}

bool proxy_set_memory_reported(const void *start, size_t size)
{
    struct proxy *p = NULL;
    bool found = false;

    spin_lock(&list_lock);
    while ((p = proxy_next_watched(p)))
        found = region_memory_set_reported(&p->memory, start, size) || found;
    spin_unlock(&list_lock);
    return found;
}

struct proxy *proxy_next_watched(struct proxy *p)
{
    p = p ? TAILQ_NEXT(p, list) : TAILQ_FIRST(&open_list);
    return p && p->watched ? p : NULL;
}

bool verify_find_use(const void *start, size_t size, struct verify_use *use)
{
    struct verify_use of_region;
    struct proxy *p = NULL;

    if (pending_find_use(start, size, use))
        return true;
    spin_lock(&list_lock);
    while ((p = proxy_next_watched(p)) && !proxy_find_use(p, start, size, use))
        ;
    if (!p) /* Regions are searched last, because a request that uses the buffer makes a better report. */
        p = proxy_find_region(start, size, use);
    else if (use->rule == &verify_rules[RULE_BUFFER_FREED])
        (void)proxy_find_region(start, size, &of_region); /* marks the region's memory as reported, too */
    if (p) {
        use->owner_type = proxy_type_name(p);
        use->owner = p;
    }
    spin_unlock(&list_lock);
    return p != NULL;
}

static bool proxy_is_left(const struct proxy *p)
{
    return p->type != NdkObjectTypeAdapter && atomic_load(&p->is_created) && atomic_load(&p->state) == PROXY_OPEN;
}

unsigned proxy_copy_open(struct verify_open *out, unsigned room)
{
    const struct proxy *p;
    unsigned n = 0;

    spin_lock(&list_lock);
    TAILQ_FOREACH (p, &open_list, list) {
        if (n < room)
            out[n] = (struct verify_open){ .is_left = proxy_is_left(p),
                                           .type = p->type,
                                           .object = p,
                                           .adapter = proxy_adapter(p),
                                           .what = type_names[p->type],
                                           .serial = p->serial,
                                           .by = p->created_by };
        n++;
    }
    spin_unlock(&list_lock);
    return n;
}
