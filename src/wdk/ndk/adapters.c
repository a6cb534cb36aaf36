/* SPDX-License-Identifier: MIT */
/*
 * Implements the list of open adapters. The list's lock is held during an open, so that concurrent opens return the
 * same adapter.
 */
#include <pthread.h>
#include <stdlib.h>

#include "wdm.h"
#include "ws2def.h"

#include "front/open.h"
#include "wdk/ndk/activity.h"
#include "wdk/ndk/adapters.h"
#include "wdk/ndk/provider.h"

struct entry {
    NDK_ADAPTER *adapter;
    NDK_VERSION version;
    uint32_t if_index;
    unsigned opens;
    struct entry *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries;

static struct entry *adapters_find(NDK_VERSION version, uint32_t if_index)
{
    struct entry *e = entries;

    while (e && (e->if_index != if_index || e->version.Major != version.Major || e->version.Minor != version.Minor))
        e = e->next;
    return e;
}

static NTSTATUS adapters_open_new(NDK_VERSION version, uint32_t if_index, struct entry **created)
{
    struct entry *e = calloc(1, sizeof(*e));
    NTSTATUS status;

    if (!e)
        return STATUS_INSUFFICIENT_RESOURCES;
    status = ndk_provider_open(version, if_index, &e->adapter);
    if (!NT_SUCCESS(status)) {
        free(e);
        return status;
    }
    e->version = version;
    e->if_index = if_index;
    e->next = entries;
    entries = e;
    *created = e;
    return STATUS_SUCCESS;
}

NTSTATUS adapters_open(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter)
{
    NTSTATUS status = STATUS_SUCCESS;
    struct entry *e;

    if (!adapter)
        return STATUS_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    e = adapters_find(version, if_index);
    if (!e)
        status = adapters_open_new(version, if_index, &e);
    if (e) {
        e->opens++;
        *adapter = e->adapter;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

enum adapters_closed adapters_close(NDK_ADAPTER *adapter)
{
    enum adapters_closed result;
    struct entry **at, *e, *last = NULL;

    pthread_mutex_lock(&lock);
    for (at = &entries; (e = *at) && e->adapter != adapter; at = &e->next)
        ;
    if (e && --e->opens == 0) {
        *at = e->next;
        last = e;
    }
    result = last ? ADAPTERS_CLOSED : e ? ADAPTERS_STILL_OPEN : ADAPTERS_UNKNOWN;
    pthread_mutex_unlock(&lock);
    if (last) {
        ndk_provider_close(last->adapter);
        free(last);
    }
    return result;
}

bool adapters_add_activity(struct activity *sum, bool crashed)
{
    if (ndk_provider_is_foreign())
        return false;
    front_add_closed_activity(sum);
    if (crashed ? pthread_mutex_trylock(&lock) : pthread_mutex_lock(&lock))
        return true;
    for (struct entry *e = entries; e; e = e->next)
        front_add_activity(e->adapter, sum, crashed);
    pthread_mutex_unlock(&lock);
    return true;
}
