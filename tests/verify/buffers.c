/* SPDX-License-Identifier: MIT */
/* Rules about the buffers of posted requests in a plain program: each breach, and what is near it but legal. */
#include <sys/mman.h>

#include "contract/kit/data.h"
#include "verify/breaches.h"

enum { BYTES = 64, SGES = 6, RECEIVES = 16 };

static struct kit_pair pair;

/* Connects the pair. The active side's queue pair has SGES SGEs and inline data, and the passive side has receives. */
static void open_pair(void)
{
    const struct data_qp wanted = { .receives = KIT_DEPTH,
                                    .initiators = KIT_DEPTH,
                                    .receive_sges = SGES,
                                    .initiator_sges = SGES,
                                    .inline_size = BYTES,
                                    .context = &pair.active };

    kit_pair_open_idle(&pair);
    CHECK_STATUS(kit_close(pair.active.qp), STATUS_SUCCESS);
    CHECK_STATUS(data_qp(&pair.active, &wanted, &pair.active.qp), STATUS_SUCCESS);
    kit_establish(&pair.active, &pair.passive, &pair.listener);
    for (int i = 0; i < RECEIVES; i++)
        CHECK_STATUS(kit_post_receive(&pair.passive, 1, 0, SGES * BYTES), STATUS_SUCCESS);
}

static NTSTATUS post(const NDK_SGE *sgl, ULONG sges, ULONG flags)
{
    return pair.active.qp->Dispatch->NdkSend(pair.active.qp, NULL, sgl, sges, flags);
}

/* ---- inline data ---- */

static int32_t irql;
static uint32_t state;
static const char *paged; /* the byte whose state is `state` */

static int32_t host_irql(void)
{
    return irql;
}

static uint32_t host_memory_state(const void *address)
{
    return address == paged ? state : ONDK_VERIFY_MEMORY_ALIVE;
}

static void send_inline(int32_t irql_of_call, uint32_t state_of_memory, const char *expected)
{
    NDK_SGE sge = kit_sge(&pair.active, 0, BYTES);

    irql = irql_of_call;
    state = state_of_memory;
    CHECK_STATUS(post(&sge, 1, NDK_OP_FLAG_INLINE), STATUS_SUCCESS);
    irql = 0;
    state = ONDK_VERIFY_MEMORY_ALIVE;
    CHECK_BREACHES(expected);
    CHECK_STATUS(kit_result(&pair.active).Status, STATUS_SUCCESS);
}

CASE(inline_paged, 0)
{
    const ondk_verify_host_t host = { .size = sizeof host, .irql = host_irql, .memory_state = host_memory_state };
    NDK_SGE sge;

    CHECK_STATUS(ondk_verify_set_host(&host), STATUS_SUCCESS);
    breaches_begin();
    open_pair();
    paged = (const char *)pair.active.memory + BYTES - 1;
    send_inline(2, ONDK_VERIFY_MEMORY_ALIVE | ONDK_VERIFY_MEMORY_PAGED, "inline-paged in NdkSend");
    paged = (const char *)pair.active.memory;
    send_inline(2, ONDK_VERIFY_MEMORY_ALIVE | ONDK_VERIFY_MEMORY_PAGED, "inline-paged in NdkSend");
    send_inline(2, ONDK_VERIFY_MEMORY_ALIVE, "");
    send_inline(1, ONDK_VERIFY_MEMORY_ALIVE | ONDK_VERIFY_MEMORY_PAGED, "");
    send_inline(ONDK_VERIFY_NO_IRQL, ONDK_VERIFY_MEMORY_ALIVE | ONDK_VERIFY_MEMORY_PAGED, "");
    sge = kit_sge(&pair.active, 0, BYTES);
    irql = 2;
    state = ONDK_VERIFY_MEMORY_ALIVE | ONDK_VERIFY_MEMORY_PAGED;
    CHECK_STATUS(post(&sge, 1, 0), STATUS_SUCCESS); /* not inline: the memory is that of a region */
    irql = 0;
    CHECK_STATUS(kit_result(&pair.active).Status, STATUS_SUCCESS);
    kit_pair_close(&pair);
    CHECK_BREACHES("");
}

/* ---- buffers of all SGEs, of silent and of deferred requests ---- */

CASE(buffer_of_each_sge_freed, 0)
{
    NDK_SGE sgl[SGES];

    breaches_begin();
    open_pair();
    for (size_t i = 0; i < SGES; i++)
        sgl[i] = kit_sge(&pair.active, 2 * i * BYTES, BYTES);
    CHECK_STATUS(post(sgl, SGES, 0), STATUS_SUCCESS);
    for (size_t i = 0; i < SGES; i++) {
        ondk_verify_check_free(sgl[i].VirtualAddress, 1);
        CHECK_BREACHES("buffer-freed-in-use in ondk_verify_check_free");
        ondk_verify_check_free((char *)sgl[i].VirtualAddress + BYTES, BYTES);
        CHECK_BREACHES("region-freed-in-use in ondk_verify_check_free"); /* no buffer, but memory of the region */
    }
    CHECK_STATUS(kit_result(&pair.active).Status, STATUS_SUCCESS);
    ondk_verify_check_free(sgl[SGES - 1].VirtualAddress, 1);
    CHECK_BREACHES("region-freed-in-use in ondk_verify_check_free");
    kit_pair_close(&pair);
    CHECK_BREACHES("");
}

CASE(buffer_of_a_silent_deferred_request_freed, 0)
{
    NDK_SGE silent, last;

    breaches_begin();
    open_pair();
    silent = kit_sge(&pair.active, 0, BYTES);
    last = kit_sge(&pair.active, BYTES, BYTES);
    CHECK_STATUS(post(&silent, 1, NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_DEFER), STATUS_SUCCESS);
    ondk_verify_check_free(silent.VirtualAddress, BYTES);
    CHECK_BREACHES("buffer-freed-in-use in ondk_verify_check_free");
    CHECK_STATUS(post(&last, 1, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&pair.active).Status, STATUS_SUCCESS);
    ondk_verify_check_free(silent.VirtualAddress, BYTES);
    CHECK_BREACHES("region-freed-in-use in ondk_verify_check_free");
    kit_pair_close(&pair);
    CHECK_BREACHES("");
}

/* ---- memory of the case's own ---- */

/* A page, registered without the right of remote write. */
static struct {
    char *memory;
    NDK_MR *mr;
    MDL mdl;
    UINT32 token;
} page;

static void page_map(ULONG flags)
{
    UINT32 remote_token;

    page.memory = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page.memory != MAP_FAILED);
    page.mr = kit_mr(&pair.active, page.memory, PAGE_SIZE, flags, &page.mdl, &remote_token);
    page.token = page.mr->Dispatch->NdkGetLocalTokenFromMr(page.mr);
}

static void page_close(void)
{
    CHECK_STATUS(kit_close(page.mr), STATUS_SUCCESS);
}

static NDK_SGE page_sge(size_t offset, ULONG length)
{
    return (NDK_SGE){ .VirtualAddress = page.memory + offset, .Length = length, .MemoryRegionToken = page.token };
}

/* Without AddressSanitizer, too, memory that is not mapped is known to be freed. */
CASE(buffer_unmapped, 0)
{
    NDK_SGE sge;

    breaches_begin_full();
    open_pair();
    page_map(0);
    sge = page_sge(0, BYTES);
    CHECK_STATUS(post(&sge, 1, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&pair.passive).Status, STATUS_SUCCESS);
    munmap(page.memory, PAGE_SIZE);
    CHECK_STATUS(kit_result(&pair.active).Status, STATUS_SUCCESS);
    CHECK_BREACHES("buffer-freed-in-use in NdkGetCqResultsEx");
    page_close(); /* one report is enough */
    kit_pair_close(&pair);
    CHECK_BREACHES("");
}

/* ---- the data of a request ---- */

/* The message has arrived: the provider does not read its data any more. */
static void wait_arrived(void)
{
    CHECK_STATUS(kit_result(&pair.passive).Status, STATUS_SUCCESS);
}

static void expect_result(const char *expected)
{
    CHECK_STATUS(kit_result(&pair.active).Status, STATUS_SUCCESS);
    CHECK_BREACHES(expected);
}

static void send_and_change(size_t offset, ULONG length, ULONG flags, const char *expected)
{
    NDK_SGE sge = page_sge(offset, length);

    CHECK_STATUS(post(&sge, 1, flags), STATUS_SUCCESS);
    wait_arrived();
    page.memory[offset + length - 1]++;
    expect_result(expected);
}

CASE(source_changed, 0)
{
    NDK_SGE sgl[2];

    breaches_begin_full();
    open_pair();
    page_map(NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
    send_and_change(0, BYTES, 0, "source-changed in NdkGetCqResultsEx");
    send_and_change(0, 9, 0, "source-changed in NdkGetCqResultsEx");
    send_and_change(0, 8, 0, ""); /* may be a counter */
    send_and_change(0, BYTES, NDK_OP_FLAG_INLINE, "");
    sgl[0] = page_sge(0, BYTES);
    sgl[1] = page_sge(2 * BYTES, BYTES);
    CHECK_STATUS(post(sgl, 2, 0), STATUS_SUCCESS);
    wait_arrived();
    page.memory[BYTES]++; /* between the buffers */
    expect_result("");
    CHECK_STATUS(post(sgl, 2, 0), STATUS_SUCCESS);
    wait_arrived();
    page.memory[2 * BYTES]++;
    expect_result("source-changed in NdkGetCqResultsEx");
    CHECK_STATUS(data_write(&pair.active, 1, sgl, (uintptr_t)pair.passive.memory, pair.passive.remote_token),
                 STATUS_SUCCESS);
    CHECK_STATUS(post(NULL, 0, 0), STATUS_SUCCESS);
    wait_arrived();
    page.memory[0]++;
    expect_result("source-changed in NdkGetCqResultsEx");
    expect_result("");
    page_close();
    kit_pair_close(&pair);
    CHECK_BREACHES("");
}

/* A silent request is known to be complete when a later result is taken. */
CASE(source_of_silent_requests_changed, 0)
{
    NDK_SGE first, second;

    breaches_begin_full();
    open_pair();
    page_map(0);
    first = page_sge(0, BYTES);
    second = page_sge(BYTES, BYTES);
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(post(&first, 1, NDK_OP_FLAG_SILENT_SUCCESS), STATUS_SUCCESS);
        wait_arrived();
        if (i == 1)
            page.memory[0]++;
        CHECK_STATUS(post(&second, 1, 0), STATUS_SUCCESS);
        wait_arrived();
        expect_result(i == 1 ? "source-changed in NdkGetCqResultsEx" : "");
        page.memory[0]++;
    }
    page_close();
    kit_pair_close(&pair);
    CHECK_BREACHES("");
}

/* Changes the page after a flush, as another thread may do while a result is polled. */
static uint32_t flush_and_change(const void *address)
{
    if (pair.active.qp && address == page.memory) {
        pair.active.qp->Dispatch->NdkFlush(pair.active.qp);
        page.memory[0]++;
    }
    return ONDK_VERIFY_MEMORY_ALIVE;
}

CASE(source_changed_after_a_flush, 0)
{
    const ondk_verify_host_t host = { .size = sizeof host, .memory_state = flush_and_change };
    NDK_SGE sge;

    breaches_begin_full();
    open_pair();
    page_map(0);
    sge = page_sge(0, BYTES);
    CHECK_STATUS(post(&sge, 1, 0), STATUS_SUCCESS);
    wait_arrived();
    CHECK_STATUS(ondk_verify_set_host(&host), STATUS_SUCCESS);
    expect_result("");
    CHECK_STATUS(ondk_verify_set_host(NULL), STATUS_SUCCESS);
    page_close();
    kit_pair_close(&pair);
    CHECK_BREACHES("");
}

/* Without the option full nothing is summed. */
CASE(source_changed_unseen, 0)
{
    breaches_begin();
    open_pair();
    page_map(0);
    send_and_change(0, BYTES, 0, "");
    page_close();
    kit_pair_close(&pair);
    CHECK_BREACHES("");
}

/* A change that a peer or another request may have made is not reported. */
CASE(source_changed_by_others, 0)
{
    NDK_SGE sge;

    breaches_begin_full();
    open_pair();
    page_map(NDK_MR_FLAG_ALLOW_REMOTE_WRITE);
    send_and_change(0, BYTES, 0, "");
    page_close();
    page_map(NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
    sge = page_sge(BYTES, BYTES);
    CHECK_STATUS(pair.active.qp->Dispatch->NdkReceive(pair.active.qp, NULL, &sge, 1), STATUS_SUCCESS);
    send_and_change(0, BYTES, 0, "source-changed in NdkGetCqResultsEx");
    send_and_change(1, BYTES, 0, ""); /* the last byte is the receive's first one */
    CHECK_STATUS(kit_post_send(&pair.passive, 1, 0, BYTES), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&pair.active).Status, STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&pair.passive).Status, STATUS_SUCCESS);
    send_and_change(2 * BYTES - 1, BYTES, 0, ""); /* the region's receives are remembered */
    page_close();
    kit_pair_close(&pair);
    CHECK_BREACHES("");
}
