/* SPDX-License-Identifier: MIT */
/*
 * Configuration of adapters. ondk_open_adapter_with configures the adapter that it opens. ondk_configure configures the
 * adapters that the process opens later. Each adapter has a copy of the values, so later changes do not affect open
 * adapters.
 *
 * Every field of ondk_config_t can also be set by the environment variable ONDK_<FIELD IN CAPITALS>, for example
 * ONDK_CONNECT_MS=2000. ondk_config_init reads the variables, so the program can change the values afterwards. An
 * empty variable counts as not set. A variable whose value is not a number or is out of the field's range is ignored,
 * and ondk_config_check_environment reports it. ONDK_PROFILE names a profile (docs/profiles.md), which is applied
 * before the other variables.
 *
 * Example:
 *
 *     ondk_config_t config;
 *
 *     ondk_config_init(&config);
 *     config.connect_ms = 2000;
 *     if (ondk_configure(&config) != 0)
 *         return false;
 *
 * See also: docs/timeouts.md, docs/profiles.md
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
#define ONDK_RTR_ZERO_FPDU 1u /* an empty FPDU */
#define ONDK_RTR_WRITE 2u     /* an RDMA write without data */
#define ONDK_RTR_READ 4u      /* an RDMA read without data */

/* If the field of a limit has this value, the provider's own limit applies. */
#define ONDK_UNLIMITED 0xffffffffu

/*
 * The configuration of an adapter.
 * Every field except size can also be set by an environment variable. The manual page openndk lists the variables.
 * See also: docs/timeouts.md, docs/profiles.md, docs/observe.md
 */
typedef struct ondk_config {
    /* sizeof(ondk_config_t) of the program, set by ondk_config_init; leave it as it is. */
    uint32_t size;

    /* Time limits, in milliseconds. */

    /*
     * The time limit of NdkConnect for TCP establishment. The default is longer than the kernel's neighbour lookup
     * (3 s). Range 1 to 3600000; default 10000.
     */
    uint32_t connect_ms;
    /* A listener's time limit from TCP accept until the MPA request is complete. Range 1 to 3600000; default 5000. */
    uint32_t request_ms;
    /* The time limit of NdkConnect from the MPA request to the reply. Range 1 to 3600000; default 10000. */
    uint32_t reply_ms;
    /*
     * The time limit of NdkAccept until the ready-to-receive message arrives, and of NdkCompleteConnect until that
     * message has been sent. If the message is a read, the limit includes the peer's answer. Range 1 to 3600000;
     * default 10000.
     */
    uint32_t establish_ms;
    /*
     * The time limit of NdkDisconnect until the peer has ended its stream too. If the disconnect has made progress
     * when the limit is reached, the limit starts again. Progress usually means that 16 KiB more were sent
     * (docs/timeouts.md). Range 1 to 3600000; default 10000.
     */
    uint32_t disconnect_ms;

    /* Listeners. */

    /*
     * The maximum number of a listener's connection requests that the consumer has neither accepted nor rejected.
     * Further requests are refused. Requests whose peer has left are counted separately, with the same limit. So at
     * most 2 * backlog requests wait for the consumer. Range 1 to 1048576; default 1024.
     */
    uint32_t backlog;
    /*
     * The maximum number of connections without a complete MPA request, over all listeners of the process. If a further
     * peer connects, the source with the most such connections loses its oldest one. A source is an IPv4 address or an
     * IPv6 /64. 0: half of the descriptors that are free at NdkListen, at most 1024. Range 0 to 1048576; default 0.
     */
    uint32_t max_unfinished;

    /*
     * Limits that the adapter reports in NDK_ADAPTER_INFO and enforces. Lower limits imitate a card that can
     * do less. A value above the provider's own limit, for example ONDK_UNLIMITED, means the provider's limit. If a
     * field removes a capability, the functions of that capability return STATUS_NOT_SUPPORTED.
     */

    /* MaxCallerData and MaxCalleeData: private data of a request or a reply, in bytes. Range 0 to 508; default 252. */
    uint32_t max_private;
    /* MaxInboundReadLimit: the peer's reads that may be in progress on one connection. Range 0 to 16382; default 64. */
    uint32_t max_inbound_reads;
    /*
     * MaxOutboundReadLimit: this side's reads that may be in progress on one connection. Range 0 to 16382; default 64.
     */
    uint32_t max_outbound_reads;
    /* MaxInitiatorRequestSge: SGEs of a send, or of an RDMA write. Range 1 or more; default ONDK_UNLIMITED. */
    uint32_t max_initiator_sge;
    /* MaxReceiveRequestSge: SGEs of a receive. Range 1 or more; default ONDK_UNLIMITED. */
    uint32_t max_receive_sge;
    /* MaxReadRequestSge: SGEs of an RDMA read. Range 1 or more; default ONDK_UNLIMITED. */
    uint32_t max_read_sge;
    /* MaxInlineDataSize: bytes of a request with NDK_OP_FLAG_INLINE. Range 0 or more; default ONDK_UNLIMITED. */
    uint32_t max_inline;
    /* MaxInitiatorQueueDepth: requests of an initiator queue. Range 1 or more; default ONDK_UNLIMITED. */
    uint32_t max_initiator_depth;
    /* MaxReceiveQueueDepth: receives of a receive queue. Range 1 or more; default ONDK_UNLIMITED. */
    uint32_t max_receive_depth;
    /* MaxCqDepth: completions of a completion queue. Range 1 or more; default ONDK_UNLIMITED. */
    uint32_t max_cq_depth;
    /*
     * MaxSrqDepth: receives of a shared receive queue. 0: no shared receive queues. Range 0 or more; default
     * ONDK_UNLIMITED.
     */
    uint32_t max_srq_depth;
    /* FRMRPageCount: pages of a fast registration. 0: no fast registration. Range 0 or more; default ONDK_UNLIMITED. */
    uint32_t fast_register_pages;
    /* MaxWindowSize, in KiB. 0: no memory windows. Range 0 or more; default ONDK_UNLIMITED. */
    uint32_t max_window_kib;
    /* MaxRegistrationSize, in KiB. Range 1 or more; default ONDK_UNLIMITED. */
    uint32_t max_registration_kib;
    /* MaxTransferLength: bytes of one request. Range 1 or more; default ONDK_UNLIMITED. */
    uint32_t max_transfer;
    /* NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED. 0: the capability is absent. Range 0 or 1; default 1. */
    uint32_t cq_resize;
    /* NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED. 0: the capability is absent. Range 0 or 1; default 1. */
    uint32_t cq_moderation;
    /* NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED. 0: the capability is absent. Range 0 or 1; default 1. */
    uint32_t read_local_invalidate;

    /* iWARP. */

    /* The MPA revision of the request that NdkConnect sends: 2, 1 or 0. Range 0 to 2; default 2. */
    uint32_t mpa_revision;
    /* 1: request CRC32c. 0: use CRC32c only if the peer requests it. Range 0 or 1; default 1. */
    uint32_t crc;
    /*
     * Forms of ready-to-receive (ONDK_RTR_) to offer and accept, combined with |. 0: no peer-to-peer mode. Range 0 to
     * 7; default 7.
     */
    uint32_t rtr;
    /* The largest FPDU, in bytes. 0: TCP's current effective segment size. Range 0 to 65535; default 0. */
    uint32_t max_fpdu;
    /*
     * A time in milliseconds. If the peer sends nothing for this time after this side's first FPDU, this side sends an
     * empty RDMA write. The reason is Linux siw as responder: if the first FPDU arrives right after the reply, siw
     * handles the FPDU only when more bytes arrive. 0: never. Range 0 to 10000; default 25.
     */
    uint32_t nudge_ms;

    /* Threads. */

    /* Event loops, each with a thread. 0: one for each processor, at most 4. Range 0 to 256; default 0. */
    uint32_t shards;
    /*
     * The maximum time that an event loop polls before its thread sleeps, in microseconds. Range 0 to 1000000; default
     * 20.
     */
    uint32_t spin_us;
    /*
     * The time in microseconds by which a notification is delayed, to report more results at once. A card delays its
     * interrupts in the same way. A longer interval of NdkControlCqInterruptModeration replaces this time. Range 0 to
     * 1000000; default 0.
     */
    uint32_t notify_us;

    /* Observation and debugging aids. */

    /* 1: ndkstat in another process can list the adapter (docs/observe.md). Range 0 or 1; default 1. */
    uint32_t stat;
    /* 1: every create returns STATUS_PENDING and completes through its callback. Range 0 or 1; default 0. */
    uint32_t pend_creates;

    /* Liveness of connections (docs/timeouts.md), in milliseconds. 0: no limit. */

    /* TCP probes a peer that has sent no packet for this time. Range 0 to 3600000; default 15000. */
    uint32_t keepalive_idle_ms;
    /* The time between two probes; cannot be 0. Range 1000 to 3600000; default 5000. */
    uint32_t keepalive_interval_ms;
    /* TCP gives up if data or a probe is not acknowledged for this time. Range 0 to 3600000; default 30000. */
    uint32_t unacked_ms;
    /*
     * The time in which the rest of an FPDU, or 16 KiB more of an unfinished message, must arrive. Otherwise the
     * connection is lost. Range 0 to 3600000; default 30000.
     */
    uint32_t stall_ms;

    /* Shared receive queues. */

    /*
     * The share of a queue's receives that unfinished messages may hold, in percent. 100: all. Range 1 to 100; default
     * 50.
     */
    uint32_t srq_share_percent;
    /*
     * A connection is stalled if its unfinished message has made no progress for this time, in milliseconds. If
     * unfinished messages hold more than srq_share_percent, stalled connections are ended. The connection that has made
     * no progress for the longest time is ended first. Range 1 to 3600000; default 500.
     */
    uint32_t srq_stall_ms;

    /* Time limits for closing, in milliseconds. */

    /*
     * If the close of an object or of the adapter is still pending after this time, the library writes once to the log
     * what the close waits for. 0: never. Range 0 to 3600000; default 3000.
     */
    uint32_t close_report_ms;
    /*
     * If ondk_close_adapter still waits after this time, it calls abort(). The log then shows what the call has waited
     * for. 0: never. Range 0 to 3600000; default 0.
     */
    uint32_t close_abort_ms;
} ondk_config_t;

/*
 * Sets a configuration to the defaults and the environment.
 *   config  receives the defaults, then the values of the environment variables; owned by the caller
 * The function also sets config->size, and calls ondk_config_check_environment.
 * Context: any thread, while no other thread changes the environment. The process's first call reads ONDK_LOG, and may
 * write to the log.
 * See also: ondk_configure, ondk_config_profile
 */
ONDK_API void ondk_config_init_sized(ondk_config_t *config, size_t size);
static inline void ondk_config_init(ondk_config_t *config_)
{
    ondk_config_init_sized(config_, sizeof(*config_));
}

/*
 * Counts the environment variables of OpenNDK that are not used.
 * The function checks each variable whose name begins with ONDK_. A variable is not used if OpenNDK has no variable of
 * that name, or if its value is not allowed: not a number, out of range, or an unknown word. The first call in a
 * process also writes a line to the log for each such variable, with the most similar valid name or the range. A strict
 * program exits if the result is not 0.
 * Returns the number of variables that are not used.
 * Context: any thread, while no other thread changes the environment.
 * See also: ondk_config_init, ondk_log_set
 */
ONDK_API uint32_t ondk_config_check_environment(void);

/*
 * Sets the configuration of adapters that this process opens from now on.
 *   config  copied; NULL: the defaults and the environment again
 * If a caller passes options to ondk_open_adapter_with, the adapter uses those options instead.
 * config->size is the size of the caller's struct, as ondk_config_init has set it. Fields beyond that size have the
 * values that ondk_config_init sets, the environment included.
 * Returns
 *   STATUS_SUCCESS            0: the configuration is set
 *   STATUS_INVALID_PARAMETER  negative, and nothing changes: a value is out of range, a field that only newer
 *                             libraries have is not 0, or size is below 8, above 4096, or not a multiple of 4
 * Context: any thread.
 * See also: ondk_config_init, ondk_config_profile, ondk_open_adapter, ondk_open_adapter_with
 */
ONDK_API int32_t ondk_configure(const ondk_config_t *config);

/*
 * Sets the limits of a profile, which imitates a kind of card.
 *   config  set by ondk_config_init; the function changes only limits, and no field beyond config->size
 *   name    the profile's name, for example "narrow"
 * Returns
 *   STATUS_SUCCESS            0: the limits are set
 *   STATUS_INVALID_PARAMETER  negative, and nothing changes: no profile has that name, or config->size is not valid
 * Context: any thread, any IRQL.
 * See also: ondk_profile_name, ondk_configure, docs/profiles.md
 */
ONDK_API int32_t ondk_config_profile(ondk_config_t *config, const char *name);

/*
 * Returns the name of a profile, which ondk_config_profile accepts.
 *   index  0 for the first profile
 * Returns the name in static storage. Returns NULL if there is no profile with that index.
 * Context: any thread, any IRQL.
 * Topic: list the profiles
 * See also: ondk_config_profile, docs/profiles.md
 */
ONDK_API const char *ondk_profile_name(uint32_t index);
/*
 * Returns a description of a profile.
 * Returns a sentence in static storage. Returns NULL if there is no profile with that index.
 */
ONDK_API const char *ondk_profile_text(uint32_t index);

#ifdef __cplusplus
}
#endif

#endif
