/* SPDX-License-Identifier: MIT */
/*
 * The work from which scripts/train makes the library's profile: messages of all kinds and sizes between two ends in this
 * process, by polling and by notification, and connections that come and go. The program measures nothing and prints only
 * what failed.
 */
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common.h"
#include "consumer/sync.h"
#include "pairs.h"

enum {
    DEPTH = 256,
    RESULTS = 16,
    LARGEST = 1 << 20,
    TRIPS = 2000,
    ASLEEP = 500,
    TIMES = 20,  /* that so many connections */
    COUNT = 100, /* come and go */
    SMALL = 64,
    LOOKS = 3, /* in vain, before what is looked for is there: a peer takes its time */
    FAR = 2 << 20, /* offset of what is written to, and of what messages go to */
};

enum op { SEND, WRITE, READ };

static struct pairs pairs;
static sem_t over;
static atomic_bool ending; /* the last notifications may meet the close */

/* What each end has had; the context of a receive is its end, that of others NULL. */
struct seen {
    unsigned long received, done;
};

static void receive(struct pair_end *e)
{
    NDK_SGE piece = consumer_region_sge(&e->region, FAR, LARGEST);

    pairs_require(e->qps[0]->Dispatch->NdkReceive(e->qps[0], e, &piece, 1), "NdkReceive");
}

static void post(struct pair_end *e, enum op op, size_t size, ULONG flags)
{
    const struct pair_end *to = e == &pairs.active ? &pairs.passive : &pairs.active;
    NDK_SGE piece = consumer_region_sge(&e->region, 0, (uint32_t)size);
    NDK_QP *qp = e->qps[0];

    if (op == SEND)
        pairs_require(qp->Dispatch->NdkSend(qp, NULL, &piece, 1, flags), "NdkSend");
    else if (op == WRITE)
        pairs_require(qp->Dispatch->NdkWrite(qp, NULL, &piece, 1, (uintptr_t)to->region.memory + FAR,
                                             to->region.remote_token,
                                             flags), "NdkWrite");
    else
        pairs_require(qp->Dispatch->NdkRead(qp, NULL, &piece, 1, (uintptr_t)to->region.memory,
                                            to->region.remote_token, flags), "NdkRead");
}

static void look(struct pair_end *e, struct seen *s)
{
    NDK_RESULT results[RESULTS];
    ULONG n = e->cq->Dispatch->NdkGetCqResults(e->cq, results, RESULTS);

    for (ULONG i = 0; i < n; i++) {
        if (results[i].Status != STATUS_SUCCESS && atomic_load(&ending))
            continue;
        pairs_require(results[i].Status, "a request");
        if (results[i].RequestContext == e)
            s->received++;
        else
            s->done++;
    }
}

/* ---- one at a time ---- */

static void message(struct pair_end *from, struct pair_end *to, struct seen *mine, struct seen *theirs)
{
    unsigned long before = theirs->received;

    for (int i = 0; i < LOOKS; i++)
        look(to, theirs);
    post(from, SEND, SMALL, 0);
    look(from, mine);
    while (theirs->received == before)
        look(to, theirs);
    receive(to);
}

static void write_and_look(struct pair_end *from, struct pair_end *to, struct seen *mine, struct seen *theirs, int value)
{
    const volatile unsigned char *last = to->region.memory + FAR + SMALL - 1;

    for (int i = 0; i < LOOKS; i++)
        look(to, theirs);
    from->region.memory[SMALL - 1] = (unsigned char)value;
    post(from, WRITE, SMALL, 0);
    look(from, mine);
    while (*last != (unsigned char)value)
        look(to, theirs);
}

static void one_at_a_time(void)
{
    struct pair_end *a = &pairs.active, *p = &pairs.passive;
    struct seen mine = { 0 }, theirs = { 0 };

    for (int i = 0; i < TRIPS; i++) {
        message(a, p, &mine, &theirs);
        message(p, a, &theirs, &mine);
    }
    for (int i = 0; i < TRIPS; i++) {
        write_and_look(a, p, &mine, &theirs, i + 1);
        write_and_look(p, a, &theirs, &mine, i + 1);
    }
    for (int i = 0; i < TRIPS; i++) {
        unsigned long before = mine.done;

        post(a, READ, SMALL, 0);
        while (mine.done == before) {
            look(p, &theirs);
            look(a, &mine);
        }
    }
}

/* ---- many under way ---- */

static void one_way(enum op op, size_t size, unsigned long total, unsigned window, unsigned burst, bool defers)
{
    struct pair_end *a = &pairs.active, *p = &pairs.passive;
    struct seen mine = { 0 }, theirs = { 0 };
    unsigned long posted = 0, again = 0;

    for (int i = 0; i < LOOKS; i++) { /* nothing of what was before counts */
        look(a, &mine);
        look(p, &theirs);
    }
    mine = theirs = (struct seen){ 0 };
    for (unsigned i = 0; op == SEND && i < window; i++)
        receive(p);
    while (mine.done < total) {
        /* A message needs a receive, too. */
        unsigned long most = (op == SEND && again < mine.done ? again : mine.done) + window;
        unsigned long end = posted + burst < most ? posted + burst : most;

        for (end = end < total ? end : total; posted < end; posted++)
            post(a, op, size, defers && posted + 1 < end ? NDK_OP_FLAG_DEFER : 0);
        look(p, &theirs);
        for (; again < theirs.received; again++)
            receive(p);
        look(a, &mine);
    }
    while (op == SEND && theirs.received < total)
        look(p, &theirs);
}

static void many(void)
{
    static const struct load {
        size_t size;
        unsigned long total;
        unsigned window, burst;
    } loads[] = { { SMALL, 5000, 64, 16 }, { 4096, 1000, 64, 16 }, { 65536, 300, 16, 16 }, { LARGEST, 40, 4, 1 } };

    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
        const struct load *l = &loads[i];

        for (int op = SEND; op <= READ; op++)
            for (int defers = 0; defers < 2; defers++)
                one_way((enum op)op, l->size, l->total, l->window, l->burst, defers);
    }
}

/* ---- asleep: each end answers inside its notification ---- */

static void answer(struct pair_end *e)
{
    static unsigned long answered;
    struct seen s;

    e->cq->Dispatch->NdkArmCq(e->cq, NDK_CQ_NOTIFY_SOLICITED);
    do {
        s = (struct seen){ 0 };
        look(e, &s);
        for (unsigned long i = 0; i < s.received; i++) {
            receive(e);
            if (e == &pairs.active && ++answered % ASLEEP == 0)
                sem_post(&over);
            else
                post(e, SEND, SMALL, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT);
        }
    } while (s.received + s.done > 0);
}

static void asleep(void)
{
    struct pair_end *ends[] = { &pairs.active, &pairs.passive };

    for (int i = 0; i < 2; i++) {
        atomic_store(&ends[i]->notified, answer);
        ends[i]->cq->Dispatch->NdkArmCq(ends[i]->cq, NDK_CQ_NOTIFY_SOLICITED);
    }
    post(&pairs.active, SEND, SMALL, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT);
    while (sem_wait(&over))
        continue;
    atomic_store(&ending, true);
    for (int i = 0; i < 2; i++)
        atomic_store(&ends[i]->notified, NULL);
}

/* ---- connections ---- */

static void disconnect(unsigned i)
{
    NDK_CONNECTOR *c = pairs.active.connectors[i], *peer = pairs.passive.connectors[i];
    struct sync active, passive;
    NTSTATUS mine, theirs;

    sync_init(&active);
    sync_init(&passive);
    mine = c->Dispatch->NdkDisconnect(c, sync_on_request, &active);
    theirs = peer->Dispatch->NdkDisconnect(peer, sync_on_request, &passive);
    pairs_require(sync_wait(&active, mine), "NdkDisconnect");
    pairs_require(sync_wait(&passive, theirs), "NdkDisconnect");
    sync_fini(&active);
    sync_fini(&passive);
}

static void come_and_go(void)
{
    pairs_open(&pairs, COUNT, 4, 0);
    for (unsigned i = 0; i < COUNT; i++)
        disconnect(i);
    pairs_close(&pairs);
}

int main(void)
{
    sem_init(&over, 0, 0);
    for (int crc = 1; crc >= 0; crc--) {
        setenv("ONDK_CRC", crc ? "1" : "0", 1);
        atomic_store(&ending, false);
        pairs_open(&pairs, 1, 2 * DEPTH, 0);
        for (int i = 0; i < 4; i++) {
            receive(&pairs.active);
            receive(&pairs.passive);
        }
        one_at_a_time();
        many();
        asleep();
        pairs_close(&pairs);
    }
    for (int i = 0; i < TIMES; i++)
        come_and_go();
    return 0;
}
