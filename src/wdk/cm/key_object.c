/* SPDX-License-Identifier: MIT */
/* Implements key objects: see key_object.h. */
#include <pthread.h>
#include <stdlib.h>

#include "wdm.h"

#include "wdk/cm/callback.h"
#include "wdk/cm/key_object.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/handle.h"
#include "wdk/ob/object.h"

static void *key_object_clean_up(void *object)
{
    registry_clean_up_contexts(object);
    return object;
}

/*
 * The registered routines (callback.h) receive their contexts back at PASSIVE_LEVEL. If the last reference was dropped
 * at a higher IRQL, a new thread calls the routines, and this thread waits until the new thread has ended. If the
 * thread cannot be created, this thread calls the routines at its IRQL. The routines may acquire and drop references on
 * the object: the reference of registry_revive is dropped after their return.
 */
static bool key_object_revive(void *object)
{
    pthread_t thread;

    if (!registry_revive(object))
        return false;
    if (irql_now() == PASSIVE_LEVEL || thread_create(&thread, NULL, key_object_clean_up, object))
        registry_clean_up_contexts(object);
    else
        pthread_join(thread, NULL);
    ob_unref(object);
    return true;
}

static void key_object_destroy(void *object)
{
    struct key_object *o = object;

    free(o->path);
    ob_unref(o->key);
}

static void key_object_on_close(void *object, bool was_last)
{
    if (was_last)
        registry_notify_close(object);
}

static struct _OBJECT_TYPE key_object_type = {
    .name = "registry key", .destroy = key_object_destroy, .revive = key_object_revive, .closed = key_object_on_close
};
static struct _OBJECT_TYPE *key_object_type_pointer = &key_object_type;
struct _OBJECT_TYPE **CmKeyObjectType = &key_object_type_pointer;

struct key_object *key_object_new(struct registry_key *key)
{
    struct key_object *o = ob_new(&key_object_type, sizeof *o);

    if (o)
        o->key = key;
    else
        ob_unref(key);
    return o;
}

struct key_object *key_object_of_handle(const char *routine, HANDLE handle, NTSTATUS *status)
{
    irql_check_max(routine, PASSIVE_LEVEL);
    return handle_lookup_reported(routine, handle, &key_object_type, status);
}

NTSTATUS registry_open_handle(struct registry_key *key, PHANDLE handle)
{
    struct key_object *o = key_object_new(key);
    NTSTATUS status = o ? handle_open(o, handle) : STATUS_INSUFFICIENT_RESOURCES;

    if (o && status)
        ob_unref(o);
    return status;
}

struct registry_key *registry_key_of_handle(const char *routine, HANDLE handle, NTSTATUS *status)
{
    struct key_object *o = key_object_of_handle(routine, handle, status);
    struct registry_key *key;

    if (!o)
        return NULL;
    key = o->key;
    ob_ref(key);
    ob_unref(o);
    return key;
}
