/* SPDX-License-Identifier: MIT */
/*
 * The connections of a session: first the control connection, then the lanes. Both functions print a failure, store its
 * exit code in the session, and return false.
 */
#ifndef NDKPERF_CONNECT_H
#define NDKPERF_CONNECT_H

#include "session.h"

/* Connects to the server from the address `from`. */
bool client_connect(struct session *s, const struct sockaddr_storage *from);
/* Listens, and accepts the first client whose requirements can be met. */
bool server_connect(struct session *s);

#endif
