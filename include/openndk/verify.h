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
    /* Zero. */
    uint32_t reserved;
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

/*
 * Counts the breaches that have been reported so far.
 * Returns the number, over all adapters and drivers of the process.
 * Context: any thread.
 * See also: ondk_verify_configure
 */
ONDK_API uint32_t ondk_verify_breaches(void);

/*
 * Sets the stream for reports.
 *   out  the stream, which the caller keeps open; NULL: standard error, which is the default
 * Context: any thread.
 * See also: ondk_verify_configure
 */
ONDK_API void ondk_verify_set_output(FILE *out);

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
