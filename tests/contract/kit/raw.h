/* SPDX-License-Identifier: MIT */
/*
 * A raw peer: a TCP socket, and code that writes and reads MPA frames and FPDUs. A raw peer shares no code with the
 * provider. All calls wait without a time limit, and fail the case on an error. Calls that create a socket skip the
 * case if the adapter's technology is not iWARP.
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
    RAW_B = 0x4000, /* RAW_A and RAW_B are bits of the IRD field */
    RAW_WRITE = 0x8000,
    RAW_READ = 0x4000 /* RAW_WRITE and RAW_READ are bits of the ORD field */
};

struct raw_frame {
    uint8_t flags, revision;
    uint16_t ird, ord; /* with bits of enum raw_bits; sent only if flags has RAW_S */
    uint8_t data[512]; /* private data, without IRD and ORD */
    size_t len;
};

int raw_listen(struct sockaddr_storage *address); /* returns the socket; replaces port 0 by the chosen port */
int raw_accept(int listener);
int raw_connect(const struct sockaddr_storage *address);
int raw_connect_from(const struct sockaddr_storage *source, const struct sockaddr_storage *address);
int raw_try_connect(const struct sockaddr_storage *address); /* returns -1 if refused or reset */
void raw_send(int s, const void *bytes, size_t len);
size_t raw_recv(int s, void *bytes, size_t len); /* returns less than len only at the end of the stream or a reset */
bool raw_wait_end(int s); /* returns true at the end of the stream or a reset, false after a byte */
void raw_close(int s, bool reset);
bool raw_is_silent(int s); /* pauses; returns true if neither a byte nor the end has arrived */

void raw_send_frame(int s, bool reply, const struct raw_frame *f);
bool raw_recv_frame(int s, bool reply, struct raw_frame *f); /* returns false if the stream ends first */
/* Returns a frame of revision 2 with RAW_S and the read limits. If crc is true, the frame has RAW_C, too. */
struct raw_frame raw_enhanced(bool crc, uint16_t ird, uint16_t ord);

uint32_t raw_crc32c(const void *bytes, size_t len);
/*
 * Encodes a ULPDU as one FPDU. If crc is false, the CRC field is zero. Returns the FPDU's size. `out` must have len +
 * 16 bytes.
 */
size_t raw_fpdu(uint8_t *out, const void *ulpdu, size_t len, bool crc);
void raw_send_fpdu(int s, const void *ulpdu, size_t len, bool crc);
/* Reads an FPDU, and checks its CRC if crc is true. Returns the ULPDU's length, or -1 at the end of the stream. */
int raw_recv_fpdu(int s, uint8_t *ulpdu, size_t size, bool crc);

/* Each function encodes a ULPDU with header and payload into out, and returns the ULPDU's length. */
size_t raw_untagged(uint8_t *out, uint8_t opcode, uint32_t queue, uint32_t msn, uint32_t mo, bool last,
                    const void *payload, size_t len);
size_t raw_tagged(uint8_t *out, uint8_t opcode, uint32_t stag, uint64_t to, bool last, const void *payload, size_t len);
size_t raw_read_request(uint8_t *out, uint32_t msn, uint32_t sink, uint64_t sink_to, uint32_t len, uint32_t source,
                        uint64_t source_to);
/* Sends a message of one segment. A stream's first message has msn 1. */
void raw_send_message(int s, uint32_t msn, const void *payload, size_t len);
/* Returns whether the ULPDU is a Terminate. *code receives the error, for example 0x1101: DDP, tagged, bounds. */
bool raw_is_terminate(const uint8_t *ulpdu, int len, uint16_t *code);
/*
 * Reads until a Terminate message, after which the stream must end. Returns the message's code, as raw_is_terminate
 * does. Copies the message to ulpdu, which must have 128 bytes.
 */
uint16_t raw_recv_terminate(int s, bool crc, uint8_t *ulpdu, int *len);

#endif
