/* SPDX-License-Identifier: MIT */
/*
 * A small NVMe over Fabrics host for tests: one queue pair at a time, commands by number, every wait with a time limit.
 * It sends what the caller builds, right or wrong. Only one thread at a time may use a queue.
 */
#ifndef NVME_HOST_H
#define NVME_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <netinet/in.h>

#include "consumer/consumer.h"
#include "consumer/region.h"
#include "nvme/fabrics.h"
#include "nvme/nvme_data.h"

enum {
    HOST_MAX_COMMANDS = 32,
    HOST_DATA_SIZE = 131072, /* data bytes for each command, if the queue has at most 16 commands */
    HOST_ADMIN_DATA_SIZE = 8192,
    HOST_CAPSULE_SIZE = 64 + 4096,
    HOST_WAIT_S = 200,
};

/* The place of a command's data. */
enum host_data {
    HOST_NO_DATA,
    HOST_MEMORY,  /* the target reads or writes it */
    HOST_WINDOW,  /* the target reads or writes it with a token that the response invalidates */
    HOST_CAPSULE, /* the data are in the capsule, behind the command */
};

struct host_queue {
    struct consumer c;
    struct consumer_region capsules, responses, data;
    uint32_t data_size;                 /* data bytes for each command */
    NDK_MW *windows[HOST_MAX_COMMANDS]; /* NULL until the command uses one */
    uint32_t tokens[HOST_MAX_COMMANDS]; /* tokens of the windows */
    struct nvme_completion completions[HOST_MAX_COMMANDS];
    bool is_done[HOST_MAX_COMMANDS];
    uint32_t n_commands;
    uint16_t qid, cntlid;
    uint16_t reject_status; /* the target's status, if it has rejected the connection */
    uint32_t n_invalidated; /* number of windows that responses have invalidated */
    uint32_t read_limit;    /* limit of the target's reads; host_open sets 16 */
    struct in_addr from;    /* the host's address; host_open sets 127.0.0.1 */
};

/* Opens the objects of a queue of n_commands. Returns false after a failure, which is printed. */
bool host_open(struct host_queue *q, uint32_t n_commands);
void host_close(struct host_queue *q);
/* Connects with the private data of an NVMe host. Returns the status; STATUS_CONNECTION_REFUSED: see reject_status. */
NTSTATUS host_connect(struct host_queue *q, const struct sockaddr_in *to, uint16_t qid, uint16_t cntlid);
/* Connects with any private data. */
NTSTATUS host_connect_with(struct host_queue *q, const struct sockaddr_in *to, const void *data, uint32_t len);
/*
 * Sends Fabrics Connect, and waits for its completion. The host's identifier is the end of its name. Returns the NVMe
 * status; cntlid receives the controller.
 */
uint16_t host_fabrics_connect(struct host_queue *q, const char *nqn, const char *host_nqn, uint32_t kato_ms);
/* Sets or clears CC.EN of an admin queue's controller, without a wait. */
bool host_set_enabled(struct host_queue *admin, bool is_enabled);
/* Returns CSTS, or UINT32_MAX after a failure. */
uint32_t host_get_csts(struct host_queue *admin);
/* Reads CSTS until CSTS.RDY is as wanted. Returns false if the queue has ended. */
bool host_wait_ready(struct host_queue *admin, bool is_ready);
/* Enables the controller of an admin queue, and waits until it is ready. */
bool host_enable(struct host_queue *admin);
/* Connects an admin queue and enables the controller. Returns false after a failure, which is printed. */
bool host_open_controller(struct host_queue *admin, const struct sockaddr_in *to, const char *nqn,
                          const char *host_nqn);
/* Connects an I/O queue of the admin queue's controller. */
bool host_open_io(struct host_queue *io, const struct host_queue *admin, const struct sockaddr_in *to, uint16_t qid,
                  uint32_t n_commands, const char *nqn, const char *host_nqn);

uint8_t *host_data(struct host_queue *q, uint32_t cid);
/* Sends command number `cid`, without a wait. Fills in cid, flags and SGL of its copy. Returns false if it cannot. */
bool host_submit(struct host_queue *q, uint32_t cid, const struct nvme_command *command, enum host_data where,
                 uint32_t len);
/* Sends any message of len bytes. The message before with this cid must have completed. */
bool host_send(struct host_queue *q, uint32_t cid, const void *message, uint32_t len);
/* Sends the bytes that are in the command's capsule. Other sends of them may be outstanding. flags: NDK_OP_FLAG_*. */
bool host_send_again(struct host_queue *q, uint32_t cid, uint32_t len, uint32_t flags);
/* Waits for the completion of any command, and returns its number; -1: the connection has ended, or none arrived. */
int host_wait_any(struct host_queue *q);
/* Submits, and waits for this completion. Returns the NVMe status, or 0xffff if the connection has ended. */
uint16_t host_run(struct host_queue *q, const struct nvme_command *command, enum host_data where, uint32_t len);
/* Commands for namespaces, with data at host_data(q, 0). */
uint16_t host_io(struct host_queue *q, uint8_t opcode, uint32_t nsid, uint64_t lba, uint32_t blocks,
                 enum host_data where, uint32_t len);

/* ---- Contents of blocks of HOST_BLOCK bytes, which depend on the address and on the number of the write ---------- */

enum { HOST_BLOCK = 512 };

void host_fill(uint8_t *data, uint64_t lba, uint32_t blocks, uint32_t generation);
/* Returns the number of the write with which host_fill has filled the block, or -1 if the block is not filled. */
int64_t host_generation(const uint8_t *data, uint64_t lba);
bool host_is_filled(const uint8_t *data, uint64_t lba, uint32_t blocks, uint32_t generation);

#endif
