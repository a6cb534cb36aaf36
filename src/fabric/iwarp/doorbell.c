/* SPDX-License-Identifier: MIT */
/*
 * Decides by a table of rules whether a posted request waits for a poll. doorbell_may_wait applies the rules, and
 * docs/states.md lists them. The invariant: the condition of each rule is cheap and changes nothing.
 * doorbell_is_overdue counts waiting requests and may read the clock, so it is called only if a rule lets the request
 * wait.
 */
#include "fabric/iwarp/doorbell.h"

#include "fabric/iwarp/qp.h"

#include <assert.h>

enum {
    MIN_UNREAD = 2,           /* a consumer with this many unread completions is busy and will poll again */
    MAX_POLLS = 4,            /* while requests wait, at least one of this many polls of a CQ drives the shard */
    MIN_WINDOW = 32,          /* if one transmission had this many requests, the consumer is expected to post more */
    MAX_UNSENT = 64,          /* if this many requests are unsent, they are transmitted at once */
    MAX_WAIT_NS = 20000,      /* after this time a waiting request is overdue; a few system calls take as long */
    MAX_REQUEST_BYTES = 4096, /* a larger request is worth a system call of its own */
    /* Maximum sum of the waiting reads' lengths; more bytes are worth a system call of their own. */
    MAX_READ_BYTES = 32768,
};

enum verdict { TRANSMIT, WAIT };

/*
 * RULE(condition, verdict, format of the text, ...): the first rule whose condition holds decides. If none holds, the
 * request is transmitted.
 */
#define DOORBELL_RULES(RULE)                                                                                           \
    RULE(is_local, TRANSMIT, "It is a fast registration, a bind or an invalidation, which send nothing.")              \
    RULE(is_full, TRANSMIT, "%d requests wait.", MAX_UNSENT)                                                           \
    RULE(is_remote, TRANSMIT, "A poll of the initiator CQ does not drive the queue pair's shard.")                     \
    RULE(is_long, TRANSMIT, "It has more than %d KiB.", MAX_REQUEST_BYTES / 1024)                                      \
    RULE(has_unread, WAIT, "The initiator CQ has two or more completions that the consumer has not read.")             \
    RULE(fills_window, WAIT, "The last transmission had %d or more requests; since then, no poll found the CQ empty.", \
         MIN_WINDOW)                                                                                                   \
    RULE(follows_reads, WAIT,                                                                                          \
         "It is a read, more requests are in flight behind a read than wait, and the reads that wait ask for at most " \
         "%d KiB.",                                                                                                    \
         MAX_READ_BYTES / 1024)
static_assert(MIN_UNREAD == 2, "the text of has_unread says two");

static uint32_t doorbell_unsent(struct fabric_qp *qp)
{
    return iw_qp_posted(qp->iw) - atomic_load_explicit(&qp->doorbell.posted, memory_order_relaxed);
}

static bool doorbell_is_local(struct fabric_qp *qp, const struct doorbell_post *post)
{
    (void)qp;
    return post->op >= RDMA_OP_FAST_REGISTER;
}

static bool doorbell_is_full(struct fabric_qp *qp, const struct doorbell_post *post)
{
    (void)post;
    return doorbell_unsent(qp) >= MAX_UNSENT;
}

static bool doorbell_is_remote(struct fabric_qp *qp, const struct doorbell_post *post)
{
    (void)post;
    return !qp->cq_drives_home;
}

static bool doorbell_is_long(struct fabric_qp *qp, const struct doorbell_post *post)
{
    (void)qp;
    return post->bytes > MAX_REQUEST_BYTES;
}

static bool doorbell_has_unread(struct fabric_qp *qp, const struct doorbell_post *post)
{
    (void)post;
    return iwarp_cq_unread(qp->initiator_cq) >= MIN_UNREAD;
}

static bool doorbell_fills_window(struct fabric_qp *qp, const struct doorbell_post *post)
{
    unsigned polls = atomic_load_explicit(&qp->doorbell.window_polls, memory_order_relaxed);

    (void)post;
    return polls == iwarp_cq_empty_polls(qp->initiator_cq) + 1;
}

/*
 * For a read, returns true if more requests are in flight than waiting, and the waiting reads request at most
 * MAX_READ_BYTES. A request that is not a read completes as soon as TCP has taken it, unless it is behind a read. So
 * the requests in flight are reads and requests behind reads. The consumer will soon poll for their completions, and
 * that poll can transmit the waiting reads.
 */
static bool doorbell_follows_reads(struct fabric_qp *qp, const struct doorbell_post *post)
{
    uint64_t before = atomic_load_explicit(&qp->doorbell.read_bytes, memory_order_relaxed);
    int32_t unsent, sent;

    if (post->op != RDMA_OP_READ)
        return false;
    unsent = (int32_t)doorbell_unsent(qp);
    sent = (int32_t)iw_qp_outstanding(qp->iw) - unsent;
    return sent > unsent && iw_qp_read_bytes(qp->iw) - before <= MAX_READ_BYTES;
}

/*
 * Counts a waiting request. Returns true if the oldest one has waited for MAX_WAIT_NS. Reads the clock only for the
 * first, second, fourth, eighth ... waiting request, and returns false for the others.
 */
static bool doorbell_is_overdue(struct fabric_qp *qp)
{
    struct doorbell *d = &qp->doorbell;
    unsigned n = atomic_load_explicit(&d->n_waiting, memory_order_relaxed) + 1;
    uint64_t now;

    atomic_store_explicit(&d->n_waiting, n, memory_order_relaxed);
    if (n & (n - 1))
        return false; /* reading the clock for each request would add a tenth to the time of a post */
    now = shard_now(qp->home->shard);
    if (n == 1)
        atomic_store_explicit(&d->waiting_since, now, memory_order_relaxed);
    return now - atomic_load_explicit(&d->waiting_since, memory_order_relaxed) >= MAX_WAIT_NS;
}

bool doorbell_may_wait(struct fabric_qp *qp, const struct doorbell_post *post)
{
#define RULE(condition, verdict, ...)                                                                                  \
    if (doorbell_##condition(qp, post))                                                                                \
        return (verdict) == WAIT && !doorbell_is_overdue(qp);
    DOORBELL_RULES(RULE)
#undef RULE
    return false;
}

/*
 * Leaves the transmission to a poll of the consumer. If a consumer has the polling lease (engine/shard.h), the
 * transmission waits for one of the next MAX_POLLS polls. A poll of either CQ counts. If no consumer has the lease, the
 * transmission does not wait. The next poll then still drives the shard, because only a poll that drives the shard can
 * begin a lease.
 */
void doorbell_defer_to_poll(struct fabric_qp *qp)
{
    unsigned polls = shard_post_lazy(qp->home->shard, &qp->transmit) ? MAX_POLLS : 1;

    iwarp_cq_defer_to_poll(qp->initiator_cq, polls);
    iwarp_cq_defer_to_poll(qp->receive_cq, polls);
}

void doorbell_note_transmission(struct fabric_qp *qp)
{
    unsigned polls = doorbell_unsent(qp) >= MIN_WINDOW ? iwarp_cq_empty_polls(qp->initiator_cq) + 1 : 0;
    struct doorbell *d = &qp->doorbell;

    atomic_store_explicit(&d->window_polls, polls, memory_order_relaxed);
    atomic_store_explicit(&d->posted, iw_qp_posted(qp->iw), memory_order_relaxed);
    atomic_store_explicit(&d->read_bytes, iw_qp_read_bytes(qp->iw), memory_order_relaxed);
    atomic_store_explicit(&d->n_waiting, 0, memory_order_relaxed);
}

static void doorbell_print_verdict(FILE *out, enum verdict verdict)
{
    if (verdict == WAIT)
        fprintf(out, " | waits, unless one has waited for %d us |\n", MAX_WAIT_NS / 1000);
    else
        fputs(" | is transmitted |\n", out);
}

void doorbell_print_table(FILE *out)
{
    fputs("| the first of these that holds | the request |\n|---|---|\n", out);
#define RULE(condition, verdict, ...)                                                                                  \
    fputs("| ", out);                                                                                                  \
    fprintf(out, __VA_ARGS__);                                                                                         \
    doorbell_print_verdict(out, verdict);
    DOORBELL_RULES(RULE)
#undef RULE
    fputs("| none", out);
    doorbell_print_verdict(out, TRANSMIT);
}
