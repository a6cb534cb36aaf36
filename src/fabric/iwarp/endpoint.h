/* SPDX-License-Identifier: MIT */
/* Declares shared endpoints. */
#ifndef FABRIC_IWARP_ENDPOINT_H
#define FABRIC_IWARP_ENDPOINT_H

#include "engine/net.h"
#include "fabric/fabric.h"

struct fabric_endpoint {
    struct net *net;
    struct net_reservation *reservation;
    struct addr local;
};

enum fabric_reason iwarp_endpoint_create(struct fabric *f, struct addr *local, struct fabric_endpoint **out);
void iwarp_endpoint_close(struct fabric_endpoint *e);

#endif
