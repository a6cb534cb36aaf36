/* SPDX-License-Identifier: MIT */
/* INV: memory windows: the part of a region that a peer can access through one, and for how long. */
#include "contract/kit/fast.h"

enum { LEN = 10000, BOTH = NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE };

/* A registered or fast-registered region for windows. */
struct ground {
    struct fast_memory memory;
    NDK_MR *mr;
    uint8_t *base; /* the base address for requests */
    UINT32 token;
    bool fast;
};

static void ground_open(struct ground *g, struct kit_side *s, bool fast, ULONG mr_flags, ULONG op_flags)
{
    memset(g, 0, sizeof *g);
    fast_memory_open(&g->memory, s->adapter, 700, LEN);
    g->fast = fast;
    if (!fast) {
        g->mr = data_mr(s->pd);
        g->base = g->memory.memory;
        CHECK_STATUS(data_register(g->mr, &g->memory.mdl, LEN, mr_flags), STATUS_SUCCESS);
    } else {
        const NDK_LOGICAL_ADDRESS_MAPPING *lam = g->memory.lam;

        g->mr = fast_mr(s->pd);
        g->base = (uint8_t *)0x600000000000 + g->memory.fbo;
        CHECK_STATUS(fast_initialize(g->mr, lam->AdapterPageCount, TRUE), STATUS_SUCCESS);
        CHECK_STATUS(fast_register(s, 1, g->mr, lam->AdapterPageArray, lam->AdapterPageCount, g->memory.fbo, LEN,
                                   g->base, op_flags),
                     STATUS_SUCCESS);
        CHECK_EQ(fast_check_result(s, NdkOperationTypeFastRegister), 1);
    }
    g->token = g->mr->Dispatch->NdkGetRemoteTokenFromMr(g->mr);
}

static void ground_close(struct ground *g)
{
    if (g->mr)
        CHECK_STATUS(kit_close(g->mr), STATUS_SUCCESS);
    fast_memory_close(&g->memory);
}

static UINT32 bound(struct kit_side *s, const struct ground *g, NDK_MW *mw, size_t offset, SIZE_T len, ULONG flags)
{
    UINT32 token;

    CHECK_STATUS(fast_bind(s, 2, g->mr, mw, g->base + offset, len, flags), STATUS_SUCCESS);
    token = fast_mw_token(mw); /* before the bind has completed */
    CHECK_EQ(fast_check_result(s, NdkOperationTypeBind), 2);
    CHECK_EQ(fast_mw_token(mw), token);
    return token;
}

/* ---- INV-08: the range of a window ---- */

static void check_ranges(bool fast)
{
    static const struct {
        size_t offset;
        ULONG len;
    } parts[] = {
        { 0, LEN },     { 0, 1 },       { LEN - 1, 1 }, { 0, LEN - 1 }, { 1, LEN - 1 },
        { 1, LEN - 2 }, { 3396, 4096 }, { 3395, 2 },    { 5000, 5000 }, { 100, 7000 },
    };
    static struct kit_pair p;
    struct ground g;
    NDK_MW *mw;

    kit_pair_open(&p);
    ground_open(&g, &p.passive, fast, DATA_ALL, FAST_ALL);
    mw = fast_mw(p.passive.pd);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        size_t at = parts[i].offset;
        ULONG len = parts[i].len;
        UINT32 token = bound(&p.passive, &g, mw, at, len, BOTH);

        fast_check_alive(&p, &g.memory, g.memory.memory + at, token, g.base + at, len);
        if (len > 1)
            fast_check_alive(&p, &g.memory, g.memory.memory + at + 1, token, g.base + at + 1, len - 1);
        fast_check_dead(&p, &g.memory, token, g.base + at - 1, 1);
        fast_check_dead(&p, &g.memory, token, g.base + at, len + 1);
        fast_check_dead(&p, &g.memory, token, g.base + at + len, 1);
        fast_check_alive(&p, &g.memory, g.memory.memory, g.token, g.base, LEN); /* the region is unchanged */
    }
    CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    ground_close(&g);
    kit_pair_close(&p);
}

/* covers: INV-08 */
CASE(inv_08_any_part_of_a_region, KIT_FAMILIES)
{
    check_ranges(false);
}

/* covers: INV-08 */
CASE(inv_08_any_part_of_a_fast_registered_region, KIT_FAMILIES)
{
    check_ranges(true);
}

static void bind_refused(struct kit_side *s, const struct ground *g, NDK_MW *mw, const void *address, SIZE_T len,
                         ULONG flags, NTSTATUS expected)
{
    UINT32 before = fast_mw_token(mw);

    CHECK_STATUS(fast_bind(s, 3, g->mr, mw, address, len, flags), expected);
    CHECK_EQ(fast_mw_token(mw), before);
}

/* Checks that the bind is refused, and that the window's earlier binding is unchanged. */
static void check_outside(bool fast)
{
    static struct kit_pair p;
    struct ground g;
    UINT32 token;
    NDK_MW *mw;

    kit_pair_open(&p);
    ground_open(&g, &p.passive, fast, DATA_ALL, FAST_ALL);
    mw = fast_mw(p.passive.pd);
    token = bound(&p.passive, &g, mw, 10, 100, BOTH);
    bind_refused(&p.passive, &g, mw, g.base - 1, 1, BOTH, STATUS_INVALID_PARAMETER);
    bind_refused(&p.passive, &g, mw, g.base - 1, LEN, BOTH, STATUS_INVALID_PARAMETER);
    bind_refused(&p.passive, &g, mw, g.base, LEN + 1, BOTH, STATUS_INVALID_PARAMETER);
    bind_refused(&p.passive, &g, mw, g.base + 1, LEN, BOTH, STATUS_INVALID_PARAMETER);
    bind_refused(&p.passive, &g, mw, g.base + LEN, 1, BOTH, STATUS_INVALID_PARAMETER);
    bind_refused(&p.passive, &g, mw, g.base + LEN - 1, 2, BOTH, STATUS_INVALID_PARAMETER);
    bind_refused(&p.passive, &g, mw, g.base, 0, BOTH, STATUS_INVALID_PARAMETER);
    bind_refused(&p.passive, &g, mw, g.base, SIZE_MAX, BOTH, STATUS_INVALID_PARAMETER);
    bind_refused(&p.passive, &g, mw, g.base + 5, SIZE_MAX - 4, BOTH, STATUS_INVALID_PARAMETER);
    bind_refused(&p.passive, &g, mw, (void *)0, 10, BOTH, STATUS_INVALID_PARAMETER);
    if (fast)
        bind_refused(&p.passive, &g, mw, g.memory.memory, 10, BOTH, STATUS_INVALID_PARAMETER);
    fast_check_alive(&p, &g.memory, g.memory.memory + 10, token, g.base + 10, 100);
    CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    ground_close(&g);
    kit_pair_close(&p);
}

/* covers: INV-08 */
CASE(inv_08_a_range_outside_is_refused, KIT_FAMILIES)
{
    check_outside(false);
    check_outside(true);
}

/* ---- INV-08: rights ---- */

static const struct rights {
    ULONG mr_flags, op_flags; /* the region's flags: mr_flags if it is registered, op_flags if it is fast-registered */
    bool local_write;
} rights[] = {
    { NDK_MR_FLAG_ALLOW_LOCAL_READ, 0, false },
    { NDK_MR_FLAG_ALLOW_LOCAL_WRITE, NDK_OP_FLAG_ALLOW_LOCAL_WRITE, true },
    { NDK_MR_FLAG_ALLOW_REMOTE_READ, NDK_OP_FLAG_ALLOW_REMOTE_READ, false },
    { NDK_MR_FLAG_ALLOW_REMOTE_WRITE, NDK_OP_FLAG_ALLOW_REMOTE_WRITE, true },
    { DATA_ALL, FAST_ALL, true },
};

static void check_right(struct kit_pair *p, const struct rights *right, bool fast, ULONG asked)
{
    bool reads = asked & NDK_OP_FLAG_ALLOW_REMOTE_READ;
    bool writes = (asked & NDK_OP_FLAG_ALLOW_REMOTE_WRITE) == NDK_OP_FLAG_ALLOW_REMOTE_WRITE;
    struct ground g;
    NDK_MW *mw;
    NDK_SGE sge;
    UINT32 token;

    ground_open(&g, &p->passive, fast, right->mr_flags, right->op_flags);
    mw = fast_mw(p->passive.pd);
    if (writes && !right->local_write) {
        bind_refused(&p->passive, &g, mw, g.base, LEN, asked, STATUS_ACCESS_VIOLATION);
    } else {
        token = bound(&p->passive, &g, mw, 50, 200, asked);
        if (reads && writes) {
            fast_check_alive(p, &g.memory, g.memory.memory + 50, token, g.base + 50, 200);
        } else if (reads) {
            sge = kit_sge(&p->active, 0, 200);
            CHECK_STATUS(data_outcome(&p->active, data_read(&p->active, 1, &sge, (uintptr_t)g.base + 50, token)),
                         STATUS_SUCCESS);
            CHECK(memcmp(p->active.memory, g.memory.memory + 50, 200) == 0);
            fast_check_no_write(p, &g.memory, token, g.base + 50, 10);
        } else {
            kit_pattern(p->active.memory, 200, 4);
            sge = kit_sge(&p->active, 0, 200);
            CHECK_STATUS(data_outcome(&p->active, data_write(&p->active, 1, &sge, (uintptr_t)g.base + 50, token)),
                         STATUS_SUCCESS);
            data_wait_delivered(&p->active, &p->passive);
            CHECK(kit_pattern_is(g.memory.memory + 50, 200, 4));
            fast_check_no_read(p, token, g.base + 50, 10);
        }
    }
    CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    ground_close(&g);
}

static void check_rights(bool fast)
{
    static const ULONG asked[] = { NDK_OP_FLAG_ALLOW_REMOTE_READ, NDK_OP_FLAG_ALLOW_REMOTE_WRITE, BOTH };
    static struct kit_pair p;

    kit_pair_open(&p);
    for (size_t i = 0; i < sizeof rights / sizeof rights[0]; i++)
        for (size_t j = 0; j < sizeof asked / sizeof asked[0]; j++)
            check_right(&p, &rights[i], fast, asked[j]);
    kit_pair_close(&p);
}

/* covers: INV-08 */
CASE(inv_08_rights_over_a_region, KIT_FAMILIES)
{
    check_rights(false);
}

/* covers: INV-08 */
CASE(inv_08_rights_over_a_fast_registered_region, KIT_FAMILIES)
{
    check_rights(true);
}

/* A bind is refused for a region of another domain, for a region without memory, and with an undefined flag. */
/* covers: INV-08 */
CASE(inv_08_what_cannot_be_bound, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct ground g;
    NDK_MR *empty;
    NDK_PD *other;
    NDK_MW *mw, *foreign;

    kit_pair_open(&p);
    ground_open(&g, &p.passive, false, DATA_ALL, FAST_ALL);
    other = kit_pd(p.passive.adapter);
    foreign = fast_mw(other);
    mw = fast_mw(p.passive.pd);
    empty = data_mr(p.passive.pd);
    CHECK(data_outcome(&p.passive, fast_bind(&p.passive, 1, g.mr, foreign, g.base, 10, BOTH)) < 0);
    CHECK(data_outcome(&p.passive, fast_bind(&p.passive, 1, empty, mw, g.base, 10, BOTH)) < 0);
    CHECK(fast_bind(&p.passive, 1, g.mr, mw, g.base, 10, BOTH | NDK_OP_FLAG_INLINE) < 0);
    CHECK(fast_bind(&p.passive, 1, g.mr, mw, g.base, 10, BOTH | 1u << 30) < 0);
    CHECK_STATUS(kit_close(empty), STATUS_SUCCESS);
    empty = fast_mr(p.passive.pd);
    CHECK_STATUS(fast_initialize(empty, 3, TRUE), STATUS_SUCCESS);
    CHECK(data_outcome(&p.passive, fast_bind(&p.passive, 1, empty, mw, g.base, 10, BOTH)) < 0);
    CHECK_STATUS(kit_close(empty), STATUS_SUCCESS);
    kit_exchange(&p.active, &p.passive);
    CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(foreign), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(other), STATUS_SUCCESS);
    ground_close(&g);
    kit_pair_close(&p);
}

/* ---- INV-08: what ends a window ---- */

/* covers: INV-08 */
CASE(inv_08_a_window_goes_with_its_region, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct ground g;
    UINT32 first, second;
    NDK_MW *mw[2];

    kit_pair_open(&p);
    for (int fast = 0; fast < 2; fast++) {
        ground_open(&g, &p.passive, fast, DATA_ALL, FAST_ALL);
        for (int i = 0; i < 2; i++)
            mw[i] = fast_mw(p.passive.pd);
        first = bound(&p.passive, &g, mw[0], 0, 100, BOTH);
        second = bound(&p.passive, &g, mw[1], 50, LEN - 50, BOTH);
        fast_check_alive(&p, &g.memory, g.memory.memory, first, g.base, 100);
        fast_check_alive(&p, &g.memory, g.memory.memory + 50, second, g.base + 50, LEN - 50);
        if (fast) {
            CHECK_STATUS(fast_invalidate(&p.passive, 1, g.mr, 0), STATUS_SUCCESS);
            CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeInvalidate), 1);
        } else {
            CHECK_STATUS(data_deregister(g.mr), STATUS_SUCCESS);
        }
        fast_check_dead(&p, &g.memory, first, g.base, 100);
        fast_check_dead(&p, &g.memory, second, g.base + 50, 100);
        for (int i = 0; i < 2; i++)
            CHECK_STATUS(kit_close(mw[i]), STATUS_SUCCESS);
        ground_close(&g);
    }
    kit_pair_close(&p);
}

/* covers: INV-08 */
CASE(inv_08_closing_a_window_ends_it, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct ground g;
    UINT32 token;
    NDK_MW *mw;

    kit_pair_open(&p);
    ground_open(&g, &p.passive, false, DATA_ALL, FAST_ALL);
    mw = fast_mw(p.passive.pd);
    token = bound(&p.passive, &g, mw, 0, 100, BOTH);
    CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    fast_check_dead(&p, &g.memory, token, g.base, 100);
    fast_check_alive(&p, &g.memory, g.memory.memory, g.token, g.base, LEN);
    ground_close(&g);
    kit_pair_close(&p);
}

/* ---- INV-08: use without waiting for the completion ---- */

/* Posts without waiting: the registration, the bind, and a send of the token to the peer. */
/* covers: INV-08 */
CASE(inv_08_usable_right_behind, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct fast_region r;
    NDK_MW *mw;

    kit_pair_open(&p);
    fast_region_open(&r, &p.passive, 4, FAST_ALL);
    mw = fast_mw(p.passive.pd);
    for (uintptr_t round = 0; round < 30; round++) {
        UINT32 token;

        CHECK_STATUS(kit_post_receive(&p.active, 1, KIT_MEMORY - 16, sizeof token), STATUS_SUCCESS);
        if (round & 1)
            CHECK_STATUS(fast_region_post(&r, &p.passive, 2, FAST_ALL), STATUS_SUCCESS);
        CHECK_STATUS(fast_bind(&p.passive, 3, r.mr, mw, r.base + round, 1000, BOTH), STATUS_SUCCESS);
        token = fast_mw_token(mw);
        memcpy(p.passive.memory, &token, sizeof token);
        CHECK_STATUS(kit_post_send(&p.passive, 4, 0, sizeof token), STATUS_SUCCESS);
        CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeReceive), 1);
        CHECK(memcmp(p.active.memory + KIT_MEMORY - 16, &token, sizeof token) == 0);
        fast_check_alive(&p, &r.memory, r.memory.memory + round, token, r.base + round, 1000);
        if (round & 1)
            CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeFastRegister), 2);
        CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeBind), 3);
        CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeSend), 4);
    }
    CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    fast_region_close(&r);
    kit_pair_close(&p);
}

/* ---- INV-09 ---- */

enum { TOKENS = 12 };

/* covers: INV-09 */
CASE(inv_09_each_bind_has_another_token, KIT_FAMILIES)
{
    static struct kit_pair p;
    UINT32 tokens[TOKENS];
    struct ground g, h;
    NDK_MW *mw;

    kit_pair_open(&p);
    ground_open(&g, &p.passive, false, DATA_ALL, FAST_ALL);
    ground_open(&h, &p.passive, true, DATA_ALL, FAST_ALL);
    mw = fast_mw(p.passive.pd);
    for (int i = 0; i < TOKENS; i++) { /* the binds move between two regions, and sometimes repeat the same bytes */
        struct ground *on = i & 2 ? &h : &g, *before = (i - 1) & 2 ? &h : &g;

        tokens[i] = bound(&p.passive, on, mw, 0, 100, BOTH);
        fast_check_alive(&p, &on->memory, on->memory.memory, tokens[i], on->base, 100);
        if (i > 0)
            fast_check_dead(&p, &before->memory, tokens[i - 1], before->base, 100);
        for (int j = 0; j < i; j++)
            CHECK(tokens[i] != tokens[j]);
    }
    CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    ground_close(&g);
    ground_close(&h);
    kit_pair_close(&p);
}

/* covers: INV-09 */
CASE(inv_09_binds_posted_one_behind_the_other, KIT_FAMILIES)
{
    static struct kit_pair p;
    UINT32 tokens[TOKENS];
    struct ground g;
    NDK_MW *mw;

    kit_pair_open(&p);
    ground_open(&g, &p.passive, true, DATA_ALL, FAST_ALL);
    mw = fast_mw(p.passive.pd);
    for (uintptr_t i = 0; i < TOKENS; i++) {
        if (i % 3 == 2)
            CHECK_STATUS(fast_invalidate(&p.passive, 100 + i, mw, 0), STATUS_SUCCESS);
        CHECK_STATUS(fast_bind(&p.passive, i, g.mr, mw, g.base + i, 100, BOTH), STATUS_SUCCESS);
        tokens[i] = fast_mw_token(mw);
    }
    for (uintptr_t i = 0; i < TOKENS; i++) {
        if (i % 3 == 2)
            CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeInvalidate), 100 + i);
        CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeBind), i);
    }
    fast_check_alive(&p, &g.memory, g.memory.memory + TOKENS - 1, tokens[TOKENS - 1], g.base + TOKENS - 1, 100);
    for (int i = 0; i < TOKENS - 1; i += 2)
        fast_check_dead(&p, &g.memory, tokens[i], g.base + i, 50);
    CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    ground_close(&g);
    kit_pair_close(&p);
}
