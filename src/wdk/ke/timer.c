/* SPDX-License-Identifier: MIT */
/*
 * Implements timers. One list has the timers that depend on the interrupt time. Another list has the timers that depend
 * on the system time, which the host's user may change. Both lists are sorted by due time. One thread, which starts
 * with the first timer, sleeps until the next timer is due. The dispatcher's lock protects the lists. A new timer
 * usually belongs at the end, so the search for its place begins there.
 */
#include <pthread.h>
#include <stdlib.h>

#include "wdm.h"

#include "verify/stack_intern.h"
#include "wdk/common/futex.h"
#include "wdk/common/inuse.h"
#include "wdk/common/live.h"
#include "wdk/ke/clock.h"
#include "wdk/ke/dpc.h"
#include "wdk/ke/thread.h"
#include "wdk/ke/timer.h"

enum { NOWHERE, RELATIVE, ABSOLUTE };

static LIST_ENTRY relative = { &relative, &relative }, absolute = { &absolute, &absolute };
static atomic_uint changed; /* the timer thread sleeps on this word */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static LIST_ENTRY *timer_list_of(const KTIMER *timer)
{
    return timer->Queue == RELATIVE ? &relative : &absolute;
}

static KTIMER *timer_at(LIST_ENTRY *e)
{
    return CONTAINING_RECORD(e, KTIMER, TimerListEntry);
}

static int64_t timer_clock_now(const KTIMER *timer)
{
    return timer->Queue == RELATIVE ? clock_interrupt() : clock_system();
}

/* Inserts the timer into its list by due time. Returns true if the timer is then the first of the list. */
static bool timer_insert(KTIMER *timer)
{
    LIST_ENTRY *list = timer_list_of(timer), *at = list;

    while (at->Blink != list && timer_at(at->Blink)->DueTime.QuadPart > timer->DueTime.QuadPart)
        at = at->Blink;
    link_insert_before(at, &timer->TimerListEntry);
    return list->Flink == &timer->TimerListEntry;
}

/*
 * Expires a timer that is due. Sets a periodic timer again, and skips the periods that were missed while the host was
 * busy. After the dispatcher's lock is released, the driver may free the timer.
 */
static void timer_expire(KTIMER *timer, int64_t now, struct wake_list *wake)
{
    link_remove(&timer->TimerListEntry);
    if (timer->Period) {
        timer->DueTime.QuadPart += (ULONGLONG)timer->Period;
        if ((int64_t)timer->DueTime.QuadPart <= now)
            timer->DueTime.QuadPart = (ULONGLONG)clock_after(now, timer->Period);
        (void)timer_insert(timer);
    } else {
        timer->Queue = NOWHERE;
    }
    dispatch_set_state(&timer->Header, 1);
    dispatch_satisfy(&timer->Header, wake);
    if (timer->Dpc)
        (void)dpc_insert(timer->Dpc, NULL, NULL, timer->SetBy, wake);
}

static void timer_expire_due(LIST_ENTRY *list, int64_t now, struct wake_list *wake)
{
    while (!link_empty(list) && (int64_t)timer_at(list->Flink)->DueTime.QuadPart <= now)
        timer_expire(timer_at(list->Flink), now, wake);
}

/*
 * Returns the time until which the timer thread sleeps. If a timer depends on the system time, the thread sleeps at
 * most half a second, because the system time may be changed.
 */
static struct deadline timer_next_deadline(int64_t now)
{
    int64_t next = INT64_MAX;

    if (!link_empty(&relative))
        next = (int64_t)timer_at(relative.Flink)->DueTime.QuadPart;
    if (!link_empty(&absolute)) {
        int64_t left = (int64_t)timer_at(absolute.Flink)->DueTime.QuadPart - clock_system();

        left = left < 0 ? 0 : left < CLOCK_UNITS / 2 ? left : CLOCK_UNITS / 2;
        next = now + left < next ? now + left : next;
    }
    if (next == INT64_MAX)
        return (struct deadline){ .clock = -1 };
    return (struct deadline){ CLOCK_MONOTONIC, clock_timespec(next) };
}

static void *timer_thread_run(void *argument)
{
    for (;;) {
        struct wake_list wake = { NULL };
        struct deadline until;
        unsigned seen;
        int64_t now;

        dispatch_lock();
        now = clock_interrupt();
        timer_expire_due(&relative, now, &wake);
        timer_expire_due(&absolute, clock_system(), &wake);
        until = timer_next_deadline(now);
        seen = atomic_load(&changed);
        dispatch_unlock(&wake);
        dpc_start_threads();
        (void)futex_sleep(&changed, seen, &until);
    }
    return argument;
}

static void timer_thread_start(void)
{
    pthread_t thread;

    if (thread_create(&thread, NULL, timer_thread_run, NULL))
        abort(); /* without the thread, no timer would expire */
    pthread_detach(thread);
}

static void timer_walk_list(LIST_ENTRY *list, live_on_entry *visit, void *context)
{
    for (LIST_ENTRY *e = list->Flink; e != list; e = e->Flink)
        visit(context, LIVE_TIMER, timer_at(e), "KTIMER", timer_at(e)->SetBy);
}

static void timer_walk_all(live_on_entry *visit, void *context)
{
    dispatch_lock();
    timer_walk_list(&relative, visit, context);
    timer_walk_list(&absolute, visit, context);
    dispatch_unlock(NULL);
}

static bool timer_find_dpc_in(LIST_ENTRY *list, const void *start, size_t size, struct inuse_found *out)
{
    for (LIST_ENTRY *e = list->Flink; e != list; e = e->Flink)
        if (timer_at(e)->Dpc && (uintptr_t)timer_at(e)->Dpc - (uintptr_t)start < size) {
            out->object = timer_at(e)->Dpc;
            out->what = "DPC of a timer that is set";
            out->by = *(const struct stack *)timer_at(e)->SetBy;
            out->may_begin_anew = true;
            return true;
        }
    return false;
}

static bool timer_find_dpc(const void *start, size_t size, struct inuse_found *out)
{
    bool found;

    dispatch_lock();
    found = timer_find_dpc_in(&relative, start, size, out) || timer_find_dpc_in(&absolute, start, size, out);
    dispatch_unlock(NULL);
    return found;
}

__attribute__((constructor)) static void timer_register(void)
{
    live_add_source(timer_walk_all);
    inuse_add_source(timer_find_dpc);
}

static bool timer_is_in_list(LIST_ENTRY *list, const KTIMER *timer)
{
    LIST_ENTRY *e = list->Flink;

    while (e != list && timer_at(e) != timer)
        e = e->Flink;
    return e != list;
}

/*
 * Removes a set timer before it is initialized again, because the initialization would corrupt the timer's list. Called
 * only while checks are on.
 */
static void timer_remove_if_set(KTIMER *timer)
{
    dispatch_lock();
    if (timer_is_in_list(&relative, timer) || timer_is_in_list(&absolute, timer))
        link_remove(&timer->TimerListEntry);
    dispatch_unlock(NULL);
}

VOID KeInitializeTimerEx(PKTIMER Timer, TIMER_TYPE Type)
{
    inuse_check_init("KeInitializeTimer", Timer, sizeof *Timer);
    if (check_on())
        timer_remove_if_set(Timer);
    *Timer = (KTIMER){ .Queue = NOWHERE };
    dispatch_init(&Timer->Header,
                  Type == SynchronizationTimer ? OBJECT_TIMER_SYNCHRONIZATION : OBJECT_TIMER_NOTIFICATION, 0);
    link_init(&Timer->TimerListEntry);
}

VOID KeInitializeTimer(PKTIMER Timer)
{
    KeInitializeTimerEx(Timer, NotificationTimer);
}

static bool timer_remove(KTIMER *timer)
{
    bool was = timer->Queue != NOWHERE;

    link_remove(&timer->TimerListEntry);
    timer->Queue = NOWHERE;
    return was;
}

bool timer_set(KTIMER *timer, LONGLONG due, LONGLONG period, KDPC *dpc, const void *by)
{
    const struct stack *set_by = stack_intern(by);
    struct wake_list wake = { NULL };
    bool was, first = false;
    int64_t now;

    pthread_once(&once, timer_thread_start);
    dispatch_lock();
    was = timer_remove(timer);
    dispatch_set_state(&timer->Header, 0);
    timer->Queue = due < 0 ? RELATIVE : ABSOLUTE;
    now = timer_clock_now(timer);
    timer->DueTime.QuadPart = (ULONGLONG)(due < 0 ? clock_after(now, clock_relative(due)) : due);
    timer->Period = period > 0 ? period : 0;
    timer->Dpc = dpc;
    timer->SetBy = set_by;
    first = timer_insert(timer);
    if ((int64_t)timer->DueTime.QuadPart <= now)
        timer_expire(timer, now, &wake);
    if (first)
        atomic_fetch_add(&changed, 1);
    dispatch_unlock(&wake);
    dpc_start_threads();
    if (first)
        futex_wake(&changed, 1);
    return was;
}

static bool timer_set_checked(const char *routine, KTIMER *timer, LONGLONG due, LONGLONG period, KDPC *dpc,
                              const void *by)
{
    irql_check_max(routine, DISPATCH_LEVEL);
    if (!dispatch_check(routine, &timer->Header))
        KeInitializeTimer(timer);
    return timer_set(timer, due, period * 10000, dpc, by);
}

BOOLEAN KeSetTimer(PKTIMER Timer, LARGE_INTEGER DueTime, PKDPC Dpc)
{
    return timer_set_checked("KeSetTimer", Timer, DueTime.QuadPart, 0, Dpc, __builtin_return_address(0));
}

BOOLEAN KeSetTimerEx(PKTIMER Timer, LARGE_INTEGER DueTime, LONG Period, PKDPC Dpc)
{
    return timer_set_checked("KeSetTimerEx", Timer, DueTime.QuadPart, Period, Dpc, __builtin_return_address(0));
}

BOOLEAN KeSetCoalescableTimer(PKTIMER Timer, LARGE_INTEGER DueTime, ULONG Period, ULONG TolerableDelay, PKDPC Dpc)
{
    UNREFERENCED_PARAMETER(TolerableDelay);
    return timer_set_checked("KeSetCoalescableTimer", Timer, DueTime.QuadPart, Period, Dpc,
                             __builtin_return_address(0));
}

bool timer_cancel(KTIMER *timer)
{
    bool was;

    dispatch_lock();
    was = timer_remove(timer);
    dispatch_unlock(NULL);
    return was;
}

BOOLEAN KeCancelTimer(PKTIMER Timer)
{
    irql_check_max("KeCancelTimer", DISPATCH_LEVEL);
    if (!dispatch_check("KeCancelTimer", &Timer->Header))
        KeInitializeTimer(Timer);
    return timer_cancel(Timer);
}

BOOLEAN KeReadStateTimer(PKTIMER Timer)
{
    return dispatch_state(&Timer->Header) > 0;
}
