/* SPDX-License-Identifier: MIT */
/* Makes NDK calls and waits for them: see sync.h. */
#include "consumer/sync.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

void sync_init(struct sync *s)
{
    memset(s, 0, sizeof *s);
    sem_init(&s->done, 0, 0);
}

void sync_fini(struct sync *s)
{
    sem_destroy(&s->done);
}

void sync_on_create(void *context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    struct sync *s = context;

    s->status = status;
    s->object = object;
    sem_post(&s->done);
}

void sync_on_request(void *context, NTSTATUS status)
{
    sync_on_create(context, status, NULL);
}

void sync_on_close(void *context)
{
    sync_on_create(context, STATUS_SUCCESS, NULL);
}

NTSTATUS sync_wait(struct sync *s, NTSTATUS status)
{
    if (status != STATUS_PENDING)
        return status;
    while (sem_wait(&s->done)) /* interrupted by a signal */
        continue;
    return s->status;
}

bool sync_wait_ms(struct sync *s, unsigned ms)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * 1000000L;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    if (sem_timedwait(&s->done, &t) != 0)
        return false;
    sem_post(&s->done); /* for the sync_wait that follows, which would block otherwise */
    return true;
}

/* Waits for the call, and calls sync_fini. Returns the final status. */
static NTSTATUS sync_end(struct sync *s, NTSTATUS status)
{
    status = sync_wait(s, status);
    sync_fini(s);
    return status;
}

/*
 * Works like sync_end, for a call that creates an object. If `status` is STATUS_PENDING, stores the new object in *out.
 */
static NTSTATUS sync_end_create(struct sync *s, NTSTATUS status, void *out)
{
    NDK_OBJECT_HEADER *object = NULL;
    bool is_pending = status == STATUS_PENDING;

    status = sync_end(s, status);
    if (is_pending && NT_SUCCESS(status))
        object = s->object;
    if (is_pending || !NT_SUCCESS(status))
        memcpy(out, &object, sizeof object);
    return status;
}

NTSTATUS sync_create_pd(NDK_ADAPTER *adapter, NDK_PD **pd)
{
    struct sync s;

    sync_init(&s);
    return sync_end_create(&s, adapter->Dispatch->NdkCreatePd(adapter, sync_on_create, &s, pd), pd);
}

NTSTATUS sync_create_cq(NDK_ADAPTER *adapter, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK notify, void *context,
                        NDK_CQ **cq)
{
    struct sync s;

    sync_init(&s);
    return sync_end_create(
        &s, adapter->Dispatch->NdkCreateCq(adapter, depth, notify, context, NULL, sync_on_create, &s, cq), cq);
}

NTSTATUS sync_create_connector(NDK_ADAPTER *adapter, NDK_CONNECTOR **connector)
{
    struct sync s;

    sync_init(&s);
    return sync_end_create(&s, adapter->Dispatch->NdkCreateConnector(adapter, sync_on_create, &s, connector),
                           connector);
}

NTSTATUS sync_create_listener(NDK_ADAPTER *adapter, NDK_FN_CONNECT_EVENT_CALLBACK on_request, void *context,
                              NDK_LISTENER **listener)
{
    struct sync s;

    sync_init(&s);
    return sync_end_create(
        &s, adapter->Dispatch->NdkCreateListener(adapter, on_request, context, sync_on_create, &s, listener), listener);
}

NTSTATUS sync_create_shared_endpoint(NDK_ADAPTER *adapter, const struct sockaddr *address,
                                     NDK_SHARED_ENDPOINT **endpoint)
{
    struct sync s;

    sync_init(&s);
    return sync_end_create(&s,
                           adapter->Dispatch->NdkCreateSharedEndpoint(
                               adapter, (PSOCKADDR)address, sync_address_len(address), sync_on_create, &s, endpoint),
                           endpoint);
}

NTSTATUS sync_create_srq(NDK_PD *pd, ULONG depth, ULONG sges, NDK_SRQ **srq)
{
    struct sync s;

    sync_init(&s);
    return sync_end_create(
        &s, pd->Dispatch->NdkCreateSrq(pd, depth, sges, 0, NULL, NULL, NULL, sync_on_create, &s, srq), srq);
}

NTSTATUS sync_create_mr(NDK_PD *pd, BOOLEAN fast_register, NDK_MR **mr)
{
    struct sync s;

    sync_init(&s);
    return sync_end_create(&s, pd->Dispatch->NdkCreateMr(pd, fast_register, sync_on_create, &s, mr), mr);
}

NTSTATUS sync_create_mw(NDK_PD *pd, NDK_MW **mw)
{
    struct sync s;

    sync_init(&s);
    return sync_end_create(&s, pd->Dispatch->NdkCreateMw(pd, sync_on_create, &s, mw), mw);
}

NTSTATUS sync_create_qp(NDK_PD *pd, const struct sync_qp *o, NDK_QP **qp)
{
    struct sync s;
    NTSTATUS status;

    sync_init(&s);
    if (o->srq)
        status = pd->Dispatch->NdkCreateQpWithSrq(pd, o->cq, o->cq, o->srq, o->context, o->requests, o->request_sges,
                                                  o->inline_size, sync_on_create, &s, qp);
    else
        status = pd->Dispatch->NdkCreateQp(pd, o->cq, o->cq, o->context, o->receives, o->requests, o->receive_sges,
                                           o->request_sges, o->inline_size, sync_on_create, &s, qp);
    return sync_end_create(&s, status, qp);
}

void sync_close(void *object)
{
    NDK_PD *any = object; /* Every object except an adapter has a dispatch table whose first entry is the close. */
    struct sync s;

    sync_init(&s);
    (void)sync_end(&s, any->Dispatch->NdkClosePd(&any->Header, sync_on_close, &s));
}

NTSTATUS sync_listen(NDK_LISTENER *listener, const struct sockaddr *address)
{
    struct sync s;

    sync_init(&s);
    return sync_end(&s, listener->Dispatch->NdkListen(listener, (PSOCKADDR)address, sync_address_len(address),
                                                      sync_on_request, &s));
}

NTSTATUS sync_register(NDK_MR *mr, MDL *mdl, SIZE_T len, ULONG flags)
{
    struct sync s;

    sync_init(&s);
    return sync_end(&s, mr->Dispatch->NdkRegisterMr(mr, mdl, len, flags, sync_on_request, &s));
}

ULONG sync_address_len(const struct sockaddr *address)
{
    return address->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}
