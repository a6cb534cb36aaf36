/* SPDX-License-Identifier: MIT */
/*
 * Declarations that the files of the protocol share; protocol.h explains the protocol. Each function requires the
 * subsystem's lock.
 */
#ifndef TARGET_INTERNAL_H
#define TARGET_INTERNAL_H

#include <string.h>

#include "protocol.h"

#define TARGET_KEEP_ALIVE_MS 1000 /* the unit of keep-alive timeouts */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * The behaviour of a command. `prepare` checks the command and sets data_len; it returns NVME_SUCCESS or the status
 * that ends the command. Then the data to the controller are in command->data, or there is a buffer for the data to the
 * host, and `run` returns an action. While that action is not TARGET_PUT, and does not end the command, `run` is called
 * again after the action.
 */
enum {
    OPERATION_DISCOVERY = 1, /* a discovery controller has the command, too */
    OPERATION_FETCHES = 2,   /* run fetches the data itself, in parts */
    OPERATION_LONG_SGL = 4,  /* the host may describe more memory than the command has data */
};
struct target_operation {
    uint8_t opcode; /* or the Fabrics type. The two low bits give the direction of the data. */
    uint8_t flags;  /* OPERATION_... */
    uint16_t (*prepare)(struct target_command *command);
    enum target_action (*run)(struct target_command *command);
};

/* ---- command.c ---- */
/* Ends the command. A failure of a controller's command is written to its error log. */
enum target_action target_complete(struct target_command *command, uint16_t status);
/* Keeps the command until target_complete is called for it from outside. */
enum target_action target_wait(struct target_command *command);
/* Ends the command and its queue. */
enum target_action target_disconnect(struct target_command *command, const char *reason);
/* Writes command->data_len bytes of command->data to the host; this ends the command. */
enum target_action target_put(struct target_command *command);
/* Fetches a part of the host's memory that the command describes. Requires offset + length <= data_len. */
enum target_action target_fetch(struct target_command *command, uint32_t offset, uint8_t *data, uint32_t length);
/* Notes the field that is wrong, and returns the status with NVME_DNR. `location` is a byte offset into the command. */
uint16_t target_reject(struct target_command *command, uint16_t status, size_t location);
#define TARGET_REJECT_FIELD(command, field)                                                                            \
    target_reject(command, NVME_INVALID_FIELD, offsetof(struct nvme_command, field))

/* ---- controller.c ---- */
/* Returns the attached namespace, or NULL. */
struct target_namespace *target_namespace_find(const struct target_subsystem *subsystem, uint32_t nsid);
/* Returns the controller in use, or NULL. */
struct target_controller *target_controller_find(const struct target_subsystem *subsystem, uint16_t cntlid);
/* Returns a new controller with a number that no other has; NULL if all are in use. */
struct target_controller *target_controller_create(struct target_subsystem *subsystem, uint64_t now_ms);
/* Makes the queue one of the controller. */
void target_controller_join(struct target_controller *controller, struct target_queue *queue);
/* The host has disabled the controller: its settings and events are forgotten, its I/O queues accept no command. */
void target_controller_reset(struct target_controller *controller);
bool target_controller_is_ready(const struct target_controller *controller);
void target_controller_log_error(struct target_controller *controller, const struct target_command *command,
                                 uint16_t status);
bool target_host_is_allowed(const struct target_subsystem *subsystem, const uint8_t *host_nqn_field);
/* Copies text without its terminating zero, and fills the rest of the field. */
void target_fill_text(char *field, size_t size, const char *text, char fill);

/* ---- fabrics_command.c ---- */
#define TARGET_CONNECT 0
extern const struct target_operation target_fabrics_operations[3];

/* ---- event.c ---- */
extern const struct target_operation target_async_event, target_abort;
/* Reports the event NVME_EVENT_..., if the host asked for it, now or when the next request arrives. */
void target_event_raise(struct target_controller *controller, uint32_t event);
/* The host has read the log page, which makes the event reportable again. */
void target_event_clear(struct target_controller *controller, uint32_t event);
/* The host asks for these events. Those that are pending are reported now. */
void target_event_configure(struct target_controller *controller, uint32_t config);
/* Completes the waiting requests as aborted. */
void target_event_abort_all(struct target_controller *controller);

/* ---- io.c ---- */
extern const struct target_operation target_io_operations[6];
/* Returns true and sets the action if another namespace is to be flushed. command->index is where to go on. */
bool target_flush_next(struct target_command *command);

/* ---- identify.c, log_page.c, feature.c, discovery.c ---- */
extern const struct target_operation target_identify, target_get_log_page;
extern const struct target_operation target_set_features, target_get_features, target_keep_alive;

/* A part of a log page: the host reads [offset, offset + length), and the page is written piece by piece. */
struct target_log_window {
    uint8_t *data;
    uint64_t offset;
    uint32_t length;
};
/* Copies what the host reads of the page's bytes [position, position + size). */
void target_log_write(const struct target_log_window *window, uint64_t position, const void *bytes, size_t size);
uint64_t target_discovery_log_size(const struct target_controller *controller);
void target_discovery_log_write(const struct target_controller *controller, const struct target_log_window *window);
/* True if writes of this controller must be durable before they complete. */
bool target_feature_writes_through(const struct target_controller *controller);
void target_feature_init(struct target_controller *controller);

#endif
