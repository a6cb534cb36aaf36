/* SPDX-License-Identifier: MIT */
/* What the program has in store for the cases' side of it. */
#ifndef TESTS_CONTRACT_RUNNER_H
#define TESTS_CONTRACT_RUNNER_H

#include "contract/provider.h"

extern const struct ndkconform_provider *kit_provider; /* set before any case runs */

#endif
