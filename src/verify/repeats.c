/* SPDX-License-Identifier: MIT */
/*
 * Counts the reports of each place in a hash table: see repeats.h. A place is stored at its hash or at the next free
 * entry. Places are never removed.
 */
#include <stdio.h>
#include <string.h>

#include "verify/repeats.h"

static struct repeated places[MAX_PLACES];
static uint32_t without_place, output_number;

/*
 * Returns true if the entry *r is for this place. Compares the texts of the routines, because a compiler may store the
 * same literal several times.
 */
static bool repeats_is_same(const struct repeated *r, const struct breach *breach, const void *at)
{
    return r->rule == breach->rule && r->at == at && !strcmp(r->routine, breach->routine);
}

static void repeats_init(struct repeated *r, const struct breach *breach, const struct stack *call, const void *at)
{
    struct stack_frame frame;

    r->rule = breach->rule;
    r->routine = breach->routine;
    r->at = at;
    r->output = output_number;
    (void)snprintf(r->first_message, sizeof r->first_message, "%s", breach->message);
    if (at) {
        stack_get_frame(call, stack_first_frame(call, NULL), &frame);
        stack_describe_frame(&frame, r->place, sizeof r->place);
    }
}

struct repeated *repeats_add(const struct breach *breach, const struct stack *call)
{
    const void *at = call->depth ? call->frames[stack_first_frame(call, NULL)] : NULL;
    uintptr_t hash = ((uintptr_t)breach->rule >> 3) ^ ((uintptr_t)at * 31);

    for (unsigned i = 0; i < MAX_PLACES; i++) {
        struct repeated *r = &places[(hash + i) % MAX_PLACES];

        if (!r->rule)
            repeats_init(r, breach, call, at);
        else if (!repeats_is_same(r, breach, at))
            continue;
        if (r->output != output_number) {
            r->output = output_number;
            r->written = 0;
        }
        r->count++;
        return r;
    }
    without_place++;
    return NULL;
}

void repeats_start_output(void)
{
    output_number++;
}

struct repeated *repeats_next(struct repeated *last)
{
    for (struct repeated *r = last ? last + 1 : places; r < places + MAX_PLACES; r++)
        if (r->rule)
            return r;
    return NULL;
}

uint32_t repeats_without_place(void)
{
    return without_place;
}
