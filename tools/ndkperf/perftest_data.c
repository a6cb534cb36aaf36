/* SPDX-License-Identifier: MIT */
/*
 * Transfers the data of perftest's tests: see perftest.h. If the test cannot continue, each function prints a message
 * and returns false.
 *
 * Sends have the same flow control as in perftest. Each time the receiver has used a third of its posted receives, it
 * writes the number of received messages into the sender's memory.
 */
#include <sched.h>
#include <string.h>

#include "monotonic.h"
#include "pattern.h"
#include "perftest.h"

static bool data_send(struct perftest *p)
{
    NDK_SGE sge = consumer_region_sge(&p->data.region, p->area, p->options->size);
    NDK_QP *qp = p->data.c.qp;

    return perftest_check(p, &p->data, "NdkSend", qp->Dispatch->NdkSend(qp, (PVOID)PERFTEST_POSTED, &sge, 1, 0));
}

static bool data_write(struct perftest *p, NDK_SGE sge)
{
    NDK_QP *qp = p->data.c.qp;

    return perftest_check(
        p, &p->data, "NdkWrite",
        qp->Dispatch->NdkWrite(qp, (PVOID)PERFTEST_POSTED, &sge, 1, p->remote_address, p->remote_token, 0));
}

static bool data_read(struct perftest *p)
{
    NDK_SGE sge = consumer_region_sge(&p->data.region, 0, p->options->size);
    NDK_QP *qp = p->data.c.qp;

    return perftest_check(
        p, &p->data, "NdkRead",
        qp->Dispatch->NdkRead(qp, (PVOID)PERFTEST_POSTED, &sge, 1, p->remote_address, p->remote_token, 0));
}

static bool data_wait_posted(struct perftest *p, uint32_t count)
{
    for (; count; count--)
        if (!perftest_wait(p, &p->data, PERFTEST_POSTED))
            return false;
    return true;
}

/* ---- bandwidth ---- */

/*
 * Waits until is_satisfied(p, number) returns true. is_satisfied reads memory that the peer writes. Counts the results
 * that arrive in the meantime. If the test ends earlier, prints a message and returns false.
 */
static bool data_wait_memory(struct perftest *p, bool (*is_satisfied)(const struct perftest *p, uint32_t number),
                             uint32_t number)
{
    uint64_t since = monotonic_ns();

    for (unsigned polls = 0;; polls++) {
        bool is_over = perftest_is_over(&p->data);

        if (!perftest_poll(p, &p->data))
            return false;
        if (is_satisfied(p, number))
            return true;
        if (is_over)
            return perftest_refuse_end(p);
        if (polls >= PERFTEST_POLLS) {
            perftest_report_wait(p, since);
            sched_yield();
        }
    }
}

/* Returns true if another send may be posted after `sent` sends. One receive of the peer always stays unused. */
static bool data_has_credit(const struct perftest *p, uint32_t sent)
{
    const uint32_t *count = (const uint32_t *)(void *)p->credit.memory;

    return sent + 1 - written_count(count) < p->receives;
}

/* Posts all messages of the test, at most one window at a time. Waits until all of them have completed. */
static bool data_post_all(struct perftest *p, bool (*post)(struct perftest *p, uint32_t number))
{
    uint32_t inflight = 0;

    for (uint32_t number = 0; number < p->options->iterations; number++, inflight++) {
        if (inflight == PERFTEST_WINDOW) {
            if (!data_wait_posted(p, 1))
                return false;
            inflight--;
        }
        if (!post(p, number))
            return false;
    }
    return data_wait_posted(p, inflight);
}

static bool data_post_send(struct perftest *p, uint32_t number)
{
    return data_wait_memory(p, data_has_credit, number) && data_send(p);
}

static bool data_post_write(struct perftest *p, uint32_t number)
{
    (void)number;
    return data_write(p, consumer_region_sge(&p->data.region, p->area, p->options->size));
}

static bool data_post_read(struct perftest *p, uint32_t number)
{
    (void)number;
    return data_read(p);
}

static bool data_receive_all(struct perftest *p)
{
    uint32_t *count = (uint32_t *)(void *)p->credit.memory + 1, iterations = p->options->iterations, credits = 0;
    uint64_t start = 0;

    for (uint32_t received = 1; received <= iterations; received++) {
        if (!perftest_wait(p, &p->data, PERFTEST_RECEIVED))
            return false;
        if (received == 1)
            start = monotonic_ns();
        if (received + p->receives <= iterations && !perftest_post_receive(p, &p->data, p->options->size))
            return false;
        if (received % p->receives % (p->receives / 3))
            continue;
        /* Before *count changes, the previous credit write must have completed, because that write sends *count. */
        if (!data_wait_posted(p, credits))
            return false;
        *count = received;
        if (!data_write(p, consumer_region_sge(&p->credit, sizeof *count, sizeof *count)))
            return false;
        credits = 1;
    }
    p->seconds = (double)(monotonic_ns() - start) / 1e9;
    return data_wait_posted(p, credits);
}

/* ---- latency ---- */

/* Measures latency with sends: the two ends send alternately, one message at a time. The client sends first. */
static bool data_send_in_turn(struct perftest *p)
{
    uint32_t iterations = p->options->iterations;

    for (uint32_t i = 0; i < iterations; i++) {
        uint64_t start = monotonic_ns();

        if (p->options->client && !data_send(p))
            return false;
        if (!perftest_wait(p, &p->data, PERFTEST_RECEIVED))
            return false;
        if (p->options->client)
            times_add(&p->times, (monotonic_ns() - start) / 2);
        if (i + p->receives < iterations && !perftest_post_receive(p, &p->data, p->options->size))
            return false;
        if ((p->options->server && !data_send(p)) || !data_wait_posted(p, 1))
            return false;
    }
    return true;
}

/* Returns true if the peer's write with this number has arrived. A write's last byte is the low byte of its number. */
static bool data_has_write(const struct perftest *p, uint32_t number)
{
    const uint8_t *last = p->data.region.memory + p->options->size - 1;

    return written_mark(last) == (uint8_t)number;
}

/* Measures latency with writes: the two ends write alternately, one message at a time. The server writes first. */
static bool data_write_in_turn(struct perftest *p)
{
    uint64_t start = 0;

    for (uint32_t i = 1; i <= p->options->iterations; i++) {
        if (p->options->client && !data_wait_memory(p, data_has_write, i))
            return false;
        if (start)
            times_add(&p->times, (monotonic_ns() - start) / 2);
        start = monotonic_ns();
        p->data.region.memory[p->area + p->options->size - 1] = (uint8_t)i;
        if (!data_write(p, consumer_region_sge(&p->data.region, p->area, p->options->size)) || !data_wait_posted(p, 1))
            return false;
        if (p->options->server && !data_wait_memory(p, data_has_write, i))
            return false;
    }
    return true;
}

/* Measures latency with reads, one at a time. The data are arbitrary, but each read must return the same data. */
static bool data_read_in_turn(struct perftest *p)
{
    uint8_t *memory = p->data.region.memory, *first = memory + p->area;
    uint32_t size = p->options->size;

    for (uint32_t i = 0; i < p->options->iterations; i++) {
        uint64_t start;

        memset(memory, 0xee, size);
        start = monotonic_ns();
        if (!data_read(p) || !data_wait_posted(p, 1))
            return false;
        times_add(&p->times, monotonic_ns() - start);
        if (i == 0)
            memcpy(first, memory, size);
        if (memcmp(first, memory, size) != 0)
            return perftest_refuse(p, NDKPERF_DATA, "read %u returned other bytes than the first one", (unsigned)i + 1);
    }
    return true;
}

/* ---- the tests ---- */

static bool data_transfer(struct perftest *p)
{
    bool is_client = p->options->client;

    if (p->test->verb == PERFTEST_SEND)
        return p->test->latency ? data_send_in_turn(p)
               : is_client      ? data_post_all(p, data_post_send)
                                : data_receive_all(p);
    if (p->test->verb == PERFTEST_WRITE && p->test->latency)
        return data_write_in_turn(p);
    if (!is_client) /* in tests of reads and one-way writes the server is passive */
        return true;
    if (p->test->verb == PERFTEST_WRITE)
        return data_post_all(p, data_post_write);
    return p->test->latency ? data_read_in_turn(p) : data_post_all(p, data_post_read);
}

bool perftest_transfer(struct perftest *p)
{
    uint64_t start = monotonic_ns();
    bool is_done = data_transfer(p);

    if (p->seconds == 0)
        p->seconds = (double)(monotonic_ns() - start) / 1e9;
    return is_done;
}
