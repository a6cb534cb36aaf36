/* SPDX-License-Identifier: MIT */
/* Shared by peer.c, one peer's bytes, and peers.c, all peers. */
#ifndef HOSTILE_PEERS_INTERNAL_H
#define HOSTILE_PEERS_INTERNAL_H

#include "hostile/peers.h"

enum { VICTIM_PRIVATE = 28 }; /* private data of a victim's reply */

extern const struct attack *running;

void peer_read(struct peer *p);                  /* may end it */
bool peer_send_rest(struct peer *p);             /* true: nothing is queued any more */
void peer_ended(struct peer *p, const char *how);
void peer_watch(struct peer *p);                 /* for what its state needs */
void peers_slot_is_free(struct peer *p);

#endif
