/* SPDX-License-Identifier: MIT */
/*
 * Implements callback objects: see wdm/callback.h. A registration is in the list of its object, in the order of
 * registration, and has a reference on the object. The invariant: a registration is removed from the list and freed
 * only while no thread runs its routine.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "wdk/common/check.h"
#include "wdk/common/link.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/object.h"

struct _CALLBACK_OBJECT {
    LIST_ENTRY entry; /* in the list of all callback objects */
    LIST_ENTRY registrations;
    UNICODE_STRING name;
    bool allows_several;
};

struct registration {
    LIST_ENTRY entry;
    PCALLBACK_OBJECT object;
    PCALLBACK_FUNCTION routine;
    PVOID context;
    unsigned running; /* number of calls of the routine that have not returned */
    bool is_ending;   /* no further call begins, because ExUnregisterCallback waits for the running calls */
};

/* A call of a routine by the current thread. */
struct callback_call {
    const struct registration *of;
    const struct callback_call *outer; /* the enclosing call on this thread, or NULL */
};

/* Guards the list of objects, and the registrations of all objects. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t returned = PTHREAD_COND_INITIALIZER;
static LIST_ENTRY objects = { &objects, &objects };
static _Thread_local const struct callback_call *current_call;

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

static void callback_destroy(void *object)
{
    PCALLBACK_OBJECT o = object;

    pthread_mutex_lock(&lock);
    link_remove(&o->entry);
    pthread_mutex_unlock(&lock);
    free(o->name.Buffer);
}

static struct _OBJECT_TYPE callback_type = { .name = "callback object", .destroy = callback_destroy };

/* Returns the object of that name with a reference, or NULL. Requires the lock. */
static PCALLBACK_OBJECT callback_find_by_name(PCUNICODE_STRING name)
{
    for (LIST_ENTRY *at = objects.Flink; at != &objects; at = at->Flink) {
        PCALLBACK_OBJECT o = CONTAINING_RECORD(at, struct _CALLBACK_OBJECT, entry);

        if (RtlEqualUnicodeString(&o->name, name, true) && ob_try_ref(o))
            return o;
    }
    return NULL;
}

/* Creates an object with one reference. Requires the lock. Returns NULL if out of memory. */
static PCALLBACK_OBJECT callback_add(PCUNICODE_STRING name, bool allows_several)
{
    WCHAR *text = malloc(name->Length);
    PCALLBACK_OBJECT o = text ? ob_new(&callback_type, sizeof *o) : NULL;

    if (!o) {
        free(text);
        return NULL;
    }
    memcpy(text, name->Buffer, name->Length);
    o->name = (UNICODE_STRING){ name->Length, name->Length, text };
    o->allows_several = allows_several;
    link_init(&o->registrations);
    link_insert_before(&objects, &o->entry);
    return o;
}

static bool callback_is_of_system(PCUNICODE_STRING name)
{
    static const UNICODE_STRING of_system[] = {
        RTL_CONSTANT_STRING(L"\\Callback\\SetSystemTime"),
        RTL_CONSTANT_STRING(L"\\Callback\\PowerState"),
        RTL_CONSTANT_STRING(L"\\Callback\\ProcessorAdd"),
    };

    for (size_t i = 0; i < RTL_NUMBER_OF(of_system); i++)
        if (RtlEqualUnicodeString(&of_system[i], name, true))
            return true;
    return false;
}

NTSTATUS ExCreateCallback(PCALLBACK_OBJECT *CallbackObject, POBJECT_ATTRIBUTES ObjectAttributes, BOOLEAN Create,
                          BOOLEAN AllowMultipleCallbacks)
{
    PCUNICODE_STRING name = ObjectAttributes->ObjectName;
    bool of_system = name && callback_is_of_system(name), is_new;
    PCALLBACK_OBJECT o;

    irql_check_max("ExCreateCallback", APC_LEVEL);
    *CallbackObject = NULL;
    if (!name || !name->Length)
        return STATUS_UNSUCCESSFUL;
    if (ObjectAttributes->RootDirectory)
        return STATUS_INVALID_PARAMETER;
    if (name->Buffer[0] != '\\')
        return STATUS_OBJECT_PATH_SYNTAX_BAD;
    pthread_mutex_lock(&lock);
    o = callback_find_by_name(name);
    is_new = !o && (Create || of_system);
    if (is_new)
        o = callback_add(name, AllowMultipleCallbacks || of_system);
    pthread_mutex_unlock(&lock);
    if (!o)
        return is_new ? STATUS_INSUFFICIENT_RESOURCES : STATUS_OBJECT_NAME_NOT_FOUND;
    if (is_new && (of_system || ObjectAttributes->Attributes & OBJ_PERMANENT))
        ob_ref(o); /* this reference is never dropped */
    ob_pass_to_driver(o);
    *CallbackObject = o;
    return STATUS_SUCCESS;
}

/* ---- Registrations ----------------------------------------------------------------------------------------------- */

PVOID ExRegisterCallback(PCALLBACK_OBJECT CallbackObject, PCALLBACK_FUNCTION CallbackFunction, PVOID CallbackContext)
{
    struct registration *r;
    bool has_room;

    irql_check_max("ExRegisterCallback", APC_LEVEL);
    if (!ob_check("ExRegisterCallback", CallbackObject) || ob_type(CallbackObject) != &callback_type)
        return NULL;
    r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->object = CallbackObject;
    r->routine = CallbackFunction;
    r->context = CallbackContext;
    pthread_mutex_lock(&lock);
    has_room = CallbackObject->allows_several || link_empty(&CallbackObject->registrations);
    if (has_room)
        link_insert_before(&CallbackObject->registrations, &r->entry);
    pthread_mutex_unlock(&lock);
    if (!has_room) {
        free(r);
        return NULL;
    }
    ob_ref(CallbackObject);
    live_add(LIVE_CALLBACK, r, "ExRegisterCallback");
    return r;
}

static bool registration_runs_here(const struct registration *r)
{
    const struct callback_call *c = current_call;

    while (c && c->of != r)
        c = c->outer;
    return c != NULL;
}

VOID ExUnregisterCallback(PVOID CallbackRegistration)
{
    struct registration *r = CallbackRegistration;

    irql_check_max("ExUnregisterCallback", APC_LEVEL);
    if (!live_has(LIVE_CALLBACK, r)) {
        check_failed(CHECK_REFERENCE, "ExUnregisterCallback", 0, (uintptr_t)r, 0, 0, "%p is no registration",
                     (void *)r);
        return;
    }
    if (registration_runs_here(r)) {
        check_failed(CHECK_LOCK_RECURSIVE, "ExUnregisterCallback", (uintptr_t)r, 0, 0, 0,
                     "the routine of registration %p waits for its own return", (void *)r);
        return;
    }
    pthread_mutex_lock(&lock);
    r->is_ending = true;
    while (r->running)
        pthread_cond_wait(&returned, &lock);
    link_remove(&r->entry);
    pthread_mutex_unlock(&lock);
    (void)live_remove(LIVE_CALLBACK, r);
    ob_unref(r->object);
    free(r);
}

/* Calls the routine. Requires the lock, and releases it during the call. */
static void registration_call(struct registration *r, PVOID argument1, PVOID argument2)
{
    struct callback_call call = { r, current_call };
    struct thread_mark mark = thread_mark_get();

    r->running++;
    pthread_mutex_unlock(&lock);
    current_call = &call;
    r->routine(r->context, argument1, argument2);
    current_call = call.outer;
    thread_mark_check(&mark, "callback routine", (const void *)r->routine);
    pthread_mutex_lock(&lock);
    if (--r->running == 0 && r->is_ending)
        pthread_cond_broadcast(&returned);
}

VOID ExNotifyCallback(PVOID CallbackObject, PVOID Argument1, PVOID Argument2)
{
    PCALLBACK_OBJECT o = CallbackObject;

    irql_check_max("ExNotifyCallback", DISPATCH_LEVEL);
    if (!ob_check("ExNotifyCallback", CallbackObject) || ob_type(CallbackObject) != &callback_type)
        return;
    pthread_mutex_lock(&lock);
    for (LIST_ENTRY *at = o->registrations.Flink, *next; at != &o->registrations; at = next) {
        struct registration *r = CONTAINING_RECORD(at, struct registration, entry);

        if (!r->is_ending)
            registration_call(r, Argument1, Argument2);
        next = at->Flink;
    }
    pthread_mutex_unlock(&lock);
}
