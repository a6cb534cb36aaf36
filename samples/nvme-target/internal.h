/* SPDX-License-Identifier: MIT */
/*
 * Declarations that the files of the protocol share; protocol.h explains the protocol. Each function requires that the
 * caller holds the subsystem's lock.
 */
#ifndef TARGET_INTERNAL_H
#define TARGET_INTERNAL_H

#include <string.h>

#include "protocol.h"

#define TARGET_KEEP_ALIVE_MS 1000 /* the unit of keep-alive timeouts */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * struct target_operation is one kind of command. `prepare` checks the command and sets data_len. It returns
 * NVME_SUCCESS, or the status that ends the command. Then `run` is called. command->data points to the data from the
 * host, or to a buffer for data to the host. `run` returns an action. When the transport has carried out the action,
 * `run` is called again, unless the action is TARGET_PUT or TARGET_WAIT, or ends the command.
 */
enum {
    OPERATION_DISCOVERY = 1, /* a discovery controller executes the command, too */
    OPERATION_FETCHES = 2,   /* `run` fetches the data itself, in parts */
    OPERATION_LONG_SGL = 4,  /* the SGL may describe more memory than the command needs */
};
struct target_operation {
    /* The opcode, or the Fabrics type of a Fabrics command. The two low bits give the direction of the data. */
    uint8_t opcode;
    uint8_t flags; /* OPERATION_... */
    uint16_t (*prepare)(struct target_command *command);
    enum target_action (*run)(struct target_command *command);
};

/* ---- command.c ---- */
/*
 * Completes the command. If the command has failed and was not aborted, and the queue has a controller, adds an entry
 * to the error log.
 */
enum target_action target_complete(struct target_command *command, uint16_t status);
/* Keeps the command outstanding until another function calls target_complete for it. */
enum target_action target_wait(struct target_command *command);
/* Ends the command, and closes its queue. */
enum target_action target_disconnect(struct target_command *command, const char *reason);
/* Writes command->data_len bytes from command->data to the host, and then completes the command. */
enum target_action target_put(struct target_command *command);
/*
 * Fetches `length` bytes at `offset` of the host memory that the command describes. Requires offset + length <=
 * data_len.
 */
enum target_action target_fetch(struct target_command *command, uint32_t offset, uint8_t *data, uint32_t length);
/*
 * Stores the wrong field's `location`, a byte offset into the command, for the error log. Returns `status` with
 * NVME_DNR.
 */
uint16_t target_reject(struct target_command *command, uint16_t status, size_t location);
#define TARGET_REJECT_FIELD(command, field)                                                                            \
    target_reject(command, NVME_INVALID_FIELD, offsetof(struct nvme_command, field))

/* ---- controller.c ---- */
/* Returns the attached namespace with the number `nsid`, or NULL. */
struct target_namespace *target_namespace_find(const struct target_subsystem *subsystem, uint32_t nsid);
/* Returns the controller with the number `cntlid`, or NULL if no controller in use has this number. */
struct target_controller *target_controller_find(const struct target_subsystem *subsystem, uint16_t cntlid);
/* Creates a controller with an unused number. Returns NULL if all controllers are in use. */
struct target_controller *target_controller_create(struct target_subsystem *subsystem, uint64_t now_ms);
/* Adds the queue to the controller. */
void target_controller_join(struct target_controller *controller, struct target_queue *queue);
/* Disables the controller: resets its settings and events, and closes its I/O queues to further commands. */
void target_controller_reset(struct target_controller *controller);
bool target_controller_is_ready(const struct target_controller *controller);
void target_controller_log_error(struct target_controller *controller, const struct target_command *command,
                                 uint16_t status);
bool target_host_is_allowed(const struct target_subsystem *subsystem, const uint8_t *host_nqn_field);
/* Copies text without its terminating zero, and fills the rest of the field. */
void target_fill_text(char *field, size_t size, const char *text, char fill);

/* ---- drain.c ---- */
/*
 * Enables the controller. Requires that its configuration is valid. The controller becomes ready at once or, if earlier
 * writes still run, in a later target_controller_update.
 */
void target_controller_enable(struct target_controller *controller);
/* Updates CSTS after a change of CC, or if writes may have ended. */
void target_controller_update(struct target_controller *controller);
/* Frees the controller's table entry if the controller has neither queues nor writes. */
void target_controller_release(struct target_controller *controller);
/* Adds a command to subsystem->writes. Requires that the command is not in it. */
void target_disk_request(struct target_command *command);
/*
 * Aborts the command `cid` of queue `sqid`. Does not end its running disk operation. Returns false if subsystem->writes
 * does not contain the command.
 */
bool target_disk_abort(const struct target_controller *controller, uint16_t sqid, uint16_t cid);

/* ---- fabrics_command.c ---- */
#define TARGET_CONNECT 0
extern const struct target_operation target_fabrics_operations[3];

/* ---- event.c ---- */
extern const struct target_operation target_async_event, target_abort;
/* Reports the event, one of NVME_EVENT_..., if the host has enabled it: now, or with the host's next event request. */
void target_event_raise(struct target_controller *controller, uint32_t event);
/* Unmasks the event, after the host has read its log page. Discards a pending report of the event. */
void target_event_clear(struct target_controller *controller, uint32_t event);
/* Sets which events are enabled, and reports those that are already pending. */
void target_event_configure(struct target_controller *controller, uint32_t config);
/* Completes the waiting event requests with NVME_ABORT_REQUESTED. */
void target_event_abort_all(struct target_controller *controller);

/* ---- io.c ---- */
extern const struct target_operation target_io_operations[6];
/*
 * Starts the flush of the next namespace, at command->index or later, and increments the index. Returns true and sets
 * command->action, or returns false if no namespace is left.
 */
bool target_flush_next(struct target_command *command);

/* ---- identify.c, log_page.c, feature.c, discovery.c ---- */
extern const struct target_operation target_identify, target_get_log_page;
extern const struct target_operation target_set_features, target_get_features, target_keep_alive;

/* The part of a log page that the host reads: the bytes [offset, offset + length). The page is written in pieces. */
struct target_log_window {
    uint8_t *data;
    uint64_t offset;
    uint32_t length;
};
/* Writes one piece, the bytes [position, position + size) of the log page. Copies only those that lie in the window. */
void target_log_write(const struct target_log_window *window, uint64_t position, const void *bytes, size_t size);
uint64_t target_discovery_log_size(const struct target_controller *controller);
void target_discovery_log_write(const struct target_controller *controller, const struct target_log_window *window);
/* Returns true if writes of this controller must be durable before they complete. */
bool target_feature_writes_through(const struct target_controller *controller);
void target_feature_init(struct target_controller *controller);

#endif
