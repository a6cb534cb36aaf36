/* SPDX-License-Identifier: MIT */
/*
 * Reports three mistakes of a consumer: it does not answer a connection request, does not complete a connect, or does
 * not answer a disconnect event. In each of these phases the peer waits for the consumer. See stall_connector.h.
 */
#include "verify/stall_connector.h"

#include "verify/connector_call.h"
#include "verify/stall.h"

enum { CONNECTORS_AT_ONCE = 16 };

/* The phases in which the consumer must make a call, and the rules that a missing call breaks. */
static const struct {
    enum phase phase;
    enum verify_rule rule;
    const char *routine, *text;
} owed_calls[] = {
    { PHASE_REQUESTED, RULE_REQUEST_UNANSWERED, "NdkConnectEventCallback",
      "the request has been neither accepted nor rejected, and its connector is open" },
    { PHASE_REPLIED, RULE_CONNECT_UNCOMPLETED, "NdkConnect",
      "NdkConnect has succeeded, but neither NdkCompleteConnect nor NdkReject followed, and the connector is open" },
    { PHASE_PEER_GONE, RULE_DISCONNECT_IGNORED, "NdkDisconnectEventCallback",
      "the peer has disconnected, but NdkDisconnect did not follow, and the connector is open" },
};
enum { OWED_CALLS = sizeof owed_calls / sizeof owed_calls[0] };

struct owing {
    struct proxy *p; /* proxy of the connector, with a reference */
    const void *listener;
    uint64_t since;
    int owed; /* index of the connector's phase in owed_calls */
};

/*
 * Returns the index of the connector's phase in owed_calls. Returns -1 if the consumer need not make a call in this
 * phase, or if a missing call must not be reported. Requires the proxies' lock.
 */
static int connector_owes(const struct connector *c)
{
    if (atomic_load(&c->p.state) != PROXY_OPEN || c->is_stall_reported || stall_is_inherited(c->state.since_ns))
        return -1;
    for (int i = 0; i < OWED_CALLS; i++)
        if (owed_calls[i].phase == c->state.phase)
            return i;
    return -1;
}

/*
 * Copies connectors to `out`, at most CONNECTORS_AT_ONCE. Copies a connector only once for each wait, and only if its
 * wait for a call by the consumer began at the time `before` or earlier. Returns the number of copied connectors. Sets
 * *oldest to the start time of the oldest wait that was not copied, or to UINT64_MAX if there is none.
 */
static unsigned connectors_copy_owing(uint64_t before, struct owing *out, uint64_t *oldest)
{
    unsigned n = 0;

    *oldest = UINT64_MAX;
    proxy_lock_all();
    for (struct proxy *p = proxy_next_open(NULL); p; p = proxy_next_open(p)) {
        struct connector *c = (struct connector *)p;
        int owed = p->type == NdkObjectTypeConnector ? connector_owes(c) : -1;

        if (owed < 0)
            continue;
        if (c->state.since_ns <= before && n < CONNECTORS_AT_ONCE) {
            c->is_stall_reported = true;
            proxy_ref(p);
            out[n++] = (struct owing){ p, c->state.listener, c->state.since_ns, owed };
        } else if (c->state.since_ns < *oldest) {
            *oldest = c->state.since_ns;
        }
    }
    proxy_unlock_all();
    return n;
}

static void owing_report(const struct owing *o, uint64_t now)
{
    uint64_t age_ms = (now - o->since) / STALL_NS_PER_MS;
    struct breach breach = { .rule = &verify_rules[owed_calls[o->owed].rule],
                             .routine = owed_calls[o->owed].routine,
                             .parameters = { (uintptr_t)o->p, age_ms } };

    if (owed_calls[o->owed].phase == PHASE_REQUESTED) {
        breach.parameters[1] = (uintptr_t)o->listener;
        breach.parameters[2] = age_ms;
    }
    proxy_set_report_object(o->p);
    report_breach_at(&breach, &(struct stack){ .depth = 0 }, "for %llu ms: %s", (unsigned long long)age_ms,
                     owed_calls[o->owed].text);
}

uint64_t stall_examine_connectors(uint64_t now, uint64_t limit)
{
    struct owing due[CONNECTORS_AT_ONCE];
    uint64_t oldest;
    unsigned n;

    do {
        n = connectors_copy_owing(now > limit ? now - limit : 0, due, &oldest);
        for (unsigned i = 0; i < n; i++) {
            owing_report(&due[i], now);
            proxy_unref(due[i].p);
        }
    } while (n == CONNECTORS_AT_ONCE);
    return oldest;
}
