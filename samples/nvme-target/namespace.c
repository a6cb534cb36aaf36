/* SPDX-License-Identifier: MIT */
/*
 * Manages the namespaces: one for each disk. A disk may grow or shrink while the target runs. target_rescan then
 * changes the namespace and sends the hosts an event. A semaphore serializes the rescans. Otherwise a thread could
 * store an old size after another thread has stored a newer size. Invariant: a namespace that hosts can use has at
 * least one block.
 */
#include <string.h>

#include "queue.h"

void target_init_namespace(struct target *target, struct disk *disk, uint32_t nsid)
{
    struct target_namespace *ns = &target->namespaces[nsid - 1];
    const char *nqn = target->settings.nqn;
    size_t length = strlen(nqn);
    uint64_t hash[2] = { disk_hash(nqn, length, disk->identity), disk_hash(nqn, length, ~disk->identity) };

    memset(ns, 0, sizeof *ns);
    ns->nsid = nsid;
    ns->block_shift = target->settings.block_shift;
    ns->blocks = disk->size >> ns->block_shift;
    ns->read_only = disk->is_read_only;
    ns->attached = true;
    memcpy(ns->uuid, hash, sizeof ns->uuid);
    ns->uuid[6] = (uint8_t)((ns->uuid[6] & 0x0f) | 0x80); /* UUID version 8: the application defines the contents */
    ns->uuid[8] = (uint8_t)((ns->uuid[8] & 0x3f) | 0x80);
    ns->disk = disk;
}

/* Changes the namespace to the size of its disk. Returns false if the namespace already has this size. */
static bool target_resize(struct target *target, struct target_namespace *ns, uint64_t size)
{
    uint64_t blocks = size >> ns->block_shift, before;
    bool has_changed;

    host_lock_acquire(&target->lock);
    before = ns->attached ? ns->blocks : 0;
    has_changed = blocks != before;
    if (has_changed) {
        ns->attached = blocks > 0;
        if (blocks > 0)
            ns->blocks = blocks;
        target_namespace_changed(&target->subsystem, ns);
    }
    host_lock_release(&target->lock);
    if (has_changed)
        host_log("namespace %u: %llu blocks, before %llu%s", ns->nsid, (unsigned long long)blocks,
                 (unsigned long long)before, blocks ? "" : "; hosts cannot use it");
    return has_changed;
}

/* Completes the event requests that an event has made ready, on each admin queue. */
static void target_report_events(struct target *target)
{
    host_lock_acquire(&target->pairs_lock);
    for (struct target_pair *pair = target->pairs; pair; pair = pair->next) {
        host_lock_acquire(&pair->lock);
        transfer_report_events(pair);
        host_lock_release(&pair->lock);
    }
    host_lock_release(&target->pairs_lock);
}

uint32_t target_rescan(struct target *target)
{
    uint32_t n_changed = 0;

    host_semaphore_wait(&target->rescan_busy);
    for (uint32_t i = 0; i < target->subsystem.n_namespaces; i++) {
        struct target_namespace *ns = &target->namespaces[i];
        struct disk *disk = ns->disk;
        uint64_t size;

        if (disk->operations->measure && disk->operations->measure(disk, &size))
            n_changed += target_resize(target, ns, size);
    }
    host_semaphore_post(&target->rescan_busy);
    if (n_changed)
        target_report_events(target);
    return n_changed;
}
