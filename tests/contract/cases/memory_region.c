/* SPDX-License-Identifier: MIT */
/* MEM: memory regions: the memory that can be registered, and the rights of a registration. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/mman.h>
#include <unistd.h>

#include "contract/kit/data.h"

static void write_and_check(struct kit_pair *p, struct data_region *r, ULONG len, unsigned seed)
{
    NDK_SGE source = kit_sge(&p->active, 0, len), sink = kit_sge(&p->active, KIT_MEMORY / 2, len);

    kit_pattern(p->active.memory, len, seed);
    CHECK_STATUS(data_write(&p->active, 1, &source, (uintptr_t)r->memory, r->token), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p->active).Status, STATUS_SUCCESS);
    CHECK_STATUS(data_read(&p->active, 2, &sink, (uintptr_t)r->memory, r->token), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p->active).Status, STATUS_SUCCESS);
    CHECK(kit_pattern_is(p->active.memory + KIT_MEMORY / 2, len, seed));
    CHECK(kit_pattern_is(r->memory, len, seed));
    CHECK(data_guards_intact(r));
}

/* covers: MEM-01 */
CASE(mem_01_any_alignment_and_length, KIT_FAMILIES)
{
    static const size_t offsets[] = { 0, 1, 7, 64, 2049, 4095 };
    static const ULONG lengths[] = { 1, 2, 3, 4095, 4096, 4097, 3 * 4096 + 11, 1 << 20 };
    static struct kit_pair p;
    struct data_region r;

    kit_pair_open(&p);
    for (unsigned i = 0; i < sizeof offsets / sizeof offsets[0]; i++)
        for (unsigned j = 0; j < sizeof lengths / sizeof lengths[0]; j++) {
            data_region_open(&r, p.passive.pd, offsets[i], lengths[j], DATA_ALL);
            write_and_check(&p, &r, lengths[j], i * 100 + j);
            data_region_close(&r);
        }
    kit_pair_close(&p);
}

/* Maps the same pages twice: inaccessible at `index`, and accessible at `mapping`. */
struct twice {
    uint8_t *index, *mapping;
    MDL mdl;
};
enum { TWICE_SIZE = 64 * 1024, TWICE_OFFSET = 100, TWICE_LENGTH = 10000 };

static void twice_open(struct twice *t, CSHORT flag)
{
    int fd = memfd_create("twice", MFD_CLOEXEC);

    CHECK(fd >= 0 && ftruncate(fd, TWICE_SIZE) == 0);
    t->index = mmap(NULL, TWICE_SIZE, PROT_NONE, MAP_SHARED, fd, 0);
    t->mapping = mmap(NULL, TWICE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(t->index != MAP_FAILED && t->mapping != MAP_FAILED);
    close(fd);
    kit_init_mdl(&t->mdl, t->index + TWICE_OFFSET, TWICE_LENGTH, NULL);
    t->mdl.MdlFlags = (CSHORT)((t->mdl.MdlFlags & ~(MDL_MAPPED_TO_SYSTEM_VA | MDL_SOURCE_IS_NONPAGED_POOL)) | flag);
    t->mdl.MappedSystemVa = t->mapping + TWICE_OFFSET;
}

static void twice_close(struct twice *t)
{
    munmap(t->index, TWICE_SIZE);
    munmap(t->mapping, TWICE_SIZE);
}

static void write_through_mapping(struct kit_pair *p, CSHORT flag)
{
    NDK_SGE source = kit_sge(&p->active, 0, TWICE_LENGTH), sink = kit_sge(&p->active, KIT_MEMORY / 2, TWICE_LENGTH);
    NDK_MR *mr = data_mr(p->passive.pd);
    struct twice t;
    uint64_t at;
    UINT32 token;

    twice_open(&t, flag);
    at = (uintptr_t)t.index + TWICE_OFFSET;
    CHECK_STATUS(data_register(mr, &t.mdl, TWICE_LENGTH, DATA_ALL), STATUS_SUCCESS);
    token = mr->Dispatch->NdkGetRemoteTokenFromMr(mr);
    kit_pattern(p->active.memory, TWICE_LENGTH, flag);
    CHECK_STATUS(data_write(&p->active, 1, &source, at, token), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p->active).Status, STATUS_SUCCESS);
    CHECK_STATUS(data_read(&p->active, 2, &sink, at, token), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p->active).Status, STATUS_SUCCESS);
    CHECK(kit_pattern_is(p->active.memory + KIT_MEMORY / 2, TWICE_LENGTH, flag));
    CHECK(kit_pattern_is(t.mapping + TWICE_OFFSET, TWICE_LENGTH, flag));
    CHECK_STATUS(data_deregister(mr), STATUS_SUCCESS);
    t.mdl.MappedSystemVa = NULL;
    CHECK_STATUS(data_register(mr, &t.mdl, TWICE_LENGTH, DATA_ALL), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    twice_close(&t);
}

/* Requests use the virtual address, which is inaccessible. The provider must access the system mapping. */
/* covers: MEM-01 */
CASE(mem_01_the_system_mapping_is_accessed, KIT_FAMILIES)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    write_through_mapping(&p, MDL_MAPPED_TO_SYSTEM_VA);
    write_through_mapping(&p, MDL_SOURCE_IS_NONPAGED_POOL);
    kit_pair_close(&p);
}

enum { MOST_PIECES = 9 };

/* Cuts the region's memory into pieces of random lengths. */
static void chain(const struct data_region *r, MDL *mdls, unsigned pieces, uint64_t *seed)
{
    ULONG at = r->len;

    for (unsigned i = pieces; i-- > 0;) {
        ULONG begin = i == 0 ? 0 : i + data_random_below(seed, at - i); /* every piece has at least one byte */
        kit_init_mdl(&mdls[i], r->memory + begin, at - begin, i + 1 < pieces ? &mdls[i + 1] : NULL);
        at = begin;
    }
}

/* covers: MEM-01 */
CASE(mem_01_chains_cut_anywhere, KIT_FAMILIES)
{
    static struct kit_pair p;
    uint64_t seed = 1;
    MDL mdls[MOST_PIECES];
    struct data_region r;

    kit_pair_open(&p);
    for (unsigned round = 0; round < 60; round++) {
        data_region_open(&r, p.passive.pd, data_random_below(&seed, PAGE_SIZE), 20 + data_random_below(&seed, 50000),
                         DATA_ALL);
        CHECK_STATUS(data_deregister(r.mr), STATUS_SUCCESS);
        chain(&r, mdls, 1 + round % MOST_PIECES, &seed);
        CHECK_STATUS(data_register(r.mr, mdls, r.len, DATA_ALL), STATUS_SUCCESS);
        memset(mdls, 0xff, sizeof mdls); /* the chain belongs to the consumer again */
        r.token = r.mr->Dispatch->NdkGetRemoteTokenFromMr(r.mr);
        write_and_check(&p, &r, r.len, round);
        data_region_close(&r);
    }
    kit_pair_close(&p);
}

/* covers: MEM-01 */
CASE(mem_01_a_chain_with_a_hole_is_refused, 0)
{
    static const struct {
        ptrdiff_t second; /* the begin of the second piece; the first one has 1000 bytes */
    } wrong[] = { { 1001 }, { 999 }, { 0 }, { 2000 }, { 4096 }, { 1000 + 4096 }, { -1000 } };
    static struct kit_side s;
    static uint8_t memory[16384];
    uint8_t *base = memory + 4096;
    MDL mdls[3];
    NDK_MR *mr;

    kit_side_open(&s, NULL);
    mr = data_mr(s.pd);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        kit_init_mdl(&mdls[1], base + wrong[i].second, 1000, NULL);
        kit_init_mdl(&mdls[0], base, 1000, &mdls[1]);
        CHECK_STATUS(data_register(mr, mdls, 2000, DATA_ALL), STATUS_INVALID_PARAMETER);
    }
    kit_init_mdl(&mdls[2], base + 2001, 1000, NULL);
    kit_init_mdl(&mdls[1], base + 1000, 1000, &mdls[2]);
    kit_init_mdl(&mdls[0], base, 1000, &mdls[1]);
    CHECK_STATUS(data_register(mr, mdls, 3000, DATA_ALL), STATUS_INVALID_PARAMETER);
    kit_init_mdl(&mdls[2], base + 2000, 1000, NULL);
    CHECK_STATUS(data_register(mr, mdls, 3000, DATA_ALL), STATUS_SUCCESS); /* nothing is spoilt */
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    kit_side_close(&s);
}

/* covers: MEM-01 */
CASE(mem_01_more_than_the_chain_or_the_adapter_has, 0)
{
    static struct kit_side s;
    static uint8_t memory[8192];
    MDL mdls[2];
    NDK_MR *mr;

    kit_side_open(&s, NULL);
    mr = data_mr(s.pd);
    kit_init_mdl(&mdls[1], memory + 1000, 1000, NULL);
    kit_init_mdl(&mdls[0], memory, 1000, &mdls[1]);
    CHECK_STATUS(data_register(mr, mdls, 2001, DATA_ALL), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(data_register(mr, mdls, SIZE_MAX, DATA_ALL), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(data_register(mr, mdls, data_info(s.adapter).MaxRegistrationSize + 1, DATA_ALL),
                 STATUS_INVALID_PARAMETER);
    CHECK_STATUS(data_register(mr, mdls, 2000, DATA_ALL), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    kit_side_close(&s);
}

/* ---- rights ---- */

/* Connects again if a refused request has ended the connection. */
static void reconnect_if_ended(struct kit_pair *p, NTSTATUS status)
{
    if (status != STATUS_SUCCESS)
        data_reconnect(p);
}

/* The owner's requests: source of a send, sink of a receive and of a read. */
static void local_rights(struct kit_pair *p, struct data_region *r, bool may_write)
{
    NDK_SGE sge = data_sge(r, 0, r->len);
    NTSTATUS status;

    CHECK_STATUS(kit_post_receive(&p->active, 1, 0, r->len), STATUS_SUCCESS);
    status = p->passive.qp->Dispatch->NdkSend(p->passive.qp, NULL, &sge, 1, 0);
    CHECK_STATUS(data_outcome(&p->passive, status), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p->active).Status, STATUS_SUCCESS);
    CHECK(memcmp(p->active.memory, r->memory, r->len) == 0);

    kit_pattern(p->active.memory, r->len, 1);
    status = data_outcome(&p->passive,
                          data_read(&p->passive, 1, &sge, (uintptr_t)p->active.memory, p->active.remote_token));
    CHECK_STATUS(status, may_write ? STATUS_SUCCESS : STATUS_ACCESS_VIOLATION);
    CHECK(may_write ? kit_pattern_is(r->memory, r->len, 1) : data_is_untouched(r));
    reconnect_if_ended(p, status);

    kit_pattern(p->active.memory, r->len, 2);
    status = p->passive.qp->Dispatch->NdkReceive(p->passive.qp, NULL, &sge, 1);
    if (status == STATUS_SUCCESS) {
        CHECK_STATUS(kit_post_send(&p->active, 1, 0, r->len), STATUS_SUCCESS);
        status = kit_result(&p->passive).Status;
        kit_result(&p->active);
    }
    CHECK_STATUS(status, may_write ? STATUS_SUCCESS : STATUS_ACCESS_VIOLATION);
    CHECK(may_write ? kit_pattern_is(r->memory, r->len, 2) : data_is_untouched(r));
    reconnect_if_ended(p, status);
}

/* The peer's requests: a read and a write. A refused write ends the connection. */
static void remote_rights(struct kit_pair *p, struct data_region *r, bool may_read, bool may_write)
{
    NDK_SGE sge = kit_sge(&p->active, 0, r->len);
    NTSTATUS status;

    memset(r->memory, DATA_FILL, r->len);
    memset(p->active.memory, 0, r->len);
    status = data_outcome(&p->active, data_read(&p->active, 1, &sge, (uintptr_t)r->memory, r->token));
    CHECK_STATUS(status, may_read ? STATUS_SUCCESS : STATUS_ACCESS_VIOLATION);
    for (ULONG i = 0; i < r->len; i++)
        CHECK_EQ(p->active.memory[i], may_read ? DATA_FILL : 0);
    reconnect_if_ended(p, status);

    kit_pattern(p->active.memory, r->len, 3);
    CHECK_STATUS(data_write(&p->active, 1, &sge, (uintptr_t)r->memory, r->token), STATUS_SUCCESS);
    if (may_write) {
        CHECK_STATUS(kit_result(&p->active).Status, STATUS_SUCCESS);
        data_wait_delivered(&p->active, &p->passive);
        CHECK(kit_pattern_is(r->memory, r->len, 3));
    } else {
        data_check_ended(&p->active);
        data_check_ended(&p->passive);
        CHECK(data_is_untouched(r));
        data_reconnect(p);
    }
}

/* covers: MEM-02 */
CASE(mem_02_rights_are_as_flagged, KIT_FAMILIES)
{
    static const struct {
        ULONG flags;
        bool local_write, remote_read, remote_write;
    } all[] = {
        { NDK_MR_FLAG_ALLOW_LOCAL_READ, false, false, false },
        { NDK_MR_FLAG_ALLOW_LOCAL_WRITE, true, false, false },
        { NDK_MR_FLAG_ALLOW_REMOTE_READ, false, true, false },
        { NDK_MR_FLAG_ALLOW_REMOTE_WRITE, true, false, true },
        { NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ, true, true, false },
        { NDK_MR_FLAG_ALLOW_REMOTE_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ, true, true, true },
        { NDK_MR_FLAG_RDMA_READ_SINK | NDK_MR_FLAG_ALLOW_LOCAL_WRITE, true, false, false },
        { NDK_MR_FLAG_RDMA_READ_SINK | NDK_MR_FLAG_ALLOW_REMOTE_READ, false, true, false },
    };
    static struct kit_pair p;
    struct data_region r;

    kit_pair_open(&p);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        data_region_open(&r, p.passive.pd, 33, 5000, all[i].flags);
        local_rights(&p, &r, all[i].local_write);
        remote_rights(&p, &r, all[i].remote_read, all[i].remote_write);
        CHECK(data_guards_intact(&r));
        data_region_close(&r);
    }
    kit_pair_close(&p);
}

/* ---- the end of a registration ---- */

static void end_under_access(bool reads, bool by_close)
{
    static struct kit_pair p;

    kit_pair_open(&p);
    for (unsigned round = 0; round < 15; round++) {
        struct data_region r;
        struct data_accesses a = { .pair = &p, .reads = reads };
        pthread_t thread;

        data_region_open(&r, p.passive.pd, round * 97, 1 + round * 5003, DATA_ALL);
        a.at = (uintptr_t)r.memory;
        a.len = r.len;
        a.token = r.token;
        CHECK(pthread_create(&thread, NULL, data_keep_accessing, &a) == 0);
        kit_wait_count(&a.done, (int)round % 5);
        if (by_close) {
            CHECK_STATUS(kit_close(r.mr), STATUS_SUCCESS);
            r.mr = NULL;
        } else {
            CHECK_STATUS(data_deregister(r.mr), STATUS_SUCCESS);
        }
        data_protect(&r);
        pthread_join(thread, NULL);
        data_check_ended(&p.active);
        data_check_ended(&p.passive);
        data_region_close(&r);
        data_reconnect(&p);
    }
    kit_pair_close(&p);
}

/* covers: MEM-03 */
CASE(mem_03_no_write_after_deregister, KIT_FAMILIES)
{
    end_under_access(false, false);
}

/* covers: MEM-03 */
CASE(mem_03_no_write_after_close, KIT_FAMILIES)
{
    end_under_access(false, true);
}

/* covers: MEM-03 */
CASE(mem_03_no_read_after_deregister, KIT_FAMILIES)
{
    end_under_access(true, false);
}

/* After another registration the memory is accessible only by the new token. */
/* covers: MEM-03 */
CASE(mem_03_the_old_token_is_dead, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct data_region r;
    UINT32 old;
    NDK_SGE sge;

    kit_pair_open(&p);
    data_region_open(&r, p.passive.pd, 0, 1000, DATA_ALL);
    old = r.token;
    CHECK_STATUS(data_deregister(r.mr), STATUS_SUCCESS);
    CHECK_STATUS(data_register(r.mr, &r.mdl, r.len, DATA_ALL), STATUS_SUCCESS);
    r.token = r.mr->Dispatch->NdkGetRemoteTokenFromMr(r.mr);
    CHECK(r.token != old);
    write_and_check(&p, &r, r.len, 4);
    sge = kit_sge(&p.active, 0, r.len);
    CHECK_STATUS(data_outcome(&p.active, data_read(&p.active, 1, &sge, (uintptr_t)r.memory, old)),
                 STATUS_ACCESS_VIOLATION);
    data_region_close(&r);
    kit_pair_close(&p);
}

/* ---- tokens ---- */

enum { TOKENS = 64 };

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Returns how many values are equal to an earlier one. Sorts the values. */
static unsigned repeated(uint32_t *values, size_t count)
{
    unsigned n = 0;

    qsort(values, count, sizeof *values, compare);
    for (size_t i = 1; i < count; i++)
        n += values[i] == values[i - 1];
    return n;
}

/*
 * Checks that the differences of successive tokens do not repeat, neither of all bits nor of the high bits. Otherwise a
 * peer could predict the next token.
 */
static void check_no_sequence(const uint32_t *tokens)
{
    uint32_t sorted[TOKENS], steps[TOKENS - 1], high[TOKENS - 1];

    memcpy(sorted, tokens, sizeof sorted);
    CHECK_EQ(repeated(sorted, TOKENS), 0);
    for (size_t i = 0; i + 1 < TOKENS; i++) {
        steps[i] = tokens[i + 1] - tokens[i];
        high[i] = (tokens[i + 1] >> 8) - (tokens[i] >> 8);
    }
    CHECK(repeated(steps, TOKENS - 1) <= 2);
    CHECK(repeated(high, TOKENS - 1) <= 4);
}

/* covers: MEM-04 */
CASE(mem_04_tokens_follow_no_sequence, 0)
{
    static struct data_region r[TOKENS];
    static struct kit_side s;
    uint32_t tokens[TOKENS];

    kit_side_open(&s, NULL);
    for (size_t i = 0; i < TOKENS; i++) {
        data_region_open(&r[i], s.pd, 0, 64, DATA_ALL);
        tokens[i] = r[i].token;
    }
    check_no_sequence(tokens);
    for (size_t i = 0; i < TOKENS; i++) { /* one region repeatedly */
        CHECK_STATUS(data_deregister(r[0].mr), STATUS_SUCCESS);
        CHECK_STATUS(data_register(r[0].mr, &r[0].mdl, 64, DATA_ALL), STATUS_SUCCESS);
        tokens[i] = r[0].mr->Dispatch->NdkGetRemoteTokenFromMr(r[0].mr);
    }
    check_no_sequence(tokens);
    for (size_t i = 0; i < TOKENS; i++)
        data_region_close(&r[i]);
    kit_side_close(&s);
}

/* covers: MEM-04 */
CASE(mem_04_another_domains_region_is_out_of_reach, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct data_region r;
    NDK_PD *other;
    NDK_SGE sge;

    kit_pair_open(&p);
    other = kit_pd(p.passive.adapter);
    data_region_open(&r, other, 5, 3000, DATA_ALL);
    sge = kit_sge(&p.active, 0, r.len);
    CHECK_STATUS(data_outcome(&p.active, data_read(&p.active, 1, &sge, (uintptr_t)r.memory, r.token)),
                 STATUS_ACCESS_VIOLATION);
    CHECK_EQ(p.active.memory[0], 0);
    data_reconnect(&p);
    CHECK_STATUS(data_write(&p.active, 1, &sge, (uintptr_t)r.memory, r.token), STATUS_SUCCESS);
    data_check_ended(&p.active);
    data_check_ended(&p.passive);
    data_reconnect(&p);
    sge = data_sge(&r, 0, r.len);
    CHECK_STATUS(
        data_outcome(&p.passive, data_read(&p.passive, 1, &sge, (uintptr_t)p.active.memory, p.active.remote_token)),
        STATUS_ACCESS_VIOLATION);
    CHECK(data_is_untouched(&r));
    data_region_close(&r);
    CHECK_STATUS(kit_close(other), STATUS_SUCCESS);
    kit_pair_close(&p);
}
