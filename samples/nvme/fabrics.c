/* SPDX-License-Identifier: MIT */
/*
 * Builds and parses private data, Connect and SGL descriptors. Invariant: no function reads beyond the length that the
 * caller passes, and no function requires an alignment of bytes from the wire.
 */
#include <string.h>

#include "fabrics.h"

/* ---- The RDMA transport's private data ---- */

void nvme_rdma_request_build(struct nvme_rdma_request *request, const struct nvme_rdma_queue *queue)
{
    memset(request, 0, sizeof *request);
    request->qid = queue->qid;
    request->hrqsize = (uint16_t)queue->receives;
    request->hsqsize = (uint16_t)(queue->commands - 1);
    request->cntlid = queue->cntlid;
}

enum nvme_rdma_status nvme_rdma_request_parse(struct nvme_rdma_queue *queue, const void *data, size_t len)
{
    struct nvme_rdma_request request;

    if (len < sizeof request)
        return NVME_RDMA_INVALID_LENGTH;
    memcpy(&request, data, sizeof request);
    if (request.record_format != 0)
        return NVME_RDMA_INVALID_FORMAT;
    if (request.hsqsize == 0 || request.hsqsize >= NVME_RDMA_MAX_QUEUE_ENTRIES)
        return NVME_RDMA_INVALID_HSQSIZE;
    if (request.qid == 0 && request.hsqsize >= NVME_RDMA_ADMIN_QUEUE_ENTRIES)
        return NVME_RDMA_INVALID_HSQSIZE;
    if (request.hrqsize == 0)
        return NVME_RDMA_INVALID_HRQSIZE;
    queue->qid = request.qid;
    queue->cntlid = request.qid == 0 ? 0 : request.cntlid;
    queue->commands = request.hsqsize + 1u;
    queue->receives = request.hrqsize;
    return NVME_RDMA_OK;
}

void nvme_rdma_reply_build(struct nvme_rdma_reply *reply, uint32_t receives)
{
    memset(reply, 0, sizeof *reply);
    reply->crqsize = (uint16_t)receives;
}

bool nvme_rdma_reply_parse(uint32_t *receives, const void *data, size_t len)
{
    struct nvme_rdma_reply reply;

    if (len < sizeof reply)
        return false;
    memcpy(&reply, data, sizeof reply);
    if (reply.record_format != 0)
        return false;
    *receives = reply.crqsize;
    return true;
}

void nvme_rdma_reject_build(struct nvme_rdma_reject *reject, enum nvme_rdma_status status)
{
    reject->record_format = 0;
    reject->status = (uint16_t)status;
}

bool nvme_rdma_reject_parse(uint16_t *status, const void *data, size_t len)
{
    struct nvme_rdma_reject reject;

    if (len < sizeof reject)
        return false;
    memcpy(&reject, data, sizeof reject);
    if (reject.record_format != 0)
        return false;
    *status = reject.status;
    return true;
}

const char *nvme_rdma_status_text(uint16_t status)
{
    switch (status) {
    case NVME_RDMA_OK:
        return "success";
    case NVME_RDMA_INVALID_LENGTH:
        return "invalid length of the private data";
    case NVME_RDMA_INVALID_FORMAT:
        return "invalid format of the private data";
    case NVME_RDMA_INVALID_QID:
        return "invalid queue number";
    case NVME_RDMA_INVALID_HSQSIZE:
        return "invalid size of the host's send queue";
    case NVME_RDMA_INVALID_HRQSIZE:
        return "invalid size of the host's receive queue";
    case NVME_RDMA_NO_RESOURCES:
        return "no resources";
    case NVME_RDMA_INVALID_IRD:
        return "invalid inbound read limit";
    case NVME_RDMA_INVALID_ORD:
        return "invalid outbound read limit";
    case NVME_RDMA_INVALID_CNTLID:
        return "invalid controller number";
    }
    return "unknown reason";
}

/* ---- Qualified names ---- */

bool nvme_nqn_is_valid(const uint8_t *field)
{
    size_t len = 0;

    while (len < NVME_NQN_SIZE && field[len] != 0) {
        if (field[len] < 0x20 || field[len] > 0x7e)
            return false;
        len++;
    }
    return len > 0 && len < NVME_NQN_SIZE;
}

bool nvme_nqn_equal(const uint8_t *field, const char *name)
{
    size_t len = strlen(name);

    return len < NVME_NQN_FIELD_SIZE && memcmp(field, name, len + 1) == 0;
}

/* ---- Connect ---- */

bool nvme_connect_build(struct nvme_command *command, struct nvme_connect_data *data,
                        const struct nvme_connect *connect)
{
    size_t host_len = strlen(connect->host_nqn), subsystem_len = strlen(connect->subsystem_nqn);

    if (host_len >= NVME_NQN_SIZE || subsystem_len >= NVME_NQN_SIZE)
        return false;
    memset(command, 0, sizeof *command);
    command->opcode = NVME_FABRICS;
    command->flags = NVME_FLAGS_SGL;
    command->fabrics_type = NVME_FABRICS_CONNECT;
    command->connect.qid = connect->qid;
    command->connect.sqsize = (uint16_t)(connect->entries - 1);
    command->connect.attributes = connect->no_flow_control ? NVME_CONNECT_NO_FLOW_CONTROL : 0;
    command->connect.kato = connect->kato_ms;
    memset(data, 0, sizeof *data);
    memcpy(data->host_id, connect->host_id, sizeof data->host_id);
    data->cntlid = connect->cntlid;
    memcpy(data->subsystem_nqn, connect->subsystem_nqn, subsystem_len);
    memcpy(data->host_nqn, connect->host_nqn, host_len);
    return true;
}

/* ---- SGL descriptors ---- */

void nvme_sgl_build(struct nvme_sgl_descriptor *descriptor, const struct nvme_sgl *sgl)
{
    uint32_t length = sgl->length, key = sgl->key;

    memset(descriptor, 0, sizeof *descriptor);
    descriptor->address = sgl->address;
    if (sgl->kind == NVME_SGL_KIND_CAPSULE) {
        memcpy(descriptor->specific, &length, 4);
        descriptor->identifier = NVME_SGL_DATA_BLOCK << 4 | NVME_SGL_OFFSET;
        return;
    }
    memcpy(descriptor->specific, &length, 3);
    memcpy(descriptor->specific + 3, &key, 4);
    descriptor->identifier = NVME_SGL_KEYED << 4 | (sgl->invalidate ? NVME_SGL_INVALIDATE : NVME_SGL_ADDRESS);
}

void nvme_sgl_build_empty(struct nvme_sgl_descriptor *descriptor)
{
    memset(descriptor, 0, sizeof *descriptor);
    descriptor->identifier = NVME_SGL_KEYED << 4 | NVME_SGL_ADDRESS;
}

uint16_t nvme_sgl_parse(struct nvme_sgl *sgl, const struct nvme_sgl_descriptor *descriptor)
{
    memset(sgl, 0, sizeof *sgl);
    sgl->address = descriptor->address;
    switch (descriptor->identifier) {
    case NVME_SGL_DATA_BLOCK << 4 | NVME_SGL_OFFSET:
        sgl->kind = NVME_SGL_KIND_CAPSULE;
        memcpy(&sgl->length, descriptor->specific, 4);
        return NVME_SUCCESS;
    case NVME_SGL_KEYED << 4 | NVME_SGL_INVALIDATE:
        sgl->invalidate = true;
        /* fallthrough */
    case NVME_SGL_KEYED << 4 | NVME_SGL_ADDRESS:
        sgl->kind = NVME_SGL_KIND_HOST;
        memcpy(&sgl->length, descriptor->specific, 3);
        memcpy(&sgl->key, descriptor->specific + 3, 4);
        return NVME_SUCCESS;
    }
    return NVME_SGL_TYPE_INVALID;
}

bool nvme_sgl_in_capsule(const struct nvme_sgl *sgl, size_t data_len)
{
    return sgl->address <= data_len && sgl->length <= data_len - sgl->address;
}
