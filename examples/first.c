/* SPDX-License-Identifier: MIT */
/* Opens the loopback adapter, prints its read limits, and connects to 127.0.0.1:50001 (start `ndkping -S` first). */
#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include "openndk/adapter.h"

static _Atomic int done;
static NTSTATUS result;
static void completed(void *context, NTSTATUS status) { (void)context; result = status; done = 1; }
static void closed(void *context) { (void)context; done = 1; }
static void created(void *context, NTSTATUS status, NDK_OBJECT_HEADER *o) { (void)context; (void)status; (void)o; }
static void notified(void *context, NTSTATUS status) { (void)context; (void)status; }
static NTSTATUS wait_for(NTSTATUS status)
{
    if (status != STATUS_PENDING)
        return status;
    while (!done) /* a driver waits for a KEVENT here */
        ;
    done = 0;
    return result;
}

int main(void)
{
    struct sockaddr_in from = { .sin_family = AF_INET }, to = { .sin_family = AF_INET, .sin_port = htons(50001) };
    NDK_ADAPTER *adapter; NDK_PD *pd; NDK_CQ *cq; NDK_QP *qp; NDK_CONNECTOR *connector; NDK_ADAPTER_INFO info;
    ULONG size = sizeof info;

    if (ondk_open_adapter((NDK_VERSION){ 2, 1 }, if_nametoindex("lo"), &adapter) != STATUS_SUCCESS)
        return 1;
    adapter->Dispatch->NdkQueryAdapterInfo(adapter, &info, &size);
    printf("reads in flight: %u in, %u out\n", (unsigned)info.MaxInboundReadLimit, (unsigned)info.MaxOutboundReadLimit);
    adapter->Dispatch->NdkCreatePd(adapter, created, NULL, &pd); /* a create may pend; by default it does not here */
    adapter->Dispatch->NdkCreateCq(adapter, 16, notified, NULL, NULL, created, NULL, &cq);
    pd->Dispatch->NdkCreateQp(pd, cq, cq, NULL, 8, 8, 1, 1, 0, created, NULL, &qp);
    adapter->Dispatch->NdkCreateConnector(adapter, created, NULL, &connector);
    from.sin_addr.s_addr = to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    NTSTATUS status = wait_for(connector->Dispatch->NdkConnect(connector, qp, (PSOCKADDR)&from, sizeof from,
        (PSOCKADDR)&to, sizeof to, 8, 8, "hello", 5, completed, NULL));
    printf("NdkConnect: %s\n  %s\n", ondk_status_name(status), ondk_status_advice(status));
    NDK_OBJECT_HEADER *objects[] = { &connector->Header, &qp->Header, &cq->Header, &pd->Header };
    NDK_FN_CLOSE_OBJECT closes[] = { connector->Dispatch->NdkCloseConnector, qp->Dispatch->NdkCloseQp,
        cq->Dispatch->NdkCloseCq, pd->Dispatch->NdkClosePd };
    for (int i = 0; i < 4; i++)
        wait_for(closes[i](objects[i], closed, NULL));
    ondk_close_adapter(adapter);
    return status != STATUS_SUCCESS;
}
