/* SPDX-License-Identifier: MIT */
/* The option --nbd: runs nbdkit, which loads the drivers. */
#ifndef NDKRUN_NBD_H
#define NDKRUN_NBD_H

#include "options.h"

/* The environment variable that ndkrun sets if it preloads the runtime of a sanitizer into nbdkit. */
#define NBD_PRELOADED "NDKRUN_PRELOADED"

/*
 * Executes nbdkit with the plugin openndk, which gets all options of this run (docs/port-your-driver.md). The process
 * becomes nbdkit: it keeps its ID, its terminal and its network namespace. Returns only after an error, with a message.
 */
void nbd_execute(const struct options *o);

#endif
