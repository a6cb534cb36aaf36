/* SPDX-License-Identifier: MIT */
/*
 * The process's settings of verification. They come from ondk_verify_configure if it was called, otherwise from
 * ONDK_VERIFY if it is set, otherwise from the default.
 */
#ifndef VERIFY_SETTING_H
#define VERIFY_SETTING_H

#include "base/private_export.h"
#include "verify/report.h"

/*
 * Reads ONDK_VERIFY. If the variable is not set, the mode is `standard`. Has no effect if the settings were read or
 * configured before. Returns false if the variable has no valid value.
 */
bool verify_read_environment(enum verify_mode standard) PRIVATE_EXPORT(verify_read_environment);

/* Returns true if the checks that cost much are on, too. */
bool verify_is_full(void);

#endif
