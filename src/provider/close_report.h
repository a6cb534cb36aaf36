/* SPDX-License-Identifier: MIT */
/* What an adapter's close waits for, printed to standard error. */
#ifndef PROVIDER_CLOSE_REPORT_H
#define PROVIDER_CLOSE_REPORT_H

#include <stdint.h>

struct adapter;

/* Called by the thread that closes the adapter, which has waited so long. */
void close_report_print(struct adapter *a, uint64_t waited_ms);

#endif
