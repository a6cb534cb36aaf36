/* SPDX-License-Identifier: MIT */
/*
 * Configuration of adapters. Values in force are those at ondk_open_adapter; an open adapter does not change.
 * Every field can also be set by an environment variable ONDK_<FIELD IN CAPITALS>, e.g. ONDK_CONNECT_MS=2000, which is
 * read by ondk_config_init and so yields to what the program sets afterwards. An empty variable counts as not set, and
 * so does one that is no number or out of the field's range, which is reported (ondk_config_check_environment).
 * ONDK_PROFILE names a profile (docs/profiles.md), which comes before them.
 */
#ifndef OPENNDK_CONFIG_H
#define OPENNDK_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "openndk/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Ready-to-receive forms (RFC 6581), a set. */
#define ONDK_RTR_ZERO_FPDU 1u
#define ONDK_RTR_WRITE 2u
#define ONDK_RTR_READ 4u

/* A limit: as much as the provider can. */
#define ONDK_UNLIMITED 0xffffffffu

typedef struct ondk_config {
    uint32_t size;           /* sizeof(ondk_config_t) of the program, set by ondk_config_init; leave it as it is */
    /* Time limits in milliseconds. */
    uint32_t connect_ms;     /* NdkConnect: TCP establishment. 10000; above the kernel's neighbour lookup of 3 s */
    uint32_t request_ms;     /* listener: from TCP accept to a complete MPA request. 5000 */
    uint32_t reply_ms;       /* NdkConnect: from the MPA request to the reply. 10000 */
    uint32_t establish_ms;   /* NdkAccept: to the ready-to-receive; NdkCompleteConnect: to its end. 10000 */
    uint32_t disconnect_ms;  /* NdkDisconnect: to the peer's own notice, anew while it takes 16 KiB in each. 10000 */
    /* Listeners. */
    uint32_t backlog;        /* of each listener: requests that the consumer has neither accepted nor rejected; more
                                are refused. Requests whose peer is gone count apart, against the same number, so that
                                at most twice as many connectors are unanswered. 1024; 1 to 1048576 */
    uint32_t max_unfinished; /* connections without a complete request, over all listeners of the process. For one more,
                                the oldest connection of the source that has most is dropped; a source is an IPv4
                                address or an IPv6 /64. 0, at most 1048576. 0: half of the descriptors that are free at
                                NdkListen, at most 1024 */
    /* Limits that the adapter reports and enforces. */
    uint32_t max_private;    /* MaxCallerData, MaxCalleeData. 252, at most 508 */
    uint32_t max_inbound_reads, max_outbound_reads; /* 64 */
    /*
     * The same, to imitate a narrower card: never more than the provider can do, and as much by default
     * (ONDK_UNLIMITED). Where 0 or a switch takes a capability away, its functions answer STATUS_NOT_SUPPORTED.
     */
    uint32_t max_initiator_sge, max_receive_sge, max_read_sge;
    uint32_t max_inline;
    uint32_t max_initiator_depth, max_receive_depth, max_cq_depth;
    uint32_t max_srq_depth;        /* 0: no shared receive queues */
    uint32_t fast_register_pages;  /* 0: no fast registration */
    uint32_t max_window_kib;       /* 0: no memory windows */
    uint32_t max_registration_kib, max_transfer; /* the latter in bytes */
    uint32_t cq_resize, cq_moderation, read_local_invalidate; /* 1; 0: absent */
    /* iWARP. */
    uint32_t mpa_revision;   /* sent by NdkConnect: 2, 1 or 0 */
    uint32_t crc;            /* 1: ask for CRC32c (default); 0: only where the peer wants it */
    uint32_t rtr;            /* ready-to-receive forms offered and accepted. All; 0: no peer-to-peer mode */
    uint32_t max_fpdu;       /* bytes; 0: the current effective segment size */
    uint32_t nudge_ms;       /* for Linux siw as responder, which loses a first FPDU right behind its reply: after so
                                much silence an empty RDMA write follows (docs/architecture.md). 25; 0: never */
    /* Threads. */
    uint32_t shards;         /* event loops; 0: one for each processor, at most 4 */
    uint32_t spin_us;        /* how long an event loop looks on before its thread sleeps, at most. 20 */
    uint32_t notify_us;      /* how long a notification waits for more results, in microseconds, where the consumer has
                                set no moderation or a shorter interval; to imitate a card's interrupts. 0, at most
                                1000000 */
    /* Observation and debugging aids. */
    uint32_t stat;           /* 1: ndkstat in another process sees the adapter (docs/observe.md). 0: it does not. 1 */
    uint32_t pend_creates;   /* 1: every create answers STATUS_PENDING and completes by its callback. 0 */
    /* Liveness of connections (docs/timeouts.md). Milliseconds, at most 3600000; 0: no limit (not the interval). */
    uint32_t keepalive_idle_ms;     /* TCP probes the peer after so long without a packet from it. 15000 */
    uint32_t keepalive_interval_ms; /* and again after so long without an answer; at least 1000. 5000 */
    uint32_t unacked_ms;     /* what was sent, or a probe, is not acknowledged for so long: TCP gives up. 30000 */
    uint32_t stall_ms;       /* an unfinished FPDU; an unfinished message of which less than 16 KiB came. 30000 */
    /* Shared receive queues. */
    uint32_t srq_share_percent; /* of the receives there, as many may be held by unfinished messages. 50; 100: all */
    uint32_t srq_stall_ms;   /* beyond that, those end that have not moved for so long, the longest first. At least 1.
                                500 */
    /* Closing an adapter. Milliseconds, at most 3600000. */
    uint32_t close_report_ms; /* ondk_close_adapter has waited so long: it prints once to standard error what it waits
                                for. 3000; 0: it does not */
    uint32_t close_abort_ms; /* likewise: it reports, if it has not yet, and calls abort(). 0: never */
} ondk_config_t;

/* Fills in defaults, then what the environment says. Calls ondk_config_check_environment. */
ONDK_API void ondk_config_init_sized(ondk_config_t *config, size_t size);
static inline void ondk_config_init(ondk_config_t *config_)
{
    ondk_config_init_sized(config_, sizeof(*config_));
}

/*
 * Checks each environment variable whose name begins with ONDK_. The first call in a process writes a line to stderr
 * for each one that is not used: because no variable has that name (the nearest name is printed), or because its value
 * is out of range. Every call returns how many there are; a program that wants to be strict exits then.
 */
ONDK_API uint32_t ondk_config_check_environment(void);

/*
 * Sets what adapters opened from now on by this process use (copied). NULL: back to defaults and environment.
 * config->size tells how much of the struct there is. Fields beyond it have what ondk_config_init gives them, the
 * environment included.
 * STATUS_SUCCESS as 0, or STATUS_INVALID_PARAMETER, which is negative, and nothing changes: a value is out of range, a
 * field that this library does not have is not 0, or size is below 8, above 4096, or no multiple of 4.
 */
ONDK_API int32_t ondk_configure(const ondk_config_t *config);

/*
 * Profiles: sets of the limits above that imitate a kind of card. STATUS_SUCCESS as 0; STATUS_INVALID_PARAMETER: there
 * is none of that name, or ondk_config_init has not set config->size, and nothing changes. Other fields, and those
 * beyond config->size, stay as they are.
 */
ONDK_API int32_t ondk_config_profile(ondk_config_t *config, const char *name);
/* The index-th profile's name, and what it imitates; NULL behind the last. Static storage. */
ONDK_API const char *ondk_profile_name(uint32_t index);
ONDK_API const char *ondk_profile_text(uint32_t index);

#ifdef __cplusplus
}
#endif

#endif
