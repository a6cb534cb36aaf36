/* SPDX-License-Identifier: MIT */
/* Implements the option --nbd: runs nbdkit, which loads the drivers. */
#ifndef NDKRUN_NBD_H
#define NDKRUN_NBD_H

#include "options.h"

/* The environment variable that ndkrun sets if it preloads a sanitizer's runtime into nbdkit. */
#define NBD_PRELOADED "NDKRUN_PRELOADED"

/*
 * Executes nbdkit with the plugin openndk, which receives the options of this run (docs/port-your-driver.md). The
 * process becomes nbdkit, and keeps its ID, its terminal and its network namespace. Returns only after an error, and
 * has then printed a message.
 */
void nbd_execute(const struct options *o);

#endif
