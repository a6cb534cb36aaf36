/* SPDX-License-Identifier: MIT */
/*
 * exchange server PORT CASE | exchange client HOST PORT CASE [--crc on|off] [--empty]
 *
 * The client executes the case on the server's memory. It first sends a note, and the server answers with a note that
 * offers memory. The data is a pattern that both sides compute, and the receiver of each piece answers with its sum.
 * Cases that must fail print the result of each request, and then the connection's end, on both sides. The README lists
 * the cases.
 */
#include "exchange.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_DATA = 1 << 20,
    SLOTS = 4,  /* receives posted, each for a message of up to MAX_DATA bytes */
    SPARE = 64, /* memory before and behind the written range */
    SHORT = 64,
    BURSTS = 8,  /* each of SLOTS sends */
    FLIGHT = 32, /* reads posted at once */
    FLIGHT_SIZE = 16384,
    NO_SUCH = 0x515100, /* changes a token to an invalid one */
    UNTOUCHED = 0xa5,
    PAUSE_MS = 200,
};

/* Sizes with padding fit into one segment, because siw fails if a segment begins with the CRC of a padded FPDU. */
static const uint32_t sizes[] = {
    0, 1, 2, 3, 4, 5, 7, 8, 63, 1000, 1401, 1448, 1460, 4096, 8188, 65532, 65536, 65540, 262144, 1000004, MAX_DATA,
};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

enum note_kind { NOTE_HELLO, NOTE_OFFER, NOTE_CHECK, NOTE_SUM, NOTE_END };

/* Both machines have the same byte order. */
struct note {
    uint32_t kind, seed, offset, len, sum, token;
    uint64_t address;
};

static struct area work, inbox, offered;
static struct note offer;
static unsigned done[OP_COUNT];
static struct outcome received[SIDE_RECEIVES];
static unsigned received_first, received_count;
static bool posts_once; /* completed receives are not posted again */
static bool empty_reads;

void exchange_fail(const char *reason)
{
    printf("result=failed reason=%s errno=%d\n", reason, errno);
    exit(1);
}

/* ---- data ---- */

static uint8_t pattern(uint32_t seed, uint32_t at)
{
    return (uint8_t)(seed * 37 + at + (at >> 8) * 11 + (at >> 16) * 5);
}

static void fill(uint8_t *to, uint32_t len, uint32_t seed, uint32_t from)
{
    for (uint32_t i = 0; i < len; i++)
        to[i] = pattern(seed, from + i);
}

static bool is_pattern(const uint8_t *data, uint32_t len, uint32_t seed, uint32_t from)
{
    for (uint32_t i = 0; i < len; i++)
        if (data[i] != pattern(seed, from + i))
            return false;
    return true;
}

static bool is_untouched(const uint8_t *data, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++)
        if (data[i] != UNTOUCHED)
            return false;
    return true;
}

static uint32_t sum_of(const uint8_t *data, uint32_t len)
{
    uint32_t sum = 2166136261u;

    for (uint32_t i = 0; i < len; i++)
        sum = (sum ^ data[i]) * 16777619u;
    return sum;
}

/* ---- requests ---- */

static void post(enum op op, uint32_t offset, uint32_t len, uint64_t address, uint32_t token)
{
    struct request r = {
        .op = op, .area = &work, .offset = offset, .len = len, .remote_address = address, .remote_token = token
    };

    side_post(&r);
}

static void post_slot(uint32_t slot)
{
    struct request r = { .op = OP_RECEIVE, .id = slot, .area = &inbox, .offset = slot * MAX_DATA, .len = MAX_DATA };

    side_post(&r);
}

static void wait_outcome(void)
{
    struct outcome o;

    if (!side_wait(&o))
        exchange_fail("no-completion");
    if (!o.good) {
        printf("completion=%d status=%s\n", o.op, o.status);
        exchange_fail("completion-status");
    }
    if (o.op == OP_RECEIVE)
        received[(received_first + received_count++) % SIDE_RECEIVES] = o;
    else
        done[o.op]++;
}

static void wait_done(enum op op)
{
    while (!done[op])
        wait_outcome();
    done[op]--;
}

static struct outcome wait_received(void)
{
    while (!received_count)
        wait_outcome();
    received_count--;
    return received[received_first++ % SIDE_RECEIVES];
}

static void reuse(const struct outcome *o)
{
    if (!posts_once)
        post_slot(o->id);
}

/* Notes are sent from the end of the work area. */
static void send_note(enum op op, struct note note, uint32_t token)
{
    memcpy(work.memory + work.len - sizeof note, &note, sizeof note);
    post(op, work.len - (uint32_t)sizeof note, sizeof note, 0, token);
    wait_done(op);
}

static struct note receive_note(void)
{
    struct outcome o = wait_received();
    struct note note;

    if (o.bytes != sizeof note)
        exchange_fail("note-length");
    memcpy(&note, inbox.memory + o.id * MAX_DATA, sizeof note);
    if (o.invalidated)
        printf("received-invalidated=%s\n", o.token == offer.token ? "offered" : "other");
    reuse(&o);
    return note;
}

static void expect_sum(uint32_t sum)
{
    struct note note = receive_note();

    if (note.kind != NOTE_SUM || note.sum != sum)
        exchange_fail("sum-differs");
}

static void send_sum(uint32_t sum)
{
    send_note(OP_SEND, (struct note){ .kind = NOTE_SUM, .sum = sum }, 0);
}

/* ---- cases that work ---- */

static void write_with_note(uint32_t seed, uint32_t offset, uint32_t len, enum op op)
{
    struct note note = { .kind = NOTE_CHECK, .seed = seed, .offset = offset, .len = len };

    fill(work.memory, len, seed, 0);
    post(OP_WRITE, 0, len, offer.address + offset, offer.token);
    send_note(op, note, offer.token);
    wait_done(OP_WRITE);
    expect_sum(sum_of(work.memory, len));
}

static void check_written(const struct note *n)
{
    uint8_t *at = offered.memory + n->offset;
    uint32_t sum = sum_of(at, n->len);

    if (!is_pattern(at, n->len, n->seed, 0))
        exchange_fail("written-data-differs");
    if (!is_untouched(at - SPARE, SPARE) || !is_untouched(at + n->len, SPARE))
        exchange_fail("written-beyond");
    memset(at, UNTOUCHED, n->len);
    send_sum(sum); /* now the client may send the next one */
}

static void client_write(void)
{
    for (uint32_t i = 0; i < SIZES; i++)
        write_with_note(i + 1, SPARE + i, sizes[i], OP_SEND);
    send_note(OP_SEND, (struct note){ .kind = NOTE_END }, 0);
    printf("written=%u largest=%u\n", SIZES, MAX_DATA);
}

static void server_check(void)
{
    struct note note = receive_note();

    for (; note.kind == NOTE_CHECK; note = receive_note())
        check_written(&note);
}

static void read_one(uint32_t i)
{
    memset(work.memory, UNTOUCHED, sizes[i] + SPARE);
    post(OP_READ, 0, sizes[i], offer.address + i, offer.token);
    wait_done(OP_READ);
    if (!is_pattern(work.memory, sizes[i], offer.seed, i) || !is_untouched(work.memory + sizes[i], SPARE))
        exchange_fail("read-data-differs");
}

/* More than the read limit, posted at once. */
static void read_many(void)
{
    memset(work.memory, UNTOUCHED, FLIGHT * FLIGHT_SIZE);
    for (uint32_t i = 0; i < FLIGHT; i++)
        post(OP_READ, i * FLIGHT_SIZE, FLIGHT_SIZE, offer.address + (uint64_t)i * 3 * SHORT, offer.token);
    for (uint32_t i = 0; i < FLIGHT; i++)
        wait_done(OP_READ);
    for (uint32_t i = 0; i < FLIGHT; i++)
        if (!is_pattern(work.memory + i * FLIGHT_SIZE, FLIGHT_SIZE, offer.seed, i * 3 * SHORT))
            exchange_fail("read-in-flight-differs");
}

/* From 1 byte, or, with --empty, from 0 bytes. */
static void client_read(void)
{
    for (uint32_t i = empty_reads ? 0 : 1; i < SIZES; i++)
        read_one(i);
    read_many();
    send_note(OP_SEND, (struct note){ .kind = NOTE_END }, 0);
    printf("read=%u largest=%u in-flight=%u\n", SIZES - !empty_reads, MAX_DATA, FLIGHT);
}

static void client_send(void)
{
    for (uint32_t i = 0; i < SIZES; i++) {
        fill(work.memory, sizes[i], i + 1, 0);
        post(OP_SEND, 0, sizes[i], 0, 0);
        wait_done(OP_SEND);
        expect_sum(sum_of(work.memory, sizes[i]));
    }
    for (uint32_t burst = 0; burst < BURSTS; burst++) {
        fill(work.memory, SHORT * SLOTS, SIZES, 0);
        for (uint32_t i = 0; i < SLOTS; i++)
            post(OP_SEND, i * SHORT, SHORT, 0, 0);
        for (uint32_t i = 0; i < SLOTS; i++) {
            wait_done(OP_SEND);
            expect_sum(sum_of(work.memory + i * SHORT, SHORT));
        }
    }
    printf("sent=%u largest=%u\n", SIZES + BURSTS * SLOTS, MAX_DATA);
}

static void receive_message(uint32_t len, uint32_t seed, uint32_t from)
{
    struct outcome o = wait_received();
    uint8_t *data = inbox.memory + o.id * MAX_DATA;
    uint32_t sum = sum_of(data, o.bytes);

    if (o.bytes != len || !is_pattern(data, len, seed, from))
        exchange_fail("received-data-differs");
    reuse(&o);
    send_sum(sum);
}

static void server_receive(void)
{
    for (uint32_t i = 0; i < SIZES; i++)
        receive_message(sizes[i], i + 1, 0);
    for (uint32_t i = 0; i < BURSTS * SLOTS; i++)
        receive_message(SHORT, SIZES, i % SLOTS * SHORT);
}

/* ---- cases in which the connection ends ---- */

static void print_all(void)
{
    static const char *const names[OP_COUNT] = { "send", "send-invalidate", "write", "read", "receive" };
    struct outcome o;

    while (side_wait(&o))
        printf("completion=%s status=%s\n", names[o.op], o.status);
    side_print_end();
}

/* The second write finds the token invalid. */
static void client_invalidate(void)
{
    write_with_note(1, SPARE, 4096, OP_SEND_INVALIDATE);
    printf("invalidated=done\n");
    usleep(PAUSE_MS * 1000);
    post(OP_WRITE, 0, SHORT, offer.address + SPARE, offer.token);
    print_all();
}

static void server_invalidate(void)
{
    struct note note = receive_note();

    check_written(&note);
    print_all();
    if (!is_untouched(offered.memory, offered.len))
        exchange_fail("written-after-invalidation");
}

static void client_bad_token(enum op op)
{
    post(op, 0, SHORT, offer.address, offer.token ^ NO_SUCH);
    print_all();
}

static void client_write_bad_token(void)
{
    client_bad_token(OP_WRITE);
}
static void client_read_bad_token(void)
{
    client_bad_token(OP_READ);
}
static void client_invalidate_bad_token(void)
{
    client_bad_token(OP_SEND_INVALIDATE);
}

static void client_beyond(enum op op)
{
    post(op, 0, SHORT, offer.address + offer.len - 8, offer.token);
    print_all();
}

static void client_write_beyond(void)
{
    client_beyond(OP_WRITE);
}
static void client_read_beyond(void)
{
    client_beyond(OP_READ);
}

static void client_write_right(void)
{
    post(OP_WRITE, 0, SHORT, offer.address, offer.token);
    print_all();
}

static void client_read_right(void)
{
    post(OP_READ, 0, SHORT, offer.address, offer.token);
    print_all();
}

static void client_send_too_long(void)
{
    post(OP_SEND, 0, MAX_DATA + SHORT, 0, 0);
    print_all();
}

static void client_send_too_many(void)
{
    for (int i = 0; i < SLOTS + 1; i++)
        post(OP_SEND, 0, SHORT, 0, 0);
    print_all();
}

static void server_check_end(void)
{
    print_all();
    if (!is_untouched(offered.memory, offered.len))
        exchange_fail("written-beyond");
}

/* ---- the program ---- */

struct exchange_case {
    const char *name;
    void (*client)(void);
    void (*server)(void);
    unsigned rights; /* of the memory that the server offers; 0: revocable */
    bool ends;       /* the case ends the connection: no side disconnects */
    bool posts_once; /* the server posts each receive once */
};

static const struct exchange_case cases[] = {
    { "write", client_write, server_check, RIGHT_WRITE, false, false },
    { "read", client_read, server_check, RIGHT_READ, false, false },
    { "send", client_send, server_receive, RIGHT_READ, false, false },
    { "send-invalidate", client_invalidate, server_invalidate, 0, true, false },
    { "write-bad-token", client_write_bad_token, server_check_end, RIGHT_WRITE, true, false },
    { "write-beyond", client_write_beyond, server_check_end, RIGHT_WRITE, true, false },
    { "write-without-right", client_write_right, server_check_end, RIGHT_READ, true, false },
    { "read-bad-token", client_read_bad_token, server_check_end, RIGHT_READ, true, false },
    { "read-beyond", client_read_beyond, server_check_end, RIGHT_READ, true, false },
    { "read-without-right", client_read_right, server_check_end, RIGHT_WRITE, true, false },
    { "invalidate-bad-token", client_invalidate_bad_token, server_check_end, RIGHT_WRITE, true, false },
    { "send-too-long", client_send_too_long, server_check_end, RIGHT_WRITE, true, false },
    { "send-too-many", client_send_too_many, server_check_end, RIGHT_WRITE, true, true },
};

static void run_client(const struct exchange_case *c)
{
    send_note(OP_SEND, (struct note){ .kind = NOTE_HELLO }, 0);
    offer = receive_note();
    if (offer.kind != NOTE_OFFER)
        exchange_fail("no-offer");
    /* siw sends no Terminate before its own send has completed, and completes that send as failed. */
    if (c->ends)
        usleep(PAUSE_MS * 1000);
    c->client();
}

static void run_server(const struct exchange_case *c)
{
    posts_once = c->posts_once;
    if (receive_note().kind != NOTE_HELLO)
        exchange_fail("no-hello");
    if (!c->rights)
        side_revocable(&offered, MAX_DATA + 4 * SPARE);
    offer = (struct note){ .kind = NOTE_OFFER,
                           .seed = 7,
                           .len = offered.len,
                           .token = offered.remote,
                           .address = (uint64_t)(uintptr_t)offered.memory };
    if (c->client == client_read)
        fill(offered.memory, offered.len, offer.seed, 0);
    else
        memset(offered.memory, UNTOUCHED, offered.len);
    send_note(OP_SEND, offer, 0);
    c->server();
}

static void usage(void)
{
    fputs("usage: exchange server PORT CASE | client HOST PORT CASE [--crc on|off] [--empty]\ncases:", stderr);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        fprintf(stderr, " %s", cases[i].name);
    fputc('\n', stderr);
    exit(2);
}

static const struct exchange_case *parse(struct side_options *opt, int argc, char **argv)
{
    static const struct option names[] = {
        { "crc", required_argument, NULL, 'c' },
        { "empty", no_argument, NULL, 'e' },
        { NULL, 0, NULL, 0 },
    };
    int which;

    while ((which = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (which == 'c')
            opt->crc = strcmp(optarg, "off") != 0;
        else if (which == 'e')
            empty_reads = true;
        else
            usage();
    }
    argc -= optind;
    argv += optind;
    opt->server = argc == 3 && !strcmp(argv[0], "server");
    if (!opt->server && (argc != 4 || strcmp(argv[0], "client")))
        usage();
    opt->host = argv[1];
    opt->port = (uint16_t)atoi(argv[argc - 2]);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (!strcmp(argv[argc - 1], cases[i].name))
            return &cases[i];
    usage();
    return NULL;
}

int main(int argc, char **argv)
{
    struct side_options opt = { .reads = 4, .crc = true };
    const struct exchange_case *c = parse(&opt, argc, argv);

    setvbuf(stdout, NULL, _IOLBF, 0);
    side_open(&opt);
    side_area(&work, 2 * MAX_DATA, RIGHT_READ | RIGHT_WRITE);
    side_area(&inbox, SLOTS * MAX_DATA, 0);
    if (c->rights)
        side_area(&offered, MAX_DATA + 4 * SPARE, c->rights);
    for (uint32_t i = 0; i < SLOTS; i++)
        post_slot(i);
    side_establish();
    if (opt.server)
        run_server(c);
    else
        run_client(c);
    if (!c->ends)
        side_disconnect();
    side_close();
    printf("result=ok\n");
    return 0;
}
