/* SPDX-License-Identifier: MIT */
/*
 * Abstract: the STag table: rights, ranges, domains, tokens, rundown; lookups that race with invalidation and
 * registration.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "iwarp/memory.h"
#include "iwarp/registration.h"

enum { LEN = 4096 };

static const uint64_t base = 0x7f0000001000u;
static int pd_a, pd_b; /* a protection domain is identified by its address */
static uint8_t memory[LEN];

struct fixture {
    struct mem_table *t;
    struct mem_region *r;
    uint32_t stag;
};

static int setup(void **state)
{
    static struct fixture f;

    f.t = mem_table_create(0x0123456789abcdefu);
    *state = &f;
    if (!f.t)
        return -1;
    return register_memory(f.t, &pd_a, memory, LEN, base, RDMA_ACCESS_REMOTE_READ | RDMA_ACCESS_LOCAL_WRITE, &f.r,
                           &f.stag);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    if (f->r && !mem_invalidate(f->r, NULL, NULL))
        return -1;
    mem_table_destroy(f->t);
    return 0;
}

static enum wire_error lookup(struct fixture *f, const void *domain, uint32_t stag, uint64_t to, uint64_t len,
                              unsigned access)
{
    struct mem_ref ref;
    enum wire_error e = mem_lookup(f->t, domain, stag, to, len, access, &ref);

    if (e == WIRE_OK)
        assert_ptr_equal(ref.at, memory + (to - base));
    else
        assert_null(ref.region);
    mem_release(&ref);
    return e;
}

static void test_ranges(void **state)
{
    static const struct {
        uint64_t to, len;
        enum wire_error want;
    } cases[] = {
        { base, LEN, WIRE_OK },
        { base, 0, WIRE_OK },
        { base + LEN, 0, WIRE_OK },
        { base + LEN - 1, 1, WIRE_OK },
        { base + 7, LEN - 7, WIRE_OK },
        { base, LEN + 1, WIRE_DDP_TAGGED_BOUNDS },
        { base - 1, 1, WIRE_DDP_TAGGED_BOUNDS },
        { base - 1, 2, WIRE_DDP_TAGGED_BOUNDS },
        { base + LEN, 1, WIRE_DDP_TAGGED_BOUNDS },
        { base + LEN + 1, 0, WIRE_DDP_TAGGED_BOUNDS },
        { 0, 0, WIRE_DDP_TAGGED_BOUNDS },
        { 0, UINT64_MAX, WIRE_DDP_TAGGED_BOUNDS },
        { UINT64_MAX, 1, WIRE_DDP_TAGGED_BOUNDS },
        { UINT64_MAX, 2, WIRE_DDP_TAGGED_WRAP },
        { base, UINT64_MAX, WIRE_DDP_TAGGED_WRAP },
        { base + 1, UINT64_MAX - base, WIRE_DDP_TAGGED_BOUNDS },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(lookup(*state, &pd_a, ((struct fixture *)*state)->stag, cases[i].to, cases[i].len, 0),
                         cases[i].want);
}

/* A region may end with the last address. */
static void test_range_at_the_top(void **state)
{
    struct fixture *f = *state;
    struct mem_region *r;
    struct mem_ref ref;
    uint32_t stag;
    uint64_t to = UINT64_MAX - 15;

    assert_int_equal(register_memory(f->t, &pd_a, memory, 16, to, 0, &r, &stag), 0);
    assert_int_equal(mem_lookup(f->t, &pd_a, stag, to, 16, 0, &ref), WIRE_OK);
    mem_release(&ref);
    assert_int_equal(mem_lookup(f->t, &pd_a, stag, to + 1, 16, 0, &ref), WIRE_DDP_TAGGED_WRAP);
    assert_int_equal(mem_lookup(f->t, &pd_a, stag, to - 1, 16, 0, &ref), WIRE_DDP_TAGGED_BOUNDS);
    assert_int_equal(mem_lookup(f->t, &pd_a, stag, 0, 1, 0, &ref), WIRE_DDP_TAGGED_BOUNDS);
    assert_true(mem_invalidate(r, NULL, NULL));
}

/* Every set of required rights against every set of granted ones. */
static void test_rights(void **state)
{
    struct fixture *f = *state;

    for (unsigned granted = 0; granted < 8; granted++) {
        struct mem_region *r;
        uint32_t stag;

        assert_int_equal(register_memory(f->t, &pd_a, memory, LEN, base, granted, &r, &stag), 0);
        for (unsigned asked = 0; asked < 8; asked++)
            assert_int_equal(lookup(f, &pd_a, stag, base, 1, asked),
                             (asked & granted) == asked ? WIRE_OK : WIRE_RDMAP_ACCESS);
        assert_true(mem_invalidate(r, NULL, NULL));
    }
}

static void test_domains(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(lookup(f, &pd_b, f->stag, base, 1, 0), WIRE_DDP_TAGGED_STREAM);
    assert_int_equal(lookup(f, NULL, f->stag, base, 1, 0), WIRE_DDP_TAGGED_STREAM);
}

/* The order is STag, domain, rights, range. */
static void test_order_of_checks(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(lookup(f, &pd_b, f->stag, base - 1, 1, RDMA_ACCESS_REMOTE_WRITE), WIRE_DDP_TAGGED_STREAM);
    assert_int_equal(lookup(f, &pd_a, f->stag, base - 1, 1, RDMA_ACCESS_REMOTE_WRITE), WIRE_RDMAP_ACCESS);
    assert_int_equal(lookup(f, &pd_a, f->stag, base - 1, 1, RDMA_ACCESS_REMOTE_READ), WIRE_DDP_TAGGED_BOUNDS);
    assert_int_equal(lookup(f, &pd_b, f->stag ^ 1, base - 1, 1, RDMA_ACCESS_REMOTE_WRITE), WIRE_DDP_TAGGED_STAG);
}

static void test_read_errors(void **state)
{
    (void)state;
    assert_int_equal(mem_error_for_read(WIRE_DDP_TAGGED_STAG), WIRE_RDMAP_INVALID_STAG);
    assert_int_equal(mem_error_for_read(WIRE_DDP_TAGGED_STREAM), WIRE_RDMAP_STAG_NOT_ASSOCIATED);
    assert_int_equal(mem_error_for_read(WIRE_DDP_TAGGED_BOUNDS), WIRE_RDMAP_BOUNDS);
    assert_int_equal(mem_error_for_read(WIRE_DDP_TAGGED_WRAP), WIRE_RDMAP_TO_WRAP);
    assert_int_equal(mem_error_for_read(WIRE_RDMAP_ACCESS), WIRE_RDMAP_ACCESS);
    assert_int_equal(mem_error_for_read(WIRE_OK), WIRE_OK);
}

static void count_done(void *context)
{
    ++*(int *)context;
}

static void test_rundown(void **state)
{
    struct fixture *f = *state;
    struct mem_ref first, second, third;
    int done = 0;

    assert_int_equal(mem_lookup(f->t, &pd_a, f->stag, base, 1, 0, &first), WIRE_OK);
    assert_int_equal(mem_lookup(f->t, &pd_a, f->stag, base, LEN, 0, &second), WIRE_OK);
    assert_false(mem_invalidate(f->r, count_done, &done));
    f->r = NULL;
    assert_int_equal(mem_lookup(f->t, &pd_a, f->stag, base, 1, 0, &third), WIRE_DDP_TAGGED_STAG);
    mem_release(&first);
    mem_release(&first); /* empty already */
    assert_int_equal(done, 0);
    mem_release(&second);
    assert_int_equal(done, 1);
    assert_int_equal(mem_lookup(f->t, &pd_a, f->stag, base, 1, 0, &third), WIRE_DDP_TAGGED_STAG);
}

static int compare32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/*
 * Many registrations, each slot many times. No STag is repeated or 0, and no difference of successive STags is frequent
 * enough to predict the next one.
 */
static void test_tokens_are_new_and_without_order(void **state)
{
    enum { N = 100000 };
    struct fixture *f = *state;
    uint32_t *stags = malloc(N * sizeof *stags), *steps = malloc(N * sizeof *steps);
    unsigned longest = 1, run = 1;

    assert_true(stags && steps);
    for (int i = 0; i < N; i++) {
        struct mem_region *r;

        assert_int_equal(register_memory(f->t, &pd_a, memory, LEN, base, 0, &r, &stags[i]), 0);
        assert_int_not_equal(stags[i], 0);
        steps[i] = i > 0 ? stags[i] - stags[i - 1] : 0;
        assert_true(mem_invalidate(r, NULL, NULL));
    }
    qsort(stags, N, sizeof *stags, compare32);
    for (int i = 1; i < N; i++)
        assert_int_not_equal(stags[i], stags[i - 1]);
    qsort(steps, N, sizeof *steps, compare32);
    for (int i = 1; i < N; i++) {
        run = steps[i] == steps[i - 1] ? run + 1 : 1;
        longest = run > longest ? run : longest;
    }
    assert_in_range(longest, 1, 5); /* 100,000 of 2^32 at random: pairs are likely, five alike are not */
    free(stags);
    free(steps);
}

/* STags depend on the secret, and an STag of one table is invalid in another. */
static void test_secret(void **state)
{
    enum { N = 64 };
    struct fixture *f = *state;
    struct mem_table *other = mem_table_create(0x0123456789abcdeeu);
    struct mem_region *r[N];
    uint32_t a[N], b;
    int same = 0;

    assert_non_null(other);
    for (int i = 0; i < N; i++)
        assert_int_equal(register_memory(f->t, &pd_a, memory, LEN, base, 0, &r[i], &a[i]), 0);
    for (int i = 0; i < N; i++) {
        struct mem_region *q;

        assert_int_equal(register_memory(other, &pd_a, memory, LEN, base, 0, &q, &b), 0);
        for (int k = 0; k < N; k++)
            same += b == a[k];
        assert_true(mem_invalidate(q, NULL, NULL));
        assert_true(mem_invalidate(r[i], NULL, NULL));
    }
    assert_in_range(same, 0, 1);
    mem_table_destroy(other);
}

/* Lookups with STags that were never issued fail. */
static void test_strange_tokens(void **state)
{
    struct fixture *f = *state;
    uint32_t x = 1;

    assert_int_equal(lookup(f, &pd_a, 0, base, 1, 0), WIRE_DDP_TAGGED_STAG);
    for (int i = 0; i < 200000; i++) {
        x = x * 1664525u + 1013904223u;
        if (x != f->stag)
            assert_int_equal(lookup(f, &pd_a, x, base, 1, 0), WIRE_DDP_TAGGED_STAG);
    }
}

/* Fills the table to the last slot and tries one more; then frees all and fills it again. */
static void test_full_table(void **state)
{
    enum { MOST = 1 << 20 };
    struct fixture *f = *state;
    struct mem_region **regions = malloc(MOST * sizeof *regions), *more;
    uint32_t stag;
    int error = 0, n = 0;

    assert_non_null(regions);
    while (n < MOST && (error = register_memory(f->t, &pd_a, memory, LEN, base, 0, &regions[n], &stag)) == 0)
        n++;
    assert_int_equal(error, ENOSPC);
    assert_in_range(n, 1000000, MOST);
    assert_int_equal(lookup(f, &pd_a, stag, base, 1, 0), WIRE_OK);
    assert_true(mem_invalidate(regions[--n], NULL, NULL));
    assert_int_equal(register_memory(f->t, &pd_a, memory, LEN, base, 0, &regions[n++], &stag), 0);
    assert_int_equal(register_memory(f->t, &pd_a, memory, LEN, base, 0, &more, &stag), ENOSPC);
    while (n > 0)
        assert_true(mem_invalidate(regions[--n], NULL, NULL));
    free(regions);
}

/*
 * The race: owners register a block, publish its STag, invalidate, wait for the end of its use, then overwrite the
 * block, and repeat. TSan and the pattern detect a lookup that still protects it. Users look up the published STags.
 */
enum { OWNERS = 2, USERS = 2, BLOCK = 256, ROUNDS = 10000 };

struct block {
    _Atomic uint32_t stag;
    atomic_bool released;
    uint8_t bytes[BLOCK];
};

static struct {
    struct mem_table *t;
    struct block blocks[OWNERS];
    atomic_int active_owners;
    atomic_long hits, misses, torn;
} race;

static void block_on_done(void *context)
{
    atomic_store_explicit(&((struct block *)context)->released, true, memory_order_release);
}

static void *owner_main(void *arg)
{
    struct block *b = arg;

    for (int i = 0; i < ROUNDS; i++) {
        struct mem_region *r;
        uint32_t stag;

        memset(b->bytes, i, BLOCK);
        atomic_store_explicit(&b->released, false, memory_order_relaxed);
        if (register_memory(race.t, &pd_a, b->bytes, BLOCK, base, RDMA_ACCESS_REMOTE_READ, &r, &stag) != 0)
            abort();
        atomic_store_explicit(&b->stag, stag, memory_order_relaxed);
        if (i % 4 == 0)
            sched_yield();
        if (!mem_invalidate(r, block_on_done, b)) {
            while (!atomic_load_explicit(&b->released, memory_order_acquire))
                sched_yield();
        }
    }
    atomic_fetch_sub(&race.active_owners, 1);
    return NULL;
}

static void *user_main(void *arg)
{
    long hits = 0, misses = 0, torn = 0;

    for (unsigned i = 0; atomic_load_explicit(&race.active_owners, memory_order_relaxed) > 0; i++) {
        struct block *b = &race.blocks[i % OWNERS];
        uint32_t stag = atomic_load_explicit(&b->stag, memory_order_relaxed);
        struct mem_ref ref;

        if (mem_lookup(race.t, &pd_a, stag, base, BLOCK, RDMA_ACCESS_REMOTE_READ, &ref) != WIRE_OK) {
            misses++;
            continue;
        }
        hits++;
        for (int k = 1; k < BLOCK; k++)
            torn += ref.at[k] != ref.at[0];
        if (i % 64 == 0)
            sched_yield();
        mem_release(&ref);
    }
    (void)arg;
    atomic_fetch_add(&race.hits, hits);
    atomic_fetch_add(&race.misses, misses);
    atomic_fetch_add(&race.torn, torn);
    return NULL;
}

static void test_race(void **state)
{
    pthread_t owners[OWNERS], users[USERS];

    (void)state;
    race.t = mem_table_create(42);
    assert_non_null(race.t);
    atomic_store(&race.active_owners, OWNERS);
    for (int i = 0; i < USERS; i++)
        assert_int_equal(pthread_create(&users[i], NULL, user_main, NULL), 0);
    for (int i = 0; i < OWNERS; i++)
        assert_int_equal(pthread_create(&owners[i], NULL, owner_main, &race.blocks[i]), 0);
    for (int i = 0; i < OWNERS; i++)
        pthread_join(owners[i], NULL);
    for (int i = 0; i < USERS; i++)
        pthread_join(users[i], NULL);
    print_message("race: %ld hits, %ld misses\n", atomic_load(&race.hits), atomic_load(&race.misses));
    assert_int_equal(atomic_load(&race.torn), 0);
    mem_table_destroy(race.t); /* asserts that every region is freed */
}

/* Threads register, look up and invalidate their own regions in one table, each in its own domain. */
static void *churn_main(void *arg)
{
    struct mem_table *t = arg;
    struct mem_region *regions[64] = { NULL };
    uint32_t stags[64], stag;

    for (int i = 0; i < 40000; i++) {
        int k = i % 64;
        struct mem_ref ref;

        if (regions[k]) {
            if (mem_lookup(t, &regions[k], stags[k], base, 1, 0, &ref) != WIRE_OK)
                abort();
            mem_release(&ref);
            if (!mem_invalidate(regions[k], NULL, NULL))
                abort();
        }
        if (register_memory(t, &regions[k], memory, LEN, base, 0, &regions[k], &stag) != 0)
            abort();
        stags[k] = stag;
    }
    for (int k = 0; k < 64; k++) {
        if (!mem_invalidate(regions[k], NULL, NULL))
            abort();
    }
    return NULL;
}

static void test_churn(void **state)
{
    struct mem_table *t = mem_table_create(7);
    pthread_t threads[4];

    (void)state;
    assert_non_null(t);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn_main, t), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    mem_table_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ranges, setup, teardown),
        cmocka_unit_test_setup_teardown(test_range_at_the_top, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rights, setup, teardown),
        cmocka_unit_test_setup_teardown(test_domains, setup, teardown),
        cmocka_unit_test_setup_teardown(test_order_of_checks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rundown, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tokens_are_new_and_without_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_secret, setup, teardown),
        cmocka_unit_test_setup_teardown(test_strange_tokens, setup, teardown),
        cmocka_unit_test_setup_teardown(test_full_table, setup, teardown),
        cmocka_unit_test(test_read_errors),
        cmocka_unit_test(test_race),
        cmocka_unit_test(test_churn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
