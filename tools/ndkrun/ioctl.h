/* SPDX-License-Identifier: MIT */
/* Device controls from the command line. */
#ifndef NDKRUN_IOCTL_H
#define NDKRUN_IOCTL_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Sends a device control DEVICE:CODE[:HEX], where CODE is a number and HEX the input, and prints status and output.
 * Returns false, after a message, if the form is wrong, the device cannot be opened, or the driver failed the request.
 */
bool ioctl_send(const char *word, FILE *out);

#endif
