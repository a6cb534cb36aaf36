/* SPDX-License-Identifier: MIT */
/*
 * A raw peer: a TCP socket, and code that writes and reads MPA frames and FPDUs as bytes. It shares no code with the
 * provider. All calls wait without a time limit, and fail the case on an error. The first socket skips the case if the
 * adapter is not an iWARP one.
 */
#ifndef TESTS_CONTRACT_RAW_H
#define TESTS_CONTRACT_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum raw_flags { RAW_M = 0x80, RAW_C = 0x40, RAW_R = 0x20, RAW_S = 0x10 };
enum raw_bits {
    RAW_A = 0x8000,
    RAW_B = 0x4000, /* beside IRD */
    RAW_WRITE = 0x8000,
    RAW_READ = 0x4000 /* beside ORD */
};

struct raw_frame {
    uint8_t flags, revision;
    uint16_t ird, ord; /* with enum raw_bits; only if RAW_S is set and the frame has 4 bytes for them */
    uint8_t data[512]; /* private data behind IRD and ORD */
    size_t len;
};

int raw_listen(struct sockaddr_storage *address); /* returns the socket; replaces port 0 by the port that it got */
int raw_accept(int listener);
int raw_connect(const struct sockaddr_storage *address);
int raw_connect_from(const struct sockaddr_storage *source, const struct sockaddr_storage *address);
int raw_try_connect(const struct sockaddr_storage *address); /* -1: refused or reset */
void raw_send(int s, const void *bytes, size_t len);
size_t raw_recv(int s, void *bytes, size_t len); /* less than len only at the end of the stream or a reset */
bool raw_wait_end(int s);                        /* waits; true: end of the stream or reset, false: a byte */
void raw_close(int s, bool reset);
bool raw_is_silent(int s); /* pauses; true: then neither a byte nor the end has arrived */

void raw_send_frame(int s, bool reply, const struct raw_frame *f);
bool raw_recv_frame(int s, bool reply, struct raw_frame *f); /* false: the stream ended first */
/* A frame of revision 2 with these limits, RAW_S, and with crc RAW_C. */
struct raw_frame raw_enhanced(bool crc, uint16_t ird, uint16_t ord);

uint32_t raw_crc32c(const void *bytes, size_t len);
/* Makes one FPDU of a ULPDU, with a CRC of zero unless crc. Returns its size; out has len + 16 bytes. */
size_t raw_fpdu(uint8_t *out, const void *ulpdu, size_t len, bool crc);
void raw_send_fpdu(int s, const void *ulpdu, size_t len, bool crc);
/* Reads an FPDU, and with crc checks its CRC. Returns the ULPDU's length, -1 at the end of the stream. */
int raw_recv_fpdu(int s, uint8_t *ulpdu, size_t size, bool crc);

/* Each makes a ULPDU of header and payload, and returns its length. */
size_t raw_untagged(uint8_t *out, uint8_t opcode, uint32_t queue, uint32_t msn, uint32_t mo, bool last,
                    const void *payload, size_t len);
size_t raw_tagged(uint8_t *out, uint8_t opcode, uint32_t stag, uint64_t to, bool last, const void *payload, size_t len);
size_t raw_read_request(uint8_t *out, uint32_t msn, uint32_t sink, uint64_t sink_to, uint32_t len, uint32_t source,
                        uint64_t source_to);
/* Sends a message of one segment. The first msn is 1. */
void raw_send_message(int s, uint32_t msn, const void *payload, size_t len);
/* Is it a Terminate message? *code receives layer, type and code as on the wire (0x1101: DDP, tagged, bounds). */
bool raw_is_terminate(const uint8_t *ulpdu, int len, uint16_t *code);
/*
 * Reads until a Terminate message, after which the stream must end. Returns its code, and the message in ulpdu, which
 * has 128 bytes.
 */
uint16_t raw_recv_terminate(int s, bool crc, uint8_t *ulpdu, int *len);

#endif
