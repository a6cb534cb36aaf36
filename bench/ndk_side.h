/* SPDX-License-Identifier: MIT */
/*
 * An event-driven NDK consumer, for the client and for the server. Uses only ndk/ndkpi.h. Each connection has steps,
 * for example connect and disconnect. When a step completes, the next step begins. Without the option `waiting`, the
 * next step begins inside the provider's callback, as in a driver at DISPATCH_LEVEL. With the option `waiting`, every
 * step begins on one thread of the consumer, which sleeps between completions.
 */
#ifndef BENCH_NDK_SIDE_H
#define BENCH_NDK_SIDE_H

#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "load.h"
#include "ndk/ndkpi.h"

struct ndk_side;

struct ndk_conn {
    struct ndk_side *side;
    NDK_CONNECTOR *connector;
    NDK_QP *qp;
    void (*next)(struct ndk_conn *c, NTSTATUS status); /* called when the current step completes */
    struct ndk_conn *free_next;
    const char *step;
    unsigned slot;
    bool has_failed;
};

/* A completion that the consumer's thread handles later (only with the option `waiting`). */
struct ndk_job {
    void (*run)(struct ndk_conn *c, NTSTATUS status);
    struct ndk_conn *conn;
    NTSTATUS status;
};

struct ndk_options {
    unsigned depth; /* depth of each receive queue and of each initiator queue */
    unsigned cq_depth;
    unsigned conns;     /* the maximum number of connections at a time */
    unsigned cqs;       /* number of completion queues; new queue pairs use them in turn; 0 means 1 */
    unsigned listeners; /* server: the number of listeners; 0 means 1 */
    unsigned reads;     /* the read limit, inbound and outbound; 0 means 1 */
    ULONG private_len;  /* client: bytes of private data in the connect request */
    bool waiting;
    bool shared; /* client: all connections use one shared endpoint; slot n connects to ports[n] */
    NDK_FN_CQ_NOTIFICATION_CALLBACK notify;
    void *notify_context;
    size_t notify_stride; /* the context of the n-th completion queue is notify_context + n * notify_stride */
    const void *accept_data;
    ULONG accept_len;
    void (*prepare)(struct ndk_conn *c); /* server: called before the accept, to post receives */
};

struct ndk_side {
    struct ndk_options options;
    NDK_ADAPTER *adapter;
    NDK_PD *pd;
    NDK_CQ *cq, **cqs; /* cq: the first of cqs */
    atomic_uint next_cq;
    NDK_SHARED_ENDPOINT *endpoint;
    NDK_LISTENER **listeners;
    unsigned listener_count;
    struct load *load;
    struct sockaddr_in local, peer; /* peer: the server's address */
    const uint16_t *ports;          /* option `shared`: the server's port of each slot, in network byte order */
    struct ndk_conn *conns, *free_conns;
    pthread_mutex_t lock; /* protects free_conns and jobs */
    struct ndk_job *jobs;
    unsigned jobs_pushed, jobs_popped;
    sem_t jobs_waiting;
    atomic_bool stop;
    atomic_uint alive;
    atomic_uint_fast64_t failures;
};

/* Opens the adapter of the loopback interface and creates PD and CQs. Ends the process on failure. */
struct ndk_side *ndk_side_open(const struct ndk_options *options);
void ndk_side_close(struct ndk_side *s);

/* The backend of a client's load. The load's `context` must be the struct ndk_side. */
extern const struct load_backend ndk_backend;
/* Waits until the load is over. With the option `waiting`, the calling thread runs the connections' steps. */
void ndk_side_run(struct ndk_side *s, struct load *l);

/* Server: listens on automatic ports and stores them in network byte order. */
void ndk_side_listen(struct ndk_side *s, uint16_t *ports);
/*
 * Server: serves connections until the other process closes the control socket. Meanwhile answers that process's
 * requests for this process's CPU time and memory.
 */
void ndk_side_serve(struct ndk_side *s, int control);

NDK_QP *ndk_side_qp(struct ndk_side *s, void *context, unsigned depth);

#endif
