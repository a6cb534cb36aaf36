/* SPDX-License-Identifier: MIT */
/*
 * Checks the configuration, and manages the tables of controllers and queues. Connect of an admin queue creates a
 * controller. The controller is `closing` after its admin queue has closed. Its table entry is free again when its last
 * queue has closed and its last write has ended (drain.c). Invariant: a queue is in the table of a controller exactly
 * while queue->controller points to the controller.
 */
#include "internal.h"

/* ---- Configuration ---- */

static bool subsystem_has_text(const char *text, size_t size, bool may_be_empty)
{
    size_t len = 0;

    while (len < size && text[len] != 0) {
        if (text[len] < 0x20 || text[len] > 0x7e)
            return false;
        len++;
    }
    return len < size && (len > 0 || may_be_empty);
}
#define SUBSYSTEM_HAS_TEXT(member) subsystem_has_text(member, sizeof(member), false)

static bool bytes_are_zero(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

static const char *subsystem_check_namespaces(const struct target_subsystem *subsystem)
{
    uint32_t last = 0;

    if (subsystem->n_namespaces > TARGET_MAX_NAMESPACES)
        return "too many namespaces";
    for (uint32_t i = 0; i < subsystem->n_namespaces; i++) {
        const struct target_namespace *ns = &subsystem->namespaces[i];

        if (ns->nsid <= last || ns->nsid >= NVME_ALL_NAMESPACES - 1)
            return "the namespaces' numbers do not ascend from 1";
        if (ns->block_shift < 9 || ns->block_shift > 12)
            return "a namespace's block size is not 512 to 4096 bytes";
        if (ns->blocks == 0 || ns->blocks > (uint64_t)INT64_MAX >> ns->block_shift)
            return "a namespace is empty or too large";
        if (bytes_are_zero(ns->nguid, sizeof ns->nguid) && bytes_are_zero(ns->eui64, sizeof ns->eui64) &&
            bytes_are_zero(ns->uuid, sizeof ns->uuid))
            return "a namespace has no identifier";
        last = ns->nsid;
    }
    return NULL;
}

static const char *subsystem_check_limits(const struct target_subsystem *subsystem)
{
    uint32_t transfer = subsystem->max_transfer;

    if (subsystem->max_controllers == 0 || subsystem->max_controllers > NVME_MAX_CNTLID)
        return "the number of controllers is 0 or too large";
    if (subsystem->max_io_queues == 0 || subsystem->max_io_queues > TARGET_MAX_IO_QUEUES)
        return "the number of I/O queues is 0 or too large";
    if (subsystem->max_queues < 2)
        return "there are less than two queues";
    if (subsystem->max_entries < 2 || subsystem->max_entries > NVME_RDMA_MAX_QUEUE_ENTRIES)
        return "the number of entries of an I/O queue is less than 2 or too large";
    if (transfer < 2 * NVME_PAGE_SIZE || transfer > 8u << 20 || (transfer & (transfer - 1)) != 0)
        return "the largest transfer is not a power of two from 8 KiB to 8 MiB";
    if (subsystem->max_capsule_data > 65536 || subsystem->max_capsule_data % NVME_CAPSULE_UNIT != 0)
        return "the data in a capsule are not a multiple of 16 bytes, or too large";
    return NULL;
}

const char *target_subsystem_init(struct target_subsystem *subsystem)
{
    const char *fault;

    if (!SUBSYSTEM_HAS_TEXT(subsystem->nqn) || strcmp(subsystem->nqn, NVME_DISCOVERY_NQN) == 0)
        return "the subsystem's qualified name is empty, too long or the one of discovery";
    if (!SUBSYSTEM_HAS_TEXT(subsystem->serial))
        return "the serial number is empty or too long";
    if (!SUBSYSTEM_HAS_TEXT(subsystem->model))
        return "the model is empty or too long";
    if (!SUBSYSTEM_HAS_TEXT(subsystem->firmware))
        return "the firmware revision is empty or too long";
    fault = subsystem_check_namespaces(subsystem);
    if (!fault)
        fault = subsystem_check_limits(subsystem);
    if (fault)
        return fault;
    for (uint32_t i = 0; i < subsystem->n_ports; i++) {
        const struct target_port *port = &subsystem->ports[i];

        if ((port->family != NVME_ADRFAM_IPV4 && port->family != NVME_ADRFAM_IPV6) ||
            !SUBSYSTEM_HAS_TEXT(port->address) || !SUBSYSTEM_HAS_TEXT(port->service))
            return "a port has no family, address or service";
    }
    for (uint32_t i = 0; i < subsystem->n_hosts; i++) {
        if (!subsystem_has_text(subsystem->hosts[i], NVME_NQN_SIZE, false))
            return "a host's qualified name is empty or too long";
    }
    memset(subsystem->controllers, 0, subsystem->max_controllers * sizeof subsystem->controllers[0]);
    subsystem->last_cntlid = 0;
    subsystem->discovery_generation = 1;
    subsystem->writes = NULL;
    subsystem->n_enables = 0;
    return NULL;
}

struct target_namespace *target_namespace_find(const struct target_subsystem *subsystem, uint32_t nsid)
{
    for (uint32_t i = 0; i < subsystem->n_namespaces; i++) {
        struct target_namespace *ns = &subsystem->namespaces[i];

        if (ns->nsid == nsid)
            return ns->attached ? ns : NULL;
    }
    return NULL;
}

bool target_host_is_allowed(const struct target_subsystem *subsystem, const uint8_t *host_nqn_field)
{
    for (uint32_t i = 0; i < subsystem->n_hosts; i++) {
        if (nvme_nqn_equal(host_nqn_field, subsystem->hosts[i]))
            return true;
    }
    return subsystem->n_hosts == 0;
}

void target_namespace_changed(struct target_subsystem *subsystem, const struct target_namespace *ns)
{
    uint64_t bit = UINT64_C(1) << (ns - subsystem->namespaces);

    for (uint32_t i = 0; i < subsystem->max_controllers; i++) {
        struct target_controller *controller = &subsystem->controllers[i];

        if (!controller->in_use || controller->discovery)
            continue;
        controller->namespaces_changed |= bit;
        target_event_raise(controller, NVME_EVENT_NAMESPACE_CHANGED);
    }
}

void target_ports_changed(struct target_subsystem *subsystem)
{
    subsystem->discovery_generation++;
    for (uint32_t i = 0; i < subsystem->max_controllers; i++) {
        struct target_controller *controller = &subsystem->controllers[i];

        if (controller->in_use && controller->discovery)
            target_event_raise(controller, NVME_EVENT_DISCOVERY_CHANGED);
    }
}

void target_fill_text(char *field, size_t size, const char *text, char fill)
{
    size_t len = strlen(text);

    if (len > size)
        len = size;
    memcpy(field, text, len);
    memset(field + len, fill, size - len);
}

/* ---- Controllers ---- */

struct target_controller *target_controller_find(const struct target_subsystem *subsystem, uint16_t cntlid)
{
    for (uint32_t i = 0; i < subsystem->max_controllers; i++) {
        struct target_controller *controller = &subsystem->controllers[i];

        if (controller->in_use && controller->cntlid == cntlid)
            return controller;
    }
    return NULL;
}

/*
 * Returns the next unused controller number, and continues with 1 after the highest number. An unused number always
 * exists, because there are more numbers than controllers.
 */
static uint16_t subsystem_next_cntlid(struct target_subsystem *subsystem)
{
    do
        subsystem->last_cntlid = subsystem->last_cntlid >= NVME_MAX_CNTLID ? 1 : subsystem->last_cntlid + 1;
    while (target_controller_find(subsystem, subsystem->last_cntlid));
    return subsystem->last_cntlid;
}

struct target_controller *target_controller_create(struct target_subsystem *subsystem, uint64_t now_ms)
{
    uint16_t cntlid;

    for (uint32_t i = 0; i < subsystem->max_controllers; i++) {
        struct target_controller *controller = &subsystem->controllers[i];

        if (controller->in_use)
            continue;
        cntlid = subsystem_next_cntlid(subsystem);
        memset(controller, 0, sizeof *controller);
        controller->in_use = true;
        controller->cntlid = cntlid;
        controller->subsystem = subsystem;
        controller->n_io_queues = subsystem->max_io_queues;
        controller->start_ms = controller->last_ms = now_ms;
        target_feature_init(controller);
        return controller;
    }
    return NULL;
}

void target_controller_join(struct target_controller *controller, struct target_queue *queue)
{
    queue->controller = controller;
    controller->queues[queue->qid] = queue;
    controller->n_queues++;
}

bool target_controller_is_ready(const struct target_controller *controller)
{
    return (controller->cc & NVME_CC_ENABLE) && (controller->csts & NVME_CSTS_READY);
}

void target_controller_reset(struct target_controller *controller)
{
    target_event_abort_all(controller);
    controller->events_pending = controller->events_masked = controller->event_config = 0;
    controller->namespaces_changed = 0;
    controller->n_io_queues = controller->subsystem->max_io_queues;
    controller->has_reserved_queues = false;
    target_feature_init(controller);
    for (uint32_t qid = 1; qid <= TARGET_MAX_IO_QUEUES; qid++) {
        if (controller->queues[qid])
            controller->queues[qid]->closed = true;
    }
}

bool target_controller_has_expired(const struct target_controller *controller, uint64_t now_ms)
{
    uint64_t idle_ms = now_ms > controller->last_ms ? now_ms - controller->last_ms : 0;

    if (!controller->in_use)
        return false;
    if (controller->kato_ms == 0)
        return controller->discovery && idle_ms > TARGET_DISCOVERY_MS;
    /* A host may omit a keep-alive if the host has sent other commands since the previous one was due. */
    return idle_ms > UINT64_C(2) * controller->kato_ms;
}

void target_controller_log_error(struct target_controller *controller, const struct target_command *command,
                                 uint16_t status)
{
    struct nvme_error_entry *entry = &controller->errors[controller->n_errors % TARGET_ERROR_ENTRIES];
    bool io = command->queue->qid != 0;

    memset(entry, 0, sizeof *entry);
    entry->count = ++controller->n_errors;
    entry->sqid = command->queue->qid;
    entry->cid = command->sqe.cid;
    entry->status = (uint16_t)(status << 1);
    entry->location = command->location;
    entry->lba = io ? command->sqe.io.lba : 0;
    entry->nsid = io ? command->sqe.nsid : 0;
    entry->transport = NVME_TRTYPE_RDMA;
}

/* ---- Queues ---- */

enum nvme_rdma_status target_queue_init(struct target_queue *queue, struct target_subsystem *subsystem,
                                        const void *private_data, size_t len, uint64_t now_ms)
{
    struct nvme_rdma_queue request;
    enum nvme_rdma_status status = nvme_rdma_request_parse(&request, private_data, len);
    void *context = queue->context;

    if (status != NVME_RDMA_OK)
        return status;
    if (request.qid > subsystem->max_io_queues)
        return NVME_RDMA_INVALID_QID;
    if (request.qid != 0 && request.commands > subsystem->max_entries)
        return NVME_RDMA_INVALID_HSQSIZE;
    memset(queue, 0, sizeof *queue);
    queue->context = context;
    queue->subsystem = subsystem;
    queue->qid = request.qid;
    queue->cntlid = request.cntlid;
    queue->commands = request.commands;
    queue->start_ms = now_ms;
    return NVME_RDMA_OK;
}

void target_queue_close(struct target_queue *queue)
{
    struct target_controller *controller = queue->controller;

    queue->closed = true;
    if (!controller)
        return;
    queue->controller = NULL;
    controller->queues[queue->qid] = NULL;
    controller->n_queues--;
    if (queue->qid == 0) {
        controller->closing = true;
        controller->n_waiting = controller->n_ready = 0;
    }
    target_controller_release(controller);
}

bool target_queue_has_expired(const struct target_queue *queue, uint64_t now_ms)
{
    return !queue->controller && !queue->closed && now_ms > queue->start_ms &&
           now_ms - queue->start_ms > TARGET_CONNECT_MS;
}
