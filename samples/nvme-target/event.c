/* SPDX-License-Identifier: MIT */
/*
 * Executes asynchronous event requests and the Abort command. The host sends a few asynchronous event requests in
 * advance. The controller completes one of them when an event happens that the host has enabled. A reported event is
 * masked until the host has read the event's log page. Invariant: a request is in exactly one of `waiting` and `ready`
 * from async_event_run until the transport pops it, and both together contain at most TARGET_MAX_EVENTS requests.
 */
#include "internal.h"

struct event_kind {
    uint32_t event; /* NVME_EVENT_... */
    uint8_t notice, log_page;
};
static const struct event_kind event_kinds[] = {
    { NVME_EVENT_NAMESPACE_CHANGED, NVME_NOTICE_NAMESPACE_CHANGED, NVME_LOG_CHANGED_NAMESPACES },
    { NVME_EVENT_DISCOVERY_CHANGED, NVME_NOTICE_DISCOVERY_CHANGED, NVME_LOG_DISCOVERY },
};

/*
 * Removes one pending event that the host has enabled, and masks this event. Returns the result for the request that
 * reports the event, or 0 if no such event is pending.
 */
static uint32_t event_pop_pending(struct target_controller *controller)
{
    uint32_t reportable = controller->events_pending & controller->event_config & ~controller->events_masked;

    for (size_t i = 0; i < COUNT(event_kinds); i++) {
        const struct event_kind *kind = &event_kinds[i];

        if (!(reportable & kind->event))
            continue;
        controller->events_pending &= ~kind->event;
        controller->events_masked |= kind->event;
        return NVME_EVENT_TYPE_NOTICE | (uint32_t)kind->notice << NVME_EVENT_INFO_SHIFT |
               (uint32_t)kind->log_page << NVME_EVENT_LOG_SHIFT;
    }
    return 0;
}

/* Completes the waiting request at `index`, and moves it to `ready`, from where the transport pops it. */
static void event_complete(struct target_controller *controller, uint32_t index, uint16_t status, uint32_t result)
{
    struct target_command *command = controller->waiting[index];

    controller->n_waiting--;
    memmove(&controller->waiting[index], &controller->waiting[index + 1],
            (controller->n_waiting - index) * sizeof controller->waiting[0]);
    command->completion.result = result;
    target_complete(command, status);
    controller->ready[controller->n_ready++] = command;
}

static void event_report(struct target_controller *controller)
{
    uint32_t result;

    while (controller->n_waiting > 0 && (result = event_pop_pending(controller)) != 0)
        event_complete(controller, 0, NVME_SUCCESS, result);
}

void target_event_raise(struct target_controller *controller, uint32_t event)
{
    /* A masked event needs no report: the host has yet to read the log page, which then contains this change, too. */
    if (controller->events_masked & event)
        return;
    controller->events_pending |= event;
    event_report(controller);
}

void target_event_clear(struct target_controller *controller, uint32_t event)
{
    controller->events_masked &= ~event;
    controller->events_pending &= ~event;
}

void target_event_configure(struct target_controller *controller, uint32_t config)
{
    controller->event_config = config;
    event_report(controller);
}

void target_event_abort_all(struct target_controller *controller)
{
    while (controller->n_waiting > 0)
        event_complete(controller, 0, NVME_ABORT_REQUESTED, 0);
}

struct target_command *target_controller_pop_ready(struct target_controller *controller)
{
    struct target_command *command;

    if (controller->n_ready == 0)
        return NULL;
    command = controller->ready[0];
    controller->n_ready--;
    memmove(&controller->ready[0], &controller->ready[1], controller->n_ready * sizeof controller->ready[0]);
    return command;
}

/* ---- Asynchronous Event Request ---- */

static uint16_t async_event_prepare(struct target_command *command)
{
    const struct target_controller *controller = command->queue->controller;

    if (controller->n_waiting + controller->n_ready >= TARGET_MAX_EVENTS)
        return target_reject(command, NVME_ASYNC_EVENT_LIMIT_EXCEEDED, 0);
    return NVME_SUCCESS;
}

static enum target_action async_event_run(struct target_command *command)
{
    struct target_controller *controller = command->queue->controller;
    uint32_t result = event_pop_pending(controller);

    if (result != 0) {
        command->completion.result = result;
        return target_complete(command, NVME_SUCCESS);
    }
    controller->waiting[controller->n_waiting++] = command;
    return target_wait(command);
}

const struct target_operation target_async_event = {
    NVME_ADMIN_ASYNC_EVENT,
    OPERATION_DISCOVERY,
    async_event_prepare,
    async_event_run,
};

/* ---- Abort ---- */

static uint16_t abort_prepare(struct target_command *command)
{
    uint16_t sqid = (uint16_t)command->sqe.cdw10;

    if (sqid > TARGET_MAX_IO_QUEUES || !command->queue->controller->queues[sqid])
        return TARGET_REJECT_FIELD(command, cdw10);
    return NVME_SUCCESS;
}

/*
 * Aborts an asynchronous event request at once, with the result 0. For any other command the result is 1, which reports
 * that the command was not aborted at once: a write begins no further disk operation, and other commands end soon.
 */
static enum target_action abort_run(struct target_command *command)
{
    struct target_controller *controller = command->queue->controller;
    uint16_t sqid = (uint16_t)command->sqe.cdw10, cid = (uint16_t)(command->sqe.cdw10 >> 16);

    command->completion.result = 1;
    for (uint32_t i = 0; i < controller->n_waiting && sqid == 0; i++) {
        if (controller->waiting[i]->sqe.cid == cid) {
            event_complete(controller, i, NVME_ABORT_REQUESTED, 0);
            command->completion.result = 0;
            return target_complete(command, NVME_SUCCESS);
        }
    }
    target_disk_abort(controller, sqid, cid);
    return target_complete(command, NVME_SUCCESS);
}

const struct target_operation target_abort = { NVME_ADMIN_ABORT, 0, abort_prepare, abort_run };
