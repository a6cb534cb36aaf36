/* SPDX-License-Identifier: MIT */
/* Parses the value of the environment variable ONDK_VERIFY: a mode, then options, each after a comma. */
#ifndef BASE_VERIFY_SETTING_H
#define BASE_VERIFY_SETTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The name of a file or rule. It is a part of the text that was parsed, and ends after `length` bytes, not with a 0. */
struct verify_name {
    const char *name; /* NULL: the text contains no name */
    size_t length;    /* less than VERIFY_MAX_NAME */
};

enum { VERIFY_MAX_NAME = 4096, VERIFY_MAX_ADVICE = 16 };

/* The parsed settings. The modes have the values of enum ondk_verify_mode (openndk/verify.h). */
struct verify_setting {
    uint32_t mode;
    bool full;
    bool json;
    struct verify_name output, junit;
    struct verify_name advice[VERIFY_MAX_ADVICE]; /* names of rules; the parser does not check that such rules exist */
    uint32_t advice_count;
    uint32_t stall_ms;
    uint32_t exit_status; /* 0: the program's own status remains */
};

enum { VERIFY_STALL_MS = 5000, VERIFY_MAX_STALL_MS = 3600000, VERIFY_MAX_EXIT = 255 };

#define VERIFY_SETTING_EXPECTED                                                                                        \
    "off, report or stop, and optionally ,full ,json ,output=FILE ,junit=FILE ,stall=MS ,exit=STATUS "                 \
    ",advice=RULE"

/*
 * Parses a value of ONDK_VERIFY. If the text is not valid, changes nothing and returns false. The name of a file or a
 * rule ends at the next comma.
 */
bool verify_setting_parse(const char *text, struct verify_setting *setting);

#endif
