/* SPDX-License-Identifier: MIT */
/* The records of posted requests: which memory is in use, and until when. */
#include "contract/kit/kit.h"
#include "verify/breaches.h"
#include "verify/verify.h"

enum { BYTES = 64, APART = 4096, MANY = 6 };

static bool in_use(const struct kit_side *s, size_t offset)
{
    struct verify_use use;

    if (!verify_find_use(s->memory + offset, BYTES, &use))
        return false;
    return strcmp(use.rule->name, "buffer-freed-in-use") == 0; /* the memory is also that of a region */
}

static NTSTATUS send_silently(struct kit_side *s, size_t offset)
{
    NDK_SGE sge = kit_sge(s, offset, BYTES);

    return s->qp->Dispatch->NdkSend(s->qp, NULL, &sge, 1, NDK_OP_FLAG_SILENT_SUCCESS);
}

static void open_with_receives(struct kit_pair *p)
{
    breaches_begin();
    kit_pair_open(p);
    for (int i = 0; i < MANY; i++)
        CHECK_STATUS(kit_post_receive(&p->passive, 1, 0, BYTES), STATUS_SUCCESS);
}

/* A result retires the silent requests before it, and no request after it. */
CASE(silent_requests_end_with_a_later_result, 0)
{
    static struct kit_pair p;

    open_with_receives(&p);
    CHECK_STATUS(send_silently(&p.active, 1 * APART), STATUS_SUCCESS);
    CHECK_STATUS(send_silently(&p.active, 2 * APART), STATUS_SUCCESS);
    CHECK(in_use(&p.active, 1 * APART) && in_use(&p.active, 2 * APART) && !in_use(&p.active, 3 * APART));
    CHECK_STATUS(kit_post_send(&p.active, 7, 3 * APART, BYTES), STATUS_SUCCESS);
    CHECK_STATUS(send_silently(&p.active, 4 * APART), STATUS_SUCCESS);
    CHECK(in_use(&p.active, 3 * APART));
    NDK_RESULT_EX result = kit_result(&p.active);
    CHECK_EQ((uintptr_t)result.RequestContext, 7);
    for (size_t i = 1; i <= 3; i++)
        CHECK(!in_use(&p.active, i * APART));
    CHECK(in_use(&p.active, 4 * APART));
    kit_pair_disconnect(&p);
    CHECK(!in_use(&p.active, 4 * APART));
    kit_pair_close(&p);
    CHECK_BREACHES("");
}

/* A flush ends silent requests, too. */
CASE(silent_requests_end_with_a_flush, 0)
{
    static struct kit_pair p;

    open_with_receives(&p);
    CHECK_STATUS(send_silently(&p.active, APART), STATUS_SUCCESS);
    CHECK(in_use(&p.active, APART));
    p.active.qp->Dispatch->NdkFlush(p.active.qp);
    CHECK(!in_use(&p.active, APART));
    kit_pair_close(&p);
    CHECK_BREACHES("");
}
