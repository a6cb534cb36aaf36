/* SPDX-License-Identifier: MIT */
/*
 * An example of RDMA: a client fetches a file from a server, and neither of them copies the data.
 *
 *     fetch server 127.0.0.1 50001 FILE           serves one client and ends
 *     fetch client 127.0.0.1 50001 write >COPY    the server writes into the client's memory
 *     fetch client 127.0.0.1 50001 read >COPY     the client reads from the server's memory
 *
 * With `write` the client makes a fast registration of its memory, which gives the server access. The server writes the
 * file into that memory, and invalidates the registration with its reply. With `read` the server binds a memory window
 * to the file. The client reads the file, and invalidates the window with its last message. docs/guide-consumer.md
 * explains each step. The helper functions for pending calls and for failures are the same as in examples/first.c.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <netdb.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "openndk/adapter.h"
#include "openndk/mdl.h"
#include "openndk/reason.h"

enum {
    FILE_SIZE = 1 << 20, /* a longer file is refused */
    QUEUE_DEPTH = 4,     /* the maximum number of outstanding requests of one end */
    POLLS = 1000         /* polls of an empty queue before a thread sleeps */
};

/* The format of every message, from the client and from the server. The numbers are in network byte order. */
struct message {
    uint32_t what;    /* one of the enum below */
    uint32_t token;   /* grants the receiver of the message access to the sender's memory */
    uint64_t address; /* the beginning of the sender's memory */
    uint64_t length;  /* the size of the sender's memory; in the reply to MESSAGE_WRITE: the length of the file */
};
enum { MESSAGE_WRITE = 1, MESSAGE_READ, MESSAGE_REPLY, MESSAGE_DONE };

/* One end of a connection. An object that has not been created is NULL. */
struct end {
    NDK_ADAPTER *adapter;
    NDK_ADAPTER_INFO info;
    NDK_PD *pd;
    NDK_CQ *cq;
    NDK_QP *qp;
    NDK_LISTENER *listener;
    NDK_CONNECTOR *connector;

    struct message out, in; /* registered with message_mr */
    MDL message_mdl[2];
    NDK_MR *message_mr;

    char *file; /* FILE_SIZE bytes */
    size_t length;
    MDL file_mdl;
    NDK_MR *file_mr;
    NDK_MW *file_mw;                  /* server: the window for the client's reads */
    NDK_LOGICAL_ADDRESS_MAPPING *lam; /* client: the pages of `file` */
    ULONG first_byte;                 /* client: the offset of `file` in its first page */

    sem_t completed;           /* posted when the pending call has completed */
    NTSTATUS status;           /* the final status of the completed call */
    NDK_OBJECT_HEADER *object; /* the created object, if the completed call is a create */

    sem_t event; /* posted after a result, a request for a connection, or the end of the connection */
    atomic_flag has_request;
    atomic_bool is_over; /* true if the peer has disconnected, or the completion queue has failed */
    atomic_uint reason;  /* the reason for the disconnect */
};

/* ---- Callbacks. They run on the library's threads, perhaps before the function that caused them has returned. ---- */

static void on_created(void *context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    struct end *end = context;

    end->status = status;
    end->object = object;
    sem_post(&end->completed);
}

static void on_completed(void *context, NTSTATUS status)
{
    on_created(context, status, NULL);
}

static void on_closed(void *context)
{
    on_created(context, STATUS_SUCCESS, NULL);
}

/* The completion queue has results or has failed. */
static void on_notified(void *context, NTSTATUS status)
{
    struct end *end = context;

    if (!NT_SUCCESS(status))
        end->is_over = true;
    sem_post(&end->event);
}

/* The peer has disconnected, so posted receives do not complete any more. Wakes the thread that waits for a result. */
static void on_disconnected(void *context, ULONG reason)
{
    struct end *end = context;

    end->reason = reason;
    end->is_over = true;
    sem_post(&end->event);
}

static void on_refused_closed(void *context)
{
    (void)context;
}

/* A client requests a connection. This server accepts only the first client. */
static void on_request(void *context, NDK_CONNECTOR *connector)
{
    struct end *end = context;

    if (atomic_flag_test_and_set(&end->has_request)) {
        connector->Dispatch->NdkReject(connector, NULL, 0);
        connector->Dispatch->NdkCloseConnector(&connector->Header, on_refused_closed, NULL);
        return;
    }
    end->connector = connector;
    sem_post(&end->event);
}

/* ---- Waiting, and reporting failures ---- */

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore)) /* interrupted by a signal */
        ;
}

/* Returns the final status of a call that returned `status`. Waits for the completion if the call is pending. */
static NTSTATUS finish(struct end *end, NTSTATUS status)
{
    if (status != STATUS_PENDING)
        return status; /* on_completed was not called, and will not be */
    wait_for(&end->completed);
    return end->status;
}

/* Works like finish(), for a create. If the create was pending, copies the object of the completion to *out. */
static NTSTATUS finish_create(struct end *end, NTSTATUS status, void *out)
{
    bool is_pending = status == STATUS_PENDING;

    status = finish(end, status);
    if (is_pending && NT_SUCCESS(status))
        memcpy(out, &end->object, sizeof end->object);
    return status;
}

/* Returns true if the status is a success. Otherwise prints what happened and what to do about it. */
static bool succeeded(struct end *end, const char *call, NTSTATUS status)
{
    uint32_t reason;

    if (NT_SUCCESS(status))
        return true;
    fprintf(stderr, "%s: %s\n  %s\n", call, ondk_status_name(status), ondk_status_advice(status));
    reason = end->connector ? ondk_connector_reason(end->connector) : 0;
    if (reason)
        fprintf(stderr, "  reason %s: %s\n", ondk_reason_name(reason), ondk_reason_text(reason));
    return false;
}

/* Reports that the connection or the completion queue ended too early. Returns false. */
static bool failed_early(const struct end *end)
{
    fprintf(stderr, "the connection is over: %s\n  %s\n", ondk_reason_name(end->reason), ondk_reason_text(end->reason));
    return false;
}

/* Returns the index of the interface that has the address. If there is none, prints a message and returns 0. */
static uint32_t interface_of(const struct sockaddr *address)
{
    bool is_v4 = address->sa_family == AF_INET;
    size_t offset = is_v4 ? offsetof(struct sockaddr_in, sin_addr) : offsetof(struct sockaddr_in6, sin6_addr);
    uint32_t count = ondk_enumerate_adapters(NULL, 0), found = 0;
    ondk_adapter_entry_t *entries = calloc(count, sizeof *entries);
    uint32_t filled = entries ? ondk_enumerate_adapters(entries, count) : 0;
    char text[INET6_ADDRSTRLEN] = "?";

    for (uint32_t i = 0; i < count && i < filled; i++) {
        for (uint32_t j = 0; j < entries[i].address_count; j++) {
            const struct sockaddr *other = (const struct sockaddr *)&entries[i].addresses[j];

            if (other->sa_family == address->sa_family &&
                memcmp((const char *)other + offset, (const char *)address + offset, is_v4 ? 4 : 16) == 0)
                found = entries[i].if_index;
        }
    }
    free(entries);
    inet_ntop(address->sa_family, (const char *)address + offset, text, sizeof text);
    if (!found) /* for example 0.0.0.0 and ::, which belong to no interface */
        fprintf(stderr, "no interface of this machine has the address %s; ndkinfo lists those that exist\n", text);
    return found;
}

/* Closes an object and waits until nothing uses it any more. A close cannot fail. */
static void close_object(struct end *end, NDK_FN_CLOSE_OBJECT close_function, NDK_OBJECT_HEADER *object)
{
    finish(end, close_function(object, on_closed, end));
}

/* ---- Memory ---- */

/* Registers memory for as long as the region exists. Returns NULL after a failure. */
static NDK_MR *register_memory(struct end *end, MDL *mdl, size_t length, ULONG rights)
{
    NDK_MR *mr = NULL;
    NTSTATUS status = end->pd->Dispatch->NdkCreateMr(end->pd, FALSE, on_created, end, &mr);

    if (!succeeded(end, "NdkCreateMr", finish_create(end, status, &mr)))
        return NULL;
    status = mr->Dispatch->NdkRegisterMr(mr, mdl, length, rights, on_completed, end);
    if (!succeeded(end, "NdkRegisterMr", finish(end, status))) {
        close_object(end, mr->Dispatch->NdkCloseMr, &mr->Header);
        return NULL;
    }
    return mr;
}

/* Client: gets the addresses of the buffer's pages, and a region that can be registered again and again. */
static bool prepare_fast_registration(struct end *end)
{
    ULONG size = 0;
    NTSTATUS status;

    if (end->info.FRMRPageCount < FILE_SIZE / PAGE_SIZE + 1) {
        fprintf(stderr, "this adapter registers at most %u pages\n", (unsigned)end->info.FRMRPageCount);
        return false;
    }
    status = end->adapter->Dispatch->NdkBuildLAM(end->adapter, &end->file_mdl, FILE_SIZE, on_completed, end, NULL,
                                                 &size, &end->first_byte);
    if (finish(end, status) == STATUS_BUFFER_TOO_SMALL) /* now `size` is the size that the LAM needs */
        end->lam = malloc(size);
    if (!end->lam)
        return false;
    status = end->adapter->Dispatch->NdkBuildLAM(end->adapter, &end->file_mdl, FILE_SIZE, on_completed, end, end->lam,
                                                 &size, &end->first_byte);
    status = finish(end, status);
    if (!succeeded(end, "NdkBuildLAM", status)) {
        free(end->lam);
        end->lam = NULL;
        return false;
    }
    status = end->pd->Dispatch->NdkCreateMr(end->pd, TRUE, on_created, end, &end->file_mr);
    if (!succeeded(end, "NdkCreateMr", finish_create(end, status, &end->file_mr)))
        return false;
    status = end->file_mr->Dispatch->NdkInitializeFastRegisterMr(end->file_mr, end->lam->AdapterPageCount, TRUE,
                                                                 on_completed, end);
    return succeeded(end, "NdkInitializeFastRegisterMr", finish(end, status));
}

/* ---- Opening and closing ---- */

/* Opens the adapter of the local address and creates what both roles need. */
static bool open_end(struct end *end, const struct sockaddr *local)
{
    uint32_t if_index = interface_of(local);
    NDK_VERSION version = { 2, 1 };
    ULONG size = sizeof end->info;
    NTSTATUS status;

    sem_init(&end->completed, 0, 0);
    sem_init(&end->event, 0, 0);
    ondk_mdl_init(&end->message_mdl[0], &end->out, sizeof end->out, &end->message_mdl[1]);
    ondk_mdl_init(&end->message_mdl[1], &end->in, sizeof end->in, NULL);
    end->file = malloc(FILE_SIZE);
    if (!end->file)
        return false;
    ondk_mdl_init(&end->file_mdl, end->file, FILE_SIZE, NULL);

    if (!if_index)
        return false;
    status = ondk_open_adapter(version, if_index, &end->adapter);
    if (!succeeded(end, "ondk_open_adapter", status))
        return false;
    status = end->adapter->Dispatch->NdkQueryAdapterInfo(end->adapter, &end->info, &size);
    if (!succeeded(end, "NdkQueryAdapterInfo", status))
        return false;
    status = end->adapter->Dispatch->NdkCreatePd(end->adapter, on_created, end, &end->pd);
    if (!succeeded(end, "NdkCreatePd", finish_create(end, status, &end->pd)))
        return false;
    /* A silent request has a result if it fails, so the queue has room for all requests and the receive. */
    status = end->adapter->Dispatch->NdkCreateCq(end->adapter, QUEUE_DEPTH + 1, on_notified, end, NULL, on_created, end,
                                                 &end->cq);
    if (!succeeded(end, "NdkCreateCq", finish_create(end, status, &end->cq)))
        return false;
    status = end->pd->Dispatch->NdkCreateQp(end->pd, end->cq, end->cq, NULL, 1, QUEUE_DEPTH, 1, 1, 0, on_created, end,
                                            &end->qp);
    if (!succeeded(end, "NdkCreateQp", finish_create(end, status, &end->qp)))
        return false;
    end->message_mr = register_memory(end, end->message_mdl, 2 * sizeof end->out, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
    return end->message_mr != NULL;
}

/* Closes each object after the objects that depend on it, and frees memory after the last access to the memory. */
static void close_end(struct end *end)
{
    if (end->connector)
        close_object(end, end->connector->Dispatch->NdkCloseConnector, &end->connector->Header);
    if (end->listener)
        close_object(end, end->listener->Dispatch->NdkCloseListener, &end->listener->Header);
    if (end->qp)
        close_object(end, end->qp->Dispatch->NdkCloseQp, &end->qp->Header);
    if (end->file_mw)
        close_object(end, end->file_mw->Dispatch->NdkCloseMw, &end->file_mw->Header);
    if (end->file_mr)
        close_object(end, end->file_mr->Dispatch->NdkCloseMr, &end->file_mr->Header);
    if (end->message_mr)
        close_object(end, end->message_mr->Dispatch->NdkCloseMr, &end->message_mr->Header);
    if (end->lam)
        end->adapter->Dispatch->NdkReleaseLAM(end->adapter, end->lam);
    if (end->cq)
        close_object(end, end->cq->Dispatch->NdkCloseCq, &end->cq->Header);
    if (end->pd)
        close_object(end, end->pd->Dispatch->NdkClosePd, &end->pd->Header);
    if (end->adapter)
        ondk_close_adapter(end->adapter);
    free(end->lam);
    free(end->file);
    sem_destroy(&end->event);
    sem_destroy(&end->completed);
}

/* ---- Messages ---- */

static bool post_receive(struct end *end)
{
    UINT32 token = end->message_mr->Dispatch->NdkGetLocalTokenFromMr(end->message_mr);
    NDK_SGE sge = { .VirtualAddress = &end->in, .Length = sizeof end->in, .MemoryRegionToken = token };

    return succeeded(end, "NdkReceive", end->qp->Dispatch->NdkReceive(end->qp, NULL, &sge, 1));
}

/*
 * Posts a message by a silent send. end->out must not change until a later result, or the peer's answer, shows that the
 * message has been sent. `invalidate` is a token of the peer that the message invalidates, or 0.
 */
static bool post_message(struct end *end, struct message message, uint32_t invalidate)
{
    UINT32 token = end->message_mr->Dispatch->NdkGetLocalTokenFromMr(end->message_mr);
    NDK_SGE sge = { .VirtualAddress = &end->out, .Length = sizeof end->out, .MemoryRegionToken = token };
    ULONG flags = NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT;
    NTSTATUS status;

    end->out = (struct message){ htobe32(message.what), htobe32(message.token), htobe64(message.address),
                                 htobe64(message.length) };
    if (invalidate)
        status = end->qp->Dispatch->NdkSendAndInvalidate(end->qp, NULL, &sge, 1, flags, invalidate);
    else
        status = end->qp->Dispatch->NdkSend(end->qp, NULL, &sge, 1, flags);
    return succeeded(end, "NdkSend", status);
}

/*
 * Waits for the next result: polls for a moment, then sleeps until a result of kind `wake` (NDK_CQ_NOTIFY_) arrives.
 * Returns false if the request has failed or the connection is over.
 */
static bool next_result(struct end *end, ULONG wake, NDK_RESULT_EX *result)
{
    for (unsigned polls = 0;; polls++) {
        bool is_over = end->is_over; /* read before the poll, so that the last results are not missed */

        if (end->cq->Dispatch->NdkGetCqResultsEx(end->cq, result, 1))
            return succeeded(end, "a request", result->Status);
        if (is_over)
            return failed_early(end);
        if (polls < POLLS)
            continue;
        end->cq->Dispatch->NdkArmCq(end->cq, wake); /* notifies at once if a result arrived meanwhile */
        wait_for(&end->event);
        polls = 0;
    }
}

/* Waits for a message, and returns it in the host's byte order. */
static bool receive_message(struct end *end, struct message *message, NDK_RESULT_EX *result)
{
    do {
        if (!next_result(end, NDK_CQ_NOTIFY_SOLICITED, result))
            return false;
    } while (result->Type != NdkOperationTypeReceive && result->Type != NdkOperationTypeReceiveAndInvalidate);
    if (result->BytesTransferred != sizeof *message) {
        fprintf(stderr, "a message of %u bytes is none of this program\n", (unsigned)result->BytesTransferred);
        return false;
    }
    *message = (struct message){ be32toh(end->in.what), be32toh(end->in.token), be64toh(end->in.address),
                                 be64toh(end->in.length) };
    return true;
}

static bool disconnect(struct end *end)
{
    NTSTATUS status = end->connector->Dispatch->NdkDisconnect(end->connector, on_completed, end);

    return succeeded(end, "NdkDisconnect", finish(end, status));
}

/* ---- The client ---- */

/* Lets the server write the file into this side's memory. */
static bool fetch_by_write(struct end *end)
{
    struct message reply;
    NDK_RESULT_EX result;
    NTSTATUS status;
    uint32_t token;

    status = end->qp->Dispatch->NdkFastRegister(end->qp, NULL, end->file_mr, end->lam->AdapterPageCount,
                                                end->lam->AdapterPageArray, end->first_byte, FILE_SIZE, end->file,
                                                NDK_OP_FLAG_ALLOW_REMOTE_WRITE | NDK_OP_FLAG_SILENT_SUCCESS);
    if (!succeeded(end, "NdkFastRegister", status))
        return false;
    /* The queue pair carries out the registration before the send, so the message contains a valid token. */
    token = end->file_mr->Dispatch->NdkGetRemoteTokenFromMr(end->file_mr);
    if (!post_message(end, (struct message){ MESSAGE_WRITE, token, (uintptr_t)end->file, FILE_SIZE }, 0))
        return false;
    if (!receive_message(end, &reply, &result))
        return false;
    /* The memory may be used only after the server has lost access to it, so the answer must invalidate the token. */
    if (result.Type != NdkOperationTypeReceiveAndInvalidate || result.TypeSpecificCompletionOutput != token) {
        fprintf(stderr, "the server can still write into the memory\n");
        return false;
    }
    if (reply.what != MESSAGE_REPLY || reply.length > FILE_SIZE)
        return false;
    end->length = reply.length;
    return true;
}

/* Reads the file from the server's memory. */
static bool fetch_by_read(struct end *end)
{
    NDK_SGE sge = { .VirtualAddress = end->file };
    struct message reply;
    NDK_RESULT_EX result;
    NTSTATUS status;

    if (!post_message(end, (struct message){ .what = MESSAGE_READ }, 0) || !receive_message(end, &reply, &result))
        return false;
    if (reply.what != MESSAGE_REPLY || reply.length > FILE_SIZE || reply.length > end->info.MaxTransferLength)
        return false;
    end->file_mr = register_memory(end, &end->file_mdl, FILE_SIZE,
                                   NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_RDMA_READ_SINK);
    if (!end->file_mr)
        return false;
    sge.Length = (ULONG)reply.length;
    sge.MemoryRegionToken = end->file_mr->Dispatch->NdkGetLocalTokenFromMr(end->file_mr);
    status = end->qp->Dispatch->NdkRead(end->qp, NULL, &sge, 1, reply.address, reply.token, 0);
    if (!succeeded(end, "NdkRead", status) || !next_result(end, NDK_CQ_NOTIFY_ANY, &result)) /* the read */
        return false;
    end->length = reply.length;
    return post_message(end, (struct message){ .what = MESSAGE_DONE }, reply.token); /* ends the server's window */
}

static bool run_client(struct end *end, struct sockaddr *from, struct sockaddr *to, socklen_t length, bool is_write)
{
    ULONG reads = end->info.MaxOutboundReadLimit;
    NTSTATUS status = end->adapter->Dispatch->NdkCreateConnector(end->adapter, on_created, end, &end->connector);

    if (!succeeded(end, "NdkCreateConnector", finish_create(end, status, &end->connector)))
        return false;
    if (is_write && !prepare_fast_registration(end))
        return false;
    if (!post_receive(end)) /* before the peer can send: a message that finds no receive ends the connection */
        return false;
    status = end->connector->Dispatch->NdkConnect(end->connector, end->qp, from, length, to, length, 0, reads, NULL, 0,
                                                  on_completed, end);
    if (!succeeded(end, "NdkConnect", finish(end, status)))
        return false;
    status = end->connector->Dispatch->NdkCompleteConnectEx(end->connector, on_disconnected, end, on_completed, end);
    if (!succeeded(end, "NdkCompleteConnectEx", finish(end, status)))
        return false;
    if (!(is_write ? fetch_by_write(end) : fetch_by_read(end)) || !disconnect(end))
        return false;
    fprintf(stderr, "fetched %zu bytes\n", end->length);
    return fwrite(end->file, 1, end->length, stdout) == end->length && fflush(stdout) == 0;
}

/* ---- The server ---- */

/* Writes the file into the client's memory, and then sends the reply, which arrives after the data. */
static bool reply_by_write(struct end *end, const struct message *request)
{
    UINT32 token = end->file_mr->Dispatch->NdkGetLocalTokenFromMr(end->file_mr);
    NDK_SGE sge = { .VirtualAddress = end->file, .Length = (ULONG)end->length, .MemoryRegionToken = token };
    NTSTATUS status;

    if (request->length < end->length || end->info.MaxTransferLength < end->length) {
        fprintf(stderr, "the file is too long for the client's memory, or for one write\n");
        return false;
    }
    status = end->qp->Dispatch->NdkWrite(end->qp, NULL, &sge, 1, request->address, request->token,
                                         NDK_OP_FLAG_SILENT_SUCCESS);
    return succeeded(end, "NdkWrite", status) &&
           post_message(end, (struct message){ .what = MESSAGE_REPLY, .length = end->length }, request->token);
}

/* Opens a window to the file for the client, and waits until the client has read the file. */
static bool reply_by_window(struct end *end)
{
    struct message reply = { .what = MESSAGE_REPLY, .address = (uintptr_t)end->file, .length = end->length };
    struct message done;
    NDK_RESULT_EX result;
    NTSTATUS status = end->pd->Dispatch->NdkCreateMw(end->pd, on_created, end, &end->file_mw);

    if (!succeeded(end, "NdkCreateMw", finish_create(end, status, &end->file_mw)) || !post_receive(end))
        return false;
    status = end->qp->Dispatch->NdkBind(end->qp, NULL, end->file_mr, end->file_mw, end->file, end->length,
                                        NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_SILENT_SUCCESS);
    if (!succeeded(end, "NdkBind", status))
        return false;
    reply.token = end->file_mw->Dispatch->NdkGetRemoteTokenFromMw(end->file_mw);
    return post_message(end, reply, 0) && receive_message(end, &done, &result);
}

static bool serve(struct end *end)
{
    struct message request;
    NDK_RESULT_EX result;
    NTSTATUS status;

    wait_for(&end->event); /* the first event is a client's request for a connection */
    if (!post_receive(end))
        return false;
    status = end->connector->Dispatch->NdkAcceptEx(end->connector, end->qp, end->info.MaxInboundReadLimit, 0, NULL, 0,
                                                   on_disconnected, end, on_completed, end);
    if (!succeeded(end, "NdkAcceptEx", finish(end, status)) || !receive_message(end, &request, &result))
        return false;
    if (!(request.what == MESSAGE_WRITE ? reply_by_write(end, &request) : reply_by_window(end)))
        return false;
    while (!end->is_over)
        wait_for(&end->event);
    return disconnect(end);
}

static bool run_server(struct end *end, struct sockaddr *local, socklen_t length, const char *path)
{
    FILE *file = fopen(path, "rb");
    bool is_whole;
    NTSTATUS status;

    if (!file) {
        perror(path);
        return false;
    }
    end->length = fread(end->file, 1, FILE_SIZE, file);
    is_whole = !ferror(file) && fgetc(file) == EOF;
    fclose(file);
    if (!is_whole) {
        fprintf(stderr, "%s: cannot be read, or is longer than %d bytes\n", path, FILE_SIZE);
        return false;
    }
    end->file_mr = register_memory(end, &end->file_mdl, FILE_SIZE, NDK_MR_FLAG_ALLOW_REMOTE_READ);
    if (!end->file_mr)
        return false;
    status = end->adapter->Dispatch->NdkCreateListener(end->adapter, on_request, end, on_created, end, &end->listener);
    if (!succeeded(end, "NdkCreateListener", finish_create(end, status, &end->listener)))
        return false;
    status = end->listener->Dispatch->NdkListen(end->listener, local, length, on_completed, end);
    if (!succeeded(end, "NdkListen", finish(end, status)))
        return false;
    fprintf(stderr, "listening\n");
    return serve(end);
}

/* ---- The program ---- */

/* Finds the local address from which the system sends to `to`. Connecting a UDP socket sends nothing. */
static bool find_source(const struct sockaddr *to, socklen_t length, struct sockaddr_storage *from)
{
    int fd = socket(to->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof *from;
    bool is_found = fd >= 0 && connect(fd, to, length) == 0 && getsockname(fd, (struct sockaddr *)from, &size) == 0;

    if (!is_found)
        perror("no address of this machine reaches the server");
    else if (from->ss_family == AF_INET)
        ((struct sockaddr_in *)from)->sin_port = 0; /* any free port */
    else
        ((struct sockaddr_in6 *)from)->sin6_port = 0;
    if (fd >= 0)
        close(fd);
    return is_found;
}

int main(int argc, char **argv)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *address;
    struct end end = { .has_request = ATOMIC_FLAG_INIT };
    struct sockaddr_storage from = { 0 };
    bool is_server = argc == 5 && strcmp(argv[1], "server") == 0;
    bool is_write = argc == 5 && strcmp(argv[4], "write") == 0;
    bool is_client = argc == 5 && strcmp(argv[1], "client") == 0 && (is_write || strcmp(argv[4], "read") == 0);
    bool is_done = false;
    int error;

    if (!is_server && !is_client) {
        fprintf(stderr, "usage: fetch server HOST PORT FILE\n       fetch client HOST PORT write|read\n");
        return 2;
    }
    error = getaddrinfo(argv[2], argv[3], &hints, &address);
    if (error) {
        fprintf(stderr, "%s %s: %s\n", argv[2], argv[3], gai_strerror(error));
        return 2;
    }
    if (is_server) {
        is_done = open_end(&end, address->ai_addr) && run_server(&end, address->ai_addr, address->ai_addrlen, argv[4]);
        close_end(&end);
    } else if (find_source(address->ai_addr, address->ai_addrlen, &from)) {
        is_done = open_end(&end, (struct sockaddr *)&from) &&
                  run_client(&end, (struct sockaddr *)&from, address->ai_addr, address->ai_addrlen, is_write);
        close_end(&end);
    }
    freeaddrinfo(address);
    return is_done ? 0 : 1;
}
