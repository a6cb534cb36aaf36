/* SPDX-License-Identifier: MIT */
/* For tests of a connection's events: a driver that notes what they bring, and does with it what the test says. */
#ifndef TESTS_WDK_WSK_SEEN_H
#define TESTS_WDK_WSK_SEEN_H

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "wsk_kit.h"

/* What a connection's events have brought. */
struct seen {
    atomic_size_t octets;      /* taken, all in the pattern's order */
    atomic_int receives, disconnects, backlogs, wrong;
    atomic_ulong flags, backlog;
    /* What the next events do. */
    atomic_int status;         /* of WskReceiveEvent; STATUS_PENDING is of the next alone */
    atomic_size_t accept;      /* at most that many octets; 0: all */
    _Atomic(PWSK_DATA_INDICATION) kept;
    atomic_int hold, held;     /* hold: the event does not come back */
};

static inline void seen_take(struct seen *s, PWSK_DATA_INDICATION list, SIZE_T most)
{
    SIZE_T at = atomic_load(&s->octets);

    for (PWSK_DATA_INDICATION d = list; d; d = d->Next) {
        const UCHAR *data =
            (const UCHAR *)MmGetSystemAddressForMdlSafe(d->Buffer.Mdl, NormalPagePriority) + d->Buffer.Offset;

        for (SIZE_T i = 0; i < d->Buffer.Length && most > 0; i++, most--)
            if (data[i] != kit_pattern(at++))
                atomic_fetch_add(&s->wrong, 1);
    }
    atomic_store(&s->octets, at);
}

static inline void seen_hold(struct seen *s)
{
    atomic_store(&s->held, 1);
    while (atomic_load(&s->hold))
        sched_yield();
    atomic_store(&s->held, 0);
}

static inline NTSTATUS WSKAPI seen_receive(PVOID context, ULONG flags, PWSK_DATA_INDICATION list, SIZE_T octets,
                                           SIZE_T *accepted)
{
    struct seen *s = context;
    NTSTATUS status = (NTSTATUS)atomic_load(&s->status);
    SIZE_T most = atomic_load(&s->accept);

    if (!list || !(flags & WSK_FLAG_AT_DISPATCH_LEVEL) || KeGetCurrentIrql() != DISPATCH_LEVEL)
        atomic_fetch_add(&s->wrong, 1);
    seen_hold(s);
    if (status == STATUS_SUCCESS && most && most < octets)
        *accepted = most;
    else
        most = octets;
    if (status == STATUS_PENDING) {
        atomic_store(&s->kept, list);
        atomic_store(&s->status, STATUS_SUCCESS);
    }
    if (status != STATUS_DATA_NOT_ACCEPTED)
        seen_take(s, list, most);
    atomic_fetch_add(&s->receives, 1);
    return status;
}

static inline NTSTATUS WSKAPI seen_disconnect(PVOID context, ULONG flags)
{
    struct seen *s = context;

    atomic_store(&s->flags, flags);
    atomic_fetch_add(&s->disconnects, 1);
    return STATUS_SUCCESS;
}

static inline NTSTATUS WSKAPI seen_backlog(PVOID context, SIZE_T size)
{
    struct seen *s = context;

    atomic_store(&s->backlog, size);
    atomic_fetch_add(&s->backlogs, 1);
    return STATUS_SUCCESS;
}

static const WSK_CLIENT_CONNECTION_DISPATCH seen_dispatch = { seen_receive, seen_disconnect, seen_backlog };

static struct seen seen;

static inline void seen_clean(void)
{
    memset(&seen, 0, sizeof seen);
}

/* The server's events, of which those of the mask are enabled, are seen. */
static inline struct kit_pair seen_start(ULONG mask)
{
    struct kit_pair p;

    seen_clean();
    p = kit_start(AF_INET, &seen, &seen_dispatch);
    if (mask)
        assert_int_equal(kit_events(p.server, mask, NULL), STATUS_SUCCESS);
    return p;
}

#endif
