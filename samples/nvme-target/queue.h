/* SPDX-License-Identifier: MIT */
/*
 * A queue pair, that is one connection of a host. queue.c has its life, queue_memory.c its memory, transfer.c its
 * commands.
 */
#ifndef NVME_TARGET_QUEUE_H
#define NVME_TARGET_QUEUE_H

#include "target.h"

enum pair_state { PAIR_OPENING, PAIR_OPEN, PAIR_ENDED };

/* A buffer of TARGET_MAX_TRANSFER bytes. */
struct pair_buffer {
    struct pair_buffer *next; /* in the list of free ones */
    struct target_memory memory;
};

/* One command at a time. */
struct pair_slot {
    struct target_command command; /* first; the protocol's part */
    struct pair_slot *next;        /* in one of the lists of slots */
    struct target_pair *pair;
    struct target_receive *receive; /* has the capsule, until the command completes */
    struct nvme_completion *response;
    uint8_t *small;             /* TARGET_SMALL_TRANSFER bytes */
    struct pair_buffer *buffer; /* for more data than that, or NULL */
    bool is_registered;         /* the buffer, by fast registration */
    struct worker_work work;    /* for a disk operation */
};

/* First in, first out. `end` is the last entry's `next`, or `first`. */
struct pair_slots {
    struct pair_slot *first, **end;
};
struct pair_receives {
    struct target_receive *first, **end;
};

struct target_pair {
    struct target_pair *next; /* guarded by target->pairs_lock */
    struct target *target;
    struct target_queue queue; /* guarded by target->lock */
    uint32_t n_receives;       /* the commands that the host may have outstanding */

    NDK_CONNECTOR *connector;
    NDK_CQ *cq;
    NDK_QP *qp;
    struct target_memory messages; /* for each slot a response and a small buffer; capsules unless there is an SRQ */
    struct target_receive *receives;
    struct pair_slot *slots;
    struct pair_buffer *buffers;
    uint32_t n_slots, n_buffers;
    struct host_semaphore connector_closed; /* posted when the close of the connector has completed */
    struct worker_work work;                /* for pair_open, pair_disconnect and pair_close, one after the other */

    struct host_lock lock; /* guards the members below, posts, calls of the CQ, and slots that no worker has */
    enum pair_state state;
    bool is_connected;     /* NdkAccept has succeeded */
    bool is_aborted;       /* NdkDisconnect is not called */
    bool is_disconnecting; /* NdkDisconnect is or was pending */
    bool is_connector_closed;
    bool is_cq_closed;
    bool has_controller; /* Connect has succeeded, and was logged */
    uint32_t references;
    uint32_t reads_left;           /* reads that may begin: the peer limits those in progress */
    uint32_t n_unanswered;         /* messages that were received and not yet answered */
    struct pair_receives received; /* messages that no slot has */
    struct pair_slots free_slots;
    struct pair_slots needs_buffer, needs_read; /* slots that wait */
    struct pair_buffer *free_buffers;
};

/* ---- queue.c ---- */

/*
 * Handles a connection request: accepts it later, on a worker, or rejects it. The connector then belongs to the queue
 * pair.
 */
void pair_on_request(void *context, NDK_CONNECTOR *connector);
/*
 * Ends the queue pair, if it has not ended: nothing is posted afterwards. The reason is for the log. pair_end ends the
 * outstanding requests and disconnects; pair_abort resets the connection, because the host is silent or broke a rule.
 * Lock is held.
 */
void pair_end(struct target_pair *pair, const char *reason);
void pair_abort(struct target_pair *pair, const char *reason);
/* Resets the connection if its host does not answer NdkDisconnect. Lock is held. */
void pair_reset(struct target_pair *pair);
/* References keep the queue pair from its close: a slot that a worker has holds one. Lock is held. */
void pair_ref(struct target_pair *pair);
void pair_unref(struct target_pair *pair);

/* ---- queue_memory.c ---- */

/* Allocates the memory of commands and messages. After a failure, pair_memory_fini frees what was allocated. Waits. */
NTSTATUS pair_memory_init(struct target_pair *pair);
/* Frees everything, and returns receives to the SRQ. The QP is closed, and no worker has a slot. Waits. */
void pair_memory_fini(struct target_pair *pair);
/* Returns how many requests of this side may be outstanding. */
uint32_t pair_initiator_depth(const struct target_pair *pair);

/* ---- transfer.c ---- */

/* The lists. Lock is held, or nothing else uses the queue pair. pop: NULL if the list is empty. */
void pair_slots_push(struct pair_slots *list, struct pair_slot *slot);
struct pair_slot *pair_slots_pop(struct pair_slots *list);
struct target_receive *pair_received_pop(struct pair_receives *list);

/* Posts the receives of the queue pair, before it is connected. Lock is held. */
NTSTATUS transfer_post_receives(struct target_pair *pair);
/* Begins the messages that were received before the connection was complete. Lock is held. */
void transfer_start(struct target_pair *pair);
/* Reads and handles all results that are in the completion queue. Lock is held. */
void transfer_poll(struct target_pair *pair);

/* Posts a receive to the SRQ. Needs no lock. */
void transfer_post_srq(struct target *target, struct target_receive *receive);

#endif
