/* SPDX-License-Identifier: MIT */
/*
 * A provider module: a shared object with an NDK provider, for the option --provider of ndkconform, ndkping, ndkperf,
 * ndkinfo and ndkrun. Besides ndk/ndkpi.h, these programs need only this: how to open an adapter (on Windows with
 * WskOpenNdkAdapter), how to initialise an MDL, and optionally settings.
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
     * Opens and closes the adapter of a network interface; lo must have one. The close waits until every object of the
     * adapter has been closed and every callback has returned.
     */
    NTSTATUS (*open_adapter)(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter);
    void (*close_adapter)(NDK_ADAPTER *adapter);
    /* Initialises mdl to describe length bytes at address, at any offset in a page, followed by next (or NULL). */
    void (*init_mdl)(MDL *mdl, void *address, ULONG length, MDL *next);
    /*
     * Optional, may be NULL. Changes one of the settings below, for adapters that are opened later. Returns
     * STATUS_SUCCESS, or STATUS_NOT_SUPPORTED if the provider has no such setting or does not support the value.
     */
    NTSTATUS (*set)(const char *setting, uint32_t value);
};

/*
 * Settings. A case of ndkconform that needs one is skipped if the provider does not support it, except for those in
 * brackets. An option of a tool that needs one is then refused: --timeout sets connect_ms, reply_ms, establish_ms and
 * disconnect_ms, --crc, --rtr and --mpa-rev set one each. --profile sets all the limits of openndk/config.h, from
 * max_private to read_local_invalidate, by the names of these fields; 0xffffffff means the provider's own limit.
 *   connect_ms     NdkConnect's time limit at the transport level
 *   request_ms     a listener's, from the transport's connection to the whole request
 *   reply_ms       NdkConnect's, from the request to the reply
 *   establish_ms   NdkAccept's and NdkCompleteConnect's
 *   disconnect_ms  NdkDisconnect's
 *   backlog        requests that the consumer has neither accepted nor rejected, before more are refused
 *   max_unfinished connections of all listeners without a whole request; 0: no limit but that of descriptors
 *   max_private    MaxCallerData and MaxCalleeData
 *   pend_creates   1: every create returns STATUS_PENDING
 *   notify_us      the least interval of a CQ's moderation, set by the consumer or not
 *   mpa_revision   iWARP: the revision of NdkConnect's request
 *   crc            iWARP: 1: request CRC32c, 0: use it only if the peer requests it
 *   rtr            iWARP: the ready-to-receive forms offered and accepted, NDKCONFORM_RTR_
 *   [stall_ms]     a peer's, for the rest of a frame or message that it has begun
 *   [srq_stall_ms] the same while unfinished messages occupy many receives of a shared receive queue
 *   [unacked_ms]   a peer's host's, to acknowledge what was sent
 *   [max_fpdu]     iWARP: the maximum size of an FPDU in bytes
 *   [nudge_ms]     0: the provider sends nothing that the consumer has not requested
 *   [shards]       threads that deliver completions
 *   [breaches]     1: a consumer that breaks a rule of the interface is not ended
 *   [max_srq_depth] [fast_register_pages] [max_window_kib] [cq_resize] [cq_moderation]
 *                  0: the adapter lacks shared receive queues, fast registration, windows, and so on
 */
#define NDKCONFORM_RTR_ZERO_FPDU 1u
#define NDKCONFORM_RTR_WRITE 2u
#define NDKCONFORM_RTR_READ 4u

/*
 * The exported symbol. Returns static storage, or NULL after a message on standard error if the provider cannot be used.
 * Called once, before everything else.
 */
typedef const struct ndkconform_provider *ndkconform_provider_fn(void);
__attribute__((visibility("default"))) const struct ndkconform_provider *ndkconform_provider(void);

#ifdef __cplusplus
}
#endif

#endif
