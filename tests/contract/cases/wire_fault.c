/* SPDX-License-Identifier: MIT */
/* WIR-04: a raw peer causes each fault that the RFCs define, and checks the required Terminate. */
#include "contract/kit/data.h"
#include "contract/kit/peer.h"

enum { RECEIVE = 64, REGION = 1000, ROOM = 512 };
enum { WRITE = 0, READ_REQUEST = 1, RESPONSE = 2, SEND = 3, TERMINATE = 7 };

/*
 * struct fault is a kind of fault: `build` writes the payload of one FPDU to `out` and returns its length. struct
 * fault_case is the connection on which the peer causes it.
 */
struct fault_case {
    struct peer_initiator p;
    struct data_region open, deaf; /* open: with all rights; deaf: with local rights only */
    struct data_region foreign;    /* of another domain */
    NDK_PD *other;
    bool crc;
    const struct fault *fault;
};
struct fault {
    const char *name;
    size_t (*build)(const struct fault_case *c, uint8_t *out);
    uint16_t code;
    uint8_t a, b;    /* arguments of build */
    bool no_receive; /* otherwise the case posts a receive of RECEIVE bytes */
};

static const uint8_t bytes[2 * RECEIVE] = { 1, 2, 3 };

static size_t a_send(const struct fault_case *c, uint8_t *out)
{
    return raw_untagged(out, c->fault->a, c->fault->b, 1, 0, true, bytes, 8);
}

/* Replaces the version of DDP, which is 1, by f->a, and the version of RDMAP, which is 1, by f->b. */
static size_t versions(uint8_t *out, size_t len, const struct fault *f)
{
    out[0] = (uint8_t)((out[0] & ~3) | f->a);
    out[1] = (uint8_t)((out[1] & 0x3f) | f->b << 6);
    return len;
}

static size_t send_version(const struct fault_case *c, uint8_t *out)
{
    return versions(out, raw_untagged(out, SEND, 0, 1, 0, true, bytes, 8), c->fault);
}

static size_t write_version(const struct fault_case *c, uint8_t *out)
{
    size_t len = raw_tagged(out, WRITE, c->open.token, (uintptr_t)c->open.memory, true, bytes, 8);

    return versions(out, len, c->fault);
}

static size_t far_queue(const struct fault_case *c, uint8_t *out)
{
    (void)c;
    return raw_untagged(out, SEND, 0xffffffffu, 1, 0, true, bytes, 8);
}

/* Queue a, message number b. */
static size_t numbered(const struct fault_case *c, uint8_t *out)
{
    return raw_untagged(out, c->fault->a ? READ_REQUEST : SEND, c->fault->a, c->fault->b, 0, true, bytes, 28);
}

static size_t last_number(const struct fault_case *c, uint8_t *out)
{
    (void)c;
    return raw_untagged(out, SEND, 0, 0xffffffffu, 0, true, bytes, 8);
}

/* Queue a, offset b. */
static size_t at_offset(const struct fault_case *c, uint8_t *out)
{
    return raw_untagged(out, c->fault->a ? READ_REQUEST : SEND, c->fault->a, 1, c->fault->b, true, bytes, 28);
}

/* The message has fault->a bytes more than the receive. */
static size_t longer(const struct fault_case *c, uint8_t *out)
{
    return raw_untagged(out, SEND, 0, 1, 0, true, bytes, RECEIVE + c->fault->a);
}

static size_t tagged(const struct fault_case *c, uint8_t *out)
{
    return raw_tagged(out, c->fault->a, c->open.token, (uintptr_t)c->open.memory, true, bytes, 8);
}

static size_t write_unknown(const struct fault_case *c, uint8_t *out)
{
    return raw_tagged(out, WRITE, c->open.token ^ 0x4321, (uintptr_t)c->open.memory, true, bytes, 8);
}

/* A write of fault->b bytes that begins fault->a bytes before the region's end. */
static size_t write_beyond(const struct fault_case *c, uint8_t *out)
{
    return raw_tagged(out, WRITE, c->open.token, (uintptr_t)c->open.memory + REGION - c->fault->a, true, bytes,
                      c->fault->b);
}

static size_t write_before(const struct fault_case *c, uint8_t *out)
{
    return raw_tagged(out, WRITE, c->open.token, (uintptr_t)c->open.memory - 1, true, bytes, 8);
}

static size_t write_wraps(const struct fault_case *c, uint8_t *out)
{
    return raw_tagged(out, WRITE, c->open.token, UINT64_MAX - 3, true, bytes, 8);
}

static size_t write_deaf(const struct fault_case *c, uint8_t *out)
{
    return raw_tagged(out, WRITE, c->deaf.token, (uintptr_t)c->deaf.memory, true, bytes, 8);
}

static size_t write_foreign(const struct fault_case *c, uint8_t *out)
{
    return raw_tagged(out, WRITE, c->foreign.token, (uintptr_t)c->foreign.memory, true, bytes, 8);
}

static size_t read_unknown(const struct fault_case *c, uint8_t *out)
{
    return raw_read_request(out, 1, 5, 0, 8, c->open.token ^ 0x4321, (uintptr_t)c->open.memory);
}

static size_t read_beyond(const struct fault_case *c, uint8_t *out)
{
    return raw_read_request(out, 1, 5, 0, c->fault->b, c->open.token, (uintptr_t)c->open.memory + REGION - c->fault->a);
}

static size_t read_wraps(const struct fault_case *c, uint8_t *out)
{
    return raw_read_request(out, 1, 5, 0, 8, c->open.token, UINT64_MAX - 3);
}

static size_t read_deaf(const struct fault_case *c, uint8_t *out)
{
    return raw_read_request(out, 1, 5, 0, 8, c->deaf.token, (uintptr_t)c->deaf.memory);
}

static size_t read_foreign(const struct fault_case *c, uint8_t *out)
{
    return raw_read_request(out, 1, 5, 0, 8, c->foreign.token, (uintptr_t)c->foreign.memory);
}

static size_t long_read_request(const struct fault_case *c, uint8_t *out)
{
    (void)c;
    return raw_untagged(out, READ_REQUEST, 1, 1, 0, true, bytes, 29);
}

static const struct fault faults[] = {
    { "DDP version 0 of a send", send_version, 0x1206, 0, 1, false },
    { "DDP version 2 of a send", send_version, 0x1206, 2, 1, false },
    { "DDP version 3 of a send", send_version, 0x1206, 3, 1, false },
    { "DDP version 0 of a write", write_version, 0x1104, 0, 1, false },
    { "DDP version 3 of a write", write_version, 0x1104, 3, 1, false },
    { "RDMAP version 0 of a send", send_version, 0x0205, 1, 0, false },
    { "RDMAP version 2 of a send", send_version, 0x0205, 1, 2, false },
    { "RDMAP version 3 of a write", write_version, 0x0205, 1, 3, false },
    { "opcode 8", a_send, 0x0206, 8, 0, false },
    { "opcode 15", a_send, 0x0206, 15, 0, false },
    { "tagged opcode 8", tagged, 0x0206, 8, 0, false },
    { "tagged opcode 15", tagged, 0x0206, 15, 0, false },
    { "an untagged write", a_send, 0x0206, WRITE, 0, false },
    { "an untagged answer", a_send, 0x0206, RESPONSE, 0, false },
    { "a tagged read request", tagged, 0x0206, READ_REQUEST, 0, false },
    { "a tagged send", tagged, 0x0206, SEND, 0, false },
    { "a tagged Terminate", tagged, 0x0206, TERMINATE, 0, false },
    { "a read request on queue 0", a_send, 0x0206, READ_REQUEST, 0, false },
    { "a Terminate on queue 0", a_send, 0x0206, TERMINATE, 0, false },
    { "a send on queue 1", a_send, 0x0206, SEND, 1, false },
    { "a Terminate on queue 1", a_send, 0x0206, TERMINATE, 1, false },
    { "a send on queue 2", a_send, 0x0206, SEND, 2, false },
    { "queue 3", a_send, 0x1201, SEND, 3, false },
    { "queue 255", a_send, 0x1201, SEND, 255, false },
    { "the last queue", far_queue, 0x1201, 0, 0, false },
    { "message 0", numbered, 0x1203, 0, 0, false },
    { "message 2 first", numbered, 0x1203, 0, 2, false },
    { "message 0xffffffff", last_number, 0x1203, 0, 0, false },
    { "read request 0", numbered, 0x1203, 1, 0, false },
    { "read request 2 first", numbered, 0x1203, 1, 2, false },
    { "a message that begins at 8", at_offset, 0x1204, 0, 8, false },
    { "a read request that begins at 8", at_offset, 0x1204, 1, 8, false },
    { "a message longer by 1", longer, 0x1205, 1, 0, false },
    { "a message longer by 60", longer, 0x1205, 60, 0, false },
    { "a read request longer by 1", long_read_request, 0x1205, 0, 0, false },
    { "no receive", longer, 0x1202, 0, 0, true },
    { "an answer without a read", tagged, 0x1100, RESPONSE, 0, false },
    { "a write to no token", write_unknown, 0x1100, 0, 0, false },
    { "a write one too long", write_beyond, 0x1101, 7, 8, false },
    { "a write behind the end", write_beyond, 0x1101, 0, 1, false },
    { "a write before the region", write_before, 0x1101, 0, 0, false },
    { "a write that wraps", write_wraps, 0x1103, 0, 0, false },
    { "a write without the right", write_deaf, 0x0102, 0, 0, false },
    { "a write to another domain", write_foreign, 0x1102, 0, 0, false },
    { "a read of no token", read_unknown, 0x0100, 0, 0, false },
    { "a read one too long", read_beyond, 0x0101, 7, 8, false },
    { "a read behind the end", read_beyond, 0x0101, 0, 1, false },
    { "a read that wraps", read_wraps, 0x0104, 0, 0, false },
    { "a read without the right", read_deaf, 0x0102, 0, 0, false },
    { "a read of another domain", read_foreign, 0x0103, 0, 0, false },
};

static void open_case(struct fault_case *c, const struct fault *f, bool crc)
{
    struct raw_frame request = peer_frame(PEER_WRITE);

    memset(c, 0, sizeof *c);
    c->fault = f;
    c->crc = crc;
    if (!crc)
        request.flags &= (uint8_t)~RAW_C;
    peer_initiator_open(&c->p, &request);
    if (!f->no_receive)
        CHECK_STATUS(kit_post_receive(&c->p.side, 1, 0, RECEIVE), STATUS_SUCCESS);
    peer_initiator_accept(&c->p);
    CHECK_EQ(!!(c->p.reply.flags & RAW_C), crc);
    peer_initiator_ready(&c->p, PEER_WRITE);
    CHECK_STATUS(kit_final(&c->p.accept, c->p.accepting), STATUS_SUCCESS);
    c->other = kit_pd(c->p.side.adapter);
    data_region_open(&c->open, c->p.side.pd, 10, REGION, DATA_ALL);
    data_region_open(&c->deaf, c->p.side.pd, 10, REGION, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
    data_region_open(&c->foreign, c->other, 10, REGION, DATA_ALL);
    memset(c->p.side.memory, DATA_FILL, 4096);
}

static void close_case(struct fault_case *c)
{
    for (int i = 0; i < 4096; i++)
        CHECK_EQ(c->p.side.memory[i], DATA_FILL);
    CHECK(data_is_untouched(&c->open) && data_is_untouched(&c->deaf) && data_is_untouched(&c->foreign));
    data_region_close(&c->open);
    data_region_close(&c->deaf);
    data_region_close(&c->foreign);
    CHECK_STATUS(kit_close(c->other), STATUS_SUCCESS);
    peer_initiator_close(&c->p);
}

/* Checks the Terminate's payload: code, flags of the following parts, the segment's length and headers. */
static void check_terminate(const struct fault_case *c, const uint8_t *segment, size_t len)
{
    bool is_tagged = segment[0] & 0x80, read = !is_tagged && segment[9] == 1 && (segment[1] & 15) == READ_REQUEST;
    size_t header = is_tagged ? 14 : 18;
    uint8_t ulpdu[128];
    int n;
    uint16_t code = raw_recv_terminate(c->p.s, c->crc, ulpdu, &n);

    if (code != c->fault->code)
        kit_fail(__FILE__, __LINE__, "%s: expected %04x, saw %04x", c->fault->name, c->fault->code, code);
    CHECK_EQ(ulpdu[0], 0x41); /* untagged, last segment, version 1 */
    CHECK_EQ(ulpdu[13], 1);   /* MSN 1: the first message of its queue */
    CHECK_EQ(ulpdu[17], 0);
    CHECK_EQ(ulpdu[20] & 0xc0, 0xc0);
    CHECK_EQ(ulpdu[22] << 8 | ulpdu[23], len);
    CHECK((size_t)n >= 24 + header);
    CHECK(memcmp(ulpdu + 24, segment, header) == 0);
    if (read && len == 18 + 28) {
        CHECK_EQ(ulpdu[20] & 0x20, 0x20);
        CHECK_EQ(n, 24 + 18 + 28);
        CHECK(memcmp(ulpdu + 24 + 18, segment + 18, 28) == 0);
    }
}

static void run_fault(const struct fault *f, bool crc)
{
    static struct fault_case c;
    uint8_t ulpdu[ROOM];
    size_t len;

    open_case(&c, f, crc);
    len = f->build(&c, ulpdu);
    raw_send_fpdu(c.p.s, ulpdu, len, crc);
    check_terminate(&c, ulpdu, len);
    if (!f->no_receive)
        CHECK(kit_result(&c.p.side).Status < 0);
    data_check_ended(&c.p.side);
    close_case(&c);
}

/* covers: WIR-04 */
CASE(wir_04_each_fault_has_its_terminate, KIT_FAMILIES)
{
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        run_fault(&faults[i], true);
}

/* covers: WIR-04 */
CASE(wir_04_each_fault_without_checksums, 0)
{
    struct kit_config config = kit_config();

    config.crc = 0;
    kit_configure(&config);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        run_fault(&faults[i], false);
}

/* ---- faults that a single segment cannot show ---- */

static const struct fault none = { "a stream of segments", NULL, 0, 0, 0, false };

static void check_code(struct fault_case *c, uint16_t expected)
{
    uint8_t ulpdu[128];
    int len;

    CHECK_EQ(raw_recv_terminate(c->p.s, true, ulpdu, &len), expected);
    CHECK(kit_result(&c->p.side).Status < 0);
    data_check_ended(&c->p.side);
}

/* Changes each byte of an FPDU once: the checksum is checked before anything else. */
/* covers: WIR-04 */
CASE(wir_04_a_wrong_checksum, KIT_FAMILIES)
{
    static struct fault_case c;
    uint8_t ulpdu[64], fpdu[80];
    size_t len = raw_untagged(ulpdu, SEND, 0, 1, 0, true, bytes, 9), size = raw_fpdu(fpdu, ulpdu, len, true);

    /* The length is not changed, because it determines the position of the checksum */
    for (size_t i = 2; i < size; i++) {
        open_case(&c, &none, true);
        fpdu[i] ^= 0x20;
        raw_send(c.p.s, fpdu, size);
        fpdu[i] ^= 0x20;
        check_code(&c, 0x2002);
        close_case(&c);
    }
}

static void send_segment(struct fault_case *c, uint32_t msn, uint32_t mo, bool last, size_t len)
{
    uint8_t ulpdu[ROOM], fill[RECEIVE];

    memset(fill, DATA_FILL, sizeof fill);
    raw_send_fpdu(c->p.s, ulpdu, raw_untagged(ulpdu, SEND, 0, msn, mo, last, fill, len), true);
}

/* covers: WIR-04 */
CASE(wir_04_segments_that_do_not_follow, KIT_FAMILIES)
{
    static const struct {
        uint32_t msn, mo;
        size_t len;
        uint16_t code;
    } second[] = { { 1, 0, 8, 0x1204 }, { 1, 9, 8, 0x1204 }, { 1, 7, 8, 0x1204 },
                   { 2, 8, 8, 0x1203 }, { 2, 0, 8, 0x1203 }, { 1, 8, RECEIVE, 0x1205 } };
    static struct fault_case c;

    for (size_t i = 0; i < sizeof second / sizeof second[0]; i++) {
        open_case(&c, &none, true);
        send_segment(&c, 1, 0, false, 8);
        send_segment(&c, second[i].msn, second[i].mo, true, second[i].len);
        check_code(&c, second[i].code);
        close_case(&c);
    }
}

/* After message 1 was received, the peer sends another message with the number 1 instead of 2. */
/* covers: WIR-04 */
CASE(wir_04_numbers_go_on, KIT_FAMILIES)
{
    static struct fault_case c;
    uint8_t ulpdu[128];
    int len;

    open_case(&c, &none, true);
    send_segment(&c, 1, 0, true, 8);
    CHECK_STATUS(kit_result(&c.p.side).Status, STATUS_SUCCESS);
    CHECK_STATUS(kit_post_receive(&c.p.side, 2, 0, RECEIVE), STATUS_SUCCESS);
    send_segment(&c, 1, 0, true, 8);
    CHECK_EQ(raw_recv_terminate(c.p.s, true, ulpdu, &len), 0x1203);
    CHECK(kit_result(&c.p.side).Status < 0);
    data_check_ended(&c.p.side);
    close_case(&c);
}

/* If the peer sends a Terminate, the provider ends the connection without an answer. */
/* covers: WIR-04 */
CASE(wir_04_the_peers_terminate, KIT_FAMILIES)
{
    static const uint8_t why[4] = { 0x02, 0x07, 0, 0 };
    static struct fault_case c;
    uint8_t ulpdu[64];

    open_case(&c, &none, true);
    raw_send_fpdu(c.p.s, ulpdu, raw_untagged(ulpdu, TERMINATE, 2, 1, 0, true, why, sizeof why), true);
    CHECK(kit_result(&c.p.side).Status < 0);
    data_check_ended(&c.p.side);
    CHECK(raw_wait_end(c.p.s));
    close_case(&c);
}
