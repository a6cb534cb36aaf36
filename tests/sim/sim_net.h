/* SPDX-License-Identifier: MIT */
/*
 * A network of two hosts, and TCP over it, with the interface of engine/net.h. Everything takes a time that the seed
 * determines, and everything that TCP allows can happen: any split, full windows, resets, lost peers, refusals,
 * shortages.
 *
 *   host n has 10.0.0.<n+1> and fd00::<n+1>, on its one interface, whose index is n + 1
 *   10.0.0.99 exists but never answers, 10.0.0.77 does not exist, 192.0.2.1 is behind no route
 */
#ifndef SIM_SIM_NET_H
#define SIM_SIM_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "engine/interfaces.h"
#include "engine/net.h"

enum { SIM_NET_ADDRESSES = 2 };

struct net *sim_net(void);
struct interfaces *sim_interfaces(unsigned host);
/* v6 or not; port 0 */
struct addr sim_net_address(unsigned host, bool v6);
unsigned sim_net_host(const struct addr *a); /* SIM_HOSTS: of no host */
struct addr sim_net_nobody(unsigned which);

/* Executes the events that are due. */
void sim_net_advance(void);
uint64_t sim_net_next(void);         /* the time of the next event; UINT64_MAX: none */
bool sim_net_is_ready(void *poller); /* has sockets to report */
/*
 * Reports sockets in the order in which they became ready, as net.h promises, and not in one that the seed decides.
 * Calls `reported` after each of them.
 */
void sim_net_in_order(void (*reported)(void));
/*
 * Called in the midst of a shard's work, where another thread of the consumer's could call too. memory: where bytes are
 * about to be moved from or to, or NULL.
 */
void sim_net_on_interrupt(void (*hook)(const void *memory));

/* Fails if the provider has leaked a socket, then frees the network. */
void sim_net_end(void);

#endif
