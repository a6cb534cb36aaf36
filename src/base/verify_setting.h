/* SPDX-License-Identifier: MIT */
/* The value of the environment variable ONDK_VERIFY: a mode, then optionally ",full". */
#ifndef BASE_VERIFY_SETTING_H
#define BASE_VERIFY_SETTING_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The modes have the values of enum ondk_verify_mode (openndk/verify.h). */
struct verify_setting {
    uint32_t mode;
    uint32_t full;
};

#define VERIFY_SETTING_EXPECTED "off, report or stop, and optionally ,full"

/* Returns false and changes nothing if the text is no valid value. */
static inline bool verify_setting_parse(const char *text, struct verify_setting *setting)
{
    static const char *const modes[] = { "off", "report", "stop" };
    size_t length = strcspn(text, ",");

    if (text[length] && strcmp(text + length, ",full") != 0)
        return false;
    for (uint32_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (strlen(modes[i]) == length && !strncmp(text, modes[i], length)) {
            *setting = (struct verify_setting){ .mode = i, .full = text[length] != 0 };
            return true;
        }
    }
    return false;
}

#endif
