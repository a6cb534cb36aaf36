/* SPDX-License-Identifier: MIT */
/* Delays threads at random: see schedule.h. */
#include "base/schedule.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

atomic_bool schedule_is_random;

/*
 * The lower half is the seed. The upper half counts the calls of schedule_set_seed, so that each call changes
 * round_number, even with the same seed.
 */
static _Atomic uint64_t round_number;
/* The number of threads that have reached a schedule_point since the last schedule_set_seed. */
static atomic_uint next_thread;

/*
 * The calling thread's sequence. `round` is the round_number with which the sequence began, or 0 if the thread has no
 * sequence yet.
 */
static _Thread_local struct {
    uint64_t round, state;
} sequence;

void schedule_set_seed(uint32_t seed)
{
    uint64_t calls = (atomic_load(&round_number) >> 32) + 1;

    atomic_store(&next_thread, 0);
    atomic_store(&round_number, calls << 32 | seed);
    atomic_store(&schedule_is_random, true);
}

/* Returns the next number of a sequence (splitmix64). */
static uint64_t schedule_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Returns the delay in microseconds: half of all delays are 0, and an eighth is long. */
static unsigned schedule_choose(uint64_t number)
{
    unsigned length = (unsigned)(number >> 32);

    switch (number % 8) {
    case 0:
        return length % 1000 + 1;
    case 1:
    case 2:
    case 3:
        return length % 50;
    default:
        return 0;
    }
}

void schedule_delay(void)
{
    uint64_t now = atomic_load(&round_number);
    struct timespec pause = { 0 };
    int saved = errno;

    if (sequence.round != now) {
        uint64_t thread = atomic_fetch_add(&next_thread, 1);

        sequence.round = now;
        sequence.state = (uint32_t)now | thread << 32;
    }
    pause.tv_nsec = 1000L * schedule_choose(schedule_next(&sequence.state));
    if (pause.tv_nsec)
        (void)nanosleep(&pause, NULL);
    else
        (void)sched_yield();
    errno = saved;
}
