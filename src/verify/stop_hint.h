/* SPDX-License-Identifier: MIT */
/* Adds a line with the options that continue to the reports that stop the process. */
#ifndef VERIFY_STOP_HINT_H
#define VERIFY_STOP_HINT_H

#include "base/private_export.h"

/*
 * Sets the option of the program that has set the mode, for example "--verify stop", and the name of this option. Each
 * report that stops the process then ends with a line that has the options with which the program continues. Both texts
 * must stay valid. By default the option is NULL, and there is no such line.
 */
void report_set_stop_hint(const char *option, const char *name) PRIVATE_EXPORT(report_set_stop_hint);

#endif
