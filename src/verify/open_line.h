/* SPDX-License-Identifier: MIT */
/* Stores whether the latest text of a host, for example of a driver, has no line end. */
#ifndef VERIFY_OPEN_LINE_H
#define VERIFY_OPEN_LINE_H

#include <stdbool.h>

#include "base/private_export.h"

/*
 * Records that the host, for example a driver, has written text to the output. `open` is true if the text does not end
 * with a line end. The next report then begins with a line end.
 */
void report_set_line_open(bool open) PRIVATE_EXPORT(report_set_line_open);
bool report_is_line_open(void) PRIVATE_EXPORT(report_is_line_open);

#endif
