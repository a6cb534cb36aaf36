/* SPDX-License-Identifier: MIT */
/*
 * One connection of a small NDK consumer, with the objects that it needs. Each function waits until its NDK calls have
 * completed (sync.h). The time limits of these waits are the provider's, unless the function has a time limit as
 * parameter. Only one thread at a time may use a consumer, except that any thread may call consumer_cancel.
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

/*
 * Counts the events of one kind. The events happen on threads of the provider, and wake the thread that waits for them.
 */
struct event {
    pthread_mutex_t lock;
    pthread_cond_t change;
    unsigned count;
};

enum { CONSUMER_MAX_REQUESTS = 16 };

struct consumer_limits {
    uint32_t inbound, outbound; /* read limits */
};

struct consumer {
    bool owns_adapter, owns_pd;
    NDK_ADAPTER *adapter;
    NDK_ADAPTER_INFO info;
    NDK_PD *pd;
    NDK_CQ *cq; /* NULL: the QP uses the CQ of another consumer */
    NDK_QP *qp;
    NDK_CONNECTOR *connector;
    NDK_LISTENER *listener;
    struct consumer_limits effective; /* the connection's read limits; set by consumer_connect and consumer_accept */
    struct event notified;            /* counts CQ notifications, and the peer's disconnect */
    struct event *wake;               /* points to `notified` of this consumer, or of the consumer that owns the PD */
    struct event disconnected;
    uint32_t disconnect_reason; /* valid if disconnected.count is not 0 */
    struct event requested;     /* counts connect requests; its lock protects the next three members */
    NDK_CONNECTOR *requests[CONSUMER_MAX_REQUESTS]; /* a ring of the connectors that wait for consumer_next_request */
    unsigned requests_popped;
    bool is_closing; /* set by consumer_close: further connect requests are refused */
    atomic_bool is_cancelled;
    bool (*is_interrupted)(void); /* optional: if it returns true, consumer_connect ends with STATUS_CANCELLED */
};

/*
 * Opens the adapter (provider.h), and creates PD, CQ and QP. After a failure, *step is the name of the call that
 * failed. consumer_close is required even after a failure.
 */
NTSTATUS consumer_open(struct consumer *c, uint32_t if_index, const char **step);
/* Works like consumer_open, but creates PD, CQ and QP on the adapter of `other`. `c` must be closed before `other`. */
NTSTATUS consumer_open_on_adapter(struct consumer *c, const struct consumer *other, const char **step);

struct consumer_queues {
    uint32_t receives, requests, inline_size;
};
/*
 * Creates a QP on the adapter and PD of `first`. The QP's requests complete on the CQ of `cq_owner`. If cq_owner is
 * NULL, they complete on a new CQ of `c` with cq_depth entries. `c` must be closed before `first` and cq_owner. The
 * QPContext is `c`. A notification of the new CQ, or a disconnect by the peer of `c`, wakes the thread that waits for
 * results of `first`.
 */
NTSTATUS consumer_open_on_pd(struct consumer *c, struct consumer *first, struct consumer *cq_owner, uint32_t cq_depth,
                             const struct consumer_queues *queues, const char **step);
/* Closes all objects, and all connectors that consumer_next_request has not returned. */
void consumer_close(struct consumer *c);

NTSTATUS consumer_listen(struct consumer *c, const struct sockaddr *address);
/* Writes the listener's address. If consumer_listen had port 0, the address has the port that the provider chose. */
NTSTATUS consumer_listener_address(struct consumer *c, struct sockaddr_storage *address);
/*
 * Returns the connector of the next connect request, or NULL after `seconds` (0: no limit). The caller must store the
 * connector in the member `connector` of a consumer.
 */
NDK_CONNECTOR *consumer_next_request(struct consumer *c, unsigned seconds);
/* Works like consumer_next_request, with a time limit in milliseconds. */
NDK_CONNECTOR *consumer_next_request_ms(struct consumer *c, uint64_t ms);

NTSTATUS consumer_connect(struct consumer *c, const struct sockaddr *from, const struct sockaddr *to,
                          struct consumer_limits limits, const void *data, uint32_t len);
NTSTATUS consumer_complete_connect(struct consumer *c);
NTSTATUS consumer_accept(struct consumer *c, struct consumer_limits limits, const void *data, uint32_t len);
NTSTATUS consumer_disconnect(struct consumer *c);
bool consumer_is_disconnected(struct consumer *c); /* returns true if the peer has disconnected */
/* Waits until the peer has disconnected. Returns false after `seconds` (0: no limit). */
bool consumer_wait_disconnect(struct consumer *c, unsigned seconds);
/* Works like consumer_wait_disconnect, with a time limit in milliseconds. */
bool consumer_wait_disconnect_ms(struct consumer *c, uint64_t ms);
void consumer_close_connector(struct consumer *c);
/*
 * Closes the connector and the QP. After this call, no request of the QP uses memory any more. A caller that has posted
 * requests must make this call before it frees their memory, for example by consumer_region_destroy. The posted
 * receives of a QP that was never connected complete only when the QP is closed.
 */
void consumer_close_qp(struct consumer *c);

/*
 * Ends every wait for a connect request, a result or the disconnect, as if the time limit had passed. Every later wait
 * ends at once. May be called by any thread between a successful open and consumer_close.
 */
void consumer_cancel(struct consumer *c);
bool consumer_is_cancelled(struct consumer *c);

/*
 * Gets the next result of c->cq. Returns false if no notification arrives for `seconds` (0: no limit), or if the peer
 * has disconnected and no result is left.
 */
bool consumer_next_result(struct consumer *c, NDK_RESULT_EX *result, unsigned seconds);
/* Works like consumer_next_result, with a time limit in milliseconds. */
bool consumer_next_result_ms(struct consumer *c, NDK_RESULT_EX *result, uint64_t ms);

/*
 * These functions are for a thread that polls completion queues without consumer_next_result. The thread gets `count`
 * from consumer_wake_count, polls and arms the queues, and then calls consumer_wait_wake. consumer_wait_wake waits
 * until consumer_wake_count no longer returns `count`, or until `ms` milliseconds have passed (0: no limit).
 */
unsigned consumer_wake_count(struct consumer *c);
void consumer_wait_wake(struct consumer *c, unsigned count, unsigned ms);

#endif
