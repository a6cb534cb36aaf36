/* SPDX-License-Identifier: MIT */
/* Adds the last events of the trace to the reports of the verify layer, which itself does not use the trace. */
#ifndef FRONT_LAST_EVENTS_H
#define FRONT_LAST_EVENTS_H

#include "base/private_export.h"

/* Makes the verify layer's reports include the last events. Idempotent. */
void last_events_start(void) PRIVATE_EXPORT(last_events_start);

#endif
