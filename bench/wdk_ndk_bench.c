/* SPDX-License-Identifier: MIT */
/*
 * Measures the cost of the checks on NDK calls. A driver that has both ends of a connection makes the same calls with
 * the provider's objects (checks off) and with the proxies of src/verify (checks on). The measurements with checks off
 * and with checks on alternate, so that other programs slow down both equally. The results are medians of CPU time. If
 * a call does all the work itself, the program measures the CPU time of the calling thread, otherwise that of the
 * process.
 */
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "wsk.h"
#include "wskndk.h"

#include "common.h"
#include "openndk/verify.h"
#include "openndk/wdk.h"

enum { LOOPBACK = 1, DEPTH = 1024, BURST = 64, MESSAGE = 64, ROUNDS = 101, TAG = 0x68636542 };
enum { SENDER, RECEIVER, ENDS };

/* ---- Calls that wait --------------------------------------------------------------------------------------------- */

struct call {
    KEVENT event;
    NTSTATUS status;
    void *object;
};

static void bench_require(bool fine, const char *what)
{
    if (!fine)
        bench_die("wdk_ndk_bench: %s failed", what);
}

static VOID call_on_request(PVOID context, NTSTATUS status)
{
    struct call *c = context;

    c->status = status;
    KeSetEvent(&c->event, IO_NO_INCREMENT, FALSE);
}

static VOID call_on_create(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    ((struct call *)context)->object = object;
    call_on_request(context, status);
}

static VOID call_on_close(PVOID context)
{
    call_on_request(context, STATUS_SUCCESS);
}

static struct call *call_begin(struct call *c)
{
    memset(c, 0, sizeof *c);
    KeInitializeEvent(&c->event, NotificationEvent, FALSE);
    return c;
}

static void call_end(struct call *c, NTSTATUS status, const char *what)
{
    if (status == STATUS_PENDING) {
        (void)KeWaitForSingleObject(&c->event, Executive, KernelMode, FALSE, NULL);
        status = c->status;
    }
    bench_require(NT_SUCCESS(status), what);
}

static void call_close(void *object)
{
    NDK_PD *any = object; /* Every dispatch table begins with the close function. */
    struct call c;

    call_end(&c, any->Dispatch->NdkClosePd(&any->Header, call_on_close, call_begin(&c)), "a close");
}

/* ---- A driver with both ends ------------------------------------------------------------------------------------- */

struct end {
    NDK_CQ *cq;
    NDK_QP *qp;
    NDK_CONNECTOR *connector;
};

struct driver {
    WSK_REGISTRATION registration;
    WSK_PROVIDER_NPI npi;
    WSK_PROVIDER_NDK_DISPATCH ndk;
    NDK_ADAPTER *adapter;
    NDK_PD *pd;
    NDK_LISTENER *listener;
    SOCKADDR_IN at;
    struct end ends[ENDS]; /* the queue pairs of the ends are connected */
    NDK_QP *idle;          /* never connected */
    UCHAR *memory;
    PMDL mdl;
    NDK_MR *mr;
    NDK_SGE sge;
    UINT32 remote;
    KEVENT request_arrived;
    NDK_CONNECTOR *request;
};

static VOID driver_on_notify(PVOID context, NTSTATUS status)
{
    (void)context, (void)status;
}

static VOID driver_on_connect(PVOID context, NDK_CONNECTOR *connector)
{
    struct driver *d = context;

    d->request = connector;
    KeSetEvent(&d->request_arrived, IO_NO_INCREMENT, FALSE);
}

static void driver_create_queues(struct driver *d, struct end *e)
{
    struct call c;

    call_end(&c,
             d->adapter->Dispatch->NdkCreateCq(d->adapter, 2 * DEPTH, driver_on_notify, NULL, NULL, call_on_create,
                                               call_begin(&c), &e->cq),
             "NdkCreateCq");
    call_end(&c,
             d->pd->Dispatch->NdkCreateQp(d->pd, e->cq, e->cq, e, DEPTH, DEPTH, 1, 1, 0, call_on_create, call_begin(&c),
                                          &e->qp),
             "NdkCreateQp");
}

static void driver_create_region(struct driver *d)
{
    ULONG flags = NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_WRITE;
    struct call c;

    d->memory = ExAllocatePoolWithTag(NonPagedPoolNx, 2 * MESSAGE, TAG);
    d->mdl = IoAllocateMdl(d->memory, 2 * MESSAGE, FALSE, FALSE, NULL);
    bench_require(d->memory && d->mdl, "the region's memory");
    MmBuildMdlForNonPagedPool(d->mdl);
    call_end(&c, d->pd->Dispatch->NdkCreateMr(d->pd, FALSE, call_on_create, call_begin(&c), &d->mr), "NdkCreateMr");
    call_end(&c, d->mr->Dispatch->NdkRegisterMr(d->mr, d->mdl, 2 * MESSAGE, flags, call_on_request, call_begin(&c)),
             "NdkRegisterMr");
    d->sge = (NDK_SGE){ .VirtualAddress = d->memory, .Length = MESSAGE };
    d->sge.MemoryRegionToken = d->mr->Dispatch->NdkGetLocalTokenFromMr(d->mr);
    d->remote = d->mr->Dispatch->NdkGetRemoteTokenFromMr(d->mr);
}

static void driver_listen(struct driver *d)
{
    ULONG size = sizeof d->at;
    struct call c;

    KeInitializeEvent(&d->request_arrived, SynchronizationEvent, FALSE);
    d->at.sin_family = AF_INET;
    d->at.sin_addr.S_un.S_addr = 0x0100007f;
    call_end(&c,
             d->adapter->Dispatch->NdkCreateListener(d->adapter, driver_on_connect, d, call_on_create, call_begin(&c),
                                                     &d->listener),
             "NdkCreateListener");
    call_end(
        &c,
        d->listener->Dispatch->NdkListen(d->listener, (PSOCKADDR)&d->at, sizeof d->at, call_on_request, call_begin(&c)),
        "NdkListen");
    bench_require(NT_SUCCESS(d->listener->Dispatch->NdkGetLocalAddress(d->listener, (PSOCKADDR)&d->at, &size)),
                  "NdkGetLocalAddress");
}

static void driver_connect(struct driver *d, struct end *ends)
{
    SOCKADDR_IN from = { .sin_family = AF_INET, .sin_addr = d->at.sin_addr };
    NDK_CONNECTOR *ours, *theirs;
    struct call c, connecting, accepting;
    NTSTATUS connect_status, accept_status;

    call_end(&c, d->adapter->Dispatch->NdkCreateConnector(d->adapter, call_on_create, call_begin(&c), &ours),
             "NdkCreateConnector");
    connect_status = ours->Dispatch->NdkConnect(ours, ends[SENDER].qp, (PSOCKADDR)&from, sizeof from, (PSOCKADDR)&d->at,
                                                sizeof d->at, 1, 1, NULL, 0, call_on_request, call_begin(&connecting));
    (void)KeWaitForSingleObject(&d->request_arrived, Executive, KernelMode, FALSE, NULL);
    theirs = d->request;
    accept_status = theirs->Dispatch->NdkAccept(theirs, ends[RECEIVER].qp, 1, 1, NULL, 0, NULL, NULL, call_on_request,
                                                call_begin(&accepting));
    call_end(&connecting, connect_status, "NdkConnect");
    call_end(&c, ours->Dispatch->NdkCompleteConnect(ours, NULL, NULL, call_on_request, call_begin(&c)),
             "NdkCompleteConnect");
    call_end(&accepting, accept_status, "NdkAccept");
    ends[SENDER].connector = ours;
    ends[RECEIVER].connector = theirs;
}

static void driver_disconnect(struct end *ends)
{
    struct call one, other;
    NTSTATUS status;

    status = ends[SENDER].connector->Dispatch->NdkDisconnect(ends[SENDER].connector, call_on_request, call_begin(&one));
    call_end(&other,
             ends[RECEIVER].connector->Dispatch->NdkDisconnect(ends[RECEIVER].connector, call_on_request,
                                                               call_begin(&other)),
             "NdkDisconnect");
    call_end(&one, status, "NdkDisconnect");
    call_close(ends[SENDER].connector);
    call_close(ends[RECEIVER].connector);
}

static void driver_open(struct driver *d)
{
    static const WSK_CLIENT_DISPATCH dispatch = { .Version = MAKE_WSK_VERSION(1, 0) };
    WSK_CLIENT_NPI client = { NULL, &dispatch };
    struct call c;

    bench_require(NT_SUCCESS(WskRegister(&client, &d->registration)), "WskRegister");
    bench_require(NT_SUCCESS(WskCaptureProviderNPI(&d->registration, WSK_INFINITE_WAIT, &d->npi)),
                  "WskCaptureProviderNPI");
    bench_require(NT_SUCCESS(d->npi.Dispatch->WskControlClient(d->npi.Client, WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH, 0,
                                                               NULL, sizeof d->ndk, &d->ndk, NULL, NULL)),
                  "WskControlClient");
    bench_require(NT_SUCCESS(d->ndk.WskOpenNdkAdapter(d->npi.Client, (NDK_VERSION){ 2, 1 }, LOOPBACK, &d->adapter)),
                  "WskOpenNdkAdapter");
    call_end(&c, d->adapter->Dispatch->NdkCreatePd(d->adapter, call_on_create, call_begin(&c), &d->pd), "NdkCreatePd");
    for (int i = 0; i < ENDS; i++)
        driver_create_queues(d, &d->ends[i]);
    call_end(&c,
             d->pd->Dispatch->NdkCreateQp(d->pd, d->ends[SENDER].cq, d->ends[SENDER].cq, NULL, DEPTH, 1, 1, 1, 0,
                                          call_on_create, call_begin(&c), &d->idle),
             "NdkCreateQp");
    driver_create_region(d);
    driver_listen(d);
    driver_connect(d, d->ends);
}

static void driver_close(struct driver *d)
{
    driver_disconnect(d->ends);
    call_close(d->mr);
    IoFreeMdl(d->mdl);
    ExFreePoolWithTag(d->memory, TAG);
    call_close(d->idle);
    for (int i = 0; i < ENDS; i++) {
        call_close(d->ends[i].qp);
        call_close(d->ends[i].cq);
    }
    call_close(d->listener);
    call_close(d->pd);
    d->ndk.WskCloseNdkAdapter(d->npi.Client, d->adapter);
    WskReleaseProviderNPI(&d->registration);
    WskDeregister(&d->registration);
}

/* ---- The measured operations: n of each -------------------------------------------------------------------------- */

static void end_collect(struct end *e, int wanted, NTSTATUS status)
{
    NDK_RESULT results[BURST];

    while (wanted > 0) {
        ULONG got = e->cq->Dispatch->NdkGetCqResults(e->cq, results, BURST);

        for (ULONG i = 0; i < got; i++)
            bench_require(results[i].Status == status, "a request");
        wanted -= (int)got;
        if (got == 0)
            sched_yield();
    }
}

static void driver_post_receives(struct driver *d, int n)
{
    NDK_QP *qp = d->ends[RECEIVER].qp;

    for (int i = 0; i < n; i++)
        bench_require(NT_SUCCESS(qp->Dispatch->NdkReceive(qp, d, &d->sge, 1)), "NdkReceive");
}

/* Posts receives to a queue pair that is not connected, to measure only the call. driver_flush_idle removes them. */
static void driver_receive_idle(struct driver *d, int n)
{
    for (int i = 0; i < n; i++)
        bench_require(NT_SUCCESS(d->idle->Dispatch->NdkReceive(d->idle, d, &d->sge, 1)), "NdkReceive");
}

static void driver_post_idle(struct driver *d)
{
    driver_receive_idle(d, DEPTH);
}

static void driver_flush_idle(struct driver *d)
{
    d->idle->Dispatch->NdkFlush(d->idle);
    end_collect(&d->ends[SENDER], DEPTH, STATUS_CANCELLED);
}

static void driver_poll_empty(struct driver *d, int n)
{
    NDK_CQ *cq = d->ends[SENDER].cq;
    NDK_RESULT result;

    for (int i = 0; i < n; i++)
        bench_require(cq->Dispatch->NdkGetCqResults(cq, &result, 1) == 0, "an empty queue");
}

static void driver_send(struct driver *d, int n, int burst)
{
    NDK_QP *qp = d->ends[SENDER].qp;

    for (int done = 0; done < n; done += burst) {
        driver_post_receives(d, burst);
        for (int i = 0; i < burst; i++)
            bench_require(NT_SUCCESS(qp->Dispatch->NdkSend(qp, d, &d->sge, 1, i < burst - 1 ? NDK_OP_FLAG_DEFER : 0)),
                          "NdkSend");
        end_collect(&d->ends[SENDER], burst, STATUS_SUCCESS);
        end_collect(&d->ends[RECEIVER], burst, STATUS_SUCCESS);
    }
}

static void driver_send_single(struct driver *d, int n)
{
    driver_send(d, n, 1);
}

static void driver_send_bursts(struct driver *d, int n)
{
    driver_send(d, n, BURST);
}

static void driver_write_bursts(struct driver *d, int n)
{
    NDK_QP *qp = d->ends[SENDER].qp;

    for (int done = 0; done < n; done += BURST) {
        for (int i = 0; i < BURST; i++)
            bench_require(NT_SUCCESS(qp->Dispatch->NdkWrite(qp, d, &d->sge, 1, (UINT64)(ULONG_PTR)(d->memory + MESSAGE),
                                                            d->remote, i < BURST - 1 ? NDK_OP_FLAG_DEFER : 0)),
                          "NdkWrite");
        end_collect(&d->ends[SENDER], BURST, STATUS_SUCCESS);
    }
}

static void driver_establish(struct driver *d, int n)
{
    struct end ends[ENDS];
    struct call c;

    for (int i = 0; i < n; i++) {
        for (int e = 0; e < ENDS; e++)
            call_end(&c,
                     d->pd->Dispatch->NdkCreateQp(d->pd, d->ends[e].cq, d->ends[e].cq, NULL, 4, 4, 1, 1, 0,
                                                  call_on_create, call_begin(&c), &ends[e].qp),
                     "NdkCreateQp");
        driver_connect(d, ends);
        driver_disconnect(ends);
        for (int e = 0; e < ENDS; e++)
            call_close(ends[e].qp);
    }
}

/* Allocates and frees pool memory. With checks on, each free searches the posted requests for the freed memory. */
static void driver_use_pool(struct driver *d, int n)
{
    (void)d;
    for (int i = 0; i < n; i++)
        ExFreePoolWithTag(ExAllocatePoolWithTag(NonPagedPoolNx, MESSAGE, TAG), TAG);
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

static const struct bench {
    const char *name;
    void (*run)(struct driver *d, int n);
    void (*before)(struct driver *d), (*after)(struct driver *d); /* not measured; may be NULL */
    int n;
    clockid_t clock;
} benches[] = {
    { "NdkReceive, the call alone", driver_receive_idle, NULL, driver_flush_idle, DEPTH, CLOCK_THREAD_CPUTIME_ID },
    { "NdkGetCqResults, empty queue", driver_poll_empty, NULL, NULL, 2000, CLOCK_PROCESS_CPUTIME_ID },
    { "send of 64 bytes, one at a time", driver_send_single, NULL, NULL, 500, CLOCK_PROCESS_CPUTIME_ID },
    { "send of 64 bytes, 64 at a time", driver_send_bursts, NULL, NULL, 3200, CLOCK_PROCESS_CPUTIME_ID },
    { "write of 64 bytes, 64 at a time", driver_write_bursts, NULL, NULL, 6400, CLOCK_PROCESS_CPUTIME_ID },
    { "two queue pairs, connect, disconnect, close", driver_establish, NULL, NULL, 20, CLOCK_PROCESS_CPUTIME_ID },
    { "pool, allocate and free", driver_use_pool, NULL, NULL, 200, CLOCK_THREAD_CPUTIME_ID },
    { "the same while 1024 requests are posted", driver_use_pool, driver_post_idle, driver_flush_idle, 200,
      CLOCK_THREAD_CPUTIME_ID },
};

static double checks_run_once(const struct bench *b, struct driver *d)
{
    double start, took;

    if (b->before)
        b->before(d);
    start = bench_clock_ns(b->clock);
    b->run(d, b->n);
    took = bench_clock_ns(b->clock) - start;
    if (b->after)
        b->after(d);
    return took / b->n;
}

static void checks_measure(const struct bench *b, struct driver *off, struct driver *on)
{
    struct samples of_off, of_on;
    double without, with;

    samples_init(&of_off, ROUNDS);
    samples_init(&of_on, ROUNDS);
    for (int i = -1; i < ROUNDS; i++) {
        ondk_verify_set_mode(ONDK_VERIFY_OFF);
        without = checks_run_once(b, off);
        ondk_verify_set_mode(ONDK_VERIFY_STOP);
        with = checks_run_once(b, on);
        if (i < 0)
            continue; /* the first round warms up */
        samples_add(&of_off, without);
        samples_add(&of_on, with);
    }
    without = samples_median(&of_off);
    with = samples_median(&of_on);
    printf("| %s | %.0f | %.0f | %.2f |\n", b->name, without, with, with / without);
    fflush(stdout);
}

int main(void)
{
    static struct driver off, on;

    ondk_verify_set_mode(ONDK_VERIFY_OFF);
    driver_open(&off);
    ondk_verify_set_mode(ONDK_VERIFY_STOP);
    driver_open(&on);
    printf("| call | checks off ns | checks on ns | ratio |\n|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof benches / sizeof benches[0]; i++)
        checks_measure(&benches[i], &off, &on);
    driver_close(&on);
    ondk_verify_set_mode(ONDK_VERIFY_OFF);
    driver_close(&off);
    return 0;
}
