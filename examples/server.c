/* SPDX-License-Identifier: MIT */
/*
 * A server for many clients. The server returns each message to the client that sent it, until Ctrl-C.
 *
 *     server 127.0.0.1 50001
 *     first client 127.0.0.1 50001 "Hello, server"
 *
 * Each client has a queue pair, a completion queue, a ring of receives, and a thread that sleeps until something
 * happens. So a client that is slow, dies or breaks the protocol affects no other client. Each message may have at most
 * LINE_SIZE bytes. A client must not send a message while RING / 2 of its messages have no answer, because a message
 * that finds no receive ends the connection. The other half of the ring is for answers that the client may have
 * received before the server has posted their receives again. Some functions are copies of functions in first.c.
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "openndk/adapter.h"
#include "openndk/mdl.h"
#include "openndk/reason.h"

enum { LINE_SIZE = 256, RING = 16, MAX_CLIENTS = 100 };

/* A client. An object that has not been created is NULL. */
struct end {
    unsigned number; /* clients are numbered from 1; 0: the entry has no client */
    pthread_t thread;
    atomic_bool is_free; /* the client's thread is about to end, so a new client may use the entry */
    NDK_CQ *cq;
    NDK_QP *qp;
    NDK_MR *mr;
    NDK_CONNECTOR *connector;
    MDL mdl; /* describes `lines` */
    char lines[RING][LINE_SIZE];

    sem_t completed;           /* posted when the pending call has completed */
    NTSTATUS status;           /* the final status of the completed call */
    NDK_OBJECT_HEADER *object; /* the created object, if the completed call is a create */

    sem_t event;         /* posted after a result, and at the end of the connection */
    atomic_bool is_over; /* true if the peer has disconnected, the completion queue has failed, or the server stops */
    atomic_uint reason;  /* the reason for the disconnect */
};

static NDK_ADAPTER *adapter;
static NDK_PD *pd;
static struct end clients[MAX_CLIENTS];
static unsigned n_clients; /* number of clients so far */
static bool stops;         /* true: the server accepts no more clients */
/* Protects `clients`, `n_clients` and `stops`, but not the objects of a client. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

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

/* Closes an object and waits until nothing uses it any more. A close cannot fail. */
static void close_object(struct end *end, NDK_FN_CLOSE_OBJECT close_function, NDK_OBJECT_HEADER *object)
{
    finish(end, close_function(object, on_closed, end));
}

/*
 * Creates a client's objects. Each line of end->lines is used by one request at a time: a receive, or the send of the
 * answer.
 */
static bool open_end(struct end *end)
{
    NTSTATUS status;

    status = adapter->Dispatch->NdkCreateCq(adapter, 2 * RING, on_notified, end, NULL, on_created, end, &end->cq);
    if (!succeeded(end, "NdkCreateCq", finish_create(end, status, &end->cq)))
        return false;
    status = pd->Dispatch->NdkCreateQp(pd, end->cq, end->cq, NULL, RING, RING, 1, 1, 0, on_created, end, &end->qp);
    if (!succeeded(end, "NdkCreateQp", finish_create(end, status, &end->qp)))
        return false;
    status = pd->Dispatch->NdkCreateMr(pd, FALSE, on_created, end, &end->mr);
    if (!succeeded(end, "NdkCreateMr", finish_create(end, status, &end->mr)))
        return false;
    ondk_mdl_init(&end->mdl, end->lines, sizeof end->lines, NULL);
    status = end->mr->Dispatch->NdkRegisterMr(end->mr, &end->mdl, sizeof end->lines, NDK_MR_FLAG_ALLOW_LOCAL_WRITE,
                                              on_completed, end);
    return succeeded(end, "NdkRegisterMr", finish(end, status));
}

/* Closes each object after the objects that depend on it. The connector's close ends a connection that still exists. */
static void close_end(struct end *end)
{
    close_object(end, end->connector->Dispatch->NdkCloseConnector, &end->connector->Header);
    if (end->qp)
        close_object(end, end->qp->Dispatch->NdkCloseQp, &end->qp->Header);
    if (end->mr)
        close_object(end, end->mr->Dispatch->NdkCloseMr, &end->mr->Header);
    if (end->cq)
        close_object(end, end->cq->Dispatch->NdkCloseCq, &end->cq->Header);
}

/* ---- A client ---- */

/*
 * Posts a receive into the line. The line's address is the RequestContext, so the receive's result contains the
 * address.
 */
static bool post_receive(struct end *end, char *line)
{
    UINT32 token = end->mr->Dispatch->NdkGetLocalTokenFromMr(end->mr);
    NDK_SGE sge = { .VirtualAddress = line, .Length = LINE_SIZE, .MemoryRegionToken = token };

    return succeeded(end, "NdkReceive", end->qp->Dispatch->NdkReceive(end->qp, line, &sge, 1));
}

static bool post_send(struct end *end, char *line, ULONG length)
{
    UINT32 token = end->mr->Dispatch->NdkGetLocalTokenFromMr(end->mr);
    NDK_SGE sge = { .VirtualAddress = line, .Length = length, .MemoryRegionToken = token };

    return succeeded(end, "NdkSend", end->qp->Dispatch->NdkSend(end->qp, line, &sge, 1, 0));
}

static bool accept_client(struct end *end)
{
    NTSTATUS status;

    if (!open_end(end))
        return false;
    for (int i = 0; i < RING; i++) {
        if (!post_receive(end, end->lines[i]))
            return false;
    }
    status = end->connector->Dispatch->NdkAcceptEx(end->connector, end->qp, 0, 0, NULL, 0, on_disconnected, end,
                                                   on_completed, end);
    return succeeded(end, "NdkAcceptEx", finish(end, status));
}

/* Waits for the next result. Returns false if the client has disconnected or the server stops. */
static bool next_result(struct end *end, NDK_RESULT_EX *result)
{
    for (;;) {
        bool is_over = end->is_over; /* read before the poll, so that the last results are not missed */

        if (end->cq->Dispatch->NdkGetCqResultsEx(end->cq, result, 1))
            return true;
        if (is_over)
            return false;
        end->cq->Dispatch->NdkArmCq(end->cq, NDK_CQ_NOTIFY_ANY); /* notifies at once if a result arrived meanwhile */
        wait_for(&end->event);
    }
}

/*
 * Answers each message with a copy until the client disconnects or the server stops. Returns false if a request has
 * failed.
 */
static bool echo_messages(struct end *end)
{
    NDK_RESULT_EX result;

    while (next_result(end, &result)) {
        char *line = result.RequestContext;

        if (!NT_SUCCESS(result.Status))
            return false;
        if (result.Type == NdkOperationTypeSend ? !post_receive(end, line) /* the send no longer uses the line */
                                                : !post_send(end, line, result.BytesTransferred))
            return false;
    }
    return true;
}

static bool disconnect(struct end *end)
{
    NTSTATUS status = end->connector->Dispatch->NdkDisconnect(end->connector, on_completed, end);

    return succeeded(end, "NdkDisconnect", finish(end, status));
}

static void *serve(void *context)
{
    struct end *end = context;

    if (accept_client(end)) {
        printf("client %u is connected\n", end->number);
        if (echo_messages(end) && disconnect(end))
            printf("client %u has disconnected\n", end->number);
        else
            printf("client %u is lost: %s\n", end->number, ondk_reason_name(ondk_connector_reason(end->connector)));
    }
    close_end(end);
    end->is_free = true;
    return NULL;
}

/* Waits until the thread of the entry's former client has ended, and destroys the client's semaphores. */
static void clear_client(struct end *end)
{
    if (!end->number)
        return;
    pthread_join(end->thread, NULL);
    sem_destroy(&end->completed);
    sem_destroy(&end->event);
    end->number = 0;
}

/* Starts a client's thread. Returns false if no entry is free, the server stops, or no thread can be created. */
static bool add_client(NDK_CONNECTOR *connector)
{
    struct end *end = NULL;

    for (int i = 0; i < MAX_CLIENTS && !end; i++) {
        if (!clients[i].number || clients[i].is_free)
            end = &clients[i];
    }
    if (!end || stops)
        return false;
    clear_client(end);
    memset(end, 0, sizeof *end);
    end->connector = connector;
    sem_init(&end->completed, 0, 0);
    sem_init(&end->event, 0, 0);
    end->number = n_clients + 1;
    if (pthread_create(&end->thread, NULL, serve, end)) {
        end->number = 0;
        return false;
    }
    n_clients++;
    return true;
}

/* A client requests a connection. A callback must not wait, so the client's thread answers. */
static void on_request(void *context, NDK_CONNECTOR *connector)
{
    bool is_added;

    (void)context;
    pthread_mutex_lock(&lock);
    is_added = add_client(connector);
    pthread_mutex_unlock(&lock);
    if (is_added)
        return;
    connector->Dispatch->NdkReject(connector, NULL, 0);
    connector->Dispatch->NdkCloseConnector(&connector->Header, on_refused_closed, NULL);
}

/* ---- The server ---- */

/* Makes the clients' threads disconnect, and waits until they have ended. */
static void stop_clients(void)
{
    pthread_mutex_lock(&lock);
    stops = true;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < MAX_CLIENTS; i++) {
        clients[i].is_over = true;
        if (clients[i].number)
            sem_post(&clients[i].event);
    }
    for (int i = 0; i < MAX_CLIENTS; i++)
        clear_client(&clients[i]);
}

/* Serves until sigwait returns SIGINT or SIGTERM. All threads of the program block these signals. */
static bool run_server(struct end *end, struct sockaddr *local, socklen_t length, const sigset_t *signals)
{
    NDK_LISTENER *listener = NULL;
    bool is_listening;
    NTSTATUS status;
    int number;

    status = adapter->Dispatch->NdkCreateListener(adapter, on_request, NULL, on_created, end, &listener);
    if (!succeeded(end, "NdkCreateListener", finish_create(end, status, &listener)))
        return false;
    status = listener->Dispatch->NdkListen(listener, local, length, on_completed, end);
    is_listening = succeeded(end, "NdkListen", finish(end, status));
    if (is_listening) {
        printf("listening\n");
        sigwait(signals, &number);
        stop_clients();
    }
    close_object(end, listener->Dispatch->NdkCloseListener, &listener->Header);
    return is_listening;
}

int main(int argc, char **argv)
{
    static struct end end; /* used only for the calls of the main thread */
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *address;
    NDK_VERSION version = { 2, 1 };
    bool is_done = false;
    sigset_t signals;
    uint32_t if_index;
    NTSTATUS status;

    if (argc != 3 || getaddrinfo(argv[1], argv[2], &hints, &address)) {
        fprintf(stderr, "usage: server HOST PORT\n");
        return 2;
    }
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    sem_init(&end.completed, 0, 0);
    if_index = interface_of(address->ai_addr);
    if (if_index && succeeded(&end, "ondk_open_adapter", ondk_open_adapter(version, if_index, &adapter))) {
        status = adapter->Dispatch->NdkCreatePd(adapter, on_created, &end, &pd);
        if (succeeded(&end, "NdkCreatePd", finish_create(&end, status, &pd))) {
            is_done = run_server(&end, address->ai_addr, address->ai_addrlen, &signals);
            close_object(&end, pd->Dispatch->NdkClosePd, &pd->Header);
        }
        ondk_close_adapter(adapter);
    }
    sem_destroy(&end.completed);
    freeaddrinfo(address);
    return is_done ? 0 : 1;
}
