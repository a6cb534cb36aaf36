/* SPDX-License-Identifier: MIT */
/* The commands of ndktrace. Each function returns the exit code. */
#ifndef NDKTRACE_ROLES_H
#define NDKTRACE_ROLES_H

#include "options.h"
#include "traces.h"

int run_program(const struct options *o);
int show_files(struct options *o);
int attach_processes(struct options *o);
int html_files(struct options *o);
int pcap_files(struct options *o);
int explain_files(const struct options *o);
int perfetto_files(const struct options *o);

/*
 * Prints the events of open traces. With --follow, continues until Ctrl-C, or until has_ended returns true. `has_ended`
 * may be NULL. Returns the exit code.
 */
int show_traces(struct options *o, struct traces *t, bool (*has_ended)(void));

#endif
