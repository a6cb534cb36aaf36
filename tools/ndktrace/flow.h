/* SPDX-License-Identifier: MIT */
/* Converts the events of a traced connection to packets of a TCP connection with addresses and sequence numbers. */
#ifndef NDKTRACE_FLOW_H
#define NDKTRACE_FLOW_H

#include "trace_reader/trace_file.h"

enum { FLOW_MAX_CAPTURED = 66 * 1024 };

struct flow_packet {
    uint32_t captured, original;
    const char *comment; /* for the packet; NULL: none */
    uint8_t bytes[FLOW_MAX_CAPTURED];
};

struct flow_end {
    uint8_t host[16];
    uint16_t port;
    uint32_t sequence; /* sequence number of the next byte that this end sends */
    uint32_t acked;    /* sequence number up to which the other end has acknowledged */
    bool has_finished; /* this end has sent FIN or RST */
};

struct flow {
    const struct trace_file *file;
    uint32_t id, interface;
    bool is_initiator, is_v6;
    bool is_duplicate;   /* true: creates no packets, because the trace also has the connection's other end */
    uint32_t max_filled; /* in FPDUs (RoCE: packets) up to this size, zeros replace payload that the trace lacks */
    bool has_syn, has_syn_ack; /* the handshake's SYN, and its SYN-ACK, have been created */
    size_t last_packet;        /* 1 + the index of the last packet; 0: no packet yet */
    struct flow_end local, remote;
    struct roce *roce; /* if not NULL, the packets are those of RoCE (roce.h), not of TCP */
};

/* Stores a packet. Returns its stored bytes, which stay in place, or NULL if out of memory. */
typedef uint8_t *(*flow_emit)(void *context, struct flow *f, uint64_t time_ns, const struct flow_packet *made);

/* Initializes a flow from the event `connection`. Returns false if the event lacks an address. */
bool flow_begin(struct flow *f, const struct trace_record *r);
/* Compares two flows by addresses and role, as tsearch requires. Returns 0 if all are equal. */
int flow_compare_ends(const void *left, const void *right);
/* Returns a flow with the addresses and the role of the connection's other end. */
struct flow flow_other_end(const struct flow *f);
/* Creates the packets of an event, and calls `emit` for each of them. */
void flow_handle(struct flow *f, const struct trace_record *r, flow_emit emit, void *context);

#endif
