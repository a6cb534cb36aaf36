/* SPDX-License-Identifier: MIT */
/*
 * Memory that a plain program frees with free(), or that is in a dead stack frame, while NDK uses it: AddressSanitizer
 * reports it to the verifier. Without the sanitizer all cases are skipped.
 */
#include "contract/kit/kit.h"
#include "verify/breaches.h"

enum { BYTES = 4096 };

extern void __asan_init(void) __attribute__((weak));

__attribute__((constructor)) static void skip_without_asan(void)
{
    if (__asan_init)
        return;
    puts("skipped: only AddressSanitizer reports what free() frees");
    exit(77);
}

static struct kit_side side;

static NDK_MR *register_memory(void *memory, MDL *mdl)
{
    UINT32 token;

    return kit_mr(&side, memory, BYTES, NDK_MR_FLAG_ALLOW_LOCAL_WRITE, mdl, &token);
}

CASE(region_freed, 0)
{
    char *memory = malloc(BYTES);
    NDK_MR *mr;
    MDL mdl;

    breaches_begin();
    kit_side_open(&side, NULL);
    mr = register_memory(memory, &mdl);
    free(memory);
    CHECK_BREACHES("region-freed-in-use in free");
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS); /* one report is enough */
    CHECK_BREACHES("");
    memory = malloc(BYTES);
    mr = register_memory(memory, &mdl);
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    free(memory);
    kit_side_close(&side);
    CHECK_BREACHES("");
}

CASE(mdl_freed, 0)
{
    char *memory = malloc(BYTES);
    MDL *mdl = malloc(sizeof *mdl);
    NDK_MR *mr;

    breaches_begin();
    kit_side_open(&side, NULL);
    mr = register_memory(memory, mdl);
    free(mdl);
    CHECK_BREACHES("mdl-freed-in-use in free");
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    free(memory);
    kit_side_close(&side);
    CHECK_BREACHES("");
}

static void notified(PVOID context, NTSTATUS status)
{
    (void)context;
    (void)status;
}

CASE(context_freed, 0)
{
    char *context = malloc(64);
    struct kit_call create = { 0 };
    NDK_CQ *cq = NULL;
    NTSTATUS status;

    breaches_begin();
    kit_side_open(&side, NULL);
    status = side.adapter->Dispatch->NdkCreateCq(side.adapter, 8, notified, context, NULL, kit_create_done, &create,
                                                 &cq);
    CHECK_STATUS(kit_final(&create, status), STATUS_SUCCESS);
    cq = status == STATUS_PENDING ? (NDK_CQ *)create.object : cq;
    free(context);
    CHECK_BREACHES("context-freed-in-use in free");
    CHECK_STATUS(kit_close(cq), STATUS_SUCCESS);
    kit_side_close(&side);
    CHECK_BREACHES("");
}

CASE(region_on_a_dead_stack, 0)
{
    NDK_MR *mr;
    MDL mdl;

    breaches_begin();
    kit_side_open(&side, NULL);
    {
        char memory[BYTES];

        memset(memory, 0, sizeof memory);
        mr = register_memory(memory, &mdl);
        CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    }
    CHECK_BREACHES("");
    {
        char memory[BYTES];

        memset(memory, 0, sizeof memory);
        mr = register_memory(memory, &mdl);
    }
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    CHECK_BREACHES("region-freed-in-use in NdkCloseMr");
    kit_side_close(&side);
    CHECK_BREACHES("");
}

/* ---- buffers of requests ---- */

static struct kit_pair pair;

static void send_from(void *buffer, NDK_MR *mr)
{
    NDK_SGE sge = { .VirtualAddress = buffer,
                    .Length = BYTES,
                    .MemoryRegionToken = mr->Dispatch->NdkGetLocalTokenFromMr(mr) };

    CHECK_STATUS(kit_post_receive(&pair.passive, 1, 0, BYTES), STATUS_SUCCESS);
    CHECK_STATUS(pair.active.qp->Dispatch->NdkSend(pair.active.qp, NULL, &sge, 1, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&pair.passive).Status, STATUS_SUCCESS);
}

static void open_pair(void)
{
    breaches_begin();
    kit_pair_open(&pair);
    side = pair.active; /* for register_memory */
}

static void close_pair(NDK_MR *mr)
{
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    kit_pair_close(&pair);
    CHECK_BREACHES("");
}

/* One report is enough for a buffer and the region around it. */
CASE(buffer_freed, 0)
{
    char *memory = calloc(1, BYTES);
    NDK_MR *mr;
    MDL mdl;

    open_pair();
    mr = register_memory(memory, &mdl);
    send_from(memory, mr);
    free(memory);
    CHECK_BREACHES("buffer-freed-in-use in free");
    CHECK_STATUS(kit_result(&pair.active).Status, STATUS_SUCCESS);
    close_pair(mr);
}

CASE(buffer_of_a_silent_deferred_request_freed, 0)
{
    char *memory = calloc(1, BYTES);
    NDK_SGE sge = { .VirtualAddress = memory, .Length = BYTES };
    NDK_MR *mr;
    MDL mdl;

    open_pair();
    mr = register_memory(memory, &mdl);
    sge.MemoryRegionToken = mr->Dispatch->NdkGetLocalTokenFromMr(mr);
    for (uintptr_t i = 1; i <= 2; i++)
        CHECK_STATUS(kit_post_receive(&pair.passive, i, 0, BYTES), STATUS_SUCCESS);
    CHECK_STATUS(pair.active.qp->Dispatch->NdkSend(pair.active.qp, NULL, &sge, 1,
                                                   NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_DEFER),
                 STATUS_SUCCESS);
    CHECK_STATUS(kit_post_send(&pair.active, 1, 0, 0), STATUS_SUCCESS);
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(kit_result(&pair.passive).Status, STATUS_SUCCESS);
    free(memory);
    CHECK_BREACHES("buffer-freed-in-use in free");
    CHECK_STATUS(kit_result(&pair.active).Status, STATUS_SUCCESS);
    close_pair(mr);
}

CASE(buffer_on_a_dead_stack, 0)
{
    NDK_MR *mr;
    MDL mdl;

    open_pair();
    {
        char memory[BYTES];

        memset(memory, 0, sizeof memory);
        mr = register_memory(memory, &mdl);
        send_from(memory, mr);
        CHECK_STATUS(kit_result(&pair.active).Status, STATUS_SUCCESS);
        CHECK_BREACHES("");
        send_from(memory, mr);
    }
    CHECK_STATUS(kit_result(&pair.active).Status, STATUS_SUCCESS);
    CHECK_BREACHES("buffer-freed-in-use in NdkGetCqResultsEx");
    close_pair(mr);
}
