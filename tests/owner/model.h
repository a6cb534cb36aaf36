/* SPDX-License-Identifier: MIT */
/*
 * Abstract: a shard in miniature around the unmodified owner.c, for the explorer: queues with store buffers, a socket,
 * a timer, callbacks, an epoll set with its eventfd, a futex, and a clock that moves only when somebody times out.
 */
#ifndef TESTS_OWNER_MODEL_H
#define TESTS_OWNER_MODEL_H

#include "base/owner.h"
#include "explore.h"

#define MODEL_PRODUCERS 3
#define MODEL_BUFFER 2          /* stores of one actor which the others do not see yet */
#define MODEL_TIMER 10u         /* a timer made by a work item fires that much later; shorter than a lease */

enum role {
    ROLE_NONE,
    ROLE_THREAD,        /* the shard's own; it is in every scenario, and the first */
    ROLE_PRODUCER,      /* publishes, rings, and drives everything when it owns */
    ROLE_POSTER,        /* the same, but drives its own queue alone and leaves the rest to the thread */
    ROLE_WAKER,         /* posts something only the thread may do, without the token */
    ROLE_POLLER,        /* polls under a lease */
    ROLE_NETWORK,       /* makes the socket readable */
};

enum work { WORK_PLAIN, WORK_TIMER, WORK_CALLBACK };

struct actor_plan {
    enum role role;
    unsigned count;     /* works, wakes, polls, or messages */
    enum work work;     /* what executing a work item of this producer leads to */
    bool lazy;          /* the producer leaves its work to a poller, while there is one */
    bool arms;          /* the poller ends its lease; otherwise it just stops polling */
};

struct scenario {
    const char *name;
    struct actor_plan plan[EXPLORE_ACTORS];
    unsigned spins;     /* of owner_thread_acquire */
    bool deferred;      /* stores stay in the store buffer for a while (total store order) */
    unsigned spurious;  /* so many futex waits may end for no reason */
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
    /* The kernel's. */
    uint64_t now;
    uint64_t watched;           /* the sockets are in the epoll set */
    uint64_t readable;          /* messages in the socket */
    uint64_t signalled;         /* the eventfd */
    uint64_t futex_woken;       /* the thread, the only one who waits there */
    uint64_t futex_waits;
    uint64_t sleeps;            /* the thread, on the futex or in epoll */
    uint64_t spurious_left;
    /* The shard's, under the token. */
    uint64_t driver;            /* 1 + the actor that drives; 0: nobody does */
    uint64_t executed[EXPLORE_ACTORS];
    uint64_t armed;             /* wishes for the end of the lease that were seen */
    uint64_t received;
    uint64_t timer, timers_made, timers_fired;
    uint64_t sleep_until;
    uint64_t callbacks_due, callbacks_made;
    uint64_t renewed;           /* under the token */
    /* The thread's. */
    uint64_t callbacks_done;
    uint64_t posted_done;
    uint64_t place[EXPLORE_ACTORS][3];  /* where each actor is, see model_same_place */
    /* The check's: wake-up calls that somebody must still make, as he has ended a sleep in the word. */
    uint64_t owed;
};

extern struct model model;
extern const struct scenario *model_scenario;

/* The world, model_world.c */
uint64_t model_load(enum cell cell, const char *what);
void model_store(enum cell cell, uint64_t value, const char *what);
bool model_can_flush(unsigned actor);
void model_flush(unsigned actor);
/* Labels the actor: where it last said to be, and `step` on from there. */
void model_same_place(unsigned step);
void model_epoll_wait(uint64_t deadline);
extern const struct owner_ops model_ops;

/* The actors and what must hold, model_actors.c */
void model_body(unsigned actor);
const char *model_check(void);
const char *model_check_end(void);

#endif
