/* SPDX-License-Identifier: MIT */
/* Selects the events that are printed: see filter.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "live/filter.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "trace/schema.h"

/*
 * The groups of events. The word "all" selects only the groups whose `is_in_all` is true: the drivers' calls. The other
 * groups are not in "all", because the drivers' calls would be hard to find among their many events.
 */
static const struct {
    const char *name;
    uint16_t first, last;
    bool is_in_all;
} live_groups[] = {
    { "driver", TRACE_TYPE_DriverEntry, TRACE_TYPE_DriverUnload, true },
    { "irp", TRACE_TYPE_IoAllocateIrp, TRACE_TYPE_IoCancelIrp, true },
    { "wsk", TRACE_TYPE_WskRegister, TRACE_TYPE_WskSendBacklogEvent, true },
    { "ndk", TRACE_TYPE_cq_notification, TRACE_TYPE_NdkArmCq, true },
    { "connection", TRACE_TYPE_adapter, TRACE_TYPE_unblocked, false },
    { "frame", TRACE_TYPE_tagged, TRACE_TYPE_no_segment, false },
};
enum { LIVE_GROUPS = sizeof live_groups / sizeof live_groups[0] };

const char *live_event_name(uint16_t number)
{
    const struct schema_event_type *type = schema_event_find(number);

    switch (number) {
    case TRACE_TYPE_cq_notification:
        return "NdkCqNotificationCallback";
    case TRACE_TYPE_srq_notification:
        return "NdkSrqNotificationCallback";
    case TRACE_TYPE_connect_event:
        return "NdkConnectEventCallback";
    case TRACE_TYPE_disconnect_event:
        return "NdkDisconnectEventCallback";
    case TRACE_TYPE_result:
        return "NdkGetCqResults";
    default:
        return type ? type->name : "?";
    }
}

/*
 * Selects the events of the group `word`. If `word` is "all", selects the groups whose `is_in_all` is true. If
 * `is_selected` is false, removes these events from the selection instead. Returns false if there is no such group.
 */
static bool live_filter_set_group(struct live_filter *f, const char *word, bool is_selected)
{
    bool is_all = !strcmp(word, "all"), found = is_all;

    for (unsigned i = 0; i < LIVE_GROUPS; i++) {
        if (is_all ? !live_groups[i].is_in_all : strcmp(word, live_groups[i].name) != 0)
            continue;
        for (unsigned number = live_groups[i].first; number <= live_groups[i].last; number++)
            f->events[number] = is_selected;
        found = true;
    }
    return found;
}

/*
 * Selects the events whose names match `pattern`. If `is_selected` is false, removes them from the selection instead.
 * Returns false if no name matches.
 */
static bool live_filter_set_routines(struct live_filter *f, const char *pattern, bool is_selected)
{
    size_t count;
    const struct schema_event_type *types = schema_event_types(&count);
    bool found = false;

    for (size_t i = 0; i < count; i++) {
        if (fnmatch(pattern, live_event_name(types[i].number), 0))
            continue;
        f->events[types[i].number] = is_selected;
        found = true;
    }
    return found;
}

static void live_filter_explain(const char *word, char problem[LIVE_MAX_PROBLEM])
{
    size_t used = (size_t)snprintf(problem, LIVE_MAX_PROBLEM, "'%.60s' is no group (all", word);

    for (unsigned i = 0; i < LIVE_GROUPS && used < LIVE_MAX_PROBLEM; i++)
        used += (size_t)snprintf(problem + used, LIVE_MAX_PROBLEM - used, ", %s", live_groups[i].name);
    if (used < LIVE_MAX_PROBLEM)
        snprintf(problem + used, LIVE_MAX_PROBLEM - used,
                 ") and no routine of NDK, WSK or IRPs, for example NdkConnect, WskSend or IoCallDriver");
}

bool live_filter_parse(struct live_filter *f, const char *list, char problem[LIVE_MAX_PROBLEM])
{
    char word[128];

    memset(f, 0, sizeof *f);
    if (*list == '-')
        (void)live_filter_set_group(f, "all", true);
    for (const char *at = list, *end;; at = end + 1) {
        bool is_selected = *at != '-';
        size_t len;

        at += !is_selected;
        end = strchrnul(at, ',');
        len = (size_t)(end - at);
        snprintf(word, sizeof word, "%.*s", len < sizeof word ? (int)len : (int)sizeof word - 1, at);
        if (!*word || len >= sizeof word ||
            (!live_filter_set_group(f, word, is_selected) && !live_filter_set_routines(f, word, is_selected))) {
            live_filter_explain(word, problem);
            return false;
        }
        if (!*end)
            return true;
    }
}
