/* SPDX-License-Identifier: MIT */
/*
 * Parts that both ends of a measurement share: the control connection, the lanes (the measured queue pairs) with their
 * memory, requests, and polling for completions. One thread does everything.
 */
#ifndef NDKPERF_SESSION_H
#define NDKPERF_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "consumer/consumer.h"
#include "failure.h"
#include "options.h"
#include "wire.h"

/*
 * The areas of a queue pair's memory. Receives write to AREA_RECEIVE. The peer's writes and this end's reads write to
 * AREA_TARGET. This end's sends and writes, and the peer's reads, read from AREA_SOURCE. Both ends use the same layout.
 * Without --check each area has room for one message, which all requests share.
 */
enum area { AREA_RECEIVE, AREA_TARGET, AREA_SOURCE };

enum id { ID_RECEIVE, ID_SEND, ID_WRITE, ID_READ, ID_FLUSH, ID_ANSWER };

struct lane {
    struct consumer c; /* must be first: QPContext is the address of c, which session.c casts to a struct lane * */
    struct consumer_region memory;
    uint32_t index, peer_token;
    uint64_t peer_address;
    uint64_t posted, completed;   /* number of requests of this run */
    uint64_t received;            /* number of messages of this run */
    uint64_t sent, credited;      /* sends since the start: posted, and confirmed by credits */
    uint32_t uncredited;          /* messages received since the last credit */
    uint32_t owed;                /* answers that wait until an earlier answer has completed */
    uint64_t answered, confirmed; /* answers posted and completed since the start */
    uint64_t flushes;             /* flushes received since the start; flow.h describes a flush */
};

/* The requests of a bandwidth run that this end posts: see pump.h. */
struct pump {
    uint64_t count;     /* messages of each queue pair; 0: no limit */
    uint64_t lap;       /* with --check: the number of the first message of the current window */
    uint64_t completed; /* completed requests of all queue pairs */
    uint32_t burst;
    bool corrupt;
    bool over; /* set when the run's time is over; with --check, a window that has begun is still completed */
};

struct session;

/* The role's handler of a message whose content differs. Returns false if the session must end. */
typedef bool session_on_difference(struct session *s, uint32_t lane, uint64_t message, uint32_t offset);

struct session {
    const struct options *options;
    struct sockaddr_storage server_address, client_address; /* client_address: only at the client */
    session_on_difference *on_difference;
    void *role; /* the server's struct server */
    struct consumer control;
    struct consumer_region orders; /* memory for the message to send on `control`, and for the received message */
    bool order_received, order_sending;
    struct lane *lanes;
    uint32_t lane_count, qps; /* qps: the number of measured queue pairs to create */
    uint32_t window, inline_size, max_size;
    uint32_t spare;         /* extra receives and requests of each queue pair, for empty messages (flow.h) */
    uint32_t stride, slots; /* slots: how many messages an area has room for; with --check this is `window` */
    uint64_t unpolled;      /* number of posted sends, writes and reads whose results have not been polled */
    bool check, both;       /* both: --bidirectional */
    struct order run;       /* the current run */
    struct pump pump;
    uint64_t idle, busy; /* idle: number of polls since the last result; busy: number of polls with results */
    uint64_t idle_since;
    uint64_t traffic, traffic_at; /* bytes that the adapter has transferred, and when they last increased */
    bool is_idle;                 /* no traffic and no completions for a tenth of a second */
    bool has_timeout;             /* session_poll fails after 30 s without progress */
    bool is_ending;               /* set before the client's last order: then a connection's end is no failure */
    enum phase phase;
    struct failure failure;   /* the first failure, which has been printed */
    enum ndkperf_exit failed; /* the exit code of the first failure */
};

uint64_t session_cpu_us(void); /* CPU time of this process */

/* Returns the largest message that this adapter can transfer. */
uint64_t session_max_size(const NDK_ADAPTER_INFO *info, bool both);
/* A session's requirements of an adapter. */
struct session_needs {
    uint32_t window, qps, size;
    bool check, both;
};
/* Returns how many requests each queue pair can have in progress: from 0 to needs->window. */
uint32_t session_window(const NDK_ADAPTER_INFO *info, const struct session_needs *needs);
/* Computes the members `spare`, `stride` and `slots` from the members `window`, `max_size`, `check` and `both`. */
void session_layout(struct session *s);
/* Returns the bytes that s->qps queue pairs need: their messages, and an estimate of the provider's memory. */
uint64_t session_memory(const struct session *s);
/* Creates the next lane (a measured queue pair) with its memory, and posts its receives. */
bool session_add_lane(struct session *s);
/* Waits until the results of all requests have been polled, then disconnects all connections. */
void session_disconnect(struct session *s);
void session_close(struct session *s);

/* Print and store the first failure. Always return false. session_refuse is for a failure without a status. */
bool session_fail(struct session *s, const char *step, NTSTATUS status, uint32_t reason);
bool session_refuse(struct session *s, enum ndkperf_exit code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Stores the exit code, unless one is stored already. Prints nothing. Returns false. */
bool session_set_failed(struct session *s, enum ndkperf_exit code);

/* Requests of the control connection. control_receive posts a receive for the next message. control_send sends one. */
bool control_receive(struct session *s);
bool control_send(struct session *s, const uint8_t bytes[WIRE_ORDER]);
const uint8_t *control_received(const struct session *s);

uint8_t *lane_memory(const struct session *s, const struct lane *l, enum area area, uint32_t slot);
/*
 * Posts one message: a send from AREA_SOURCE, a write from AREA_SOURCE to the peer's AREA_TARGET, or a read into
 * AREA_TARGET. If len is 0, posts an empty send.
 */
bool lane_post(struct session *s, struct lane *l, enum id id, uint32_t slot, uint32_t len, uint32_t flags);
bool lane_receive(struct session *s, struct lane *l, uint32_t slot);

/*
 * Polls the completion queues once. If the queues are empty, may wait for a notification, at most 200 ms. Such a wait
 * happens with --events, or after a tenth of a second without traffic. Returns false if the session has failed.
 */
bool session_poll(struct session *s);

/* Prints a difference and stores it as the failure; session_differs also sets the exit code, and returns false. */
void session_print_difference(struct session *s, uint32_t lane, uint64_t message, uint32_t offset, const char *where);
bool session_differs(struct session *s, uint32_t lane, uint64_t message, uint32_t offset, const char *where);

#endif
