/* SPDX-License-Identifier: MIT */
/*
 * Records the logical address mappings of an adapter that are built and not released. The close of the adapter waits
 * for their release. A mapping is found by the address of its structure. If the consumer releases a copy of the
 * structure, the mapping is found by the AdapterContext that the provider has set.
 */
#ifndef VERIFY_MAPPING_H
#define VERIFY_MAPPING_H

#include "verify/proxy.h"

struct mapping;

/* Records a mapping that NdkBuildLAM has built. */
void mapping_add(struct proxy *adapter, const NDK_LOGICAL_ADDRESS_MAPPING *lam);
/*
 * Stops the reports about releases of unknown mappings. Must be called if the completion of an NdkBuildLAM is not
 * observed: the mapping that this call builds gets no record.
 */
void mapping_set_unseen(void);
/*
 * Removes the record of a mapping before NdkReleaseLAM. Reports a mapping that has no record or has changed. Returns
 * the record for mapping_end_release, or NULL if there is none.
 */
struct mapping *mapping_begin_release(struct proxy *adapter, const NDK_LOGICAL_ADDRESS_MAPPING *lam);
/* Frees the record of a mapping after NdkReleaseLAM. m may be NULL. */
void mapping_end_release(struct mapping *m);

#endif
