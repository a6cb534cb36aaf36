/* SPDX-License-Identifier: MIT */
/*
 * The kit that contract cases are written with: a consumer that uses nothing of the provider but ndkpi.h and
 * provider.h. Every case runs in a process of its own. A failed check prints the expected and the actual value, and
 * ends that process.
 *
 * A case is one function, named for its rule and registered by CASE. The comment above it has the rule's number, for
 * example `covers: CON-04`. A case has no time limits of its own: only the watchdog ends a case that takes too long.
 */
#ifndef TESTS_CONTRACT_KIT_H
#define TESTS_CONTRACT_KIT_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "ndk/ndkpi.h"
#include "ndkconform/provider.h"

/* ---- cases ---- */

enum kit_flags {
    KIT_FAMILIES = 1, /* runs once over IPv4 and once over IPv6; the case takes its addresses from kit_host() */
    KIT_NETNS = 2,    /* runs in a new network namespace, whose lo is up; skipped if none can be created */
    KIT_SLOW = 4,     /* takes many seconds; runs only with --slow */
    KIT_DEFAULTS = 8, /* runs with the provider's default time limits; other cases have only the limits that they set */
};

struct kit_case {
    const char *name;
    void (*run)(void);
    unsigned flags;
    struct kit_case *next;
};
void kit_register(struct kit_case *c);

#define CASE(case_name, case_flags)                                                                                    \
    static void case_name(void);                                                                                       \
    static struct kit_case kit_case_##case_name = { #case_name, case_name, (case_flags), NULL };                       \
    __attribute__((constructor)) static void kit_register_##case_name(void)                                            \
    {                                                                                                                  \
        kit_register(&kit_case_##case_name);                                                                           \
    }                                                                                                                  \
    static void case_name(void)

_Noreturn void kit_fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
_Noreturn void kit_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define CHECK(condition) ((condition) ? (void)0 : kit_fail(__FILE__, __LINE__, "expected: %s", #condition))
#define CHECK_EQ(seen, expected)                                                                                       \
    do {                                                                                                               \
        unsigned long long kit_seen = (unsigned long long)(seen), kit_want = (unsigned long long)(expected);           \
        if (kit_seen != kit_want)                                                                                      \
            kit_fail(__FILE__, __LINE__, "%s: expected %llu (%s), saw %llu", #seen, kit_want, #expected, kit_seen);    \
    } while (0)
#define CHECK_STATUS(seen, expected) kit_check_status(__FILE__, __LINE__, #seen, (seen), (expected))
void kit_check_status(const char *file, int line, const char *what, NTSTATUS seen, NTSTATUS expected);

/* ---- capabilities: kit_need_X skips the case, with the reason, if the adapter lacks what the case needs ---- */

/* Returns what NdkQueryAdapterInfo reported for kit_interface() before any setting was changed. */
const NDK_ADAPTER_INFO *kit_info(void);
#define KIT_NEED(condition, what) ((condition) ? (void)0 : kit_skip("the adapter has no %s (%s)", (what), #condition))
void kit_need_flag(ULONG flag);   /* a flag NDK_ADAPTER_FLAG_... */
void kit_need_reads(ULONG count); /* skips the case if a QP cannot have `count` reads in flight in each direction */
void kit_need_iwarp(void);        /* for cases whose peer is a raw socket (raw.h) */

/* ---- the case's address family ---- */

int kit_family(void);         /* AF_INET or AF_INET6 */
uint32_t kit_loopback(void);  /* interface index of lo */
uint32_t kit_interface(void); /* interface index of lo, or of ndkconform --interface */
/* The address of kit_interface() in the case's family (on lo 127.0.0.1 or ::1). The port is in host order. */
struct sockaddr_storage kit_host(uint16_t port);
struct sockaddr_storage kit_address(const char *text, uint16_t port); /* text: numeric, with "%scope" if needed */
ULONG kit_address_len(const struct sockaddr_storage *a);
uint16_t kit_port(const struct sockaddr_storage *a);
/* Returns kit_host() with a port that no socket uses at the moment, below the provider's dynamic ports. */
struct sockaddr_storage kit_free_address(void);
bool kit_address_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

/* ---- completions ---- */

/* Records the completion of one asynchronous call. Must be zeroed first. Its address is the completion's context. */
struct kit_call {
    atomic_int calls;
    NTSTATUS status;
    NDK_OBJECT_HEADER *object;
    pthread_t thread;                      /* the thread that called the completion routine */
    int order;                             /* how many calls of the case had completed before this call */
    void (*inside)(struct kit_call *call); /* optional: the completion routine calls it */
    void *arg;
};
void kit_request_done(void *context, NTSTATUS status);
void kit_create_done(void *context, NTSTATUS status, NDK_OBJECT_HEADER *object);
void kit_close_done(void *context);
/*
 * Returns the final status of a call that returned `inline_status`. If inline_status is STATUS_PENDING, waits for the
 * completion and checks that the completion routine was called once; otherwise checks that it was not called.
 */
NTSTATUS kit_final(struct kit_call *call, NTSTATUS inline_status);
void kit_wait_calls(struct kit_call *call, int calls);
/* Waits until *counter is at least value. Only kit_increment wakes the waiting thread. */
void kit_wait_count(atomic_int *counter, int value);
void kit_increment(atomic_int *counter);
/* Sleeps 50 ms, in which a faulty provider may cause the event that the case forbids. The length is not critical. */
void kit_pause(void);

/* ---- one end of a connection, with all objects of its consumer ---- */

struct kit_side {
    NDK_ADAPTER *adapter;
    bool owns_adapter;
    NDK_PD *pd;
    NDK_CQ *cq; /* for receives and initiator requests */
    NDK_QP *qp;
    NDK_CONNECTOR *connector;
    NDK_MR *mr;
    MDL mdl;
    uint8_t *memory; /* KIT_MEMORY bytes, registered with all rights */
    UINT32 local_token, remote_token;
    atomic_int notified, disconnected;           /* numbers of notification and disconnect callbacks that have run */
    void (*inside_notified)(struct kit_side *s); /* optional: kit_on_notify calls it */
    void (*inside_disconnected)(struct kit_side *s); /* optional: kit_on_disconnect calls it */
    void *arg;
    NTSTATUS cq_status;
    ULONG depth;
};
enum { KIT_MEMORY = 4 << 20, KIT_DEPTH = 64, KIT_SGES = 4 };

NDK_ADAPTER *kit_open(uint16_t major, uint16_t minor); /* opens the adapter of kit_interface(); must succeed */
NTSTATUS kit_open_status(uint16_t major, uint16_t minor, uint32_t if_index, NDK_ADAPTER **adapter);
/* Closes the adapter. Waits until all its objects are closed and all its callbacks have returned. */
void kit_close_adapter(NDK_ADAPTER *adapter);
/* Creates PD, CQ, QP and MR over the adapter, but no connector. If adapter is NULL, opens an adapter of NDK 2.1. */
void kit_side_open(struct kit_side *s, NDK_ADAPTER *adapter);
void kit_side_close(struct kit_side *s);            /* closes all objects of the side, the connector first */
void kit_on_notify(void *context, NTSTATUS status); /* context: struct kit_side */
void kit_on_disconnect(void *context);              /* context: struct kit_side */

NDK_CONNECTOR *kit_connector(NDK_ADAPTER *adapter);
NTSTATUS kit_shared_endpoint(NDK_ADAPTER *adapter, const struct sockaddr_storage *address, NDK_SHARED_ENDPOINT **out);
NTSTATUS kit_close(void *object); /* closes an object that is not an adapter, and waits for the completion */
NDK_PD *kit_pd(NDK_ADAPTER *adapter);
NDK_QP *kit_qp(struct kit_side *s, ULONG depth); /* each request has up to KIT_SGES SGEs, if the adapter allows that */
/* Initialises mdl to describe `length` bytes at `address`. `next`, or NULL, becomes the next MDL of the chain. */
void kit_init_mdl(MDL *mdl, void *address, ULONG length, MDL *next);
/* Creates an MR, initialises *mdl for the memory, and registers the memory. *token receives the remote token. */
NDK_MR *kit_mr(struct kit_side *s, void *memory, ULONG len, ULONG flags, MDL *mdl, UINT32 *token);

/* ---- listeners ---- */

struct kit_listener {
    NDK_LISTENER *listener;
    struct sockaddr_storage address;
    atomic_int requests;        /* number of connect events so far */
    NDK_CONNECTOR *queue[4096]; /* the connectors of all connect events, in order of arrival */
    atomic_int taken;           /* number of kit_next_request calls, each of which takes one connector */
    /* Optional: called for each connector. If `inside` is not NULL, connectors are not stored in `queue`. */
    void (*inside)(struct kit_listener *l, NDK_CONNECTOR *connector);
    void *arg;
    pthread_mutex_t lock;
};
void kit_listen(struct kit_listener *l, NDK_ADAPTER *adapter); /* listens on kit_host(0) */
void kit_listen_at(struct kit_listener *l, NDK_ADAPTER *adapter, const struct sockaddr_storage *address);
void kit_listener_create(struct kit_listener *l, NDK_ADAPTER *adapter);
NTSTATUS kit_listen_status(struct kit_listener *l, const struct sockaddr_storage *address);
NDK_CONNECTOR *kit_next_request(struct kit_listener *l); /* waits for the next connect event */

/* ---- steps of a connection: a function without _start in its name waits, and returns the final status ---- */

NTSTATUS kit_connect_start(struct kit_side *s, struct kit_call *call, const struct sockaddr_storage *source,
                           const struct sockaddr_storage *destination, const void *data, ULONG len);
NTSTATUS kit_connect(struct kit_side *s, const struct sockaddr_storage *source,
                     const struct sockaddr_storage *destination, const void *data, ULONG len);
NTSTATUS kit_connect_shared_start(struct kit_side *s, struct kit_call *call, NDK_SHARED_ENDPOINT *endpoint,
                                  const struct sockaddr_storage *destination);
NTSTATUS kit_connect_shared(struct kit_side *s, NDK_SHARED_ENDPOINT *endpoint,
                            const struct sockaddr_storage *destination);
/* kit_local_address returns the connector's local address, and kit_peer_address the address of its peer. */
struct sockaddr_storage kit_local_address(NDK_CONNECTOR *c);
struct sockaddr_storage kit_peer_address(NDK_CONNECTOR *c);
NTSTATUS kit_complete_connect(struct kit_side *s);
NTSTATUS kit_accept_start(struct kit_side *s, struct kit_call *call, const void *data, ULONG len);
NTSTATUS kit_accept(struct kit_side *s, const void *data, ULONG len);
NTSTATUS kit_disconnect(struct kit_side *s);
/*
 * Connects `active` to `passive`, whose listener is l. Connects from the shared endpoint if `endpoint` is not NULL. If
 * the connect call fails before its request arrives at l, returns the call's status, and `passive` gets no connector.
 * Every later step must succeed.
 */
NTSTATUS kit_try_establish(struct kit_side *active, struct kit_side *passive, struct kit_listener *l,
                           NDK_SHARED_ENDPOINT *endpoint);
/* Both functions connect `active` to `passive`, and every step must succeed. `source` is the active side's address. */
void kit_establish(struct kit_side *active, struct kit_side *passive, struct kit_listener *l);
void kit_establish_from(struct kit_side *active, struct kit_side *passive, struct kit_listener *l,
                        const struct sockaddr_storage *source);
/* Two sides, each with its own adapter, and the passive side's listener. */
struct kit_pair {
    struct kit_side active, passive;
    struct kit_listener listener;
};
void kit_pair_open(struct kit_pair *p);       /* opens and connects both sides */
void kit_pair_open_idle(struct kit_pair *p);  /* opens both sides and the listener, but does not connect */
void kit_close_connector(struct kit_side *s); /* closes s->connector unless it is NULL */
/* Sends a message from `from` to `to`, and checks the data that arrives. */
void kit_exchange(struct kit_side *from, struct kit_side *to);
void kit_pair_disconnect(struct kit_pair *p); /* disconnects both sides, gracefully */
void kit_pair_close(struct kit_pair *p);

/* ---- requests, each with one SGE in the side's own region ---- */

NDK_SGE kit_sge(const struct kit_side *s, size_t offset, ULONG len);
NTSTATUS kit_post_receive(struct kit_side *s, uintptr_t context, size_t offset, ULONG len);
NTSTATUS kit_post_send(struct kit_side *s, uintptr_t context, size_t offset, ULONG len);
NTSTATUS kit_post_write(struct kit_side *s, uintptr_t context, size_t offset, ULONG len, const struct kit_side *to,
                        size_t to_offset);
NTSTATUS kit_post_read(struct kit_side *s, uintptr_t context, size_t offset, ULONG len, const struct kit_side *from,
                       size_t from_offset);
/* Polls the side's completion queue until it has returned `count` results. */
void kit_results(struct kit_side *s, NDK_RESULT_EX *results, ULONG count);
NDK_RESULT_EX kit_result(struct kit_side *s);
void kit_pattern(uint8_t *at, size_t len, unsigned seed);
bool kit_pattern_is(const uint8_t *at, size_t len, unsigned seed);

/* ---- settings of the provider: a change affects adapters that are opened later ---- */

/* The settings of the provider under test (provider.h). A field with KIT_UNSET leaves its setting unchanged. */
enum { KIT_UNSET = 0xffffffff };
struct kit_config {
    uint32_t connect_ms, request_ms, reply_ms, establish_ms, disconnect_ms;
    uint32_t backlog, max_unfinished, max_private, pend_creates;
    uint32_t mpa_revision, crc, rtr, max_fpdu, nudge_ms, shards, notify_us, breaches;
    uint32_t max_srq_depth, fast_register_pages, max_window_kib, cq_resize, cq_moderation;
};
struct kit_config kit_config(void); /* every field is KIT_UNSET */
/*
 * Changes the settings. If the provider lacks a setting that is in brackets in provider.h, ignores that setting. If *c
 * changes any other setting that the provider lacks, skips the case.
 */
void kit_configure(const struct kit_config *c);
/*
 * Calls attempt() with longer and longer time limits until it returns true. attempt() must set the limit and check that
 * something fails because of the limit. attempt() returns false if the machine was too slow for a step that must
 * succeed within the limit.
 */
void kit_with_limit(bool (*attempt)(uint32_t ms));

#endif
