/* SPDX-License-Identifier: MIT */
/*
 * Declares logical address mappings. The consumer's NDK_LOGICAL_ADDRESS_MAPPING contains the addresses and a pointer to
 * the provider's mapping. The invariant: the adapter has a list of all its mappings. The provider uses the consumer's
 * pointer only if the list contains a mapping with this address.
 */
#ifndef PROVIDER_LAM_H
#define PROVIDER_LAM_H

#include <sys/queue.h>

#include "base/spin.h"
#include "ndk/ndkpi.h"

struct lam;
enum { N_LAM_LISTS = 64 }; /* number of lists; the address of a mapping selects its list */
struct lams {
    struct spin lock; /* a leaf lock */
    LIST_HEAD(, lam) lists[N_LAM_LISTS];
};
void lams_init(struct lams *l);

/*
 * These functions implement NdkBuildLAM and NdkReleaseLAM. lam_build never returns STATUS_PENDING, so it does not call
 * `done`. It validates the MDL chain before it checks the buffer's size. The adapter's close waits until every mapping
 * has been released. lam_release ignores an unknown pointer.
 */
NTSTATUS lam_build(NDK_ADAPTER *adapter, MDL *mdl, SIZE_T length, NDK_FN_REQUEST_COMPLETION done, PVOID context,
                   NDK_LOGICAL_ADDRESS_MAPPING *out, ULONG *size, ULONG *fbo);
void lam_release(NDK_ADAPTER *adapter, NDK_LOGICAL_ADDRESS_MAPPING *mapping);

#endif
