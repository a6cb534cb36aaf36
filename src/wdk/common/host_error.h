/* SPDX-License-Identifier: MIT */
#ifndef ONDK_WDK_HOST_ERROR_H
#define ONDK_WDK_HOST_ERROR_H

#include "base/private_export.h"

/*
 * Stores the sentence that ondk_wdk_error returns to the calling thread. Returns -1, which the function that the host
 * program has called then returns too.
 */
__attribute__((format(printf, 1, 2)))
int host_error(const char *text, ...) PRIVATE_EXPORT(host_error);

#endif
