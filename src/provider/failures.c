/* SPDX-License-Identifier: MIT */
/*
 * Stores the list of failures. The list has two halves. The accepted half is for connections that peers initiated, and
 * the other half is for connections that this side initiated. Each entry belongs to a source, which is the IPv4 address
 * or IPv6 /64 of the peer. If a half is full, the source with the most entries loses its oldest entry. The invariant:
 * peers can add entries only to the accepted half, so they cannot remove entries from the other half.
 *
 * Failures with equal keys are counted in one entry.
 */
#include "provider/failures.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/fork.h"
#include "base/sized.h"
#include "base/spin.h"
#include "provider/adapter.h"

struct failure_key {
    uint64_t adapter; /* the adapter's serial */
    struct addr self; /* the local address. The port is 0 if this side initiated. */
    /* If this side initiated: the foreign address and port. If the peer initiated: the failure's `source`, no port. */
    struct addr peer;
    enum fabric_outcome outcome;
    enum fabric_phase phase;
    NTSTATUS status;
    uint32_t reason;
};

struct failure {
    uint64_t count; /* number of times that the failure has happened; 0: the entry is not in use */
    uint64_t order; /* increases with each failure */
    struct failure_key key;
    struct addr local, foreign, source; /* source: the peer's IPv4 address or IPv6 /64 */
    unsigned of_source;                 /* number of entries with this source in this half of the list */
    uint32_t if_index;
    uint64_t first_time_ns, last_time_ns;
};

static struct {
    struct spin lock; /* guards this struct; a leaf lock */
    uint64_t order;
    struct failure halves[2][FAILURES_PER_ROLE]; /* [0]: accepted, [1]: initiated */
} failures;

static void failures_on_fork_child(void)
{
    memset(failures.halves, 0, sizeof(failures.halves));
}

void failures_watch_forks(void)
{
    fork_guard(&failures.lock);
    fork_on_child(failures_on_fork_child);
}

static uint64_t failure_now(void)
{
    struct timespec now = { 0 };

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static bool failure_keys_equal(const struct failure_key *a, const struct failure_key *b)
{
    return a->adapter == b->adapter && a->outcome == b->outcome && a->phase == b->phase && a->status == b->status &&
           a->reason == b->reason && addr_equal(&a->self, &b->self) && addr_equal(&a->peer, &b->peer);
}

/* Returns the entry in use that has this key, or NULL. Requires the lock. */
static struct failure *failure_find(struct failure *half, const struct failure_key *key)
{
    for (int i = 0; i < FAILURES_PER_ROLE; i++) {
        if (half[i].count && failure_keys_equal(&half[i].key, key))
            return &half[i];
    }
    return NULL;
}

/*
 * Returns an unused entry. If all entries are in use, returns the oldest entry of the source with the most entries.
 * Requires the lock.
 */
static struct failure *failure_choose(struct failure *half)
{
    struct failure *chosen = &half[0];

    for (int i = 0; i < FAILURES_PER_ROLE; i++) {
        struct failure *f = &half[i];

        if (!f->count)
            return f;
        if (f->of_source > chosen->of_source || (f->of_source == chosen->of_source && f->order < chosen->order))
            chosen = f;
    }
    return chosen;
}

/*
 * Adds `change` to the member of_source of each entry whose source is *source. Returns the number of these entries.
 * Requires the lock.
 */
static unsigned failure_count_source(struct failure *half, const struct addr *source, int change)
{
    unsigned count = 0;

    for (int i = 0; i < FAILURES_PER_ROLE; i++) {
        if (half[i].count && addr_equal(&half[i].source, source)) {
            half[i].of_source += (unsigned)change;
            count++;
        }
    }
    return count;
}

/* Copies *fresh to the entry that failure_choose returns, and returns that entry. Requires the lock. */
static struct failure *failure_replace(struct failure *half, const struct failure *fresh)
{
    struct failure *f = failure_choose(half);

    if (f->count)
        (void)failure_count_source(half, &f->source, -1);
    f->count = 0;
    unsigned others = failure_count_source(half, &fresh->source, 1);
    *f = *fresh;
    f->of_source = others + 1;
    return f;
}

void failures_add(const struct adapter *a, const struct fabric_report *report, NTSTATUS status, uint32_t reason)
{
    struct failure *half = failures.halves[report->initiated];
    struct failure fresh = {
        .key = { .adapter = a->serial,
                 .self = report->local,
                 .outcome = report->outcome,
                 .phase = report->phase,
                 .status = status,
                 .reason = reason },
        .source = addr_source(&report->remote),
        .if_index = a->if_index,
        .first_time_ns = failure_now(),
    };

    fresh.key.peer = report->initiated ? report->remote : fresh.source;
    if (report->initiated)
        addr_set_port(&fresh.key.self, 0);
    spin_lock(&failures.lock);
    struct failure *f = failure_find(half, &fresh.key);
    if (!f)
        f = failure_replace(half, &fresh);
    f->local = report->local;
    f->foreign = report->remote;
    f->last_time_ns = fresh.first_time_ns;
    f->order = ++failures.order;
    f->count++;
    spin_unlock(&failures.lock);
}

/* ---- for programs ---- */

static void failure_describe(const struct failure *f, ondk_failure_t *entry)
{
    *entry = (ondk_failure_t){
        .phase = fabric_phase_name(f->key.phase),
        .refused = f->key.outcome == FABRIC_OUTCOME_REFUSED,
        .if_index = f->if_index,
        .owner_pid = (uint32_t)getpid(),
        .status = f->key.status,
        .reason = f->key.reason,
        .first_time_ns = f->first_time_ns,
        .last_time_ns = f->last_time_ns,
        .count = f->count,
    };
    memcpy(&entry->local, &f->local.sa, addr_len(&f->local));
    memcpy(&entry->foreign, &f->foreign.sa, addr_len(&f->foreign));
}

/* Returns the newest entry in use, or NULL. */
static struct failure *failure_newest(struct failure *all)
{
    struct failure *newest = NULL;

    for (int i = 0; i < MAX_FAILURES; i++) {
        if (all[i].count && (!newest || all[i].order > newest->order))
            newest = &all[i];
    }
    return newest;
}

uint32_t ondk_adapter_failures_sized(NDK_ADAPTER *adapter, ondk_failure_t *entries, uint32_t capacity,
                                     size_t entry_size)
{
    struct failure all[MAX_FAILURES], *f;
    uint32_t count = 0;
    ondk_failure_t one;
    const struct adapter *only = adapter ? adapter_behind(adapter) : NULL;

    spin_lock(&failures.lock);
    memcpy(all, failures.halves, sizeof(all));
    spin_unlock(&failures.lock);
    while ((f = failure_newest(all)) != NULL) {
        if (!only || f->key.adapter == only->serial) {
            failure_describe(f, &one);
            one.initiated = f >= all + FAILURES_PER_ROLE;
            if (count < capacity)
                sized_write_entry(entries, count, entry_size, &one, sizeof(one));
            count++;
        }
        f->count = 0;
    }
    return count;
}
