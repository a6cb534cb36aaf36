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
    uint32_t disconnect_ms; /* from disconnect to the peer's notice; 10000 */
    uint32_t backlog;       /* requests that the consumer has not answered, for each listener; 128 */
    uint32_t max_unfinished; /* connections without a complete request, for each listener; 1024 */
    uint16_t max_private;   /* MaxCallerData and MaxCalleeData; 252, at most 508 */
    uint16_t max_inbound_reads, max_outbound_reads; /* 32 */
    uint8_t mpa_revision;   /* as initiator: 2 (default), 1, 0 */
    bool crc;               /* ask for CRC; default true */
    unsigned rtr;           /* ready-to-receive forms offered and accepted (enum mpa_rtr); default all; 0: no peer-to-peer */
    uint32_t max_fpdu;      /* 0: the current EMSS */
    uint32_t shards;        /* 0: as many as processors, at most 4 */
    uint32_t spin_us;       /* how long a shard's thread looks on before it sleeps; default 20 */
};

void iwarp_config_defaults(struct iwarp_config *c);
/* if_index: the adapter's interface. 0 or errno (ENODEV: no such interface; ENETDOWN; ENOMEM, EMFILE...). May block. */
int iwarp_fabric_create(struct executor *e, struct net *net, struct interfaces *interfaces, uint32_t if_index,
                        const struct iwarp_config *config, struct fabric **out);

#endif
