/* SPDX-License-Identifier: MIT */
/* QPR: SGEs with logical addresses, and reads that invalidate their sink. */
#include "contract/kit/fast.h"

/* ---- QPR-15 ---- */

static void need_local_invalidate(NDK_ADAPTER *adapter)
{
    if (!(data_info(adapter).AdapterFlags & NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED))
        kit_skip("the adapter does not report local invalidation by reads");
}

enum { LOCAL_INVALIDATE = NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE };

static NTSTATUS read_into(struct kit_side *s, uintptr_t context, const NDK_SGE *sges, ULONG count,
                          const struct kit_side *from, ULONG flags)
{
    return s->qp->Dispatch->NdkRead(s->qp, (PVOID)context, sges, count, (uintptr_t)from->memory, from->remote_token,
                                    flags);
}

/* covers: QPR-15 */
CASE(qpr_15_the_first_token_is_dead, KIT_FAMILIES)
{
    static const ULONG lengths[] = { 1, 100, PAGE_SIZE + 1, 40 * PAGE_SIZE };
    static struct kit_pair p;
    struct fast_region first, second;

    kit_pair_open(&p);
    need_local_invalidate(p.passive.adapter);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        for (int silent = 0; silent < 2; silent++) {
            NDK_SGE sges[3];
            UINT32 token;

            fast_region_open(&first, &p.passive, 40, FAST_ALL);
            fast_region_open(&second, &p.passive, 1, FAST_ALL);
            token = first.token;
            sges[0] = fast_sge(&first, first.len - lengths[i], lengths[i]);
            sges[1] = fast_sge(&second, 0, 50);
            sges[2] = kit_sge(&p.passive, 0, 50);
            kit_pattern(p.active.memory, lengths[i] + 100, 8);
            CHECK_STATUS(read_into(&p.passive, 1, sges, 3, &p.active,
                                   LOCAL_INVALIDATE | (silent ? NDK_OP_FLAG_SILENT_SUCCESS : 0)),
                         STATUS_SUCCESS);
            CHECK_STATUS(kit_post_write(&p.passive, 2, 0, 1, &p.active, KIT_MEMORY - 20), STATUS_SUCCESS);
            if (!silent)
                CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeRead), 1);
            CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeWrite), 2);
            CHECK(memcmp(first.memory.memory + first.len - lengths[i], p.active.memory, lengths[i]) == 0);
            CHECK(memcmp(second.memory.memory, p.active.memory + lengths[i], 50) == 0);
            fast_check_refused(&p.passive, sges[0]);
            CHECK(data_outcome(&p.passive, fast_invalidate(&p.passive, 3, first.mr, 0)) < 0);
            fast_check_alive(&p, &second.memory, second.memory.memory, second.token, second.base, second.len);
            fast_check_dead(&p, &first.memory, token, first.base, 10);
            fast_region_close(&first);
            fast_region_close(&second);
        }
    kit_pair_close(&p);
}

/* Several reads that each invalidate their own region, and plain reads between them. */
/* covers: QPR-15, QPR-11 */
CASE(qpr_15_many_at_once, KIT_FAMILIES)
{
    enum { READS = 24 };
    static struct kit_pair p;
    static struct fast_region r[READS];

    kit_pair_open(&p);
    need_local_invalidate(p.passive.adapter);
    kit_pattern(p.active.memory, 5000, 2);
    for (uintptr_t i = 0; i < READS; i++)
        fast_region_open(&r[i], &p.passive, 2, FAST_ALL);
    for (uintptr_t i = 0; i < READS; i++) {
        NDK_SGE sge = fast_sge(&r[i], 0, 5000);
        CHECK_STATUS(read_into(&p.passive, i, &sge, 1, &p.active, i & 1 ? LOCAL_INVALIDATE : 0), STATUS_SUCCESS);
    }
    for (uintptr_t i = 0; i < READS; i++) {
        CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeRead), i);
        CHECK(memcmp(r[i].memory.memory, p.active.memory, 5000) == 0);
        if (i & 1)
            fast_check_refused(&p.passive, fast_sge(&r[i], 0, 10));
    }
    for (uintptr_t i = 0; i < READS; i++) {
        if (!(i & 1))
            fast_check_alive(&p, &r[i].memory, r[i].memory.memory, r[i].token, r[i].base, r[i].len);
        fast_region_close(&r[i]);
    }
    kit_pair_close(&p);
}

/* ---- QPR-18: logical addresses ---- */

enum { LEN = 3 * PAGE_SIZE, FIRST = 1000, AROUND = PAGE_SIZE };

/*
 * Fills `sges` with one piece for each page of the `len` bytes from `offset`, because the pages' logical addresses need
 * not be adjacent. Returns the number of pieces.
 */
static ULONG by_page(const struct fast_memory *m, NDK_PD *pd, size_t offset, ULONG len, NDK_SGE *sges)
{
    ULONG count = 0;

    while (len > 0) {
        ULONG room = PAGE_SIZE - (ULONG)((m->fbo + offset) % PAGE_SIZE), n = len < room ? len : room;

        sges[count++] = fast_logical(m, pd, offset, n);
        offset += n;
        len -= n;
    }
    return count;
}

enum use { SEND, WRITE, READ, RECEIVE, USES };

/* Executes a request of the passive side that transfers data between the pieces and the active side's memory. */
static void transfer_pieces(struct kit_pair *p, enum use how, const NDK_SGE *sges, ULONG count, ULONG len)
{
    struct kit_side *s = &p->passive, *far = &p->active;

    switch (how) {
    case SEND:
        CHECK_STATUS(kit_post_receive(far, 1, 0, len), STATUS_SUCCESS);
        CHECK_STATUS(s->qp->Dispatch->NdkSend(s->qp, (PVOID)2, sges, count, 0), STATUS_SUCCESS);
        CHECK_EQ(fast_check_result(far, NdkOperationTypeReceive), 1);
        CHECK_EQ(fast_check_result(s, NdkOperationTypeSend), 2);
        break;
    case WRITE:
        CHECK_STATUS(
            s->qp->Dispatch->NdkWrite(s->qp, (PVOID)3, sges, count, (uintptr_t)far->memory, far->remote_token, 0),
            STATUS_SUCCESS);
        CHECK_EQ(fast_check_result(s, NdkOperationTypeWrite), 3);
        data_wait_delivered(s, far);
        break;
    case READ:
        CHECK_STATUS(read_into(s, 4, sges, count, far, 0), STATUS_SUCCESS);
        CHECK_EQ(fast_check_result(s, NdkOperationTypeRead), 4);
        break;
    default:
        CHECK_STATUS(s->qp->Dispatch->NdkReceive(s->qp, (PVOID)5, sges, count), STATUS_SUCCESS);
        CHECK_STATUS(kit_post_send(far, 6, 0, len), STATUS_SUCCESS);
        CHECK_EQ(fast_check_result(s, NdkOperationTypeReceive), 5);
        CHECK_EQ(fast_check_result(far, NdkOperationTypeSend), 6);
        break;
    }
}

/* covers: QPR-18 */
CASE(qpr_18_logical_addresses_in_every_request, KIT_FAMILIES)
{
    static const struct {
        size_t offset;
        ULONG len;
    } parts[] = {
        { 0, LEN }, { 0, 1 }, { LEN - 1, 1 }, { PAGE_SIZE - FIRST, 1 }, { PAGE_SIZE - FIRST - 1, 2 }, { 10, 5000 },
    };
    static struct kit_pair p;
    struct fast_memory m;
    NDK_SGE sges[8];

    kit_pair_open(&p);
    fast_memory_open(&m, p.passive.adapter, FIRST, LEN);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        for (enum use how = 0; how < USES; how++) {
            size_t at = parts[i].offset;
            ULONG len = parts[i].len, count = by_page(&m, p.passive.pd, at, len, sges);
            bool in = how == READ || how == RECEIVE;

            memset(m.map, DATA_FILL, m.map_len);
            kit_pattern(in ? p.active.memory : m.memory + at, len, (unsigned)how + 3);
            transfer_pieces(&p, how, sges, count, len);
            CHECK(kit_pattern_is(in ? m.memory + at : p.active.memory, len, (unsigned)how + 3));
            for (uint8_t *b = m.map; b < m.map + m.map_len; b++)
                CHECK((b >= m.memory + at && b < m.memory + at + len) || *b == DATA_FILL);
        }
    fast_memory_close(&m);
    kit_pair_close(&p);
}

/* The logical addresses are used together with pieces of other regions, and with an empty piece without memory. */
/* covers: QPR-18 */
CASE(qpr_18_mixed_with_other_pieces, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct fast_region r;
    struct fast_memory m;
    NDK_SGE sges[4];

    kit_pair_open(&p);
    fast_memory_open(&m, p.passive.adapter, FIRST, LEN);
    fast_region_open(&r, &p.passive, 2, FAST_ALL);
    for (int turn = 0; turn < 4; turn++)
        for (enum use how = 0; how < USES; how++) {
            uint8_t *at[4] = { m.memory + 5, p.passive.memory + 7000, r.memory.memory + 4000, NULL };
            bool in = how == READ || how == RECEIVE;
            uint8_t *far = p.active.memory;

            sges[turn] = fast_logical(&m, p.passive.pd, 5, 600);
            sges[(turn + 1) % 4] = kit_sge(&p.passive, 7000, 600);
            sges[(turn + 2) % 4] = fast_sge(&r, 4000, 600);
            sges[(turn + 3) % 4] = (NDK_SGE){ .MemoryRegionToken = 0x111 };
            kit_pattern(far, 1800, 1);
            for (int i = 0; i < 3; i++)
                kit_pattern(at[i], 600, 10 + (unsigned)i);
            transfer_pieces(&p, how, sges, 4, 1800);
            for (int i = 0; i < 4; i++) {
                uint8_t *near = at[(i + 4 - turn) % 4];

                if (!near)
                    continue;
                if (in)
                    CHECK(memcmp(near, far, 600) == 0);
                else
                    CHECK(kit_pattern_is(far, 600, 10 + (unsigned)((i + 4 - turn) % 4)));
                far += 600;
            }
            CHECK(m.memory[4] == DATA_FILL && m.memory[605] == DATA_FILL);
            CHECK(r.memory.memory[3999] == DATA_FILL && r.memory.memory[4600] == DATA_FILL);
        }
    fast_region_close(&r);
    fast_memory_close(&m);
    kit_pair_close(&p);
}

/*
 * Checks that each kind of request is refused or fails in its completion, that no data moves, and that the connection
 * still works.
 */
static void check_bad(struct kit_pair *p, const NDK_SGE *sges, ULONG count, ULONG len)
{
    struct kit_side *s = &p->passive, *far = &p->active;

    memset(far->memory, 0x5c, len + AROUND);
    CHECK_STATUS(data_outcome(s, s->qp->Dispatch->NdkSend(s->qp, NULL, sges, count, 0)), STATUS_ACCESS_VIOLATION);
    CHECK_STATUS(data_outcome(s, s->qp->Dispatch->NdkWrite(s->qp, NULL, sges, count, (uintptr_t)far->memory,
                                                           far->remote_token, 0)),
                 STATUS_ACCESS_VIOLATION);
    CHECK_STATUS(data_outcome(s, read_into(s, 1, sges, count, far, 0)), STATUS_ACCESS_VIOLATION);
    CHECK_STATUS(s->qp->Dispatch->NdkReceive(s->qp, NULL, sges, count), STATUS_ACCESS_VIOLATION);
    data_wait_delivered(s, far);
    for (size_t i = 0; i < len + AROUND; i++)
        CHECK_EQ(far->memory[i], 0x5c);
}

/* covers: QPR-18 */
CASE(qpr_18_bad_logical_addresses, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct fast_memory m, gone;
    NDK_SGE sge, pieces[2], old;
    UINT32 token;

    kit_pair_open(&p);
    fast_memory_open(&m, p.passive.adapter, FIRST, LEN);
    fast_memory_open(&gone, p.passive.adapter, 0, PAGE_SIZE);
    old = fast_logical(&gone, p.passive.pd, 0, 100);
    fast_memory_release(&gone);
    p.passive.pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(p.passive.pd, &token);
    const LONGLONG first = fast_logical(&m, p.passive.pd, 0, 1).LogicalAddress.QuadPart;
    const LONGLONG last = fast_logical(&m, p.passive.pd, LEN - 1, 1).LogicalAddress.QuadPart;
    const struct {
        LONGLONG address;
        ULONG len;
        UINT32 token;
    } all[] = {
        { last + 1, 1, token },
        { last, 2, token },
        { first - 1, 1, token },
        { first - 1, 10, token },
        { last + PAGE_SIZE, 10, token },
        { first, MAXULONG / 2, token },
        { 0, 10, token },
        { -1, 1, token },
        { (LONGLONG)(uintptr_t)m.memory, 10, token },         /* its virtual address */
        { (LONGLONG)(uintptr_t)p.passive.memory, 10, token }, /* registered, but not mapped */
        { first, 10, token ^ 0x40 },
        { first, 10, p.passive.local_token },
        { old.LogicalAddress.QuadPart, 100, token }, /* released */
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        memset(&sge, 0, sizeof sge);
        sge.LogicalAddress.QuadPart = all[i].address;
        sge.Length = all[i].len;
        sge.MemoryRegionToken = all[i].token;
        check_bad(&p, &sge, 1, 10);
        pieces[0] = kit_sge(&p.passive, 0, 50);
        pieces[1] = sge;
        check_bad(&p, pieces, 2, 60);
    }
    CHECK(fast_memory_is_untouched(&m) && fast_memory_is_untouched(&gone));
    fast_memory_close(&m);
    fast_memory_close(&gone);
    kit_pair_close(&p);
}

/* The mapping is released while a receive waits: the receive fails, and nothing is accessed. */
/* covers: QPR-18 */
CASE(qpr_18_a_mapping_released_under_a_receive, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_config config = kit_config();
    struct fast_memory m;
    NDK_SGE sge;

    config.breaches = 1; /* the case breaks the rule that the mapping must exist until the receive has completed */
    kit_configure(&config);
    kit_pair_open(&p);
    for (ULONG len = 1; len <= 100; len += 99) {
        fast_memory_open(&m, p.passive.adapter, FIRST, 200);
        sge = fast_logical(&m, p.passive.pd, 0, 200);
        CHECK_STATUS(p.passive.qp->Dispatch->NdkReceive(p.passive.qp, (PVOID)5, &sge, 1), STATUS_SUCCESS);
        fast_memory_release(&m);
        CHECK_STATUS(kit_post_send(&p.active, 6, 0, len), STATUS_SUCCESS);
        NDK_RESULT_EX got = kit_result(&p.passive);
        CHECK_STATUS(got.Status, STATUS_ACCESS_VIOLATION);
        CHECK_EQ((uintptr_t)got.RequestContext, 5);
        data_check_ended(&p.passive);
        data_check_ended(&p.active);
        CHECK(fast_memory_is_untouched(&m));
        fast_memory_close(&m);
        data_reconnect(&p);
    }
    kit_pair_close(&p);
}
