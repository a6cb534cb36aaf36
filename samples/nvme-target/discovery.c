/* SPDX-License-Identifier: MIT */
/*
 * Writes the discovery log page, which lists the addresses at which a host reaches the subsystem. A host that may not
 * connect sees no address. If the page changes while a host reads it in parts, the generation in the page's header
 * changes, too.
 */
#include "internal.h"

static uint32_t discovery_records(const struct target_controller *controller)
{
    const struct target_subsystem *subsystem = controller->subsystem;
    uint8_t field[NVME_NQN_FIELD_SIZE] = { 0 };

    memcpy(field, controller->host_nqn, sizeof controller->host_nqn);
    return target_host_is_allowed(subsystem, field) ? subsystem->n_ports : 0;
}

uint64_t target_discovery_log_size(const struct target_controller *controller)
{
    return sizeof(struct nvme_discovery_header) +
           (uint64_t)discovery_records(controller) * sizeof(struct nvme_discovery_entry);
}

static void discovery_fill_entry(struct nvme_discovery_entry *entry, const struct target_subsystem *subsystem,
                                 const struct target_port *port)
{
    memset(entry, 0, sizeof *entry);
    entry->trtype = NVME_TRTYPE_RDMA;
    entry->adrfam = port->family;
    entry->subtype = NVME_SUBTYPE_NVM;
    entry->treq = NVME_TREQ_NO_FLOW_CONTROL;
    entry->portid = port->id;
    entry->cntlid = NVME_CNTLID_DYNAMIC;
    entry->asqsz = NVME_RDMA_ADMIN_QUEUE_ENTRIES;
    target_fill_text(entry->trsvcid, sizeof entry->trsvcid, port->service, 0);
    target_fill_text(entry->subnqn, sizeof entry->subnqn, subsystem->nqn, 0);
    target_fill_text(entry->traddr, sizeof entry->traddr, port->address, 0);
    entry->rdma.qptype = NVME_RDMA_QPTYPE_CONNECTED;
    entry->rdma.prtype = NVME_RDMA_PRTYPE_IWARP;
    entry->rdma.cms = NVME_RDMA_CMS_RDMA_CM;
}

void target_discovery_log_write(const struct target_controller *controller, const struct target_log_window *window)
{
    const size_t head = sizeof(struct nvme_discovery_header);
    const uint64_t records = discovery_records(controller);
    struct nvme_discovery_entry entry;

    target_log_write(window, offsetof(struct nvme_discovery_header, generation),
                     &controller->subsystem->discovery_generation, sizeof(uint64_t));
    target_log_write(window, offsetof(struct nvme_discovery_header, records), &records, sizeof records);
    for (uint64_t i = 0; i < records; i++) {
        discovery_fill_entry(&entry, controller->subsystem, &controller->subsystem->ports[i]);
        target_log_write(window, head + i * sizeof entry, &entry, sizeof entry);
    }
}
