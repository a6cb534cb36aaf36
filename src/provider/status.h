/* SPDX-License-Identifier: MIT */
/*
 * From the fabric's reasons and statuses to NTSTATUS: total maps, and the number behind ProviderErrorCode.
 */
#ifndef PROVIDER_STATUS_H
#define PROVIDER_STATUS_H

#include <stdint.h>

#include "fabric/fabric.h"
#include "ndk/ndkpi.h"

/* Why establishment, a connection or a listener ended, for every function but NdkConnect and its sister. */
NTSTATUS status_of_reason(enum fabric_reason why);
/* The same for NdkConnect and NdkConnectWithSharedEndpoint: a peer that ends it without an accept has refused. */
NTSTATUS status_of_connect(enum fabric_reason why);
/* How a request ended. */
NTSTATUS status_of_completion(enum rdma_status status);
/* What a post, a registration or a creation answered: 0 or an errno value of the fabric's. */
NTSTATUS status_of_errno(int error);

/* NDK_RESULT_EX.ProviderErrorCode: zero on success, else a code of openndk/reason.h. */
uint32_t status_provider_error(const struct rdma_completion *c);

#endif
