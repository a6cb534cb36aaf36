/* SPDX-License-Identifier: MIT */
/* The target without network of rig.h, for the tests and the fuzzer of the target's protocol. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvme/rig.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_ACTIONS 1000 /* more than any command takes: 256 ranges */

static void require(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "rig: %s\n", what);
    abort();
}

static void *allocate(size_t len)
{
    void *bytes = calloc(1, len ? len : 1);

    require(bytes != NULL, "out of memory");
    return bytes;
}

/* Bytes for disks: computed once, since the fuzzer prepares the rig for each input. */
static const uint8_t *rig_pattern(void)
{
    static uint8_t pattern[RIG_DISK + 3];

    if (pattern[1] != 0)
        return pattern;
    for (unsigned byte = 0; byte < sizeof pattern; byte++)
        pattern[byte] = (uint8_t)(byte * 7 + (byte >> 9));
    return pattern;
}

void rig_init(struct rig *rig, bool volatile_cache)
{
    static const uint8_t shifts[] = { 9, 12, 9 };
    static const uint32_t nsids[] = { 1, 2, 5 };
    struct target_subsystem *subsystem = &rig->subsystem;

    memset(rig, 0, sizeof *rig);
    rig->now_ms = 1000;
    for (unsigned i = 0; i < COUNT(rig->namespaces); i++) {
        struct target_namespace *ns = &rig->namespaces[i];

        ns->nsid = nsids[i];
        ns->block_shift = shifts[i];
        ns->blocks = RIG_DISK >> shifts[i];
        ns->attached = true;
        ns->disk = rig->disks[i];
        memset(ns->uuid, 0x10 + (int)i, sizeof ns->uuid);
        memcpy(rig->disks[i], rig_pattern() + i, RIG_DISK);
    }
    rig->namespaces[1].eui64[0] = 0x21;
    rig->namespaces[1].nguid[15] = 0x22;
    rig->namespaces[2].read_only = true;
    for (unsigned i = 0; i < COUNT(rig->ports); i++) {
        rig->ports[i] = (struct target_port){ .family = NVME_ADRFAM_IPV4, .address = "192.0.2.1", .service = "4420" };
        rig->ports[i].id = (uint16_t)(i + 1);
    }
    strcpy(subsystem->nqn, RIG_NQN);
    strcpy(subsystem->serial, "0123456789");
    strcpy(subsystem->model, "Rig");
    strcpy(subsystem->firmware, "1.0");
    subsystem->namespaces = rig->namespaces;
    subsystem->n_namespaces = COUNT(rig->namespaces);
    subsystem->ports = rig->ports;
    subsystem->n_ports = COUNT(rig->ports);
    subsystem->controllers = rig->controllers;
    subsystem->max_controllers = RIG_CONTROLLERS;
    subsystem->max_io_queues = 4;
    subsystem->max_queues = RIG_QUEUES;
    subsystem->max_entries = 128;
    subsystem->max_transfer = RIG_MAX_TRANSFER;
    subsystem->max_capsule_data = RIG_CAPSULE_DATA;
    subsystem->volatile_cache = volatile_cache;
    require(target_subsystem_init(subsystem) == NULL, "the configuration is valid");
}

enum nvme_rdma_status rig_queue(struct rig *rig, unsigned index, uint16_t qid, uint32_t commands)
{
    struct nvme_rdma_queue queue = { .qid = qid, .commands = commands, .receives = commands };
    struct nvme_rdma_request request;

    nvme_rdma_request_build(&request, &queue);
    return target_queue_init(&rig->queues[index], &rig->subsystem, &request, sizeof request, rig->now_ms);
}

/* Frees the waiting command i, whose queue is closed or which has completed. */
static void rig_free_waiting(struct rig *rig, unsigned i)
{
    rig_free(rig->waiting[i]);
    rig->waiting[i] = rig->waiting[--rig->n_waiting];
}

static void rig_close_one(struct rig *rig, struct target_queue *queue)
{
    target_queue_close(queue);
    for (unsigned i = rig->n_waiting; i-- > 0;) {
        if (rig->waiting[i]->command.queue == queue)
            rig_free_waiting(rig, i);
    }
}

void rig_close(struct rig *rig, unsigned index)
{
    rig_close_one(rig, &rig->queues[index]);
    for (unsigned i = 0; i < RIG_QUEUES; i++) {
        if (rig->queues[i].controller && rig->queues[i].controller->closing)
            rig_close_one(rig, &rig->queues[i]);
    }
}

void rig_fini(struct rig *rig)
{
    for (unsigned i = 0; i < RIG_QUEUES; i++)
        rig_close(rig, i);
    require(rig->n_waiting == 0, "no command waits when all queues are closed");
    for (unsigned i = 0; i < RIG_CONTROLLERS; i++)
        require(!rig->controllers[i].in_use, "a controller is free when its queues are closed");
}

/* ---- Commands ---- */

struct nvme_command rig_command(uint8_t opcode, uint32_t nsid)
{
    struct nvme_command sqe = { .opcode = opcode, .flags = NVME_FLAGS_SGL, .cid = 0x1234, .nsid = nsid };

    nvme_sgl_build_empty(&sqe.sgl);
    return sqe;
}

void rig_set_keyed(struct nvme_command *sqe, uint64_t address, uint32_t length)
{
    struct nvme_sgl sgl = { NVME_SGL_KIND_HOST, address, length, RIG_KEY, true };

    nvme_sgl_build(&sqe->sgl, &sgl);
}

void rig_set_in_capsule(struct nvme_command *sqe, uint64_t offset, uint32_t length)
{
    struct nvme_sgl sgl = { .kind = NVME_SGL_KIND_CAPSULE, .address = offset, .length = length };

    nvme_sgl_build(&sqe->sgl, &sgl);
}

struct nvme_command rig_property_get(uint32_t offset, uint8_t size)
{
    struct nvme_command sqe = rig_command(NVME_FABRICS, NVME_FABRICS_PROPERTY_GET);

    sqe.property.offset = offset;
    sqe.property.size = size;
    return sqe;
}

struct nvme_command rig_property_set(uint32_t offset, uint8_t size, uint64_t value)
{
    struct nvme_command sqe = rig_command(NVME_FABRICS, NVME_FABRICS_PROPERTY_SET);

    sqe.property.offset = offset;
    sqe.property.size = size;
    sqe.property.value = value;
    return sqe;
}

struct nvme_command rig_io(uint8_t opcode, uint32_t nsid, uint64_t lba, uint32_t blocks)
{
    struct nvme_command sqe = rig_command(opcode, nsid);

    sqe.io.lba = lba;
    sqe.io.blocks = (uint16_t)(blocks - 1);
    if (opcode != NVME_IO_WRITE_ZEROES)
        rig_set_keyed(&sqe, 0, blocks << (nsid == 2 ? 12 : 9));
    return sqe;
}

struct nvme_command rig_connect(struct rig *rig, uint16_t qid, uint16_t cntlid, const char *nqn)
{
    static const uint8_t id[NVME_HOST_ID_SIZE] = { 0xab, 0xcd };
    const struct nvme_connect connect = { .qid = qid,
                                          .entries = 32,
                                          .cntlid = cntlid,
                                          .kato_ms = qid == 0 ? 5000 : 0,
                                          .host_id = id,
                                          .host_nqn = RIG_HOST_NQN,
                                          .subsystem_nqn = nqn };
    struct nvme_connect_data data;
    struct nvme_command sqe;

    require(nvme_connect_build(&sqe, &data, &connect), "Connect can be built");
    memcpy(rig->host, &data, sizeof data);
    sqe.cid = 0x4321;
    rig_set_keyed(&sqe, 0, sizeof data);
    return sqe;
}

/* ---- Running a command ---- */

static bool lies_in(const uint8_t *data, uint64_t len, const uint8_t *area, uint64_t area_len)
{
    return area && data >= area && len <= area_len && (uint64_t)(data - area) <= area_len - len;
}

static uint16_t rig_transfer(struct rig *rig, const struct target_command *command, struct rig_outcome *outcome)
{
    uint64_t address = command->transfer.address;
    uint32_t length = command->transfer.length;

    require(length > 0, "a transfer has bytes");
    require(length <= rig->subsystem.max_transfer, "a transfer is at most the largest");
    require(lies_in(command->transfer.data, length, command->buffer, command->buffer_size),
            "a transfer lies in the buffer");
    if (command->transfer.key != RIG_KEY || address > RIG_HOST_MEMORY || length > RIG_HOST_MEMORY - address)
        return NVME_DATA_TRANSFER_ERROR;
    if (command->action == TARGET_FETCH) {
        memcpy(command->transfer.data, rig->host + address, length);
        outcome->fetches++;
        outcome->fetched += length;
    } else {
        memcpy(rig->host + address, command->transfer.data, length);
        outcome->puts++;
    }
    return NVME_SUCCESS;
}

/* Checks a disk operation at the time at which the protocol asks for it. */
static void rig_check_disk(const struct target_command *command)
{
    const struct target_namespace *ns = command->disk.ns;
    uint64_t offset = command->disk.offset, length = command->disk.length;
    uint64_t size = ns->blocks << ns->block_shift, block = UINT64_C(1) << ns->block_shift;

    require(ns->attached, "a disk operation is for an attached namespace");
    if (command->disk.operation == TARGET_DISK_FLUSH) {
        require(offset == 0 && length == 0, "a flush has no range");
        return;
    }
    require(length > 0 && offset < size && length <= size - offset, "a disk's range lies in the namespace");
    require(offset % block == 0 && length % block == 0, "a disk's range is made of blocks");
    require(command->disk.operation == TARGET_DISK_READ || !ns->read_only, "no write to a read-only namespace");
}

static uint16_t rig_disk(const struct target_command *command, const uint8_t *capsule, size_t len,
                         struct rig_outcome *outcome)
{
    const struct target_namespace *ns = command->disk.ns;
    uint64_t offset = command->disk.offset, length = command->disk.length;
    uint8_t *disk = ns->disk, *data = command->disk.data;

    outcome->disks++;
    outcome->operation = command->disk.operation;
    outcome->nsid = ns->nsid;
    outcome->offset = offset;
    outcome->length = length;
    outcome->fua = command->disk.fua;
    if (command->disk.operation == TARGET_DISK_FLUSH)
        return NVME_SUCCESS;
    switch (command->disk.operation) {
    case TARGET_DISK_READ:
        require(lies_in(data, length, command->buffer, command->buffer_size), "a read goes to the buffer");
        memcpy(data, disk + offset, length);
        break;
    case TARGET_DISK_WRITE:
        require(lies_in(data, length, command->buffer, command->buffer_size) || lies_in(data, length, capsule, len),
                "a write comes from the buffer or the capsule");
        memcpy(disk + offset, data, length);
        break;
    case TARGET_DISK_WRITE_ZEROES:
    case TARGET_DISK_DEALLOCATE:
        memset(disk + offset, 0, length);
        break;
    case TARGET_DISK_FLUSH:
        break;
    }
    return NVME_SUCCESS;
}

/* Carries out the command's action, which does not end it, and returns the status. */
static uint16_t rig_carry_out(struct rig *rig, struct target_command *command, const uint8_t *capsule, size_t len,
                              struct rig_outcome *outcome)
{
    if (rig->fail_status != 0 && rig->fail_after-- == 0)
        return rig->fail_status;
    switch (command->action) {
    case TARGET_BUFFER:
        require(command->buffer_needed > 0 && command->buffer_needed <= rig->subsystem.max_transfer,
                "a buffer is at most the largest transfer");
        free(command->buffer);
        command->buffer = allocate(command->buffer_needed);
        memset(command->buffer, 0xa5, command->buffer_needed); /* left from another command */
        command->buffer_size = command->buffer_needed;
        outcome->buffers++;
        return NVME_SUCCESS;
    case TARGET_FETCH:
    case TARGET_PUT:
        return rig_transfer(rig, command, outcome);
    case TARGET_DISK:
        if (!target_disk_begin(command))
            return NVME_ABORT_REQUESTED;
        if (rig->before_disk)
            rig->before_disk(rig);
        return rig_disk(command, capsule, len, outcome);
    default:
        require(false, "an action that ends the command is not carried out");
        return NVME_SUCCESS;
    }
}

static void rig_fill_outcome(struct rig_outcome *outcome, const struct target_command *command)
{
    uint16_t status = command->completion.status >> 1;

    outcome->action = command->action;
    outcome->completion = command->completion;
    outcome->status = status & NVME_STATUS_CODE_MASK;
    outcome->dnr = (status & NVME_DNR) != 0;
    outcome->more = (status & NVME_MORE) != 0;
    outcome->invalidate = command->invalidate;
    outcome->invalidate_key = command->invalidate_key;
    outcome->reason = command->reason;
    if (command->action == TARGET_COMPLETE) {
        require((command->completion.status & 1) == 0, "a completion has no phase tag");
        require(command->completion.sq_id == command->queue->qid, "a completion names its queue");
    }
    if (command->action == TARGET_DISCONNECT)
        require(command->reason && command->queue->closed, "a disconnect has a reason and closes the queue");
}

static bool action_ends(enum target_action action)
{
    return action == TARGET_COMPLETE || action == TARGET_WAIT || action == TARGET_DISCONNECT;
}

/* Checks what begin or next has returned. */
static void rig_check_action(struct rig_running *running, enum target_action action)
{
    require(action == running->command.action, "the result is the command's action");
    if (action == TARGET_DISK)
        rig_check_disk(&running->command);
    if (action_ends(action))
        rig_fill_outcome(&running->outcome, &running->command);
}

struct rig_running *rig_begin(struct rig *rig, unsigned queue, const void *capsule, size_t len)
{
    struct rig_running *running = allocate(sizeof *running);

    running->capsule = allocate(len);
    running->len = len;
    if (len > 0)
        memcpy(running->capsule, capsule, len);
    running->command.queue = &rig->queues[queue];
    rig_check_action(running, target_command_begin(&running->command, running->capsule, len, rig->now_ms));
    return running;
}

bool rig_step(struct rig *rig, struct rig_running *running)
{
    uint16_t status;

    if (action_ends(running->command.action))
        return false;
    require(running->actions++ < MAX_ACTIONS, "each command ends");
    status = rig_carry_out(rig, &running->command, running->capsule, running->len, &running->outcome);
    rig_check_action(running, target_command_next(&running->command, status));
    return true;
}

void rig_free(struct rig_running *running)
{
    target_disk_end(&running->command);
    free(running->command.buffer);
    free(running->capsule);
    free(running);
}

void rig_keep(struct rig *rig, struct rig_running *running)
{
    require(!running->command.buffer && rig->n_waiting < RIG_WAITING, "few commands wait, without buffers");
    rig->waiting[rig->n_waiting++] = running;
}

struct rig_outcome rig_run_capsule(struct rig *rig, unsigned queue, const void *capsule, size_t len)
{
    struct rig_running *running = rig_begin(rig, queue, capsule, len);
    struct rig_outcome outcome;

    while (rig_step(rig, running))
        ;
    outcome = running->outcome;
    if (outcome.action == TARGET_WAIT)
        rig_keep(rig, running);
    else
        rig_free(running);
    return outcome;
}

struct rig_outcome rig_run_data(struct rig *rig, unsigned queue, const struct nvme_command *sqe, const void *data,
                                size_t len)
{
    uint8_t *capsule = allocate(sizeof *sqe + len);
    struct rig_outcome outcome;

    memcpy(capsule, sqe, sizeof *sqe);
    if (len > 0)
        memcpy(capsule + sizeof *sqe, data, len);
    outcome = rig_run_capsule(rig, queue, capsule, sizeof *sqe + len);
    free(capsule);
    return outcome;
}

struct rig_outcome rig_run(struct rig *rig, unsigned queue, const struct nvme_command *sqe)
{
    return rig_run_data(rig, queue, sqe, NULL, 0);
}

bool rig_pop(struct rig *rig, struct target_controller *controller, struct rig_outcome *outcome)
{
    struct target_command *command = target_controller_pop_ready(controller);

    if (!command)
        return false;
    require(command->action == TARGET_COMPLETE, "a command that is ready is complete");
    memset(outcome, 0, sizeof *outcome);
    rig_fill_outcome(outcome, command);
    for (unsigned i = 0; i < rig->n_waiting; i++) {
        if (&rig->waiting[i]->command == command) {
            rig_free_waiting(rig, i);
            return true;
        }
    }
    require(false, "a command that is ready has waited");
    return false;
}

/* ---- Queues that are connected ---- */

struct target_controller *rig_admin(struct rig *rig, unsigned index, const char *nqn)
{
    struct nvme_command sqe = rig_connect(rig, 0, NVME_CNTLID_DYNAMIC, nqn);
    struct rig_outcome outcome;

    require(rig_queue(rig, index, 0, 32) == NVME_RDMA_OK, "an admin queue is accepted");
    outcome = rig_run(rig, index, &sqe);
    require(outcome.action == TARGET_COMPLETE && outcome.status == NVME_SUCCESS, "Connect succeeds");
    sqe = rig_property_set(NVME_PROPERTY_CC, NVME_PROPERTY_SIZE_4, 0x00460001);
    outcome = rig_run(rig, index, &sqe);
    require(outcome.action == TARGET_COMPLETE && outcome.status == NVME_SUCCESS, "Property Set succeeds");
    return rig->queues[index].controller;
}

void rig_io_queue(struct rig *rig, unsigned index, const struct target_controller *controller, uint16_t qid,
                  uint32_t entries)
{
    struct nvme_command sqe = rig_connect(rig, qid, controller->cntlid, RIG_NQN);
    struct rig_outcome outcome;

    sqe.connect.sqsize = (uint16_t)(entries - 1);
    require(rig_queue(rig, index, qid, entries) == NVME_RDMA_OK, "an I/O queue is accepted");
    outcome = rig_run(rig, index, &sqe);
    require(outcome.action == TARGET_COMPLETE && outcome.status == NVME_SUCCESS, "Connect succeeds");
}
