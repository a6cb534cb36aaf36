/* SPDX-License-Identifier: MIT */
/*
 * Abstract: what requests do to the STag table: prepared, alive and dead registrations, separate pages, windows,
 * groups, logical addresses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "iwarp/memory.h"
#include "iwarp/registration.h"

enum { PAGES = 8, REMOTE = RDMA_ACCESS_REMOTE_READ | RDMA_ACCESS_REMOTE_WRITE | RDMA_ACCESS_LOCAL_WRITE };

static const uint64_t base = 0x7f0000001000u;
static int pd_a, pd_b;

struct fixture {
    struct mem_table *t;
    struct mem_group g, others[2], window;
    uint8_t *memory;
    struct mem_region *mapping;
    uint64_t logical[PAGES];
};

static int setup(void **state)
{
    static struct fixture f;

    f.t = mem_table_create(0x0123456789abcdefu);
    f.memory = aligned_alloc(MEM_PAGE, (size_t)PAGES * MEM_PAGE);
    *state = &f;
    if (!f.t || !f.memory)
        return -1;
    for (uint32_t i = 0; i < PAGES * MEM_PAGE; i++)
        f.memory[i] = (uint8_t)(i * 2654435761u >> 11);
    mem_group_init(&f.g);
    mem_group_init(&f.others[0]);
    mem_group_init(&f.others[1]);
    mem_group_init(&f.window);
    if (mem_map(f.t, f.memory, (uint64_t)PAGES * MEM_PAGE, &f.mapping, &f.logical[0]) != 0)
        return -1;
    for (int i = 1; i < PAGES; i++)
        f.logical[i] = f.logical[0] + (uint64_t)i * MEM_PAGE;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    mem_group_kill(&f->window);
    mem_group_kill(&f->g);
    mem_group_kill(&f->others[0]);
    mem_group_kill(&f->others[1]);
    mem_unmap(f->mapping);
    mem_table_destroy(f->t); /* asserts that every region is freed */
    free(f->memory);
    return 0;
}

static uint32_t prepare(struct fixture *f, struct mem_group *g, unsigned access)
{
    struct rdma_pages p = {
        .logical = f->logical,
        .count = PAGES,
        .len = (uint64_t)PAGES * MEM_PAGE,
        .base_address = base,
        .access = access,
    };
    uint32_t stag = 0;

    assert_int_equal(mem_prepare_pages(f->t, g, &pd_a, &p, &stag), 0);
    assert_int_not_equal(stag, 0);
    return stag;
}

static uint32_t make_alive(struct fixture *f, struct mem_group *g, unsigned access)
{
    uint32_t stag = prepare(f, g, access);

    assert_int_equal(mem_activate(f->t, stag, true), MEM_DONE);
    return stag;
}

static enum wire_error lookup(struct fixture *f, uint32_t stag, uint64_t to, uint64_t len, unsigned access)
{
    struct mem_ref ref;
    enum wire_error e = mem_lookup(f->t, &pd_a, stag, to, len, access, &ref);

    mem_release(&ref);
    return e;
}

static bool is_alive(struct fixture *f, uint32_t stag)
{
    return lookup(f, stag, base, 1, 0) == WIRE_OK;
}

static bool is_known(struct fixture *f, uint32_t stag)
{
    return mem_check(f->t, &pd_a, stag, base, 1, 0) == WIRE_OK;
}

/*
 * Posts find a registration from its preparation on, lookups from its activation on, and neither after it ended.
 * covers: INV-03
 */
static void test_life(void **state)
{
    struct fixture *f = *state;
    uint32_t stag = prepare(f, &f->g, REMOTE);

    assert_true(is_known(f, stag));
    assert_int_equal(lookup(f, stag, base, 1, 0), WIRE_DDP_TAGGED_STAG);
    assert_int_equal(mem_check(f->t, &pd_b, stag, base, 1, 0), WIRE_DDP_TAGGED_STREAM);
    assert_int_equal(mem_revoke(f->t, &pd_a, stag, true), WIRE_RDMAP_INVALID_STAG);
    assert_int_equal(mem_check_revoke(f->t, &pd_a, stag, true), WIRE_RDMAP_INVALID_STAG);
    assert_int_equal(mem_check_revoke(f->t, &pd_a, stag, false), WIRE_OK);
    assert_int_equal(mem_activate(f->t, stag, true), MEM_DONE);
    assert_true(is_alive(f, stag));
    assert_int_equal(mem_check_revoke(f->t, &pd_a, stag, true), WIRE_OK);
    mem_discard(f->t, &pd_a, stag); /* discards prepared registrations only */
    assert_true(is_alive(f, stag));
    assert_int_equal(mem_revoke(f->t, &pd_a, stag, false), WIRE_OK);
    assert_false(is_alive(f, stag));
    assert_false(is_known(f, stag));
    assert_int_equal(mem_revoke(f->t, &pd_a, stag, false), WIRE_RDMAP_INVALID_STAG);
    assert_int_equal(mem_check_revoke(f->t, &pd_a, stag, false), WIRE_RDMAP_INVALID_STAG);
    assert_int_equal(mem_activate(f->t, stag, true), MEM_GONE);
}

/* A registration ends before its activation, which then fails. */
static void test_never_alive(void **state)
{
    struct fixture *f = *state;
    uint32_t discarded = prepare(f, &f->g, REMOTE), revoked = prepare(f, &f->g, REMOTE);

    mem_discard(f->t, &pd_b, discarded);
    assert_true(is_known(f, discarded));
    mem_discard(f->t, &pd_a, discarded);
    mem_discard(f->t, &pd_a, discarded);
    assert_false(is_known(f, discarded));
    assert_int_equal(mem_activate(f->t, discarded, true), MEM_GONE);
    assert_int_equal(mem_revoke(f->t, &pd_a, revoked, false), WIRE_OK);
    assert_int_equal(mem_activate(f->t, revoked, true), MEM_GONE);
    assert_true(mem_group_close(&f->g, NULL, NULL));
}

/* Which registrations this side and the peer may revoke. covers: INV-02 */
static void test_who_may_revoke(void **state)
{
    struct fixture *f = *state;
    uint32_t both = make_alive(f, &f->g, REMOTE), local = make_alive(f, &f->others[0], RDMA_ACCESS_LOCAL_WRITE),
             lasting;
    uint32_t readable = make_alive(f, &f->others[1], RDMA_ACCESS_REMOTE_READ);
    struct mem_region *r;

    assert_int_equal(register_memory(f->t, &pd_a, f->memory, 16, base, REMOTE, &r, &lasting), 0);
    for (int peer = 0; peer < 2; peer++) {
        assert_int_equal(mem_revoke(f->t, &pd_a, 0, peer), WIRE_RDMAP_INVALID_STAG);
        assert_int_equal(mem_revoke(f->t, &pd_b, both, peer), WIRE_RDMAP_STAG_NOT_ASSOCIATED);
        assert_int_equal(mem_revoke(f->t, &pd_a, lasting, peer), WIRE_RDMAP_CANNOT_INVALIDATE);
        assert_int_equal(mem_check_revoke(f->t, &pd_b, both, peer), WIRE_RDMAP_STAG_NOT_ASSOCIATED);
        assert_int_equal(mem_check_revoke(f->t, &pd_a, lasting, peer), WIRE_RDMAP_CANNOT_INVALIDATE);
    }
    assert_int_equal(mem_revoke(f->t, &pd_a, local, true), WIRE_RDMAP_CANNOT_INVALIDATE);
    assert_true(is_alive(f, local));
    assert_true(is_alive(f, lasting));
    assert_int_equal(mem_revoke(f->t, &pd_a, both, true), WIRE_OK);
    assert_int_equal(mem_revoke(f->t, &pd_a, readable, true), WIRE_OK);
    assert_int_equal(mem_revoke(f->t, &pd_a, local, false), WIRE_OK);
    assert_true(mem_invalidate(r, NULL, NULL));
}

/* A new registration becomes alive when the old one dies, and the two have different STags. covers: INV-09 */
static void test_replaces(void **state)
{
    struct fixture *f = *state;
    uint32_t old = make_alive(f, &f->g, REMOTE), new = prepare(f, &f->g, REMOTE), third = prepare(f, &f->g, REMOTE);

    assert_int_not_equal(old, new);
    assert_true(is_alive(f, old));
    assert_int_equal(mem_activate(f->t, new, true), MEM_DONE);
    assert_false(is_alive(f, old));
    assert_true(is_alive(f, new));
    assert_int_equal(mem_revoke(f->t, &pd_a, new, false), WIRE_OK);
    assert_int_equal(mem_activate(f->t, third, true), MEM_DONE); /* its predecessor is dead already */
    assert_true(is_alive(f, third));
}

/* Activation in another order than posting: the registration that was posted first dies. covers: INV-09 */
static void test_late_turns(void **state)
{
    struct fixture *f = *state;
    uint32_t stags[4];

    for (int i = 0; i < 4; i++)
        stags[i] = prepare(f, &f->g, REMOTE);
    assert_int_equal(mem_activate(f->t, stags[1], true), MEM_DONE);
    assert_int_equal(mem_activate(f->t, stags[0], false), MEM_DONE);
    assert_false(is_known(f, stags[0]));
    assert_true(is_alive(f, stags[1]));
    assert_int_equal(mem_activate(f->t, stags[3], true), MEM_DONE);
    assert_int_equal(mem_revoke(f->t, &pd_a, stags[3], true), WIRE_OK);
    assert_int_equal(mem_activate(f->t, stags[2], true), MEM_DONE); /* the one that replaced it has ended meanwhile */
    for (int i = 0; i < 4; i++)
        assert_false(is_known(f, stags[i]));
}

/* Without wait, mem_activate kills nothing. */
static void test_without_wait(void **state)
{
    struct fixture *f = *state;
    uint32_t first = prepare(f, &f->g, REMOTE), second = prepare(f, &f->g, REMOTE);
    struct mem_ref ref;

    assert_int_equal(mem_activate(f->t, first, false), MEM_DONE);
    assert_int_equal(mem_activate(f->t, second, false), MEM_BUSY);
    assert_int_equal(mem_lookup(f->t, &pd_a, first, base, 1, 0, &ref), WIRE_OK);
    assert_int_equal(mem_activate(f->t, second, false), MEM_BUSY);
    assert_true(is_alive(f, first));
    assert_true(is_known(f, second));
    assert_false(is_alive(f, second));
    mem_release(&ref);
    assert_int_equal(mem_activate(f->t, second, true), MEM_DONE);
    assert_false(is_alive(f, first));
}

/* Returns the STag that an invalidation ends. The group's description has the same STag. */
static uint32_t current_stag(struct mem_group *g)
{
    uint32_t stag = mem_group_current_stag(g);
    struct mem_description d;
    bool is_registered = mem_group_describe(g, &d);

    assert_int_equal(is_registered, d.len > 0);
    assert_int_equal(d.stag, stag);
    return stag;
}

/*
 * The STag that an invalidation ends: the newest that is prepared or alive, else the last that was alive.
 * covers: INV-08 INV-09
 */
static void test_newest(void **state)
{
    struct fixture *f = *state;
    struct mem_region *r;
    uint32_t stags[3], lasting;

    assert_int_equal(current_stag(&f->g), 0);
    stags[0] = prepare(f, &f->g, REMOTE);
    assert_int_equal(current_stag(&f->g), stags[0]);
    mem_discard(f->t, &pd_a, stags[0]);
    assert_int_equal(current_stag(&f->g), 0); /* a discarded registration leaves no trace */
    for (int i = 0; i < 3; i++)
        stags[i] = prepare(f, &f->g, REMOTE);
    assert_int_equal(mem_activate(f->t, stags[0], true), MEM_DONE);
    assert_int_equal(current_stag(&f->g), stags[2]);
    mem_discard(f->t, &pd_a, stags[1]);
    mem_discard(f->t, &pd_a, stags[2]);
    assert_int_equal(current_stag(&f->g), stags[0]);
    assert_int_equal(mem_revoke(f->t, &pd_a, stags[0], true), WIRE_OK);
    assert_int_equal(current_stag(&f->g), stags[0]);
    assert_int_equal(mem_register(f->t, &f->others[0], &pd_a, f->memory, 16, base, 0, &r, &lasting), 0);
    assert_int_equal(current_stag(&f->others[0]), lasting);
    assert_true(mem_invalidate(r, NULL, NULL));
    assert_int_equal(current_stag(&f->others[0]), lasting);
}

/*
 * The STag that the consumer receives: the newest, also if that has ended, unless its request was not posted.
 * covers: INV-08 INV-09
 */
static void test_newest_token(void **state)
{
    struct fixture *f = *state;
    uint32_t stags[3];

    assert_int_equal(mem_group_newest_stag(&f->g), 0);
    stags[0] = prepare(f, &f->g, REMOTE);
    assert_int_equal(mem_group_newest_stag(&f->g), stags[0]);
    assert_int_equal(mem_activate(f->t, stags[0], true), MEM_DONE);
    stags[1] = prepare(f, &f->g, REMOTE);
    mem_discard(f->t, &pd_a, stags[1]); /* flushed: the newest STag is still the one that the post received */
    assert_int_equal(mem_group_newest_stag(&f->g), stags[1]);
    assert_int_equal(mem_group_current_stag(&f->g), stags[0]);
    stags[2] = prepare(f, &f->g, REMOTE);
    mem_group_unprepare(f->t, &f->g, &pd_a, stags[2]);
    assert_int_equal(mem_group_newest_stag(&f->g), stags[0]);
    assert_false(is_known(f, stags[2]));
    assert_true(is_alive(f, stags[0]));
}

static void refused(struct fixture *f, uint32_t stag)
{
    mem_group_unprepare(f->t, &f->g, &pd_a, stag);
    assert_false(is_known(f, stag));
    assert_int_equal(mem_activate(f->t, stag, true), MEM_GONE);
}

/* If the first registration is not posted, the next one has its STag, which was reserved before. covers: INV-04 */
static void test_first_refused(void **state)
{
    struct fixture *f = *state;
    struct rdma_pages separate = { .count = 2, .len = 2 * MEM_PAGE, .base_address = base, .access = REMOTE };
    uint64_t logical[] = { f->logical[5], f->logical[1] };
    uint32_t reserved, stag, second;

    separate.logical = logical;
    assert_int_equal(mem_group_reserve(f->t, &f->g), 0);
    reserved = mem_group_newest_stag(&f->g);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mem_prepare_pages(f->t, &f->g, &pd_a, &separate, &stag), 0);
        assert_int_equal(stag, reserved);
        refused(f, stag);
        assert_int_equal(mem_group_newest_stag(&f->g), reserved);
        assert_int_equal(mem_group_current_stag(&f->g), 0);
    }
    assert_int_equal(mem_group_reserve(f->t, &f->g), 0);
    assert_int_equal(make_alive(f, &f->g, REMOTE), reserved);
    assert_true(is_alive(f, reserved));
    second = prepare(f, &f->g, REMOTE);
    refused(f, second);
    assert_int_not_equal(prepare(f, &f->g, REMOTE), second);
}

/* A window of a registration that is refused never names the next registration with its STag. covers: INV-08 */
static void test_refused_under_a_window(void **state)
{
    struct fixture *f = *state;
    uint32_t stag = prepare(f, &f->g, REMOTE), window;

    assert_int_equal(mem_prepare_window(f->t, &f->window, &pd_a, stag, base, 16, RDMA_ACCESS_REMOTE_READ, &window), 0);
    refused(f, stag);
    assert_int_not_equal(make_alive(f, &f->g, REMOTE), stag);
    assert_int_equal(mem_activate(f->t, window, true), MEM_GONE);
    assert_int_equal(lookup(f, window, base, 1, RDMA_ACCESS_REMOTE_READ), WIRE_DDP_TAGGED_STAG);
}

/* If the group was closed meanwhile, nothing stays reserved. */
static void test_refused_while_closing(void **state)
{
    struct fixture *f = *state;
    uint32_t stag = prepare(f, &f->g, REMOTE);

    mem_group_kill(&f->g);
    mem_group_unprepare(f->t, &f->g, &pd_a, stag);
    assert_true(mem_group_close(&f->g, NULL, NULL));
    mem_group_init(&f->g);
    refused(f, prepare(f, &f->g, REMOTE));
    assert_true(mem_group_close(&f->g, NULL, NULL)); /* teardown checks that the reserved slot is free again */
}

/* Asserts that the bytes [to, to + len) of the range are those of the pages in their order. */
static void assert_maps(struct fixture *f, uint32_t stag, const int *order, uint32_t offset, uint64_t to, uint64_t len)
{
    while (len > 0) {
        struct mem_ref ref;

        assert_int_equal(mem_lookup(f->t, &pd_a, stag, base + to, len, 0, &ref), WIRE_OK);
        assert_in_range(ref.run, 1, len);
        for (uint64_t i = 0; i < ref.run; i++) {
            uint64_t at = to + i + offset;
            const uint8_t *page = f->memory + (size_t)order[at / MEM_PAGE] * MEM_PAGE;
            if (ref.at + i != page + at % MEM_PAGE)
                fail_msg("octet %llu is elsewhere", (unsigned long long)(to + i));
        }
        to += ref.run;
        len -= ref.run;
        mem_release(&ref);
    }
}

/* covers: INV-04 */
static void test_pages(void **state)
{
    static const int orders[][4] = { { 0, 1, 2, 3 }, { 3, 2, 1, 0 }, { 5, 6, 1, 2 }, { 4, 4, 4, 4 }, { 0, 1, 7, 6 } };
    static const uint32_t offsets[] = { 0, 1, 100, MEM_PAGE - 1 };
    struct fixture *f = *state;

    for (unsigned o = 0; o < sizeof orders / sizeof orders[0]; o++) {
        for (unsigned k = 0; k < sizeof offsets / sizeof offsets[0]; k++) {
            uint64_t logical[4], len = 4 * MEM_PAGE - offsets[k] - (o % 2 ? 5 : 0);
            struct rdma_pages p = {
                .logical = logical,
                .count = 4,
                .offset = offsets[k],
                .len = len,
                .base_address = base,
                .access = REMOTE,
            };
            uint32_t stag;

            for (int i = 0; i < 4; i++)
                logical[i] = f->logical[orders[o][i]];
            assert_int_equal(mem_prepare_pages(f->t, &f->g, &pd_a, &p, &stag), 0);
            assert_int_equal(mem_activate(f->t, stag, true), MEM_DONE);
            assert_maps(f, stag, orders[o], offsets[k], 0, len);
            assert_maps(f, stag, orders[o], offsets[k], MEM_PAGE / 2, MEM_PAGE);
            assert_maps(f, stag, orders[o], offsets[k], len - 1, 1);
            assert_int_equal(lookup(f, stag, base + len, 0, 0), WIRE_OK);
            assert_int_equal(lookup(f, stag, base, len + 1, 0), WIRE_DDP_TAGGED_BOUNDS);
            assert_int_equal(lookup(f, stag, base - 1, 1, 0), WIRE_DDP_TAGGED_BOUNDS);
            assert_int_equal(mem_revoke(f->t, &pd_a, stag, false), WIRE_OK);
        }
    }
}

/* covers: INV-06 */
static void test_pages_refused(void **state)
{
    struct fixture *f = *state;
    uint64_t two[2] = { f->logical[0], f->logical[2] };
    const struct rdma_pages good = {
        .logical = two, .count = 2, .offset = 8, .len = 2 * MEM_PAGE - 8, .base_address = base
    };
    struct rdma_pages p = good;
    uint32_t stag;

    p.len++;
    assert_int_equal(mem_prepare_pages(f->t, &f->g, &pd_a, &p, &stag), EINVAL);
    p.len = UINT64_MAX - 4;
    assert_int_equal(mem_prepare_pages(f->t, &f->g, &pd_a, &p, &stag), EINVAL);
    p.len = 0;
    assert_int_equal(mem_prepare_pages(f->t, &f->g, &pd_a, &p, &stag), EINVAL);
    p = good;
    p.count = 0;
    assert_int_equal(mem_prepare_pages(f->t, &f->g, &pd_a, &p, &stag), EINVAL);
    p = good;
    p.offset = MEM_PAGE;
    p.len = 16;
    assert_int_equal(mem_prepare_pages(f->t, &f->g, &pd_a, &p, &stag), EINVAL);
    p = good;
    two[1] = f->logical[PAGES - 1] + MEM_PAGE; /* beyond the mapping */
    assert_int_equal(mem_prepare_pages(f->t, &f->g, &pd_a, &p, &stag), EFAULT);
    two[1] = f->logical[2] + 8;
    assert_int_equal(mem_prepare_pages(f->t, &f->g, &pd_a, &p, &stag), EFAULT);
    two[1] = 0;
    assert_int_equal(mem_prepare_pages(f->t, &f->g, &pd_a, &p, &stag), EFAULT);
    two[0] = f->logical[1] ^ (uint64_t)1 << 40;
    assert_int_equal(mem_prepare_pages(f->t, &f->g, &pd_a, &p, &stag), EFAULT);
    assert_true(mem_group_close(&f->g, NULL, NULL)); /* no registration remains */
}

/* covers: INV-08 */
static void test_window_refused(void **state)
{
    struct fixture *f = *state;
    uint32_t readable = make_alive(f, &f->others[0], 0), whole = make_alive(f, &f->g, RDMA_ACCESS_LOCAL_WRITE), w, stag;
    uint64_t len = (uint64_t)PAGES * MEM_PAGE;

    assert_int_equal(mem_prepare_window(f->t, &f->window, &pd_a, 0, base, 1, 0, &stag), ENOENT);
    assert_int_equal(mem_prepare_window(f->t, &f->window, &pd_b, whole, base, 1, 0, &stag), ENOENT);
    assert_int_equal(mem_prepare_window(f->t, &f->window, &pd_a, whole, base - 1, 2, 0, &stag), ERANGE);
    assert_int_equal(mem_prepare_window(f->t, &f->window, &pd_a, whole, base, len + 1, 0, &stag), ERANGE);
    assert_int_equal(mem_prepare_window(f->t, &f->window, &pd_a, whole, base + 1, UINT64_MAX, 0, &stag), ERANGE);
    assert_int_equal(mem_prepare_window(f->t, &f->window, &pd_a, whole, base, 0, 0, &stag), ERANGE);
    assert_int_equal(mem_prepare_window(f->t, &f->window, &pd_a, readable, base, 1, RDMA_ACCESS_REMOTE_WRITE, &stag),
                     EACCES);
    assert_int_equal(mem_prepare_window(f->t, &f->window, &pd_a, whole, base, 1, RDMA_ACCESS_REMOTE_WRITE, &w), 0);
    assert_int_equal(mem_prepare_window(f->t, &f->window, &pd_a, w, base, 1, 0, &stag), ENOENT);
    mem_discard(f->t, &pd_a, w);
    assert_true(mem_group_close(&f->window, NULL, NULL));
}

static void count_done(void *context)
{
    ++*(int *)context;
}

/* A window has rights of its own, ends with its region, and keeps the region's group from emptying. covers: INV-08 */
static void test_window(void **state)
{
    struct fixture *f = *state;
    uint32_t whole = prepare(f, &f->g, RDMA_ACCESS_LOCAL_WRITE), w, late;
    struct mem_ref ref;
    int empty = 0;

    assert_int_equal(mem_prepare_window(f->t, &f->window, &pd_a, whole, base + 100, 50, RDMA_ACCESS_REMOTE_WRITE, &w),
                     0);
    assert_int_equal(mem_prepare_window(f->t, &f->others[0], &pd_a, whole, base, 1, RDMA_ACCESS_REMOTE_WRITE, &late),
                     0);
    assert_int_equal(mem_check(f->t, &pd_a, w, base + 100, 50, RDMA_ACCESS_REMOTE_WRITE), WIRE_OK);
    assert_int_equal(mem_activate(f->t, whole, true), MEM_DONE);
    assert_int_equal(mem_activate(f->t, w, true), MEM_DONE);
    assert_int_equal(lookup(f, w, base + 100, 50, RDMA_ACCESS_REMOTE_WRITE), WIRE_OK);
    assert_int_equal(mem_check(f->t, &pd_a, w, base + 100, 50, RDMA_ACCESS_REMOTE_WRITE), WIRE_OK);
    assert_int_equal(lookup(f, w, base + 99, 1, RDMA_ACCESS_REMOTE_WRITE), WIRE_DDP_TAGGED_BOUNDS);
    assert_int_equal(lookup(f, w, base + 149, 2, RDMA_ACCESS_REMOTE_WRITE), WIRE_DDP_TAGGED_BOUNDS);
    assert_int_equal(lookup(f, w, base + 100, 1, RDMA_ACCESS_REMOTE_READ), WIRE_RDMAP_ACCESS);
    assert_int_equal(mem_lookup(f->t, &pd_a, w, base + 149, 1, RDMA_ACCESS_REMOTE_WRITE, &ref), WIRE_OK);
    assert_ptr_equal(ref.at, f->memory + 149);
    mem_release(&ref);
    assert_int_equal(mem_revoke(f->t, &pd_a, whole, false), WIRE_OK);
    assert_int_equal(lookup(f, w, base + 100, 1, 0), WIRE_DDP_TAGGED_STAG);
    assert_int_equal(mem_check(f->t, &pd_a, w, base + 100, 50, RDMA_ACCESS_REMOTE_WRITE), WIRE_DDP_TAGGED_STAG);
    assert_int_equal(mem_activate(f->t, late, true), MEM_GONE); /* the window's region is not alive */
    mem_group_kill(&f->g);
    assert_false(mem_group_close(&f->g, count_done, &empty)); /* window w is bound to it */
    assert_int_equal(mem_revoke(f->t, &pd_a, w, false), WIRE_OK);
    assert_int_equal(empty, 1);
}

/* Protection keeps a group from emptying, also protection through a window. */
static void test_group(void **state)
{
    struct fixture *f = *state;
    uint32_t live = make_alive(f, &f->g, REMOTE), queued = prepare(f, &f->g, REMOTE), w, stag;
    struct mem_region *r;
    struct mem_ref direct, through;
    int empty = 0, window_empty = 0;
    struct rdma_pages p = { .logical = f->logical, .count = 1, .len = 1 };

    assert_int_equal(mem_prepare_window(f->t, &f->window, &pd_a, live, base, 8, 0, &w), 0);
    assert_int_equal(mem_activate(f->t, w, true), MEM_DONE);
    assert_int_equal(mem_lookup(f->t, &pd_a, live, base, 1, 0, &direct), WIRE_OK);
    assert_int_equal(mem_lookup(f->t, &pd_a, w, base, 1, 0, &through), WIRE_OK);
    mem_group_kill(&f->window);
    mem_group_kill(&f->g);
    mem_group_kill(&f->g);
    assert_false(is_known(f, live) || is_known(f, queued) || is_known(f, w));
    assert_int_equal(mem_prepare_pages(f->t, &f->g, &pd_a, &p, &stag), ECANCELED);
    assert_int_equal(mem_register(f->t, &f->g, &pd_a, f->memory, 1, base, 0, &r, &stag), ECANCELED);
    assert_false(mem_group_close(&f->g, count_done, &empty));
    assert_false(mem_group_close(&f->window, count_done, &window_empty));
    mem_release(&direct);
    assert_int_equal(empty, 0);
    mem_release(&through);
    assert_int_equal(empty, 1);
    assert_int_equal(window_empty, 1);
}

/* The privileged token names logical addresses for requests, and nothing for peers. covers: QPR-18 */
static void test_logical(void **state)
{
    struct fixture *f = *state;
    struct mem_region *odd;
    struct mem_ref ref;
    uint64_t logical;

    assert_int_equal(mem_map(f->t, f->memory + 100, 200, &odd, &logical), 0);
    assert_int_equal(logical % MEM_PAGE, 100);
    assert_int_equal(mem_lookup_local(f->t, &pd_a, 0, logical + 7, 193, RDMA_ACCESS_LOCAL_WRITE, &ref), WIRE_OK);
    assert_ptr_equal(ref.at, f->memory + 107);
    mem_release(&ref);
    assert_int_equal(mem_check(f->t, &pd_a, 0, logical, 201, 0), WIRE_DDP_TAGGED_BOUNDS);
    assert_int_equal(mem_check(f->t, &pd_a, 0, logical - 1, 1, 0), WIRE_DDP_TAGGED_BOUNDS);
    assert_int_not_equal(mem_check(f->t, &pd_a, 0, logical, 1, RDMA_ACCESS_REMOTE_READ), WIRE_OK);
    assert_int_not_equal(lookup(f, 0, logical, 1, 0), WIRE_OK);
    assert_int_equal(lookup(f, (uint32_t)(logical >> 32), logical, 1, 0), WIRE_DDP_TAGGED_STREAM);
    mem_unmap(odd);
    assert_int_equal(mem_check(f->t, &pd_a, 0, logical, 1, 0), WIRE_DDP_TAGGED_STAG);
}

/* The result of a check is not reused by the next check with another range, right or domain. covers: MEM-03 */
static void test_checked_again(void **state)
{
    struct fixture *f = *state;
    uint64_t len = (uint64_t)PAGES * MEM_PAGE, logical;
    uint32_t stag = make_alive(f, &f->g, RDMA_ACCESS_LOCAL_WRITE);
    struct mem_region *r;

    for (int i = 0; i < 2; i++) {
        assert_true(is_known(f, stag));
        assert_int_equal(mem_check(f->t, &pd_a, stag, base, len, RDMA_ACCESS_LOCAL_WRITE), WIRE_OK);
        assert_int_equal(mem_check(f->t, &pd_a, stag, base, len + 1, 0), WIRE_DDP_TAGGED_BOUNDS);
        assert_int_equal(mem_check(f->t, &pd_a, stag, base - 1, 1, 0), WIRE_DDP_TAGGED_BOUNDS);
        assert_int_equal(mem_check(f->t, &pd_a, stag, base + 1, UINT64_MAX - base, 0), WIRE_DDP_TAGGED_BOUNDS);
        assert_int_equal(mem_check(f->t, &pd_a, stag, base + 1, UINT64_MAX, 0), WIRE_DDP_TAGGED_WRAP);
        assert_int_equal(mem_check(f->t, &pd_a, stag, base, 1, RDMA_ACCESS_REMOTE_READ), WIRE_RDMAP_ACCESS);
        assert_int_equal(mem_check(f->t, &pd_b, stag, base, 1, 0), WIRE_DDP_TAGGED_STREAM);
        assert_int_not_equal(mem_check(f->t, &pd_a, stag + 4, base, 1, 0), WIRE_OK);
    }
    assert_int_equal(mem_revoke(f->t, &pd_a, stag, false), WIRE_OK);
    assert_false(is_known(f, stag));
    assert_int_equal(mem_map(f->t, f->memory, 200, &r, &logical), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(mem_check(f->t, &pd_a, 0, logical, 200, RDMA_ACCESS_LOCAL_WRITE), WIRE_OK);
    mem_unmap(r);
    assert_int_equal(mem_check(f->t, &pd_a, 0, logical, 200, RDMA_ACCESS_LOCAL_WRITE), WIRE_DDP_TAGGED_STAG);
}

/* A registration that is prepared after a refused post has the same STag and its own range. covers: INV-03 */
static void test_prepared_checked_again(void **state)
{
    struct fixture *f = *state;
    struct rdma_pages p = { .logical = f->logical, .count = 1, .len = 10, .base_address = base, .access = 0 };
    uint32_t stag = prepare(f, &f->g, RDMA_ACCESS_LOCAL_WRITE), again = 0;

    assert_int_equal(mem_check(f->t, &pd_a, stag, base, 11, RDMA_ACCESS_LOCAL_WRITE), WIRE_OK);
    mem_group_unprepare(f->t, &f->g, &pd_a, stag);
    assert_false(is_known(f, stag));
    assert_int_equal(mem_prepare_pages(f->t, &f->g, &pd_a, &p, &again), 0);
    assert_int_equal(again, stag);
    assert_int_equal(mem_check(f->t, &pd_a, stag, base, 11, 0), WIRE_DDP_TAGGED_BOUNDS);
    assert_int_equal(mem_check(f->t, &pd_a, stag, base, 10, RDMA_ACCESS_LOCAL_WRITE), WIRE_RDMAP_ACCESS);
    mem_discard(f->t, &pd_a, stag);
}

/* A new table at the address of a freed one, with the same secret and therefore the same STags. */
static void test_next_table(void **state)
{
    struct mem_region *r;
    struct mem_table *t;
    uint8_t memory[16];
    uint32_t stag = 0;

    (void)state;
    for (int i = 0; i < 20; i++) {
        t = mem_table_create(5);
        assert_non_null(t);
        if (i % 2 == 0) {
            assert_int_equal(register_memory(t, &pd_a, memory, sizeof memory, base, 0, &r, &stag), 0);
            assert_int_equal(mem_check(t, &pd_a, stag, base, 16, 0), WIRE_OK);
            assert_true(mem_invalidate(r, NULL, NULL));
        } else {
            assert_int_equal(mem_check(t, &pd_a, stag, base, 16, 0), WIRE_DDP_TAGGED_STAG);
        }
        mem_table_destroy(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_life, setup, teardown),
        cmocka_unit_test_setup_teardown(test_never_alive, setup, teardown),
        cmocka_unit_test_setup_teardown(test_who_may_revoke, setup, teardown),
        cmocka_unit_test_setup_teardown(test_replaces, setup, teardown),
        cmocka_unit_test_setup_teardown(test_late_turns, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(test_newest, setup, teardown),
        cmocka_unit_test_setup_teardown(test_newest_token, setup, teardown),
        cmocka_unit_test_setup_teardown(test_first_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused_under_a_window, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused_while_closing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pages, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pages_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_window_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_window, setup, teardown),
        cmocka_unit_test_setup_teardown(test_group, setup, teardown),
        cmocka_unit_test_setup_teardown(test_logical, setup, teardown),
        cmocka_unit_test_setup_teardown(test_checked_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_prepared_checked_again, setup, teardown),
        cmocka_unit_test(test_next_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
