/* SPDX-License-Identifier: MIT */
/*
 * ndk_perftest: an NDK consumer at the other end of perftest's ib_send_bw, ib_send_lat, ib_write_bw, ib_write_lat,
 * ib_read_bw and ib_read_lat, called with -R.
 *
 *     ndk_perftest server|client PORT TEST [--size N] [--iterations N] [--rx-depth N] [--crc on|off]
 *
 * TEST is send_bw to read_lat. All connections use loopback. tests/interop/README.md describes perftest's protocol,
 * whose two connections are "test" and "control".
 */
#include <arpa/inet.h>
#include <endian.h>
#include <getopt.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "consumer/consumer.h"
#include "openndk/config.h"

enum {
    STEP_SECONDS = 15,
    CONTROL_SIZE = 64, /* the maximum message of the control connection */
    ADDRESS_SIZE = 56,
    SPREAD = 4096, /* messages of up to half of this size are placed anywhere in so many bytes */
    WINDOW = 32,   /* requests in flight */
    MAX_RX_DEPTH = 60,
    MAX_SIZE = 1 << 20,
    CONNECT_TRIES = 50, /* perftest's server listens for the test's connection some time after it has announced that */
    TRY_MS = 100,
};

enum verb { SEND, WRITE, READ };

struct test {
    const char *name;
    enum verb verb;
    bool latency;
    bool end_address, end_reports; /* exchanges after the data: addresses, reports and addresses again */
    unsigned before;               /* how often addresses are exchanged before the data */
};

static const struct test tests[] = {
    { .name = "send_bw", .verb = SEND, .before = 4, .end_address = true },
    { .name = "send_lat", .verb = SEND, .latency = true, .before = 4, .end_address = true },
    { .name = "write_bw", .verb = WRITE, .before = 3, .end_address = true, .end_reports = true },
    { .name = "write_lat", .verb = WRITE, .latency = true, .before = 4 },
    { .name = "read_bw", .verb = READ, .before = 3, .end_address = true, .end_reports = true },
    { .name = "read_lat", .verb = READ, .latency = true, .before = 4, .end_address = true },
};

/* One connection, and how many of its requests have completed that no call has waited for yet. */
enum request { RECEIVED, POSTED };
struct link {
    struct consumer c;
    struct consumer_region region;
    unsigned ready[2];
    uint32_t length; /* of received messages */
};

struct peer {
    const struct test *test;
    bool server;
    uint16_t port;
    uint32_t size, iterations, rx_depth;
    struct link control, data;
    struct consumer_region credit; /* two words: the numbers of messages that the peer and this end have received */
    uint64_t remote_address;
    uint32_t remote_token;
    double seconds;
};

static void fail(const char *what, NTSTATUS status)
{
    printf("failed: %s: %s\n", what, ondk_status_name(status));
    exit(1);
}

static void need(const char *what, NTSTATUS status)
{
    if (!NT_SUCCESS(status))
        fail(what, status);
}

static void need_true(const char *what, bool true_it_is)
{
    if (!true_it_is) {
        printf("failed: %s\n", what);
        exit(1);
    }
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- requests ---- */

static void link_count_result(struct link *l)
{
    NDK_RESULT_EX result;
    enum request which;

    need_true("a completion in time", consumer_next_result(&l->c, &result, STEP_SECONDS));
    need("a request's completion", result.Status);
    which = (enum request)(uintptr_t)result.RequestContext;
    if (which == RECEIVED && l->length) /* all messages in flight have the same length */
        need_true("the length received", result.BytesTransferred == l->length);
    l->ready[which]++;
}

static void wait_for(struct link *l, enum request which)
{
    while (!l->ready[which])
        link_count_result(l);
    l->ready[which]--;
}

static void post_receive(struct link *l, uint32_t size)
{
    NDK_SGE sge = consumer_region_sge(&l->region, 0, size);

    need("NdkReceive", l->c.qp->Dispatch->NdkReceive(l->c.qp, (PVOID)RECEIVED, &sge, 1));
}

static void post_send(struct link *l, uint32_t offset, uint32_t size)
{
    NDK_SGE sge = consumer_region_sge(&l->region, offset, size);

    need("NdkSend", l->c.qp->Dispatch->NdkSend(l->c.qp, (PVOID)POSTED, &sge, 1, 0));
}

static void post_write(struct peer *p, NDK_SGE sge)
{
    NDK_QP *qp = p->data.c.qp;

    need("NdkWrite", qp->Dispatch->NdkWrite(qp, (PVOID)POSTED, &sge, 1, p->remote_address, p->remote_token, 0));
}

static void post_read(struct peer *p)
{
    NDK_SGE sge = consumer_region_sge(&p->data.region, 0, p->size);
    NDK_QP *qp = p->data.c.qp;

    need("NdkRead", qp->Dispatch->NdkRead(qp, (PVOID)POSTED, &sge, 1, p->remote_address, p->remote_token, 0));
}

/* ---- the control connection: the client speaks first, the server answers with as many bytes ---- */

static void speak(struct link *l, const void *mine, uint32_t size)
{
    memcpy(l->region.memory + CONTROL_SIZE, mine, size);
    post_send(l, CONTROL_SIZE, size);
    wait_for(l, POSTED);
}

static void listen_to(struct link *l, void *theirs, uint32_t size)
{
    wait_for(l, RECEIVED);
    memcpy(theirs, l->region.memory, size);
    post_receive(l, CONTROL_SIZE);
}

static void exchange(struct peer *p, const void *mine, void *theirs, uint32_t size)
{
    p->control.length = size;
    if (!p->server)
        speak(&p->control, mine, size);
    listen_to(&p->control, theirs, size);
    if (p->server)
        speak(&p->control, mine, size);
}

/* Exchanges the addresses of the memory. The message is big-endian and has fields for other transports. */
static void exchange_addresses(struct peer *p)
{
    bool credits = p->test->verb == SEND && !p->test->latency;
    const struct consumer_region *r = credits ? &p->credit : &p->data.region;
    uint8_t mine[ADDRESS_SIZE] = { 0 }, theirs[ADDRESS_SIZE];
    uint32_t token = htobe32(r->remote_token);
    uint64_t address = htobe64((uint64_t)(uintptr_t)r->memory);

    memcpy(mine + 16, &token, sizeof token);
    memcpy(mine + 24, &address, sizeof address);
    exchange(p, mine, theirs, sizeof mine);
    memcpy(&token, theirs + 16, sizeof token);
    memcpy(&address, theirs + 24, sizeof address);
    p->remote_token = be32toh(token);
    p->remote_address = be64toh(address);
}

/* Exchanges version, spread of the messages, cache line size and MTU. */
static void exchange_settings(struct peer *p)
{
    char mine[16] = "5.96", theirs[16], mtu[2];
    uint32_t word = htobe32(SPREAD), other;

    exchange(p, mine, theirs, sizeof mine);
    theirs[sizeof theirs - 1] = 0;
    printf("peer-version=%s\n", theirs);
    exchange(p, &word, &other, sizeof word);
    need_true("a spread that we have room for", be32toh(other) <= SPREAD);
    word = htobe32(64);
    exchange(p, &word, &other, sizeof word);
    exchange(p, "3", mtu, sizeof mtu); /* 1,024 bytes; iWARP has no such MTU */
}

static uint64_t report_double(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return htobe64(bits);
}

/* Exchanges size, iterations, peak and average in MiB/s, and millions of messages per second, eight bytes each. */
static void exchange_reports(struct peer *p)
{
    double rate = p->seconds > 0 ? p->iterations / p->seconds : 0;
    uint64_t mine[5] = { htobe64(p->size), htobe64(p->iterations), 0, 0, 0 }, theirs[5];

    mine[3] = report_double(rate * p->size / (1 << 20));
    mine[4] = report_double(rate / 1e6);
    for (int i = 0; i < 5; i++)
        exchange(p, &mine[i], &theirs[i], sizeof mine[i]);
    if (p->server) {
        need_true("the peer's report of the size", be64toh(theirs[0]) == p->size);
        need_true("the peer's report of the iterations", be64toh(theirs[1]) == p->iterations);
    }
}

/* ---- the data ---- */

/* Waits until the receiver, which writes its count of receives into this end's memory, allows the next send. */
static void wait_for_credit(struct peer *p, uint32_t sent)
{
    const uint32_t *count = (const uint32_t *)(void *)p->credit.memory;
    double until = now() + STEP_SECONDS;

    while (sent + 1 - __atomic_load_n(count, __ATOMIC_ACQUIRE) >= p->rx_depth) {
        need_true("credit in time", now() < until);
        usleep(100);
    }
}

static void send_all(struct peer *p)
{
    uint32_t completed = 0;

    for (uint32_t sent = 0; sent < p->iterations; sent++) {
        wait_for_credit(p, sent);
        if (sent - completed == WINDOW) {
            wait_for(&p->data, POSTED);
            completed++;
        }
        post_send(&p->data, MAX_SIZE, p->size);
    }
    for (; completed < p->iterations; completed++)
        wait_for(&p->data, POSTED);
}

static void receive_all(struct peer *p)
{
    uint32_t *count = (uint32_t *)(void *)p->credit.memory + 1, credits = 0;

    for (uint32_t received = 1; received <= p->iterations; received++) {
        wait_for(&p->data, RECEIVED);
        if (received + p->rx_depth <= p->iterations)
            post_receive(&p->data, p->size);
        if (received % p->rx_depth % (p->rx_depth / 3))
            continue;
        for (; credits; credits--) /* the last count was sent, so it may change */
            wait_for(&p->data, POSTED);
        *count = received;
        post_write(p, consumer_region_sge(&p->credit, sizeof *count, sizeof *count));
        credits++;
    }
    for (; credits; credits--)
        wait_for(&p->data, POSTED);
}

/* Sends there and back, one message at a time. */
static void send_in_turn(struct peer *p)
{
    for (uint32_t i = 0; i < p->iterations; i++) {
        if (!p->server)
            post_send(&p->data, MAX_SIZE, p->size);
        wait_for(&p->data, RECEIVED);
        if (i + p->rx_depth < p->iterations)
            post_receive(&p->data, p->size);
        if (p->server)
            post_send(&p->data, MAX_SIZE, p->size);
        wait_for(&p->data, POSTED);
    }
}

static void write_all(struct peer *p)
{
    uint32_t completed = 0;

    for (uint32_t posted = 0; posted < p->iterations; posted++) {
        if (posted - completed == WINDOW) {
            wait_for(&p->data, POSTED);
            completed++;
        }
        post_write(p, consumer_region_sge(&p->data.region, MAX_SIZE, p->size));
    }
    for (; completed < p->iterations; completed++)
        wait_for(&p->data, POSTED);
}

/* Waits for the peer's write, whose last byte is its number. */
static void wait_for_write(struct peer *p, uint32_t number)
{
    const uint8_t *last = p->data.region.memory + p->size - 1;
    double until = now() + STEP_SECONDS;

    while (__atomic_load_n(last, __ATOMIC_ACQUIRE) != (uint8_t)number) {
        need_true("the peer's write in time", now() < until);
        sched_yield();
    }
}

/* Writes there and back; the server begins. */
static void write_in_turn(struct peer *p)
{
    for (uint32_t i = 1; i <= p->iterations; i++) {
        if (!p->server)
            wait_for_write(p, i);
        p->data.region.memory[MAX_SIZE + p->size - 1] = (uint8_t)i;
        post_write(p, consumer_region_sge(&p->data.region, MAX_SIZE, p->size));
        wait_for(&p->data, POSTED);
        if (p->server)
            wait_for_write(p, i);
    }
}

/* The data is not known in advance, but each read must return the same. */
static void check_read(struct peer *p, uint32_t number)
{
    uint8_t *first = p->data.region.memory + MAX_SIZE;

    if (!number)
        memcpy(first, p->data.region.memory, p->size);
    need_true("the same bytes in each read", !memcmp(first, p->data.region.memory, p->size));
}

static void read_all(struct peer *p)
{
    uint32_t window = p->test->latency ? 1 : WINDOW, posted = 0;

    for (uint32_t completed = 0; completed < p->iterations; completed++) {
        while (posted < p->iterations && posted - completed < window) {
            if (window == 1)
                memset(p->data.region.memory, 0xee, p->size);
            post_read(p);
            posted++;
        }
        wait_for(&p->data, POSTED);
        if (window == 1)
            check_read(p, completed);
    }
}

static void carry_data(struct peer *p)
{
    bool active = !p->server;

    if (p->test->verb == SEND)
        p->test->latency ? send_in_turn(p) : active ? send_all(p) : receive_all(p);
    else if (p->test->verb == WRITE && p->test->latency)
        write_in_turn(p);
    else if (active) /* the server of the other tests is passive */
        p->test->verb == WRITE ? write_all(p) : read_all(p);
}

/* ---- the two connections ---- */

static struct sockaddr_in loopback(uint16_t port)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

static void connect_link(struct peer *p, struct link *l)
{
    struct sockaddr_in from = loopback(0), to = loopback(p->port);
    NTSTATUS status = STATUS_CONNECTION_REFUSED;

    for (int i = 0; i < CONNECT_TRIES && !NT_SUCCESS(status); i++) {
        if (i)
            usleep(TRY_MS * 1000);
        status = consumer_connect(&l->c, (struct sockaddr *)&from, (struct sockaddr *)&to,
                                  (struct consumer_limits){ 16, 16 }, NULL, 0);
    }
    need("NdkConnect", status);
    need("NdkCompleteConnect", consumer_complete_connect(&l->c));
}

static void accept_link(struct peer *p, struct link *l)
{
    l->c.connector = consumer_next_request(&p->control.c, STEP_SECONDS);
    need_true("a connect request in time", l->c.connector);
    need("NdkAccept", consumer_accept(&l->c, (struct consumer_limits){ 16, 16 }, NULL, 0));
}

static void open_links(struct peer *p)
{
    struct sockaddr_in at = loopback(p->port);
    const char *what;
    NTSTATUS status = consumer_open(&p->control.c, if_nametoindex("lo"), &what);

    need(what, status);
    status = consumer_open_on_adapter(&p->data.c, &p->control.c, &what);
    need(what, status);
    need("the control region",
         consumer_region_create(&p->control.region, p->control.c.pd, 2 * CONTROL_SIZE, CONSUMER_ALL_RIGHTS));
    need("the data region", consumer_region_create(&p->data.region, p->data.c.pd, 2 * MAX_SIZE, CONSUMER_ALL_RIGHTS));
    need("the credit region",
         consumer_region_create(&p->credit, p->data.c.pd, 2 * sizeof(uint32_t), CONSUMER_ALL_RIGHTS));
    post_receive(&p->control, CONTROL_SIZE);
    p->data.length = p->size;
    for (uint32_t i = 0; p->test->verb == SEND && i < p->rx_depth; i++)
        post_receive(&p->data, p->size);
    if (p->server)
        need("NdkListen", consumer_listen(&p->control.c, (struct sockaddr *)&at));
}

static void make_link(struct peer *p, struct link *l)
{
    if (p->server)
        accept_link(p, l);
    else
        connect_link(p, l);
}

/*
 * Waits for the peer's disconnect before it disconnects, because a tool fails if the connection ends while it waits for
 * its last completion.
 */
static void link_disconnect(struct link *l)
{
    need_true("the peer's disconnect in time", consumer_wait_disconnect(&l->c, STEP_SECONDS));
    (void)consumer_disconnect(&l->c); /* the tool may reset the connection instead of answering */
}

static void run(struct peer *p)
{
    double start;

    open_links(p);
    make_link(p, &p->control);
    exchange_settings(p);
    exchange_addresses(p);
    make_link(p, &p->data);
    exchange_addresses(p);
    for (unsigned i = 0; i < p->test->before; i++)
        exchange_addresses(p);
    start = now();
    carry_data(p);
    p->seconds = now() - start;
    if (p->test->end_reports) {
        exchange_addresses(p);
        exchange_reports(p);
    }
    if (p->test->end_address)
        exchange_addresses(p);
    link_disconnect(&p->data);
    link_disconnect(&p->control);
    consumer_region_destroy(&p->credit);
    consumer_region_destroy(&p->data.region);
    consumer_region_destroy(&p->control.region);
    consumer_close(&p->data.c);
    consumer_close(&p->control.c);
}

static void usage(void)
{
    fputs("usage: ndk_perftest server|client PORT send_bw|send_lat|write_bw|write_lat|read_bw|read_lat\n"
          "  --size N          bytes of each message, 1 to 1048576 (4096)\n"
          "  --iterations N    how many messages (100)\n"
          "  --rx-depth N      receives posted, 3 to 60, the same at both sides (48)\n"
          "  --crc on|off      ask for CRC (on)\n",
          stderr);
    exit(2);
}

static uint32_t number(const char *text, uint32_t min, uint32_t max)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || value < min || value > max)
        usage();
    return (uint32_t)value;
}

/* CRC is off only if the peer does not request it either; siw as initiator accepts this end's choice. */
static void set_crc(bool on)
{
    ondk_config_t config;

    ondk_config_init(&config);
    config.crc = on;
    need_true("ondk_configure", ondk_configure(&config) == 0);
}

static void parse(struct peer *p, int argc, char **argv)
{
    static const struct option names[] = {
        { "size", required_argument, NULL, 's' },
        { "iterations", required_argument, NULL, 'n' },
        { "rx-depth", required_argument, NULL, 'r' },
        { "crc", required_argument, NULL, 'c' },
        { NULL, 0, NULL, 0 },
    };
    int which;

    while ((which = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (which == 's')
            p->size = number(optarg, 1, MAX_SIZE);
        else if (which == 'n')
            p->iterations = number(optarg, 1, 1000000);
        else if (which == 'r')
            p->rx_depth = number(optarg, 3, MAX_RX_DEPTH);
        else if (which == 'c' && (!strcmp(optarg, "on") || !strcmp(optarg, "off")))
            set_crc(!strcmp(optarg, "on"));
        else
            usage();
    }
    if (argc - optind != 3 || (strcmp(argv[optind], "server") && strcmp(argv[optind], "client")))
        usage();
    p->server = !strcmp(argv[optind], "server");
    p->port = (uint16_t)number(argv[optind + 1], 1, UINT16_MAX);
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        if (!strcmp(argv[optind + 2], tests[i].name))
            p->test = &tests[i];
    if (!p->test)
        usage();
}

int main(int argc, char **argv)
{
    static struct peer p = { .size = 4096, .iterations = 100, .rx_depth = 48 };

    parse(&p, argc, argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    run(&p);
    printf("test=%s role=%s size=%u iterations=%u\ncompletes\n", p.test->name, p.server ? "server" : "client", p.size,
           p.iterations);
    return 0;
}
