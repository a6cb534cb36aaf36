/* SPDX-License-Identifier: MIT */
/* Helpers of test cases about requests and memory: see data.h. */
#define _GNU_SOURCE
#include "contract/kit/data.h"

#include <sys/mman.h>

NDK_ADAPTER_INFO data_info(NDK_ADAPTER *adapter)
{
    NDK_ADAPTER_INFO info = { .Version = { 2, 1 } };
    ULONG size = sizeof info;

    CHECK_STATUS(adapter->Dispatch->NdkQueryAdapterInfo(adapter, &info, &size), STATUS_SUCCESS);
    return info;
}

uint32_t data_random(uint64_t *seed)
{
    uint64_t v = *seed += 0x9e3779b97f4a7c15u;

    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
    v = (v ^ v >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(v >> 32 ^ v);
}

uint32_t data_random_below(uint64_t *seed, uint32_t bound)
{
    return (uint32_t)((uint64_t)data_random(seed) * bound >> 32);
}

/* ---- regions ---- */

NDK_MR *data_mr(NDK_PD *pd)
{
    struct kit_call call = { 0 };
    NDK_MR *mr = NULL;
    NTSTATUS status = pd->Dispatch->NdkCreateMr(pd, FALSE, kit_create_done, &call, &mr);

    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    return status == STATUS_PENDING ? (NDK_MR *)call.object : mr;
}

NTSTATUS data_register(NDK_MR *mr, MDL *mdl, SIZE_T len, ULONG flags)
{
    struct kit_call call = { 0 };

    return kit_final(&call, mr->Dispatch->NdkRegisterMr(mr, mdl, len, flags, kit_request_done, &call));
}

NTSTATUS data_deregister(NDK_MR *mr)
{
    struct kit_call call = { 0 };

    return kit_final(&call, mr->Dispatch->NdkDeregisterMr(mr, kit_request_done, &call));
}

void data_region_open(struct data_region *r, NDK_PD *pd, size_t page_offset, ULONG len, ULONG flags)
{
    memset(r, 0, sizeof *r);
    r->map_len = 2 * PAGE_SIZE + ((page_offset + len + PAGE_SIZE - 1) & ~(size_t)(PAGE_SIZE - 1));
    r->map = mmap(NULL, r->map_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(r->map != MAP_FAILED);
    memset(r->map, DATA_FILL, r->map_len);
    r->memory = r->map + PAGE_SIZE + page_offset;
    r->len = len;
    kit_init_mdl(&r->mdl, r->memory, len, NULL);
    r->mr = data_mr(pd);
    CHECK_STATUS(data_register(r->mr, &r->mdl, len, flags), STATUS_SUCCESS);
    r->token = r->mr->Dispatch->NdkGetRemoteTokenFromMr(r->mr);
}

void data_region_close(struct data_region *r)
{
    if (r->mr)
        CHECK_STATUS(kit_close(r->mr), STATUS_SUCCESS);
    munmap(r->map, r->map_len);
    memset(r, 0, sizeof *r);
}

NDK_SGE data_mr_sge(NDK_MR *mr, void *address, ULONG len)
{
    NDK_SGE sge;

    memset(&sge, 0, sizeof sge);
    sge.VirtualAddress = address;
    sge.Length = len;
    sge.MemoryRegionToken = mr->Dispatch->NdkGetLocalTokenFromMr(mr);
    return sge;
}

NDK_SGE data_sge(const struct data_region *r, size_t offset, ULONG len)
{
    return data_mr_sge(r->mr, r->memory + offset, len);
}

static bool data_is_fill(const uint8_t *at, const uint8_t *end)
{
    while (at < end)
        if (*at++ != DATA_FILL)
            return false;
    return true;
}

bool data_guards_intact(const struct data_region *r)
{
    return data_is_fill(r->map, r->memory) && data_is_fill(r->memory + r->len, r->map + r->map_len);
}

bool data_is_untouched(const struct data_region *r)
{
    return data_is_fill(r->map, r->map + r->map_len);
}

void data_protect(const struct data_region *r)
{
    CHECK(mprotect(r->map, r->map_len, PROT_NONE) == 0);
}

/* ---- queues ---- */

NTSTATUS data_qp(struct kit_side *s, const struct data_qp *c, NDK_QP **qp)
{
    struct kit_call call = { 0 };
    NTSTATUS status;

    *qp = NULL;
    status = s->pd->Dispatch->NdkCreateQp(
        s->pd, c->receive_cq ? c->receive_cq : s->cq, c->initiator_cq ? c->initiator_cq : s->cq, c->context,
        c->receives, c->initiators, c->receive_sges, c->initiator_sges, c->inline_size, kit_create_done, &call, qp);
    if (status != STATUS_PENDING)
        return status;
    status = kit_final(&call, status);
    *qp = (NDK_QP *)call.object;
    return status;
}

NTSTATUS data_cq(NDK_ADAPTER *adapter, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK notify, void *context, NDK_CQ **cq)
{
    struct kit_call call = { 0 };
    NTSTATUS status;

    *cq = NULL;
    status = adapter->Dispatch->NdkCreateCq(adapter, depth, notify, context, NULL, kit_create_done, &call, cq);
    if (status != STATUS_PENDING)
        return status;
    status = kit_final(&call, status);
    *cq = (NDK_CQ *)call.object;
    return status;
}

/* Closes the side's connector and QP, discards all results, and creates a new QP. */
static void data_renew_side(struct kit_side *s)
{
    kit_close_connector(s);
    CHECK_STATUS(kit_close(s->qp), STATUS_SUCCESS);
    data_drain(s);
    s->qp = kit_qp(s, s->depth);
    atomic_store(&s->disconnected, 0);
}

void data_reconnect(struct kit_pair *p)
{
    data_renew_side(&p->active);
    data_renew_side(&p->passive);
    kit_establish(&p->active, &p->passive, &p->listener);
}

/* ---- requests ---- */

NTSTATUS data_write(struct kit_side *s, uintptr_t context, const NDK_SGE *sge, uint64_t address, UINT32 token)
{
    return s->qp->Dispatch->NdkWrite(s->qp, (PVOID)context, sge, 1, address, token, 0);
}

NTSTATUS data_read(struct kit_side *s, uintptr_t context, const NDK_SGE *sge, uint64_t address, UINT32 token)
{
    return s->qp->Dispatch->NdkRead(s->qp, (PVOID)context, sge, 1, address, token, 0);
}

NTSTATUS data_outcome(struct kit_side *s, NTSTATUS posted)
{
    return posted == STATUS_SUCCESS ? kit_result(s).Status : posted;
}

ULONG data_drain(struct kit_side *s)
{
    NDK_RESULT_EX results[16];
    ULONG n, all = 0;

    while ((n = s->cq->Dispatch->NdkGetCqResultsEx(s->cq, results, 16)) != 0)
        all += n;
    return all;
}

/* Waits until `other` has processed what s has sent. Posts a read, which `other` answers only after that. */
void data_wait_delivered(struct kit_side *s, const struct kit_side *other)
{
    CHECK_STATUS(kit_post_read(s, 0, KIT_MEMORY - 8, 8, other, KIT_MEMORY - 8), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(s).Status, STATUS_SUCCESS);
}

void data_check_ended(struct kit_side *s)
{
    kit_wait_count(&s->disconnected, 1);
    CHECK_EQ(atomic_load(&s->disconnected), 1);
    CHECK_STATUS(kit_post_send(s, 0, 0, 1), STATUS_CONNECTION_INVALID);
}

void data_run_segmented(void (*run)(void))
{
    struct kit_config config = kit_config();

    config.max_fpdu = 512;
    kit_configure(&config);
    run();
    config.crc = 0;
    kit_configure(&config);
    run();
}

/* ---- notifications ---- */

void data_check_notified(struct kit_pair *p, int count)
{
    kit_wait_count(&p->passive.notified, count);
    CHECK_EQ(atomic_load(&p->passive.notified), count);
    CHECK_STATUS(p->passive.cq_status, STATUS_SUCCESS);
}

void data_check_not_notified(struct kit_pair *p, int count)
{
    kit_pause();
    CHECK_EQ(atomic_load(&p->passive.notified), count);
}

/* ---- a thread that posts requests ---- */

void *data_keep_accessing(void *accesses)
{
    struct data_accesses *a = accesses;
    struct kit_side *s = &a->pair->active;
    NDK_SGE sge = kit_sge(s, 0, a->len);
    NDK_RESULT_EX result = { .Status = STATUS_SUCCESS };
    NTSTATUS status = STATUS_SUCCESS;
    unsigned in_flight = 0;

    while (result.Status == STATUS_SUCCESS && status == STATUS_SUCCESS) {
        for (; in_flight < 4 && status == STATUS_SUCCESS; in_flight += status == STATUS_SUCCESS)
            status = a->reads ? data_read(s, 1, &sge, a->at, a->token) : data_write(s, 1, &sge, a->at, a->token);
        if (in_flight == 0)
            break;
        result = kit_result(s);
        in_flight--;
        kit_increment(&a->done);
    }
    while (in_flight-- > 0)
        kit_result(s);
    return NULL;
}
