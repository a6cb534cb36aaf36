/* SPDX-License-Identifier: MIT */
/* The two roles of ndkperf. Each role prints failures, and stores the first failure in the session. */
#ifndef NDKPERF_ROLES_H
#define NDKPERF_ROLES_H

#include "session.h"

/*
 * client_role connects to the server (client_connect.c) and measures. server_role accepts one client and serves the
 * client's runs.
 */
void client_role(struct session *s);
void server_role(struct session *s);

#endif
