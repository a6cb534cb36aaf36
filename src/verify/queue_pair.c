/* SPDX-License-Identifier: MIT */
/* Implements the queue pairs' dispatch table, NdkCreateQp and NdkCreateQpWithSrq. */
#include "verify/argument.h"
#include "verify/queue.h"
#include "verify/limits.h"
#include "verify/messages.h"
#include "verify/post.h"
#include "verify/region.h"

static VOID verify_qp_flush(NDK_QP *pub)
{
    PROXY_CALL(p, pub, "NdkFlush");
    NDK_QP *real = p ? p->real : NULL;

    if (!real)
        return;
    messages_set_over((struct queue *)p);
    real->Dispatch->NdkFlush(real);
    queue_set_flushed((struct queue *)p);
}

/*
 * Begins a post. Defines the variables qp, real and post. `real` is the provider's queue pair, or NULL if the
 * consumer's queue pair is closed.
 */
#define QP_POST(routine_, sgl_, sges_, flags_)                                                                         \
    PROXY_CALL(called, pub, routine_);                                                                                 \
    struct queue *qp = (struct queue *)called;                                                                         \
    NDK_QP *real = qp ? qp->p.real : NULL;                                                                             \
    struct post post = {                                                                                               \
        .routine = (routine_), .context = context, .by = call_.by, .sgl = (sgl_), .sges = (sges_), .flags = (flags_)   \
    }

static NTSTATUS verify_qp_send(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG sges, ULONG flags)
{
    QP_POST("NdkSend", sgl, sges, flags);

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    post.is_source = post.is_send = true;
    tokens_check_post(called, "NdkSend", sgl, sges, flags, SGE_SOURCE);
    queue_begin_post(qp, QUEUE_INITIATE, &post);
    return queue_end_post(qp, QUEUE_INITIATE, &post, real->Dispatch->NdkSend(real, post.passed, sgl, sges, flags));
}

static NTSTATUS verify_qp_send_and_invalidate(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG sges, ULONG flags,
                                              UINT32 token)
{
    QP_POST("NdkSendAndInvalidate", sgl, sges, flags);

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    post.is_source = post.is_send = true;
    tokens_check_post(called, "NdkSendAndInvalidate", sgl, sges, flags, SGE_SOURCE);
    argument_check_version(called, "NdkSendAndInvalidate", ARGUMENT_NDKPI_1_2, "the entry");
    queue_begin_post(qp, QUEUE_INITIATE, &post);
    return queue_end_post(qp, QUEUE_INITIATE, &post,
                          real->Dispatch->NdkSendAndInvalidate(real, post.passed, sgl, sges, flags, token));
}

static NTSTATUS verify_qp_receive(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG sges)
{
    QP_POST("NdkReceive", sgl, sges, 0);

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    tokens_check_post(called, "NdkReceive", sgl, sges, 0, SGE_RECEIVE);
    queue_begin_post(qp, QUEUE_RECEIVE, &post);
    return queue_end_post(qp, QUEUE_RECEIVE, &post, real->Dispatch->NdkReceive(real, post.passed, sgl, sges));
}

static NTSTATUS verify_qp_read(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG sges, UINT64 address, UINT32 token,
                               ULONG flags)
{
    QP_POST("NdkRead", sgl, sges, flags);

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    tokens_check_read(called, sgl, sges, token, flags);
    queue_begin_post(qp, QUEUE_INITIATE, &post);
    return queue_end_post(qp, QUEUE_INITIATE, &post,
                          real->Dispatch->NdkRead(real, post.passed, sgl, sges, address, token, flags));
}

static NTSTATUS verify_qp_write(NDK_QP *pub, PVOID context, CONST NDK_SGE *sgl, ULONG sges, UINT64 address,
                                UINT32 token, ULONG flags)
{
    QP_POST("NdkWrite", sgl, sges, flags);

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    post.is_source = true;
    tokens_check_write(called, sgl, sges, token, flags);
    queue_begin_post(qp, QUEUE_INITIATE, &post);
    return queue_end_post(qp, QUEUE_INITIATE, &post,
                          real->Dispatch->NdkWrite(real, post.passed, sgl, sges, address, token, flags));
}

static NTSTATUS verify_qp_bind(NDK_QP *pub, PVOID context, NDK_MR *mr, NDK_MW *mw, PVOID address, SIZE_T length,
                               ULONG flags)
{
    QP_POST("NdkBind", NULL, 0, flags);
    NDK_MR *real_mr = PROXY_REAL(mr, "NdkBind");
    NDK_MW *real_mw = PROXY_REAL(mw, "NdkBind");

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    region_begin_bind(proxy_of(mr, real_mr), proxy_of(mw, real_mw), address, length, flags);
    queue_begin_post(qp, QUEUE_INITIATE, &post);
    return queue_end_post(qp, QUEUE_INITIATE, &post,
                          real->Dispatch->NdkBind(real, post.passed, real_mr, real_mw, address, length, flags));
}

static NTSTATUS verify_qp_fast_register(NDK_QP *pub, PVOID context, NDK_MR *mr, ULONG page_count,
                                        CONST NDK_LOGICAL_ADDRESS *pages, ULONG fbo, SIZE_T length, PVOID base,
                                        ULONG flags)
{
    QP_POST("NdkFastRegister", NULL, 0, flags);
    NDK_MR *region = PROXY_REAL(mr, "NdkFastRegister");
    struct fast_registration f = { .region = (struct region *)proxy_of(mr, region),
                                   .page_count = page_count,
                                   .pages = pages,
                                   .fbo = fbo,
                                   .flags = flags,
                                   .length = length,
                                   .base = (uintptr_t)base };
    NTSTATUS status;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    /*
     * `pages` is read only if page_count does not exceed the region's limit. Otherwise the provider refuses the
     * request, and `pages` may have fewer than page_count entries.
     */
    if (region && pages && page_count <= atomic_load(&((struct proxy *)mr)->fast_pages)) {
        post.pages = pages;
        post.page_count = page_count;
    }
    region_begin_fast_register(&f, called);
    queue_begin_post(qp, QUEUE_INITIATE, &post);
    status = real->Dispatch->NdkFastRegister(real, post.passed, region, page_count, pages, fbo, length, base, flags);
    region_end_fast_register(&f, called, post.place, status);
    return queue_end_post(qp, QUEUE_INITIATE, &post, status);
}

static NTSTATUS verify_qp_invalidate(NDK_QP *pub, PVOID context, NDK_OBJECT_HEADER *mr_or_mw, ULONG flags)
{
    QP_POST("NdkInvalidate", NULL, 0, flags);
    NDK_OBJECT_HEADER *object = PROXY_REAL(mr_or_mw, "NdkInvalidate");
    struct proxy *region = proxy_of(mr_or_mw, object);
    NTSTATUS status;
    uint64_t number;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    number = region_begin_invalidate(region);
    queue_begin_post(qp, QUEUE_INITIATE, &post);
    status = real->Dispatch->NdkInvalidate(real, post.passed, object, flags);
    region_end_invalidate(region, called, post.place, number, status);
    return queue_end_post(qp, QUEUE_INITIATE, &post, status);
}

static const NDK_QP_DISPATCH qp_dispatch = {
    .NdkCloseQp = proxy_close_qp,
    .NdkQueryExtension = proxy_query_extension,
    .NdkFlush = verify_qp_flush,
    .NdkSend = verify_qp_send,
    .NdkReceive = verify_qp_receive,
    .NdkBind = verify_qp_bind,
    .NdkFastRegister = verify_qp_fast_register,
    .NdkInvalidate = verify_qp_invalidate,
    .NdkRead = verify_qp_read,
    .NdkWrite = verify_qp_write,
    .NdkSendAndInvalidate = verify_qp_send_and_invalidate,
};

static struct queue *qp_create(struct proxy *parent, const char *routine, const struct queue_size *sizes,
                               void *qp_context, NDK_FN_CREATE_COMPLETION done, void *context)
{
    struct queue *qp = queue_create(NdkObjectTypeQp, &qp_dispatch, sizes, parent);

    if (!qp)
        return NULL;
    qp->p.context = qp_context;
    proxy_begin_create(&qp->p, routine, done, context);
    return qp;
}

NTSTATUS verify_create_qp(NDK_PD *pub, NDK_CQ *receive_cq, NDK_CQ *initiator_cq, PVOID qp_context, ULONG receive_depth,
                          ULONG initiator_depth, ULONG receive_sges, ULONG initiator_sges, ULONG inline_size,
                          NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_QP **out)
{
    PROXY_CALL(parent, pub, "NdkCreateQp");
    NDK_PD *real = parent ? parent->real : NULL;
    NDK_CQ *real_receive = PROXY_REAL(receive_cq, "NdkCreateQp");
    NDK_CQ *real_initiator = PROXY_REAL(initiator_cq, "NdkCreateQp");
    const struct queue_size sizes[QUEUE_USES] = {
        [QUEUE_RECEIVE] = { receive_depth, receive_sges }, [QUEUE_INITIATE] = { initiator_depth, initiator_sges }
    };
    struct queue *qp;
    NDK_QP *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    limits_check_qp(parent, "NdkCreateQp", sizes, inline_size);
    qp = qp_create(parent, "NdkCreateQp", sizes, qp_context, done, context);
    if (!qp)
        return STATUS_INSUFFICIENT_RESOURCES;
    qp->inline_size = inline_size;
    if (real_receive)
        queue_add_pair((struct queue *)receive_cq, qp, QUEUE_RECEIVE);
    if (real_initiator)
        queue_add_pair((struct queue *)initiator_cq, qp, QUEUE_INITIATE);
    return proxy_end_create(&qp->p,
                            real->Dispatch->NdkCreateQp(real, real_receive, real_initiator, qp, receive_depth,
                                                        initiator_depth, receive_sges, initiator_sges, inline_size,
                                                        proxy_create_routine(&qp->p), qp, &made),
                            &made, out);
}

NTSTATUS verify_create_qp_with_srq(NDK_PD *pub, NDK_CQ *receive_cq, NDK_CQ *initiator_cq, NDK_SRQ *srq,
                                   PVOID qp_context, ULONG initiator_depth, ULONG initiator_sges, ULONG inline_size,
                                   NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_QP **out)
{
    PROXY_CALL(parent, pub, "NdkCreateQpWithSrq");
    NDK_PD *real = parent ? parent->real : NULL;
    NDK_CQ *real_receive = PROXY_REAL(receive_cq, "NdkCreateQpWithSrq");
    NDK_CQ *real_initiator = PROXY_REAL(initiator_cq, "NdkCreateQpWithSrq");
    NDK_SRQ *real_srq = PROXY_REAL(srq, "NdkCreateQpWithSrq");
    const struct queue_size sizes[QUEUE_USES] = { [QUEUE_INITIATE] = { initiator_depth, initiator_sges } };
    struct queue *qp;
    NDK_QP *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    limits_check_qp(parent, "NdkCreateQpWithSrq", sizes, inline_size);
    qp = qp_create(parent, "NdkCreateQpWithSrq", sizes, qp_context, done, context);
    if (!qp)
        return STATUS_INSUFFICIENT_RESOURCES;
    qp->inline_size = inline_size;
    if (real_srq) {
        qp->srq = (struct queue *)srq;
        proxy_ref(&qp->srq->p);
    }
    if (real_receive)
        queue_add_pair((struct queue *)receive_cq, qp, QUEUE_RECEIVE);
    if (real_initiator)
        queue_add_pair((struct queue *)initiator_cq, qp, QUEUE_INITIATE);
    return proxy_end_create(&qp->p,
                            real->Dispatch->NdkCreateQpWithSrq(real, real_receive, real_initiator, real_srq, qp,
                                                               initiator_depth, initiator_sges, inline_size,
                                                               proxy_create_routine(&qp->p), qp, &made),
                            &made, out);
}
