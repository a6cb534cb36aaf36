/* SPDX-License-Identifier: MIT */
/*
 * Verification: reports a consumer's mistakes, by rule, in front of any NDK provider. docs/verify.md lists the rules.
 *
 * A program that opens its adapters with ondk_open_adapter needs none of these functions. The environment variable
 * ONDK_VERIFY sets the mode of verification in any program: "off", "report" or "stop". Options may follow the mode,
 * each after a comma: see ondk_verify_configure_text. If the variable is not set, the mode is "off" in plain programs
 * and "stop" under ndkrun. A program that gets adapters from another provider wraps them with ondk_verify_wrap.
 *
 * While verification is off, the consumer holds the provider's own objects. While it is on, the consumer holds objects
 * of the verifier, which check each call and then call the provider.
 */
#ifndef OPENNDK_VERIFY_H
#define OPENNDK_VERIFY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "openndk/api.h"

#ifdef __cplusplus
extern "C" {
#endif

struct _NDK_ADAPTER; /* NDK_ADAPTER of ndkpi.h */
struct _MDL;         /* MDL of ndkpi.h */

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
    /* 1: also makes checks that cost much, for example whether the program changes data that a posted request sends. */
    uint32_t full;
    /* An ondk_verify_format_t. */
    uint32_t format;
    /*
     * The maximum number of written reports of the same rule, routine and place of the program; default 1. Further
     * reports are only counted. The counts are written at the end of the process.
     */
    uint32_t max_written;
    /*
     * A time in milliseconds, at most 3600000; default 5000. Each of these is a stall after this time: a call or an
     * initiator request that has not completed, an event that the consumer has not answered, and an object that is
     * still open while the close of the adapter waits for it. A thread of the library reports each stall once, with its
     * cause. 0: stalls are not reported, and the close of an adapter waits without a limit.
     */
    uint32_t stall_ms;
    /*
     * The exit status of the process, at most 255, if a rule was broken in mode ONDK_VERIFY_REPORT. The library's
     * destructor then ends the process with this status, so later destructors do not run. Default 0: the program's own
     * exit status.
     */
    uint32_t exit_status;
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
 * An adapter that is opened while verification is on is wrapped, and stays wrapped. An adapter that is opened while
 * verification is off is never verified. A change of the mode applies to all wrapped adapters at once.
 * Returns
 *   STATUS_SUCCESS            0: the settings are in force
 *   STATUS_INVALID_PARAMETER  negative, and nothing changes: the mode is unknown, a flag is neither 0 nor 1, or a field
 *                             that only newer libraries have is not 0
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
 * Changes the settings as ONDK_VERIFY does, and overrides ONDK_VERIFY.
 *   text  "off", "report" or "stop", followed by any of these options:
 *         ",full"         also the checks that cost much
 *         ",json"         each report is one line, a JSON object
 *         ",output=FILE"  reports are appended to the file instead of the stream (ondk_verify_set_output). The file is
 *                         created when the first report is written. If the file cannot be opened, the report and
 *                         the reason go to standard error
 *         ",junit=FILE"   as ondk_verify_set_junit
 *         ",stall=MS"     the field stall_ms of ondk_verify_config_t
 *         ",exit=STATUS"  the field exit_status of ondk_verify_config_t
 *         ",advice=RULE"  the rule with this name is advice: a report of it stops nothing, and is counted apart. At
 *                         most 16 rules, each in an option of its own
 * A file's name ends at the next comma. An option that the text lacks is turned off: a file that was set before is not
 * used any more. The field max_written of ondk_verify_config_t does not change.
 * Returns
 *   STATUS_SUCCESS            0: the settings are in force
 *   STATUS_INVALID_PARAMETER  negative, and nothing changes: the text is NULL or malformed, a file's name is empty or
 *                             too long, or no rule has the name RULE. In the last case standard error gets a line
 *                             with the name
 * Context: any thread.
 * Example:
 *
 *     if (ondk_verify_configure_text("report,output=reports.txt") != 0)
 *         return 1;
 *
 * See also: ondk_verify_configure, ondk_verify_set_junit
 */
ONDK_API int32_t ondk_verify_configure_text(const char *text);

/*
 * Changes the mode and keeps the other settings.
 *   mode  what the verifier does from now on when a consumer breaks a rule
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
 * Returns the number for all adapters and drivers of the process. Reports that were not written are included.
 * Context: any thread.
 * See also: ondk_verify_advices, ondk_verify_rules
 */
ONDK_API uint32_t ondk_verify_breaches(void);

/*
 * Counts the pieces of advice that the verifier has given so far.
 * Returns the number for all adapters and drivers of the process. Advice that was not written is included. Advice is
 * not a breach, so ondk_verify_breaches does not count advice.
 * Context: any thread.
 * See also: ondk_verify_breaches
 */
ONDK_API uint32_t ondk_verify_advices(void);

/* A rule, and how often it was reported. The texts are constant and valid for ever. */
typedef struct ondk_verify_rule {
    /* The table of the rule: "ndk" for rules about NDK, "kernel" for rules about other routines that drivers call. */
    const char *layer;
    /* The name in reports, for example "ndk-closed-used". */
    const char *name;
    /* The duty of the consumer, in one sentence. */
    const char *text;
    /* The name of Microsoft's page that states the duty; NULL: none. */
    const char *page;
    /* The sentence of that page that states the duty, verbatim; NULL: none. */
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

/* A report, as the callback receives it. All strings are valid until the callback returns. */
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
    /* The sentence of that page that states the duty; NULL: none. */
    const char *sentence;
    /* The way to fulfil the duty; NULL: none. */
    const char *advice;
    /* The routine that the consumer has called, for example "NdkSend". */
    const char *routine;
    /* The message: what the consumer did. */
    const char *message;
    /* The consumer's pointer to the object of the report; NULL: none. The object can be closed and freed already. */
    const void *object;
    /* The type of the object, for example "NDK_QP"; NULL if object is NULL. */
    const char *object_type;
    /* The time of the report, in nanoseconds since 1970. */
    uint64_t time_ns;
    /* 1 in the first report of this rule, routine and place, 2 in the second, and so on; 0: unknown. */
    uint32_t repeat;
    /* Reserved: 0. */
    uint32_t reserved;
} ondk_verify_report_t;

/* Receives one report. ondk_verify_set_callback describes what the callback may do. */
typedef void (*ondk_verify_callback_t)(void *context, const ondk_verify_report_t *report);

/*
 * Sets the function that is called after each report, even if the report is only counted.
 *   callback  receives the reports; NULL: none
 *   context   for the callback
 * The callback runs on the thread that broke the rule, inside that thread's call, or inside a completion. No lock of
 * the verifier is held, so the callback may call NDK. Several threads may call the callback at the same time. In mode
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
 * The number of written reports, which max_written (ondk_verify_config_t) limits, begins at 0 again for the new stream.
 * If ONDK_VERIFY or ondk_verify_configure_text names a file, reports go to the file instead.
 * Context: any thread.
 * See also: ondk_verify_configure_text
 */
ONDK_API void ondk_verify_set_output(FILE *out);

/*
 * Writes the counts of reports that were not written. One line is written for each place with such reports. The
 * library does the same when the process ends by exit or by returning from main.
 * Context: any thread.
 * See also: ondk_verify_config_t
 */
ONDK_API void ondk_verify_write_repeats(void);

/*
 * Sets a file that receives the result of each rule, in JUnit's form: a test case for each rule, which fails if the
 * rule was broken.
 *   path  the file, which is replaced when the process ends by exit, by returning from main, or by a report in mode
 *         ONDK_VERIFY_STOP; NULL: none. No file is written if nothing was checked
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
 * The call blocks until the consumer has closed every object of the adapter. If stall_ms (ondk_verify_config_t) pass
 * and no object is closed, the call reports the open objects. If stall_ms pass once more and no object is closed, the
 * call gives up.
 * Returns the provider's adapter, or `adapter` itself if it is not wrapped. Returns NULL if the call has given up; the
 * provider's adapter must then stay open for the rest of the process. Returns NULL if the call is made in a callback
 * of the adapter; the adapter then stays wrapped. Returns NULL if `adapter` was unwrapped before. Each of these
 * mistakes is reported.
 * Context: PASSIVE_LEVEL; blocks. Not from inside a callback of the same adapter.
 * See also: ondk_verify_wrap
 */
ONDK_API struct _NDK_ADAPTER *ondk_verify_unwrap(struct _NDK_ADAPTER *adapter);

/* The value of ondk_verify_host_t's irql for a host without IRQLs. */
#define ONDK_VERIFY_NO_IRQL (-1)

/*
 * The values of ondk_verify_host_t's memory_state. PAGED is added to one of the other values if the memory is pageable.
 */
typedef enum ondk_verify_memory {
    ONDK_VERIFY_MEMORY_UNKNOWN = 0,
    ONDK_VERIFY_MEMORY_ALIVE = 1, /* allocated */
    ONDK_VERIFY_MEMORY_FREED = 2, /* freed, unmapped, or of a dead stack frame */
    ONDK_VERIFY_MEMORY_PAGED = 4, /* pageable, and not locked */
} ondk_verify_memory_t;

/* The values of ondk_verify_host_t's mdl_state. */
typedef enum ondk_verify_mdl {
    ONDK_VERIFY_MDL_UNKNOWN,
    ONDK_VERIFY_MDL_LOCKED,    /* locked, or built for nonpaged memory */
    ONDK_VERIFY_MDL_UNLOCKED,  /* neither */
    ONDK_VERIFY_MDL_READ_ONLY, /* locked with IoReadAccess */
} ondk_verify_mdl_t;

/*
 * Functions of the host, which is the program that the consumer runs in. The verifier calls them for facts that only
 * the host has. For an entry that is NULL, the verifier uses a default that suits a plain program. A function of the
 * host must not call NDK or the verifier.
 * See also: ondk_verify_set_host
 */
typedef struct ondk_verify_host {
    /* sizeof(ondk_verify_host_t) of the program. */
    uint32_t size;
    /* Zero. */
    uint32_t reserved;
    /* Returns the calling thread's IRQL. Default: ONDK_VERIFY_NO_IRQL. */
    int32_t (*irql)(void);
    /* Called before each callback into the consumer. Returns a mark for callback_end. Default: 0. */
    uint64_t (*callback_begin)(void);
    /*
     * Called after each callback. `mark` is the value that callback_begin returned. `callback` is the name of the
     * callback's type, for example "NdkCqNotificationCallback". `routine` is the consumer's function. Default: does
     * nothing.
     */
    void (*callback_end)(uint64_t mark, const char *callback, const void *routine);
    /*
     * Sets the lowest address and the size of the calling thread's stack. Returns 0 if they are unknown, else 1.
     * Default: the stack of the C library's thread.
     */
    int32_t (*stack_bounds)(uintptr_t *low, size_t *size);
    /*
     * Converts the consumer's sockaddr to the provider's. `length` is at most 28. Returns 1 if `room`, which has 28
     * bytes, has received the provider's sockaddr. Returns 0 if the provider can use the consumer's sockaddr
     * unchanged. Default: 0.
     */
    int32_t (*address_to_provider)(const void *sockaddr, size_t length, void *room);
    /* Converts the provider's sockaddr to the consumer's, in place. Default: both use the same addresses. */
    void (*address_to_consumer)(void *sockaddr, size_t length);
    /*
     * Returns ondk_verify_memory values for the byte at the address, which may be invalid. Default: what
     * AddressSanitizer reports, if the program is built with it, and FREED for an address that is not mapped.
     */
    uint32_t (*memory_state)(const void *address);
    /* Returns an ondk_verify_mdl value for one MDL; does not follow Next. Default: from MdlFlags. */
    uint32_t (*mdl_state)(const struct _MDL *mdl);
} ondk_verify_host_t;

/*
 * Sets the host's functions for all adapters of the process.
 *   host  the functions, which are copied; an entry that is NULL gets its default. If host itself is NULL, every entry
 *         gets its default
 * The kernel's library (libopenndk-wdk) sets its own table when a driver opens its first adapter.
 * Returns
 *   STATUS_SUCCESS                 0; the functions are in force
 *   STATUS_INVALID_PARAMETER       host->size is not valid, host->reserved is not zero, or the program has set an entry
 *                                  that this version of the library does not have
 *   STATUS_INSUFFICIENT_RESOURCES  out of memory
 * If the call fails, the status is negative and nothing changes.
 * Context: any thread, before the first adapter is opened. The library keeps each copy for ever.
 * Example:
 *
 *     extern int32_t irql_of_this_thread(void);
 *     ondk_verify_host_t host = {
 *         .size = sizeof(host),
 *         .irql = irql_of_this_thread,
 *     };
 *
 *     if (ondk_verify_set_host(&host) != 0)
 *         return 1;
 *
 * See also: ondk_verify_check_free
 */
ONDK_API int32_t ondk_verify_set_host(const ondk_verify_host_t *host);

/*
 * Reports memory that is still in use by NDK: as context, buffer, region or MDL.
 *   start  the memory that the caller is about to free
 *   size   its size in bytes
 * Only programs with an allocator of their own need this function. The library itself checks the pool of drivers. If
 * the program is built with AddressSanitizer, the library itself also checks memory that free() frees.
 * Context: any thread. The thread must not hold a lock that the writing of a report acquires, for example an
 * allocator's lock.
 * See also: ondk_verify_set_host
 */
ONDK_API void ondk_verify_check_free(const void *start, size_t size);

#ifdef __cplusplus
}
#endif

#endif
