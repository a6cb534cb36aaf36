/* SPDX-License-Identifier: MIT */
/*
 * What ndkconform asks of the NDK provider that it looks at, beside ndk/ndkpi.h: how to open an adapter, which on
 * Windows is WskOpenNdkAdapter's part, what a program needs for want of a kernel, and its settings, where it has any.
 *
 * A provider is a shared object that exports ndkconform_provider (ndkconform --provider ./mine.so); OpenNDK's own is
 * openndk.c. docs/conformance.md explains each part.
 */
#ifndef TESTS_CONTRACT_PROVIDER_H
#define TESTS_CONTRACT_PROVIDER_H

#include <stdint.h>

#include "ndk/ndkpi.h"

#define NDKCONFORM_INTERFACE 1u

struct ndkconform_provider {
    uint32_t interface;        /* NDKCONFORM_INTERFACE: what the fields mean */
    const char *name, *version;
    /*
     * Opens the adapter of a network interface, of which lo must be one, and closes it. Closing blocks until every
     * object made from the adapter has been closed and every callback has returned.
     */
    NTSTATUS (*open_adapter)(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter);
    void (*close_adapter)(NDK_ADAPTER *adapter);
    /* Makes mdl describe length bytes at address, which begin anywhere in a page, in front of next (or NULL). */
    void (*init_mdl)(MDL *mdl, void *address, ULONG length, MDL *next);
    /*
     * Optional (NULL: nothing can be set). What adapters use that are opened from now on: a setting by its name, one of
     * those below. STATUS_SUCCESS, or STATUS_NOT_SUPPORTED: there is no such setting, or not with this value.
     */
    NTSTATUS (*set)(const char *setting, uint32_t value);
};

/*
 * Settings. A case skips where it needs one that the provider cannot set; of those in brackets it does without.
 *   connect_ms     NdkConnect's time limit at the transport level
 *   request_ms     a listener's, from the transport's connection to the whole request
 *   reply_ms       NdkConnect's, from the request to the reply
 *   establish_ms   NdkAccept's and NdkCompleteConnect's
 *   disconnect_ms  NdkDisconnect's
 *   backlog        requests that the consumer has neither accepted nor rejected, before more are refused
 *   max_unfinished connections of all listeners without a whole request; 0: as many as there are descriptors for
 *   max_private    MaxCallerData and MaxCalleeData
 *   pend_creates   1: every create answers STATUS_PENDING
 *   notify_us      the least interval of a CQ's moderation, set by the consumer or not
 *   mpa_revision   iWARP: the revision of NdkConnect's request
 *   crc            iWARP: 1: ask for CRC32c, 0: only where the peer wants it
 *   rtr            iWARP: the ready-to-receive forms offered and accepted, NDKCONFORM_RTR_
 *   [stall_ms]     a peer's, for the rest of a frame or message that it has begun
 *   [srq_stall_ms] the same while messages that are not complete hold many receives of a shared receive queue
 *   [unacked_ms]   a peer's host's, to acknowledge what was sent
 *   [max_fpdu]     iWARP: the most bytes of an FPDU
 *   [nudge_ms]     0: nothing is sent that the consumer did not ask for
 *   [shards]       threads that deliver completions
 *   [breaches]     1: a consumer that breaks a rule of the interface is served on, where it would be ended otherwise
 *   [max_srq_depth] [fast_register_pages] [max_window_kib] [cq_resize] [cq_moderation]
 *                  0: the adapter lacks shared receive queues, fast registration, windows, and so on
 */
#define NDKCONFORM_RTR_ZERO_FPDU 1u
#define NDKCONFORM_RTR_WRITE 2u
#define NDKCONFORM_RTR_READ 4u

/* The one symbol. Static storage; called once, before anything else. */
typedef const struct ndkconform_provider *ndkconform_provider_fn(void);
__attribute__((visibility("default"))) const struct ndkconform_provider *ndkconform_provider(void);

#endif
