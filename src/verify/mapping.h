/* SPDX-License-Identifier: MIT */
/* The logical address mappings of an adapter that are not released. The adapter's close waits for them. */
#ifndef VERIFY_MAPPING_H
#define VERIFY_MAPPING_H

#include "verify/proxy.h"

/* Called when NdkBuildLAM has built a mapping. */
void mapping_add(struct proxy *adapter, const NDK_LOGICAL_ADDRESS_MAPPING *lam);
/* Called before NdkReleaseLAM. Returns false if the mapping is not known. */
bool mapping_remove(struct proxy *adapter, const NDK_LOGICAL_ADDRESS_MAPPING *lam);

#endif
