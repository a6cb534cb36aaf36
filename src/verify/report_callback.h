/* SPDX-License-Identifier: MIT */
/* Calls the callback that the program has set with ondk_verify_set_callback. */
#ifndef VERIFY_REPORT_CALLBACK_H
#define VERIFY_REPORT_CALLBACK_H

#include "verify/report_forms.h"

/*
 * Calls the program's callback with the report. Does nothing if there is no callback. The caller must not have locked
 * the output.
 */
void report_call_back(const struct report *r);

#endif
