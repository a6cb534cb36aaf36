/* SPDX-License-Identifier: MIT */
/*
 * Receives the reports of an adapter's fabric and writes them to the log. The fabric reports an event before the
 * consumer's completion or callback. The invariant: this file's code does not wait or allocate memory, because the
 * fabric calls it in events (fabric/fabric.h). The code calls no routine of the program except the callback of
 * ondk_log_set.
 *
 * The number of lines is limited, because peers could otherwise fill a disk. Each role (initiator or responder) and
 * each level has limits of its own. A keyed hash of the peer's IPv4 address or IPv6 /64 assigns each peer to a group. A
 * group may write LIMIT_BURST lines without a pause, and then one line every group_interval_ns. The groups that have
 * reached this limit may together write one more line every shared_interval_ns. Lines beyond these limits are only
 * counted.
 */
#include "provider/connection_log.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/addr.h"
#include "base/owner.h"
#include "base/random.h"
#include "openndk/adapter.h"
#include "provider/adapter.h"
#include "provider/failures.h"
#include "provider/log.h"
#include "provider/reason.h"
#include "provider/status.h"

enum { LIMIT_GROUPS = 32, LIMIT_GROUP_BITS = 5, LIMIT_BURST = 100 };
enum { LIMIT_ROLES = 2, LIMIT_LEVELS = ONDK_LOG_DEBUG + 1 };
static const uint64_t group_interval_ns = UINT64_C(60000000000), shared_interval_ns = UINT64_C(1000000000);

/*
 * For each limit, the time at which its latest interval ends. Each written line adds one interval of fixed length. The
 * new interval begins at the end of the latest interval, or now if the latest interval has ended. limit_take refuses a
 * line if the new interval would end more than `burst` intervals after now.
 */
static _Atomic uint64_t limit_until[LIMIT_ROLES][LIMIT_LEVELS][LIMIT_GROUPS];
static _Atomic uint64_t limit_shared_until[LIMIT_ROLES][LIMIT_LEVELS];

/*
 * Returns the random key of the hash. The key is drawn in the first call and not when the process starts. So a
 * simulation, which writes no lines, draws no key, and its sequence of random numbers stays the same.
 */
static uint64_t limit_key(void)
{
    static _Atomic uint64_t key;
    uint64_t drawn = atomic_load_explicit(&key, memory_order_relaxed), none = 0;

    if (drawn)
        return drawn;
    drawn = random_u64() | 1;
    return atomic_compare_exchange_strong(&key, &none, drawn) ? drawn : none;
}

static _Atomic uint64_t *limit_group(const struct fabric_report *r, uint32_t level)
{
    struct addr source = addr_source(&r->remote);
    uint64_t hash = (addr_hash(&source) ^ limit_key()) * UINT64_C(0x9e3779b97f4a7c15);

    return &limit_until[r->initiated][level][hash >> (64 - LIMIT_GROUP_BITS)];
}

static bool limit_take(_Atomic uint64_t *until, uint64_t now, uint64_t interval_ns, uint64_t burst)
{
    uint64_t old = atomic_load_explicit(until, memory_order_relaxed), next;

    do {
        next = (old > now ? old : now) + interval_ns;
        if (next - now > burst * interval_ns)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(until, &old, next, memory_order_relaxed, memory_order_relaxed));
    return true;
}

/* Returns true if the report's line may be written, and counts the line against the limits. */
static bool limit_allows(const struct fabric_report *r, uint32_t level)
{
    uint64_t now = owner_clock(NULL);

    return limit_take(limit_group(r, level), now, group_interval_ns, LIMIT_BURST) ||
           limit_take(&limit_shared_until[r->initiated][level], now, shared_interval_ns, 1);
}

/* ---- lines ---- */

static const char *connection_address(const struct addr *a, char text[ADDR_TEXT])
{
    return a->sa.sa_family ? addr_text(a, text) : "unknown";
}

static uint32_t connection_level(enum fabric_outcome outcome)
{
    return outcome == FABRIC_OUTCOME_FAILED || outcome == FABRIC_OUTCOME_REFUSED ? ONDK_LOG_INFO : ONDK_LOG_DEBUG;
}

/*
 * Writes the line for a report. `status` is used only for a failure. `reason` is used only for a failure or the end of
 * a connection.
 */
static void connection_write(const struct fabric_report *r, NTSTATUS status, uint32_t reason)
{
    static const char *const outcomes[] = {
        [FABRIC_OUTCOME_ESTABLISHED] = "established",
        [FABRIC_OUTCOME_ENDED] = "ended",
        [FABRIC_OUTCOME_FAILED] = "failed",
        [FABRIC_OUTCOME_REFUSED] = "refused",
    };
    char local[ADDR_TEXT], foreign[ADDR_TEXT], name[REASON_NAME], text[REASON_TEXT], head[256];
    uint32_t level = connection_level(r->outcome);

    snprintf(head, sizeof(head), "connection %s: local=%s foreign=%s role=%s", outcomes[r->outcome],
             connection_address(&r->local, local), connection_address(&r->remote, foreign),
             r->initiated ? "initiated" : "accepted");
    if (r->outcome == FABRIC_OUTCOME_ESTABLISHED)
        log_line(level, "%s mpa-revision=%u crc=%s", head, (unsigned)r->agreed.revision,
                 r->agreed.has_crc ? "on" : "off");
    else if (r->outcome == FABRIC_OUTCOME_ENDED)
        log_line(level, "%s reason=%s (0x%08x)", head, reason_write_name(reason, name), (unsigned)reason);
    else
        log_line(level, "%s phase=%s status=%s reason=%s (0x%08x): %s", head, fabric_phase_name(r->phase),
                 ondk_status_name(status), reason_write_name(reason, name), (unsigned)reason,
                 reason_write_text(reason, text));
}

/* Returns the status with which the consumer's failed request completes. */
static NTSTATUS connection_status(const struct fabric_report *r)
{
    bool connects = r->phase == FABRIC_PHASE_CONNECTING || r->phase == FABRIC_PHASE_REQUESTING;

    return connects ? status_of_connect(r->why) : status_of_reason(r->why);
}

static void connection_on_report(void *owner, const struct fabric_report *r)
{
    uint32_t level = connection_level(r->outcome), reason = reason_code(r->why, r->terminate);
    NTSTATUS status = connection_status(r);

    if (level == ONDK_LOG_INFO)
        failures_add(owner, r, status, reason);
    if (!log_is_on(level))
        return;
    if (limit_allows(r, level))
        connection_write(r, status, reason);
    else
        log_leave_out();
}

void connection_log_observe(struct adapter *a)
{
    const struct fabric_observer observer = { .report = connection_on_report, .owner = a };

    failures_watch_forks();
    a->fabric->ops->observe(a->fabric, &observer);
}

void connection_log_end(void)
{
    if (log_is_on(ONDK_LOG_INFO))
        log_report_left_out(ONDK_LOG_INFO, true);
}

/* ---- listeners ---- */

void connection_log_listening(enum fabric_reason why, const struct addr *local)
{
    char address[ADDR_TEXT], name[REASON_NAME], text[REASON_TEXT];
    uint32_t reason = reason_code(why, FABRIC_NO_TERMINATE);

    if (why == FABRIC_OK)
        log_line(ONDK_LOG_DEBUG, "listener started: local=%s", addr_text(local, address));
    else
        log_line(ONDK_LOG_INFO, "listener failed: local=%s status=%s reason=%s (0x%08x): %s", addr_text(local, address),
                 ondk_status_name(status_of_reason(why)), reason_write_name(reason, name), (unsigned)reason,
                 reason_write_text(reason, text));
}

void connection_log_stopped(const struct addr *local)
{
    char address[ADDR_TEXT];

    log_line(ONDK_LOG_DEBUG, "listener stopped: local=%s", addr_text(local, address));
}
