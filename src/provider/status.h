/* SPDX-License-Identifier: MIT */
/*
 * Converts reasons, completion statuses and errno values of the fabric to NTSTATUS, and computes ProviderErrorCode. The
 * invariant: every value, even an unknown value, is converted to a valid status.
 */
#ifndef PROVIDER_STATUS_H
#define PROVIDER_STATUS_H

#include <stdint.h>

#include "fabric/fabric.h"
#include "ndk/ndkpi.h"

/*
 * Returns the status for the reason why an operation, connection or listener ended. NdkConnect and
 * NdkConnectWithSharedEndpoint use status_of_connect instead.
 */
NTSTATUS status_of_reason(enum fabric_reason why);
/*
 * Works like status_of_reason, for NdkConnect and NdkConnectWithSharedEndpoint. A connection that the peer ends without
 * an accept counts as refused.
 */
NTSTATUS status_of_connect(enum fabric_reason why);
/* Returns the NTSTATUS of a completed request. */
NTSTATUS status_of_completion(enum rdma_status status);
/*
 * Converts the fabric's result of a post, a registration or a creation to NTSTATUS. `error` is 0 or an errno value.
 */
NTSTATUS status_of_errno(int error);

/* Returns NDK_RESULT_EX.ProviderErrorCode: zero on success, otherwise a code of openndk/reason.h. */
uint32_t status_provider_error(const struct rdma_completion *c);

#endif
