/* SPDX-License-Identifier: MIT */
/* The other end of a connection, if it is a connector of this process. */
#ifndef VERIFY_CONNECTOR_PEER_H
#define VERIFY_CONNECTOR_PEER_H

#include "verify/connector.h"

struct connector_peer {
    const void *connector;
    enum phase phase;
};

/*
 * Finds the other end by the addresses of both. Returns false if it is not known. While NdkConnect is pending, the
 * connecting end has no address, and the other end is known if only one connector has a request at the destination.
 */
bool connector_find_peer(const struct proxy *p, struct connector_peer *peer);

#endif
