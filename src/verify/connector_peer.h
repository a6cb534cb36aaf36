/* SPDX-License-Identifier: MIT */
/* The other end of a connection, if it is a connector of this process. */
#ifndef VERIFY_CONNECTOR_PEER_H
#define VERIFY_CONNECTOR_PEER_H

#include "verify/connector.h"

struct connector;

struct connector_peer {
    const void *connector;
    enum phase phase;
    unsigned count; /* connectors that can be the other end; all are in this phase */
};

/*
 * Finds the connectors in this process that can be the other end of p's connection, by their addresses and phases.
 * Returns false if there is none, or if the found connectors are not all in one phase.
 */
bool connector_find_peer(const struct proxy *p, struct connector_peer *peer);
/*
 * Called when the connecting end is about to complete its connection, and its addresses are known. If exactly one
 * connector is the other end, the messages of their queue pairs are compared from then on: see messages.h.
 */
void connector_pair(struct connector *active);
/* Makes the connector of a connect event, whose addresses are known, an end that connector_pair can find. */
void connector_add_passive(struct connector *c);
/* Called before the connector is closed. Requires the proxies' lock. */
void connector_remove_passive(struct connector *c);

#endif
