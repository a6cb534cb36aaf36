/* SPDX-License-Identifier: MIT */
/*
 * The settings of a fabric, which are those of the adapter (include/openndk/config.h has their meaning, units and
 * defaults). A fabric ignores what it cannot do.
 */
#ifndef FABRIC_CONFIG_H
#define FABRIC_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

/* What only the iWARP fabric reads. */
struct fabric_iwarp_config {
    uint8_t mpa_revision; /* as initiator: 2, 1 or 0 */
    bool crc;             /* ask for CRC */
    unsigned rtr;         /* ready-to-receive forms offered and accepted: 1 empty FPDU, 2 RDMA write, 4 RDMA read */
    uint32_t max_fpdu;    /* 0: the current EMSS */
    /*
     * Linux siw as responder loses a first FPDU that comes right behind its reply until more bytes arrive. If the peer
     * has sent nothing at all, and has been silent for this long since our last FPDU, a zero-length RDMA write follows:
     * six times at most, after twice the time each. Never if ready-to-receive is an empty FPDU, which siw does not know
     * and this provider's responders choose. 0: never.
     */
    uint32_t nudge_ms;
};

struct fabric_config {
    /* Time limits of a connection. */
    uint32_t connect_ms;    /* initiator: until the peer's host has answered */
    uint32_t request_ms;    /* responder: from the first contact to a complete request */
    uint32_t reply_ms;      /* initiator: from the request to the reply */
    uint32_t establish_ms;  /* accept: to the ready-to-receive; complete: to its answer */
    uint32_t disconnect_ms; /* from a disconnect's last progress to the peer's notice */
    uint32_t stall_ms;      /* an unfinished frame, or message of which too little comes; 0: none */
    /* When the peer's host counts as gone. 0: never, or as the system does. */
    uint32_t keepalive_idle_ms;     /* without a packet from it: it is probed */
    uint32_t keepalive_interval_ms; /* between probes */
    uint32_t unacked_ms;            /* data or a probe is not acknowledged; 0: the third probe decides */
    /* Listeners. */
    uint32_t backlog;        /* requests that the consumer has not answered, for each listener */
    uint32_t max_unfinished; /* connections without a complete request, in the process; 0: chosen by the fabric */
    /* Limits that fabric_info reports. */
    uint16_t max_private;
    uint16_t max_inbound_reads, max_outbound_reads;
    /* Shared receive queues. */
    uint32_t srq_share_percent; /* of the receives, for unfinished messages */
    uint32_t srq_stall_ms;      /* beyond that, unfinished messages that do not move end after so long */
    /* Threads. */
    uint32_t shards;    /* 0: as many as processors, at most 4 */
    uint32_t spin_us;   /* how long a shard's thread polls before it sleeps */
    uint32_t notify_us; /* the least interval of a CQ's moderation, set or not */
    struct fabric_iwarp_config iwarp;
};

void fabric_config_defaults(struct fabric_config *c);

#endif
