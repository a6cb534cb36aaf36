/* SPDX-License-Identifier: MIT */
/* Selects the events that are printed. */
#ifndef LIVE_FILTER_H
#define LIVE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/live.h"

enum { LIVE_MAX_EVENT = 512 };

struct live_filter {
    /* The index is the event number; a call's element also selects its return and completion. */
    bool events[LIVE_MAX_EVENT];
};

/* Parses a list of words: see live_select. If a word is not valid, writes the reason to `problem` and returns false. */
bool live_filter_parse(struct live_filter *f, const char *list, char problem[LIVE_MAX_PROBLEM]);

/*
 * Returns the name under which the event `number` is printed and selected. For a callback, this is the name of its
 * NDKPI type.
 */
const char *live_event_name(uint16_t number);

#endif
