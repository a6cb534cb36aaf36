/* SPDX-License-Identifier: MIT */
/*
 * Builds and parses the bytes that both sides of NVMe over RDMA exchange: the private data of a connection, the Connect
 * command with its data, qualified names, and SGL descriptors. The functions have no state and allocate nothing. A
 * parse function checks every length and every reserved value that it uses, and reads no byte beyond the length that
 * the caller passes.
 */
#ifndef NVME_FABRICS_H
#define NVME_FABRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nvme.h"

#define NVME_RDMA_MAX_QUEUE_ENTRIES 1024
/* Maximum number of entries in an admin queue, which the transport's specification sets. */
#define NVME_RDMA_ADMIN_QUEUE_ENTRIES 32

/* ---- The RDMA transport's private data ---- */

/* The values in the private data of a connection request. */
struct nvme_rdma_queue {
    uint16_t qid;
    uint16_t cntlid;   /* the controller of an I/O queue; 0 if the host does not send the number */
    uint32_t commands; /* maximum number of outstanding commands of the host: 2 to NVME_RDMA_MAX_QUEUE_ENTRIES */
    uint32_t receives; /* number of receives that the host posts for responses */
};

/* Writes the private data of a connection request. */
void nvme_rdma_request_build(struct nvme_rdma_request *request, const struct nvme_rdma_queue *queue);
/*
 * Parses the private data of a connection request. Ignores bytes after the structure, because transports add padding.
 * Returns NVME_RDMA_OK, or the status with which the target must reject the connection. An admin queue (qid 0) must
 * have at most NVME_RDMA_ADMIN_QUEUE_ENTRIES commands.
 */
enum nvme_rdma_status nvme_rdma_request_parse(struct nvme_rdma_queue *queue, const void *data, size_t len);
/*
 * Writes the private data of an accepted connection. `receives` is the number of receives that the target has posted.
 */
void nvme_rdma_reply_build(struct nvme_rdma_reply *reply, uint32_t receives);
/*
 * Parses the private data of an accepted connection. Returns false, and leaves *receives unchanged, if `data` is
 * invalid.
 */
bool nvme_rdma_reply_parse(uint32_t *receives, const void *data, size_t len);
void nvme_rdma_reject_build(struct nvme_rdma_reject *reject, enum nvme_rdma_status status);
/*
 * Parses the private data of a rejected connection. Returns false if `data` is invalid. *status may receive any value.
 */
bool nvme_rdma_reject_parse(uint16_t *status, const void *data, size_t len);
/* Returns a constant text for log messages. Accepts unknown values, too. */
const char *nvme_rdma_status_text(uint16_t status);

/* ---- Qualified names ---- */

/*
 * Returns true if the field of NVME_NQN_FIELD_SIZE bytes contains a qualified name. A qualified name ends with a zero
 * byte within NVME_NQN_SIZE bytes, has at least one character, and has only printable ASCII characters. The form
 * "nqn.yyyy-mm." is not required, because some hosts in use do not have it.
 */
bool nvme_nqn_is_valid(const uint8_t *field);
/* Returns true if the field of NVME_NQN_FIELD_SIZE bytes contains exactly `name`. The field may have any contents. */
bool nvme_nqn_equal(const uint8_t *field, const char *name);

/* ---- Connect ---- */

struct nvme_connect {
    uint16_t qid;
    uint32_t entries; /* number of entries in the submission queue */
    uint16_t cntlid;  /* NVME_CNTLID_DYNAMIC for the admin queue; the controller's number for an I/O queue */
    uint32_t kato_ms; /* keep-alive timeout; only for the admin queue */
    bool no_flow_control;
    const uint8_t *host_id;    /* NVME_HOST_ID_SIZE bytes */
    const char *host_nqn;      /* ends with a zero byte; at most NVME_NQN_SIZE bytes with that byte */
    const char *subsystem_nqn; /* as host_nqn */
};

/*
 * Writes the Connect command and its data. The caller sets command->cid and command->sgl afterwards. Returns false if a
 * name is too long.
 */
bool nvme_connect_build(struct nvme_command *command, struct nvme_connect_data *data,
                        const struct nvme_connect *connect);

/* ---- SGL descriptors ---- */

enum nvme_sgl_kind {
    NVME_SGL_KIND_HOST,    /* the host's memory: `address`, `length` and `key` describe the range */
    NVME_SGL_KIND_CAPSULE, /* `length` bytes in the capsule, which begin `address` bytes after the command */
};

struct nvme_sgl {
    enum nvme_sgl_kind kind;
    uint64_t address;
    uint32_t length;
    uint32_t key;
    bool invalidate; /* the host requests that the response invalidates the key */
};

/* Writes the descriptor. Requires length <= NVME_SGL_MAX_KEYED_LENGTH if the descriptor is keyed. */
void nvme_sgl_build(struct nvme_sgl_descriptor *descriptor, const struct nvme_sgl *sgl);
/* Writes the descriptor of a command without data. Targets require a keyed descriptor of length 0. */
void nvme_sgl_build_empty(struct nvme_sgl_descriptor *descriptor);
/*
 * Parses a descriptor. Returns NVME_SUCCESS, or NVME_SGL_TYPE_INVALID if the RDMA transport does not have the type or
 * subtype. Does not compare the length with any buffer: nvme_sgl_in_capsule and the caller do that.
 */
uint16_t nvme_sgl_parse(struct nvme_sgl *sgl, const struct nvme_sgl_descriptor *descriptor);
/*
 * Returns true if the range of an NVME_SGL_KIND_CAPSULE descriptor lies within the capsule's data, which are the
 * `data_len` bytes after the command. The check cannot overflow, whatever the descriptor contains.
 */
bool nvme_sgl_in_capsule(const struct nvme_sgl *sgl, size_t data_len);

/* ---- Status ---- */

/*
 * Both functions return a constant text for a 15-bit status, and ignore its flags. Unknown values have a text, too.
 * A status code of Connect can have the number of an NVM command's status code. So nvme_connect_status_text is for the
 * completion of Connect, and nvme_status_text for the completions of all other commands.
 */
const char *nvme_status_text(uint16_t status);
const char *nvme_connect_status_text(uint16_t status);

#endif
