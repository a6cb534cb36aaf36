/* SPDX-License-Identifier: MIT */
/*
 * What both ends of a measurement have in common: the control connection, the lanes (queue pairs that are measured),
 * the memory of each, requests, and looking for what has completed. One thread does it all.
 */
#ifndef NDKPERF_SESSION_H
#define NDKPERF_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "consumer/consumer.h"
#include "options.h"
#include "wire.h"

/*
 * A lane's memory: where messages are received, what the peer writes to or own reads fill, what is sent, written, or
 * read by the peer. Both ends lay it out alike. Without --check each area is one message, which all requests share.
 */
enum area { AREA_RECEIVE, AREA_TARGET, AREA_SOURCE };

enum id { ID_RECEIVE, ID_SEND, ID_WRITE, ID_READ, ID_FLUSH };

struct lane {
    struct consumer c;            /* first: its address is the QPContext */
    struct consumer_region memory;
    uint32_t index, peer_token;
    uint64_t peer_address;
    uint64_t posted, completed;   /* requests; client: of this run */
    uint64_t received;            /* messages of this run */
    uint64_t sent, credited;      /* sends since the beginning, and those that the peer has said it received */
    uint32_t uncredited;          /* received, and the peer was not told yet */
    uint32_t owed;                /* answers that wait for an earlier one to complete */
    uint64_t flushes;             /* empty messages that came */
};

struct session;

/* What an end does with what comes. */
struct session_events {
    bool (*received)(struct session *s, struct lane *l, uint32_t slot, uint32_t len);
    bool (*completed)(struct session *s, struct lane *l, enum id id, uint32_t slot);
};

struct session {
    const struct options *options;
    const struct session_events *events;
    void *role;                   /* the role's own */
    struct consumer control;
    struct consumer_region orders;         /* one order or outcome to send, one to receive */
    bool order_came, order_going; /* one was received; one is being sent */
    struct lane *lanes;
    uint32_t lane_count, qps;       /* qps: how many lanes there are going to be */
    uint32_t window, inline_size, size_most;
    uint32_t stride, slots;       /* slots: of the areas, with --check as many as the window */
    bool check;
    struct order run;             /* what is being measured */
    uint64_t idle, idle_since;
    uint64_t traffic, traffic_at; /* bytes that the adapter has moved, and when they last became more */
    bool quiet;                   /* no traffic and no completions for QUIET_NS: polling is a waste */
    bool impatient;               /* who does not see anything for long gives up */
    bool leaving;                 /* the last answer is on its way: lanes that the peer closes say nothing */
    enum ndkperf_exit failed;     /* the first thing that went wrong was told */
};

extern volatile int session_interrupted;

uint64_t session_now(void);       /* ns */
uint64_t session_cpu_us(void);    /* of this process */

/* How many requests of each lane this adapter takes at a time: as many as wanted, or fewer; 0: not even one. */
uint32_t session_window(const NDK_ADAPTER_INFO *info, uint32_t want, uint32_t qps, uint32_t size, bool check);
/* The layout for window, size_most and check. */
void session_layout(struct session *s);
/* Bytes that qps lanes of this layout need: messages, and about what the provider has for them. */
uint64_t session_memory(const struct session *s);
/* The queue pair of the next lane, its memory and its receives. */
bool session_add_lane(struct session *s);
/* Disconnects, after the last word. */
void session_part(struct session *s);
void session_close(struct session *s);

/* Tells what went wrong, once, and remembers the exit code. Always false. */
bool session_fail(struct session *s, const char *step, NTSTATUS status, uint32_t reason);
bool session_give_up(struct session *s, enum ndkperf_exit code);

/* Control: the receive for the next order, and sending one of WIRE_ORDER bytes. */
bool control_receive(struct session *s);
bool control_send(struct session *s, const uint8_t bytes[WIRE_ORDER]);
const uint8_t *control_received(const struct session *s);

uint8_t *lane_memory(const struct session *s, const struct lane *l, enum area area, uint32_t slot);
/* All of a message out of AREA_SOURCE: sent, or written to the peer's AREA_TARGET; or read into AREA_TARGET. */
bool lane_post(struct session *s, struct lane *l, enum id id, uint32_t slot, uint32_t len, uint32_t flags);
bool lane_receive(struct session *s, struct lane *l, uint32_t slot);

/*
 * Polls the completion queues once. If they are empty, and --events was given or nothing has moved for a tenth of a
 * second, waits for a notification for a while. False: all is over.
 */
bool session_turn(struct session *s);

/* The bytes of a message: their key is different for each lane and message. */
void pattern_fill(uint8_t *at, uint32_t len, uint32_t lane, uint64_t message);
/* The offset of the first byte that differs; len: none. */
uint32_t pattern_differs(const uint8_t *at, uint32_t len, uint32_t lane, uint64_t message);
/*
 * The same for what the peer writes while nothing tells that it has: the byte that is looked at, and all in front of
 * it, which may take a moment longer to be there.
 */
uint8_t written_mark(const uint8_t *at);
uint32_t written_differs(const uint8_t *at, uint32_t len, uint32_t lane, uint64_t message);
/* Tells about one that does; and the same as this end's failure. */
void session_tell_difference(uint32_t lane, uint64_t message, uint32_t offset, const char *where);
bool session_differs(struct session *s, uint32_t lane, uint64_t message, uint32_t offset, const char *where);

#endif
