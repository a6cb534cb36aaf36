/* SPDX-License-Identifier: MIT */
/* The program's callback about reports: ondk_verify_set_callback. */
#ifndef VERIFY_REPORT_CALLBACK_H
#define VERIFY_REPORT_CALLBACK_H

#include "verify/report_forms.h"

/* Calls the program's callback, if there is one. The caller must not have locked the output. */
void report_call_back(const struct report *r);

#endif
