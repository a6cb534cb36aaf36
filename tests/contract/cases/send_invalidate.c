/* SPDX-License-Identifier: MIT */
/* INV: sends with invalidate at the receiver: their results, and the tokens that they may invalidate. */
#include "contract/kit/fast.h"

enum { PAGES = 2, SINK = 1 << 20, ROOM = 1 << 20 };

/* ---- INV-01 ---- */

/* The object to invalidate: a fast-registered region, or a window on the middle of one. */
struct victim {
    struct fast_region r;
    NDK_MW *mw;
    UINT32 token;
    const uint8_t *address;
};

static void victim_open(struct victim *v, struct kit_side *s, bool window)
{
    fast_region_open(&v->r, s, PAGES, FAST_ALL);
    v->mw = NULL;
    v->token = v->r.token;
    v->address = v->r.base;
    if (!window)
        return;
    v->mw = fast_mw(s->pd);
    v->address += 1000;
    CHECK_STATUS(fast_bind(s, 2, v->r.mr, v->mw, v->address, 5000,
                           NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE),
                 STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(s, NdkOperationTypeBind), 2);
    v->token = fast_mw_token(v->mw);
}

static void victim_close(struct victim *v)
{
    if (v->mw)
        CHECK_STATUS(kit_close(v->mw), STATUS_SUCCESS);
    fast_region_close(&v->r);
}

/*
 * Checks that the victim's token is invalid. If the victim is a region, its owner cannot use it either. If the victim
 * is a window, its region remains valid.
 */
static void check_victim_dead(struct kit_pair *p, struct victim *v)
{
    if (!v->mw)
        fast_check_local_dead(&p->passive, fast_sge(&v->r, 0, 8));
    fast_check_dead(p, &v->r.memory, v->token, v->address, 8);
    if (v->mw)
        fast_check_alive(p, &v->r.memory, v->r.memory.memory + 1000, v->r.token, v->address, 100);
}

/* Describes len bytes from offset in pieces with gaps. Returns their number. */
static ULONG in_pieces(const struct kit_side *s, NDK_SGE *sges, ULONG count, size_t offset, ULONG len)
{
    for (ULONG i = 0; i < count; i++) {
        ULONG n = i + 1 == count ? len : len / (count - i + 1);

        sges[i] = kit_sge(s, offset, n);
        offset += n + 100;
        len -= n;
    }
    return count;
}

static void gather(const NDK_SGE *sges, ULONG count, uint8_t *out)
{
    for (ULONG i = 0; i < count; i++) {
        memcpy(out, sges[i].VirtualAddress, sges[i].Length);
        out += sges[i].Length;
    }
}

static void check_plain(struct kit_side *s, ULONG len)
{
    NDK_RESULT r = { .Status = STATUS_PENDING };

    while (s->cq->Dispatch->NdkGetCqResults(s->cq, &r, 1) == 0)
        sched_yield();
    CHECK_STATUS(r.Status, STATUS_SUCCESS);
    CHECK_EQ(r.BytesTransferred, len);
    CHECK_EQ((uintptr_t)r.RequestContext, 7);
    CHECK(r.QPContext == s);
}

static void check_ex(struct kit_side *s, ULONG len, UINT32 token)
{
    NDK_RESULT_EX r = kit_result(s);

    CHECK_STATUS(r.Status, STATUS_SUCCESS);
    CHECK_EQ(r.Type, NdkOperationTypeReceiveAndInvalidate);
    CHECK_EQ(r.TypeSpecificCompletionOutput, token);
    CHECK_EQ(r.ProviderErrorCode, 0);
    CHECK_EQ(r.BytesTransferred, len);
    CHECK_EQ((uintptr_t)r.RequestContext, 7);
    CHECK(r.QPContext == s);
}

struct how {
    ULONG len, pieces, flags;
    bool window, plain;
};

static void send_and_check(struct kit_pair *p, const struct how *h)
{
    static uint8_t sent[ROOM], received[ROOM];
    NDK_SGE source[4], sink[4];
    struct victim v;

    victim_open(&v, &p->passive, h->window);
    memset(p->passive.memory, DATA_FILL, 2 * ROOM);
    in_pieces(&p->active, source, h->pieces, 0, h->len);
    in_pieces(&p->passive, sink, h->pieces, SINK, h->len + 10);
    kit_pattern(p->active.memory, h->len + 1000, h->len);
    gather(source, h->pieces, sent);
    CHECK_STATUS(p->passive.qp->Dispatch->NdkReceive(p->passive.qp, (PVOID)7, sink, h->pieces), STATUS_SUCCESS);
    CHECK_STATUS(
        p->active.qp->Dispatch->NdkSendAndInvalidate(p->active.qp, (PVOID)8, source, h->pieces, h->flags, v.token),
        STATUS_SUCCESS);
    if (h->plain)
        check_plain(&p->passive, h->len);
    else
        check_ex(&p->passive, h->len, v.token);
    gather(sink, h->pieces, received);
    CHECK(memcmp(sent, received, h->len) == 0);
    for (ULONG i = 0; i < 10; i++)
        CHECK_EQ(received[h->len + i], DATA_FILL);
    CHECK_EQ(fast_check_result(&p->active, NdkOperationTypeSend), 8);
    check_victim_dead(p, &v);
    victim_close(&v);
}

/* clang-format off */
static const struct how hows[] = {
    { 1000, 1, 0, false, false }, { 1000, 1, 0, false, true }, { 1000, 2, 0, true, false }, { 1000, 1, 0, true, true },
    { 0, 1, 0, false, false },    { 0, 1, 0, true, true },     { 1, 1, 0, true, false },
    { 300001, 4, 0, false, false }, { 300001, 4, 0, true, true }, { 65536, 3, 0, false, true },
    { 500, 1, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT, false, false },
    { 200000, 4, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT, true, false },
};
/* clang-format on */

static void every_way(void)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    for (size_t i = 0; i < sizeof hows / sizeof hows[0]; i++)
        send_and_check(&p, &hows[i]);
    kit_pair_close(&p);
}

/* covers: INV-01 */
CASE(inv_01_data_arrives_and_the_token_is_dead, KIT_FAMILIES)
{
    every_way();
}

/* covers: INV-01 */
CASE(inv_01_over_many_segments, KIT_FAMILIES)
{
    data_run_segmented(every_way);
}

/* The next FPDU on the connection finds the token invalid, even if the receive was not polled yet. */
/* covers: INV-01 */
CASE(inv_01_what_follows_finds_it_dead, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct victim v;
    NDK_SGE sge;

    kit_pair_open(&p);
    for (int window = 0; window < 2; window++) {
        victim_open(&v, &p.passive, window);
        sge = kit_sge(&p.active, 0, 8);
        memset(p.active.memory, 0x22, 8);
        CHECK_STATUS(kit_post_receive(&p.passive, 7, SINK, 100), STATUS_SUCCESS);
        CHECK_STATUS(fast_send_invalidate(&p.active, 8, 0, 100, 0, v.token), STATUS_SUCCESS);
        CHECK_STATUS(data_write(&p.active, 9, &sge, (uintptr_t)v.address, v.token), STATUS_SUCCESS);
        data_check_ended(&p.passive);
        data_check_ended(&p.active);
        check_ex(&p.passive, 100, v.token);
        CHECK(fast_memory_is_untouched(&v.r.memory));
        data_reconnect(&p);
        victim_close(&v);
    }
    kit_pair_close(&p);
}

struct watch {
    struct victim v;
    NDK_RESULT_EX result;
    ULONG results;
    NTSTATUS posted;
    uint8_t last;
};

/* Inside the notification: the receive has completed with its data, and the token is invalid. */
static void check_token(struct kit_side *s)
{
    struct watch *w = s->arg;
    NDK_SGE sge = fast_sge(&w->v.r, 0, 8);

    w->results = s->cq->Dispatch->NdkGetCqResultsEx(s->cq, &w->result, 1);
    w->last = s->memory[SINK + 99];
    w->posted = s->qp->Dispatch->NdkSend(s->qp, NULL, &sge, 1, 0);
}

/* covers: INV-01 */
CASE(inv_01_seen_from_inside_the_notification, KIT_FAMILIES)
{
    static struct kit_pair p;
    static struct watch w;

    kit_pair_open(&p);
    for (int round = 0; round < 10; round++) {
        int before = atomic_load(&p.passive.notified);

        victim_open(&w.v, &p.passive, false);
        memset(p.active.memory, 0x40 + round, 100);
        CHECK_STATUS(kit_post_receive(&p.passive, 7, SINK, 100), STATUS_SUCCESS);
        p.passive.arg = &w;
        p.passive.inside_notified = check_token;
        p.passive.cq->Dispatch->NdkArmCq(p.passive.cq, round & 1 ? NDK_CQ_NOTIFY_SOLICITED : NDK_CQ_NOTIFY_ANY);
        CHECK_STATUS(fast_send_invalidate(&p.active, 8, 0, 100, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT, w.v.token),
                     STATUS_SUCCESS);
        kit_wait_count(&p.passive.notified, before + 1);
        CHECK_EQ(w.results, 1);
        CHECK_EQ(w.result.Type, NdkOperationTypeReceiveAndInvalidate);
        CHECK_EQ(w.result.TypeSpecificCompletionOutput, w.v.token);
        CHECK_EQ(w.last, 0x40 + round);
        CHECK_STATUS(w.posted, STATUS_ACCESS_VIOLATION);
        CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeSend), 8);
        p.passive.inside_notified = NULL;
        victim_close(&w.v);
    }
    kit_pair_close(&p);
}

/* A message into the region that it invalidates. */
/* covers: INV-01 */
CASE(inv_01_the_receives_own_region, KIT_FAMILIES)
{
    static const ULONG lengths[] = { 0, 100, PAGES * PAGE_SIZE };
    static struct kit_pair p;
    struct fast_region r;
    NDK_SGE sge;

    kit_pair_open(&p);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        fast_region_open(&r, &p.passive, PAGES, FAST_ALL);
        sge = fast_sge(&r, 0, r.len);
        kit_pattern(p.active.memory, lengths[i], 9);
        CHECK_STATUS(p.passive.qp->Dispatch->NdkReceive(p.passive.qp, (PVOID)7, &sge, 1), STATUS_SUCCESS);
        CHECK_STATUS(fast_send_invalidate(&p.active, 8, 0, lengths[i], 0, r.token), STATUS_SUCCESS);
        check_ex(&p.passive, lengths[i], r.token);
        CHECK(kit_pattern_is(r.memory.memory, lengths[i], 9));
        CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeSend), 8);
        fast_check_local_dead(&p.passive, sge);
        kit_exchange(&p.active, &p.passive);
        fast_region_close(&r);
    }
    kit_pair_close(&p);
}

/* Sends of both kinds, in any order: each receive has the right kind. */
/* covers: INV-01 */
CASE(inv_01_mixed_with_plain_sends, KIT_FAMILIES)
{
    enum { ROUNDS = 24 };
    static struct kit_pair p;
    static struct fast_region r[ROUNDS];

    kit_pair_open(&p);
    for (uintptr_t i = 0; i < ROUNDS; i++) {
        fast_region_open(&r[i], &p.passive, 1, FAST_ALL);
        CHECK_STATUS(kit_post_receive(&p.passive, i, SINK + i * 100, 100), STATUS_SUCCESS);
    }
    for (uintptr_t i = 0; i < ROUNDS; i++)
        CHECK_STATUS(i % 3 == 1 ? kit_post_send(&p.active, i, i, 50)
                                : fast_send_invalidate(&p.active, i, i, 50, 0, r[i].token),
                     STATUS_SUCCESS);
    for (uintptr_t i = 0; i < ROUNDS; i++) {
        NDK_RESULT_EX got = kit_result(&p.passive);

        CHECK_STATUS(got.Status, STATUS_SUCCESS);
        CHECK_EQ((uintptr_t)got.RequestContext, i);
        CHECK_EQ(got.Type, i % 3 == 1 ? NdkOperationTypeReceive : NdkOperationTypeReceiveAndInvalidate);
        if (i % 3 != 1)
            CHECK_EQ(got.TypeSpecificCompletionOutput, r[i].token);
        CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeSend), i);
    }
    for (uintptr_t i = 0; i < ROUNDS; i++) {
        if (i % 3 == 1)
            fast_check_alive(&p, &r[i].memory, r[i].memory.memory, r[i].token, r[i].base, 60);
        else
            fast_check_local_dead(&p.passive, fast_sge(&r[i], 0, 8));
        fast_region_close(&r[i]);
    }
    kit_pair_close(&p);
}

/* ---- INV-02 ---- */

enum wrong {
    UNKNOWN,
    OTHER_DOMAIN,
    NORMAL_REGION,
    NO_REMOTE_ACCESS,
    INVALIDATED,
    REPLACED,
    UNBOUND_WINDOW,
    PRIVILEGED,
    WINDOW_OF_NOTHING,
    WRONGS
};

/* The objects of the passive side that the token can belong to. */
struct target {
    struct fast_region r;
    struct data_region normal;
    NDK_MW *mw;
    UINT32 token;
};

static void end_access(struct kit_side *s, void *object)
{
    CHECK_STATUS(fast_invalidate(s, 3, object, 0), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(s, NdkOperationTypeInvalidate), 3);
}

static void bind_whole(struct kit_side *s, struct target *t, ULONG flags)
{
    CHECK_STATUS(fast_bind(s, 4, t->r.mr, t->mw, t->r.base, t->r.len, flags), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(s, NdkOperationTypeBind), 4);
    t->token = fast_mw_token(t->mw);
}

static void target_open(struct target *t, struct kit_side *s, struct kit_side *other, enum wrong w)
{
    fast_region_open(&t->r, w == OTHER_DOMAIN ? other : s, PAGES,
                     w == NO_REMOTE_ACCESS ? NDK_OP_FLAG_ALLOW_LOCAL_WRITE : FAST_ALL);
    data_region_open(&t->normal, s->pd, 60, 5000, DATA_ALL);
    t->mw = fast_mw(s->pd);
    t->token = t->r.token;
    switch (w) {
    case UNKNOWN:
        t->token ^= 0x5a0;
        break;
    case NORMAL_REGION:
        t->token = t->normal.token;
        break;
    case INVALIDATED:
        end_access(s, t->r.mr);
        break;
    case REPLACED:
        CHECK_STATUS(fast_region_post(&t->r, s, 5, FAST_ALL), STATUS_SUCCESS);
        CHECK_EQ(fast_check_result(s, NdkOperationTypeFastRegister), 5);
        break;
    case UNBOUND_WINDOW:
        bind_whole(s, t, NDK_OP_FLAG_ALLOW_REMOTE_READ);
        end_access(s, t->mw);
        break;
    case WINDOW_OF_NOTHING:
        bind_whole(s, t, 0);
        break;
    case PRIVILEGED:
        s->pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(s->pd, &t->token);
        break;
    default:
        break;
    }
}

/* Checks that objects with other tokens, and objects that the send must not invalidate, still work. */
static void target_check(struct kit_pair *p, struct target *t, enum wrong w)
{
    CHECK(data_is_untouched(&t->normal));
    CHECK(fast_memory_is_untouched(&t->r.memory));
    if (w == NORMAL_REGION || w == PRIVILEGED) {
        NDK_SGE sge = data_sge(&t->normal, 0, 100);

        CHECK_STATUS(data_outcome(&p->passive,
                                  data_read(&p->passive, 1, &sge, (uintptr_t)p->active.memory, p->active.remote_token)),
                     STATUS_SUCCESS);
    }
    if (w == UNKNOWN || w == REPLACED || w == PRIVILEGED)
        fast_check_alive(p, &t->r.memory, t->r.memory.memory, t->r.token, t->r.base, 100);
    if (w == NO_REMOTE_ACCESS) {
        NDK_SGE sge = fast_sge(&t->r, 0, 100);

        CHECK_STATUS(data_outcome(&p->passive,
                                  data_read(&p->passive, 1, &sge, (uintptr_t)p->active.memory, p->active.remote_token)),
                     STATUS_SUCCESS);
    }
}

static void target_close(struct target *t)
{
    CHECK_STATUS(kit_close(t->mw), STATUS_SUCCESS);
    data_region_close(&t->normal);
    fast_region_close(&t->r);
}

static void wrong_token(struct kit_pair *p, struct kit_side *other, enum wrong w, ULONG len)
{
    struct data_region sink;
    struct target t;
    NDK_SGE sge;

    target_open(&t, &p->passive, other, w);
    data_region_open(&sink, p->passive.pd, 33, len, DATA_ALL);
    sge = data_sge(&sink, 0, len);
    CHECK_STATUS(p->passive.qp->Dispatch->NdkReceive(p->passive.qp, (PVOID)7, &sge, 1), STATUS_SUCCESS);
    CHECK_STATUS(fast_send_invalidate(&p->active, 8, 0, len, 0, t.token), STATUS_SUCCESS);
    NDK_RESULT_EX r = kit_result(&p->passive);
    if (r.Status >= 0)
        kit_fail(__FILE__, __LINE__, "wrong token %d: the receive succeeded", w);
    CHECK_EQ((uintptr_t)r.RequestContext, 7);
    CHECK_EQ(r.Type & ~0x8000u, NdkOperationTypeReceive);
    data_check_ended(&p->passive);
    data_check_ended(&p->active);
    CHECK(data_guards_intact(&sink));
    data_reconnect(p);
    target_check(p, &t, w);
    data_region_close(&sink);
    target_close(&t);
}

static void each_wrong_token(ULONG len)
{
    static struct kit_pair p, second;

    kit_pair_open(&p);
    kit_side_open(&second.active, p.active.adapter);
    kit_side_open(&second.passive, p.passive.adapter); /* another domain */
    kit_establish(&second.active, &second.passive, &p.listener);
    for (enum wrong w = 0; w < WRONGS; w++)
        wrong_token(&p, &second.passive, w, len);
    kit_exchange(&second.active, &second.passive);
    kit_close_connector(&second.active);
    kit_side_close(&second.active);
    kit_side_close(&second.passive);
    kit_pair_close(&p);
}

/* covers: INV-02 */
CASE(inv_02_a_wrong_token_ends_the_connection, KIT_FAMILIES)
{
    each_wrong_token(100);
}

/* covers: INV-02 */
CASE(inv_02_in_a_long_message, KIT_FAMILIES)
{
    struct kit_config config = kit_config();

    config.max_fpdu = 1000;
    kit_configure(&config);
    each_wrong_token(20000);
    config.crc = 0;
    kit_configure(&config);
    each_wrong_token(20000);
}

/* Another domain's token is refused, and remains valid in its domain. */
/* covers: INV-02 */
CASE(inv_02_another_domains_token_lives_on, KIT_FAMILIES)
{
    static struct kit_pair p, second;
    struct fast_region r;

    kit_pair_open(&p);
    kit_side_open(&second.active, p.active.adapter);
    kit_side_open(&second.passive, p.passive.adapter);
    kit_establish(&second.active, &second.passive, &p.listener);
    fast_region_open(&r, &second.passive, PAGES, FAST_ALL);
    CHECK_STATUS(kit_post_receive(&p.passive, 7, 0, 100), STATUS_SUCCESS);
    CHECK_STATUS(fast_send_invalidate(&p.active, 8, 0, 100, 0, r.token), STATUS_SUCCESS);
    CHECK(kit_result(&p.passive).Status < 0);
    data_check_ended(&p.active);
    fast_check_alive(&second, &r.memory, r.memory.memory, r.token, r.base, 1000);
    fast_region_close(&r);
    kit_close_connector(&second.active);
    kit_side_close(&second.active);
    kit_side_close(&second.passive);
    kit_pair_close(&p);
}
