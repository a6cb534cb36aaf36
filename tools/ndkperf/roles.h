/* SPDX-License-Identifier: MIT */
/* The two roles of ndkperf. Each role prints failures, and stores the first failure in the session. */
#ifndef NDKPERF_ROLES_H
#define NDKPERF_ROLES_H

#include "session.h"

/* client_role measures over the connections of client_connect. server_role accepts a client, and serves its runs. */
void client_role(struct session *s);
void server_role(struct session *s);

#endif
