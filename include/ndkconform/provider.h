/* SPDX-License-Identifier: MIT */
/*
 * A provider module: a shared object with an NDK provider, for the option --provider of ndkconform, ndkping, ndkperf,
 * ndkinfo and ndkrun. Besides ndk/ndkpi.h, these programs need only the functions below. The functions open and close
 * an adapter, which WskOpenNdkAdapter and WskCloseNdkAdapter do on Windows, and initialise an MDL. An optional function
 * changes settings.
 *
 * A module exports ndkconform_provider. docs/conformance.md explains each part.
 */
#ifndef NDKCONFORM_PROVIDER_H
#define NDKCONFORM_PROVIDER_H

#include <stdint.h>

#include <ndk/ndkpi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NDKCONFORM_INTERFACE 1u

struct ndkconform_provider {
    uint32_t interface; /* NDKCONFORM_INTERFACE: the version of this struct */
    const char *name, *version;
    /*
     * These two functions open and close the adapter of a network interface. The loopback interface, lo, must have an
     * adapter. The close waits until every object of the adapter has been closed and every callback has returned.
     */
    NTSTATUS (*open_adapter)(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter);
    void (*close_adapter)(NDK_ADAPTER *adapter);
    /*
     * Initialises mdl to describe `length` bytes at `address`, which may have any offset in its page. `next` is the
     * next MDL of the chain, or NULL.
     */
    void (*init_mdl)(MDL *mdl, void *address, ULONG length, MDL *next);
    /*
     * May be NULL. Changes one of the settings below, for adapters that are opened later. Returns STATUS_SUCCESS, or
     * STATUS_NOT_SUPPORTED if the provider has no such setting or does not support the value.
     */
    NTSTATUS (*set)(const char *setting, uint32_t value);
};

/*
 * The settings. A case of ndkconform is skipped if the provider does not support a setting that the case needs. No case
 * needs the settings in brackets. Times are in milliseconds, unless stated otherwise.
 *
 * A tool refuses an option if the provider does not support the option's settings. --timeout sets connect_ms, reply_ms,
 * establish_ms and disconnect_ms. --crc, --rtr and --mpa-rev set one setting each. --profile sets the limits of
 * ondk_config_t (openndk/config.h), from max_private to read_local_invalidate. Each of these settings has the name of
 * its field. The value 0xffffffff means the provider's own limit.
 *   connect_ms     the time limit of NdkConnect at the transport level
 *   request_ms     the time in which a peer of a listener must send its whole request, once the transport is connected
 *   reply_ms       the time limit of NdkConnect from the request to the reply
 *   establish_ms   the time limit of NdkAccept and of NdkCompleteConnect
 *   disconnect_ms  the time limit of NdkDisconnect
 *   backlog        the maximum number of requests that the consumer has neither accepted nor rejected
 *   max_unfinished the maximum number of connections whose request is incomplete, for all listeners together; 0: as
 *                  many as there are descriptors
 *   max_private    MaxCallerData and MaxCalleeData
 *   pend_creates   1: every create returns STATUS_PENDING
 *   notify_us      the least interval of a CQ's moderation in microseconds, even if the consumer has set none
 *   mpa_revision   iWARP: the revision of NdkConnect's request
 *   crc            iWARP: 1: request CRC32c, 0: use it only if the peer requests it
 *   rtr            iWARP: the ready-to-receive forms offered and accepted, NDKCONFORM_RTR_
 *   [stall_ms]     the time in which a peer must send the rest of a frame or message that it has begun
 *   [srq_stall_ms] as stall_ms, while unfinished messages occupy many receives of a shared receive queue
 *   [unacked_ms]   the time in which the peer's host must acknowledge what was sent
 *   [max_fpdu]     iWARP: the maximum size of an FPDU in bytes
 *   [nudge_ms]     the time without data from the peer after which the provider sends an empty write; 0: the provider
 *                  sends nothing that the consumer has not requested
 *   [shards]       the number of threads that deliver completions
 *   [breaches]     1: the process continues after the consumer has broken a rule of the interface
 *   [max_srq_depth] [fast_register_pages] [max_window_kib] [cq_resize] [cq_moderation]
 *                  0: the adapter lacks shared receive queues, fast registration, windows, and so on
 */
#define NDKCONFORM_RTR_ZERO_FPDU 1u
#define NDKCONFORM_RTR_WRITE 2u
#define NDKCONFORM_RTR_READ 4u

/*
 * The exported function. Returns static storage. If the provider cannot be used, prints a message on standard error and
 * returns NULL. Called once, before everything else.
 */
typedef const struct ndkconform_provider *ndkconform_provider_fn(void);
__attribute__((visibility("default"))) const struct ndkconform_provider *ndkconform_provider(void);

#ifdef __cplusplus
}
#endif

#endif
