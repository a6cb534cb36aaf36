/* SPDX-License-Identifier: MIT */
/*
 * Support for the .tmh files that ndk-cc generates: a driver's WPP trace calls print through DbgPrint, with the level's
 * name and the function. Drivers do not include this header themselves.
 */
#ifndef ONDK_WDK_ONDK_WPP_H
#define ONDK_WDK_ONDK_WPP_H

#include "wdm.h"

#ifndef TRACE_LEVEL_NONE
#define TRACE_LEVEL_NONE 0
#define TRACE_LEVEL_CRITICAL 1
#define TRACE_LEVEL_FATAL 1
#define TRACE_LEVEL_ERROR 2
#define TRACE_LEVEL_WARNING 3
#define TRACE_LEVEL_INFORMATION 4
#define TRACE_LEVEL_VERBOSE 5
#endif

#ifndef WPP_INIT_TRACING
#define WPP_INIT_TRACING(...) ((void)0)
#define WPP_CLEANUP(...) ((void)0)
#define WPP_SYSTEMCONTROL(...) ((void)0)
#define WPP_SYSTEMCONTROL2(...) ((void)0)
#define WPP_LEVEL_ENABLED(flag) 1
#define WPP_LEVEL_LOGGER(flag)
#define WPP_CONTROL(bit) ((struct ondk_wpp_control){ TRACE_LEVEL_VERBOSE })
#endif

struct ondk_wpp_control {
    UCHAR Level;
};

/*
 * WPP's conversions %!NAME! as printf formats: STATUS and similar ones take a number; FUNC, LEVEL, FLAGS, FILE and LINE
 * take no argument; strings are pointers to UNICODE_STRING or ANSI_STRING; all others print a pointer.
 */
static inline const char *ondk_wpp_conversion(const char *name, size_t length)
{
    static const struct {
        const char *name, *conversion;
    } known[] = {
        { "STATUS", "0x%08X" }, { "NTSTATUS", "0x%08X" }, { "HRESULT", "0x%08X" }, { "WINERROR", "%u" },
        { "IPADDR", "0x%08X" }, { "BOOLEAN", "%u" },      { "bool", "%u" },        { "irql", "%u" },
        { "FUNC", "" },         { "LEVEL", "" },          { "FLAGS", "" },         { "FILE", "" },
        { "LINE", "" },         { "COMPNAME", "" },       { "USTR", "%wZ" },       { "ustr", "%wZ" },
        { "ANSTR", "%Z" },      { "ARSTR", "%s" },        { "ARWSTR", "%ws" },
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (!__builtin_strncmp(known[i].name, name, length) && !known[i].name[length])
            return known[i].conversion;
    return "%p";
}

/*
 * Returns the level's name. `level` is the name or a number, as text. It is a number if the driver wrote a number or a
 * macro that the compiler has expanded.
 */
static inline const char *ondk_wpp_level(const char *level)
{
    static const char *const names[] = { "TRACE_LEVEL_FATAL", "TRACE_LEVEL_ERROR", "TRACE_LEVEL_WARNING",
                                         "TRACE_LEVEL_INFORMATION", "TRACE_LEVEL_VERBOSE" };

    return level[0] >= '1' && level[0] <= '5' && !level[1] ? names[level[0] - '1'] : level;
}

/* Writes at most `room` bytes, including the terminator. Truncates longer text. */
static inline void ondk_wpp_format(char *out, size_t room, const char *level, const char *function, const char *format)
{
    const char *const heads[] = { "[", ondk_wpp_level(level), "] ", function, ": " };
    size_t at = 0;

    for (size_t i = level[0] ? 0 : 3; i < sizeof heads / sizeof heads[0]; i++)
        for (const char *c = heads[i]; *c && at + 2 < room; c++)
            out[at++] = *c;
    while (*format && at + 2 < room) {
        const char *end = format[0] == '%' && format[1] == '!' ? __builtin_strchr(format + 2, '!') : NULL;
        const char *conversion;

        if (!end) {
            if (format[0] == '%' && format[1] == '%' && at + 3 < room)
                out[at++] = *format++;
            out[at++] = *format++;
            continue;
        }
        conversion = ondk_wpp_conversion(format + 2, (size_t)(end - format - 2));
        while (*conversion && at + 2 < room)
            out[at++] = *conversion++;
        format = end + 1;
    }
    if (!at || out[at - 1] != '\n')
        out[at++] = '\n';
    out[at] = '\0';
}

static inline void ondk_wpp_trace(const char *level, const char *function, const char *format, ...)
{
    char text[512];
    va_list arguments;

    ondk_wpp_format(text, sizeof text, level, function, format);
    va_start(arguments, format);
    vDbgPrintEx(DPFLTR_IHVDRIVER_ID, DPFLTR_ERROR_LEVEL, text, arguments);
    va_end(arguments);
}

#endif
