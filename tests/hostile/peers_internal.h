/* SPDX-License-Identifier: MIT */
/* Functions of peer.c (one peer) for peers.c (all peers). */
#ifndef HOSTILE_PEERS_INTERNAL_H
#define HOSTILE_PEERS_INTERNAL_H

#include "hostile/peers.h"

enum { VICTIM_PRIVATE = 28 }; /* private data of a victim's reply */

extern const struct attack *running;

void peer_read(struct peer *p);      /* may end it */
bool peer_send_rest(struct peer *p); /* true: nothing waits to be sent */
void peer_ended(struct peer *p, const char *how);
void peer_watch(struct peer *p); /* for the events that its state needs */
void peers_slot_is_free(struct peer *p);

#endif
