/* SPDX-License-Identifier: MIT */
/* The commands of ndktrace. Each returns the exit code. */
#ifndef NDKTRACE_ROLES_H
#define NDKTRACE_ROLES_H

#include "options.h"

int run_program(const struct options *o);
int show_files(struct options *o);
int html_files(struct options *o);
int pcap_files(struct options *o);
int explain_files(const struct options *o);
int perfetto_files(const struct options *o);

#endif
