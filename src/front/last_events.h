/* SPDX-License-Identifier: MIT */
/* Adds the last events of the trace to the reports of the verify layer, which has no knowledge of the trace. */
#ifndef FRONT_LAST_EVENTS_H
#define FRONT_LAST_EVENTS_H

/* Idempotent. */
void last_events_start(void);

#endif
