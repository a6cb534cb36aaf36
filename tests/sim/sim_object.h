/* SPDX-License-Identifier: MIT */
/*
 * The consumers' objects and requests, with the checks that hold for all of them: what was asked for is answered once,
 * either inline or by the callback, by a status that is documented and in time; an object's close is its last callback,
 * after its requests', its events' and its successors' closes.
 */
#ifndef SIM_SIM_OBJECT_H
#define SIM_SIM_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "ndk/ndkpi.h"

/* LAM: a logical address mapping, which has no object of the interface's, and no close but a release. */
enum kind { ADAPTER, PD, CQ, MR, MW, QP, SRQ, LAM, ENDPOINT, LISTENER, CONNECTOR, KINDS };

enum life {
    ASKED,   /* its creation has been asked for */
    OPEN,
    CLOSING,
    GONE,    /* its close has completed: no callback any more */
};

enum { OBJECTS = 1024, PARENTS = 5 };

/* The first member of each kind's own struct. Never freed before the end: so callbacks that come too late are seen. */
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
    unsigned pending;   /* requests that are to be answered by a callback */
    unsigned callbacks; /* running */
    unsigned calls;     /* of the consumer's, on the stack */
    unsigned uses;      /* requests that must have completed before it is released */
    bool closing;       /* the close function is on the stack */
    bool told;          /* the close callback has been called */
    bool telling;       /* it is running */
    void (*born)(struct obj *o);
    void (*gone)(struct obj *o);
    void (*release)(struct obj *o); /* instead of a close */
};

extern struct obj *objects[OBJECTS];
extern unsigned object_count;

/* NULL: too many. */
void *obj_new(enum kind kind, unsigned host, size_t size);
const char *obj_name(const struct obj *o); /* "cq7"; a few at a time */
void obj_parent(struct obj *o, struct obj *parent);
void obj_orphan(struct obj *o, struct obj *parent);
/* Any open one of a kind and host, or NULL; wanted may be NULL. */
void *obj_pick(enum kind kind, unsigned host, bool (*wanted)(struct obj *o));
static inline bool obj_is_open(const struct obj *o)
{
    return o && o->life == OPEN;
}

/* The end of a create function: its answer, and where it wrote the object, if it did. */
void obj_created(struct obj *o, NTSTATUS status, const void *place);
VOID obj_create_done(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *header); /* its callback */
extern char obj_unwritten; /* what out points to before */
/* Closes it. Only an open one of which no call is on the stack. */
void obj_close(struct obj *o);
bool obj_can_close(const struct obj *o);

/* Around events that are delivered to an object. */
void obj_enter(struct obj *o, const char *event);
void obj_leave(struct obj *o);

/* One request. */
struct req {
    struct obj *o;
    const char *name;
    const NTSTATUS *allowed; /* ends with STATUS_PENDING */
    uint64_t deadline;
    bool returned, pended, done;
    void (*then)(struct req *r, NTSTATUS status); /* called at its end in any case; may be NULL */
    struct req *next;
};

/* Before the call; limit: the longest that it may take. */
struct req *req_new(struct obj *o, const char *name, const NTSTATUS *allowed, uint64_t limit,
                    void (*then)(struct req *r, NTSTATUS status));
void req_returned(struct req *r, NTSTATUS status); /* after it */
VOID req_done(PVOID context, NTSTATUS status);     /* its callback */

void obj_check_deadlines(void);
void obj_print_living(void); /* for who looks for what is left */
/* Everything is gone: frees the records. */
void obj_end(void);

/* Whatever a callback may do on the way (sim_consumer.c). */
void consumer_act(void);

#endif
