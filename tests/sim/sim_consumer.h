/* SPDX-License-Identifier: MIT */
/*
 * The consumers: one on each host. They connect to each other, and to themselves, in every way that the seed finds.
 * Each next action is chosen from everything that the interface allows at that time.
 */
#ifndef SIM_SIM_CONSUMER_H
#define SIM_SIM_CONSUMER_H

#include <stdbool.h>

#include "sim/sim_object.h"

struct obj *consumer_adapter(unsigned host);

/* One action, perhaps none: sim_object.h has consumer_act. */
void consumer_open(void);
/* Ends everything in some order, and waits for it. */
void consumer_close(void);
/* The end of an orderly run: everything is established, sent and received; then everybody disconnects. */
void consumer_finish(void);

/* sim_connection.c */
void connection_listen(unsigned host);
void connection_pause(unsigned host);
void connection_endpoint(unsigned host);
void connection_connect(unsigned host);
void connection_answer(unsigned host);     /* completes, rejects, accepts: what waits for the consumer */
void connection_disconnect(unsigned host);
void connection_ask(unsigned host);        /* addresses, data */
void connection_wrong(unsigned host);      /* a call at the wrong time */
struct qp *connection_any_qp(unsigned host);
void connection_leave(bool disconnect);    /* everybody, in order */
bool connection_all_settled(bool explain); /* no consumer waits for an answer; explain: prints those that do */
void connection_all_established(void);     /* fails where not */
bool connection_all_left(void);
unsigned connection_count(void);

#endif
