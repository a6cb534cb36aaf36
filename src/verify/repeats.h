/* SPDX-License-Identifier: MIT */
/*
 * Counts the reports of each place. A place is a rule, a routine and the address of the consumer's call. Nothing is
 * allocated. All functions require that the caller has locked the output.
 */
#ifndef VERIFY_REPEATS_H
#define VERIFY_REPEATS_H

#include <stdbool.h>
#include <stdint.h>

#include "verify/report.h"

enum { MAX_PLACES = 256, MAX_PLACE = 160, MAX_FIRST_MESSAGE = 160 };

/* A place, and its reports. */
struct repeated {
    const struct rule *rule; /* NULL: the entry is free */
    const char *routine;
    const void *at;                        /* the return address of the consumer's call; NULL: unknown */
    char place[MAX_PLACE];                 /* "main+0x1f at main.c:7 (program+0x11cf)" */
    char first_message[MAX_FIRST_MESSAGE]; /* the message of the first report, cut off at the end */
    uint32_t count;                        /* the number of all reports */
    uint32_t written;                      /* the number of reports that were written to `output` */
    uint32_t listed;                       /* the value of `count` that was last written, in a report or at the end */
    uint32_t output;                       /* the number of the output to which the `written` reports went */
};

/*
 * Counts a report. Returns its place, or NULL if the table of places is full. The caller increments `written` if it
 * writes the report.
 */
struct repeated *repeats_add(const struct breach *breach, const struct stack *call);

/* Called when the output is a new one. The next report of each place is then written, even if it is a repeated one. */
void repeats_start_output(void);

/* Returns the place after `last`, or the first one if `last` is NULL. Returns NULL at the end. */
struct repeated *repeats_next(struct repeated *last);

/* Returns how many reports belong to no place, because the table was full. */
uint32_t repeats_without_place(void);

#endif
