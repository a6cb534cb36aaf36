/* SPDX-License-Identifier: MIT */
/*
 * Events that drivers share by a name: see wdm/io.h. An event's name exists as long as a handle to the event is open.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "wdk/common/inuse.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/handle.h"
#include "wdk/ob/object.h"

struct named_event {
    KEVENT event; /* first member, because the event's address is the object's address */
    struct named_event *next;
    UNICODE_STRING name;
    int handles; /* open handles; guarded by `lock` */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct named_event *events;

static void named_event_destroy(void *object)
{
    struct named_event *e = object;

    inuse_check("ZwClose", &e->event, sizeof e->event);
    free(e->name.Buffer);
}

static void named_event_on_close(void *object)
{
    struct named_event **at = &events, *e = object;

    pthread_mutex_lock(&lock);
    if (--e->handles == 0) {
        while (*at != e)
            at = &(*at)->next;
        *at = e->next;
    }
    pthread_mutex_unlock(&lock);
}

static struct _OBJECT_TYPE event_type = { "event", named_event_destroy, named_event_on_close };
static struct _OBJECT_TYPE *event_type_pointer = &event_type;
struct _OBJECT_TYPE **ExEventObjectType = &event_type_pointer;

/* Creates an event with this name. Requires the lock. Returns NULL if out of memory. */
static struct named_event *named_event_add(PCUNICODE_STRING name, EVENT_TYPE type)
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
    KeInitializeEvent(&e->event, type, true);
    e->next = events;
    events = e;
    return e;
}

static struct named_event *named_event_find_or_add(PCUNICODE_STRING name, EVENT_TYPE type)
{
    struct named_event *e;

    pthread_mutex_lock(&lock);
    for (e = events; e && !RtlEqualUnicodeString(&e->name, name, true); e = e->next)
        ;
    if (e)
        ob_ref(e);
    else
        e = named_event_add(name, type);
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
        named_event_on_close(e);
        ob_unref(e);
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
