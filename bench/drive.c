/* SPDX-License-Identifier: MIT */
/*
 * Measures one connection, in the same way for NDK and for the libraries that NDK is compared with. Prints one line of
 * JSON.
 *   <kind> <test> <size> <window> <burst> <seconds>
 * The result of these tests is half of a round trip:
 *   poll     a message and its answer; both ends poll
 *   wait     a message and its answer; at each end a thread sleeps until a message arrives
 *   sleep    a message and its answer; each end answers in a callback; as `wait` if the library has no callbacks
 *   memory   a write and a write back; both ends poll their memory and their completions in turn
 *   passive  a write and a write back; the client polls as in `memory`, the server polls only its memory
 * The result of this test is a full round trip:
 *   fetch    a read; both ends poll
 * In these tests the client posts requests in bursts, at most <window> in flight. Both ends poll. At the end, the
 * server confirms by a message:
 *   sends, writes, reads
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link.h"

enum { SAMPLES = 1 << 22, FEW = 16, CREDIT = 64, REAP = 32, END = 0xee, POSTS_PER_CLOCK = 16 };

static const double WARM_UP = 0.1;

struct run {
    const struct job *job;
    struct outcome *outcome;
    uint64_t sent_at, warm, deadline;
    bool last;
    atomic_bool over;
    sem_t end;
};

void link_exchange(struct link *l, int control, struct link_target ours)
{
    bench_send(control, &ours, sizeof ours);
    if (!bench_receive(control, &l->peer, sizeof l->peer))
        bench_die("the other process has ended");
}

static void run_set_times(struct run *r)
{
    r->sent_at = bench_now();
    r->warm = r->sent_at + (uint64_t)(WARM_UP * NS_PER_S);
    r->deadline = r->warm + (uint64_t)(r->job->seconds * NS_PER_S);
}

/*
 * Records the duration of the round trip that has just ended, divided by `parts`. Returns true if the deadline has
 * passed, so that the caller makes only one more round trip.
 */
static bool run_next_trip(struct run *r, double parts)
{
    uint64_t now = bench_now();

    if (now >= r->warm)
        samples_add(&r->outcome->trips, (double)(now - r->sent_at) / parts);
    r->sent_at = now;
    return now >= r->deadline;
}

/* ---- messages with answers ---- */

static uint8_t drive_load_byte(const uint8_t *at)
{
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static void run_on_message(struct link *l)
{
    struct run *r = l->context;
    bool over = l->client ? r->last : drive_load_byte(link_messages(l)) == END;

    atomic_store_explicit(&l->ending, over, memory_order_release); /* cheaper than sequential consistency */
    if (!(l->client && over)) {
        if (l->client && run_next_trip(r, 2)) {
            r->last = true;
            link_source(l)[0] = END;
        }
        l->ops->post(l, LINK_SEND, false);
        /*
         * Sends first and then posts a new receive, so that the message leaves earlier. Other receives are posted
         * already, and the peer's answer uses one of them.
         */
        l->ops->receive(l);
    }
    if (over) {
        atomic_store(&r->over, true);
        sem_post(&r->end);
    }
}

static void drive_ping_pong(struct link *l, struct run *r)
{
    void (*pump)(struct link * l) = !strcmp(r->job->test, "poll") ? l->ops->poll : l->ops->wait;

    link_handle(l); /* the first message may have arrived in drive_synchronize */
    if (!strcmp(r->job->test, "sleep") && l->ops->notify) {
        l->ops->notify(l);
        pump = NULL;
    } else if (!pump) {
        bench_die("%s does not support this test", l->ops->kind);
    }
    run_set_times(r);
    if (l->client)
        l->ops->post(l, LINK_SEND, false);
    while (pump && !atomic_load_explicit(&r->over, memory_order_relaxed)) {
        pump(l);
        link_handle(l);
    }
    while (sem_wait(&r->end))
        continue;
}

/* ---- writes in both directions ---- */

/*
 * Waits until the peer has written a value other than `before`, and returns that value. If `passive` is true, does not
 * poll completions. Instead, yields the processor, because the provider's threads may be pinned to this processor.
 */
static uint8_t link_await_write(struct link *l, uint8_t before, bool passive)
{
    const uint8_t *at = link_landing(l) + l->size - 1;

    while (drive_load_byte(at) == before) {
        if (passive)
            sched_yield();
        else
            l->ops->poll(l);
    }
    return drive_load_byte(at);
}

static void link_write_value(struct link *l, uint8_t value)
{
    link_source(l)[l->size - 1] = value;
    l->ops->post(l, LINK_WRITE, false);
}

/*
 * Exchanges writes with the peer, one at a time. The last byte of each write differs from the last byte of the previous
 * write of this process. The last byte of the final write is END.
 */
static void drive_write_pong(struct link *l, struct run *r)
{
    bool passive = !strcmp(r->job->test, "passive") && !l->client, last = false;
    uint8_t value = 0, mine;

    run_set_times(r);
    for (uint64_t trips = 0; !last; trips++) {
        if (l->client) {
            last = trips > 0 && run_next_trip(r, 2);
            mine = last ? END : (uint8_t)(trips % 200 + 1);
            link_write_value(l, mine);
            value = link_await_write(l, value, false);
        } else {
            value = link_await_write(l, value, passive);
            last = value == END;
            atomic_store_explicit(&l->ending, last, memory_order_release);
            link_write_value(l, value);
            if (passive && trips % REAP == 0)
                l->ops->poll(l); /* removes completions, because otherwise the send queue would become full */
        }
    }
}

/* ---- the end of a one-way measurement ---- */

/* Sends the client's last message and waits for the server's answer. */
static void drive_end(struct link *l)
{
    link_source(l)[0] = END;
    l->ops->post(l, LINK_SEND, false);
    while (drive_load_byte(link_messages(l)) != END)
        l->ops->poll(l);
}

/*
 * The server polls until the client's last message arrives, and then answers this message. If `credits` is true, the
 * server also sends a message after every CREDIT messages that it has received.
 */
static void drive_serve(struct link *l, bool credits)
{
    uint64_t handled = 0, sent = 0;

    while (drive_load_byte(link_messages(l)) != END) {
        l->ops->poll(l);
        for (; credits && handled < l->received; handled++) {
            l->ops->receive(l);
            if (handled % CREDIT == CREDIT - 1) {
                l->ops->post(l, LINK_SEND, false);
                sent++;
            }
        }
    }
    while (l->completed < sent) /* the sends' memory must not change until all sends have completed */
        l->ops->poll(l);
    atomic_store(&l->ending, true);
    link_source(l)[0] = END;
    l->ops->post(l, LINK_SEND, false);
}

static void drive_fetch(struct link *l, struct run *r)
{
    uint64_t done = 0;

    if (!l->client) {
        drive_serve(l, false);
        return;
    }
    run_set_times(r);
    do {
        l->ops->post(l, LINK_READ, false);
        for (done++; l->completed < done;)
            l->ops->poll(l);
    } while (!run_next_trip(r, 1));
    drive_end(l);
}

/* ---- one way ---- */

static enum link_op run_request(const struct run *r)
{
    return !strcmp(r->job->test, "sends") ? LINK_SEND : !strcmp(r->job->test, "writes") ? LINK_WRITE : LINK_READ;
}

/* Posts requests until the deadline, limited by the window and the peer's receives. Returns the number of requests. */
static uint64_t drive_post_requests(struct link *l, struct run *r, uint64_t deadline)
{
    enum link_op op = run_request(r);
    const struct job *j = r->job;
    uint64_t posted = 0, credited = 0, bursts = 0;

    while (bursts++ % POSTS_PER_CLOCK || bench_now() < deadline) {
        for (; credited < l->received && op == LINK_SEND; credited++)
            l->ops->receive(l);
        if (posted + j->burst > l->completed + j->window ||
            (op == LINK_SEND && posted + j->burst > credited * CREDIT + LINK_RECEIVES - CREDIT)) {
            l->ops->poll(l);
            continue;
        }
        for (unsigned i = 0; i < j->burst; i++)
            l->ops->post(l, op, i + 1 < j->burst);
        posted += j->burst;
        if (j->burst == 1 && posted % FEW == 0) /* polls even if the window is not full */
            l->ops->poll(l);
    }
    return posted;
}

static void drive_one_way(struct link *l, struct run *r)
{
    uint64_t posted;

    if (!l->client) {
        drive_serve(l, run_request(r) == LINK_SEND);
        return;
    }
    r->outcome->from = bench_now();
    posted = drive_post_requests(l, r, r->outcome->from + (uint64_t)((WARM_UP + r->job->seconds) * NS_PER_S));
    while (l->completed < posted)
        l->ops->poll(l);
    drive_end(l);
    r->outcome->ended = bench_now();
    r->outcome->ops = posted;
}

/* ---- both processes ---- */

static void drive_measure(struct link *l, struct run *r)
{
    const char *test = r->job->test;

    if (!strcmp(test, "poll") || !strcmp(test, "wait") || !strcmp(test, "sleep"))
        drive_ping_pong(l, r);
    else if (!strcmp(test, "memory") || !strcmp(test, "passive"))
        drive_write_pong(l, r);
    else if (!strcmp(test, "fetch"))
        drive_fetch(l, r);
    else
        drive_one_way(l, r);
}

/* Waits until the other process is ready. Polls during this wait, because the other process may wait for an answer. */
static void drive_synchronize(struct link *l, int control)
{
    char byte = 0;
    ssize_t n;

    bench_send(control, &byte, 1);
    while ((n = recv(control, &byte, 1, MSG_DONTWAIT)) != 1) {
        if (n == 0 || errno != EAGAIN)
            bench_die("the other process has ended");
        l->ops->poll(l);
    }
}

static void drive_run_end(const struct job *j, const struct link_ops *ops, struct outcome *o, int control, bool client)
{
    struct run r = { .job = j, .outcome = o };
    bool messages = !strcmp(j->test, "sends") || !strcmp(j->test, "poll") || !strcmp(j->test, "wait") ||
                    !strcmp(j->test, "sleep");
    struct link l = { .ops = ops,
                      .client = client,
                      .size = j->size,
                      .message = messages ? j->size : LINK_SMALL,
                      .sleeps = !strcmp(j->test, "wait") || !strcmp(j->test, "sleep"),
                      .on_message = run_on_message,
                      .context = &r };

    sem_init(&r.end, 0, 0);
    l.memory = bench_pages(LINK_BYTES);
    memset(link_source(&l), 0xa5, LINK_AREA);
    memset(link_messages(&l), 0, LINK_AREA);
    ops->open(&l, control);
    for (unsigned i = 0; i < (client || strcmp(j->test, "sends") ? FEW : LINK_RECEIVES); i++)
        ops->receive(&l);
    drive_synchronize(&l, control);
    o->sockets = bench_sockets();
    drive_measure(&l, &r);
    atomic_store(&l.ending, true);
    ops->close(&l, control);
}

int drive(const struct job *j, const struct link_ops *ops)
{
    struct outcome o;
    int control;
    bool pinned;
    pid_t child = bench_fork(&control, (unsigned)j->seconds + 1);

    pinned = bench_pin(child ? 0 : 1);
    outcome_init(&o);
    drive_run_end(j, ops, &o, control, child != 0);
    if (!child)
        return 0;
    close(control);
    bench_join(child);
    outcome_print(j, &o, pinned);
    return 0;
}

/* ---- arguments and figures ---- */

struct job job_parse(int argc, char **argv)
{
    static const char *const tests[] = { "poll",  "wait",  "sleep",  "memory", "passive",
                                         "fetch", "sends", "writes", "reads" };
    bool known = false;
    struct job j = { 0 };

    for (size_t i = 0; argc == 7 && i < sizeof tests / sizeof *tests; i++)
        known |= !strcmp(argv[2], tests[i]);
    if (known)
        j = (struct job){ argv[1],
                          argv[2],
                          strtoul(argv[3], NULL, 10),
                          (unsigned)strtoul(argv[4], NULL, 10),
                          (unsigned)strtoul(argv[5], NULL, 10),
                          strtod(argv[6], NULL) };
    if (!known || !j.size || j.size > 1 << 20 || !j.burst || j.window < j.burst || j.window > LINK_WINDOW - FEW ||
        j.seconds <= 0)
        bench_die("usage: %s <kind> <test> <size> <window> <burst> <seconds>", argv[0]);
    return j;
}

void outcome_init(struct outcome *o)
{
    *o = (struct outcome){ 0 };
    samples_init(&o->trips, SAMPLES);
}

void outcome_print(const struct job *j, struct outcome *o, bool pinned)
{
    double seconds = (double)(o->ended - o->from) / NS_PER_S, rate = seconds > 0 ? (double)o->ops / seconds : 0;

    printf("{\"kind\": \"%s\", \"test\": \"%s\", \"size\": %zu, \"window\": %u, \"burst\": %u, \"pinned\": %s, "
           "\"us\": %.3f, \"p99_us\": %.3f, \"trips\": %zu, \"per_second\": %.1f, \"mib_per_second\": %.2f, "
           "\"congestion\": \"%s\", \"buffers\": \"%s\"}\n",
           j->kind, j->test, j->size, j->window, j->burst, pinned ? "true" : "false",
           samples_quantile(&o->trips, 0.5) / NS_PER_US, samples_quantile(&o->trips, 0.99) / NS_PER_US,
           samples_count(&o->trips), rate, rate * (double)j->size / (1 << 20), o->sockets.congestion,
           o->sockets.buffers);
}
