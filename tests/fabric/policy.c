/* SPDX-License-Identifier: MIT */
/*
 * Which requests of a polling consumer are sent at once, and which wait for others. The shards are manual, so that only
 * the test's own calls send. Wrappers of sendmsg and send count the system calls and their bytes.
 */
#include <errno.h>
#include <sys/socket.h>

#include "fabric/world.h"

enum { LEN = 64, POLLS = 8, MANY = 32, NS_PER_US = 1000, EARLY = 24 * 1024, MAX_CALLS = 8 };

ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __real_send(int fd, const void *bytes, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t len, int flags);

static struct {
    int count;
    ssize_t bytes[MAX_CALLS];
} calls;

static ssize_t note_call(ssize_t n)
{
    if (calls.count < MAX_CALLS)
        calls.bytes[calls.count] = n;
    calls.count++;
    return n;
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    return note_call(__real_sendmsg(fd, message, flags));
}

ssize_t __wrap_send(int fd, const void *bytes, size_t len, int flags)
{
    return note_call(__real_send(fd, bytes, len, flags));
}

static uint64_t clock_ns = 1;

static void open_connected(struct world *w)
{
    world_defaults(w);
    world_open(w, AF_INET);
    world_connect(w);
}

static void close_connected(struct world *w)
{
    world_disconnect(w);
    world_close(w);
}

static uint64_t sent(struct world *w)
{
    struct fabric_counters now;

    w->a->ops->counters(w->a, &now);
    return now.out_frames;
}

static void poll_for_long(struct world *w)
{
    for (int i = 0; i < POLLS; i++)
        expect_no_completion(&w->sa);
}

static void writes(struct world *w, int count, unsigned flags, uint32_t len)
{
    for (int i = 0; i < count; i++)
        post(&w->sa, RDMA_OP_WRITE, flags, NULL, 0, len, &w->sb, 0);
}

/* Returns how many FPDUs were sent inside the posts. */
static int count_sent(struct world *w, int count)
{
    uint64_t before = sent(w);

    writes(w, count, 0, LEN);
    return (int)(sent(w) - before);
}

static int poll(struct world *w, int most)
{
    struct rdma_completion c[DEPTH];

    return w->a->ops->cq_poll(w->sa.cq, c, most);
}

/* Two requests have been sent, and their completions are not polled. The clock does not advance. */
static void fall_behind(struct world *w)
{
    poll_for_long(w);
    CHECK(count_sent(w, 2) == 2);
}

/* Many requests are sent in one call, and one poll returns all their completions. */
static void fill_window(struct world *w)
{
    uint64_t before = sent(w);

    poll_for_long(w);
    writes(w, MANY - 1, RDMA_FLAG_DEFER, LEN);
    CHECK(sent(w) == before);
    CHECK(count_sent(w, 1) == MANY);
    CHECK(poll(w, DEPTH) == MANY);
}

static void who_does_not_poll(void)
{
    struct world w;

    open_connected(&w);
    for (int i = 1; i <= 8; i++)
        CHECK(count_sent(&w, 1) == 1);
    CHECK(poll(&w, DEPTH) == 8);
    close_connected(&w);
}

static void lonely(void)
{
    struct world w;

    open_connected(&w);
    poll_for_long(&w);
    for (int i = 0; i < 8; i++) {
        CHECK(count_sent(&w, 1) == 1);
        CHECK(poll(&w, DEPTH) == 1); /* all completions are polled, so the next request is alone again */
    }
    close_connected(&w);
}

static void behind(void)
{
    struct world w;
    uint64_t before;

    open_connected(&w);
    fall_behind(&w);
    before = sent(&w);
    CHECK(count_sent(&w, 3) == 0);
    CHECK(poll(&w, DEPTH) == 2); /* finds completions, so it sends nothing */
    CHECK(sent(&w) == before);
    CHECK(count_sent(&w, 1) == 4); /* all completions are polled */
    CHECK(poll(&w, DEPTH) == 4);
    close_connected(&w);
}

static void filling(void)
{
    struct world w;

    open_connected(&w);
    fill_window(&w);
    CHECK(count_sent(&w, 8) == 0);
    CHECK(poll(&w, DEPTH) == 8);   /* finds none, sends, and then finds the new completions */
    CHECK(count_sent(&w, 1) == 1); /* eight requests in one call are not many */
    CHECK(poll(&w, DEPTH) == 1);
    fill_window(&w);
    CHECK(count_sent(&w, MANY) == 0); /* MANY are */
    CHECK(poll(&w, DEPTH) == MANY);
    CHECK(count_sent(&w, 1) == 0);
    CHECK(poll(&w, DEPTH) == 1);
    fill_window(&w);
    expect_no_completion(&w.sa);
    CHECK(count_sent(&w, 1) == 1);
    CHECK(poll(&w, DEPTH) == 1);
    close_connected(&w);
}

static int count_sent_reads(struct world *w, int count, uint32_t len)
{
    uint64_t before = sent(w);

    for (int i = 0; i < count; i++)
        post(&w->sa, RDMA_OP_READ, 0, NULL, 0, len, &w->sb, 0);
    return (int)(sent(w) - before);
}

static void expect_reads(struct world *w, int count)
{
    while (count-- > 0)
        expect_completion(&w->sa, RDMA_OP_READ, NULL, 0);
}

/* The next read may wait as long as more reads are in flight than wait. */
static void awaiting_reads(void)
{
    struct world w;

    open_connected(&w);
    poll_for_long(&w);
    CHECK(count_sent_reads(&w, 1, LEN) == 1);
    CHECK(count_sent_reads(&w, 1, LEN) == 1);
    CHECK(count_sent_reads(&w, 1, LEN) == 0);
    CHECK(count_sent_reads(&w, 1, LEN) == 2);
    CHECK(count_sent_reads(&w, 3, LEN) == 0);
    CHECK(count_sent_reads(&w, 1, LEN) == 4);
    CHECK(count_sent_reads(&w, 7, LEN) == 0);
    CHECK(count_sent(&w, 1) == 8); /* another request does not wait for reads */
    expect_reads(&w, 15);
    CHECK(poll(&w, DEPTH) == 1);
    CHECK(count_sent_reads(&w, 1, LEN) == 1); /* all completions are polled */
    expect_reads(&w, 1);
    close_connected(&w);
}

static void looking_for_reads(void)
{
    struct world w;
    uint64_t before;

    open_connected(&w);
    poll_for_long(&w);
    CHECK(count_sent_reads(&w, 2, LEN) == 2);
    before = sent(&w);
    CHECK(count_sent_reads(&w, 1, LEN) == 0);
    expect_no_completion(&w.sa); /* an empty poll sends it */
    CHECK(sent(&w) == before + 1);
    expect_reads(&w, 3);
    close_connected(&w);
}

/* All but the last are deferred. */
static int count_sent_burst(struct world *w, int count)
{
    uint64_t before = sent(w);

    for (int i = 1; i < count; i++)
        post(&w->sa, RDMA_OP_READ, RDMA_FLAG_DEFER, NULL, 0, LEN, &w->sb, 0);
    CHECK(sent(w) == before);
    return count_sent_reads(w, 1, LEN);
}

static void bursts_awaiting_reads(void)
{
    struct world w;
    uint64_t before;

    open_connected(&w);
    poll_for_long(&w);
    CHECK(count_sent_burst(&w, 8) == 8);
    CHECK(count_sent_burst(&w, 3) == 0);
    clock_ns += 30 * NS_PER_US;
    CHECK(count_sent_burst(&w, 2) == 5); /* the batch took long */
    before = sent(&w);
    writes(&w, 3, RDMA_FLAG_DEFER, LEN);
    CHECK(count_sent_burst(&w, 2) == 0); /* the deferred requests before it wait too */
    expect_no_completion(&w.sa);
    CHECK(sent(&w) == before + 5);
    expect_reads(&w, 13);
    for (int i = 0; i < 3; i++)
        expect_completion(&w.sa, RDMA_OP_WRITE, NULL, 0);
    expect_reads(&w, 2);
    close_connected(&w);
}

static void note(void *owner, bool overflow)
{
    (void)owner;
    (void)overflow;
}

static void set_closed(void *closed)
{
    atomic_store((atomic_bool *)closed, true);
}

struct queues {
    struct side before; /* the side of the world */
    struct fabric_cq *receive, *initiator;
    atomic_bool closed[3];
};

/* Connects a queue pair with two completion queues, whose consumer has a lease. */
static void open_queues(struct world *w, struct queues *q, int receive, int initiator)
{
    struct fabric_cq_config cq = { .depth = DEPTH, .affinity = receive, .notify = note, .owner = &q->closed[0] };
    struct fabric_qp_config config = { .receive_depth = DEPTH,
                                       .initiator_depth = DEPTH,
                                       .receive_sges = 4,
                                       .initiator_sges = 4,
                                       .inline_size = 256,
                                       .domain = &w->sa,
                                       .qp_context = &w->sa };
    struct rdma_completion c;
    const struct fabric_ops *ops;

    world_defaults(w);
    w->config_a.shards = 2;
    world_open(w, AF_INET);
    ops = w->a->ops;
    q->before = w->sa;
    for (int i = 0; i < 3; i++)
        atomic_init(&q->closed[i], false);
    CHECK(ops->cq_create(w->a, &cq, &q->receive) == 0);
    cq.owner = &q->closed[1];
    cq.affinity = initiator;
    CHECK(ops->cq_create(w->a, &cq, &q->initiator) == 0);
    config.receive_cq = q->receive;
    config.initiator_cq = q->initiator;
    CHECK(ops->qp_create(w->a, &config, &w->sa.qp) == 0);
    w->sa.cq = q->initiator;
    world_connect(w);
    for (int i = 0; i < POLLS; i++)
        CHECK(ops->cq_poll(q->receive, &c, 1) == 0);
}

static void close_queues(struct world *w, struct queues *q)
{
    const struct fabric_ops *ops = w->a->ops;

    world_disconnect(w);
    ops->qp_close(w->sa.qp, set_closed, &q->closed[2]);
    AWAIT(atomic_load(&q->closed[2]));
    ops->cq_close(q->receive, set_closed);
    ops->cq_close(q->initiator, set_closed);
    AWAIT(atomic_load(&q->closed[0]) && atomic_load(&q->closed[1]));
    w->sa.qp = q->before.qp;
    w->sa.cq = q->before.cq;
    world_close(w);
}

/* The queue pair is on the shard of its receive CQ, which polling the initiator CQ does not run. */
static void queues_on_two_shards(void)
{
    struct queues q;
    struct world w;

    open_queues(&w, &q, 0, 1);
    for (int i = 0; i < 5; i++)
        CHECK(count_sent_reads(&w, 1, LEN) == 1);
    expect_reads(&w, 5);
    CHECK(count_sent(&w, 2) == 2);
    CHECK(count_sent(&w, 1) == 1); /* their completions are not polled */
    CHECK(poll(&w, DEPTH) == 3);
    writes(&w, MANY - 1, RDMA_FLAG_DEFER, LEN);
    CHECK(count_sent(&w, 1) == MANY);
    CHECK(poll(&w, DEPTH) == MANY);
    CHECK(count_sent(&w, 1) == 1); /* it fills its window */
    CHECK(poll(&w, DEPTH) == 1);
    close_queues(&w, &q);
}

static void queues_on_one_shard(void)
{
    struct queues q;
    struct world w;
    uint64_t before;

    open_queues(&w, &q, -1, -1);
    CHECK(count_sent_reads(&w, 2, LEN) == 2);
    before = sent(&w);
    CHECK(count_sent_reads(&w, 1, LEN) == 0);
    expect_no_completion(&w.sa); /* polling the initiator CQ alone sends it */
    CHECK(sent(&w) == before + 1);
    expect_reads(&w, 3);
    close_queues(&w, &q);
}

/*
 * Polling a CQ without a home runs no shard, and arming it ends no lease. When a queue pair gives it a home, that
 * shard's thread must poll the sockets for it.
 */
static void arming_before_the_queue_pair(void)
{
    struct fabric_qp_config config = {
        .receive_depth = DEPTH, .initiator_depth = DEPTH, .receive_sges = 1, .initiator_sges = 1
    };
    atomic_bool closed[4] = { false, false, false, false };
    struct fabric_cq_config cq = { .depth = DEPTH, .affinity = -1, .notify = note };
    struct fabric_qp *qp[2];
    struct fabric_cq *own[2];
    const struct fabric_ops *ops;
    struct rdma_completion c;
    struct shard *leased;
    struct world w;

    world_defaults(&w);
    w.config_a.shards = 2;
    world_open(&w, AF_INET);
    ops = w.a->ops;
    leased = ops->cq_shard(w.sa.cq);
    poll_for_long(&w);
    CHECK(shard_is_leased(leased));
    config.domain = &w.sa;
    for (int i = 0; i < 2; i++) {
        cq.owner = &closed[i];
        CHECK(ops->cq_create(w.a, &cq, &own[i]) == 0);
        ops->cq_arm(own[i], FABRIC_ARM_ANY);
        for (int k = 0; k < POLLS; k++)
            CHECK(ops->cq_poll(own[i], &c, 1) == 0);
        CHECK(shard_is_leased(leased));
        config.receive_cq = config.initiator_cq = own[i];
        CHECK(ops->qp_create(w.a, &config, &qp[i]) == 0);
        CHECK((ops->cq_shard(own[i]) == leased) == (i == 1)); /* the second gets that shard */
        CHECK(shard_is_leased(leased) == (i == 0));
    }
    for (int i = 0; i < 2; i++) {
        ops->qp_close(qp[i], set_closed, &closed[2 + i]);
        AWAIT(atomic_load(&closed[2 + i]));
        ops->cq_close(own[i], set_closed);
        AWAIT(atomic_load(&closed[i]));
    }
    world_connect(&w);
    close_connected(&w);
}

/* Refused requests do not count as many that were sent at once. */
static void refused(void)
{
    struct world w;
    struct rdma_sge sge = { .length = LEN };
    struct rdma_request bad = { .op = RDMA_OP_WRITE, .sges = &sge, .sge_count = 1 };

    open_connected(&w);
    sge.token = w.sa.token; /* that region has no address 0 */
    poll_for_long(&w);
    for (int i = 0; i < MANY; i++)
        CHECK(w.a->ops->qp_post(w.sa.qp, &bad) == EFAULT);
    CHECK(count_sent(&w, 1) == 1);
    CHECK(poll(&w, DEPTH) == 1);
    CHECK(count_sent(&w, 1) == 1);
    CHECK(poll(&w, DEPTH) == 1);
    close_connected(&w);
}

/* Fewer reads wait if their responses take long. */
static void awaiting_long_reads(void)
{
    struct world w;

    open_connected(&w);
    poll_for_long(&w);
    for (int i = 0; i < 15; i++)
        post(&w.sa, RDMA_OP_READ, RDMA_FLAG_DEFER, NULL, 0, LEN, &w.sb, 0);
    CHECK(count_sent_reads(&w, 1, LEN) == 16);
    CHECK(count_sent_reads(&w, 1, 8192) == 1);
    CHECK(count_sent_reads(&w, 8, 4096) == 0);
    CHECK(count_sent_reads(&w, 1, 4096) == 9);
    post(&w.sa, RDMA_OP_READ, RDMA_FLAG_DEFER, NULL, 0, BUFFER, &w.sb, 0);
    CHECK(count_sent_reads(&w, 1, LEN) == 2);
    expect_reads(&w, 28);
    close_connected(&w);
}

/* Without polling nothing waits, because no poll would send it. */
static void reads_of_who_does_not_poll(void)
{
    struct world w;

    open_connected(&w);
    for (int i = 0; i < 8; i++)
        CHECK(count_sent_reads(&w, 1, LEN) == 1);
    expect_reads(&w, 8);
    close_connected(&w);
}

static void full_call(void)
{
    struct world w;

    open_connected(&w);
    fill_window(&w);
    CHECK(count_sent(&w, DEPTH - 1) == 0);
    CHECK(count_sent(&w, 1) == DEPTH);
    CHECK(poll(&w, DEPTH) == DEPTH);
    close_connected(&w);
}

static void large(void)
{
    struct world w;
    uint64_t before;

    open_connected(&w);
    fill_window(&w);
    CHECK(count_sent(&w, 2) == 0);
    before = sent(&w);
    writes(&w, 1, 0, 8192);
    CHECK(sent(&w) == before + 3);
    CHECK(poll(&w, DEPTH) == 3);
    close_connected(&w);
}

/*
 * Checks that there were `count` system calls: the first sent at least `first` bytes, all together `bytes` and headers.
 */
static void check_calls(int count, ssize_t first, ssize_t bytes)
{
    ssize_t sum = 0;

    CHECK(calls.count == count);
    for (int i = 0; i < count; i++)
        sum += calls.bytes[i];
    CHECK(calls.bytes[0] >= first && sum > bytes);
    calls.count = 0;
}

/* The first part of a long message is sent early, so that the peer reads it while the rest is framed. */
static void long_message(void)
{
    struct world w;

    world_defaults(&w);
    w.config_a.iwarp.max_fpdu = 16384; /* independent of the segment size */
    world_open(&w, AF_INET);
    world_connect(&w);
    calls.count = 0;
    writes(&w, 1, 0, BUFFER);
    CHECK(calls.bytes[1] >= EARLY);
    check_calls(2, EARLY, BUFFER);
    writes(&w, 1, 0, 2 * EARLY - 4096); /* not long enough for an early part */
    check_calls(1, EARLY, 2 * EARLY - 4096);
    writes(&w, 11, RDMA_FLAG_DEFER, 4096);
    writes(&w, 1, 0, 4096);
    check_calls(1, 2 * EARLY, 2 * EARLY);
    writes(&w, 1, RDMA_FLAG_DEFER, BUFFER);
    writes(&w, 1, 0, BUFFER); /* not split, because the peer is busy already */
    CHECK(calls.bytes[1] >= BUFFER);
    check_calls(2, EARLY, 2 * BUFFER);
    CHECK(poll(&w, DEPTH) == 16);
    close_connected(&w);
}

/* A consumer that is slow between posts: requests that wait are sent with the next one. */
static void slow(void (*begin)(struct world *w), int unread)
{
    struct world w;

    open_connected(&w);
    begin(&w);
    CHECK(count_sent(&w, 1) == 0);
    clock_ns += 5 * NS_PER_US;
    CHECK(count_sent(&w, 1) == 0);
    clock_ns += 30 * NS_PER_US;
    CHECK(count_sent(&w, 1) == 0); /* the third post does not read the clock */
    CHECK(count_sent(&w, 1) == 4);
    CHECK(count_sent(&w, 1) == 0); /* the count begins again */
    clock_ns += 30 * NS_PER_US;
    CHECK(count_sent(&w, 1) == 2);
    CHECK(poll(&w, DEPTH) == unread + 6);
    close_connected(&w);
}

/* Bursts of three: posts read the clock, not requests, whose number is never a power of two. */
static void slow_in_bursts(void)
{
    struct world w;
    uint64_t before;

    open_connected(&w);
    fall_behind(&w);
    before = sent(&w);
    writes(&w, 2, RDMA_FLAG_DEFER, LEN);
    CHECK(count_sent(&w, 1) == 0);
    clock_ns += 30 * NS_PER_US;
    writes(&w, 2, RDMA_FLAG_DEFER, LEN);
    CHECK(sent(&w) == before);
    CHECK(count_sent(&w, 1) == 6);
    CHECK(poll(&w, DEPTH) == 8);
    close_connected(&w);
}

static void slow_and_behind(void)
{
    slow(fall_behind, 2);
}

static void slow_and_filling(void)
{
    slow(fill_window, 0);
}

/* clang-format off */
static const struct test tests[] = {
    { "who does not poll", who_does_not_poll }, { "lonely", lonely }, { "behind", behind },
    { "filling", filling },                     { "full call", full_call }, { "large", large },
    { "slow and behind", slow_and_behind },     { "slow and filling", slow_and_filling },
    { "slow in bursts", slow_in_bursts },       { "long message", long_message },
    { "awaiting reads", awaiting_reads },       { "looking for reads", looking_for_reads },
    { "awaiting long reads", awaiting_long_reads },
    { "reads of who does not poll", reads_of_who_does_not_poll },
    { "bursts awaiting reads", bursts_awaiting_reads },
    { "queues on two shards", queues_on_two_shards },
    { "queues on one shard", queues_on_one_shard },
    { "arming before the queue pair", arming_before_the_queue_pair },
    { "refused", refused },
};
/* clang-format on */

int main(int argc, char **argv)
{
    world_set_manual(&clock_ns);
    world_set_reads(DEPTH);
    return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
