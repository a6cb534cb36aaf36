/* SPDX-License-Identifier: MIT */
/* The rping protocol: see rping.h. */
#include "rping.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "printable.h"

enum { SEND_AT = 0, RECEIVE_AT = RPING_MESSAGE };
enum { ID_RECEIVE = 1, ID_SEND, ID_READ, ID_WRITE };
enum { MAX_SHOWN = 60 };

struct message {
    uint64_t address;
    uint32_t token, size;
};

static bool rping_fail(struct rping *r, const char *step, NTSTATUS status)
{
    r->step = step;
    r->status = status;
    return false;
}

static NTSTATUS rping_post_receive(struct rping *r)
{
    NDK_SGE sge = consumer_region_sge(&r->messages, RECEIVE_AT, RPING_MESSAGE);
    NDK_QP *qp = r->consumer->qp;

    return qp->Dispatch->NdkReceive(qp, (PVOID)(uintptr_t)ID_RECEIVE, &sge, 1);
}

NTSTATUS rping_prepare_server(struct rping *r, uint32_t size)
{
    NTSTATUS status = consumer_region_create(&r->messages, r->consumer->pd, 2 * RPING_MESSAGE, CONSUMER_ALL_RIGHTS);

    if (NT_SUCCESS(status))
        status = consumer_region_create(&r->source, r->consumer->pd, size, CONSUMER_ALL_RIGHTS);
    if (NT_SUCCESS(status))
        status = rping_post_receive(r);
    return status;
}

NTSTATUS rping_prepare_client(struct rping *r, uint32_t size)
{
    NTSTATUS status = rping_prepare_server(r, size);

    return NT_SUCCESS(status) ? consumer_region_create(&r->sink, r->consumer->pd, size, CONSUMER_ALL_RIGHTS) : status;
}

void rping_close(struct rping *r)
{
    consumer_region_destroy(&r->sink);
    consumer_region_destroy(&r->source);
    consumer_region_destroy(&r->messages);
}

/*
 * Waits for the result of request id. Sends are silent, so they have results only on failure. Returns false if a
 * request failed or the peer has disconnected.
 */
static bool rping_wait_result(struct rping *r, uintptr_t id, const char *step)
{
    NDK_RESULT_EX result;

    do {
        if (!consumer_next_result(r->consumer, &result, r->seconds)) {
            r->reason = r->consumer->disconnect_reason;
            return rping_fail(r, step, STATUS_CONNECTION_ABORTED);
        }
        if (!NT_SUCCESS(result.Status)) {
            r->reason = result.ProviderErrorCode;
            return rping_fail(r, step, result.Status);
        }
    } while ((uintptr_t)result.RequestContext != id);
    if (id == ID_RECEIVE && result.BytesTransferred != RPING_MESSAGE)
        return rping_fail(r, "receive: not an rping message", STATUS_INVALID_PARAMETER);
    return true;
}

static bool rping_send_message(struct rping *r, const struct consumer_region *about, uint32_t size)
{
    struct message m = { htobe64((uintptr_t)about->memory), htobe32(about->remote_token), htobe32(size) };
    NDK_SGE sge = consumer_region_sge(&r->messages, SEND_AT, RPING_MESSAGE);
    NDK_QP *qp = r->consumer->qp;
    NTSTATUS status;

    memcpy(r->messages.memory + SEND_AT, &m, sizeof m);
    status = qp->Dispatch->NdkSend(qp, (PVOID)(uintptr_t)ID_SEND, &sge, 1, NDK_OP_FLAG_SILENT_SUCCESS);
    return NT_SUCCESS(status) || rping_fail(r, "NdkSend", status);
}

/* Waits for the peer's message, copies it, and posts the receive for the next one. */
static bool rping_receive_message(struct rping *r, struct message *m)
{
    NTSTATUS status;

    if (!rping_wait_result(r, ID_RECEIVE, "NdkReceive"))
        return false;
    memcpy(m, r->messages.memory + RECEIVE_AT, sizeof *m);
    m->address = be64toh(m->address);
    m->token = be32toh(m->token);
    m->size = be32toh(m->size);
    status = rping_post_receive(r);
    return NT_SUCCESS(status) || rping_fail(r, "NdkReceive", status);
}

/* Writes rping's text to a buffer: the ping's number, then a run of printable characters. */
static void rping_fill(uint8_t *at, uint32_t size, uint32_t ping)
{
    int head = snprintf((char *)at, size, "rdma-ping-%u: ", ping);
    char c = (char)('A' + ping % 58);

    for (uint32_t i = (uint32_t)head; i < size; i++) {
        at[i] = (uint8_t)c;
        c = c == 'z' ? 'A' : (char)(c + 1);
    }
    at[size - 1] = '\0';
}

/* Prints the beginning of a buffer's text, which the peer has written. */
static void rping_print_data(struct rping *r, const char *title, const uint8_t *data, uint32_t size)
{
    size_t len = strnlen((const char *)data, size < MAX_SHOWN ? size : MAX_SHOWN);
    char text[PRINTABLE_MAX_GROWTH * MAX_SHOWN + 1];

    printable_copy(text, sizeof text, (const char *)data, len);
    r->print("%s: %s", title, text);
}

static enum rping_end rping_client_ping(struct rping *r, uint32_t ping, uint32_t size)
{
    struct message answer;

    rping_fill(r->source.memory, size, ping);
    memset(r->sink.memory, 0, size);
    if (!rping_send_message(r, &r->source, size) || !rping_receive_message(r, &answer) ||
        !rping_send_message(r, &r->sink, size) || !rping_receive_message(r, &answer))
        return RPING_FAILED;
    if (memcmp(r->source.memory, r->sink.memory, size) != 0)
        return RPING_DIFFERENT;
    if (r->verbose)
        rping_print_data(r, "ping data", r->sink.memory, size);
    r->pings++;
    r->bytes += 2 * (uint64_t)size;
    return RPING_DONE;
}

enum rping_end rping_client(struct rping *r, uint32_t count, uint32_t size)
{
    enum rping_end end = RPING_DONE;

    for (uint32_t ping = 0; ping < count && end == RPING_DONE; ping++)
        end = rping_client_ping(r, ping, size);
    return end;
}

static bool rping_read_source(struct rping *r, const struct message *from)
{
    NDK_SGE sge = consumer_region_sge(&r->source, 0, from->size);
    NDK_QP *qp = r->consumer->qp;
    NTSTATUS status = qp->Dispatch->NdkRead(qp, (PVOID)(uintptr_t)ID_READ, &sge, 1, from->address, from->token, 0);

    if (!NT_SUCCESS(status))
        return rping_fail(r, "NdkRead", status);
    return rping_wait_result(r, ID_READ, "NdkRead");
}

static bool rping_write_sink(struct rping *r, const struct message *to, uint32_t size)
{
    NDK_SGE sge = consumer_region_sge(&r->source, 0, size);
    NDK_QP *qp = r->consumer->qp;
    NTSTATUS status = qp->Dispatch->NdkWrite(qp, (PVOID)(uintptr_t)ID_WRITE, &sge, 1, to->address, to->token, 0);

    if (!NT_SUCCESS(status))
        return rping_fail(r, "NdkWrite", status);
    return rping_wait_result(r, ID_WRITE, "NdkWrite");
}

static bool rping_server_ping(struct rping *r, const struct message *from)
{
    struct message to;

    if (from->size == 0 || from->size > r->source.len) {
        r->print("the client requests a ping of %u bytes; this server accepts 1 to %u (--size at the server)",
                 (unsigned)from->size, (unsigned)r->source.len);
        return rping_fail(r, "the client's ping", STATUS_INVALID_PARAMETER);
    }
    if (!rping_read_source(r, from))
        return false;
    if (r->verbose)
        rping_print_data(r, "server ping data", r->source.memory, from->size);
    if (!rping_send_message(r, &r->source, from->size) || !rping_receive_message(r, &to))
        return false;
    if (!rping_write_sink(r, &to, from->size < to.size ? from->size : to.size) ||
        !rping_send_message(r, &r->source, from->size))
        return false;
    r->pings++;
    r->bytes += 2 * (uint64_t)from->size;
    return true;
}

enum rping_end rping_server(struct rping *r)
{
    struct message from;

    for (;;) {
        if (!rping_receive_message(r, &from)) /* the client may disconnect between two pings */
            return consumer_wait_disconnect(r->consumer, 1) && r->pings ? RPING_DONE : RPING_FAILED;
        if (!rping_server_ping(r, &from))
            return RPING_FAILED;
    }
}
