/* SPDX-License-Identifier: MIT */
/*
 * Returns what drivers have done and what they have left, as rows of numbers. ndkrun prints the rows. The types are
 * plain C, because ndkrun does not include Windows' headers.
 */
#ifndef WDK_SUMMARY_H
#define WDK_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/private_export.h"

enum summary_section {
    SUMMARY_CONNECTIONS, /* a row with the counters of NDK connections */
    SUMMARY_FAILURE,     /* NDK connections that failed or were refused */
    SUMMARY_REQUEST,     /* NDK requests of one kind that have ended */
    SUMMARY_SOCKET,      /* events of Winsock Kernel's sockets */
    SUMMARY_IRP,         /* completed IRPs of one major function and status */
    SUMMARY_SCSI,        /* SCSI commands of one kind and status */
    SUMMARY_RULE,        /* reports of a broken rule, or of advice */
    SUMMARY_LEFT,        /* things of one kind that drivers have left */
    SUMMARY_SECTIONS
};

/* A number and its name. The name is printable, has no spaces, and is in static storage. */
struct summary_number {
    const char *name;
    uint64_t value;
};

enum { SUMMARY_NUMBERS = 8, SUMMARY_TEXT = 512 };
struct summary_row {
    enum summary_section section;
    const char *name;   /* for example "send" or "IRP_MJ_READ", in static storage; NULL: none */
    const char *status; /* the name or number of a status, valid only during the visit; NULL: none */
    unsigned count;     /* number of valid elements of `numbers` */
    struct summary_number numbers[SUMMARY_NUMBERS];
    char text[SUMMARY_TEXT]; /* further words, for example a failure's addresses and its reason; "": none */
};

/* Returns the name of a section, for example "request". The name is in static storage. */
const char *summary_section_name(enum summary_section section) PRIVATE_EXPORT(summary_section_name);

typedef void summary_callback(void *context, const struct summary_row *row);
/*
 * Visits all rows in the order of their sections. Rows without events are left out. If `crashed` is true, the caller is
 * a signal handler. Then rows that need a lock are left out, too.
 */
void summary_walk(bool crashed, summary_callback *visit, void *context) PRIVATE_EXPORT(summary_walk);

#endif
