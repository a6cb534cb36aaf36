/* SPDX-License-Identifier: MIT */
/* The table of profiles, for who prints it. */
#ifndef PROVIDER_PROFILE_H
#define PROVIDER_PROFILE_H

#include <stdio.h>

enum { PROFILE_LIMITS = 18 }; /* fields of ondk_config_t that a profile sets */

void profile_print_tables(FILE *out);

#endif
