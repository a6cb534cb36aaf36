/* SPDX-License-Identifier: MIT */
/*
 * Writes a report if a close stays pending. The report counts the objects, requests and callbacks for which the close
 * waits. It also describes the first few objects of each type. A thread of the adapter writes the report, because the
 * close may wait for any other thread.
 *
 * The pending closes are in a queue, oldest first (provider/live.h). A close is removed from the queue when it has
 * ended or has been reported. The report of a close is due close_report_ms after the close has begun. The thread sleeps
 * until the report of the oldest close is due. A new close wakes the thread at most once in every period of
 * close_report_ms.
 *
 * The invariant: objects are copied while the lock of the adapter's lists is held. The copies are written to the log
 * after the lock has been released.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "provider/close_report.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/addr.h"
#include "base/interface_name.h"
#include "base/library_thread.h"
#include "base/owner.h"
#include "openndk/netstat.h"
#include "provider/adapter.h"
#include "provider/connector.h"
#include "provider/log.h"
#include "provider/provider.h"
#include "trace/last.h"

enum {
    MAX_SHOWN = 4,   /* maximum number of objects of one type that a report describes */
    MAX_REPORTS = 4, /* maximum number of closes that one round reports; further closes that are due are only counted */
    MAX_WHERE = 3 * ADDR_TEXT,
    MAX_EVENTS = 10, /* maximum number of the trace's last events that a report lists */
    NS_PER_MS = 1000000,
    ROUND_NS = 1000000000, /* pause after reports, so that the reports of leaked objects fill a disk only slowly */
    GRACE_NS = 1000000000, /* maximum delay of abort() while the thread still writes to the log */
};

enum close_report_order { ORDER_RUN, ORDER_STOP, ORDER_ABORT };

/* The types in a report. If objects of type A can use objects of type B, then A comes before B. */
/* clang-format off */
static const struct {
    NDK_OBJECT_TYPE type;
    const char *name;
} report_types[] = {
    {NdkObjectTypeConnector, "connector"}, {NdkObjectTypeListener, "listener"},
    {NdkObjectTypeSharedEndpoint, "shared endpoint"}, {NdkObjectTypeQp, "QP"}, {NdkObjectTypeSrq, "SRQ"},
    {NdkObjectTypeCq, "CQ"}, {NdkObjectTypeMw, "MW"}, {NdkObjectTypeMr, "MR"}, {NdkObjectTypePd, "PD"},
};
/* clang-format on */
enum { N_TYPES = sizeof(report_types) / sizeof(report_types[0]) };

struct shown_object {
    const void *object; /* the consumer's pointer */
    bool closed, ending;
    unsigned requests, callbacks, dependents;
    char where[MAX_WHERE]; /* state and addresses; may be empty */
};

struct close_report {
    const struct object *closing; /* the object whose close is reported; the object may have been freed */
    NDK_OBJECT_TYPE type;         /* the type of `closing` */
    struct shown_object self;     /* the description of `closing` */
    uint64_t waited_ms;
    unsigned counts[N_TYPES], shown_counts[N_TYPES];
    struct shown_object shown[N_TYPES][MAX_SHOWN];
};

/* ---- Copying objects ---- */

static const char *report_address_text(const struct sockaddr_storage *from, char text[ADDR_TEXT])
{
    struct addr a;

    return addr_from(&a, from, sizeof(*from)) ? addr_text(&a, text) : "no address";
}

/* Writes the object's state and addresses to `where`. Requires the lock of the adapter's lists. */
static void report_describe_where(struct object *o, char *where)
{
    char local[ADDR_TEXT], foreign[ADDR_TEXT];
    union live_entry e;

    where[0] = '\0';
    if (!o->type->describe || !o->type->describe(o, &e))
        return;
    if (o->type->ndk_type == NdkObjectTypeConnector)
        snprintf(where, MAX_WHERE, " %s, %s to %s,", e.connection.state,
                 report_address_text(&e.connection.local, local), report_address_text(&e.connection.foreign, foreign));
    else if (o->type->ndk_type == NdkObjectTypeListener)
        snprintf(where, MAX_WHERE, " %s, %s,", e.listener.state, report_address_text(&e.listener.local, local));
    else if (o->type->ndk_type == NdkObjectTypeSharedEndpoint)
        snprintf(where, MAX_WHERE, " %s,", report_address_text(&e.endpoint.local, local));
}

static unsigned report_ref_count(struct object *o, enum object_ref kind)
{
    return atomic_load_explicit(&o->kinds[kind], memory_order_relaxed);
}

/* Sets *s to the description of the object. Requires the lock of the adapter's lists. */
static void report_describe(struct object *o, struct shown_object *s)
{
    *s = (struct shown_object){
        .object = o->header,
        .closed = object_is_closing(o),
        .ending = o->live_hidden,
        .requests = report_ref_count(o, REF_REQUEST),
        .callbacks = report_ref_count(o, REF_CALLBACK),
        .dependents = report_ref_count(o, REF_CHILD),
    };
    if (!s->ending)
        report_describe_where(o, s->where);
}

struct report_walk {
    struct close_report *report;
    int type; /* an index of report_types */
};

static void report_add(struct object *o, void *context)
{
    const struct report_walk *v = context;
    struct close_report *r = v->report;
    int t = v->type;

    if (r->type != NdkObjectTypeAdapter && !object_depends_on(o, r->closing))
        return;
    if (r->shown_counts[t] < MAX_SHOWN)
        report_describe(o, &r->shown[t][r->shown_counts[t]++]);
    r->counts[t]++;
}

/*
 * Fills *r with the objects and calls for which the close of a->live.examined waits. Returns false if that close has
 * ended.
 */
static bool report_collect(struct adapter *a, struct close_report *r)
{
    struct object *examined;

    for (int t = 0; t < N_TYPES; t++) {
        struct report_walk v = { .report = r, .type = t };

        live_list_walk(&a->live, report_types[t].type, report_add, &v);
    }
    spin_lock(&a->live.lock);
    examined = a->live.examined;
    a->live.examined = NULL;
    if (examined)
        report_describe(examined, &r->self);
    spin_unlock(&a->live.lock);
    return examined != NULL;
}

/* ---- Text ---- */

static const char *report_plural(unsigned count)
{
    return count == 1 ? "" : "s";
}

static void report_print_object(FILE *out, const char *name, const struct shown_object *s)
{
    fprintf(out, "    %s %p:%s", name, s->object, s->where);
    if (s->ending) {
        fprintf(out, " closed; its close completion callback has not returned\n");
        return;
    }
    fprintf(out, s->closed ? " close is pending" : " not closed");
    if (s->requests)
        fprintf(out, "; %u request%s pending", s->requests, report_plural(s->requests));
    if (s->callbacks)
        fprintf(out, "; %u callback%s not returned", s->callbacks, s->callbacks == 1 ? " has" : "s have");
    if (s->dependents)
        fprintf(out, "; %u object%s it", s->dependents, s->dependents == 1 ? " depends on" : "s depend on");
    fputc('\n', out);
}

static const char *report_type_name(NDK_OBJECT_TYPE type)
{
    for (int t = 0; t < N_TYPES; t++) {
        if (report_types[t].type == type)
            return report_types[t].name;
    }
    return "object";
}

static void report_print_head(FILE *out, const struct adapter *a, const struct close_report *r)
{
    char found[IF_NAMESIZE];
    const char *name = found;

    interface_name(a->if_index, found);
    if (!*found)
        name = "?";
    if (r->type == NdkObjectTypeAdapter)
        fprintf(out, "ondk_close_adapter (%s)", name);
    else
        fprintf(out, "the close of %s %p (%s)%s%s", report_type_name(r->type), r->self.object, name,
                r->self.where[0] ? ":" : "", r->self.where);
    fprintf(out, " has waited %llu ms for ", (unsigned long long)r->waited_ms);
}

/* Returns a text for a report in which all counts are 0. The text names another possible cause of the wait. */
static const char *report_rest(const struct close_report *r)
{
    if (r->type == NdkObjectTypeAdapter)
        return "a callback that has not returned";
    if (r->self.ending)
        return "its close completion callback, which has not returned";
    if (r->type == NdkObjectTypeMr)
        return "a window that is bound to it, an access to its memory, or a callback that has not returned";
    return "a callback that has not returned, or the library";
}

/* Writes the counts of objects, requests and callbacks, separated by commas. */
static void report_print_counts(FILE *out, const struct close_report *r)
{
    const char *separator = "";

    for (int t = 0; t < N_TYPES; t++) {
        if (!r->counts[t])
            continue;
        fprintf(out, "%s%u %s%s", separator, r->counts[t], report_types[t].name, report_plural(r->counts[t]));
        separator = ", ";
    }
    if (r->self.requests) {
        fprintf(out, "%s%u request%s", separator, r->self.requests, report_plural(r->self.requests));
        separator = ", ";
    }
    if (r->self.callbacks) {
        fprintf(out, "%s%u callback%s", separator, r->self.callbacks, report_plural(r->self.callbacks));
        separator = ", ";
    }
    fprintf(out, "%s\n", *separator ? "" : report_rest(r));
}

/* Writes the last trace events of the process and of the closing object. */
static void report_print_last_events(FILE *out, const struct close_report *r)
{
    const uint64_t addresses[2] = { (uintptr_t)r->self.object };
    struct last_event events[MAX_EVENTS];
    unsigned count = trace_last(addresses, events, MAX_EVENTS);

    if (count)
        fprintf(out, "    last events (seconds, connection, event; * are of the object):\n");
    for (unsigned i = 0; i < count; i++)
        fprintf(out, "    %c %.6f %u %s %s\n", events[i].is_related ? '*' : ' ', events[i].seconds,
                (unsigned)events[i].connection, events[i].name, events[i].fields);
}

static void report_print(FILE *out, const struct adapter *a, const struct close_report *r)
{
    report_print_head(out, a, r);
    report_print_counts(out, r);
    for (int t = 0; t < N_TYPES; t++) {
        for (unsigned i = 0; i < r->shown_counts[t]; i++)
            report_print_object(out, report_types[t].name, &r->shown[t][i]);
        if (r->counts[t] > r->shown_counts[t])
            fprintf(out, "    and %u more\n", r->counts[t] - r->shown_counts[t]);
    }
    if (r->type == NdkObjectTypeAdapter && a->reporter.is_in_callback)
        fprintf(out, "    it was called in a callback: if that is one of this adapter's, it waits for itself\n");
    report_print_last_events(out, r);
}

/* Writes the report of the close of a->live.examined to the log. Does nothing if that close has ended. */
static void report_write(struct adapter *a, struct close_report *r)
{
    char *text = NULL;
    size_t size;
    FILE *out;

    if (!report_collect(a, r))
        return;
    out = open_memstream(&text, &size);
    if (!out)
        return;
    report_print(out, a, r);
    if (!fclose(out))
        log_lines(ONDK_LOG_WARN, text);
    free(text);
}

/* ---- The thread ---- */

static uint64_t reporter_due_ns(const struct adapter *a, const struct object *o)
{
    return o->live_closed_ns + (uint64_t)a->config.close_report_ms * NS_PER_MS;
}

/* Fills *r, so that report_write can report the close of o. Requires the lock of the adapter's lists. */
static void reporter_examine(struct adapter *a, struct object *o, uint64_t now, struct close_report *r)
{
    a->live.examined = o;
    *r = (struct close_report){ .closing = o,
                                .type = o->type->ndk_type,
                                .waited_ms = (now - o->live_closed_ns) / NS_PER_MS };
}

/*
 * If the oldest close in the queue is due, removes it, prepares *r for report_write and returns true. Otherwise returns
 * false.
 */
static bool reporter_next(struct adapter *a, uint64_t now, struct close_report *r)
{
    struct object *o;

    spin_lock(&a->live.lock);
    o = TAILQ_FIRST(&a->live.closes);
    if (o && reporter_due_ns(a, o) > now)
        o = NULL;
    if (o) {
        TAILQ_REMOVE(&a->live.closes, o, live_close);
        o->live_is_queued = false;
    }
    if (o && r)
        reporter_examine(a, o, now, r);
    spin_unlock(&a->live.lock);
    return o != NULL;
}

static void reporter_round(struct adapter *a)
{
    uint64_t now = owner_clock(NULL);
    struct close_report r;
    unsigned reported = 0, count = 0;

    for (; reported < MAX_REPORTS && reporter_next(a, now, &r); reported++) {
        if (r.type == NdkObjectTypeAdapter)
            a->reporter.has_reported_adapter = true;
        report_write(a, &r);
    }
    for (; reporter_next(a, now, NULL); count++)
        ;
    if (count)
        log_line(ONDK_LOG_WARN, "%u more close%s waited as long", count, count == 1 ? " has" : "s have");
    /* `reported` is 0 if the close that was due has ended after reporter_wait returned. */
    if (reported)
        a->reporter.earliest_ns = now + ROUND_NS;
}

/* Waits until a close is due to be reported. Returns false if `order` is no longer ORDER_RUN. */
static bool reporter_wait(struct adapter *a)
{
    struct close_reporter *reporter = &a->reporter;
    const struct object *first;
    uint64_t now, due;

    for (;;) {
        /* The gate is closed first, so that any change after the reads below wakes the thread. */
        atomic_store(&reporter->wake.open, 0);
        if (atomic_load(&reporter->order) != ORDER_RUN)
            return false;
        now = owner_clock(NULL);
        spin_lock(&a->live.lock);
        first = TAILQ_FIRST(&a->live.closes);
        due = first ? reporter_due_ns(a, first) : now < reporter->rest_until_ns ? reporter->rest_until_ns : UINT64_MAX;
        reporter->sleeps = due == UINT64_MAX;
        spin_unlock(&a->live.lock);
        if (due == UINT64_MAX) {
            (void)gate_wait(&reporter->wake, due);
            reporter->rest_until_ns = owner_clock(NULL) + (uint64_t)a->config.close_report_ms * NS_PER_MS;
            continue;
        }
        if (due < reporter->earliest_ns)
            due = reporter->earliest_ns;
        if (first && due <= now)
            return true;
        (void)gate_wait(&reporter->wake, due);
    }
}

static void reporter_write_last(struct adapter *a)
{
    struct close_report r;

    if (!a->reporter.has_reported_adapter) {
        spin_lock(&a->live.lock);
        reporter_examine(a, &a->obj, owner_clock(NULL), &r);
        spin_unlock(&a->live.lock);
        report_write(a, &r);
    }
    log_line(ONDK_LOG_ERROR, "ondk_close_adapter ends the process, because close_abort_ms have passed");
}

static void *reporter_run(void *adapter)
{
    struct adapter *a = adapter;

    while (reporter_wait(a))
        reporter_round(a);
    if (atomic_load(&a->reporter.order) == ORDER_ABORT)
        reporter_write_last(a);
    gate_open(&a->reporter.ended);
    return NULL;
}

int close_report_start(struct adapter *a)
{
    int error;

    if (!a->config.close_report_ms && !a->config.close_abort_ms)
        return 0;
    error = library_thread_create(&a->reporter.thread, NULL, reporter_run, a);
    if (error)
        return error;
    (void)pthread_setname_np(a->reporter.thread, "openndk-close");
    a->reporter.runs = true;
    return 0;
}

void close_report_begin(struct object *o)
{
    struct adapter *a = o->adapter;
    bool is_adapter = o == &a->obj, wakes = false;
    uint64_t now;

    if (!a->reporter.runs)
        return;
    now = owner_clock(NULL);
    spin_lock(&a->live.lock);
    o->live_closed_ns = now;
    if (is_adapter)
        live_list_forget_closes(&a->live);
    if (a->config.close_report_ms && (is_adapter || !object_is_closing(&a->obj))) {
        TAILQ_INSERT_TAIL(&a->live.closes, o, live_close);
        o->live_is_queued = true;
        wakes = a->reporter.sleeps;
        a->reporter.sleeps = false;
    }
    spin_unlock(&a->live.lock);
    if (wakes)
        gate_open(&a->reporter.wake);
}

/* Sets `order`, then waits for the thread to end. Returns false if the thread is still running at the deadline. */
static bool reporter_order(struct close_reporter *reporter, enum close_report_order order, uint64_t deadline)
{
    atomic_store(&reporter->order, order);
    gate_open(&reporter->wake);
    return gate_wait(&reporter->ended, deadline);
}

void close_report_stop(struct adapter *a, uint64_t abort_at)
{
    uint64_t deadline = abort_at == UINT64_MAX ? abort_at : abort_at + GRACE_NS;

    if (!a->reporter.runs)
        return;
    if (!reporter_order(&a->reporter, ORDER_STOP, deadline))
        abort();
    (void)pthread_join(a->reporter.thread, NULL);
}

void close_report_abort(struct adapter *a)
{
    if (a->reporter.runs)
        (void)reporter_order(&a->reporter, ORDER_ABORT, owner_clock(NULL) + GRACE_NS);
    abort();
}
