/* SPDX-License-Identifier: MIT */
/*
 * The functions that both ends of a measurement share: the control connection, the lanes (the measured queue pairs)
 * with their memory, requests, and polling for completions. A single thread calls all of them.
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
    /* must be the first member, because session.c casts QPContext, which is the address of c, to a struct lane * */
    struct consumer c;
    struct consumer_region memory;
    uint32_t index, peer_token;
    uint64_t peer_address;
    uint64_t posted, completed;   /* numbers of requests posted and completed in this run */
    uint64_t received;            /* number of messages received in this run */
    uint64_t sent, credited;      /* numbers of sends since the start: posted, and confirmed by credits */
    uint32_t uncredited;          /* number of messages received since the last credit was sent */
    uint32_t owed;                /* number of answers that wait until an earlier answer has completed */
    uint64_t answered, confirmed; /* numbers of answers since the start: posted, and completed */
    uint64_t flushes;             /* number of flushes (flow.h) received since the start */
};

/* The requests that this end posts in a bandwidth run: see pump.h. */
struct pump {
    uint64_t count;     /* number of messages of each queue pair; 0: no limit */
    uint64_t lap;       /* with --check: number of the first message in the present lap */
    uint64_t completed; /* number of completed requests of all queue pairs */
    uint32_t burst;
    bool corrupt;
    bool over; /* the run's time has elapsed; with --check, the run ends after the present lap */
};

struct session;

/* A role's handler for a message that has arrived with wrong contents. Returns false if the session must end. */
typedef bool session_on_difference(struct session *s, uint32_t lane, uint64_t message, uint32_t offset);

struct session {
    const struct options *options;
    struct sockaddr_storage server_address, client_address; /* client_address is set only at the client */
    session_on_difference *on_difference;
    void *role; /* the server's struct server; not used at the client */
    struct consumer control;
    struct consumer_region orders; /* memory for the next message to send on `control`, and for the received message */
    bool order_received, order_sending;
    struct lane *lanes;
    uint32_t lane_count, qps; /* qps: number of measured queue pairs to create */
    uint32_t window, inline_size, max_size;
    /* Number of additional receives and requests of each queue pair, for empty messages (flow.h). */
    uint32_t spare;
    uint32_t stride, slots; /* slots: number of messages for which an area has space; with --check this is `window` */
    uint64_t unpolled;      /* number of posted sends, writes and reads whose results have not been polled */
    bool check, both;       /* both: --bidirectional was given */
    struct order run;       /* the order that has begun the present run */
    struct pump pump;
    uint64_t idle, busy; /* idle: number of polls since the last result; busy: number of polls with results */
    uint64_t idle_since;
    /* Number of bytes that the adapter has transferred, and the time at which this number last increased. */
    uint64_t traffic, traffic_at;
    bool is_idle;     /* neither traffic nor completions for a tenth of a second */
    bool has_timeout; /* session_poll fails after TIMEOUT_S seconds without progress */
    /* Set before the client's last order. From then on the end of a connection is not a failure. */
    bool is_ending;
    enum phase phase;
    struct failure failure;   /* the first failure, which was already printed */
    enum ndkperf_exit failed; /* exit code of the first failure */
};

uint64_t session_cpu_us(void); /* returns the CPU time of this process */

/* Returns the size of the largest message that this adapter can transfer. */
uint64_t session_max_size(const NDK_ADAPTER_INFO *info, bool both);
/* The requirements of a session that its adapter must meet. */
struct session_needs {
    uint32_t window, qps, size;
    bool check, both;
};
/* Returns the number of requests that each queue pair can have in progress, from 0 to needs->window. */
uint32_t session_window(const NDK_ADAPTER_INFO *info, const struct session_needs *needs);
/* Computes the members `spare`, `stride` and `slots` from the members `window`, `max_size`, `check` and `both`. */
void session_layout(struct session *s);
/*
 * Returns the number of bytes that s->qps queue pairs need: their messages, and an estimate of the provider's memory.
 */
uint64_t session_memory(const struct session *s);
/*
 * Creates the next lane (a measured queue pair) with its memory, and posts its receives. Returns false after a failure.
 */
bool session_add_lane(struct session *s);
/* Waits until the results of all requests have been polled. Then disconnects all connections. */
void session_disconnect(struct session *s);
void session_close(struct session *s);

/*
 * Both functions print and store a failure, if it is the first one, and always return false. session_refuse is for a
 * failure without a status.
 */
bool session_fail(struct session *s, const char *step, NTSTATUS status, uint32_t reason);
bool session_refuse(struct session *s, enum ndkperf_exit code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Stores the exit code, unless one is stored already. Prints nothing. Returns false. */
bool session_set_failed(struct session *s, enum ndkperf_exit code);

/*
 * Functions of the control connection. control_receive posts a receive for the next message. control_send sends a
 * message.
 */
bool control_receive(struct session *s);
bool control_send(struct session *s, const uint8_t bytes[WIRE_ORDER]);
const uint8_t *control_received(const struct session *s);

uint8_t *lane_memory(const struct session *s, const struct lane *l, enum area area, uint32_t slot);
/*
 * Posts one message: a send from AREA_SOURCE, a write from AREA_SOURCE to the peer's AREA_TARGET, or a read into
 * AREA_TARGET. If `len` is 0, posts an empty send. Returns false if the session has failed.
 */
bool lane_post(struct session *s, struct lane *l, enum id id, uint32_t slot, uint32_t len, uint32_t flags);
bool lane_receive(struct session *s, struct lane *l, uint32_t slot);

/*
 * Polls the completion queues once. If they are empty, may wait for a notification, at most 200 ms, but only with
 * --events or after a tenth of a second without traffic. Returns false if the session has failed.
 */
bool session_poll(struct session *s);

/*
 * Both functions print a difference and store it as the failure. session_differs also sets the exit code, and returns
 * false.
 */
void session_print_difference(struct session *s, uint32_t lane, uint64_t message, uint32_t offset, const char *where);
bool session_differs(struct session *s, uint32_t lane, uint64_t message, uint32_t offset, const char *where);

#endif
