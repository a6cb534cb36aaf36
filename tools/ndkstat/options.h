/* SPDX-License-Identifier: MIT */
/* ndkstat's command line. */
#ifndef NDKSTAT_OPTIONS_H
#define NDKSTAT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "endpoint.h"

enum { MAX_STATES = 16, MAX_OBJECT_TYPES = 16, MAX_STATES_TEXT = 256 };

struct options {
    bool connections, counters, failures, objects; /* the view, at most one; the default view if none is set */
    uint32_t object_types;                         /* a bit for each wanted type in view_object_types; 0: all types */
    bool state;                                    /* --state: the default view also shows states, and ended objects */
    bool verbose, json, csv, watch, here;
    uint32_t pid, rounds; /* pid 0: all processes; rounds 0: no end */
    double seconds;
    /* The filters: states, and an address that an object's local or foreign address must match. */
    char states_text[MAX_STATES_TEXT];
    const char *states[MAX_STATES];
    unsigned n_states;
    bool has_address;
    struct endpoint address; /* count 0: any host; port 0: any port */
    bool netstat;            /* -x, -a or -n is given; these options change nothing */
};

/* Fills in *o and returns -1. If help or an error was printed instead, returns the exit code of the program. */
int options_parse(struct options *o, int argc, char **argv);

#endif
