/* SPDX-License-Identifier: MIT */
/* SRQ: receives that many queue pairs share: their order, and the notification when few are left. */
#include "contract/kit/sharing.h"

enum { SLOT = 4096 };

static void post(struct sharing *s, uintptr_t first, int count)
{
    for (int i = 0; i < count; i++)
        CHECK_STATUS(sharing_receive(s, first + i, (first + i) * SLOT, SLOT), STATUS_SUCCESS);
}

/* Sends a message, which must use the receive with this context. */
static void check_srq_message(struct sharing *s, int member, uintptr_t context)
{
    ULONG len = 100 + (ULONG)context;
    NDK_RESULT_EX r;

    kit_pattern(s->active.memory, len, (unsigned)context);
    r = sharing_message(s, member, 0, len);
    CHECK_STATUS(r.Status, STATUS_SUCCESS);
    CHECK_EQ(r.Type, NdkOperationTypeReceive);
    CHECK_EQ((uintptr_t)r.RequestContext, context);
    CHECK_EQ(r.BytesTransferred, len);
    CHECK(kit_pattern_is(s->passive.memory + context * SLOT, len, (unsigned)context));
}

static void check_low(struct sharing *s, int count)
{
    kit_wait_count(&s->low, count);
    CHECK_EQ(atomic_load(&s->low), count);
    CHECK_STATUS(s->low_status, STATUS_SUCCESS);
}

static void check_not_low(struct sharing *s, int count)
{
    kit_pause();
    CHECK_EQ(atomic_load(&s->low), count);
}

/* ---- order ---- */

static void in_arrival_order(bool own_queues)
{
    static struct sharing s;

    sharing_open(&s, &(struct sharing_config){ .depth = 16 });
    post(&s, 0, 8); /* before there is a queue pair */
    sharing_connect(&s, 4, own_queues);
    post(&s, 8, 8);
    CHECK(sharing_receive(&s, 99, 0, SLOT) != STATUS_SUCCESS); /* it is full */
    for (int i = 0; i < 100; i++) {
        check_srq_message(&s, (i * 7 + i / 5) % 4, i % 32);
        post(&s, (i + 16) % 32, 1);
    }
    sharing_close(&s);
}

/* covers: SRQ-01 */
CASE(srq_01_first_posted_first_used, KIT_FAMILIES)
{
    in_arrival_order(false);
    in_arrival_order(true);
}

/* covers: SRQ-01 */
CASE(srq_01_any_form_of_receive, KIT_FAMILIES)
{
    static struct sharing s;
    NDK_RESULT_EX r;

    sharing_open(&s, &(struct sharing_config){ .sges = 3 });
    sharing_connect(&s, 2, false);
    NDK_SGE sges[4] = { kit_sge(&s.passive, 0, 10), kit_sge(&s.passive, 1000, 0), kit_sge(&s.passive, 2000, 5000),
                        kit_sge(&s.passive, 9000, 1) };
    CHECK_STATUS(s.srq->Dispatch->NdkSrqReceive(s.srq, (PVOID)1, sges, 3), STATUS_SUCCESS);
    CHECK_STATUS(s.srq->Dispatch->NdkSrqReceive(s.srq, (PVOID)2, NULL, 0), STATUS_SUCCESS);
    CHECK_STATUS(s.srq->Dispatch->NdkSrqReceive(s.srq, (PVOID)3, sges, 4), STATUS_INVALID_PARAMETER);
    sges[0].MemoryRegionToken ^= 0x5a5a;
    CHECK(s.srq->Dispatch->NdkSrqReceive(s.srq, (PVOID)4, sges, 1) != STATUS_SUCCESS);
    post(&s, 5, 1);
    kit_pattern(s.active.memory, 4000, 1);
    r = sharing_message(&s, 0, 0, 4000);
    CHECK_EQ((uintptr_t)r.RequestContext, 1);
    CHECK_EQ(r.BytesTransferred, 4000);
    CHECK(memcmp(s.passive.memory, s.active.memory, 10) == 0);
    CHECK(memcmp(s.passive.memory + 2000, s.active.memory + 10, 3990) == 0);
    r = sharing_message(&s, 1, 0, 0);
    CHECK_EQ((uintptr_t)r.RequestContext, 2);
    CHECK_EQ(r.BytesTransferred, 0);
    check_srq_message(&s, 0, 5); /* no refused receive was queued before it */
    sharing_close(&s);
}

enum { BUSY = 6, ROUNDS = 60, LARGE = 100000, QUEUED = 2 * BUSY };

/* Sends the member's next message, which begins with the member's number and the message's number. */
static void send_next(struct sharing *s, int member, const int *sent)
{
    size_t at = (size_t)member * LARGE;
    uint32_t words[2] = { (uint32_t)member, (uint32_t)*sent };
    ULONG len = 8 + (ULONG)(*sent * 977 + member * 12345) % (LARGE - 8);

    kit_pattern(s->active.memory + at, len, (unsigned)(member * 100 + *sent));
    memcpy(s->active.memory + at, words, sizeof words);
    CHECK_STATUS(sharing_send(s, member, at, len), STATUS_SUCCESS);
}

static void check_arrived(struct sharing *s, int member, const NDK_RESULT_EX *r, int number)
{
    const uint8_t *at = s->passive.memory + (uintptr_t)r->RequestContext * LARGE;
    static uint8_t expected[LARGE];
    uint32_t words[2];

    CHECK_STATUS(r->Status, STATUS_SUCCESS);
    memcpy(words, at, sizeof words);
    CHECK_EQ(words[0], member);
    CHECK_EQ(words[1], number);
    kit_pattern(expected, r->BytesTransferred, (unsigned)(member * 100 + number));
    CHECK(memcmp(at + 8, expected + 8, r->BytesTransferred - 8) == 0);
}

/* The memory belongs to the sender again after its own completion, which may follow the receive's. */
static void await_sent(struct sharing *s, int member, int number, int completed[BUSY])
{
    while (completed[member] <= number) {
        NDK_RESULT_EX r = sharing_result(s->active.cq);

        CHECK_STATUS(r.Status, STATUS_SUCCESS);
        CHECK((uintptr_t)r.RequestContext < BUSY);
        completed[(uintptr_t)r.RequestContext]++;
    }
}

/*
 * All members send at the same time. Each receive is used once, by any queue pair, and each sender's messages arrive in
 * order.
 */
static void all_at_once(bool own_queues, uint32_t crc)
{
    static struct sharing s;
    struct kit_config config = kit_config();
    int sent[BUSY] = { 0 }, done[BUSY] = { 0 }, completed[BUSY] = { 0 }, left = BUSY * ROUNDS;
    bool queued[QUEUED];
    NDK_RESULT_EX r;

    config.crc = crc;
    kit_configure(&config);
    sharing_open(&s, &(struct sharing_config){ .depth = QUEUED });
    sharing_connect(&s, BUSY, own_queues);
    for (uintptr_t i = 0; i < QUEUED; i++) {
        CHECK_STATUS(sharing_receive(&s, i, i * LARGE, LARGE), STATUS_SUCCESS);
        queued[i] = true;
    }
    for (int i = 0; i < BUSY; i++)
        send_next(&s, i, &sent[i]);
    while (left > 0) {
        for (int i = 0; i < BUSY; i++) {
            if (s.member[i].cq->Dispatch->NdkGetCqResultsEx(s.member[i].cq, &r, 1) == 0)
                continue;
            int from = (int)((struct sharing_member *)r.QPContext - s.member);
            uintptr_t slot = (uintptr_t)r.RequestContext;

            CHECK(slot < QUEUED && queued[slot]);
            queued[slot] = false;
            check_arrived(&s, from, &r, done[from]);
            CHECK_STATUS(sharing_receive(&s, slot, slot * LARGE, LARGE), STATUS_SUCCESS);
            queued[slot] = true;
            await_sent(&s, from, done[from]++, completed);
            left--;
            if (++sent[from] < ROUNDS)
                send_next(&s, from, &sent[from]);
        }
    }
    sharing_close(&s);
}

/* covers: SRQ-01 */
CASE(srq_01_many_senders_at_once, KIT_FAMILIES)
{
    all_at_once(false, 1);
}

/* covers: SRQ-01 */
CASE(srq_01_over_queues_of_their_own, KIT_FAMILIES)
{
    all_at_once(true, 0);
}

/* ---- threshold ---- */

/* covers: SRQ-02 */
CASE(srq_02_once_below_the_threshold, KIT_FAMILIES)
{
    static struct sharing s;

    sharing_open(&s, &(struct sharing_config){ .threshold = 4 });
    sharing_connect(&s, 2, false);
    check_not_low(&s, 0); /* it has not fallen */
    post(&s, 0, 6);
    check_srq_message(&s, 0, 0);
    check_srq_message(&s, 1, 1);
    check_not_low(&s, 0); /* 4 are left */
    check_srq_message(&s, 0, 2);
    check_low(&s, 1);
    check_srq_message(&s, 1, 3);
    post(&s, 6, 4);
    check_srq_message(&s, 0, 4);
    check_srq_message(&s, 1, 5);
    check_srq_message(&s, 0, 6);
    check_not_low(&s, 1); /* not armed */
    sharing_close(&s);
}

/* covers: SRQ-02 */
CASE(srq_02_armed_again_by_modify, KIT_FAMILIES)
{
    static struct sharing s;

    sharing_open(&s, &(struct sharing_config){ .threshold = 0 });
    sharing_connect(&s, 1, false);
    post(&s, 0, 10);
    check_srq_message(&s, 0, 0);
    check_srq_message(&s, 0, 1);
    check_not_low(&s, 0);
    CHECK_STATUS(sharing_modify(&s, 0, 8), STATUS_SUCCESS);
    check_not_low(&s, 0); /* 8 is not below 8 */
    check_srq_message(&s, 0, 2);
    check_low(&s, 1);
    CHECK_STATUS(sharing_modify(&s, 0, 0), STATUS_SUCCESS);
    check_srq_message(&s, 0, 3);
    check_not_low(&s, 1); /* 0 arms nothing */
    CHECK_STATUS(sharing_modify(&s, 0, 7), STATUS_SUCCESS);
    check_low(&s, 2); /* 6 is below 8 */
    check_srq_message(&s, 0, 4);
    check_not_low(&s, 2);
    CHECK_STATUS(sharing_modify(&s, 0, 2), STATUS_SUCCESS);
    CHECK_STATUS(sharing_modify(&s, 0, 4), STATUS_SUCCESS); /* the latest one counts */
    check_srq_message(&s, 0, 5);
    check_not_low(&s, 2);
    check_srq_message(&s, 0, 6);
    check_low(&s, 3);
    sharing_close(&s);
}

static void fill_up(struct sharing *s)
{
    if (atomic_load(&s->low) < 5) {
        for (uintptr_t i = 0; i < 3; i++)
            CHECK_STATUS(sharing_receive(s, i, i * SLOT, SLOT), STATUS_SUCCESS);
        CHECK_STATUS(sharing_modify(s, 0, 2), STATUS_SUCCESS);
    }
}

/* Like a usual consumer, the notification posts receives and arms again. */
/* covers: SRQ-02 */
CASE(srq_02_refilled_in_the_notification, KIT_FAMILIES)
{
    static struct sharing s;

    sharing_open(&s, &(struct sharing_config){ .threshold = 2 });
    sharing_connect(&s, 1, false);
    s.inside_low = fill_up;
    for (uintptr_t i = 0; i < 3; i++)
        CHECK_STATUS(sharing_receive(&s, i, i * SLOT, SLOT), STATUS_SUCCESS);
    for (int round = 1; round <= 6; round++) {
        for (int i = 0; i < (round == 1 ? 2 : 3); i++) /* so many that one receive is left */
            CHECK_STATUS(sharing_message(&s, 0, 0, 8).Status, STATUS_SUCCESS);
        check_low(&s, round);
    }
    check_not_low(&s, 6);
    sharing_close(&s);
}

/* ---- modify ---- */

/* covers: SRQ-03 */
CASE(srq_03_depth_up_and_down, KIT_FAMILIES)
{
    static struct sharing s;
    ULONG most;

    sharing_open(&s, &(struct sharing_config){ .depth = 4 });
    most = data_info(s.passive.adapter).MaxSrqDepth;
    sharing_connect(&s, 2, false);
    post(&s, 0, 4);
    check_srq_message(&s, 0, 0);
    check_srq_message(&s, 1, 1);
    post(&s, 4, 2); /* so that the ring wraps */
    CHECK(sharing_receive(&s, 99, 0, SLOT) != STATUS_SUCCESS);
    CHECK_STATUS(sharing_modify(&s, 8, 0), STATUS_SUCCESS);
    post(&s, 6, 4);
    CHECK(sharing_receive(&s, 99, 0, SLOT) != STATUS_SUCCESS);
    CHECK_STATUS(sharing_modify(&s, 7, 0), STATUS_INVALID_PARAMETER); /* less than the queued receives */
    CHECK_STATUS(sharing_modify(&s, most + 1, 0), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(sharing_modify(&s, MAXULONG, 0), STATUS_INVALID_PARAMETER);
    for (uintptr_t i = 2; i < 7; i++)
        check_srq_message(&s, (int)i % 2, i);
    CHECK_STATUS(sharing_modify(&s, 3, 0), STATUS_SUCCESS); /* exactly those */
    CHECK(sharing_receive(&s, 99, 0, SLOT) != STATUS_SUCCESS);
    CHECK_STATUS(sharing_modify(&s, most, 0), STATUS_SUCCESS);
    post(&s, 10, 20);
    for (uintptr_t i = 7; i < 30; i++)
        check_srq_message(&s, (int)i % 2, i);
    sharing_close(&s);
}

/* covers: SRQ-03 */
CASE(srq_03_zeros_keep_what_is, KIT_FAMILIES)
{
    static struct sharing s;

    sharing_open(&s, &(struct sharing_config){ .depth = 6, .threshold = 3 });
    sharing_connect(&s, 1, false);
    post(&s, 0, 4);
    CHECK_STATUS(sharing_modify(&s, 0, 0), STATUS_SUCCESS);
    post(&s, 4, 2); /* the depth is unchanged */
    CHECK(sharing_receive(&s, 99, 0, SLOT) != STATUS_SUCCESS);
    for (uintptr_t i = 0; i < 2; i++)
        check_srq_message(&s, 0, i);
    CHECK_STATUS(sharing_modify(&s, 8, 0), STATUS_SUCCESS);
    check_srq_message(&s, 0, 2);
    check_not_low(&s, 0);
    check_srq_message(&s, 0, 3);
    check_low(&s, 1);                                       /* the notification is armed since the queue's creation */
    CHECK_STATUS(sharing_modify(&s, 0, 2), STATUS_SUCCESS); /* depth 0: the depth stays 8 */
    post(&s, 6, 6);
    CHECK(sharing_receive(&s, 99, 0, SLOT) != STATUS_SUCCESS);
    CHECK_STATUS(sharing_modify(&s, 3, 20), STATUS_INVALID_PARAMETER); /* refused without any effect */
    check_not_low(&s, 1);
    CHECK(sharing_receive(&s, 99, 0, SLOT) != STATUS_SUCCESS);
    sharing_close(&s);
}
