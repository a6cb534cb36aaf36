/* SPDX-License-Identifier: MIT */
/*
 * Executes Get Log Page. The host may read any part of a page. Each page has a function that writes the page in pieces;
 * target_log_write copies only the bytes that lie in the requested part. Invariant: log_page_run clears the buffer
 * first, so the host reads zeroes after the page's end.
 */
#include "internal.h"

void target_log_write(const struct target_log_window *window, uint64_t position, const void *bytes, size_t size)
{
    uint64_t begin = position > window->offset ? position : window->offset;
    uint64_t end = position + size;

    /* The sum cannot overflow, because log_page_prepare has compared the offset with the page's size. */
    if (end > window->offset + window->length)
        end = window->offset + window->length;
    if (begin < end)
        memcpy(window->data + (begin - window->offset), (const uint8_t *)bytes + (begin - position),
               (size_t)(end - begin));
}

/* ---- The pages ---- */

/* Writes the error log, the latest error first. */
static void log_write_errors(const struct target_controller *controller, const struct target_log_window *window)
{
    uint64_t count = controller->n_errors < TARGET_ERROR_ENTRIES ? controller->n_errors : TARGET_ERROR_ENTRIES;

    for (uint64_t i = 0; i < count; i++) {
        const struct nvme_error_entry *entry =
            &controller->errors[(controller->n_errors - 1 - i) % TARGET_ERROR_ENTRIES];

        target_log_write(window, i * sizeof *entry, entry, sizeof *entry);
    }
}

static uint64_t log_units(uint64_t bytes)
{
    return bytes / 512000 + (bytes % 512000 != 0);
}

static void log_write_smart(const struct target_controller *controller, const struct target_log_window *window)
{
    struct nvme_smart smart;

    memset(&smart, 0, sizeof smart);
    smart.spare = 100;
    smart.units_read[0] = log_units(controller->bytes_read);
    smart.units_written[0] = log_units(controller->bytes_written);
    smart.reads[0] = controller->reads;
    smart.writes[0] = controller->writes;
    smart.power_cycles[0] = 1;
    smart.power_on_hours[0] = (controller->last_ms - controller->start_ms) / 3600000;
    smart.media_errors[0] = controller->media_errors;
    smart.error_entries[0] = controller->n_errors;
    target_log_write(window, 0, &smart, sizeof smart);
}

static void log_write_firmware(const struct target_controller *controller, const struct target_log_window *window)
{
    struct nvme_firmware_slots slots;

    memset(&slots, 0, sizeof slots);
    slots.afi = 1;
    target_fill_text(slots.frs[0], sizeof slots.frs[0], controller->subsystem->firmware, ' ');
    target_log_write(window, 0, &slots, sizeof slots);
}

static void log_write_changed(const struct target_controller *controller, const struct target_log_window *window)
{
    uint64_t position = 0;

    for (uint32_t i = 0; i < controller->subsystem->n_namespaces; i++) {
        const struct target_namespace *ns = &controller->subsystem->namespaces[i];

        if (!(controller->namespaces_changed >> i & 1))
            continue;
        target_log_write(window, position, &ns->nsid, sizeof ns->nsid);
        position += sizeof ns->nsid;
    }
}

static void log_write_effects(const struct target_controller *controller, const struct target_log_window *window)
{
    static const uint8_t admin[] = {
        NVME_ADMIN_GET_LOG_PAGE, NVME_ADMIN_IDENTIFY,    NVME_ADMIN_ABORT,      NVME_ADMIN_SET_FEATURES,
        NVME_ADMIN_GET_FEATURES, NVME_ADMIN_ASYNC_EVENT, NVME_ADMIN_KEEP_ALIVE,
    };
    const uint32_t supported = NVME_EFFECT_SUPPORTED, changes = NVME_EFFECT_SUPPORTED | NVME_EFFECT_DATA_CHANGE;

    (void)controller;
    for (size_t i = 0; i < COUNT(admin); i++)
        target_log_write(window, offsetof(struct nvme_command_effects, admin) + admin[i] * sizeof supported, &supported,
                         sizeof supported);
    for (size_t i = 0; i < COUNT(target_io_operations); i++) {
        uint8_t opcode = target_io_operations[i].opcode;
        bool writes = opcode == NVME_IO_WRITE || opcode == NVME_IO_WRITE_ZEROES || opcode == NVME_IO_DATASET_MANAGEMENT;

        target_log_write(window, offsetof(struct nvme_command_effects, io) + opcode * sizeof supported,
                         writes ? &changes : &supported, sizeof supported);
    }
}

struct log_page {
    uint8_t lid;
    bool discovery; /* true: only discovery controllers have the page; false: only I/O controllers have it */
    uint64_t size;  /* in bytes; 0: target_discovery_log_size returns the size */
    uint32_t event; /* event that is unmasked when the host reads the page */
    void (*write)(const struct target_controller *controller, const struct target_log_window *window);
};
static const struct log_page log_pages[] = {
    { NVME_LOG_ERROR, false, TARGET_ERROR_ENTRIES * sizeof(struct nvme_error_entry), 0, log_write_errors },
    { NVME_LOG_SMART, false, sizeof(struct nvme_smart), 0, log_write_smart },
    { NVME_LOG_FIRMWARE, false, sizeof(struct nvme_firmware_slots), 0, log_write_firmware },
    { NVME_LOG_CHANGED_NAMESPACES, false, NVME_MAX_CHANGED_NAMESPACES * sizeof(uint32_t), NVME_EVENT_NAMESPACE_CHANGED,
      log_write_changed },
    { NVME_LOG_COMMAND_EFFECTS, false, sizeof(struct nvme_command_effects), 0, log_write_effects },
    { NVME_LOG_DISCOVERY, true, 0, NVME_EVENT_DISCOVERY_CHANGED, target_discovery_log_write },
};

/* ---- The command ---- */

static uint16_t log_page_prepare(struct target_command *command)
{
    const struct target_controller *controller = command->queue->controller;
    const struct nvme_command *sqe = &command->sqe;
    uint64_t bytes = ((uint64_t)sqe->log.dwords_high << 16 | sqe->log.dwords_low) * 4 + 4;

    for (uint32_t i = 0; i < COUNT(log_pages); i++) {
        const struct log_page *page = &log_pages[i];
        uint64_t size = page->size > 0 ? page->size : target_discovery_log_size(controller);

        if (page->lid != sqe->log.lid || page->discovery != controller->discovery)
            continue;
        if (sqe->nsid != 0 && sqe->nsid != NVME_ALL_NAMESPACES)
            return TARGET_REJECT_FIELD(command, nsid);
        if (sqe->log.offset % 4 != 0 || sqe->log.offset > size)
            return TARGET_REJECT_FIELD(command, log.offset);
        if (bytes > controller->subsystem->max_transfer)
            return TARGET_REJECT_FIELD(command, log.dwords_low);
        command->index = i;
        command->data_len = (uint32_t)bytes;
        return NVME_SUCCESS;
    }
    return target_reject(command, NVME_INVALID_LOG_PAGE, offsetof(struct nvme_command, log.lid));
}

static enum target_action log_page_run(struct target_command *command)
{
    struct target_controller *controller = command->queue->controller;
    const struct log_page *page = &log_pages[command->index];
    const struct target_log_window window = { command->data, command->sqe.log.offset, command->data_len };

    memset(command->data, 0, command->data_len);
    page->write(controller, &window);
    if (!(command->sqe.log.specific & NVME_LOG_RETAIN_EVENT)) {
        target_event_clear(controller, page->event);
        if (page->lid == NVME_LOG_CHANGED_NAMESPACES)
            controller->namespaces_changed = 0;
    }
    return target_put(command);
}

const struct target_operation target_get_log_page = {
    NVME_ADMIN_GET_LOG_PAGE,
    OPERATION_DISCOVERY,
    log_page_prepare,
    log_page_run,
};
