/* SPDX-License-Identifier: MIT */
/*
 * The search, see explore.h. It goes forward from state to state. To go back, it runs the path from the beginning
 * again. The invariant: the actors are deterministic, so the same path leads to the same state.
 */
#include "explore.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define STACK_BYTES (64 * 1024)
#define MAX_DEPTH 4096
#define MAX_MOVES (EXPLORE_ACTORS * 3)

enum status { READY, BLOCKED, ENDED };
enum how { RUN, TIMEOUT, FLUSH };

struct actor {
    jmp_buf start, at;
    ucontext_t context;
    char *stack;
    bool fresh;
    bool timed_out;
    bool (*ready)(unsigned actor);
    uint64_t before; /* the history without the last result */
    struct shown {   /* the part that belongs to the state */
        uint64_t history;
        uint64_t next; /* the access before which it has stopped */
        uint32_t status;
        uint32_t timed;
    } shown;
};

struct move {
    uint8_t actor, how;
};

struct frame {
    struct move moves[MAX_MOVES];
    unsigned count, chosen;
    size_t slot; /* of the state in the table */
};

struct entry {
    uint64_t hash; /* 0: free */
    double paths;  /* negative: the state is on the path */
};

static const struct explore_world *world;
static struct actor actors[EXPLORE_ACTORS];
static unsigned self;
static jmp_buf scheduler;
static ucontext_t home;
static const char *wrong;
static bool tracing;

static struct frame path[MAX_DEPTH];
static size_t depth;
static struct entry *table;
static size_t table_mask;

static uint64_t mix(uint64_t h, uint64_t v)
{
    h ^= v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
    h *= 0xff51afd7ed558ccdu;
    return h ^ (h >> 32);
}

/* ---- coroutines ---- */

static void trampoline(void)
{
    struct actor *a = &actors[self];

    if (_setjmp(a->start) == 0)
        setcontext(&home);
    world->body(self);
    actors[self].shown.status = ENDED;
    _longjmp(scheduler, 1);
}

/* Allocates an actor once. Later it is restarted by a jump to its first frame, which never returns. */
static void create(unsigned i)
{
    volatile bool back = false;
    struct actor *a = &actors[i];

    if (a->stack != NULL)
        return;
    a->stack = malloc(STACK_BYTES);
    if (a->stack == NULL)
        abort();
    self = i;
    getcontext(&a->context);
    a->context.uc_stack.ss_sp = a->stack;
    a->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&a->context, trampoline, 0);
    getcontext(&home);
    if (!back) {
        back = true;
        setcontext(&a->context);
    }
}

static void resume(unsigned i)
{
    struct actor *a = &actors[i];

    self = i;
    if (_setjmp(scheduler) != 0)
        return;
    if (a->fresh) {
        a->fresh = false;
        _longjmp(a->start, 1);
    }
    _longjmp(a->at, 1);
}

static void yield(void)
{
    if (_setjmp(actors[self].at) == 0)
        _longjmp(scheduler, 1);
}

/* ---- for the actors ---- */

unsigned explore_self(void)
{
    return self;
}

void explore_point(const char *what, uint64_t number)
{
    struct actor *a = &actors[self];

    a->shown.next = mix((uintptr_t)what, number);
    yield();
    a->shown.history = mix(a->shown.history, a->shown.next);
    if (tracing)
        printf("    %-9s %s 0x%llx\n", world->name(self), what, (unsigned long long)number);
}

void explore_saw(const char *what, uint64_t value)
{
    struct actor *a = &actors[self];

    if (tracing)
        printf("    %-9s   %s 0x%llx\n", world->name(self), what, (unsigned long long)value);
    a->before = a->shown.history;
    a->shown.history = mix(a->before, value);
}

void explore_saw_instead(const char *what, uint64_t value)
{
    actors[self].shown.history = actors[self].before;
    explore_saw(what, value);
}

void explore_label(unsigned place, uint64_t a, uint64_t b)
{
    actors[self].shown.history = mix(mix(mix(self + 1, place), a), b);
}

bool explore_block(const char *what, bool (*ready)(unsigned actor), bool timed)
{
    struct actor *a = &actors[self];

    a->ready = ready;
    a->timed_out = false;
    a->shown.status = BLOCKED;
    a->shown.timed = timed;
    yield();
    a->shown.status = READY;
    if (tracing)
        printf("    %-9s %s: %s\n", world->name(self), what, a->timed_out ? "timed out" : "woke");
    explore_saw("ready", !a->timed_out);
    return !a->timed_out;
}

void explore_fail(const char *what)
{
    wrong = what;
    actors[self].shown.status = ENDED;
    _longjmp(scheduler, 1);
}

/* ---- steps ---- */

static unsigned list_moves(struct move *moves)
{
    unsigned n = 0;

    for (unsigned i = 0; i < world->actors; i++) {
        struct actor *a = &actors[i];

        if (a->shown.status == READY || (a->shown.status == BLOCKED && a->ready(i)))
            moves[n++] = (struct move){ (uint8_t)i, RUN };
        if (a->shown.status == BLOCKED && a->shown.timed)
            moves[n++] = (struct move){ (uint8_t)i, TIMEOUT };
        if (world->can_flush(i))
            moves[n++] = (struct move){ (uint8_t)i, FLUSH };
    }
    return n;
}

static void make_move(struct move m)
{
    if (m.how == FLUSH) {
        world->flush(m.actor);
        if (tracing)
            printf("    %-9s (its oldest store becomes visible)\n", world->name(m.actor));
        return;
    }
    actors[m.actor].timed_out = m.how == TIMEOUT;
    resume(m.actor);
}

static void restart(void)
{
    wrong = NULL;
    world->reset();
    for (unsigned i = 0; i < world->actors; i++) {
        create(i);
        actors[i].fresh = true;
        memset(&actors[i].shown, 0, sizeof(actors[i].shown));
        actors[i].shown.history = actors[i].before = i + 1;
    }
}

static uint64_t hash_state(void)
{
    const unsigned char *p = world->bytes;
    uint64_t h = 1;

    for (size_t i = 0; i + 8 <= world->size; i += 8) {
        uint64_t v;

        memcpy(&v, p + i, 8);
        h = mix(h, v);
    }
    for (unsigned i = 0; i < world->actors; i++) {
        h = mix(h, actors[i].shown.history);
        h = mix(h, actors[i].shown.next);
        h = mix(h, (uint64_t)actors[i].shown.status << 1 | actors[i].shown.timed);
    }
    return h ? h : 1;
}

static size_t find_slot(uint64_t hash)
{
    size_t i = (size_t)hash & table_mask;

    while (table[i].hash != 0 && table[i].hash != hash)
        i = (i + 1) & table_mask;
    return i;
}

/* ---- the search ---- */

/* Checks the current state. Returns true if it is new and now on the path, or false and the number of paths from it. */
static bool enter_state(struct explore_result *r, double *paths)
{
    struct frame *f = &path[depth];

    wrong = wrong != NULL ? wrong : world->check();
    if (wrong != NULL)
        return false;
    f->slot = find_slot(hash_state());
    if (table[f->slot].hash != 0) {
        *paths = table[f->slot].paths;
        if (*paths < 0)
            wrong = "a state came back: livelock";
        return false;
    }
    r->states++;
    table[f->slot].hash = hash_state();
    table[f->slot].paths = 1;
    f->chosen = 0;
    f->count = list_moves(f->moves);
    if (f->count == 0) {
        r->ends++;
        *paths = 1;
        wrong = world->check_end();
        return false;
    }
    table[f->slot].paths = -1;
    if (++depth == MAX_DEPTH)
        wrong = "no end within the depth limit";
    if (depth > r->depth)
        r->depth = depth;
    return wrong == NULL;
}

static void run_path(void)
{
    restart();
    for (size_t i = 0; i < depth; i++)
        make_move(path[i].moves[path[i].chosen]);
}

static void print_path(const char *what)
{
    depth = depth == MAX_DEPTH ? depth - 1 : depth;
    printf("  wrong: %s; the way there, %zu steps:\n", what, depth);
    tracing = true;
    run_path();
    tracing = false;
}

/*
 * Adds the paths from a finished state to its parent, and selects the parent's next choice. Returns false at the end.
 */
static bool go_back(double paths, double *sums)
{
    while (depth > 0) {
        struct frame *f = &path[depth - 1];

        sums[depth - 1] += paths;
        if (++f->chosen < f->count)
            return true;
        paths = table[f->slot].paths = sums[depth - 1];
        depth--;
    }
    return false;
}

static void search(size_t max_states, struct explore_result *r)
{
    static double sums[MAX_DEPTH];
    double paths = 0;
    bool replay = false;

    restart();
    if (!enter_state(r, &paths))
        return;
    sums[0] = 0;
    do {
        if (replay)
            run_path();
        else
            make_move(path[depth - 1].moves[path[depth - 1].chosen]);
        r->steps++;
        replay = !enter_state(r, &paths);
        if (!replay)
            sums[depth - 1] = 0;
        if (r->states > max_states)
            wrong = "more states than the limit";
    } while (wrong == NULL && (!replay || go_back(paths, sums)));
    r->interleavings = sums[0];
}

void explore_run(const struct explore_world *w, size_t max_states, bool verbose, struct explore_result *r)
{
    size_t slots = 1024;

    while (slots < max_states * 2)
        slots *= 2;
    table = calloc(slots, sizeof(*table));
    if (table == NULL)
        abort();
    table_mask = slots - 1;
    world = w;
    depth = 0;
    memset(r, 0, sizeof(*r));
    search(max_states, r);
    r->wrong = wrong;
    if (r->wrong != NULL && verbose)
        print_path(r->wrong);
    free(table);
}
