/* SPDX-License-Identifier: MIT */
/* Defines the columns of each view, and prints the views: see view.h. rows.c fills the columns. */
#include "view.h"

#include <stdlib.h>
#include <string.h>

#include "json_output.h"
#include "base/printable.h"
#include "rows.h"

enum { MAX_TEXT = 64, JSON_FORMAT = 1 };

/* ---- connections ---- */

#define PROCESS_COLUMNS                                                                                                \
    { "PID", "pid", CELL_PID, NULL, NUMBER, ALWAYS, false },                                                           \
        { NULL, "uid", IN_PROCESS, "uid", NUMBER, ALWAYS, false },                                                     \
        { "Process", "program", IN_PROCESS, "program", TEXT, ALWAYS, false },                                          \
    {                                                                                                                  \
        "Netns", "netns", CELL_NETNS, NULL, TEXT, OTHER_NETNS, false                                                   \
    }

/* clang-format off */
static const struct column connection_columns[] = {
    { "Mode", NULL, CELL_MODE, NULL, TEXT, ALWAYS, false },
    { "IfIndex", "if_index", IN_ADAPTER, "if_index", NUMBER, ALWAYS, false },
    { "Type", "type", CELL_TYPE, NULL, TEXT, ALWAYS, false },
    { "Local Address", "local", IN_OBJECT, "local", TEXT, ALWAYS, false },
    { "Foreign Address", "foreign", IN_OBJECT, "foreign", TEXT, ALWAYS, false },
    PROCESS_COLUMNS,
    { "Age", "age_s", IN_OBJECT, "age_ns", AGE, ALWAYS, false },
    { "State", "state", IN_OBJECT, "state", TEXT, WITH_STATE, false },
    { "Role", "role", IN_OBJECT, "role", TEXT, WITH_STATE, false },
    { "MPA", "mpa_revision", IN_OBJECT, "mpa_revision", TEXT, WITH_COUNTERS, false },
    { "CRC", "crc", IN_OBJECT, "crc", TEXT, WITH_COUNTERS, false },
    { "OutSends", "out_sends", IN_OBJECT_COUNTERS, "out_sends", NUMBER, WITH_COUNTERS, true },
    { "InSends", "in_sends", IN_OBJECT_COUNTERS, "in_sends", NUMBER, WITH_COUNTERS, true },
    { "OutWrites", "out_writes", IN_OBJECT_COUNTERS, "out_writes", NUMBER, WITH_COUNTERS, true },
    { "InWrites", "in_writes", IN_OBJECT_COUNTERS, "in_writes", NUMBER, WITH_COUNTERS, true },
    { "OutReads", "out_reads", IN_OBJECT_COUNTERS, "out_reads", NUMBER, WITH_COUNTERS, true },
    { "InReads", "in_reads", IN_OBJECT_COUNTERS, "in_reads", NUMBER, WITH_COUNTERS, true },
    { "OutBytes", "out_octets", IN_OBJECT_COUNTERS, "out_octets", BYTES, WITH_COUNTERS, true },
    { "InBytes", "in_octets", IN_OBJECT_COUNTERS, "in_octets", BYTES, WITH_COUNTERS, true },
    { "OutFrames", "out_frames", IN_OBJECT_COUNTERS, "out_frames", NUMBER, VERBOSE, true },
    { "InFrames", "in_frames", IN_OBJECT_COUNTERS, "in_frames", NUMBER, VERBOSE, true },
    { "ReadsIn", "inbound_reads", IN_OBJECT, "inbound_reads", NUMBER, VERBOSE, false },
    { "ReadsOut", "outbound_reads", IN_OBJECT, "outbound_reads", NUMBER, VERBOSE, false },
    { "Adapter", "adapter", IN_ADAPTER, "adapter", NUMBER, VERBOSE, false },
    { "Id", "id", IN_OBJECT, "id", NUMBER, VERBOSE, false },
    { "QP", "qp", IN_OBJECT, "qp", NUMBER, VERBOSE, false },
    { "Command", "command", IN_PROCESS, "command", TEXT, VERBOSE, false },
};
/* clang-format on */

static const struct list netstat_lists[] = {
    { "Connection", "connections" },
    { "Listener", "listeners" },
    { "Shared endpoint", "shared_endpoints" },
    { NULL, NULL },
};
static const struct list connection_lists[] = { { "Connection", "connections" }, { NULL, NULL } };

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static bool view_print_connections(FILE *out, const struct options *o, const json_t *processes, const json_t *before)
{
    struct view v = { connection_columns, COUNT_OF(connection_columns),
                      o->connections ? connection_lists : netstat_lists };

    if (!o->csv)
        fprintf(out, "\nActive NetworkDirect Connections%s%s\n\n", o->connections ? "" : ", Listeners, SharedEndpoints",
                before && o->connections ? ", traffic per second" : "");
    return rows_print(out, &v, o, processes, before);
}

/* ---- objects ---- */

#define OBJECT_COLUMNS                                                                                                 \
    PROCESS_COLUMNS, { "IfIndex", "if_index", IN_ADAPTER, "if_index", NUMBER, ALWAYS, false },                         \
    {                                                                                                                  \
        "Adapter", "adapter", IN_ADAPTER, "adapter", NUMBER, ALWAYS, false                                             \
    }
#define OF_OBJECT(title, member, kind)                                                                                 \
    {                                                                                                                  \
        title, member, IN_OBJECT, member, kind, ALWAYS, false                                                          \
    }
/* Three sets of columns: for all objects, for objects with a local address, and for memory regions and windows. */
#define NUMBERED_COLUMNS(title) OBJECT_COLUMNS, OF_OBJECT(title, "id", NUMBER), OF_OBJECT("State", "state", TEXT)
#define ADDRESSED_COLUMNS(title)                                                                                       \
    NUMBERED_COLUMNS(title), OF_OBJECT("Local Address", "local", TEXT), OF_OBJECT("Connections", "connections", NUMBER)
#define MEMORY_COLUMNS(title)                                                                                          \
    NUMBERED_COLUMNS(title), OF_OBJECT("PD", "pd", NUMBER), OF_OBJECT("Address", "address", TEXT),                     \
        OF_OBJECT("Length", "length", BYTES), OF_OBJECT("Token", "token", TEXT)

/* A column for a limit of the process's adapter. It may be lower than the limit that ndkinfo shows. */
#define OF_LIMITS(title, key, member)                                                                                  \
    {                                                                                                                  \
        title, key, IN_ADAPTER_LIMITS, member, NUMBER, VERBOSE, false                                                  \
    }
static const struct column adapter_columns[] = {
    OBJECT_COLUMNS,
    { "Interface", "if_name", IN_ADAPTER, "if_name", TEXT, ALWAYS, false },
    { "NDK", "ndk_version", IN_ADAPTER, "ndk_version", TEXT, ALWAYS, false },
    { "Connections", "connections", IN_ADAPTER, "connection_count", NUMBER, ALWAYS, false },
    { "Listeners", "listeners", IN_ADAPTER, "listener_count", NUMBER, ALWAYS, false },
    { "Endpoints", "shared_endpoints", IN_ADAPTER, "shared_endpoint_count", NUMBER, ALWAYS, false },
    { "PDs", "protection_domains", IN_ADAPTER, "protection_domain_count", NUMBER, ALWAYS, false },
    { "CQs", "completion_queues", IN_ADAPTER, "completion_queue_count", NUMBER, ALWAYS, false },
    { "QPs", "queue_pairs", IN_ADAPTER, "queue_pair_count", NUMBER, ALWAYS, false },
    { "SRQs", "shared_receive_queues", IN_ADAPTER, "shared_receive_queue_count", NUMBER, ALWAYS, false },
    { "MRs", "memory_regions", IN_ADAPTER, "memory_region_count", NUMBER, ALWAYS, false },
    { "MWs", "memory_windows", IN_ADAPTER, "memory_window_count", NUMBER, ALWAYS, false },
    OF_LIMITS("MaxPrivate", "max_private", "MaxCallerData"),
    OF_LIMITS("MaxReadsIn", "max_inbound_reads", "MaxInboundReadLimit"),
    OF_LIMITS("MaxReadsOut", "max_outbound_reads", "MaxOutboundReadLimit"),
    OF_LIMITS("MaxRecvDepth", "max_receive_depth", "MaxReceiveQueueDepth"),
    OF_LIMITS("MaxInitDepth", "max_initiator_depth", "MaxInitiatorQueueDepth"),
    OF_LIMITS("MaxCqDepth", "max_cq_depth", "MaxCqDepth"),
    OF_LIMITS("MaxSrqDepth", "max_srq_depth", "MaxSrqDepth"),
};
static const struct column pd_columns[] = {
    NUMBERED_COLUMNS("PD"),
    OF_OBJECT("Users", "users", NUMBER),
};
static const struct column cq_columns[] = {
    NUMBERED_COLUMNS("CQ"),
    OF_OBJECT("Users", "users", NUMBER),
    OF_OBJECT("Depth", "depth", NUMBER),
    OF_OBJECT("Queued", "queued", NUMBER),
    OF_OBJECT("Affinity", "affinity", TEXT),
    OF_OBJECT("Armed", "armed", TEXT),
    OF_OBJECT("ModerationUs", "moderation_interval_us", NUMBER),
    OF_OBJECT("ModerationCount", "moderation_count", NUMBER),
};
static const struct column qp_columns[] = {
    NUMBERED_COLUMNS("QP"),
    OF_OBJECT("PD", "pd", NUMBER),
    OF_OBJECT("RecvCQ", "receive_cq", NUMBER),
    OF_OBJECT("InitCQ", "initiator_cq", NUMBER),
    OF_OBJECT("SRQ", "srq", NUMBER),
    OF_OBJECT("RecvDepth", "receive_depth", NUMBER),
    OF_OBJECT("Receives", "receives", NUMBER),
    OF_OBJECT("InitDepth", "initiator_depth", NUMBER),
    OF_OBJECT("Initiators", "initiators", NUMBER),
    { "RecvSGEs", "receive_sges", IN_OBJECT, "receive_sges", NUMBER, VERBOSE, false },
    { "InitSGEs", "initiator_sges", IN_OBJECT, "initiator_sges", NUMBER, VERBOSE, false },
    { "Inline", "inline_size", IN_OBJECT, "inline_size", NUMBER, VERBOSE, false },
};
static const struct column srq_columns[] = {
    NUMBERED_COLUMNS("SRQ"),
    OF_OBJECT("PD", "pd", NUMBER),
    OF_OBJECT("Users", "users", NUMBER),
    OF_OBJECT("Depth", "depth", NUMBER),
    OF_OBJECT("Queued", "queued", NUMBER),
    OF_OBJECT("SGEs", "sges", NUMBER),
    OF_OBJECT("Threshold", "threshold", NUMBER),
    OF_OBJECT("Affinity", "affinity", TEXT),
};
static const struct column mr_columns[] = {
    MEMORY_COLUMNS("MR"),
    OF_OBJECT("Fast", "fast", TEXT),
    OF_OBJECT("LocalWrite", "local_write", TEXT),
    OF_OBJECT("RemoteRead", "remote_read", TEXT),
    OF_OBJECT("RemoteWrite", "remote_write", TEXT),
};
static const struct column mw_columns[] = {
    MEMORY_COLUMNS("MW"),
    OF_OBJECT("RemoteRead", "remote_read", TEXT),
    OF_OBJECT("RemoteWrite", "remote_write", TEXT),
};
static const struct column listener_columns[] = {
    ADDRESSED_COLUMNS("Listener"),
    OF_OBJECT("Waiting", "waiting", NUMBER),
    OF_OBJECT("Backlog", "backlog", NUMBER),
    OF_OBJECT("Abandoned", "abandoned", NUMBER),
    OF_OBJECT("MaxUnfinished", "max_unfinished", NUMBER),
    OF_OBJECT("Paused", "paused", TEXT),
};
static const struct column endpoint_columns[] = { ADDRESSED_COLUMNS("Endpoint") };

/* clang-format off */
static const struct {
    const char *heading;
    const struct column *columns;
    size_t n_columns;
    const char *member; /* the list of these objects in an adapter's JSON object; NULL: the adapters themselves */
} object_views[] = {
    { "Adapters", adapter_columns, COUNT_OF(adapter_columns), NULL },
    { "Protection Domains", pd_columns, COUNT_OF(pd_columns), "protection_domains" },
    { "Completion Queues", cq_columns, COUNT_OF(cq_columns), "completion_queues" },
    { "Queue Pairs", qp_columns, COUNT_OF(qp_columns), "queue_pairs" },
    { "Shared Receive Queues", srq_columns, COUNT_OF(srq_columns), "shared_receive_queues" },
    { "Memory Regions", mr_columns, COUNT_OF(mr_columns), "memory_regions" },
    { "Memory Windows", mw_columns, COUNT_OF(mw_columns), "memory_windows" },
    { "Listeners", listener_columns, COUNT_OF(listener_columns), "listeners" },
    { "Shared Endpoints", endpoint_columns, COUNT_OF(endpoint_columns), "shared_endpoints" },
};
const char *const view_object_types[] = {
    "adapter", "pd", "cq", "qp", "srq", "mr", "mw", "listener", "endpoint", NULL
};
_Static_assert(COUNT_OF(object_views) + 1 == COUNT_OF(view_object_types), "a name for each view");
/* clang-format on */

static bool options_want_type(const struct options *o, size_t type)
{
    return !o->object_types || o->object_types & 1u << type;
}

/*
 * Returns true if an adapter has a list `member` that is not empty. If `member` is NULL, returns true if there is an
 * adapter.
 */
static bool processes_have_list(const json_t *processes, const char *member)
{
    json_t *process, *adapter;
    size_t i, k;

    json_array_foreach(processes, i, process) json_array_foreach(json_object_get(process, "adapters"), k, adapter)
    {
        if (!member || json_array_size(json_object_get(adapter, member)))
            return true;
    }
    return false;
}

static bool view_print_objects(FILE *out, const struct options *o, const json_t *processes)
{
    bool ok = true, is_first = true;

    for (size_t i = 0; i < COUNT_OF(object_views); i++) {
        struct list lists[] = { { view_object_types[i], object_views[i].member }, { NULL, NULL } };
        struct view v = { object_views[i].columns, object_views[i].n_columns, lists };

        if (!options_want_type(o, i) || (!o->object_types && !processes_have_list(processes, object_views[i].member)))
            continue;
        if (!o->csv)
            fprintf(out, "\n%s\n\n", object_views[i].heading);
        else if (!is_first)
            fputc('\n', out);
        is_first = false;
        ok = rows_print(out, &v, o, processes, NULL) && ok;
    }
    return ok;
}

/* ---- counters ---- */

#define OF_COUNTERS(title, member, is_rate)                                                                            \
    {                                                                                                                  \
        title, member, IN_ADAPTER_COUNTERS, member, NUMBER, ALWAYS, is_rate                                            \
    }

/*
 * The columns of the view "counters". As text, counters_print_block prints each counter on its own line: the title and
 * then the value. In CSV each counter is a column.
 */
static const struct column counter_columns[] = {
    OBJECT_COLUMNS,
    { "Interface", "if_name", IN_ADAPTER, "if_name", TEXT, ALWAYS, false },
    OF_COUNTERS("RDMA Initiated Connections", "initiated_connections", false),
    OF_COUNTERS("RDMA Accepted Connections", "accepted_connections", false),
    OF_COUNTERS("RDMA Failed Connection Attempts", "failed_connection_attempts", false),
    OF_COUNTERS("RDMA Connection Errors", "connection_errors", false),
    OF_COUNTERS("RDMA Active Connections", "active_connections", false),
    OF_COUNTERS("RDMA Completion Queue Errors", "completion_queue_errors", false),
    OF_COUNTERS("RDMA Inbound Bytes", "rdma_in_octets", true),
    OF_COUNTERS("RDMA Outbound Bytes", "rdma_out_octets", true),
    OF_COUNTERS("RDMA Inbound Frames", "rdma_in_frames", true),
    OF_COUNTERS("RDMA Outbound Frames", "rdma_out_frames", true),
    OF_COUNTERS("Refused Requests", "refused_requests", false),
    OF_COUNTERS("Dropped Peers", "dropped_peers", false),
};

/*
 * Prints the heading of an adapter's block. Shortens each text that the process has published to MAX_TEXT bytes, and
 * replaces the characters that are not printable.
 */
static void counters_print_heading(FILE *out, const json_t *process, const json_t *adapter)
{
    const char *netns = json_string_value(json_object_get(process, "netns_name"));
    char user[40] = "", where[MAX_TEXT + 16] = "", heading[8 * MAX_TEXT];

    if (json_is_true(json_object_get(process, "foreign")))
        snprintf(user, sizeof user, " (uid %llu)", member_number(process, "uid"));
    if (json_is_true(json_object_get(process, "netns_other")) && netns && *netns)
        snprintf(where, sizeof where, ", Netns %.*s", MAX_TEXT, netns);
    else if (json_is_true(json_object_get(process, "netns_other")))
        snprintf(where, sizeof where, ", Netns %llu", member_number(process, "netns"));
    snprintf(heading, sizeof heading, "RDMA Activity(%.*s), IfIndex %llu, PID %llu%s, NDK %.*s, %.*s%s", MAX_TEXT,
             member_text(adapter, "if_name"), member_number(adapter, "if_index"), member_number(process, "pid"), user,
             MAX_TEXT, member_text(adapter, "ndk_version"), MAX_TEXT, member_text(process, "program"), where);
    printable_replace(heading);
    fprintf(out, "\n%s\n\n", heading);
}

static void counters_print_block(FILE *out, const struct row *r)
{
    counters_print_heading(out, r->process, r->adapter);
    for (const struct column *c = counter_columns; c < counter_columns + COUNT_OF(counter_columns); c++) {
        char label[64];

        if (c->source != IN_ADAPTER_COUNTERS)
            continue;
        snprintf(label, sizeof label, "%s%s", c->title, c->is_rate && r->ns ? "/sec" : "");
        fprintf(out, "  %-34s %20llu\n", label, row_number(r, c, false));
    }
}

/*
 * Prints a block of counters for each adapter of a process. `before` is the process in the earlier reading, or NULL.
 * Returns false if out of memory.
 */
static bool counters_print_process(FILE *out, const json_t *process, const json_t *before)
{
    struct row r = { .process = process, .ns = rows_time_between(process, before) };
    struct member_index adapters;
    json_t *adapter;
    size_t i;

    if (!member_index_init(&adapters, json_object_get(before, "adapters"), "adapter"))
        return false;
    json_array_foreach(json_object_get(process, "adapters"), i, adapter)
    {
        r.adapter = adapter;
        r.old_adapter = member_index_find(&adapters, member_number(adapter, "adapter"));
        counters_print_block(out, &r);
    }
    member_index_fini(&adapters);
    return true;
}

static bool view_print_counters(FILE *out, const struct options *o, const json_t *processes, const json_t *before)
{
    static const struct list none[] = { { "Adapter", NULL }, { NULL, NULL } };
    struct view v = { counter_columns, COUNT_OF(counter_columns), none };
    struct member_index earlier;
    json_t *process;
    bool ok = true;
    size_t i;

    if (o->csv)
        return rows_print(out, &v, o, processes, NULL);
    if (json_array_size(processes) == 0)
        fprintf(out, "\nRDMA Activity\n\n");
    if (!member_index_init(&earlier, before, "pid"))
        return false;
    json_array_foreach(processes, i, process)
        ok = counters_print_process(out, process, member_index_find(&earlier, member_number(process, "pid"))) && ok;
    member_index_fini(&earlier);
    return ok;
}

/* ---- failures ---- */

/* clang-format off */
static const struct column failure_columns[] = {
    { "Last", "last_time_s", IN_OBJECT, "last_time_ns", TIME, ALWAYS, false },
    { "First", "first_time_s", IN_OBJECT, "first_time_ns", TIME, VERBOSE, false },
    OF_OBJECT("Count", "count", NUMBER),
    { "IfIndex", "if_index", IN_OBJECT, "if_index", NUMBER, VERBOSE, false },
    OF_OBJECT("Role", "role", TEXT),
    OF_OBJECT("Local Address", "local", TEXT),
    OF_OBJECT("Foreign Address", "foreign", TEXT),
    PROCESS_COLUMNS,
    OF_OBJECT("Phase", "phase", TEXT),
    OF_OBJECT("Refused", "refused", TEXT),
    { "Status", "status", IN_OBJECT, "status_name", TEXT, ALWAYS, false },
    { "Reason", "reason", IN_OBJECT, "reason_name", TEXT, ALWAYS, false },
    { "Why", "why", IN_OBJECT, "reason_text", TEXT, ALWAYS, false },
    { "Advice", "advice", IN_OBJECT, "reason_advice", NOTE, VERBOSE, false },
};
/* clang-format on */

static bool view_print_failures(FILE *out, const struct options *o, const json_t *processes)
{
    struct view v = { failure_columns, COUNT_OF(failure_columns), NULL };
    struct table_column heads[TABLE_MAX_COLUMNS];
    json_t *process, *failure;
    struct table t;
    size_t i, k;
    bool ok = true;

    rows_begin(&v, o, processes, &t, heads);
    json_array_foreach(processes, i, process) json_array_foreach(json_object_get(process, "failures"), k, failure)
    {
        struct row r = { .process = process, .object = failure };
        rows_add(&r, &v, &t);
    }
    if (!o->csv)
        fprintf(out, "\nFailed and Refused Connections\n\n");
    if (o->csv || !table_is_empty(&t))
        ok = table_print(&t, out);
    else if (json_array_size(processes) > 0)
        fprintf(out, "no failures\n");
    table_fini(&t);
    return ok;
}

bool view_print(FILE *out, const struct options *o, const json_t *processes, const json_t *before)
{
    if (o->counters)
        return view_print_counters(out, o, processes, before);
    if (o->failures)
        return view_print_failures(out, o, processes);
    if (o->objects)
        return view_print_objects(out, o, processes);
    return view_print_connections(out, o, processes, before);
}

/* ---- JSON ---- */

static void adapter_delete_list(json_t *adapter, const char *member, bool with_count)
{
    char count[64];

    json_object_del(adapter, member);
    snprintf(count, sizeof count, "%.*s_count", (int)strlen(member) - 1,
             member); /* "connections", for example, becomes "connection_count" */
    if (with_count)
        json_object_del(adapter, count);
}

/*
 * Removes the members that the options do not select. Removes nothing if the options select no view. If they select the
 * adapters themselves, keeps the number of objects of each kind, for example "connection_count".
 */
static void adapter_select(json_t *adapter, const struct options *o)
{
    bool has_view = o->connections || o->counters || o->objects || o->failures;
    bool has_adapters = o->objects && options_want_type(o, 0);

    if (has_view && !o->connections)
        adapter_delete_list(adapter, "connections", !has_adapters);
    for (size_t i = 0; i < COUNT_OF(object_views); i++)
        if (object_views[i].member && has_view && !(o->objects && options_want_type(o, i)))
            adapter_delete_list(adapter, object_views[i].member, !has_adapters);
    if (has_view && !o->counters)
        json_object_del(adapter, "counters");
    if (has_view && !has_adapters)
        json_object_del(adapter, "limits");
}

bool view_print_json(FILE *out, const struct options *o, json_t *processes)
{
    bool has_view = o->connections || o->counters || o->objects || o->failures;
    json_t *process, *adapter, *whole;
    size_t i, k;
    bool ok;

    json_array_foreach(processes, i, process)
    {
        if (has_view && !o->failures)
            json_object_del(process, "failures");
        json_array_foreach(json_object_get(process, "adapters"), k, adapter) adapter_select(adapter, o);
    }
    whole = json_output_begin("ndkstat", JSON_FORMAT);
    ok = json_object_set(whole, "processes", processes) == 0 && json_output_write(out, whole, JSON_COMPACT);
    json_decref(whole);
    return ok;
}
