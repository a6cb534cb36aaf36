/* SPDX-License-Identifier: MIT */
/*
 * Abstract: two queue pairs. Side b has memory of every kind, for tests in which a peer's message, or what the message
 * needs, is invalid.
 */
#ifndef TESTS_IWARP_STAGE_H
#define TESTS_IWARP_STAGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "iwarp/pump.h"

enum { LEN = 100, HEADERS_NONE = 0, HEADERS_DDP = 1, HEADERS_READ = 2 };

/*
 * Side b's memory, each LEN bytes: a posted receive, a region that the peer may write, one that it may read, and one of
 * another protection domain.
 */
struct stage {
    struct pump p;
    bool crc;
    struct region receive, target, source, foreign;
    char other_domain;
};

void stage_open(struct stage *s, bool crc, uint64_t seed);
void stage_close(struct stage *s);
bool is_untouched(const struct region *r);
/* Receives everything in the side's pipe. */
void receive_all(struct side *s);
/* Asserts that the stream of `s` has ended with this Terminate, about this ULPDU. */
void assert_terminated(struct stage *g, struct side *s, enum wire_error error, int headers, const uint8_t *ulpdu,
                       size_t len);
/* Sends side b a segment with this header and so many bytes of payload. */
void inject(struct stage *s, const struct ddp_header *h, uint32_t payload);

/* clang-format off */
#define UNTAGGED(o, l, q, number, offset) { .opcode = (o), .last = (l), .queue = (q), .msn = (number), .mo = (offset) }
#define TAGGED(o, l, s, t) { .tagged = true, .opcode = (o), .last = (l), .stag = (s), .to = (t) }
/* clang-format on */

#endif
