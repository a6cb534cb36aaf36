/* SPDX-License-Identifier: MIT */
/*
 * Lists the open objects and the pending calls of all consumers. First copies them under their locks, then visits the
 * copies without a lock.
 */
#include <stdlib.h>

#include "verify/pending.h"
#include "verify/proxy.h"

enum { SPARE_ROOM = 16 }; /* additional elements, because objects and calls may begin after they were counted */

static int open_compare(const void *left, const void *right)
{
    const struct verify_open *a = left, *b = right;

    return (a->serial > b->serial) - (a->serial < b->serial);
}

void verify_walk_open(verify_open_callback *visit, void *context)
{
    unsigned room = proxy_copy_open(NULL, 0) + pending_copy(NULL, 0) + SPARE_ROOM, objects, calls;
    struct verify_open *all = calloc(room, sizeof *all);

    if (!all)
        return;
    objects = proxy_copy_open(all, room);
    objects = objects < room ? objects : room;
    qsort(all, objects, sizeof *all, open_compare);
    calls = pending_copy(all + objects, room - objects);
    calls = calls < room - objects ? calls : room - objects;
    for (unsigned i = 0; i < objects + calls; i++)
        visit(context, &all[i]);
    free(all);
}

struct open_printer {
    FILE *out;
    const void *adapter;
};

static void open_print(void *context, const struct verify_open *open)
{
    const struct open_printer *p = context;
    FILE *out = p->out;

    if (p->adapter && (open->adapter != p->adapter || open->object == p->adapter))
        return;
    fprintf(out, "left: %s %p (%s)\n", open->is_call ? "pending NDK request" : "NDK object", open->object, open->what);
    stack_print(&open->by, out, "    ");
}

void verify_print_open(FILE *out, const NDK_ADAPTER *adapter)
{
    verify_walk_open(open_print, &(struct open_printer){ out, adapter });
}
