/* SPDX-License-Identifier: MIT */
/*
 * The kit that contract cases are written with: a consumer that uses nothing of the provider but ndkpi.h and
 * provider.h. Every case runs in a process of its own. A failed check prints the expected and the actual value, and
 * ends that process.
 *
 * A case is one function, named for its rule and registered by CASE. The comment above it contains `covers: CON-04`.
 * A case waits without a time limit of its own, because only the watchdog may fail it for being slow.
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

#include "contract/provider/provider.h"
#include "ndk/ndkpi.h"

/* ---- cases ---- */

enum kit_flags {
    KIT_FAMILIES = 1, /* run over 127.0.0.1 and over ::1: uses kit_host() */
    KIT_NETNS = 2,    /* run in a network namespace of its own (on lo, which is up); skipped where there is none */
    KIT_SLOW = 4,     /* takes many seconds: runs only with --slow */
    KIT_DEFAULTS = 8, /* run with the provider's own time limits; all other cases run without, except those they set */
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

/* ---- capabilities: a case that needs an optional one is skipped, with the reason, if the adapter lacks it ---- */

/* The information that an adapter of kit_interface returned before any setting was changed. */
const NDK_ADAPTER_INFO *kit_info(void);
#define KIT_NEED(condition, what) ((condition) ? (void)0 : kit_skip("the adapter has no %s (%s)", (what), #condition))
void kit_need_flag(ULONG flag);   /* NDK_ADAPTER_FLAG_ */
void kit_need_reads(ULONG count); /* in flight on one QP, in and out */
void kit_need_iwarp(void);        /* for cases whose peer is a plain socket (raw.h) */

/* ---- the case's address family ---- */

int kit_family(void);         /* AF_INET or AF_INET6 */
uint32_t kit_loopback(void);  /* interface index of lo */
uint32_t kit_interface(void); /* interface index of lo, or of ndkconform --interface */
/* That interface's address of the family (on lo 127.0.0.1 or ::1) with a port in host order. */
struct sockaddr_storage kit_host(uint16_t port);
struct sockaddr_storage kit_address(const char *text, uint16_t port); /* numeric, "fe80::1%veth0" too */
ULONG kit_address_len(const struct sockaddr_storage *a);
uint16_t kit_port(const struct sockaddr_storage *a);
/* The host with a port that is free at the moment, below the provider's dynamic ports. */
struct sockaddr_storage kit_free_address(void);
bool kit_address_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

/* ---- completions ---- */

/* Records one asynchronous call. Zero-initialised; its address is the context of the completion routine. */
struct kit_call {
    atomic_int calls;
    NTSTATUS status;
    NDK_OBJECT_HEADER *object;
    pthread_t thread;                      /* that called the completion routine */
    int order;                             /* number of completions of all calls before this one */
    void (*inside)(struct kit_call *call); /* optional; called in the completion routine */
    void *arg;
};
void kit_request_done(void *context, NTSTATUS status);
void kit_create_done(void *context, NTSTATUS status, NDK_OBJECT_HEADER *object);
void kit_close_done(void *context);
/*
 * Returns the final status of a call that returned `inline_status`. If that is STATUS_PENDING, waits for the completion
 * and checks that there is exactly one; else checks that there was none.
 */
NTSTATUS kit_final(struct kit_call *call, NTSTATUS inline_status);
void kit_wait_calls(struct kit_call *call, int calls);
/* Waits until *counter is at least value; kit_increment wakes it. */
void kit_wait_count(atomic_int *counter, int value);
void kit_increment(atomic_int *counter);
/* Sleeps long enough for a wrong event to arrive. A correct provider passes however long it is. */
void kit_pause(void);

/* ---- one end of a connection, with all objects of its consumer ---- */

struct kit_side {
    NDK_ADAPTER *adapter;
    bool owns_adapter;
    NDK_PD *pd;
    NDK_CQ *cq; /* receives and initiator requests */
    NDK_QP *qp;
    NDK_CONNECTOR *connector;
    NDK_MR *mr;
    MDL mdl;
    uint8_t *memory; /* KIT_MEMORY bytes, registered with all rights */
    UINT32 local_token, remote_token;
    atomic_int notified, disconnected;           /* callbacks so far */
    void (*inside_notified)(struct kit_side *s); /* optional, called in the callbacks */
    void (*inside_disconnected)(struct kit_side *s);
    void *arg;
    NTSTATUS cq_status;
    ULONG depth;
};
enum { KIT_MEMORY = 4 << 20, KIT_DEPTH = 64, KIT_SGES = 4 };

NDK_ADAPTER *kit_open(uint16_t major, uint16_t minor); /* of kit_interface; must succeed */
NTSTATUS kit_open_status(uint16_t major, uint16_t minor, uint32_t if_index, NDK_ADAPTER **adapter);
void kit_close_adapter(NDK_ADAPTER *adapter); /* waits until its objects are closed and callbacks have returned */
/* Adapter (NULL: opens {2,1} of kit_interface), PD, CQ, QP, MR; no connector yet. */
void kit_side_open(struct kit_side *s, NDK_ADAPTER *adapter);
void kit_side_close(struct kit_side *s);            /* closes all its objects, the connector first */
void kit_on_notify(void *context, NTSTATUS status); /* context: struct kit_side */
void kit_on_disconnect(void *context);              /* context: struct kit_side */

NDK_CONNECTOR *kit_connector(NDK_ADAPTER *adapter);
NTSTATUS kit_shared_endpoint(NDK_ADAPTER *adapter, const struct sockaddr_storage *address, NDK_SHARED_ENDPOINT **out);
NTSTATUS kit_close(void *object); /* closes any object but an adapter, and waits */
NDK_PD *kit_pd(NDK_ADAPTER *adapter);
NDK_QP *kit_qp(struct kit_side *s, ULONG depth); /* with KIT_SGES both ways, or fewer if the adapter has fewer */
/* Initialises mdl to describe the memory, followed by next (or NULL). */
void kit_init_mdl(MDL *mdl, void *address, ULONG length, MDL *next);
/* Creates a region and registers the memory. */
NDK_MR *kit_mr(struct kit_side *s, void *memory, ULONG len, ULONG flags, MDL *mdl, UINT32 *token);

/* ---- listeners ---- */

struct kit_listener {
    NDK_LISTENER *listener;
    struct sockaddr_storage address;
    atomic_int requests;        /* events so far */
    NDK_CONNECTOR *queue[4096]; /* the connectors of all events, in order of arrival */
    atomic_int taken;           /* how many of them kit_next_request has returned or waits for */
    void (*inside)(struct kit_listener *l, NDK_CONNECTOR *connector); /* optional; called instead of queueing */
    void *arg;
    pthread_mutex_t lock;
};
void kit_listen(struct kit_listener *l, NDK_ADAPTER *adapter); /* on kit_host(0) */
void kit_listen_at(struct kit_listener *l, NDK_ADAPTER *adapter, const struct sockaddr_storage *address);
void kit_listener_create(struct kit_listener *l, NDK_ADAPTER *adapter);
NTSTATUS kit_listen_status(struct kit_listener *l, const struct sockaddr_storage *address);
NDK_CONNECTOR *kit_next_request(struct kit_listener *l); /* waits for the next event */

/* ---- steps of a connection; without _start in their name they wait, and return the final status ---- */

NTSTATUS kit_connect_start(struct kit_side *s, struct kit_call *call, const struct sockaddr_storage *source,
                           const struct sockaddr_storage *destination, const void *data, ULONG len);
NTSTATUS kit_connect(struct kit_side *s, const struct sockaddr_storage *source,
                     const struct sockaddr_storage *destination, const void *data, ULONG len);
NTSTATUS kit_connect_shared_start(struct kit_side *s, struct kit_call *call, NDK_SHARED_ENDPOINT *endpoint,
                                  const struct sockaddr_storage *destination);
NTSTATUS kit_connect_shared(struct kit_side *s, NDK_SHARED_ENDPOINT *endpoint,
                            const struct sockaddr_storage *destination);
/* The connector's own or its peer's address. */
struct sockaddr_storage kit_local_address(NDK_CONNECTOR *c);
struct sockaddr_storage kit_peer_address(NDK_CONNECTOR *c);
NTSTATUS kit_complete_connect(struct kit_side *s);
NTSTATUS kit_accept_start(struct kit_side *s, struct kit_call *call, const void *data, ULONG len);
NTSTATUS kit_accept(struct kit_side *s, const void *data, ULONG len);
NTSTATUS kit_disconnect(struct kit_side *s);
/*
 * Establishes a connection from active to passive over l, from the shared endpoint if it is not NULL. If the connect
 * fails before its request arrives, returns its status, and passive has no connector. Every later step must succeed.
 */
NTSTATUS kit_try_establish(struct kit_side *active, struct kit_side *passive, struct kit_listener *l,
                           NDK_SHARED_ENDPOINT *endpoint);
/* The same, but every step must succeed. */
void kit_establish(struct kit_side *active, struct kit_side *passive, struct kit_listener *l);
void kit_establish_from(struct kit_side *active, struct kit_side *passive, struct kit_listener *l,
                        const struct sockaddr_storage *source);
/* Two sides, each with its own adapter, and a listener of the passive one. */
struct kit_pair {
    struct kit_side active, passive;
    struct kit_listener listener;
};
void kit_pair_open(struct kit_pair *p);       /* connected */
void kit_pair_open_idle(struct kit_pair *p);  /* not connected */
void kit_close_connector(struct kit_side *s); /* if there is one */
/* Sends a message from one to the other and checks it. */
void kit_exchange(struct kit_side *from, struct kit_side *to);
void kit_pair_disconnect(struct kit_pair *p); /* both sides, gracefully */
void kit_pair_close(struct kit_pair *p);

/* ---- requests, with one SGE of the side's own region ---- */

NDK_SGE kit_sge(const struct kit_side *s, size_t offset, ULONG len);
NTSTATUS kit_post_receive(struct kit_side *s, uintptr_t context, size_t offset, ULONG len);
NTSTATUS kit_post_send(struct kit_side *s, uintptr_t context, size_t offset, ULONG len);
NTSTATUS kit_post_write(struct kit_side *s, uintptr_t context, size_t offset, ULONG len, const struct kit_side *to,
                        size_t to_offset);
NTSTATUS kit_post_read(struct kit_side *s, uintptr_t context, size_t offset, ULONG len, const struct kit_side *from,
                       size_t from_offset);
/* Polls until there were count results. */
void kit_results(struct kit_side *s, NDK_RESULT_EX *results, ULONG count);
NDK_RESULT_EX kit_result(struct kit_side *s);
void kit_pattern(uint8_t *at, size_t len, unsigned seed);
bool kit_pattern_is(const uint8_t *at, size_t len, unsigned seed);

/* ---- settings of the provider, for adapters opened from now on ---- */

/* The settings of provider.h. KIT_UNSET leaves one unchanged. */
enum { KIT_UNSET = 0xffffffff };
struct kit_config {
    uint32_t connect_ms, request_ms, reply_ms, establish_ms, disconnect_ms;
    uint32_t backlog, max_unfinished, max_private, pend_creates;
    uint32_t mpa_revision, crc, rtr, max_fpdu, nudge_ms, shards, notify_us, breaches;
    uint32_t max_srq_depth, fast_register_pages, max_window_kib, cq_resize, cq_moderation;
};
struct kit_config kit_config(void); /* all unset */
/* Skips the case if the provider cannot set one that the case needs. */
void kit_configure(const struct kit_config *c);
/*
 * Calls attempt with longer and longer time limits until it returns true. attempt must set the limit, check that
 * something fails because of it, and return false if the machine was too slow for what must succeed within it.
 */
void kit_with_limit(bool (*attempt)(uint32_t ms));

#endif
