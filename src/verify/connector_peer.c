/* SPDX-License-Identifier: MIT */
/* Finds the other end of a connection in this process: see connector_peer.h. */
#include <string.h>

#include "verify/connector_call.h"
#include "verify/connector_peer.h"

static bool peer_is_same_text(const char *a, const char *b)
{
    return a[0] && strcmp(a, b) == 0;
}

/*
 * Returns whether the two ends of one connection can be in these phases, and one of them can wait for the other. The
 * two ends do not change their phases at the same moment. Pairs of phases that exist only in between are no stall.
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
 * Returns whether `passive` can be the accepting end of the connection that `active` makes. The connecting end's
 * address is not asked for, because its consumer may close the connector at any moment.
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
