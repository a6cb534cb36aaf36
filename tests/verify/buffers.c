/* SPDX-License-Identifier: MIT */
/* Rules about the buffers of posted requests in a plain program: each breach, and what is near it but legal. */
#include "contract/kit/data.h"
#include "verify/breaches.h"

enum { BYTES = 64, SGES = 6, RECEIVES = 16 };

static struct kit_pair pair;

/* Connects the pair. The active side's queue pair has SGES SGEs and inline data, and the passive side has receives. */
static void open_pair(void)
{
    const struct data_qp wanted = { .receives = KIT_DEPTH,
                                    .initiators = KIT_DEPTH,
                                    .receive_sges = SGES,
                                    .initiator_sges = SGES,
                                    .inline_size = BYTES,
                                    .context = &pair.active };

    kit_pair_open_idle(&pair);
    CHECK_STATUS(kit_close(pair.active.qp), STATUS_SUCCESS);
    CHECK_STATUS(data_qp(&pair.active, &wanted, &pair.active.qp), STATUS_SUCCESS);
    kit_establish(&pair.active, &pair.passive, &pair.listener);
    for (int i = 0; i < RECEIVES; i++)
        CHECK_STATUS(kit_post_receive(&pair.passive, 1, 0, SGES * BYTES), STATUS_SUCCESS);
}

static NTSTATUS post(const NDK_SGE *sgl, ULONG sges, ULONG flags)
{
    return pair.active.qp->Dispatch->NdkSend(pair.active.qp, NULL, sgl, sges, flags);
}

/* ---- inline data ---- */

static int32_t irql;
static uint32_t state;
static const char *paged; /* the byte whose state is `state` */

static int32_t host_irql(void)
{
    return irql;
}

static uint32_t host_memory_state(const void *address)
{
    return address == paged ? state : ONDK_VERIFY_MEMORY_ALIVE;
}

static void send_inline(int32_t irql_of_call, uint32_t state_of_memory, const char *expected)
{
    NDK_SGE sge = kit_sge(&pair.active, 0, BYTES);

    irql = irql_of_call;
    state = state_of_memory;
    CHECK_STATUS(post(&sge, 1, NDK_OP_FLAG_INLINE), STATUS_SUCCESS);
    irql = 0;
    state = ONDK_VERIFY_MEMORY_ALIVE;
    CHECK_BREACHES(expected);
    CHECK_STATUS(kit_result(&pair.active).Status, STATUS_SUCCESS);
}

CASE(inline_paged, 0)
{
    const ondk_verify_host_t host = { .size = sizeof host, .irql = host_irql, .memory_state = host_memory_state };
    NDK_SGE sge;

    CHECK_STATUS(ondk_verify_set_host(&host), STATUS_SUCCESS);
    breaches_begin();
    open_pair();
    paged = (const char *)pair.active.memory + BYTES - 1;
    send_inline(2, ONDK_VERIFY_MEMORY_ALIVE | ONDK_VERIFY_MEMORY_PAGED, "inline-paged in NdkSend");
    paged = (const char *)pair.active.memory;
    send_inline(2, ONDK_VERIFY_MEMORY_ALIVE | ONDK_VERIFY_MEMORY_PAGED, "inline-paged in NdkSend");
    send_inline(2, ONDK_VERIFY_MEMORY_ALIVE, "");
    send_inline(1, ONDK_VERIFY_MEMORY_ALIVE | ONDK_VERIFY_MEMORY_PAGED, "");
    send_inline(ONDK_VERIFY_NO_IRQL, ONDK_VERIFY_MEMORY_ALIVE | ONDK_VERIFY_MEMORY_PAGED, "");
    sge = kit_sge(&pair.active, 0, BYTES);
    irql = 2;
    state = ONDK_VERIFY_MEMORY_ALIVE | ONDK_VERIFY_MEMORY_PAGED;
    CHECK_STATUS(post(&sge, 1, 0), STATUS_SUCCESS); /* not inline: the memory is that of a region */
    irql = 0;
    CHECK_STATUS(kit_result(&pair.active).Status, STATUS_SUCCESS);
    kit_pair_close(&pair);
    CHECK_BREACHES("");
}
