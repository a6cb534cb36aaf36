/* SPDX-License-Identifier: MIT */
/* Finds the listeners in the traces. */
#ifndef NDKTRACE_LISTENERS_H
#define NDKTRACE_LISTENERS_H

#include "story.h"

enum listeners_state {
    LISTENERS_NONE,  /* no other trace has a listener */
    LISTENERS_OTHER, /* at other addresses only */
    LISTENERS_LATER, /* at the address, but later */
    LISTENERS_CLOSED,
    LISTENERS_FAILED, /* NdkListen failed */
    LISTENERS_OPEN,
};
struct listeners_found {
    enum listeners_state state;
    size_t record; /* the event `listening` */
    size_t closed; /* the event that closed the listener, or END_NONE */
};
/*
 * Finds the listener at the server's address, and its state when the connection began. `side`: one that the traces
 * have.
 */
struct listeners_found listeners_find(const struct story *s, const struct story_side *side);

#endif
