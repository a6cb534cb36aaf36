/* SPDX-License-Identifier: MIT */
/*
 * Executes Set Features, Get Features and Keep Alive. The table feature_values lists the features whose value is stored
 * and returned; only the value of the write cache has an effect. The other features have functions. Invariant: a
 * controller's features start with their defaults, and the host can set only the bits that feature_values permits.
 */
#include "internal.h"

/* ---- Features with a stored value ---- */

struct feature_value {
    uint8_t fid;
    uint32_t settable; /* the bits of cdw11 that the host may set */
    uint32_t initial;
};
enum { FEATURE_WRITE_CACHE };
static const struct feature_value feature_values[] = {
    [FEATURE_WRITE_CACHE] = { NVME_FEATURE_WRITE_CACHE, 0x1, 0x1 },
    { NVME_FEATURE_ARBITRATION, 0xffffff07, 0x7 },
    { NVME_FEATURE_POWER, 0, 0 },
    { NVME_FEATURE_TEMPERATURE, 0xffff, 0xffff }, /* upper limit of the composite temperature */
    { NVME_FEATURE_ERROR_RECOVERY, 0xffff, 0 },
    { NVME_FEATURE_WRITE_ATOMICITY, 0x1, 0 },
};
_Static_assert(COUNT(feature_values) <= TARGET_STORED_FEATURES, "a controller stores each value");

void target_feature_init(struct target_controller *controller)
{
    for (size_t i = 0; i < COUNT(feature_values); i++)
        controller->features[i] = feature_values[i].initial;
}

bool target_feature_writes_through(const struct target_controller *controller)
{
    return controller->subsystem->volatile_cache && controller->features[FEATURE_WRITE_CACHE] == 0;
}

/* ---- The table ---- */

struct feature {
    uint8_t fid;
    bool discovery;
    bool changeable;
    /* Returns the default value if `initial` is true, otherwise the current value. */
    uint32_t (*get)(const struct target_controller *controller, bool initial);
    uint16_t (*set)(struct target_command *command);
};

static uint32_t feature_get_queues(const struct target_controller *controller, bool initial)
{
    uint32_t count = (initial ? controller->subsystem->max_io_queues : controller->n_io_queues) - 1u;

    return count << 16 | count;
}

/*
 * Returns the number of I/O queues that the controller may have, at least 1: max_queues minus the controller's admin
 * queue and the queues that other controllers have connected or reserved.
 */
static uint32_t feature_queues_left(const struct target_controller *controller)
{
    const struct target_subsystem *subsystem = controller->subsystem;
    uint32_t used = 1; /* the controller's admin queue */

    for (uint32_t i = 0; i < subsystem->max_controllers; i++) {
        const struct target_controller *other = &subsystem->controllers[i];

        if (!other->in_use || other == controller)
            continue;
        used += other->has_reserved_queues && !other->closing ? 1u + other->n_io_queues : other->n_queues;
    }
    return used < subsystem->max_queues ? subsystem->max_queues - used : 1;
}

static uint16_t feature_set_queues(struct target_command *command)
{
    struct target_controller *controller = command->queue->controller;
    uint32_t submission = command->sqe.cdw11 & 0xffff, completion = command->sqe.cdw11 >> 16;
    uint32_t count = submission < completion ? submission : completion;

    if (submission == 0xffff || completion == 0xffff)
        return TARGET_REJECT_FIELD(command, cdw11);
    if (controller->n_queues > 1) /* the number of queues cannot be set while an I/O queue is connected */
        return target_reject(command, NVME_COMMAND_SEQUENCE_ERROR, offsetof(struct nvme_command, cdw10));
    if (count >= controller->subsystem->max_io_queues)
        count = controller->subsystem->max_io_queues - 1u;
    if (count >= feature_queues_left(controller))
        count = feature_queues_left(controller) - 1;
    controller->n_io_queues = (uint16_t)(count + 1);
    controller->has_reserved_queues = true;
    command->completion.result = feature_get_queues(controller, false);
    return NVME_SUCCESS;
}

static uint32_t feature_get_async_events(const struct target_controller *controller, bool initial)
{
    return initial ? 0 : controller->event_config;
}

/*
 * Sets which events the host receives. Ignores the low bits, which enable health events, because no health event occurs
 * here.
 */
static uint16_t feature_set_async_events(struct target_command *command)
{
    struct target_controller *controller = command->queue->controller;
    uint32_t known = controller->discovery ? NVME_EVENT_DISCOVERY_CHANGED : NVME_EVENT_NAMESPACE_CHANGED | 0xff;

    if (command->sqe.cdw11 & ~known)
        return TARGET_REJECT_FIELD(command, cdw11);
    target_event_configure(controller, command->sqe.cdw11);
    return NVME_SUCCESS;
}

static uint32_t feature_get_keep_alive(const struct target_controller *controller, bool initial)
{
    return initial ? 0 : controller->kato_ms;
}

/* Sets the keep-alive timeout, rounded up to the unit that Identify reports. */
static uint16_t feature_set_keep_alive(struct target_command *command)
{
    uint32_t kato_ms = command->sqe.cdw11, rest = kato_ms % TARGET_KEEP_ALIVE_MS;

    if (rest != 0 && kato_ms <= UINT32_MAX - TARGET_KEEP_ALIVE_MS)
        kato_ms += TARGET_KEEP_ALIVE_MS - rest;
    command->queue->controller->kato_ms = kato_ms;
    command->completion.result = kato_ms;
    return NVME_SUCCESS;
}

/* Rejects the command, because a host sets its identifier with Connect. */
static uint16_t feature_set_host_id(struct target_command *command)
{
    return target_reject(command, NVME_COMMAND_SEQUENCE_ERROR, offsetof(struct nvme_command, cdw10));
}

static const struct feature features[] = {
    { NVME_FEATURE_QUEUES, false, true, feature_get_queues, feature_set_queues },
    { NVME_FEATURE_ASYNC_EVENTS, true, true, feature_get_async_events, feature_set_async_events },
    { NVME_FEATURE_KEEP_ALIVE, true, true, feature_get_keep_alive, feature_set_keep_alive },
    { NVME_FEATURE_HOST_ID, false, false, NULL, feature_set_host_id },
};

/*
 * Finds the feature with the number in cdw10. Sets *feature if the feature has functions; otherwise sets *feature to
 * NULL, and *value to the index in feature_values. Returns false if the controller does not have the feature.
 */
static bool feature_find(const struct target_command *command, const struct feature **feature, size_t *value)
{
    const struct target_controller *controller = command->queue->controller;
    uint8_t fid = (uint8_t)command->sqe.cdw10;

    *feature = NULL;
    if (fid == NVME_FEATURE_WRITE_CACHE && !controller->subsystem->volatile_cache)
        return false;
    for (size_t i = 0; i < COUNT(features); i++) {
        if (features[i].fid == fid && (!controller->discovery || features[i].discovery)) {
            *feature = &features[i];
            return true;
        }
    }
    for (size_t i = 0; i < COUNT(feature_values) && !controller->discovery; i++) {
        if (feature_values[i].fid == fid) {
            *value = i;
            return true;
        }
    }
    return false;
}

/* ---- Set Features ---- */

static uint16_t set_features_prepare(struct target_command *command)
{
    const struct feature *feature;
    size_t value = 0;

    if (!feature_find(command, &feature, &value))
        return TARGET_REJECT_FIELD(command, cdw10);
    if (command->sqe.cdw10 & NVME_FEATURE_SAVE)
        return target_reject(command, NVME_FEATURE_NOT_SAVEABLE, offsetof(struct nvme_command, cdw10));
    if (command->sqe.nsid != 0 && command->sqe.nsid != NVME_ALL_NAMESPACES)
        return target_reject(command, NVME_FEATURE_NOT_NAMESPACE_SPECIFIC, offsetof(struct nvme_command, nsid));
    if (feature)
        return feature->set(command);
    if (command->sqe.cdw11 & ~feature_values[value].settable)
        return TARGET_REJECT_FIELD(command, cdw11);
    command->queue->controller->features[value] = command->sqe.cdw11;
    return NVME_SUCCESS;
}

static enum target_action complete_run(struct target_command *command)
{
    return target_complete(command, NVME_SUCCESS);
}

const struct target_operation target_set_features = {
    NVME_ADMIN_SET_FEATURES,
    OPERATION_DISCOVERY,
    set_features_prepare,
    complete_run,
};

/* ---- Get Features ---- */

static uint16_t get_features_prepare(struct target_command *command)
{
    const struct target_controller *controller = command->queue->controller;
    uint32_t select = (command->sqe.cdw10 & NVME_FEATURE_SELECT_MASK) >> NVME_FEATURE_SELECT_SHIFT;
    bool initial = select != NVME_SELECT_CURRENT;
    const struct feature *feature;
    size_t value = 0;

    if (!feature_find(command, &feature, &value) || select > NVME_SELECT_CAPABILITIES)
        return TARGET_REJECT_FIELD(command, cdw10);
    if (select == NVME_SELECT_CAPABILITIES) {
        command->completion.result = !feature || feature->changeable ? NVME_CAPABILITY_CHANGEABLE : 0;
        return NVME_SUCCESS;
    }
    if (!feature) {
        command->completion.result = initial ? feature_values[value].initial : controller->features[value];
        return NVME_SUCCESS;
    }
    if (feature->get) {
        command->completion.result = feature->get(controller, initial);
        return NVME_SUCCESS;
    }
    /*
     * The host identifier is returned as data. Over Fabrics its size is always 16 bytes, which the host must request
     * with bit 0.
     */
    if (!(command->sqe.cdw11 & 1))
        return TARGET_REJECT_FIELD(command, cdw11);
    command->data_len = NVME_HOST_ID_SIZE;
    return NVME_SUCCESS;
}

static enum target_action get_features_run(struct target_command *command)
{
    if (command->data_len == 0)
        return target_complete(command, NVME_SUCCESS);
    memcpy(command->data, command->queue->controller->host_id, NVME_HOST_ID_SIZE);
    return target_put(command);
}

const struct target_operation target_get_features = {
    NVME_ADMIN_GET_FEATURES,
    OPERATION_DISCOVERY,
    get_features_prepare,
    get_features_run,
};

/* ---- Keep Alive ---- */

/* Checks a Keep Alive. Every command restarts the keep-alive timer, so the command needs no other effect. */
static uint16_t keep_alive_prepare(struct target_command *command)
{
    if (command->queue->controller->kato_ms == 0)
        return target_reject(command, NVME_KEEP_ALIVE_INVALID, 0);
    return NVME_SUCCESS;
}

const struct target_operation target_keep_alive = {
    NVME_ADMIN_KEEP_ALIVE,
    OPERATION_DISCOVERY,
    keep_alive_prepare,
    complete_run,
};
