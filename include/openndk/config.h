/* SPDX-License-Identifier: MIT */
/*
 * Configuration of adapters. ondk_open_adapter copies the values, so later changes do not affect an open adapter.
 *
 * Every field can also be set by the environment variable ONDK_<FIELD IN CAPITALS>, for example ONDK_CONNECT_MS=2000.
 * ondk_config_init reads the variables, so a value that the program sets afterwards wins. An empty variable counts as
 * not set. A variable whose value is not a number or is out of the field's range is ignored, and
 * ondk_config_check_environment reports it. ONDK_PROFILE names a profile (docs/profiles.md), which is applied before
 * the other variables.
 */
#ifndef OPENNDK_CONFIG_H
#define OPENNDK_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "openndk/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Forms of ready-to-receive (RFC 6581); combined with |. */
#define ONDK_RTR_ZERO_FPDU 1u
#define ONDK_RTR_WRITE 2u
#define ONDK_RTR_READ 4u

/* As the value of a limit field: use the provider's own limit. */
#define ONDK_UNLIMITED 0xffffffffu

typedef struct ondk_config {
    uint32_t size; /* sizeof(ondk_config_t) of the program, set by ondk_config_init; leave it as it is */
    /* Time limits in milliseconds. */
    uint32_t connect_ms;    /* NdkConnect: TCP establishment. Default 10000, which is longer than the kernel's
                                neighbour lookup (3 s) */
    uint32_t request_ms;    /* listener: from TCP accept to a complete MPA request. Default 5000 */
    uint32_t reply_ms;      /* NdkConnect: from the MPA request to the reply. Default 10000 */
    uint32_t establish_ms;  /* NdkAccept: until the ready-to-receive message arrives. NdkCompleteConnect: until that
                                message has been sent; if it is a read, until the peer has answered it. Default 10000 */
    uint32_t disconnect_ms; /* NdkDisconnect: until the peer has ended its stream too. When the limit is reached, a
                                new one starts if the disconnect has made progress meanwhile, usually if 16 KiB more
                                were sent (docs/timeouts.md). Default 10000 */
    /* Listeners. */
    uint32_t backlog;        /* requests of one listener that the consumer has neither accepted nor rejected. Further
                                requests are refused. Requests whose peer has left are counted separately, with a limit
                                of the same size, so a consumer has at most twice as many requests to answer. 1 to
                                1048576. Default 1024 */
    uint32_t max_unfinished; /* connections without a complete request, over all listeners of the process. If there is
                                one more, the source with the most such connections loses its oldest one. A source is an
                                IPv4 address or an IPv6 /64. At most 1048576. 0: half of the descriptors that are free
                                at NdkListen, at most 1024. Default 0 */
    /* Limits that the adapter reports and enforces. */
    uint32_t max_private;                           /* MaxCallerData, MaxCalleeData. At most 508. Default 252 */
    uint32_t max_inbound_reads, max_outbound_reads; /* Default 64 */
    /*
     * Further limits, to imitate a narrower card. A value above the provider's own limit means that limit, which is the
     * default (ONDK_UNLIMITED). If a field removes a capability, the functions of that capability return
     * STATUS_NOT_SUPPORTED.
     */
    uint32_t max_initiator_sge, max_receive_sge, max_read_sge;
    uint32_t max_inline;
    uint32_t max_initiator_depth, max_receive_depth, max_cq_depth;
    uint32_t max_srq_depth;                                   /* 0: no shared receive queues */
    uint32_t fast_register_pages;                             /* 0: no fast registration */
    uint32_t max_window_kib;                                  /* 0: no memory windows */
    uint32_t max_registration_kib, max_transfer;              /* max_transfer is in bytes */
    uint32_t cq_resize, cq_moderation, read_local_invalidate; /* 0: the capability is absent. Default 1 */
    /* iWARP. */
    uint32_t mpa_revision; /* the MPA revision of the request that NdkConnect sends: 2, 1 or 0. Default 2 */
    uint32_t crc;          /* 1: request CRC32c. 0: use it only if the peer requests it. Default 1 */
    uint32_t rtr;          /* ready-to-receive forms (ONDK_RTR_) to offer and accept; 0: no peer-to-peer mode.
                                Default all */
    uint32_t max_fpdu;     /* the largest FPDU, in bytes. 0: the current effective segment size. Default 0 */
    uint32_t nudge_ms;     /* Linux siw as responder loses a first FPDU that arrives right after it has sent its
                                reply. If the peer has sent nothing for this time after this side's first FPDU, an empty
                                RDMA write is sent to it. 0: never. Default 25 */
    /* Threads. */
    uint32_t shards;    /* event loops. 0: one for each processor, at most 4. Default 0 */
    uint32_t spin_us;   /* how long an event loop polls, at most, before its thread sleeps. Default 20 */
    uint32_t notify_us; /* how long a notification waits for more results, in microseconds, if the consumer has set
                                no moderation or a shorter interval. Imitates a card's interrupts. At most 1000000.
                                Default 0 */
    /* Observation and debugging aids. */
    uint32_t stat;         /* 1: ndkstat in another process can list the adapter (docs/observe.md). Default 1 */
    uint32_t pend_creates; /* 1: every create returns STATUS_PENDING and completes through its callback. Default 0 */
    /*
     * Liveness of connections (docs/timeouts.md). Milliseconds, at most 3600000. 0: no limit; keepalive_interval_ms
     * cannot be 0.
     */
    uint32_t keepalive_idle_ms;     /* TCP probes a peer that has sent no packet for this time. Default 15000 */
    uint32_t keepalive_interval_ms; /* time between two probes; at least 1000. Default 5000 */
    uint32_t unacked_ms; /* TCP gives up if data or a probe is not acknowledged for this time. Default 30000 */
    uint32_t stall_ms;   /* time for the rest of an FPDU, or for 16 KiB more of an unfinished message.
                                Default 30000 */
    /* Shared receive queues. */
    uint32_t srq_share_percent; /* the share of the receives that unfinished messages may hold. 100: all.
                                Default 50 */
    uint32_t srq_stall_ms; /* if unfinished messages hold more than that share, connections whose message has made no
                                progress for this time are ended. The one without progress for the longest time is ended
                                first. At least 1. Default 500 */
    /* Closing an adapter. Milliseconds, at most 3600000. */
    uint32_t close_report_ms; /* after this time ondk_close_adapter prints once to standard error what it waits for.
                                0: never. Default 3000 */
    uint32_t close_abort_ms; /* after this time ondk_close_adapter prints the same, if it has not yet done so, and calls
                                abort(). 0: never. Default 0 */
} ondk_config_t;

/* Sets the defaults, then the values of the environment. Calls ondk_config_check_environment. */
ONDK_API void ondk_config_init_sized(ondk_config_t *config, size_t size);
static inline void ondk_config_init(ondk_config_t *config_)
{
    ondk_config_init_sized(config_, sizeof(*config_));
}

/*
 * Checks each environment variable whose name begins with ONDK_, and returns how many of them are not used: because
 * OpenNDK has no variable of that name, or because the value is not a number or out of range. The first call in a
 * process also prints a line to stderr for each, with the most similar valid name or the range. A strict program exits
 * if the result is not 0.
 */
ONDK_API uint32_t ondk_config_check_environment(void);

/*
 * Sets the configuration of adapters that this process opens from now on. *config is copied. NULL: the defaults and the
 * environment again. config->size is the size of the caller's struct; fields beyond it have the values that
 * ondk_config_init sets, the environment included.
 * Returns STATUS_SUCCESS, which is 0. Returns STATUS_INVALID_PARAMETER, which is negative, and changes nothing if a
 * value is out of range, if a field that this library lacks is not 0, or if size is below 8, above 4096, or not a
 * multiple of 4.
 */
ONDK_API int32_t ondk_configure(const ondk_config_t *config);

/*
 * Sets the limits of a profile, which imitates a kind of card. Other fields, and those beyond config->size, do not
 * change. Returns STATUS_SUCCESS, which is 0. Returns STATUS_INVALID_PARAMETER and changes nothing if no profile has
 * that name, or if ondk_config_init has not set config->size.
 */
ONDK_API int32_t ondk_config_profile(ondk_config_t *config, const char *name);
/*
 * Return the name of the profile with that index, and what it imitates. NULL if there is no such profile. Static
 * storage.
 */
ONDK_API const char *ondk_profile_name(uint32_t index);
ONDK_API const char *ondk_profile_text(uint32_t index);

#ifdef __cplusplus
}
#endif

#endif
