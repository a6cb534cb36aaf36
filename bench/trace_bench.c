/* SPDX-License-Identifier: MIT */
/*
 * Measures the cost of recording a call: trace_bench FILE. Calls a provider that does nothing, in turn directly and
 * through dispatch tables that record each call in FILE. The two kinds of calls alternate, so that other programs slow
 * down both equally. Prints medians of the thread's CPU time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ndk/ndkpi.h>

#include "common.h"
#include "openndk/trace.h"

enum { CALLS = 10000, ROUNDS = 101, RESULTS = 16 };

static NDK_ADAPTER adapter;
static NDK_CQ cq;
static NDK_PD pd;
static NDK_QP qp;
static ULONG results_left; /* number of results that the next poll returns */
static NDK_FN_REQUEST_COMPLETION pending;
static void *pending_context;

/* ---- the provider ---- */

static NTSTATUS empty_create(void *object, void *out)
{
    memcpy(out, &object, sizeof object);
    return STATUS_SUCCESS;
}

static NTSTATUS empty_create_cq(NDK_ADAPTER *a, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK notify,
                                PVOID notify_context, GROUP_AFFINITY *affinity, NDK_FN_CREATE_COMPLETION done,
                                PVOID context, NDK_CQ **out)
{
    (void)a, (void)depth, (void)notify, (void)notify_context, (void)affinity, (void)done, (void)context;
    return empty_create(&cq, out);
}

static NTSTATUS empty_create_pd(NDK_ADAPTER *a, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_PD **out)
{
    (void)a, (void)done, (void)context;
    return empty_create(&pd, out);
}

static NTSTATUS empty_create_qp(NDK_PD *p, NDK_CQ *receive_cq, NDK_CQ *initiator_cq, PVOID qp_context,
                                ULONG receive_depth, ULONG initiator_depth, ULONG receive_sges, ULONG initiator_sges,
                                ULONG inline_size, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_QP **out)
{
    (void)p, (void)receive_cq, (void)initiator_cq, (void)qp_context, (void)receive_depth, (void)initiator_depth;
    (void)receive_sges, (void)initiator_sges, (void)inline_size, (void)done, (void)context;
    return empty_create(&qp, out);
}

static NTSTATUS empty_send(NDK_QP *q, PVOID context, CONST NDK_SGE *sgl, ULONG sges, ULONG flags)
{
    (void)q, (void)context, (void)sgl, (void)sges, (void)flags;
    return STATUS_SUCCESS;
}

static VOID empty_arm(NDK_CQ *q, ULONG type)
{
    (void)q, (void)type;
}

static ULONG empty_get_results(NDK_CQ *q, NDK_RESULT_EX results[], ULONG count)
{
    ULONG got = count < results_left ? count : results_left;

    (void)q;
    for (ULONG i = 0; i < got; i++)
        results[i] = (NDK_RESULT_EX){ .Type = NdkOperationTypeSend };
    return got;
}

static NTSTATUS empty_resize(NDK_CQ *q, ULONG depth, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    (void)q;
    if (depth == 0)
        return STATUS_SUCCESS;
    pending = done;
    pending_context = context;
    return STATUS_PENDING;
}

static const NDK_ADAPTER_DISPATCH adapter_dispatch = { .NdkCreateCq = empty_create_cq, .NdkCreatePd = empty_create_pd };
static const NDK_PD_DISPATCH pd_dispatch = { .NdkCreateQp = empty_create_qp };
static const NDK_QP_DISPATCH qp_dispatch = { .NdkSend = empty_send };
static const NDK_CQ_DISPATCH cq_dispatch = { .NdkArmCq = empty_arm,
                                             .NdkGetCqResultsEx = empty_get_results,
                                             .NdkResizeCq = empty_resize };

static void open_provider(void)
{
    const NDK_VERSION version = { 2, 1 };
    NDK_CQ *made_cq;
    NDK_PD *made_pd;
    NDK_QP *made_qp;

    adapter = (NDK_ADAPTER){ { .Version = version, .ObjectType = NdkObjectTypeAdapter }, &adapter_dispatch };
    cq = (NDK_CQ){ { .Version = version, .ObjectType = NdkObjectTypeCq }, &cq_dispatch };
    pd = (NDK_PD){ { .Version = version, .ObjectType = NdkObjectTypePd }, &pd_dispatch };
    qp = (NDK_QP){ { .Version = version, .ObjectType = NdkObjectTypeQp }, &qp_dispatch };
    if (ondk_trace_begin(&adapter, 0) != 1)
        bench_die("trace_bench: nothing is recorded");
    (void)adapter.Dispatch->NdkCreateCq(&adapter, 1, NULL, NULL, NULL, NULL, NULL, &made_cq);
    (void)adapter.Dispatch->NdkCreatePd(&adapter, NULL, NULL, &made_pd);
    (void)pd.Dispatch->NdkCreateQp(&pd, &cq, &cq, NULL, 1, 1, 1, 1, 0, NULL, NULL, &made_qp);
}

/* ---- the calls ---- */

static void call_send(const NDK_QP_DISPATCH *q, const NDK_CQ_DISPATCH *c)
{
    const NDK_SGE sge = { .Length = 64 };

    (void)c;
    (void)q->NdkSend(&qp, NULL, &sge, 1, 0);
}

static void call_arm(const NDK_QP_DISPATCH *q, const NDK_CQ_DISPATCH *c)
{
    (void)q;
    c->NdkArmCq(&cq, NDK_CQ_NOTIFY_ANY);
}

static void call_poll(const NDK_QP_DISPATCH *q, const NDK_CQ_DISPATCH *c)
{
    NDK_RESULT_EX results[RESULTS];

    (void)q;
    (void)c->NdkGetCqResultsEx(&cq, results, RESULTS);
}

static void call_resize(const NDK_QP_DISPATCH *q, const NDK_CQ_DISPATCH *c)
{
    (void)q;
    (void)c->NdkResizeCq(&cq, 0, NULL, NULL);
}

static void on_resized(void *context, NTSTATUS status)
{
    (void)context, (void)status;
}

static void call_pending_resize(const NDK_QP_DISPATCH *q, const NDK_CQ_DISPATCH *c)
{
    (void)q;
    (void)c->NdkResizeCq(&cq, 1, on_resized, NULL);
    pending(pending_context, STATUS_SUCCESS);
}

/* ---- the measurement ---- */

static double call_measure(void (*call)(const NDK_QP_DISPATCH *, const NDK_CQ_DISPATCH *), bool is_traced)
{
    const NDK_QP_DISPATCH *q = is_traced ? qp.Dispatch : &qp_dispatch;
    const NDK_CQ_DISPATCH *c = is_traced ? cq.Dispatch : &cq_dispatch;
    double begin = bench_clock_ns(CLOCK_THREAD_CPUTIME_ID);

    for (unsigned i = 0; i < CALLS; i++)
        call(q, c);
    return (bench_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / CALLS;
}

static void print_row(const char *name, unsigned events, void (*call)(const NDK_QP_DISPATCH *, const NDK_CQ_DISPATCH *))
{
    struct samples off, on;

    samples_init(&off, ROUNDS);
    samples_init(&on, ROUNDS);
    for (unsigned i = 0; i < ROUNDS; i++) {
        samples_add(&off, call_measure(call, false));
        samples_add(&on, call_measure(call, true));
    }
    double cost = samples_median(&on) - samples_median(&off);
    printf("%-38s %8.1f %8u %10.1f\n", name, cost, events, events ? cost / events : 0);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        bench_die("usage: trace_bench FILE");
    (void)setenv("ONDK_TRACE", argv[1], 1);
    open_provider();
    printf("%-38s %8s %8s %10s\n", "call", "ns", "events", "ns/event");
    print_row("NdkSend, one SGE", 1, call_send);
    print_row("NdkArmCq", 1, call_arm);
    print_row("NdkGetCqResultsEx without a result", 0, call_poll);
    results_left = 1;
    print_row("NdkGetCqResultsEx, 1 result", 1, call_poll);
    results_left = RESULTS;
    print_row("NdkGetCqResultsEx, 16 results", RESULTS, call_poll);
    print_row("NdkResizeCq, not pending", 2, call_resize);
    print_row("NdkResizeCq, pending", 4, call_pending_resize);
    ondk_trace_end(&adapter);
    return 0;
}
