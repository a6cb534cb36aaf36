/* SPDX-License-Identifier: MIT */
/*
 * The log of the library. It has a line for each connection that fails or is refused, with addresses, phase, status and
 * reason. The number of these lines is limited. The log also has the library's warnings, for example about environment
 * variables that are not used.
 *
 * The environment variable ONDK_LOG=level[,file] sets the level (error, warn, info or debug; default warn), and a file
 * to which lines are appended; without a file they go to standard error. The variable is read once, when the process
 * first uses ondk_config_init, opens an adapter, or calls ondk_log_set. With ondk_log_set a program can set the level,
 * and receive the lines itself.
 * See also: docs/log.md
 */
#ifndef OPENNDK_LOG_H
#define OPENNDK_LOG_H

#include <stdint.h>

#include "openndk/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The level of a line, or of the log. A log has the lines of its own level and of the levels above it in this list. */
enum ondk_log_level {
    ONDK_LOG_DEFAULT = 0, /* the level in the variable ONDK_LOG; without such a level, ONDK_LOG_WARN */
    ONDK_LOG_ERROR = 1,   /* the file of ONDK_LOG cannot be opened, or the library ends the process (close_abort_ms) */
    ONDK_LOG_WARN = 2,    /* something that a person should correct */
    ONDK_LOG_INFO = 3,    /* connections that failed or were refused, listeners and adapters that failed */
    ONDK_LOG_DEBUG = 4    /* connections that were established or ended normally, listeners that started or stopped */
};

/* Receives one line of the log. ondk_log_set describes what the callback may do. */
typedef void (*ondk_log_callback)(void *context, uint32_t level, const char *text);

/*
 * Sets the level of the log, and the function that receives its lines.
 *   level     ONDK_LOG_ERROR to ONDK_LOG_DEBUG, or ONDK_LOG_DEFAULT
 *   callback  receives the lines; NULL: they go to the file of ONDK_LOG, or to standard error
 *   context   for the callback
 * When the function returns, all calls of the former callback have returned, so its context may be freed.
 *
 * The callback is a void function of three parameters: void *context, uint32_t level and const char *text. level is
 * ONDK_LOG_ERROR to ONDK_LOG_DEBUG. text is the line without time, process and level, at most 1023 characters of
 * printable ASCII without an end of line. It is valid until the callback returns.
 *
 * Several threads may call the callback at the same time, up to DISPATCH_LEVEL. The library calls the callback inside
 * any function that the program calls, and on its own threads. These threads do not serve connections until the
 * callback returns, so the callback must return soon. The callback must not acquire a lock that the program holds
 * during any call of the library. The callback may call the ondk_status_ and ondk_reason_ functions, and no other
 * function of the library or of NDK. Lines that the callback's own calls cause are left out.
 * Returns
 *   STATUS_SUCCESS               0: the level and the callback are set
 *   STATUS_INVALID_PARAMETER     negative, and nothing changes: the level does not exist
 *   STATUS_INVALID_DEVICE_STATE  negative, and nothing changes: the caller is a callback of the log
 * Context: PASSIVE_LEVEL; waits for callbacks. The caller must not hold a lock that a callback acquires.
 * See also: docs/log.md
 */
ONDK_API int32_t ondk_log_set(uint32_t level, ondk_log_callback callback, void *context);

#ifdef __cplusplus
}
#endif

#endif
