/* SPDX-License-Identifier: MIT */
/*
 * One end of an iWARP connection made by hand, on 127.0.0.1, that can end at any byte. The other end is a sample
 * driver. Every function may be called by any thread and returns false if the other end is gone; the test's time limit
 * bounds what waits.
 */
#ifndef TESTS_WDK_SAMPLES_PEER_H
#define TESTS_WDK_SAMPLES_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct peer {
    int fd;         /* -1: no connection */
    uint32_t msn;   /* messages begun so far */
    uint16_t reads; /* at a time, as the request offers them */
};

/* One FPDU that was received. */
struct peer_fpdu {
    bool tagged;
    uint8_t opcode; /* enum rdmap_opcode */
    uint32_t stag;  /* tagged: the target; untagged: the STag to invalidate */
    uint64_t to;    /* tagged: the target's offset */
    const uint8_t *payload;
    size_t len;
    uint8_t bytes[65536];
};

/* ---- Sockets ---- */
int peer_listen(uint16_t port); /* returns the socket, or -1 */
bool peer_accept(struct peer *p, int listener);
bool peer_connect(struct peer *p, uint16_t port); /* false: refused or reset */
void peer_close(struct peer *p);                  /* may be called twice */
void peer_reset(struct peer *p);                  /* ... as a reset */
void peer_half_close(struct peer *p);             /* sends nothing more, goes on receiving */
bool peer_wait_end(struct peer *p);               /* reads on to the end of the stream; false: that was a reset */
void peer_wait_byte(struct peer *p);              /* waits for a byte or the end of the stream, and reads neither */

/* ---- Start-up ---- */
bool peer_send_request(struct peer *p);
bool peer_send_half_request(struct peer *p);
bool peer_receive_request(struct peer *p);
enum peer_reply { PEER_ACCEPT, PEER_REJECT, PEER_HALF_REPLY, PEER_GARBAGE };
bool peer_send_reply(struct peer *p, enum peer_reply kind);
bool peer_receive_reply(struct peer *p); /* false also if it is a rejection */
bool peer_send_ready(struct peer *p);

/* ---- Messages, each as one FPDU with CRC ---- */
bool peer_send_message(struct peer *p, const void *payload, size_t len);
bool peer_send_first_segment(struct peer *p, const void *payload, size_t len); /* of a message that is not finished */
bool peer_send_half_message(struct peer *p, const void *payload, size_t len);  /* half of the FPDU's bytes */
bool peer_send_invalidating(struct peer *p, uint32_t stag, const void *payload, size_t len);
/* A Read Response's segment: `last` ends it. */
bool peer_send_response(struct peer *p, uint32_t stag, uint64_t to, const void *payload, size_t len, bool last);
bool peer_send_garbage(struct peer *p);
bool peer_receive(struct peer *p, struct peer_fpdu *f);

#endif
