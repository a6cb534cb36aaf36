/* SPDX-License-Identifier: MIT */
/*
 * Carries out the commands of a queue pair. A received message becomes a command in a slot. The protocol decides which
 * action the command needs next (see the table of actions in protocol.h). This file performs the action, which is a
 * read, a write, a disk operation or the response.
 *
 * A receive is in one place at a time:
 *
 *   posted          to the queue pair or to the SRQ; no message has arrived
 *   pair->received  its message waits for a free slot, or until the connection is complete
 *   slot->receive   its command is being executed
 *
 * A slot is in one place at a time:
 *
 *   free_slots    no command
 *   needs_buffer  the command waits until another one has returned its buffer
 *   needs_read    the command waits until the peer allows another read
 *   a request     its read, or the send of its response, is posted; the slot is the request's context
 *   a worker      a disk operation; the slot holds a reference of the queue pair
 *   the protocol  an asynchronous event request, which waits for an event
 *
 * The receive is posted again before the response is sent, because the host may send its next command as soon as the
 * response arrives. When the send has completed, all earlier writes have completed, too, so the buffer is free. So a
 * command needs only the results of its reads and of its send; all its other requests are silent.
 */
#include "queue.h"

#include <string.h>

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

void pair_slots_push(struct pair_slots *list, struct pair_slot *slot)
{
    slot->next = NULL;
    *list->end = slot;
    list->end = &slot->next;
}

struct pair_slot *pair_slots_pop(struct pair_slots *list)
{
    struct pair_slot *slot = list->first;

    if (slot) {
        list->first = slot->next;
        if (!list->first)
            list->end = &list->first;
    }
    return slot;
}

static void received_push(struct pair_receives *list, struct target_receive *receive)
{
    receive->next = NULL;
    *list->end = receive;
    list->end = &receive->next;
}

struct target_receive *pair_received_pop(struct pair_receives *list)
{
    struct target_receive *receive = list->first;

    if (receive) {
        list->first = receive->next;
        if (!list->first)
            list->end = &list->first;
    }
    return receive;
}

/* ---- Receives ---------------------------------------------------------------------------------------------------- */

/* Posts a receive to the queue pair, or to its SRQ if it has one. With an SRQ, always returns STATUS_SUCCESS. */
static NTSTATUS receive_post(struct target_pair *pair, struct target_receive *receive)
{
    NDK_SGE sge = domain_receive_sge(receive);

    if (!pair->domain->srq)
        return pair->qp->Dispatch->NdkReceive(pair->qp, receive, &sge, 1);
    domain_post(pair->domain, receive);
    return STATUS_SUCCESS;
}

NTSTATUS transfer_post_receives(struct target_pair *pair)
{
    NTSTATUS status = STATUS_SUCCESS;

    for (uint32_t i = 0; i < pair->n_receives && NT_SUCCESS(status); i++)
        status = receive_post(pair, &pair->receives[i]);
    return status;
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

static void slot_run(struct pair_slot *slot);
static void slot_complete(struct pair_slot *slot);

/*
 * Logs a new controller. Also logs when the controller starts to wait for earlier writes of its host, and when this
 * wait ends. Requires target->lock.
 */
static void pair_log_controller(struct target_pair *pair, const struct target_controller *controller)
{
    bool has_to_wait = controller && target_controller_waits(controller);
    struct log_limit *log = &pair->target->log;

    if (controller && !pair->has_controller)
        log_limited(log, "controller %u: %s has connected", controller->cntlid, controller->host_nqn);
    if (has_to_wait && !pair->has_to_wait)
        log_limited(log, "controller %u: has to wait until earlier writes of the host have ended", controller->cntlid);
    else if (controller && pair->has_to_wait && !has_to_wait)
        log_limited(log, "controller %u: earlier writes of the host have ended", controller->cntlid);
    pair->has_controller = controller != NULL;
    pair->has_to_wait = has_to_wait;
}

/*
 * Completes the event requests that an event has made ready, and logs changes of the controller. Called after each step
 * of a command; does nothing for an I/O queue.
 */
static void pair_after_command(struct target_pair *pair)
{
    struct target_command *ready = NULL;
    struct target_controller *controller;

    do {
        if (ready)
            slot_complete((struct pair_slot *)ready);
        if (pair->queue.qid || pair->state != PAIR_OPEN)
            return;
        host_lock_acquire(&pair->target->lock);
        controller = pair->queue.controller;
        pair_log_controller(pair, controller);
        ready = controller ? target_controller_pop_ready(controller) : NULL;
        host_lock_release(&pair->target->lock);
    } while (ready);
}

void transfer_report_events(struct target_pair *pair)
{
    pair_after_command(pair);
}

/* Returns true if the disk operation may wait or takes long, so that a callback must not execute it. */
static bool slot_needs_worker(const struct pair_slot *slot)
{
    const struct disk *disk = slot->command.disk.ns->disk;

    return disk->may_wait || slot->command.disk.length > TARGET_MAX_TRANSFER;
}

/*
 * Stores the next action. If the action is a disk operation for this thread, reports its start to the protocol.
 * Requires target->lock.
 */
static void slot_store_action(struct pair_slot *slot)
{
    slot->action = slot->command.action;
    slot->may_use_disk = slot->action == TARGET_DISK && !slot_needs_worker(slot) && target_disk_begin(&slot->command);
}

static void slot_begin(struct pair_slot *slot, struct target_receive *receive)
{
    struct target_pair *pair = slot->pair;
    struct target_command *command = &slot->command;

    memset(command, 0, sizeof *command);
    command->queue = &pair->queue;
    slot->receive = receive;
    slot->buffer = NULL;
    slot->is_registered = false;
    host_lock_acquire(&pair->target->lock);
    target_command_begin(command, receive->capsule, receive->len, host_now_ms());
    slot_store_action(slot);
    host_lock_release(&pair->target->lock);
    pair_after_command(pair);
    slot_run(slot);
}

/*
 * Passes the status of an action to the protocol, which sets the next action. Does nothing if the queue pair has ended.
 */
static void slot_next(struct pair_slot *slot, uint16_t status)
{
    struct target_pair *pair = slot->pair;

    if (pair->state != PAIR_OPEN)
        return;
    host_lock_acquire(&pair->target->lock);
    target_command_next(&slot->command, status);
    slot_store_action(slot);
    host_lock_release(&pair->target->lock);
    pair_after_command(pair);
}

void transfer_start(struct target_pair *pair)
{
    while (pair->state == PAIR_OPEN && pair->received.first && pair->free_slots.first)
        slot_begin(pair_slots_pop(&pair->free_slots), pair_received_pop(&pair->received));
}

/* ---- Buffers ----------------------------------------------------------------------------------------------------- */

/* Sets the buffer that the command needs. If no buffer is free, appends the slot to needs_buffer and returns false. */
static bool slot_set_buffer(struct pair_slot *slot)
{
    struct target_pair *pair = slot->pair;

    if (slot->command.buffer_needed <= TARGET_SMALL_TRANSFER) {
        slot->command.buffer = slot->small;
        slot->command.buffer_size = TARGET_SMALL_TRANSFER;
        return true;
    }
    if (!pair->free_buffers) {
        pair_slots_push(&pair->needs_buffer, slot);
        return false;
    }
    slot->buffer = pair->free_buffers;
    pair->free_buffers = slot->buffer->next;
    slot->command.buffer = slot->buffer->memory.pages.data;
    slot->command.buffer_size = TARGET_MAX_TRANSFER;
    return true;
}

/*
 * Returns the slot's buffer to the free list, and continues the first slot in needs_buffer. All requests that use the
 * buffer must have completed.
 */
static void slot_return_buffer(struct pair_slot *slot)
{
    struct target_pair *pair = slot->pair;
    struct pair_slot *waiting;

    if (!slot->buffer)
        return;
    slot->buffer->next = pair->free_buffers;
    pair->free_buffers = slot->buffer;
    slot->buffer = NULL;
    waiting = pair_slots_pop(&pair->needs_buffer);
    if (waiting)
        slot_run(waiting);
}

/*
 * Posts the fast registration of the slot's buffer, unless the buffer is registered already or needs no registration.
 */
static NTSTATUS slot_register_buffer(struct pair_slot *slot)
{
    NTSTATUS status;

    if (!slot->buffer || !slot->pair->target->settings.has_fast_registration || slot->is_registered)
        return STATUS_SUCCESS;
    status = target_memory_register(&slot->buffer->memory, slot->pair->qp);
    slot->is_registered = NT_SUCCESS(status);
    return status;
}

/* Returns an SGE for the data that the command transfers, which lie in its buffer. */
static NDK_SGE slot_sge(const struct pair_slot *slot)
{
    return target_memory_sge(slot->buffer ? &slot->buffer->memory : &slot->pair->messages, slot->command.transfer.data,
                             slot->command.transfer.length);
}

/* ---- Actions ----------------------------------------------------------------------------------------------------- */

/*
 * Posts a read of the host's memory. transfer_on_read continues the command when the read has completed. If the peer
 * allows no more reads now, appends the slot to needs_read.
 */
static void slot_fetch(struct pair_slot *slot)
{
    struct target_pair *pair = slot->pair;
    NDK_QP *qp = pair->qp;
    NTSTATUS status;

    if (pair->reads_left == 0) {
        pair_slots_push(&pair->needs_read, slot);
        return;
    }
    status = slot_register_buffer(slot);
    if (NT_SUCCESS(status)) {
        NDK_SGE sge = slot_sge(slot);

        status = qp->Dispatch->NdkRead(qp, slot, &sge, 1, slot->command.transfer.address, slot->command.transfer.key,
                                       0);
    }
    if (NT_SUCCESS(status))
        pair->reads_left--;
    else
        pair_abort(pair, "a read could not be posted");
}

/*
 * Posts a write to the host's memory. The adapter may defer the write, because the command's response is posted soon
 * afterwards.
 */
static void slot_put(struct pair_slot *slot)
{
    NDK_QP *qp = slot->pair->qp;
    NTSTATUS status = slot_register_buffer(slot);

    if (NT_SUCCESS(status)) {
        NDK_SGE sge = slot_sge(slot);

        status = qp->Dispatch->NdkWrite(qp, NULL, &sge, 1, slot->command.transfer.address, slot->command.transfer.key,
                                        NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_DEFER);
    }
    if (!NT_SUCCESS(status))
        pair_abort(slot->pair, "a write could not be posted");
}

/* Executes the command's disk operation. Returns an NVMe status. Requires no lock. */
static uint16_t slot_use_disk(const struct pair_slot *slot)
{
    const struct target_command *command = &slot->command;
    struct disk *disk = command->disk.ns->disk;
    uint64_t offset = command->disk.offset, length = command->disk.length;
    uint16_t status = NVME_SUCCESS;

    switch (command->disk.operation) {
    case TARGET_DISK_READ:
        return disk->operations->read(disk, offset, command->disk.data, (uint32_t)length);
    case TARGET_DISK_WRITE:
        status = disk->operations->write(disk, offset, command->disk.data, (uint32_t)length);
        break;
    case TARGET_DISK_FLUSH:
        return disk->operations->flush(disk);
    case TARGET_DISK_WRITE_ZEROES:
    case TARGET_DISK_DEALLOCATE:
        status = disk->operations->zero(disk, offset, length, command->disk.operation == TARGET_DISK_DEALLOCATE);
        break;
    }
    if (status == NVME_SUCCESS && command->disk.fua)
        status = disk->operations->flush(disk);
    return status;
}

/*
 * Reports to the protocol that the command has no disk operation any more. Called instead of slot_next after the queue
 * pair has ended. Does nothing if no operation is in progress.
 */
static void slot_end_disk(struct pair_slot *slot)
{
    struct target *target = slot->pair->target;

    host_lock_acquire(&target->lock);
    target_disk_end(&slot->command);
    host_lock_release(&target->lock);
}

/*
 * Executes the disk operation on a worker. Then continues the command if the queue pair has not ended. Does not execute
 * the operation if the queue or its controller has ended already: the host may have repeated the command on another
 * queue pair, and a late write would overwrite newer data.
 */
static void slot_on_worker(void *context)
{
    struct pair_slot *slot = context;
    struct target_pair *pair = slot->pair;
    struct target *target = pair->target;
    uint16_t status = NVME_ABORT_REQUESTED;
    bool may_use_disk;

    host_lock_acquire(&target->lock);
    may_use_disk = target_disk_begin(&slot->command);
    host_lock_release(&target->lock);
    if (may_use_disk)
        status = slot_use_disk(slot);
    host_lock_acquire(&pair->lock);
    if (pair->state == PAIR_OPEN) {
        slot_next(slot, status);
        slot_run(slot);
    } else {
        slot_end_disk(slot);
    }
    pair_unref(pair);
    host_lock_release(&pair->lock);
}

/* Carries out the command's actions until the command waits or has ended. Requires pair->lock. */
static void slot_run(struct pair_slot *slot)
{
    struct target_pair *pair = slot->pair;

    while (pair->state == PAIR_OPEN) {
        switch (slot->action) {
        case TARGET_BUFFER:
            if (!slot_set_buffer(slot))
                return;
            slot_next(slot, NVME_SUCCESS);
            break;
        case TARGET_FETCH:
            slot_fetch(slot);
            return;
        case TARGET_PUT:
            slot_put(slot);
            slot_next(slot, NVME_SUCCESS);
            break;
        case TARGET_DISK:
            if (slot_needs_worker(slot)) {
                pair_ref(pair);
                worker_queue(&pair->target->workers, &slot->work, slot_on_worker, slot);
                return;
            }
            slot_next(slot, slot->may_use_disk ? slot_use_disk(slot) : NVME_ABORT_REQUESTED);
            break;
        case TARGET_WAIT:
            return;
        case TARGET_COMPLETE:
            slot_complete(slot);
            return;
        case TARGET_DISCONNECT:
            pair_abort(pair, slot->command.reason);
            return;
        }
    }
    slot_end_disk(slot);
}

/*
 * Ends the buffer's registration, posts the receive again, and sends the response. transfer_on_sent frees the slot when
 * the send has completed.
 */
static void slot_complete(struct pair_slot *slot)
{
    struct target_pair *pair = slot->pair;
    NDK_QP *qp = pair->qp;
    NDK_SGE sge = target_memory_sge(&pair->messages, slot->response, sizeof *slot->response);
    NTSTATUS status = STATUS_SUCCESS;

    *slot->response = slot->command.completion;
    if (slot->is_registered)
        status = target_memory_invalidate(&slot->buffer->memory, qp);
    slot->is_registered = false;
    if (NT_SUCCESS(status)) {
        status = receive_post(pair, slot->receive);
        if (NT_SUCCESS(status))
            slot->receive = NULL;
    }
    if (NT_SUCCESS(status) && slot->command.invalidate)
        status = qp->Dispatch->NdkSendAndInvalidate(qp, slot, &sge, 1, 0, slot->command.invalidate_key);
    else if (NT_SUCCESS(status))
        status = qp->Dispatch->NdkSend(qp, slot, &sge, 1, 0);
    if (NT_SUCCESS(status))
        pair->n_unanswered--;
    else
        pair_abort(pair, "a response could not be posted");
}

/* ---- Results ----------------------------------------------------------------------------------------------------- */

/* Handles a received message. With an SRQ, only the check in this function limits the number of a host's messages. */
static void transfer_on_received(struct target_pair *pair, struct target_receive *receive, uint32_t len)
{
    receive->len = len;
    received_push(&pair->received, receive);
    if (++pair->n_unanswered > pair->n_receives)
        pair_abort(pair, "the host has sent more commands than it may");
    transfer_start(pair);
}

static void transfer_on_read(struct target_pair *pair, struct pair_slot *slot)
{
    struct pair_slot *waiting = pair_slots_pop(&pair->needs_read);

    pair->reads_left++;
    if (waiting)
        slot_run(waiting);
    slot_next(slot, NVME_SUCCESS);
    slot_run(slot);
}

static void transfer_on_sent(struct target_pair *pair, struct pair_slot *slot)
{
    slot_return_buffer(slot);
    pair_slots_push(&pair->free_slots, slot);
    transfer_start(pair);
}

/* Returns a text for the log that describes why a request has failed. */
static const char *transfer_failure(const NDK_RESULT_EX *result)
{
    switch (result->Status) {
    case STATUS_ACCESS_VIOLATION:
    case STATUS_REMOTE_RESOURCES:
        return "the host's memory cannot be accessed: wrong key or range";
    case STATUS_DATA_OVERRUN:
        return "a message is longer than a capsule";
    default:
        return "the connection was lost";
    }
}

/*
 * Handles the result of a request. A silent request has a result only if it failed, and that result has no context.
 * After the queue pair has ended, this function only collects completed receives in pair->received, and
 * pair_memory_fini posts them to the SRQ again.
 */
static void transfer_on_result(struct target_pair *pair, const NDK_RESULT_EX *result)
{
    bool is_receive = result->Type == NdkOperationTypeReceive || result->Type == NdkOperationTypeReceiveAndInvalidate;

    if (!NT_SUCCESS(result->Status))
        pair_abort(pair, transfer_failure(result));
    else if (result->Type == NdkOperationTypeReceiveAndInvalidate)
        pair_abort(pair, "the host has invalidated memory of the target");
    if (pair->state == PAIR_ENDED) {
        if (is_receive)
            received_push(&pair->received, result->RequestContext);
        return;
    }
    if (is_receive)
        transfer_on_received(pair, result->RequestContext, result->BytesTransferred);
    else if (result->Type == NdkOperationTypeRead)
        transfer_on_read(pair, result->RequestContext);
    else
        transfer_on_sent(pair, result->RequestContext);
}

/* Reads a limited number of results, because a host could cause new results as fast as they are read. */
void transfer_poll(struct target_pair *pair)
{
    uint32_t limit = pair_cq_depth(pair), polled, count;
    NDK_RESULT_EX results[16];

    for (polled = 0; polled < limit; polled += count) {
        count = pair->cq->Dispatch->NdkGetCqResultsEx(pair->cq, results, 16);
        for (uint32_t i = 0; i < count; i++)
            transfer_on_result(pair, &results[i]);
        if (count == 0)
            break;
    }
}
