/* SPDX-License-Identifier: MIT */
/* For tests of a connection's events: a driver that records them and handles them as the test requests. */
#ifndef TESTS_WDK_WSK_RECORD_H
#define TESTS_WDK_WSK_RECORD_H

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "wsk_kit.h"

/* The recorded events of a connection. */
struct record {
    atomic_size_t bytes; /* accepted bytes, which continue the pattern */
    atomic_int receives, disconnects, backlogs, wrong;
    atomic_ulong flags, backlog;
    /* How the next events are handled. */
    atomic_int status;    /* what WskReceiveEvent returns; STATUS_PENDING applies only to the next event */
    atomic_size_t accept; /* maximum number of bytes that an event accepts; 0: all */
    _Atomic(PWSK_DATA_INDICATION) kept;
    atomic_int blocks, blocked; /* blocks: the event does not return */
};

static inline void record_data(struct record *s, PWSK_DATA_INDICATION list, SIZE_T most)
{
    SIZE_T at = atomic_load(&s->bytes);

    for (PWSK_DATA_INDICATION d = list; d; d = d->Next) {
        const UCHAR *data = (const UCHAR *)MmGetSystemAddressForMdlSafe(d->Buffer.Mdl, NormalPagePriority) +
                            d->Buffer.Offset;

        for (SIZE_T i = 0; i < d->Buffer.Length && most > 0; i++, most--)
            if (data[i] != kit_pattern(at++))
                atomic_fetch_add(&s->wrong, 1);
    }
    atomic_store(&s->bytes, at);
}

static inline void record_block(struct record *s)
{
    atomic_store(&s->blocked, 1);
    while (atomic_load(&s->blocks))
        sched_yield();
    atomic_store(&s->blocked, 0);
}

static inline NTSTATUS WSKAPI record_receive(PVOID context, ULONG flags, PWSK_DATA_INDICATION list, SIZE_T bytes,
                                             SIZE_T *accepted)
{
    struct record *s = context;
    NTSTATUS status = (NTSTATUS)atomic_load(&s->status);
    SIZE_T most = atomic_load(&s->accept);

    if (!list || !(flags & WSK_FLAG_AT_DISPATCH_LEVEL) || KeGetCurrentIrql() != DISPATCH_LEVEL)
        atomic_fetch_add(&s->wrong, 1);
    record_block(s);
    if (status == STATUS_SUCCESS && most && most < bytes)
        *accepted = most;
    else
        most = bytes;
    if (status == STATUS_PENDING) {
        atomic_store(&s->kept, list);
        atomic_store(&s->status, STATUS_SUCCESS);
    }
    if (status != STATUS_DATA_NOT_ACCEPTED)
        record_data(s, list, most);
    atomic_fetch_add(&s->receives, 1);
    return status;
}

static inline NTSTATUS WSKAPI record_disconnect(PVOID context, ULONG flags)
{
    struct record *s = context;

    atomic_store(&s->flags, flags);
    atomic_fetch_add(&s->disconnects, 1);
    return STATUS_SUCCESS;
}

static inline NTSTATUS WSKAPI record_backlog(PVOID context, SIZE_T size)
{
    struct record *s = context;

    atomic_store(&s->backlog, size);
    atomic_fetch_add(&s->backlogs, 1);
    return STATUS_SUCCESS;
}

static const WSK_CLIENT_CONNECTION_DISPATCH record_dispatch = { record_receive, record_disconnect, record_backlog };

static struct record record;

static inline void record_init(void)
{
    memset(&record, 0, sizeof record);
}

/* Creates a connection whose server events are recorded, and enables those of the mask. */
static inline struct kit_pair record_start(ULONG mask)
{
    struct kit_pair p;

    record_init();
    p = kit_start(AF_INET, &record, &record_dispatch);
    if (mask)
        assert_int_equal(kit_events(p.server, mask, NULL), STATUS_SUCCESS);
    return p;
}

#endif
