/* SPDX-License-Identifier: MIT */
/*
 * The settings of a fabric. They come from the adapter's settings: include/openndk/config.h has their meaning, units
 * and defaults. A fabric ignores settings of features that it does not have.
 */
#ifndef FABRIC_CONFIG_H
#define FABRIC_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

/* Settings that only the iWARP fabric reads. */
struct fabric_iwarp_config {
    uint8_t mpa_revision; /* the revision of the initiator's request: 2, 1 or 0 */
    bool crc;             /* initiator: request CRC; responder: use CRC even if the peer does not request it */
    unsigned rtr;         /* forms of ready-to-receive to offer and accept: 1 empty FPDU | 2 write | 4 read */
    uint32_t max_fpdu;    /* longest FPDU in bytes; 0: TCP's current segment size (EMSS) */
    /*
     * The time until the first nudge; 0: no nudges. A nudge is a zero-length RDMA write of the initiator. It is needed
     * because Linux siw as responder may leave the initiator's first FPDU unprocessed until more bytes arrive. This
     * happens if the FPDU arrives right after siw has sent its reply. So an initiator that has received nothing since
     * the reply sends a nudge, nudge_ms after its first FPDU. At most five more nudges follow, and the wait doubles
     * each time. If the peer has selected the empty FPDU as ready-to-receive message, no nudge is sent, because siw
     * does not select that message.
     */
    uint32_t nudge_ms;
};

struct fabric_config {
    /* Time limits of a connection. */
    uint32_t connect_ms; /* initiator: until the peer's host answers */
    uint32_t request_ms; /* responder: from TCP's accept to a complete request */
    uint32_t reply_ms;   /* initiator: from the request to the reply */
    /*
     * The time limit for establishing a connection. The initiator's limit runs from the call of conn_complete until the
     * ready-to-receive message has been sent. If that message is a read, the limit includes the response. The
     * responder's limit runs from the call of conn_accept until the reply has been sent. A second limit of equal length
     * then runs until the ready-to-receive message has arrived.
     */
    uint32_t establish_ms;
    uint32_t disconnect_ms; /* maximum time of a disconnect without progress */
    uint32_t stall_ms;      /* maximum time in which an FPDU, or 16 KiB of a message, must arrive; 0: no limit */
    /* The times after which a connection ends because the peer's host is silent. */
    uint32_t keepalive_idle_ms;     /* from the peer's last packet to the first probe; 0: no probes */
    uint32_t keepalive_interval_ms; /* between two probes */
    uint32_t unacked_ms; /* maximum time in which data or probes may stay unacknowledged; 0: TCP's own limits */
    /* Listeners. */
    uint32_t backlog;        /* limit on a listener's connection requests that wait for the consumer's answer */
    uint32_t max_unfinished; /* limit on the process's connections without a complete request; 0: automatic */
    /* Limits that fabric_info reports. */
    uint16_t max_private;
    uint16_t max_inbound_reads, max_outbound_reads;
    /* Shared receive queues. */
    uint32_t srq_share_percent; /* the share of the queue's receives that incomplete messages may occupy, in percent */
    uint32_t srq_stall_ms;      /* maximum time that a message may stall while the share is exceeded */
    /* Threads. */
    uint32_t shards;    /* the number of threads, which a fabric may limit; 0: one for each processor, at most 4 */
    uint32_t spin_us;   /* the time for which a shard's thread polls before it sleeps */
    uint32_t notify_us; /* the minimum moderation interval of each CQ; 0: only the consumer sets moderation */
    struct fabric_iwarp_config iwarp;
};

#endif
