/* SPDX-License-Identifier: MIT */
/* Which events are printed. */
#ifndef LIVE_FILTER_H
#define LIVE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/live.h"

enum { LIVE_MAX_EVENT = 512 };

struct live_filter {
    bool events[LIVE_MAX_EVENT]; /* by event number; the return and completion of a call are printed with the call */
};

/* Parses a list: see live_select. Returns false if a word is wrong, and then writes the reason to `problem`. */
bool live_filter_parse(struct live_filter *f, const char *list, char problem[LIVE_MAX_PROBLEM]);

/* Returns the name under which an event is printed and selected. For a callback, this is the name of its NDKPI type. */
const char *live_event_name(uint16_t number);

#endif
