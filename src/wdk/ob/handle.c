/* SPDX-License-Identifier: MIT */
/* Handles: see handle.h. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <uthash.h>

#include "wdm.h"

#include "wdk/common/check.h"
#include "wdk/common/live.h"
#include "wdk/ob/handle.h"
#include "wdk/ob/object.h"

struct handle {
    HANDLE value;
    void *object;
    UT_hash_handle hh;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct handle *handles;
static uintptr_t last_value = 0xffffffff80000000; /* as in kernel handles of Windows, the upper 33 bits are set */

NTSTATUS handle_open(void *object, HANDLE *handle)
{
    struct handle *h = malloc(sizeof *h);

    if (!h)
        return STATUS_INSUFFICIENT_RESOURCES;
    h->object = object;
    ob_handle_opened(object);
    pthread_mutex_lock(&lock);
    last_value += 4;
    h->value = (HANDLE)last_value;
    HASH_ADD_PTR(handles, value, h);
    *handle = h->value;
    pthread_mutex_unlock(&lock);
    live_add(LIVE_HANDLE, *handle, ob_type(object)->name);
    return STATUS_SUCCESS;
}

void *handle_lookup(HANDLE handle, POBJECT_TYPE type, NTSTATUS *status)
{
    struct handle *h;
    void *object = NULL;

    pthread_mutex_lock(&lock);
    HASH_FIND_PTR(handles, &handle, h);
    if (!h) {
        *status = STATUS_INVALID_HANDLE;
    } else if (type && ob_type(h->object) != type) {
        *status = STATUS_OBJECT_TYPE_MISMATCH;
    } else {
        *status = STATUS_SUCCESS;
        object = h->object;
        ob_ref(object);
    }
    pthread_mutex_unlock(&lock);
    return object;
}

void *handle_lookup_reported(const char *routine, HANDLE handle, POBJECT_TYPE type, NTSTATUS *status)
{
    void *object = handle_lookup(handle, type, status);

    if (*status == STATUS_INVALID_HANDLE && check_on())
        check_failed(CHECK_HANDLE_INVALID, routine, (uintptr_t)handle, 0, 0, 0, "handle %p is not open", handle);
    return object;
}

bool handle_close(HANDLE handle)
{
    struct handle *h;
    bool was_last;

    pthread_mutex_lock(&lock);
    HASH_FIND_PTR(handles, &handle, h);
    if (h)
        HASH_DEL(handles, h);
    pthread_mutex_unlock(&lock);
    if (!h)
        return false;
    (void)live_remove(LIVE_HANDLE, handle);
    was_last = ob_handle_closed(h->object);
    if (ob_type(h->object)->closed)
        ob_type(h->object)->closed(h->object, was_last);
    ob_unref(h->object);
    free(h);
    return true;
}
