/* SPDX-License-Identifier: MIT */
/*
 * The consumers' objects and requests, with the checks for all of them: each call completes once, inline or by the
 * callback, in time and with a documented status; the close callback of an object is its last one, after the callbacks
 * of its requests and events and the closes of its successors.
 */
#ifndef SIM_SIM_OBJECT_H
#define SIM_SIM_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "ndk/ndkpi.h"

/* LAM: a logical address mapping, which is no object of the interface, and is released instead of closed. */
enum kind { ADAPTER, PD, CQ, MR, MW, QP, SRQ, LAM, ENDPOINT, LISTENER, CONNECTOR, KINDS };

enum life {
    ASKED, /* its create was called */
    OPEN,
    CLOSING,
    GONE, /* its close has completed: no further callbacks */
};

enum { OBJECTS = 1024, PARENTS = 5 };

/* The first member of each kind's struct. Freed only at the end, so that late callbacks are detected. */
struct obj {
    enum kind kind;
    enum life life;
    unsigned id, host;
    union {
        NDK_OBJECT_HEADER *header;
        NDK_ADAPTER *adapter;
        NDK_PD *pd;
        NDK_CQ *cq;
        NDK_MR *mr;
        NDK_MW *mw;
        NDK_QP *qp;
        NDK_SRQ *srq;
        NDK_SHARED_ENDPOINT *endpoint;
        NDK_LISTENER *listener;
        NDK_CONNECTOR *connector;
    } ndk;
    struct obj *parents[PARENTS];
    unsigned parent_count;
    unsigned pending;   /* requests that wait for their callback */
    unsigned callbacks; /* running callbacks */
    unsigned calls;     /* calls of the consumer on the stack */
    unsigned uses;      /* requests that must have completed before it is released */
    bool closing;       /* the close function is on the stack */
    bool notified;      /* the close callback was called */
    bool telling;       /* the close callback is running */
    void (*born)(struct obj *o);
    void (*gone)(struct obj *o);
    void (*release)(struct obj *o); /* instead of a close */
};

extern struct obj *objects[OBJECTS];
extern unsigned object_count;

/* Returns NULL if there are too many. */
void *obj_new(enum kind kind, unsigned host, size_t size);
const char *obj_name(const struct obj *o); /* for example "cq7"; valid until a few further calls */
void obj_parent(struct obj *o, struct obj *parent);
void obj_orphan(struct obj *o, struct obj *parent);
/* Returns a random open object of a kind and host, or NULL. wanted: a condition, or NULL. */
void *obj_pick(enum kind kind, unsigned host, bool (*wanted)(struct obj *o));
static inline bool obj_is_open(const struct obj *o)
{
    return o && o->life == OPEN;
}

/* Handles the result of a create call: its status, and the out parameter. */
void obj_created(struct obj *o, NTSTATUS status, const void *place);
VOID obj_create_done(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *header); /* its callback */
extern char obj_unwritten; /* the initial value of out parameters */
/* Closes an open object without a call on the stack. */
void obj_close(struct obj *o);
bool obj_can_close(const struct obj *o);

/* Called at the begin and at the end of an event callback of an object. */
void obj_enter(struct obj *o, const char *event);
void obj_exit(struct obj *o);

/* One request. */
struct req {
    struct obj *o;
    const char *name;
    const NTSTATUS *allowed; /* ends with STATUS_PENDING */
    uint64_t deadline;
    bool returned, pended, done;
    void (*then)(struct req *r, NTSTATUS status); /* called when it completes; may be NULL */
    struct req *next;
};

/* Called before the call. limit: the maximum duration. */
struct req *req_new(struct obj *o, const char *name, const NTSTATUS *allowed, uint64_t limit,
                    void (*then)(struct req *r, NTSTATUS status));
void req_returned(struct req *r, NTSTATUS status); /* called after it */
VOID req_done(PVOID context, NTSTATUS status);     /* its callback */

void obj_check_deadlines(void);
void obj_print_living(void); /* prints all existing objects */
/* Frees the records after all objects have been closed. */
void obj_end(void);

/* Executes a random action of the consumer (sim_consumer.c), for callbacks. */
void consumer_act(void);

#endif
