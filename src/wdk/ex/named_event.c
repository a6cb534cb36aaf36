/* SPDX-License-Identifier: MIT */
/*
 * Events with handles, and events that drivers share by a name: see wdm/io.h and ntifs.h. An event's name exists as
 * long as a handle to the event is open.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ntifs.h"

#include "wdk/common/check.h"
#include "wdk/common/inuse.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/handle.h"
#include "wdk/ob/object.h"

struct named_event {
    KEVENT event; /* first member, because the event's address is the object's address */
    struct named_event *next;
    UNICODE_STRING name; /* its Buffer is NULL if the event has no name */
    int handles;         /* number of handles that are open or being opened; guarded by `lock` */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct named_event *events;

static void named_event_destroy(void *object)
{
    struct named_event *e = object;

    inuse_check("ZwClose", &e->event, sizeof e->event);
    free(e->name.Buffer);
}

static void named_event_on_close(void *object, bool was_last)
{
    struct named_event **at = &events, *e = object;

    UNREFERENCED_PARAMETER(was_last); /* unlike `handles`, was_last ignores handles that are being opened */
    pthread_mutex_lock(&lock);
    if (--e->handles == 0 && e->name.Buffer) {
        while (*at != e)
            at = &(*at)->next;
        *at = e->next;
    }
    pthread_mutex_unlock(&lock);
}

/*
 * Must be called if a handle was counted in `handles`, but was not opened. Decrements `handles`, and drops the
 * reference that the handle would have had.
 */
static void named_event_release(struct named_event *e)
{
    named_event_on_close(e, false);
    ob_unref(e);
}

static struct _OBJECT_TYPE event_type = {
    .name = "event", .destroy = named_event_destroy, .closed = named_event_on_close, .is_waitable = true
};
static struct _OBJECT_TYPE *event_type_pointer = &event_type;
struct _OBJECT_TYPE **ExEventObjectType = &event_type_pointer;

/* Creates an event with this name. Requires the lock. Returns NULL if out of memory. */
static struct named_event *named_event_add(PCUNICODE_STRING name, EVENT_TYPE type, bool signaled)
{
    struct named_event *e = ob_new(&event_type, sizeof *e);

    if (!e)
        return NULL;
    e->name.Buffer = malloc(name->Length);
    if (!e->name.Buffer) {
        ob_unref(e);
        return NULL;
    }
    memcpy(e->name.Buffer, name->Buffer, name->Length);
    e->name.Length = e->name.MaximumLength = name->Length;
    KeInitializeEvent(&e->event, type, signaled);
    e->next = events;
    events = e;
    return e;
}

/*
 * Returns true if the name is that of an event of the kernel itself. The event is created when a driver opens it. Sets
 * *signaled to the state with which the event must be created. The state means that much memory is free.
 */
static bool event_is_of_system(PCUNICODE_STRING name, bool *signaled)
{
    static const struct {
        UNICODE_STRING name;
        bool signaled;
    } of_system[] = {
        { RTL_CONSTANT_STRING(L"\\KernelObjects\\HighMemoryCondition"), true },
        { RTL_CONSTANT_STRING(L"\\KernelObjects\\LowMemoryCondition"), false },
        { RTL_CONSTANT_STRING(L"\\KernelObjects\\HighPagedPoolCondition"), true },
        { RTL_CONSTANT_STRING(L"\\KernelObjects\\LowPagedPoolCondition"), false },
        { RTL_CONSTANT_STRING(L"\\KernelObjects\\HighNonPagedPoolCondition"), true },
        { RTL_CONSTANT_STRING(L"\\KernelObjects\\LowNonPagedPoolCondition"), false },
        { RTL_CONSTANT_STRING(L"\\KernelObjects\\LowCommitCondition"), true },
        { RTL_CONSTANT_STRING(L"\\KernelObjects\\HighCommitCondition"), false },
        { RTL_CONSTANT_STRING(L"\\KernelObjects\\MaximumCommitCondition"), false },
    };

    for (size_t i = 0; i < sizeof of_system / sizeof of_system[0]; i++)
        if (RtlEqualUnicodeString(&of_system[i].name, name, true)) {
            *signaled = of_system[i].signaled;
            return true;
        }
    return false;
}

/*
 * Returns the event of that name, with a reference. Requires the lock. Returns NULL if there is none, or if out of
 * memory.
 */
static struct named_event *named_event_find(PCUNICODE_STRING name)
{
    struct named_event *e;
    bool signaled;

    for (e = events; e && !RtlEqualUnicodeString(&e->name, name, true); e = e->next)
        ;
    if (e)
        ob_ref(e);
    else if (event_is_of_system(name, &signaled))
        e = named_event_add(name, NotificationEvent, signaled);
    return e;
}

static struct named_event *named_event_find_or_add(PCUNICODE_STRING name, EVENT_TYPE type)
{
    struct named_event *e;

    pthread_mutex_lock(&lock);
    e = named_event_find(name);
    if (!e)
        e = named_event_add(name, type, true);
    if (e)
        e->handles++;
    pthread_mutex_unlock(&lock);
    return e;
}

static PKEVENT named_event_open(const char *routine, PCUNICODE_STRING name, EVENT_TYPE type, PHANDLE handle)
{
    struct named_event *e;

    irql_check_max(routine, PASSIVE_LEVEL);
    *handle = NULL;
    if (!name || name->Length < 2 * sizeof(WCHAR) || name->Buffer[0] != '\\')
        return NULL;
    e = named_event_find_or_add(name, type);
    if (e && handle_open(e, handle)) {
        named_event_release(e);
        return NULL;
    }
    return e ? &e->event : NULL;
}

PKEVENT IoCreateNotificationEvent(PUNICODE_STRING EventName, PHANDLE EventHandle)
{
    return named_event_open("IoCreateNotificationEvent", EventName, NotificationEvent, EventHandle);
}

PKEVENT IoCreateSynchronizationEvent(PUNICODE_STRING EventName, PHANDLE EventHandle)
{
    return named_event_open("IoCreateSynchronizationEvent", EventName, SynchronizationEvent, EventHandle);
}

/* ---- Events by handle -------------------------------------------------------------------------------------------- */

/* Checks the attributes. Sets *name to the event's name, or to NULL if the attributes contain no name. */
static NTSTATUS event_check_attributes(const OBJECT_ATTRIBUTES *attributes, PCUNICODE_STRING *name)
{
    *name = NULL;
    if (!attributes)
        return STATUS_SUCCESS;
    if (attributes->Length != sizeof *attributes || attributes->RootDirectory)
        return STATUS_INVALID_PARAMETER; /* a name relative to a directory is not supported */
    if (!attributes->ObjectName)
        return STATUS_SUCCESS;
    *name = attributes->ObjectName;
    if (!(*name)->Length || (*name)->Buffer[0] != '\\')
        return STATUS_OBJECT_PATH_SYNTAX_BAD;
    return (*name)->Length < 2 * sizeof(WCHAR) ? STATUS_OBJECT_NAME_INVALID : STATUS_SUCCESS;
}

static struct named_event *event_add_without_name(EVENT_TYPE type, bool signaled)
{
    struct named_event *e = ob_new(&event_type, sizeof *e);

    if (e)
        KeInitializeEvent(&e->event, type, signaled);
    return e;
}

/* Opens a handle of the event. The handle takes over the caller's reference. The caller has incremented `handles`. */
static NTSTATUS event_open_handle(struct named_event *e, PHANDLE handle)
{
    NTSTATUS status = handle_open(e, handle);

    if (status)
        named_event_release(e);
    return status;
}

NTSTATUS ZwCreateEvent(PHANDLE EventHandle, ACCESS_MASK DesiredAccess, POBJECT_ATTRIBUTES ObjectAttributes,
                       EVENT_TYPE EventType, BOOLEAN InitialState)
{
    PCUNICODE_STRING name;
    struct named_event *e = NULL;
    bool existed = false;
    NTSTATUS status = event_check_attributes(ObjectAttributes, &name);

    UNREFERENCED_PARAMETER(DesiredAccess);
    irql_check_max(__func__, PASSIVE_LEVEL);
    *EventHandle = NULL;
    if (status)
        return status;
    if (EventType != NotificationEvent && EventType != SynchronizationEvent)
        return STATUS_INVALID_PARAMETER_4;
    pthread_mutex_lock(&lock);
    if (name)
        e = named_event_find(name);
    existed = e != NULL;
    if (!existed)
        e = name ? named_event_add(name, EventType, InitialState) : event_add_without_name(EventType, InitialState);
    if (e)
        e->handles++;
    pthread_mutex_unlock(&lock);
    if (!e)
        return STATUS_INSUFFICIENT_RESOURCES;
    if (existed && !(ObjectAttributes->Attributes & OBJ_OPENIF)) {
        named_event_release(e);
        return STATUS_OBJECT_NAME_COLLISION;
    }
    status = event_open_handle(e, EventHandle);
    return status ? status : existed ? STATUS_OBJECT_NAME_EXISTS : STATUS_SUCCESS;
}

NTSTATUS ZwOpenEvent(PHANDLE EventHandle, ACCESS_MASK DesiredAccess, POBJECT_ATTRIBUTES ObjectAttributes)
{
    PCUNICODE_STRING name;
    struct named_event *e;
    NTSTATUS status = event_check_attributes(ObjectAttributes, &name);

    UNREFERENCED_PARAMETER(DesiredAccess);
    irql_check_max(__func__, PASSIVE_LEVEL);
    *EventHandle = NULL;
    if (status)
        return status;
    if (!ObjectAttributes)
        return STATUS_INVALID_PARAMETER;
    if (!name)
        return STATUS_OBJECT_PATH_SYNTAX_BAD;
    pthread_mutex_lock(&lock);
    e = named_event_find(name);
    if (e)
        e->handles++;
    pthread_mutex_unlock(&lock);
    return e ? event_open_handle(e, EventHandle) : STATUS_OBJECT_NAME_NOT_FOUND;
}

/* Returns the object of the handle with a reference. Reports a handle that is not open. */
static void *event_lookup(const char *routine, HANDLE handle, POBJECT_TYPE type, NTSTATUS *status)
{
    void *object;

    irql_check_max(routine, PASSIVE_LEVEL);
    object = handle_lookup(handle, type, status);
    if (*status == STATUS_INVALID_HANDLE && check_on())
        check_failed(CHECK_HANDLE_INVALID, routine, (uintptr_t)handle, 0, 0, 0, "handle %p is not open", handle);
    return object;
}

NTSTATUS ZwSetEvent(HANDLE EventHandle, PLONG PreviousState)
{
    NTSTATUS status;
    struct named_event *e = event_lookup(__func__, EventHandle, &event_type, &status);
    LONG previous;

    if (!e)
        return status;
    previous = KeSetEvent(&e->event, IO_NO_INCREMENT, FALSE);
    if (PreviousState)
        *PreviousState = previous;
    ob_unref(e);
    return STATUS_SUCCESS;
}

NTSTATUS ZwWaitForSingleObject(HANDLE Handle, BOOLEAN Alertable, PLARGE_INTEGER Timeout)
{
    NTSTATUS status;
    void *object = event_lookup(__func__, Handle, NULL, &status);

    if (!object)
        return status;
    status = STATUS_OBJECT_TYPE_MISMATCH;
    if (ob_type(object)->is_waitable)
        status = KeWaitForSingleObject(object, UserRequest, KernelMode, Alertable, Timeout);
    ob_unref(object); /* the reference was needed, because another thread may have closed the handle */
    return status;
}
