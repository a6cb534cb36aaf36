/* SPDX-License-Identifier: MIT */
/*
 * Logical address mappings. The consumer's structure has the addresses and a pointer to the mapping. The invariant: an
 * adapter has a list of all its mappings, and a pointer from the consumer is used only if it is in the list.
 */
#ifndef PROVIDER_LAM_H
#define PROVIDER_LAM_H

#include <sys/queue.h>

#include "base/spin.h"
#include "ndk/ndkpi.h"

struct lam;
enum { N_LAM_LISTS = 64 }; /* a mapping's address selects its list */
struct lams {
    struct spin lock; /* a leaf */
    LIST_HEAD(, lam) lists[N_LAM_LISTS];
};
void lams_init(struct lams *l);

/*
 * The adapter's entries. Building completes inline, so done is not used. The chain is validated first, then the
 * buffer's size. The adapter ends only after each mapping was released. Releasing a pointer that is no mapping does
 * nothing.
 */
NTSTATUS lam_build(NDK_ADAPTER *adapter, MDL *mdl, SIZE_T length, NDK_FN_REQUEST_COMPLETION done, PVOID context,
                   NDK_LOGICAL_ADDRESS_MAPPING *out, ULONG *size, ULONG *fbo);
void lam_release(NDK_ADAPTER *adapter, NDK_LOGICAL_ADDRESS_MAPPING *mapping);

#endif
