/* SPDX-License-Identifier: MIT */
/* Requests of all kinds, for cases whose rule is the same for each kind: see fast.h. */
#include "contract/kit/fast.h"

enum { BYTES = 10, FAR_TOKEN = 0x765430 };

static bool is_consumer(const struct kit_side *s)
{
    return s->adapter != NULL;
}

void fast_kinds_open(struct fast_kinds *k, struct kit_side *near, struct kit_side *far)
{
    memset(k, 0, sizeof *k);
    k->near = near;
    k->far = far;
    fast_region_open(&k->registered, near, 2, FAST_ALL);
    fast_region_open(&k->invalidated, near, 2, FAST_ALL);
    k->mw = fast_mw(near->pd);
    if (is_consumer(far))
        fast_region_open(&k->far_region, far, 2, FAST_ALL);
    else
        k->far_region.token = FAR_TOKEN;
}

void fast_kinds_close(struct fast_kinds *k)
{
    CHECK_STATUS(kit_close(k->mw), STATUS_SUCCESS);
    fast_region_close(&k->registered);
    fast_region_close(&k->invalidated);
    if (is_consumer(k->far))
        fast_region_close(&k->far_region);
}

void fast_kinds_prepare(struct fast_kinds *k, enum fast_kind kind)
{
    if (k->stale) {
        CHECK_STATUS(fast_region_post(&k->invalidated, k->near, 1, FAST_ALL), STATUS_SUCCESS);
        CHECK_EQ(fast_check_result(k->near, NdkOperationTypeFastRegister), 1);
        k->stale = false;
    }
    if (k->far_stale && is_consumer(k->far)) {
        CHECK_STATUS(fast_region_post(&k->far_region, k->far, 1, FAST_ALL), STATUS_SUCCESS);
        CHECK_EQ(fast_check_result(k->far, NdkOperationTypeFastRegister), 1);
        k->far_stale = false;
    }
    if (is_consumer(k->far) && (kind == FAST_SEND || kind == FAST_SEND_INVALIDATE))
        CHECK_STATUS(kit_post_receive(k->far, kind, 1000, BYTES), STATUS_SUCCESS);
}

static uint64_t far_address(const struct fast_kinds *k)
{
    return is_consumer(k->far) ? (uintptr_t)k->far->memory + 2000 : 0x10000;
}

static UINT32 far_token(const struct fast_kinds *k)
{
    return is_consumer(k->far) ? k->far->remote_token : FAR_TOKEN;
}

NTSTATUS fast_post(struct fast_kinds *k, enum fast_kind kind, uintptr_t context, ULONG flags)
{
    struct kit_side *s = k->near;
    NDK_SGE sge = kit_sge(s, 100, BYTES);

    switch (kind) {
    case FAST_SEND:
        return s->qp->Dispatch->NdkSend(s->qp, (PVOID)context, &sge, 1, flags);
    case FAST_SEND_INVALIDATE:
        k->far_stale = true;
        return s->qp->Dispatch->NdkSendAndInvalidate(s->qp, (PVOID)context, &sge, 1, flags, k->far_region.token);
    case FAST_WRITE:
        return s->qp->Dispatch->NdkWrite(s->qp, (PVOID)context, &sge, 1, far_address(k), far_token(k), flags);
    case FAST_READ:
        return s->qp->Dispatch->NdkRead(s->qp, (PVOID)context, &sge, 1, far_address(k), far_token(k), flags);
    case FAST_REGISTER:
        return fast_region_post(&k->registered, s, context, FAST_ALL | flags);
    case FAST_BIND:
        return fast_bind(s, context, s->mr, k->mw, s->memory + 100, BYTES, NDK_OP_FLAG_ALLOW_REMOTE_READ | flags);
    default:
        k->stale = true;
        return fast_invalidate(s, context, k->invalidated.mr, flags);
    }
}

void fast_post_bad(struct fast_kinds *k, enum fast_kind kind, ULONG flags)
{
    struct kit_side *s = k->near;
    NDK_SGE sge = kit_sge(s, KIT_MEMORY, BYTES);
    NTSTATUS status;

    switch (kind) {
    case FAST_SEND:
        status = s->qp->Dispatch->NdkSend(s->qp, NULL, &sge, 1, flags);
        break;
    case FAST_SEND_INVALIDATE:
        status = s->qp->Dispatch->NdkSendAndInvalidate(s->qp, NULL, &sge, 1, flags, k->far_region.token);
        break;
    case FAST_WRITE:
        status = s->qp->Dispatch->NdkWrite(s->qp, NULL, &sge, 1, far_address(k), far_token(k), flags);
        break;
    case FAST_READ:
        status = s->qp->Dispatch->NdkRead(s->qp, NULL, &sge, 1, far_address(k), far_token(k), flags);
        break;
    case FAST_REGISTER:
        status = fast_register(s, 0, k->registered.mr, k->registered.memory.lam->AdapterPageArray, 3, 0, BYTES,
                               k->registered.base, flags);
        break;
    case FAST_BIND:
        status = fast_bind(s, 0, s->mr, k->mw, s->memory - 1, BYTES, NDK_OP_FLAG_ALLOW_REMOTE_READ | flags);
        break;
    default:
        status = fast_invalidate(s, 0, k->invalidated.mr, flags | 1u << 30);
        break;
    }
    CHECK(status < 0);
}

NDK_OPERATION_TYPE fast_type(enum fast_kind kind)
{
    static const NDK_OPERATION_TYPE types[FAST_KINDS] = {
        NdkOperationTypeSend,         NdkOperationTypeSend, NdkOperationTypeWrite,      NdkOperationTypeRead,
        NdkOperationTypeFastRegister, NdkOperationTypeBind, NdkOperationTypeInvalidate,
    };

    return types[kind];
}
