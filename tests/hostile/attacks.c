/* SPDX-License-Identifier: MIT */
/* The attacks, and one peer without faults for comparison: see README.md. garbage.c has the attack `garbage`. */
#include "hostile/attacks.h"

#include <string.h>
#include <sys/socket.h>

enum { STARVE_PAYLOAD = 16 };

static const uint8_t text[FRAME_MAX_PAYLOAD] = "a small message of a hostile peer";

/* ---- abrupt: small messages, then the end at once ---- */

enum {
    ABRUPT_CLOSE,
    ABRUPT_RESET,
    ABRUPT_HALF_CLOSE,
    ABRUPT_UNREAD,
    ABRUPT_REQUEST_CLOSE,
    ABRUPT_REQUEST_RESET,
    ABRUPT_WAYS
};

static unsigned way(const struct peer *p, unsigned ways)
{
    return options.how >= 0 ? (unsigned)options.how % ways : p->number % ways;
}

static void abrupt_connected(struct peer *p)
{
    unsigned how = way(p, ABRUPT_WAYS);

    peer_request(p);
    if (how == ABRUPT_REQUEST_CLOSE)
        peer_close(p);
    else if (how == ABRUPT_REQUEST_RESET)
        peer_reset(p);
}

static void abrupt_opened(struct peer *p)
{
    unsigned how = way(p, ABRUPT_WAYS);

    for (unsigned i = 0; i < options.count; i++)
        peer_send_message(p, text, options.size);
    if (how == ABRUPT_CLOSE)
        peer_close(p);
    else if (how == ABRUPT_RESET)
        peer_reset(p);
    else
        peer_half_close(p);
    if (how == ABRUPT_UNREAD)
        peer_close(p); /* with unread answers, so the kernel sends a reset after the notice */
}

static const struct attack abrupt = {
    .name = "abrupt",
    .text = "--count messages, then a close (how 0), a reset (1), a half-close (2), a half-close and a close (3);\n"
            "               or a request, then a close (4), a reset (5)",
    .connected = abrupt_connected,
    .opened = abrupt_opened,
};

/* ---- idle: connect, and never send a request ---- */

static void idle_connected(struct peer *p)
{
    peer_arrived(p);
}

static const struct attack idle = {
    .name = "idle",
    .text = "connects and sends nothing",
    .connected = idle_connected,
};

/* Sends a request, one byte at a time. */
static void slow_due(struct peer *p)
{
    uint8_t frame[MPA_MAX_FRAME];
    size_t len = frame_mpa(frame, false, true, NULL, 0);

    peer_send(p, frame + p->step, 1);
    if (++p->step < len)
        peer_due_in(p, options.delay_ms);
}

static void slow_connected(struct peer *p)
{
    peer_arrived(p);
    slow_due(p);
}

static const struct attack slow_request = {
    .name = "slow-request",
    .text = "sends its request one byte each --delay-ms",
    .connected = slow_connected,
    .due = slow_due,
};

/* ---- ghosts: complete requests of peers that are gone ---- */

static void ghosts_connected(struct peer *p)
{
    peer_request(p);
    if (way(p, 2))
        peer_reset(p);
    else
        peer_close(p);
}

static const struct attack ghosts = {
    .name = "ghosts",
    .text = "sends a request, then closes (how 0) or resets (1) without waiting for the reply",
    .connected = ghosts_connected,
};

/* Sends valid requests and waits for their answers, to fill the backlog. */
static void living_connected(struct peer *p)
{
    peer_request(p);
    peer_arrived(p);
}

static const struct attack living = {
    .name = "living",
    .text = "sends a request and waits, however long the answer takes",
    .connected = living_connected,
};

/* ---- mute: a request, and then nothing: the reply is not read, and the connection not closed ---- */

static void mute_connected(struct peer *p)
{
    peer_request(p);
    peer_stop_reading(p);
    peer_arrived(p);
}

static const struct attack mute = {
    .name = "mute",
    .text = "sends a request, and whatever the answer is, neither reads it nor closes the connection",
    .connected = mute_connected,
};

/* ---- flood: frames that carry nothing, as many as the connection takes ---- */

enum { FLOOD_WRITES, FLOOD_SENDS, FLOOD_WAYS, FLOOD_BATCH = 65536 };

static const uint8_t *flood_batch(unsigned how, size_t *frame)
{
    static uint8_t batches[FLOOD_WAYS][FLOOD_BATCH];
    uint8_t ulpdu[DDP_MAX_HEADER];
    struct ddp_header h = how == FLOOD_WRITES ? frame_write_header(0, 0, true) : frame_send_header(1, 0, false);
    size_t len = frame_ulpdu(ulpdu, &h, NULL, 0);

    *frame = mpa_fpdu_size(len);
    if (!batches[how][1])
        for (size_t at = 0; at + *frame <= FLOOD_BATCH; at += *frame)
            (void)frame_fpdu(batches[how] + at, ulpdu, len, true);
    return batches[how];
}

static void flood_writable(struct peer *p)
{
    size_t frame;
    const uint8_t *batch = flood_batch(way(p, FLOOD_WAYS), &frame);
    size_t len = FLOOD_BATCH / frame * frame;

    peer_arrived(p);
    totals.frames += len / frame;
    peer_send(p, batch, len);
}

static const struct attack flood = {
    .name = "flood",
    .text = "sends RDMA Writes of no bytes (how 0) or empty segments of one message (1) without end",
    .writable = flood_writable,
};

/* ---- burst: more frames than a turn handles, and an end of some kind behind them ---- */

enum { BURST_CLOSE, BURST_RESET, BURST_HALF_CLOSE, BURST_FAULT, BURST_MESSAGES, BURST_WAYS, BURST_BATCHES = 8 };

static void burst_opened(struct peer *p)
{
    size_t frame;
    const uint8_t *batch = flood_batch(FLOOD_WRITES, &frame);
    unsigned how = way(p, BURST_WAYS);

    for (int i = 0; i < BURST_BATCHES; i++) {
        totals.frames += FLOOD_BATCH / frame;
        peer_send(p, batch, FLOOD_BATCH / frame * frame);
    }
    if (how == BURST_FAULT)
        p->msn = 77;
    if (how >= BURST_FAULT)
        for (unsigned i = 0; i < options.count; i++)
            peer_send_message(p, text, options.size);
    peer_due_in(p, 1);
}

/* Closes the connection when everything was sent. */
static void burst_due(struct peer *p)
{
    unsigned how = way(p, BURST_WAYS);

    if (p->out_len)
        peer_due_in(p, 1);
    else if (how == BURST_RESET)
        peer_reset(p);
    else if (how == BURST_CLOSE || how == BURST_MESSAGES)
        peer_close(p);
    else if (how == BURST_HALF_CLOSE)
        peer_half_close(p);
}

static const struct attack burst = {
    .name = "burst",
    .text = "sends 26,000 empty RDMA Writes, then a close (how 0), a reset (1), a half-close (2), a wrong message\n"
            "               (3), or messages and a close (4)",
    .opened = burst_opened,
    .due = burst_due,
};

/* ---- starve: first segments, and never the last ---- */

static void starve_segment(struct peer *p, size_t len)
{
    uint8_t ulpdu[FRAME_MAX_ULPDU];
    struct ddp_header h = frame_send_header(p->msn, p->step, false);

    p->step += (unsigned)len;
    peer_send_ulpdu(p, ulpdu, frame_ulpdu(ulpdu, &h, text, len));
}

static void starve_due(struct peer *p)
{
    starve_segment(p, 1);
    peer_due_in(p, options.delay_ms);
}

static void starve_opened(struct peer *p)
{
    starve_segment(p, STARVE_PAYLOAD);
    peer_arrived(p);
    if (options.delay_ms)
        peer_due_in(p, options.delay_ms);
}

static const struct attack starve = {
    .name = "starve",
    .text = "sends the first segment of a message and never the last; a further byte each --delay-ms if not 0",
    .opened = starve_opened,
    .due = starve_due,
};

/* ---- stall: an FPDU that does not end ---- */

static size_t whole_fpdu(uint8_t *out, const struct peer *p)
{
    uint8_t ulpdu[FRAME_MAX_ULPDU];
    struct ddp_header h = frame_send_header(1, 0, true);

    return frame_fpdu(out, ulpdu, frame_ulpdu(ulpdu, &h, text, options.size), p->crc);
}

/* Sends byte by byte, but never the last one. */
static void stall_due(struct peer *p)
{
    uint8_t fpdu[FRAME_MAX_FPDU];
    size_t size = whole_fpdu(fpdu, p);

    if (p->step + 1 >= size)
        return;
    peer_send(p, fpdu + p->step++, 1);
    peer_due_in(p, options.delay_ms);
}

static void stall_opened(struct peer *p)
{
    uint8_t fpdu[FRAME_MAX_FPDU];
    size_t size = whole_fpdu(fpdu, p);

    peer_arrived(p);
    if (options.delay_ms) {
        stall_due(p);
        return;
    }
    p->step = (unsigned)size / 2;
    peer_send(p, fpdu, p->step);
}

static const struct attack stall = {
    .name = "stall",
    .text = "sends half an FPDU and then nothing, or a byte each --delay-ms if not 0",
    .opened = stall_opened,
    .due = stall_due,
};

/* ---- deaf: established, then the peer's TCP answers nothing, as if its host had lost power ---- */

static void deaf_opened(struct peer *p)
{
    for (unsigned i = 0; i < options.count; i++)
        peer_send_message(p, text, options.size);
    peer_stop_acknowledging(p);
    peer_arrived(p);
}

static const struct attack deaf = {
    .name = "deaf",
    .text = "sends --count messages, then drops every TCP segment that comes: no acknowledgement, no keepalive answer",
    .opened = deaf_opened,
};

/* ---- quiet: established, and silent as it may be ---- */

static void idle_opened(struct peer *p)
{
    peer_arrived(p);
}

static const struct attack quiet = {
    .name = "quiet",
    .text = "no attack: establishes a connection and sends nothing, while its TCP answers keepalives",
    .opened = idle_opened,
};

/* ---- unread: asks for data and never reads it ---- */

/* Sends a read request for the whole region. */
static void ask_read(struct peer *p)
{
    uint8_t ulpdu[DDP_MAX_HEADER + RDMAP_READ_REQUEST];
    struct rdmap_read_request r = { .sink_stag = 1,
                                    .sink_to = 0,
                                    .length = p->memory.length,
                                    .source_stag = p->memory.token,
                                    .source_to = p->memory.address };

    peer_send_ulpdu(p, ulpdu, frame_read(ulpdu, p->read_msn++, &r));
}

static void ask_reads(struct peer *p)
{
    for (unsigned i = 0; i < options.count; i++)
        ask_read(p);
}

static void unread_opened(struct peer *p)
{
    peer_stop_reading(p);
    if (p->memory.token)
        ask_reads(p);
    else
        for (unsigned i = 0; i < options.count; i++)
            peer_send_message(p, text, options.size);
    peer_arrived(p);
}

static const struct attack unread = {
    .name = "unread",
    .text = "asks for --count RDMA Reads (of a service that is no victim: sends messages) and never reads",
    .receive_buffer = 4096,
    .opened = unread_opened,
};

/* ---- cling: answers that are read so slowly that they never end ---- */

static void cling_due(struct peer *p)
{
    uint8_t ulpdu[DDP_MAX_HEADER];
    struct ddp_header h = frame_write_header(0, 0, true);

    peer_send_ulpdu(p, ulpdu, frame_ulpdu(ulpdu, &h, NULL, 0));
    peer_due_in(p, options.delay_ms);
    peer_drop_bytes(p, options.size);
}

static void cling_opened(struct peer *p)
{
    unread_opened(p);
    for (unsigned i = 0; p->memory.token && i < options.count; i++)
        peer_send_message(p, text, STARVE_PAYLOAD);
    cling_due(p);
}

static const struct attack cling = {
    .name = "cling",
    .text = "as unread, with messages behind; each --delay-ms it takes --size bytes and sends an RDMA Write of none",
    .receive_buffer = 4096,
    .opened = cling_opened,
    .due = cling_due,
};

/* ---- linger: a fault, and then no answer to the Terminate, nor an end ---- */

static void linger_opened(struct peer *p)
{
    peer_stop_reading(p);
    p->msn = 77;
    peer_send_message(p, text, options.size);
    peer_arrived(p);
}

static const struct attack linger = {
    .name = "linger",
    .text = "sends a message with a wrong number, reads nothing and leaves the connection open",
    .opened = linger_opened,
};

/* ---- reads: as many as the limit allows, all the time ---- */

static void reads_received(struct peer *p, const uint8_t *ulpdu, size_t len)
{
    struct ddp_header h;
    size_t size;

    if (ddp_header_decode(&h, ulpdu, len, &size) && h.tagged && h.last)
        ask_read(p);
}

static void reads_opened(struct peer *p)
{
    ask_reads(p);
    peer_arrived(p);
}

static const struct attack reads = {
    .name = "reads",
    .text = "keeps --count RDMA Reads of the whole region under way; with a small --mss, in many small FPDUs",
    .opened = reads_opened,
    .received = reads_received,
};

/* ---- large: the largest FPDU without its last byte ---- */

static void large_opened(struct peer *p)
{
    static uint8_t bytes[60000];
    struct ddp_header h = frame_send_header(1, 0, true);

    bytes[0] = bytes[1] = 0xfc;
    (void)frame_ulpdu(bytes + MPA_FPDU_LENGTH, &h, NULL, 0);
    peer_send(p, bytes, sizeof bytes);
    peer_arrived(p);
}

static const struct attack large = {
    .name = "large",
    .text = "sends most of an FPDU of the largest size, and never its end",
    .opened = large_opened,
};

/* ---- client: a peer without faults ---- */

static void client_request(struct peer *p)
{
    peer_request(p);
}

static void client_connected(struct peer *p)
{
    if (options.delay_ms)
        peer_due_in(p, options.delay_ms);
    else
        client_request(p);
}

static void client_message(struct peer *p)
{
    uint8_t bytes[FRAME_MAX_PAYLOAD];

    for (unsigned i = 0; i < options.size; i++)
        bytes[i] = (uint8_t)(p->number * 7 + p->step * 3 + i);
    p->since_ns = clock_ns();
    peer_send_message(p, bytes, options.size);
}

static void client_received(struct peer *p, const uint8_t *ulpdu, size_t len)
{
    const uint8_t *bytes = ulpdu + DDP_UNTAGGED_HEADER;

    totals_time(p->since_ns);
    if (len != DDP_UNTAGGED_HEADER + options.size) {
        totals.wrong_bytes++;
    } else {
        for (unsigned i = 0; i < options.size; i++)
            totals.wrong_bytes += bytes[i] != (uint8_t)(p->number * 7 + p->step * 3 + i);
    }
    if (++p->step < options.count) {
        client_message(p);
        return;
    }
    totals.served++;
    peer_close(p);
}

static const struct attack client = {
    .name = "client",
    .text = "no attack: connects, waits --delay-ms, sends its request, has --count messages echoed",
    .connected = client_connected,
    .opened = client_message,
    .received = client_received,
    .due = client_request,
};

/* ---- a server that ends as it likes, for consumers that connect ---- */

enum {
    SERVER_CLOSE,
    SERVER_RESET,
    SERVER_REQUEST_CLOSE,
    SERVER_REQUEST_RESET,
    SERVER_REPLY_CLOSE,
    SERVER_REPLY_RESET,
    SERVER_REPLY_HALF_CLOSE,
    SERVER_REPLY_GARBAGE,
    SERVER_REPLY_HALF_FPDU,
    SERVER_GARBAGE,
    SERVER_WAYS
};

static void server_garbage(struct peer *p)
{
    uint8_t bytes[256];

    seeded_fill(bytes, sizeof bytes);
    peer_send(p, bytes, sizeof bytes);
    peer_close(p);
}

static void server_connected(struct peer *p)
{
    unsigned how = way(p, SERVER_WAYS);

    if (how == SERVER_CLOSE)
        peer_close(p);
    else if (how == SERVER_RESET)
        peer_reset(p);
}

static void server_requested(struct peer *p)
{
    unsigned how = way(p, SERVER_WAYS);

    if (how == SERVER_REQUEST_CLOSE)
        peer_close(p);
    else if (how == SERVER_REQUEST_RESET)
        peer_reset(p);
    else if (how == SERVER_GARBAGE)
        server_garbage(p);
    else
        peer_reply(p);
}

static void server_opened(struct peer *p)
{
    uint8_t fpdu[FRAME_MAX_FPDU];
    unsigned how = way(p, SERVER_WAYS);

    if (how == SERVER_REPLY_RESET) {
        peer_reset(p);
    } else if (how == SERVER_REPLY_GARBAGE) {
        server_garbage(p);
    } else {
        if (how == SERVER_REPLY_HALF_FPDU)
            peer_send(p, fpdu, whole_fpdu(fpdu, p) / 2);
        if (how == SERVER_REPLY_HALF_CLOSE)
            peer_half_close(p);
        else
            peer_close(p);
    }
}

static const struct attack server = {
    .name = "server",
    .text = "listens, and ends connections: at once (how 0, 1), after the request (2, 3), after its reply (4 to 6),\n"
            "               with garbage (7, 9), within an FPDU (8)",
    .is_server = true,
    .connected = server_connected,
    .requested = server_requested,
    .opened = server_opened,
};

const struct attack *const attacks[] = { &abrupt, &idle,   &slow_request, &ghosts,  &living, &mute,   &flood,
                                         &burst,  &starve, &stall,        &deaf,    &quiet,  &unread, &cling,
                                         &linger, &reads,  &large,        &garbage, &client, &server, NULL };
