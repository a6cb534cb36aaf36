/* SPDX-License-Identifier: MIT */
/*
 * Connection start-up: the MPA request and reply, without I/O and clock. The initiator and the responder are two state
 * machines, each a table (startup.c). The caller reads the bytes that rx_want requests, and sends what tx_want
 * returns. Invariant: start-up never asks for a byte behind the peer's frame, because that byte belongs to the stream.
 *
 * The caller sets the time limits, and frees the object when a time limit has passed. Start-up negotiates the form of
 * the ready-to-receive message, which the queue pair then sends or receives (qp.h). A ready-to-receive read does not
 * count against the read limits. So if the read is the only common form, it is selected even with a limit of 0.
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
    uint8_t revision; /* initiator: the request's revision, 0 to 2. The responder replies with the same revision. */
    bool crc;         /* initiator: request CRC; responder: use CRC even if the initiator does not request it */
    /*
     * Set of enum mpa_rtr: the forms that the initiator offers, or that the responder accepts. If the set is empty, an
     * initiator's request has no flag A (peer-to-peer), and a responder rejects requests with flag A. If both sides
     * have several forms in common, the empty FPDU is preferred, then the write, then the read.
     */
    unsigned rtr;
    uint16_t max_ird, max_ord; /* the adapter's limits, at most 0x3ffe */
    uint16_t max_private;      /* responder: a request with more bytes of private data is malformed */
};

enum iw_startup_event {
    IW_STARTUP_NONE,
    IW_STARTUP_REQUEST,  /* responder: a valid request has been read; accept or reject it */
    IW_STARTUP_SENT,     /* responder: the whole reply has been sent; if the reply rejects, the caller closes now */
    IW_STARTUP_ACCEPTED, /* initiator: the peer accepted; the result is valid */
    IW_STARTUP_REJECTED, /* initiator: the peer rejected; its private data is valid */
    /*
     * The frame is invalid. The initiator closes. The responder closes at once if the fault is IW_FAULT_FRAME or
     * IW_FAULT_REVISION. After any other fault, the responder sends a reject (tx_want), then closes.
     */
    IW_STARTUP_MALFORMED,
    /* After each of the next two events, the initiator sends a Terminate (with CRC if result.crc is set) and closes. */
    IW_STARTUP_NO_IRD, /* the reply asks for more inbound reads than the request offered */
    IW_STARTUP_NO_RTR, /* the reply has flag A and no form that the request offered */
};

/* Responder: what is wrong with a malformed request. */
enum iw_startup_fault {
    IW_FAULT_FRAME,        /* the bytes are not a frame: the key or the length is wrong */
    IW_FAULT_REVISION,     /* the revision does not exist */
    IW_FAULT_MARKERS,      /* the peer requires markers */
    IW_FAULT_NO_LIMITS,    /* the request has flag S, but no read limits */
    IW_FAULT_PRIVATE_DATA, /* the request has more than max_private bytes of private data */
    IW_FAULT_NO_FORM,      /* the request has no form of ready-to-receive that this side accepts */
};

/* The result of negotiation. ird and ord are the effective limits: ird = min(own inbound, peer's outbound). */
struct iw_startup_result {
    uint8_t revision;
    bool crc;
    bool peer_to_peer;
    enum mpa_rtr rtr; /* the form that the initiator must send; MPA_RTR_NONE without peer_to_peer */
    uint16_t ird, ord;
};

struct iw_startup;

/*
 * iw_startup_initiator and iw_startup_responder return NULL if out of memory. In iw_startup_initiator,
 * iw_startup_accept and iw_startup_reject, `len` must be at most MPA_MAX_PRIVATE_DATA - MPA_LIMITS.
 */
struct iw_startup *iw_startup_initiator(const struct iw_startup_config *c, uint16_t ird, uint16_t ord,
                                        const void *private_data, size_t len);
struct iw_startup *iw_startup_responder(const struct iw_startup_config *c);
void iw_startup_free(struct iw_startup *s);

/*
 * Returns the number of bytes that the caller must read, and sets *at to their destination. Returns 0 while this side
 * sends its frame, while the consumer decides, and after the end of start-up. Bytes that arrive while the consumer
 * decides are a protocol error: the caller must close the connection.
 */
size_t iw_startup_rx_want(struct iw_startup *s, uint8_t **at);
/* Returns the part of the peer's frame that has been passed to rx_done so far, and sets *len to its size. */
const uint8_t *iw_startup_rx_frame(const struct iw_startup *s, size_t *len);
enum iw_startup_event iw_startup_rx_done(struct iw_startup *s, size_t n);
size_t iw_startup_tx_want(struct iw_startup *s, const uint8_t **at);
enum iw_startup_event iw_startup_tx_done(struct iw_startup *s, size_t n);

/*
 * The responder calls iw_startup_accept or iw_startup_reject once, after IW_STARTUP_REQUEST. If `ird` or `ord` is
 * larger than the limit from iw_startup_limits, iw_startup_accept uses that limit instead. After either call,
 * iw_startup_result returns a valid result.
 */
void iw_startup_accept(struct iw_startup *s, uint16_t ird, uint16_t ord, const void *private_data, size_t len);
void iw_startup_reject(struct iw_startup *s, const void *private_data, size_t len);

/*
 * Returns the read limits: *ird for reads by the peer, *ord for reads by this side. After IW_STARTUP_REQUEST, these
 * are the limits that the peer requests, capped by the adapter's limits. After iw_startup_accept or
 * IW_STARTUP_ACCEPTED, these are the effective limits.
 */
void iw_startup_limits(const struct iw_startup *s, uint16_t *ird, uint16_t *ord);
/* Returns the fault of the request. Requires the role of the responder, and the event IW_STARTUP_MALFORMED. */
enum iw_startup_fault iw_startup_fault(const struct iw_startup *s);
const uint8_t *iw_startup_private(const struct iw_startup *s, size_t *len); /* returns the peer's private data */
void iw_startup_result(const struct iw_startup *s, struct iw_startup_result *r);

/* Prints both tables as Markdown. A cell has the next state and the event, or `-` if the input cannot occur. */
void iw_startup_print_tables(FILE *out);

#endif
