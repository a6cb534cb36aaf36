/* SPDX-License-Identifier: MIT */
/* The two roles of ndkperf. Each prints failures and returns the exit code. */
#ifndef NDKPERF_ROLES_H
#define NDKPERF_ROLES_H

#include "session.h"

enum ndkperf_exit client_run(struct session *s, const struct sockaddr_storage *from);
enum ndkperf_exit server_run(struct session *s);

#endif
