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
    double run_for;       /* seconds; negative: not given */
    bool until_idle, json;
    bool trace;                  /* print what --trace has selected (live/live.h) */
    ondk_verify_config_t verify; /* the settings that are in force */
    uint32_t report_ms;          /* set by main: the time after which a pending device control is reported; 0: never */
};

/*
 * Parses the arguments into *o. Maps the driver's interface indexes to this machine's interfaces if the arguments
 * request it. Returns -1 if the program must continue, otherwise the code with which it must exit.
 */
int options_parse(struct options *o, int argc, char **argv);

#endif
