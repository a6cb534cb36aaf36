/* SPDX-License-Identifier: MIT */
/*
 * call_foreign CASE calls a provider that is not OpenNDK, and prints the events that a trace of it must have
 * (call_printer.h). It also checks what the provider and the consumer receive. calls_test.py runs all cases.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "openndk/trace.h"
#include "trace/call_printer.h"
#include "verify/fake_provider.h"

enum { TABLES = 20, TABLES_TRACED = 16, LIMITS_TRACED = 8, ROUNDS = 3000, PAGE = 4096 };

static struct fake_provider *fake;

static void check(bool is_good, const char *what)
{
    if (is_good)
        return;
    fprintf(stderr, "call_foreign: wrong: %s\n", what);
    _Exit(1);
}

static void begin(void)
{
    fake = fake_provider_init();
    check(ondk_trace_begin(&fake->adapter, 0) == 1, "ondk_trace_begin");
}

static NDK_CQ *create_cq(void)
{
    NDK_CQ *cq = NULL;

    print_event("NdkCreateCq object=%p depth=8", (void *)&fake->adapter);
    check(!CREATE(&fake->adapter, NdkCreateCq, &cq, 8, NULL, NULL, NULL), "NdkCreateCq");
    check(cq == &fake->cq, "the consumer has the provider's object");
    return cq;
}

static void arm_cq(NDK_CQ *cq, const NDK_CQ_DISPATCH *table)
{
    fake->called = NULL;
    table->NdkArmCq(cq, NDK_CQ_NOTIFY_ERRORS);
    print_event("NdkArmCq object=%p type=ERRORS status=STATUS_SUCCESS", (void *)cq);
    check(fake->called == cq, "the provider gets its own object");
}

/* ---- tables ---- */

/* Returns a copy of a table that ends where a page without access begins. */
static const void *copy_to_page_end(const void *table, size_t entries)
{
    size_t size = entries * sizeof(void (*)(void));
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    check(pages != MAP_FAILED && !mprotect(pages + PAGE, PAGE, PROT_NONE), "mmap");
    memcpy(pages + PAGE - size, table, size);
    return pages + PAGE - size;
}

/* Objects whose tables have exactly the entries of their version. */
static void run_short_tables(USHORT major, USHORT minor)
{
    bool has_ex = major == 2 && minor == 1, is_1_1 = major == 1 && minor == 1;
    NDK_CONNECTOR *connector = NULL;
    NDK_QP *qp = NULL;
    NDK_PD *pd = NULL;
    NDK_RESULT r;

    fake_setting.version = (NDK_VERSION){ major, minor };
    begin();
    fake->cq.Dispatch = copy_to_page_end(fake->cq.Dispatch, is_1_1 ? 6 : 7);
    fake->qp.Dispatch = copy_to_page_end(fake->qp.Dispatch, is_1_1 ? 10 : 11);
    fake->connector.Dispatch = copy_to_page_end(fake->connector.Dispatch, has_ex ? 13 : 11);
    NDK_CQ *cq = create_cq();
    check(cq->Dispatch->NdkGetCqResults(cq, &r, 1) == 0, "NdkGetCqResults");
    check(!cq->Dispatch->NdkQueryExtension, "an entry that the provider lacks");
    print_event("NdkCreatePd object=%p", (void *)&fake->adapter);
    check(!CREATE(&fake->adapter, NdkCreatePd, &pd), "NdkCreatePd");
    print_event("NdkCreateQp object=%p receive_cq=%p initiator_cq=%p", (void *)pd, (void *)cq, (void *)cq);
    check(!CREATE(pd, NdkCreateQp, &qp, cq, cq, NULL, 1, 1, 1, 1, 0), "NdkCreateQp");
    print_event("NdkCreateConnector object=%p", (void *)&fake->adapter);
    check(!CREATE(&fake->adapter, NdkCreateConnector, &connector), "NdkCreateConnector");
    check(cq->Dispatch->NdkGetCqResultsEx && connector->Dispatch->NdkAcceptEx, "entries of later versions");
    if (!is_1_1) {
        NDK_RESULT_EX ex;

        check(cq->Dispatch->NdkGetCqResultsEx(cq, &ex, 1) == 0, "NdkGetCqResultsEx");
        check(!qp->Dispatch->NdkSendAndInvalidate(qp, NULL, NULL, 0, 0, 7), "NdkSendAndInvalidate");
        print_event("NdkSendAndInvalidate object=%p sges=0 bytes=0 token=7 status=STATUS_SUCCESS", (void *)qp);
    }
    if (has_ex) {
        print_event("NdkAcceptEx object=%p qp=%p", (void *)connector, (void *)qp);
        check(!REQUEST(connector, NdkAcceptEx, qp, 0, 0, NULL, 0, NULL, NULL), "NdkAcceptEx");
    }
    print_event("NdkAccept object=%p qp=%p", (void *)connector, (void *)qp);
    check(!REQUEST(connector, NdkAccept, qp, 0, 0, NULL, 0, NULL, NULL), "NdkAccept");
    check(!CLOSE(connector, NdkCloseConnector), "NdkCloseConnector");
    check(!CLOSE(qp, NdkCloseQp), "NdkCloseQp");
    check(!CLOSE(cq, NdkCloseCq), "NdkCloseCq");
    check(!CLOSE(pd, NdkClosePd), "NdkClosePd");
    ondk_trace_end(&fake->adapter);
}

/* A provider that makes a table for each object. */
static void run_many_tables(void)
{
    NDK_CQ_DISPATCH tables[TABLES];
    const NDK_CQ_DISPATCH *own;

    begin();
    own = fake->cq.Dispatch;
    for (unsigned i = 0; i < TABLES; i++) {
        NDK_CQ *cq = NULL;

        tables[i] = *own;
        fake->cq.Dispatch = &tables[i];
        print_event("NdkCreateCq object=%p depth=8", (void *)&fake->adapter);
        struct op *op = op_begin("NdkCreateCq", &fake->adapter);
        NTSTATUS status = fake->adapter.Dispatch->NdkCreateCq(&fake->adapter, 8, NULL, NULL, NULL, on_created, op, &cq);
        if (i >= TABLES_TRACED)
            print_event("untraced object=%p type=NDK_CQ", (void *)cq);
        check(!op_end(op, status, &cq), "NdkCreateCq");
        check((cq->Dispatch == &tables[i]) == (i >= TABLES_TRACED), "tables are replaced up to the limit");
        if (i < TABLES_TRACED)
            check(!CLOSE(cq, NdkCloseCq), "NdkCloseCq");
        else
            check(!cq->Dispatch->NdkCloseCq(&cq->Header, on_closed, NULL), "NdkCloseCq");
    }
    ondk_trace_end(&fake->adapter);
}

/* A table whose memory is used again, for a table with other entries. */
static void run_changed_table(void)
{
    static NDK_CQ_DISPATCH table;
    NDK_CQ *cq;

    begin();
    table = *fake->cq.Dispatch;
    fake->cq.Dispatch = &table;
    cq = create_cq();
    check(!CLOSE(cq, NdkCloseCq), "NdkCloseCq");
    table.NdkResizeCq = NULL;
    fake->cq.Dispatch = &table;
    cq = create_cq();
    check(!cq->Dispatch->NdkResizeCq && cq->Dispatch->NdkArmCq, "a missing entry is missing");
    arm_cq(cq, cq->Dispatch);
    check(!CLOSE(cq, NdkCloseCq), "NdkCloseCq");
    ondk_trace_end(&fake->adapter);
}

static const void *armed_by_second;

static VOID second_arm(NDK_CQ *cq, ULONG type)
{
    (void)type;
    armed_by_second = cq;
}

/* A consumer that replaces an object's Dispatch, and calls through the pointer that it has copied before. */
static void run_replaced_dispatch(void)
{
    NDK_CQ_DISPATCH second;
    const NDK_CQ_DISPATCH *saved;
    NDK_CQ *cq;

    begin();
    cq = create_cq();
    saved = cq->Dispatch;
    cq->Dispatch = NULL;
    arm_cq(cq, saved);
    print_event("NdkCloseCq object=%p", (void *)cq);
    struct op *op = op_begin("NdkCloseCq", cq);
    check(!op_end(op, saved->NdkCloseCq(&cq->Header, on_closed, op), NULL), "NdkCloseCq");
    fake = fake_provider_init(); /* another adapter, which has another table for CQs */
    check(ondk_trace_begin(&fake->adapter, 0), "ondk_trace_begin");
    second = *fake->cq.Dispatch;
    second.NdkArmCq = second_arm;
    fake->cq.Dispatch = &second;
    cq = create_cq();
    saved = cq->Dispatch;
    cq->Dispatch = NULL;
    saved->NdkArmCq(cq, NDK_CQ_NOTIFY_ERRORS);
    print_event("NdkArmCq object=%p type=ERRORS status=STATUS_SUCCESS", (void *)cq);
    check(armed_by_second == cq, "the table of this object is used");
    ondk_trace_end(&fake->adapter);
}

/* ---- lists of SGEs ---- */

static void post_list(NDK_QP *qp, const NDK_SGE *list, ULONG sges, unsigned bytes)
{
    check(!qp->Dispatch->NdkSend(qp, NULL, list, sges, 0), "NdkSend");
    print_event("NdkSend object=%p sges=%u bytes=%u", (void *)qp, (unsigned)sges, bytes);
    check(!qp->Dispatch->NdkReceive(qp, NULL, list, sges), "NdkReceive");
    print_event("NdkReceive object=%p sges=%u bytes=%u", (void *)qp, (unsigned)sges, bytes);
}

/* Inline data may have more SGEs than the queue pair allows, so its whole list is read. */
static void post_inline(NDK_QP *qp, ULONG limit)
{
    NDK_SGE list[TABLES + 2] = { 0 };

    for (ULONG i = 0; i < limit + 2; i++)
        list[i].Length = i + 1;
    check(!qp->Dispatch->NdkSend(qp, NULL, list, limit + 2, NDK_OP_FLAG_INLINE), "NdkSend");
    print_event("NdkSend object=%p sges=%u bytes=%u", (void *)qp, (unsigned)limit + 2,
                (unsigned)((limit + 2) * (limit + 3) / 2));
}

/* A list is not read if it has more SGEs than the queue pair allows. It may end before the count that is passed. */
static void run_lists(void)
{
    const NDK_SGE sge = { .Length = 7 };
    const NDK_SGE *list = copy_to_page_end(&sge, sizeof sge / sizeof(void (*)(void)));
    NDK_PD *pd = NULL;

    begin();
    print_event("NdkCreatePd object=%p", (void *)&fake->adapter);
    check(!CREATE(&fake->adapter, NdkCreatePd, &pd), "NdkCreatePd");
    for (ULONG limit = 1; limit <= TABLES; limit++) {
        NDK_QP *qp = NULL;

        print_event("NdkCreateQp object=%p receive_sges=%u initiator_sges=%u", (void *)pd, (unsigned)limit,
                    (unsigned)limit);
        check(!CREATE(pd, NdkCreateQp, &qp, &fake->cq, &fake->cq, NULL, 1, 1, limit, limit, 0), "NdkCreateQp");
        post_list(qp, list, limit + 1, 0);
        post_list(qp, list, 1, limit <= LIMITS_TRACED ? 7 : 0);
        post_inline(qp, limit);
        check(!CLOSE(qp, NdkCloseQp), "NdkCloseQp");
    }
    ondk_trace_end(&fake->adapter);
}

static const NDK_ADAPTER_DISPATCH *inner;

static NTSTATUS outer_create_pd(NDK_ADAPTER *adapter, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_PD **out)
{
    return inner->NdkCreatePd(adapter, done, context, out);
}

/* A provider that opens another one's adapter, and gives it a table of its own. */
static void run_wrapped_adapter(void)
{
    NDK_ADAPTER_DISPATCH outer;
    NDK_PD *pd = NULL;

    begin();
    inner = fake->adapter.Dispatch;
    outer = *inner;
    outer.NdkCreatePd = outer_create_pd;
    fake->adapter.Dispatch = &outer;
    check(ondk_trace_begin(&fake->adapter, 0) == 1, "ondk_trace_begin");
    check(fake->adapter.Dispatch == &outer, "the table of the second provider");
    NDK_CQ *cq = create_cq();
    print_event("NdkCreatePd object=%p", (void *)&fake->adapter);
    check(!CREATE(&fake->adapter, NdkCreatePd, &pd), "NdkCreatePd");
    check(!CLOSE(pd, NdkClosePd), "NdkClosePd");
    check(!CLOSE(cq, NdkCloseCq), "NdkCloseCq");
    ondk_trace_end(&fake->adapter);
    ondk_trace_end(&fake->adapter);
}

/* ---- completions ---- */

static void complete_now(void)
{
    fake_provider_complete(fake, STATUS_IO_TIMEOUT);
}

static void succeed_now(void)
{
    fake_provider_complete(fake, STATUS_SUCCESS);
}

/* Completion routines that are called before the call has returned. */
static void run_inline(void)
{
    begin();
    fake->pend = true;
    fake->inside = succeed_now;
    NDK_CQ *cq = create_cq();
    fake->inside = complete_now;
    print_event("NdkResizeCq object=%p depth=9", (void *)cq);
    check(REQUEST(cq, NdkResizeCq, 9) == STATUS_IO_TIMEOUT, "NdkResizeCq");
    fake->inside = NULL;
    print_event("NdkResizeCq object=%p depth=10", (void *)cq);
    struct op *op = op_begin("NdkResizeCq", cq);
    NTSTATUS status = cq->Dispatch->NdkResizeCq(cq, 10, on_request, op);
    print_event("returned object=%p routine=NdkResizeCq status=STATUS_PENDING created=0 context=%p", (void *)cq,
                (void *)op);
    check(status == STATUS_PENDING, "NdkResizeCq");
    fake_provider_complete(fake, STATUS_CANCELLED);
    check(op->status == STATUS_CANCELLED, "the completion of NdkResizeCq");
    free(op);
    fake->pend = false;
    check(!CLOSE(cq, NdkCloseCq), "NdkCloseCq");
    ondk_trace_end(&fake->adapter);
}

/* Calls without completion routines: the provider receives none, and the consumer's context. */
static void run_without_routines(void)
{
    char mark;
    NDK_CQ *cq = NULL;

    begin();
    fake->pend = true;
    print_event("NdkCreateCq object=%p depth=1", (void *)&fake->adapter);
    check(fake->adapter.Dispatch->NdkCreateCq(&fake->adapter, 1, NULL, &mark, NULL, NULL, &mark, &cq) == STATUS_PENDING,
          "NdkCreateCq");
    print_event("returned object=%p routine=NdkCreateCq status=STATUS_PENDING context=%p", (void *)&fake->adapter,
                &mark);
    check(!fake->created && !fake->notify && fake->completion_context == &mark && fake->notify_context == &mark,
          "NdkCreateCq without routines");
    fake->pend = false;
    cq = create_cq();
    fake->pend = true;
    print_event("NdkResizeCq object=%p depth=2", (void *)cq);
    check(cq->Dispatch->NdkResizeCq(cq, 2, NULL, &mark) == STATUS_PENDING, "NdkResizeCq");
    print_event("returned object=%p routine=NdkResizeCq status=STATUS_PENDING context=%p", (void *)cq, &mark);
    check(!fake->requested && fake->completion_context == &mark, "NdkResizeCq without a routine");
    print_event("NdkCloseCq object=%p", (void *)cq);
    check(cq->Dispatch->NdkCloseCq(&cq->Header, NULL, &mark) == STATUS_PENDING, "NdkCloseCq");
    print_event("returned object=%p routine=NdkCloseCq status=STATUS_PENDING context=%p", (void *)cq, &mark);
    check(!fake->closed && fake->completion_context == &mark, "NdkCloseCq without a routine");
    ondk_trace_end(&fake->adapter);
}

static void on_notification(void *context, NTSTATUS status)
{
    check(context == &fake->cq && status == STATUS_SUCCESS, "the notification's arguments");
    print_event("cq_notification object=%p status=STATUS_SUCCESS", (void *)&fake->cq);
    /* The close inside the callback frees what the layer has stored for the CQ. */
    check(!CLOSE(&fake->cq, NdkCloseCq), "NdkCloseCq");
    print_event("callback_returned object=%p", (void *)&fake->cq);
}

static void run_close_inside(void)
{
    NDK_CQ *cq = NULL;

    begin();
    print_event("NdkCreateCq object=%p depth=8", (void *)&fake->adapter);
    check(!CREATE(&fake->adapter, NdkCreateCq, &cq, 8, on_notification, &fake->cq, NULL), "NdkCreateCq");
    fake->notify(fake->notify_context, STATUS_SUCCESS);
    ondk_trace_end(&fake->adapter);
}

/* ---- lifetime ---- */

static void count_request(void *context, NTSTATUS status)
{
    (void)status;
    (*(unsigned *)context)++;
}

static void count_created(void *context, NTSTATUS status, NDK_OBJECT_HEADER *created)
{
    (void)created;
    count_request(context, status);
}

static void count_closed(void *context)
{
    count_request(context, STATUS_SUCCESS);
}

/* Creates, uses and closes objects, pending and not. Nothing is printed. */
static void run_round(unsigned *completed)
{
    NDK_CONNECTOR *c = &fake->connector;
    NDK_ADAPTER *adapter = &fake->adapter;

    fake->pend = !fake->pend;
    NTSTATUS status = adapter->Dispatch->NdkCreateConnector(adapter, count_created, completed, &c);
    if (status == STATUS_PENDING)
        fake_provider_complete(fake, STATUS_SUCCESS);
    status = c->Dispatch->NdkCompleteConnectEx(c, (NDK_FN_DISCONNECT_EVENT_CALLBACK_EX)(void *)abort, NULL,
                                               count_request, completed);
    if (status == STATUS_PENDING)
        fake_provider_complete(fake, STATUS_SUCCESS);
    status = c->Dispatch->NdkCloseConnector(&c->Header, count_closed, completed);
    if (status == STATUS_PENDING)
        fake_provider_complete(fake, STATUS_SUCCESS);
    fake->pend = !fake->pend;
    status = adapter->Dispatch->NdkCreateConnector(adapter, count_created, completed, &c);
    if (status == STATUS_PENDING)
        fake_provider_complete(fake, STATUS_INSUFFICIENT_RESOURCES); /* nothing is created */
    else
        check(!c->Dispatch->NdkCloseConnector(&c->Header, count_closed, completed), "NdkCloseConnector");
    fake->pend = !fake->pend;
}

/* The memory in use does not grow. Under AddressSanitizer, which finds leaks itself, mallinfo2 returns 0. */
static void run_leak(void)
{
    unsigned completed = 0;
    size_t before;

    begin();
    for (unsigned i = 0; i < 16; i++)
        run_round(&completed);
    before = mallinfo2().uordblks;
    completed = 0;
    for (unsigned i = 0; i < ROUNDS; i++)
        run_round(&completed);
    check(completed == 2 * ROUNDS, "the number of completions");
    check(mallinfo2().uordblks < before + (size_t)ROUNDS * 4, "the memory in use");
    ondk_trace_end(&fake->adapter);
}

/* The provider opens the adapter that is open already. */
static void run_two_opens(void)
{
    begin();
    check(ondk_trace_begin(&fake->adapter, 1) == 1, "ondk_trace_begin");
    ondk_trace_end(&fake->adapter);
    NDK_CQ *cq = create_cq();
    arm_cq(cq, cq->Dispatch);
    check(!CLOSE(cq, NdkCloseCq), "NdkCloseCq");
    ondk_trace_end(&fake->adapter);
    ondk_trace_end(&fake->adapter); /* has no effect */
    ondk_trace_end(NULL);
}

static void run_fork(void)
{
    int status = -1;
    pid_t child;

    begin();
    NDK_CQ *cq = create_cq();
    fflush(stdout);
    child = fork();
    if (child == 0) {
        fake->called = NULL;
        cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ANY); /* no trace has begun in this process */
        check(fake->called == cq, "an inherited object");
        begin();
        cq = create_cq();
        arm_cq(cq, cq->Dispatch);
        fflush(stdout);
        _exit(0);
    }
    check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child");
    arm_cq(cq, cq->Dispatch);
    check(!CLOSE(cq, NdkCloseCq), "NdkCloseCq");
    ondk_trace_end(&fake->adapter);
}

/* Without ONDK_TRACE. */
static void run_off(void)
{
    const NDK_ADAPTER_DISPATCH *own;

    fake = fake_provider_init();
    own = fake->adapter.Dispatch;
    check(ondk_trace_begin(&fake->adapter, 0) == 0 && ondk_trace_begin(NULL, 0) == 0, "ondk_trace_begin");
    check(fake->adapter.Dispatch == own, "the provider's own table");
    ondk_trace_end(&fake->adapter);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        { "many-tables", run_many_tables },
        { "changed-table", run_changed_table },
        { "replaced", run_replaced_dispatch },
        { "wrapped", run_wrapped_adapter },
        { "lists", run_lists },
        { "inline", run_inline },
        { "no-routines", run_without_routines },
        { "close-inside", run_close_inside },
        { "leak", run_leak },
        { "two-opens", run_two_opens },
        { "fork", run_fork },
        { "off", run_off },
    };
    unsigned major, minor;

    if (argc == 2 && sscanf(argv[1], "%u.%u", &major, &minor) == 2) {
        run_short_tables((USHORT)major, (USHORT)minor);
        return 0;
    }
    for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof cases[0]; i++) {
        if (strcmp(cases[i].name, argv[1]) == 0) {
            cases[i].run();
            return 0;
        }
    }
    return 2;
}
