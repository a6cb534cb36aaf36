/* SPDX-License-Identifier: MIT */
/* provider_openndk.c under another name, for modules that stand between it and ndkconform. */
#ifndef TESTS_CONTRACT_MODULES_OPENNDK_H
#define TESTS_CONTRACT_MODULES_OPENNDK_H

#include "contract/provider.h"

const struct ndkconform_provider *openndk_provider(void);

#endif
