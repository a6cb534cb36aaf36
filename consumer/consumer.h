/* SPDX-License-Identifier: MIT */
/*
 * A small NDK consumer that waits: what the tools are built on, and an example of how a program uses ndkpi.h. Each
 * function that can pend waits for its completion, up to the deadline of the consumer.
 */
#ifndef CONSUMER_CONSUMER_H
#define CONSUMER_CONSUMER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "ndk/ndkpi.h"
#include "openndk/adapter.h"
#include "openndk/mdl.h"

/* Something that happened, with who waits for it. */
struct event {
    pthread_mutex_t lock;
    pthread_cond_t change;
    unsigned count;
};

/* One registered piece of memory. */
struct region {
    MDL mdl;
    NDK_MR *mr;
    uint8_t *memory;
    uint32_t len;
    uint32_t local_token, remote_token;
};

struct consumer {
    struct consumer *first;       /* whose adapter and PD these are; NULL: own */
    NDK_ADAPTER *adapter;
    bool beside;                  /* the adapter is another consumer's */
    NDK_ADAPTER_INFO info;
    NDK_PD *pd;
    NDK_CQ *cq;                   /* NULL: it uses that of another consumer */
    NDK_QP *qp;
    NDK_CONNECTOR *connector;
    NDK_LISTENER *listener;
    struct event done;            /* completions of requests, creates and closes */
    struct event requests;        /* connect events */
    struct event notified;        /* CQ notifications */
    struct event *wake;           /* what notifications and the peer's disconnect set: the first consumer's notified */
    struct event disconnected;
    NDK_CONNECTOR *requested[16]; /* a ring of connectors that asked and were not yet taken */
    unsigned asked, taken;
    uint32_t disconnect_reason;
    NTSTATUS status;              /* of the completion last waited for */
    NDK_OBJECT_HEADER *object;
};

/* Opens the adapter and makes PD, CQ and QP. `what` is set to the step that failed. */
NTSTATUS consumer_open(struct consumer *c, uint32_t if_index, const char **what);
/* The same on the adapter of another one, which has to be closed later: for a second connection of one listener. */
NTSTATUS consumer_open_beside(struct consumer *c, const struct consumer *other, const char **what);

struct consumer_queues {
    uint32_t receives, requests, inline_size;
};
/*
 * A further queue pair on the adapter and PD of `first`: with a CQ of its own, of cq_depth, or on that of cq_of. Its
 * QPContext is c. Who waits for first wakes up for it, too. Close it before first, and before cq_of.
 */
NTSTATUS consumer_join(struct consumer *c, struct consumer *first, struct consumer *cq_of, uint32_t cq_depth,
                       const struct consumer_queues *queues, const char **what);
/* Closes everything that is there, in the order that the lifetime rules like best. */
void consumer_close(struct consumer *c);

/* Zeroed memory, registered with all rights, or with those in flags (NDK_MR_FLAG_). */
NTSTATUS consumer_region(struct consumer *c, struct region *r, uint32_t len);
NTSTATUS consumer_region_with(struct consumer *c, struct region *r, uint32_t len, ULONG flags);
void consumer_region_close(struct consumer *c, struct region *r);

NTSTATUS consumer_listen(struct consumer *c, const struct sockaddr *address);
/* Where the listener listens: with the port that it got if it asked for port 0. False: unknown. */
bool consumer_listening(struct consumer *c, struct sockaddr_storage *address);
/* The next connector that asks; NULL after seconds (0: for ever). The caller puts it into c->connector. */
NDK_CONNECTOR *consumer_request(struct consumer *c, unsigned seconds);

struct consumer_limits {
    uint32_t inbound, outbound;
};
NTSTATUS consumer_connect(struct consumer *c, const struct sockaddr *from, const struct sockaddr *to,
                          struct consumer_limits limits, const void *data, uint32_t len);
NTSTATUS consumer_complete(struct consumer *c);
NTSTATUS consumer_accept(struct consumer *c, struct consumer_limits limits, const void *data, uint32_t len);
/* Closes the connector alone: who asked and has been answered with no, say. */
void consumer_drop(struct consumer *c);
NTSTATUS consumer_disconnect(struct consumer *c);
/* Waits until the peer has disconnected; false after seconds. */
bool consumer_wait_disconnect(struct consumer *c, unsigned seconds);

/* The next result; false after seconds without one, or when the peer has disconnected and nothing is queued. */
bool consumer_result(struct consumer *c, NDK_RESULT_EX *result, unsigned seconds);

/*
 * For who looks at completion queues himself: the count of what would wake him, before he looks and arms; then wait
 * until there is more, or so many milliseconds have passed.
 */
unsigned consumer_notified(struct consumer *c);
void consumer_wait(struct consumer *c, unsigned seen, unsigned ms);
/* The peer has disconnected. */
bool consumer_gone(struct consumer *c);

NDK_SGE consumer_sge(const struct region *r, uint32_t offset, uint32_t len);

#endif
