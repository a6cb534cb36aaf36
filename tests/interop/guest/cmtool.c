/* SPDX-License-Identifier: MIT */
/*
 * cmtool: one rdma_cm connection, seen from both roles, for the interop tests.
 *
 *     cmtool server PORT [options]        cmtool client HOST PORT [options]
 *
 * It tests what rping cannot: private data both ways, rejects, chosen read limits. It prints one line for each event,
 * `event=NAME key=value ...`; the last line is `result=ok` or `result=failed reason=...`. Exit status 0, 1, or 2
 * (usage).
 *
 * With --iterations the connection carries data in rping's protocol, so that rping or ndkping can be at the other end.
 * Every message is a Send of 16 bytes, big-endian: address (8), STag (4), length (4). For each iteration:
 *     client: message that names its source buffer     server: RDMA Read of it, then a message of 16 zero bytes
 *     client: message that names its sink buffer       server: RDMA Write of what it read, then a message of zeros
 *     client: compares the two buffers
 * The client then disconnects. The server disconnects if it has --iterations; otherwise it waits for the client.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <getopt.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PRIVATE = 255, MAX_DATA = 1 << 20, RESOLVE_MS = 5000, POLL_MS = 1 };

struct options {
    bool server;
    bool reject;
    const char *host;
    uint16_t port;
    uint8_t private_data[MAX_PRIVATE];
    uint8_t private_len;
    uint8_t ird;
    uint8_t ord;
    uint32_t iterations;
    uint32_t size;
    uint32_t timeout;
};

struct message {
    uint64_t addr;
    uint32_t stag;
    uint32_t len;
} __attribute__((packed));

struct connection {
    const struct options *opt;
    struct rdma_event_channel *channel;
    struct rdma_cm_id *id;
    struct message *out;
    struct message *in;
    uint8_t *source;
    uint8_t *sink;
    struct ibv_mr *out_mr;
    struct ibv_mr *in_mr;
    struct ibv_mr *source_mr;
    struct ibv_mr *sink_mr;
    bool ended;
};

static void fail(const char *reason)
{
    printf("result=failed reason=%s errno=%d\n", reason, errno);
    exit(1);
}

static void on_alarm(int sig)
{
    static const char line[] = "result=failed reason=timeout\n";

    (void)sig;
    if (write(STDOUT_FILENO, line, sizeof(line) - 1) < 0)
        _exit(3);
    _exit(1);
}

static void print_hex(const char *key, const void *data, size_t len)
{
    const uint8_t *byte = data;

    printf(" %s=", key);
    for (size_t i = 0; i < len; i++)
        printf("%02x", byte[i]);
}

static void print_event(const struct rdma_cm_event *event)
{
    const struct rdma_conn_param *conn = &event->param.conn;

    printf("event=%s status=%d", rdma_event_str(event->event), event->status);
    switch (event->event) {
    case RDMA_CM_EVENT_CONNECT_REQUEST:
    case RDMA_CM_EVENT_ESTABLISHED:
    case RDMA_CM_EVENT_REJECTED:
        printf(" responder-resources=%u initiator-depth=%u private-length=%u", conn->responder_resources,
               conn->initiator_depth, conn->private_data_len);
        print_hex("private", conn->private_data, conn->private_data ? conn->private_data_len : 0);
        break;
    default:
        break;
    }
    printf("\n");
}

/* Gets one event. The identifier of a connect request remains valid after the event. */
static enum rdma_cm_event_type get_event(struct connection *conn, struct rdma_cm_id **request)
{
    struct rdma_cm_event *event;
    enum rdma_cm_event_type type;

    if (rdma_get_cm_event(conn->channel, &event))
        fail("get-event");
    print_event(event);
    type = event->event;
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST && request)
        *request = event->id;
    if (type == RDMA_CM_EVENT_DISCONNECTED)
        conn->ended = true;
    rdma_ack_cm_event(event);
    return type;
}

static void expect_event(struct connection *conn, enum rdma_cm_event_type want)
{
    if (get_event(conn, NULL) != want)
        fail("unexpected-event");
}

static const char *work_name(enum ibv_wc_opcode opcode)
{
    switch (opcode) {
    case IBV_WC_SEND:
        return "send";
    case IBV_WC_RECV:
        return "receive";
    case IBV_WC_RDMA_READ:
        return "read";
    case IBV_WC_RDMA_WRITE:
        return "write";
    default:
        return "other";
    }
}

/* Waits for the next completion of one queue. Returns false if the connection ends before it. */
static bool wait_completion(struct connection *conn, struct ibv_cq *cq)
{
    struct ibv_wc wc;
    struct pollfd fd = { .fd = conn->channel->fd, .events = POLLIN };

    while (!conn->ended) {
        int n = ibv_poll_cq(cq, 1, &wc);
        if (n < 0)
            fail("poll-cq");
        if (n == 1 && wc.status == IBV_WC_SUCCESS) {
            printf("event=%s", work_name(wc.opcode));
            if (wc.opcode == IBV_WC_RECV)
                printf(" bytes=%u", wc.byte_len);
            printf("\n");
            if (wc.opcode == IBV_WC_RECV && wc.byte_len != sizeof(struct message))
                fail("message-length");
            return true;
        }
        if (n == 1) {
            printf("event=flushed completion=%s\n", ibv_wc_status_str(wc.status));
            expect_event(conn, RDMA_CM_EVENT_DISCONNECTED);
        } else if (poll(&fd, 1, POLL_MS) > 0) {
            expect_event(conn, RDMA_CM_EVENT_DISCONNECTED);
        }
    }
    return false;
}

static void *buffer(struct connection *conn, size_t size, int access, struct ibv_mr **mr)
{
    void *memory = calloc(1, size);

    *mr = memory ? ibv_reg_mr(conn->id->pd, memory, size, access) : NULL;
    if (!*mr)
        fail("register-memory");
    return memory;
}

static void post_receive(struct connection *conn)
{
    if (rdma_post_recv(conn->id, NULL, conn->in, sizeof(*conn->in), conn->in_mr))
        fail("post-receive");
}

static void make_resources(struct connection *conn)
{
    struct ibv_qp_init_attr attr = {
        .cap = { .max_send_wr = 8, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
    };
    /* An iWARP Read Response is a tagged message, so its sink needs the right of remote writes. */
    int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

    if (rdma_create_qp(conn->id, NULL, &attr))
        fail("create-qp");
    conn->out = buffer(conn, sizeof(*conn->out), IBV_ACCESS_LOCAL_WRITE, &conn->out_mr);
    conn->in = buffer(conn, sizeof(*conn->in), IBV_ACCESS_LOCAL_WRITE, &conn->in_mr);
    conn->source = buffer(conn, MAX_DATA, access, &conn->source_mr);
    conn->sink = buffer(conn, MAX_DATA, access, &conn->sink_mr);
    post_receive(conn);
}

static struct rdma_conn_param connect_parameters(const struct options *opt)
{
    struct rdma_conn_param param = {
        .private_data = opt->private_len ? opt->private_data : NULL,
        .private_data_len = opt->private_len,
        .responder_resources = opt->ird,
        .initiator_depth = opt->ord,
    };
    return param;
}

static void print_read_limits(struct connection *conn)
{
    struct ibv_qp_attr attr = { 0 };
    struct ibv_qp_init_attr init;

    if (ibv_query_qp(conn->id->qp, &attr, IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC, &init))
        fail("query-qp");
    printf("event=read-limits max-rd-atomic=%u max-dest-rd-atomic=%u\n", attr.max_rd_atomic, attr.max_dest_rd_atomic);
}

static bool send_message(struct connection *conn, const void *addr, const struct ibv_mr *mr, uint32_t len)
{
    conn->out->addr = htobe64((uint64_t)(uintptr_t)addr);
    conn->out->stag = mr ? htobe32(mr->rkey) : 0;
    conn->out->len = htobe32(len);
    if (rdma_post_send(conn->id, NULL, conn->out, sizeof(*conn->out), conn->out_mr, 0))
        fail("post-send");
    return wait_completion(conn, conn->id->send_cq);
}

/* Waits for the peer's next message, copies it, and posts the buffer again. */
static bool receive_message(struct connection *conn, struct message *into)
{
    if (!wait_completion(conn, conn->id->recv_cq))
        return false;
    into->addr = be64toh(conn->in->addr);
    into->stag = be32toh(conn->in->stag);
    into->len = be32toh(conn->in->len);
    post_receive(conn);
    return true;
}

static bool client_iteration(struct connection *conn, uint32_t iteration)
{
    struct message answer;
    uint32_t size = conn->opt->size;

    for (uint32_t i = 0; i < size; i++)
        conn->source[i] = (uint8_t)('A' + (iteration + i) % 57);
    memset(conn->sink, 0, size);
    if (!send_message(conn, conn->source, conn->source_mr, size) || !receive_message(conn, &answer) ||
        !send_message(conn, conn->sink, conn->sink_mr, size) || !receive_message(conn, &answer))
        return false;
    if (memcmp(conn->source, conn->sink, size))
        fail("data-differs");
    printf("event=verified iteration=%u bytes=%u\n", iteration, size);
    return true;
}

static bool server_iteration(struct connection *conn, uint32_t iteration)
{
    struct message source, sink;

    if (!receive_message(conn, &source))
        return false;
    if (source.len > MAX_DATA)
        fail("source-too-long");
    if (rdma_post_read(conn->id, NULL, conn->sink, source.len, conn->sink_mr, 0, source.addr, source.stag))
        fail("post-read");
    if (!wait_completion(conn, conn->id->send_cq))
        return false;
    printf("event=data iteration=%u bytes=%u", iteration, source.len);
    print_hex("head", conn->sink, source.len < 16 ? source.len : 16);
    printf("\n");
    if (!send_message(conn, NULL, NULL, 0) || !receive_message(conn, &sink))
        return false;
    if (sink.len != source.len)
        fail("sink-length");
    if (rdma_post_write(conn->id, NULL, conn->sink, sink.len, conn->sink_mr, 0, sink.addr, sink.stag))
        fail("post-write");
    return wait_completion(conn, conn->id->send_cq) && send_message(conn, NULL, NULL, 0);
}

/* The side that is done first disconnects, and the other one answers. */
static void carry_data_and_end(struct connection *conn)
{
    const struct options *opt = conn->opt;
    uint32_t done = 0;

    print_read_limits(conn);
    if (opt->server) {
        while ((!opt->iterations || done < opt->iterations) && server_iteration(conn, done))
            done++;
    } else {
        while (done < opt->iterations && client_iteration(conn, done))
            done++;
    }
    printf("event=iterations count=%u\n", done);
    if (done < opt->iterations)
        fail("ended-early");
    if (rdma_disconnect(conn->id) && !conn->ended)
        fail("disconnect");
    if (!conn->ended)
        expect_event(conn, RDMA_CM_EVENT_DISCONNECTED);
}

static void run_client(struct connection *conn)
{
    const struct options *opt = conn->opt;
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(opt->port) };
    struct rdma_conn_param param = connect_parameters(opt);
    enum rdma_cm_event_type type;

    if (inet_pton(AF_INET, opt->host, &to.sin_addr) != 1)
        fail("host");
    if (rdma_create_id(conn->channel, &conn->id, NULL, RDMA_PS_TCP))
        fail("create-id");
    if (rdma_resolve_addr(conn->id, NULL, (struct sockaddr *)&to, RESOLVE_MS))
        fail("resolve-address");
    expect_event(conn, RDMA_CM_EVENT_ADDR_RESOLVED);
    if (rdma_resolve_route(conn->id, RESOLVE_MS))
        fail("resolve-route");
    expect_event(conn, RDMA_CM_EVENT_ROUTE_RESOLVED);
    make_resources(conn);
    if (rdma_connect(conn->id, &param))
        fail("connect");
    type = get_event(conn, NULL);
    if (type != RDMA_CM_EVENT_ESTABLISHED)
        fail(type == RDMA_CM_EVENT_REJECTED ? "rejected" : "not-established");
    carry_data_and_end(conn);
}

static void run_server(struct connection *conn)
{
    const struct options *opt = conn->opt;
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(opt->port) };
    struct rdma_conn_param param = connect_parameters(opt);
    struct rdma_cm_id *listener;

    if (rdma_create_id(conn->channel, &listener, NULL, RDMA_PS_TCP))
        fail("create-id");
    if (rdma_bind_addr(listener, (struct sockaddr *)&at) || rdma_listen(listener, 8))
        fail("listen");
    printf("event=listening port=%u\n", opt->port);
    if (get_event(conn, &conn->id) != RDMA_CM_EVENT_CONNECT_REQUEST)
        fail("unexpected-event");
    if (opt->reject) {
        if (rdma_reject(conn->id, param.private_data, param.private_data_len))
            fail("reject");
        printf("event=reject-sent private-length=%u\n", param.private_data_len);
    } else {
        make_resources(conn);
        if (rdma_accept(conn->id, &param))
            fail("accept");
        expect_event(conn, RDMA_CM_EVENT_ESTABLISHED);
        carry_data_and_end(conn);
        rdma_destroy_qp(conn->id);
    }
    rdma_destroy_id(conn->id);
    rdma_destroy_id(listener);
}

static void usage(void)
{
    fputs("usage: cmtool server PORT | client HOST PORT\n"
          "  --private-data HEX    private data of the request, the accept or the reject (at most 255 bytes)\n"
          "  --private-size N      the same: N bytes 00 01 02 ...\n"
          "  --reject              server: reject\n"
          "  --ird N --ord N       responder resources and initiator depth (1, 1)\n"
          "  --iterations N        rounds of data (client: 0; server: until the client disconnects)\n"
          "  --size N              bytes of each round (64)\n"
          "  --timeout SECS        gives up (20)\n",
          stderr);
    exit(2);
}

static uint32_t number(const char *text, uint32_t max)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || value > max)
        usage();
    return (uint32_t)value;
}

static void parse_hex(struct options *opt, const char *text)
{
    size_t len = strlen(text) / 2;

    if (strlen(text) % 2 || len > MAX_PRIVATE || strspn(text, "0123456789abcdefABCDEF") != 2 * len)
        usage();
    for (size_t i = 0; i < len; i++)
        if (sscanf(text + 2 * i, "%2hhx", &opt->private_data[i]) != 1)
            usage();
    opt->private_len = (uint8_t)len;
}

static void count_private(struct options *opt, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++)
        opt->private_data[i] = (uint8_t)i;
    opt->private_len = (uint8_t)len;
}

static void parse_option(struct options *opt, int which)
{
    switch (which) {
    case 'p':
        parse_hex(opt, optarg);
        break;
    case 'P':
        count_private(opt, number(optarg, MAX_PRIVATE));
        break;
    case 'r':
        opt->reject = true;
        break;
    case 'i':
        opt->ird = (uint8_t)number(optarg, UINT8_MAX);
        break;
    case 'o':
        opt->ord = (uint8_t)number(optarg, UINT8_MAX);
        break;
    case 'n':
        opt->iterations = number(optarg, UINT32_MAX);
        break;
    case 's':
        opt->size = number(optarg, MAX_DATA);
        break;
    case 't':
        opt->timeout = number(optarg, 3600);
        break;
    default:
        usage();
    }
}

static void parse(struct options *opt, int argc, char **argv)
{
    static const struct option names[] = {
        { "private-data", required_argument, NULL, 'p' },
        { "private-size", required_argument, NULL, 'P' },
        { "reject", no_argument, NULL, 'r' },
        { "ird", required_argument, NULL, 'i' },
        { "ord", required_argument, NULL, 'o' },
        { "iterations", required_argument, NULL, 'n' },
        { "size", required_argument, NULL, 's' },
        { "timeout", required_argument, NULL, 't' },
        { NULL, 0, NULL, 0 },
    };
    int which;

    while ((which = getopt_long(argc, argv, "", names, NULL)) != -1)
        parse_option(opt, which);
    argc -= optind;
    argv += optind;
    if (argc == 2 && !strcmp(argv[0], "server"))
        opt->server = true;
    else if (argc == 3 && !strcmp(argv[0], "client") && !opt->reject)
        opt->host = argv[1];
    else
        usage();
    opt->port = (uint16_t)number(argv[argc - 1], UINT16_MAX);
}

int main(int argc, char **argv)
{
    struct options opt = { .ird = 1, .ord = 1, .size = 64, .timeout = 20 };
    struct connection conn = { .opt = &opt };

    parse(&opt, argc, argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGALRM, on_alarm);
    alarm(opt.timeout);
    conn.channel = rdma_create_event_channel();
    if (!conn.channel)
        fail("event-channel");
    if (opt.server)
        run_server(&conn);
    else
        run_client(&conn);
    printf("result=ok\n");
    return 0;
}
