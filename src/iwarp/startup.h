/* SPDX-License-Identifier: MIT */
/*
 * Connection start-up (MPA request and reply) without I/O and clock: two machines, initiator and responder, each a
 * table. Bytes go in by rx_want/rx_done (exactly as many as the frame has: what follows belongs to the stream), frames go
 * out by tx_want/tx_done. The caller owns time limits: when one passes it drops the object. The ready-to-receive message
 * is the stream's (qp.h); start-up only agrees on it.
 */
#ifndef IWARP_STARTUP_H
#define IWARP_STARTUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/mpa.h"
#include "wire/terminate.h"

struct iw_startup_config {
    uint8_t revision;      /* initiator: what to send (0, 1 or 2); responder answers in the request's, highest 2 */
    bool crc;              /* initiator: ask for CRC; responder: insist on CRC even where the request did not */
    unsigned rtr;          /* set of enum mpa_rtr: offered (initiator), accepted in order of preference (responder) */
    uint16_t max_ird, max_ord; /* the adapter's limits */
    uint16_t max_private;  /* the adapter's limit on received private data: longer requests are malformed */
};

enum iw_startup_event {
    IW_STARTUP_NONE,
    IW_STARTUP_REQUEST,  /* responder: a valid request is there; accept or reject it */
    IW_STARTUP_SENT,     /* responder: the reply left entirely */
    IW_STARTUP_ACCEPTED, /* initiator: accepted; the result is there */
    IW_STARTUP_REJECTED, /* initiator: rejected; private data is there */
    /* Ends. A reply frame that says why may be pending to be sent (tx_want) before the caller closes. */
    IW_STARTUP_MALFORMED, /* key, length, markers (refused politely by a reject), unknown revision */
    IW_STARTUP_NO_IRD,    /* initiator: the reply wants more reads of us than we offered: Terminate is due */
    IW_STARTUP_NO_RTR,    /* initiator: the reply chose a form that we did not offer: Terminate is due */
};

/* What both sides agreed on. Limits are effective ones: ird = min(own inbound, peer's outbound), and so on. */
struct iw_startup_result {
    uint8_t revision;
    bool crc;
    bool peer_to_peer;
    enum mpa_rtr rtr;     /* the form the initiator has to send; MPA_RTR_NONE without peer_to_peer */
    uint16_t ird, ord;
};

struct iw_startup; /* about 1.2 KB, freed when the stream runs */

struct iw_startup *iw_startup_initiator(const struct iw_startup_config *c, uint16_t ird, uint16_t ord,
                                        const void *private_data, size_t len); /* NULL: no memory */
struct iw_startup *iw_startup_responder(const struct iw_startup_config *c);
void iw_startup_free(struct iw_startup *s);

/* Where the next bytes go; 0 when none are wanted now (anything that arrives then is a protocol error). */
size_t iw_startup_rx_want(struct iw_startup *s, uint8_t **at);
enum iw_startup_event iw_startup_rx_done(struct iw_startup *s, size_t n);
size_t iw_startup_tx_want(struct iw_startup *s, const uint8_t **at);
enum iw_startup_event iw_startup_tx_done(struct iw_startup *s, size_t n);

/* Responder, after IW_STARTUP_REQUEST. Limits are the consumer's wishes, capped here. */
void iw_startup_accept(struct iw_startup *s, uint16_t ird, uint16_t ord, const void *private_data, size_t len);
void iw_startup_reject(struct iw_startup *s, const void *private_data, size_t len);

/* Responder after REQUEST: the peer's offer, capped by the adapter (ird: what we may be asked). Both after the end. */
void iw_startup_limits(const struct iw_startup *s, uint16_t *ird, uint16_t *ord);
const uint8_t *iw_startup_private(const struct iw_startup *s, size_t *len); /* the peer's */
void iw_startup_result(const struct iw_startup *s, struct iw_startup_result *r);

#endif
