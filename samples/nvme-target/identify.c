/* SPDX-License-Identifier: MIT */
/*
 * Executes Identify, which returns the properties of the controller and its namespaces. Each structure has
 * NVME_PAGE_SIZE bytes. Invariant: identify_run clears the whole buffer first, so that the host never receives bytes of
 * another command.
 */
#include "internal.h"

#define ZEROES_MAX_PAGES_SHIFT 11 /* limit for hosts: at most 8 MiB with one Write Zeroes */

/* ---- Controller ---- */

static uint8_t identify_mdts(const struct target_subsystem *subsystem)
{
    uint8_t shift = 0;

    while ((uint32_t)NVME_PAGE_SIZE << (shift + 1) <= subsystem->max_transfer)
        shift++;
    return shift;
}

/* Sets the members that I/O controllers and discovery controllers have in common. */
static void identify_controller_common(const struct target_controller *controller, struct nvme_identify_controller *id)
{
    const struct target_subsystem *subsystem = controller->subsystem;

    target_fill_text(id->sn, sizeof id->sn, subsystem->serial, ' ');
    target_fill_text(id->mn, sizeof id->mn, subsystem->model, ' ');
    target_fill_text(id->fr, sizeof id->fr, subsystem->firmware, ' ');
    id->mdts = identify_mdts(subsystem);
    id->cntlid = controller->cntlid;
    id->ver = NVME_VERSION_1_4;
    id->ctratt = NVME_CTRATT_HOST_ID_128 | NVME_CTRATT_TRAFFIC_KEEP_ALIVE;
    id->aerl = TARGET_MAX_EVENTS - 1;
    id->lpa = NVME_LPA_EXTENDED;
    id->elpe = TARGET_ERROR_ENTRIES - 1;
    id->kas = TARGET_KEEP_ALIVE_MS / 100;
    id->maxcmd = subsystem->max_entries;
    id->sgls = NVME_SGLS_SUPPORTED | NVME_SGLS_KEYED | (subsystem->max_capsule_data > 0 ? NVME_SGLS_OFFSET : 0);
    id->ioccsz = (uint32_t)(sizeof(struct nvme_command) + subsystem->max_capsule_data) / NVME_CAPSULE_UNIT;
    id->iorcsz = sizeof(struct nvme_completion) / NVME_CAPSULE_UNIT;
    id->msdbd = 1;
}

static uint16_t identify_controller(struct target_command *command, void *page)
{
    const struct target_controller *controller = command->queue->controller;
    const struct target_subsystem *subsystem = controller->subsystem;
    struct nvme_identify_controller *id = page;

    identify_controller_common(controller, id);
    if (controller->discovery) {
        id->cntrltype = NVME_CONTROLLER_DISCOVERY;
        id->oaes = NVME_EVENT_DISCOVERY_CHANGED;
        target_fill_text(id->subnqn, sizeof id->subnqn, NVME_DISCOVERY_NQN, 0);
        return NVME_SUCCESS;
    }
    id->rab = 6;
    id->cmic = NVME_CMIC_MULTIPLE_CONTROLLERS;
    id->oaes = NVME_EVENT_NAMESPACE_CHANGED;
    id->cntrltype = NVME_CONTROLLER_IO;
    id->acl = 3;
    id->frmw = 0x03; /* one firmware slot, which is read-only */
    id->lpa |= NVME_LPA_COMMAND_EFFECTS;
    id->sqes = 0x66;
    id->cqes = 0x44;
    id->nn = subsystem->n_namespaces > 0 ? subsystem->namespaces[subsystem->n_namespaces - 1].nsid : 0;
    id->mnan = subsystem->n_namespaces;
    id->oncs = NVME_ONCS_COMPARE | NVME_ONCS_DATASET | NVME_ONCS_WRITE_ZEROES | NVME_ONCS_FEATURE_SELECT;
    id->vwc = NVME_VWC_FLUSH_ALL | (subsystem->volatile_cache ? NVME_VWC_PRESENT : 0);
    target_fill_text(id->subnqn, sizeof id->subnqn, subsystem->nqn, 0);
    return NVME_SUCCESS;
}

static uint16_t identify_controller_of_set(struct target_command *command, void *page)
{
    struct nvme_identify_controller_nvm *id = page;

    (void)command;
    id->wzsl = ZEROES_MAX_PAGES_SHIFT;
    return NVME_SUCCESS;
}

/*
 * Writes how many I/O controllers have a controller number of at least identify.cntid, and then these controller
 * numbers in ascending order.
 */
static uint16_t identify_controllers(struct target_command *command, void *page)
{
    const struct target_subsystem *subsystem = command->queue->subsystem;
    uint16_t *list = page;
    uint32_t next = command->sqe.identify.cntid;

    while (list[0] < NVME_PAGE_SIZE / sizeof *list - 1) {
        uint32_t lowest = UINT32_MAX;

        for (uint32_t i = 0; i < subsystem->max_controllers; i++) {
            const struct target_controller *other = &subsystem->controllers[i];

            if (other->in_use && !other->discovery && other->cntlid >= next && other->cntlid < lowest)
                lowest = other->cntlid;
        }
        if (lowest == UINT32_MAX)
            break;
        list[++list[0]] = (uint16_t)lowest;
        next = lowest + 1;
    }
    return NVME_SUCCESS;
}

/* ---- Namespaces ---- */

static bool identifier_is_set(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0)
            return true;
    }
    return false;
}

static uint16_t identify_reject_nsid(struct target_command *command)
{
    return target_reject(command, NVME_INVALID_NAMESPACE, offsetof(struct nvme_command, nsid));
}

/* Writes the namespace's data. Leaves the page zeroed if the number is valid but no namespace has it. */
static uint16_t identify_namespace(struct target_command *command, void *page)
{
    const struct target_subsystem *subsystem = command->queue->subsystem;
    const struct target_namespace *ns = target_namespace_find(subsystem, command->sqe.nsid);
    struct nvme_identify_namespace *id = page;

    if (!ns) {
        if (command->sqe.nsid == 0 || subsystem->n_namespaces == 0 ||
            command->sqe.nsid > subsystem->namespaces[subsystem->n_namespaces - 1].nsid)
            return identify_reject_nsid(command);
        return NVME_SUCCESS;
    }
    id->nsze = id->ncap = id->nuse = ns->blocks;
    id->nmic = NVME_NMIC_SHARED;
    id->dlfeat = NVME_DLFEAT_READS_ZEROES | NVME_DLFEAT_WRITE_ZEROES;
    id->nsattr = ns->read_only ? NVME_NSATTR_WRITE_PROTECTED : 0;
    memcpy(id->nguid, ns->nguid, sizeof id->nguid);
    memcpy(id->eui64, ns->eui64, sizeof id->eui64);
    id->lbaf[0].shift = ns->block_shift;
    return NVME_SUCCESS;
}

static uint16_t identify_namespace_of_any_set(struct target_command *command, void *page)
{
    const struct target_namespace *ns = target_namespace_find(command->queue->subsystem, command->sqe.nsid);
    struct nvme_identify_namespace_any *id = page;

    if (!ns)
        return identify_reject_nsid(command);
    id->nmic = NVME_NMIC_SHARED;
    id->nsattr = ns->read_only ? NVME_NSATTR_WRITE_PROTECTED : 0;
    id->nstat = 1;
    return NVME_SUCCESS;
}

/* Leaves the page zeroed. Its only members are about protection information, which the target does not support. */
static uint16_t identify_namespace_of_set(struct target_command *command, void *page)
{
    (void)page;
    return target_namespace_find(command->queue->subsystem, command->sqe.nsid) ? NVME_SUCCESS
                                                                               : identify_reject_nsid(command);
}

static uint16_t identify_active_namespaces(struct target_command *command, void *page)
{
    const struct target_subsystem *subsystem = command->queue->subsystem;
    uint32_t *list = page, count = 0;

    if (command->sqe.nsid >= NVME_ALL_NAMESPACES - 1)
        return identify_reject_nsid(command);
    for (uint32_t i = 0; i < subsystem->n_namespaces && count < NVME_PAGE_SIZE / sizeof *list; i++) {
        const struct target_namespace *ns = &subsystem->namespaces[i];

        if (ns->attached && ns->nsid > command->sqe.nsid)
            list[count++] = ns->nsid;
    }
    return NVME_SUCCESS;
}

/* Appends a descriptor, and returns the position after it. All descriptors together have less than 64 bytes. */
static uint8_t *descriptor_append(uint8_t *at, uint8_t type, const uint8_t *bytes, uint8_t length)
{
    struct nvme_namespace_descriptor head = { .type = type, .length = length };

    memcpy(at, &head, sizeof head);
    memcpy(at + sizeof head, bytes, length);
    return at + sizeof head + length;
}

static uint16_t identify_descriptors(struct target_command *command, void *page)
{
    const struct target_namespace *ns = target_namespace_find(command->queue->subsystem, command->sqe.nsid);
    const uint8_t csi = NVME_CSI_NVM;
    uint8_t *at = page;

    if (!ns)
        return identify_reject_nsid(command);
    if (identifier_is_set(ns->eui64, sizeof ns->eui64))
        at = descriptor_append(at, NVME_DESCRIPTOR_EUI64, ns->eui64, sizeof ns->eui64);
    if (identifier_is_set(ns->nguid, sizeof ns->nguid))
        at = descriptor_append(at, NVME_DESCRIPTOR_NGUID, ns->nguid, sizeof ns->nguid);
    if (identifier_is_set(ns->uuid, sizeof ns->uuid))
        at = descriptor_append(at, NVME_DESCRIPTOR_UUID, ns->uuid, sizeof ns->uuid);
    descriptor_append(at, NVME_DESCRIPTOR_CSI, &csi, sizeof csi);
    return NVME_SUCCESS;
}

/* ---- The command ---- */

struct identify_page {
    uint8_t cns;
    bool discovery;                                               /* discovery controllers have the page, too */
    bool of_set;                                                  /* the page depends on the command set */
    uint16_t (*fill)(struct target_command *command, void *page); /* writes the page, which is zeroed at the call */
};
static const struct identify_page identify_pages[] = {
    { NVME_CNS_NAMESPACE, false, false, identify_namespace },
    { NVME_CNS_CONTROLLER, true, false, identify_controller },
    { NVME_CNS_ACTIVE_NAMESPACES, false, false, identify_active_namespaces },
    { NVME_CNS_NAMESPACE_DESCRIPTORS, false, false, identify_descriptors },
    { NVME_CNS_NAMESPACE_OF_SET, false, true, identify_namespace_of_set },
    { NVME_CNS_CONTROLLER_OF_SET, false, true, identify_controller_of_set },
    { NVME_CNS_ACTIVE_NAMESPACES_OF_SET, false, true, identify_active_namespaces },
    { NVME_CNS_NAMESPACE_OF_ANY_SET, false, false, identify_namespace_of_any_set },
    { NVME_CNS_CONTROLLERS, false, false, identify_controllers },
};

static uint16_t identify_prepare(struct target_command *command)
{
    const struct nvme_command *sqe = &command->sqe;

    command->data_len = NVME_PAGE_SIZE;
    for (uint32_t i = 0; i < COUNT(identify_pages); i++) {
        const struct identify_page *page = &identify_pages[i];

        if (page->cns != sqe->identify.cns || (command->queue->controller->discovery && !page->discovery))
            continue;
        if (page->of_set && sqe->identify.csi != NVME_CSI_NVM)
            return TARGET_REJECT_FIELD(command, identify.csi);
        command->index = i;
        return NVME_SUCCESS;
    }
    return TARGET_REJECT_FIELD(command, identify.cns);
}

static enum target_action identify_run(struct target_command *command)
{
    uint16_t status;

    memset(command->data, 0, NVME_PAGE_SIZE);
    status = identify_pages[command->index].fill(command, command->data);
    return status == NVME_SUCCESS ? target_put(command) : target_complete(command, status);
}

const struct target_operation target_identify = {
    NVME_ADMIN_IDENTIFY,
    OPERATION_DISCOVERY,
    identify_prepare,
    identify_run,
};
