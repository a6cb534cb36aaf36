/* SPDX-License-Identifier: MIT */
/* Declares ndkping's two roles, client and server, and the functions with which both print their results. */
#ifndef NDKPING_ROLES_H
#define NDKPING_ROLES_H

#include <jansson.h>

#include "options.h"
#include "rping.h"

/* Each function runs a role, prints the results, adds them to the JSON object `result`, and returns the exit code. */
int client_run(const struct options *o, json_t *result);
int server_run(const struct options *o, json_t *result);

/* Prints the addresses, read limits and private data of the connection, and adds them to `result`. */
void roles_report_peer(struct consumer *c, json_t *result);
/* Prints the read limits in effect. On the accepting side they are known only after the accept. */
void roles_print_limits(const struct consumer *c);
/*
 * Prints MPA revision and CRC of an established connection, and adds them to `result`. Does nothing if the provider is
 * not OpenNDK.
 */
void roles_report_agreement(struct consumer *c, json_t *result);
void roles_print_counters(struct consumer *c);
/* Prints a failed step and its reason, and adds them to `result`. Returns NDKPING_FAILED. */
int roles_report_failed(const char *step, NTSTATUS status, uint32_t reason, json_t *result);
/* Works like roles_report_failed, with the tool's own text instead of a reason of the provider. */
int roles_report_failed_text(const char *step, NTSTATUS status, const char *text, json_t *result);
/* Works like roles_report_failed_text, without a status. */
int roles_report_problem(const char *step, const char *text, json_t *result);
/*
 * Checks that the server can read, because every ping needs a read. Returns NDKPING_OK, or NDKPING_FAILED after a
 * message, which is also added to `result`.
 */
int roles_check_limits(const struct options *o, const struct consumer *c, json_t *result);
/*
 * Prints how the pings ended, and adds this to `result`. Returns the exit code, which is NDKPING_OK for
 * RPING_CANCELLED.
 */
int roles_report_end(const struct options *o, const struct rping *r, enum rping_end end, json_t *result);

#endif
