/* SPDX-License-Identifier: MIT */
/*
 * An NDK service that echoes messages, through the public headers alone. One thread owns all connections; callbacks
 * only leave a note for it. Its counts may be read at any time.
 */
#ifndef HOSTILE_SERVICE_H
#define HOSTILE_SERVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ndk/ndkpi.h"

enum { SERVICE_LISTENERS_MAX = 64, SERVICE_REASONS_MAX = 64, SERVICE_REASON_NAME = 80 };

struct service_options {
    struct sockaddr_storage address; /* port 0: one is taken; each further listener has the next port */
    uint32_t listeners;
    uint32_t connections;            /* beyond so many at a time requests are rejected */
    uint32_t receives, receive_size; /* of a connection */
    uint32_t srq;                    /* receives of a shared receive queue; 0: none */
    uint32_t answer_ms;              /* a request waits so long for its answer */
    bool hold;                       /* or until service_answer */
};

/* Opens adapter, queues, regions, listeners. *step: what failed. */
NTSTATUS service_start(const struct service_options *options, const char **step);
uint16_t service_port(uint32_t listener);
/* Answers what is held, and from now on at once. */
void service_answer(void);
/* Closes all connections, then everything else. Returns false if a byte around the regions has changed. */
bool service_stop(void);
/* Writes the counts as members of a JSON object. */
void service_print(FILE *to);

#endif
