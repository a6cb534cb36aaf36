/* SPDX-License-Identifier: MIT */
/*
 * A first program. The client sends a line to the server and prints the answer.
 *
 *     first server 127.0.0.1 50001                     serves one client and ends
 *     first client 127.0.0.1 50001 "Hello, server"
 *
 * The objects of NDK correspond to these in a program with sockets:
 *
 *     adapter             the network interface
 *     listener            the listening socket
 *     connector           connect, accept and shutdown of one connection
 *     queue pair          send and recv of one connection. A call only posts a request, which the adapter carries out
 *     completion queue    the results of these requests
 *     memory region       memory that requests may use
 *     protection domain   a group of queue pairs and of the memory regions that they may use
 *
 * Many functions may return STATUS_PENDING and call a completion routine later, on a thread of the library. This
 * program then waits for a semaphore.
 */
#include <arpa/inet.h>
#include <ctype.h>
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

enum { LINE_SIZE = 256 };

/* One end of a connection. An object that has not been created is NULL. */
struct end {
    NDK_ADAPTER *adapter;
    NDK_PD *pd;
    NDK_CQ *cq;
    NDK_QP *qp;
    NDK_MR *mr;
    NDK_LISTENER *listener;
    NDK_CONNECTOR *connector;
    MDL mdl;                  /* describes `lines` */
    char lines[2][LINE_SIZE]; /* the line to send, and the received line */

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

/* Prints a received line. The peer is not trusted: its bytes could be commands to the terminal. */
static void print_line(const char *title, const char *line, size_t length)
{
    printf("%s: ", title);
    for (size_t i = 0; i < length; i++)
        putchar(isprint((unsigned char)line[i]) ? line[i] : '?');
    putchar('\n');
}

/* ---- Opening and closing ---- */

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

/* Opens the adapter of the local address and creates what both roles need. */
static bool open_end(struct end *end, const struct sockaddr *local)
{
    uint32_t if_index = interface_of(local);
    NDK_VERSION version = { 2, 1 };
    NTSTATUS status;

    sem_init(&end->completed, 0, 0);
    sem_init(&end->event, 0, 0);
    ondk_mdl_init(&end->mdl, end->lines, sizeof end->lines, NULL);

    if (!if_index)
        return false;
    status = ondk_open_adapter(version, if_index, &end->adapter);
    if (!succeeded(end, "ondk_open_adapter", status))
        return false;
    status = end->adapter->Dispatch->NdkCreatePd(end->adapter, on_created, end, &end->pd);
    if (!succeeded(end, "NdkCreatePd", finish_create(end, status, &end->pd)))
        return false;
    /* The queue has room for the results of all requests that can be outstanding: one receive and one send. */
    status = end->adapter->Dispatch->NdkCreateCq(end->adapter, 2, on_notified, end, NULL, on_created, end, &end->cq);
    if (!succeeded(end, "NdkCreateCq", finish_create(end, status, &end->cq)))
        return false;
    status = end->pd->Dispatch->NdkCreateQp(end->pd, end->cq, end->cq, NULL, 1, 1, 1, 1, 0, on_created, end, &end->qp);
    if (!succeeded(end, "NdkCreateQp", finish_create(end, status, &end->qp)))
        return false;
    status = end->pd->Dispatch->NdkCreateMr(end->pd, FALSE, on_created, end, &end->mr);
    if (!succeeded(end, "NdkCreateMr", finish_create(end, status, &end->mr)))
        return false;
    status = end->mr->Dispatch->NdkRegisterMr(end->mr, &end->mdl, sizeof end->lines, NDK_MR_FLAG_ALLOW_LOCAL_WRITE,
                                              on_completed, end);
    return succeeded(end, "NdkRegisterMr", finish(end, status));
}

/* Closes an object and waits until nothing uses it any more. A close cannot fail. */
static void close_object(struct end *end, NDK_FN_CLOSE_OBJECT close_function, NDK_OBJECT_HEADER *object)
{
    finish(end, close_function(object, on_closed, end));
}

/* Closes each object after the objects that depend on it. Each close waits until those objects have been closed. */
static void close_end(struct end *end)
{
    if (end->connector)
        close_object(end, end->connector->Dispatch->NdkCloseConnector, &end->connector->Header);
    if (end->listener)
        close_object(end, end->listener->Dispatch->NdkCloseListener, &end->listener->Header);
    if (end->qp)
        close_object(end, end->qp->Dispatch->NdkCloseQp, &end->qp->Header);
    if (end->mr)
        close_object(end, end->mr->Dispatch->NdkCloseMr, &end->mr->Header);
    if (end->cq)
        close_object(end, end->cq->Dispatch->NdkCloseCq, &end->cq->Header);
    if (end->pd)
        close_object(end, end->pd->Dispatch->NdkClosePd, &end->pd->Header);
    if (end->adapter)
        ondk_close_adapter(end->adapter);
    sem_destroy(&end->event);
    sem_destroy(&end->completed);
}

/* ---- Sending and receiving ---- */

static bool post_receive(struct end *end)
{
    UINT32 token = end->mr->Dispatch->NdkGetLocalTokenFromMr(end->mr);
    NDK_SGE sge = { .VirtualAddress = end->lines[1], .Length = LINE_SIZE, .MemoryRegionToken = token };

    return succeeded(end, "NdkReceive", end->qp->Dispatch->NdkReceive(end->qp, NULL, &sge, 1));
}

/* Sends a copy of the line. The copy must stay unchanged until the send has completed. */
static bool post_send(struct end *end, const char *line)
{
    UINT32 token = end->mr->Dispatch->NdkGetLocalTokenFromMr(end->mr);
    NDK_SGE sge = { .VirtualAddress = end->lines[0], .MemoryRegionToken = token };

    snprintf(end->lines[0], LINE_SIZE, "%s", line);
    sge.Length = (ULONG)strlen(end->lines[0]);
    return succeeded(end, "NdkSend", end->qp->Dispatch->NdkSend(end->qp, NULL, &sge, 1, 0));
}

/* Waits for the next result. Returns false if the request has failed or the connection is over. */
static bool next_result(struct end *end, NDK_RESULT_EX *result)
{
    for (;;) {
        bool is_over = end->is_over; /* read before the poll, so that the last results are not missed */

        if (end->cq->Dispatch->NdkGetCqResultsEx(end->cq, result, 1))
            return succeeded(end, "a request", result->Status);
        if (is_over)
            return failed_early(end);
        end->cq->Dispatch->NdkArmCq(end->cq, NDK_CQ_NOTIFY_ANY); /* notifies at once if a result arrived meanwhile */
        wait_for(&end->event);
    }
}

static bool run_client(struct end *end, struct sockaddr *from, struct sockaddr *to, socklen_t length, const char *line)
{
    NDK_RESULT_EX result;
    NTSTATUS status = end->adapter->Dispatch->NdkCreateConnector(end->adapter, on_created, end, &end->connector);

    if (!succeeded(end, "NdkCreateConnector", finish_create(end, status, &end->connector)))
        return false;
    if (!post_receive(end)) /* before the peer can send: a message that finds no receive ends the connection */
        return false;
    status = end->connector->Dispatch->NdkConnect(end->connector, end->qp, from, length, to, length, 0, 0, NULL, 0,
                                                  on_completed, end);
    if (!succeeded(end, "NdkConnect", finish(end, status)))
        return false;
    status = end->connector->Dispatch->NdkCompleteConnectEx(end->connector, on_disconnected, end, on_completed, end);
    if (!succeeded(end, "NdkCompleteConnectEx", finish(end, status)))
        return false;

    if (!post_send(end, line))
        return false;
    for (int outstanding = 2; outstanding; outstanding--) { /* the send and the receive, in any order */
        if (!next_result(end, &result))
            return false;
        if (result.Type == NdkOperationTypeReceive)
            print_line("the server answers", end->lines[1], result.BytesTransferred);
    }
    status = end->connector->Dispatch->NdkDisconnect(end->connector, on_completed, end); /* waits for the server */
    return succeeded(end, "NdkDisconnect", finish(end, status));
}

static bool serve(struct end *end)
{
    char answer[64];
    NDK_RESULT_EX result;
    NTSTATUS status;

    wait_for(&end->event); /* the first event is a client's request for a connection */
    if (!post_receive(end))
        return false;
    status = end->connector->Dispatch->NdkAcceptEx(end->connector, end->qp, 0, 0, NULL, 0, on_disconnected, end,
                                                   on_completed, end);
    if (!succeeded(end, "NdkAcceptEx", finish(end, status)))
        return false;

    if (!next_result(end, &result)) /* the receive */
        return false;
    print_line("the client sends", end->lines[1], result.BytesTransferred);
    snprintf(answer, sizeof answer, "%u bytes received", (unsigned)result.BytesTransferred);
    if (!post_send(end, answer) || !next_result(end, &result)) /* the send */
        return false;
    while (!end->is_over)
        wait_for(&end->event);
    printf("the client has disconnected: %s\n", ondk_reason_name(end->reason));
    status = end->connector->Dispatch->NdkDisconnect(end->connector, on_completed, end);
    return succeeded(end, "NdkDisconnect", finish(end, status));
}

static bool run_server(struct end *end, struct sockaddr *local, socklen_t length)
{
    NTSTATUS status = end->adapter->Dispatch->NdkCreateListener(end->adapter, on_request, end, on_created, end,
                                                                &end->listener);

    if (!succeeded(end, "NdkCreateListener", finish_create(end, status, &end->listener)))
        return false;
    status = end->listener->Dispatch->NdkListen(end->listener, local, length, on_completed, end);
    if (!succeeded(end, "NdkListen", finish(end, status)))
        return false;
    printf("listening\n");
    fflush(stdout);
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
    bool is_server = argc == 4 && strcmp(argv[1], "server") == 0;
    bool is_client = argc == 5 && strcmp(argv[1], "client") == 0;
    bool is_done = false;
    int error;

    if (!is_server && !is_client) {
        fprintf(stderr, "usage: first server HOST PORT\n       first client HOST PORT LINE\n");
        return 2;
    }
    error = getaddrinfo(argv[2], argv[3], &hints, &address);
    if (error) {
        fprintf(stderr, "%s %s: %s\n", argv[2], argv[3], gai_strerror(error));
        return 2;
    }
    if (is_server) {
        is_done = open_end(&end, address->ai_addr) && run_server(&end, address->ai_addr, address->ai_addrlen);
        close_end(&end);
    } else if (find_source(address->ai_addr, address->ai_addrlen, &from)) {
        is_done = open_end(&end, (struct sockaddr *)&from) &&
                  run_client(&end, (struct sockaddr *)&from, address->ai_addr, address->ai_addrlen, argv[4]);
        close_end(&end);
    }
    freeaddrinfo(address);
    return is_done ? 0 : 1;
}
