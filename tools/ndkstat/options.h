/* SPDX-License-Identifier: MIT */
/* Parses ndkstat's command line. */
#ifndef NDKSTAT_OPTIONS_H
#define NDKSTAT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "endpoint.h"

enum { MAX_STATES = 16, MAX_STATES_TEXT = 256 };

struct options {
    bool connections, counters, failures, objects; /* the view; at most one is set; none: the default view */
    /* Bit n: show the objects of type view_object_types[n]; 0: all types. */
    uint32_t object_types;
    /* --state was given: the default view also shows states and ended objects */
    bool state;
    bool verbose, json, csv, watch, here;
    uint32_t pid, rounds; /* pid: 0 means all processes; rounds: number of readings, 0 means no limit */
    double seconds;
    /* The filters: states, and an address that an object's local or foreign address must have. */
    char states_text[MAX_STATES_TEXT];
    const char *states[MAX_STATES];
    unsigned n_states;
    bool has_address;
    struct endpoint address; /* count 0: any host; port 0: any port */
    bool netstat;            /* -x, -a or -n was given; these options have no effect */
};

/*
 * Parses the command line into *o. Returns -1 if the tool must continue. Otherwise help or an error was printed, and
 * the tool must exit with the returned code.
 */
int options_parse(struct options *o, int argc, char **argv);

#endif
