/* SPDX-License-Identifier: MIT */
/*
 * Keeps the settings of verification, and implements the public functions that set them and that wrap adapters: see
 * openndk/verify.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/sized.h"
#include "base/spin.h"
#include "base/verify_setting.h"
#include "openndk/verify.h"
#include "verify/report.h"
#include "verify/setting.h"
#include "verify/stall.h"
#include "verify/verify.h"

_Static_assert((int)ONDK_VERIFY_OFF == VERIFY_OFF && (int)ONDK_VERIFY_REPORT == VERIFY_REPORT &&
                   (int)ONDK_VERIFY_STOP == VERIFY_STOP,
               "the public values are the modes");
_Static_assert((int)ONDK_VERIFY_TEXT == REPORT_TEXT && (int)ONDK_VERIFY_JSON == REPORT_JSON,
               "the public values are the formats");

enum { MAX_CONFIG_SIZE = 4096 };

static struct spin setting_lock; /* guards is_set; required by setting_apply */
static bool is_set;              /* settings were applied */
static atomic_bool is_full;

bool verify_is_full(void)
{
    return atomic_load_explicit(&is_full, memory_order_relaxed);
}

static void setting_apply(const struct verify_setting *setting)
{
    is_set = true;
    atomic_store(&is_full, setting->full);
    report_set_exit_status(setting->exit_status);
    verify_set_mode((enum verify_mode)setting->mode);
    stall_set_limit_ms(setting->stall_ms); /* last: wakes the thread that finds stalls, which reads the mode */
}

/*
 * Applies the report format and the file names in a settings text, which is the value of ONDK_VERIFY or the argument of
 * ondk_verify_configure_text. If the text names no file, reports no longer go to the file that an earlier text has
 * named.
 */
static void setting_apply_files(const struct verify_setting *setting)
{
    const struct verify_name *output = &setting->output, *junit = &setting->junit;

    report_set_format(setting->json ? REPORT_JSON : REPORT_TEXT);
    if (!report_set_file(output->name, output->length))
        fprintf(stderr, "openndk: reports go to standard error: the name of their file is too long\n");
    if (!report_set_junit(junit->name, junit->length))
        fprintf(stderr, "openndk: no JUnit file is written: its name is too long\n");
}

/* The rules that a settings text names after "advice=". A report about such a rule never stops the process. */
struct advice {
    const struct rule *rules[VERIFY_MAX_ADVICE];
    uint32_t count;
};

/* Finds the rules that a settings text names. Returns false if one of the names is not the name of a rule. */
static bool setting_find_advice(const struct verify_setting *setting, struct advice *advice)
{
    advice->count = 0;
    for (uint32_t i = 0; i < setting->advice_count; i++) {
        const struct verify_name *name = &setting->advice[i];
        const struct rule *rule = report_find_rule(name->name, name->length);

        if (rule)
            advice->rules[advice->count++] = rule;
    }
    return advice->count == setting->advice_count;
}

/* Prints a line for each name in `setting` that no rule has. */
static void setting_print_unknown(const struct verify_setting *setting)
{
    for (uint32_t i = 0; i < setting->advice_count; i++) {
        const struct verify_name *name = &setting->advice[i];

        if (!report_find_rule(name->name, name->length))
            fprintf(stderr, "openndk: advice=%.*s: there is no such rule; docs/verify.md lists the rules\n",
                    (int)name->length, name->name);
    }
}

bool verify_read_environment(enum verify_mode standard)
{
    struct verify_setting setting = { .mode = standard, .stall_ms = VERIFY_STALL_MS };
    const char *text = secure_getenv("ONDK_VERIFY");
    bool is_valid = !text || verify_setting_parse(text, &setting), is_first;
    struct advice advice;

    spin_lock(&setting_lock);
    is_first = !is_set;
    if (is_first) {
        (void)setting_find_advice(&setting, &advice);
        /* The advice rules are set before the mode, else a report about one of them could stop the process. */
        report_set_advice(advice.rules, advice.count);
        setting_apply(&setting);
    }
    spin_unlock(&setting_lock);
    if (is_first && text) {
        setting_print_unknown(&setting);
        setting_apply_files(&setting);
    }
    return is_valid; /* ondk_config_check_environment reports an invalid value */
}

void ondk_verify_config_init_sized(ondk_verify_config_t *config, size_t size)
{
    ondk_verify_config_t now = { .size = (uint32_t)size };

    (void)verify_read_environment(VERIFY_OFF);
    now.mode = (uint32_t)atomic_load(&verify_mode);
    now.full = verify_is_full();
    now.format = (uint32_t)report_get_format();
    now.max_written = report_get_max_written();
    now.stall_ms = stall_limit_ms();
    now.exit_status = report_get_exit_status();
    sized_write(config, size, &now, sizeof(now));
}

/* Returns true if some version of the struct has this size. Every version contains `mode`. */
static bool setting_size_is_valid(const ondk_verify_config_t *config)
{
    return config->size > offsetof(ondk_verify_config_t, mode) && config->size <= MAX_CONFIG_SIZE &&
           config->size % sizeof(uint32_t) == 0;
}

int32_t ondk_verify_configure_text(const char *text)
{
    struct verify_setting setting;
    struct advice advice;

    if (!text || !verify_setting_parse(text, &setting))
        return STATUS_INVALID_PARAMETER;
    if (!setting_find_advice(&setting, &advice)) {
        setting_print_unknown(&setting);
        return STATUS_INVALID_PARAMETER;
    }
    report_set_advice(advice.rules, advice.count);
    spin_lock(&setting_lock);
    setting_apply(&setting);
    spin_unlock(&setting_lock);
    setting_apply_files(&setting);
    return STATUS_SUCCESS;
}

int32_t ondk_verify_configure(const ondk_verify_config_t *config)
{
    /* The current values. If an older program's struct lacks a field, the field keeps its current value. */
    ondk_verify_config_t new = { .size = sizeof(new),
                                 .full = verify_is_full(),
                                 .format = (uint32_t)report_get_format(),
                                 .max_written = report_get_max_written(),
                                 .stall_ms = stall_limit_ms(),
                                 .exit_status = report_get_exit_status() };

    if (!setting_size_is_valid(config) || !sized_read(&new, sizeof(new), config, config->size) ||
        new.mode > ONDK_VERIFY_STOP || new.full > 1 || new.format > ONDK_VERIFY_JSON ||
        new.stall_ms > VERIFY_MAX_STALL_MS || new.exit_status > VERIFY_MAX_EXIT)
        return STATUS_INVALID_PARAMETER;
    spin_lock(&setting_lock);
    setting_apply(&(struct verify_setting){
        .mode = new.mode, .full = new.full != 0, .stall_ms = new.stall_ms, .exit_status = new.exit_status });
    spin_unlock(&setting_lock);
    report_set_format((enum report_format) new.format);
    report_set_max_written(new.max_written);
    return STATUS_SUCCESS;
}

void ondk_verify_set_mode(ondk_verify_mode_t mode)
{
    ondk_verify_config_t config;

    ondk_verify_config_init(&config);
    config.mode = (uint32_t)mode;
    (void)ondk_verify_configure(&config);
}

int32_t ondk_verify_wrap(NDK_ADAPTER *provider, NDK_ADAPTER **wrapped)
{
    NDK_ADAPTER *made = provider;

    if (!provider || !wrapped)
        return STATUS_INVALID_PARAMETER;
    (void)verify_read_environment(VERIFY_OFF);
    STACK_CALL("ondk_verify_wrap");
    if (verify_on())
        made = verify_wrap(provider, "ondk_verify_wrap");
    if (!made)
        return STATUS_INSUFFICIENT_RESOURCES;
    *wrapped = made;
    return STATUS_SUCCESS;
}

NDK_ADAPTER *ondk_verify_unwrap(NDK_ADAPTER *adapter)
{
    STACK_CALL("ondk_verify_unwrap");
    return verify_is_wrapped(adapter) ? verify_close(adapter, "ondk_verify_unwrap") : adapter;
}
