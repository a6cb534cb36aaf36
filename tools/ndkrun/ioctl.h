/* SPDX-License-Identifier: MIT */
/* Device controls from the command line. */
#ifndef NDKRUN_IOCTL_H
#define NDKRUN_IOCTL_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Sends one: DEVICE:CODE[:HEX], CODE a number, HEX the input's octets. Prints status and output. False: it is not of
 * that form, the device cannot be opened, or the driver failed the request; which of them has been said.
 */
bool ioctl_send(const char *word, FILE *out);

#endif
