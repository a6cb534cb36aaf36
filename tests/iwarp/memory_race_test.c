/* SPDX-License-Identifier: MIT */
/*
 * Abstract: several threads make and end registrations by requests, while others look them up. Memory is overwritten as
 * soon as it is released; the pattern and the thread sanitizer both detect an access after that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "iwarp/memory.h"

enum { REMOTE = RDMA_ACCESS_REMOTE_READ | RDMA_ACCESS_REMOTE_WRITE | RDMA_ACCESS_LOCAL_WRITE };

static const uint64_t base = 0x7f0000001000u;
static int pd_a;

enum { ROUNDS = 300, USERS = 2 };

static struct {
    struct mem_table *t;
    struct mem_group group, windows;
    uint8_t *page; /* all bytes equal, except while no thread may access it */
    uint64_t logical;
    _Atomic uint32_t stag, window;
    atomic_bool over;
    atomic_int empties, wins;
    atomic_long hits, misses, torn;
} race;

static void count_empty(void *context)
{
    (void)context;
    atomic_fetch_add(&race.empties, 1);
}

/* Looks up the published STag, of a region or a window, and counts reads in which the bytes differ. */
static void *user_main(void *arg)
{
    _Atomic uint32_t *published = arg;
    long hits = 0, misses = 0, torn = 0;

    for (unsigned i = 0; !atomic_load_explicit(&race.over, memory_order_relaxed); i++) {
        uint32_t stag = atomic_load_explicit(published, memory_order_relaxed);
        struct mem_ref ref;

        if (mem_lookup(race.t, &pd_a, stag, base, 64, 0, &ref) != WIRE_OK) {
            misses++;
            continue;
        }
        hits++;
        for (int k = 1; k < 64; k++)
            torn += ref.at[k] != ref.at[0];
        if (i % 64 == 0)
            sched_yield();
        mem_release(&ref);
    }
    atomic_fetch_add(&race.hits, hits);
    atomic_fetch_add(&race.misses, misses);
    atomic_fetch_add(&race.torn, torn);
    return NULL;
}

static void race_open(struct mem_region **mapping)
{
    memset(&race, 0, sizeof race);
    race.t = mem_table_create(42);
    race.page = aligned_alloc(MEM_PAGE, MEM_PAGE);
    assert_non_null(race.t);
    assert_non_null(race.page);
    memset(race.page, 0, MEM_PAGE);
    mem_group_init(&race.group);
    mem_group_init(&race.windows);
    assert_int_equal(mem_map(race.t, race.page, MEM_PAGE, mapping, &race.logical), 0);
}

static void race_close(struct mem_region *mapping)
{
    mem_unmap(mapping);
    mem_table_destroy(race.t);
    free(race.page);
}

static uint32_t race_prepare(void)
{
    struct rdma_pages p = {
        .logical = &race.logical, .count = 1, .len = MEM_PAGE, .base_address = base, .access = REMOTE
    };
    uint32_t stag;

    return mem_prepare_pages(race.t, &race.group, &pd_a, &p, &stag) == 0 ? stag : 0;
}

/*
 * After mem_revoke no thread accesses the memory, whichever thread revoked or replaced it, and whether the lookup used
 * a window.
 * covers: INV-03 INV-09
 */
static void test_race_revoke(void **state)
{
    pthread_t users[2 * USERS];
    struct mem_region *mapping;

    (void)state;
    race_open(&mapping);
    for (int i = 0; i < 2 * USERS; i++)
        assert_int_equal(pthread_create(&users[i], NULL, user_main, i % 2 ? &race.stag : &race.window), 0);
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t stag = race_prepare(), window = 0;

        assert_int_not_equal(stag, 0);
        assert_int_equal(mem_activate(race.t, stag, true), MEM_DONE);
        assert_int_equal(mem_prepare_window(race.t, &race.windows, &pd_a, stag, base, 64, 0, &window), 0);
        assert_int_equal(mem_activate(race.t, window, true), MEM_DONE);
        atomic_store_explicit(&race.stag, stag, memory_order_relaxed);
        atomic_store_explicit(&race.window, window, memory_order_relaxed);
        if (i % 4 == 0)
            sched_yield();
        /* Revoking the region ends its window. Every other time the window is revoked first. */
        if (i % 2)
            assert_int_equal(mem_revoke(race.t, &pd_a, window, false), WIRE_OK);
        assert_int_equal(mem_revoke(race.t, &pd_a, stag, i % 3 == 0), WIRE_OK);
        memset(race.page, i, 64);
        if (i % 2 == 0)
            assert_int_equal(mem_revoke(race.t, &pd_a, window, false), WIRE_OK);
    }
    atomic_store(&race.over, true);
    for (int i = 0; i < 2 * USERS; i++)
        pthread_join(users[i], NULL);
    assert_int_equal(atomic_load(&race.torn), 0);
    assert_true(mem_group_close(&race.windows, count_empty, NULL));
    assert_true(mem_group_close(&race.group, count_empty, NULL));
    race_close(mapping);
}

static atomic_bool returned;

static void *revoke_main(void *arg)
{
    (void)arg;
    assert_int_equal(mem_revoke(race.t, &pd_a, atomic_load(&race.stag), true), WIRE_OK);
    atomic_store(&returned, true);
    return NULL;
}

/*
 * mem_revoke takes effect at once, and returns when the last protection has been released, not before.
 * covers: INV-03
 */
static void test_revoke_waits(void **state)
{
    struct mem_region *mapping;
    struct mem_ref ref, later;
    pthread_t revoker;

    (void)state;
    race_open(&mapping);
    atomic_store(&race.stag, race_prepare());
    assert_int_equal(mem_activate(race.t, race.stag, true), MEM_DONE);
    assert_int_equal(mem_lookup(race.t, &pd_a, race.stag, base, 1, 0, &ref), WIRE_OK);
    atomic_store(&returned, false);
    assert_int_equal(pthread_create(&revoker, NULL, revoke_main, NULL), 0);
    for (long i = 0; mem_lookup(race.t, &pd_a, race.stag, base, 1, 0, &later) == WIRE_OK; i++) {
        mem_release(&later);
        assert_true(i < 100000000);
        sched_yield();
    }
    for (int i = 0; i < 2000; i++) {
        assert_false(atomic_load(&returned));
        sched_yield();
    }
    mem_release(&ref);
    pthread_join(revoker, NULL);
    assert_true(mem_group_close(&race.group, NULL, NULL));
    race_close(mapping);
}

enum { AT_ONCE = 64 };

static pthread_barrier_t gate;
static uint32_t contested[AT_ONCE];

/* If several threads revoke one registration at the same time, exactly one succeeds. */
static void *revoker_main(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&gate); /* new registrations are there to be revoked */
        for (int k = 0; k < AT_ONCE; k++)
            if (mem_revoke(race.t, &pd_a, contested[k], false) == WIRE_OK)
                atomic_fetch_add(&race.wins, 1);
        pthread_barrier_wait(&gate);
    }
    return NULL;
}

static void test_race_revokers(void **state)
{
    pthread_t threads[2];
    struct mem_region *mapping;

    (void)state;
    race_open(&mapping);
    pthread_barrier_init(&gate, NULL, 3);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, revoker_main, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < AT_ONCE; k++) {
            contested[k] = race_prepare();
            if (k == 0) /* at most one of a group is alive */
                assert_int_equal(mem_activate(race.t, contested[k], true), MEM_DONE);
        }
        pthread_barrier_wait(&gate);
        pthread_barrier_wait(&gate);
        assert_int_equal(atomic_load(&race.wins), (i + 1) * AT_ONCE);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&gate);
    assert_true(mem_group_close(&race.group, NULL, NULL));
    race_close(mapping);
}

static uint32_t turns[2]; /* prepared in this order */

static void *turn_main(void *which)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&gate);
        if (mem_activate(race.t, *(uint32_t *)which, true) == MEM_DONE)
            atomic_fetch_add(&race.wins, 1);
        pthread_barrier_wait(&gate);
    }
    return NULL;
}

/*
 * Two queues activate registrations of one group at the same time: the one that was prepared later remains.
 * covers: INV-09
 */
static void test_race_turns(void **state)
{
    pthread_t threads[2];
    struct mem_region *mapping;
    struct mem_ref ref;

    (void)state;
    race_open(&mapping);
    pthread_barrier_init(&gate, NULL, 3);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, turn_main, &turns[i]), 0);
    for (int i = 0; i < ROUNDS; i++) {
        turns[0] = race_prepare();
        turns[1] = race_prepare();
        pthread_barrier_wait(&gate);
        pthread_barrier_wait(&gate);
        assert_int_equal(atomic_load(&race.wins), (i + 1) * 2);
        assert_int_equal(mem_group_current_stag(&race.group), turns[1]);
        assert_int_equal(mem_lookup(race.t, &pd_a, turns[0], base, 1, 0, &ref), WIRE_DDP_TAGGED_STAG);
        assert_int_equal(mem_revoke(race.t, &pd_a, turns[1], true), WIRE_OK);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&gate);
    assert_true(mem_group_close(&race.group, NULL, NULL));
    race_close(mapping);
}

/* Makes registrations in a group until it is closed. */
static void *maker_main(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&gate);
        for (uint32_t stag; (stag = race_prepare()) != 0;) {
            (void)mem_activate(race.t, stag, true);
            atomic_store_explicit(&race.stag, stag, memory_order_relaxed);
        }
        pthread_barrier_wait(&gate);
    }
    return NULL;
}

/* A group is killed while registrations are made in it and looked up: none survives, and `empty` is called once. */
static void test_race_kill(void **state)
{
    pthread_t maker, user;
    struct mem_region *mapping;

    (void)state;
    race_open(&mapping);
    pthread_barrier_init(&gate, NULL, 2);
    assert_int_equal(pthread_create(&maker, NULL, maker_main, NULL), 0);
    assert_int_equal(pthread_create(&user, NULL, user_main, &race.stag), 0);
    for (int i = 0; i < ROUNDS; i++) {
        atomic_store(&race.empties, 0);
        mem_group_init(&race.group);
        pthread_barrier_wait(&gate);
        for (int k = 0; k < i % 50; k++)
            sched_yield();
        mem_group_kill(&race.group);
        bool now = mem_group_close(&race.group, count_empty, NULL);
        for (long k = 0; !now && atomic_load(&race.empties) == 0; k++) {
            assert_true(k < 100000000);
            sched_yield();
        }
        memset(race.page, i, 64);
        assert_int_equal(atomic_load(&race.empties), now ? 0 : 1);
        pthread_barrier_wait(&gate);
    }
    pthread_join(maker, NULL);
    atomic_store(&race.over, true);
    pthread_join(user, NULL);
    pthread_barrier_destroy(&gate);
    assert_int_equal(atomic_load(&race.torn), 0);
    race_close(mapping);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_revoke_waits), cmocka_unit_test(test_race_revoke), cmocka_unit_test(test_race_revokers),
        cmocka_unit_test(test_race_turns),   cmocka_unit_test(test_race_kill),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
