/* SPDX-License-Identifier: MIT */
/* Chooses the consumers' next actions, see sim_consumer.h. */
#include "sim/sim_consumer.h"

#include <string.h>

#include "fabric/iwarp/iwarp_fabric.h"
#include "openndk/adapter.h"
#include "provider/adapter.h"
#include "provider/config.h"
#include "sim/sim.h"
#include "sim/sim_executor.h"
#include "sim/sim_net.h"
#include "sim/sim_traffic.h"

enum { MAX_CONNECTIONS = 10, IDLE_LOOKS = 300, TRIES = 50 };

static struct obj *adapters[SIM_HOSTS];
static bool acting;

struct obj *consumer_adapter(unsigned host)
{
    return adapters[host];
}

/* ---- actions ---- */

static void make_pd(unsigned host)
{
    (void)pd_new(host);
}

static void make_cq(unsigned host)
{
    (void)cq_new(host);
}

static void make_region(unsigned host)
{
    (void)region_new(host, (enum use)sim_below(USES));
}

static void make_qp(unsigned host)
{
    (void)qp_new(host);
}

static void connect_one(unsigned host)
{
    if (connection_count() < MAX_CONNECTIONS)
        connection_connect(host);
}

static void poll_one(unsigned host)
{
    struct cq *cq = obj_pick(CQ, host, NULL);

    if (cq)
        cq_poll(cq);
}

static void arm(unsigned host)
{
    struct cq *cq = obj_pick(CQ, host, NULL);

    if (cq)
        cq_arm(cq);
}

static void resize(unsigned host)
{
    struct cq *cq = obj_pick(CQ, host, NULL);

    if (cq)
        cq_resize(cq);
}

static void receive_some(unsigned host)
{
    struct qp *qp = sim_chance(700) ? connection_any_qp(host) : obj_pick(QP, host, NULL);

    for (unsigned n = 1 + (unsigned)sim_below(4); qp && n; n--)
        (void)post_receive(qp);
}

static void send_some(unsigned host)
{
    struct qp *qp = connection_any_qp(host);

    for (unsigned n = 1 + (unsigned)sim_below(4); qp && n; n--)
        (void)post_send(qp, UINT32_MAX);
}

static void read_one(unsigned host)
{
    struct qp *qp = connection_any_qp(host);

    if (qp)
        (void)post_read(qp);
}

static void write_one(unsigned host)
{
    struct qp *qp = connection_any_qp(host);

    if (qp)
        (void)post_write(qp);
}

static void make_srq(unsigned host)
{
    srq_new(host);
}

static void moderate(unsigned host)
{
    struct cq *cq = obj_pick(CQ, host, NULL);

    if (cq)
        cq_moderate(cq);
}

static void fill_one(unsigned host)
{
    struct srq *s = obj_pick(SRQ, host, NULL);

    for (unsigned n = 1 + (unsigned)sim_below(6); s && n; n--)
        (void)srq_post(s);
}

static void map_memory(unsigned host)
{
    struct qp *qp = connection_any_qp(host);

    if (qp)
        regions_map(qp);
}

static void register_pages(unsigned host)
{
    struct qp *qp = connection_any_qp(host);

    if (qp)
        regions_register(qp);
}

static void bind_window(unsigned host)
{
    struct qp *qp = connection_any_qp(host);

    if (qp)
        regions_bind(qp);
}

static void invalidate_one(unsigned host)
{
    struct qp *qp = connection_any_qp(host);

    if (qp)
        regions_invalidate(qp, false);
}

static void be_wrong(unsigned host)
{
    struct qp *qp = connection_any_qp(host);

    if (qp)
        regions_wrong(qp);
}

static void early(unsigned host)
{
    struct qp *qp = obj_pick(QP, host, qp_is_free);

    if (qp)
        post_early(qp);
}

/* clang-format off */
static const struct action {
    void (*act)(unsigned host);
    unsigned weight;
    bool orderly;
} actions[] = {
    {make_pd, 2, false},     {make_cq, 3, true},         {make_region, 12, true},       {make_qp, 4, true},
    {connect_one, 14, true},    {connection_answer, 30, true}, {connection_listen, 5, true},
    {connection_endpoint, 3, false},
    {poll_one, 25, true},       {arm, 8, true},             {resize, 2, true},             {receive_some, 25, true},
    {send_some, 30, true},       {read_one, 12, true},           {write_one, 14, true},             {early, 2, true},
    {connection_ask, 3, true}, {connection_wrong, 2, true}, {connection_pause, 1, false},
    {make_srq, 3, true}, {fill_one, 12, true}, {srq_modify, 4, true}, {moderate, 3, true},
    {regions_make, 12, true}, {map_memory, 2, true}, {register_pages, 16, true}, {bind_window, 12, true},
    {invalidate_one, 10, true}, {be_wrong, 3, true},
};
/* clang-format on */
enum { ACTIONS = sizeof actions / sizeof actions[0] };

/* ---- rude ones ---- */

static struct obj *any_object(void)
{
    struct obj *o = object_count ? objects[sim_below(object_count)] : NULL;

    return o && obj_can_close(o) ? o : NULL;
}

/* Closes the object. Its pending requests may be cancelled. */
static void close_object(struct obj *o)
{
    if (o->kind == QP)
        ((struct qp *)o)->disturbed = true;
    if (o->kind == MR || o->kind == MW)
        traffic_reclaimed = true;
    if (o->kind == MW && ((struct window *)o)->grant)
        regions_unbind(((struct window *)o)->grant);
    obj_close(o);
}

static void be_rude(unsigned host)
{
    struct obj *o;
    struct qp *qp;

    switch (sim_below(9)) {
    case 0:
        if ((qp = connection_any_qp(host)))
            qp_flush(qp);
        break;
    case 1:
        if ((o = obj_pick(MR, host, NULL)))
            region_deregister((struct region *)o);
        break;
    case 2:
        if ((qp = connection_any_qp(host)) && sim_chance(sim_scenario.bad))
            post_bad(qp);
        break;
    case 3:
        if ((o = obj_pick(CONNECTOR, host, NULL)) && obj_can_close(o))
            close_object(o);
        break;
    case 4:
        if ((o = any_object()))
            close_object(o);
        break;
    case 5:
        if ((qp = connection_any_qp(host)))
            regions_invalidate(qp, true);
        break;
    default:
        connection_disconnect(host);
        break;
    }
}

void consumer_act(void)
{
    unsigned host = (unsigned)sim_below(SIM_HOSTS), total = 0, at;

    if (!acting)
        return;
    if (sim_chance(sim_scenario.rude)) {
        be_rude(host);
        return;
    }
    for (unsigned i = 0; i < ACTIONS; i++)
        total += actions[i].weight;
    at = (unsigned)sim_below(total);
    for (unsigned i = 0; i < ACTIONS; at -= actions[i++].weight) {
        if (at >= actions[i].weight)
            continue;
        if (actions[i].orderly || !sim_scenario.orderly)
            actions[i].act(host);
        return;
    }
}

/* ---- between them ---- */

/* Deregistering memory is most dangerous while bytes are moved to it or from it. */
static void interrupt(const void *memory)
{
    static bool inside;
    struct region *r;

    if (inside || !acting || !sim_chance(sim_scenario.interrupt))
        return;
    inside = true;
    r = sim_chance(2 * sim_scenario.rude) ? region_around(memory) : NULL;
    if (r && r->fast)
        regions_interrupt(r);
    else if (r)
        region_deregister(r);
    else
        consumer_act();
    inside = false;
}

static void idle(void)
{
    obj_check_deadlines();
    if (sim_chance(IDLE_LOOKS))
        cq_check_idle();
    if (sim_chance(IDLE_LOOKS))
        qp_check_flushed();
    if (sim_chance(IDLE_LOOKS))
        srq_check_idle(false);
}

static void open_host(unsigned host)
{
    static const NDK_VERSION versions[] = { { 2, 1 }, { 1, 2 } };
    const ondk_config_t *c = &sim_scenario.config[host];
    struct obj *o = obj_new(ADAPTER, host, sizeof *o);
    struct fabric_config config;
    struct fabric *fabric;
    int error;

    config_for_fabric(c, &config);
    error = iwarp_fabric_create(sim_executor(), sim_net(), sim_interfaces(host), host + 1, &config, &fabric);
    sim_check(!error, "a fabric cannot be made: %s", strerror(error));
    sim_check(adapter_open(versions[sim_chance(300)], fabric, c, &o->ndk.adapter) == STATUS_SUCCESS, "no adapter");
    o->life = OPEN;
    adapters[host] = o;
}

void consumer_open(void)
{
    for (unsigned host = 0; host < SIM_HOSTS; host++)
        open_host(host);
    for (unsigned host = 0; host < SIM_HOSTS; host++) {
        make_pd(host);
        make_cq(host);
        for (unsigned use = 0; use < USES; use++)
            (void)region_new(host, (enum use)use);
        connection_listen(host);
    }
    sim_on_fail(obj_print_living);
    sim_on_idle(idle);
    sim_net_on_interrupt(interrupt);
    acting = true;
}

static void poll_everything(void)
{
    for (unsigned i = 0; i < object_count; i++)
        if (objects[i]->kind == CQ)
            cq_drain((struct cq *)objects[i]);
}

void consumer_finish(void)
{
    uint64_t end = sim_clock + 60 * SIM_SECOND;
    unsigned tries = 0;

    acting = false;
    for (;;) {
        poll_everything();
        srq_fill();
        if (connection_all_answered(false))
            break;
        if (sim_step_is_far() && ++tries % TRIES)
            continue; /* a consumer may have to create objects before it can answer */
        if (sim_clock < end && sim_step())
            continue;
        (void)connection_all_answered(true);
        sim_fail("not everything that was sent arrives");
    }
    connection_all_established();
    srq_check_idle(true);
    connection_disconnect_all(true);
    while (!connection_all_left()) {
        sim_check(sim_step(), "not everybody can disconnect");
        connection_disconnect_all(false);
    }
}

/* Returns true if the object can be closed only later: when it exists, or when nothing uses it. */
static bool is_awaited(const struct obj *o)
{
    return o->life == ASKED || (o->life == OPEN && o->uses);
}

/* Closes one open object, in any order. Returns true if every object is closed or being closed. */
static bool close_some(void)
{
    struct obj *open[OBJECTS];
    unsigned count = 0, waiting = 0;

    for (unsigned i = 0; i < object_count; i++) {
        if (obj_can_close(objects[i]))
            open[count++] = objects[i];
        waiting += is_awaited(objects[i]);
    }
    if (count)
        close_object(open[sim_below(count)]);
    return count + waiting == 0;
}

static void close_host(unsigned host)
{
    struct obj *o = adapters[host];

    sim_trace("%s: close", obj_name(o));
    o->life = CLOSING;
    ondk_close_adapter(o->ndk.adapter);
    for (unsigned i = 0; i < object_count; i++)
        sim_check(objects[i] == o || objects[i]->host != host || (objects[i]->life == GONE && !objects[i]->callbacks),
                  "%s: closed before %s", obj_name(o), obj_name(objects[i]));
    o->life = GONE;
    sim_trace("%s: closed", obj_name(o));
}

void consumer_close(void)
{
    bool slowly = sim_chance(500);

    acting = sim_chance(300) && !sim_scenario.orderly;
    for (unsigned n = 0; !close_some(); n++) {
        if (n == sim_scenario.actions)
            acting = false;
        while (slowly && sim_chance(700) && sim_step())
            ;
        if (!slowly && sim_chance(50))
            (void)sim_step();
    }
    acting = false;
    /* Closes objects that arrived meanwhile or that a callback created. */
    while (!close_some())
        (void)sim_step();
    close_host((unsigned)sim_below(SIM_HOSTS));
    for (unsigned host = 0; host < SIM_HOSTS; host++)
        if (adapters[host]->life == OPEN)
            close_host(host);
}
