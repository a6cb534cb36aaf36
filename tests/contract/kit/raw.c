/* SPDX-License-Identifier: MIT */
/* A raw peer: see raw.h. */
#include "contract/kit/raw.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "contract/kit/kit.h"

static const char request_key[16] = "MPA ID Req Frame", reply_key[16] = "MPA ID Rep Frame";

int raw_listen(struct sockaddr_storage *address)
{
    socklen_t len = sizeof *address;
    int s, on = 1;

    kit_need_iwarp();
    s = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(s >= 0);
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    CHECK(bind(s, (struct sockaddr *)address, kit_address_len(address)) == 0);
    CHECK(listen(s, 64) == 0);
    CHECK(getsockname(s, (struct sockaddr *)address, &len) == 0);
    return s;
}

/* Checks the socket and turns Nagle's algorithm off, so that even a few bytes are sent at once. Returns s. */
static int raw_set_nodelay(int s)
{
    int on = 1;

    CHECK(s >= 0);
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return s;
}

int raw_accept(int listener)
{
    return raw_set_nodelay(accept(listener, NULL, NULL));
}

/* Connects a socket, bound to *source if source is not NULL. Returns the socket, or -1 if refused or reset. */
static int raw_try_connect_from(const struct sockaddr_storage *source, const struct sockaddr_storage *address)
{
    int s;

    kit_need_iwarp();
    s = raw_set_nodelay(socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (source)
        CHECK(bind(s, (const struct sockaddr *)source, kit_address_len(source)) == 0);
    if (connect(s, (const struct sockaddr *)address, kit_address_len(address)) == 0)
        return s;
    CHECK(errno == ECONNREFUSED || errno == ECONNRESET);
    close(s);
    return -1;
}

int raw_try_connect(const struct sockaddr_storage *address)
{
    return raw_try_connect_from(NULL, address);
}

int raw_connect_from(const struct sockaddr_storage *source, const struct sockaddr_storage *address)
{
    int s = raw_try_connect_from(source, address);

    CHECK(s >= 0);
    return s;
}

int raw_connect(const struct sockaddr_storage *address)
{
    int s = raw_try_connect(address);

    CHECK(s >= 0);
    return s;
}

void raw_send(int s, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;

    while (len) {
        ssize_t n = send(s, at, len, MSG_NOSIGNAL);
        if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
            return; /* the provider has ended the stream; the test case checks what the provider has sent */
        CHECK(n > 0);
        at += n;
        len -= (size_t)n;
    }
}

size_t raw_recv(int s, void *bytes, size_t len)
{
    uint8_t *at = bytes;
    size_t have = 0;

    while (have < len) {
        ssize_t n = recv(s, at + have, len - have, 0);
        if (n == 0 || (n < 0 && errno == ECONNRESET))
            break;
        CHECK(n > 0);
        have += (size_t)n;
    }
    return have;
}

bool raw_wait_end(int s)
{
    uint8_t byte;

    return raw_recv(s, &byte, 1) == 0;
}

void raw_close(int s, bool reset)
{
    struct linger hard = { .l_onoff = 1, .l_linger = 0 };

    if (reset)
        setsockopt(s, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close(s);
}

bool raw_is_silent(int s)
{
    uint8_t byte;

    kit_pause();
    return recv(s, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static uint8_t *raw_put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--)
        *at++ = (uint8_t)(value >> (8 * i));
    return at;
}

static uint64_t raw_get(const uint8_t *at, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

void raw_send_frame(int s, bool reply, const struct raw_frame *f)
{
    uint8_t bytes[20 + 4 + 512], *at = bytes;
    bool limits = f->flags & RAW_S;

    memcpy(at, reply ? reply_key : request_key, 16);
    at += 16;
    *at++ = f->flags;
    *at++ = f->revision;
    at = raw_put(at, f->len + (limits ? 4 : 0), 2);
    if (limits)
        at = raw_put(raw_put(at, f->ird, 2), f->ord, 2);
    memcpy(at, f->data, f->len);
    raw_send(s, bytes, (size_t)(at - bytes) + f->len);
}

bool raw_recv_frame(int s, bool reply, struct raw_frame *f)
{
    uint8_t head[20], limits[4];
    size_t len;

    memset(f, 0, sizeof *f);
    if (raw_recv(s, head, sizeof head) < sizeof head)
        return false;
    CHECK(memcmp(head, reply ? reply_key : request_key, 16) == 0);
    f->flags = head[16];
    f->revision = head[17];
    len = raw_get(head + 18, 2);
    if ((f->flags & RAW_S) && len >= 4) {
        CHECK_EQ(raw_recv(s, limits, 4), 4);
        f->ird = (uint16_t)raw_get(limits, 2);
        f->ord = (uint16_t)raw_get(limits + 2, 2);
        len -= 4;
    }
    CHECK(len <= sizeof f->data);
    f->len = len;
    return raw_recv(s, f->data, len) == len;
}

struct raw_frame raw_enhanced(bool crc, uint16_t ird, uint16_t ord)
{
    struct raw_frame f;

    memset(&f, 0, sizeof f);
    f.flags = (uint8_t)(RAW_S | (crc ? RAW_C : 0));
    f.revision = 2;
    f.ird = ird;
    f.ord = ord;
    return f;
}

uint32_t raw_crc32c(const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    uint32_t crc = 0xffffffff;

    for (size_t i = 0; i < len; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    return ~crc;
}

size_t raw_fpdu(uint8_t *out, const void *ulpdu, size_t len, bool crc)
{
    size_t padded = (2 + len + 3) & ~(size_t)3;
    uint32_t sum;

    memset(out, 0, padded + 4);
    raw_put(out, len, 2);
    memcpy(out + 2, ulpdu, len);
    sum = crc ? raw_crc32c(out, padded) : 0;
    for (int i = 0; i < 4; i++)
        out[padded + (size_t)i] = (uint8_t)(sum >> (8 * i));
    return padded + 4;
}

void raw_send_fpdu(int s, const void *ulpdu, size_t len, bool crc)
{
    uint8_t *bytes = malloc(len + 16);

    CHECK(bytes != NULL);
    raw_send(s, bytes, raw_fpdu(bytes, ulpdu, len, crc));
    free(bytes);
}

int raw_recv_fpdu(int s, uint8_t *ulpdu, size_t size, bool crc)
{
    uint8_t bytes[65536 + 16];
    size_t len, padded;

    if (raw_recv(s, bytes, 2) < 2)
        return -1;
    len = raw_get(bytes, 2);
    padded = (2 + len + 3) & ~(size_t)3;
    if (raw_recv(s, bytes + 2, padded + 2) < padded + 2)
        return -1;
    if (crc) {
        uint32_t sum = raw_crc32c(bytes, padded);
        for (int i = 0; i < 4; i++)
            CHECK_EQ(bytes[padded + (size_t)i], (uint8_t)(sum >> (8 * i)));
    }
    CHECK(len <= size);
    memcpy(ulpdu, bytes + 2, len);
    return (int)len;
}

size_t raw_untagged(uint8_t *out, uint8_t opcode, uint32_t queue, uint32_t msn, uint32_t mo, bool last,
                    const void *payload, size_t len)
{
    uint8_t *at = out;

    *at++ = (uint8_t)((last ? 0x40 : 0) | 1);
    *at++ = (uint8_t)(0x40 | opcode);
    at = raw_put(raw_put(raw_put(raw_put(at, 0, 4), queue, 4), msn, 4), mo, 4);
    if (len)
        memcpy(at, payload, len);
    return (size_t)(at - out) + len;
}

size_t raw_tagged(uint8_t *out, uint8_t opcode, uint32_t stag, uint64_t to, bool last, const void *payload, size_t len)
{
    uint8_t *at = out;

    *at++ = (uint8_t)(0x80 | (last ? 0x40 : 0) | 1);
    *at++ = (uint8_t)(0x40 | opcode);
    at = raw_put(raw_put(at, stag, 4), to, 8);
    if (len)
        memcpy(at, payload, len);
    return (size_t)(at - out) + len;
}

size_t raw_read_request(uint8_t *out, uint32_t msn, uint32_t sink, uint64_t sink_to, uint32_t len, uint32_t source,
                        uint64_t source_to)
{
    uint8_t payload[28], *at = payload;

    at = raw_put(raw_put(raw_put(raw_put(raw_put(at, sink, 4), sink_to, 8), len, 4), source, 4), source_to, 8);
    return raw_untagged(out, 1, 1, msn, 0, true, payload, (size_t)(at - payload));
}

void raw_send_message(int s, uint32_t msn, const void *payload, size_t len)
{
    uint8_t ulpdu[18 + 2048];

    CHECK(len <= sizeof ulpdu - 18);
    raw_send_fpdu(s, ulpdu, raw_untagged(ulpdu, 3, 0, msn, 0, true, payload, len), true);
}

bool raw_is_terminate(const uint8_t *ulpdu, int len, uint16_t *code)
{
    if (len < 18 + 4 || (ulpdu[0] & 0x80) || (ulpdu[1] & 15) != 7)
        return false;
    CHECK_EQ(raw_get(ulpdu + 6, 4), 2); /* the DDP queue number of a Terminate */
    *code = (uint16_t)raw_get(ulpdu + 18, 2);
    return true;
}

uint16_t raw_recv_terminate(int s, bool crc, uint8_t *ulpdu, int *len)
{
    static _Thread_local uint8_t any[65536];
    uint16_t code = 0;

    do {
        *len = raw_recv_fpdu(s, any, sizeof any, crc);
        if (*len < 0)
            kit_fail(__FILE__, __LINE__, "the stream ended without a Terminate");
    } while (!raw_is_terminate(any, *len, &code));
    CHECK(*len <= 128);
    memcpy(ulpdu, any, (size_t)*len);
    CHECK(raw_wait_end(s));
    return code;
}
