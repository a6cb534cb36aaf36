/* SPDX-License-Identifier: MIT */
/* Finds the other end of a connection if that end is a connector of this process. */
#ifndef VERIFY_CONNECTOR_PEER_H
#define VERIFY_CONNECTOR_PEER_H

#include "verify/connector.h"

struct connector;

struct connector_peer {
    const void *connector;
    enum phase phase;
    unsigned count; /* number of connectors that can be the other end; all are in this phase */
};

/*
 * Finds the connectors in this process that can be the other end of p's connection. Compares addresses and phases.
 * Returns true if at least one was found, and all that were found are in the same phase.
 */
bool connector_find_peer(const struct proxy *p, struct connector_peer *peer);
/*
 * Finds the accepting end of the connection of `active`, the connecting end. If exactly one connector of this process
 * can be that end, begins to compare the sends and receives of both queue pairs: see messages.h. Must be called just
 * before the consumer completes the connection. Both addresses of `active` must be stored.
 */
void connector_pair(struct connector *active);
/*
 * Adds c to the list of accepting ends in which connector_pair searches. Requires that a connect event has delivered c,
 * and that both addresses of c are stored.
 */
void connector_add_passive(struct connector *c);
/*
 * Removes c from the list of accepting ends, if c is in it. Runs before the provider closes the connector. Requires the
 * proxies' lock.
 */
void connector_remove_passive(struct connector *c);

#endif
