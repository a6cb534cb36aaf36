/* SPDX-License-Identifier: MIT */
/* Shared by the tests of start-up: a usual configuration, and bytes into and out of one side. */
#ifndef TESTS_IWARP_HANDSHAKE_H
#define TESTS_IWARP_HANDSHAKE_H

#include <stddef.h>
#include <stdint.h>

#include "iwarp/startup.h"
#include "wire/mpa.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { ALL_FORMS = MPA_RTR_ZERO_FPDU | MPA_RTR_WRITE | MPA_RTR_READ };

extern const struct iw_startup_config usual;

/* Feeds len bytes, at most `piece` at a time; stops at the first event, which has to come with the last byte. */
enum iw_startup_event feed(struct iw_startup *s, const uint8_t *bytes, size_t len, size_t piece);
/* Copies everything that the side sends, at most `piece` bytes at a time. Sets *e to the last event. */
size_t drain(struct iw_startup *s, uint8_t *bytes, size_t piece, enum iw_startup_event *e);
/* Asserts that the side neither sends nor receives. */
void assert_idle(struct iw_startup *s);

#endif
