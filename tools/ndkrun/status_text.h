/* SPDX-License-Identifier: MIT */
/* Names of NTSTATUS values. */
#ifndef NDKRUN_STATUS_TEXT_H
#define NDKRUN_STATUS_TEXT_H

#include <stdint.h>

/* Returns the name, for example "STATUS_SUCCESS", or the value in hexadecimal. Valid until the thread's next call. */
const char *status_text(uint32_t status);

#endif
