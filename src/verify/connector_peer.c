/* SPDX-License-Identifier: MIT */
/* Finds the other end of a connection in this process: see connector_peer.h. */
#include <string.h>

#include "verify/connector_call.h"
#include "verify/connector_peer.h"

static bool peer_is_same_text(const char *a, const char *b)
{
    return a[0] && strcmp(a, b) == 0;
}

/* Returns whether `passive` can be the accepting end of the connection that `active` makes. */
static bool peer_fits(const struct connector_state *active, const struct connector_state *passive)
{
    if (active->listener || !passive->listener || !peer_is_same_text(active->peer, passive->local))
        return false;
    if (active->local[0])
        return peer_is_same_text(active->local, passive->peer);
    return passive->phase == PHASE_REQUESTED || passive->phase == PHASE_ACCEPTING;
}

bool connector_find_peer(const struct proxy *p, struct connector_peer *peer)
{
    const struct connector_state *self = &((const struct connector *)p)->state, *other;
    unsigned found = 0;

    proxy_lock_all();
    for (const struct proxy *q = proxy_next_open(NULL); q; q = proxy_next_open(q)) {
        if (q->type != NdkObjectTypeConnector || q == p)
            continue;
        other = &((const struct connector *)q)->state;
        if (!peer_fits(self, other) && !peer_fits(other, self))
            continue;
        found++;
        *peer = (struct connector_peer){ .connector = q, .phase = other->phase };
    }
    proxy_unlock_all();
    return found == 1;
}
