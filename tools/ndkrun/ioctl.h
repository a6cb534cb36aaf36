/* SPDX-License-Identifier: MIT */
/* Sends device controls from the command line. */
#ifndef NDKRUN_IOCTL_H
#define NDKRUN_IOCTL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum ioctl_result {
    IOCTL_SUCCEEDED,
    IOCTL_FAILED,
    IOCTL_HANGS, /* a thread is still in the driver, so the program must end without unloading the driver */
};

/*
 * Sends a device control DEVICE:CODE[:HEX], where CODE is a number and HEX the input. Prints the status and the output.
 * If the form is wrong, the device cannot be opened, or the driver fails the request, prints a message and returns
 * IOCTL_FAILED. If the request is still pending after report_ms milliseconds (0: never), prints a line. Cancels the
 * request after Ctrl-C. If the cancelled request has not ended some seconds later, prints a message and returns
 * IOCTL_HANGS.
 */
enum ioctl_result ioctl_send(const char *word, uint32_t report_ms, FILE *out);

#endif
