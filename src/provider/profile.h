/* SPDX-License-Identifier: MIT */
/* Prints the tables of profiles in docs/profiles.md. */
#ifndef PROVIDER_PROFILE_H
#define PROVIDER_PROFILE_H

#include <stdio.h>

enum { N_PROFILE_LIMITS = 18 }; /* fields of ondk_config_t that a profile sets */

void profile_print_tables(FILE *out);

#endif
