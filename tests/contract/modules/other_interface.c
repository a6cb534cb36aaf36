/* SPDX-License-Identifier: MIT */
/* A provider whose module interface has another version than this ndkconform supports. */
#include <stddef.h>

#include "ndkconform/provider.h"

const struct ndkconform_provider *ndkconform_provider(void)
{
    static const struct ndkconform_provider p = { .interface = NDKCONFORM_INTERFACE + 1, .name = "of tomorrow" };

    return &p;
}
