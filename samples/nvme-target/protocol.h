/* SPDX-License-Identifier: MIT */
/*
 * The protocol of an NVMe over Fabrics target, without I/O, locks, clock and allocation: controllers, queues, and what
 * each command does. The transport owns connections, buffers and disks.
 *
 *   controller.c        configuration, queues, controllers, keep-alive
 *   command.c           begins, continues and completes commands: what all of them have in common
 *   fabrics_command.c   Connect and the properties
 *   event.c             asynchronous events, and Abort
 *   io.c                the commands for namespaces
 *   identify.c, log_page.c, feature.c, discovery.c   the other admin commands
 *   internal.h          what these files share
 *
 * For each command the transport runs one loop. target_command_begin decodes the capsule and returns an action. The
 * transport carries the action out, then target_command_next takes its status and returns the next action, until an
 * action ends the command:
 *
 *   action              the transport                                                       then
 *   TARGET_BUFFER       sets command->buffer, of at least command->buffer_needed bytes       next
 *   TARGET_FETCH        copies command->transfer.length bytes from the host's memory to      next
 *                       transfer.data (NdkRead)
 *   TARGET_DISK         carries out command->disk                                            next
 *   TARGET_PUT          copies transfer.length bytes from transfer.data to the host's        next
 *                       memory (NdkWrite). Only the order counts: it may call next at once,
 *                       because the response follows the write in the same queue pair.
 *   TARGET_COMPLETE     sends command->completion; if command->invalidate, the response      the end
 *                       invalidates command->invalidate_key (NdkSendAndInvalidate)
 *   TARGET_WAIT         keeps the command: an asynchronous event request. It ends when       later
 *                       target_controller_pop_ready returns it, or when its queue closes.
 *   TARGET_DISCONNECT   closes the connection; command->reason is a text for the log         the end
 *
 * Invariant: every value from the wire is checked here. So in each action the length is at most the buffer's, data lies
 * inside the buffer or the received capsule, and a disk's range lies inside its namespace.
 *
 * Locking: each function here that takes a subsystem, controller, queue or command requires the lock of the subsystem,
 * one for all of its controllers. They are short, so a spin lock does. The transport releases it to carry out an
 * action. Between two calls for a command, the transport alone uses the command's buffer and members transfer, disk and
 * completion. The capsule stays unchanged until the command ends, since transfer.data and disk.data may point into it.
 */
#ifndef TARGET_PROTOCOL_H
#define TARGET_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../nvme/fabrics.h"
#include "../nvme/nvme.h"

#define TARGET_MAX_NAMESPACES 64
#define TARGET_MAX_IO_QUEUES 64 /* of one controller */
#define TARGET_MAX_EVENTS 4     /* asynchronous event requests of one controller */
#define TARGET_STORED_FEATURES 8
#define TARGET_ERROR_ENTRIES 16    /* of the error log of one controller */
#define TARGET_CONNECT_MS 10000    /* the time in which a connection must send Connect; see target_queue_expired */
#define TARGET_DISCOVERY_MS 120000 /* the idle time that a discovery controller without keep-alive may last */

/* ---- Configuration ---- */

struct target_namespace {
    /* Set by the caller before target_subsystem_init. */
    uint32_t nsid;       /* not 0, and less than NVME_ALL_NAMESPACES */
    uint8_t block_shift; /* 9 to 12 */
    uint64_t blocks;     /* blocks << block_shift is at most INT64_MAX */
    bool read_only;
    bool attached;     /* hosts see it; see target_namespace_changed */
    uint8_t nguid[16]; /* all zero: none */
    uint8_t eui64[8];  /* all zero: none */
    uint8_t uuid[16];  /* all zero: none. At least one of the three is needed. */
    void *disk;        /* the caller's */
};

/* One address at which the subsystem can be reached, for discovery. */
struct target_port {
    uint8_t family;   /* NVME_ADRFAM_IPV4 or NVME_ADRFAM_IPV6 */
    char address[64]; /* text */
    char service[8];  /* the TCP port as text */
    uint16_t id;
};

struct target_controller;

struct target_subsystem {
    /*
     * Set by the caller before target_subsystem_init. Arrays stay where they are until the last queue is closed. Texts
     * end with a zero byte.
     */
    char nqn[NVME_NQN_SIZE];
    char serial[21], model[41], firmware[9];
    struct target_namespace *namespaces; /* in ascending order of nsid */
    uint32_t n_namespaces;
    const struct target_port *ports;
    uint32_t n_ports;
    const char *const *hosts; /* the qualified names of the hosts that may connect; n_hosts 0: any host */
    uint32_t n_hosts;
    struct target_controller *controllers; /* the memory of max_controllers controllers, discovery included */
    uint16_t max_controllers;
    uint16_t max_io_queues;    /* of one controller: 1 to TARGET_MAX_IO_QUEUES */
    uint16_t max_entries;      /* of one I/O queue: 2 to NVME_RDMA_MAX_QUEUE_ENTRIES */
    uint32_t max_transfer;     /* bytes of one command's data: a power of two, 8192 to 8 MiB. MDTS follows from it. */
    uint32_t max_capsule_data; /* bytes behind the command in a capsule: a multiple of 16, at most 65536, may be 0 */
    bool volatile_cache;       /* completed writes may be lost until Flush, or unless FUA is set */

    /* Private. */
    uint16_t last_cntlid;
    uint64_t discovery_generation;
};

/*
 * Checks the configuration, and clears the controllers. Returns NULL, or a text that names what is wrong with the
 * configuration.
 */
const char *target_subsystem_init(struct target_subsystem *subsystem);

/*
 * The caller calls this after it has changed a namespace's `blocks`, `attached` or `read_only`. Controllers whose host
 * asked for it have an event; the caller then calls target_controller_pop_ready for every controller in use. A
 * namespace that is not attached gets no new disk operation. Those that have begun go on.
 */
void target_namespace_changed(struct target_subsystem *subsystem, const struct target_namespace *ns);
/* The same after ports or n_ports have changed. */
void target_ports_changed(struct target_subsystem *subsystem);

/* ---- Controllers ---- */

struct target_queue;
struct target_command;

/*
 * A controller: what Connect of an admin queue creates, with the I/O queues that join later. Members are private except
 * those under "For the transport", which it may read with the lock held.
 */
struct target_controller {
    /* For the transport. */
    bool in_use;    /* false: the element of the table is free */
    bool closing;   /* its admin queue is closed: the transport closes its other queues */
    bool discovery; /* of the discovery subsystem */
    uint16_t cntlid;
    char host_nqn[NVME_NQN_SIZE];
    uint8_t host_id[NVME_HOST_ID_SIZE];

    /* Private. */
    struct target_subsystem *subsystem;
    uint32_t n_queues;
    struct target_queue *queues[TARGET_MAX_IO_QUEUES + 1]; /* by qid */
    uint32_t cc, csts;
    uint32_t kato_ms;
    uint64_t last_ms;        /* the time of the last command, of any queue */
    uint32_t event_config;   /* the feature asynchronous event configuration */
    uint32_t events_pending; /* bits NVME_EVENT_...: to be reported */
    uint32_t events_masked;  /* bits: reported, and the host has not read the log page yet */
    struct target_command *waiting[TARGET_MAX_EVENTS];
    uint32_t n_waiting;
    struct target_command *ready[TARGET_MAX_EVENTS];
    uint32_t n_ready;
    uint64_t namespaces_changed;                          /* bits by index in subsystem->namespaces */
    uint32_t features[TARGET_STORED_FEATURES];            /* by index in feature.c's table */
    uint16_t n_io_queues;                                 /* as the feature number of queues has it */
    struct nvme_error_entry errors[TARGET_ERROR_ENTRIES]; /* a ring, the last at (n_errors - 1) % size */
    uint64_t n_errors;
    uint64_t reads, writes, bytes_read, bytes_written, media_errors;
    uint64_t start_ms;
};

/*
 * Returns a command that was waiting, and whose action has become TARGET_COMPLETE, and removes it from the controller;
 * NULL if there is none. The transport calls it until NULL after each admin command's begin and next, and after
 * target_namespace_changed and target_ports_changed.
 */
struct target_command *target_controller_pop_ready(struct target_controller *controller);

/*
 * True if the host's keep-alive has expired: the transport closes all queues of the controller, the admin queue first.
 * Traffic counts as keep-alive, so that the controller lasts at least twice the timeout without any command.
 */
bool target_controller_has_expired(const struct target_controller *controller, uint64_t now_ms);

/* ---- Queues ---- */

struct target_queue {
    /* For the transport. */
    uint16_t qid;      /* as in the connection request */
    uint32_t commands; /* the commands that the host may have outstanding: so many receives are to be posted */
    struct target_controller *controller; /* NULL until Connect has succeeded */
    void *context;                        /* the transport's own */

    /* Private. */
    struct target_subsystem *subsystem;
    uint16_t cntlid;  /* as in the connection request; 0: not given */
    uint32_t entries; /* as in Connect */
    uint16_t sq_head;
    bool no_flow_control;
    bool connecting; /* Connect has begun */
    bool closed;     /* no more commands: disconnected by this side, or target_queue_close */
    uint32_t inflight;
    uint64_t start_ms;
};

/*
 * Begins a queue for a connection request with these private data. Returns NVME_RDMA_OK, or the status for
 * nvme_rdma_reject_build; the queue is then unusable, and needs no target_queue_close. queue->context stays.
 */
enum nvme_rdma_status target_queue_init(struct target_queue *queue, struct target_subsystem *subsystem,
                                        const void *private_data, size_t len, uint64_t now_ms);
/*
 * Ends a queue when its connection has ended, for any reason. The transport calls neither begin nor next for commands
 * of the queue any more, and frees them itself, also those that were waiting. If it was an admin queue, its controller
 * is `closing`, and the transport closes the other queues: those whose controller is `closing`.
 * The controller is free when its last queue is closed. Idempotent.
 */
void target_queue_close(struct target_queue *queue);
/* True if the connection has not sent Connect in time. The transport closes the queue. */
bool target_queue_has_expired(const struct target_queue *queue, uint64_t now_ms);

/* ---- Commands ---- */

enum target_action {
    TARGET_COMPLETE,
    TARGET_BUFFER,
    TARGET_FETCH,
    TARGET_DISK,
    TARGET_PUT,
    TARGET_WAIT,
    TARGET_DISCONNECT,
};

enum target_disk_operation {
    TARGET_DISK_READ,
    TARGET_DISK_WRITE,
    TARGET_DISK_FLUSH, /* everything completed before is durable; no range */
    TARGET_DISK_WRITE_ZEROES,
    TARGET_DISK_DEALLOCATE, /* as write zeroes, and the storage may be released */
};

struct target_command {
    /* Set by the transport before target_command_begin. */
    struct target_queue *queue;
    uint8_t *buffer;      /* aligned to 8 bytes; may be NULL: see TARGET_BUFFER */
    uint32_t buffer_size; /* the transport sets it with buffer */
    void *context;        /* the transport's own */

    /* Set by target_command_begin and target_command_next. */
    enum target_action action; /* also what they return */
    uint32_t buffer_needed;    /* TARGET_BUFFER: at most subsystem->max_transfer */
    struct {
        uint64_t address; /* the host's memory */
        uint32_t key;
        uint32_t length; /* not 0 */
        uint8_t *data;   /* in buffer */
    } transfer;          /* TARGET_FETCH, TARGET_PUT */
    struct {
        enum target_disk_operation operation;
        struct target_namespace *ns;
        uint64_t offset, length;       /* bytes, multiples of the block size; 0 with TARGET_DISK_FLUSH */
        uint8_t *data;                 /* read and write: in buffer, or in the capsule */
        bool fua;                      /* write, write zeroes, deallocate: durable before next is called */
    } disk;                            /* TARGET_DISK */
    struct nvme_completion completion; /* TARGET_COMPLETE */
    bool invalidate;                   /* TARGET_COMPLETE */
    uint32_t invalidate_key;
    const char *reason; /* TARGET_DISCONNECT */

    /* Private. */
    struct nvme_command sqe;
    const struct target_operation *operation;
    struct nvme_sgl sgl;
    struct target_namespace *ns;
    uint8_t *capsule; /* the data behind the command */
    uint32_t capsule_len;
    uint8_t *data;     /* the command's data: in the capsule or in buffer */
    uint32_t data_len; /* 0: the command has no data */
    uint8_t phase;     /* enum command_phase in command.c */
    uint8_t step;      /* of an operation that takes several */
    uint32_t index;    /* the next namespace or range */
    uint32_t done;     /* compare: the bytes that are equal */
    uint32_t chunk;    /* compare: the bytes of this step */
    uint16_t location; /* of the field that is wrong, for the error log */
    uint64_t begun_ms;
};

/*
 * Decodes a received capsule, and returns the first action. `capsule` is the whole received message of `len` bytes, and
 * stays unchanged until the command ends. For a command that ends with TARGET_DISCONNECT, and for all that follow in
 * its queue, the transport sends nothing. Other commands of the queue may still be outstanding; they end with
 * TARGET_DISCONNECT, too.
 */
enum target_action target_command_begin(struct target_command *command, uint8_t *capsule, size_t len, uint64_t now_ms);
/*
 * Continues after an action. `status` is NVME_SUCCESS, or what failed: NVME_DATA_TRANSFER_ERROR for a transfer,
 * NVME_UNRECOVERED_READ_ERROR, NVME_WRITE_FAULT or NVME_CAPACITY_EXCEEDED for a disk, NVME_INTERNAL_ERROR for a missing
 * buffer. The command then ends with this status.
 */
enum target_action target_command_next(struct target_command *command, uint16_t status);

#endif
