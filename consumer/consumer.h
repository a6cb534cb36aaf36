/* SPDX-License-Identifier: MIT */
/*
 * One connection of a small NDK consumer, with the objects that it needs. Each function that can be pending waits until
 * it has completed (sync.h); time limits are those of the provider, except where a function has one of its own.
 * One thread at a time uses a consumer.
 */
#ifndef CONSUMER_CONSUMER_H
#define CONSUMER_CONSUMER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "consumer/region.h"
#include "ndk/ndkpi.h"
#include "openndk/adapter.h"

/* Counts something that happens on threads of the provider, and wakes the thread that waits for it. */
struct event {
    pthread_mutex_t lock;
    pthread_cond_t change;
    unsigned count;
};

enum { CONSUMER_MAX_REQUESTS = 16 };

struct consumer {
    bool owns_adapter, owns_pd;
    NDK_ADAPTER *adapter;
    NDK_ADAPTER_INFO info;
    NDK_PD *pd;
    NDK_CQ *cq; /* NULL: the QP completes on the CQ of another consumer */
    NDK_QP *qp;
    NDK_CONNECTOR *connector;
    NDK_LISTENER *listener;
    struct event notified; /* CQ notifications, and the peer's disconnect */
    struct event *wake;    /* `notified` of this consumer, or of the one whose PD it uses */
    struct event disconnected;
    uint32_t disconnect_reason;                     /* valid after disconnected */
    struct event requested;                         /* connect requests; its lock guards the fields below */
    NDK_CONNECTOR *requests[CONSUMER_MAX_REQUESTS]; /* a ring: connectors that wait for consumer_next_request */
    unsigned requests_popped;
    bool is_closing; /* further connect requests are refused */
    atomic_bool is_cancelled;
    bool (*is_interrupted)(void); /* optional: consumer_connect ends with STATUS_CANCELLED when it returns true */
};

/*
 * Opens the adapter, and creates PD, CQ and QP. Sets *step to the call that failed; consumer_close is required even
 * then.
 */
NTSTATUS consumer_open(struct consumer *c, uint32_t if_index, const char **step);
/* The same on the adapter of `other`, which must be closed later. */
NTSTATUS consumer_open_on_adapter(struct consumer *c, const struct consumer *other, const char **step);

struct consumer_queues {
    uint32_t receives, requests, inline_size;
};
/*
 * Creates a QP on the adapter and PD of `first`, which must be closed later. The QP completes on the CQ of `cq_owner`,
 * which must be closed later too, or, if that is NULL, on a CQ of its own with cq_depth entries. QPContext is c.
 * Notifications and disconnects of c wake the thread that waits for `first`.
 */
NTSTATUS consumer_open_on_pd(struct consumer *c, struct consumer *first, struct consumer *cq_owner, uint32_t cq_depth,
                             const struct consumer_queues *queues, const char **step);
/* Closes all objects, connectors that still wait included. */
void consumer_close(struct consumer *c);

NTSTATUS consumer_listen(struct consumer *c, const struct sockaddr *address);
/* The address of the listener, with the port that it got if it asked for port 0. */
NTSTATUS consumer_listener_address(struct consumer *c, struct sockaddr_storage *address);
/* The connector of the next request, which the caller stores in a consumer; NULL after `seconds` (0: no limit). */
NDK_CONNECTOR *consumer_next_request(struct consumer *c, unsigned seconds);
/* The same with milliseconds. */
NDK_CONNECTOR *consumer_next_request_ms(struct consumer *c, uint64_t ms);

struct consumer_limits {
    uint32_t inbound, outbound; /* read limits */
};
NTSTATUS consumer_connect(struct consumer *c, const struct sockaddr *from, const struct sockaddr *to,
                          struct consumer_limits limits, const void *data, uint32_t len);
NTSTATUS consumer_complete_connect(struct consumer *c);
NTSTATUS consumer_accept(struct consumer *c, struct consumer_limits limits, const void *data, uint32_t len);
NTSTATUS consumer_disconnect(struct consumer *c);
bool consumer_is_disconnected(struct consumer *c); /* by the peer */
/* Waits until the peer has disconnected; false after `seconds`. */
bool consumer_wait_disconnect(struct consumer *c, unsigned seconds);
/* The same with milliseconds. */
bool consumer_wait_disconnect_ms(struct consumer *c, uint64_t ms);
void consumer_close_connector(struct consumer *c);

/*
 * Ends the waits for requests, results and the disconnect, as after their time limit: now, and each later one at once.
 * Any thread, between a successful open and consumer_close.
 */
void consumer_cancel(struct consumer *c);
bool consumer_is_cancelled(struct consumer *c);

/* The next result of c->cq; false after `seconds`, or if the peer has disconnected and no result is left. */
bool consumer_next_result(struct consumer *c, NDK_RESULT_EX *result, unsigned seconds);
/* The same with milliseconds. */
bool consumer_next_result_ms(struct consumer *c, NDK_RESULT_EX *result, uint64_t ms);

/*
 * For a thread that polls completion queues itself: it reads the count, polls and arms, and then waits, at most `ms`
 * milliseconds, until the count has changed.
 */
unsigned consumer_wake_count(struct consumer *c);
void consumer_wait_wake(struct consumer *c, unsigned count, unsigned ms);

#endif
