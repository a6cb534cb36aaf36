/* SPDX-License-Identifier: MIT */
/*
 * Implements the callbacks of the registry: see wdm/regcallback.h and callback.h. The registered routines are in one
 * list, from the highest altitude to the lowest. A removed routine is freed when its last reference is dropped. The
 * invariant: after the removal of a routine, no operation notifies the routine.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "wdk/cm/callback.h"
#include "wdk/common/check.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/object.h"

/* A registered routine. */
struct callback {
    struct callback *next;
    unsigned references; /* number of references that the list, operations and context cleanups have */
    unsigned running;    /* number of calls that have not returned */
    bool removed;
    PEX_CALLBACK_FUNCTION routine;
    PVOID context;
    LONGLONG cookie;
    WCHAR *altitude; /* NULL: CmRegisterCallback has registered the routine, which is above all altitudes */
    size_t altitude_length;
};

/* A routine that an operation notifies, and the context that the routine has set for this operation. */
struct registry_seen {
    struct callback *callback;
    PVOID call_context;
};

/* The context that CmSetCallbackObjectContext has stored for one object and one routine. */
struct object_context {
    struct object_context *next;
    struct key_object *object;
    struct callback *callback;
    PVOID value;
};

/* A call of a routine by the current thread. */
struct callback_call {
    const struct callback *of;
    const struct callback_call *outer; /* the enclosing call on this thread, or NULL */
};

/* Guards the lists `callbacks` and `contexts`, the members of their entries, and last_cookie. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER; /* a routine has returned, or an object was revived */
static struct callback *callbacks;
static struct object_context *contexts;
static atomic_uint callback_count;
static LONGLONG last_cookie = 0x1d70000;
static _Thread_local const struct callback_call *current_call;

bool registry_has_callbacks(void)
{
    return atomic_load_explicit(&callback_count, memory_order_acquire) > 0;
}

/* Requires the lock. */
static void callback_unref(struct callback *c)
{
    if (--c->references > 0)
        return;
    free(c->altitude);
    free(c);
}

/* Ends a call of the routine. Requires the lock. */
static void callback_returned(struct callback *c)
{
    if (--c->running == 0 && c->removed)
        pthread_cond_broadcast(&changed);
}

/* Waits until no call of the removed routine runs. Requires the lock. */
static void callback_wait(struct callback *c)
{
    while (c->running)
        pthread_cond_wait(&changed, &lock);
}

/* Requires the lock. */
static struct callback *callback_find(LONGLONG cookie)
{
    struct callback *c = callbacks;

    while (c && c->cookie != cookie)
        c = c->next;
    return c;
}

/* ---- Altitudes --------------------------------------------------------------------------------------------------- */

static size_t altitude_integer_length(const WCHAR *text, size_t length)
{
    size_t n = 0;

    while (n < length && text[n] != '.')
        n++;
    return n;
}

/* Compares decimal numbers without leading zeros. Returns a number less than, equal to or greater than 0. */
static int altitude_compare(const WCHAR *a, size_t a_length, const WCHAR *b, size_t b_length)
{
    size_t a_integer = altitude_integer_length(a, a_length), b_integer = altitude_integer_length(b, b_length);

    if (a_integer != b_integer)
        return a_integer < b_integer ? -1 : 1;
    for (size_t i = 0; i < a_length && i < b_length; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return a_length == b_length ? 0 : a_length < b_length ? -1 : 1;
}

/*
 * Returns true if `a` comes after `b` in the list. Routines without an altitude come before all routines with an
 * altitude. Routines without an altitude are sorted by age, the oldest first.
 */
static bool callback_is_below(const struct callback *a, const struct callback *b)
{
    if (!a->altitude || !b->altitude)
        return a->altitude ? true : !b->altitude && a->cookie > b->cookie;
    return altitude_compare(a->altitude, a->altitude_length, b->altitude, b->altitude_length) < 0;
}

static bool callback_set_altitude(struct callback *c, PCUNICODE_STRING altitude)
{
    const WCHAR *text = altitude->Buffer;
    size_t length = altitude->Length / sizeof(WCHAR);

    while (length > 1 && text[0] == '0') {
        text++;
        length--;
    }
    c->altitude = malloc(length * sizeof(WCHAR));
    if (c->altitude)
        memcpy(c->altitude, text, length * sizeof(WCHAR));
    c->altitude_length = length;
    return c->altitude != NULL;
}

/* ---- Registration ------------------------------------------------------------------------------------------------ */

/* Inserts the routine into the list. Returns false if another routine has the same altitude. Requires the lock. */
static bool callback_insert(struct callback *c)
{
    struct callback **at = &callbacks;

    while (*at && callback_is_below(c, *at))
        at = &(*at)->next;
    if (*at && !callback_is_below(*at, c))
        return false;
    c->next = *at;
    *at = c;
    return true;
}

static NTSTATUS callback_register(const char *who, PEX_CALLBACK_FUNCTION function, PCUNICODE_STRING altitude,
                                  PVOID context, PLARGE_INTEGER cookie)
{
    struct callback *c = calloc(1, sizeof *c);
    bool inserted;

    irql_check_max(who, APC_LEVEL);
    if (!c || (altitude && !callback_set_altitude(c, altitude))) {
        free(c);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    c->references = 1;
    c->routine = function;
    c->context = context;
    pthread_mutex_lock(&lock);
    c->cookie = ++last_cookie;
    inserted = callback_insert(c);
    if (inserted) {
        atomic_fetch_add(&callback_count, 1);
        cookie->QuadPart = c->cookie;
        /* Comes before the unlock, because another thread may remove the routine after the unlock. */
        live_add(LIVE_CALLBACK, c, who);
    } else {
        callback_unref(c);
    }
    pthread_mutex_unlock(&lock);
    return inserted ? STATUS_SUCCESS : STATUS_FLT_INSTANCE_ALTITUDE_COLLISION;
}

NTSTATUS CmRegisterCallbackEx(PEX_CALLBACK_FUNCTION Function, PCUNICODE_STRING Altitude, PVOID Driver, PVOID Context,
                              PLARGE_INTEGER Cookie, PVOID Reserved)
{
    UNREFERENCED_PARAMETER(Driver);
    UNREFERENCED_PARAMETER(Reserved);
    if (!Altitude || !Altitude->Length)
        return STATUS_INVALID_PARAMETER;
    return callback_register("CmRegisterCallbackEx", Function, Altitude, Context, Cookie);
}

NTSTATUS CmRegisterCallback(PEX_CALLBACK_FUNCTION Function, PVOID Context, PLARGE_INTEGER Cookie)
{
    return callback_register("CmRegisterCallback", Function, NULL, Context, Cookie);
}

VOID CmGetCallbackVersion(PULONG Major, PULONG Minor)
{
    irql_check_max("CmGetCallbackVersion", APC_LEVEL);
    if (Major)
        *Major = 1;
    if (Minor)
        *Minor = 1;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

static NTSTATUS callback_run(struct callback *c, REG_NOTIFY_CLASS class, void *info)
{
    struct callback_call call = { c, current_call };
    struct thread_mark mark = thread_mark_get();
    NTSTATUS status;

    current_call = &call;
    status = c->routine(c->context, (PVOID)(uintptr_t) class, info);
    current_call = call.outer;
    thread_mark_check(&mark, "registry callback", (const void *)c->routine);
    return status;
}

/* If the routine was removed, returns false. Otherwise calls the routine and returns true. */
static bool callback_call(struct callback *c, REG_NOTIFY_CLASS class, void *info, NTSTATUS *status)
{
    bool removed;

    pthread_mutex_lock(&lock);
    removed = c->removed;
    c->running += !removed;
    pthread_mutex_unlock(&lock);
    if (removed)
        return false;
    *status = callback_run(c, class, info);
    pthread_mutex_lock(&lock);
    callback_returned(c);
    pthread_mutex_unlock(&lock);
    return true;
}

/* Returns the object's context for the routine. */
static PVOID context_get(const struct key_object *object, const struct callback *c)
{
    struct object_context *at;
    PVOID value;

    pthread_mutex_lock(&lock);
    for (at = contexts; at && (at->object != object || at->callback != c); at = at->next)
        ;
    value = at ? at->value : NULL;
    pthread_mutex_unlock(&lock);
    return value;
}

/*
 * Fills call->seen with the routines that the operation must notify, and acquires a reference on each routine. If this
 * thread runs a registered routine, the operation notifies only the routines below that routine. Returns false if out
 * of memory.
 */
static bool registry_call_prepare(struct registry_call *call)
{
    const struct callback *above = current_call ? current_call->of : NULL;
    unsigned n = 0;

    pthread_mutex_lock(&lock);
    for (struct callback *c = callbacks; c; c = c->next)
        n += !above || callback_is_below(c, above);
    call->seen = n ? calloc(n, sizeof *call->seen) : NULL;
    for (struct callback *c = callbacks; c && call->seen; c = c->next)
        if (!above || callback_is_below(c, above)) {
            c->references++;
            call->seen[call->seen_count++].callback = c;
        }
    pthread_mutex_unlock(&lock);
    return call->seen_count == n;
}

/* Truncates call->seen: removes each routine whose index is `from` or higher, and drops its reference. */
static void registry_call_truncate(struct registry_call *call, unsigned from)
{
    pthread_mutex_lock(&lock);
    while (call->seen_count > from)
        callback_unref(call->seen[--call->seen_count].callback);
    pthread_mutex_unlock(&lock);
}

bool registry_call_begin(struct registry_call *call, NTSTATUS *status)
{
    call->seen = NULL;
    call->seen_count = 0;
    if (!registry_has_callbacks())
        return true;
    if (!registry_call_prepare(call)) {
        *status = STATUS_INSUFFICIENT_RESOURCES;
        return false;
    }
    for (unsigned i = 0; i < call->seen_count; i++) {
        struct registry_seen *s = &call->seen[i];
        NTSTATUS result = STATUS_SUCCESS;

        *call->call_context = NULL;
        *call->object_context = context_get(call->object, s->callback);
        (void)callback_call(s->callback, call->pre, call->info, &result);
        s->call_context = *call->call_context;
        if (NT_SUCCESS(result) || call->cannot_block)
            continue;
        registry_call_truncate(call, i);
        *status = result == STATUS_CALLBACK_BYPASS ? STATUS_SUCCESS : result;
        return false;
    }
    return true;
}

NTSTATUS registry_call_end(struct registry_call *call, NTSTATUS status)
{
    for (unsigned i = call->seen_count; i-- > 0;) {
        struct registry_seen *s = &call->seen[i];
        REG_POST_OPERATION_INFORMATION post = { .Object = (PVOID)(uintptr_t)call->result,
                                                .Status = status,
                                                .PreInformation = call->info,
                                                .ReturnStatus = status,
                                                .CallContext = s->call_context,
                                                .ObjectContext = context_get(call->result, s->callback) };
        NTSTATUS result = STATUS_SUCCESS;

        *call->call_context = s->call_context;
        (void)callback_call(s->callback, call->post, &post, &result);
        if (result == STATUS_CALLBACK_BYPASS && !call->cannot_block)
            status = post.ReturnStatus;
    }
    registry_call_truncate(call, 0);
    free(call->seen);
    call->seen = NULL;
    return status;
}

/* ---- Contexts ---------------------------------------------------------------------------------------------------- */

/*
 * Returns the place in the list of a context of the object or, if `object` is NULL, of the routine c. The place has
 * NULL if there is none. Requires the lock.
 */
static struct object_context **context_find(const struct key_object *object, const struct callback *c)
{
    struct object_context **at = &contexts;

    while (*at && (object ? (*at)->object != object : (*at)->callback != c))
        at = &(*at)->next;
    return at;
}

/*
 * Removes the context that context_find finds from the list. Returns the context with a reference on its routine and
 * on its object, or NULL if there is none. Also increments `running` of the routine, because the caller then calls the
 * routine. Waits while the object has no reference: another thread is about to revive it.
 */
static struct object_context *context_remove(const struct key_object *object, const struct callback *c)
{
    struct object_context **at, *found;

    pthread_mutex_lock(&lock);
    while ((found = *(at = context_find(object, c))) && !ob_try_ref(found->object))
        pthread_cond_wait(&changed, &lock);
    if (found) {
        *at = found->next;
        found->callback->references++;
        found->callback->running++;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* Removes all contexts that context_remove finds, and passes each of them back to its routine. */
static void context_clean_up(const struct key_object *object, const struct callback *c)
{
    struct object_context *x;

    while ((x = context_remove(object, c))) {
        REG_CALLBACK_CONTEXT_CLEANUP_INFORMATION info = { .Object = x->object, .ObjectContext = x->value };

        (void)callback_run(x->callback, RegNtCallbackObjectContextCleanup, &info);
        pthread_mutex_lock(&lock);
        callback_returned(x->callback);
        callback_unref(x->callback);
        pthread_mutex_unlock(&lock);
        ob_unref(x->object);
        free(x);
    }
}

NTSTATUS CmSetCallbackObjectContext(PVOID Object, PLARGE_INTEGER Cookie, PVOID NewContext, PVOID *OldContext)
{
    struct object_context *new = calloc(1, sizeof *new), *x;
    struct callback *c;

    irql_check_max("CmSetCallbackObjectContext", APC_LEVEL);
    if (!new)
        return STATUS_INSUFFICIENT_RESOURCES;
    if (!Object || ob_type(Object) != *CmKeyObjectType) {
        free(new);
        return STATUS_INVALID_PARAMETER;
    }
    pthread_mutex_lock(&lock);
    c = callback_find(Cookie->QuadPart);
    for (x = contexts; x && (x->object != Object || x->callback != c); x = x->next)
        ;
    if (OldContext)
        *OldContext = x ? x->value : NULL;
    if (c && !x) {
        *new = (struct object_context){ contexts, Object, c, NULL };
        contexts = x = new;
        new = NULL;
    }
    if (c)
        x->value = NewContext;
    pthread_mutex_unlock(&lock);
    free(new);
    return c ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

void registry_notify_close(struct key_object *object)
{
    REG_KEY_HANDLE_CLOSE_INFORMATION info = { .Object = object };
    struct registry_call call = REGISTRY_CALL(KeyHandleClose, object, info);
    NTSTATUS status = STATUS_SUCCESS;

    if (!registry_has_callbacks())
        return;
    call.cannot_block = true;
    (void)registry_call_begin(&call, &status);
    (void)registry_call_end(&call, STATUS_SUCCESS);
}

bool registry_revive(struct key_object *object)
{
    bool has_contexts;

    pthread_mutex_lock(&lock);
    has_contexts = *context_find(object, NULL) != NULL;
    if (has_contexts) {
        ob_ref(object);
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return has_contexts;
}

void registry_clean_up_contexts(struct key_object *object)
{
    context_clean_up(object, NULL);
}

static bool callback_runs_here(const struct callback *c)
{
    const struct callback_call *at = current_call;

    while (at && at->of != c)
        at = at->outer;
    return at != NULL;
}

NTSTATUS CmUnRegisterCallback(LARGE_INTEGER Cookie)
{
    struct callback **at, *c;

    irql_check_max("CmUnRegisterCallback", APC_LEVEL);
    pthread_mutex_lock(&lock);
    c = callback_find(Cookie.QuadPart);
    if (!c || callback_runs_here(c)) {
        pthread_mutex_unlock(&lock);
        if (c)
            check_failed(CHECK_LOCK_RECURSIVE, "CmUnRegisterCallback", (uintptr_t)c, 0, 0, 0,
                         "the routine of cookie 0x%llx waits for its own return", (unsigned long long)Cookie.QuadPart);
        return STATUS_INVALID_PARAMETER;
    }
    for (at = &callbacks; *at != c; at = &(*at)->next)
        ;
    *at = c->next;
    c->removed = true;
    atomic_fetch_sub(&callback_count, 1);
    callback_wait(c);
    pthread_mutex_unlock(&lock);
    context_clean_up(NULL, c);
    (void)live_remove(LIVE_CALLBACK, c);
    pthread_mutex_lock(&lock);
    callback_wait(c);
    callback_unref(c);
    pthread_mutex_unlock(&lock);
    return STATUS_SUCCESS;
}

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

/*
 * Returns a copy of the key's path in one block of memory. The block is pool if in_pool is true, otherwise heap. On
 * failure returns NULL. Sets *status to the result.
 */
static UNICODE_STRING *key_copy_path(const struct key_object *object, bool in_pool, NTSTATUS *status)
{
    const struct registry_key *key = object->key;
    UNICODE_STRING *out = NULL;
    ULONG length;

    registry_lock();
    length = registry_path_length(key);
    if (length <= MAXUSHORT && !key->deleted) {
        size_t size = sizeof *out + length;

        out = in_pool ? ExAllocatePoolWithTag(PagedPool, size, 'bOmC') : malloc(size);
    }
    if (out) {
        *out = (UNICODE_STRING){ (USHORT)length, (USHORT)length, (PWCH)(out + 1) };
        registry_copy_path(key, out->Buffer, length);
    }
    *status = out ? STATUS_SUCCESS : key->deleted ? STATUS_KEY_DELETED : STATUS_INSUFFICIENT_RESOURCES;
    registry_unlock();
    return out;
}

/* Checks the arguments of CmCallbackGetKeyObjectID or CmCallbackGetKeyObjectIDEx. If `id` is not NULL, sets *id. */
static NTSTATUS key_identify(const char *routine, const LARGE_INTEGER *cookie, void *object, PULONG_PTR id)
{
    bool is_known;

    irql_check_max(routine, APC_LEVEL);
    pthread_mutex_lock(&lock);
    is_known = callback_find(cookie->QuadPart) != NULL;
    pthread_mutex_unlock(&lock);
    if (!is_known || !object || ob_type(object) != *CmKeyObjectType)
        return STATUS_INVALID_PARAMETER;
    if (id)
        *id = (ULONG_PTR)((struct key_object *)object)->key;
    return STATUS_SUCCESS;
}

NTSTATUS CmCallbackGetKeyObjectID(PLARGE_INTEGER Cookie, PVOID Object, PULONG_PTR ObjectID,
                                  PCUNICODE_STRING *ObjectName)
{
    struct key_object *o = Object;
    NTSTATUS status = key_identify("CmCallbackGetKeyObjectID", Cookie, Object, ObjectID);
    UNICODE_STRING *path;

    if (status || !ObjectName)
        return status;
    path = key_copy_path(o, false, &status);
    registry_lock();
    if (!o->path) {
        o->path = path;
        path = NULL;
    }
    *ObjectName = o->path;
    registry_unlock();
    free(path);
    return *ObjectName ? STATUS_SUCCESS : status;
}

NTSTATUS CmCallbackGetKeyObjectIDEx(PLARGE_INTEGER Cookie, PVOID Object, PULONG_PTR ObjectID,
                                    PCUNICODE_STRING *ObjectName, ULONG Flags)
{
    NTSTATUS status = key_identify("CmCallbackGetKeyObjectIDEx", Cookie, Object, ObjectID);

    if (Flags)
        return STATUS_INVALID_PARAMETER;
    if (!status && ObjectName)
        *ObjectName = key_copy_path(Object, true, &status);
    return status;
}

VOID CmCallbackReleaseKeyObjectIDEx(PCUNICODE_STRING ObjectName)
{
    irql_check_max("CmCallbackReleaseKeyObjectIDEx", APC_LEVEL);
    ExFreePoolWithTag((PVOID)(uintptr_t)ObjectName, 'bOmC');
}
