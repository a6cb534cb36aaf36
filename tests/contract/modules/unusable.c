/* SPDX-License-Identifier: MIT */
/* A provider that cannot be used on this machine. */
#include <stdio.h>

#include "ndkconform/provider.h"

const struct ndkconform_provider *ndkconform_provider(void)
{
    fputs("no such card\n", stderr);
    return NULL;
}
