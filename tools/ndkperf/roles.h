/* SPDX-License-Identifier: MIT */
/* The two roles of ndkperf. Each function prints failures, and stores the first failure in the session. */
#ifndef NDKPERF_ROLES_H
#define NDKPERF_ROLES_H

#include "session.h"

/*
 * client_role measures over the connections that client_connect has opened, and disconnects them. server_role accepts
 * one client and executes the client's runs.
 */
void client_role(struct session *s);
void server_role(struct session *s);

#endif
