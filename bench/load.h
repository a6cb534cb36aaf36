/* SPDX-License-Identifier: MIT */
/*
 * A load opens and closes the connections of a backend. Each connection has a number, its slot. The backend reports
 * when a slot's connection is established, is closed or has failed.
 *   load_churn       opens, closes and reopens `window` slots until the time is over
 *   load_open_all    opens all slots, at most `window` at a time; load_close_all closes them in the same way
 * At the end of each of these operations, the load sets `over` and posts `end`.
 */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common.h"

struct load;

/*
 * Each function starts an operation. When the operation ends, the backend calls load_established, load_closed or
 * load_failed, but not inside the function that started the operation.
 */
struct load_backend {
    void (*open)(struct load *l, unsigned slot);
    void (*close)(struct load *l, unsigned slot);
};

struct load {
    const struct load_backend *backend;
    void *context; /* for the backend */
    unsigned slots, window;
    bool churns;              /* true after load_churn, false after load_open_all or load_close_all */
    uint64_t deadline;        /* the time at which load_churn stops opening slots, in nanoseconds */
    uint64_t *opened;         /* for each slot, the time of its last open */
    struct samples latencies; /* load_churn: nanoseconds from open to established */
    atomic_uint next, reached, running;
    atomic_uint_fast64_t done, failed;
    uint64_t ended; /* the time at which the load set `over`, in nanoseconds */
    atomic_bool over;
    sem_t end;
};

void load_init(struct load *l, const struct load_backend *backend, void *context, unsigned slots, unsigned window);
void load_churn(struct load *l, double seconds);
void load_open_all(struct load *l);
void load_close_all(struct load *l);

/* The backend calls these functions, on any thread. */
void load_established(struct load *l, unsigned slot);
void load_closed(struct load *l, unsigned slot);
void load_failed(struct load *l, unsigned slot, const char *what); /* requires that the slot has been closed */

#endif
