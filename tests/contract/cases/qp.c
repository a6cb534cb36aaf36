/* SPDX-License-Identifier: MIT */
/* QPR: queue pairs: limits, order, and data of sends. */
#include "contract/kit/data.h"

enum { GAP = 64 };

/* ---- limits ---- */

static void check_qp_refused(struct kit_side *s, struct data_qp how)
{
    NDK_QP *qp;

    CHECK_STATUS(data_qp(s, &how, &qp), STATUS_INVALID_PARAMETER);
}

/* covers: QPR-01 */
CASE(qpr_01_beyond_each_limit, 0)
{
    static struct kit_side s;
    struct data_qp right = { .receives = 4, .initiators = 4, .receive_sges = 1, .initiator_sges = 1 }, wrong;
    NDK_ADAPTER_INFO info;

    kit_side_open(&s, NULL);
    info = data_info(s.adapter);
    for (int most = 0; most < 2; most++) {
        wrong = right;
        wrong.receives = most ? MAXULONG : info.MaxReceiveQueueDepth + 1;
        check_qp_refused(&s, wrong);
        wrong = right;
        wrong.initiators = most ? MAXULONG : info.MaxInitiatorQueueDepth + 1;
        check_qp_refused(&s, wrong);
        wrong = right;
        wrong.receive_sges = most ? MAXULONG : info.MaxReceiveRequestSge + 1;
        check_qp_refused(&s, wrong);
        wrong = right;
        wrong.initiator_sges = most ? MAXULONG : info.MaxInitiatorRequestSge + 1;
        check_qp_refused(&s, wrong);
        wrong = right;
        wrong.inline_size = most ? MAXULONG : info.MaxInlineDataSize + 1;
        check_qp_refused(&s, wrong);
    }
    kit_side_close(&s);
}

/* Opens a side whose queue pair has the adapter's limits. */
static void open_largest(struct kit_side *s, NDK_ADAPTER_INFO *info)
{
    struct data_qp how = { .context = s };

    kit_side_open(s, NULL);
    *info = data_info(s->adapter);
    CHECK_STATUS(kit_close(s->qp), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(s->cq), STATUS_SUCCESS);
    CHECK(info->MaxCqDepth >= info->MaxReceiveQueueDepth + info->MaxInitiatorQueueDepth);
    CHECK_STATUS(
        data_cq(s->adapter, info->MaxReceiveQueueDepth + info->MaxInitiatorQueueDepth, kit_on_notify, s, &s->cq),
        STATUS_SUCCESS);
    how.receives = info->MaxReceiveQueueDepth;
    how.initiators = info->MaxInitiatorQueueDepth;
    how.receive_sges = info->MaxReceiveRequestSge;
    how.initiator_sges = info->MaxInitiatorRequestSge;
    how.inline_size = info->MaxInlineDataSize;
    CHECK_STATUS(data_qp(s, &how, &s->qp), STATUS_SUCCESS);
}

/* Describes `count` pieces of one byte, every second byte from offset `at`. */
static void bytes_of(const struct kit_side *s, NDK_SGE *sges, ULONG count, size_t at)
{
    for (ULONG i = 0; i < count; i++)
        sges[i] = kit_sge(s, at + i * 2, 1);
}

/* covers: QPR-01 */
CASE(qpr_01_at_the_limit_everything_completes, KIT_FAMILIES)
{
    enum { MOST_SGES = 256 };
    static struct kit_pair p;
    NDK_ADAPTER_INFO info;
    NDK_SGE from[MOST_SGES], to[MOST_SGES];
    NTSTATUS status;

    open_largest(&p.active, &info);
    open_largest(&p.passive, &info);
    kit_listen(&p.listener, p.passive.adapter);
    CHECK(info.MaxReceiveRequestSge <= MOST_SGES && info.MaxInitiatorRequestSge <= MOST_SGES);
    CHECK(info.MaxReceiveRequestSge >= info.MaxInitiatorRequestSge);
    kit_pattern(p.active.memory, 4096, 8);
    bytes_of(&p.active, from, info.MaxInitiatorRequestSge, 0);
    bytes_of(&p.passive, to, info.MaxReceiveRequestSge, 0);
    for (uintptr_t i = 0; i < info.MaxReceiveQueueDepth; i++)
        CHECK_STATUS(p.passive.qp->Dispatch->NdkReceive(p.passive.qp, (PVOID)i, to, info.MaxReceiveRequestSge),
                     STATUS_SUCCESS);
    CHECK(p.passive.qp->Dispatch->NdkReceive(p.passive.qp, NULL, to, 1) < 0); /* the queue is full */
    CHECK_STATUS(p.active.qp->Dispatch->NdkReceive(p.active.qp, NULL, from, info.MaxReceiveRequestSge + 1),
                 STATUS_INVALID_PARAMETER);
    kit_establish(&p.active, &p.passive, &p.listener);
    CHECK_STATUS(p.active.qp->Dispatch->NdkSend(p.active.qp, NULL, from, info.MaxInitiatorRequestSge + 1, 0),
                 STATUS_INVALID_PARAMETER);
    for (uintptr_t i = 0; i < info.MaxReceiveQueueDepth; i++) {
        do {
            status = p.active.qp->Dispatch->NdkSend(p.active.qp, (PVOID)i, from, info.MaxInitiatorRequestSge, 0);
            if (status == STATUS_INSUFFICIENT_RESOURCES)
                sched_yield();
        } while (status == STATUS_INSUFFICIENT_RESOURCES);
        CHECK_STATUS(status, STATUS_SUCCESS);
    }
    for (uintptr_t i = 0; i < info.MaxReceiveQueueDepth; i++) {
        NDK_RESULT_EX sent = kit_result(&p.active), received = kit_result(&p.passive);
        CHECK_STATUS(sent.Status, STATUS_SUCCESS);
        CHECK_EQ((uintptr_t)sent.RequestContext, i);
        CHECK_STATUS(received.Status, STATUS_SUCCESS);
        CHECK_EQ((uintptr_t)received.RequestContext, i);
        CHECK_EQ(received.BytesTransferred, info.MaxInitiatorRequestSge);
    }
    for (ULONG i = 0; i < info.MaxInitiatorRequestSge; i++)
        CHECK_EQ(p.passive.memory[i * 2], p.active.memory[i * 2]);
    kit_pair_close(&p);
}

/* ---- order ---- */

enum { REQUESTS = 3000, WINDOW = 24 };

struct mix {
    struct kit_pair *p;
    uint64_t seed;
    /* The expected contexts in order: of the active side's completions, and of the passive side's receives. */
    uintptr_t expected[REQUESTS], received[REQUESTS];
    unsigned posted, sends, done, arrived;
};

/* Posts a valid request of a random kind and length, silent or not. Sometimes posts an invalid request before it. */
static void post_any(struct mix *m, uintptr_t context)
{
    struct kit_side *s = &m->p->active;
    ULONG flags = data_random_below(&m->seed, 3) == 0 ? NDK_OP_FLAG_SILENT_SUCCESS : 0;
    uint32_t offset = data_random_below(&m->seed, 1000), len = data_random_below(&m->seed, 3000);
    NDK_SGE sge = kit_sge(s, offset, len), bad = kit_sge(s, offset, len + 1);
    uint64_t far = (uintptr_t)m->p->passive.memory + 100000;
    NTSTATUS status;

    /* `bad` has at least one byte, because the memory of an empty request is not checked. */
    bad.MemoryRegionToken ^= 0x5a5a5a;
    if (data_random_below(&m->seed, 10) == 0)
        CHECK(s->qp->Dispatch->NdkSend(s->qp, (PVOID)(context | 0x80000000u), &bad, 1, flags) < 0);
    switch (data_random_below(&m->seed, 3)) {
    case 0:
        CHECK_STATUS(kit_post_receive(&m->p->passive, context, 0, 4000), STATUS_SUCCESS);
        m->received[m->sends++] = context;
        status = s->qp->Dispatch->NdkSend(s->qp, (PVOID)context, &sge, 1, flags);
        break;
    case 1:
        status = s->qp->Dispatch->NdkWrite(s->qp, (PVOID)context, &sge, 1, far, m->p->passive.remote_token, flags);
        break;
    default:
        status = s->qp->Dispatch->NdkRead(s->qp, (PVOID)context, &sge, 1, far, m->p->passive.remote_token, flags);
        break;
    }
    CHECK_STATUS(status, STATUS_SUCCESS);
    if (!flags)
        m->expected[m->posted++] = context;
}

/* Checks the next completion of each queue. */
static void check_next(struct mix *m)
{
    if (m->done < m->posted) {
        NDK_RESULT_EX r = kit_result(&m->p->active);
        CHECK_STATUS(r.Status, STATUS_SUCCESS);
        CHECK_EQ((uintptr_t)r.RequestContext, m->expected[m->done++]);
    }
    if (m->arrived < m->sends) {
        NDK_RESULT_EX r = kit_result(&m->p->passive);
        CHECK_STATUS(r.Status, STATUS_SUCCESS);
        CHECK_EQ((uintptr_t)r.RequestContext, m->received[m->arrived++]);
    }
}

/* covers: QPR-02 */
CASE(qpr_02_in_order_and_exactly_once, KIT_FAMILIES)
{
    static struct kit_pair p;
    static struct mix m;

    kit_pair_open(&p);
    m.p = &p;
    m.seed = 7;
    for (uintptr_t i = 0; i < REQUESTS; i++) {
        /* A silent request uses a place of the queue until it has completed, so the case waits for all requests. */
        if (i % WINDOW == WINDOW - 1)
            while (m.done < m.posted || m.arrived < m.sends)
                check_next(&m);
        if (i % WINDOW == WINDOW - 1)
            data_wait_delivered(&p.active, &p.passive);
        post_any(&m, i);
    }
    while (m.done < m.posted || m.arrived < m.sends)
        check_next(&m);
    data_wait_delivered(&p.active, &p.passive);
    kit_pause();
    CHECK_EQ(data_drain(&p.active), 0);
    CHECK_EQ(data_drain(&p.passive), 0);
    CHECK(m.posted < REQUESTS && m.sends > REQUESTS / 5);
    kit_pair_close(&p);
}

/* Also when the connection ends, requests complete in the order of their posts. */
/* covers: QPR-02 */
CASE(qpr_02_in_order_when_the_connection_breaks, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    for (uintptr_t i = 0; i < 40; i++)
        CHECK_STATUS(kit_post_receive(&p.active, i, 0, 100), STATUS_SUCCESS);
    for (uintptr_t i = 0; i < 10; i++) {
        CHECK_STATUS(kit_post_receive(&p.passive, i, 0, 100), STATUS_SUCCESS);
        CHECK_STATUS(kit_post_send(&p.passive, i, 0, 100), STATUS_SUCCESS);
        CHECK_STATUS(kit_result(&p.passive).Status, STATUS_SUCCESS);
    }
    kit_close_connector(&p.passive);
    for (uintptr_t i = 0; i < 40; i++) {
        NDK_RESULT_EX r = kit_result(&p.active);
        CHECK_EQ((uintptr_t)r.RequestContext, i);
        CHECK((r.Status == STATUS_SUCCESS) == (i < 10));
    }
    for (uintptr_t i = 0; i < 10; i++)
        CHECK_EQ((uintptr_t)kit_result(&p.passive).RequestContext, i);
    kit_pause();
    CHECK_EQ(data_drain(&p.active), 0);
    CHECK_EQ(data_drain(&p.passive), 0);
    kit_pair_close(&p);
}

/* ---- not connected ---- */

static void check_not_connected(struct kit_side *s, const struct kit_side *far)
{
    NDK_SGE sge = kit_sge(s, 0, 8);

    CHECK_STATUS(kit_post_send(s, 1, 0, 8), STATUS_CONNECTION_INVALID);
    CHECK_STATUS(s->qp->Dispatch->NdkSend(s->qp, NULL, NULL, 0, 0), STATUS_CONNECTION_INVALID);
    CHECK_STATUS(s->qp->Dispatch->NdkSend(s->qp, NULL, &sge, 1, NDK_OP_FLAG_SILENT_SUCCESS), STATUS_CONNECTION_INVALID);
    CHECK_STATUS(kit_post_write(s, 2, 0, 8, far, 0), STATUS_CONNECTION_INVALID);
    CHECK_STATUS(kit_post_read(s, 3, 0, 8, far, 0), STATUS_CONNECTION_INVALID);
}

/* covers: QPR-03 */
CASE(qpr_03_posts_need_a_connection, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open_idle(&p);
    check_not_connected(&p.active, &p.passive);
    check_not_connected(&p.passive, &p.active);
    kit_establish(&p.active, &p.passive, &p.listener);
    kit_exchange(&p.active, &p.passive);
    kit_pair_disconnect(&p);
    check_not_connected(&p.active, &p.passive);
    check_not_connected(&p.passive, &p.active);
    CHECK_EQ(data_drain(&p.active), 0);
    CHECK_EQ(data_drain(&p.passive), 0);
    kit_pair_close(&p);
}

/* covers: QPR-03 */
CASE(qpr_03_receives_do_not, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open_idle(&p);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 100), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_receive(&p.active, 2, 0, 100), STATUS_SUCCESS);
    kit_establish(&p.active, &p.passive, &p.listener);
    CHECK_STATUS(kit_post_send(&p.active, 3, 200, 100), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.passive).Status, STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    CHECK_STATUS(kit_post_send(&p.passive, 4, 200, 100), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.passive).Status, STATUS_SUCCESS);
    kit_pair_disconnect(&p);
    CHECK_STATUS(kit_post_receive(&p.passive, 5, 0, 100), STATUS_SUCCESS);
    p.passive.qp->Dispatch->NdkFlush(p.passive.qp);
    CHECK_STATUS(kit_result(&p.passive).Status, STATUS_CANCELLED);
    kit_pair_close(&p);
}

/* ---- what a send delivers ---- */

enum { PIECES = 4 };

/*
 * Describes `len` bytes, from offset `at` of the memory, in pieces of random lengths with gaps between them. A piece
 * may be empty. Returns the number of pieces.
 */
static ULONG split(const struct kit_side *s, NDK_SGE *sges, size_t at, ULONG len, uint64_t *seed)
{
    ULONG count = 1 + data_random_below(seed, PIECES), left = len;

    for (ULONG i = 0; i < count; i++) {
        ULONG n = i + 1 == count ? left : data_random_below(seed, left + 1);
        sges[i] = kit_sge(s, at, n);
        at += n + GAP; /* not adjacent */
        left -= n;
    }
    return count;
}

static void fill(const NDK_SGE *sges, ULONG count, unsigned seed)
{
    for (ULONG i = 0; i < count; i++)
        kit_pattern(sges[i].VirtualAddress, sges[i].Length, seed + i);
}

static uint8_t byte_at(const NDK_SGE *sges, ULONG count, size_t at)
{
    for (ULONG i = 0; i < count; i++) {
        if (at < sges[i].Length)
            return ((const uint8_t *)sges[i].VirtualAddress)[at];
        at -= sges[i].Length;
    }
    return DATA_FILL;
}

/* Sends `len` bytes into a receive of len + room bytes, and checks what arrives. */
static void deliver(struct kit_side *from, struct kit_side *to, ULONG len, ULONG room, uint64_t *seed)
{
    NDK_SGE source[PIECES], sink[PIECES];
    ULONG extent = len + room + (PIECES + 1) * GAP, sources, sinks;
    NDK_RESULT_EX r;
    size_t n = 0;

    memset(to->memory, DATA_FILL, extent);
    sources = split(from, source, 0, len, seed);
    sinks = split(to, sink, GAP, len + room, seed);
    fill(source, sources, len);
    CHECK_STATUS(to->qp->Dispatch->NdkReceive(to->qp, NULL, sink, sinks), STATUS_SUCCESS);
    CHECK_STATUS(from->qp->Dispatch->NdkSend(from->qp, NULL, source, sources, 0), STATUS_SUCCESS);
    r = kit_result(to);
    CHECK_STATUS(r.Status, STATUS_SUCCESS);
    CHECK_EQ(r.BytesTransferred, len);
    CHECK_STATUS(kit_result(from).Status, STATUS_SUCCESS);
    for (ULONG at = 0; at < len + room; at++)
        if (byte_at(sink, sinks, at) != (at < len ? byte_at(source, sources, at) : DATA_FILL))
            kit_fail(__FILE__, __LINE__, "length %u in %u pieces into %u: byte %u differs", len, sources, sinks, at);
    for (ULONG i = 0; i < sinks; i++) { /* the bytes between the pieces */
        const uint8_t *end = (const uint8_t *)sink[i].VirtualAddress + sink[i].Length;
        for (; n < (size_t)((const uint8_t *)sink[i].VirtualAddress - to->memory); n++)
            CHECK_EQ(to->memory[n], DATA_FILL);
        n = (size_t)(end - to->memory);
    }
    for (; n < extent; n++)
        CHECK_EQ(to->memory[n], DATA_FILL);
}

static void small_segments(void)
{
    struct kit_config config = kit_config();

    config.max_fpdu = 512;
    kit_configure(&config);
}

/* covers: QPR-04 */
CASE(qpr_04_every_length_over_several_segments, KIT_FAMILIES)
{
    static struct kit_pair p;
    uint64_t seed = 3;

    small_segments();
    kit_pair_open(&p);
    for (ULONG len = 0; len < 1600; len++) {
        bool back = len & 1;
        deliver(back ? &p.passive : &p.active, back ? &p.active : &p.passive, len, data_random_below(&seed, 3), &seed);
    }
    kit_pair_close(&p);
}

/* covers: QPR-04 */
CASE(qpr_04_long_messages, KIT_FAMILIES)
{
    static const ULONG around[] = { 4096, 32768, 65483, 65536, 131072, 1 << 20 };
    static struct kit_pair p;
    uint64_t seed = 4;

    kit_pair_open(&p);
    for (size_t i = 0; i < sizeof around / sizeof around[0]; i++)
        for (int d = -24; d <= 24; d += i < 4 ? 1 : 12)
            deliver(&p.active, &p.passive, (ULONG)((int)around[i] + d), (ULONG)(d & 7), &seed);
    kit_pair_close(&p);
}

/* Without checksums data takes another path, from the stream directly to its memory. */
/* covers: QPR-04 */
CASE(qpr_04_without_checksums, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_config config = kit_config();
    uint64_t seed = 5;

    config.crc = 0;
    config.max_fpdu = 1000;
    kit_configure(&config);
    kit_pair_open(&p);
    for (ULONG len = 0; len < 4100; len += 1 + len / 300)
        deliver(&p.active, &p.passive, len, data_random_below(&seed, 3), &seed);
    deliver(&p.active, &p.passive, 1 << 20, 5, &seed);
    kit_pair_close(&p);
}

/* ---- requests without data ---- */

static void nothing(struct kit_side *from, struct kit_side *to)
{
    uint64_t far = (uintptr_t)to->memory;
    NDK_RESULT_EX r;

    CHECK_STATUS(to->qp->Dispatch->NdkReceive(to->qp, (PVOID)1, NULL, 0), STATUS_SUCCESS);
    CHECK_STATUS(from->qp->Dispatch->NdkSend(from->qp, (PVOID)2, NULL, 0, 0), STATUS_SUCCESS);
    CHECK_STATUS(from->qp->Dispatch->NdkWrite(from->qp, (PVOID)3, NULL, 0, far, to->remote_token, 0), STATUS_SUCCESS);
    CHECK_STATUS(from->qp->Dispatch->NdkRead(from->qp, (PVOID)4, NULL, 0, far, to->remote_token, 0), STATUS_SUCCESS);
    for (uintptr_t i = 2; i <= 4; i++) {
        r = kit_result(from);
        CHECK_STATUS(r.Status, STATUS_SUCCESS);
        CHECK_EQ((uintptr_t)r.RequestContext, i);
    }
    r = kit_result(to);
    CHECK_STATUS(r.Status, STATUS_SUCCESS);
    CHECK_EQ(r.BytesTransferred, 0);
    CHECK_EQ((uintptr_t)r.RequestContext, 1);
}

/* covers: QPR-19 */
CASE(qpr_19_requests_of_nothing, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    for (int i = 0; i < 20; i++) {
        nothing(&p.active, &p.passive);
        nothing(&p.passive, &p.active);
        kit_exchange(&p.active, &p.passive);
    }
    kit_pair_close(&p);
}

/* ---- deferred requests ---- */

/* Posts a request that fails inline. `how`, from 0 to 4, selects what is wrong with the request. */
static NTSTATUS post_bad(struct kit_side *s, int how)
{
    enum { UNKNOWN_FLAG = 1u << 30 };
    static unsigned char much[1 << 16];
    NDK_SGE sges[64] = { { .Length = 0 } };
    NDK_SGE logical = { .Length = 1 };
    NDK_SGE large = { .VirtualAddress = much, .Length = sizeof much };
    NDK_SGE wild = { .VirtualAddress = much, .Length = 1, .MemoryRegionToken = s->local_token };

    s->pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(s->pd, &logical.MemoryRegionToken);
    switch (how) {
    case 0:
        return s->qp->Dispatch->NdkSend(s->qp, NULL, NULL, 0, UNKNOWN_FLAG);
    case 1:
        return s->qp->Dispatch->NdkWrite(s->qp, NULL, sges, sizeof sges / sizeof *sges, 0, 0, 0);
    case 2:
        return s->qp->Dispatch->NdkSend(s->qp, NULL, &large, 1, NDK_OP_FLAG_INLINE);
    case 3:
        return s->qp->Dispatch->NdkRead(s->qp, NULL, &logical, 1, 0, 0, NDK_OP_FLAG_DEFER);
    default:
        return s->qp->Dispatch->NdkSend(s->qp, NULL, &wild, 1, 0);
    }
}

/* covers: QPR-10 */
CASE(qpr_10_an_inline_failure_releases_what_was_deferred, KIT_FAMILIES)
{
    static struct kit_pair p;
    NDK_SGE sge;

    kit_pair_open(&p);
    sge = kit_sge(&p.active, 0, 10);
    for (int how = 0; how <= 4; how++) {
        CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, 100), STATUS_SUCCESS);
        CHECK_STATUS(p.active.qp->Dispatch->NdkSend(p.active.qp, (PVOID)2, &sge, 1, NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
        CHECK(post_bad(&p.active, how) < 0);
        CHECK_STATUS(kit_result(&p.passive).Status, STATUS_SUCCESS);
        CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    }
    kit_pair_close(&p);
}
