/* SPDX-License-Identifier: MIT */
/* The first Storport adapter of the drivers, and its units. */
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

/* Opens the adapter. Prints a message to `out` and returns false if no driver has one. */
bool adapter_open(ondk_wdk_device_t **adapter, FILE *out);

/* Returns the most bytes that a command may transfer. */
uint32_t adapter_max_transfer(ondk_wdk_device_t *adapter);

/* Fills `units` with the disks that the last scan has found, in the order of their addresses. Returns their number. */
uint32_t adapter_list_disks(ondk_wdk_device_t *adapter, struct adapter_unit units[ADAPTER_MAX_UNITS]);

#endif
