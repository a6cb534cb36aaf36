/* SPDX-License-Identifier: MIT */
/* peer NAME=NUMBER...: see peer.h for the names. Prints "listening" and runs until it is killed. */
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>

#include "openndk/adapter.h"
#include "openndk/mdl.h"
#include "peer.h"

enum {
    SEND_QUEUE = 2 * PEER_COMMANDS,
    CQ_ENTRIES = PEER_RECEIVES + SEND_QUEUE,
    ANSWER_SIZE = sizeof(struct nvme_completion)
};
enum { MEMORY = PEER_COMMANDS * (4096 + ANSWER_SIZE) + PEER_RECEIVES * PEER_CAPSULE };

struct peer_options options = { .port = 4420, .queues = 4, .receives = 129, .mdts = 5 };
uint8_t *peer_disk;
uint32_t peer_disk_token;

static NDK_ADAPTER *adapter;
static NDK_PD *pd;
static struct peer_queue queues[PEER_QUEUES];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t work;
static NDK_CONNECTOR *asked[PEER_QUEUES]; /* connectors that wait for an answer; mutex guards them */
static unsigned n_asked;

/* ---- Calls that wait ---- */

struct call {
    sem_t done;
    NTSTATUS status;
    NDK_OBJECT_HEADER *object;
};

static void create_done(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    struct call *c = context;

    c->status = status;
    c->object = object;
    sem_post(&c->done);
}

static void request_done(PVOID context, NTSTATUS status)
{
    create_done(context, status, NULL);
}

static void close_done(PVOID context)
{
    create_done(context, STATUS_SUCCESS, NULL);
}

static NTSTATUS finish(struct call *c, NTSTATUS status, void *object)
{
    if (status != STATUS_PENDING)
        return status;
    while (sem_wait(&c->done) != 0)
        ;
    if (object && c->status == STATUS_SUCCESS)
        *(void **)object = c->object;
    return c->status;
}

static void need(const char *what, NTSTATUS status)
{
    if (status == STATUS_SUCCESS)
        return;
    fprintf(stderr, "%s: 0x%08x\n", what, (unsigned)status); /* the test fails if the peer reports an error */
    exit(1);
}

static void close_object(void *object)
{
    NDK_PD *any = object; /* every table begins with the close */
    struct call c;

    sem_init(&c.done, 0, 0);
    finish(&c, any->Dispatch->NdkClosePd(&any->Header, close_done, &c), NULL);
}

/* ---- Connections ---- */

static void notified(PVOID context, NTSTATUS status)
{
    (void)context;
    (void)status;
    sem_post(&work);
}

static void disconnected(PVOID context)
{
    struct peer_queue *q = context;

    __atomic_store_n(&q->ended, true, __ATOMIC_RELEASE);
    sem_post(&work);
}

static void connect_asked(PVOID context, NDK_CONNECTOR *connector)
{
    (void)context;
    pthread_mutex_lock(&mutex);
    asked[n_asked++ % PEER_QUEUES] = connector;
    pthread_mutex_unlock(&mutex);
    sem_post(&work);
}

static NDK_MR *register_memory(void *memory, size_t length, uint32_t *token)
{
    MDL *mdl = calloc(1, sizeof *mdl); /* for as long as the process runs */
    NDK_MR *mr = NULL;
    struct call c;

    ondk_mdl_init(mdl, memory, (ULONG)length, NULL);
    sem_init(&c.done, 0, 0);
    need("NdkCreateMr", finish(&c, pd->Dispatch->NdkCreateMr(pd, FALSE, create_done, &c, &mr), &mr));
    need("NdkRegisterMr",
         finish(&c,
                mr->Dispatch->NdkRegisterMr(mr, mdl, length, NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_RDMA_READ_SINK,
                                            request_done, &c),
                NULL));
    *token = mr->Dispatch->NdkGetLocalTokenFromMr(mr);
    return mr;
}

static NDK_SGE sge_of(const void *address, uint32_t length, uint32_t token)
{
    return (NDK_SGE){ .VirtualAddress = (void *)(uintptr_t)address, .Length = length, .MemoryRegionToken = token };
}

static void post_receive(struct peer_queue *q, void *capsule)
{
    NDK_SGE sge = sge_of(capsule, PEER_CAPSULE, q->token);

    q->qp->Dispatch->NdkReceive(q->qp, capsule, &sge, 1);
}

static void create_queue(struct peer_queue *q)
{
    struct call c;
    uint8_t *at;

    sem_init(&c.done, 0, 0);
    need("NdkCreateCq",
         finish(&c, adapter->Dispatch->NdkCreateCq(adapter, CQ_ENTRIES, notified, q, NULL, create_done, &c, &q->cq),
                &q->cq));
    need("NdkCreateQp", finish(&c,
                               pd->Dispatch->NdkCreateQp(pd, q->cq, q->cq, q, PEER_RECEIVES, SEND_QUEUE, 1, 1, 0,
                                                         create_done, &c, &q->qp),
                               &q->qp));
    at = q->memory = aligned_alloc(4096, (MEMORY + 4095) / 4096 * 4096);
    q->mr = register_memory(q->memory, MEMORY, &q->token);
    for (struct peer_command *command = q->commands; command < q->commands + PEER_COMMANDS; command++) {
        command->queue = q;
        command->next = q->free;
        q->free = command;
        command->page = at;
        command->answer = (void *)(at + 4096);
        at += 4096 + ANSWER_SIZE;
    }
    for (unsigned i = 0; i < PEER_RECEIVES; i++, at += PEER_CAPSULE)
        post_receive(q, at);
    q->cq->Dispatch->NdkArmCq(q->cq, NDK_CQ_NOTIFY_ANY);
}

static void close_queue(struct peer_queue *q)
{
    if (q->connector)
        close_object(q->connector);
    close_object(q->qp);
    close_object(q->mr);
    close_object(q->cq);
    free(q->memory);
    memset(q, 0, sizeof *q);
}

static void reject(NDK_CONNECTOR *connector, enum nvme_rdma_status status)
{
    struct nvme_rdma_reject data;

    nvme_rdma_reject_build(&data, status);
    connector->Dispatch->NdkReject(connector, &data, sizeof data);
    close_object(connector);
}

static void accept_connection(NDK_CONNECTOR *connector)
{
    struct peer_queue *q = queues;
    struct nvme_rdma_reply reply;
    struct nvme_rdma_queue values;
    uint8_t data[256];
    ULONG length = sizeof data;
    enum nvme_rdma_status status = NVME_RDMA_NO_RESOURCES;
    struct call c;

    if (connector->Dispatch->NdkGetConnectionData(connector, NULL, NULL, data, &length) == STATUS_SUCCESS)
        status = nvme_rdma_request_parse(&values, data, length);
    while (q < queues + PEER_QUEUES && q->used)
        q++;
    if (options.reject || q == queues + PEER_QUEUES || status != NVME_RDMA_OK) {
        options.reject -= options.reject != 0;
        reject(connector, status != NVME_RDMA_OK ? status : NVME_RDMA_NO_RESOURCES);
        return;
    }
    q->used = true;
    q->qid = values.qid;
    q->connector = connector;
    create_queue(q);
    nvme_rdma_reply_build(&reply, options.receives < values.commands ? options.receives : values.commands);
    sem_init(&c.done, 0, 0);
    if (finish(&c,
               connector->Dispatch->NdkAccept(connector, q->qp, 0, 16, &reply, sizeof reply, disconnected, q,
                                              request_done, &c),
               NULL) != STATUS_SUCCESS)
        peer_drop(q);
}

void peer_drop(struct peer_queue *q)
{
    __atomic_store_n(&q->ended, true, __ATOMIC_RELEASE);
    sem_post(&work);
}

/* ---- Requests and results ---- */

void peer_read(struct peer_command *c, void *to, uint32_t token, uint32_t length)
{
    NDK_QP *qp = c->queue->qp;
    NDK_SGE sge = sge_of(to, length, token);

    qp->Dispatch->NdkRead(qp, c, &sge, 1, c->sgl.address, c->sgl.key, 0);
}

void peer_write(struct peer_command *c, const void *from, uint32_t token, uint32_t length)
{
    NDK_QP *qp = c->queue->qp;
    NDK_SGE sge = sge_of(from, length, token);

    qp->Dispatch->NdkWrite(qp, c, &sge, 1, c->sgl.address, c->sgl.key, NDK_OP_FLAG_SILENT_SUCCESS);
}

void peer_send(struct peer_command *c, uint32_t length, bool invalidate, uint32_t token)
{
    NDK_QP *qp = c->queue->qp;
    NDK_SGE sge = sge_of(c->answer, length, c->queue->token);

    c->queue->outstanding--;
    c->sends++;
    if (invalidate)
        qp->Dispatch->NdkSendAndInvalidate(qp, c, &sge, 1, 0, token);
    else
        qp->Dispatch->NdkSend(qp, c, &sge, 1, 0);
}

void peer_send_late_token(struct peer_command *c, struct peer_command *second)
{
    NDK_QP *qp = c->queue->qp;
    NDK_SGE first = sge_of(c->answer, sizeof *c->answer, c->queue->token);
    NDK_SGE last = sge_of(second->answer, sizeof *second->answer, c->queue->token);

    c->queue->outstanding -= c == second ? 1 : 2;
    c->sends++;
    second->sends++;
    qp->Dispatch->NdkSend(qp, c, &first, 1, NDK_OP_FLAG_DEFER);
    qp->Dispatch->NdkSendAndInvalidate(qp, second, &last, 1, 0, c->sgl.key);
}

void peer_send_twice(struct peer_command *c)
{
    NDK_QP *qp = c->queue->qp;
    NDK_SGE sge = sge_of(c->answer, sizeof *c->answer, c->queue->token);

    c->queue->outstanding--;
    c->sends += 2;
    qp->Dispatch->NdkSend(qp, c, &sge, 1, NDK_OP_FLAG_DEFER);
    qp->Dispatch->NdkSend(qp, c, &sge, 1, 0);
}

/* Copies the capsule, and posts the receive again before the answer, after which the host may send the next one. */
static void handle_receive(struct peer_queue *q, void *received, uint32_t length)
{
    struct peer_command *c = q->free;

    if (!c) {
        fprintf(stderr, "too many commands\n");
        exit(1);
    }
    q->free = c->next;
    if (++q->outstanding > options.receives) {
        fprintf(stderr, "more commands than receives\n");
        exit(1);
    }
    memcpy(c->capsule, received, length);
    post_receive(q, received);
    peer_execute(c, length);
}

static void handle_result(struct peer_queue *q, const NDK_RESULT_EX *r)
{
    struct peer_command *c = r->RequestContext;

    if (r->Status != STATUS_SUCCESS) {
        peer_drop(q);
    } else if (r->Type == NdkOperationTypeReceive) {
        handle_receive(q, r->RequestContext, r->BytesTransferred);
    } else if (r->Type == NdkOperationTypeRead) {
        peer_answer(c, NVME_SUCCESS);
    } else if (r->Type == NdkOperationTypeSend && --c->sends == 0) {
        c->next = q->free;
        q->free = c;
    }
}

static void poll_queue(struct peer_queue *q)
{
    NDK_RESULT_EX results[16];
    unsigned count;

    while ((count = q->cq->Dispatch->NdkGetCqResultsEx(q->cq, results, 16)) != 0)
        for (unsigned i = 0; i < count; i++)
            handle_result(q, &results[i]);
    q->cq->Dispatch->NdkArmCq(q->cq, NDK_CQ_NOTIFY_ANY);
    if (__atomic_load_n(&q->ended, __ATOMIC_ACQUIRE))
        close_queue(q);
}

static NDK_CONNECTOR *next_asked(void)
{
    static unsigned answered;
    NDK_CONNECTOR *connector = NULL;

    pthread_mutex_lock(&mutex);
    if (answered != n_asked)
        connector = asked[answered++ % PEER_QUEUES];
    pthread_mutex_unlock(&mutex);
    return connector;
}

static void listen_at(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)options.port) };
    NDK_LISTENER *listener = NULL;
    struct call c;

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sem_init(&c.done, 0, 0);
    need("NdkCreateListener",
         finish(&c, adapter->Dispatch->NdkCreateListener(adapter, connect_asked, NULL, create_done, &c, &listener),
                &listener));
    need("NdkListen",
         finish(&c, listener->Dispatch->NdkListen(listener, (PSOCKADDR)&at, sizeof at, request_done, &c), NULL));
}

static const struct {
    const char *name;
    size_t offset;
} names[] = {
#define OPTION(name)                                                                                                   \
    {                                                                                                                  \
#name, offsetof(struct peer_options, name)                                                                     \
    }
    OPTION(port),        OPTION(wrong_cid),  OPTION(short_answer), OPTION(old_cid),     OPTION(twice),
    OPTION(wrong_token), OPTION(silent),     OPTION(replace),      OPTION(error),       OPTION(drop),
    OPTION(drop_every),  OPTION(die),        OPTION(stop),         OPTION(change),      OPTION(deaf),
    OPTION(reject),      OPTION(refuse),     OPTION(queues),       OPTION(receives),    OPTION(mdts),
    OPTION(no_capsule),  OPTION(plain_send), OPTION(late_token),   OPTION(other_token), OPTION(twice_admin),
};

static void parse(const char *argument)
{
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i].name);

        if (strncmp(argument, names[i].name, length) == 0 && argument[length] == '=') {
            *(unsigned *)((char *)&options + names[i].offset) = (unsigned)strtoul(argument + length + 1, NULL, 0);
            return;
        }
    }
    fprintf(stderr, "unknown: %s\n", argument);
    exit(2);
}

int main(int argc, char **argv)
{
    NDK_VERSION version = { 2, 1 };
    NDK_CONNECTOR *connector;
    struct call c;

    for (int i = 1; i < argc; i++)
        parse(argv[i]);
    sem_init(&work, 0, 0);
    sem_init(&c.done, 0, 0);
    need("ondk_open_adapter", ondk_open_adapter(version, 1, &adapter));
    need("NdkCreatePd", finish(&c, adapter->Dispatch->NdkCreatePd(adapter, create_done, &c, &pd), &pd));
    peer_disk = aligned_alloc(4096, PEER_DISK);
    memset(peer_disk, 0, PEER_DISK);
    register_memory(peer_disk, PEER_DISK, &peer_disk_token);
    listen_at();
    printf("listening\n");
    fflush(stdout);
    for (;;) {
        while (sem_wait(&work) != 0)
            ;
        while ((connector = next_asked()) != NULL)
            accept_connection(connector);
        for (struct peer_queue *q = queues; q < queues + PEER_QUEUES; q++)
            if (q->used)
                poll_queue(q);
    }
}
