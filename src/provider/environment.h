/* SPDX-License-Identifier: MIT */
/* Reads numbers from the ONDK_ environment variables, and reports variables that are unknown or invalid. */
#ifndef PROVIDER_ENVIRONMENT_H
#define PROVIDER_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

/* A variable that sets a field of ondk_config_t to a number. */
struct environment_number {
    const char *name;
    uint32_t min, max;
};

/*
 * Reads a variable into *value. Returns false if the variable is not set, is empty, is not a number, or is out of
 * range.
 */
bool environment_number(const struct environment_number *variable, uint32_t *value);
/*
 * Returns the number of variables that are unknown or invalid. The first call of the process also logs them. `numbers`
 * is config.c's table with `count` rows.
 */
uint32_t environment_check(const struct environment_number *numbers, uint32_t count);

#endif
