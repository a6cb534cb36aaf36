/* SPDX-License-Identifier: MIT */
/* For cases about fast registration, windows and invalidation: see fast.h. */
#define _GNU_SOURCE
#include "contract/kit/fast.h"

#include <sys/mman.h>

/* ---- memory ---- */

static void fast_memory_build_lam(struct fast_memory *m)
{
    const NDK_ADAPTER_DISPATCH *d = m->adapter->Dispatch;
    struct kit_call call = { 0 };
    ULONG size = 0;

    CHECK_STATUS(
        kit_final(&call, d->NdkBuildLAM(m->adapter, &m->mdl, m->len, kit_request_done, &call, NULL, &size, &m->fbo)),
        STATUS_BUFFER_TOO_SMALL);
    m->lam = malloc(size);
    CHECK(m->lam != NULL);
    memset(&call, 0, sizeof call);
    CHECK_STATUS(
        kit_final(&call, d->NdkBuildLAM(m->adapter, &m->mdl, m->len, kit_request_done, &call, m->lam, &size, &m->fbo)),
        STATUS_SUCCESS);
}

void fast_memory_open(struct fast_memory *m, NDK_ADAPTER *adapter, size_t page_offset, ULONG len)
{
    memset(m, 0, sizeof *m);
    m->adapter = adapter;
    m->map_len = 2 * PAGE_SIZE + ((page_offset + len + PAGE_SIZE - 1) & ~(size_t)(PAGE_SIZE - 1));
    m->map = mmap(NULL, m->map_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(m->map != MAP_FAILED);
    memset(m->map, DATA_FILL, m->map_len);
    m->memory = m->map + PAGE_SIZE + page_offset;
    m->len = len;
    kit_init_mdl(&m->mdl, m->memory, len, NULL);
    fast_memory_build_lam(m);
}

void fast_memory_release(struct fast_memory *m)
{
    m->adapter->Dispatch->NdkReleaseLAM(m->adapter, m->lam);
    free(m->lam);
    m->lam = NULL;
}

void fast_memory_close(struct fast_memory *m)
{
    if (m->lam)
        fast_memory_release(m);
    munmap(m->map, m->map_len);
    memset(m, 0, sizeof *m);
}

bool fast_memory_is_untouched(const struct fast_memory *m)
{
    for (size_t i = 0; i < m->map_len; i++)
        if (m->map[i] != DATA_FILL)
            return false;
    return true;
}

NDK_SGE fast_logical(const struct fast_memory *m, NDK_PD *pd, size_t offset, ULONG len)
{
    size_t at = m->fbo + offset;
    NDK_SGE sge;

    memset(&sge, 0, sizeof sge);
    CHECK(m->lam && at / PAGE_SIZE < m->lam->AdapterPageCount);
    sge.LogicalAddress.QuadPart = m->lam->AdapterPageArray[at / PAGE_SIZE].QuadPart + (LONGLONG)(at % PAGE_SIZE);
    sge.Length = len;
    pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(pd, &sge.MemoryRegionToken);
    return sge;
}

/* ---- regions and windows ---- */

NDK_MR *fast_mr(NDK_PD *pd)
{
    struct kit_call call = { 0 };
    NDK_MR *mr = NULL;
    NTSTATUS status = pd->Dispatch->NdkCreateMr(pd, TRUE, kit_create_done, &call, &mr);

    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    return status == STATUS_PENDING ? (NDK_MR *)call.object : mr;
}

NTSTATUS fast_initialize(NDK_MR *mr, ULONG pages, BOOLEAN remote)
{
    struct kit_call call = { 0 };

    return kit_final(&call, mr->Dispatch->NdkInitializeFastRegisterMr(mr, pages, remote, kit_request_done, &call));
}

NDK_MW *fast_mw(NDK_PD *pd)
{
    struct kit_call call = { 0 };
    NDK_MW *mw = NULL;
    NTSTATUS status = pd->Dispatch->NdkCreateMw(pd, kit_create_done, &call, &mw);

    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    return status == STATUS_PENDING ? (NDK_MW *)call.object : mw;
}

UINT32 fast_mw_token(NDK_MW *mw)
{
    return mw->Dispatch->NdkGetRemoteTokenFromMw(mw);
}

void fast_region_open(struct fast_region *r, struct kit_side *s, ULONG pages, ULONG rights)
{
    static uintptr_t next = 0x500000000000;

    memset(r, 0, sizeof *r);
    fast_memory_open(&r->memory, s->adapter, 0, pages * PAGE_SIZE);
    r->len = r->memory.len;
    r->base = (uint8_t *)next;
    next += 0x7654000;
    r->mr = fast_mr(s->pd);
    CHECK_STATUS(fast_initialize(r->mr, pages, TRUE), STATUS_SUCCESS);
    CHECK_STATUS(fast_region_post(r, s, 1, rights), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(s, NdkOperationTypeFastRegister), 1);
}

void fast_region_close(struct fast_region *r)
{
    if (r->mr)
        CHECK_STATUS(kit_close(r->mr), STATUS_SUCCESS);
    fast_memory_close(&r->memory);
    memset(r, 0, sizeof *r);
}

NTSTATUS fast_region_post(struct fast_region *r, struct kit_side *s, uintptr_t context, ULONG flags)
{
    const NDK_LOGICAL_ADDRESS_MAPPING *lam = r->memory.lam;
    NTSTATUS status = fast_register(s, context, r->mr, lam->AdapterPageArray, lam->AdapterPageCount, r->memory.fbo,
                                    r->len, r->base, flags);

    r->token = r->mr->Dispatch->NdkGetRemoteTokenFromMr(r->mr);
    return status;
}

NDK_SGE fast_sge(const struct fast_region *r, size_t offset, ULONG len)
{
    return data_mr_sge(r->mr, r->base + offset, len);
}

/* ---- requests ---- */

NTSTATUS fast_register(struct kit_side *s, uintptr_t context, NDK_MR *mr, const NDK_LOGICAL_ADDRESS *pages, ULONG count,
                       ULONG fbo, SIZE_T len, const void *base, ULONG flags)
{
    return s->qp->Dispatch->NdkFastRegister(s->qp, (PVOID)context, mr, count, pages, fbo, len, (PVOID)base, flags);
}

NTSTATUS fast_invalidate(struct kit_side *s, uintptr_t context, void *mr_or_mw, ULONG flags)
{
    return s->qp->Dispatch->NdkInvalidate(s->qp, (PVOID)context, mr_or_mw, flags);
}

NTSTATUS fast_bind(struct kit_side *s, uintptr_t context, NDK_MR *mr, NDK_MW *mw, const void *address, SIZE_T len,
                   ULONG flags)
{
    return s->qp->Dispatch->NdkBind(s->qp, (PVOID)context, mr, mw, (PVOID)address, len, flags);
}

NTSTATUS fast_send_invalidate(struct kit_side *s, uintptr_t context, size_t offset, ULONG len, ULONG flags,
                              UINT32 token)
{
    NDK_SGE sge = kit_sge(s, offset, len);

    return s->qp->Dispatch->NdkSendAndInvalidate(s->qp, (PVOID)context, &sge, 1, flags, token);
}

uintptr_t fast_check_result(struct kit_side *s, NDK_OPERATION_TYPE type)
{
    NDK_RESULT_EX r = kit_result(s);

    CHECK_STATUS(r.Status, STATUS_SUCCESS);
    CHECK_EQ(r.Type, type);
    CHECK_EQ(r.ProviderErrorCode, 0);
    return (uintptr_t)r.RequestContext;
}

/* ---- what a token gives access to ---- */

static uint8_t *fast_memory_copy(const struct fast_memory *m)
{
    uint8_t *copy = malloc(m->map_len);

    CHECK(copy != NULL);
    memcpy(copy, m->map, m->map_len);
    return copy;
}

static void fast_memory_check_equal(const struct fast_memory *m, uint8_t *copy)
{
    CHECK(memcmp(copy, m->map, m->map_len) == 0);
    free(copy);
}

void fast_check_alive(struct kit_pair *p, const struct fast_memory *m, uint8_t *at, UINT32 token, const void *address,
                      ULONG len)
{
    static unsigned seed;
    NDK_SGE source = kit_sge(&p->active, 0, len), sink = kit_sge(&p->active, KIT_MEMORY / 2, len);
    uint8_t *expected = fast_memory_copy(m);

    kit_pattern(p->active.memory, len, ++seed);
    kit_pattern(expected + (at - m->map), len, seed);
    CHECK_STATUS(data_write(&p->active, 1, &source, (uintptr_t)address, token), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p->active, NdkOperationTypeWrite), 1);
    CHECK_STATUS(data_read(&p->active, 2, &sink, (uintptr_t)address, token), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p->active, NdkOperationTypeRead), 2);
    CHECK(kit_pattern_is(p->active.memory + KIT_MEMORY / 2, len, seed));
    fast_memory_check_equal(m, expected);
}

/* Posts a read, and checks that the read fails. The caller has posted a write that must end the connection. */
static void fast_check_no_answer(struct kit_pair *p)
{
    if (kit_post_read(&p->active, 2, KIT_MEMORY - 8, 8, &p->passive, KIT_MEMORY - 8) != STATUS_SUCCESS)
        return;
    for (NDK_RESULT_EX r = kit_result(&p->active);; r = kit_result(&p->active))
        if ((uintptr_t)r.RequestContext == 2) {
            CHECK(r.Status < 0);
            return;
        }
}

void fast_check_no_write(struct kit_pair *p, const struct fast_memory *m, UINT32 token, const void *address, ULONG len)
{
    NDK_SGE sge = kit_sge(&p->active, 0, len);
    uint8_t *copy = fast_memory_copy(m);

    memset(p->active.memory, ~DATA_FILL, len);
    CHECK_STATUS(data_write(&p->active, 1, &sge, (uintptr_t)address, token), STATUS_SUCCESS);
    fast_check_no_answer(p);
    data_check_ended(&p->active);
    data_check_ended(&p->passive);
    fast_memory_check_equal(m, copy);
    data_reconnect(p);
}

void fast_check_no_read(struct kit_pair *p, UINT32 token, const void *address, ULONG len)
{
    NDK_SGE sge = kit_sge(&p->active, 0, len);
    NTSTATUS status;

    memset(p->active.memory, 0x11, len);
    status = data_outcome(&p->active, data_read(&p->active, 1, &sge, (uintptr_t)address, token));
    CHECK(status == STATUS_ACCESS_VIOLATION || status == STATUS_REMOTE_RESOURCES);
    data_check_ended(&p->active);
    data_check_ended(&p->passive);
    for (ULONG i = 0; i < len; i++)
        CHECK_EQ(p->active.memory[i], 0x11);
    data_reconnect(p);
}

void fast_check_dead(struct kit_pair *p, const struct fast_memory *m, UINT32 token, const void *address, ULONG len)
{
    fast_check_no_write(p, m, token, address, len);
    fast_check_no_read(p, token, address, len);
}

void fast_check_local_dead(struct kit_side *s, NDK_SGE sge)
{
    CHECK_STATUS(data_outcome(s, s->qp->Dispatch->NdkSend(s->qp, NULL, &sge, 1, 0)), STATUS_ACCESS_VIOLATION);
}

void fast_check_refused(struct kit_side *s, NDK_SGE sge)
{
    CHECK_STATUS(s->qp->Dispatch->NdkSend(s->qp, NULL, &sge, 1, 0), STATUS_ACCESS_VIOLATION);
}
