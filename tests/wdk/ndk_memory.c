/* SPDX-License-Identifier: MIT */
/* Rules about the memory of regions, MDLs and mappings in a driver: each breach, and what is near it but legal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wdm.h"
#include "ndkpi.h"

#include "ndk_driver.h"
#include "report.h"

/* ---- regions ---- */

static void test_region_freed(void **state)
{
    UCHAR *buffer = ExAllocatePoolWithTag(NonPagedPoolNx, BYTES, TAG);
    struct report *r;
    PMDL mdl;
    NDK_MR *mr;

    (void)state;
    open_all();
    mr = register_buffer(buffer, &mdl);
    r = report_start();
    ExFreePoolWithTag(buffer, TAG);
    report_says(r, "region-freed-in-use in ExFreePoolWithTag",
                "memory of a registered region: NdkRegisterMr of NDK_MR 0x");
    r = report_start();
    deregister(mr); /* one report is enough */
    IoFreeMdl(mdl);
    report_is_empty(r);
    close_all();
}

static void deregister_only(NDK_MR *mr)
{
    struct call c;

    call_init(&c);
    assert_int_equal(finish(&c, mr->Dispatch->NdkDeregisterMr(mr, request_done, &c)), STATUS_SUCCESS);
}

static void test_region_freed_after_its_end(void **state)
{
    struct report *r;

    (void)state;
    open_all();
    r = report_start();
    for (int closes = 0; closes < 2; closes++) {
        UCHAR *buffer = ExAllocatePoolWithTag(NonPagedPoolNx, BYTES, TAG);
        PMDL mdl;
        NDK_MR *mr = register_buffer(buffer, &mdl);

        if (closes)
            close_object(mr);
        else
            deregister_only(mr);
        IoFreeMdl(mdl);
        ExFreePoolWithTag(buffer, TAG);
        if (!closes)
            close_object(mr);
    }
    report_is_empty(r);
    close_all();
}

/* ---- MDLs ---- */

static NTSTATUS register_mdl(NDK_MR *mr, PMDL mdl)
{
    struct call c;

    call_init(&c);
    return finish(&c, mr->Dispatch->NdkRegisterMr(mr, mdl, BYTES, 0, request_done, &c));
}

static void test_mdl_unlocked(void **state)
{
    struct report *r;
    PMDL mdl, part;
    NDK_MR *mr;

    (void)state;
    open_all();
    MADE(NDK_MR, mr, pd->Dispatch->NdkCreateMr(pd, FALSE, create_done, &c_, &inline_));
    mdl = IoAllocateMdl(near.buffer, BYTES, FALSE, FALSE, NULL);
    part = IoAllocateMdl(near.buffer, BYTES, FALSE, FALSE, NULL);
    r = report_start();
    assert_int_equal(register_mdl(mr, mdl), STATUS_SUCCESS);
    report_says(r, "mdl-unlocked in NdkRegisterMr", "is neither built nor locked");
    r = report_start();
    deregister_only(mr);
    MmProbeAndLockPages(mdl, KernelMode, IoModifyAccess);
    assert_int_equal(register_mdl(mr, mdl), STATUS_SUCCESS);
    deregister_only(mr);
    IoBuildPartialMdl(mdl, part, near.buffer, BYTES);
    assert_int_equal(register_mdl(mr, part), STATUS_SUCCESS);
    deregister_only(mr);
    MmUnlockPages(mdl);
    IoFreeMdl(part);
    IoFreeMdl(mdl);
    report_is_empty(r);
    close_object(mr);
    close_all();
}

/* Posts a receive into the region. The provider accepts it before the queue pair is connected. */
static struct report *receive_into(NDK_MR *mr)
{
    NDK_SGE sge = { .VirtualAddress = near.buffer, .Length = BYTES };
    struct report *r = report_start();

    sge.MemoryRegionToken = mr->Dispatch->NdkGetLocalTokenFromMr(mr);
    assert_int_equal(near.qp->Dispatch->NdkReceive(near.qp, NULL, &sge, 1), STATUS_SUCCESS);
    return r;
}

static void register_to_write(NDK_MR *mr, PMDL mdl)
{
    struct call c;

    call_init(&c);
    assert_int_equal(
        finish(&c, mr->Dispatch->NdkRegisterMr(mr, mdl, BYTES, NDK_MR_FLAG_ALLOW_LOCAL_WRITE, request_done, &c)),
        STATUS_SUCCESS);
}

/* Registers memory that the MDL of MmAllocatePagesForMdl describes, and receives into it. */
static void receive_into_pages(NDK_MR *mr)
{
    const PHYSICAL_ADDRESS none = { .QuadPart = 0 }, all = { .QuadPart = -1 };
    PMDL mdl = MmAllocatePagesForMdl(none, all, none, PAGE_SIZE);
    NDK_SGE sge = { .Length = BYTES };
    struct report *r;

    assert_non_null(mdl);
    register_to_write(mr, mdl);
    sge.VirtualAddress = MmGetMdlVirtualAddress(mdl);
    sge.MemoryRegionToken = mr->Dispatch->NdkGetLocalTokenFromMr(mr);
    r = report_start();
    assert_int_equal(near.qp->Dispatch->NdkReceive(near.qp, NULL, &sge, 1), STATUS_SUCCESS);
    near.qp->Dispatch->NdkFlush(near.qp);
    report_is_empty(r);
    deregister_only(mr);
    MmFreePagesFromMdl(mdl);
    ExFreePool(mdl);
}

static void test_mdl_read_only(void **state)
{
    struct report *r;
    NDK_MR *mr;
    PMDL mdl;

    (void)state;
    open_all();
    MADE(NDK_MR, mr, pd->Dispatch->NdkCreateMr(pd, FALSE, create_done, &c_, &inline_));
    mdl = IoAllocateMdl(near.buffer, BYTES, FALSE, FALSE, NULL);
    MmProbeAndLockPages(mdl, KernelMode, IoReadAccess);
    r = report_start();
    register_to_write(mr, mdl); /* the right alone is legal: a send may use the region */
    report_is_empty(r);
    report_says(receive_into(mr), "mdl-read-only in NdkReceive", "was locked with IoReadAccess");
    near.qp->Dispatch->NdkFlush(near.qp);
    deregister_only(mr);
    MmUnlockPages(mdl);
    MmProbeAndLockPages(mdl, KernelMode, IoWriteAccess);
    register_to_write(mr, mdl);
    report_is_empty(receive_into(mr));
    near.qp->Dispatch->NdkFlush(near.qp);
    deregister_only(mr);
    MmUnlockPages(mdl);
    IoFreeMdl(mdl);
    receive_into_pages(mr);
    close_object(mr);
    close_all();
}

/* ---- inline data ---- */

/* Posts inline data at DISPATCH_LEVEL. The queue pair is disconnected, so the provider refuses the request. */
static struct report *send_inline(const UCHAR *data)
{
    NDK_SGE sge = { .VirtualAddress = (PVOID)data, .Length = INLINE };
    struct report *r = report_start();
    KIRQL irql;

    KeRaiseIrql(DISPATCH_LEVEL, &irql);
    (void)near.qp->Dispatch->NdkSend(near.qp, NULL, &sge, 1, NDK_OP_FLAG_INLINE);
    KeLowerIrql(irql);
    return r;
}

static void test_inline_paged(void **state)
{
    UCHAR *paged = ExAllocatePoolWithTag(PagedPool, PAGE_SIZE, TAG);
    UCHAR on_stack[INLINE] = { 0 };
    PMDL mdl;

    (void)state;
    open_all();
    establish();
    disconnect();
    report_says(send_inline(paged), "inline-paged in NdkSend", "is in paged memory, and the IRQL is 2");
    report_is_empty(send_inline(on_stack));
    report_is_empty(send_inline(near.buffer)); /* nonpaged pool */
    mdl = IoAllocateMdl(paged, PAGE_SIZE, FALSE, FALSE, NULL);
    MmProbeAndLockPages(mdl, KernelMode, IoReadAccess);
    report_is_empty(send_inline(paged));
    MmUnlockPages(mdl);
    IoFreeMdl(mdl);
    report_is(send_inline(paged), "inline-paged in NdkSend");
    ExFreePoolWithTag(paged, TAG);
    close_all();
}

/* ---- mappings ---- */

static union {
    NDK_LOGICAL_ADDRESS_MAPPING lam;
    UCHAR room[sizeof(NDK_LOGICAL_ADDRESS_MAPPING) + 2 * sizeof(NDK_LOGICAL_ADDRESS)];
} mapping;

static void map(PMDL mdl)
{
    ULONG size = sizeof mapping.room, offset;
    struct call c;

    call_init(&c);
    assert_int_equal(
        finish(&c, adapter->Dispatch->NdkBuildLAM(adapter, mdl, BYTES, request_done, &c, &mapping.lam, &size, &offset)),
        STATUS_SUCCESS);
}

static struct report *release(void)
{
    struct report *r = report_start();

    adapter->Dispatch->NdkReleaseLAM(adapter, &mapping.lam);
    return r;
}

static void test_lam_rules(void **state)
{
    struct report *r;
    PMDL mdl;

    (void)state;
    open_all();
    mdl = IoAllocateMdl(near.buffer, BYTES, FALSE, FALSE, NULL);
    r = report_start();
    map(mdl);
    report_is(r, "mdl-unlocked in NdkBuildLAM");
    MmBuildMdlForNonPagedPool(mdl);
    report_is_empty(release());
    report_says(release(), "lam-released-twice in NdkReleaseLAM", "is released already");
    map(mdl);
    mapping.lam.AdapterPageArray[0].QuadPart += PAGE_SIZE;
    report_says(release(), "lam-changed in NdkReleaseLAM", "AdapterPageArray");
    IoFreeMdl(mdl);
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_region_freed), cmocka_unit_test(test_region_freed_after_its_end),
        cmocka_unit_test(test_mdl_unlocked), cmocka_unit_test(test_mdl_read_only),
        cmocka_unit_test(test_inline_paged), cmocka_unit_test(test_lam_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
