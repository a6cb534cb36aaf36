/* SPDX-License-Identifier: MIT */
/*
 * Counts the reports of each place. A place is a rule, a routine, and the address of the consumer's call. Nothing is
 * allocated. The caller of each function has locked the output.
 */
#ifndef VERIFY_REPEATS_H
#define VERIFY_REPEATS_H

#include <stdbool.h>
#include <stdint.h>

#include "verify/report.h"

enum { MAX_PLACES = 256, MAX_PLACE = 160, MAX_FIRST_MESSAGE = 160 };

/* A place, and the reports that were made for it. */
struct repeated {
    const struct rule *rule; /* NULL: the entry is free */
    const char *routine;
    const void *at;                        /* return address of the consumer's call; NULL: not known */
    char place[MAX_PLACE];                 /* the place as text, for example "main+0x1f at main.c:7 (program+0x11cf)" */
    char first_message[MAX_FIRST_MESSAGE]; /* the message of the first report, cut off at the end */
    uint32_t count;                        /* number of all reports */
    uint32_t written;                      /* number of written reports of this place in the current output */
    /* Value of `count` when a report of this place, or a line about the repeats of this place, was last written. */
    uint32_t listed;
    uint32_t output; /* identifies the output whose reports are counted in `written`: see repeats_start_output */
};

/*
 * Counts a report. Returns the entry for the report's place, or NULL if the table of places is full. A caller that
 * writes the report must increment `written`.
 */
struct repeated *repeats_add(const struct breach *breach, const struct stack *call);

/*
 * Records that reports go to a new output. Reports on the earlier output are then not counted in `written`. So the next
 * report of each place is written to the new output.
 */
void repeats_start_output(void);

/* Returns the place after `last`. If `last` is NULL, returns the first place. Returns NULL at the end. */
struct repeated *repeats_next(struct repeated *last);

/* Returns the number of reports that belong to no place because the table was full. */
uint32_t repeats_without_place(void);

#endif
