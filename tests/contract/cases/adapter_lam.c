/* SPDX-License-Identifier: MIT */
/*
 * ADP: logical address mappings: the chains that can be mapped, the contents of the mapping, and the memory of its
 * pages.
 */
#include <pthread.h>

#include "contract/kit/data.h"

enum { MOST_PAGES = 70, MEMORY = MOST_PAGES * PAGE_SIZE, MOST_PIECES = 7, GUARD = 64 };

/* A mapping in a buffer with a guard behind it. */
struct mapping {
    union {
        NDK_LOGICAL_ADDRESS_MAPPING lam;
        uint8_t bytes[0x10 + MOST_PAGES * 8 + GUARD];
    } at;
    ULONG size, fbo;
};

static uint8_t memory[MEMORY + PAGE_SIZE] __attribute__((aligned(PAGE_SIZE)));

static NTSTATUS build(NDK_ADAPTER *a, MDL *mdl, SIZE_T length, struct mapping *m)
{
    struct kit_call call = { 0 };

    memset(&m->at, 0xee, sizeof m->at);
    m->fbo = 0xeeeeeeee;
    return kit_final(&call,
                     a->Dispatch->NdkBuildLAM(a, mdl, length, kit_request_done, &call, &m->at.lam, &m->size, &m->fbo));
}

static void build_good(NDK_ADAPTER *a, MDL *mdl, SIZE_T length, struct mapping *m)
{
    m->size = sizeof m->at;
    CHECK_STATUS(build(a, mdl, length, m), STATUS_SUCCESS);
}

static void release(NDK_ADAPTER *a, struct mapping *m)
{
    a->Dispatch->NdkReleaseLAM(a, &m->at.lam);
}

static uint64_t page_at(const struct mapping *m, ULONG i)
{
    uint64_t page;

    memcpy(&page, m->at.bytes + 0x10 + i * 8, sizeof page);
    return page;
}

static ULONG pages_of(const uint8_t *at, SIZE_T length)
{
    return (ULONG)(((uintptr_t)at % PAGE_SIZE + length + PAGE_SIZE - 1) / PAGE_SIZE);
}

/* Checks the mapping of length bytes at `at`. */
static void check_mapping(const struct mapping *m, const uint8_t *at, SIZE_T length)
{
    ULONG pages = pages_of(at, length);

    CHECK_EQ(m->size, 0x10 + pages * 8);
    CHECK_EQ(m->at.lam.AdapterPageCount, pages);
    CHECK_EQ(m->fbo, (uintptr_t)at % PAGE_SIZE);
    for (ULONG i = 0; i < pages; i++) {
        CHECK_EQ(page_at(m, i) % PAGE_SIZE, 0);
        for (ULONG j = 0; j < i; j++)
            CHECK(page_at(m, i) != page_at(m, j));
    }
    for (int i = 0; i < GUARD; i++)
        CHECK_EQ(m->at.bytes[m->size + i], 0xee);
}

static const size_t offsets[] = { 0, 1, 100, 2048, 4095 };
static const SIZE_T lengths[] = { 1, 2, 4095, 4096, 4097, 8192, 3 * 4096 + 11, (MOST_PAGES - 1) * 4096 };
enum { OFFSETS = sizeof offsets / sizeof offsets[0], LENGTHS = sizeof lengths / sizeof lengths[0] };

/* ---- ADP-05 ---- */

/* Describes the `length` bytes at `at` by a chain of `pieces` MDLs of random lengths. */
static void chain(MDL *mdls, uint8_t *at, ULONG length, unsigned pieces, uint64_t *seed)
{
    ULONG end = length;

    for (unsigned i = pieces; i-- > 0;) {
        ULONG begin = i == 0 ? 0 : i + data_random_below(seed, end - i);
        kit_init_mdl(&mdls[i], at + begin, end - begin, i + 1 < pieces ? &mdls[i + 1] : NULL);
        end = begin;
    }
}

/* covers: ADP-05, ADP-06, ADP-07 */
CASE(adp_05_chains_cut_anywhere, 0)
{
    NDK_ADAPTER *a = kit_open(2, 1);
    uint64_t seed = 5;
    struct mapping m;
    MDL mdls[MOST_PIECES], before[MOST_PIECES];

    for (unsigned round = 0; round < 200; round++) {
        uint8_t *at = memory + data_random_below(&seed, PAGE_SIZE);
        ULONG length = 20 + data_random_below(&seed, 50000), part = 1 + data_random_below(&seed, length);
        unsigned pieces = 1 + round % MOST_PIECES;

        chain(mdls, at, length, pieces, &seed);
        memcpy(before, mdls, sizeof before[0] * pieces);
        build_good(a, mdls, part, &m);
        CHECK(memcmp(before, mdls, sizeof before[0] * pieces) == 0);
        check_mapping(&m, at, part);
        release(a, &m);
        CHECK(memcmp(before, mdls, sizeof before[0] * pieces) == 0);
    }
    kit_close_adapter(a);
}

/*
 * Checks that the provider refuses to map the MDL. A refused call leaves no mapping that the adapter's close would wait
 * for.
 */
static void check_lam_refused(NDK_ADAPTER *a, MDL *mdl, SIZE_T length)
{
    struct mapping m = { .size = sizeof m.at };

    CHECK_STATUS(build(a, mdl, length, &m), STATUS_INVALID_PARAMETER);
    m.size = 0;
    CHECK_STATUS(build(a, mdl, length, &m), STATUS_INVALID_PARAMETER);
}

/* covers: ADP-05 */
CASE(adp_05_a_chain_with_a_hole, 0)
{
    static const ptrdiff_t wrong[] = { 1001, 999, 0, 2000, 1000 + 4096, 1000 - 4096 };
    NDK_ADAPTER *a = kit_open(2, 1);
    uint8_t *base = memory + 4096;
    struct mapping m;
    MDL mdls[3];

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        kit_init_mdl(&mdls[1], base + wrong[i], 1000, NULL);
        kit_init_mdl(&mdls[0], base, 1000, &mdls[1]);
        check_lam_refused(a, mdls, 2000);
        check_lam_refused(a, mdls, 1001);
        build_good(a, mdls, 1000, &m); /* the gap is behind the mapped length */
        check_mapping(&m, base, 1000);
        release(a, &m);
    }
    kit_init_mdl(&mdls[2], base + 2001, 1000, NULL);
    kit_init_mdl(&mdls[1], base + 1000, 1000, &mdls[2]);
    kit_init_mdl(&mdls[0], base, 1000, &mdls[1]);
    check_lam_refused(a, mdls, 3000);
    kit_close_adapter(a);
}

/* covers: ADP-05 */
CASE(adp_05_more_than_the_chain_has, 0)
{
    NDK_ADAPTER *a = kit_open(2, 1);
    struct mapping m;
    MDL mdls[2];

    kit_init_mdl(&mdls[1], memory + 1000, 1000, NULL);
    kit_init_mdl(&mdls[0], memory, 1000, &mdls[1]);
    check_lam_refused(a, mdls, 2001);
    check_lam_refused(a, mdls, SIZE_MAX);
    check_lam_refused(a, mdls, 0);
    check_lam_refused(a, &mdls[1], 1001);
    build_good(a, mdls, 2000, &m);
    check_mapping(&m, memory, 2000);
    release(a, &m);
    kit_close_adapter(a);
}

/* ---- ADP-06 ---- */

/*
 * If the buffer is too short, NdkBuildLAM must fail and return the required size. A buffer of that size must suffice.
 */
static void check_sizes(NDK_ADAPTER *a, uint8_t *at, SIZE_T length)
{
    ULONG needed = 0x10 + pages_of(at, length) * 8;
    const ULONG shorter[] = { 0, 1, 0x10, needed - 8, needed - 1 };
    struct kit_call call = { 0 };
    struct mapping m;
    MDL mdl;

    kit_init_mdl(&mdl, at, (ULONG)length, NULL);
    m.size = 0;
    CHECK_STATUS(a->Dispatch->NdkBuildLAM(a, &mdl, length, kit_request_done, &call, NULL, &m.size, &m.fbo),
                 STATUS_BUFFER_TOO_SMALL);
    CHECK_EQ(m.size, needed);
    for (size_t i = 0; i < sizeof shorter / sizeof shorter[0]; i++) {
        m.size = shorter[i];
        CHECK_STATUS(build(a, &mdl, length, &m), STATUS_BUFFER_TOO_SMALL);
        CHECK_EQ(m.size, needed);
        for (size_t j = shorter[i]; j < sizeof m.at; j++)
            CHECK_EQ(m.at.bytes[j], 0xee);
    }
    m.size = needed;
    CHECK_STATUS(build(a, &mdl, length, &m), STATUS_SUCCESS);
    check_mapping(&m, at, length);
    release(a, &m);
}

/* covers: ADP-06 */
CASE(adp_06_sizes_counts_and_offsets, 0)
{
    NDK_ADAPTER *a = kit_open(2, 1);

    for (int i = 0; i < OFFSETS; i++)
        for (int j = 0; j < LENGTHS; j++)
            check_sizes(a, memory + offsets[i], lengths[j]);
    kit_close_adapter(a);
}

/* Returns an SGE for the mapped bytes in the mapping's page i. `length` is the length of the whole mapping. */
static NDK_SGE page_sge(const struct mapping *m, SIZE_T length, ULONG i, UINT32 token)
{
    SIZE_T from = i == 0 ? m->fbo : 0, before = i == 0 ? 0 : (SIZE_T)i * PAGE_SIZE - m->fbo;
    SIZE_T room = PAGE_SIZE - from, left = length - before;
    NDK_SGE sge = { .Length = (ULONG)(left < room ? left : room), .MemoryRegionToken = token };

    sge.LogicalAddress.QuadPart = (LONGLONG)(page_at(m, i) + from);
    return sge;
}

/* Writes the pages to the peer's memory, the last page first. Then compares that memory with the mapped bytes. */
static void check_pages(struct kit_pair *p, const struct mapping *m, const uint8_t *at, SIZE_T length, UINT32 token)
{
    struct kit_side *s = &p->active, *peer = &p->passive;
    SIZE_T end = length;

    for (ULONG i = m->at.lam.AdapterPageCount; i-- > 0;) {
        NDK_SGE sge = page_sge(m, length, i, token);

        end -= sge.Length;
        CHECK_STATUS(data_write(s, 1, &sge, (uintptr_t)peer->memory + end, peer->remote_token), STATUS_SUCCESS);
        CHECK_STATUS(kit_result(s).Status, STATUS_SUCCESS);
    }
    CHECK_EQ(end, 0);
    data_wait_delivered(s, peer);
    CHECK(memcmp(peer->memory, at, length) == 0);
}

/* covers: ADP-06, QPR-18 */
CASE(adp_06_the_pages_are_the_memory, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct mapping m;
    UINT32 token;
    MDL mdls[2];

    kit_pair_open(&p);
    p.active.pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(p.active.pd, &token);
    for (unsigned i = 0; i < OFFSETS; i++)
        for (unsigned j = 0; j < LENGTHS; j++) {
            uint8_t *at = memory + offsets[i];
            ULONG first = (ULONG)(lengths[j] + 1) / 2;

            kit_pattern(memory, sizeof memory, i * 100 + j);
            memset(p.passive.memory, 0, lengths[j]);
            kit_init_mdl(&mdls[1], at + first, (ULONG)lengths[j] - first + 1, NULL);
            kit_init_mdl(&mdls[0], at, first, &mdls[1]);
            build_good(p.active.adapter, mdls, lengths[j], &m);
            check_pages(&p, &m, at, lengths[j], token);
            release(p.active.adapter, &m);
        }
    kit_pair_close(&p);
}

/* ---- ADP-07, and the release of a mapping ---- */

/* covers: ADP-07 */
CASE(adp_07_the_chain_is_as_it_was, 0)
{
    static uint8_t was[sizeof memory];
    NDK_ADAPTER *a = kit_open(2, 1);
    struct mapping m;
    MDL mdls[3], before[3];

    kit_pattern(memory, sizeof memory, 7);
    memcpy(was, memory, sizeof was);
    kit_init_mdl(&mdls[2], memory + 9000, 9000, NULL);
    kit_init_mdl(&mdls[1], memory + 300, 8700, &mdls[2]);
    kit_init_mdl(&mdls[0], memory + 10, 290, &mdls[1]);
    memcpy(before, mdls, sizeof before);
    for (int i = 0; i < 3; i++) {
        build_good(a, mdls, 17990, &m);
        release(a, &m);
        CHECK(memcmp(mdls, before, sizeof before) == 0);
        CHECK(memcmp(memory, was, sizeof was) == 0);
    }
    kit_close_adapter(a);
}

/* Many mappings of the same memory at a time, repeatedly: they are independent, and no resource is exhausted. */
/* covers: ADP-06, ADP-07 */
CASE(adp_07_nothing_runs_out, 0)
{
    enum { MANY = 500 };
    static struct mapping many[MANY];
    NDK_ADAPTER *a = kit_open(2, 1);
    MDL mdl;

    kit_init_mdl(&mdl, memory + 5, 3 * PAGE_SIZE, NULL);
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < MANY; i++)
            build_good(a, &mdl, 3 * PAGE_SIZE, &many[i]);
        for (int i = 0; i < MANY; i++) {
            struct mapping *m = &many[round % 2 ? i : MANY - 1 - i];

            CHECK_EQ(m->at.lam.AdapterPageCount, 4);
            release(a, m);
        }
    }
    kit_close_adapter(a);
}

/* covers: ADP-07, QPR-18 */
CASE(adp_07_released_addresses_touch_nothing, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct mapping m;
    UINT32 token;
    MDL mdl;

    kit_pair_open(&p);
    struct kit_side *s = &p.active;
    s->pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(s->pd, &token);
    kit_init_mdl(&mdl, memory, 100, NULL);
    build_good(s->adapter, &mdl, 100, &m);
    NDK_SGE sge = page_sge(&m, 100, 0, token);
    CHECK_STATUS(data_write(s, 1, &sge, (uintptr_t)p.passive.memory, p.passive.remote_token), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(s).Status, STATUS_SUCCESS);
    release(s->adapter, &m);
    CHECK_STATUS(data_outcome(s, data_write(s, 2, &sge, (uintptr_t)p.passive.memory, p.passive.remote_token)),
                 STATUS_ACCESS_VIOLATION);
    kit_pair_close(&p);
}

/* ---- OBJ-12 ---- */

struct closing {
    NDK_ADAPTER *adapter;
    atomic_int closed;
};

static void *close_adapter(void *arg)
{
    struct closing *c = arg;

    kit_close_adapter(c->adapter);
    kit_increment(&c->closed);
    return NULL;
}

/* covers: OBJ-12, OBJ-14 */
CASE(adp_07_the_adapter_waits_for_a_mapping, 0)
{
    struct closing c = { .adapter = kit_open(2, 1) };
    struct mapping two[2];
    pthread_t thread;
    MDL mdl;

    kit_init_mdl(&mdl, memory, 100, NULL);
    build_good(c.adapter, &mdl, 100, &two[0]);
    build_good(c.adapter, &mdl, 50, &two[1]);
    NDK_FN_RELEASE_LAM let_go = c.adapter->Dispatch->NdkReleaseLAM;
    CHECK_EQ(pthread_create(&thread, NULL, close_adapter, &c), 0);
    kit_pause();
    CHECK_EQ(atomic_load(&c.closed), 0);
    let_go(c.adapter, &two[1].at.lam);
    kit_pause();
    CHECK_EQ(atomic_load(&c.closed), 0);
    let_go(c.adapter, &two[0].at.lam);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}
