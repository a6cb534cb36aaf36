/* SPDX-License-Identifier: MIT */
/* Rules about the buffers of a driver's posted requests: each breach, and what is near it but legal. */
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

enum { LENGTH = 32, SGES = 6 };

static NDK_SGE sge_of(UCHAR *buffer, NDK_MR *mr)
{
    return (NDK_SGE){ .VirtualAddress = buffer,
                      .Length = LENGTH,
                      .MemoryRegionToken = mr->Dispatch->NdkGetLocalTokenFromMr(mr) };
}

static void send(const NDK_SGE *sge, ULONG flags)
{
    assert_int_equal(near.qp->Dispatch->NdkSend(near.qp, NULL, sge, 1, flags), STATUS_SUCCESS);
}

/* ---- the data of a request ---- */

static void set_full(uint32_t full)
{
    ondk_verify_config_t config;

    ondk_verify_config_init(&config);
    config.full = full;
    assert_int_equal(ondk_verify_configure(&config), 0);
}

static void test_source_changed(void **state)
{
    NDK_SGE sink, source;
    PMDL near_mdl, far_mdl;
    NDK_MR *near_mr, *far_mr;
    struct report *r;

    (void)state;
    open_all();
    set_full(1);
    establish();
    near_mr = register_buffer(near.buffer, &near_mdl);
    far_mr = register_buffer(far.buffer, &far_mdl);
    source = sge_of(near.buffer, near_mr);
    sink = sge_of(far.buffer, far_mr);
    for (int changes = 0; changes < 2; changes++) {
        assert_int_equal(far.qp->Dispatch->NdkReceive(far.qp, NULL, &sink, 1), STATUS_SUCCESS);
        r = report_start();
        send(&source, 0);
        assert_int_equal(next_result(&far).Status, STATUS_SUCCESS);
        near.buffer[0] += (UCHAR)changes;
        assert_int_equal(next_result(&near).Status, STATUS_SUCCESS);
        if (changes)
            report_says(r, "source-changed in NdkGetCqResults", "the data of a posted NdkSend, 1 SGEs");
        else
            report_is_empty(r);
        near.buffer[0]++; /* after the completion */
    }
    disconnect();
    deregister(near_mr);
    deregister(far_mr);
    IoFreeMdl(near_mdl);
    IoFreeMdl(far_mdl);
    close_all();
    set_full(0);
}

/* ---- freed buffers ---- */

static void test_buffer_of_the_fifth_sge_freed(void **state)
{
    UCHAR *buffer = ExAllocatePoolWithTag(NonPagedPoolNx, BYTES, TAG);
    NDK_SGE sgl[SGES];
    PMDL near_mdl, mdl;
    NDK_MR *near_mr, *mr;
    struct report *r;
    NDK_SRQ *srq;

    (void)state;
    open_all();
    MADE(NDK_SRQ, srq, pd->Dispatch->NdkCreateSrq(pd, DEPTH, SGES, 0, NULL, NULL, NULL, create_done, &c_, &inline_));
    near_mr = register_buffer(near.buffer, &near_mdl);
    mr = register_buffer(buffer, &mdl);
    for (int i = 0; i < SGES; i++)
        sgl[i] = i == 4 ? sge_of(buffer, mr) : sge_of(near.buffer, near_mr);
    assert_int_equal(srq->Dispatch->NdkSrqReceive(srq, NULL, sgl, SGES), STATUS_SUCCESS);
    r = report_start();
    ExFreePoolWithTag(buffer, TAG);
    report_says(r, "buffer-freed-in-use in ExFreePoolWithTag", "NdkSrqReceive of NDK_SRQ 0x");
    r = report_start();
    close_object(srq);
    deregister(mr); /* one report is enough */
    deregister(near_mr);
    IoFreeMdl(mdl);
    IoFreeMdl(near_mdl);
    report_is_empty(r);
    close_all();
}

/* A receive of the peer for each message of the next test. */
static void post_receives(const NDK_SGE *sink)
{
    for (int i = 0; i < 2; i++)
        assert_int_equal(far.qp->Dispatch->NdkReceive(far.qp, NULL, sink, 1), STATUS_SUCCESS);
}

static void test_buffer_of_a_silent_deferred_request_freed(void **state)
{
    PMDL far_mdl;
    NDK_MR *far_mr;
    NDK_SGE sink;

    (void)state;
    open_all();
    establish();
    far_mr = register_buffer(far.buffer, &far_mdl);
    sink = sge_of(far.buffer, far_mr);
    for (int ended = 0; ended < 2; ended++) {
        UCHAR *buffer = ExAllocatePoolWithTag(NonPagedPoolNx, BYTES, TAG);
        PMDL mdl;
        NDK_MR *mr = register_buffer(buffer, &mdl);
        NDK_SGE sge = sge_of(buffer, mr);
        struct report *r;

        memset(buffer, 0, BYTES);
        post_receives(&sink);
        send(&sge, NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_DEFER);
        send(&(NDK_SGE){ .Length = 0 }, 0);
        for (int i = 0; i < 2; i++) /* after which the provider does not read the buffer any more */
            assert_int_equal(next_result(&far).Status, STATUS_SUCCESS);
        if (ended)
            assert_int_equal(next_result(&near).Status, STATUS_SUCCESS);
        if (ended)
            deregister(mr);
        r = report_start();
        ExFreePoolWithTag(buffer, TAG);
        if (ended) {
            report_is_empty(r);
        } else {
            report_says(r, "buffer-freed-in-use in ExFreePoolWithTag", "NdkSend of NDK_QP 0x");
            assert_int_equal(next_result(&near).Status, STATUS_SUCCESS);
            deregister(mr);
        }
        IoFreeMdl(mdl);
    }
    disconnect();
    deregister(far_mr);
    IoFreeMdl(far_mdl);
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_source_changed),
        cmocka_unit_test(test_buffer_of_the_fifth_sge_freed),
        cmocka_unit_test(test_buffer_of_a_silent_deferred_request_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
