/* SPDX-License-Identifier: MIT */
/*
 * A peer that speaks TCP and MPA by hand, with code of its own: what the provider sends is read here as bytes, and what
 * it must withstand is written here as bytes. All calls block (the runner's watchdog is the limit) and fail the case.
 * Where the adapter is none of iWARP, the first socket skips the case.
 */
#ifndef TESTS_CONTRACT_RAW_H
#define TESTS_CONTRACT_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum raw_flags { RAW_M = 0x80, RAW_C = 0x40, RAW_R = 0x20, RAW_S = 0x10 };
enum raw_bits {
    RAW_A = 0x8000, RAW_B = 0x4000,       /* beside IRD */
    RAW_WRITE = 0x8000, RAW_READ = 0x4000 /* beside ORD */
};

struct raw_frame {
    uint8_t flags, revision;
    uint16_t ird, ord;       /* with their bits; only where RAW_S is set and there are 4 bytes */
    uint8_t data[512];       /* private data behind IRD and ORD */
    size_t len;
};

int raw_listen(struct sockaddr_storage *address); /* port 0: filled in. Returns the socket */
int raw_accept(int listener);
int raw_connect(const struct sockaddr_storage *address);
int raw_connect_from(const struct sockaddr_storage *source, const struct sockaddr_storage *address);
int raw_try_connect(const struct sockaddr_storage *address); /* -1: refused or reset */
void raw_send(int s, const void *bytes, size_t len);
size_t raw_recv(int s, void *bytes, size_t len); /* all of it, or less at the end of stream or a reset */
bool raw_ended(int s);                           /* waits for the end of stream (true), also a reset, or a byte */
void raw_close(int s, bool reset);
bool raw_silent(int s);                          /* nothing has come, not even an end; gives it time to */

void raw_send_frame(int s, bool reply, const struct raw_frame *f);
bool raw_recv_frame(int s, bool reply, struct raw_frame *f); /* false: the stream ended first */
/* A plain revision 2 frame with these limits, S (and C where crc). */
struct raw_frame raw_enhanced(bool crc, uint16_t ird, uint16_t ord);

uint32_t raw_crc32c(const void *bytes, size_t len);
/* One FPDU around a ULPDU, CRC right (or zero where off). Returns its size; out holds len + 16. */
size_t raw_fpdu(uint8_t *out, const void *ulpdu, size_t len, bool crc);
void raw_send_fpdu(int s, const void *ulpdu, size_t len, bool crc);
/* The next FPDU's ULPDU, its CRC checked where on; -1 at the end of stream. */
int raw_recv_fpdu(int s, uint8_t *ulpdu, size_t size, bool crc);

/* ULPDUs: headers with payload; each returns its length. */
size_t raw_untagged(uint8_t *out, uint8_t opcode, uint32_t queue, uint32_t msn, uint32_t mo, bool last,
                    const void *payload, size_t len);
size_t raw_tagged(uint8_t *out, uint8_t opcode, uint32_t stag, uint64_t to, bool last, const void *payload, size_t len);
size_t raw_read_request(uint8_t *out, uint32_t msn, uint32_t sink, uint64_t sink_to, uint32_t len, uint32_t source,
                        uint64_t source_to);
/* A whole message as one segment: msn counts from 1. */
void raw_send_message(int s, uint32_t msn, const void *payload, size_t len);
/* Is it a Terminate message? *code: layer, type and code as on the wire (0x1101: DDP, tagged, bounds). */
bool raw_is_terminate(const uint8_t *ulpdu, int len, uint16_t *code);
/*
 * Reads on to the Terminate that must come, and behind which the stream must end. Returns its code; ulpdu (of 128
 * bytes) is the message, *len its length.
 */
uint16_t raw_last_words(int s, bool crc, uint8_t *ulpdu, int *len);

#endif
