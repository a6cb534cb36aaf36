/* SPDX-License-Identifier: MIT */
/* Reports what an adapter's close waits for. */
#ifndef PROVIDER_CLOSE_REPORT_H
#define PROVIDER_CLOSE_REPORT_H

#include <stdint.h>

struct adapter;

/* Writes to the log. The closing thread calls it after it has waited waited_ms milliseconds. */
void close_report_print(struct adapter *a, uint64_t waited_ms);

#endif
