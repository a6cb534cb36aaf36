/* SPDX-License-Identifier: MIT */
/*
 * Connection start-up (MPA request and reply) without I/O and clock: two machines, initiator and responder, each a
 * table. Bytes go in by rx_want/rx_done (exactly as many as the frame has: what follows belongs to the stream), frames
 * go out by tx_want/tx_done. The caller owns time limits: when one passes it drops the object. The ready-to-receive
 * message is the stream's (qp.h); start-up only agrees on it. A ready-to-receive read does not count against the
 * limits: it may be agreed on with 0 where the peer knows no other form.
 */
#ifndef IWARP_STARTUP_H
#define IWARP_STARTUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "wire/mpa.h"
#include "wire/terminate.h"

struct iw_startup_config {
    uint8_t revision;      /* initiator: what to send (0, 1 or 2); responder answers in the request's, highest 2 */
    bool crc;              /* initiator: ask for CRC; responder: insist on CRC even where the request did not */
    /*
     * Set of enum mpa_rtr: offered (initiator; none: no flag A) or accepted (responder; none: requests with flag A are
     * refused). Out of several forms the write is preferred, then the read, then the zero-length FPDU.
     */
    unsigned rtr;
    uint16_t max_ird, max_ord; /* the adapter's limits; beyond 14 bits they count as 0x3ffe */
    uint16_t max_private;  /* responder: the user's private data in a request; more is malformed */
};

enum iw_startup_event {
    IW_STARTUP_NONE,
    IW_STARTUP_REQUEST,  /* responder: a valid request is there; accept or reject it */
    IW_STARTUP_SENT,     /* responder: the reply left entirely; after a reject or MALFORMED: close now */
    IW_STARTUP_ACCEPTED, /* initiator: accepted; the result is there */
    IW_STARTUP_REJECTED, /* initiator: rejected; private data is there */
    /*
     * Ends. Responder: key, length or revision: close at once (nothing is to be sent). Markers, S without limits, too
     * much private data, no form in common: a reject is to be sent (tx_want), then close. Initiator: close.
     */
    IW_STARTUP_MALFORMED,
    /* Ends for the initiator with a Terminate due; the result has what is needed to send one (crc). */
    IW_STARTUP_NO_IRD, /* the reply wants more reads of us than we offered */
    IW_STARTUP_NO_RTR, /* the reply has flag A with no form that we offered */
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

/* Our private data to accept and to reject: at most MPA_MAX_PRIVATE_DATA - MPA_LIMITS bytes. NULL: no memory. */
struct iw_startup *iw_startup_initiator(const struct iw_startup_config *c, uint16_t ird, uint16_t ord,
                                        const void *private_data, size_t len);
struct iw_startup *iw_startup_responder(const struct iw_startup_config *c);
void iw_startup_free(struct iw_startup *s);

/*
 * Where the next bytes go; 0 when none are wanted now: while a frame of ours is being sent, while the consumer
 * decides, and at the end. What arrives before this side has agreed is a protocol error then: the caller closes.
 */
size_t iw_startup_rx_want(struct iw_startup *s, uint8_t **at);
enum iw_startup_event iw_startup_rx_done(struct iw_startup *s, size_t n);
size_t iw_startup_tx_want(struct iw_startup *s, const uint8_t **at);
enum iw_startup_event iw_startup_tx_done(struct iw_startup *s, size_t n);

/* Responder, once after IW_STARTUP_REQUEST. Limits are the consumer's wishes, capped here. The result is there now. */
void iw_startup_accept(struct iw_startup *s, uint16_t ird, uint16_t ord, const void *private_data, size_t len);
void iw_startup_reject(struct iw_startup *s, const void *private_data, size_t len);

/* Responder after REQUEST: the peer's offer, capped by the adapter (ird: what we may be asked). Both after the end. */
void iw_startup_limits(const struct iw_startup *s, uint16_t *ird, uint16_t *ord);
const uint8_t *iw_startup_private(const struct iw_startup *s, size_t *len); /* the peer's */
void iw_startup_result(const struct iw_startup *s, struct iw_startup_result *r);

/* Both machines as Markdown tables: state and input, then next state / event; - where the input does not occur. */
void iw_startup_print_tables(FILE *out);

#endif
