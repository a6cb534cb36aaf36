/* SPDX-License-Identifier: MIT */
/*
 * Creates the objects that all queue pairs share: the adapter, the listener, the protocol's subsystem, the workers and
 * the keeper (a thread that ends queue pairs). target_start creates the objects. target_stop ends all queue pairs,
 * waits until the last one is closed, and then closes each object before those that it depends on. target_stop also
 * cleans up after a failed start: a pointer is NULL if its object was not created.
 */
#include "target.h"

#include <string.h>

#include "queue.h"
#include "wait.h"

#define TOO_SHORT "the adapter has no queue pairs of 32 receives and 32 requests"

void target_settings_init(struct target_settings *settings)
{
    memset(settings, 0, sizeof *settings);
    settings->block_shift = 9;
    settings->n_srq_receives = 1024;
    settings->max_controllers = 16;
    settings->max_io_queues = 8;
    settings->max_entries = 128;
    settings->max_buffers = 32;
    settings->n_workers = 8;
}

uint32_t target_default_queues(const struct target_settings *settings)
{
    return settings->max_controllers * (settings->max_io_queues + 1u);
}

/* ---- The queue pairs --------------------------------------------------------------------------------------------- */

bool target_add_pair(struct target *target, struct target_pair *pair)
{
    bool has_room;

    host_lock_acquire(&target->pairs_lock);
    has_room = !target->is_stopping && target->n_pairs < target->settings.max_queues;
    if (has_room) {
        pair->next = target->pairs;
        target->pairs = pair;
        target->n_pairs++;
    }
    host_lock_release(&target->pairs_lock);
    return has_room;
}

void target_remove_pair(struct target *target, struct target_pair *pair)
{
    struct target_pair **at = &target->pairs;
    bool is_last;

    host_lock_acquire(&target->pairs_lock);
    while (*at != pair)
        at = &(*at)->next;
    *at = pair->next;
    target->n_pairs--;
    is_last = target->is_stopping && !target->n_pairs;
    host_lock_release(&target->pairs_lock);
    if (is_last)
        host_semaphore_post(&target->all_closed);
}

void target_wake_keeper(struct target *target)
{
    host_semaphore_post(&target->keeper_wake);
}

/*
 * Ends the queue pair if its controller is closing, if Connect is overdue, or if the host's keep-alive has expired. An
 * expired keep-alive ends only the admin queue here. The controller is then closing, so the next calls end its other
 * queues. Requires pair->lock.
 */
static void target_check_pair(struct target_pair *pair, uint64_t now_ms)
{
    const struct target_controller *controller = pair->queue.controller;
    bool is_closing, has_no_connect, is_silent;

    host_lock_acquire(&pair->target->lock);
    is_closing = controller && controller->closing;
    has_no_connect = target_queue_has_expired(&pair->queue, now_ms);
    is_silent = controller && pair->queue.qid == 0 && target_controller_has_expired(controller, now_ms);
    host_lock_release(&pair->target->lock);
    if (is_closing)
        pair_end(pair, "its controller is closed");
    else if (has_no_connect)
        pair_abort(pair, "the host has not sent Connect in time");
    else if (is_silent)
        pair_abort(pair, "the host's keep-alive has expired");
}

/* Calls target_check_pair for each queue pair that has not ended. */
static void target_check_pairs(struct target *target)
{
    uint64_t now_ms = host_now_ms();

    host_lock_acquire(&target->pairs_lock);
    for (struct target_pair *pair = target->pairs; pair; pair = pair->next) {
        host_lock_acquire(&pair->lock);
        if (pair->state != PAIR_ENDED)
            target_check_pair(pair, now_ms);
        host_lock_release(&pair->lock);
    }
    host_lock_release(&target->pairs_lock);
}

/*
 * Ends all queue pairs that have not ended. Resets the connection of each ended queue pair whose host has not answered.
 */
static void target_end_pairs(struct target *target)
{
    host_lock_acquire(&target->pairs_lock);
    for (struct target_pair *pair = target->pairs; pair; pair = pair->next) {
        host_lock_acquire(&pair->lock);
        if (pair->state == PAIR_ENDED)
            pair_reset(pair);
        else
            pair_end(pair, "the target stops");
        host_lock_release(&pair->lock);
    }
    host_lock_release(&target->pairs_lock);
}

static void target_run_keeper(void *context)
{
    struct target *target = context;
    bool stops = false;

    while (!stops) {
        host_semaphore_wait_ms(&target->keeper_wake, TARGET_KEEPER_MS);
        target_check_pairs(target);
        log_report(&target->log);
        host_lock_acquire(&target->pairs_lock);
        stops = target->keeper_stops;
        host_lock_release(&target->pairs_lock);
    }
}

/* ---- The subsystem ----------------------------------------------------------------------------------------------- */

/* Writes 16 hexadecimal digits and a zero byte. */
static void target_write_hex(char *text, uint64_t value)
{
    for (int i = 0; i < 16; i++)
        text[i] = "0123456789abcdef"[value >> (60 - 4 * i) & 15];
    text[16] = 0;
}

/* Initializes the protocol's subsystem. Returns NULL, or a text that describes the mistake in the settings. */
static const char *target_init_subsystem(struct target *target, struct disk *const *disks, uint32_t n_disks)
{
    struct target_subsystem *subsystem = &target->subsystem;
    const struct target_settings *settings = &target->settings;

    if (n_disks == 0 || n_disks > TARGET_MAX_NAMESPACES)
        return n_disks ? "too many disks" : "there is no disk";
    for (uint32_t i = 0; i < n_disks; i++) {
        if (disks[i]->size >> settings->block_shift == 0)
            return "a disk is smaller than one block";
        target_init_namespace(target, disks[i], i + 1);
        subsystem->volatile_cache |= disks[i]->may_wait;
    }
    memcpy(subsystem->nqn, settings->nqn, sizeof subsystem->nqn);
    target_write_hex(subsystem->serial, disk_hash(settings->nqn, strlen(settings->nqn), 0));
    memcpy(subsystem->model, "OpenNDK nvme-target", sizeof "OpenNDK nvme-target");
    memcpy(subsystem->firmware, "1", sizeof "1");
    subsystem->namespaces = target->namespaces;
    subsystem->n_namespaces = n_disks;
    subsystem->ports = &target->settings.port;
    subsystem->n_ports = 1;
    subsystem->hosts = settings->hosts;
    subsystem->n_hosts = settings->n_hosts;
    subsystem->max_controllers = settings->max_controllers;
    subsystem->max_io_queues = settings->max_io_queues;
    subsystem->max_queues = settings->max_queues;
    subsystem->max_entries = settings->max_entries;
    subsystem->max_transfer = TARGET_MAX_TRANSFER;
    subsystem->max_capsule_data = TARGET_CAPSULE_DATA;
    subsystem->controllers = host_alloc(settings->max_controllers * sizeof *subsystem->controllers);
    return subsystem->controllers ? target_subsystem_init(subsystem) : "out of memory";
}

/* ---- Start ------------------------------------------------------------------------------------------------------- */

/*
 * Returns the maximum number of entries of a queue pair whose results fit into a CQ. Each entry has a receive and
 * TARGET_SLOT_REQUESTS requests. But all entries together have at most as many requests as an initiator queue of the
 * adapter can contain.
 */
static uint32_t target_cq_entries(const NDK_ADAPTER_INFO *info)
{
    uint32_t entries = info->MaxCqDepth / (TARGET_SLOT_REQUESTS + 1);

    if (info->MaxCqDepth > info->MaxInitiatorQueueDepth && info->MaxCqDepth - info->MaxInitiatorQueueDepth > entries)
        return info->MaxCqDepth - info->MaxInitiatorQueueDepth;
    return entries;
}

/*
 * Reduces the number of receives in the SRQ, so that their results and those of all requests of the largest queue pair
 * fit into one CQ. Requires that the CQ has room for the results of these requests: see target_cq_entries.
 */
static void target_limit_srq(struct target *target)
{
    uint32_t entries = target->subsystem.max_entries, requests, room;

    if (entries < NVME_RDMA_ADMIN_QUEUE_ENTRIES)
        entries = NVME_RDMA_ADMIN_QUEUE_ENTRIES;
    requests = entries * TARGET_SLOT_REQUESTS;
    if (requests > target->info.MaxInitiatorQueueDepth)
        requests = target->info.MaxInitiatorQueueDepth;
    room = target->info.MaxCqDepth - requests;
    if (target->settings.n_srq_receives > room)
        target->settings.n_srq_receives = room;
}

/*
 * Checks the adapter's limits, and reduces the size of queues to fit them. Returns NULL, or a text that names the call
 * that failed or the limit that is too small.
 */
static const char *target_check_limits(struct target *target)
{
    NDK_ADAPTER_INFO *info = &target->info;
    struct target_settings *settings = &target->settings;
    ULONG size = sizeof *info, most, entries;

    if (!NT_SUCCESS(target->adapter->Dispatch->NdkQueryAdapterInfo(target->adapter, info, &size)))
        return "NdkQueryAdapterInfo";
    most = settings->has_srq ? info->MaxSrqDepth : info->MaxReceiveQueueDepth;
    entries = target_cq_entries(info);
    if (entries > most)
        entries = most;
    if (target->subsystem.max_entries > entries)
        target->subsystem.max_entries = (uint16_t)entries;
    if (settings->n_srq_receives > most)
        settings->n_srq_receives = most;
    if (most < NVME_RDMA_ADMIN_QUEUE_ENTRIES)
        return settings->has_srq ? "the adapter has no shared receive queue of 32 receives" : TOO_SHORT;
    if (info->MaxInitiatorQueueDepth < TARGET_MIN_INITIATOR_DEPTH)
        return TOO_SHORT;
    if (entries < NVME_RDMA_ADMIN_QUEUE_ENTRIES)
        return "the adapter has no completion queues for the results of 32 commands";
    if (settings->has_srq)
        target_limit_srq(target);
    if (info->MaxOutboundReadLimit == 0)
        return "the adapter allows no reads of the host's memory";
    if (settings->has_fast_registration && info->FRMRPageCount <= TARGET_MAX_TRANSFER / PAGE_SIZE)
        return "the adapter's fast registrations have less than 33 pages";
    return NULL;
}

static NTSTATUS target_listen(struct target *target, struct target_wait *wait)
{
    NTSTATUS status;

    status = target->adapter->Dispatch->NdkCreateListener(target->adapter, pair_on_request, target, target_on_created,
                                                          wait, &target->listener);
    status = target_wait_create(wait, status, &target->listener);
    if (!NT_SUCCESS(status))
        return status;
    status = target->listener->Dispatch->NdkListen(target->listener, (PSOCKADDR)&target->settings.address,
                                                   target->settings.address_len, target_on_completed, wait);
    return target_wait_for(wait, status);
}

/* Opens the adapter, checks its limits, and listens. After a failure, *step is a text for the log about the failure. */
static NTSTATUS target_create_objects(struct target *target, struct target_wait *wait, const char **step)
{
    NTSTATUS status;

    *step = "opening the adapter";
    status = host_adapter_open(target->settings.if_index, &target->adapter);
    if (NT_SUCCESS(status)) {
        *step = target_check_limits(target);
        status = *step ? STATUS_NOT_SUPPORTED : STATUS_SUCCESS;
    }
    if (NT_SUCCESS(status)) {
        *step = "listening";
        status = target_listen(target, wait);
    }
    return status;
}

static bool target_start_threads(struct target *target)
{
    if (!worker_pool_start(&target->workers, target->settings.n_workers) ||
        !worker_pool_start(&target->connection_workers, TARGET_CONNECTION_WORKERS))
        return false;
    target->has_keeper = host_thread_start(&target->keeper, target_run_keeper, target);
    return target->has_keeper;
}

bool target_start(struct target *target, const struct target_settings *settings, struct disk *const *disks,
                  uint32_t n_disks)
{
    const char *step = NULL, *wrong;
    NTSTATUS status = STATUS_SUCCESS;
    struct target_wait wait;

    memset(target, 0, sizeof *target);
    target->settings = *settings;
    if (!settings->max_queues)
        target->settings.max_queues = target_default_queues(settings);
    log_limit_init(&target->log);
    host_lock_init(&target->pairs_lock);
    host_lock_init(&target->lock);
    host_semaphore_init(&target->domains_busy);
    host_semaphore_post(&target->domains_busy);
    host_semaphore_init(&target->rescan_busy);
    host_semaphore_post(&target->rescan_busy);
    host_semaphore_init(&target->keeper_wake);
    host_semaphore_init(&target->all_closed);
    target_wait_init(&wait);
    wrong = target_init_subsystem(target, disks, n_disks);
    if (!wrong && !target_start_threads(target))
        wrong = "no threads";
    if (!wrong)
        status = target_create_objects(target, &wait, &step);
    target_wait_fini(&wait);
    if (!wrong && NT_SUCCESS(status))
        return true;
    if (wrong)
        host_log("not started: %s", wrong);
    else
        host_log_status(step, status);
    target_stop(target);
    return false;
}

/* ---- Stop -------------------------------------------------------------------------------------------------------- */

static void target_close_objects(struct target *target)
{
    if (target->listener)
        target_close(&target->listener->Header, target->listener->Dispatch->NdkCloseListener);
    if (target->adapter)
        host_adapter_close(target->adapter);
}

void target_stop(struct target *target)
{
    bool has_pairs;

    host_lock_acquire(&target->pairs_lock);
    target->is_stopping = true; /* from now on target_add_pair fails, so connection requests are rejected */
    has_pairs = target->n_pairs != 0;
    host_lock_release(&target->pairs_lock);
    target_end_pairs(target);
    while (has_pairs && !host_semaphore_wait_ms(&target->all_closed, TARGET_DISCONNECT_MS))
        target_end_pairs(target);
    host_lock_acquire(&target->pairs_lock);
    target->keeper_stops = true;
    host_lock_release(&target->pairs_lock);
    target_wake_keeper(target);
    if (target->has_keeper)
        host_thread_join(&target->keeper);
    if (target->workers.n_threads)
        worker_pool_stop(&target->workers);
    if (target->connection_workers.n_threads)
        worker_pool_stop(&target->connection_workers);
    target_close_objects(target);
    host_free(target->subsystem.controllers);
    host_semaphore_fini(&target->all_closed);
    host_semaphore_fini(&target->keeper_wake);
    host_semaphore_fini(&target->rescan_busy);
    host_semaphore_fini(&target->domains_busy);
    host_lock_fini(&target->lock);
    host_lock_fini(&target->pairs_lock);
    log_report(&target->log);
    log_limit_fini(&target->log);
}
