/* SPDX-License-Identifier: MIT */
/* Finds listeners in the traces: see listeners.h. */
#include "listeners.h"

#include <string.h>

#include "trace_reader/value.h"

/*
 * Returns true if a listener at the address `listener` accepts connections to the address `wanted`. A listener at the
 * host 0 accepts connections to every host.
 */
static bool listeners_is_at(const struct value *listener, const struct value *wanted)
{
    static const uint8_t any[16];

    if (listener->bytes[0] != wanted->bytes[0] || memcmp(listener->bytes + 2, wanted->bytes + 2, 2) != 0)
        return false;
    return memcmp(listener->bytes + 4, any, 16) == 0 || memcmp(listener->bytes + 4, wanted->bytes + 4, 16) == 0;
}

/* Returns the event that closed the listener, or END_NONE. */
static size_t listeners_find_close(const struct story *s, size_t listening)
{
    const struct trace_records *records = &s->traces->records;
    uint64_t object = story_number(s, listening, "object");

    for (size_t i = listening + 1; i < records->count; i++) {
        const struct trace_record *r = &records->records[i];

        if (r->file != records->records[listening].file)
            continue;
        if (strcmp(ends_event_name(r), "adapter_close") == 0 ||
            (strcmp(ends_event_name(r), "NdkCloseListener") == 0 && story_number(s, i, "object") == object))
            return i;
    }
    return END_NONE;
}

static struct listeners_found listeners_check(const struct story *s, size_t record, const struct value *wanted,
                                              size_t begin)
{
    struct listeners_found found = { LISTENERS_OPEN, record, END_NONE };
    struct value local;

    if (!value_find(story_record(s, record), "local", &local) || local.field->kind != KIND_ADDR)
        found.state = LISTENERS_NONE;
    else if (!listeners_is_at(&local, wanted))
        found.state = LISTENERS_OTHER;
    else if (!story_name_is(s, record, "why", "ok"))
        found.state = LISTENERS_FAILED;
    else if (record > begin)
        found.state = LISTENERS_LATER;
    else
        found.closed = listeners_find_close(s, record);
    if (found.closed != END_NONE && found.closed < begin)
        found.state = LISTENERS_CLOSED;
    return found;
}

struct listeners_found listeners_find(const struct story *s, const struct story_side *side)
{
    const char *field = side->role == STORY_CLIENT ? "remote" : "local";
    const struct trace_records *records = &s->traces->records;
    struct listeners_found best = { LISTENERS_NONE, END_NONE, END_NONE };
    struct value wanted;

    if (side->begin == END_NONE || !value_find(story_record(s, side->begin), field, &wanted) ||
        wanted.field->kind != KIND_ADDR)
        return best;
    for (size_t i = 0; i < records->count; i++) {
        struct listeners_found found;

        if (strcmp(ends_event_name(&records->records[i]), "listening") != 0)
            continue;
        found = listeners_check(s, i, &wanted, side->begin);
        if (found.state >= best.state)
            best = found;
    }
    return best;
}
