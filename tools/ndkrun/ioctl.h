/* SPDX-License-Identifier: MIT */
/* Device controls from the command line. */
#ifndef NDKRUN_IOCTL_H
#define NDKRUN_IOCTL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum ioctl_result {
    IOCTL_SUCCEEDED,
    IOCTL_FAILED,
    IOCTL_HANGS, /* a thread is still in the driver, so the program must end without unloading it */
};

/*
 * Sends a device control DEVICE:CODE[:HEX], where CODE is a number and HEX the input, and prints status and output.
 * Fails, after a message, if the form is wrong, the device cannot be opened, or the driver failed the request. If the
 * request has not ended after report_ms (0: never), reports this once. Cancels the request on Ctrl-C. If the cancelled
 * request has not ended some seconds later, reports this, and returns IOCTL_HANGS.
 */
enum ioctl_result ioctl_send(const char *word, uint32_t report_ms, FILE *out);

#endif
