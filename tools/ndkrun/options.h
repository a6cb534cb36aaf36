/* SPDX-License-Identifier: MIT */
/* ndkrun's command line. */
#ifndef NDKRUN_OPTIONS_H
#define NDKRUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "openndk/wdk.h"

enum { NDKRUN_OK, NDKRUN_LEFT, NDKRUN_USAGE, NDKRUN_NOT_LOADED, NDKRUN_IOCTL_FAILED, NDKRUN_LOST = 6 };
enum { OPTIONS_MOST = 64 };

/* One interface of --net: an index, and addresses with their prefix lengths as `ip` takes them. */
struct net_interface {
    uint32_t index;
    char address[64];
};

struct options {
    const char *drivers[OPTIONS_MOST];
    uint32_t driver_count;
    struct net_interface net[OPTIONS_MOST];
    uint32_t net_count;
    const char *reg[OPTIONS_MOST];
    uint32_t reg_count;
    const char *reg_file;
    const char *ioctl[OPTIONS_MOST];
    uint32_t ioctl_count;
    const char *scsi[OPTIONS_MOST];
    uint32_t scsi_count;
    const char *until_print;
    double run_for;     /* seconds; negative: not given */
    bool until_idle;
    ondk_wdk_checks_t checks;
};

/* Fills in o, and maps interfaces. *done: nothing is left to do, the return value is the exit status. */
int options_parse(struct options *o, int argc, char **argv, bool *done);

#endif
