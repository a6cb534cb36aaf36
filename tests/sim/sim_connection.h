/* SPDX-License-Identifier: MIT */
/* Declarations that the files of the consumers' connections share. */
#ifndef SIM_SIM_CONNECTION_H
#define SIM_SIM_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "openndk/config.h"
#include "sim/sim_object.h"
#include "sim/sim_traffic.h"

enum { ID = 4, ATTEMPTS = 64, MAX_PRIVATE = 508, REQUEST_DATA = 1000, REPLY_DATA = 2000, READ_LIMIT = 8 };

enum phase {
    FRESH, /* can connect */
    CONNECTING,
    REPLIED, /* the peer has accepted */
    COMPLETING,
    REQUESTED, /* a connect request has arrived */
    ACCEPTING,
    UP,
    LEAVING, /* disconnect is pending */
    OVER,
};

struct conn {
    struct obj o;
    bool active;
    enum phase phase;
    struct qp *qp;
    struct conn *peer;
    struct obj *endpoint;
    unsigned attempt, request_len[ATTEMPTS]; /* the active side's private data */
    unsigned reply_len;                      /* of the passive side */
    bool answered;                           /* passive side: reply_len is valid */
    bool left;                               /* the disconnect has taken effect */
    bool notified;                           /* the disconnect callback was called */
    unsigned posted_before;                  /* when disconnect was called */
    NTSTATUS parted;                         /* the status of the disconnect */
};

struct listening {
    struct obj o;
    bool listening, paused;
    struct addr address;
};

/* sim_connection.c */
extern const NTSTATUS conn_establish_ends[];
const NTSTATUS *conn_only_success(const NTSTATUS *usual); /* the statuses that an orderly run allows */
uint64_t conn_time_limit(unsigned ms);
const ondk_config_t *conn_config(const struct conn *c);
void conn_disturb(struct conn *c);
struct conn *conn_at(unsigned id);
unsigned conn_fill_private(struct conn *c, uint8_t *data, unsigned min_receives, unsigned number);
unsigned conn_get_private(struct conn *c, uint8_t *data, bool silent);
void conn_check_private(const struct conn *c, const uint8_t *data, unsigned len, const struct conn *from,
                        unsigned expected, unsigned number, unsigned skip);
VOID conn_peer_gone(PVOID context);
VOID conn_peer_gone_ex(PVOID context, ULONG reason);
void conn_established(struct req *q, NTSTATUS status);
void conn_answer(struct conn *c);

/* sim_connect.c */
void conn_complete(struct conn *c);

/* sim_listen.c */
bool listening_is_on(struct obj *o);
void conn_accept(struct conn *c);
void conn_reject(struct conn *c); /* on either side */

#endif
