/* SPDX-License-Identifier: MIT */
/*
 * A minimal NVMe over Fabrics target in one thread, which makes mistakes on demand: the other end for tests of the
 * initiator. One subsystem, one namespace in memory, or two after an event.
 *
 *   peer.c          the program: listener, connections, results
 *   peer_command.c  the commands
 */
#ifndef TESTS_NVME_PEER_H
#define TESTS_NVME_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "ndk/ndkpi.h"
#include "nvme/fabrics.h"
#include "nvme/nvme_data.h"

enum {
    PEER_RECEIVES = 160,
    PEER_COMMANDS = 512,
    PEER_CAPSULE = 64 + 4096,
    PEER_DISK = 16 << 20,
    PEER_SHIFT = 9,
    PEER_QUEUES = 40
};
#define PEER_NQN "nqn.2026-11.org.example:peer"

/* The mistakes. Each number without a comment of its own is that of an I/O command, counted from 1, or 0: never. */
struct peer_options {
    unsigned port;
    unsigned plain_send;   /* never invalidates a token */
    unsigned wrong_cid;    /* answers with a command identifier that does not exist */
    unsigned old_cid;      /* answers with the identifier of an earlier command of the same slot */
    unsigned twice;        /* answers twice */
    unsigned twice_admin;  /* an admin command's number: is answered twice, and both answers are sent together */
    unsigned short_answer; /* answers with 12 bytes */
    unsigned wrong_token;  /* invalidates the token of the queue's next command */
    unsigned late_token;   /* each multiple of it: is answered without an invalidation, and then once more with it */
    unsigned other_token;  /* the same, but the invalidation comes with the answer of the queue's next command */
    unsigned silent;       /* is never answered */
    unsigned error;        /* fails with NVME_WRITE_FAULT */
    unsigned drop;         /* disconnects its queue instead of an answer */
    unsigned drop_every;   /* the same for each multiple of the number */
    unsigned replace;      /* the namespace gets another EUI-64, and its queue is disconnected */
    unsigned die;          /* ends the process instead of an answer */
    unsigned stop;         /* stops the process instead of an answer, as SIGSTOP does */
    unsigned change;       /* a second namespace appears, with an event */
    unsigned deaf;         /* from now on nothing is answered, also no admin command */
    unsigned reject;       /* number of connections that are rejected with private data */
    unsigned refuse;       /* the status that Connect of the admin queue fails with */
    unsigned queues;       /* I/O queues that are granted */
    unsigned receives;     /* at most so many commands of a queue at the same time, as the reply announces */
    unsigned mdts;
    unsigned no_capsule; /* no data in capsules: 1, because they have no room, 2, because offsets are not supported */
};
extern struct peer_options options;

struct peer_queue;

/* A command from its capsule to the end of its answer. */
struct peer_command {
    struct peer_queue *queue;
    struct peer_command *next; /* in the queue's list of free ones */
    unsigned sends;            /* answers whose result has not been read */
    union {
        struct nvme_command capsule[1];
        uint8_t bytes[PEER_CAPSULE];
    };
    struct nvme_completion *answer;
    uint8_t *page; /* 4096 bytes for data that are not the disk's */
    struct nvme_sgl sgl;
};

struct peer_queue {
    bool used;
    bool ended;
    uint16_t qid;
    NDK_CQ *cq;
    NDK_QP *qp;
    NDK_CONNECTOR *connector;
    struct nvme_rdma_queue values;
    uint8_t *memory; /* answers and pages, then receives */
    struct peer_command *free;
    unsigned outstanding; /* commands without an answer */
    NDK_MR *mr;
    uint32_t token;
    struct peer_command commands[PEER_COMMANDS];
};

extern uint8_t *peer_disk;
extern uint32_t peer_disk_token;

/* peer_command.c: decodes and executes a capsule of `length` bytes. */
void peer_execute(struct peer_command *c, uint32_t length);
/* ... after the data of a write have arrived. */
void peer_answer(struct peer_command *c, uint16_t status);

/* peer.c */
void peer_read(struct peer_command *c, void *to, uint32_t token, uint32_t length);
void peer_write(struct peer_command *c, const void *from, uint32_t token, uint32_t length);
void peer_send(struct peer_command *c, uint32_t length, bool invalidate, uint32_t token);
/* Sends the answer of c, and at the same time the answer of `second` with an invalidation of c's token. */
void peer_send_late_token(struct peer_command *c, struct peer_command *second);
/* Sends the answer of c twice, both at the same time. */
void peer_send_twice(struct peer_command *c);
void peer_drop(struct peer_queue *q);

#endif
