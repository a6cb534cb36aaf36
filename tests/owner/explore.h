/* SPDX-License-Identifier: MIT */
/*
 * Abstract: an exhaustive interleaving explorer. Actors are coroutines; before each access to what they share they
 * stop at a scheduling point. A depth-first search runs every choice of who goes next from every state it has not
 * seen.
 *
 * A state is the shared world (bytes) and, for each actor, a hash of all it has seen since its last label: the code is
 * deterministic, so that an actor with the same history is in the same place with the same locals. A label says "all
 * my live locals are these numbers", and so lets histories that lead to the same place merge. States are told apart by
 * a hash of 64 bits.
 * No state may come back on its own path: since all actors but one are finite, that would be a livelock.
 */
#ifndef TESTS_OWNER_EXPLORE_H
#define TESTS_OWNER_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPLORE_ACTORS 5

struct explore_world {
    void *bytes;                           /* everything shared; hashed as bytes, so padding must be zero */
    size_t size;
    unsigned actors;
    void (*reset)(void);                   /* brings the world to its beginning */
    void (*body)(unsigned actor);
    const char *(*check)(void);            /* after each step: what is wrong, or NULL */
    const char *(*check_end)(void);        /* when nobody can move any more */
    bool (*can_flush)(unsigned actor);     /* has the actor a store that others do not see yet? */
    void (*flush)(unsigned actor);         /* lets them see the oldest */
    const char *(*name)(unsigned actor);
};

struct explore_result {
    const char *wrong;      /* NULL: nothing found */
    size_t states;
    size_t steps;           /* edges of the graph of states */
    size_t ends;            /* states in which nobody can move */
    size_t depth;
    double interleavings;   /* paths through the graph */
};

void explore_run(const struct explore_world *world, size_t max_states, bool verbose, struct explore_result *result);

/* For the actors. */
unsigned explore_self(void);
void explore_point(const char *what, uint64_t number);        /* others may run here, before the access that follows */
void explore_saw(const char *what, uint64_t value);           /* what that access told the actor */
void explore_saw_instead(const char *what, uint64_t value);   /* the same, in place of what the last access told it */
void explore_label(unsigned place, uint64_t a, uint64_t b);
/* Waits until ready(actor), or, if `timed`, possibly no longer. True: ready. */
bool explore_block(const char *what, bool (*ready)(unsigned actor), bool timed);
_Noreturn void explore_fail(const char *wrong);

#endif
