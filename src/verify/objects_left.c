/* SPDX-License-Identifier: MIT */
/*
 * Makes the close of an adapter wait for the adapter's objects, and reports the objects that nobody closes: see
 * objects_left.h. An object is "left" if the consumer has received it and has not called its close routine. Other open
 * objects end without the consumer, so the close waits for them without a limit.
 */
#include "verify/objects_left.h"

#include <string.h>
#include <time.h>

#include "base/owner.h"
#include "verify/stall.h"

enum { POLL_MS = 10, MAX_LIST = 512 };

struct left {
    const struct proxy *adapter;
    unsigned objects;         /* number of objects that are left: see the top of this file */
    unsigned open;            /* number of open objects, whether they are left or not */
    struct verify_open first; /* the first object that is left */
    char list[MAX_LIST];      /* the objects that are left, for example "NDK_CQ 0x1234, NDK_PD 0x5678" */
};

static void left_add(struct left *left, const struct verify_open *open)
{
    size_t length = strlen(left->list);

    if (!left->objects++)
        left->first = *open;
    if (length < sizeof left->list - 1)
        snprintf(left->list + length, sizeof left->list - length, "%s%s %p", length ? ", " : "", open->what,
                 open->object);
}

static void left_add_open(void *context, const struct verify_open *open)
{
    struct left *left = context;

    if (open->is_call || open->adapter != left->adapter || open->object == left->adapter)
        return;
    left->open++;
    if (open->is_left)
        left_add(left, open);
}

/* Reports the objects and mappings that are left. Returns false if none is left. */
static bool left_report(const struct proxy *adapter, const char *routine)
{
    struct left left = { .adapter = adapter };
    unsigned children, mappings;
    FILE *out;

    verify_walk_open(left_add_open, &left);
    children = (unsigned)atomic_load(&adapter->children);
    mappings = children > left.open ? children - left.open : 0;
    if (!left.objects && !mappings)
        return false;
    if (report_get_format() == REPORT_TEXT) {
        out = report_output();
        fprintf(out, "%s waits for %u NDK object(s) and %u logical address mapping(s) that are not closed:\n", routine,
                left.open, mappings);
        verify_print_open(out, (const NDK_ADAPTER *)adapter);
        fflush(out);
    }
    if (left.objects)
        report_set_object(&(struct report_object){ left.first.object, left.first.what, &left.first.by, { NULL } });
    report_breach(&verify_rules[RULE_OBJECTS_LEFT], routine, (uintptr_t)adapter, left.objects + mappings,
                  (uintptr_t)left.first.object, left.first.type,
                  "nobody has closed %u object(s) and %u mapping(s) for %u ms: %s", left.objects, mappings,
                  stall_limit_ms(), left.objects ? left.list : "logical address mappings");
    return true;
}

void verify_report_adapters_left(const char *routine, unsigned adapters)
{
    FILE *out = report_output();

    if (report_get_format() == REPORT_TEXT) {
        fprintf(out, "%s waits for %u NDK adapter(s) that are not closed:\n", routine, adapters);
        verify_print_open(out, NULL);
        fflush(out);
    }
    report_breach(&verify_rules[RULE_OBJECTS_LEFT], routine, 0, adapters, 0, NdkObjectTypeAdapter,
                  "nobody has closed %u adapter(s) for %u ms", adapters, stall_limit_ms());
}

unsigned verify_stall_ms(void)
{
    return stall_limit_ms();
}

bool objects_left_wait(const struct proxy *adapter, const char *routine)
{
    const struct timespec pause = { 0, POLL_MS * STALL_NS_PER_MS };
    uint64_t since = owner_clock(NULL), limit;
    int seen = atomic_load(&adapter->children), now_open;
    bool is_reported = false;

    while ((now_open = atomic_load(&adapter->children)) > 0) {
        limit = (uint64_t)stall_limit_ms() * STALL_NS_PER_MS;
        if (now_open != seen) {
            seen = now_open;
            since = owner_clock(NULL);
        }
        if (limit && verify_on() && owner_clock(NULL) - since >= limit) {
            if (is_reported)
                return false;
            is_reported = left_report(adapter, routine);
            since = owner_clock(NULL);
        }
        nanosleep(&pause, NULL);
    }
    return true;
}
