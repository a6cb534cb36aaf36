/* SPDX-License-Identifier: MIT */
/* QPR: requests that break a rule, between two consumers. They end at most their own connection, and access nothing. */
#include "contract/kit/data.h"

/* ---- messages that do not fit ---- */

static void too_long(struct kit_pair *p, ULONG room, ULONG len)
{
    struct data_region r;
    NDK_SGE sink;
    NDK_RESULT_EX result;

    data_region_open(&r, p->passive.pd, 100, room, DATA_ALL);
    sink = data_sge(&r, 0, room);
    CHECK_STATUS(kit_post_receive(&p->active, 5, 0, 8), STATUS_SUCCESS);
    CHECK_STATUS(p->passive.qp->Dispatch->NdkReceive(p->passive.qp, (PVOID)6, &sink, 1), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_send(&p->active, 7, 0, len), STATUS_SUCCESS);
    result = kit_result(&p->passive);
    CHECK(result.Status < 0);
    CHECK_EQ((uintptr_t)result.RequestContext, 6);
    data_check_ended(&p->passive);
    data_check_ended(&p->active);
    do { /* the send may have completed with success before the connection ended */
        result = kit_result(&p->active);
        CHECK((uintptr_t)result.RequestContext == 7 || result.Status < 0);
    } while ((uintptr_t)result.RequestContext != 5);
    CHECK(data_guards_intact(&r));
    data_region_close(&r);
    data_reconnect(p);
}

static void check_too_long(void)
{
    static const struct {
        ULONG room, len;
    } all[] = { { 1, 2 }, { 100, 101 }, { 100, 1000 }, { 1000, 1001 }, { 700, 3000 }, { 4096, 200000 } };
    static struct kit_pair p;

    kit_pair_open(&p);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        too_long(&p, all[i].room, all[i].len);
    kit_pair_close(&p);
}

/* covers: QPR-05 */
CASE(qpr_05_longer_than_the_receive, KIT_FAMILIES)
{
    check_too_long();
}

/* covers: QPR-05 */
CASE(qpr_05_longer_by_a_later_segment, KIT_FAMILIES)
{
    data_run_segmented(check_too_long);
}

/* covers: QPR-05 */
CASE(qpr_05_no_receive_posted, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    kit_exchange(&p.active, &p.passive); /* the exchange uses up its receive, so none is posted */
    memset(p.passive.memory, DATA_FILL, 10000);
    CHECK_STATUS(kit_post_send(&p.active, 7, 0, 100), STATUS_SUCCESS);
    data_check_ended(&p.passive);
    data_check_ended(&p.active);
    for (size_t i = 0; i < 10000; i++)
        CHECK_EQ(p.passive.memory[i], DATA_FILL);
    kit_pair_close(&p);
}

/* ---- more reads are posted than the read limit permits at the same time ---- */

/* covers: QPR-11 */
CASE(qpr_11_more_reads_than_the_limit_wait_and_complete, KIT_FAMILIES)
{
    enum { READS = KIT_DEPTH, MOST = 60000 };
    static struct kit_pair p;
    uint64_t seed = 11;
    ULONG lengths[READS];

    kit_pair_open(&p);
    kit_pattern(p.passive.memory, MOST + READS, 2);
    for (int round = 0; round < 5; round++) {
        memset(p.active.memory, DATA_FILL, KIT_MEMORY);
        for (unsigned i = 0; i < READS; i++) {
            lengths[i] = data_random_below(&seed, round & 1 ? 100 : MOST);
            CHECK_STATUS(kit_post_read(&p.active, i, i * (MOST + 8), lengths[i], &p.passive, i), STATUS_SUCCESS);
        }
        for (unsigned i = 0; i < READS; i++) {
            NDK_RESULT_EX r = kit_result(&p.active);
            const uint8_t *at = p.active.memory + i * (MOST + 8);
            CHECK_STATUS(r.Status, STATUS_SUCCESS);
            CHECK_EQ((uintptr_t)r.RequestContext, i);
            CHECK(memcmp(at, p.passive.memory + i, lengths[i]) == 0);
            CHECK_EQ(at[lengths[i]], DATA_FILL);
        }
    }
    kit_pair_close(&p);
}

/*
 * The reads request more data at a time than the provider sends in one turn, even after the socket buffers have grown.
 * The receiver does not poll.
 */
/* covers: QPR-11 */
CASE(qpr_11_many_large_reads, KIT_FAMILIES)
{
    enum { LARGE = 3000000, READS = 8, ROUNDS = 5 };
    static struct kit_pair p;

    kit_pair_open(&p);
    for (unsigned round = 0; round < ROUNDS; round++) {
        kit_pattern(p.passive.memory, LARGE + READS, round);
        for (unsigned i = 0; i < READS; i++)
            CHECK_STATUS(kit_post_read(&p.active, i, 1000 * i, LARGE, &p.passive, i), STATUS_SUCCESS);
        for (unsigned i = 0; i < READS; i++) {
            NDK_RESULT_EX r = kit_result(&p.active);
            CHECK_STATUS(r.Status, STATUS_SUCCESS);
            CHECK_EQ((uintptr_t)r.RequestContext, i);
        }
        CHECK(memcmp(p.active.memory + 1000 * (READS - 1), p.passive.memory + READS - 1, LARGE) == 0);
    }
    kit_pair_close(&p);
}

/* covers: QPR-11 */
CASE(qpr_11_a_read_fills_all_its_pieces, KIT_FAMILIES)
{
    static struct kit_pair p;
    NDK_SGE sges[4];
    static const ULONG lengths[4] = { 70000, 0, 1, 12345 };
    size_t at = 10;

    kit_pair_open(&p);
    kit_pattern(p.passive.memory, 100000, 6);
    memset(p.active.memory, DATA_FILL, 200000);
    for (int i = 0; i < 4; i++) {
        sges[i] = kit_sge(&p.active, at, lengths[i]);
        at += lengths[i] + 10;
    }
    CHECK_STATUS(p.active.qp->Dispatch->NdkRead(p.active.qp, NULL, sges, 4, (uintptr_t)p.passive.memory,
                                                p.passive.remote_token, 0),
                 STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    at = 0;
    for (int i = 0; i < 4; i++) {
        const uint8_t *piece = sges[i].VirtualAddress;
        CHECK(memcmp(piece, p.passive.memory + at, lengths[i]) == 0);
        for (int j = 0; j < 10; j++) {
            CHECK_EQ(piece[lengths[i] + (size_t)j], DATA_FILL);
            CHECK_EQ(sges[0].VirtualAddress == piece ? piece[-1 - j] : DATA_FILL, DATA_FILL);
        }
        at += lengths[i];
    }
    kit_pair_close(&p);
}

/* ---- bad token, range or right at the peer ---- */

enum { REGION = 5000 };

struct target {
    ULONG flags;
    bool stale; /* a token that was invalidated */
    ptrdiff_t offset;
    ULONG len;
    uint64_t address; /* instead of the offset */
    NTSTATUS status;  /* of a read */
};

static const struct target targets[] = {
    { DATA_ALL, false, 0, REGION + 1, 0, STATUS_REMOTE_RESOURCES },
    { DATA_ALL, false, 1, REGION, 0, STATUS_REMOTE_RESOURCES },
    { DATA_ALL, false, REGION, 1, 0, STATUS_REMOTE_RESOURCES },
    { DATA_ALL, false, -1, 1, 0, STATUS_REMOTE_RESOURCES },
    { DATA_ALL, false, -1, 2, 0, STATUS_REMOTE_RESOURCES },
    { DATA_ALL, false, REGION - 1, 100000, 0, STATUS_REMOTE_RESOURCES },
    { DATA_ALL, false, 0, 10, UINT64_MAX - 5, STATUS_REMOTE_RESOURCES },
    { DATA_ALL, false, 0, 10, UINT64_MAX - 9, STATUS_REMOTE_RESOURCES },
    { DATA_ALL, false, 0, 10, 0x1000, STATUS_REMOTE_RESOURCES },
    { DATA_ALL, true, 0, 10, 0, STATUS_ACCESS_VIOLATION },
    { NDK_MR_FLAG_ALLOW_LOCAL_WRITE, false, 0, 10, 0, STATUS_ACCESS_VIOLATION },
};
enum { TARGETS = sizeof targets / sizeof targets[0] };

/* A second connection between the same adapters and domains, which must not be affected. */
struct bystander {
    struct kit_side active, passive;
};

static void bystander_open(struct bystander *b, struct kit_pair *p)
{
    memcpy(&b->active, &p->active, sizeof b->active);
    memcpy(&b->passive, &p->passive, sizeof b->passive);
    b->active.connector = b->passive.connector = NULL;
    b->active.qp = kit_qp(&b->active, KIT_DEPTH);
    b->passive.qp = kit_qp(&b->passive, KIT_DEPTH);
    kit_establish(&b->active, &b->passive, &p->listener);
}

static void bystander_close(struct bystander *b)
{
    kit_close_connector(&b->active);
    kit_close_connector(&b->passive);
    CHECK_STATUS(kit_close(b->active.qp), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(b->passive.qp), STATUS_SUCCESS);
}

static void region_for(struct data_region *r, NDK_PD *pd, const struct target *t, uint64_t *address)
{
    data_region_open(r, pd, 300, REGION, t->flags);
    if (t->stale) {
        CHECK_STATUS(data_deregister(r->mr), STATUS_SUCCESS);
        CHECK_STATUS(data_register(r->mr, &r->mdl, r->len, t->flags), STATUS_SUCCESS);
    }
    *address = t->address ? t->address : (uintptr_t)r->memory + (uint64_t)t->offset;
}

/* covers: QPR-12 */
CASE(qpr_12_reads_of_what_must_not_be_read, KIT_FAMILIES)
{
    static struct kit_pair p;
    static struct bystander b;
    struct data_region r;
    uint64_t address;

    kit_pair_open(&p);
    bystander_open(&b, &p);
    for (int i = 0; i < TARGETS; i++) {
        NDK_SGE sge = kit_sge(&p.active, 50000, targets[i].len);

        region_for(&r, p.passive.pd, &targets[i], &address);
        memset(p.active.memory, 0x11, 300000);
        CHECK_STATUS(data_read(&p.active, 9, &sge, address, r.token), STATUS_SUCCESS);
        CHECK_STATUS(kit_result(&p.active).Status, targets[i].status);
        data_check_ended(&p.active);
        data_check_ended(&p.passive);
        for (size_t n = 0; n < 300000; n++)
            CHECK_EQ(p.active.memory[n], 0x11);
        CHECK(data_is_untouched(&r));
        kit_exchange(&b.active, &b.passive);
        data_region_close(&r);
        data_reconnect(&p);
    }
    bystander_close(&b);
    kit_pair_close(&p);
}

/*
 * The faulty read completes with its own error, whatever the state of the earlier reads. The receive fails because the
 * connection ends.
 */
/* covers: QPR-12 */
CASE(qpr_12_the_bad_read_among_good_ones, KIT_FAMILIES)
{
    enum { GOOD = 1, BAD, RECEIVE };
    static struct kit_pair p;
    NDK_RESULT_EX r[3];
    NDK_SGE sge;

    kit_pair_open(&p);
    memset(p.passive.memory, 0x22, 1000);
    sge = kit_sge(&p.active, 1000, 100);
    CHECK_STATUS(kit_post_receive(&p.active, RECEIVE, 3000, 100), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_read(&p.active, GOOD, 0, 100, &p.passive, 0), STATUS_SUCCESS);
    CHECK_STATUS(data_read(&p.active, BAD, &sge, (uintptr_t)p.passive.memory + KIT_MEMORY - 99, p.passive.remote_token),
                 STATUS_SUCCESS);
    kit_results(&p.active, r, 3);
    for (int i = 0, before = 0; i < 3; i++) {
        if ((uintptr_t)r[i].RequestContext == GOOD)
            CHECK(before == 0 && (r[i].Status < 0 || p.active.memory[99] == 0x22));
        else if ((uintptr_t)r[i].RequestContext == BAD)
            CHECK_STATUS(r[i].Status, STATUS_REMOTE_RESOURCES);
        else
            CHECK(r[i].Status < 0);
        before += (uintptr_t)r[i].RequestContext == BAD;
    }
    CHECK_EQ(p.active.memory[1000], 0);
    data_check_ended(&p.active);
    kit_pair_close(&p);
}

static void bad_writes(void)
{
    static struct kit_pair p;
    static struct bystander b;
    struct data_region r;
    uint64_t address;

    kit_pair_open(&p);
    bystander_open(&b, &p);
    for (int i = 0; i < TARGETS; i++) {
        NDK_SGE sge = kit_sge(&p.active, 0, targets[i].len);

        region_for(&r, p.passive.pd, &targets[i], &address);
        CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 8), STATUS_SUCCESS);
        CHECK_STATUS(data_write(&p.active, 9, &sge, address, r.token), STATUS_SUCCESS);
        data_check_ended(&p.active);
        data_check_ended(&p.passive);
        CHECK(kit_result(&p.passive).Status < 0);
        CHECK(data_guards_intact(&r));
        if (targets[i].offset < 0 || targets[i].address || targets[i].stale || targets[i].flags != DATA_ALL)
            CHECK(data_is_untouched(&r));
        kit_exchange(&b.active, &b.passive);
        data_region_close(&r);
        data_reconnect(&p);
    }
    bystander_close(&b);
    kit_pair_close(&p);
}

/* covers: QPR-13 */
CASE(qpr_13_writes_where_must_not_be_written, KIT_FAMILIES)
{
    bad_writes();
}

/* covers: QPR-13 */
CASE(qpr_13_the_same_without_checksums, KIT_FAMILIES)
{
    struct kit_config config = kit_config();

    config.crc = 0;
    config.max_fpdu = 1000;
    kit_configure(&config);
    bad_writes();
}

/* covers: QPR-13 */
CASE(qpr_13_a_write_is_not_told, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    p.passive.cq->Dispatch->NdkArmCq(p.passive.cq, NDK_CQ_NOTIFY_ANY);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 8), STATUS_SUCCESS);
    for (ULONG len = 1; len < 200000; len = len * 3 + 1) {
        kit_pattern(p.active.memory, len, len);
        memset(p.passive.memory, DATA_FILL, 300000);
        CHECK_STATUS(kit_post_write(&p.active, 2, 0, len, &p.passive, 777), STATUS_SUCCESS);
        CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
        data_wait_delivered(&p.active, &p.passive);
        CHECK(kit_pattern_is(p.passive.memory + 777, len, len));
        CHECK_EQ(p.passive.memory[776], DATA_FILL);
        CHECK_EQ(p.passive.memory[777 + len], DATA_FILL);
    }
    kit_pause();
    CHECK_EQ(data_drain(&p.passive), 0);
    CHECK_EQ(atomic_load(&p.passive.notified), 0);
    kit_pair_close(&p);
}

/* ---- invalid local memory ---- */

/* Tries each kind of request. The connection must survive requests that fail in the post. */
static void bad_local(struct kit_pair *p, NDK_SGE bad)
{
    NDK_SGE sges[2] = { kit_sge(&p->active, 0, 8), bad };
    NDK_QP *qp = p->active.qp;
    uint64_t far = (uintptr_t)p->passive.memory;
    UINT32 token = p->passive.remote_token;

    memset(p->passive.memory, 0x33, 20000);
    CHECK(data_outcome(&p->active, qp->Dispatch->NdkReceive(qp, NULL, sges, 2)) < 0);
    CHECK(data_outcome(&p->active, qp->Dispatch->NdkSend(qp, NULL, sges, 2, 0)) < 0);
    CHECK(data_outcome(&p->active, qp->Dispatch->NdkWrite(qp, NULL, sges, 2, far, token, 0)) < 0);
    CHECK(data_outcome(&p->active, qp->Dispatch->NdkRead(qp, NULL, sges, 2, far, token, 0)) < 0);
    CHECK_EQ(p->passive.memory[0], 0x33);
    data_reconnect(p);
}

/* covers: QPR-18 */
CASE(qpr_18_pieces_outside_their_region, KIT_FAMILIES)
{
    static const struct {
        ptrdiff_t offset;
        ULONG len;
    } wrong[] = { { 0, REGION + 1 }, { REGION, 1 }, { -1, 1 }, { -1, REGION }, { 1, REGION }, { 0, MAXULONG } };
    static struct kit_pair p;
    struct data_region r;
    NDK_SGE sge;

    kit_pair_open(&p);
    data_region_open(&r, p.active.pd, 300, REGION, DATA_ALL);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        sge = data_sge(&r, 0, wrong[i].len);
        sge.VirtualAddress = r.memory + wrong[i].offset;
        bad_local(&p, sge);
    }
    sge = data_sge(&r, 0, 10);
    sge.VirtualAddress = (void *)(UINTPTR_MAX - 4); /* address plus length would overflow */
    bad_local(&p, sge);
    sge = data_sge(&r, 0, 10);
    sge.MemoryRegionToken ^= 0x10101;
    bad_local(&p, sge);
    sge = data_sge(&r, 0, 10);
    CHECK_STATUS(data_deregister(r.mr), STATUS_SUCCESS);
    bad_local(&p, sge);
    CHECK(data_is_untouched(&r));
    kit_exchange(&p.active, &p.passive);
    data_region_close(&r);
    kit_pair_close(&p);
}

/* A region is closed while a receive with its memory is posted: the receive fails, and the memory does not change. */
/* covers: QPR-18 */
CASE(qpr_18_a_region_that_went_after_the_post, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct data_region r;
    NDK_SGE sge;

    kit_pair_open(&p);
    data_region_open(&r, p.passive.pd, 0, 100, DATA_ALL);
    sge = data_sge(&r, 0, 100);
    CHECK_STATUS(p.passive.qp->Dispatch->NdkReceive(p.passive.qp, NULL, &sge, 1), STATUS_SUCCESS);
    CHECK_STATUS(data_deregister(r.mr), STATUS_SUCCESS);
    data_protect(&r);
    CHECK_STATUS(kit_post_send(&p.active, 1, 0, 50), STATUS_SUCCESS);
    CHECK(kit_result(&p.passive).Status < 0);
    data_region_close(&r);
    kit_pair_close(&p);
}
