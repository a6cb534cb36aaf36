/* SPDX-License-Identifier: MIT */
/*
 * Creates a queue pair for a connection request, and later ends, closes and frees it. Two invariants must hold. After
 * the close of a QP or connector may have begun, nothing is posted to the QP and no connector function is called. The
 * memory of a queue pair exists longer than every callback, result and worker that refers to it.
 *
 * A queue pair has three states. A thread must hold pair->lock to read or change the state:
 *
 *   state         entered by                       posts          left by
 *   PAIR_OPENING  pair_on_request                  receives only  pair_on_accepted, pair_end
 *   PAIR_OPEN     pair_on_accepted, after success  all            pair_end
 *   PAIR_ENDED    pair_end                         none           never
 *
 * A thread holds the lock from the test of the state until the post returns. So when pair_end has returned, no post is
 * running and no other will begin. pair_end may be called at any time, any number of times. It is called when the host
 * has disconnected, NdkAccept has failed, the controller is closing, or the target stops. pair_abort calls pair_end
 * when the host has broken the protocol, the host does not answer, or a request has failed.
 *
 * pair->work runs three routines on a connection worker, one after the other. Each is queued only after the previous
 * one no longer uses the queue pair:
 *
 *   pair_open        queued by pair_on_request. Creates the objects, posts the receives, calls NdkAccept.
 *   pair_disconnect  queued when the last reference is released. pair_end releases a reference. pair_open releases one
 *                    after NdkAccept has returned. Each slot has a reference while a worker uses the slot. If NdkAccept
 *                    has succeeded, flushes the outstanding requests, because NdkDisconnect may wait for them, and
 *                    calls NdkDisconnect. Does not wait for the host. After pair_abort it neither flushes nor
 *                    disconnects, because the close of the connector then resets the connection.
 *   pair_close       queued when NdkDisconnect completes, or by pair_disconnect. Closes and frees the queue pair.
 *
 * pair_close waits for each step before the next one:
 *
 *   1. NdkCloseConnector cancels NdkAccept if that is pending. When the close has completed, no callback of the
 *      connector runs or will run. If the target stops and the host does not answer the disconnect, pair_reset has
 *      closed the connector already, which cancels NdkDisconnect.
 *   2. The results so far are read, because an adapter may discard unread results when the QP is closed. The SRQ would
 *      lose the receives of the discarded results.
 *   3. NdkCloseQp ends the remaining requests. When the close has completed, no request uses memory.
 *   4. The last results are read. is_cq_closed is set, so that later notifications do not use the CQ. The CQ is closed.
 *   5. The memory is freed, and the receives of the SRQ are posted again. The domain is released. The queue pair leaves
 *      the list and is freed.
 *
 * pair_disconnect and pair_reset hold the lock while they call functions of the connector, so each of the two functions
 * sees the effects of the other. The completion routines of these calls do not acquire the lock. pair_close closes the
 * connector without the lock, because the completion of NdkAccept, which the close may cause, acquires the lock.
 *
 * Each function runs on the thread in this table. "lock" means that the caller holds pair->lock:
 *
 *   function                      thread
 *   pair_on_request               provider
 *   pair_on_accepted              provider, or the connection worker that runs pair_open
 *   pair_on_disconnected          provider
 *   pair_on_results               provider
 *   pair_end, pair_reset          any, lock
 *   pair_open, _disconnect, _close  connection worker
 *   functions of transfer.c       any, lock; pair_memory_init and pair_memory_fini: connection worker
 */
#include "queue.h"

#include <string.h>

#include "wait.h"

/* ---- End --------------------------------------------------------------------------------------------------------- */

static void pair_disconnect(void *context);

void pair_ref(struct target_pair *pair)
{
    pair->references++;
}

void pair_unref(struct target_pair *pair)
{
    if (--pair->references == 0)
        worker_queue(&pair->target->connection_workers, &pair->work, pair_disconnect, pair);
}

/* Logs the queue's number, its controller, and why the queue pair has ended. */
static void pair_log_end(struct target_pair *pair, const char *reason)
{
    const struct target_controller *controller = pair->queue.controller;

    if (controller)
        log_limited(&pair->target->log, "controller %u, queue %u: %s", controller->cntlid, pair->queue.qid, reason);
    else
        log_limited(&pair->target->log, "queue %u of no controller: %s", pair->queue.qid, reason);
}

void pair_end(struct target_pair *pair, const char *reason)
{
    struct target *target = pair->target;

    if (pair->state == PAIR_ENDED)
        return;
    pair->state = PAIR_ENDED;
    host_lock_acquire(&target->lock);
    pair_log_end(pair, reason);
    target_queue_close(&pair->queue);
    host_lock_release(&target->lock);
    target_wake_keeper(target); /* the keeper ends the controller's other queues if the admin queue has ended */
    pair_unref(pair);
}

void pair_abort(struct target_pair *pair, const char *reason)
{
    if (pair->state != PAIR_ENDED)
        pair->is_aborted = true;
    pair_end(pair, reason);
}

/* ---- Results, disconnect ----------------------------------------------------------------------------------------- */

/*
 * Handles a notification of the CQ. The provider calls this function once for each NdkArmCq, and never during another
 * call.
 */
static void pair_on_results(void *context, NTSTATUS status)
{
    struct target_pair *pair = context;

    host_lock_acquire(&pair->lock);
    if (!NT_SUCCESS(status)) {
        pair_abort(pair, "the completion queue has failed");
    } else if (!pair->is_cq_closed) {
        transfer_poll(pair);
        pair->cq->Dispatch->NdkArmCq(pair->cq, NDK_CQ_NOTIFY_ANY); /* notifies at once if there are new results */
    }
    host_lock_release(&pair->lock);
}

static void pair_on_disconnected(void *context)
{
    struct target_pair *pair = context;

    host_lock_acquire(&pair->lock);
    pair_end(pair, "the host has disconnected");
    host_lock_release(&pair->lock);
}

/* ---- Open -------------------------------------------------------------------------------------------------------- */

/* Handles the completion of NdkAccept. The queue pair may have ended before the completion. */
static void pair_on_accepted(void *context, NTSTATUS status)
{
    struct target_pair *pair = context;

    host_lock_acquire(&pair->lock);
    pair->is_connected = NT_SUCCESS(status);
    if (!NT_SUCCESS(status))
        pair_end(pair, "the connection was not completed");
    else if (pair->state == PAIR_OPENING)
        pair->state = PAIR_OPEN;
    transfer_start(pair);
    host_lock_release(&pair->lock);
}

static NTSTATUS pair_create_qp(struct target_pair *pair, struct target_wait *wait)
{
    NDK_PD *pd = pair->domain->pd;
    NDK_SRQ *srq = pair->domain->srq;
    uint32_t depth = pair_initiator_depth(pair);
    NTSTATUS status;

    if (srq)
        status = pd->Dispatch->NdkCreateQpWithSrq(pd, pair->cq, pair->cq, srq, pair, depth, 1, 0, target_on_created,
                                                  wait, &pair->qp);
    else
        status = pd->Dispatch->NdkCreateQp(pd, pair->cq, pair->cq, pair, pair->n_receives, depth, 1, 1, 0,
                                           target_on_created, wait, &pair->qp);
    return target_wait_create(wait, status, &pair->qp);
}

/* Creates the CQ and the QP. After a failure pair_close closes what was created. */
static NTSTATUS pair_create_objects(struct target_pair *pair, struct target_wait *wait)
{
    NDK_ADAPTER *adapter = pair->target->adapter;
    NTSTATUS status;

    status = adapter->Dispatch->NdkCreateCq(adapter, pair_cq_depth(pair), pair_on_results, pair, NULL,
                                            target_on_created, wait, &pair->cq);
    status = target_wait_create(wait, status, &pair->cq);
    if (NT_SUCCESS(status))
        status = pair_create_qp(pair, wait);
    return status;
}

/* Posts the receives, and arms the CQ. */
static NTSTATUS pair_prepare(struct target_pair *pair)
{
    NTSTATUS status = STATUS_SUCCESS;

    host_lock_acquire(&pair->lock);
    if (!pair->domain->srq)
        status = transfer_post_receives(pair);
    if (NT_SUCCESS(status))
        pair->cq->Dispatch->NdkArmCq(pair->cq, NDK_CQ_NOTIFY_ANY);
    if (pair->state == PAIR_ENDED)
        status = STATUS_CANCELLED;
    host_lock_release(&pair->lock);
    return status;
}

static void pair_open(void *context)
{
    struct target_pair *pair = context;
    struct nvme_rdma_reply reply;
    struct nvme_rdma_reject reject;
    struct target_wait wait;
    NTSTATUS status = domain_acquire(pair->target, pair->connector, pair->n_receives, &pair->domain);

    if (NT_SUCCESS(status))
        status = pair_memory_init(pair);
    target_wait_init(&wait);
    if (NT_SUCCESS(status))
        status = pair_create_objects(pair, &wait);
    target_wait_fini(&wait);
    if (NT_SUCCESS(status))
        status = pair_prepare(pair);
    if (NT_SUCCESS(status)) {
        nvme_rdma_reply_build(&reply, pair->n_receives);
        status = pair->connector->Dispatch->NdkAccept(pair->connector, pair->qp, 0, pair->reads_left, &reply,
                                                      sizeof reply, pair_on_disconnected, pair, pair_on_accepted, pair);
    } else {
        nvme_rdma_reject_build(&reject, NVME_RDMA_NO_RESOURCES);
        pair->connector->Dispatch->NdkReject(pair->connector, &reject, sizeof reject);
        log_limited(&pair->target->log, "a connection was rejected, status 0x%08x", (unsigned)status);
    }
    if (status != STATUS_PENDING)
        pair_on_accepted(pair, status);
    host_lock_acquire(&pair->lock);
    pair_unref(pair);
    host_lock_release(&pair->lock);
}

static void pair_on_rejected_closed(void *context)
{
    (void)context; /* nothing to do: the close of the listener waits until this callback has returned */
}

static void pair_reject(struct target *target, NDK_CONNECTOR *connector, enum nvme_rdma_status status)
{
    struct nvme_rdma_reject reject;

    nvme_rdma_reject_build(&reject, status);
    log_limited(&target->log, "a connection was rejected: %s", nvme_rdma_status_text((uint16_t)status));
    connector->Dispatch->NdkReject(connector, &reject, sizeof reject);
    connector->Dispatch->NdkCloseConnector(&connector->Header, pair_on_rejected_closed, NULL);
}

/* Parses the private data of the request, and initializes the protocol's queue. Returns the status for a reject. */
static enum nvme_rdma_status pair_init(struct target_pair *pair, struct target *target, NDK_CONNECTOR *connector)
{
    uint8_t data[256] = { 0 }; /* larger than struct nvme_rdma_request; transports pad the private data */
    ULONG len = sizeof data, inbound, outbound;
    NTSTATUS got = connector->Dispatch->NdkGetConnectionData(connector, &inbound, &outbound, data, &len);
    enum nvme_rdma_status status;

    if (!NT_SUCCESS(got) && got != STATUS_BUFFER_TOO_SMALL)
        return NVME_RDMA_INVALID_LENGTH;
    if (outbound == 0) /* without outbound reads the target cannot fetch the data of a write */
        return NVME_RDMA_INVALID_IRD;
    pair->target = target;
    pair->connector = connector;
    pair->state = PAIR_OPENING;
    pair->references = 2;
    pair->reads_left = outbound;
    host_lock_acquire(&target->lock);
    status = target_queue_init(&pair->queue, &target->subsystem, data, len < sizeof data ? len : sizeof data,
                               host_now_ms());
    host_lock_release(&target->lock);
    pair->queue.context = pair;
    pair->n_receives = pair->queue.commands;
    return status;
}

static void pair_free(struct target_pair *pair)
{
    host_semaphore_fini(&pair->connector_closed);
    host_lock_fini(&pair->lock);
    host_free(pair);
}

/* Handles a connection request. Only queues the work, because creating objects may wait and a callback must not. */
void pair_on_request(void *context, NDK_CONNECTOR *connector)
{
    struct target *target = context;
    struct target_pair *pair = host_alloc(sizeof *pair);
    enum nvme_rdma_status status = pair ? pair_init(pair, target, connector) : NVME_RDMA_NO_RESOURCES;

    if (status != NVME_RDMA_OK) {
        host_free(pair);
        pair_reject(target, connector, status);
        return;
    }
    host_lock_init(&pair->lock);
    host_semaphore_init(&pair->connector_closed);
    if (!target_add_pair(target, pair)) {
        host_lock_acquire(&target->lock);
        target_queue_close(&pair->queue);
        host_lock_release(&target->lock);
        pair_free(pair);
        pair_reject(target, connector, NVME_RDMA_NO_RESOURCES);
        return;
    }
    worker_queue(&target->connection_workers, &pair->work, pair_open, pair);
}

/* ---- Close ------------------------------------------------------------------------------------------------------- */

static void pair_close_qp(struct target_pair *pair)
{
    host_lock_acquire(&pair->lock);
    transfer_poll(pair);
    host_lock_release(&pair->lock);
    target_close(&pair->qp->Header, pair->qp->Dispatch->NdkCloseQp);
    host_lock_acquire(&pair->lock);
    transfer_poll(pair);
    host_lock_release(&pair->lock);
}

static void pair_on_connector_closed(void *context)
{
    struct target_pair *pair = context;

    host_semaphore_post(&pair->connector_closed);
}

/* Begins the close of the connector. */
static void pair_close_connector(struct target_pair *pair)
{
    NDK_CONNECTOR *connector = pair->connector;

    if (connector->Dispatch->NdkCloseConnector(&connector->Header, pair_on_connector_closed, pair) != STATUS_PENDING)
        pair_on_connector_closed(pair);
}

void pair_reset(struct target_pair *pair)
{
    if (!pair->is_disconnecting || pair->is_connector_closed)
        return;
    pair->is_connector_closed = true;
    pair_close_connector(pair);
}

static void pair_close(void *context)
{
    struct target_pair *pair = context;
    bool has_to_close;

    host_lock_acquire(&pair->lock);
    has_to_close = !pair->is_connector_closed;
    pair->is_connector_closed = true;
    host_lock_release(&pair->lock);
    if (has_to_close)
        pair_close_connector(pair);
    host_semaphore_wait(&pair->connector_closed);
    if (pair->qp)
        pair_close_qp(pair);
    host_lock_acquire(&pair->lock);
    pair->is_cq_closed = true;
    host_lock_release(&pair->lock);
    if (pair->cq)
        target_close(&pair->cq->Header, pair->cq->Dispatch->NdkCloseCq);
    pair_memory_fini(pair);
    if (pair->domain)
        domain_release(pair->domain, pair->n_receives);
    target_remove_pair(pair->target, pair);
    pair_free(pair); /* after the removal, because the keeper locks listed queue pairs */
}

static void pair_on_disconnect_done(void *context, NTSTATUS status)
{
    struct target_pair *pair = context;

    (void)status; /* the queue pair is closed next, even if the disconnect has failed */
    worker_queue(&pair->target->connection_workers, &pair->work, pair_close, pair);
}

static void pair_disconnect(void *context)
{
    struct target_pair *pair = context;
    NTSTATUS status = STATUS_SUCCESS;

    host_lock_acquire(&pair->lock);
    if (pair->is_connected && !pair->is_aborted) {
        pair->qp->Dispatch->NdkFlush(pair->qp); /* after this the CQ contains the results of all requests */
        transfer_poll(pair);
        status = pair->connector->Dispatch->NdkDisconnect(pair->connector, pair_on_disconnect_done, pair);
        pair->is_disconnecting = status == STATUS_PENDING;
    }
    host_lock_release(&pair->lock); /* if NdkDisconnect is pending, pair_close may free the queue pair from now on */
    if (status != STATUS_PENDING)
        pair_on_disconnect_done(pair, status);
}
