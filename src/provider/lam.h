/* SPDX-License-Identifier: MIT */
/*
 * Logical address mappings. The consumer's structure holds addresses and a pointer to ours; an adapter keeps a list of
 * those that are built, so that a pointer which is none of them is told from one that is.
 */
#ifndef PROVIDER_LAM_H
#define PROVIDER_LAM_H

#include <sys/queue.h>

#include "base/spin.h"
#include "ndk/ndkpi.h"

struct lam;
enum { LAM_LISTS = 64 }; /* a mapping's place among them is its own address's */
struct lams {
    struct spin lock; /* a leaf */
    LIST_HEAD(, lam) lists[LAM_LISTS];
};
void lams_init(struct lams *l);

/*
 * The adapter's entries. Building ends inline, so the completion may be missing. The chain is validated first, then the
 * buffer's size. An adapter's end waits until each mapping has been released.
 * Releasing what is not built (any more), as far as that can be told, does nothing.
 */
NTSTATUS lam_build(NDK_ADAPTER *adapter, MDL *mdl, SIZE_T length, NDK_FN_REQUEST_COMPLETION done, PVOID context,
                   NDK_LOGICAL_ADDRESS_MAPPING *out, ULONG *size, ULONG *fbo);
void lam_release(NDK_ADAPTER *adapter, NDK_LOGICAL_ADDRESS_MAPPING *mapping);

#endif
