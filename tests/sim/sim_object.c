/* SPDX-License-Identifier: MIT */
/* See sim_object.h. */
#include "sim/sim_object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "openndk/adapter.h"
#include "sim/sim.h"
#include "sim/sim_executor.h"

enum { NESTED = 3 }; /* maximum depth of callbacks inside callbacks */

struct obj *objects[OBJECTS];
unsigned object_count;
char obj_unwritten;

static struct req *requests;
static unsigned depth;

/* clang-format off */
static const char *const kind_names[KINDS] = {
    "adapter", "pd", "cq", "mr", "mw", "qp", "srq", "lam", "endpoint", "listener", "connector"};

const char *obj_name(const struct obj *o)
{
    static char names[8][24];
    static unsigned next;
    char *name = names[next++ % 8];

    (void)snprintf(name, sizeof names[0], "%s%u", kind_names[o->kind], o->id);
    return name;
}

void *obj_new(enum kind kind, unsigned host, size_t size)
{
    struct obj *o;

    if (object_count == OBJECTS)
        return NULL;
    o = calloc(1, size);
    sim_check(o, "no memory");
    o->kind = kind;
    o->host = host;
    o->id = object_count;
    objects[object_count++] = o;
    return o;
}

void obj_parent(struct obj *o, struct obj *parent)
{
    for (unsigned i = 0; i < o->parent_count; i++)
        if (o->parents[i] == parent)
            return;
    sim_check(o->parent_count < PARENTS, "too many antecedents");
    o->parents[o->parent_count++] = parent;
}

void obj_orphan(struct obj *o, struct obj *parent)
{
    for (unsigned i = 0; i < o->parent_count; i++)
        if (o->parents[i] == parent)
            o->parents[i--] = o->parents[--o->parent_count];
}

void *obj_pick(enum kind kind, unsigned host, bool (*wanted)(struct obj *o))
{
    struct obj *found[OBJECTS];
    unsigned count = 0;

    for (unsigned i = 0; i < object_count; i++) {
        struct obj *o = objects[i];

        if (o->kind == kind && o->host == host && o->life == OPEN && (!wanted || wanted(o)))
            found[count++] = o;
    }
    return count ? found[sim_below(count)] : NULL;
}

/* Executes actions of other threads or of the consumer while a callback runs. */
static void meanwhile(void)
{
    if (depth >= NESTED)
        return;
    depth++;
    if (sim_chance(sim_scenario.inside))
        consumer_act();
    for (unsigned n = 0; n < 8 && sim_chance(sim_scenario.overlap); n++)
        sim_overlap();
    depth--;
}

/* ---- creation ---- */

static void open_up(struct obj *o, NTSTATUS status)
{
    o->life = status ? GONE : OPEN;
    if (status) {
        sim_check(status == STATUS_INSUFFICIENT_RESOURCES || o->kind == ENDPOINT, "%s: create: %s", obj_name(o),
                  ondk_status_name(status));
        o->parent_count = 0;
        return;
    }
    sim_check(o->ndk.header && o->ndk.header->NdkReserved.rf[0] == NULL, "%s: reserved words in use", obj_name(o));
    if (o->born)
        o->born(o);
}

void obj_created(struct obj *o, NTSTATUS status, const void *place)
{
    void *out;

    memcpy(&out, place, sizeof out);
    sim_trace("%s: create: %s", obj_name(o), ondk_status_name(status));
    sim_check(!status || out == &obj_unwritten, "%s: out was written", obj_name(o));
    if (status == STATUS_PENDING)
        return;
    sim_check(o->life == ASKED, "%s: created inline and by its callback", obj_name(o));
    o->ndk.header = out;
    open_up(o, status);
}

VOID obj_create_done(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *header)
{
    struct obj *o = context;

    sim_trace("%s: created: %s", obj_name(o), ondk_status_name(status));
    sim_check(o->life == ASKED, "%s: created twice", obj_name(o));
    o->ndk.header = header;
    o->callbacks++;
    open_up(o, status);
    meanwhile();
    o->callbacks--;
}

/* ---- closing ---- */

static void end(struct obj *o)
{
    sim_check(o->life == CLOSING, "%s: its close completes, but it is not being closed", obj_name(o));
    sim_check(o->pending == 0, "%s: closed with %u requests pending", obj_name(o), o->pending);
    sim_check(o->callbacks == 0, "%s: closed while a callback of it is running", obj_name(o));
    for (unsigned i = 0; i < object_count; i++) {
        const struct obj *c = objects[i];

        for (unsigned p = 0; p < c->parent_count; p++)
            sim_check(c->parents[p] != o || (c->life == GONE && !c->telling), "%s: closed before its successor %s",
                      obj_name(o), obj_name(c));
    }
    o->life = GONE;
    if (o->gone)
        o->gone(o);
}

static VOID close_done(PVOID context)
{
    struct obj *o = context;

    sim_trace("%s: closed", obj_name(o));
    sim_check(!o->notified, "%s: the close completes twice", obj_name(o));
    o->notified = true;
    end(o);
    o->telling = true;
    meanwhile();
    o->telling = false;
}

static NDK_FN_CLOSE_OBJECT close_of(const struct obj *o)
{
    switch (o->kind) {
    case PD:
        return o->ndk.pd->Dispatch->NdkClosePd;
    case CQ:
        return o->ndk.cq->Dispatch->NdkCloseCq;
    case MR:
        return o->ndk.mr->Dispatch->NdkCloseMr;
    case MW:
        return o->ndk.mw->Dispatch->NdkCloseMw;
    case QP:
        return o->ndk.qp->Dispatch->NdkCloseQp;
    case SRQ:
        return o->ndk.srq->Dispatch->NdkCloseSrq;
    case ENDPOINT:
        return o->ndk.endpoint->Dispatch->NdkCloseSharedEndpoint;
    case LISTENER:
        return o->ndk.listener->Dispatch->NdkCloseListener;
    case CONNECTOR:
        return o->ndk.connector->Dispatch->NdkCloseConnector;
    case ADAPTER:
    case LAM:
    case KINDS:
        break;
    }
    sim_fail("no close for %s", obj_name(o));
}

bool obj_can_close(const struct obj *o)
{
    return o->kind != ADAPTER && o->life == OPEN && o->calls == 0 && o->uses == 0;
}

void obj_close(struct obj *o)
{
    NTSTATUS status;

    sim_check(obj_can_close(o), "the simulation closes %s, which it must not", obj_name(o));
    sim_trace("%s: close", obj_name(o));
    o->life = CLOSING;
    if (o->release) {
        o->release(o);
        end(o);
        return;
    }
    o->closing = true;
    status = close_of(o)(o->ndk.header, close_done, o);
    o->closing = false;
    sim_trace("%s: close: %s", obj_name(o), ondk_status_name(status));
    sim_check(status == STATUS_PENDING || status == STATUS_SUCCESS, "%s: close answers %s", obj_name(o),
              ondk_status_name(status));
    if (status == STATUS_SUCCESS) {
        sim_check(!o->notified, "%s: the close answers, and calls back", obj_name(o));
        o->notified = true;
        end(o);
    }
}

/* ---- events and requests ---- */

void obj_enter(struct obj *o, const char *event)
{
    sim_trace("%s: %s", obj_name(o), event);
    sim_check(o->life != GONE, "%s: %s, but it is closed", obj_name(o), event);
    o->callbacks++;
}

void obj_exit(struct obj *o)
{
    meanwhile();
    o->callbacks--;
}

struct req *req_new(struct obj *o, const char *name, const NTSTATUS *allowed, uint64_t limit,
                    void (*then)(struct req *r, NTSTATUS status))
{
    struct req *r = calloc(1, sizeof *r);

    sim_check(r, "no memory");
    r->o = o;
    r->name = name;
    r->allowed = allowed;
    r->deadline = sim_clock + limit;
    r->then = then;
    r->next = requests;
    requests = r;
    o->pending++;
    o->calls++;
    sim_trace("%s: %s", obj_name(o), name);
    return r;
}

static void req_end(struct req *r, NTSTATUS status)
{
    const NTSTATUS *s = r->allowed;

    sim_trace("%s: %s: %s", obj_name(r->o), r->name, ondk_status_name(status));
    while (*s != status && *s != STATUS_PENDING)
        s++;
    sim_check(*s == status && status != STATUS_PENDING, "%s: %s ends with %s", obj_name(r->o), r->name,
              ondk_status_name(status));
    r->done = true;
    r->o->pending--;
    if (r->then)
        r->then(r, status);
}

void req_returned(struct req *r, NTSTATUS status)
{
    r->returned = true;
    r->o->calls--;
    if (status == STATUS_PENDING) {
        r->pended = true;
        return;
    }
    sim_check(!r->done, "%s: %s answers %s, and calls back", obj_name(r->o), r->name, ondk_status_name(status));
    req_end(r, status);
}

VOID req_done(PVOID context, NTSTATUS status)
{
    struct req *r = context;
    struct obj *o = r->o;

    sim_check(!r->done, "%s: %s completes twice, now with %s", obj_name(o), r->name, ondk_status_name(status));
    sim_check(!r->returned || r->pended, "%s: %s answered, and calls back", obj_name(o), r->name);
    sim_check(o->life != GONE, "%s: %s completes, but it is closed", obj_name(o), r->name);
    o->callbacks++;
    req_end(r, status);
    obj_exit(o);
}

void obj_print_living(void)
{
    static const char *const lives[] = {"asked for", "open", "closing", "gone"};

    for (unsigned i = 0; i < object_count && sim_tracing; i++)
        if (objects[i]->life != GONE)
            fprintf(stderr, "  host %u: %s is %s, %u pending\n", objects[i]->host, obj_name(objects[i]),
                    lives[objects[i]->life], objects[i]->pending);
    for (const struct req *r = requests; r && sim_tracing; r = r->next)
        if (!r->done)
            fprintf(stderr, "  %s: %s is pending\n", obj_name(r->o), r->name);
}

void obj_check_deadlines(void)
{
    for (const struct req *r = requests; r; r = r->next)
        sim_check(r->done || sim_clock <= r->deadline, "%s: %s takes too long", obj_name(r->o), r->name);
}

void obj_end(void)
{
    for (struct req *r = requests, *next; r; r = next) {
        next = r->next;
        sim_check(r->done, "%s: %s was never answered", obj_name(r->o), r->name);
        free(r);
    }
    requests = NULL;
    for (unsigned i = 0; i < object_count; i++) {
        sim_check(objects[i]->life == GONE, "%s was never closed", obj_name(objects[i]));
        free(objects[i]);
    }
    object_count = 0;
}

/* clang-format on */