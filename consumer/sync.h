/* SPDX-License-Identifier: MIT */
/*
 * Each function makes an NDK call, waits until the call has completed, and returns the call's final status. A callback
 * must not call these functions, because the completion may need the thread that the wait would block.
 */
#ifndef CONSUMER_SYNC_H
#define CONSUMER_SYNC_H

#include <semaphore.h>
#include <stdbool.h>

#include "ndk/ndkpi.h"

/*
 * Waits for the completion of an NDK call. Callers use a struct sync if this file has no function for the NDK call, or
 * if the completion requires something that the caller does after the NDK call. A struct sync can wait for one call at
 * a time:
 *
 *     sync_init(&s);
 *     status = c->Dispatch->NdkDisconnect(c, sync_on_request, &s);
 *     ...
 *     status = sync_wait(&s, status);
 *     sync_fini(&s);
 */
struct sync {
    sem_t done;
    NTSTATUS status;
    NDK_OBJECT_HEADER *object;
};
void sync_init(struct sync *s);
void sync_fini(struct sync *s);
/* Completion routines. Their context must be a struct sync. */
void sync_on_request(void *context, NTSTATUS status);
void sync_on_create(void *context, NTSTATUS status, NDK_OBJECT_HEADER *object);
void sync_on_close(void *context);
/* Returns the final status of a call that returned `status`. Waits if `status` is STATUS_PENDING. */
NTSTATUS sync_wait(struct sync *s, NTSTATUS status);
/* Waits at most `ms` milliseconds; a signal ends the wait earlier. Returns true if the pending call has completed. */
bool sync_wait_ms(struct sync *s, unsigned ms);

/* ---- functions that create an object: after a failure, *out is NULL ---- */

NTSTATUS sync_create_pd(NDK_ADAPTER *adapter, NDK_PD **pd);
NTSTATUS sync_create_cq(NDK_ADAPTER *adapter, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK notify, void *context,
                        NDK_CQ **cq);
NTSTATUS sync_create_connector(NDK_ADAPTER *adapter, NDK_CONNECTOR **connector);
NTSTATUS sync_create_listener(NDK_ADAPTER *adapter, NDK_FN_CONNECT_EVENT_CALLBACK on_request, void *context,
                              NDK_LISTENER **listener);
NTSTATUS sync_create_shared_endpoint(NDK_ADAPTER *adapter, const struct sockaddr *address,
                                     NDK_SHARED_ENDPOINT **endpoint);
/* Creates an SRQ without notification. */
NTSTATUS sync_create_srq(NDK_PD *pd, ULONG depth, ULONG sges, NDK_SRQ **srq);
NTSTATUS sync_create_mr(NDK_PD *pd, BOOLEAN fast_register, NDK_MR **mr);
NTSTATUS sync_create_mw(NDK_PD *pd, NDK_MW **mw);

struct sync_qp {
    NDK_CQ *cq;   /* for receives and for initiator requests */
    NDK_SRQ *srq; /* NULL: the QP has its own receive queue */
    void *context;
    ULONG receives, requests; /* queue depths */
    ULONG receive_sges, request_sges;
    ULONG inline_size;
};
NTSTATUS sync_create_qp(NDK_PD *pd, const struct sync_qp *options, NDK_QP **qp);

/* ---- other calls ---- */

/* Closes an object of any type except an adapter. */
void sync_close(void *object);
NTSTATUS sync_listen(NDK_LISTENER *listener, const struct sockaddr *address);
NTSTATUS sync_register(NDK_MR *mr, MDL *mdl, SIZE_T len, ULONG flags);

/* Returns the size of an AF_INET or AF_INET6 address. */
ULONG sync_address_len(const struct sockaddr *address);

#endif
