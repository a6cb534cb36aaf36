/* SPDX-License-Identifier: MIT */
/* Requests of a side, their results, and byte patterns: see kit.h. */
#include "contract/kit/kit.h"

#include <sched.h>
#include <string.h>

NDK_SGE kit_sge(const struct kit_side *s, size_t offset, ULONG len)
{
    NDK_SGE sge;

    memset(&sge, 0, sizeof sge);
    sge.VirtualAddress = s->memory + offset;
    sge.Length = len;
    sge.MemoryRegionToken = s->local_token;
    return sge;
}

NTSTATUS kit_post_receive(struct kit_side *s, uintptr_t context, size_t offset, ULONG len)
{
    NDK_SGE sge = kit_sge(s, offset, len);

    return s->qp->Dispatch->NdkReceive(s->qp, (PVOID)context, &sge, 1);
}

NTSTATUS kit_post_send(struct kit_side *s, uintptr_t context, size_t offset, ULONG len)
{
    NDK_SGE sge = kit_sge(s, offset, len);

    return s->qp->Dispatch->NdkSend(s->qp, (PVOID)context, &sge, 1, 0);
}

NTSTATUS kit_post_write(struct kit_side *s, uintptr_t context, size_t offset, ULONG len, const struct kit_side *to,
                        size_t to_offset)
{
    NDK_SGE sge = kit_sge(s, offset, len);

    return s->qp->Dispatch->NdkWrite(s->qp, (PVOID)context, &sge, 1, (uintptr_t)(to->memory + to_offset),
                                     to->remote_token, 0);
}

NTSTATUS kit_post_read(struct kit_side *s, uintptr_t context, size_t offset, ULONG len, const struct kit_side *from,
                       size_t from_offset)
{
    NDK_SGE sge = kit_sge(s, offset, len);

    return s->qp->Dispatch->NdkRead(s->qp, (PVOID)context, &sge, 1, (uintptr_t)(from->memory + from_offset),
                                    from->remote_token, 0);
}

void kit_results(struct kit_side *s, NDK_RESULT_EX *results, ULONG count)
{
    for (ULONG have = 0; have < count;) {
        ULONG got = s->cq->Dispatch->NdkGetCqResultsEx(s->cq, results + have, count - have);

        have += got;
        if (!got)
            sched_yield();
    }
}

NDK_RESULT_EX kit_result(struct kit_side *s)
{
    NDK_RESULT_EX result;

    kit_results(s, &result, 1);
    return result;
}

void kit_exchange(struct kit_side *from, struct kit_side *to)
{
    enum { BYTES = 1000, FROM = 0, TO = 4096 };
    NDK_RESULT_EX sent, received;

    kit_pattern(from->memory + FROM, BYTES, 77);
    memset(to->memory + TO, 0, BYTES);
    CHECK_STATUS(kit_post_receive(to, 2, TO, BYTES), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_send(from, 1, FROM, BYTES), STATUS_SUCCESS);
    sent = kit_result(from);
    received = kit_result(to);
    CHECK_STATUS(sent.Status, STATUS_SUCCESS);
    CHECK_STATUS(received.Status, STATUS_SUCCESS);
    CHECK_EQ(received.BytesTransferred, BYTES);
    CHECK(kit_pattern_is(to->memory + TO, BYTES, 77));
}

void kit_pattern(uint8_t *at, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++)
        at[i] = (uint8_t)(i * 31 + (i >> 8) * 7 + seed);
}

bool kit_pattern_is(const uint8_t *at, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++)
        if (at[i] != (uint8_t)(i * 31 + (i >> 8) * 7 + seed))
            return false;
    return true;
}
