/* SPDX-License-Identifier: MIT */
/* The TCP connection of a traced connection: addresses, sequence numbers, and the packets of its events. */
#ifndef NDKTRACE_FLOW_H
#define NDKTRACE_FLOW_H

#include "trace_reader/trace_file.h"

enum { FLOW_MAX_CAPTURED = 66 * 1024 };

struct flow_packet {
    uint32_t captured, original;
    uint8_t bytes[FLOW_MAX_CAPTURED];
};

struct flow_end {
    uint8_t host[16];
    uint16_t port;
    uint32_t sequence; /* of the next byte that this end sends */
    uint32_t acked;    /* the sequence number up to which the other end has acknowledged */
    bool has_finished; /* has sent FIN or RST */
};

struct flow {
    const struct trace_file *file;
    uint32_t id, interface;
    bool is_initiator, is_v6;
    bool is_duplicate;         /* makes no packets, because the trace has the other end of the connection, too */
    uint32_t max_filled;       /* FPDUs up to this size get zeros as payload */
    bool has_syn, has_syn_ack; /* the packets of the handshake have been made */
    size_t last_packet;        /* 1 + the index of the last packet; 0: there is none */
    struct flow_end local, remote;
};

typedef void (*flow_emit)(void *context, struct flow *f, uint64_t time_ns, const struct flow_packet *made);

/* Begins a flow with the event `connection`. Returns false if the event lacks an address. */
bool flow_begin(struct flow *f, const struct trace_record *r);
/* Orders flows by addresses and role, as tsearch requires. Returns 0 if both are equal. */
int flow_compare_ends(const void *left, const void *right);
/* Returns a flow with the addresses and the role of the connection's other end. */
struct flow flow_other_end(const struct flow *f);
/* Calls `emit` for each packet that the event makes. */
void flow_handle(struct flow *f, const struct trace_record *r, flow_emit emit, void *context);

#endif
