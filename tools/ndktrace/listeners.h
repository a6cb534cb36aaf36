/* SPDX-License-Identifier: MIT */
/* Finds the listeners in the traces. */
#ifndef NDKTRACE_LISTENERS_H
#define NDKTRACE_LISTENERS_H

#include "story.h"

enum listeners_state {
    LISTENERS_NONE,  /* the traces contain no listener */
    LISTENERS_OTHER, /* the traces contain listeners, but only at other addresses */
    LISTENERS_LATER, /* NdkListen succeeded for the address, but only after the connection began */
    LISTENERS_CLOSED,
    LISTENERS_FAILED, /* NdkListen failed for the address */
    LISTENERS_OPEN,
};
struct listeners_found {
    enum listeners_state state;
    size_t record; /* index of the event `listening`, or END_NONE */
    size_t closed; /* index of the event that closed the listener, or END_NONE */
};
/*
 * Finds the listener at the server's address, and determines its state when the connection began. Requires that the
 * traces contain `side`.
 */
struct listeners_found listeners_find(const struct story *s, const struct story_side *side);

#endif
