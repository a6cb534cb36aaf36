/* SPDX-License-Identifier: MIT */
/* A report that stops the process can end with a hint: a line with the options that let the program continue. */
#ifndef VERIFY_STOP_HINT_H
#define VERIFY_STOP_HINT_H

#include "base/private_export.h"

/*
 * Sets the text of the hint. `option` is the command line option that has set the mode, for example "--verify stop".
 * `name` is the name of the option, for example "--verify". Both strings must stay valid. By default `option` is NULL,
 * and there is no hint.
 */
void report_set_stop_hint(const char *option, const char *name) PRIVATE_EXPORT(report_set_stop_hint);

#endif
