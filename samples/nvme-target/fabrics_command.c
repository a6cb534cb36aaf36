/* SPDX-License-Identifier: MIT */
/*
 * Executes Connect, Property Get and Property Set. Connect of an admin queue creates a controller. Connect of an I/O
 * queue adds the queue to the controller that the host names. Invariant: a queue joins only a controller that the same
 * host has created, and no two queues of a controller have the same number.
 */
#include "internal.h"

/* ---- Connect ---- */

/*
 * Rejects a Connect because of a field in the command. Stores the field's `offset` in the completion, and returns the
 * status.
 */
static uint16_t connect_reject_command(struct target_command *command, size_t offset)
{
    command->completion.result = (uint32_t)offset;
    return target_reject(command, NVME_CONNECT_INVALID_PARAMETERS, offset);
}

static uint16_t connect_reject_data(struct target_command *command, size_t offset)
{
    command->completion.result = (uint32_t)offset | NVME_CONNECT_IN_DATA;
    return target_reject(command, NVME_CONNECT_INVALID_PARAMETERS, offset);
}
#define CONNECT_REJECT_DATA(command, field) connect_reject_data(command, offsetof(struct nvme_connect_data, field))

static uint16_t connect_prepare(struct target_command *command)
{
    struct target_queue *queue = command->queue;
    const struct nvme_command *sqe = &command->sqe;

    if (sqe->connect.record_format != 0)
        return target_reject(command, NVME_CONNECT_INCOMPATIBLE_FORMAT, offsetof(struct nvme_command, connect));
    if (sqe->connect.qid != queue->qid)
        return connect_reject_command(command, offsetof(struct nvme_command, connect.qid));
    /* A queue has at least two entries, and at most as many entries as this side has posted receives. */
    if (sqe->connect.sqsize == 0 || sqe->connect.sqsize >= queue->commands)
        return connect_reject_command(command, offsetof(struct nvme_command, connect.sqsize));
    command->data_len = sizeof(struct nvme_connect_data);
    queue->connecting = true;
    return NVME_SUCCESS;
}

static uint16_t connect_admin(struct target_command *command, const struct nvme_connect_data *data)
{
    struct target_subsystem *subsystem = command->queue->subsystem;
    struct target_controller *controller;
    bool discovery = nvme_nqn_equal(data->subsystem_nqn, NVME_DISCOVERY_NQN);

    if (!discovery && !nvme_nqn_equal(data->subsystem_nqn, subsystem->nqn))
        return CONNECT_REJECT_DATA(command, subsystem_nqn);
    if (!discovery && !target_host_is_allowed(subsystem, data->host_nqn))
        return NVME_CONNECT_INVALID_HOST | NVME_DNR;
    if (data->cntlid != NVME_CNTLID_DYNAMIC)
        return CONNECT_REJECT_DATA(command, cntlid);
    controller = target_controller_create(subsystem, command->begun_ms);
    if (!controller)
        return NVME_CONNECT_CONTROLLER_BUSY;
    controller->discovery = discovery;
    memcpy(controller->host_nqn, data->host_nqn, NVME_NQN_SIZE);
    memcpy(controller->host_id, data->host_id, NVME_HOST_ID_SIZE);
    controller->kato_ms = command->sqe.connect.kato;
    target_controller_join(controller, command->queue);
    return NVME_SUCCESS;
}

static uint16_t connect_io(struct target_command *command, const struct nvme_connect_data *data)
{
    struct target_queue *queue = command->queue;
    struct target_controller *controller = target_controller_find(queue->subsystem, data->cntlid);

    if (!controller || controller->closing || (queue->cntlid != 0 && queue->cntlid != data->cntlid))
        return CONNECT_REJECT_DATA(command, cntlid);
    if (controller->discovery || !nvme_nqn_equal(data->subsystem_nqn, queue->subsystem->nqn))
        return CONNECT_REJECT_DATA(command, subsystem_nqn);
    if (!nvme_nqn_equal(data->host_nqn, controller->host_nqn))
        return CONNECT_REJECT_DATA(command, host_nqn);
    if (memcmp(data->host_id, controller->host_id, NVME_HOST_ID_SIZE) != 0)
        return CONNECT_REJECT_DATA(command, host_id);
    if (queue->qid > controller->n_io_queues)
        return connect_reject_command(command, offsetof(struct nvme_command, connect.qid));
    if (!target_controller_is_ready(controller) || controller->queues[queue->qid])
        return target_reject(command, NVME_COMMAND_SEQUENCE_ERROR, 0);
    target_controller_join(controller, queue);
    return NVME_SUCCESS;
}

static enum target_action connect_run(struct target_command *command)
{
    struct target_queue *queue = command->queue;
    struct nvme_connect_data data;
    uint16_t status;

    memcpy(&data, command->data, sizeof data);
    if (!nvme_nqn_is_valid(data.subsystem_nqn))
        status = CONNECT_REJECT_DATA(command, subsystem_nqn);
    else if (!nvme_nqn_is_valid(data.host_nqn))
        status = CONNECT_REJECT_DATA(command, host_nqn);
    else if (queue->qid == 0)
        status = connect_admin(command, &data);
    else
        status = connect_io(command, &data);
    if (status != NVME_SUCCESS)
        return target_complete(command, status);

    queue->entries = command->sqe.connect.sqsize + 1u;
    queue->no_flow_control = (command->sqe.connect.attributes & NVME_CONNECT_NO_FLOW_CONTROL) != 0;
    queue->sq_head = queue->no_flow_control ? 0 : (uint16_t)(1 % queue->entries);
    command->completion.sq_head = queue->no_flow_control ? NVME_SQ_HEAD_NONE : 0;
    command->completion.result = queue->controller->cntlid;
    return target_complete(command, NVME_SUCCESS);
}

/* ---- Properties ---- */

static uint64_t property_cap(const struct target_subsystem *subsystem)
{
    return (subsystem->max_entries - 1u) | NVME_CAP_CQR | UINT64_C(30) << NVME_CAP_TO_SHIFT | NVME_CAP_CSS_NVM;
}

static uint16_t property_get_prepare(struct target_command *command)
{
    struct target_controller *controller = command->queue->controller;
    const struct nvme_command *sqe = &command->sqe;
    uint8_t size = NVME_PROPERTY_SIZE_4;
    uint64_t value;

    switch (sqe->property.offset) {
    case NVME_PROPERTY_CAP:
        size = NVME_PROPERTY_SIZE_8;
        value = property_cap(command->queue->subsystem);
        break;
    case NVME_PROPERTY_VS:
        value = NVME_VERSION_1_4;
        break;
    case NVME_PROPERTY_CC:
        value = controller->cc;
        break;
    case NVME_PROPERTY_CSTS:
        target_controller_update(controller);
        value = controller->csts;
        break;
    default:
        return TARGET_REJECT_FIELD(command, property.offset);
    }
    if ((sqe->property.size & 7) != size)
        return TARGET_REJECT_FIELD(command, property.size);
    command->completion.result64 = value;
    return NVME_SUCCESS;
}

static enum target_action property_get_run(struct target_command *command)
{
    return target_complete(command, NVME_SUCCESS);
}

static uint16_t property_set_prepare(struct target_command *command)
{
    const struct nvme_command *sqe = &command->sqe;

    if (sqe->property.offset != NVME_PROPERTY_CC)
        return TARGET_REJECT_FIELD(command, property.offset);
    if ((sqe->property.size & 7) != NVME_PROPERTY_SIZE_4)
        return TARGET_REJECT_FIELD(command, property.size);
    return NVME_SUCCESS;
}

static bool property_cc_is_valid(const struct target_controller *controller, uint32_t cc)
{
    if (cc & (NVME_CC_CSS_MASK | NVME_CC_MPS_MASK | NVME_CC_AMS_MASK))
        return false;
    /* A discovery controller has no I/O queues, so the sizes of their entries do not matter. */
    return controller->discovery || ((cc >> NVME_CC_IOSQES_SHIFT & 15) == 6 && (cc >> NVME_CC_IOCQES_SHIFT & 15) == 4);
}

static void property_set_cc(struct target_controller *controller, uint32_t cc)
{
    uint32_t old = controller->cc;

    controller->cc = cc;
    if ((cc & NVME_CC_ENABLE) && !(old & NVME_CC_ENABLE)) {
        if (property_cc_is_valid(controller, cc))
            target_controller_enable(controller);
        else
            controller->csts = NVME_CSTS_FATAL;
    }
    if (!(cc & NVME_CC_ENABLE) && (old & NVME_CC_ENABLE)) {
        controller->csts &= NVME_CSTS_READY;
        target_controller_reset(controller);
    }
    target_controller_update(controller);
}

/* Writes a property. If the write starts a normal shutdown, flushes the namespaces first. */
static enum target_action property_set_run(struct target_command *command)
{
    uint32_t cc = (uint32_t)command->sqe.property.value;

    if ((cc & NVME_CC_SHUTDOWN_MASK) == NVME_CC_SHUTDOWN_NORMAL && !command->queue->controller->discovery &&
        target_flush_next(command))
        return command->action;
    property_set_cc(command->queue->controller, cc);
    return target_complete(command, NVME_SUCCESS);
}

const struct target_operation target_fabrics_operations[3] = {
    [TARGET_CONNECT] = { NVME_FABRICS_CONNECT, OPERATION_DISCOVERY, connect_prepare, connect_run },
    { NVME_FABRICS_PROPERTY_GET, OPERATION_DISCOVERY, property_get_prepare, property_get_run },
    { NVME_FABRICS_PROPERTY_SET, OPERATION_DISCOVERY, property_set_prepare, property_set_run },
};
