/* SPDX-License-Identifier: MIT */
/* The two roles of ndkperf. Each prints failures and stores the first one in the session. */
#ifndef NDKPERF_ROLES_H
#define NDKPERF_ROLES_H

#include "session.h"

/* Measures over the connections that exist. */
void client_role(struct session *s);
void server_role(struct session *s);

#endif
