/* SPDX-License-Identifier: MIT */
/*
 * The data path between two processes, each on a processor of its own. One line of JSON.
 *   data ndk|tcp poll|sleep|write <seconds>
 * poll, sleep: 64 bytes there and back, half of the round trip; the ends look on, or sleep until told (ndk: in the
 * notification of the completion queue; tcp: blocking). write: 1 MiB at a time, one way, the last one acknowledged.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ndk_side.h"
#include "openndk/adapter.h"
#include "openndk/mdl.h"
#include "tcp_side.h"

enum { MESSAGE = 64, DEPTH = 32, RECEIVES = 16, CQ_DEPTH = 128, MIB = 1 << 20, WRITES = 4, SAMPLES = 1 << 22 };

static const double WARM_UP = 0.2;

/* What the listening process tells of its memory, with the accept. */
struct target {
    uint64_t address;
    uint32_t token;
};

struct end {
    struct ndk_side *side;
    struct ndk_conn *conn;
    NDK_MR *mr;
    MDL mdl;
    uint8_t *memory;   /* MIB, behind it one message */
    uint32_t token;
    bool client, writes;
    uint64_t sent_at, deadline, warm;
    struct samples trips;
    uint64_t bytes, from, ended;
    atomic_bool over;
    sem_t end;
};

/* ---- requests ---- */

static NDK_SGE sge(struct end *e, size_t offset, ULONG len)
{
    return (NDK_SGE){ .VirtualAddress = e->memory + offset, .Length = len, .MemoryRegionToken = e->token };
}

static void receive(struct end *e)
{
    NDK_QP *qp = e->conn->qp;
    NDK_SGE piece = sge(e, MIB + MESSAGE, MESSAGE);

    if (qp->Dispatch->NdkReceive(qp, e, &piece, 1))
        bench_die("NdkReceive failed");
}

static void send_message(struct end *e)
{
    NDK_QP *qp = e->conn->qp;
    NDK_SGE piece = sge(e, MIB, MESSAGE);
    NTSTATUS status = qp->Dispatch->NdkSend(qp, NULL, &piece, 1, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT);

    if (status != STATUS_SUCCESS)
        bench_die("NdkSend: %s", ondk_status_name(status));
}

static void write_mib(struct end *e, const struct target *to)
{
    NDK_QP *qp = e->conn->qp;
    NDK_SGE piece = sge(e, 0, MIB);
    NTSTATUS status = qp->Dispatch->NdkWrite(qp, &e->bytes, &piece, 1, to->address, to->token, 0);

    if (status != STATUS_SUCCESS)
        bench_die("NdkWrite: %s", ondk_status_name(status));
}

static void finish(struct end *e)
{
    e->ended = bench_now();
    atomic_store(&e->over, true);
    sem_post(&e->end);
}

/* A message has come: the answer, or the next one. */
static void on_message(struct end *e)
{
    uint64_t now;

    receive(e);
    if (!e->client) {
        send_message(e);
        return;
    }
    now = bench_now();
    if (e->writes || now >= e->deadline) {
        finish(e);
        return;
    }
    if (now >= e->warm)
        samples_add(&e->trips, (double)(now - e->sent_at) / 2);
    e->sent_at = now;
    send_message(e);
}

/* Takes what has completed; returns how many writes. */
static unsigned drain(struct end *e)
{
    NDK_RESULT results[RECEIVES];
    unsigned writes = 0;
    ULONG n;

    while ((n = e->side->cq->Dispatch->NdkGetCqResults(e->side->cq, results, RECEIVES)))
        for (ULONG i = 0; i < n; i++) {
            if (results[i].Status != STATUS_SUCCESS) {
                if (e->client && !atomic_load(&e->over)) /* otherwise it is the end that flushes */
                    bench_die("a request failed: %s", ondk_status_name(results[i].Status));
            } else if (results[i].RequestContext == e) {
                on_message(e);
            } else {
                writes += results[i].RequestContext == &e->bytes;
            }
        }
    return writes;
}

static void notified(PVOID context, NTSTATUS status)
{
    struct end *e = context;

    if (status != STATUS_SUCCESS)
        bench_die("the completion queue failed: %s", ondk_status_name(status));
    if (e->writes && e->client) {
        sem_post(&e->end); /* its thread looks */
        return;
    }
    e->side->cq->Dispatch->NdkArmCq(e->side->cq, NDK_CQ_NOTIFY_SOLICITED);
    (void)drain(e);
}

/* ---- making both ends ---- */

static void create_done(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    (void)context;
    (void)status;
    (void)object;
    bench_die("a create was pending");
}

static void registered(PVOID context, NTSTATUS status)
{
    if (status != STATUS_SUCCESS)
        bench_die("NdkRegisterMr failed");
    sem_post(context);
}

static void make_memory(struct end *e)
{
    NDK_PD *pd = e->side->pd;
    sem_t done;
    NTSTATUS status;

    e->memory = bench_pages(MIB + 2 * MESSAGE);
    memset(e->memory, 0xa5, MIB + 2 * MESSAGE);
    ondk_mdl_init(&e->mdl, e->memory, MIB + 2 * MESSAGE, NULL);
    if (pd->Dispatch->NdkCreateMr(pd, FALSE, create_done, e, &e->mr))
        bench_die("NdkCreateMr failed");
    sem_init(&done, 0, 0);
    status = e->mr->Dispatch->NdkRegisterMr(e->mr, &e->mdl, MIB + 2 * MESSAGE, NDK_MR_FLAG_ALLOW_LOCAL_WRITE |
                                            NDK_MR_FLAG_ALLOW_REMOTE_WRITE, registered, &done);
    if (status == STATUS_PENDING)
        sem_wait(&done);
    else
        registered(&done, status);
    e->token = e->mr->Dispatch->NdkGetLocalTokenFromMr(e->mr);
}

static struct end *make_end(bool client, bool writes)
{
    struct end *e = bench_pages(sizeof *e);

    e->client = client;
    e->writes = writes;
    sem_init(&e->end, 0, 0);
    samples_init(&e->trips, SAMPLES);
    return e;
}

static struct end *server_end; /* there is one connection */

static void prepare(struct ndk_conn *c)
{
    server_end->conn = c;
    for (int i = 0; i < RECEIVES; i++)
        receive(server_end);
}

static void serve_ndk(const char *how, int control)
{
    struct end *e = server_end = make_end(false, !strcmp(how, "write"));
    struct target target;
    struct ndk_options o = { .depth = DEPTH, .cq_depth = CQ_DEPTH, .conns = 2, .notify = notified, .notify_context = e,
                             .accept_data = &target, .accept_len = sizeof target, .prepare = prepare };
    uint16_t port;
    char byte;

    e->side = ndk_side_open(&o);
    make_memory(e);
    target = (struct target){ (uintptr_t)e->memory, e->mr->Dispatch->NdkGetRemoteTokenFromMr(e->mr) };
    ndk_side_listen(e->side, &port);
    if (strcmp(how, "poll"))
        e->side->cq->Dispatch->NdkArmCq(e->side->cq, NDK_CQ_NOTIFY_SOLICITED);
    bench_tell(control, &port, sizeof port);
    if (!strcmp(how, "poll")) {
        if (!bench_hear(control, &byte, sizeof byte))
            bench_die("the other process has gone");
        while (recv(control, &byte, sizeof byte, MSG_DONTWAIT) != 0)
            for (int i = 0; i < 1024; i++)
                (void)drain(e);
    }
    ndk_side_serve(e->side, control);
    ndk_side_close_object(&e->mr->Header, e->mr->Dispatch->NdkCloseMr);
    ndk_side_close(e->side);
}

/* ---- the client's three ways ---- */

static void ping_pong(struct end *e, bool poll, double seconds)
{
    uint64_t now = bench_now();

    e->warm = now + (uint64_t)(WARM_UP * NS_PER_S);
    e->deadline = e->warm + (uint64_t)(seconds * NS_PER_S);
    if (!poll)
        e->side->cq->Dispatch->NdkArmCq(e->side->cq, NDK_CQ_NOTIFY_SOLICITED);
    e->sent_at = now;
    send_message(e);
    while (poll && !atomic_load(&e->over))
        (void)drain(e);
    while (sem_wait(&e->end))
        continue;
}

static unsigned wait_for_writes(struct end *e)
{
    unsigned writes;

    while (!(writes = drain(e)) && !atomic_load(&e->over)) {
        e->side->cq->Dispatch->NdkArmCq(e->side->cq, NDK_CQ_NOTIFY_ANY);
        writes = drain(e);
        if (writes || atomic_load(&e->over))
            break;
        sem_wait(&e->end);
    }
    return writes;
}

static void write_one_way(struct end *e, double seconds)
{
    NDK_CONNECTOR *connector = e->conn->connector;
    struct target to;
    ULONG len = sizeof to;
    unsigned under_way = 0;

    if (connector->Dispatch->NdkGetConnectionData(connector, NULL, NULL, &to, &len) || len < sizeof to)
        bench_die("no target");
    e->from = bench_now();
    e->deadline = e->from + (uint64_t)(seconds * NS_PER_S);
    while (bench_now() < e->deadline) {
        for (; under_way < WRITES; under_way++, e->bytes += MIB)
            write_mib(e, &to);
        under_way -= wait_for_writes(e);
    }
    send_message(e); /* behind the writes: its answer says that they are there */
    while (!atomic_load(&e->over))
        (void)wait_for_writes(e);
}

static void client_ndk(const char *how, uint16_t port, double seconds, int control, struct end *e, char *congestion,
                       size_t size)
{
    struct ndk_options o = { .depth = DEPTH, .cq_depth = CQ_DEPTH, .conns = 1, .notify = notified, .notify_context = e };
    struct load l;

    e->side = ndk_side_open(&o);
    make_memory(e);
    e->side->peer.sin_port = port;
    load_init(&l, &ndk_backend, e->side, 1, 1);
    e->side->load = &l;
    e->conn = &e->side->conns[0];
    load_open_all(&l);
    ndk_side_run(e->side, &l);
    for (int i = 0; i < RECEIVES; i++)
        receive(e);
    bench_congestion(congestion, size);
    if (!strcmp(how, "poll"))
        bench_tell(control, "", 1);
    if (!strcmp(how, "write"))
        write_one_way(e, seconds);
    else
        ping_pong(e, !strcmp(how, "poll"), seconds);
    load_close_all(&l);
    ndk_side_run(e->side, &l);
    ndk_side_close_object(&e->mr->Header, e->mr->Dispatch->NdkCloseMr);
    ndk_side_close(e->side);
}

/* ---- bare TCP ---- */

/* All of it, looking on where the socket is non-blocking; false at the end of the stream. */
static bool get(int fd, uint8_t *to, size_t size)
{
    size_t have = 0;

    while (have < size) {
        ssize_t n = recv(fd, to + have, size - have, 0);

        if (n == 0)
            return false;
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            bench_die("recv: %s", strerror(errno));
        have += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static void put(int fd, const uint8_t *from, size_t size)
{
    while (size) {
        ssize_t n = send(fd, from, size, MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN && errno != EINTR)
            bench_die("send: %s", strerror(errno));
        from += n > 0 ? (size_t)n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
}

static void look_on(int fd, const char *how)
{
    if (!strcmp(how, "poll") && fcntl(fd, F_SETFL, O_NONBLOCK))
        bench_die("fcntl: %s", strerror(errno));
}

static void serve_tcp(const char *how, int control)
{
    struct tcp_side *s = tcp_side_open(1);
    uint8_t *memory = bench_pages(MIB);
    bool writes = !strcmp(how, "write");
    uint16_t port;
    int fd;

    tcp_side_listen(s, &port);
    bench_tell(control, &port, sizeof port);
    fd = tcp_accept_blocking(s);
    look_on(fd, how);
    while (get(fd, memory, writes ? MIB : MESSAGE))
        if (!writes)
            put(fd, memory, MESSAGE);
    if (writes)
        put(fd, memory, 1); /* everything has come */
    close(fd);
}

static void client_tcp(const char *how, uint16_t port, double seconds, struct end *e, char *congestion, size_t size)
{
    int fd = tcp_connect_blocking(port);
    uint8_t *memory = bench_pages(MIB);
    uint64_t now;

    memset(memory, 0xa5, MIB);
    bench_congestion(congestion, size);
    look_on(fd, how);
    e->from = now = bench_now();
    if (e->writes) {
        e->deadline = now + (uint64_t)(seconds * NS_PER_S);
        for (; bench_now() < e->deadline; e->bytes += MIB)
            put(fd, memory, MIB);
        shutdown(fd, SHUT_WR);
        (void)get(fd, memory, 1);
    } else {
        e->warm = now + (uint64_t)(WARM_UP * NS_PER_S);
        e->deadline = e->warm + (uint64_t)(seconds * NS_PER_S);
        for (e->sent_at = now; now < e->deadline; e->sent_at = now) {
            put(fd, memory, MESSAGE);
            (void)get(fd, memory, MESSAGE);
            now = bench_now();
            if (now >= e->warm)
                samples_add(&e->trips, (double)(now - e->sent_at) / 2);
        }
    }
    e->ended = bench_now();
    close(fd);
}

int main(int argc, char **argv)
{
    double seconds = argc == 4 ? strtod(argv[3], NULL) : 0;
    char congestion[32];
    struct end *e;
    int control;
    uint16_t port;
    pid_t child;

    if (seconds <= 0)
        bench_die("usage: %s ndk|tcp poll|sleep|write <seconds>", argv[0]);
    child = bench_fork(&control, (unsigned)seconds + 1);
    bench_pin(child ? 0 : 1);
    if (!child) {
        (strcmp(argv[1], "ndk") ? serve_tcp : serve_ndk)(argv[2], control);
        return 0;
    }
    if (!bench_hear(control, &port, sizeof port))
        bench_die("the second process does not serve");
    e = make_end(true, !strcmp(argv[2], "write"));
    if (strcmp(argv[1], "ndk"))
        client_tcp(argv[2], port, seconds, e, congestion, sizeof congestion);
    else
        client_ndk(argv[2], port, seconds, control, e, congestion, sizeof congestion);
    close(control);
    bench_join(child);
    printf("{\"kind\": \"%s\", \"how\": \"%s\", \"half_trip_us\": %.3f, \"half_trip_p99_us\": %.3f, \"trips\": %zu, "
           "\"mib_per_second\": %.1f, \"congestion\": \"%s\"}\n",
           argv[1], argv[2], samples_quantile(&e->trips, 0.5) / NS_PER_US, samples_quantile(&e->trips, 0.99) / NS_PER_US,
           e->trips.count, e->writes ? (double)e->bytes / MIB / ((double)(e->ended - e->from) / NS_PER_S) : 0,
           congestion);
    return 0;
}
