/* SPDX-License-Identifier: MIT */
/*
 * Declares the iWARP fabric, which runs the protocol core (iwarp/) over the engine (engine/). Each open adapter has its
 * own fabric.
 */
#ifndef FABRIC_IWARP_IWARP_FABRIC_H
#define FABRIC_IWARP_IWARP_FABRIC_H

#include <stdint.h>

#include "engine/interfaces.h"
#include "engine/net.h"
#include "engine/shard.h"
#include "fabric/config.h"
#include "fabric/fabric.h"

/*
 * Creates the fabric of the adapter whose interface is if_index. Returns 0 or errno (ENODEV: no such interface;
 * ENETDOWN: the interface has no address; ...). May block.
 */
int iwarp_fabric_create(struct executor *e, struct net *net, struct interfaces *interfaces, uint32_t if_index,
                        const struct fabric_config *config, struct fabric **out);

#endif
