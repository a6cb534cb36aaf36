/* SPDX-License-Identifier: MIT */
/*
 * Runs the workload from which scripts/train creates a profile. Two ends in this process exchange messages of all kinds
 * and sizes, by polling and by notification. Then the program opens and closes connections. It measures nothing and
 * prints only failures.
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
    MAX_SIZE = 1 << 20,
    TRIPS = 2000,
    ASLEEP = 500,
    TIMES = 20,  /* number of repetitions: each opens and closes COUNT connections */
    COUNT = 100, /* number of connections that are open at the same time */
    SMALL = 64,
    EMPTY_POLLS = 3, /* number of polls before each message, as if the consumer waited for a slow peer */
    FAR = 2 << 20,   /* offset of the memory for the peer's writes, and for receives */
};

enum op { SEND, WRITE, READ };

static struct pairs pairs;
static sem_t over;
static atomic_bool ending; /* set before the first disconnect; requests may be flushed while it is true */

/*
 * The numbers of completions at one end of a connection: `received` counts receives, `done` counts all other requests.
 * The request context of a receive is the struct pair_end; all other request contexts are NULL.
 */
struct counts {
    unsigned long received, done;
};

static void train_receive(struct pair_end *e)
{
    NDK_SGE piece = consumer_region_sge(&e->region, FAR, MAX_SIZE);

    pairs_require(e->qps[0]->Dispatch->NdkReceive(e->qps[0], e, &piece, 1), "NdkReceive");
}

static void train_post(struct pair_end *e, enum op op, size_t size, ULONG flags)
{
    const struct pair_end *to = e == &pairs.active ? &pairs.passive : &pairs.active;
    NDK_SGE piece = consumer_region_sge(&e->region, 0, (uint32_t)size);
    NDK_QP *qp = e->qps[0];

    if (op == SEND)
        pairs_require(qp->Dispatch->NdkSend(qp, NULL, &piece, 1, flags), "NdkSend");
    else if (op == WRITE)
        pairs_require(qp->Dispatch->NdkWrite(qp, NULL, &piece, 1, (uintptr_t)to->region.memory + FAR,
                                             to->region.remote_token, flags),
                      "NdkWrite");
    else
        pairs_require(
            qp->Dispatch->NdkRead(qp, NULL, &piece, 1, (uintptr_t)to->region.memory, to->region.remote_token, flags),
            "NdkRead");
}

static void train_poll(struct pair_end *e, struct counts *s)
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

/* ---- one message at a time ---- */

static void train_message(struct pair_end *from, struct pair_end *to, struct counts *mine, struct counts *theirs)
{
    unsigned long before = theirs->received;

    for (int i = 0; i < EMPTY_POLLS; i++)
        train_poll(to, theirs);
    train_post(from, SEND, SMALL, 0);
    train_poll(from, mine);
    while (theirs->received == before)
        train_poll(to, theirs);
    train_receive(to);
}

static void train_write(struct pair_end *from, struct pair_end *to, struct counts *mine, struct counts *theirs,
                        int value)
{
    const volatile unsigned char *last = to->region.memory + FAR + SMALL - 1;

    for (int i = 0; i < EMPTY_POLLS; i++)
        train_poll(to, theirs);
    from->region.memory[SMALL - 1] = (unsigned char)value;
    train_post(from, WRITE, SMALL, 0);
    train_poll(from, mine);
    while (*last != (unsigned char)value)
        train_poll(to, theirs);
}

static void train_one_at_a_time(void)
{
    struct pair_end *a = &pairs.active, *p = &pairs.passive;
    struct counts mine = { 0 }, theirs = { 0 };

    for (int i = 0; i < TRIPS; i++) {
        train_message(a, p, &mine, &theirs);
        train_message(p, a, &theirs, &mine);
    }
    for (int i = 0; i < TRIPS; i++) {
        train_write(a, p, &mine, &theirs, i + 1);
        train_write(p, a, &theirs, &mine, i + 1);
    }
    for (int i = 0; i < TRIPS; i++) {
        unsigned long before = mine.done;

        train_post(a, READ, SMALL, 0);
        while (mine.done == before) {
            train_poll(p, &theirs);
            train_poll(a, &mine);
        }
    }
}

/* ---- many requests in flight ---- */

static void train_one_way(enum op op, size_t size, unsigned long total, unsigned window, unsigned burst, bool defers)
{
    struct pair_end *a = &pairs.active, *p = &pairs.passive;
    struct counts mine = { 0 }, theirs = { 0 };
    unsigned long posted = 0, again = 0;

    for (int i = 0; i < EMPTY_POLLS; i++) { /* removes earlier completions */
        train_poll(a, &mine);
        train_poll(p, &theirs);
    }
    mine = theirs = (struct counts){ 0 };
    for (unsigned i = 0; op == SEND && i < window; i++)
        train_receive(p);
    while (mine.done < total) {
        /*
         * At most `window` requests are in flight. Each send needs a receive, and p has posted `window` + `again`
         * receives.
         */
        unsigned long limit = (op == SEND && again < mine.done ? again : mine.done) + window;
        unsigned long end = posted + burst < limit ? posted + burst : limit;

        for (end = end < total ? end : total; posted < end; posted++)
            train_post(a, op, size, defers && posted + 1 < end ? NDK_OP_FLAG_DEFER : 0);
        train_poll(p, &theirs);
        for (; again < theirs.received; again++)
            train_receive(p);
        train_poll(a, &mine);
    }
    while (op == SEND && theirs.received < total)
        train_poll(p, &theirs);
}

static void train_many(void)
{
    static const struct load {
        size_t size;
        unsigned long total;
        unsigned window, burst;
    } loads[] = { { SMALL, 5000, 64, 16 }, { 4096, 1000, 64, 16 }, { 65536, 300, 16, 16 }, { MAX_SIZE, 40, 4, 1 } };

    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
        const struct load *l = &loads[i];

        for (int op = SEND; op <= READ; op++)
            for (int defers = 0; defers < 2; defers++)
                train_one_way((enum op)op, l->size, l->total, l->window, l->burst, defers);
    }
}

/* ---- messages by notification: each end answers inside the notification ---- */

static void train_answer(struct pair_end *e)
{
    static unsigned long answered;
    struct counts s;

    e->cq->Dispatch->NdkArmCq(e->cq, NDK_CQ_NOTIFY_SOLICITED);
    do {
        s = (struct counts){ 0 };
        train_poll(e, &s);
        for (unsigned long i = 0; i < s.received; i++) {
            train_receive(e);
            if (e == &pairs.active && ++answered % ASLEEP == 0)
                sem_post(&over);
            else
                train_post(e, SEND, SMALL, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT);
        }
    } while (s.received + s.done > 0);
}

static void train_asleep(void)
{
    struct pair_end *ends[] = { &pairs.active, &pairs.passive };

    for (int i = 0; i < 2; i++) {
        atomic_store(&ends[i]->notified, train_answer);
        ends[i]->cq->Dispatch->NdkArmCq(ends[i]->cq, NDK_CQ_NOTIFY_SOLICITED);
    }
    train_post(&pairs.active, SEND, SMALL, NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT);
    while (sem_wait(&over))
        continue;
    atomic_store(&ending, true);
    for (int i = 0; i < 2; i++)
        atomic_store(&ends[i]->notified, NULL);
}

/* ---- connections ---- */

static void train_disconnect(unsigned i)
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

static void train_connections(void)
{
    pairs_open(&pairs, COUNT, 4, 0);
    for (unsigned i = 0; i < COUNT; i++)
        train_disconnect(i);
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
            train_receive(&pairs.active);
            train_receive(&pairs.passive);
        }
        train_one_at_a_time();
        train_many();
        train_asleep();
        pairs_close(&pairs);
    }
    for (int i = 0; i < TIMES; i++)
        train_connections();
    return 0;
}
