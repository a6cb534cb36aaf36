/* SPDX-License-Identifier: MIT */
/* Finds the other end of a connection in this process: see connector_peer.h. */
#include <string.h>

#include "verify/connector_call.h"
#include "verify/connector_peer.h"
#include "verify/messages.h"
#include "verify/net_namespace.h"

static bool peer_is_same_text(const char *a, const char *b)
{
    return a[0] && strcmp(a, b) == 0;
}

/*
 * Returns true if the two ends of one connection can wait for each other in these phases. Other pairs of phases exist
 * only for a short time, because the ends do not change their phases at the same moment.
 */
static bool peer_fits_phase(enum phase active, enum phase passive)
{
    if (phase_was_established(active) || phase_was_established(passive))
        return phase_was_established(active) && phase_was_established(passive);
    if (passive == PHASE_ACCEPTING)
        return active == PHASE_CONNECTING || active == PHASE_REPLIED || active == PHASE_COMPLETING;
    return passive == PHASE_REQUESTED && active == PHASE_CONNECTING;
}

/*
 * Returns true if `passive` can be the accepting end of the connection that `active` makes. If active->local is empty,
 * any address of the connecting end matches. The missing address is not queried, because the consumer may close the
 * connector at any moment.
 */
static bool peer_fits(const struct connector_state *active, const struct connector_state *passive)
{
    return !active->listener && passive->listener && peer_is_same_text(active->peer, passive->local) &&
           (!active->local[0] || peer_is_same_text(active->local, passive->peer)) &&
           peer_fits_phase(active->phase, passive->phase);
}

bool connector_find_peer(const struct proxy *p, struct connector_peer *peer)
{
    const struct connector_state *self = &((const struct connector *)p)->state, *other;
    bool is_one_phase = true;

    peer->count = 0;
    proxy_lock_all();
    for (const struct proxy *q = proxy_next_open(NULL); q; q = proxy_next_open(q)) {
        if (q->type != NdkObjectTypeConnector || q == p || atomic_load(&q->state) != PROXY_OPEN)
            continue;
        other = &((const struct connector *)q)->state;
        if (!peer_fits(self, other) && !peer_fits(other, self))
            continue;
        is_one_phase = is_one_phase && (!peer->count || other->phase == peer->phase);
        *peer = (struct connector_peer){ .connector = q, .phase = other->phase, .count = peer->count + 1 };
    }
    proxy_unlock_all();
    return peer->count > 0 && is_one_phase;
}

/* ---- certain pairs ---- */

enum { BUCKETS = 256 };

/*
 * The open connectors that connect events have delivered. Their ports select the bucket. Guarded by the proxies' lock.
 */
static LIST_HEAD(, connector) passive_ends[BUCKETS];

/* Returns the bucket of a connector. Both ends of a connection have the same bucket. */
static unsigned passive_bucket(const struct connector *c)
{
    unsigned ports = (unsigned)(c->local.port ^ c->peer.port);

    return (ports ^ ports >> 8) % BUCKETS;
}

void connector_add_passive(struct connector *c)
{
    proxy_lock_all();
    c->is_passive = true;
    LIST_INSERT_HEAD(&passive_ends[passive_bucket(c)], c, passive);
    proxy_unlock_all();
}

void connector_remove_passive(struct connector *c)
{
    if (!c->is_passive)
        return;
    c->is_passive = false;
    LIST_REMOVE(c, passive);
}

/*
 * Returns true if `passive` is certainly the other end of the connection that `active` makes. The connect event and the
 * accept of `passive` must be later than the NdkConnect of `active`. Requires that each end's local address is the
 * other end's peer address.
 */
static bool pair_is_sure(const struct connector *active, const struct connector *passive)
{
    enum phase phase = passive->state.phase;

    return passive->began > active->began && (phase == PHASE_ACCEPTING || phase == PHASE_ESTABLISHED) && active->qp &&
           passive->qp && net_namespace_is_single();
}

void connector_pair(struct connector *active)
{
    struct connector *passive = NULL, *c;
    unsigned count = 0;

    proxy_lock_all();
    LIST_FOREACH (c, &passive_ends[passive_bucket(active)], passive) {
        if (!address_key_equal(&active->local, &c->peer) || !address_key_equal(&active->peer, &c->local))
            continue;
        passive = c;
        count++;
    }
    if (count == 1 && pair_is_sure(active, passive))
        messages_pair((struct queue *)active->qp, (struct queue *)passive->qp);
    proxy_unlock_all();
}
