/* SPDX-License-Identifier: MIT */
/*
 * See show.h. Members that are missing or have another type are shown as zero or "?", because processes with another
 * version may omit them. Characters that could control a terminal are replaced.
 */
#include "show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 128 };

/* Copies a member to text, which has TEXT bytes, and returns text. */
static const char *show_text(const json_t *object, const char *key, char *text)
{
    const char *value = json_string_value(json_object_get(object, key));
    size_t n = 0;

    for (value = value ? value : "?"; *value && n < TEXT - 1; value++)
        text[n++] = (char)(*value > 0x20 && *value < 0x7f ? *value : '?');
    text[n] = '\0';
    return text;
}

static unsigned long long show_number(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));

    return value > 0 ? (unsigned long long)value : 0;
}

/*
 * If the process is another user's, writes its user ID to text by format; that user controls what it reports. Otherwise
 * writes "". text has TEXT bytes. Returns text.
 */
static const char *show_user(const json_t *process, const char *format, char *text)
{
    text[0] = '\0';
    if (json_is_true(json_object_get(process, "foreign")))
        snprintf(text, TEXT, format, show_number(process, "uid"));
    return text;
}

/* ---- lists ---- */

struct row {
    const char *type;
    const json_t *process, *adapter, *entry;
    bool state;
};

static void show_row(const struct row *r, const char *foreign)
{
    char local[TEXT], role[TEXT], state[TEXT], user[TEXT];

    if (json_is_null(json_object_get(r->entry, "local")))
        return; /* a listener before NdkListen has succeeded */
    printf("  %-6s %7llu %-15s %-22s %-22s %llu%s", "User", show_number(r->adapter, "if_index"), r->type,
           show_text(r->entry, "local", local), foreign, show_number(r->process, "pid"),
           show_user(r->process, " (uid %llu)", user));
    if (r->state && strcmp(r->type, "Shared endpoint"))
        printf("\t%s", show_text(r->entry, "state", state));
    if (r->state && !strcmp(r->type, "Connection"))
        printf(", %s, reads in %llu out %llu", show_text(r->entry, "role", role),
               show_number(r->entry, "inbound_reads"), show_number(r->entry, "outbound_reads"));
    putchar('\n');
}

static bool show_has_ended(const json_t *entry)
{
    const char *state = json_string_value(json_object_get(entry, "state"));

    return state && !strcmp(state, "ended");
}

static void show_adapter(const json_t *process, const json_t *adapter, bool state)
{
    struct row row = { .process = process, .adapter = adapter, .state = state };
    char foreign[TEXT];
    json_t *entry;
    size_t i;

    row.type = "Connection";
    json_array_foreach(json_object_get(adapter, "connections"), i, entry)
    {
        row.entry = entry;
        if (state || !show_has_ended(entry))
            show_row(&row, show_text(entry, "foreign", foreign));
    }
    row.type = "Listener";
    json_array_foreach(json_object_get(adapter, "listeners"), i, entry)
    {
        row.entry = entry;
        show_row(&row, "NA");
    }
    row.type = "Shared endpoint";
    json_array_foreach(json_object_get(adapter, "shared_endpoints"), i, entry)
    {
        row.entry = entry;
        show_row(&row, "NA");
    }
}

void show_lists(const json_t *processes, bool state)
{
    json_t *process, *adapter;
    size_t i, k;

    printf("\nActive NetworkDirect Connections, Listeners, SharedEndpoints\n\n");
    printf("  %-6s %7s %-15s %-22s %-22s %s%s\n\n", "Mode", "IfIndex", "Type", "Local Address", "Foreign Address",
           "PID", state ? "\tState" : "");
    json_array_foreach(processes, i, process) json_array_foreach(json_object_get(process, "adapters"), k, adapter)
        show_adapter(process, adapter, state);
}

/* ---- counters ---- */

static const struct {
    const char *label, *key;
    bool flows; /* shown as rates */
} counters[] = {
    { "RDMA Initiated Connections", "initiated_connections", false },
    { "RDMA Accepted Connections", "accepted_connections", false },
    { "RDMA Failed Connection Attempts", "failed_connection_attempts", false },
    { "RDMA Connection Errors", "connection_errors", false },
    { "RDMA Active Connections", "active_connections", false },
    { "RDMA Completion Queue Errors", "completion_queue_errors", false },
    { "RDMA Inbound Bytes", "rdma_in_octets", true },
    { "RDMA Outbound Bytes", "rdma_out_octets", true },
    { "RDMA Inbound Frames", "rdma_in_frames", true },
    { "RDMA Outbound Frames", "rdma_out_frames", true },
    { "Refused Requests", "refused_requests", false },
    { "Dropped Peers", "dropped_peers", false },
};

/* Finds the adapter in another reading, and stores its process in *of_process. Returns NULL if it is not there. */
static const json_t *show_find_adapter(const json_t *processes, unsigned long long pid, unsigned long long number,
                                       const json_t **of_process)
{
    json_t *process, *adapter;
    size_t i, k;

    json_array_foreach(processes, i, process)
    {
        if (show_number(process, "pid") != pid)
            continue;
        json_array_foreach(json_object_get(process, "adapters"), k, adapter)
        {
            if (show_number(adapter, "adapter") != number)
                continue;
            *of_process = process;
            return adapter;
        }
    }
    return NULL;
}

static void show_block(const json_t *process, const json_t *adapter, const json_t *before)
{
    unsigned long long pid = show_number(process, "pid");
    const json_t *now = json_object_get(adapter, "counters"), *then_process = NULL;
    const json_t *then = show_find_adapter(before, pid, show_number(adapter, "adapter"), &then_process);
    unsigned long long ns = then ? show_number(process, "time_ns") - show_number(then_process, "time_ns") : 0;
    char name[TEXT], version[TEXT], label[TEXT], user[TEXT];

    printf("\nRDMA Activity(%s), IfIndex %llu, PID %llu%s, NDK %s\n\n", show_text(adapter, "if_name", name),
           show_number(adapter, "if_index"), pid, show_user(process, " (uid %llu)", user),
           show_text(adapter, "ndk_version", version));
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        unsigned long long value = show_number(now, counters[i].key);
        unsigned long long old = show_number(json_object_get(then, "counters"), counters[i].key);
        if (counters[i].flows && ns) {
            snprintf(label, sizeof label, "%s/sec", counters[i].label);
            printf("  %-34s %20.0f\n", label, (double)(value - old) * 1e9 / (double)ns);
        } else {
            printf("  %-34s %20llu\n", counters[i].label, value);
        }
    }
}

void show_counters(const json_t *processes, const json_t *before)
{
    json_t *process, *adapter;
    size_t i, k;

    if (json_array_size(processes) == 0)
        printf("\nRDMA Activity\n\n");
    json_array_foreach(processes, i, process) json_array_foreach(json_object_get(process, "adapters"), k, adapter)
        show_block(process, adapter, before);
}

void show_json(const json_t *processes)
{
    char *text = json_dumps(processes, JSON_COMPACT | JSON_ENSURE_ASCII);

    printf("{\"processes\":%s}\n", text ? text : "[]");
    free(text);
}
