/* SPDX-License-Identifier: MIT */
/* Checks what the library reports about a failed connection: the entry in the list of failures, and the log's line. */
#ifndef TESTS_OBSERVE_OUTCOME_H
#define TESTS_OBSERVE_OUTCOME_H

#include "contract/kit/kit.h"
#include "openndk/config.h"
#include "openndk/netstat.h"
#include "openndk/reason.h"

#define REASON(name) ((uint32_t)ONDK_CAUSE_##name << 16)

enum { OUTCOME_ROOM = 128, ACCEPTED = 0, INITIATED = 1, REFUSED = 2 };

struct outcome {
    unsigned role; /* INITIATED or ACCEPTED, with REFUSED */
    const char *phase;
    NTSTATUS status;
    uint32_t reason;
    const struct sockaddr_storage *local, *foreign; /* NULL: not compared; port 0: only the host is compared */
    uint64_t count;                                 /* 0: once */
};

/* From now on the log's lines of all levels are collected, and outcome_wait requires the failure's line. */
void log_collect(void);
/* How many collected lines of the level have this part? */
unsigned log_count(uint32_t level, const char *part);
/* Returns the sum of the numbers in lines that a format of scanf with one %u matches. */
unsigned log_sum(uint32_t level, const char *format);
/* Waits until there are that many. */
void log_wait(uint32_t level, const char *part, unsigned count);

/*
 * Waits until the adapter has `total` failures, and its newest is the expected one, which it returns. The log has a
 * line with the same.
 */
ondk_failure_t outcome_wait(const struct kit_side *s, const struct outcome *e, uint32_t total);
/* Sets a field of 32 bits in the configuration of later adapters, and all other fields to their defaults. */
#define LIMIT(field, value) outcome_set_limit(offsetof(ondk_config_t, field), (value))
void outcome_set_limit(size_t field, uint32_t value);
/* The address of a socket of this process. */
struct sockaddr_storage outcome_socket_address(int s);

#endif
