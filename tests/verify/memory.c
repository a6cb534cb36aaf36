/* SPDX-License-Identifier: MIT */
/*
 * Rules about the memory of regions, MDLs and mappings in a plain program: each breach, and what is near it but legal.
 */
#include <sys/mman.h>

#include "contract/kit/kit.h"
#include "verify/breaches.h"

enum { PAGES = 4, BYTES = PAGES * PAGE_SIZE };

static struct kit_side side;
static MDL mdl;

static void *map_pages(void)
{
    void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(memory != MAP_FAILED);
    return memory;
}

static NDK_MR *register_memory(void *memory)
{
    UINT32 token;

    return kit_mr(&side, memory, BYTES, NDK_MR_FLAG_ALLOW_LOCAL_WRITE, &mdl, &token);
}

static void deregister(NDK_MR *mr)
{
    struct kit_call call = { 0 };

    CHECK_STATUS(kit_final(&call, mr->Dispatch->NdkDeregisterMr(mr, kit_request_done, &call)), STATUS_SUCCESS);
}

/* ---- the memory and the MDLs of regions ---- */

CASE(region_freed, 0)
{
    char *memory = map_pages();
    NDK_MR *mr;

    breaches_begin();
    kit_side_open(&side, NULL);
    mr = register_memory(memory);
    ondk_verify_check_free(memory - 64, 64);
    ondk_verify_check_free(memory + BYTES, 64);
    CHECK_BREACHES("");
    ondk_verify_check_free(memory + PAGE_SIZE, 1);
    CHECK_BREACHES("region-freed-in-use in ondk_verify_check_free");
    ondk_verify_check_free(memory - 64, 65);
    CHECK_BREACHES("region-freed-in-use in ondk_verify_check_free");
    deregister(mr);
    ondk_verify_check_free(memory, BYTES);
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    mr = register_memory(memory);
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS); /* also ends the registration */
    ondk_verify_check_free(memory, BYTES);
    kit_side_close(&side);
    CHECK_BREACHES("");
    munmap(memory, BYTES);
}

/* A chain of two MDLs is one region. */
CASE(region_of_a_chain_freed, 0)
{
    struct kit_call create = { 0 }, call = { 0 };
    char *memory = map_pages();
    MDL second;
    NDK_MR *mr = NULL;
    NTSTATUS status;

    breaches_begin();
    kit_side_open(&side, NULL);
    status = side.pd->Dispatch->NdkCreateMr(side.pd, FALSE, kit_create_done, &create, &mr);
    CHECK_STATUS(kit_final(&create, status), STATUS_SUCCESS);
    mr = status == STATUS_PENDING ? (NDK_MR *)create.object : mr;
    kit_init_mdl(&second, memory + PAGE_SIZE, BYTES - PAGE_SIZE, NULL);
    kit_init_mdl(&mdl, memory, PAGE_SIZE, &second);
    status = mr->Dispatch->NdkRegisterMr(mr, &mdl, BYTES - 1, 0, kit_request_done, &call);
    CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
    ondk_verify_check_free(memory + BYTES - 1, 1); /* behind the registered length */
    CHECK_BREACHES("");
    ondk_verify_check_free(memory + BYTES - 2, 1);
    CHECK_BREACHES("region-freed-in-use in ondk_verify_check_free");
    ondk_verify_check_free(&second, sizeof second);
    CHECK_BREACHES("mdl-freed-in-use in ondk_verify_check_free");
    deregister(mr);
    ondk_verify_check_free(&second, sizeof second);
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    kit_side_close(&side);
    CHECK_BREACHES("");
    munmap(memory, BYTES);
}

/* Without AddressSanitizer, too, memory that is not mapped is known to be freed. */
CASE(region_unmapped, 0)
{
    char *memory = map_pages();
    NDK_MR *mr;

    breaches_begin();
    kit_side_open(&side, NULL);
    mr = register_memory(memory);
    munmap(memory, BYTES);
    deregister(mr);
    CHECK_BREACHES("region-freed-in-use in NdkDeregisterMr");
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    mr = register_memory(memory = map_pages());
    munmap(memory, BYTES);
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    CHECK_BREACHES("region-freed-in-use in NdkCloseMr");
    mr = register_memory(memory = map_pages());
    deregister(mr);
    munmap(memory, BYTES);
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    kit_side_close(&side);
    CHECK_BREACHES("");
}

static NTSTATUS register_unlocked(NDK_MR *mr, CSHORT flags)
{
    struct kit_call call = { 0 };

    kit_init_mdl(&mdl, side.memory, KIT_MEMORY, NULL);
    mdl.MdlFlags = flags;
    return kit_final(&call, mr->Dispatch->NdkRegisterMr(mr, &mdl, KIT_MEMORY, 0, kit_request_done, &call));
}

CASE(mdl_unlocked, 0)
{
    struct kit_call create = { 0 };
    NDK_MR *mr = NULL;
    NTSTATUS status;

    breaches_begin();
    kit_side_open(&side, NULL);
    status = side.pd->Dispatch->NdkCreateMr(side.pd, FALSE, kit_create_done, &create, &mr);
    CHECK_STATUS(kit_final(&create, status), STATUS_SUCCESS);
    mr = status == STATUS_PENDING ? (NDK_MR *)create.object : mr;
    CHECK_STATUS(register_unlocked(mr, MDL_PAGES_LOCKED), STATUS_SUCCESS);
    deregister(mr);
    CHECK_BREACHES("");
    CHECK_STATUS(register_unlocked(mr, 0), STATUS_SUCCESS);
    deregister(mr);
    CHECK_BREACHES("mdl-unlocked in NdkRegisterMr");
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    kit_side_close(&side);
    CHECK_BREACHES("");
}

/* ---- mappings ---- */

union mapping {
    NDK_LOGICAL_ADDRESS_MAPPING lam;
    char room[sizeof(NDK_LOGICAL_ADDRESS_MAPPING) + PAGES * sizeof(NDK_LOGICAL_ADDRESS)];
};

/* Maps the first pages of the side's memory. The completion routine is optional. */
static NTSTATUS build(union mapping *m, ULONG size, bool has_routine)
{
    struct kit_call call = { 0 };
    NTSTATUS status;
    ULONG fbo;

    status = side.adapter->Dispatch->NdkBuildLAM(side.adapter, &mdl, BYTES, has_routine ? kit_request_done : NULL,
                                                 &call, &m->lam, &size, &fbo);
    return has_routine ? kit_final(&call, status) : status;
}

static void release(union mapping *m)
{
    side.adapter->Dispatch->NdkReleaseLAM(side.adapter, &m->lam);
}

static void open_side(void)
{
    breaches_begin();
    kit_side_open(&side, NULL);
    kit_init_mdl(&mdl, side.memory, BYTES, NULL);
}

CASE(lam_released_twice, 0)
{
    union mapping m, copy;

    open_side();
    for (int has_routine = 0; has_routine < 2; has_routine++) {
        CHECK_STATUS(build(&m, sizeof m, has_routine), STATUS_SUCCESS);
        release(&m);
        CHECK_BREACHES("");
        release(&m);
        CHECK_BREACHES("lam-released-twice in NdkReleaseLAM");
    }
    memset(&m, 0, sizeof m);
    release(&m); /* never built in this structure since */
    CHECK_BREACHES("lam-released-twice in NdkReleaseLAM");
    CHECK_STATUS(build(&m, sizeof m, true), STATUS_SUCCESS);
    copy = m;
    CHECK_STATUS(build(&m, sizeof m, true), STATUS_SUCCESS); /* the structure is used again */
    release(&copy);
    release(&m);
    kit_side_close(&side);
    CHECK_BREACHES("");
}

CASE(lam_released_while_in_use, 0)
{
    union mapping m;
    const NDK_LOGICAL_ADDRESS *pages = m.lam.AdapterPageArray;
    NDK_SGE sge = { .Length = 16 };

    open_side();
    side.pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(side.pd, &sge.MemoryRegionToken);
    for (int flushed = 0; flushed < 2; flushed++) {
        CHECK_STATUS(build(&m, sizeof m, true), STATUS_SUCCESS);
        sge.LogicalAddress = pages[PAGES - 1];
        CHECK_STATUS(side.qp->Dispatch->NdkReceive(side.qp, NULL, &sge, 1), STATUS_SUCCESS);
        if (flushed) {
            side.qp->Dispatch->NdkFlush(side.qp);
            CHECK_STATUS(kit_result(&side).Status, STATUS_CANCELLED);
        }
        release(&m);
        CHECK_BREACHES(flushed ? "" : "ndk-lam-released in NdkReleaseLAM");
        if (!flushed) {
            side.qp->Dispatch->NdkFlush(side.qp);
            CHECK_STATUS(kit_result(&side).Status, STATUS_CANCELLED);
        }
    }
    kit_side_close(&side);
    CHECK_BREACHES("");
}

CASE(lam_changed, 0)
{
    union mapping m;
    NDK_LOGICAL_ADDRESS *pages = m.lam.AdapterPageArray;
    PVOID provider_context;

    open_side();
    CHECK_STATUS(build(&m, sizeof m, true), STATUS_SUCCESS);
    pages[PAGES - 1].QuadPart += PAGE_SIZE;
    release(&m);
    CHECK_BREACHES("lam-changed in NdkReleaseLAM");
    CHECK_STATUS(build(&m, sizeof m, true), STATUS_SUCCESS);
    m.lam.AdapterPageCount--;
    release(&m);
    CHECK_BREACHES("lam-changed in NdkReleaseLAM");
    CHECK_STATUS(build(&m, sizeof m, true), STATUS_SUCCESS);
    provider_context = m.lam.AdapterContext;
    m.lam.AdapterContext = &m;
    release(&m); /* the provider does not find the mapping */
    CHECK_BREACHES("lam-changed in NdkReleaseLAM");
    m.lam.AdapterContext = provider_context;
    release(&m); /* now it does; for the verifier it is released already */
    CHECK_BREACHES("lam-released-twice in NdkReleaseLAM");
    kit_side_close(&side);
    CHECK_BREACHES("");
}

CASE(lam_of_an_unlocked_mdl, 0)
{
    union mapping m;

    open_side();
    mdl.MdlFlags = 0;
    CHECK_STATUS(build(&m, 0, true), STATUS_BUFFER_TOO_SMALL);
    CHECK_BREACHES("");
    CHECK_STATUS(build(&m, sizeof m, true), STATUS_SUCCESS);
    CHECK_BREACHES("mdl-unlocked in NdkBuildLAM");
    mdl.MdlFlags = MDL_PAGES_LOCKED;
    release(&m);
    kit_side_close(&side);
    CHECK_BREACHES("");
}
