/* SPDX-License-Identifier: MIT */
#ifndef VERIFY_CONNECTOR_H
#define VERIFY_CONNECTOR_H

#include "verify/connector_phase.h"
#include "verify/proxy.h"

/* Returns a proxy for a connector of `parent`, which is an adapter or a listener. Returns NULL if out of memory. */
struct proxy *connector_proxy_create(struct proxy *parent);
/* Stores the address of the peer, for reports. `address` has the provider's format. */
void connector_set_peer(struct proxy *p, const void *address, size_t length);
/* Stores this end's address, which the provider has returned. */
void connector_set_local(struct proxy *p, const void *address, size_t length);
/*
 * Asks the provider for both addresses and stores them. Returns true if it has returned both. Must be called only while
 * the consumer cannot close the connector.
 */
bool connector_ask_addresses(struct proxy *p);

enum { CONNECTOR_PEER_TEXT = 64 };

struct connector_state {
    enum phase phase;
    uint64_t since_ns;              /* when the phase began, on CLOCK_MONOTONIC */
    bool peer_ended;                /* the disconnect callback was called, in this phase or in an earlier one */
    const void *listener;           /* the listener whose connect event has delivered the connector, or NULL */
    char peer[CONNECTOR_PEER_TEXT]; /* the peer's address, "10.0.0.1:4420" or "[fe80::1]:4420"; may be empty */
    char
        local[CONNECTOR_PEER_TEXT]; /* this end's address; if this end connects, empty until the consumer asks for it */
};
/* Copies the state of the connector p. */
void connector_get_state(const struct proxy *p, struct connector_state *state);

#endif
