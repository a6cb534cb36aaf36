/* SPDX-License-Identifier: MIT */
/*
 * A protection domain, and what its queue pairs share. A peer can use only the memory of its queue pair's domain. So
 * the domains decide whose memory a hostile host can reach if it guesses a token:
 *
 *   without a shared receive queue  each queue pair has a domain
 *   with a shared receive queue     the queue pairs of each peer address have a domain, with one shared receive queue
 *
 * Over iWARP this matters because an adapter may have to make the buffers of reads writable for peers. OpenNDK's own
 * adapter does not.
 *
 * A queue pair and its shared receive queue must have the same protection domain. The controller of a connection is
 * known only when Connect arrives, after the queue pair was created. So a domain cannot belong to a controller.
 */
#ifndef NVME_TARGET_DOMAIN_H
#define NVME_TARGET_DOMAIN_H

#include "memory.h"

struct target;

/* A posted or completed receive. It belongs to a queue pair or to a shared receive queue. */
struct target_receive {
    struct target_receive *next; /* next entry in a list of received messages */
    uint8_t *capsule;
    uint32_t len; /* number of bytes received */
    uint32_t token;
};

enum { DOMAIN_KEY_SIZE = 24 };

struct target_domain {
    struct target *target;
    NDK_PD *pd;
    NDK_SRQ *srq;              /* NULL: the queue pair has its own receives */
    struct host_lock srq_lock; /* serializes the posts to the SRQ */
    struct target_memory srq_memory;
    struct target_receive *srq_receives;

    /* Used only with an SRQ. Guarded by target->domains_busy. */
    struct target_domain *next;
    uint8_t key[DOMAIN_KEY_SIZE]; /* the peers' address */
    uint32_t n_promised;          /* number of receives in the SRQ that the queue pairs may need at the same time */
    uint32_t references;
};

/*
 * Sets *domain to the domain for a new queue pair of up to n_receives receives. Creates the domain if necessary. Fails
 * with STATUS_INSUFFICIENT_RESOURCES if the domain's SRQ has too few receives left, or if a new SRQ is necessary and
 * max_controllers domains have an SRQ already. May wait.
 */
NTSTATUS domain_acquire(struct target *target, NDK_CONNECTOR *connector, uint32_t n_receives,
                        struct target_domain **domain);
/* Releases the domain. The last release closes it. Requires that the queue pair's objects are closed. May wait. */
void domain_release(struct target_domain *domain, uint32_t n_receives);
/* Posts a receive to the domain's SRQ. Requires no lock. */
void domain_post(struct target_domain *domain, struct target_receive *receive);

/* Returns the SGE of a receive. */
NDK_SGE domain_receive_sge(const struct target_receive *receive);

#endif
