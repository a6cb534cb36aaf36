/* SPDX-License-Identifier: MIT */
/*
 * What the checks cost on NDK calls: the same calls of a driver's, both ends in one process over the loopback, with the
 * provider's own objects (checks off) and with the filter's in front of them (checks on). Both are measured by turns, so
 * that what else the machine does meets both alike; medians of processor time, the calling thread's where a call ends in
 * it, the process' where the provider's threads have part in it.
 */
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "wsk.h"
#include "wskndk.h"

#include "common.h"
#include "openndk/wdk.h"

enum { LOOPBACK = 1, DEPTH = 1024, BURST = 64, OCTETS = 64, ROUNDS = 101, TAG = 0x68636542 };
enum { SENDER, RECEIVER, ENDS };

/* ---- Calls that wait --------------------------------------------------------------------------------------------- */

struct call {
    KEVENT event;
    NTSTATUS status;
    void *object;
};

static void must(bool fine, const char *what)
{
    if (!fine)
        bench_die("wdk_ndk_bench: %s failed", what);
}

static VOID request_done(PVOID context, NTSTATUS status)
{
    struct call *c = context;

    c->status = status;
    KeSetEvent(&c->event, IO_NO_INCREMENT, FALSE);
}

static VOID create_done(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    ((struct call *)context)->object = object;
    request_done(context, status);
}

static VOID close_done(PVOID context)
{
    request_done(context, STATUS_SUCCESS);
}

static struct call *begin(struct call *c)
{
    memset(c, 0, sizeof *c);
    KeInitializeEvent(&c->event, NotificationEvent, FALSE);
    return c;
}

static void end(struct call *c, NTSTATUS status, const char *what)
{
    if (status == STATUS_PENDING) {
        (void)KeWaitForSingleObject(&c->event, Executive, KernelMode, FALSE, NULL);
        status = c->status;
    }
    must(NT_SUCCESS(status), what);
}

static void close_object(void *object)
{
    NDK_PD *any = object; /* every table begins with the close */
    struct call c;

    end(&c, any->Dispatch->NdkClosePd(&any->Header, close_done, begin(&c)), "a close");
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
    struct end ends[ENDS];     /* connected */
    NDK_QP *idle;              /* never connected */
    UCHAR *memory;
    PMDL mdl;
    NDK_MR *mr;
    NDK_SGE sge;
    UINT32 remote;
    KEVENT asked;
    NDK_CONNECTOR *asking;
};

static VOID notified(PVOID context, NTSTATUS status)
{
    (void)context, (void)status;
}

static VOID asked(PVOID context, NDK_CONNECTOR *connector)
{
    struct driver *d = context;

    d->asking = connector;
    KeSetEvent(&d->asked, IO_NO_INCREMENT, FALSE);
}

static void open_queues(struct driver *d, struct end *e)
{
    struct call c;

    end(&c, d->adapter->Dispatch->NdkCreateCq(d->adapter, 2 * DEPTH, notified, NULL, NULL, create_done, begin(&c), &e->cq),
        "NdkCreateCq");
    end(&c, d->pd->Dispatch->NdkCreateQp(d->pd, e->cq, e->cq, e, DEPTH, DEPTH, 1, 1, 0, create_done, begin(&c), &e->qp),
        "NdkCreateQp");
}

static void open_region(struct driver *d)
{
    ULONG flags = NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_WRITE;
    struct call c;

    d->memory = ExAllocatePoolWithTag(NonPagedPoolNx, 2 * OCTETS, TAG);
    d->mdl = IoAllocateMdl(d->memory, 2 * OCTETS, FALSE, FALSE, NULL);
    must(d->memory && d->mdl, "the region's memory");
    MmBuildMdlForNonPagedPool(d->mdl);
    end(&c, d->pd->Dispatch->NdkCreateMr(d->pd, FALSE, create_done, begin(&c), &d->mr), "NdkCreateMr");
    end(&c, d->mr->Dispatch->NdkRegisterMr(d->mr, d->mdl, 2 * OCTETS, flags, request_done, begin(&c)), "NdkRegisterMr");
    d->sge = (NDK_SGE){ .VirtualAddress = d->memory, .Length = OCTETS };
    d->sge.MemoryRegionToken = d->mr->Dispatch->NdkGetLocalTokenFromMr(d->mr);
    d->remote = d->mr->Dispatch->NdkGetRemoteTokenFromMr(d->mr);
}

static void listen_at(struct driver *d)
{
    ULONG size = sizeof d->at;
    struct call c;

    KeInitializeEvent(&d->asked, SynchronizationEvent, FALSE);
    d->at.sin_family = AF_INET;
    d->at.sin_addr.S_un.S_addr = 0x0100007f;
    end(&c, d->adapter->Dispatch->NdkCreateListener(d->adapter, asked, d, create_done, begin(&c), &d->listener),
        "NdkCreateListener");
    end(&c, d->listener->Dispatch->NdkListen(d->listener, (PSOCKADDR)&d->at, sizeof d->at, request_done, begin(&c)),
        "NdkListen");
    must(NT_SUCCESS(d->listener->Dispatch->NdkGetLocalAddress(d->listener, (PSOCKADDR)&d->at, &size)), "NdkGetLocalAddress");
}

static void establish(struct driver *d, struct end *ends)
{
    SOCKADDR_IN from = { .sin_family = AF_INET, .sin_addr = d->at.sin_addr };
    NDK_CONNECTOR *ours, *theirs;
    struct call c, connecting, accepting;
    NTSTATUS connect_status, accept_status;

    end(&c, d->adapter->Dispatch->NdkCreateConnector(d->adapter, create_done, begin(&c), &ours), "NdkCreateConnector");
    connect_status = ours->Dispatch->NdkConnect(ours, ends[SENDER].qp, (PSOCKADDR)&from, sizeof from, (PSOCKADDR)&d->at,
                                                sizeof d->at, 1, 1, NULL, 0, request_done, begin(&connecting));
    (void)KeWaitForSingleObject(&d->asked, Executive, KernelMode, FALSE, NULL);
    theirs = d->asking;
    accept_status = theirs->Dispatch->NdkAccept(theirs, ends[RECEIVER].qp, 1, 1, NULL, 0, NULL, NULL, request_done,
                                                begin(&accepting));
    end(&connecting, connect_status, "NdkConnect");
    end(&c, ours->Dispatch->NdkCompleteConnect(ours, NULL, NULL, request_done, begin(&c)), "NdkCompleteConnect");
    end(&accepting, accept_status, "NdkAccept");
    ends[SENDER].connector = ours;
    ends[RECEIVER].connector = theirs;
}

static void part(struct end *ends)
{
    struct call one, other;
    NTSTATUS status;

    status = ends[SENDER].connector->Dispatch->NdkDisconnect(ends[SENDER].connector, request_done, begin(&one));
    end(&other, ends[RECEIVER].connector->Dispatch->NdkDisconnect(ends[RECEIVER].connector, request_done, begin(&other)),
        "NdkDisconnect");
    end(&one, status, "NdkDisconnect");
    close_object(ends[SENDER].connector);
    close_object(ends[RECEIVER].connector);
}

static void open_driver(struct driver *d)
{
    static const WSK_CLIENT_DISPATCH dispatch = { .Version = MAKE_WSK_VERSION(1, 0) };
    WSK_CLIENT_NPI client = { NULL, &dispatch };
    struct call c;

    must(NT_SUCCESS(WskRegister(&client, &d->registration)), "WskRegister");
    must(NT_SUCCESS(WskCaptureProviderNPI(&d->registration, WSK_INFINITE_WAIT, &d->npi)), "WskCaptureProviderNPI");
    must(NT_SUCCESS(d->npi.Dispatch->WskControlClient(d->npi.Client, WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH, 0, NULL,
                                                      sizeof d->ndk, &d->ndk, NULL, NULL)), "WskControlClient");
    must(NT_SUCCESS(d->ndk.WskOpenNdkAdapter(d->npi.Client, (NDK_VERSION){ 2, 1 }, LOOPBACK, &d->adapter)),
         "WskOpenNdkAdapter");
    end(&c, d->adapter->Dispatch->NdkCreatePd(d->adapter, create_done, begin(&c), &d->pd), "NdkCreatePd");
    for (int i = 0; i < ENDS; i++)
        open_queues(d, &d->ends[i]);
    end(&c, d->pd->Dispatch->NdkCreateQp(d->pd, d->ends[SENDER].cq, d->ends[SENDER].cq, NULL, DEPTH, 1, 1, 1, 0, create_done,
                                         begin(&c), &d->idle), "NdkCreateQp");
    open_region(d);
    listen_at(d);
    establish(d, d->ends);
}

static void close_driver(struct driver *d)
{
    part(d->ends);
    close_object(d->mr);
    IoFreeMdl(d->mdl);
    ExFreePoolWithTag(d->memory, TAG);
    close_object(d->idle);
    for (int i = 0; i < ENDS; i++) {
        close_object(d->ends[i].qp);
        close_object(d->ends[i].cq);
    }
    close_object(d->listener);
    close_object(d->pd);
    d->ndk.WskCloseNdkAdapter(d->npi.Client, d->adapter);
    WskReleaseProviderNPI(&d->registration);
    WskDeregister(&d->registration);
}

/* ---- What is measured: n of each --------------------------------------------------------------------------------- */

static void collect(struct end *e, int wanted, NTSTATUS status)
{
    NDK_RESULT results[BURST];

    while (wanted > 0) {
        ULONG got = e->cq->Dispatch->NdkGetCqResults(e->cq, results, BURST);

        for (ULONG i = 0; i < got; i++)
            must(results[i].Status == status, "a request");
        wanted -= (int)got;
        if (got == 0)
            sched_yield();
    }
}

static void post_receives(struct driver *d, int n)
{
    NDK_QP *qp = d->ends[RECEIVER].qp;

    for (int i = 0; i < n; i++)
        must(NT_SUCCESS(qp->Dispatch->NdkReceive(qp, d, &d->sge, 1)), "NdkReceive");
}

/* To a queue pair that is not connected, so that only the call is counted; DEPTH of them, which flush_idle takes back. */
static void idle_receives(struct driver *d, int n)
{
    for (int i = 0; i < n; i++)
        must(NT_SUCCESS(d->idle->Dispatch->NdkReceive(d->idle, d, &d->sge, 1)), "NdkReceive");
}

static void post_idle(struct driver *d)
{
    idle_receives(d, DEPTH);
}

static void flush_idle(struct driver *d)
{
    d->idle->Dispatch->NdkFlush(d->idle);
    collect(&d->ends[SENDER], DEPTH, STATUS_CANCELLED);
}

static void empty_polls(struct driver *d, int n)
{
    NDK_CQ *cq = d->ends[SENDER].cq;
    NDK_RESULT result;

    for (int i = 0; i < n; i++)
        must(cq->Dispatch->NdkGetCqResults(cq, &result, 1) == 0, "an empty queue");
}

static void sends(struct driver *d, int n, int burst)
{
    NDK_QP *qp = d->ends[SENDER].qp;

    for (int done = 0; done < n; done += burst) {
        post_receives(d, burst);
        for (int i = 0; i < burst; i++)
            must(NT_SUCCESS(qp->Dispatch->NdkSend(qp, d, &d->sge, 1, i < burst - 1 ? NDK_OP_FLAG_DEFER : 0)), "NdkSend");
        collect(&d->ends[SENDER], burst, STATUS_SUCCESS);
        collect(&d->ends[RECEIVER], burst, STATUS_SUCCESS);
    }
}

static void single_sends(struct driver *d, int n)
{
    sends(d, n, 1);
}

static void burst_sends(struct driver *d, int n)
{
    sends(d, n, BURST);
}

static void burst_writes(struct driver *d, int n)
{
    NDK_QP *qp = d->ends[SENDER].qp;

    for (int done = 0; done < n; done += BURST) {
        for (int i = 0; i < BURST; i++)
            must(NT_SUCCESS(qp->Dispatch->NdkWrite(qp, d, &d->sge, 1, (UINT64)(ULONG_PTR)(d->memory + OCTETS), d->remote,
                                                   i < BURST - 1 ? NDK_OP_FLAG_DEFER : 0)), "NdkWrite");
        collect(&d->ends[SENDER], BURST, STATUS_SUCCESS);
    }
}

static void connects(struct driver *d, int n)
{
    struct end ends[ENDS];
    struct call c;

    for (int i = 0; i < n; i++) {
        for (int e = 0; e < ENDS; e++)
            end(&c, d->pd->Dispatch->NdkCreateQp(d->pd, d->ends[e].cq, d->ends[e].cq, NULL, 4, 4, 1, 1, 0, create_done,
                                                 begin(&c), &ends[e].qp), "NdkCreateQp");
        establish(d, ends);
        part(ends);
        for (int e = 0; e < ENDS; e++)
            close_object(ends[e].qp);
    }
}

/* Each free looks whether a posted request has the memory. */
static void pool(struct driver *d, int n)
{
    (void)d;
    for (int i = 0; i < n; i++)
        ExFreePoolWithTag(ExAllocatePoolWithTag(NonPagedPoolNx, OCTETS, TAG), TAG);
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

static const struct bench {
    const char *name;
    void (*run)(struct driver *d, int n);
    void (*before)(struct driver *d), (*after)(struct driver *d); /* not counted; or NULL */
    int n;
    clockid_t clock;
} benches[] = {
    { "NdkReceive, the call alone", idle_receives, NULL, flush_idle, DEPTH, CLOCK_THREAD_CPUTIME_ID },
    { "NdkGetCqResults, nothing there", empty_polls, NULL, NULL, 2000, CLOCK_PROCESS_CPUTIME_ID },
    { "send of 64 octets, one at a time", single_sends, NULL, NULL, 500, CLOCK_PROCESS_CPUTIME_ID },
    { "send of 64 octets, 64 at a time", burst_sends, NULL, NULL, 3200, CLOCK_PROCESS_CPUTIME_ID },
    { "write of 64 octets, 64 at a time", burst_writes, NULL, NULL, 6400, CLOCK_PROCESS_CPUTIME_ID },
    { "two queue pairs, connect, disconnect, close", connects, NULL, NULL, 20, CLOCK_PROCESS_CPUTIME_ID },
    { "pool, allocate and free", pool, NULL, NULL, 200, CLOCK_THREAD_CPUTIME_ID },
    { "the same while 1024 requests are posted", pool, post_idle, flush_idle, 200, CLOCK_THREAD_CPUTIME_ID },
};

static double now(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec * NS_PER_S + (double)t.tv_nsec;
}

static double once(const struct bench *b, struct driver *d)
{
    double start, took;

    if (b->before)
        b->before(d);
    start = now(b->clock);
    b->run(d, b->n);
    took = now(b->clock) - start;
    if (b->after)
        b->after(d);
    return took / b->n;
}

static void measure(const struct bench *b, struct driver *off, struct driver *on)
{
    struct samples of_off, of_on;
    double without, with;

    samples_init(&of_off, ROUNDS);
    samples_init(&of_on, ROUNDS);
    for (int i = -1; i < ROUNDS; i++) {
        ondk_wdk_set_checks(ONDK_WDK_CHECKS_OFF);
        without = once(b, off);
        ondk_wdk_set_checks(ONDK_WDK_CHECKS_STOP);
        with = once(b, on);
        if (i < 0)
            continue; /* the first of each warms up */
        samples_add(&of_off, without);
        samples_add(&of_on, with);
    }
    without = samples_quantile(&of_off, 0.5);
    with = samples_quantile(&of_on, 0.5);
    printf("| %s | %.0f | %.0f | %.2f |\n", b->name, without, with, with / without);
    fflush(stdout);
}

int main(void)
{
    static struct driver off, on;

    ondk_wdk_set_checks(ONDK_WDK_CHECKS_OFF);
    open_driver(&off);
    ondk_wdk_set_checks(ONDK_WDK_CHECKS_STOP);
    open_driver(&on);
    printf("| call | checks off ns | checks on ns | ratio |\n|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof benches / sizeof benches[0]; i++)
        measure(&benches[i], &off, &on);
    close_driver(&on);
    ondk_wdk_set_checks(ONDK_WDK_CHECKS_OFF);
    close_driver(&off);
    return 0;
}
