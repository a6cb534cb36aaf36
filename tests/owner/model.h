/* SPDX-License-Identifier: MIT */
/*
 * A small shard around the unmodified owner.c, for the explorer: queues with store buffers, a socket, a timer,
 * callbacks, an epoll set with its eventfd, a futex, and a clock that advances only when an actor times out. The
 * invariant: all state that actors share is in `model`.
 */
#ifndef TESTS_OWNER_MODEL_H
#define TESTS_OWNER_MODEL_H

#include "base/owner.h"
#include "explore.h"

#define MODEL_PRODUCERS 3
#define MODEL_BUFFER 2  /* stores of one actor that the others do not see yet */
#define MODEL_TIMER 10u /* a work item's timer fires so much later; less than a lease */

enum role {
    ROLE_NONE,
    ROLE_THREAD,   /* the shard's own: the first actor of every scenario */
    ROLE_PRODUCER, /* publishes, rings, and drives everything if it is the owner */
    ROLE_POSTER,   /* the same, but drives only its own queue and leaves the rest to the thread */
    ROLE_WAKER,    /* posts, without the token, work that only the thread may do */
    ROLE_POLLER,   /* polls under a lease */
    ROLE_NETWORK,  /* makes the socket readable */
};

enum work { WORK_PLAIN, WORK_TIMER, WORK_CALLBACK };

struct actor_plan {
    enum role role;
    unsigned count; /* of work items, wakes, polls, or messages */
    enum work work; /* the effect of a work item of this producer */
    bool lazy;      /* the producer publishes lazy work */
    bool arms;      /* the poller ends its lease; otherwise it only stops polling */
};

struct scenario {
    const char *name;
    struct actor_plan plan[EXPLORE_ACTORS];
    unsigned spins;    /* of owner_thread_acquire */
    bool deferred;     /* stores stay in the store buffer until they are flushed (total store order) */
    unsigned spurious; /* how many futex waits may end without a reason */
};

/* Cells written by plain stores and read without the token. */
enum cell { CELL_WORK, CELL_ARM = CELL_WORK + EXPLORE_ACTORS, CELL_POSTED, CELL_RENEWED, CELLS };

struct store {
    uint64_t cell, value;
};

struct model {
    struct owner o;
    uint64_t cells[CELLS];
    struct {
        struct store store[MODEL_BUFFER];
        uint64_t count;
    } buffer[EXPLORE_ACTORS];
    /* The kernel's state. */
    uint64_t now;
    uint64_t watched;     /* the sockets are in the epoll set */
    uint64_t readable;    /* messages in the socket */
    uint64_t signalled;   /* the eventfd */
    uint64_t futex_woken; /* the thread, which alone waits there */
    uint64_t futex_waits;
    uint64_t sleeps; /* the thread, on the futex or in epoll */
    uint64_t spurious_left;
    /* The shard's state, guarded by the token. */
    uint64_t driver; /* 1 + the actor that drives; 0: nobody does */
    uint64_t executed[EXPLORE_ACTORS];
    uint64_t armed; /* requests to end the lease that the owner has seen */
    uint64_t received;
    uint64_t timer, timers_made, timers_fired;
    uint64_t sleep_until;
    uint64_t callbacks_due, callbacks_made;
    uint64_t renewed; /* guarded by the token */
    /* The thread's state. */
    uint64_t callbacks_done;
    uint64_t posted_done;
    uint64_t place[EXPLORE_ACTORS][3]; /* the last label of each actor, see model_same_place */
    /* The check's state: wake-up calls that an actor must still make, because it has ended a sleep in the word. */
    uint64_t owed;
};

extern struct model model;
extern const struct scenario *model_scenario;

/* The world, model_world.c */
uint64_t model_load(enum cell cell, const char *what);
void model_store(enum cell cell, uint64_t value, const char *what);
bool model_can_flush(unsigned actor);
void model_flush(unsigned actor);
/* Labels the actor with the place of its last label, plus step. */
void model_same_place(unsigned step);
void model_epoll_wait(uint64_t deadline);
extern const struct owner_ops model_ops;

/* The actors and what must hold, model_actors.c */
void model_body(unsigned actor);
const char *model_check(void);
const char *model_check_end(void);

#endif
