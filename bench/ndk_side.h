/* SPDX-License-Identifier: MIT */
/*
 * An event-driven NDK consumer, both roles, through ndk/ndkpi.h alone: each step of a connection is begun where the
 * step before it has ended. Where that is, is the choice of the side: in the provider's callbacks, as a driver at
 * DISPATCH_LEVEL does, or (waiting) in one thread of the consumer's that sleeps in between.
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
    void (*next)(struct ndk_conn *c, NTSTATUS status); /* after the step that is under way */
    struct ndk_conn *free_next;
    const char *step;
    unsigned slot;
    bool refused;
};

/* Something that has ended, on its way to the thread of a waiting side. */
struct ndk_job {
    void (*run)(struct ndk_conn *c, NTSTATUS status);
    struct ndk_conn *conn;
    NTSTATUS status;
};

struct ndk_options {
    unsigned depth;        /* of both queues of each queue pair */
    unsigned cq_depth;
    unsigned conns;        /* most at a time */
    unsigned cqs;          /* queue pairs take them in turn; 0 counts as 1 */
    unsigned listeners;    /* server; 0 counts as 1 */
    unsigned reads;        /* each way; 0 counts as 1 */
    ULONG private_len;     /* client: bytes of private data with the connect */
    bool waiting;
    bool shared;           /* client: all from one shared endpoint, slot n to port n */
    NDK_FN_CQ_NOTIFICATION_CALLBACK notify;
    void *notify_context;
    size_t notify_stride;  /* bytes from the context of one completion queue to the next one's */
    const void *accept_data;
    ULONG accept_len;
    void (*prepare)(struct ndk_conn *c); /* server: posts receives before the accept */
};

struct ndk_side {
    struct ndk_options options;
    NDK_ADAPTER *adapter;
    NDK_PD *pd;
    NDK_CQ *cq, **cqs; /* cq: the first */
    atomic_uint next_cq;
    NDK_SHARED_ENDPOINT *endpoint;
    NDK_LISTENER **listeners;
    unsigned listener_count;
    struct load *load;
    struct sockaddr_in local, peer; /* peer: where a client connects */
    const uint16_t *ports;          /* shared: of each slot, network byte order */
    struct ndk_conn *conns, *free_conns;
    pthread_mutex_t lock;           /* free_conns, jobs */
    struct ndk_job *jobs;
    unsigned jobs_put, jobs_taken;
    sem_t jobs_waiting;
    atomic_bool stop;
    atomic_uint alive;
    atomic_uint_fast64_t failures;
};

/* Adapter of the loopback interface, PD, CQ. Dies where it cannot. */
struct ndk_side *ndk_side_open(const struct ndk_options *options);
void ndk_side_close(struct ndk_side *s);

/* Client: a load's backend, its context the side. */
extern const struct load_backend ndk_backend;
/* Runs until *over (a waiting side's thread is the caller's). */
void ndk_side_run(struct ndk_side *s, struct load *l);

/* Server: listens at ports that are chosen for it; ports receives them, network byte order. */
void ndk_side_listen(struct ndk_side *s, uint16_t *ports);
/* Serves until the other process closes the control socket, answering each byte there by its memory. */
void ndk_side_serve(struct ndk_side *s, int control);

NDK_QP *ndk_side_qp(struct ndk_side *s, void *context, unsigned depth);

#endif
