/* SPDX-License-Identifier: MIT */
/* Parses ndkrun's command line. */
#ifndef NDKRUN_OPTIONS_H
#define NDKRUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "device_command.h"
#include "openndk/verify.h"
#include "openndk/wdk.h"

enum ndkrun_status {
    NDKRUN_OK,
    NDKRUN_FINDING,
    NDKRUN_USAGE,
    NDKRUN_NOT_LOADED,
    NDKRUN_IOCTL_FAILED,
    NDKRUN_TIMEOUT,
    NDKRUN_LOST,
};

/* The values of --schedule: how late completions come, and whether threads are delayed at random. */
enum schedule { SCHEDULE_STANDARD, SCHEDULE_CARD, SCHEDULE_EAGER, SCHEDULE_RANDOM };

enum { MAX_OPTIONS = 64 };

/* An interface of --net: an index, and an address with a prefix length in the form that `ip` accepts. */
struct net_interface {
    uint32_t index;
    char address[64];
};

/* An option of the command line. `value` is NULL for a flag. */
struct given_option {
    const char *name, *value;
};

struct options {
    const char *drivers[MAX_OPTIONS];
    uint32_t driver_count;
    struct net_interface net[MAX_OPTIONS];
    uint32_t net_count;
    bool has_user_namespace; /* the network of --net belongs to a user namespace of ndkrun; set by reexec.c */
    bool has_host_network;   /* --net host */
    bool has_map;            /* --map */
    const char *reg[MAX_OPTIONS];
    uint32_t reg_count;
    const char *reg_file;
    const char *files;
    struct device_command requests[MAX_OPTIONS]; /* --ioctl, --read and --write, in the order of the command line */
    uint32_t request_count;
    const char *scsi[MAX_OPTIONS];
    uint32_t scsi_count;
    const char *servers[MAX_OPTIONS], *clients[MAX_OPTIONS]; /* the commands of --server and --client */
    uint32_t server_count, client_count;
    const char *until_print;
    const char *provider; /* file of a provider module; NULL: OpenNDK */
    const char *nbd;      /* socket at which nbdkit serves the units; NULL: not given */
    bool nbd_read_only;
    uint32_t nbd_timeout; /* in seconds */
    double run_for;       /* in seconds; negative: not given */
    double timeout;       /* in seconds; 0: none */
    uint32_t repeat;      /* number of rounds */
    enum schedule schedule;
    uint32_t seed; /* seed of the first round, for SCHEDULE_RANDOM */
    bool until_idle, json, quiet;
    bool trace;                  /* print the events that --trace has selected (live/live.h) */
    ondk_verify_config_t verify; /* the settings in effect */
    const char *verify_text;     /* the last --verify; NULL: not given */
    uint32_t report_ms;          /* time after which a pending request is reported; 0: never; set by run.c */
    struct given_option *given;  /* all options of the command line; an allocated array */
    size_t given_count;
};

/*
 * Parses the arguments into *o. If the arguments request it, maps the driver's interface indexes to this machine's
 * interfaces. Returns -1 if the program must continue, otherwise the exit code.
 */
int options_parse(struct options *o, int argc, char **argv);

/*
 * The nbdkit plugin has no command line, and sets the same options with these functions. options_init sets the
 * defaults. options_set sets one option; `name` is the option's name without dashes, or "driver" to add a driver.
 * options_check must be called after the last options_set. options_set and options_check return NULL, or a text that
 * describes the mistake.
 */
void options_init(struct options *o);
const char *options_set(struct options *o, const char *name, const char *value);
const char *options_check(struct options *o);

/*
 * Returns true if only ndkrun can apply the option, and the nbdkit plugin cannot. Some of these options must be applied
 * before nbdkit starts. The others start commands (--server and --client).
 */
bool options_needs_ndkrun(const char *name, const char *value);

#endif
