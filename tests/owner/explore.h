/* SPDX-License-Identifier: MIT */
/*
 * An exhaustive interleaving explorer. Actors are coroutines, which stop at a scheduling point before each access to
 * shared state. A depth-first search runs every choice of the next actor from every state that it has not visited.
 *
 * A state consists of the shared world (bytes) and, for each actor, a hash of the values that it has seen since its
 * last label. The code is deterministic, so actors with the same history are in the same place with the same locals. A
 * label declares that a few numbers are all live locals of the actor, so histories that lead to the same place merge.
 * States are compared by a hash of 64 bits. The invariant: no state comes back on its own path. All actors but one are
 * finite, so that would be a livelock.
 */
#ifndef TESTS_OWNER_EXPLORE_H
#define TESTS_OWNER_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPLORE_ACTORS 5

struct explore_world {
    void *bytes; /* all shared state; hashed as bytes, so padding must be zero */
    size_t size;
    unsigned actors;
    void (*reset)(void); /* restores the initial state */
    void (*body)(unsigned actor);
    const char *(*check)(void);        /* called after each step; returns what is wrong, or NULL */
    const char *(*check_end)(void);    /* the same, when no actor can move */
    bool (*can_flush)(unsigned actor); /* does the actor have a store that others do not see yet? */
    void (*flush)(unsigned actor);     /* makes the oldest of these stores visible */
    const char *(*name)(unsigned actor);
};

struct explore_result {
    const char *wrong; /* NULL: nothing found */
    size_t states;
    size_t steps; /* edges of the state graph */
    size_t ends;  /* states in which no actor can move */
    size_t depth;
    double interleavings; /* paths through the state graph */
};

void explore_run(const struct explore_world *world, size_t max_states, bool verbose, struct explore_result *result);

/* Called by the actors. */
unsigned explore_self(void);
void explore_point(const char *what, uint64_t number);      /* others may run here, before the next access */
void explore_saw(const char *what, uint64_t value);         /* the result of that access */
void explore_saw_instead(const char *what, uint64_t value); /* the same, and replaces the last result */
void explore_label(unsigned place, uint64_t a, uint64_t b);
/* Waits until ready(actor) or, if timed is set, perhaps until a timeout. Returns whether it is ready. */
bool explore_block(const char *what, bool (*ready)(unsigned actor), bool timed);
_Noreturn void explore_fail(const char *wrong);

#endif
