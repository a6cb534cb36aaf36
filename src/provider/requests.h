/* SPDX-License-Identifier: MIT */
/* What the files that post requests have in common. */
#ifndef PROVIDER_REQUESTS_H
#define PROVIDER_REQUESTS_H

#include "fabric/fabric.h"
#include "ndk/ndkpi.h"
#include "provider/adapter.h"
#include "provider/provider.h"

/* Those that every initiator request takes. */
enum { REQUEST_FLAGS = NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_READ_FENCE | NDK_OP_FLAG_DEFER };

/* enum fabric_flags for the flags that mean the same with every request that takes them. */
unsigned request_flags(ULONG flags);

/*
 * SGEs into the fabric's, count being at most max, and max at most LIMIT_SGES. STATUS_INVALID_PARAMETER: there are more,
 * the list is missing, or the total is beyond what one request may carry.
 */
NTSTATUS request_sges(const struct adapter *a, const NDK_SGE *sgl, ULONG count, ULONG max, struct fabric_sge *out);

#endif
