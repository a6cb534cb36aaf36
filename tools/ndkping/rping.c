/* SPDX-License-Identifier: MIT */
/* Implements the rping protocol: see rping.h. */
#include "rping.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "consumer/provider.h"
#include "monotonic.h"
#include "openndk/reason.h"
#include "print.h"

enum { SEND_AT = 0, RECEIVE_AT = RPING_MESSAGE };
enum { ID_RECEIVE = 1, ID_SEND, ID_READ, ID_WRITE };
enum { MAX_SHOWN = 60, FIRST_SERVER_SIZE = 65536 };

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

static NTSTATUS rping_create_buffer(struct rping *r, struct consumer_region *buffer, uint32_t size)
{
    return consumer_region_create(buffer, r->consumer->pd, size, CONSUMER_ALL_RIGHTS);
}

static NTSTATUS rping_prepare(struct rping *r, uint32_t size)
{
    NTSTATUS status = rping_create_buffer(r, &r->messages, 2 * RPING_MESSAGE);

    if (NT_SUCCESS(status))
        status = rping_create_buffer(r, &r->source, size);
    return NT_SUCCESS(status) ? rping_post_receive(r) : status;
}

NTSTATUS rping_prepare_server(struct rping *r, uint32_t size)
{
    r->max_size = size;
    return rping_prepare(r, size < FIRST_SERVER_SIZE ? size : FIRST_SERVER_SIZE);
}

NTSTATUS rping_prepare_client(struct rping *r, uint32_t size)
{
    NTSTATUS status = rping_prepare(r, size);

    r->max_size = size;
    return NT_SUCCESS(status) ? rping_create_buffer(r, &r->sink, size) : status;
}

void rping_close(struct rping *r)
{
    consumer_region_destroy(&r->sink);
    consumer_region_destroy(&r->source);
    consumer_region_destroy(&r->messages);
}

/* Stores why a wait ended without a result: a disconnect, a cancellation, or the time limit. Returns false. */
static bool rping_fail_without_result(struct rping *r, const char *step)
{
    if (!consumer_is_disconnected(r->consumer) && !consumer_is_cancelled(r->consumer)) {
        r->gave_up = true;
        return rping_fail(r, step, STATUS_IO_TIMEOUT);
    }
    r->reason = r->consumer->disconnect_reason;
    return rping_fail(r, step, STATUS_CONNECTION_ABORTED);
}

/*
 * Waits for the result of the request `id`, and skips the results of sends that succeeded. Returns false if a request
 * failed, the peer has disconnected, or no result arrived in time.
 */
static bool rping_wait_result(struct rping *r, uintptr_t id, const char *step, uint64_t ms)
{
    NDK_RESULT_EX result;

    do {
        if (!consumer_next_result_ms(r->consumer, &result, ms))
            return rping_fail_without_result(r, step);
        if (!NT_SUCCESS(result.Status)) {
            r->reason = result.ProviderErrorCode;
            return rping_fail(r, step, result.Status);
        }
    } while ((uintptr_t)result.RequestContext != id);
    if (id == ID_RECEIVE && result.BytesTransferred != RPING_MESSAGE)
        return rping_fail(r, "receive: not an rping message", STATUS_INVALID_PARAMETER);
    return true;
}

/* Sends a message that advertises `about`. With NDK_OP_FLAG_SILENT_SUCCESS the send has a result only if it fails. */
static bool rping_send_message(struct rping *r, const struct consumer_region *about, uint32_t size, ULONG flags)
{
    struct message m = { htobe64((uintptr_t)about->memory), htobe32(about->remote_token), htobe32(size) };
    NDK_SGE sge = consumer_region_sge(&r->messages, SEND_AT, RPING_MESSAGE);
    NDK_QP *qp = r->consumer->qp;
    NTSTATUS status;

    memcpy(r->messages.memory + SEND_AT, &m, sizeof m);
    status = qp->Dispatch->NdkSend(qp, (PVOID)(uintptr_t)ID_SEND, &sge, 1, flags);
    return NT_SUCCESS(status) || rping_fail(r, "NdkSend", status);
}

/* Waits for the peer's message, copies it to *m, and posts the receive for the next message. */
static bool rping_receive_message(struct rping *r, struct message *m, uint64_t ms)
{
    NTSTATUS status;

    if (!rping_wait_result(r, ID_RECEIVE, "NdkReceive", ms))
        return false;
    memcpy(m, r->messages.memory + RECEIVE_AT, sizeof *m);
    m->address = be64toh(m->address);
    m->token = be32toh(m->token);
    m->size = be32toh(m->size);
    status = rping_post_receive(r);
    return NT_SUCCESS(status) || rping_fail(r, "NdkReceive", status);
}

/* Writes rping's text to a buffer: the ping's number, then consecutive printable characters. */
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
static void rping_print_data(const char *title, const uint8_t *data, uint32_t size)
{
    print_line("%s: %.*s", title, (int)(size < MAX_SHOWN ? size : MAX_SHOWN), (const char *)data);
}

static enum rping_end rping_end_of_failure(struct rping *r)
{
    return consumer_is_cancelled(r->consumer) ? RPING_CANCELLED : RPING_FAILED;
}

enum rping_end rping_client_ping(struct rping *r, uint32_t size)
{
    struct message answer;
    uint64_t start;

    rping_fill(r->source.memory, size, r->pings);
    memset(r->sink.memory, 0, size);
    start = monotonic_ns();
    /* This send is signalled, because its result frees the slots of the silent sends of earlier pings. */
    if (!rping_send_message(r, &r->source, size, 0) || !rping_receive_message(r, &answer, r->step_ms) ||
        !rping_send_message(r, &r->sink, size, NDK_OP_FLAG_SILENT_SUCCESS) ||
        !rping_receive_message(r, &answer, r->step_ms))
        return rping_end_of_failure(r);
    r->time_us = (double)(monotonic_ns() - start) / 1e3;
    if (memcmp(r->source.memory, r->sink.memory, size) != 0)
        return RPING_DIFFERENT;
    if (r->verbose)
        rping_print_data("ping data", r->sink.memory, size);
    r->pings++;
    r->bytes += 2 * (uint64_t)size;
    return RPING_DONE;
}

static bool rping_read_source(struct rping *r, const struct message *from)
{
    NDK_SGE sge = consumer_region_sge(&r->source, 0, from->size);
    NDK_QP *qp = r->consumer->qp;
    NTSTATUS status = qp->Dispatch->NdkRead(qp, (PVOID)(uintptr_t)ID_READ, &sge, 1, from->address, from->token, 0);

    if (!NT_SUCCESS(status))
        return rping_fail(r, "NdkRead", status);
    return rping_wait_result(r, ID_READ, "NdkRead", r->step_ms);
}

static bool rping_write_sink(struct rping *r, const struct message *to, uint32_t size)
{
    NDK_SGE sge = consumer_region_sge(&r->source, 0, size);
    NDK_QP *qp = r->consumer->qp;
    NTSTATUS status = qp->Dispatch->NdkWrite(qp, (PVOID)(uintptr_t)ID_WRITE, &sge, 1, to->address, to->token, 0);

    if (!NT_SUCCESS(status))
        return rping_fail(r, "NdkWrite", status);
    return rping_wait_result(r, ID_WRITE, "NdkWrite", r->step_ms);
}

/* Enlarges the buffer for a ping if necessary. Between two pings no request uses the buffer. */
static bool rping_grow_buffer(struct rping *r, uint32_t size)
{
    NTSTATUS status;

    if (size <= r->source.len)
        return true;
    size = size > r->max_size / 2 ? r->max_size : 2 * size;
    consumer_region_destroy(&r->source);
    status = rping_create_buffer(r, &r->source, size);
    return NT_SUCCESS(status) || rping_fail(r, "a larger buffer", status);
}

static bool rping_server_ping(struct rping *r, const struct message *from)
{
    struct message to;

    if (from->size == 0 || from->size > r->max_size) {
        print_line("the client requests a ping of %u bytes; this server accepts 1 to %u (--size at the server)",
                   (unsigned)from->size, (unsigned)r->max_size);
        return rping_fail(r, "the client's ping", STATUS_INVALID_PARAMETER);
    }
    if (!rping_grow_buffer(r, from->size) || !rping_read_source(r, from))
        return false;
    if (r->verbose)
        rping_print_data("server ping data", r->source.memory, from->size);
    if (!rping_send_message(r, &r->source, from->size, NDK_OP_FLAG_SILENT_SUCCESS) ||
        !rping_receive_message(r, &to, r->step_ms))
        return false;
    if (!rping_write_sink(r, &to, from->size < to.size ? from->size : to.size) ||
        !rping_send_message(r, &r->source, from->size, NDK_OP_FLAG_SILENT_SUCCESS))
        return false;
    r->pings++;
    r->bytes += 2 * (uint64_t)from->size;
    return true;
}

/*
 * Returns true if a ping has failed because the client disconnected, after at least one whole ping. This is not a
 * failure of the server, because an interrupted rping client disconnects within a ping. Only OpenNDK reports why a
 * connection ended. With another provider, any end of the connection counts as the client's disconnect.
 */
static bool rping_client_has_left(struct rping *r)
{
    if (!r->pings || (r->status != STATUS_CONNECTION_ABORTED && r->status != STATUS_CONNECTION_INVALID))
        return false;
    if (consumer_foreign_provider())
        return consumer_wait_disconnect_ms(r->consumer, r->step_ms);
    return ONDK_REASON_CAUSE(consumer_connector_reason(r->consumer->connector)) == ONDK_CAUSE_PEER_CLOSED;
}

/*
 * Returns true if the client's next message did not arrive because the connection has ended. The disconnect event of a
 * connection that fails may follow the results of its requests. After a wrong message, the connection still exists.
 */
static bool rping_has_ended(struct rping *r)
{
    return r->status != STATUS_INVALID_PARAMETER && !consumer_is_cancelled(r->consumer) &&
           consumer_wait_disconnect_ms(r->consumer, r->step_ms);
}

enum rping_end rping_server(struct rping *r)
{
    struct message from;

    for (;;) {
        if (!rping_receive_message(r, &from, 0)) { /* no time limit: the client may wait between two pings */
            if (r->pings && rping_has_ended(r))
                return RPING_DONE;
            return rping_end_of_failure(r);
        }
        if (!rping_server_ping(r, &from))
            return rping_client_has_left(r) ? RPING_DONE : rping_end_of_failure(r);
    }
}
