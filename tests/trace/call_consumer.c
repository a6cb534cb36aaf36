/* SPDX-License-Identifier: MIT */
/*
 * call_consumer [MAJOR.MINOR] calls every routine of NDKPI at least once, on connections with itself over lo, and
 * prints the events that a trace of it must have (call_printer.h). calls_test.py compares them.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "openndk/adapter.h"
#include "openndk/mdl.h"
#include "trace/call_printer.h"

enum { REGION = 8192, RIGHTS = NDK_MR_FLAG_ALLOW_REMOTE_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ };

static NDK_ADAPTER *adapter;
static NDK_PD *pd;
static NDK_CQ *cq;
static NDK_MR *mr, *fast_mr;
static NDK_MW *mw;
static NDK_SRQ *srq;
static NDK_LISTENER *listener;
static MDL mdl;
static UINT32 token;
static union {
    NDK_LOGICAL_ADDRESS_MAPPING lam;
    char room[256];
} mapping;
static char memory[REGION] __attribute__((aligned(4096)));
static struct sockaddr_in address;
static bool has_ex, uses_ex;

/* One end of a connection. The connector of the accepting end comes from the connect event. */
struct end {
    NDK_QP *qp;
    NDK_CONNECTOR *connector;
    bool has_srq;
};

static struct end accepting;
static bool rejects;
static sem_t requested, accepted, disconnected, notified, srq_notified;
static NTSTATUS accept_status;

static void check(bool is_good, const char *what)
{
    if (is_good)
        return;
    fprintf(stderr, "call_consumer: %s failed\n", what);
    _Exit(1);
}

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore)) /* interrupted by a signal */
        ;
}

static const char *address_text(char text[INET_ADDRSTRLEN + 8])
{
    char host[INET_ADDRSTRLEN];

    (void)inet_ntop(AF_INET, &address.sin_addr, host, sizeof host);
    snprintf(text, INET_ADDRSTRLEN + 8, "%s:%u", host, ntohs(address.sin_port));
    return text;
}

/* ---- callbacks ---- */

static void on_cq_notification(void *context, NTSTATUS status)
{
    check(context == &notified, "the context of the CQ");
    print_event("cq_notification object=%p status=%s", (void *)cq, status_text(status));
    print_event("callback_returned object=%p", (void *)cq);
    sem_post(&notified);
}

static void on_srq_notification(void *context, NTSTATUS status)
{
    check(context == &srq_notified, "the context of the SRQ");
    print_event("srq_notification object=%p status=%s", (void *)srq, status_text(status));
    print_event("callback_returned object=%p", (void *)srq);
    sem_post(&srq_notified);
}

static void on_disconnect_ex(void *context, ULONG reason)
{
    struct end *end = context;

    print_event("disconnect_event object=%p reason=%u", (void *)end->connector, reason);
    print_event("callback_returned object=%p", (void *)end->connector);
    sem_post(&disconnected);
}

static void on_disconnect(void *context)
{
    on_disconnect_ex(context, 0);
}

static void on_accepted(void *context, NTSTATUS status)
{
    const char *routine = uses_ex ? "NdkAcceptEx" : "NdkAccept";

    check(context == &accepting, "the context of the accept");
    print_event("completed object=%p routine=%s status=%s created=0 context=%p", (void *)accepting.connector, routine,
                status_text(status), context);
    print_event("callback_returned object=%p", (void *)accepting.connector);
    accept_status = status;
    sem_post(&accepted);
}

/* Accepts or rejects inside the callback. */
static void on_connect_event(void *context, NDK_CONNECTOR *connector)
{
    NTSTATUS status;

    check(context == &requested, "the context of the listener");
    accepting.connector = connector;
    print_event("connect_event object=%p connector=%p", (void *)listener, (void *)connector);
    if (rejects) {
        print_event("NdkReject object=%p data_size=3", (void *)connector);
        status = connector->Dispatch->NdkReject(connector, memory, 3);
        RETURNED(connector, "NdkReject", status);
    } else {
        print_event("%s object=%p qp=%p inbound=3 outbound=4 data_size=5", uses_ex ? "NdkAcceptEx" : "NdkAccept",
                    (void *)connector, (void *)accepting.qp);
        status = uses_ex ? connector->Dispatch->NdkAcceptEx(connector, accepting.qp, 3, 4, memory, 5, on_disconnect_ex,
                                                            &accepting, on_accepted, &accepting)
                         : connector->Dispatch->NdkAccept(connector, accepting.qp, 3, 4, memory, 5, on_disconnect,
                                                          &accepting, on_accepted, &accepting);
        print_event("returned object=%p routine=%s status=%s created=0 context=%p", (void *)connector,
                    uses_ex ? "NdkAcceptEx" : "NdkAccept", status_text(status), (void *)&accepting);
        check(status == STATUS_PENDING, "NdkAccept");
    }
    print_event("callback_returned object=%p", (void *)listener);
    sem_post(&requested);
}

/* ---- objects ---- */

static void open_adapter(NDK_VERSION version)
{
    NDK_ADAPTER_INFO info;
    ULONG size = sizeof info;

    check(ondk_open_adapter(version, if_nametoindex("lo"), &adapter) == STATUS_SUCCESS, "ondk_open_adapter");
    print_event("NdkQueryAdapterInfo object=%p", (void *)adapter);
    NTSTATUS status = adapter->Dispatch->NdkQueryAdapterInfo(adapter, &info, &size);
    RETURNED(adapter, "NdkQueryAdapterInfo", status);
    size = 0;
    print_event("NdkQueryAdapterInfo object=%p", (void *)adapter);
    status = adapter->Dispatch->NdkQueryAdapterInfo(adapter, &info, &size);
    check(status == STATUS_BUFFER_TOO_SMALL, "a short buffer");
    RETURNED(adapter, "NdkQueryAdapterInfo", status);
}

static void create_objects(void)
{
    print_event("NdkCreatePd object=%p", (void *)adapter);
    check(!CREATE(adapter, NdkCreatePd, &pd), "NdkCreatePd");
    print_event("NdkCreateCq object=%p depth=64", (void *)adapter);
    check(!CREATE(adapter, NdkCreateCq, &cq, 64, on_cq_notification, &notified, NULL), "NdkCreateCq");
    print_event("NdkCreateMr object=%p fast_register=0", (void *)pd);
    check(!CREATE(pd, NdkCreateMr, &mr, FALSE), "NdkCreateMr");
    print_event("NdkCreateMr object=%p fast_register=1", (void *)pd);
    check(!CREATE(pd, NdkCreateMr, &fast_mr, TRUE), "NdkCreateMr");
    print_event("NdkCreateMw object=%p", (void *)pd);
    check(!CREATE(pd, NdkCreateMw, &mw), "NdkCreateMw");
    print_event("NdkCreateSrq object=%p depth=16 sges=2 threshold=0", (void *)pd);
    check(!CREATE(pd, NdkCreateSrq, &srq, 16, 2, 0, on_srq_notification, &srq_notified, NULL), "NdkCreateSrq");
    print_event("NdkCreateListener object=%p", (void *)adapter);
    check(!CREATE(adapter, NdkCreateListener, &listener, on_connect_event, &requested), "NdkCreateListener");
}

static void create_end(struct end *end, bool has_srq)
{
    *end = (struct end){ .has_srq = has_srq };
    if (has_srq) {
        print_event(
            "NdkCreateQpWithSrq object=%p receive_cq=%p initiator_cq=%p srq=%p qp_context=%p initiator_depth=16 "
            "initiator_sges=2 inline_size=0",
            (void *)pd, (void *)cq, (void *)cq, (void *)srq, (void *)end);
        check(!CREATE(pd, NdkCreateQpWithSrq, &end->qp, cq, cq, srq, end, 16, 2, 0), "NdkCreateQpWithSrq");
    } else {
        print_event(
            "NdkCreateQp object=%p receive_cq=%p initiator_cq=%p qp_context=%p receive_depth=8 initiator_depth=16 "
            "receive_sges=1 initiator_sges=2 inline_size=32",
            (void *)pd, (void *)cq, (void *)cq, (void *)end);
        check(!CREATE(pd, NdkCreateQp, &end->qp, cq, cq, end, 8, 16, 1, 2, 32), "NdkCreateQp");
    }
}

static void query_extension(NDK_OBJECT_HEADER *object, NDK_FN_QUERY_EXTENSION_INTERFACE query)
{
    GUID id = { 1, 2, 3, { 4 } };
    NDK_VERSION version = { 1, 0 };
    NDK_EXTENSION_INTERFACE out;

    print_event("NdkQueryExtension object=%p", (void *)object);
    NTSTATUS status = query(object, &id, version, &out);
    RETURNED(object, "NdkQueryExtension", status);
    check(status == STATUS_NOT_SUPPORTED, "NdkQueryExtension");
}

#define QUERY_EXTENSION(object) query_extension(&(object)->Header, (object)->Dispatch->NdkQueryExtension)

static void query_extensions(const struct end *end, NDK_SHARED_ENDPOINT *endpoint)
{
    QUERY_EXTENSION(adapter);
    QUERY_EXTENSION(pd);
    QUERY_EXTENSION(cq);
    QUERY_EXTENSION(mr);
    QUERY_EXTENSION(mw);
    QUERY_EXTENSION(srq);
    QUERY_EXTENSION(listener);
    QUERY_EXTENSION(end->qp);
    QUERY_EXTENSION(end->connector);
    QUERY_EXTENSION(endpoint);
}

/* ---- memory and queues ---- */

static void use_memory(void)
{
    ULONG size = sizeof mapping, fbo = 0;
    UINT32 got;

    ondk_mdl_init(&mdl, memory, REGION, NULL);
    print_event("NdkRegisterMr object=%p mdl=%p length=8192 flags=ALLOW_REMOTE_WRITE|ALLOW_REMOTE_READ", (void *)mr,
                (void *)&mdl);
    check(!REQUEST(mr, NdkRegisterMr, &mdl, REGION, RIGHTS), "NdkRegisterMr");
    token = mr->Dispatch->NdkGetLocalTokenFromMr(mr);
    print_event("NdkGetLocalTokenFromMr object=%p token=%u status=STATUS_SUCCESS", (void *)mr, token);
    got = mr->Dispatch->NdkGetRemoteTokenFromMr(mr);
    print_event("NdkGetRemoteTokenFromMr object=%p token=%u status=STATUS_SUCCESS", (void *)mr, got);
    pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(pd, &got);
    print_event("NdkGetPrivilegedMemoryRegionToken object=%p token=%u status=STATUS_SUCCESS", (void *)pd, got);
    print_event("NdkInitializeFastRegisterMr object=%p pages=4 remote_access=1", (void *)fast_mr);
    check(!REQUEST(fast_mr, NdkInitializeFastRegisterMr, 4, TRUE), "NdkInitializeFastRegisterMr");
    print_event("NdkBuildLAM object=%p mdl=%p length=8192 lam=%p", (void *)adapter, (void *)&mdl, (void *)&mapping);
    struct op *op = op_begin("NdkBuildLAM", adapter);
    NTSTATUS status = adapter->Dispatch->NdkBuildLAM(adapter, &mdl, REGION, on_request, op, &mapping.lam, &size, &fbo);
    check(!op_end(op, status, NULL), "NdkBuildLAM");
}

static void change_queues(void)
{
    NTSTATUS status;

    print_event("NdkResizeCq object=%p depth=100", (void *)cq);
    check(!REQUEST(cq, NdkResizeCq, 100), "NdkResizeCq");
    print_event("NdkControlCqInterruptModeration object=%p interval=0 count=1", (void *)cq);
    status = cq->Dispatch->NdkControlCqInterruptModeration(cq, 0, 1);
    RETURNED(cq, "NdkControlCqInterruptModeration", status);
    print_event("NdkModifySrq object=%p depth=0 threshold=2", (void *)srq);
    check(!REQUEST(srq, NdkModifySrq, 0, 2), "NdkModifySrq");
    wait_for(&srq_notified); /* fewer than two receives are posted */
}

/* ---- connections ---- */

static void listen_on_lo(void)
{
    ULONG length = sizeof address;
    char text[INET_ADDRSTRLEN + 8];
    NTSTATUS status;

    address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    print_event("NdkListen object=%p local=%s", (void *)listener, address_text(text));
    check(!REQUEST(listener, NdkListen, (PSOCKADDR)&address, sizeof address), "NdkListen");
    print_event("NdkGetLocalAddress object=%p", (void *)listener);
    status = listener->Dispatch->NdkGetLocalAddress(listener, (PSOCKADDR)&address, &length);
    RETURNED(listener, "NdkGetLocalAddress", status);
    print_event("NdkControlConnectEvents object=%p pause=1", (void *)listener);
    listener->Dispatch->NdkControlConnectEvents(listener, TRUE);
    RETURNED(listener, "NdkControlConnectEvents", STATUS_SUCCESS);
    print_event("NdkControlConnectEvents object=%p pause=0", (void *)listener);
    listener->Dispatch->NdkControlConnectEvents(listener, FALSE);
    RETURNED(listener, "NdkControlConnectEvents", STATUS_SUCCESS);
}

static NTSTATUS connect_end(struct end *end, NDK_SHARED_ENDPOINT *endpoint)
{
    struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    char text[INET_ADDRSTRLEN + 8];

    print_event("NdkCreateConnector object=%p", (void *)adapter);
    check(!CREATE(adapter, NdkCreateConnector, &end->connector), "NdkCreateConnector");
    if (endpoint) {
        print_event(
            "NdkConnectWithSharedEndpoint object=%p qp=%p endpoint=%p remote=%s inbound=1 outbound=2 data_size=7",
            (void *)end->connector, (void *)end->qp, (void *)endpoint, address_text(text));
        return REQUEST(end->connector, NdkConnectWithSharedEndpoint, end->qp, endpoint, (PSOCKADDR)&address,
                       sizeof address, 1, 2, memory, 7);
    }
    print_event("NdkConnect object=%p qp=%p local=127.0.0.1:0 remote=%s inbound=1 outbound=2 data_size=7",
                (void *)end->connector, (void *)end->qp, address_text(text));
    return REQUEST(end->connector, NdkConnect, end->qp, (PSOCKADDR)&from, sizeof from, (PSOCKADDR)&address,
                   sizeof address, 1, 2, memory, 7);
}

static void complete(struct end *end)
{
    ULONG inbound, outbound, length = 0;
    NDK_CONNECTOR *c = end->connector;
    struct sockaddr_in got;
    NTSTATUS status;

    wait_for(&requested);
    if (uses_ex) {
        print_event("NdkCompleteConnectEx object=%p", (void *)c);
        check(!REQUEST(c, NdkCompleteConnectEx, on_disconnect_ex, end), "NdkCompleteConnectEx");
    } else {
        print_event("NdkCompleteConnect object=%p", (void *)c);
        check(!REQUEST(c, NdkCompleteConnect, on_disconnect, end), "NdkCompleteConnect");
    }
    wait_for(&accepted);
    check(!accept_status, "the completion of NdkAccept");
    print_event("NdkGetConnectionData object=%p", (void *)c);
    status = c->Dispatch->NdkGetConnectionData(c, &inbound, &outbound, NULL, &length);
    RETURNED(c, "NdkGetConnectionData", status);
    length = sizeof got;
    print_event("NdkGetLocalAddress object=%p", (void *)c);
    status = c->Dispatch->NdkGetLocalAddress(c, (PSOCKADDR)&got, &length);
    RETURNED(c, "NdkGetLocalAddress", status);
    print_event("NdkGetPeerAddress object=%p", (void *)c);
    status = c->Dispatch->NdkGetPeerAddress(c, (PSOCKADDR)&got, &length);
    RETURNED(c, "NdkGetPeerAddress", status);
}

static void close_connector(NDK_CONNECTOR *connector)
{
    check(!CLOSE(connector, NdkCloseConnector), "NdkCloseConnector");
}

static void close_end(const struct end *end)
{
    close_connector(end->connector);
    check(!CLOSE(end->qp, NdkCloseQp), "NdkCloseQp");
}

static void disconnect(const struct end *initiating)
{
    struct op *op = op_begin("NdkDisconnect", initiating->connector);
    NTSTATUS status;

    print_event("NdkDisconnect object=%p", (void *)initiating->connector);
    status = initiating->connector->Dispatch->NdkDisconnect(initiating->connector, on_request, op);
    check(status == STATUS_PENDING, "NdkDisconnect");
    wait_for(&disconnected);
    print_event("returned object=%p routine=NdkDisconnect status=STATUS_PENDING created=0 context=%p",
                (void *)initiating->connector, (void *)op);
    print_event("NdkDisconnect object=%p", (void *)accepting.connector);
    struct op *other = op_begin("NdkDisconnect", accepting.connector);
    check(!op_end(other, accepting.connector->Dispatch->NdkDisconnect(accepting.connector, on_request, other), NULL),
          "NdkDisconnect of the other end");
    while (sem_wait(&op->done)) /* interrupted by a signal */
        ;
    check(!op->status, "NdkDisconnect");
    free(op);
}

/* ---- requests ---- */

static NDK_SGE sge(uint32_t offset, uint32_t length)
{
    return (NDK_SGE){ .VirtualAddress = memory + offset, .Length = length, .MemoryRegionToken = token };
}

#define POSTED(entry, object, context, format, ...)                                                                    \
    print_event(entry " object=%p context=%p status=STATUS_SUCCESS " format, (void *)(object), (void *)(context),      \
                __VA_ARGS__)

static void post_receives(const struct end *end, unsigned count)
{
    NDK_SGE list[2] = { sge(4096, 100), sge(4200, 60) };
    NTSTATUS status;

    for (unsigned i = 0; i < count; i++) {
        char *context = memory + i;

        if (end->has_srq) {
            status = srq->Dispatch->NdkSrqReceive(srq, context, list, 2);
            POSTED("NdkSrqReceive", srq, context, "sges=%d bytes=160", 2);
        } else {
            status = end->qp->Dispatch->NdkReceive(end->qp, context, list, 1);
            POSTED("NdkReceive", end->qp, context, "sges=%d bytes=100", 1);
        }
        check(!status, "the post of a receive");
    }
}

static const char *operation_text(NDK_OPERATION_TYPE type)
{
    static const struct {
        NDK_OPERATION_TYPE type;
        const char *name;
    } names[] = {
        { NdkOperationTypeReceive, "Receive" }, { NdkOperationTypeReceiveAndInvalidate, "ReceiveAndInvalidate" },
        { NdkOperationTypeSend, "Send" },       { NdkOperationTypeFastRegister, "FastRegister" },
        { NdkOperationTypeBind, "Bind" },       { NdkOperationTypeInvalidate, "Invalidate" },
        { NdkOperationTypeRead, "Read" },       { NdkOperationTypeWrite, "Write" },
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].type == type)
            return names[i].name;
    return "?";
}

static unsigned poll_plain(unsigned max)
{
    NDK_RESULT r[2];
    unsigned got = cq->Dispatch->NdkGetCqResults(cq, r, max);

    for (unsigned i = 0; i < got; i++)
        print_event("result object=%p context=%p qp_context=%p status=%s bytes=%u operation=0", (void *)cq,
                    r[i].RequestContext, r[i].QPContext, status_text(r[i].Status), (unsigned)r[i].BytesTransferred);
    return got;
}

static unsigned poll_ex(unsigned max)
{
    NDK_RESULT_EX r[2];
    unsigned got = cq->Dispatch->NdkGetCqResultsEx(cq, r, max);

    for (unsigned i = 0; i < got; i++) {
        const char *name = operation_text(r[i].Type);

        print_event("result object=%p context=%p qp_context=%p status=%s bytes=%u operation=%s", (void *)cq,
                    r[i].RequestContext, r[i].QPContext, status_text(r[i].Status),
                    strncmp(name, "Receive", 7) == 0 ? (unsigned)r[i].BytesTransferred : 0, name);
    }
    return got;
}

/* Waits for `count` results. The two forms of the poll are used in turn. */
static void get_results(unsigned count)
{
    static unsigned turn;

    for (unsigned got; count; count -= got) {
        unsigned max = count < 2 ? count : 2;

        got = turn++ % 2 ? poll_ex(max) : poll_plain(max);
    }
}

static void arm_and_wait(ULONG type, const char *name)
{
    cq->Dispatch->NdkArmCq(cq, type);
    print_event("NdkArmCq object=%p type=%s status=STATUS_SUCCESS", (void *)cq, name);
    wait_for(&notified);
}

static void send_some(const struct end *end)
{
    NDK_SGE list[2] = { sge(0, 10), sge(10, 20) };
    char *context = memory + 100;
    NDK_QP *qp = end->qp;

    check(!qp->Dispatch->NdkSend(qp, context, list, 2, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT | NDK_OP_FLAG_READ_FENCE),
          "NdkSend");
    POSTED("NdkSend", qp, context, "sges=%d bytes=30 flags=READ_FENCE|SEND_AND_SOLICIT_EVENT", 2);
    get_results(1);
    arm_and_wait(NDK_CQ_NOTIFY_SOLICITED, "SOLICITED");
    get_results(1);
}

static void read_and_write(const struct end *end)
{
    NDK_SGE list = sge(0, 50);
    UINT64 remote = (uintptr_t)memory + 2048;
    NDK_QP *qp = end->qp;

    check(!qp->Dispatch->NdkWrite(qp, NULL, &list, 1, remote, token, 0), "NdkWrite");
    print_event("NdkWrite object=%p context=0 sges=1 bytes=50 flags=0 address=%p token=%u status=STATUS_SUCCESS",
                (void *)qp, (void *)(memory + 2048), token);
    arm_and_wait(NDK_CQ_NOTIFY_ANY, "ANY");
    get_results(1);
    check(!qp->Dispatch->NdkRead(qp, NULL, &list, 1, remote, token, 0), "NdkRead");
    print_event("NdkRead object=%p context=0 sges=1 bytes=50 flags=0 address=%p token=%u status=STATUS_SUCCESS",
                (void *)qp, (void *)(memory + 2048), token);
    get_results(1);
    check(qp->Dispatch->NdkSend(qp, memory, &list, 1, 0x80000000) == STATUS_INVALID_PARAMETER, "a wrong flag");
    print_event("NdkSend object=%p context=%p sges=1 bytes=50 flags=0x80000000 status=STATUS_INVALID_PARAMETER",
                (void *)qp, (void *)memory);
}

static void bind_and_register(const struct end *end, const struct end *other)
{
    NDK_QP *qp = end->qp;
    NDK_SGE list = sge(0, 1);
    UINT32 window;

    check(!qp->Dispatch->NdkBind(qp, memory, mr, mw, memory + 64, 128, NDK_OP_FLAG_ALLOW_REMOTE_WRITE), "NdkBind");
    POSTED("NdkBind", qp, memory, "mr=%p mw=%p address=%p length=128 flags=ALLOW_REMOTE_WRITE", (void *)mr, (void *)mw,
           (void *)(memory + 64));
    window = mw->Dispatch->NdkGetRemoteTokenFromMw(mw);
    print_event("NdkGetRemoteTokenFromMw object=%p token=%u status=STATUS_SUCCESS", (void *)mw, window);
    get_results(1);
    check(!qp->Dispatch->NdkFastRegister(qp, memory, fast_mr, 1, mapping.lam.AdapterPageArray, 0, 4096, memory,
                                         NDK_OP_FLAG_ALLOW_REMOTE_READ),
          "NdkFastRegister");
    POSTED("NdkFastRegister", qp, memory, "mr=%p pages=1 offset=0 length=4096 address=%p flags=ALLOW_REMOTE_READ",
           (void *)fast_mr, (void *)memory);
    get_results(1);
    check(!qp->Dispatch->NdkInvalidate(qp, memory, &fast_mr->Header, NDK_OP_FLAG_SILENT_SUCCESS), "NdkInvalidate");
    POSTED("NdkInvalidate", qp, memory, "target=%p flags=SILENT_SUCCESS", (void *)fast_mr);
    qp = other->qp;
    check(!qp->Dispatch->NdkSendAndInvalidate(qp, memory, &list, 1, 0, window), "NdkSendAndInvalidate");
    POSTED("NdkSendAndInvalidate", qp, memory, "sges=1 bytes=1 flags=0 token=%u", window);
    get_results(2);
}

static void flush(const struct end *end)
{
    print_event("NdkFlush object=%p", (void *)end->qp);
    end->qp->Dispatch->NdkFlush(end->qp);
    RETURNED(end->qp, "NdkFlush", STATUS_SUCCESS);
}

/* ---- the connections ---- */

/* A connection without an endpoint. Both ends send. */
static void run_connection(bool ex)
{
    struct end initiating;

    uses_ex = ex;
    create_end(&initiating, false);
    create_end(&accepting, true);
    post_receives(&accepting, 1);
    post_receives(&initiating, 2);
    check(!connect_end(&initiating, NULL), "NdkConnect");
    complete(&initiating);
    send_some(&initiating);
    read_and_write(&initiating);
    bind_and_register(&initiating, &accepting);
    disconnect(&initiating);
    flush(&initiating);
    get_results(1); /* the second receive */
    close_end(&initiating);
    close_end(&accepting);
}

/* A request that is rejected, from a shared endpoint. */
static void run_rejected(void)
{
    struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    NDK_SHARED_ENDPOINT *endpoint;
    ULONG length = sizeof from;
    struct end initiating;
    NTSTATUS status;

    rejects = true;
    print_event("NdkCreateSharedEndpoint object=%p local=127.0.0.1:0", (void *)adapter);
    check(!CREATE(adapter, NdkCreateSharedEndpoint, &endpoint, (PSOCKADDR)&from, sizeof from),
          "NdkCreateSharedEndpoint");
    print_event("NdkGetLocalAddress object=%p", (void *)endpoint);
    status = endpoint->Dispatch->NdkGetLocalAddress(endpoint, (PSOCKADDR)&from, &length);
    RETURNED(endpoint, "NdkGetLocalAddress", status);
    create_end(&initiating, false);
    check(connect_end(&initiating, endpoint) == STATUS_CONNECTION_REFUSED, "a reject");
    wait_for(&requested);
    query_extensions(&initiating, endpoint);
    close_end(&initiating);
    close_connector(accepting.connector);
    check(!CLOSE(endpoint, NdkCloseSharedEndpoint), "NdkCloseSharedEndpoint");
    rejects = false;
}

static void close_objects(void)
{
    check(!CLOSE(listener, NdkCloseListener), "NdkCloseListener");
    print_event("NdkReleaseLAM object=%p lam=%p", (void *)adapter, (void *)&mapping);
    adapter->Dispatch->NdkReleaseLAM(adapter, &mapping.lam);
    RETURNED(adapter, "NdkReleaseLAM", STATUS_SUCCESS);
    check(!CLOSE(mw, NdkCloseMw), "NdkCloseMw");
    print_event("NdkDeregisterMr object=%p", (void *)mr);
    struct op *op = op_begin("NdkDeregisterMr", mr);
    check(!op_end(op, mr->Dispatch->NdkDeregisterMr(mr, on_request, op), NULL), "NdkDeregisterMr");
    check(!CLOSE(mr, NdkCloseMr), "NdkCloseMr");
    check(!CLOSE(fast_mr, NdkCloseMr), "NdkCloseMr");
    check(!CLOSE(srq, NdkCloseSrq), "NdkCloseSrq");
    check(!CLOSE(cq, NdkCloseCq), "NdkCloseCq");
    check(!CLOSE(pd, NdkClosePd), "NdkClosePd");
    ondk_close_adapter(adapter);
}

int main(int argc, char **argv)
{
    unsigned major = 2, minor = 1;
    sem_t *const semaphores[] = { &requested, &accepted, &disconnected, &notified, &srq_notified };

    if (argc > 1 && sscanf(argv[1], "%u.%u", &major, &minor) != 2)
        return 2;
    for (size_t i = 0; i < sizeof semaphores / sizeof semaphores[0]; i++)
        sem_init(semaphores[i], 0, 0);
    has_ex = major == 2 && minor == 1;
    open_adapter((NDK_VERSION){ (USHORT)major, (USHORT)minor });
    create_objects();
    use_memory();
    change_queues();
    listen_on_lo();
    run_connection(false);
    run_rejected();
    if (has_ex)
        run_connection(true);
    close_objects();
    return 0;
}
