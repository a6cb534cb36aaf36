/* SPDX-License-Identifier: MIT */
/*
 * Verification: reports a consumer's mistakes, by rule, in front of any NDK provider. docs/verify.md lists the rules.
 *
 * A program that opens its adapters with ondk_open_adapter needs none of these functions: the environment variable
 * ONDK_VERIFY=off, report or stop, optionally followed by ",full", turns verification on in any program. Without the
 * variable, verification is off in plain programs and stops a driver under ndkrun. A program that gets adapters from
 * another provider wraps them with ondk_verify_wrap.
 *
 * While verification is off, the consumer holds the provider's own objects. While it is on, the consumer holds objects
 * of the verifier, which check each call and then call the provider.
 */
#ifndef OPENNDK_VERIFY_H
#define OPENNDK_VERIFY_H

#include <stdint.h>
#include <stdio.h>

#include "openndk/api.h"

#ifdef __cplusplus
extern "C" {
#endif

struct _NDK_ADAPTER; /* NDK_ADAPTER of ndkpi.h */

/* The action when a consumer breaks a rule. */
typedef enum ondk_verify_mode {
    ONDK_VERIFY_OFF,    /* nothing is checked */
    ONDK_VERIFY_REPORT, /* the breach is reported and counted; the consumer continues */
    ONDK_VERIFY_STOP,   /* the breach is reported, then the process ends by abort() */
} ondk_verify_mode_t;

/* The form in which reports are written. */
typedef enum ondk_verify_format {
    ONDK_VERIFY_TEXT, /* lines for people */
    ONDK_VERIFY_JSON, /* each report is one line, a JSON object: docs/verify.md */
} ondk_verify_format_t;

/*
 * The settings of verification. They apply to the whole process.
 * See also: ondk_verify_configure
 */
typedef struct ondk_verify_config {
    /* sizeof(ondk_verify_config_t) of the program, set by ondk_verify_config_init; leave it as it is. */
    uint32_t size;
    /* An ondk_verify_mode_t. */
    uint32_t mode;
    /* 1: also the checks that cost much, for example whether the source of a posted request changes. */
    uint32_t full;
    /* An ondk_verify_format_t. */
    uint32_t format;
    /*
     * How often a report of the same rule, routine and place of the program is written; default 1. All are counted. The
     * count of a place is written at the end of the process if not every report was written.
     */
    uint32_t max_written;
} ondk_verify_config_t;

/*
 * Sets a configuration to the settings that are in force.
 *   config  receives the settings; owned by the caller
 * The process's first call reads ONDK_VERIFY, unless ondk_verify_configure was called before.
 * Context: any thread, while no other thread changes the environment.
 * See also: ondk_verify_configure
 */
ONDK_API void ondk_verify_config_init_sized(ondk_verify_config_t *config, size_t size);
static inline void ondk_verify_config_init(ondk_verify_config_t *config_)
{
    ondk_verify_config_init_sized(config_, sizeof(*config_));
}

/*
 * Changes the settings of verification, and overrides ONDK_VERIFY.
 *   config  copied; ondk_verify_config_init has initialized it
 * Adapters that are open stay as they are: an adapter that was opened while verification was off is never verified, and
 * one that was opened while it was on stays wrapped. A change of the mode applies to all wrapped adapters at once.
 * Returns
 *   STATUS_SUCCESS            0: the settings are in force
 *   STATUS_INVALID_PARAMETER  negative, and nothing changes: the mode is unknown, a flag is neither 0 nor 1, or a field
 *                             that this library lacks is not 0
 * Context: any thread.
 * Example:
 *
 *     ondk_verify_config_t config;
 *
 *     ondk_verify_config_init(&config);
 *     config.mode = ONDK_VERIFY_REPORT;
 *     if (ondk_verify_configure(&config) != 0)
 *         return 1;
 *
 * See also: ondk_verify_config_init, ondk_verify_breaches
 */
ONDK_API int32_t ondk_verify_configure(const ondk_verify_config_t *config);

/*
 * Sets the mode and the flags of a configuration from a text, as ONDK_VERIFY has it.
 *   config  initialized by ondk_verify_config_init
 *   text    "off", "report" or "stop", optionally followed by ",full"
 * Returns
 *   STATUS_SUCCESS            0: config is changed; ondk_verify_configure puts it into force
 *   STATUS_INVALID_PARAMETER  negative, and nothing changes: the text is none of these, or config->size is not valid
 * Context: any thread, any IRQL.
 * See also: ondk_verify_configure
 */
ONDK_API int32_t ondk_verify_config_parse(ondk_verify_config_t *config, const char *text);

/*
 * Changes the mode and keeps the other settings.
 *   mode  the action from now on
 * Context: any thread.
 * See also: ondk_verify_configure
 */
ONDK_API void ondk_verify_set_mode(ondk_verify_mode_t mode);

/* The kinds of reports. */
typedef enum ondk_verify_kind {
    ONDK_VERIFY_BREACH, /* a rule was broken */
    ONDK_VERIFY_ADVICE, /* legal, but it fails or is slow on some providers; never stops the process */
} ondk_verify_kind_t;

/*
 * Counts the breaches that have been reported so far.
 * Returns the number, over all adapters and drivers of the process, with the reports that were not written.
 * Context: any thread.
 * See also: ondk_verify_advices, ondk_verify_rules
 */
ONDK_API uint32_t ondk_verify_breaches(void);

/*
 * Counts the advices that have been reported so far.
 * Returns the number, as ondk_verify_breaches does. An advice is no breach.
 * Context: any thread.
 * See also: ondk_verify_breaches
 */
ONDK_API uint32_t ondk_verify_advices(void);

/* A rule, and how often it was reported. The texts are constant and valid for ever. */
typedef struct ondk_verify_rule {
    /* The table of the rule: "ndk", or "kernel" for the rules of a driver's kernel. */
    const char *layer;
    /* The name in reports, for example "ndk-closed-used". */
    const char *name;
    /* The duty of the consumer, in one sentence. */
    const char *text;
    /* The name of Microsoft's page that states the duty; NULL: none. */
    const char *page;
    /* The sentence of that page, verbatim; NULL: none. */
    const char *sentence;
    /* The way to fulfil the duty; NULL: none. */
    const char *advice;
    /* An ondk_verify_kind_t. */
    uint32_t kind;
    /* The code of the bug check with which Windows stops. */
    uint32_t bug_check;
    /* The number of reports. */
    uint32_t reports;
    /* Reserved: 0. */
    uint32_t reserved;
} ondk_verify_rule_t;

/*
 * Lists all rules.
 *   rules     receives at most capacity entries; may be NULL if capacity is 0
 *   capacity  the number of entries that fit
 * Returns the number of rules.
 * Context: any thread.
 * See also: ondk_verify_breaches
 */
ONDK_API uint32_t ondk_verify_rules_sized(ondk_verify_rule_t *rules, uint32_t capacity, size_t entry_size);
static inline uint32_t ondk_verify_rules(ondk_verify_rule_t *rules_, uint32_t capacity_)
{
    return ondk_verify_rules_sized(rules_, capacity_, sizeof(*rules_));
}

/* A report, as the callback receives it. All pointers but `object` are valid until the callback returns. */
typedef struct ondk_verify_report {
    /* The number of bytes that the library has filled. */
    uint32_t size;
    /* An ondk_verify_kind_t. */
    uint32_t kind;
    /* The name of the rule: see ondk_verify_rule_t for this and the next fields. */
    const char *rule;
    /* The duty. */
    const char *text;
    /* The name of Microsoft's page; NULL: none. */
    const char *page;
    /* The page's sentence; NULL: none. */
    const char *sentence;
    /* The way to fulfil the duty; NULL: none. */
    const char *advice;
    /* The routine that the consumer has called, for example "NdkSend". */
    const char *routine;
    /* The message: what the consumer did. */
    const char *message;
    /* The object of the report, which may be closed; NULL: none. The pointer is the one that the consumer has. */
    const void *object;
    /* "NDK_QP"; NULL if object is NULL. */
    const char *object_type;
    /* The time of the report, in nanoseconds since 1970. */
    uint64_t time_ns;
    /* The number of this report among those of the same rule, routine and place, from 1; 0: unknown. */
    uint32_t repeat;
    /* Reserved: 0. */
    uint32_t reserved;
} ondk_verify_report_t;

/* Receives one report. ondk_verify_set_callback describes what the callback may do. */
typedef void (*ondk_verify_callback_t)(void *context, const ondk_verify_report_t *report);

/*
 * Sets the function that is called after each report, also after one that is only counted.
 *   callback  receives the reports; NULL: none
 *   context   for the callback
 * The callback runs on the thread that broke the rule, inside that thread's call, or inside a completion. No lock of
 * the verifier is held, so the callback may call NDK. Several threads may call the callback at once. In mode
 * ONDK_VERIFY_STOP the process ends when the callback returns. The callback is not called for reports about its own
 * calls. A call of the former callback may still be running on another thread when the function returns.
 * Context: any thread.
 * See also: ondk_verify_configure
 */
ONDK_API void ondk_verify_set_callback(ondk_verify_callback_t callback, void *context);

/*
 * Sets the stream for reports.
 *   out  the stream, which the caller keeps open until the process ends or another stream is set; NULL: standard error,
 *        which is the default
 * Reports that were written to the former stream can be written again.
 * Context: any thread.
 * See also: ondk_verify_configure
 */
ONDK_API void ondk_verify_set_output(FILE *out);

/*
 * Writes a line for each place with reports that were counted only. The library does the same when the process ends by
 * exit or by returning from main.
 * Context: any thread.
 * See also: ondk_verify_config_t
 */
ONDK_API void ondk_verify_write_repeats(void);

/*
 * Sets a file that receives the result of each rule, in JUnit's form: a test case for each rule, which fails if the
 * rule was broken.
 *   path  the file, which is replaced when the process ends by exit, by returning from main, or by a report in mode
 *         ONDK_VERIFY_STOP; NULL: none
 * Returns
 *   STATUS_SUCCESS            0: the file will be written
 *   STATUS_INVALID_PARAMETER  negative, and nothing changes: the path is too long
 * Context: any thread.
 * See also: ondk_verify_rules
 */
ONDK_API int32_t ondk_verify_set_junit(const char *path);

/*
 * Puts the verifier in front of an adapter of any provider.
 *   provider  an open adapter, which the caller owns; must stay open until ondk_verify_unwrap has returned
 *   wrapped   receives the adapter for the consumer; *wrapped is `provider` while verification is off
 * The consumer must use *wrapped in place of `provider`. ondk_open_adapter does the same with the adapters that it
 * opens.
 * Returns
 *   STATUS_SUCCESS                 *wrapped is the consumer's adapter
 *   STATUS_INVALID_PARAMETER       an argument is NULL
 *   STATUS_INSUFFICIENT_RESOURCES  out of memory
 * Context: PASSIVE_LEVEL.
 * Example:
 *
 *     NDK_ADAPTER *provider = NULL, *adapter;
 *
 *     // Another provider's function opens `provider` here.
 *     if (ondk_verify_wrap(provider, &adapter) != STATUS_SUCCESS)
 *         return 1;
 *     // The consumer uses `adapter` here.
 *     provider = ondk_verify_unwrap(adapter);
 *     // Another provider's function closes `provider` here.
 *
 * See also: ondk_verify_unwrap, ondk_open_adapter
 */
ONDK_API int32_t ondk_verify_wrap(struct _NDK_ADAPTER *provider, struct _NDK_ADAPTER **wrapped);

/*
 * Ends the verification of an adapter, so that the caller can close the provider's adapter.
 *   adapter  from ondk_verify_wrap; invalid after the call
 * The call blocks until the consumer has closed every object of the adapter, and reports objects that nobody closes.
 * Returns the provider's adapter; `adapter` itself if it is not wrapped; NULL if `adapter` was unwrapped before, which
 * is reported.
 * Context: PASSIVE_LEVEL; blocks. Not from inside a callback of the same adapter.
 * See also: ondk_verify_wrap
 */
ONDK_API struct _NDK_ADAPTER *ondk_verify_unwrap(struct _NDK_ADAPTER *adapter);

#ifdef __cplusplus
}
#endif

#endif
