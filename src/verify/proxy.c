/* SPDX-License-Identifier: MIT */
/*
 * What all proxies share: being made, closed, kept for a while, found by who frees memory. See proxy.h.
 */
#include <stdlib.h>

#include "verify/posted.h"

#include "wdk/common/inuse.h"
#include "wdk/common/live.h"

enum { CLOSED_MOST = 1024 }; /* kept to report who uses them */

TAILQ_HEAD(proxies, proxy);
static struct spin lock;
static struct proxies open_ones = TAILQ_HEAD_INITIALIZER(open_ones);
static struct proxies closed_ones = TAILQ_HEAD_INITIALIZER(closed_ones);
static unsigned closed_count;

static inuse_find find;

static const char *const names[NdkObjectTypeMax] = {
    [NdkObjectTypeAdapter] = "NDK_ADAPTER", [NdkObjectTypeQp] = "NDK_QP", [NdkObjectTypeCq] = "NDK_CQ",
    [NdkObjectTypeMr] = "NDK_MR", [NdkObjectTypeMw] = "NDK_MW", [NdkObjectTypePd] = "NDK_PD",
    [NdkObjectTypeSharedEndpoint] = "NDK_SHARED_ENDPOINT", [NdkObjectTypeConnector] = "NDK_CONNECTOR",
    [NdkObjectTypeListener] = "NDK_LISTENER", [NdkObjectTypeSrq] = "NDK_SRQ",
};

void proxies_lock(void)
{
    spin_lock(&lock);
}

void proxies_unlock(void)
{
    spin_unlock(&lock);
}

/* ---- life ---- */

struct proxy *proxy_make(size_t size, NDK_OBJECT_TYPE type, const void *dispatch, struct proxy *parent)
{
    struct proxy *p = calloc(1, size);

    if (!p)
        return NULL;
    if (parent && parent->type == NdkObjectTypeListener)
        p->made_by = parent->made_by; /* in a callback none of the driver's functions is on the stack yet */
    else if (check_on())
        stack_take(&p->made_by, 1);
    p->type = type;
    p->pub.dispatch = dispatch;
    atomic_init(&p->state, PROXY_OPEN);
    atomic_init(&p->refs, 1);
    if (parent) {
        p->adapter = parent->adapter ? parent->adapter : parent;
        atomic_fetch_add(&p->adapter->children, 1);
    }
    inuse_add_source(find);
    live_add_made(LIVE_NDK_OBJECT, p, names[type], &p->made_by);
    return p;
}

/* Drivers keep thousands of regions, and free memory often: who frees looks at the others alone. */
void proxy_enlist(struct proxy *p)
{
    p->watched = p->context || p->type == NdkObjectTypeQp || p->type == NdkObjectTypeSrq;
    spin_lock(&lock);
    if (p->watched)
        TAILQ_INSERT_HEAD(&open_ones, p, list);
    else
        TAILQ_INSERT_TAIL(&open_ones, p, list);
    spin_unlock(&lock);
}

void proxy_watch(struct proxy *p)
{
    if (p->watched || atomic_load(&p->state) == PROXY_CLOSED)
        return;
    p->watched = true;
    TAILQ_REMOVE(&open_ones, p, list);
    TAILQ_INSERT_HEAD(&open_ones, p, list);
}

void proxy_ref(struct proxy *p)
{
    atomic_fetch_add(&p->refs, 1);
}

void proxy_unref(struct proxy *p)
{
    if (atomic_fetch_sub(&p->refs, 1) > 1)
        return;
    if (p->free_parts)
        p->free_parts(p);
    free(p);
}

/* One object less that its adapter's close waits for. */
static void leave(struct proxy *of)
{
    if (of)
        atomic_fetch_sub(&of->children, 1);
}

bool proxy_known(const void *pub)
{
    struct proxy *p, *q;

    spin_lock(&lock);
    TAILQ_FOREACH(p, &open_ones, list)
        if (p == pub)
            break;
    TAILQ_FOREACH(q, &closed_ones, list)
        if (q == pub)
            break;
    spin_unlock(&lock);
    return p || q;
}

void proxy_give(struct proxy *p, void *real)
{
    const NDK_OBJECT_HEADER *header = real;

    p->real = real;
    p->pub.header.Version = header->Version;
    p->pub.header.ObjectType = header->ObjectType;
}

void proxy_discard(struct proxy *p)
{
    live_remove(LIVE_NDK_OBJECT, p);
    if (p->end_parts)
        p->end_parts(p);
    spin_lock(&lock);
    TAILQ_REMOVE(&open_ones, p, list);
    spin_unlock(&lock);
    leave(p->adapter);
    proxy_unref(p);
}

void proxy_end(struct proxy *p)
{
    struct proxy *oldest = NULL;

    atomic_store(&p->state, PROXY_CLOSED);
    live_remove(LIVE_NDK_OBJECT, p);
    if (p->end_parts)
        p->end_parts(p);
    spin_lock(&lock);
    TAILQ_REMOVE(&open_ones, p, list);
    TAILQ_INSERT_TAIL(&closed_ones, p, list);
    if (++closed_count > CLOSED_MOST) {
        oldest = TAILQ_FIRST(&closed_ones);
        TAILQ_REMOVE(&closed_ones, oldest, list);
        closed_count--;
    }
    spin_unlock(&lock);
    if (oldest)
        proxy_unref(oldest);
}

/* ---- creation ---- */

void proxy_creating(struct proxy *p, const char *routine, NDK_FN_CREATE_COMPLETION done, void *context)
{
    p->created = done;
    p->created_context = context;
    proxy_enlist(p);
    ndk_pending_begin(&p->creating, routine, context);
}

static void created(PVOID proxy, NTSTATUS status, NDK_OBJECT_HEADER *real)
{
    struct proxy *p = proxy;
    NDK_FN_CREATE_COMPLETION done = p->created;
    void *context = p->created_context;

    ndk_pending_end(&p->creating, __builtin_frame_address(0));
    if (NT_SUCCESS(status)) {
        proxy_give(p, real);
    } else {
        proxy_discard(p);
        p = NULL;
    }
    CALL_DRIVER("NdkCreateCompletion", done, context, status, p ? &p->pub.header : NULL);
}

NDK_FN_CREATE_COMPLETION proxy_creation_routine(const struct proxy *p)
{
    return p->created ? created : NULL;
}

NTSTATUS proxy_created(struct proxy *p, NTSTATUS status, const void *made, void *out)
{
    if (status == STATUS_PENDING)
        return status;
    ndk_pending_drop(&p->creating);
    if (!NT_SUCCESS(status)) {
        proxy_discard(p);
        return status;
    }
    proxy_give(p, *(void *const *)made);
    *(void **)out = p;
    return status;
}

/* ---- use ---- */

static void report_closed(enum check_rule rule, const struct proxy *p, const char *routine)
{
    struct stack by;

    if (!check_on())
        return;
    spin_lock(&lock);
    by = p->closed_by;
    spin_unlock(&lock);
    check_add_stack("closed by", &by);
    check_failed(rule, routine, (uintptr_t)p, p->type, 0, 0, "%s %p is closed", names[p->type], (const void *)p);
}

struct proxy *proxy_enter(const void *pub, const char *routine, const void *frame)
{
    irql_check_max(routine, DISPATCH_LEVEL);
    ndk_pending_look(routine, frame);
    return proxy_real_at(pub, routine) ? (struct proxy *)(uintptr_t)pub : NULL;
}

/* An adapter's close waits for calls that end what was made from it. */
static bool is_usable(const struct proxy *p)
{
    int state = atomic_load(&p->state);

    return state == PROXY_OPEN || (state == PROXY_CLOSING && p->type == NdkObjectTypeAdapter);
}

void *proxy_real_at(const void *pub, const char *routine)
{
    const struct proxy *p = pub;

    if (!p)
        return NULL;
    if (is_usable(p))
        return p->real;
    report_closed(CHECK_NDK_CLOSED_USED, p, routine);
    return NULL;
}

NTSTATUS proxy_query_extension(NDK_OBJECT_HEADER *header, GUID *id, NDK_VERSION version, NDK_EXTENSION_INTERFACE *out)
{
    struct proxy *p = ENTER(header, "NdkQueryExtension");

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
    struct stack now = { { NULL }, 0 };

    if (check_on())
        stack_take(&now, 1);
    spin_lock(&lock); /* whoever sees it closing sees the stack too */
    bool first = atomic_compare_exchange_strong(&p->state, &open, PROXY_CLOSING);
    if (first)
        p->closed_by = now;
    spin_unlock(&lock);
    if (!first)
        report_closed(CHECK_NDK_CLOSED_TWICE, p, routine);
    return first;
}

static void closed(PVOID proxy)
{
    struct proxy *p = proxy;
    struct proxy *of = p->adapter;
    NDK_FN_CLOSE_COMPLETION done = p->closed;
    void *context = p->closed_context;

    ndk_pending_end(&p->closing, __builtin_frame_address(0));
    proxy_end(p);
    if (done)
        CALL_DRIVER("NdkCloseCompletion", done, context);
    leave(of); /* not before the callback has returned */
}

static const char *close_name(NDK_OBJECT_TYPE type)
{
    static const char *const close_names[NdkObjectTypeMax] = {
        [NdkObjectTypeQp] = "NdkCloseQp", [NdkObjectTypeCq] = "NdkCloseCq", [NdkObjectTypeMr] = "NdkCloseMr",
        [NdkObjectTypeMw] = "NdkCloseMw", [NdkObjectTypePd] = "NdkClosePd", [NdkObjectTypeSrq] = "NdkCloseSrq",
        [NdkObjectTypeSharedEndpoint] = "NdkCloseSharedEndpoint", [NdkObjectTypeConnector] = "NdkCloseConnector",
        [NdkObjectTypeListener] = "NdkCloseListener",
    };

    return close_names[type];
}

NTSTATUS proxy_close(NDK_OBJECT_HEADER *header, NDK_FN_CLOSE_COMPLETION done, PVOID context)
{
    struct proxy *p = (struct proxy *)header;
    const char *routine = close_name(p->type);
    NTSTATUS status;

    irql_check_max(routine, DISPATCH_LEVEL);
    ndk_pending_look(routine, __builtin_frame_address(0));
    if (!proxy_begin_close(p, routine))
        return STATUS_PENDING; /* as the provider answers a second close */
    p->closed = done;
    p->closed_context = context;
    ndk_pending_begin(&p->closing, routine, context);
    /* Every table but the adapter's begins with the close. */
    status = ((NDK_PD *)p->real)->Dispatch->NdkClosePd(p->real, closed, p);
    if (status == STATUS_PENDING)
        return status;
    ndk_pending_drop(&p->closing);
    struct proxy *of = p->adapter;
    proxy_end(p);
    leave(of);
    return status;
}

/* ---- memory that goes away ---- */

static bool is_inside(const void *at, const void *start, size_t size)
{
    return (uintptr_t)at - (uintptr_t)start < size;
}

static bool found(struct inuse_found *out, enum check_rule rule, const void *object, const char *what)
{
    out->rule = rule;
    out->object = object;
    out->what = what;
    return true;
}

static bool find_in(struct proxy *p, const void *start, size_t size, struct inuse_found *out)
{
    /* A queue pair's context is not looked at by anybody: it may go once the pair is being closed. */
    bool idle = p->type == NdkObjectTypeQp && atomic_load(&p->state) != PROXY_OPEN;

    if (p->context && !idle && is_inside(p->context, start, size))
        return found(out, CHECK_CONTEXT_FREED_IN_USE, p->context, "callback context of an NDK object that is open");
    for (unsigned i = 0; i < p->mdl_count; i++)
        if (is_inside(p->mdls[i], start, size))
            return found(out, CHECK_MDL_FREED_IN_USE, p->mdls[i], "MDL of a registered NDK_MR");
    return filter_find_posted(p, start, size, out);
}

/* NULL: the first. Queue pairs and shared receive queues are among them. Under the lock. */
static struct proxy *next_watched(struct proxy *p)
{
    p = p ? TAILQ_NEXT(p, list) : TAILQ_FIRST(&open_ones);
    return p && p->watched ? p : NULL;
}

static bool find(const void *start, size_t size, struct inuse_found *out)
{
    struct proxy *p = NULL;

    if (ndk_pending_find(start, size, out))
        return true;
    spin_lock(&lock);
    while ((p = next_watched(p)) && !find_in(p, start, size, out))
        ;
    spin_unlock(&lock);
    return p != NULL;
}

/* ---- logical addresses that go away ---- */

static const char *find_user(const struct proxy *adapter, uint64_t first, uint64_t size, uint64_t *at)
{
    const char *routine = NULL;
    struct proxy *p = NULL;

    spin_lock(&lock);
    while (!routine && (p = next_watched(p)))
        if (p->adapter && p->adapter->real == adapter->real)
            routine = posts_find_logical(p, first, size, at);
    spin_unlock(&lock);
    return routine;
}

const char *filter_find_user(const struct proxy *adapter, const NDK_LOGICAL_ADDRESS_MAPPING *lam, uint64_t *at)
{
    const NDK_LOGICAL_ADDRESS *pages = lam->AdapterPageArray;
    const char *routine = NULL;
    ULONG run;

    for (ULONG i = 0; i < lam->AdapterPageCount && !routine; i += run) {
        run = posts_page_run(pages + i, lam->AdapterPageCount - i);
        routine = find_user(adapter, (uint64_t)pages[i].QuadPart, (uint64_t)run * PAGE_SIZE, at);
    }
    return routine;
}
