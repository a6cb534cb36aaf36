/* SPDX-License-Identifier: MIT */
/* ndkrun's command line. */
#ifndef NDKRUN_OPTIONS_H
#define NDKRUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "openndk/verify.h"
#include "openndk/wdk.h"

enum { NDKRUN_OK, NDKRUN_FINDING, NDKRUN_USAGE, NDKRUN_NOT_LOADED, NDKRUN_IOCTL_FAILED, NDKRUN_LOST = 6 };
enum { MAX_OPTIONS = 64 };

/* An interface of --net: an index and an address with its prefix length, as `ip` accepts it. */
struct net_interface {
    uint32_t index;
    char address[64];
};

/* An option as it was given; `value` is NULL for a flag. */
struct given_option {
    const char *name, *value;
};

struct options {
    const char *drivers[MAX_OPTIONS];
    uint32_t driver_count;
    struct net_interface net[MAX_OPTIONS];
    uint32_t net_count;
    const char *reg[MAX_OPTIONS];
    uint32_t reg_count;
    const char *reg_file;
    const char *files;
    const char *ioctl[MAX_OPTIONS];
    uint32_t ioctl_count;
    const char *scsi[MAX_OPTIONS];
    uint32_t scsi_count;
    const char *until_print;
    const char *provider; /* a provider module; NULL: OpenNDK */
    const char *nbd;      /* the socket at which nbdkit serves the units; NULL: not given */
    bool nbd_read_only;
    uint32_t nbd_timeout; /* seconds */
    double run_for;       /* seconds; negative: not given */
    bool until_idle, json;
    bool trace;                  /* print what --trace has selected (live/live.h) */
    ondk_verify_config_t verify; /* the settings that are in force */
    uint32_t report_ms;          /* set by run.c: the time after which a pending device control is reported; 0: never */
    struct given_option *given;  /* all options of the command line; allocated */
    size_t given_count;
};

/*
 * Parses the arguments into *o. Maps the driver's interface indexes to this machine's interfaces if the arguments
 * request it. Returns -1 if the program must continue, otherwise the code with which it must exit.
 */
int options_parse(struct options *o, int argc, char **argv);

/*
 * The nbdkit plugin's way to the same options: options_init sets the defaults, options_set stores one option by its
 * name without dashes, or the driver as "driver", and options_check follows the last one. The last two return NULL, or
 * what is wrong.
 */
void options_init(struct options *o);
const char *options_set(struct options *o, const char *name, const char *value);
const char *options_check(struct options *o);

/* Returns whether only ndkrun can apply the option, and not a process that runs already. */
bool options_needs_ndkrun(const char *name);

#endif
