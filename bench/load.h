/* SPDX-License-Identifier: MIT */
/*
 * What is done with connections, whatever carries them: a load opens and closes numbered slots of a backend, which
 * tells when a slot is established and when it is closed.
 *   churn   `window` slots, each opened, closed and opened again until the time is up
 *   hold    all slots opened, at most `window` at a time being on their way; later all closed in the same manner
 */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common.h"

struct load;

/* Each starts something that ends with load_established, load_closed or load_failed; not inside the call itself. */
struct load_backend {
    void (*open)(struct load *l, unsigned slot);
    void (*close)(struct load *l, unsigned slot);
};

struct load {
    const struct load_backend *backend;
    void *context;               /* the backend's */
    unsigned slots, window;
    bool hold;
    uint64_t deadline;           /* churn */
    uint64_t *opened;            /* when, for each slot */
    struct samples latencies;    /* nanoseconds from open to established, of churn with a window of 1 */
    atomic_uint next, reached, running;
    atomic_uint_fast64_t done, failed;
    uint64_t ended;              /* when the last one was done */
    atomic_bool over;
    sem_t end;
};

void load_init(struct load *l, const struct load_backend *backend, void *context, unsigned slots, unsigned window);
void load_churn(struct load *l, double seconds);
void load_open_all(struct load *l);
void load_close_all(struct load *l);

/* From the backend. */
void load_established(struct load *l, unsigned slot);
void load_closed(struct load *l, unsigned slot);
void load_failed(struct load *l, unsigned slot, const char *what); /* the slot is closed */

#endif
