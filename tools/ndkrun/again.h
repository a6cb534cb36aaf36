/* SPDX-License-Identifier: MIT */
/*
 * What has to be so before the program starts: a network of its own, a sanitizer's runtime in the first place. Where
 * it is not, ndkrun runs itself again.
 */
#ifndef NDKRUN_AGAIN_H
#define NDKRUN_AGAIN_H

#include <stdbool.h>

#include "options.h"

/* Comes back when all is so; false: it cannot be had, and why has been said. */
bool again_prepare(const struct options *o, char **argv);

#endif
