/* SPDX-License-Identifier: MIT */
/*
 * An NDK service that echoes messages and uses only the public headers. One thread owns all connections; callbacks only
 * add notes for it. Its counts may be read at any time.
 */
#ifndef HOSTILE_SERVICE_H
#define HOSTILE_SERVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ndk/ndkpi.h"

enum { SERVICE_MAX_LISTENERS = 64, SERVICE_MAX_REASONS = 64, SERVICE_REASON_NAME = 80 };

struct service_options {
    struct sockaddr_storage address; /* port 0: any port; each further listener uses the next port */
    uint32_t listeners;
    uint32_t connections;            /* maximum number of connections at a time; further requests are rejected */
    uint32_t receives, receive_size; /* number of receives of each connection, and the size of a receive */
    uint32_t srq;                    /* number of receives of a shared receive queue; 0: there is no such queue */
    uint32_t answer_ms;              /* delay of the answer to a request */
    bool delays_answers;             /* delays answers until service_answer */
};

/* Opens adapter, queues, regions and listeners. Sets *step to the call that failed. */
NTSTATUS service_start(const struct service_options *options, const char **step);
uint16_t service_port(uint32_t listener);
/* Answers all delayed requests. From then on, requests are answered without a delay. */
void service_answer(void);
/* Closes all connections, then everything else. Returns false if a byte around the regions has changed. */
bool service_stop(void);
/* Writes the counts as members of a JSON object. */
void service_print(FILE *to);

#endif
