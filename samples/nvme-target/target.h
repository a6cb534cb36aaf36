/* SPDX-License-Identifier: MIT */
/*
 * An NVMe over Fabrics target: a consumer of NDK that serves disks to hosts. It builds as a program and as a driver.
 *
 *   main.c            the program
 *   driver.c          the driver, with its settings from the registry
 *   host.h            locks, threads, memory, time, messages: host_plain.c, host_driver.c
 *   log.h             messages that hosts can cause: log.c
 *   worker.h          threads for work that may wait: worker.c
 *   wait.h            waiting for NDK calls: wait.c
 *   memory.h          memory and its registration: memory.c
 *   domain.h          protection domains and shared receive queues: domain.c
 *   disk.h            the disks: disk_memory.c, disk_file_plain.c, disk_file_driver.c
 *   target.h          the adapter, the listener, all queue pairs: target.c; the namespaces: namespace.c
 *   queue.h           a queue pair: queue.c, from the connection request to the close; queue_memory.c, its memory;
 *                     transfer.c, its commands
 *   protocol.h        the meaning of commands, without NDK
 *
 * A host connects one queue pair for the admin queue and one for each I/O queue. The transport treats all queue pairs
 * alike; the protocol assigns them to controllers.
 *
 * Threads, and what they run:
 *
 *   thread                   runs
 *   provider (callbacks)     connection requests, results, disconnects, completions of calls; I/O on disks in memory
 *   connection workers       the opening and closing of queue pairs, also while all disks hang
 *   workers                  I/O on disks that may wait, and long operations on disks in memory
 *   keeper                   every TARGET_KEEPER_MS: ends queue pairs whose host is silent or whose controller closes
 *   main, or the system's    target_start, target_rescan, target_stop
 *
 * Locks, in the order of acquisition. No thread waits while it has one:
 *
 *   target->pairs_lock   the list of queue pairs, and whether new ones are accepted
 *   pair->lock           one queue pair: its state, posts, results, commands
 *   target->lock         the protocol: subsystem, controllers, queues
 *   domain->srq_lock, the locks of the workers' list, of the log and of memory disks: no lock is acquired after these
 *
 * Hosts can make the target allocate only a limited amount of memory: max_queues limits the number of queue pairs, and
 * max_entries the size of each queue pair. With SRQs, max_controllers limits the number of SRQs, and n_srq_receives the
 * size of each SRQ.
 */
#ifndef NVME_TARGET_TARGET_H
#define NVME_TARGET_TARGET_H

#include "disk.h"
#include "domain.h"
#include "host.h"
#include "log.h"
#include "memory.h"
#include "protocol.h"
#include "worker.h"

enum {
    TARGET_CAPSULE_DATA = 4096,   /* maximum number of data bytes in a capsule */
    TARGET_MAX_TRANSFER = 131072, /* maximum number of bytes that a command transfers */
    /* Size of the buffer that each command has; the commands of a queue pair share the larger buffers. */
    TARGET_SMALL_TRANSFER = 4096,
    /* maximum number of outstanding requests of a command: fast registration, read or write, invalidation, send */
    TARGET_SLOT_REQUESTS = 4,
    TARGET_CONNECTION_WORKERS = 2,
    TARGET_KEEPER_MS = 500,
    TARGET_DISCONNECT_MS = 2000, /* time limit for hosts to disconnect when the target stops */
    /*
     * Smallest MaxInitiatorQueueDepth of the adapter with which the target works. With this depth a queue pair has 8
     * slots. The host's event requests can occupy TARGET_MAX_EVENTS of these slots for a long time.
     */
    TARGET_MIN_INITIATOR_DEPTH = 32,
};
#define TARGET_CAPSULE_SIZE (sizeof(struct nvme_command) + TARGET_CAPSULE_DATA)

struct target_settings {
    uint32_t if_index;
    host_address address; /* the address and port on which the target listens */
    uint32_t address_len;
    struct target_port port; /* the same address as text, for the discovery log page */
    char nqn[NVME_NQN_SIZE];
    const char *const *hosts; /* names of the hosts that may connect; if n_hosts is 0, any host may connect */
    uint32_t n_hosts;
    uint8_t block_shift;
    bool has_srq; /* the queue pairs of a peer address share one receive queue; false: each queue pair has its own */
    bool has_fast_registration;
    uint32_t n_srq_receives; /* for each peer address */
    uint32_t max_queues;     /* maximum number of queues of all hosts together; 0: see target_default_queues */
    uint16_t max_controllers;
    uint16_t max_io_queues; /* maximum number of I/O queues for each controller */
    uint16_t max_entries;   /* maximum number of entries in an I/O queue */
    uint32_t max_buffers;   /* number of buffers of TARGET_MAX_TRANSFER bytes for each I/O queue */
    uint32_t n_workers;
};

struct target_pair;

struct target {
    struct target_settings settings;
    struct target_namespace namespaces[TARGET_MAX_NAMESPACES];
    struct log_limit log;
    struct worker_pool workers, connection_workers;
    struct host_thread keeper;
    bool has_keeper; /* the keeper's thread was started */
    struct host_semaphore keeper_wake;

    NDK_ADAPTER *adapter;
    NDK_ADAPTER_INFO info;
    NDK_LISTENER *listener;
    /*
     * The domains with an SRQ, and their number. The semaphore serializes the accesses: its count is 0 while a thread
     * uses the list, otherwise 1.
     */
    struct host_semaphore domains_busy;
    struct target_domain *domains;
    uint32_t n_domains; /* at most settings.max_controllers */
    /* Serializes target_rescan: its count is 0 while a thread rescans, otherwise 1. */
    struct host_semaphore rescan_busy;

    struct host_lock pairs_lock; /* guards the next members */
    struct target_pair *pairs;
    uint32_t n_pairs;
    bool is_stopping; /* no further queue pair may be added */
    bool keeper_stops;
    struct host_semaphore all_closed; /* posted when is_stopping is true and the last queue pair is removed */

    struct host_lock lock; /* guards the subsystem: see protocol.h */
    struct target_subsystem subsystem;
};

/* Sets the defaults, for example all hosts and 16 controllers. The caller sets if_index, address, port and nqn. */
void target_settings_init(struct target_settings *settings);
/* Returns the default of max_queues, with which each controller can have all its queues. */
uint32_t target_default_queues(const struct target_settings *settings);
/*
 * Starts the target. disks[0] becomes namespace 1, disks[1] namespace 2, and so on. Returns false and logs the reason
 * after a failure. The disks must stay open until target_stop has returned. May wait.
 */
bool target_start(struct target *target, const struct target_settings *settings, struct disk *const *disks,
                  uint32_t n_disks);
/*
 * Disconnects all hosts, closes all objects, and frees everything except *target. Resets the connections of hosts that
 * have not disconnected after TARGET_DISCONNECT_MS. May wait.
 */
void target_stop(struct target *target);
/*
 * Compares the size of each disk with its namespace. Changes the namespaces that differ, and reports the event
 * "namespace changed" to the hosts that have enabled this event. A namespace without a block is invisible until its
 * disk has grown. Returns the number of changed namespaces. Several threads may call this at the same time. Requires
 * that target_start has succeeded. May wait.
 */
uint32_t target_rescan(struct target *target);

/* ---- For target.c ---- */

/*
 * Initializes a namespace. Its UUID depends on the disk and not on the number, so a host that reconnects detects that
 * the number now belongs to another disk.
 */
void target_init_namespace(struct target *target, struct disk *disk, uint32_t nsid);

/* ---- For queue.c ---- */

/* Adds a queue pair to the list. Returns false if the target stops or has max_queues queue pairs. */
bool target_add_pair(struct target *target, struct target_pair *pair);
/*
 * Removes a closed queue pair. Requires that no other thread uses it. target_stop waits until the last one is removed.
 */
void target_remove_pair(struct target *target, struct target_pair *pair);
/* Makes the keeper check all queue pairs now. */
void target_wake_keeper(struct target *target);

#endif
