/* SPDX-License-Identifier: MIT */
/* The iWARP fabric: the protocol core (iwarp/) over the engine (engine/). One for each open adapter. */
#ifndef FABRIC_IWARP_IWARP_FABRIC_H
#define FABRIC_IWARP_IWARP_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/interfaces.h"
#include "engine/net.h"
#include "engine/shard.h"
#include "fabric/fabric.h"

/* Times in milliseconds. */
struct iwarp_config {
    uint32_t connect_ms;    /* TCP connect; default 10000, above the kernel's neighbour lookup (3 s) */
    uint32_t request_ms;    /* responder: from TCP accept to a complete request; 5000 */
    uint32_t reply_ms;      /* initiator: from the request to the reply; 10000 */
    uint32_t establish_ms;  /* accept: to the ready-to-receive; complete: to its answer; 10000 */
    uint32_t disconnect_ms; /* from a disconnect's last progress to the peer's notice; 10000 */
    uint32_t backlog;       /* requests that the consumer has not answered, for each listener; 1024. Those whose peer
                               is gone count apart, against the same number */
    uint32_t max_unfinished; /* connections without a complete request, over all listeners of the process; default 0:
                                half of the descriptors that are free when it begins to listen, at most 1024 */
    uint16_t max_private;   /* MaxCallerData and MaxCalleeData; 252, at most 508 */
    uint16_t max_inbound_reads, max_outbound_reads; /* 64 */
    uint8_t mpa_revision;   /* as initiator: 2 (default), 1, 0 */
    bool crc;               /* ask for CRC; default true */
    unsigned rtr;           /* ready-to-receive forms offered and accepted (enum mpa_rtr); default all; 0: none */
    uint32_t max_fpdu;      /* 0: the current EMSS */
    uint32_t shards;        /* 0: as many as processors, at most 4 */
    uint32_t spin_us;       /* how long a shard's thread looks on before it sleeps; default 20 */
    uint32_t notify_us;     /* the least interval of a CQ's moderation, set or not; 0 */
    /*
     * Linux siw as responder loses a first FPDU that comes right behind its reply until more bytes arrive. Where the
     * peer has been silent for this long since our last FPDU and has said nothing at all, a zero-length RDMA write
     * follows; six times at most, after twice the time each. Never where ready-to-receive is an empty FPDU, which siw
     * does not know and this provider's responders choose. 0: never. Default 25.
     */
    uint32_t nudge_ms;
    struct net_liveness liveness; /* 15000, 5000, 30000 */
    uint32_t stall_ms;            /* an unfinished FPDU, or message of which too little comes; 0: none; 30000 */
    uint32_t srq_share_percent;   /* of a shared receive queue's receives, for unfinished messages; 50 */
    uint32_t srq_stall_ms;        /* beyond that, unfinished messages that do not move end after so long; 500 */
};

/* What a fabric has done so far; any thread, a value may be a moment old. */
struct iwarp_counters {
    uint64_t connects, accepts; /* connections that were established, by role */
    uint64_t failures;          /* connects and accepts that were not */
    uint64_t refused;           /* requests that no consumer saw: malformed, beyond the backlog, paused */
    uint64_t dropped;           /* peers without a complete request: out of time, or too many */
    uint64_t nudges;
    uint64_t active;            /* connections that are established at the moment */
    uint64_t connection_errors; /* established ones that ended by a loss or a fault before this side disconnected */
    uint64_t cq_errors;         /* completion queues that overflowed */
    uint64_t fpdus_sent, fpdus_received, octets_sent, octets_received;
};

void iwarp_config_defaults(struct iwarp_config *c);
/* if_index: the adapter's interface. 0 or errno (ENODEV: no such interface; ENETDOWN; ENOMEM, EMFILE...). May block. */
int iwarp_fabric_create(struct executor *e, struct net *net, struct interfaces *interfaces, uint32_t if_index,
                        const struct iwarp_config *config, struct fabric **out);
void iwarp_fabric_counters(const struct fabric *f, struct iwarp_counters *c);

#endif
