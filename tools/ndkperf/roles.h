/* SPDX-License-Identifier: MIT */
/* The two roles of ndkperf; each returns its exit code and has told what went wrong. */
#ifndef NDKPERF_ROLES_H
#define NDKPERF_ROLES_H

#include "session.h"

enum ndkperf_exit client_run(struct session *s, const struct sockaddr_storage *from);
enum ndkperf_exit server_run(struct session *s);

#endif
