/* SPDX-License-Identifier: MIT */
/*
 * Delays the readiness of a controller while earlier writes of its host may still reach a disk. A disk operation that
 * has begun cannot be cancelled. If its connection is lost, the host repeats the command elsewhere, and may then write
 * newer data. Invariant: when CSTS.RDY is set, no write that the host has lost track of can still change a disk.
 *
 * Each command with a disk operation that changes a disk is in subsystem->writes:
 *
 *   write      begun by             can change the disk                          ends by
 *   requested  target_disk_request  while its queue accepts commands             target_disk_begin, target_disk_end
 *   running    target_disk_begin    yes, also after its queue has closed         target_disk_end
 *
 * target_disk_begin refuses a requested write whose queue has ended. So such a write delays no controller, although
 * it may still wait for a thread.
 *
 * The states of a controller:
 *
 *   CC.EN  CSTS.RDY  state      left when
 *   0      0         disabled   the host sets CC.EN
 *   1      0         waiting    no write of the same host that began before CC.EN was set can change a disk
 *   1      1         ready      the host clears CC.EN, which closes the I/O queues
 *   0      1         resetting  no write of the controller can change a disk
 *   any    any       lost       all queues have closed and all writes have ended; the table entry is then free
 *
 * A controller becomes lost when its admin queue closes. The host's other controllers stay ready, so a new controller
 * waits only for their earlier writes. A write begins when target_command_begin receives its command. So all steps of a
 * command that zeroes a large range are one write. The caller holds the lock between two steps, so another controller
 * always finds the command in subsystem->writes. Controllers of other hosts do not wait. Discovery controllers do not
 * wait, because they use no disk.
 *
 * The target cannot wait for a write that it has not received: its bytes may be in the network, or in the old
 * connection's socket. If this write arrives after the host has repeated it and then written newer data, the old data
 * overwrite the newer data, although the newer write was acknowledged. NVMe requires that the host prevents this: the
 * host must not repeat a command before the old controller has quiesced, which may take some keep-alive times and the
 * controller's Command Quiesce Time (NVM Express Base Specification 2.1, 9.6 "Communication Loss Handling"). Linux 6.1
 * and other hosts repeat commands at once and rely on the time that a new connection takes. They close the old
 * connection first, so its last bytes were sent before. The queue's receives are posted, so the provider reads these
 * bytes when its thread runs next.
 *
 * A lost controller keeps its table entry until its running writes have returned and its requested writes have been
 * refused. A worker refuses the requested writes. If disks occupy all workers, the requested writes wait. A new
 * controller needs an entry, too, so max_controllers limits the number of lost controllers.
 */
#include "internal.h"

/* Two controllers belong to one host if the host's name or its identifier is the same. */
static bool controllers_share_host(const struct target_controller *a, const struct target_controller *b)
{
    return strcmp(a->host_nqn, b->host_nqn) == 0 || memcmp(a->host_id, b->host_id, sizeof a->host_id) == 0;
}

static bool queue_is_live(const struct target_queue *queue)
{
    return !queue->closed && queue->controller && !queue->controller->closing;
}

static bool write_can_land(const struct target_command *command)
{
    return command->write.is_running || (queue_is_live(command->queue) && !command->is_aborted);
}

/* Returns true if a write of the host that began before the controller was enabled can change a disk. */
static bool controller_has_earlier_writes(const struct target_controller *controller)
{
    for (const struct target_command *i = controller->subsystem->writes; i; i = i->write.next) {
        if (i->write.n_enables < controller->enable_number && controllers_share_host(i->write.controller, controller) &&
            write_can_land(i))
            return true;
    }
    return false;
}

static bool controller_has_own_writes(const struct target_controller *controller)
{
    for (const struct target_command *i = controller->subsystem->writes; i; i = i->write.next) {
        if (i->write.controller == controller && write_can_land(i))
            return true;
    }
    return false;
}

void target_controller_enable(struct target_controller *controller)
{
    controller->csts = 0;
    controller->enable_number = ++controller->subsystem->n_enables;
    target_controller_update(controller);
}

void target_controller_update(struct target_controller *controller)
{
    bool is_enabled = (controller->cc & NVME_CC_ENABLE) != 0, is_ready = (controller->csts & NVME_CSTS_READY) != 0;

    if (is_enabled && !is_ready && !(controller->csts & NVME_CSTS_FATAL)) {
        if (controller->discovery || !controller_has_earlier_writes(controller))
            controller->csts |= NVME_CSTS_READY;
    } else if (!is_enabled && is_ready) {
        if (!controller_has_own_writes(controller))
            controller->csts &= ~NVME_CSTS_READY;
    }
    if (controller->cc & NVME_CC_SHUTDOWN_MASK) {
        controller->csts &= ~NVME_CSTS_SHUTDOWN_MASK;
        controller->csts |= controller_has_own_writes(controller) ? NVME_CSTS_SHUTDOWN_RUNS : NVME_CSTS_SHUTDOWN_DONE;
    }
}

bool target_controller_waits(const struct target_controller *controller)
{
    bool is_enabled = (controller->cc & NVME_CC_ENABLE) != 0, is_ready = (controller->csts & NVME_CSTS_READY) != 0;

    return is_enabled != is_ready && !(controller->csts & NVME_CSTS_FATAL);
}

void target_controller_release(struct target_controller *controller)
{
    if (controller->n_queues > 0)
        return;
    for (const struct target_command *i = controller->subsystem->writes; i; i = i->write.next) {
        if (i->write.controller == controller)
            return;
    }
    controller->in_use = false;
}

/* ---- Writes ---- */

void target_disk_request(struct target_command *command)
{
    struct target_subsystem *subsystem = command->queue->subsystem;

    command->write.controller = command->queue->controller;
    command->write.is_running = false;
    command->write.next = subsystem->writes;
    command->write.link = &subsystem->writes;
    if (subsystem->writes)
        subsystem->writes->write.link = &command->write.next;
    subsystem->writes = command;
}

bool target_disk_begin(struct target_command *command)
{
    if (!queue_is_live(command->queue) || command->is_aborted)
        return false;
    command->write.is_running = true; /* has no effect for a read or a flush, which is not in the list */
    return true;
}

void target_disk_end(struct target_command *command)
{
    struct target_controller *controller = command->write.controller;

    if (!command->write.link)
        return;
    *command->write.link = command->write.next;
    if (command->write.next)
        command->write.next->write.link = command->write.link;
    command->write.link = NULL;
    target_controller_release(controller);
}

bool target_disk_abort(const struct target_controller *controller, uint16_t sqid, uint16_t cid)
{
    for (struct target_command *i = controller->subsystem->writes; i; i = i->write.next) {
        if (i->write.controller == controller && i->queue->qid == sqid && i->sqe.cid == cid) {
            i->is_aborted = true;
            return true;
        }
    }
    return false;
}
