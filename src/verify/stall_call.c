/* SPDX-License-Identifier: MIT */
/* Reports calls that have been pending for too long, with the reason for the wait: see stall_call.h. */
#include "verify/stall_call.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "verify/connector_peer.h"
#include "verify/pending.h"
#include "verify/queue.h"
#include "verify/rules.h"
#include "verify/stall.h"
#include "verify/thread_stack.h"

enum { CALLS_AT_ONCE = 16, MAX_PEER = 384, MAX_SUCCESSORS = 256, MAX_THREAD = 128, MAX_NAME = 64 };

/* The reasons why calls wait. The first entry whose prefix is the beginning of the routine's name applies. */
static const struct {
    const char *prefix, *reason;
} call_reasons[] = {
    { "NdkConnect",
      "the peer has not answered: no host has this address, or the peer's consumer has not called NdkAccept "
      "or NdkReject" },
    { "NdkAccept", "the peer's consumer has not called NdkCompleteConnect" },
    { "NdkCompleteConnect", "the provider has not completed the establishment" },
    { "NdkDisconnect", "the peer's consumer has neither called NdkDisconnect nor closed its connector" },
    { "NdkClose", "an object that needs it is open, or a callback of it has not returned" },
    { "Ndk", "the provider has not completed the call" },
};

static const char *call_reason(const char *routine)
{
    size_t i = 0;

    while (strncmp(routine, call_reasons[i].prefix, strlen(call_reasons[i].prefix)) != 0)
        i++;
    return call_reasons[i].reason;
}

/* The thread that made a pending call, and its state now. */
struct caller {
    int thread;
    char name[MAX_NAME]; /* for example "(name)"; empty if the thread has ended */
    bool runs;
};

static void caller_read(struct caller *c, int thread)
{
    char path[64], stat[256], *name, *end;
    ssize_t length = -1;
    int fd;

    *c = (struct caller){ .thread = thread };
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        length = read(fd, stat, sizeof stat - 1);
        close(fd);
    }
    stat[length > 0 ? length : 0] = 0;
    /* `stat` is for example "12 (name) S ...". The name may contain parentheses. */
    name = strchr(stat, '(');
    end = strrchr(stat, ')');
    if (!name || !end || end < name || !end[1])
        return;
    snprintf(c->name, sizeof c->name, "%.*s", (int)(end + 1 - name), name);
    c->runs = end[2] == 'R';
}

/*
 * Writes which thread made the call, in which callback it did so, and whether it waits now. For example "thread 12
 * (name), which called in NdkConnectEventCallback, waits". Returns `text`.
 */
static const char *call_describe_thread(const struct pending *call, const struct caller *c, char text[MAX_THREAD])
{
    const char *in = call->callback ? " in " : "", *callback = call->callback ? call->callback : "";

    if (!c->name[0])
        snprintf(text, MAX_THREAD, "thread %d, which called%s%s, has ended", c->thread, in, callback);
    else
        snprintf(text, MAX_THREAD, "thread %d %s, which called%s%s, %s", c->thread, c->name, in, callback,
                 c->runs ? "runs" : "waits");
    return text;
}

/*
 * Returns true if the thread still waits inside the call. Returns false if the thread waits elsewhere, because the call
 * has returned. `call` is the stack at the call, and `now` is the thread's stack now.
 */
static bool call_is_entered(const struct stack *call, const struct stack *now)
{
    for (int i = 0; i < now->depth; i++) {
        int n = now->depth - i < call->depth ? now->depth - i : call->depth;

        if (n > 0 && !memcmp(now->frames + i, call->frames, (size_t)n * sizeof now->frames[0]))
            return true;
    }
    return false;
}

/*
 * If the caller waits, but not inside the call, adds the caller's stack to the next report. Writes the stack's title to
 * `title`, for example "thread 12 (name) waits at". `title` must stay valid until the report.
 */
static void call_add_caller_stack(const struct pending *call, const struct caller *c, char title[MAX_THREAD])
{
    struct stack now;

    if (!c->name[0] || c->runs || c->thread == verify_this_thread())
        return;
    if (thread_stack_capture(c->thread, &now) != THREAD_WAITS || !now.depth || call_is_entered(&call->by, &now))
        return;
    snprintf(title, MAX_THREAD, "thread %d %s waits at", c->thread, c->name);
    report_add_stack(title, &now);
}

/* Returns true if the close of p must wait for the close of q. */
static bool call_is_successor(const struct proxy *p, const struct proxy *q)
{
    const struct queue *qp = (const struct queue *)q;

    if (p->type == NdkObjectTypePd)
        return q->parent == p;
    return q->type == NdkObjectTypeQp &&
           (qp->cq[QUEUE_RECEIVE] == (const struct queue *)p || qp->cq[QUEUE_INITIATE] == (const struct queue *)p ||
            qp->srq == (const struct queue *)p);
}

/*
 * Writes the objects that the close of p waits for, for example "; open: NDK_QP 0x12". Writes an empty text if there is
 * none.
 */
static void call_describe_successors(const struct proxy *p, char text[MAX_SUCCESSORS])
{
    size_t n = 0;

    text[0] = 0;
    if (!p || atomic_load(&p->state) == PROXY_OPEN)
        return;
    proxy_lock_all();
    for (const struct proxy *q = proxy_next_open(NULL); q; q = proxy_next_open(q)) {
        if (!call_is_successor(p, q) || n >= MAX_SUCCESSORS - 1)
            continue;
        n += (size_t)snprintf(text + n, MAX_SUCCESSORS - n, "%s%s %p", n ? ", " : "; open: ", proxy_type_name(q),
                              (const void *)q);
    }
    proxy_unlock_all();
}

/*
 * Writes the state of the peer's connector, for example "; the peer's connector 0x12 is in this process: NdkConnect is
 * pending". If a call by the peer's consumer would end the wait, the text also names this call. If the peer's connector
 * is not in this process, writes an empty text.
 */
static void call_describe_peer(const struct proxy *p, char text[MAX_PEER])
{
    struct connector_peer peer;
    const char *way = "";

    text[0] = 0;
    if (!p || p->type != NdkObjectTypeConnector || !connector_find_peer(p, &peer))
        return;
    if (peer.phase == PHASE_REPLIED)
        way = ". This is a deadlock if the program waits for NdkAccept before it calls NdkCompleteConnect: call "
              "NdkCompleteConnect as soon as NdkConnect has completed";
    else if (peer.phase == PHASE_REQUESTED)
        way = ". This is a deadlock if the program waits for NdkConnect before it calls NdkAccept: call NdkAccept as "
              "soon as the request has come";
    else if (peer.phase == PHASE_PEER_GONE)
        way = ". This is a deadlock if the program waits for NdkDisconnect of one end before it calls it for the "
              "other one: call NdkDisconnect as soon as the disconnect event has come";
    if (peer.count == 1)
        snprintf(text, MAX_PEER, "; the peer's connector %p is in this process: %s%s", peer.connector,
                 phase_text(peer.phase), way);
    else
        snprintf(text, MAX_PEER, "; the peer is one of %u connectors of this process, for example %p: %s%s", peer.count,
                 peer.connector, phase_text(peer.phase), way);
}

static void call_report(const struct pending *call, uint64_t now)
{
    struct proxy *p = proxy_find_open(call->object.proxy);
    unsigned long long waited_ms = (now - call->since_ns) / STALL_NS_PER_MS;
    char thread[MAX_THREAD], title[MAX_THREAD], peer[MAX_PEER], successors[MAX_SUCCESSORS];
    struct caller caller;

    if (p)
        proxy_set_report_object(p);
    else
        report_set_object(&(struct report_object){ call->object.proxy, call->object.type, NULL, { NULL } });
    call_describe_peer(p, peer);
    call_describe_successors(p, successors);
    caller_read(&caller, call->caller);
    call_add_caller_stack(call, &caller, title);
    report_breach_at(&(struct breach){ .rule = &verify_rules[RULE_STALL], .routine = call->routine }, &call->by,
                     "has not completed for %llu ms: %s%s; %s%s", waited_ms, call_reason(call->routine), successors,
                     call_describe_thread(call, &caller, thread), peer);
    if (p)
        proxy_unref(p);
}

uint64_t stall_examine_calls(uint64_t now, uint64_t limit)
{
    struct pending due[CALLS_AT_ONCE];
    uint64_t oldest;
    unsigned n;

    do {
        n = pending_copy_stalled(now > limit ? now - limit : 0, due, CALLS_AT_ONCE, &oldest);
        for (unsigned i = 0; i < n; i++)
            call_report(&due[i], now);
    } while (n == CALLS_AT_ONCE);
    return oldest;
}
