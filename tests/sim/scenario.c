/* SPDX-License-Identifier: MIT */
/* The mix of scenarios, and one run of one of them. README.md describes the mix. */
#include <string.h>

#include "sim/sim.h"
#include "sim/sim_consumer.h"
#include "sim/sim_executor.h"
#include "sim/sim_net.h"
#include "sim/sim_traffic.h"

/* clang-format off */
static const struct sim_scenario scenarios[] = {
    {.name = "orderly", .orderly = true, .actions = 600, .haste = 250, .inside = 150, .interrupt = 5, .overlap = 100,
     .delay = 2 * SIM_MS, .split = 200, .ports = 16384, .window = 20000},
    {.name = "rude", .actions = 800, .haste = 300, .inside = 300, .interrupt = 20, .overlap = 300, .rude = 60,
     .bad = 700, .hopeless = 30, .delay = 2 * SIM_MS, .split = 200, .ports = 64, .window = 20000},
    {.name = "faulty", .actions = 700, .haste = 250, .inside = 150, .interrupt = 10, .overlap = 150, .rude = 15,
     .bad = 400, .hopeless = 80, .delay = 20 * SIM_MS, .split = 300, .stall = 10, .reset = 8, .cut = 4, .corrupt = 8,
     .lose = 60, .shortage = 40, .ports = 24, .window = 8000},
    {.name = "storm", .actions = 900, .haste = 500, .inside = 500, .interrupt = 60, .overlap = 500, .rude = 150,
     .bad = 800, .hopeless = 150, .delay = 5 * SIM_MS, .split = 400, .stall = 20, .reset = 15, .cut = 8, .corrupt = 10,
     .lose = 80, .shortage = 60, .ports = 6, .window = 3000},
};
/* clang-format on */
enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

static uint32_t any_of(const uint32_t *values, unsigned count)
{
    return values[sim_below(count)];
}

#define ANY_OF(...) any_of((const uint32_t[]){ __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

static void choose_config(ondk_config_t *c, bool orderly)
{
    memset(c, 0, sizeof *c);
    c->size = sizeof *c;
    (void)ondk_config_profile(c, "default");
    c->connect_ms = orderly ? 10000 : ANY_OF(50, 1000, 10000);
    c->request_ms = orderly ? 5000 : ANY_OF(50, 5000);
    c->reply_ms = orderly ? 30000 : ANY_OF(100, 10000);
    c->establish_ms = orderly ? 30000 : ANY_OF(100, 10000);
    c->disconnect_ms = orderly ? 10000 : ANY_OF(100, 10000);
    c->backlog = orderly ? 128 : ANY_OF(1, 4, 128);
    c->max_unfinished = orderly ? 1024 : ANY_OF(0, 1, 3, 1024);
    c->max_private = ANY_OF(4, 60, 252, 508);
    c->max_inbound_reads = orderly ? 32 : ANY_OF(0, 1, 32);
    c->max_outbound_reads = orderly ? 32 : ANY_OF(0, 1, 32);
    c->mpa_revision = ANY_OF(2, 2, 2, 1);
    c->crc = ANY_OF(1, 0);
    c->rtr = ANY_OF(7, 7, 7, 1, 2, 4, 0);
    c->max_fpdu = ANY_OF(0, 0, 128, 600);
    c->shards = ANY_OF(1, 2, 3);
    c->spin_us = 0;
    c->nudge_ms = 25;
    c->keepalive_idle_ms = 15000;
    c->keepalive_interval_ms = 5000;
    c->unacked_ms = 30000;
    c->stall_ms = 30000;
    c->srq_share_percent = 50;
    c->srq_stall_ms = 500;
    c->pend_creates = sim_chance(300);
}

void sim_scenario_choose(void)
{
    ondk_config_t *config = sim_scenario.config;

    sim_scenario = scenarios[sim_below(SCENARIOS)];
    for (unsigned host = 0; host < SIM_HOSTS; host++)
        choose_config(&config[host], sim_scenario.orderly);
    if (sim_scenario.orderly) {
        config[1].rtr = config[0].rtr;
        config[1].max_private = config[0].max_private; /* otherwise the side with the smaller limit refuses */
    }
    if (sim_chance(200))
        sim_scenario.interrupt = 0;
    sim_trace("scenario %s, crc %u %u, rtr %u %u, revision %u %u, shards %u %u", sim_scenario.name, config[0].crc,
              config[1].crc, config[0].rtr, config[1].rtr, config[0].mpa_revision, config[1].mpa_revision,
              config[0].shards, config[1].shards);
}

void sim_run(void)
{
    sim_scenario_choose();
    consumer_open();
    for (unsigned n = 0; n < sim_scenario.actions;) {
        bool far = sim_step_is_far();

        if (far ? sim_chance(sim_scenario.orderly ? 1000 : 930) : sim_chance(sim_scenario.haste)) {
            consumer_act();
            n++;
        } else {
            (void)sim_step();
        }
    }
    if (sim_scenario.orderly)
        consumer_finish();
    consumer_close();
    sim_net_end();
    sim_check(sim_executor_shards() == 0, "a shard is left");
    traffic_end();
    obj_end();
}
