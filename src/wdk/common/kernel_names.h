/* SPDX-License-Identifier: MIT */
/* Returns the names of the kernel's constants. */
#ifndef WDK_KERNEL_NAMES_H
#define WDK_KERNEL_NAMES_H

#include <stdint.h>

#include "base/private_export.h"

/* Returns the name of a status of ntstatus.h, for example "STATUS_SUCCESS", or NULL. The name is in static storage. */
const char *kernel_status_name(uint32_t status) PRIVATE_EXPORT(kernel_status_name);
/* Returns the name of a major function, for example "IRP_MJ_READ", or NULL. The name is in static storage. */
const char *kernel_irp_major_name(uint8_t major);
/*
 * Returns the name of an SrbStatus without its flags, for example "SRB_STATUS_ERROR", or NULL. The name is in static
 * storage.
 */
const char *kernel_srb_status_name(uint8_t status);

#endif
