/* SPDX-License-Identifier: MIT */
/*
 * The logical address mappings of an adapter that are not released. The adapter's close waits for them. A mapping is
 * known by the address of its structure, or by the AdapterContext that the provider has set, because a consumer may
 * release a copy of the structure.
 */
#ifndef VERIFY_MAPPING_H
#define VERIFY_MAPPING_H

#include "verify/proxy.h"

struct mapping;

/* Called when NdkBuildLAM has built a mapping. */
void mapping_add(struct proxy *adapter, const NDK_LOGICAL_ADDRESS_MAPPING *lam);
/* Called if the end of an NdkBuildLAM will not be seen: unknown mappings are not reported any more. */
void mapping_set_unseen(void);
/*
 * Called before NdkReleaseLAM: reports a mapping that is not known or was changed, and removes it. Returns the mapping
 * for mapping_end_release, or NULL.
 */
struct mapping *mapping_begin_release(struct proxy *adapter, const NDK_LOGICAL_ADDRESS_MAPPING *lam);
/* Called after NdkReleaseLAM. m may be NULL. */
void mapping_end_release(struct mapping *m);

#endif
