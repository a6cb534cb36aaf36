/* SPDX-License-Identifier: MIT */
/* Opens and closes connections: see load.h. */
#include "load.h"

#include <stdio.h>

enum { MAX_LATENCIES = 1 << 20, MAX_FAILURES = 100 };

void load_init(struct load *l, const struct load_backend *backend, void *context, unsigned slots, unsigned window)
{
    *l = (struct load){ .backend = backend, .context = context, .slots = slots, .window = window };
    l->opened = bench_pages(slots * sizeof *l->opened);
    samples_init(&l->latencies, MAX_LATENCIES);
    sem_init(&l->end, 0, 0);
}

static void load_finish(struct load *l)
{
    l->ended = bench_now();
    atomic_store(&l->over, true);
    sem_post(&l->end);
}

static void load_open_slot(struct load *l, unsigned slot)
{
    l->opened[slot] = bench_now();
    l->backend->open(l, slot);
}

void load_churn(struct load *l, double seconds)
{
    unsigned window = l->window;

    l->churns = true;
    atomic_store(&l->over, false);
    atomic_store(&l->done, 0);
    samples_clear(&l->latencies);
    l->deadline = bench_now() + (uint64_t)(seconds * NS_PER_S);
    atomic_store(&l->running, window);
    for (unsigned slot = 0; slot < window; slot++)
        load_open_slot(l, slot);
}

static void load_start_all(struct load *l, void (*start)(struct load *l, unsigned slot))
{
    unsigned window = l->window < l->slots ? l->window : l->slots;

    l->churns = false;
    atomic_store(&l->over, false);
    atomic_store(&l->reached, 0);
    atomic_store(&l->next, window);
    for (unsigned slot = 0; slot < window; slot++)
        start(l, slot);
}

void load_open_all(struct load *l)
{
    load_start_all(l, load_open_slot);
}

void load_close_all(struct load *l)
{
    load_start_all(l, l->backend->close);
}

static void load_next_slot(struct load *l, void (*start)(struct load *l, unsigned slot))
{
    unsigned next = atomic_fetch_add(&l->next, 1);

    if (next < l->slots)
        start(l, next);
    if (atomic_fetch_add(&l->reached, 1) + 1 == l->slots)
        load_finish(l);
}

void load_established(struct load *l, unsigned slot)
{
    if (!l->churns) {
        load_next_slot(l, load_open_slot);
        return;
    }
    samples_add(&l->latencies, (double)(bench_now() - l->opened[slot]));
    l->backend->close(l, slot);
}

static void load_reopen_slot(struct load *l, unsigned slot)
{
    if (bench_now() < l->deadline)
        load_open_slot(l, slot);
    else if (atomic_fetch_sub(&l->running, 1) == 1)
        load_finish(l);
}

void load_closed(struct load *l, unsigned slot)
{
    if (!l->churns) {
        load_next_slot(l, l->backend->close);
        return;
    }
    atomic_fetch_add(&l->done, 1);
    load_reopen_slot(l, slot);
}

void load_failed(struct load *l, unsigned slot, const char *what)
{
    uint64_t failures = atomic_fetch_add(&l->failed, 1) + 1;

    if (failures <= 3)
        fprintf(stderr, "connection %u failed: %s\n", slot, what);
    if (!l->churns || failures >= MAX_FAILURES)
        bench_die("stopped after %llu failed connections", (unsigned long long)failures);
    load_reopen_slot(l, slot);
}
