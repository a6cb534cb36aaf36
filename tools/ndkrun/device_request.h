/* SPDX-License-Identifier: MIT */
/* Sends the requests of the options --ioctl, --read and --write to devices. */
#ifndef NDKRUN_DEVICE_REQUEST_H
#define NDKRUN_DEVICE_REQUEST_H

#include <stdint.h>
#include <stdio.h>

#include "device_command.h"

enum device_result {
    DEVICE_SUCCEEDED,
    DEVICE_FAILED,
    DEVICE_HANGS, /* a thread is still in the driver, so the program must end without unloading the driver */
};

/*
 * Opens the device, sends the request, and closes the device. Prints the status and the output. If the device cannot be
 * opened, or the driver fails the request, prints a message and returns DEVICE_FAILED. If the request is still pending
 * after report_ms milliseconds (0: never), prints a line. Cancels the request after Ctrl-C. If the cancelled request
 * has not ended some seconds later, prints a message and returns DEVICE_HANGS.
 */
enum device_result device_request_send(const struct device_command *command, uint32_t report_ms, FILE *out);

#endif
