/* SPDX-License-Identifier: MIT */
/*
 * The bytes that both sides of NVMe over RDMA build and parse: the private data of a connection, the Connect command
 * with its data, qualified names, and SGL descriptors. Pure functions of bytes. A parse function checks every length
 * and reserved value on which it relies, and reads no byte behind the length that it is given.
 */
#ifndef NVME_FABRICS_H
#define NVME_FABRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nvme.h"

#define NVME_RDMA_MAX_QUEUE_ENTRIES 1024
#define NVME_RDMA_ADMIN_QUEUE_ENTRIES 32 /* the transport's limit for admin queues */

/* ---- The RDMA transport's private data ---- */

/* The values of a connection request. */
struct nvme_rdma_queue {
    uint16_t qid;
    uint16_t cntlid;   /* an I/O queue's controller; 0 if the host does not send it */
    uint32_t commands; /* the commands that the host may have outstanding: 2 to NVME_RDMA_MAX_QUEUE_ENTRIES */
    uint32_t receives; /* the receives that the host posts for responses */
};

/* Writes the private data of a connection request. */
void nvme_rdma_request_build(struct nvme_rdma_request *request, const struct nvme_rdma_queue *queue);
/*
 * Parses the private data of a connection request. Bytes behind the structure are ignored, because transports pad.
 * Returns NVME_RDMA_OK, or the status with which the target must reject. A queue of qid 0 with more than
 * NVME_RDMA_ADMIN_QUEUE_ENTRIES commands is rejected.
 */
enum nvme_rdma_status nvme_rdma_request_parse(struct nvme_rdma_queue *queue, const void *data, size_t len);
/* Writes the private data of an accepted connection. `receives` is the number that the target has posted. */
void nvme_rdma_reply_build(struct nvme_rdma_reply *reply, uint32_t receives);
/* Parses the private data of an accepted connection. Returns false if it is none; *receives is then unchanged. */
bool nvme_rdma_reply_parse(uint32_t *receives, const void *data, size_t len);
void nvme_rdma_reject_build(struct nvme_rdma_reject *reject, enum nvme_rdma_status status);
/* Parses the private data of a rejected connection. Returns false if it is none. *status may be any value. */
bool nvme_rdma_reject_parse(uint16_t *status, const void *data, size_t len);
/* A constant text for people, also for unknown values. */
const char *nvme_rdma_status_text(uint16_t status);

/* ---- Qualified names ---- */

/*
 * True if the field of NVME_NQN_FIELD_SIZE bytes contains a qualified name: a zero byte ends it within NVME_NQN_SIZE
 * bytes, and the name has at least one character and only printable ASCII characters. (The form "nqn.yyyy-mm." is not
 * required, since hosts in use do not all keep it.)
 */
bool nvme_nqn_is_valid(const uint8_t *field);
/* True if the field of NVME_NQN_FIELD_SIZE bytes contains exactly `name`. Requires nothing of the field. */
bool nvme_nqn_equal(const uint8_t *field, const char *name);

/* ---- Connect ---- */

struct nvme_connect {
    uint16_t qid;
    uint32_t entries; /* of the submission queue */
    uint16_t cntlid;  /* admin queue: NVME_CNTLID_DYNAMIC; I/O queue: the controller */
    uint32_t kato_ms; /* admin queue */
    bool no_flow_control;
    const uint8_t *host_id;    /* NVME_HOST_ID_SIZE bytes */
    const char *host_nqn;      /* with a terminating zero, at most NVME_NQN_SIZE bytes */
    const char *subsystem_nqn; /* the same */
};

/*
 * Writes the command and its data. The caller sets command->cid and command->sgl afterwards. Returns false if a name is
 * too long.
 */
bool nvme_connect_build(struct nvme_command *command, struct nvme_connect_data *data,
                        const struct nvme_connect *connect);

/* ---- SGL descriptors ---- */

enum nvme_sgl_kind {
    NVME_SGL_KIND_HOST,    /* memory of the host: address, length and key */
    NVME_SGL_KIND_CAPSULE, /* `length` bytes in the capsule, `address` bytes behind the command */
};

struct nvme_sgl {
    enum nvme_sgl_kind kind;
    uint64_t address;
    uint32_t length;
    uint32_t key;
    bool invalidate; /* the host wants the response to invalidate the key */
};

/* Writes the descriptor. A keyed one requires length <= NVME_SGL_MAX_KEYED_LENGTH. */
void nvme_sgl_build(struct nvme_sgl_descriptor *descriptor, const struct nvme_sgl *sgl);
/* Writes the descriptor of a command without data, as targets expect it: keyed, of length 0. */
void nvme_sgl_build_empty(struct nvme_sgl_descriptor *descriptor);
/*
 * Parses a descriptor. Returns NVME_SUCCESS, or NVME_SGL_TYPE_INVALID for a type or subtype that the RDMA transport
 * does not have. It checks no length against any buffer: nvme_sgl_in_capsule and the caller do that.
 */
uint16_t nvme_sgl_parse(struct nvme_sgl *sgl, const struct nvme_sgl_descriptor *descriptor);
/*
 * True if the bytes of an NVME_SGL_KIND_CAPSULE lie within `data_len` bytes, which is what the capsule has behind its
 * command. No value of the descriptor overflows.
 */
bool nvme_sgl_in_capsule(const struct nvme_sgl *sgl, size_t data_len);

/* ---- Status ---- */

/*
 * A constant text for people for a 15-bit status; its flags are ignored. Connect's own status codes have the numbers of
 * an NVM command's, so nvme_connect_status_text is for the completion of Connect, and nvme_status_text for all others.
 */
const char *nvme_status_text(uint16_t status);
const char *nvme_connect_status_text(uint16_t status);

#endif
