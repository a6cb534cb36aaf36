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

/* sim_object.h has consumer_act, which executes at most one action. */
void consumer_open(void);
/* Closes everything in a random order, and waits for it. */
void consumer_close(void);
/* Ends an orderly run: establishes, sends and receives everything, then disconnects all connections. */
void consumer_finish(void);

/* sim_connection.c */
void connection_listen(unsigned host);
void connection_pause(unsigned host);
void connection_endpoint(unsigned host);
void connection_connect(unsigned host);
void connection_answer(unsigned host); /* completes, rejects or accepts a waiting connection */
void connection_disconnect(unsigned host);
void connection_ask(unsigned host);   /* queries addresses and private data */
void connection_wrong(unsigned host); /* a call at the wrong time */
struct qp *connection_any_qp(unsigned host);
void connection_disconnect_all(bool disconnect); /* disconnects all connections, in order */
bool connection_all_answered(bool explain);      /* explain: prints the unanswered ones */
void connection_all_established(void);           /* fails otherwise */
bool connection_all_left(void);
unsigned connection_count(void);

#endif
