/* SPDX-License-Identifier: MIT */
/*
 * Executes the commands that read and write namespaces. Invariant: io_disk compares the range of each disk operation
 * with the namespace's present size directly before the operation is returned to the transport. So a namespace may
 * shrink or disappear between two steps of a command. A command that zeroes a large range zeroes it in steps. Other
 * commands can run between two steps, and an Abort or the end of the queue stops the command.
 */
#include "internal.h"

#define ZERO_STEP (8u << 20) /* maximum number of bytes that one disk operation zeroes */

/* ---- Ranges ---- */

static bool io_range_is_valid(const struct target_namespace *ns, uint64_t lba, uint64_t blocks)
{
    return lba < ns->blocks && blocks <= ns->blocks - lba;
}

static uint16_t io_find_namespace(struct target_command *command)
{
    command->ns = target_namespace_find(command->queue->subsystem, command->sqe.nsid);
    if (!command->ns)
        return target_reject(command, NVME_INVALID_NAMESPACE, offsetof(struct nvme_command, nsid));
    return NVME_SUCCESS;
}

/*
 * Sets command->ns, and checks the command's range. If `writes` is true, also checks that the namespace is writable.
 * Returns NVME_SUCCESS or the status with which the command fails.
 */
static uint16_t io_check_range(struct target_command *command, bool writes)
{
    uint16_t status = io_find_namespace(command);

    if (status != NVME_SUCCESS)
        return status;
    if (!io_range_is_valid(command->ns, command->sqe.io.lba, command->sqe.io.blocks + UINT64_C(1)))
        return target_reject(command, NVME_LBA_OUT_OF_RANGE, offsetof(struct nvme_command, io.lba));
    if (writes && command->ns->read_only)
        return target_reject(command, NVME_NAMESPACE_WRITE_PROTECTED, offsetof(struct nvme_command, nsid));
    return NVME_SUCCESS;
}

/* Requests a disk operation on blocks of command->ns. */
static enum target_action io_disk(struct target_command *command, enum target_disk_operation operation, uint64_t lba,
                                  uint64_t blocks, uint8_t *data)
{
    struct target_namespace *ns = command->ns;
    bool writes = operation != TARGET_DISK_READ;

    if (!ns->attached)
        return target_complete(command, NVME_INVALID_NAMESPACE | NVME_DNR);
    if (!io_range_is_valid(ns, lba, blocks))
        return target_complete(command, NVME_LBA_OUT_OF_RANGE | NVME_DNR);
    if (writes && ns->read_only)
        return target_complete(command, NVME_NAMESPACE_WRITE_PROTECTED | NVME_DNR);
    command->disk.operation = operation;
    command->disk.ns = ns;
    command->disk.offset = lba << ns->block_shift;
    command->disk.length = blocks << ns->block_shift;
    command->disk.data = data;
    command->disk.fua = writes && target_feature_writes_through(command->queue->controller);
    if (writes)
        target_disk_request(command);
    return command->action = TARGET_DISK;
}

static uint64_t io_blocks(const struct target_command *command)
{
    return command->sqe.io.blocks + UINT64_C(1);
}

/* Sets data_len for read, write and compare. A command has at most 65536 blocks of 4096 bytes, so 32 bits suffice. */
static void io_set_data_len(struct target_command *command)
{
    command->data_len = (uint32_t)(io_blocks(command) << command->ns->block_shift);
}

/* ---- Read, write ---- */

static uint16_t read_prepare(struct target_command *command)
{
    uint16_t status = io_check_range(command, false);

    if (status == NVME_SUCCESS)
        io_set_data_len(command);
    return status;
}

static enum target_action read_run(struct target_command *command)
{
    struct target_controller *controller = command->queue->controller;

    if (command->step++ == 0)
        return io_disk(command, TARGET_DISK_READ, command->sqe.io.lba, io_blocks(command), command->data);
    controller->reads++;
    controller->bytes_read += command->data_len;
    return target_put(command);
}

static uint16_t write_prepare(struct target_command *command)
{
    uint16_t status = io_check_range(command, true);

    if (status == NVME_SUCCESS)
        io_set_data_len(command);
    return status;
}

static enum target_action write_run(struct target_command *command)
{
    struct target_controller *controller = command->queue->controller;
    enum target_action action;

    if (command->step++ == 0) {
        action = io_disk(command, TARGET_DISK_WRITE, command->sqe.io.lba, io_blocks(command), command->data);
        command->disk.fua |= (command->sqe.io.control & NVME_IO_FUA) != 0;
        return action;
    }
    controller->writes++;
    controller->bytes_written += command->data_len;
    return target_complete(command, NVME_SUCCESS);
}

/* ---- Write zeroes ---- */

/*
 * Requests the next step of an operation that zeroes `blocks` blocks at `lba`, or completes an aborted command. The
 * last step makes the data durable, if `fua` is true or the host has disabled the write cache. Requires command->done <
 * blocks.
 */
static enum target_action io_zero(struct target_command *command, enum target_disk_operation operation, uint64_t lba,
                                  uint32_t blocks, bool fua)
{
    uint32_t left = blocks - command->done, step = ZERO_STEP >> command->ns->block_shift;
    enum target_action action;

    if (command->is_aborted)
        return target_complete(command, NVME_ABORT_REQUESTED);
    if (step > left)
        step = left;
    action = io_disk(command, operation, lba + command->done, step, NULL);
    command->done += step;
    command->disk.fua = (command->disk.fua || fua) && step == left;
    return action;
}

static uint16_t write_zeroes_prepare(struct target_command *command)
{
    return io_check_range(command, true);
}

static enum target_action write_zeroes_run(struct target_command *command)
{
    uint16_t control = command->sqe.io.control;
    uint32_t blocks = (uint32_t)io_blocks(command);

    if (command->done == blocks)
        return target_complete(command, NVME_SUCCESS);
    return io_zero(command, control & NVME_IO_DEALLOCATE ? TARGET_DISK_DEALLOCATE : TARGET_DISK_WRITE_ZEROES,
                   command->sqe.io.lba, blocks, (control & NVME_IO_FUA) != 0);
}

/* ---- Flush ---- */

bool target_flush_next(struct target_command *command)
{
    const struct target_subsystem *subsystem = command->queue->subsystem;

    while (subsystem->volatile_cache && command->index < subsystem->n_namespaces) {
        struct target_namespace *ns = &subsystem->namespaces[command->index++];

        if (!ns->attached)
            continue;
        command->disk.operation = TARGET_DISK_FLUSH;
        command->disk.ns = ns;
        command->disk.offset = command->disk.length = 0;
        command->disk.data = NULL;
        command->disk.fua = false;
        command->action = TARGET_DISK;
        return true;
    }
    return false;
}

static uint16_t flush_prepare(struct target_command *command)
{
    return command->sqe.nsid == NVME_ALL_NAMESPACES ? NVME_SUCCESS : io_find_namespace(command);
}

static enum target_action flush_run(struct target_command *command)
{
    const struct target_subsystem *subsystem = command->queue->subsystem;

    if (command->ns && command->step++ == 0)
        command->index = (uint32_t)(command->ns - subsystem->namespaces);
    else if (command->ns)
        return target_complete(command, NVME_SUCCESS);
    if (target_flush_next(command))
        return command->action;
    return target_complete(command, NVME_SUCCESS);
}

/* ---- Compare ---- */

static uint16_t compare_prepare(struct target_command *command)
{
    return read_prepare(command);
}

/*
 * The steps of Compare, which runs in chunks. The buffer's first half contains the host's data, and its second half the
 * disk's data. If the capsule contains the host's data, the whole buffer contains the disk's data.
 */
enum { COMPARE_NEXT, COMPARE_FETCHED, COMPARE_READ };

static void compare_set_chunk(struct target_command *command)
{
    uint32_t block = 1u << command->ns->block_shift, left = command->data_len - command->done;
    uint32_t room = command->data ? command->data_len : command->buffer_needed / 2 & ~(block - 1);

    command->chunk = left < room ? left : room;
}

static enum target_action compare_read(struct target_command *command)
{
    uint8_t shift = command->ns->block_shift;

    command->step = COMPARE_READ;
    return io_disk(command, TARGET_DISK_READ, command->sqe.io.lba + (command->done >> shift), command->chunk >> shift,
                   command->buffer + (command->data ? 0 : command->chunk));
}

static enum target_action compare_run(struct target_command *command)
{
    const uint8_t *host, *disk;

    if (command->step == COMPARE_READ) {
        host = command->data ? command->data : command->buffer;
        disk = command->data ? command->buffer : command->buffer + command->chunk;
        if (memcmp(host, disk, command->chunk) != 0)
            return target_complete(command, NVME_COMPARE_FAILURE | NVME_DNR);
        command->done += command->chunk;
        command->step = COMPARE_NEXT;
    }
    if (command->step == COMPARE_FETCHED)
        return compare_read(command);
    if (command->done == command->data_len) {
        command->queue->controller->reads++;
        command->queue->controller->bytes_read += command->data_len;
        return target_complete(command, NVME_SUCCESS);
    }
    compare_set_chunk(command);
    if (command->data)
        return compare_read(command);
    command->step = COMPARE_FETCHED;
    return target_fetch(command, command->done, command->buffer, command->chunk);
}

/* ---- Dataset management ---- */

static uint16_t dataset_prepare(struct target_command *command)
{
    uint16_t status = io_find_namespace(command);

    if (status != NVME_SUCCESS)
        return status;
    if ((command->sqe.cdw11 & NVME_DATASET_DEALLOCATE) && command->ns->read_only)
        return target_reject(command, NVME_NAMESPACE_WRITE_PROTECTED, offsetof(struct nvme_command, nsid));
    command->data_len = ((command->sqe.cdw10 & 0xff) + 1) * (uint32_t)sizeof(struct nvme_dataset_range);
    return NVME_SUCCESS;
}

static struct nvme_dataset_range dataset_range(const struct target_command *command, uint32_t index)
{
    struct nvme_dataset_range range;

    memcpy(&range, command->data + index * sizeof range, sizeof range);
    return range;
}

/*
 * Deallocates the ranges after it has checked all of them. Ignores the other attributes, which are only hints. Linux
 * describes memory for 256 ranges in each command, even if the command has fewer ranges, hence OPERATION_LONG_SGL.
 */
static enum target_action dataset_run(struct target_command *command)
{
    uint32_t count = (command->sqe.cdw10 & 0xff) + 1;
    struct nvme_dataset_range range;

    if (!(command->sqe.cdw11 & NVME_DATASET_DEALLOCATE))
        return target_complete(command, NVME_SUCCESS);
    for (uint32_t i = 0; command->step == 0 && i < count; i++) {
        range = dataset_range(command, i);
        if (range.blocks > 0 && !io_range_is_valid(command->ns, range.lba, range.blocks))
            return target_complete(command, NVME_LBA_OUT_OF_RANGE | NVME_DNR);
    }
    command->step = 1;
    for (; command->index < count; command->index++, command->done = 0) {
        range = dataset_range(command, command->index);
        if (command->done < range.blocks)
            return io_zero(command, TARGET_DISK_DEALLOCATE, range.lba, range.blocks, false);
    }
    return target_complete(command, NVME_SUCCESS);
}

const struct target_operation target_io_operations[6] = {
    { NVME_IO_READ, 0, read_prepare, read_run },
    { NVME_IO_WRITE, 0, write_prepare, write_run },
    { NVME_IO_FLUSH, 0, flush_prepare, flush_run },
    { NVME_IO_WRITE_ZEROES, 0, write_zeroes_prepare, write_zeroes_run },
    { NVME_IO_DATASET_MANAGEMENT, OPERATION_LONG_SGL, dataset_prepare, dataset_run },
    { NVME_IO_COMPARE, OPERATION_FETCHES, compare_prepare, compare_run },
};
