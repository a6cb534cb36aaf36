/* SPDX-License-Identifier: MIT */
#ifndef VERIFY_CONNECTOR_H
#define VERIFY_CONNECTOR_H

#include "verify/connector_phase.h"
#include "verify/proxy.h"

/* Creates a proxy for a connector. `parent` is the proxy of an adapter or a listener. Returns NULL if out of memory. */
struct proxy *connector_proxy_create(struct proxy *parent);
/* Stores the peer's address in the connector p. The address must be in the provider's format. */
void connector_set_peer(struct proxy *p, const void *address, size_t length);
/* Stores this end's address in the connector p. The address must be in the provider's format. */
void connector_set_local(struct proxy *p, const void *address, size_t length);
/*
 * Queries both addresses of the connection from the provider, and stores them. Returns true if the provider has
 * returned both. Requires that the consumer cannot close the connector meanwhile.
 */
bool connector_ask_addresses(struct proxy *p);

enum { CONNECTOR_PEER_TEXT = 64 };

struct connector_state {
    enum phase phase;
    uint64_t since_ns;               /* time at which the phase began, in ns on CLOCK_MONOTONIC */
    bool peer_ended;                 /* the disconnect callback was called, in this phase or in an earlier one */
    const void *listener;            /* listener of the accepting end; NULL in a connecting end */
    char peer[CONNECTOR_PEER_TEXT];  /* for example "10.0.0.1:4420" or "[fe80::1]:4420"; may be empty */
    char local[CONNECTOR_PEER_TEXT]; /* this end's address, or empty if not known yet */
};
/* Copies the state of the connector p to *state, under the proxies' lock. */
void connector_get_state(const struct proxy *p, struct connector_state *state);

#endif
