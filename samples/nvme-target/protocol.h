/* SPDX-License-Identifier: MIT */
/*
 * The protocol of an NVMe over Fabrics target: controllers, queues, and the effect of each command. These files do no
 * I/O, acquire no lock, read no clock and allocate no memory. Their caller, the transport, owns connections, buffers
 * and disks.
 *
 *   controller.c        configuration, queues, controllers, keep-alive
 *   drain.c             delays the readiness of a controller until earlier writes of its host have ended
 *   command.c           the steps that all commands share: begin, continue, complete
 *   fabrics_command.c   Connect and the properties
 *   event.c             asynchronous events, and Abort
 *   io.c                the commands for namespaces
 *   identify.c, log_page.c, feature.c, discovery.c   the other admin commands
 *   internal.h          declarations that these files share
 *
 * For each command the transport runs one loop. target_command_begin decodes the capsule and returns an action. The
 * transport carries the action out, and passes the action's status to target_command_next, which returns the next
 * action. The loop ends with an action that ends the command:
 *
 *   action              the transport                                                       then
 *   TARGET_BUFFER       sets command->buffer, of at least command->buffer_needed bytes       next
 *   TARGET_FETCH        copies command->transfer.length bytes from the host's memory to      next
 *                       transfer.data (NdkRead)
 *   TARGET_DISK         carries out command->disk, between target_disk_begin and next        next
 *   TARGET_PUT          copies transfer.length bytes from transfer.data to the host's        next
 *                       memory (NdkWrite). It need not wait for the write to complete,
 *                       because the response follows the write in the same queue pair.
 *   TARGET_COMPLETE     sends command->completion; if command->invalidate, the response      the end
 *                       invalidates command->invalidate_key (NdkSendAndInvalidate)
 *   TARGET_WAIT         keeps the command: an asynchronous event request. It ends when       later
 *                       target_controller_pop_ready returns it, or when its queue closes.
 *   TARGET_DISCONNECT   closes the connection; command->reason is a text for the log         the end
 *
 * Invariant: the protocol checks every value from the wire. So in each action the length is at most the buffer's size,
 * the data lie inside the buffer or the received capsule, and a disk's range lies inside its namespace.
 *
 * Locking: the transport has one lock for each subsystem, which also guards the subsystem's controllers, queues and
 * commands. The caller of each function must hold this lock, except during target_subsystem_init. A spin lock is
 * sufficient, because the functions are short. The transport releases the lock while it carries out an action. Between
 * two calls for a command, only the transport uses the command's buffer and its members transfer, disk and completion.
 * The capsule must stay unchanged until the command ends, because transfer.data and disk.data may point into it.
 */
#ifndef TARGET_PROTOCOL_H
#define TARGET_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../nvme/fabrics.h"
#include "../nvme/nvme.h"

#define TARGET_MAX_NAMESPACES 64
#define TARGET_MAX_IO_QUEUES 64 /* for each controller */
#define TARGET_MAX_CONTROLLERS 1024
#define TARGET_MAX_QUEUES (TARGET_MAX_CONTROLLERS * (TARGET_MAX_IO_QUEUES + 1)) /* of all controllers */
#define TARGET_MAX_EVENTS 4     /* maximum number of outstanding asynchronous event requests for each controller */
#define TARGET_STORED_FEATURES 8
#define TARGET_ERROR_ENTRIES 16 /* number of entries in a controller's error log */
/* Time limit for Connect after the connection was accepted; see target_queue_has_expired. */
#define TARGET_CONNECT_MS 10000
#define TARGET_DISCOVERY_MS 120000 /* maximum idle time of a discovery controller without keep-alive */

/* ---- Configuration ---- */

struct target_namespace {
    /* Set by the caller before target_subsystem_init. */
    uint32_t nsid;       /* not 0, and less than NVME_ALL_NAMESPACES - 1 */
    uint8_t block_shift; /* 9 to 12 */
    uint64_t blocks;     /* number of blocks, not 0; blocks << block_shift is at most INT64_MAX */
    bool read_only;
    bool attached;     /* hosts can use the namespace; see target_namespace_changed */
    uint8_t nguid[16]; /* all zero: none */
    uint8_t eui64[8];  /* all zero: none */
    uint8_t uuid[16];  /* all zero: none. At least one of nguid, eui64 and uuid must be set. */
    void *disk;        /* not used by the protocol; for the caller */
};

/* An address at which hosts reach the subsystem. The discovery log page lists these addresses. */
struct target_port {
    uint8_t family;   /* NVME_ADRFAM_IPV4 or NVME_ADRFAM_IPV6 */
    char address[64]; /* the address as text */
    char service[8];  /* the TCP port as text */
    uint16_t id;
};

struct target_controller;

struct target_subsystem {
    /*
     * The caller sets these members before target_subsystem_init. The arrays must exist until the last queue has
     * closed. Each string ends with a zero byte.
     */
    char nqn[NVME_NQN_SIZE];
    char serial[21], model[41], firmware[9];
    struct target_namespace *namespaces; /* in ascending order of nsid */
    uint32_t n_namespaces;
    const struct target_port *ports;
    uint32_t n_ports;
    const char *const *hosts; /* qualified names of the hosts that may connect; if n_hosts is 0, any host may connect */
    uint32_t n_hosts;
    /* Memory for max_controllers controllers, which include discovery controllers. */
    struct target_controller *controllers;
    uint16_t max_controllers;
    uint16_t max_io_queues; /* maximum number of I/O queues for each controller: 1 to TARGET_MAX_IO_QUEUES */
    uint32_t max_queues;    /* maximum number of queues of all controllers together: 2 or more */
    uint16_t max_entries;   /* maximum number of entries in an I/O queue: 2 to NVME_RDMA_MAX_QUEUE_ENTRIES */
    /* Maximum size of a command's data in bytes: a power of two from 8192 to 8 MiB; determines MDTS. */
    uint32_t max_transfer;
    uint32_t max_capsule_data; /* maximum number of data bytes in a capsule: a multiple of 16 from 0 to 65536 */
    /* A loss of power may lose completed writes, unless FUA was set or a Flush has followed. */
    bool volatile_cache;

    /* Private. */
    uint16_t last_cntlid;
    uint64_t discovery_generation;
    struct target_command *writes; /* the commands with a disk operation that changes a disk; see drain.c */
    uint64_t n_enables;            /* number of times that a controller was enabled */
};

/*
 * Checks the configuration, and clears the controllers. Returns NULL, or a text that describes the mistake in the
 * configuration.
 */
const char *target_subsystem_init(struct target_subsystem *subsystem);

/*
 * Raises the event "namespace changed" in each controller whose host has enabled it. The caller must call this after it
 * has changed `blocks`, `attached` or `read_only` of a namespace, and must then call target_controller_pop_ready for
 * every controller in use. A namespace that is not attached receives no new disk operation; running operations
 * continue.
 */
void target_namespace_changed(struct target_subsystem *subsystem, const struct target_namespace *ns);
/*
 * Raises the event "discovery log page changed". The caller must call this after a change of ports or n_ports; the
 * other rules are those of target_namespace_changed.
 */
void target_ports_changed(struct target_subsystem *subsystem);

/* ---- Controllers ---- */

struct target_queue;
struct target_command;

/*
 * A controller. Connect of an admin queue creates it, and I/O queues join it later. The members are private except
 * those under "For the transport". The transport may read these while it holds the lock.
 */
struct target_controller {
    /* For the transport. */
    bool in_use;    /* false: the table entry is free */
    bool closing;   /* the admin queue has closed; the transport must close the controller's other queues */
    bool discovery; /* the controller belongs to the discovery subsystem */
    uint16_t cntlid;
    char host_nqn[NVME_NQN_SIZE];
    uint8_t host_id[NVME_HOST_ID_SIZE];

    /* Private. */
    struct target_subsystem *subsystem;
    uint32_t n_queues;
    struct target_queue *queues[TARGET_MAX_IO_QUEUES + 1]; /* indexed by qid */
    uint32_t cc, csts;
    uint64_t enable_number; /* the value of subsystem->n_enables when this controller was enabled */
    uint32_t kato_ms;
    uint64_t last_ms;        /* time of the last command on any queue of the controller */
    uint32_t event_config;   /* value of the feature "asynchronous event configuration" */
    uint32_t events_pending; /* bits NVME_EVENT_... of the events that are not reported yet */
    uint32_t events_masked;  /* bits NVME_EVENT_... of the reported events whose log page the host has not read yet */
    struct target_command *waiting[TARGET_MAX_EVENTS];
    uint32_t n_waiting;
    struct target_command *ready[TARGET_MAX_EVENTS];
    uint32_t n_ready;
    uint64_t namespaces_changed;               /* bit n: namespaces[n] of the subsystem has changed */
    uint32_t features[TARGET_STORED_FEATURES]; /* indexed as the table feature_values in feature.c */
    uint16_t n_io_queues;                      /* maximum number of I/O queues that the host may connect */
    bool has_reserved_queues; /* the host has set the feature "number of queues", so n_io_queues are reserved for it */
    /* Ring buffer; the latest entry has the index (n_errors - 1) % TARGET_ERROR_ENTRIES. */
    struct nvme_error_entry errors[TARGET_ERROR_ENTRIES];
    uint64_t n_errors;
    uint64_t reads, writes, bytes_read, bytes_written, media_errors;
    uint64_t start_ms;
};

/*
 * Removes a command from `ready`: the command was waiting, and its action has become TARGET_COMPLETE. Returns the
 * command, or NULL if no command is ready. The transport must call this until it returns NULL, after each begin and
 * next of an admin command, after target_namespace_changed, and after target_ports_changed.
 */
struct target_command *target_controller_pop_ready(struct target_controller *controller);

/*
 * Returns true if the host's keep-alive has expired. The transport must then close all queues of the controller, the
 * admin queue first. Every command counts as a keep-alive. So a controller without commands exists for at least twice
 * the keep-alive timeout.
 */
bool target_controller_has_expired(const struct target_controller *controller, uint64_t now_ms);

/*
 * Returns true if the host has to wait until the controller is ready, or until its reset is complete, because earlier
 * writes of the host still run.
 */
bool target_controller_waits(const struct target_controller *controller);

/* ---- Queues ---- */

struct target_queue {
    /* For the transport. */
    uint16_t qid; /* queue number from the connection request; 0: the admin queue */
    /* Maximum number of outstanding commands of the host. The transport must post this number of receives. */
    uint32_t commands;
    struct target_controller *controller; /* NULL until Connect has succeeded */
    void *context;                        /* not used by the protocol; for the transport */

    /* Private. */
    struct target_subsystem *subsystem;
    uint16_t cntlid;  /* controller number from the connection request; 0: the host has not sent it */
    uint32_t entries; /* number of entries in the submission queue, from Connect */
    uint16_t sq_head;
    bool no_flow_control;
    bool connecting; /* a Connect command is being executed */
    /* The queue accepts no more commands, because this side has disconnected it or target_queue_close was called. */
    bool closed;
    uint32_t inflight;
    uint64_t start_ms;
};

/*
 * Initializes a queue from the private data of a connection request. Returns NVME_RDMA_OK, or the status for
 * nvme_rdma_reject_build. After a failure the queue must not be used, and target_queue_close is not necessary. Leaves
 * queue->context unchanged.
 */
enum nvme_rdma_status target_queue_init(struct target_queue *queue, struct target_subsystem *subsystem,
                                        const void *private_data, size_t len, uint64_t now_ms);
/*
 * Closes a queue after its connection has ended, for any reason. The transport must not call begin or next for the
 * queue's commands any more, and frees these commands itself, also the waiting ones. If a command's action is
 * TARGET_DISK, target_disk_end must be called before the command and the queue are freed. After an admin queue has
 * closed, its controller is `closing`, and the transport must close the controller's other queues. When the last queue
 * has closed and the last write has ended, the controller's table entry is free. A second call has no effect.
 */
void target_queue_close(struct target_queue *queue);
/* Returns true if the host has not sent Connect in time. The transport must then close the queue. */
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
    TARGET_DISK_FLUSH, /* makes all completed writes durable; has no range */
    TARGET_DISK_WRITE_ZEROES,
    TARGET_DISK_DEALLOCATE, /* as write zeroes, and the disk may free the storage */
};

struct target_command {
    /* Set by the transport before target_command_begin. */
    struct target_queue *queue;
    uint8_t *buffer;      /* aligned to 8 bytes; may be NULL until TARGET_BUFFER requests a buffer */
    uint32_t buffer_size; /* size of buffer in bytes */
    void *context;        /* not used by the protocol; for the transport */

    /* Set by target_command_begin and target_command_next. */
    enum target_action action; /* the return value of the last begin or next */
    uint32_t buffer_needed;    /* TARGET_BUFFER: minimum size of the buffer; at most subsystem->max_transfer */
    struct {
        uint64_t address; /* start of the range in the host's memory */
        uint32_t key;
        uint32_t length; /* not 0 */
        uint8_t *data;   /* in `buffer` */
    } transfer;          /* for TARGET_FETCH and TARGET_PUT */
    struct {
        enum target_disk_operation operation;
        struct target_namespace *ns;
        uint64_t offset, length;       /* both in bytes, multiples of the block size; both 0 for TARGET_DISK_FLUSH */
        uint8_t *data;                 /* for read and write: in `buffer`, or in the capsule */
        bool fua;                      /* write, write zeroes, deallocate: must be durable before next is called */
    } disk;                            /* for TARGET_DISK */
    struct nvme_completion completion; /* for TARGET_COMPLETE */
    bool invalidate;                   /* for TARGET_COMPLETE: the response invalidates invalidate_key */
    uint32_t invalidate_key;
    const char *reason; /* for TARGET_DISCONNECT */

    /* Private. */
    struct nvme_command sqe;
    const struct target_operation *operation;
    struct nvme_sgl sgl;
    struct target_namespace *ns;
    uint8_t *capsule; /* the capsule's data, which follow the command */
    uint32_t capsule_len;
    uint8_t *data;     /* the command's data, in the capsule or in `buffer` */
    uint32_t data_len; /* size of the command's data in bytes; 0: the command has no data */
    uint8_t phase;     /* enum command_phase in command.c */
    uint8_t step;      /* the next step of an operation whose `run` is called several times; 0 at first */
    bool is_aborted;   /* the host has aborted the command; it begins no further disk operation */
    uint32_t index;    /* index of the next namespace or range to process */
    uint32_t done;     /* Compare: number of bytes compared so far. Zeroing: number of blocks requested so far. */
    uint32_t chunk;    /* Compare: number of bytes in the present chunk */
    uint16_t location; /* byte offset of the wrong field in the command, for the error log */
    uint64_t begun_ms;
    struct {
        struct target_command *next,
            **link; /* entry in subsystem->writes; `link` is NULL if the command is not in it */
        struct target_controller *controller;
        uint64_t n_enables; /* the value of subsystem->n_enables when the command began */
        bool is_running;    /* target_disk_begin has returned true */
    } write;                /* see drain.c */
};

/*
 * Decodes a received capsule, and returns the first action. `capsule` is the whole received message of `len` bytes. It
 * must stay unchanged until the command ends. After TARGET_DISCONNECT the transport sends nothing more on the queue: no
 * response to this command and none to the queue's other outstanding commands. These commands end with
 * TARGET_DISCONNECT, too.
 */
enum target_action target_command_begin(struct target_command *command, uint8_t *capsule, size_t len, uint64_t now_ms);
/*
 * Continues a command after the transport has carried out an action. `status` is NVME_SUCCESS or the error: for example
 * NVME_DATA_TRANSFER_ERROR for a transfer, NVME_WRITE_FAULT or NVME_CAPACITY_EXCEEDED for a disk, NVME_INTERNAL_ERROR
 * for a missing buffer. After an error the command ends with this status.
 */
enum target_action target_command_next(struct target_command *command, uint16_t status);

/*
 * Must be called directly before the disk operation of TARGET_DISK. Returns false if the operation must no longer be
 * executed, because the host has aborted the command, or its queue or controller has ended. The transport then calls
 * next with NVME_ABORT_REQUESTED, or target_disk_end if the queue is closed.
 */
bool target_disk_begin(struct target_command *command);
/*
 * Ends the disk operation of a command whose queue was closed. Must be called when the operation has returned or will
 * not be executed. Has no effect if no operation is in progress: target_command_next also ends the operation, but may
 * begin another one.
 */
void target_disk_end(struct target_command *command);

#endif
