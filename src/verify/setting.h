/* SPDX-License-Identifier: MIT */
/*
 * Reads and stores the settings of verification for this process. They come from ondk_verify_configure if the program
 * has called it, else from ONDK_VERIFY if the variable is set, else from the default.
 */
#ifndef VERIFY_SETTING_H
#define VERIFY_SETTING_H

#include "base/private_export.h"
#include "verify/report.h"

/*
 * Applies the settings in ONDK_VERIFY. If the variable is not set, sets the mode to the value of `standard`. Does
 * nothing if settings were applied before. Returns false if the value of the variable is not valid.
 */
bool verify_read_environment(enum verify_mode standard) PRIVATE_EXPORT(verify_read_environment);

/* Returns true in the mode `full`, in which the expensive checks are also on. */
bool verify_is_full(void);

#endif
