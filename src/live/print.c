/* SPDX-License-Identifier: MIT */
/* Prints events as they happen: see live.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/library_thread.h"
#include "live/fields.h"
#include "live/filter.h"
#include "live/live.h"
#include "live/object.h"
#include "live/table.h"
#include "live/thread.h"
#include "trace/trace.h"

static struct {
    pthread_mutex_t lock; /* guards all state in src/live; the holder acquires no other lock */
    struct live_filter filter;
    bool holds;
    int64_t day_ns;            /* ns to add to CLOCK_MONOTONIC to get the local time of day */
    struct live_table pending; /* key: object, context and routine of a pending call; value: its start time in ns */
} live = { .lock = PTHREAD_MUTEX_INITIALIZER };

enum { LIVE_COMPLETED_FIRST = 0 }; /* a value in live.pending: the call has completed before it has returned */

/* ---- the parts of lines ---- */

static unsigned live_thread_id(void)
{
    static _Thread_local unsigned id;

    if (!id)
        id = (unsigned)syscall(SYS_gettid);
    return id;
}

static void live_begin_line(struct live_text *x, uint64_t time_ns, unsigned indent)
{
    const int64_t second = 1000000000, day = 86400 * second;
    int64_t ns = ((int64_t)time_ns % day + live.day_ns) % day, s = ns / second;

    x->used = 0;
    live_text_add(x, "[%02d:%02d:%02d.%06d %u] %*s", (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60),
                  (int)(ns % second / 1000), live_thread_id(), (int)(2 * indent), "");
}

/* Adds the result of a call: the status, the created object, and the number of bytes. */
static void live_add_result(struct live_text *x, const struct live_event *e, uint16_t routine)
{
    uint64_t created = live_field_number(e, "created"), bytes = live_field_number(e, "bytes");
    struct live_name name = live_object_name(live_created_type(routine), created);

    if (live_has_field(e, "status"))
        live_text_add_status(x, (uint32_t)live_field_number(e, "status"));
    if (created) {
        live_text_add(x, ", ");
        live_text_add_object(x, &name, created);
    }
    if (bytes)
        live_text_add(x, ", bytes=%" PRIu64, bytes);
}

static void live_add_duration(struct live_text *x, const char *before, uint64_t ns, const char *after)
{
    live_text_add(x, "%s", before);
    live_text_add_duration(x, ns);
    live_text_add(x, "%s", after);
}

/* ---- calls and callbacks ---- */

/*
 * Adds a frame to the thread for a call or callback that begins. If the frame is visible, holds back the line `x`, so
 * that live_print_result can append the result. The line is written earlier if another line is written first, or after
 * LIVE_HOLD_MS. If live.holds is false or there is no room for the frame, writes the line at once.
 */
static void live_begin_frame(const struct live_event *e, struct live_text *x, struct live_frame frame)
{
    struct live_thread *t = live_thread_get(true);
    struct live_frame *f = t ? live_thread_push(t) : NULL;

    frame.begin_ns = e->time_ns;
    if (f)
        *f = frame;
    if (!frame.is_visible)
        return;
    if (f && live.holds) {
        live_keep_line(f, x);
        return;
    }
    live_text_add(x, " ...");
    live_text_write(x);
}

/*
 * Prints the result of a visible frame. If the frame's line is held back, appends the result to it. Otherwise prints
 * the result as a line.
 */
static void live_print_result(const struct live_event *e, const struct live_thread *t, const struct live_frame *f,
                              const char *result)
{
    struct live_text line, *x = live_pop_line(f);

    if (!x) {
        x = &line;
        live_flush_line(UINT64_MAX);
        live_begin_line(x, e->time_ns, live_thread_indent(t));
        live_text_add(x, "%s%s(", f->is_callback ? "<- " : "... ", live_event_name(f->type));
        if (f->name.number)
            live_text_add_object(x, &(struct live_name){ f->name.type, f->name.number, 0 }, f->object);
        else
            live_text_add_safely(x, f->label.bytes, strnlen(f->label.bytes, sizeof f->label.bytes));
        live_text_add(x, ")");
    }
    live_text_add(x, "%s", result);
    live_add_duration(x, " <", live_field_number(e, "duration"), ">");
    live_text_write(x);
}

/*
 * Returns the driver's name if the event is DriverEntry or DriverUnload, because a driver has no short name. For any
 * other event, returns an empty name.
 */
static struct trace_text16 live_driver_name(const struct live_event *e)
{
    const struct trace_fields_DriverEntry *fields = (const void *)e->fields;

    return live_is_driver_call(e->type->number) ? fields->name : (struct trace_text16){ { 0 } };
}

static void live_print_begin(const struct live_event *e, bool is_callback)
{
    struct live_text line;
    struct live_thread *t = live_thread_get(false);
    struct live_frame frame = { .type = e->type->number,
                                .is_callback = is_callback,
                                .is_visible = live.filter.events[e->type->number],
                                .object = live_field_number(e, "object") };

    if (frame.is_visible) {
        live_flush_line(UINT64_MAX);
        live_begin_line(&line, e->time_ns, live_thread_indent(t));
        live_text_add(&line, "%s%s(", is_callback ? "-> " : "", live_event_name(e->type->number));
        live_text_add_fields(&line, e);
        live_text_add(&line, ")");
        frame.name = live_object_name(live_object_type(e->type->number), frame.object);
        frame.label = live_driver_name(e);
    }
    live_begin_frame(e, &line, frame);
}

/* Prints the return of a call of `routine`. If `routine` is 0, prints the return of the innermost NDK callback. */
static void live_print_return(const struct live_event *e, uint16_t routine)
{
    struct live_thread *t = live_thread_get(false);
    uint64_t object = live_field_number(e, "object");
    struct live_text result = { 0 };
    struct live_frame *f = NULL;

    if (t)
        f = routine ? live_thread_find(t, routine, object) : live_thread_find_callback(t, object);
    if (!f)
        return; /* the call began before live_start, or live_begin_frame had no room for its frame */
    t->depth--; /* the memory of *f stays valid until a new frame is added */
    if (f->is_visible && live_has_field(e, "status")) {
        live_text_add(&result, " = ");
        live_add_result(&result, e, routine);
    }
    if (f->is_visible)
        live_print_result(e, t, f, result.bytes);
    live_thread_put(t);
}

/* ---- requests that are pending ---- */

static struct live_key live_pending_key(const struct live_event *e, uint16_t routine)
{
    return (struct live_key){ live_field_number(e, "object"), live_field_number(e, "context"), routine };
}

/* Stores the start time of a call that has returned STATUS_PENDING and has not completed. */
static void live_add_pending(const struct live_event *e, uint16_t routine)
{
    const struct live_key key = live_pending_key(e, routine);

    /* If the call completed before it returned, live_add_latency has added an entry, which is removed here. */
    if (!live_table_remove(&live.pending, &key, NULL))
        live_table_insert(&live.pending, &key, e->time_ns - live_field_number(e, "duration"));
}

/* Adds the time that the request has taken, if it is known. */
static void live_add_latency(struct live_text *x, const struct live_event *e, uint16_t routine)
{
    const struct live_key key = live_pending_key(e, routine);
    uint64_t begin_ns;

    if (!live_table_remove(&live.pending, &key, &begin_ns)) { /* the call has not returned yet */
        live_table_insert(&live.pending, &key, LIVE_COMPLETED_FIRST);
        begin_ns = live_thread_find_begin(routine, key.object);
    }
    if (begin_ns)
        live_add_duration(x, " after ", e->time_ns - begin_ns, "");
}

/*
 * Handles the event `completed`: the completion routine of an NDK call begins. Prints the result of the call, and adds
 * a frame.
 */
static void live_print_completed(const struct live_event *e)
{
    uint16_t routine = (uint16_t)live_field_number(e, "routine");
    struct live_thread *t = live_thread_get(false);
    struct live_frame frame = { .type = routine,
                                .is_callback = true,
                                .is_visible = live.filter.events[routine],
                                .object = live_field_number(e, "object") };
    struct live_text line;

    if (frame.is_visible) {
        frame.name = live_object_name(live_object_type(routine), frame.object);
        live_flush_line(UINT64_MAX);
        live_begin_line(&line, e->time_ns, live_thread_indent(t));
        live_text_add(&line, "-> %s completes: ", live_event_name(routine));
        live_text_add_object(&line, &frame.name, frame.object);
        live_text_add(&line, ", ");
        live_add_result(&line, e, routine);
        if (!live_thread_is_in(t, routine, frame.object))
            live_add_latency(&line, e, routine);
    }
    if (live_is_close(routine))
        live_object_remove(frame.object);
    live_begin_frame(e, &line, frame);
}

/* ---- events without a return ---- */

static void live_print_plain(const struct live_event *e)
{
    struct live_thread *t = live_thread_get(false);
    bool has_result = live_has_field(e, "duration") || e->type->number == TRACE_TYPE_result;
    struct live_text line;

    live_flush_line(UINT64_MAX);
    live_begin_line(&line, e->time_ns, live_thread_indent(t));
    if (e->id)
        live_text_add(&line, "connection %" PRIu32 ": ", e->id);
    live_text_add(&line, live_is_step(e->type->number) ? "%s " : "%s(", live_event_name(e->type->number));
    live_text_add_fields(&line, e);
    live_text_add(&line, live_is_step(e->type->number) ? "" : ")");
    if (has_result)
        live_text_add(&line, " = ");
    if (live_returns_token(e->type->number))
        live_text_add(&line, "0x%08" PRIx64, live_field_number(e, "token"));
    else if (has_result)
        live_text_add_status(&line, (uint32_t)live_field_number(e, "status"));
    if (live_has_field(e, "duration"))
        live_add_duration(&line, " <", live_field_number(e, "duration"), ">");
    live_text_write(&line);
}

/* Prints that the kernel has completed the IRP of a pending Winsock Kernel call. */
static void live_print_wsk_completed(const struct live_event *e)
{
    uint16_t routine = (uint16_t)live_field_number(e, "routine");
    uint64_t object = live_field_number(e, "object"), irp = live_field_number(e, "irp");
    struct live_name name = live_object_name(live_object_type(routine), object), irp_name;
    struct live_thread *t = live_thread_get(false);
    struct live_text line;

    live_flush_line(UINT64_MAX);
    live_begin_line(&line, e->time_ns, live_thread_indent(t));
    live_text_add(&line, "%s completes: ", live_event_name(routine));
    live_text_add_object(&line, &name, object);
    irp_name = live_object_name(LIVE_irp, irp);
    live_text_add(&line, ", ");
    live_text_add_object(&line, &irp_name, irp);
    live_text_add(&line, ", ");
    live_add_result(&line, e, routine);
    live_add_duration(&line, " after ", live_field_number(e, "duration"), "");
    live_text_write(&line);
}

/*
 * Prints that an IRP has ended. Prints nothing while this thread is in IoCallDriver for the IRP, because the status of
 * that call shows the end.
 */
static void live_print_irp_ended(const struct live_event *e)
{
    uint64_t object = live_field_number(e, "object"), information = live_field_number(e, "information");
    struct live_thread *t = live_thread_get(false);
    struct live_name name = live_object_name(LIVE_irp, object);
    struct live_text line;

    if (live_thread_is_in(t, TRACE_TYPE_IoCallDriver, object))
        return;
    live_flush_line(UINT64_MAX);
    live_begin_line(&line, e->time_ns, live_thread_indent(t));
    live_text_add_object(&line, &name, object);
    live_text_add(&line, " ends: ");
    live_text_add_status(&line, (uint32_t)live_field_number(e, "status"));
    if (information) {
        live_text_add(&line, ", ");
        live_text_add_information(&line, information);
    }
    live_add_latency(&line, e, TRACE_TYPE_IoCallDriver);
    live_text_write(&line);
}

/* ---- events ---- */

static void live_handle_return(const struct live_event *e)
{
    enum { PENDING = 0x103 };
    uint16_t routine = (uint16_t)live_field_number(e, "routine");
    bool is_pending = live_field_number(e, "status") == PENDING && live_has_field(e, "status");
    /* A WSK call needs no stored start time, because the event wsk_completed contains the duration. */
    bool is_wsk = routine >= TRACE_TYPE_WskRegister;

    live_print_return(e, routine);
    if (is_pending && !is_wsk && live.filter.events[routine])
        live_add_pending(e, routine);
    else if (!is_pending && live_is_close(routine))
        live_object_remove(live_field_number(e, "object"));
}

static bool live_is_callback(uint16_t number)
{
    return (number >= TRACE_TYPE_cq_notification && number <= TRACE_TYPE_disconnect_event) ||
           number == TRACE_TYPE_DriverEntry || number == TRACE_TYPE_DriverUnload ||
           number == TRACE_TYPE_completion_routine ||
           (number >= TRACE_TYPE_WskAcceptEvent && number <= TRACE_TYPE_WskSendBacklogEvent);
}

/* Returns true if the event begins a call whose return is a separate event. */
static bool live_is_call(const struct live_event *e)
{
    uint16_t number = e->type->number;

    if (number >= TRACE_TYPE_NdkCreateCq && number <= TRACE_TYPE_NdkArmCq)
        return !live_has_field(e, "duration");
    return number >= TRACE_TYPE_IoCallDriver && number != TRACE_TYPE_irp_ended;
}

/* Handles an event that begins a call or callback, or that has no separate return. */
static void live_handle_event(const struct live_event *e)
{
    uint16_t number = e->type->number;

    if (live_is_callback(number))
        live_print_begin(e, true);
    else if (live_is_call(e))
        live_print_begin(e, false);
    else if (live.filter.events[number] && number == TRACE_TYPE_irp_ended)
        live_print_irp_ended(e);
    else if (live.filter.events[number])
        live_print_plain(e);
    if (live_is_close(number) && !live_is_call(e))
        live_object_remove(live_field_number(e, "object"));
    if (number == TRACE_TYPE_WskCloseNdkAdapter || number == TRACE_TYPE_CloseNDKAdapterHandler)
        live_object_remove(live_field_number(e, "adapter"));
}

static void live_handle(const struct live_event *e)
{
    switch (e->type->number) {
    case TRACE_TYPE_thread:
        break;
    case TRACE_TYPE_returned:
    case TRACE_TYPE_kernel_returned:
    case TRACE_TYPE_kernel_done:
        live_handle_return(e);
        break;
    case TRACE_TYPE_callback_returned:
        live_print_return(e, 0);
        break;
    case TRACE_TYPE_completed:
        live_print_completed(e);
        break;
    case TRACE_TYPE_proxy:
        live_object_add_proxy(live_field_number(e, "object"), live_field_number(e, "proxy"));
        break;
    case TRACE_TYPE_wsk_completed:
        if (live.filter.events[live_field_number(e, "routine")])
            live_print_wsk_completed(e);
        if (live_is_close((uint16_t)live_field_number(e, "routine")))
            live_object_remove(live_field_number(e, "object"));
        break;
    default:
        live_handle_event(e);
    }
}

static void live_sink(uint64_t time_ns, uint16_t type, uint32_t id, const void *fields)
{
    const struct live_event e = { schema_event_find(type), time_ns, id, fields };
    int saved = errno;

    if (!e.type)
        return;
    pthread_mutex_lock(&live.lock);
    live_handle(&e);
    pthread_mutex_unlock(&live.lock);
    errno = saved;
}

/* ---- beginning ---- */

/* Runs the thread that writes the line of a call which has not returned after LIVE_HOLD_MS. */
static void *live_run(void *argument)
{
    const struct timespec period = { 0, 100000000 };

    (void)argument;
    for (;;) {
        (void)nanosleep(&period, NULL);
        pthread_mutex_lock(&live.lock);
        live_flush_line(trace_now_ns() - LIVE_HOLD_MS * UINT64_C(1000000));
        pthread_mutex_unlock(&live.lock);
    }
    return NULL;
}

/*
 * Sets live.day_ns from the time of day and CLOCK_MONOTONIC, both read at about the same moment. The value may be above
 * one day, because only the time within a day is printed.
 */
static void live_set_clock(void)
{
    const int64_t second = 1000000000, day = 86400 * second;
    int64_t before = (int64_t)trace_now_ns(), after;
    struct timespec now;
    struct tm local;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    after = (int64_t)trace_now_ns();
    if (!localtime_r(&now.tv_sec, &local))
        memset(&local, 0, sizeof local);
    live.day_ns = (local.tm_hour * 3600 + local.tm_min * 60 + local.tm_sec) * second + now.tv_nsec + day -
                  (before + (after - before) / 2) % day;
}

bool live_select(const char *list, char problem[LIVE_MAX_PROBLEM])
{
    return live_filter_parse(&live.filter, list, problem);
}

bool live_start(bool holds)
{
    pthread_t thread;

    live.holds = holds;
    live_set_clock();
    if (holds && library_thread_create(&thread, NULL, live_run, NULL))
        return false;
    if (holds)
        (void)pthread_detach(thread);
    trace_set_sink(live_sink);
    return true;
}

void live_before_text(void)
{
    if (!trace_is_on())
        return;
    pthread_mutex_lock(&live.lock);
    live_flush_line(UINT64_MAX);
    pthread_mutex_unlock(&live.lock);
}
