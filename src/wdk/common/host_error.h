/* SPDX-License-Identifier: MIT */
#ifndef ONDK_WDK_HOST_ERROR_H
#define ONDK_WDK_HOST_ERROR_H

#include "base/private_export.h"

/*
 * Stores the calling thread's text for ondk_wdk_error. Always returns -1, which the caller returns to the host program.
 */
__attribute__((format(printf, 1, 2))) int host_error(const char *text, ...) PRIVATE_EXPORT(host_error);

#endif
