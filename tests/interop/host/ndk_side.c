/* SPDX-License-Identifier: MIT */
/* exchange's side over NDK: see exchange.h. */
#include "exchange.h"

#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/consumer.h"
#include "consumer/sync.h"
#include "openndk/config.h"
#include "openndk/reason.h"

enum {
    PIECE = 24,
    REQUEST_SECONDS = 20, /* for the start of the guest's program, which takes seconds in an emulator */
};

static struct side_options opt;
static struct consumer consumer;

static void need(const char *what, NTSTATUS status)
{
    if (!NT_SUCCESS(status)) {
        printf("%s: %s\n", what, ondk_status_name(status));
        exchange_fail("status");
    }
}

static struct sockaddr_in loopback(uint16_t port)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

void side_open(const struct side_options *options)
{
    struct sockaddr_in at = loopback(options->port);
    ondk_config_t config;
    const char *what;
    NTSTATUS status;

    opt = *options;
    ondk_config_init(&config);
    config.crc = opt.crc;
    need("ondk_configure", ondk_configure(&config));
    status = consumer_open(&consumer, if_nametoindex("lo"), &what);
    need(what, status);
    if (opt.server)
        need("NdkListen", consumer_listen(&consumer, (struct sockaddr *)&at));
}

void side_area(struct area *area, uint32_t len, unsigned rights)
{
    struct consumer_region *r = calloc(1, sizeof *r);

    if (!r)
        exchange_fail("memory");
    need("NdkRegisterMr", consumer_region_create(r, consumer.pd, len,
                                                 NDK_MR_FLAG_ALLOW_LOCAL_WRITE |
                                                     (rights & RIGHT_READ ? NDK_MR_FLAG_ALLOW_REMOTE_READ : 0) |
                                                     (rights & RIGHT_WRITE ? NDK_MR_FLAG_ALLOW_REMOTE_WRITE : 0)));
    *area = (struct area){
        .memory = r->memory, .len = len, .own = r, .local = r->local_token, .remote = r->remote_token
    };
}

/* Fills in the SGEs and returns their number. */
static ULONG make_pieces(const struct request *r, NDK_SGE pieces[2])
{
    uint32_t first = r->len > PIECE ? PIECE : r->len;

    memset(pieces, 0, 2 * sizeof *pieces);
    for (int i = 0; i < 2; i++) {
        pieces[i].VirtualAddress = r->area->memory + r->offset + (i ? first : 0);
        pieces[i].Length = i ? r->len - first : first;
        pieces[i].MemoryRegionToken = r->area->local;
    }
    return first < r->len ? 2 : 1;
}

void side_post(const struct request *r)
{
    NDK_QP *qp = consumer.qp;
    const NDK_QP_DISPATCH *d = qp->Dispatch;
    PVOID context = (PVOID)(uintptr_t)((uint64_t)r->op << 32 | r->id);
    NDK_SGE p[2];
    ULONG n = make_pieces(r, p);

    switch (r->op) {
    case OP_SEND:
        need("NdkSend", d->NdkSend(qp, context, p, n, 0));
        break;
    case OP_SEND_INVALIDATE:
        need("NdkSendAndInvalidate", d->NdkSendAndInvalidate(qp, context, p, n, 0, r->remote_token));
        break;
    case OP_WRITE:
        need("NdkWrite", d->NdkWrite(qp, context, p, n, r->remote_address, r->remote_token, 0));
        break;
    case OP_READ:
        need("NdkRead", d->NdkRead(qp, context, p, n, r->remote_address, r->remote_token, 0));
        break;
    default:
        need("NdkReceive", d->NdkReceive(qp, context, p, n));
    }
}

void side_establish(void)
{
    struct consumer_limits limits = { opt.reads, opt.reads };
    struct sockaddr_in from = loopback(0), to = loopback(opt.port);

    if (opt.server) {
        consumer.connector = consumer_next_request(&consumer, REQUEST_SECONDS);
        if (!consumer.connector)
            exchange_fail("connect-request");
        need("NdkAccept", consumer_accept(&consumer, limits, NULL, 0));
        return;
    }
    need("NdkConnect", consumer_connect(&consumer, (struct sockaddr *)&from, (struct sockaddr *)&to, limits, NULL, 0));
    need("NdkCompleteConnect", consumer_complete_connect(&consumer));
}

/* A fast-registered region. */
struct revocable {
    MDL mdl;
    NDK_MR *mr;
    NDK_LOGICAL_ADDRESS_MAPPING *lam;
};

static void fast_register(struct revocable *v, uint8_t *memory, uint32_t len)
{
    ULONG size = (ULONG)(sizeof *v->lam + (len / PAGE_SIZE + 2) * sizeof v->lam->AdapterPageArray[0]), fbo = 0;
    NDK_ADAPTER *a = consumer.adapter;
    NDK_RESULT_EX result;
    struct sync s;

    v->lam = calloc(1, size);
    if (!v->lam)
        exchange_fail("memory");
    sync_init(&s);
    ondk_mdl_init(&v->mdl, memory, len, NULL);
    need("NdkBuildLAM",
         sync_wait(&s, a->Dispatch->NdkBuildLAM(a, &v->mdl, len, sync_on_request, &s, v->lam, &size, &fbo)));
    need("NdkCreateMr", sync_create_mr(consumer.pd, TRUE, &v->mr));
    need("NdkInitializeFastRegisterMr", sync_wait(&s, v->mr->Dispatch->NdkInitializeFastRegisterMr(
                                                          v->mr, v->lam->AdapterPageCount, TRUE, sync_on_request, &s)));
    sync_fini(&s);
    need("NdkFastRegister", consumer.qp->Dispatch->NdkFastRegister(
                                consumer.qp, NULL, v->mr, v->lam->AdapterPageCount, v->lam->AdapterPageArray, fbo, len,
                                memory, NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE));
    if (!consumer_next_result(&consumer, &result, SIDE_SECONDS) || result.Type != NdkOperationTypeFastRegister)
        exchange_fail("no-fast-register");
    need("NdkFastRegister's completion", result.Status);
}

void side_revocable(struct area *area, uint32_t len)
{
    struct revocable *v = calloc(1, sizeof *v);
    uint8_t *memory = aligned_alloc(PAGE_SIZE, (len / PAGE_SIZE + 1) * PAGE_SIZE);

    if (!v || !memory)
        exchange_fail("memory");
    fast_register(v, memory, len);
    *area = (struct area){ .memory = memory,
                           .len = len,
                           .own = v,
                           .local = v->mr->Dispatch->NdkGetLocalTokenFromMr(v->mr),
                           .remote = v->mr->Dispatch->NdkGetRemoteTokenFromMr(v->mr) };
}

bool side_wait(struct outcome *o)
{
    NDK_RESULT_EX result;
    uint64_t context;

    if (!consumer_next_result(&consumer, &result, SIDE_SECONDS))
        return false;
    context = (uint64_t)(uintptr_t)result.RequestContext;
    *o = (struct outcome){
        .op = (enum op)(context >> 32),
        .id = (uint32_t)context,
        .bytes = result.BytesTransferred,
        .good = NT_SUCCESS(result.Status),
        .invalidated = result.Type == NdkOperationTypeReceiveAndInvalidate,
        .token = (uint32_t)result.TypeSpecificCompletionOutput,
    };
    snprintf(o->status, sizeof o->status, "%s %s", ondk_status_name(result.Status),
             ondk_reason_name(result.ProviderErrorCode));
    return true;
}

void side_disconnect(void)
{
    NTSTATUS status;

    if (!consumer_wait_disconnect(&consumer, SIDE_SECONDS))
        exchange_fail("no-disconnect");
    status = consumer_disconnect(&consumer);
    printf("ended=%s disconnect=%s\n", ondk_reason_name(consumer.disconnect_reason), ondk_status_name(status));
}

void side_print_end(void)
{
    bool came = consumer_wait_disconnect(&consumer, SIDE_SECONDS);

    printf("ended=%s\n", came ? ondk_reason_name(consumer.disconnect_reason) : "no");
}

/* Closes the queue pair of the connection, which has ended. The end of the process frees the rest. */
void side_close(void)
{
    NDK_RESULT_EX result;

    consumer.qp->Dispatch->NdkFlush(consumer.qp);
    while (consumer.cq->Dispatch->NdkGetCqResultsEx(consumer.cq, &result, 1))
        if (result.Status != STATUS_CANCELLED)
            printf("flushed=%s\n", ondk_status_name(result.Status));
}
