/* SPDX-License-Identifier: MIT */
/*
 * Runs the thread of the doctor: see stall.h. The invariant: the lock guards the pointer to the doctor. The struct is
 * freed only after the pointer was cleared and the thread has ended.
 *
 * A child of fork has no doctor until it opens an adapter. The child's doctor ignores waits that began in the parent.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "verify/stall.h"

#include <stdlib.h>

#include "base/fork.h"
#include "base/gate.h"
#include "base/library_thread.h"
#include "base/owner.h"
#include "base/verify_setting.h"
#include "verify/pending.h"
#include "verify/proxy.h"
#include "verify/stall_call.h"
#include "verify/stall_connector.h"
#include "verify/stall_request.h"

/*
 * The doctor: the thread and its state. A callback that this thread runs may end the thread. For example, a report
 * callback may close the last adapter.
 */
struct doctor {
    pthread_t thread;
    struct gate wake;
    atomic_bool ends;
    bool is_detached;    /* set by the thread itself, which then frees the struct when it ends */
    struct doctor *next; /* next in the list `inherited` */
};

atomic_bool stall_sleeps;

static struct spin doctor_lock; /* guards doctor, user_count and inherited */
static struct doctor *doctor;
static unsigned user_count;
static struct doctor *inherited; /* doctors of the parent process; their threads do not exist in this process */
static _Atomic uint64_t forked_ns;
static _Atomic uint32_t limit_ms = VERIFY_STALL_MS;

uint32_t stall_limit_ms(void)
{
    return atomic_load_explicit(&limit_ms, memory_order_relaxed);
}

bool stall_is_inherited(uint64_t since)
{
    return since <= atomic_load_explicit(&forked_ns, memory_order_relaxed);
}

/* ---- The thread ---- */

uint64_t stall_examine(uint64_t now)
{
    uint64_t limit = (uint64_t)stall_limit_ms() * STALL_NS_PER_MS, oldest, other;

    if (!limit || !verify_on())
        return UINT64_MAX;
    oldest = stall_examine_calls(now, limit);
    other = stall_examine_connectors(now, limit);
    oldest = other < oldest ? other : oldest;
    other = stall_examine_requests(now, limit);
    oldest = other < oldest ? other : oldest;
    return oldest == UINT64_MAX ? oldest : oldest + limit;
}

/* Reports stalls, and then sleeps until another stall is possible or the doctor is woken. */
static void doctor_sleep(struct doctor *d)
{
    bool examines = stall_limit_ms() && verify_on();
    uint64_t due;

    atomic_store(&stall_sleeps, examines);
    due = stall_examine(owner_clock(NULL));
    if (due != UINT64_MAX) {
        atomic_store(&stall_sleeps, false);
        (void)gate_wait(&d->wake, due);
        return;
    }
    (void)gate_wait(&d->wake, UINT64_MAX);
    if (!examines)
        return;
    /*
     * stall_begin may have woken the doctor for a new wait. Neither this wait nor a wait that begins during the next
     * sleep can be a stall before that sleep ends. So stall_sleeps stays false, and stall_begin does not wake the
     * doctor.
     */
    atomic_store(&d->wake.open, 0);
    if (!atomic_load(&d->ends))
        (void)gate_wait(&d->wake, owner_clock(NULL) + (uint64_t)stall_limit_ms() * STALL_NS_PER_MS);
}

static void *doctor_run(void *argument)
{
    struct doctor *d = argument;

    for (;;) {
        /* The gate is closed before the reads below, so that a change after a read ends the next sleep at once. */
        atomic_store(&d->wake.open, 0);
        if (atomic_load(&d->ends))
            break;
        doctor_sleep(d);
    }
    if (d->is_detached)
        free(d);
    return NULL;
}

void stall_wake(void)
{
    atomic_store(&stall_sleeps, false);
    spin_lock(&doctor_lock);
    if (doctor)
        gate_open(&doctor->wake);
    spin_unlock(&doctor_lock);
}

void stall_set_limit_ms(uint32_t ms)
{
    atomic_store(&limit_ms, ms);
    stall_wake();
}

/* ---- Start and end ---- */

static void stall_on_child(void)
{
    if (doctor) {
        doctor->next = inherited;
        inherited = doctor;
    }
    doctor = NULL;
    user_count = 0;
    atomic_store(&stall_sleeps, false);
    atomic_store(&forked_ns, owner_clock(NULL));
}

/*
 * Starts the doctor at the first use. If no memory or thread is available, stalls are not reported until the next call
 * of stall_start.
 */
void stall_start(void)
{
    struct doctor *d = calloc(1, sizeof *d), *unused = d;

    fork_guard(&doctor_lock);
    fork_on_child(stall_on_child);
    proxy_guard_fork();
    pending_guard_fork();
    call_follow_fork();
    spin_lock(&doctor_lock);
    user_count++;
    if (!doctor && d) {
        doctor = d;
        unused = NULL;
    }
    spin_unlock(&doctor_lock);
    if (d && !unused && library_thread_create(&d->thread, NULL, doctor_run, d)) {
        spin_lock(&doctor_lock);
        doctor = NULL;
        spin_unlock(&doctor_lock);
        unused = d;
    } else if (!unused && d) {
        (void)pthread_setname_np(d->thread, "openndk-stall");
    }
    free(unused);
}

void stall_stop(void)
{
    struct doctor *d = NULL;

    spin_lock(&doctor_lock);
    if (user_count && --user_count == 0) {
        d = doctor;
        doctor = NULL;
    }
    spin_unlock(&doctor_lock);
    if (!d)
        return;
    atomic_store(&d->ends, true);
    gate_open(&d->wake);
    if (pthread_equal(d->thread, pthread_self())) {
        d->is_detached = true;
        (void)pthread_detach(d->thread);
        return;
    }
    (void)pthread_join(d->thread, NULL);
    free(d);
}
