/* SPDX-License-Identifier: MIT */
/*
 * A queue pair, which is one connection of a host. queue.c manages its life, queue_memory.c its memory, and transfer.c
 * its commands.
 */
#ifndef NVME_TARGET_QUEUE_H
#define NVME_TARGET_QUEUE_H

#include "target.h"

enum pair_state { PAIR_OPENING, PAIR_OPEN, PAIR_ENDED };

/* A buffer of TARGET_MAX_TRANSFER bytes. */
struct pair_buffer {
    struct pair_buffer *next; /* next entry in the list of free buffers */
    struct target_memory memory;
};

/* A slot, which executes one command at a time. */
struct pair_slot {
    struct target_command command; /* must be the first member: pair_after_command casts a command to its slot */
    struct pair_slot *next;        /* next entry in the list that contains the slot */
    struct target_pair *pair;
    struct target_receive *receive; /* contains the command's capsule; NULL after the receive was posted again */
    struct nvme_completion *response;
    uint8_t *small;             /* a buffer of TARGET_SMALL_TRANSFER bytes */
    struct pair_buffer *buffer; /* a buffer for larger data, or NULL */
    bool is_registered;         /* fast registration has registered `buffer` */
    enum target_action action;  /* copy of command.action; an event may change command.action while the command waits */
    bool may_use_disk;          /* the protocol has permitted the disk operation that this thread executes next */
    struct worker_work work;    /* for a disk operation */
};

/* A first-in-first-out list. `end` points to the last entry's `next`, or to `first` if the list is empty. */
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
    uint32_t n_receives;       /* maximum number of outstanding commands of the host */

    struct target_domain *domain; /* NULL until pair_open has acquired it */
    NDK_CONNECTOR *connector;
    NDK_CQ *cq;
    NDK_QP *qp;
    struct target_memory messages; /* for each slot a response and a small buffer; without an SRQ also the capsules */
    struct target_receive *receives;
    struct pair_slot *slots;
    struct pair_buffer *buffers;
    uint32_t n_slots, n_buffers;
    struct host_semaphore connector_closed; /* posted when the close of the connector has completed */
    struct worker_work work;                /* runs pair_open, pair_disconnect and pair_close, one after the other */

    /* Guards the members below, the posts, the calls of the CQ, and the slots that no worker uses. */
    struct host_lock lock;
    enum pair_state state;
    bool is_connected;     /* NdkAccept has succeeded */
    bool is_aborted;       /* the close resets the connection; NdkDisconnect is not called */
    bool is_disconnecting; /* NdkDisconnect is or was pending */
    bool is_connector_closed;
    bool is_cq_closed;
    bool has_controller; /* Connect has succeeded, and pair_log_controller has logged that */
    bool has_to_wait;    /* the controller waits for earlier writes, and pair_log_controller has logged that */
    uint32_t references;
    /* Number of reads that may still be posted: the peer limits how many are in progress. */
    uint32_t reads_left;
    uint32_t n_unanswered;         /* number of received messages without a response */
    struct pair_receives received; /* received messages that wait for a slot */
    struct pair_slots free_slots;
    /* Slots that wait for a buffer, and slots that wait until they may post a read. */
    struct pair_slots needs_buffer, needs_read;
    struct pair_buffer *free_buffers;
};

/* ---- queue.c ---- */

/*
 * Handles a connection request. Rejects it, or creates a queue pair, which owns the connector and accepts it later.
 */
void pair_on_request(void *context, NDK_CONNECTOR *connector);
/*
 * Both functions end the queue pair if it has not ended yet; nothing is posted afterwards. `reason` is logged. After
 * pair_end a worker flushes the outstanding requests and disconnects. After pair_abort it resets the connection
 * instead, because the host does not answer or has broken a rule. The caller must hold pair->lock.
 */
void pair_end(struct target_pair *pair, const char *reason);
void pair_abort(struct target_pair *pair, const char *reason);
/* If NdkDisconnect is pending because the host does not answer, resets the connection. Requires pair->lock. */
void pair_reset(struct target_pair *pair);
/*
 * These functions acquire and release a reference, which delays the close of the queue pair. A slot that a worker uses
 * holds a reference. The caller must hold pair->lock.
 */
void pair_ref(struct target_pair *pair);
void pair_unref(struct target_pair *pair);

/* ---- queue_memory.c ---- */

/* Allocates memory for commands and messages. The caller must call pair_memory_fini even after a failure. May wait. */
NTSTATUS pair_memory_init(struct target_pair *pair);
/*
 * Frees all memory, and posts the SRQ's receives again. Requires that the QP is closed and that no worker uses a slot.
 * Waits.
 */
void pair_memory_fini(struct target_pair *pair);
/* Returns the maximum number of requests in the initiator queue. */
uint32_t pair_initiator_depth(const struct target_pair *pair);
/*
 * Returns the maximum number of results in the CQ. With an SRQ this includes all receives of the SRQ, because a hostile
 * host may send more messages than the protocol permits. If the CQ overflowed, the receives would be lost.
 */
uint32_t pair_cq_depth(const struct target_pair *pair);

/* ---- transfer.c ---- */

/*
 * A push adds an entry at the end of a list. A pop removes and returns the first entry, or returns NULL if the list is
 * empty. While other threads can use the queue pair, the caller must hold pair->lock.
 */
void pair_slots_push(struct pair_slots *list, struct pair_slot *slot);
struct pair_slot *pair_slots_pop(struct pair_slots *list);
struct target_receive *pair_received_pop(struct pair_receives *list);

/* Posts the queue pair's receives. Called before the connection is accepted. Requires pair->lock. */
NTSTATUS transfer_post_receives(struct target_pair *pair);
/* Begins commands for received messages while slots are free and the connection is open. Requires pair->lock. */
void transfer_start(struct target_pair *pair);
/* Completes the event requests that an event has made ready. Has no effect on an I/O queue. Requires pair->lock. */
void transfer_report_events(struct target_pair *pair);
/* Reads and handles the results that the completion queue contains. Requires pair->lock. */
void transfer_poll(struct target_pair *pair);

#endif
