/* SPDX-License-Identifier: MIT */
/*
 * A target without network: a subsystem with three namespaces on memory, and a host's memory. rig_run carries out the
 * actions of a command as a transport does, and aborts with a message if an action breaks what protocol.h promises.
 * Each capsule and each buffer is an allocation of exactly the needed size, so that a sanitizer sees every byte beyond.
 */
#ifndef NVME_RIG_H
#define NVME_RIG_H

#include "nvme-target/protocol.h"

#define RIG_NQN "nqn.2026-11.example:target"
#define RIG_HOST_NQN "nqn.2026-11.example:host"
#define RIG_CONTROLLERS 4
#define RIG_QUEUES 12
#define RIG_WAITING 64
#define RIG_MAX_TRANSFER 32768u
#define RIG_CAPSULE_DATA 4096u
#define RIG_HOST_MEMORY 65536u
#define RIG_KEY 0x00c0ffeeu
/* The namespaces 1 (512 bytes), 2 (4096 bytes), 5 (512 bytes, read-only). All have this many bytes. */
#define RIG_DISK 131072u

struct rig_running;
struct rig {
    struct target_subsystem subsystem;
    struct target_namespace namespaces[3];
    struct target_port ports[3];
    struct target_controller controllers[RIG_CONTROLLERS];
    struct target_queue queues[RIG_QUEUES];
    uint8_t disks[3][RIG_DISK];
    uint8_t host[RIG_HOST_MEMORY];
    uint64_t now_ms;

    /* Failures to simulate: the status of the action after this many others; 0: none. */
    uint16_t fail_status;
    unsigned fail_after;
    /* If set, called before each disk operation. */
    void (*before_disk)(struct rig *rig);

    struct rig_running *waiting[RIG_WAITING]; /* asynchronous event requests */
    unsigned n_waiting;
};

/* How a command ended, and what it did until then. */
struct rig_outcome {
    enum target_action action; /* TARGET_COMPLETE, TARGET_WAIT or TARGET_DISCONNECT */
    struct nvme_completion completion;
    uint16_t status; /* type and code, without flags */
    bool dnr, more;
    bool invalidate;
    uint32_t invalidate_key;
    const char *reason;
    unsigned fetches, puts, disks, buffers;
    uint64_t fetched;                     /* bytes */
    enum target_disk_operation operation; /* the last */
    uint32_t nsid;
    uint64_t offset, length;
    bool fua;
};

/* A command that runs. */
struct rig_running {
    struct target_command command;
    uint8_t *capsule;
    size_t len;
    unsigned actions;
    struct rig_outcome outcome;
};

/* Prepares the subsystem. `volatile_cache` is what the subsystem announces. */
void rig_init(struct rig *rig, bool volatile_cache);
/* Closes all queues, and frees what waits. Requires that the controllers are free then. */
void rig_fini(struct rig *rig);

/* Begins queue `index` of the rig for a connection request. */
enum nvme_rdma_status rig_queue(struct rig *rig, unsigned index, uint16_t qid, uint32_t commands);
/* Closes the queue and, if its controller then is closing, the controller's other queues. */
void rig_close(struct rig *rig, unsigned index);

/* Commands without and with data in the host's memory. */
struct nvme_command rig_command(uint8_t opcode, uint32_t nsid);
void rig_set_keyed(struct nvme_command *sqe, uint64_t address, uint32_t length);
void rig_set_in_capsule(struct nvme_command *sqe, uint64_t offset, uint32_t length);
struct nvme_command rig_property_get(uint32_t offset, uint8_t size);
struct nvme_command rig_property_set(uint32_t offset, uint8_t size, uint64_t value);
struct nvme_command rig_io(uint8_t opcode, uint32_t nsid, uint64_t lba, uint32_t blocks);
/* Connect, with its data in the host's memory at address 0. The caller may change both. */
struct nvme_command rig_connect(struct rig *rig, uint16_t qid, uint16_t cntlid, const char *nqn);

/* Sends a capsule with `len` bytes behind the command, and carries out the actions until the command ends or waits. */
struct rig_outcome rig_run_data(struct rig *rig, unsigned queue, const struct nvme_command *sqe, const void *data,
                                size_t len);
struct rig_outcome rig_run(struct rig *rig, unsigned queue, const struct nvme_command *sqe);
/* Sends any bytes as a capsule. */
struct rig_outcome rig_run_capsule(struct rig *rig, unsigned queue, const void *capsule, size_t len);
/*
 * The same in steps: rig_begin sends the capsule; rig_step carries out one action, and returns false when the command
 * has ended. Then, or when its queue is closed, rig_free frees it. rig_keep keeps a command that waits until rig_pop.
 */
struct rig_running *rig_begin(struct rig *rig, unsigned queue, const void *capsule, size_t len);
bool rig_step(struct rig *rig, struct rig_running *running);
void rig_free(struct rig_running *running);
void rig_keep(struct rig *rig, struct rig_running *running);
/* Returns the next waiting command that has completed; false if there is none. */
bool rig_pop(struct rig *rig, struct target_controller *controller, struct rig_outcome *outcome);

/* Connects queue `index` as an admin queue, and enables the controller; returns it. Aborts on failure. */
struct target_controller *rig_admin(struct rig *rig, unsigned index, const char *nqn);
/* Connects queue `index` as I/O queue `qid` of the controller, with `entries` entries. */
void rig_io_queue(struct rig *rig, unsigned index, const struct target_controller *controller, uint16_t qid,
                  uint32_t entries);

#endif
