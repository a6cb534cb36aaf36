/* SPDX-License-Identifier: MIT */
/* INV: fast registration: the registered bytes, and refused requests. */
#include "contract/kit/fast.h"

/* ---- INV-04: exactly the bytes of the pages ---- */

/* A registration of count pages of a memory, in random order. */
struct patchwork {
    struct fast_memory memory;
    NDK_MR *mr;
    ULONG count, fbo, len;
    ULONG *page; /* for each page of the region: its index in the memory */
    NDK_LOGICAL_ADDRESS *logical;
    uint64_t base;
    uint8_t *expected; /* the expected contents of memory.map */
};

static uint8_t *byte_of(const struct patchwork *w, uint8_t *map, ULONG offset)
{
    size_t at = w->fbo + offset;

    return map + (w->memory.memory - w->memory.map) + (size_t)w->page[at / PAGE_SIZE] * PAGE_SIZE + at % PAGE_SIZE;
}

/* Chooses w->count of the memory's `of` pages, each at most once. */
static void shuffle(struct patchwork *w, ULONG of, uint64_t *seed)
{
    ULONG *all = malloc(of * sizeof *all);

    CHECK(all != NULL);
    for (ULONG i = 0; i < of; i++)
        all[i] = i;
    for (ULONG i = of; i > 1; i--) {
        ULONG j = data_random_below(seed, i), other = all[i - 1];
        all[i - 1] = all[j];
        all[j] = other;
    }
    memcpy(w->page, all, w->count * sizeof *all);
    if (data_random_below(seed, 3) == 0) /* in the memory's order, with gaps */
        for (ULONG i = 0; i < w->count; i++)
            w->page[i] = (ULONG)((uint64_t)i * of / w->count);
    free(all);
}

static void patchwork_open(struct patchwork *w, struct kit_side *s, ULONG count, ULONG of, uint64_t *seed)
{
    memset(w, 0, sizeof *w);
    fast_memory_open(&w->memory, s->adapter, 0, of * PAGE_SIZE);
    CHECK_EQ(w->memory.lam->AdapterPageCount, of);
    w->count = count;
    w->page = calloc(count, sizeof *w->page);
    w->logical = calloc(count, sizeof *w->logical);
    w->expected = malloc(w->memory.map_len);
    CHECK(w->page && w->logical && w->expected);
    shuffle(w, of, seed);
    for (ULONG i = 0; i < count; i++)
        w->logical[i] = w->memory.lam->AdapterPageArray[w->page[i]];
    memset(w->expected, DATA_FILL, w->memory.map_len);
    w->mr = fast_mr(s->pd);
    CHECK_STATUS(fast_initialize(w->mr, count, TRUE), STATUS_SUCCESS);
}

static void patchwork_close(struct patchwork *w)
{
    CHECK_STATUS(kit_close(w->mr), STATUS_SUCCESS);
    fast_memory_close(&w->memory);
    free(w->page);
    free(w->logical);
    free(w->expected);
}

static NTSTATUS patchwork_post(struct patchwork *w, struct kit_side *s, uintptr_t context)
{
    return fast_register(s, context, w->mr, w->logical, w->count, w->fbo, w->len, (void *)(uintptr_t)w->base, FAST_ALL);
}

/* Chooses the offset of the first byte in its page, the region's length, and the base address. */
static void choose(struct patchwork *w, unsigned round, uint64_t *seed)
{
    ULONG most, extent;

    w->fbo = round % 3 == 0 ? 0 : round % 3 == 1 ? data_random_below(seed, PAGE_SIZE) : PAGE_SIZE - 1;
    most = w->count * PAGE_SIZE - w->fbo;
    w->len = round % 4 == 0 ? most : 1 + data_random_below(seed, most);
    extent = (w->fbo + w->len + PAGE_SIZE - 1) & ~(ULONG)(PAGE_SIZE - 1);
    if (round % 5 == 0)
        w->base = PAGE_SIZE + w->fbo;
    else if (round % 5 == 1)
        w->base = 0 - (uint64_t)extent + w->fbo; /* the region ends in the last page of the address space */
    else if (round % 5 == 2)
        w->base = (uintptr_t)w->memory.memory + w->fbo;
    else
        w->base = ((uint64_t)data_random(seed) << 32 | data_random(seed)) % (UINT64_MAX - extent - PAGE_SIZE) /
                      PAGE_SIZE * PAGE_SIZE +
                  PAGE_SIZE + w->fbo;
}

/* Copies the `len` bytes at `data` to the region's expected bytes that begin at `offset`. */
static void expect_bytes(struct patchwork *w, ULONG offset, const uint8_t *data, ULONG len)
{
    for (ULONG i = 0; i < len; i++)
        *byte_of(w, w->expected, offset + i) = data[i];
}

static void check_bytes(struct patchwork *w)
{
    for (size_t i = 0; i < w->memory.map_len; i++)
        if (w->memory.map[i] != w->expected[i])
            kit_fail(__FILE__, __LINE__, "%u pages, offset %u, length %u: byte %zu of the memory is wrong", w->count,
                     w->fbo, w->len, i);
}

/* Chooses a range of the region: all of it, its last byte, around the end of its first page, or anywhere. */
static void range_of(const struct patchwork *w, unsigned kind, uint64_t *seed, ULONG *offset, ULONG *len)
{
    ULONG edge = PAGE_SIZE - w->fbo;

    *offset = 0;
    *len = w->len;
    if (kind == 1) {
        *offset = w->len - 1;
        *len = 1;
    } else if (kind == 2 && w->len > edge) {
        *offset = edge > 3 ? edge - 3 : 0;
        *len = w->len - *offset < 6 ? w->len - *offset : 6;
    } else if (kind > 2) {
        *offset = data_random_below(seed, w->len);
        *len = 1 + data_random_below(seed, w->len - *offset);
    }
    if (*len > KIT_MEMORY / 4)
        *len = KIT_MEMORY / 4;
}

static void peer_reaches(struct kit_pair *p, struct patchwork *w, UINT32 token, ULONG offset, ULONG len, unsigned n)
{
    NDK_SGE source = kit_sge(&p->active, 0, len), sink = kit_sge(&p->active, KIT_MEMORY / 2, len);

    kit_pattern(p->active.memory, len, n);
    CHECK_STATUS(data_write(&p->active, 1, &source, w->base + offset, token), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p->active, NdkOperationTypeWrite), 1);
    CHECK_STATUS(data_read(&p->active, 2, &sink, w->base + offset, token), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p->active, NdkOperationTypeRead), 2);
    CHECK(memcmp(p->active.memory, p->active.memory + KIT_MEMORY / 2, len) == 0);
    expect_bytes(w, offset, p->active.memory, len);
}

/* The owner's requests: the region is the sink of a receive or of a read, and then the source of a send. */
static void owner_reaches(struct kit_pair *p, struct patchwork *w, ULONG offset, ULONG len, unsigned n)
{
    struct kit_side *s = &p->passive, *far = &p->active;
    NDK_SGE sge = { .VirtualAddress = (void *)(uintptr_t)(w->base + offset), .Length = len };

    sge.MemoryRegionToken = w->mr->Dispatch->NdkGetLocalTokenFromMr(w->mr);
    kit_pattern(far->memory, len, n);
    if (n & 1) {
        CHECK_STATUS(s->qp->Dispatch->NdkReceive(s->qp, (PVOID)3, &sge, 1), STATUS_SUCCESS);
        CHECK_STATUS(kit_post_send(far, 4, 0, len), STATUS_SUCCESS);
        CHECK_EQ(fast_check_result(s, NdkOperationTypeReceive), 3);
        CHECK_EQ(fast_check_result(far, NdkOperationTypeSend), 4);
    } else {
        CHECK_STATUS(data_read(s, 3, &sge, (uintptr_t)far->memory, far->remote_token), STATUS_SUCCESS);
        CHECK_EQ(fast_check_result(s, NdkOperationTypeRead), 3);
    }
    expect_bytes(w, offset, far->memory, len);
    CHECK_STATUS(kit_post_receive(far, 5, KIT_MEMORY / 2, len), STATUS_SUCCESS);
    CHECK_STATUS(s->qp->Dispatch->NdkSend(s->qp, (PVOID)6, &sge, 1, 0), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(far, NdkOperationTypeReceive), 5);
    CHECK_EQ(fast_check_result(s, NdkOperationTypeSend), 6);
    CHECK(memcmp(far->memory, far->memory + KIT_MEMORY / 2, len) == 0);
}

static void check_patchwork(struct kit_pair *p, ULONG count, ULONG of, unsigned rounds, unsigned ranges, uint64_t *seed)
{
    struct patchwork w;

    patchwork_open(&w, &p->passive, count, of, seed);
    for (unsigned round = 0; round < rounds; round++) {
        choose(&w, round + count, seed);
        CHECK_STATUS(patchwork_post(&w, &p->passive, 9), STATUS_SUCCESS);
        UINT32 token = w.mr->Dispatch->NdkGetRemoteTokenFromMr(w.mr);
        CHECK_EQ(fast_check_result(&p->passive, NdkOperationTypeFastRegister), 9);
        for (unsigned kind = 0; kind < ranges; kind++) {
            ULONG offset, len;

            range_of(&w, kind, seed, &offset, &len);
            peer_reaches(p, &w, token, offset, len, round + kind);
            owner_reaches(p, &w, offset, len, round + kind + 1);
        }
        check_bytes(&w);
    }
    patchwork_close(&w);
}

/*
 * The token after NdkInitializeFastRegisterMr is the token of the first registration. The second registration has a
 * different token.
 */
/* covers: INV-04, INV-09 */
CASE(inv_04_token_known_before_the_first, KIT_FAMILIES)
{
    static struct kit_pair p;
    uint64_t seed = 9;

    kit_pair_open(&p);
    struct patchwork w;
    patchwork_open(&w, &p.passive, 3, 3, &seed);
    UINT32 before = w.mr->Dispatch->NdkGetRemoteTokenFromMr(w.mr);
    choose(&w, 0, &seed);
    CHECK_STATUS(patchwork_post(&w, &p.passive, 9), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeFastRegister), 9);
    CHECK_EQ(w.mr->Dispatch->NdkGetRemoteTokenFromMr(w.mr), before);
    peer_reaches(&p, &w, before, 0, 100, 1);
    choose(&w, 1, &seed);
    CHECK_STATUS(patchwork_post(&w, &p.passive, 10), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeFastRegister), 10);
    CHECK(w.mr->Dispatch->NdkGetRemoteTokenFromMr(w.mr) != before);
    patchwork_close(&w);
    kit_pair_close(&p);
}

/* A refused post does not use up the token: the first registration that is accepted has it. */
/* covers: INV-04 */
CASE(inv_04_token_known_before_a_refusal, KIT_FAMILIES)
{
    static struct kit_pair p;
    uint64_t seed = 9;

    kit_pair_open_idle(&p);
    struct patchwork w;
    patchwork_open(&w, &p.passive, 3, 3, &seed);
    UINT32 before = w.mr->Dispatch->NdkGetRemoteTokenFromMr(w.mr);
    for (unsigned round = 0; round < 3; round++) {
        choose(&w, round, &seed);
        CHECK_STATUS(patchwork_post(&w, &p.passive, 9), STATUS_CONNECTION_INVALID);
        CHECK_EQ(w.mr->Dispatch->NdkGetRemoteTokenFromMr(w.mr), before);
    }
    kit_establish(&p.active, &p.passive, &p.listener);
    CHECK_STATUS(patchwork_post(&w, &p.passive, 9), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeFastRegister), 9);
    CHECK_EQ(w.mr->Dispatch->NdkGetRemoteTokenFromMr(w.mr), before);
    peer_reaches(&p, &w, before, 0, 1, 1);
    patchwork_close(&w);
    kit_pair_close(&p);
}

/* covers: INV-04 */
CASE(inv_04_pages_in_any_order, KIT_FAMILIES)
{
    static const ULONG counts[] = { 1, 2, 3, 7, 40 };
    static struct kit_pair p;
    uint64_t seed = 4;

    kit_pair_open(&p);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        check_patchwork(&p, counts[i], counts[i], 12, 6, &seed);
        check_patchwork(&p, counts[i], counts[i] * 2 + 1, 12, 6, &seed);
    }
    kit_pair_close(&p);
}

/* covers: INV-04, ADP-02 */
CASE(inv_04_as_many_pages_as_the_adapter_takes, KIT_FAMILIES)
{
    static struct kit_pair p;
    uint64_t seed = 5;
    ULONG most;

    kit_pair_open(&p);
    most = data_info(p.passive.adapter).FRMRPageCount;
    CHECK(most >= 513);
    check_patchwork(&p, 256, 300, 4, 4, &seed);
    check_patchwork(&p, 513, 513, 4, 4, &seed);
    check_patchwork(&p, most, most, 2, 4, &seed);
    kit_pair_close(&p);
}

/* Without checksums data is received directly into the pages, in small segments that end anywhere. */
/* covers: INV-04 */
CASE(inv_04_without_checksums, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_config config = kit_config();
    uint64_t seed = 6;

    config.crc = 0;
    kit_configure(&config);
    kit_pair_open(&p);
    check_patchwork(&p, 100, 200, 6, 8, &seed);
    kit_pair_close(&p);
    config.max_fpdu = 1000;
    kit_configure(&config);
    kit_pair_open(&p);
    check_patchwork(&p, 9, 20, 10, 8, &seed);
    kit_pair_close(&p);
}

/* One byte before or behind the region: requests of the peer and of the owner are refused, and nothing is accessed. */
/* covers: INV-04 */
CASE(inv_04_not_one_byte_beside, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct patchwork w;
    uint64_t seed = 7;
    UINT32 token;

    kit_pair_open(&p);
    patchwork_open(&w, &p.passive, 3, 6, &seed);
    w.fbo = 100;
    w.len = 2 * PAGE_SIZE;
    w.base = 0x7000000 + w.fbo;
    CHECK_STATUS(patchwork_post(&w, &p.passive, 9), STATUS_SUCCESS);
    token = w.mr->Dispatch->NdkGetRemoteTokenFromMr(w.mr);
    CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeFastRegister), 9);
    const struct {
        uint64_t address;
        ULONG len;
    } beside[] = {
        { w.base - 1, 1 },
        { w.base - 1, 2 },
        { w.base, w.len + 1 },
        { w.base + w.len, 1 },
        { w.base + w.len - 1, 2 },
        { w.base - w.fbo, 10 },
        { (uintptr_t)w.memory.memory, 10 },
        { w.fbo, 10 },
        { UINT64_MAX - 4, 10 },
    };
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
        NDK_SGE sge = { .VirtualAddress = (void *)(uintptr_t)beside[i].address, .Length = beside[i].len };

        sge.MemoryRegionToken = w.mr->Dispatch->NdkGetLocalTokenFromMr(w.mr);
        fast_check_dead(&p, &w.memory, token, sge.VirtualAddress, sge.Length);
        fast_check_refused(&p.passive, sge);
        CHECK(p.passive.qp->Dispatch->NdkReceive(p.passive.qp, NULL, &sge, 1) < 0);
    }
    peer_reaches(&p, &w, token, 0, w.len, 1);
    check_bytes(&w);
    patchwork_close(&w);
    kit_pair_close(&p);
}

/* ---- INV-04: use without waiting for the completion ---- */

/*
 * Posts without waiting: a registration, a send from the region, and a send of the region's token. Then the peer
 * accesses the region.
 */
/* covers: INV-04 */
CASE(inv_04_usable_in_the_request_right_behind, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct fast_region r;

    kit_pair_open(&p);
    fast_region_open(&r, &p.passive, 8, FAST_ALL);
    for (unsigned round = 0; round < 50; round++) {
        NDK_SGE from, told;
        UINT32 token;

        memset(r.memory.memory, (int)round, r.len);
        r.base += PAGE_SIZE;
        CHECK_STATUS(kit_post_receive(&p.active, 1, 0, r.len), STATUS_SUCCESS);
        CHECK_STATUS(kit_post_receive(&p.active, 2, KIT_MEMORY / 2, sizeof token), STATUS_SUCCESS);
        CHECK_STATUS(fast_invalidate(&p.passive, 3, r.mr, NDK_OP_FLAG_SILENT_SUCCESS), STATUS_SUCCESS);
        /* A deferred registration has not executed yet when fast_region_post queries the token. */
        ULONG flags = (round & 1 ? 0 : NDK_OP_FLAG_SILENT_SUCCESS) | (round & 2 ? NDK_OP_FLAG_DEFER : 0);
        CHECK_STATUS(fast_region_post(&r, &p.passive, 4, FAST_ALL | flags), STATUS_SUCCESS);
        from = fast_sge(&r, 0, r.len);
        CHECK_STATUS(p.passive.qp->Dispatch->NdkSend(p.passive.qp, (PVOID)5, &from, 1, 0), STATUS_SUCCESS);
        memcpy(p.passive.memory, &r.token, sizeof token);
        told = kit_sge(&p.passive, 0, sizeof token);
        CHECK_STATUS(p.passive.qp->Dispatch->NdkSend(p.passive.qp, (PVOID)6, &told, 1, 0), STATUS_SUCCESS);
        CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeReceive), 1);
        CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeReceive), 2);
        CHECK_EQ(p.active.memory[r.len - 1], round);
        memcpy(&token, p.active.memory + KIT_MEMORY / 2, sizeof token);
        CHECK_EQ(token, r.token);
        fast_check_alive(&p, &r.memory, r.memory.memory, token, r.base, r.len);
        if (round & 1)
            CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeFastRegister), 4);
        CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeSend), 5);
        CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeSend), 6);
    }
    fast_region_close(&r);
    kit_pair_close(&p);
}

/* ---- refusals ---- */

/* Checks that the request is refused with this status, and that the existing registration is unchanged. */
static void refused(struct kit_pair *p, struct fast_region *r, NTSTATUS expected, ULONG count, ULONG fbo, SIZE_T len,
                    uint64_t base, ULONG flags)
{
    CHECK_STATUS(fast_register(&p->passive, 2, r->mr, r->memory.lam->AdapterPageArray, count, fbo, len,
                               (void *)(uintptr_t)base, flags),
                 expected);
    CHECK_EQ(r->mr->Dispatch->NdkGetRemoteTokenFromMr(r->mr), r->token);
}

/* covers: INV-04 */
CASE(inv_04_a_base_that_is_not_legal, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct fast_region r;

    kit_pair_open(&p);
    fast_region_open(&r, &p.passive, 4, FAST_ALL);
    refused(&p, &r, STATUS_INVALID_PARAMETER, 4, 0, r.len, 1, FAST_ALL);
    refused(&p, &r, STATUS_INVALID_PARAMETER, 4, 10, 100, 0, FAST_ALL);
    refused(&p, &r, STATUS_INVALID_PARAMETER, 4, 0, r.len, 0x700001, FAST_ALL);
    refused(&p, &r, STATUS_INVALID_PARAMETER, 4, 10, 100, 0x700000, FAST_ALL);
    refused(&p, &r, STATUS_INVALID_PARAMETER, 4, 10, 100, 0x700009, FAST_ALL);
    refused(&p, &r, STATUS_INVALID_PARAMETER, 4, 10, 100, 0x70000b, FAST_ALL);
    refused(&p, &r, STATUS_INVALID_PARAMETER, 4, 0, 100, 0x700800, FAST_ALL);
    refused(&p, &r, STATUS_INVALID_PARAMETER, 4, 0, r.len, 0 - (uint64_t)PAGE_SIZE, FAST_ALL); /* it wraps */
    fast_check_alive(&p, &r.memory, r.memory.memory, r.token, r.base, r.len);
    CHECK_STATUS(fast_register(&p.passive, 3, r.mr, r.memory.lam->AdapterPageArray, 4, 10, 100, (void *)10, FAST_ALL),
                 STATUS_SUCCESS); /* base 0 is refused above; base 10 has the required offset, fbo, in its page */
    CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeFastRegister), 3);
    fast_check_alive(&p, &r.memory, r.memory.memory + 10, r.mr->Dispatch->NdkGetRemoteTokenFromMr(r.mr), (void *)10,
                     100);
    fast_region_close(&r);
    kit_pair_close(&p);
}

/* covers: INV-05 */
CASE(inv_05_remote_rights_without_remote_access, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct fast_memory m;
    NDK_SGE sge;
    NDK_MR *mr;

    kit_pair_open(&p);
    fast_memory_open(&m, p.passive.adapter, 0, 2 * PAGE_SIZE);
    mr = fast_mr(p.passive.pd);
    CHECK_STATUS(fast_initialize(mr, 2, FALSE), STATUS_SUCCESS);
    static const ULONG remote[] = { NDK_OP_FLAG_ALLOW_REMOTE_READ, NDK_OP_FLAG_ALLOW_REMOTE_WRITE, FAST_ALL,
                                    NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_SILENT_SUCCESS };
    for (size_t i = 0; i < sizeof remote / sizeof remote[0]; i++)
        CHECK_STATUS(fast_register(&p.passive, 1, mr, m.lam->AdapterPageArray, 2, 0, m.len, (void *)0x10000, remote[i]),
                     STATUS_ACCESS_VIOLATION);
    CHECK_STATUS(fast_register(&p.passive, 2, mr, m.lam->AdapterPageArray, 2, 0, m.len, (void *)0x10000,
                               NDK_OP_FLAG_ALLOW_LOCAL_WRITE | NDK_OP_FLAG_RDMA_READ_SINK),
                 STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeFastRegister), 2);
    sge = (NDK_SGE){ .VirtualAddress = (void *)0x10000, .Length = m.len };
    sge.MemoryRegionToken = mr->Dispatch->NdkGetLocalTokenFromMr(mr);
    kit_pattern(p.active.memory, m.len, 3);
    CHECK_STATUS(data_read(&p.passive, 3, &sge, (uintptr_t)p.active.memory, p.active.remote_token), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeRead), 3);
    CHECK(kit_pattern_is(m.memory, m.len, 3));
    fast_check_dead(&p, &m, mr->Dispatch->NdkGetRemoteTokenFromMr(mr), (void *)0x10000, 10);
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    fast_memory_close(&m);
    kit_pair_close(&p);
}

/* covers: INV-06 */
CASE(inv_06_more_than_was_prepared, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct fast_region r;
    ULONG most;

    kit_pair_open(&p);
    most = data_info(p.passive.adapter).FRMRPageCount;
    fast_region_open(&r, &p.passive, 4, FAST_ALL);
    refused(&p, &r, STATUS_INVALID_PARAMETER, 4, 0, 4 * PAGE_SIZE + 1, 0x700000, FAST_ALL);
    refused(&p, &r, STATUS_INVALID_PARAMETER, 4, 1, 4 * PAGE_SIZE, 0x700001, FAST_ALL);
    refused(&p, &r, STATUS_INVALID_PARAMETER, 3, 0, 3 * PAGE_SIZE + 1, 0x700000, FAST_ALL);
    refused(&p, &r, STATUS_INVALID_PARAMETER, 1, PAGE_SIZE - 1, 2, 0x700fff, FAST_ALL);
    refused(&p, &r, STATUS_INVALID_PARAMETER, 4, 0, SIZE_MAX, 0x700000, FAST_ALL);
    refused(&p, &r, STATUS_INVALID_PARAMETER, 4, PAGE_SIZE, 10, 0x700000, FAST_ALL);
    refused(&p, &r, STATUS_INVALID_PARAMETER, 0, 0, 10, 0x700000, FAST_ALL);
    refused(&p, &r, STATUS_INVALID_PARAMETER, most + 1, 0, 10, 0x700000, FAST_ALL);
    refused(&p, &r, STATUS_INVALID_PARAMETER, MAXULONG, 0, 10, 0x700000, FAST_ALL);
    fast_check_alive(&p, &r.memory, r.memory.memory, r.token, r.base, r.len);
    fast_region_close(&r);
    kit_pair_close(&p);
}

/* Registers one page more than the region was initialised for, although all pages exist. */
/* covers: INV-06 */
CASE(inv_06_one_page_more, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct fast_memory m;
    NDK_MR *mr;

    kit_pair_open(&p);
    fast_memory_open(&m, p.passive.adapter, 0, 5 * PAGE_SIZE);
    mr = fast_mr(p.passive.pd);
    CHECK(fast_register(&p.passive, 1, mr, m.lam->AdapterPageArray, 1, 0, 10, (void *)0x10000, FAST_ALL) < 0);
    CHECK_STATUS(fast_initialize(mr, 4, TRUE), STATUS_SUCCESS);
    CHECK_STATUS(fast_register(&p.passive, 1, mr, m.lam->AdapterPageArray, 5, 0, 10, (void *)0x10000, FAST_ALL),
                 STATUS_INVALID_PARAMETER);
    CHECK_STATUS(fast_register(&p.passive, 1, mr, m.lam->AdapterPageArray, 4, 0, 10, (void *)0x10000, FAST_ALL),
                 STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeFastRegister), 1);
    CHECK(fast_register(&p.passive, 1, p.passive.mr, m.lam->AdapterPageArray, 1, 0, 10, (void *)0x10000, FAST_ALL) < 0);
    kit_exchange(&p.active, &p.passive); /* the region of the refused request, p.passive.mr, is unchanged */
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    fast_memory_close(&m);
    kit_pair_close(&p);
}

/* covers: INV-07 */
CASE(inv_07_beyond_the_adapters_pages, 0)
{
    static struct kit_side s;
    ULONG most;
    NDK_MR *mr;

    kit_side_open(&s, NULL);
    most = data_info(s.adapter).FRMRPageCount;
    CHECK(most >= 513);
    mr = fast_mr(s.pd);
    CHECK_STATUS(fast_initialize(mr, most + 1, TRUE), STATUS_IMPLEMENTATION_LIMIT);
    CHECK_STATUS(fast_initialize(mr, MAXULONG, FALSE), STATUS_IMPLEMENTATION_LIMIT);
    CHECK_STATUS(fast_initialize(mr, most, TRUE), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    mr = data_mr(s.pd);
    CHECK(fast_initialize(mr, 1, TRUE) < 0); /* not created for fast registration */
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    kit_side_close(&s);
}

/* ---- INV-09 ---- */

enum { TOKENS = 20 };

static void check_all_differ(const UINT32 *tokens)
{
    for (int i = 0; i < TOKENS; i++)
        for (int j = 0; j < i; j++)
            CHECK(tokens[i] != tokens[j]);
}

/* covers: INV-09 */
CASE(inv_09_each_registration_has_another_token, KIT_FAMILIES)
{
    static struct kit_pair p;
    UINT32 tokens[TOKENS];
    struct fast_region r;

    kit_pair_open(&p);
    fast_region_open(&r, &p.passive, 2, FAST_ALL);
    for (int i = 0; i < TOKENS; i++) {
        UINT32 old = r.token;

        if (i & 1) { /* otherwise the new registration replaces the old one */
            CHECK_STATUS(fast_invalidate(&p.passive, 1, r.mr, 0), STATUS_SUCCESS);
            CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeInvalidate), 1);
        }
        CHECK_STATUS(fast_region_post(&r, &p.passive, 2, FAST_ALL), STATUS_SUCCESS);
        CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeFastRegister), 2);
        tokens[i] = r.token;
        fast_check_alive(&p, &r.memory, r.memory.memory, r.token, r.base, 100);
        fast_check_dead(&p, &r.memory, old, r.base, 100);
    }
    check_all_differ(tokens);
    fast_region_close(&r);
    kit_pair_close(&p);
}

/* Posts all requests before it waits for a completion. */
/* covers: INV-09 */
CASE(inv_09_posted_one_behind_the_other, KIT_FAMILIES)
{
    static struct kit_pair p;
    UINT32 tokens[TOKENS];
    struct fast_region r;

    kit_pair_open(&p);
    for (int between = 0; between < 2; between++) {
        fast_region_open(&r, &p.passive, 2, FAST_ALL);
        for (uintptr_t i = 0; i < TOKENS; i++) {
            if (between)
                CHECK_STATUS(fast_invalidate(&p.passive, 100 + i, r.mr, 0), STATUS_SUCCESS);
            CHECK_STATUS(fast_region_post(&r, &p.passive, i, FAST_ALL), STATUS_SUCCESS);
            tokens[i] = r.token;
        }
        for (uintptr_t i = 0; i < TOKENS; i++) {
            if (between)
                CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeInvalidate), 100 + i);
            CHECK_EQ(fast_check_result(&p.passive, NdkOperationTypeFastRegister), i);
        }
        check_all_differ(tokens);
        fast_check_alive(&p, &r.memory, r.memory.memory, tokens[TOKENS - 1], r.base, r.len);
        for (int i = 0; i < TOKENS - 1; i += 6)
            fast_check_dead(&p, &r.memory, tokens[i], r.base, 100);
        fast_check_dead(&p, &r.memory, tokens[TOKENS - 2], r.base, 100);
        fast_region_close(&r);
    }
    kit_pair_close(&p);
}
