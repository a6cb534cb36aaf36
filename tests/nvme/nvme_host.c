/* SPDX-License-Identifier: MIT */
/* A small NVMe host: see nvme_host.h. */
#include "nvme_host.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "consumer/sync.h"

enum { RESPONSE_SIZE = 64, STATUS_NONE = 0xffff };

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

static bool succeeded(const char *step, NTSTATUS status)
{
    if (NT_SUCCESS(status))
        return true;
    fprintf(stderr, "nvme_host: %s: %s\n", step, ondk_status_name(status));
    return false;
}

static bool host_post_receive(struct host_queue *q, uintptr_t index)
{
    NDK_SGE sge = consumer_region_sge(&q->responses, (uint32_t)index * RESPONSE_SIZE, RESPONSE_SIZE);

    return NT_SUCCESS(q->c.qp->Dispatch->NdkReceive(q->c.qp, (void *)index, &sge, 1));
}

bool host_open(struct host_queue *q, uint32_t n_commands)
{
    const char *step;
    NTSTATUS status;

    memset(q, 0, sizeof *q);
    q->n_commands = n_commands;
    q->data_size = n_commands > 16 ? HOST_ADMIN_DATA_SIZE : HOST_DATA_SIZE;
    q->read_limit = 16;
    q->from.s_addr = htonl(INADDR_LOOPBACK);
    status = consumer_open(&q->c, 1, &step); /* 1: the loopback interface */
    if (!succeeded(step, status))
        return false;
    status = consumer_region_create(&q->capsules, q->c.pd, n_commands * HOST_CAPSULE_SIZE, 0);
    if (NT_SUCCESS(status))
        status = consumer_region_create(&q->responses, q->c.pd, n_commands * RESPONSE_SIZE,
                                        NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
    if (NT_SUCCESS(status))
        status = consumer_region_create(&q->data, q->c.pd, n_commands * q->data_size, CONSUMER_ALL_RIGHTS);
    for (uint32_t i = 0; i < n_commands && NT_SUCCESS(status); i++)
        status = host_post_receive(q, i) ? STATUS_SUCCESS : STATUS_UNSUCCESSFUL;
    return succeeded("regions and receives", status);
}

void host_close(struct host_queue *q)
{
    consumer_close_qp(&q->c);
    for (uint32_t i = 0; i < q->n_commands; i++) {
        if (q->windows[i])
            sync_close(q->windows[i]);
    }
    consumer_region_destroy(&q->data);
    consumer_region_destroy(&q->responses);
    consumer_region_destroy(&q->capsules);
    consumer_close(&q->c);
}

/* ---- Connections ------------------------------------------------------------------------------------------------- */

NTSTATUS host_connect_with(struct host_queue *q, const struct sockaddr_in *to, const void *data, uint32_t len)
{
    struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr = q->from };
    struct consumer_limits limits = { q->read_limit, 0 }; /* the target reads; this side does not */
    uint8_t reply[256];
    ULONG reply_len = sizeof reply;
    NTSTATUS status = consumer_connect(&q->c, (const struct sockaddr *)&from, (const struct sockaddr *)to, limits, data,
                                       len);

    if (status == STATUS_CONNECTION_REFUSED) {
        q->c.connector->Dispatch->NdkGetConnectionData(q->c.connector, NULL, NULL, reply, &reply_len);
        if (!nvme_rdma_reject_parse(&q->reject_status, reply, reply_len))
            q->reject_status = 0xffff;
    }
    return NT_SUCCESS(status) ? consumer_complete_connect(&q->c) : status;
}

NTSTATUS host_connect(struct host_queue *q, const struct sockaddr_in *to, uint16_t qid, uint16_t cntlid)
{
    struct nvme_rdma_queue values = { qid, cntlid, q->n_commands, q->n_commands };
    struct nvme_rdma_request request;

    q->qid = qid;
    q->cntlid = cntlid;
    nvme_rdma_request_build(&request, &values);
    return host_connect_with(q, to, &request, sizeof request);
}

uint16_t host_fabrics_connect(struct host_queue *q, const char *nqn, const char *host_nqn, uint32_t kato_ms)
{
    struct nvme_connect connect = { .qid = q->qid,
                                    .entries = q->n_commands,
                                    .cntlid = q->qid ? q->cntlid : NVME_CNTLID_DYNAMIC,
                                    .kato_ms = kato_ms,
                                    .host_id = (const uint8_t *)host_nqn + strlen(host_nqn) - NVME_HOST_ID_SIZE,
                                    .host_nqn = host_nqn,
                                    .subsystem_nqn = nqn };
    struct nvme_connect_data *data = (struct nvme_connect_data *)host_data(q, 0);
    struct nvme_command command;
    uint16_t status;

    if (!nvme_connect_build(&command, data, &connect))
        return STATUS_NONE;
    status = host_run(q, &command, HOST_MEMORY, sizeof *data);
    if (status == NVME_SUCCESS)
        q->cntlid = (uint16_t)q->completions[0].result;
    return status;
}

bool host_set_enabled(struct host_queue *admin, bool is_enabled)
{
    struct nvme_command command = { .opcode = NVME_FABRICS, .fabrics_type = NVME_FABRICS_PROPERTY_SET };

    command.property.offset = NVME_PROPERTY_CC;
    command.property.value = (is_enabled ? NVME_CC_ENABLE : 0) | 6 << NVME_CC_IOSQES_SHIFT | 4 << NVME_CC_IOCQES_SHIFT;
    return host_run(admin, &command, HOST_NO_DATA, 0) == NVME_SUCCESS;
}

uint32_t host_get_csts(struct host_queue *admin)
{
    struct nvme_command command = { .opcode = NVME_FABRICS, .fabrics_type = NVME_FABRICS_PROPERTY_GET };

    command.property.offset = NVME_PROPERTY_CSTS;
    command.property.size = NVME_PROPERTY_SIZE_4;
    return host_run(admin, &command, HOST_NO_DATA, 0) == NVME_SUCCESS ? admin->completions[0].result : UINT32_MAX;
}

bool host_wait_ready(struct host_queue *admin, bool is_ready)
{
    uint32_t csts = host_get_csts(admin);

    while (csts != UINT32_MAX && ((csts & NVME_CSTS_READY) != 0) != is_ready) {
        usleep(1000);
        csts = host_get_csts(admin);
    }
    return csts != UINT32_MAX;
}

bool host_enable(struct host_queue *admin)
{
    return host_set_enabled(admin, true) && host_wait_ready(admin, true);
}

bool host_open_controller(struct host_queue *admin, const struct sockaddr_in *to, const char *nqn, const char *host_nqn)
{
    uint16_t status;

    if (!host_open(admin, NVME_RDMA_ADMIN_QUEUE_ENTRIES) ||
        !succeeded("connecting an admin queue", host_connect(admin, to, 0, 0)))
        return false;
    status = host_fabrics_connect(admin, nqn, host_nqn, 0);
    if (status != NVME_SUCCESS)
        fprintf(stderr, "nvme_host: Connect: status 0x%x\n", status);
    return status == NVME_SUCCESS && host_enable(admin);
}

bool host_open_io(struct host_queue *io, const struct host_queue *admin, const struct sockaddr_in *to, uint16_t qid,
                  uint32_t n_commands, const char *nqn, const char *host_nqn)
{
    uint16_t status;

    if (!host_open(io, n_commands) || !succeeded("connecting an I/O queue", host_connect(io, to, qid, admin->cntlid)))
        return false;
    status = host_fabrics_connect(io, nqn, host_nqn, 0);
    if (status != NVME_SUCCESS)
        fprintf(stderr, "nvme_host: Connect of an I/O queue: status 0x%x\n", status);
    return status == NVME_SUCCESS;
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

uint8_t *host_data(struct host_queue *q, uint32_t cid)
{
    return q->data.memory + cid * q->data_size;
}

bool host_send_again(struct host_queue *q, uint32_t cid, uint32_t len, uint32_t flags)
{
    NDK_SGE sge = consumer_region_sge(&q->capsules, cid * HOST_CAPSULE_SIZE, len);

    return NT_SUCCESS(q->c.qp->Dispatch->NdkSend(q->c.qp, NULL, &sge, 1, flags));
}

bool host_send(struct host_queue *q, uint32_t cid, const void *message, uint32_t len)
{
    memcpy(q->capsules.memory + cid * HOST_CAPSULE_SIZE, message, len);
    return host_send_again(q, cid, len, 0);
}

/* Binds the command's window to its data. */
static bool host_bind(struct host_queue *q, uint32_t cid, uint32_t len)
{
    NTSTATUS status = q->windows[cid] ? STATUS_SUCCESS : sync_create_mw(q->c.pd, &q->windows[cid]);

    if (!NT_SUCCESS(status))
        return false;
    status = q->c.qp->Dispatch->NdkBind(q->c.qp, NULL, q->data.mr, q->windows[cid], host_data(q, cid), len,
                                        NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE |
                                            NDK_OP_FLAG_SILENT_SUCCESS);
    q->tokens[cid] = q->windows[cid]->Dispatch->NdkGetRemoteTokenFromMw(q->windows[cid]);
    return NT_SUCCESS(status);
}

bool host_submit(struct host_queue *q, uint32_t cid, const struct nvme_command *command, enum host_data where,
                 uint32_t len)
{
    _Alignas(8) uint8_t capsule[HOST_CAPSULE_SIZE];
    struct nvme_command *sqe = (struct nvme_command *)capsule;
    struct nvme_sgl sgl = { .length = len };
    uint32_t size = sizeof *sqe;

    *sqe = *command;
    sqe->cid = (uint16_t)cid;
    sqe->flags = NVME_FLAGS_SGL;
    q->is_done[cid] = false;
    if (where == HOST_CAPSULE) {
        sgl.kind = NVME_SGL_KIND_CAPSULE;
        memcpy(capsule + sizeof *sqe, host_data(q, cid), len);
        size += len;
    } else if (where == HOST_MEMORY || where == HOST_WINDOW) {
        sgl.address = (uintptr_t)host_data(q, cid);
        if (where == HOST_WINDOW && !host_bind(q, cid, len))
            return false;
        sgl.key = where == HOST_WINDOW ? q->tokens[cid] : q->data.remote_token;
        sgl.invalidate = where == HOST_WINDOW;
    }
    if (where == HOST_NO_DATA)
        nvme_sgl_build_empty(&sqe->sgl);
    else
        nvme_sgl_build(&sqe->sgl, &sgl);
    return host_send(q, cid, capsule, size);
}

/* Stores a response and posts its receive again. Returns the command's number, or -1 if the response is wrong. */
static int host_store(struct host_queue *q, const NDK_RESULT_EX *result)
{
    uintptr_t index = (uintptr_t)result->RequestContext;
    struct nvme_completion completion;

    if (result->BytesTransferred != sizeof completion)
        return -1;
    memcpy(&completion, q->responses.memory + index * RESPONSE_SIZE, sizeof completion);
    if (completion.cid >= q->n_commands || q->is_done[completion.cid])
        return -1;
    if (result->Type == NdkOperationTypeReceiveAndInvalidate) {
        if (result->TypeSpecificCompletionOutput != q->tokens[completion.cid])
            return -1;
        q->n_invalidated++;
    }
    q->completions[completion.cid] = completion;
    q->is_done[completion.cid] = true;
    return host_post_receive(q, index) ? completion.cid : -1;
}

int host_wait_any(struct host_queue *q)
{
    NDK_RESULT_EX result;

    while (consumer_next_result(&q->c, &result, HOST_WAIT_S)) {
        if (!NT_SUCCESS(result.Status))
            return -1;
        if (result.Type == NdkOperationTypeReceive || result.Type == NdkOperationTypeReceiveAndInvalidate)
            return host_store(q, &result);
    }
    return -1;
}

uint16_t host_run(struct host_queue *q, const struct nvme_command *command, enum host_data where, uint32_t len)
{
    if (!host_submit(q, 0, command, where, len))
        return STATUS_NONE;
    while (!q->is_done[0]) {
        if (host_wait_any(q) < 0)
            return STATUS_NONE;
    }
    return q->completions[0].status >> 1;
}

uint16_t host_io(struct host_queue *q, uint8_t opcode, uint32_t nsid, uint64_t lba, uint32_t blocks,
                 enum host_data where, uint32_t len)
{
    struct nvme_command command = { .opcode = opcode, .nsid = nsid };

    command.io.lba = lba;
    command.io.blocks = (uint16_t)(blocks - 1);
    return host_run(q, &command, where, len);
}

/* ---- Contents ---------------------------------------------------------------------------------------------------- */

void host_fill(uint8_t *data, uint64_t lba, uint32_t blocks, uint32_t generation)
{
    for (uint32_t i = 0; i < blocks * HOST_BLOCK / 8; i++) {
        uint64_t value = (lba + i / (HOST_BLOCK / 8)) << 40 | (uint64_t)generation << 8 | i % (HOST_BLOCK / 8);

        memcpy(data + i * 8, &value, 8);
    }
}

int64_t host_generation(const uint8_t *data, uint64_t lba)
{
    uint8_t expected[HOST_BLOCK];
    uint64_t value;

    memcpy(&value, data, 8);
    host_fill(expected, lba, 1, (uint32_t)(value >> 8));
    return memcmp(data, expected, HOST_BLOCK) == 0 ? (int64_t)(uint32_t)(value >> 8) : -1;
}

bool host_is_filled(const uint8_t *data, uint64_t lba, uint32_t blocks, uint32_t generation)
{
    for (uint32_t i = 0; i < blocks; i++) {
        if (host_generation(data + i * HOST_BLOCK, lba + i) != generation)
            return false;
    }
    return true;
}
