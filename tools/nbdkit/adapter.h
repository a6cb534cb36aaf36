/* SPDX-License-Identifier: MIT */
/* Opens the first Storport adapter that the drivers have created, and lists its units. */
#ifndef NBDKIT_ADAPTER_H
#define NBDKIT_ADAPTER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "openndk/wdk.h"

enum { ADAPTER_MAX_UNITS = 256 };

struct adapter_unit {
    uint8_t path, target, lun;
    char address[16]; /* "0:0:0" */
    char model[40];   /* vendor, product and revision */
};

/* Opens the adapter. If no driver has created one, prints a message to `out` and returns false. */
bool adapter_open(ondk_wdk_device_t **adapter, FILE *out);

/*
 * Returns the maximum number of bytes that one command may transfer. It is the adapter's maximum transfer length, or
 * less if data of that length can touch more pages than the adapter supports. Returns 0 if the query fails.
 */
uint32_t adapter_max_transfer(ondk_wdk_device_t *adapter);

/*
 * Copies the disks that the adapter's last scan has found to `units`, in the order of their addresses. Returns their
 * number.
 */
uint32_t adapter_list_disks(ondk_wdk_device_t *adapter, struct adapter_unit units[ADAPTER_MAX_UNITS]);

#endif
