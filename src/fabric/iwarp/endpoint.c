/* SPDX-License-Identifier: MIT */
/*
 * Implements shared endpoints. An endpoint is a reservation of a local address. Each connection of the endpoint has a
 * reference on the reservation, so the address stays reserved until the endpoint and all its connections are closed.
 */
#include <stdlib.h>

#include "fabric/iwarp/adapter.h"
#include "fabric/iwarp/endpoint.h"
#include "fabric/iwarp/reason.h"

enum fabric_reason iwarp_endpoint_create(struct fabric *f, struct addr *local, struct fabric_endpoint **out)
{
    struct iwarp_fabric *fabric = (struct iwarp_fabric *)f;
    enum fabric_reason owned = iwarp_check_address(fabric, local);
    struct fabric_endpoint *e;
    int error;

    if (owned != FABRIC_OK)
        return owned;
    e = calloc(1, sizeof *e);
    if (!e)
        return FABRIC_RESOURCES;
    error = fabric->net->ops->reserve(fabric->net, local, NULL, NET_USE_SHARED, &e->reservation);
    if (error) {
        free(e);
        return iwarp_reason_reserve(error);
    }
    e->net = fabric->net;
    e->local = *local;
    *out = e;
    return FABRIC_OK;
}

void iwarp_endpoint_close(struct fabric_endpoint *e)
{
    e->net->ops->reservation_unref(e->reservation);
    free(e);
}
