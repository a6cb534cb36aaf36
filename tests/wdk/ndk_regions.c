/* SPDX-License-Identifier: MIT */
/* Rules about tokens, regions and windows, broken by a driver. tests/verify has what is legal beside them. */
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
#include "openndk/verify.h"
#include "report.h"

enum {
    PAGES = 1,
    ALL = NDK_OP_FLAG_ALLOW_LOCAL_WRITE | NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE
};

/* Breaks the rule by a statement. */
#define BREAKS(words, statement)                                                                                       \
    do {                                                                                                               \
        struct report *r_ = report_start();                                                                            \
        statement;                                                                                                     \
        report_is(r_, words);                                                                                          \
    } while (0)

/* A connected pair, a region of each kind, a window, and a page with its logical address. */
static NDK_MR *normal, *fast;
static NDK_MW *mw;
static UCHAR *page;
static PMDL page_mdl, buffer_mdl;
static NDK_LOGICAL_ADDRESS_MAPPING lam;

static NTSTATUS initialize(NDK_MR *mr, ULONG pages, BOOLEAN remote)
{
    struct call c;

    call_init(&c);
    return finish(&c, mr->Dispatch->NdkInitializeFastRegisterMr(mr, pages, remote, request_done, &c));
}

static void open_objects(void)
{
    ULONG size = sizeof lam, offset;
    struct call c;

    open_all();
    establish();
    normal = register_buffer(near.buffer, &buffer_mdl);
    MADE(NDK_MR, fast, pd->Dispatch->NdkCreateMr(pd, TRUE, create_done, &c_, &inline_));
    MADE(NDK_MW, mw, pd->Dispatch->NdkCreateMw(pd, create_done, &c_, &inline_));
    page = ExAllocatePoolWithTag(NonPagedPoolNx, PAGE_SIZE, TAG);
    page_mdl = IoAllocateMdl(page, PAGE_SIZE, FALSE, FALSE, NULL);
    MmBuildMdlForNonPagedPool(page_mdl);
    call_init(&c);
    assert_int_equal(finish(&c, adapter->Dispatch->NdkBuildLAM(adapter, page_mdl, PAGE_SIZE, request_done, &c, &lam,
                                                               &size, &offset)),
                     STATUS_SUCCESS);
    assert_int_equal(offset, 0);
}

static void close_objects(void)
{
    close_object(mw);
    close_object(fast);
    deregister(normal);
    adapter->Dispatch->NdkReleaseLAM(adapter, &lam);
    IoFreeMdl(page_mdl);
    IoFreeMdl(buffer_mdl);
    ExFreePoolWithTag(page, TAG);
    close_all();
}

static NTSTATUS receive(NDK_SGE sge)
{
    return near.qp->Dispatch->NdkReceive(near.qp, NULL, &sge, 1);
}

static NDK_SGE sge_of(NDK_MR *mr, void *address, ULONG length)
{
    return (NDK_SGE){ .VirtualAddress = address,
                      .Length = length,
                      .MemoryRegionToken = mr->Dispatch->NdkGetLocalTokenFromMr(mr) };
}

static NTSTATUS fast_register(NDK_MR *mr, ULONG pages, SIZE_T length, const void *base, ULONG flags)
{
    return near.qp->Dispatch->NdkFastRegister(near.qp, NULL, mr, pages, lam.AdapterPageArray, 0, length, (PVOID)base,
                                              flags);
}

static void test_tokens(void **state)
{
    NDK_SGE sge;
    struct call c;

    (void)state;
    open_objects();
    BREAKS("token-early in NdkGetLocalTokenFromMr", (void)fast->Dispatch->NdkGetLocalTokenFromMr(fast));
    BREAKS("token-early in NdkGetRemoteTokenFromMw", (void)mw->Dispatch->NdkGetRemoteTokenFromMw(mw));
    sge = sge_of(normal, near.buffer, BYTES);
    sge.Length++;
    BREAKS("sge-range in NdkReceive", assert_false(NT_SUCCESS(receive(sge))));
    sge.Length = BYTES;
    call_init(&c);
    assert_int_equal(finish(&c, normal->Dispatch->NdkDeregisterMr(normal, request_done, &c)), STATUS_SUCCESS);
    BREAKS("token-unknown in NdkReceive", assert_false(NT_SUCCESS(receive(sge))));
    call_init(&c);
    assert_int_equal(finish(&c, normal->Dispatch->NdkRegisterMr(normal, buffer_mdl, BYTES, 0, request_done, &c)),
                     STATUS_SUCCESS);
    sge = sge_of(normal, near.buffer, BYTES);
    BREAKS("local-write-right in NdkReceive", assert_false(NT_SUCCESS(receive(sge))));
    close_objects();
}

static void test_privileged_token(void **state)
{
    NDK_SGE sge = { .LogicalAddress = lam.AdapterPageArray[0], .Length = 16 };
    struct report *r;

    (void)state;
    open_objects();
    pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(pd, &sge.MemoryRegionToken);
    sge.LogicalAddress = lam.AdapterPageArray[0];
    r = report_start();
    assert_int_equal(receive(sge), STATUS_SUCCESS);
    near.qp->Dispatch->NdkFlush(near.qp);
    assert_int_equal(next_result(&near).Status, STATUS_CANCELLED);
    report_is_empty(r);
    BREAKS("privileged-token-peer in NdkWrite",
           (void)near.qp->Dispatch->NdkWrite(near.qp, NULL, &sge, 1, 0, sge.MemoryRegionToken, 0));
    sge.VirtualAddress = page;
    BREAKS("privileged-token-virtual in NdkReceive", assert_false(NT_SUCCESS(receive(sge))));
    close_objects();
}

static NTSTATUS try_register(NDK_MR *mr, PMDL mdl, SIZE_T length)
{
    struct call c;

    call_init(&c);
    return finish(&c, mr->Dispatch->NdkRegisterMr(mr, mdl, length, 0, request_done, &c));
}

static void test_registrations(void **state)
{
    NDK_ADAPTER_INFO info;
    ULONG size = sizeof info;
    struct call c;
    PMDL other;
    NDK_MR *mr;

    (void)state;
    open_objects();
    MADE(NDK_MR, mr, pd->Dispatch->NdkCreateMr(pd, FALSE, create_done, &c_, &inline_));
    BREAKS("mr-kind in NdkRegisterMr", assert_false(NT_SUCCESS(try_register(fast, page_mdl, PAGE_SIZE))));
    BREAKS("mr-kind in NdkInitializeFastRegisterMr", assert_false(NT_SUCCESS(initialize(mr, PAGES, FALSE))));
    BREAKS("mr-length in NdkRegisterMr", assert_false(NT_SUCCESS(try_register(mr, page_mdl, PAGE_SIZE + 1))));
    other = IoAllocateMdl(near.buffer, BYTES, FALSE, FALSE, NULL);
    MmBuildMdlForNonPagedPool(other);
    page_mdl->Next = other;
    BREAKS("mdl-gap in NdkRegisterMr", assert_false(NT_SUCCESS(try_register(mr, page_mdl, PAGE_SIZE + 1))));
    page_mdl->Next = NULL;
    IoFreeMdl(other);
    info.Version = (NDK_VERSION){ 2, 1 };
    assert_int_equal(adapter->Dispatch->NdkQueryAdapterInfo(adapter, &info, &size), STATUS_SUCCESS);
    BREAKS("mr-registered-twice in NdkRegisterMr", assert_false(NT_SUCCESS(try_register(normal, buffer_mdl, BYTES))));
    BREAKS("registration-size in NdkRegisterMr",
           assert_false(NT_SUCCESS(try_register(mr, page_mdl, info.MaxRegistrationSize + 1))));
    call_init(&c);
    BREAKS("mr-unregistered in NdkDeregisterMr",
           assert_false(NT_SUCCESS(finish(&c, mr->Dispatch->NdkDeregisterMr(mr, request_done, &c)))));
    close_object(mr);
    close_objects();
}

static void test_fast_registrations(void **state)
{
    UCHAR *base = (UCHAR *)0x700000000000;

    (void)state;
    open_objects();
    BREAKS("fast-register-state in NdkFastRegister",
           assert_false(NT_SUCCESS(fast_register(fast, PAGES, 16, base, ALL))));
    assert_int_equal(initialize(fast, PAGES, FALSE), STATUS_SUCCESS);
    BREAKS("fast-register-pages in NdkFastRegister",
           assert_false(NT_SUCCESS(fast_register(fast, PAGES + 1, 16, base, 0))));
    BREAKS("fast-register-length in NdkFastRegister",
           assert_false(NT_SUCCESS(fast_register(fast, PAGES, PAGE_SIZE + 1, base, 0))));
    BREAKS("fast-register-base in NdkFastRegister",
           assert_false(NT_SUCCESS(fast_register(fast, PAGES, 16, base + 1, 0))));
    BREAKS("fast-register-right in NdkFastRegister",
           assert_int_equal(fast_register(fast, PAGES, 16, base, ALL), STATUS_ACCESS_VIOLATION));
    BREAKS("fast-register-address in NdkFastRegister",
           assert_false(NT_SUCCESS(near.qp->Dispatch->NdkFastRegister(
               near.qp, NULL, fast, 1, &(NDK_LOGICAL_ADDRESS){ .QuadPart = PAGE_SIZE }, 0, 16, base, 0))));
    BREAKS("invalidate-kind in NdkInvalidate",
           assert_false(NT_SUCCESS(near.qp->Dispatch->NdkInvalidate(near.qp, NULL, &fast->Header, 0))));
    close_objects();
}

/* The rule is an advice. */
static void test_fast_register_limit(void **state)
{
    NDK_ADAPTER_INFO info = { .Version = { 2, 1 } };
    uint32_t advices = ondk_verify_advices();
    ULONG size = sizeof info;
    struct report *r;

    (void)state;
    open_objects();
    assert_int_equal(adapter->Dispatch->NdkQueryAdapterInfo(adapter, &info, &size), STATUS_SUCCESS);
    r = report_start();
    assert_int_equal(initialize(fast, info.FRMRPageCount, FALSE), STATUS_SUCCESS);
    assert_int_equal(ondk_verify_advices(), advices);
    assert_int_equal(initialize(fast, info.FRMRPageCount + 1, FALSE), STATUS_IMPLEMENTATION_LIMIT);
    assert_int_equal(ondk_verify_advices(), advices + 1);
    fflush(r->out);
    assert_non_null(strstr(r->text, "*** NDK advice: fast-register-limit in NdkInitializeFastRegisterMr"));
    report_is_empty(r);
    close_objects();
}

static void test_invalidated_by_the_peer(void **state)
{
    NDK_SGE sge;
    UINT32 token;

    (void)state;
    open_objects();
    assert_int_equal(initialize(fast, PAGES, TRUE), STATUS_SUCCESS);
    assert_int_equal(fast_register(fast, PAGES, 16, NULL, ALL), STATUS_SUCCESS);
    token = fast->Dispatch->NdkGetRemoteTokenFromMr(fast);
    assert_int_equal(next_result(&near).Status, STATUS_SUCCESS);
    sge = sge_of(normal, near.buffer, BYTES);
    assert_int_equal(receive(sge), STATUS_SUCCESS);
    sge.Length = 16;
    assert_int_equal(far.qp->Dispatch->NdkSendAndInvalidate(far.qp, NULL, &sge, 1, 0, token), STATUS_SUCCESS);
    assert_int_equal(next_result(&near).Type, NdkOperationTypeReceiveAndInvalidate);
    assert_int_equal(next_result(&far).Status, STATUS_SUCCESS);
    BREAKS("invalidate-twice in NdkInvalidate",
           (void)near.qp->Dispatch->NdkInvalidate(near.qp, NULL, &fast->Header, 0));
    close_objects();
}

static NTSTATUS bind_window(const void *address, SIZE_T length, ULONG flags)
{
    return near.qp->Dispatch->NdkBind(near.qp, NULL, normal, mw, (PVOID)address, length, flags);
}

static void test_windows(void **state)
{
    NDK_ADAPTER_INFO info = { .Version = { 2, 1 } };
    ULONG size = sizeof info;
    struct call c;

    (void)state;
    open_objects();
    assert_int_equal(adapter->Dispatch->NdkQueryAdapterInfo(adapter, &info, &size), STATUS_SUCCESS);
    BREAKS("window-range in NdkBind",
           assert_false(NT_SUCCESS(near.qp->Dispatch->NdkBind(near.qp, NULL, fast, mw, NULL, 1, 0))));
    BREAKS("window-range in NdkBind",
           assert_false(NT_SUCCESS(bind_window(near.buffer + 1, BYTES, NDK_OP_FLAG_ALLOW_REMOTE_READ))));
    BREAKS("window-size in NdkBind",
           assert_false(NT_SUCCESS(bind_window(near.buffer, info.MaxWindowSize + 1, NDK_OP_FLAG_ALLOW_REMOTE_READ))));
    call_init(&c);
    assert_int_equal(finish(&c, normal->Dispatch->NdkDeregisterMr(normal, request_done, &c)), STATUS_SUCCESS);
    assert_int_equal(try_register(normal, buffer_mdl, BYTES), STATUS_SUCCESS);
    BREAKS("window-right in NdkBind",
           assert_int_equal(bind_window(near.buffer, 16, NDK_OP_FLAG_ALLOW_REMOTE_WRITE), STATUS_ACCESS_VIOLATION));
    close_objects();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_privileged_token),
        cmocka_unit_test(test_registrations),
        cmocka_unit_test(test_fast_registrations),
        cmocka_unit_test(test_fast_register_limit),
        cmocka_unit_test(test_invalidated_by_the_peer),
        cmocka_unit_test(test_windows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
