/* SPDX-License-Identifier: MIT */
/* Parses the value of ONDK_VERIFY: see verify_setting.h. */
#include <string.h>

#include "base/verify_setting.h"

static bool verify_setting_is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && !strncmp(text, word, length);
}

/*
 * Parses an option with a name, for example "output=FILE", where `key` is "output=". Returns false if the text has
 * another key, no name, or a name of VERIFY_MAX_NAME bytes or more.
 */
static bool verify_setting_parse_name(const char *text, size_t length, const char *key, struct verify_name *name)
{
    size_t key_length = strlen(key);

    if (length <= key_length || strncmp(text, key, key_length) != 0 || length - key_length >= VERIFY_MAX_NAME)
        return false;
    *name = (struct verify_name){ text + key_length, length - key_length };
    return true;
}

static bool verify_setting_parse_mode(const char *text, size_t length, struct verify_setting *setting)
{
    static const char *const modes[] = { "off", "report", "stop" };

    for (uint32_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (verify_setting_is_word(text, length, modes[i])) {
            setting->mode = i;
            return true;
        }
    }
    return false;
}

/*
 * Parses an option with a number, for example "stall=MS", where `key` is "stall=". Returns false if the text has
 * another key, or no number up to `max`.
 */
static bool verify_setting_parse_number(const char *text, size_t length, const char *key, uint32_t max, uint32_t *value)
{
    size_t at = strlen(key);
    uint32_t number = 0;

    if (length <= at || strncmp(text, key, at) != 0)
        return false;
    for (; at < length; at++) {
        if (text[at] < '0' || text[at] > '9')
            return false;
        number = number * 10 + (uint32_t)(text[at] - '0');
        if (number > max)
            return false;
    }
    *value = number;
    return true;
}

/*
 * Parses the option "advice=RULE", which may occur up to VERIFY_MAX_ADVICE times. Returns false for another option, or
 * if the option occurs more often.
 */
static bool verify_setting_parse_advice(const char *text, size_t length, struct verify_setting *setting)
{
    struct verify_name rule;

    if (!verify_setting_parse_name(text, length, "advice=", &rule) || setting->advice_count == VERIFY_MAX_ADVICE)
        return false;
    setting->advice[setting->advice_count++] = rule;
    return true;
}

static bool verify_setting_parse_option(const char *text, size_t length, struct verify_setting *setting)
{
    bool full = verify_setting_is_word(text, length, "full"), json = verify_setting_is_word(text, length, "json");

    setting->full = setting->full || full;
    setting->json = setting->json || json;
    return full || json || verify_setting_parse_name(text, length, "output=", &setting->output) ||
           verify_setting_parse_name(text, length, "junit=", &setting->junit) ||
           verify_setting_parse_number(text, length, "stall=", VERIFY_MAX_STALL_MS, &setting->stall_ms) ||
           verify_setting_parse_number(text, length, "exit=", VERIFY_MAX_EXIT, &setting->exit_status) ||
           verify_setting_parse_advice(text, length, setting);
}

bool verify_setting_parse(const char *text, struct verify_setting *setting)
{
    struct verify_setting parsed = { .stall_ms = VERIFY_STALL_MS };
    size_t length = strcspn(text, ",");
    bool ok = verify_setting_parse_mode(text, length, &parsed);

    for (text += length; ok && *text; text += length) {
        text++; /* the comma */
        length = strcspn(text, ",");
        ok = verify_setting_parse_option(text, length, &parsed);
    }
    if (ok)
        *setting = parsed;
    return ok;
}
