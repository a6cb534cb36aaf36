/* SPDX-License-Identifier: MIT */
/*
 * Opens the connections of a session: first the control connection, then the measured connections. After a failure each
 * function prints a message, stores the exit code in the session, and returns false.
 */
#ifndef NDKPERF_CONNECT_H
#define NDKPERF_CONNECT_H

#include "session.h"

/* Connects from s->client_address to s->server_address. */
bool client_connect(struct session *s);
/* Listens at s->server_address, and accepts the first client whose requirements can be met. */
bool server_connect(struct session *s);

#endif
