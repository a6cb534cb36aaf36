/* SPDX-License-Identifier: MIT */
/*
 * Maps from the fabric's reasons and statuses to NTSTATUS, and the number in ProviderErrorCode. The invariant: the maps
 * are total.
 */
#ifndef PROVIDER_STATUS_H
#define PROVIDER_STATUS_H

#include <stdint.h>

#include "fabric/fabric.h"
#include "ndk/ndkpi.h"

/* For all functions but NdkConnect and NdkConnectWithSharedEndpoint: why an operation, connection or listener ended. */
NTSTATUS status_of_reason(enum fabric_reason why);
/* For NdkConnect and NdkConnectWithSharedEndpoint, where a peer that ends the connection without an accept refuses. */
NTSTATUS status_of_connect(enum fabric_reason why);
/* For a completion. */
NTSTATUS status_of_completion(enum rdma_status status);
/* For the result of a post, a registration or a creation: 0 or an errno value of the fabric. */
NTSTATUS status_of_errno(int error);

/* Returns NDK_RESULT_EX.ProviderErrorCode: zero on success, otherwise a code of openndk/reason.h. */
uint32_t status_provider_error(const struct rdma_completion *c);

#endif
