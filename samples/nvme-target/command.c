/* SPDX-License-Identifier: MIT */
/*
 * Begins, continues and completes commands. This file has the steps that all commands share. A command passes through
 * these phases. A command without data, or with data in the capsule, skips the phases that it does not need.
 *
 *   phase    the transport now                   next phase
 *   BUFFER   provides a buffer                   FETCH or RUN
 *   FETCH    fetches the data from the host      RUN
 *   RUN      does what the operation requests    RUN, PUT, WAIT or END
 *   PUT      writes the data to the host         END
 *   WAIT     keeps the command (event.c)         END
 *   END      completes or disconnects            none
 *
 * Invariant: before any data are used, command_check_data has compared their length with the SGL, with the buffer and
 * with the received capsule.
 */
#include "internal.h"

enum command_phase {
    PHASE_END,
    PHASE_BUFFER,
    PHASE_FETCH,
    PHASE_RUN,
    PHASE_PUT,
    PHASE_WAIT,
};

#define NO_LOCATION 0xffff

/* ---- Ending a command ---- */

enum target_action target_complete(struct target_command *command, uint16_t status)
{
    struct target_queue *queue = command->queue;

    if (status != NVME_SUCCESS && status != NVME_ABORT_REQUESTED && queue->controller) {
        target_controller_log_error(queue->controller, command, status);
        status |= NVME_MORE;
    }
    if (command->operation == &target_fabrics_operations[TARGET_CONNECT])
        queue->connecting = false;
    command->phase = PHASE_END;
    command->completion.sq_id = queue->qid;
    command->completion.cid = command->sqe.cid;
    command->completion.status = (uint16_t)(status << 1);
    if (command->completion.sq_head != NVME_SQ_HEAD_NONE)
        command->completion.sq_head = queue->sq_head;
    queue->inflight--;
    return command->action = TARGET_COMPLETE;
}

enum target_action target_disconnect(struct target_command *command, const char *reason)
{
    command->queue->closed = true;
    command->phase = PHASE_END;
    command->reason = reason;
    return command->action = TARGET_DISCONNECT;
}

uint16_t target_reject(struct target_command *command, uint16_t status, size_t location)
{
    command->location = (uint16_t)location;
    return status | NVME_DNR;
}

enum target_action target_wait(struct target_command *command)
{
    command->phase = PHASE_WAIT;
    return command->action = TARGET_WAIT;
}

/* ---- Data ---- */

static bool command_is_to_host(const struct target_command *command)
{
    return (command->operation->opcode & NVME_OPCODE_TO_HOST) != 0;
}

static void command_set_transfer(struct target_command *command, uint32_t offset, uint8_t *data, uint32_t length)
{
    /*
     * The sum may wrap. The host's adapter checks the range against the key, so this side need not check the address.
     */
    command->transfer.address = command->sgl.address + offset;
    command->transfer.key = command->sgl.key;
    command->transfer.length = length;
    command->transfer.data = data;
}

enum target_action target_put(struct target_command *command)
{
    command_set_transfer(command, 0, command->data, command->data_len);
    command->phase = PHASE_PUT;
    return command->action = TARGET_PUT;
}

enum target_action target_fetch(struct target_command *command, uint32_t offset, uint8_t *data, uint32_t length)
{
    command_set_transfer(command, offset, data, length);
    return command->action = TARGET_FETCH;
}

/*
 * Checks the SGL of a command with data. If the capsule contains the data, sets command->data. Returns
 * NVME_SUCCESS or the status with which the command fails.
 */
static uint16_t command_check_data(struct target_command *command)
{
    const struct target_subsystem *subsystem = command->queue->subsystem;
    const size_t location = offsetof(struct nvme_command, sgl);
    uint16_t status = nvme_sgl_parse(&command->sgl, &command->sqe.sgl);

    if (status != NVME_SUCCESS)
        return target_reject(command, status, location + 15);
    /* The response invalidates the key on the host's request even if the command fails, so the key is stored first. */
    if (command->sgl.kind == NVME_SGL_KIND_HOST && command->sgl.invalidate) {
        command->invalidate = true;
        command->invalidate_key = command->sgl.key;
    }
    if (command->data_len > subsystem->max_transfer)
        return target_reject(command, NVME_INVALID_FIELD, NO_LOCATION);
    if (command->sgl.length < command->data_len ||
        (command->sgl.length > command->data_len && !(command->operation->flags & OPERATION_LONG_SGL)))
        return target_reject(command, NVME_DATA_SGL_LENGTH_INVALID, location + 8);
    if (command->sgl.kind == NVME_SGL_KIND_HOST)
        return NVME_SUCCESS;
    if (command_is_to_host(command))
        return target_reject(command, NVME_SGL_TYPE_INVALID, location + 15);
    if (!nvme_sgl_in_capsule(&command->sgl, command->capsule_len))
        return target_reject(command, NVME_SGL_OFFSET_INVALID, location);
    command->data = command->capsule + command->sgl.address;
    return NVME_SUCCESS;
}

/* Returns the number of bytes that the command needs in a buffer, or 0 if the command needs no buffer. */
static uint32_t command_buffer_size(const struct target_command *command)
{
    uint32_t max = command->queue->subsystem->max_transfer;

    if (command->operation->flags & OPERATION_FETCHES) {
        if (command->data)
            return command->data_len;
        return command->data_len < max / 2 ? 2 * command->data_len : max;
    }
    return command->data ? 0 : command->data_len;
}

/* ---- Continuing ---- */

static enum target_action command_run(struct target_command *command)
{
    command->phase = PHASE_RUN;
    return command->operation->run(command);
}

/*
 * Starts the fetch of the command's data from the host, or runs the operation if no data must be fetched first.
 * Requires command->buffer if command_buffer_size is not 0.
 */
static enum target_action command_fetch(struct target_command *command)
{
    if (command->data_len == 0 || command->data || (command->operation->flags & OPERATION_FETCHES))
        return command_run(command);
    command->data = command->buffer;
    if (command_is_to_host(command))
        return command_run(command);
    command->phase = PHASE_FETCH;
    return target_fetch(command, 0, command->data, command->data_len);
}

static enum target_action command_start(struct target_command *command)
{
    uint16_t status = command->operation->prepare(command);

    if (status == NVME_SUCCESS && command->data_len > 0)
        status = command_check_data(command);
    if (status != NVME_SUCCESS)
        return target_complete(command, status);
    command->buffer_needed = command_buffer_size(command);
    if (command->buffer_needed == 0 || (command->buffer && command->buffer_size >= command->buffer_needed))
        return command_fetch(command);
    command->phase = PHASE_BUFFER;
    return command->action = TARGET_BUFFER;
}

enum target_action target_command_next(struct target_command *command, uint16_t status)
{
    struct target_queue *queue = command->queue;

    target_disk_end(command);
    if (queue->closed)
        return target_disconnect(command, "the queue is closed");
    if (status != NVME_SUCCESS) {
        if ((status & NVME_STATUS_TYPE_MASK) == NVME_STATUS_TYPE_MEDIA && queue->controller)
            queue->controller->media_errors++;
        return target_complete(command, status);
    }
    switch ((enum command_phase)command->phase) {
    case PHASE_BUFFER:
        if (!command->buffer || command->buffer_size < command->buffer_needed)
            return target_complete(command, NVME_INTERNAL_ERROR);
        return command_fetch(command);
    case PHASE_FETCH:
    case PHASE_RUN:
        return command_run(command);
    case PHASE_PUT:
        return target_complete(command, NVME_SUCCESS);
    case PHASE_WAIT:
    case PHASE_END:
        break;
    }
    return target_disconnect(command, "the transport continued a command that has no next action");
}

/* ---- Beginning ---- */

/* Returns NULL if the capsule is valid. Otherwise returns a text: the reason why the connection must be closed. */
static const char *command_check_capsule(const struct target_queue *queue, size_t len)
{
    if (queue->closed)
        return "the queue is closed";
    if (queue->controller && queue->controller->closing)
        return "the controller's admin queue has closed";
    if (len < sizeof(struct nvme_command))
        return "a capsule is shorter than a command";
    if (len > sizeof(struct nvme_command) + queue->subsystem->max_capsule_data)
        return "a capsule is longer than announced";
    if (queue->inflight >= (queue->controller ? queue->entries : queue->commands))
        return "the host has more commands outstanding than the queue has entries";
    return NULL;
}

static const struct target_operation *command_search(const struct target_operation *operations, size_t count,
                                                     uint8_t opcode)
{
    for (size_t i = 0; i < count; i++) {
        if (operations[i].opcode == opcode)
            return &operations[i];
    }
    return NULL;
}

static const struct target_operation *command_search_admin(const struct nvme_command *sqe)
{
    static const struct target_operation *const admin[] = {
        &target_get_log_page, &target_identify,    &target_set_features, &target_get_features,
        &target_abort,        &target_async_event, &target_keep_alive,
    };

    if (sqe->opcode == NVME_FABRICS)
        return command_search(target_fabrics_operations, COUNT(target_fabrics_operations), sqe->fabrics_type);
    for (size_t i = 0; i < COUNT(admin); i++) {
        if (admin[i]->opcode == sqe->opcode)
            return admin[i];
    }
    return NULL;
}

/*
 * Sets command->operation. Returns NVME_SUCCESS, or the status with which the command fails in the queue's present
 * state.
 */
static uint16_t command_find_operation(struct target_command *command)
{
    const struct target_queue *queue = command->queue;
    const struct nvme_command *sqe = &command->sqe;
    bool fabrics = sqe->opcode == NVME_FABRICS;
    bool connect = fabrics && sqe->fabrics_type == NVME_FABRICS_CONNECT;

    /* A queue's first command must be Connect, and no later command may be Connect. */
    if (connect ? queue->controller || queue->connecting : !queue->controller)
        return target_reject(command, NVME_COMMAND_SEQUENCE_ERROR, 0);
    if (connect || queue->qid == 0)
        command->operation = command_search_admin(sqe);
    else
        command->operation = command_search(target_io_operations, COUNT(target_io_operations), sqe->opcode);
    if (!command->operation ||
        (!connect && queue->controller->discovery && !(command->operation->flags & OPERATION_DISCOVERY)))
        return target_reject(command, NVME_INVALID_OPCODE, fabrics ? 4 : 0);
    if (!fabrics && !target_controller_is_ready(queue->controller))
        return target_reject(command, NVME_COMMAND_SEQUENCE_ERROR, 0);
    if ((sqe->flags & (NVME_FLAGS_PSDT | NVME_FLAGS_FUSED)) != NVME_FLAGS_SGL)
        return TARGET_REJECT_FIELD(command, flags);
    return NVME_SUCCESS;
}

/* Clears the command's members except those that the transport sets. */
static void command_clear(struct target_command *command)
{
    struct target_command fresh = {
        .queue = command->queue,
        .buffer = command->buffer,
        .buffer_size = command->buffer_size,
        .context = command->context,
        .location = NO_LOCATION,
        .write.n_enables = command->queue->subsystem->n_enables,
    };

    *command = fresh;
}

enum target_action target_command_begin(struct target_command *command, uint8_t *capsule, size_t len, uint64_t now_ms)
{
    struct target_queue *queue = command->queue;
    struct target_controller *controller = queue->controller;
    const char *reason;
    uint16_t status;

    command_clear(command);
    reason = command_check_capsule(queue, len);
    if (reason)
        return target_disconnect(command, reason);
    memcpy(&command->sqe, capsule, sizeof command->sqe);
    command->capsule = capsule + sizeof command->sqe;
    command->capsule_len = (uint32_t)(len - sizeof command->sqe);
    command->begun_ms = now_ms;
    queue->inflight++;
    if (controller) {
        if (!queue->no_flow_control)
            queue->sq_head = (uint16_t)((queue->sq_head + 1u) % queue->entries);
        if (controller->last_ms < now_ms)
            controller->last_ms = now_ms;
    }
    status = command_find_operation(command);
    if (status != NVME_SUCCESS)
        return target_complete(command, status);
    return command_start(command);
}
