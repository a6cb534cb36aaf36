/* SPDX-License-Identifier: MIT */
/* Packets of the simulated network: a list ordered by arrival. See sim_net.h. */
#include "sim/sim_net_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "sim/sim_net.h"

enum packet_kind { SYN, ANSWER, REFUSAL, DATA, FIN, RESET, ROOM, GIVE_UP };

struct packet {
    TAILQ_ENTRY(packet) link;
    uint64_t at;
    enum packet_kind kind;
    int error;
    struct endpoint *to;
    size_t len;
    uint8_t data[];
};

static TAILQ_HEAD(packet_list, packet) packets = TAILQ_HEAD_INITIALIZER(packets);
static struct endpoint_list endpoints = TAILQ_HEAD_INITIALIZER(endpoints);
static unsigned endpoint_count;

struct endpoint_list *wire_all(void)
{
    return &endpoints;
}

struct endpoint *wire_endpoint(const struct addr *local, const struct addr *remote)
{
    struct endpoint *e = calloc(1, sizeof *e);

    sim_check(e, "no memory");
    TAILQ_INIT(&e->queue);
    e->id = ++endpoint_count;
    e->local = *local;
    if (remote)
        e->remote = *remote;
    e->window = 1 + (sim_chance(300) ? sim_below(200) : sim_below(sim_scenario.window));
    e->mss = 536 + sim_below(9000 - 536);
    e->protected_from = UINT64_MAX;
    TAILQ_INSERT_TAIL(&endpoints, e, link);
    return e;
}

static uint64_t delay(void)
{
    uint64_t most = sim_scenario.delay;

    return 1000 + sim_below(sim_chance(100) ? most : most / 20 + 1);
}

static void send_packet(enum packet_kind kind, struct endpoint *to, uint64_t at, int error, const uint8_t *data,
                        size_t len)
{
    struct packet *p = calloc(1, sizeof *p + len), *after;

    sim_check(p, "no memory");
    p->at = at;
    p->kind = kind;
    p->to = to;
    p->error = error;
    p->len = len;
    if (len)
        memcpy(p->data, data, len);
    TAILQ_FOREACH_REVERSE (after, &packets, packet_list, link)
        if (after->at <= at)
            break;
    if (after)
        TAILQ_INSERT_AFTER(&packets, after, p, link);
    else
        TAILQ_INSERT_HEAD(&packets, p, link);
}

/* Returns an arrival time that keeps the order of the stream. */
static uint64_t in_order(struct endpoint *to)
{
    uint64_t at = sim_clock + delay();

    if (sim_chance(sim_scenario.stall))
        at += sim_below(4 * SIM_SECOND);
    if (at <= to->last_arrival)
        at = to->last_arrival + 1;
    to->last_arrival = at;
    return at;
}

/* ---- sending ---- */

void wire_connect(struct endpoint *e)
{
    if (sim_chance(sim_scenario.lose))
        e->cut = true;
    else
        send_packet(SYN, e, sim_clock + delay(), 0, NULL, 0);
}

void wire_connect_fails(struct endpoint *e, int error, uint64_t after)
{
    send_packet(REFUSAL, e, sim_clock + after, error, NULL, 0);
}

size_t wire_window(const struct endpoint *from)
{
    const struct endpoint *to = from->peer;
    size_t used = to->in_len + to->under_way;

    return used < to->window ? to->window - used : 0;
}

/*
 * The MPA frame that each direction begins with has no CRC: bytes behind it may be corrupted where a CRC covers them.
 */
static void note_start(struct endpoint *from, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len && from->sent + i < sizeof from->first; i++)
        from->first[from->sent + i] = data[i];
    from->sent += len;
    if (from->sent >= sizeof from->first && from->protected_from == UINT64_MAX)
        from->protected_from = sizeof from->first + ((unsigned)from->first[18] << 8 | from->first[19]);
}

/* If one side requires CRCs, both send them. Without CRCs a corrupted byte is not detected. */
static bool is_protected(const struct endpoint *from)
{
    return sim_scenario.config[sim_net_host(&from->local)].crc || sim_scenario.config[sim_net_host(&from->remote)].crc;
}

static void corrupt(struct endpoint *from, uint8_t *data, size_t len)
{
    size_t i = sim_below(len);

    if (from->sent < from->protected_from || !is_protected(from) || !sim_chance(sim_scenario.corrupt))
        return;
    data[i] ^= (uint8_t)(1 << sim_below(8));
    sim_trace("net: #%u corrupted", from->id);
}

void wire_data(struct endpoint *from, const uint8_t *data, size_t len)
{
    struct endpoint *to = from->peer;
    uint8_t piece[4096];

    while (len) {
        size_t n = len < sizeof piece ? len : sizeof piece;

        if (sim_chance(sim_scenario.split))
            n = 1 + sim_below(n);
        memcpy(piece, data, n);
        corrupt(from, piece, n);
        note_start(from, data, n);
        to->under_way += n;
        if (!from->cut)
            send_packet(DATA, to, in_order(to), 0, piece, n);
        data += n;
        len -= n;
    }
}

void wire_fin(struct endpoint *from)
{
    from->fin_sent = true;
    if (!from->cut && !from->dead)
        send_packet(FIN, from->peer, in_order(from->peer), 0, NULL, 0);
}

/* A reset may overtake data, which is then lost. */
void wire_reset(struct endpoint *from)
{
    struct endpoint *to = from->peer;

    from->dead = true;
    if (from->cut || !to)
        return;
    send_packet(RESET, to, sim_chance(500) ? sim_clock + delay() : in_order(to), ECONNRESET, NULL, 0);
}

void wire_room(struct endpoint *to, uint64_t after)
{
    send_packet(ROOM, to, sim_clock + after, 0, NULL, 0);
}

/* A vanished peer is detected by missing acknowledgements after a random time, which may exceed all time limits. */
static void cut(struct endpoint *e)
{
    e->cut = e->peer->cut = true;
    if (!e->dying)
        send_packet(GIVE_UP, e, sim_clock + 15 * SIM_SECOND + sim_below(60 * SIM_SECOND), ETIMEDOUT, NULL, 0);
    e->dying = true;
}

void wire_faults(struct endpoint *from)
{
    if (sim_chance(sim_scenario.reset)) {
        sim_trace("net: #%u is reset on the way", from->id);
        wire_reset(from->peer);
        wire_reset(from);
        wire_kill(from, ECONNRESET);
    } else if (!from->cut && sim_chance(sim_scenario.cut)) {
        sim_trace("net: #%u is cut off", from->id);
        cut(from);
    }
}

/* ---- arriving ---- */

void wire_update(struct endpoint *e)
{
    struct net_socket *s = e->socket;

    if (!s)
        return;
    if (e->in_len || e->error || e->fin_here || !TAILQ_EMPTY(&e->queue))
        s->flags |= READABLE;
    if ((s->flags & BLOCKED) && (e->error || e->dead || (e->connected && wire_window(e) > 0))) {
        s->flags &= ~(unsigned)BLOCKED;
        s->flags |= WRITABLE;
    }
}

void wire_kill(struct endpoint *e, int error)
{
    e->dead = true;
    if (!e->error)
        e->error = error;
    if (e->socket && (e->socket->flags & CONNECTING) && !e->socket->error)
        e->socket->error = error;
    wire_update(e);
}

static void arrive_syn(struct endpoint *from)
{
    struct endpoint *listener = net_listener_at(&from->remote), *e;

    if (from->closed)
        return; /* closed before the request was sent */
    if (!listener) {
        send_packet(REFUSAL, from, sim_clock + delay(), ECONNREFUSED, NULL, 0);
        return;
    }
    e = wire_endpoint(&from->remote, &from->local);
    e->peer = from;
    from->peer = e;
    e->connected = true;
    e->queued = true;
    e->mss = from->mss;
    TAILQ_INSERT_TAIL(&listener->queue, e, queue_link);
    sim_trace("net: #%u reaches the listener #%u as #%u", from->id, listener->id, e->id);
    wire_update(listener);
    send_packet(ANSWER, from, in_order(from), 0, NULL, 0);
}

static void arrive_data(struct endpoint *e, const struct packet *p)
{
    e->under_way -= p->len;
    if (e->dead)
        return;
    if (e->closed) {
        wire_reset(e); /* no socket reads it */
        return;
    }
    if (e->in_len + p->len > e->in_room) {
        e->in_room = 2 * e->in_room + p->len;
        e->in = realloc(e->in, e->in_room);
        sim_check(e->in, "no memory");
    }
    memcpy(e->in + e->in_len, p->data, p->len);
    e->in_len += p->len;
    wire_update(e);
}

static void arrive(const struct packet *p)
{
    struct endpoint *e = p->to;

    switch (p->kind) {
    case SYN:
        arrive_syn(e);
        break;
    case ANSWER:
        e->connected = !e->dead;
        if (e->closed && !e->dead && !e->fin_sent)
            wire_reset(e);
        wire_update(e);
        break;
    case DATA:
        arrive_data(e, p);
        break;
    case FIN:
        e->fin_here = e->fin_here || !e->dead;
        wire_update(e);
        break;
    case REFUSAL:
    case RESET:
    case GIVE_UP:
        if (!e->dead)
            sim_trace("net: #%u ends: %s", e->id, strerror(p->error));
        wire_kill(e, p->error);
        break;
    case ROOM:
        wire_update(e);
        break;
    }
}

void sim_net_advance(void)
{
    struct packet *p;

    while ((p = TAILQ_FIRST(&packets)) && p->at <= sim_clock) {
        TAILQ_REMOVE(&packets, p, link);
        arrive(p);
        free(p);
    }
}

/* Considers only packets whose receiver still exists. */
uint64_t sim_net_next(void)
{
    const struct packet *p;

    TAILQ_FOREACH (p, &packets, link)
        if (p->to->socket || p->kind != GIVE_UP)
            return p->at;
    return UINT64_MAX;
}

void wire_end(void)
{
    struct packet *p;
    struct endpoint *e;

    while ((p = TAILQ_FIRST(&packets))) {
        TAILQ_REMOVE(&packets, p, link);
        free(p);
    }
    while ((e = TAILQ_FIRST(&endpoints))) {
        TAILQ_REMOVE(&endpoints, e, link);
        free(e->in);
        free(e);
    }
}
