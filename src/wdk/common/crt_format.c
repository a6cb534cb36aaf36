/* SPDX-License-Identifier: MIT */
/*
 * Implements the printf functions that drivers call. If the text does not fit into the caller's buffer, some functions
 * write a shortened text and others an empty text, and their return values differ.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "wdm.h"

#include "wdk/common/format.h"

/*
 * Defines the functions for narrow or for wide text. The function `text` writes at most `room` units, followed by a
 * terminator if `ended` is true. It returns the length of the complete text.
 */
#define FAMILY(unit, text, format_text, underscored, secure, counted, length)                                          \
    static size_t text(unit *out, size_t room, bool ended, const unit *format, va_list args)                           \
    {                                                                                                                  \
        size_t written, whole = format_text(out, room, &written, format, args);                                        \
                                                                                                                       \
        if (ended)                                                                                                     \
            out[written] = 0;                                                                                          \
        return whole;                                                                                                  \
    }                                                                                                                  \
                                                                                                                       \
    int underscored(unit *out, size_t count, const unit *format, va_list args)                                         \
    {                                                                                                                  \
        size_t whole = text(out, count, false, format, args);                                                          \
                                                                                                                       \
        if (whole < count)                                                                                             \
            out[whole] = 0;                                                                                            \
        return whole <= count ? (int)whole : -1;                                                                       \
    }                                                                                                                  \
                                                                                                                       \
    int counted(unit *out, size_t size, size_t count, const unit *format, va_list args)                                \
    {                                                                                                                  \
        size_t room, whole;                                                                                            \
                                                                                                                       \
        if (!out || !size || !format)                                                                                  \
            return -1;                                                                                                 \
        room = count < size ? count : size - 1;                                                                        \
        whole = text(out, room, true, format, args);                                                                   \
        if (whole <= room)                                                                                             \
            return (int)whole;                                                                                         \
        if (count >= size && count != _TRUNCATE)                                                                       \
            out[0] = 0;                                                                                                \
        return -1;                                                                                                     \
    }                                                                                                                  \
                                                                                                                       \
    int secure(unit *out, size_t size, const unit *format, va_list args)                                               \
    {                                                                                                                  \
        return counted(out, size, size, format, args);                                                                 \
    }                                                                                                                  \
                                                                                                                       \
    int length(const unit *format, va_list args)                                                                       \
    {                                                                                                                  \
        return (int)format_text(NULL, 0, NULL, format, args);                                                          \
    }

FAMILY(CHAR, narrow, format_narrow, ondk__vsnprintf, ondk_vsprintf_s, ondk__vsnprintf_s, ondk__vscprintf)
FAMILY(WCHAR, wide, format_wide, ondk__vsnwprintf, ondk_vswprintf_s, ondk__vsnwprintf_s, ondk__vscwprintf)

/* Works as vsnprintf in C: returns the length of the complete text, even if the text does not fit into `size`. */
int ondk_vsnprintf(PSTR out, size_t size, PCSTR format, va_list args)
{
    return (int)narrow(out, size ? size - 1 : 0, size > 0, format, args);
}

/* Works as vswprintf in C: returns -1 if the text does not fit into `size`. */
int ondk_vswprintf(PWSTR out, size_t size, PCWSTR format, va_list args)
{
    return ondk__vsnwprintf_s(out, size, _TRUNCATE, format, args);
}

int ondk_vsprintf(PSTR out, PCSTR format, va_list args)
{
    return (int)narrow(out, INT_MAX, true, format, args);
}

/* ---- With variable arguments ------------------------------------------------------------------------------------- */

#define WITH_ARGUMENTS(name, parameters, call)                                                                         \
    int name parameters                                                                                                \
    {                                                                                                                  \
        int n;                                                                                                         \
        va_list args;                                                                                                  \
                                                                                                                       \
        va_start(args, format);                                                                                        \
        n = (int)(call);                                                                                               \
        va_end(args);                                                                                                  \
        return n;                                                                                                      \
    }

WITH_ARGUMENTS(ondk_sprintf, (PSTR out, PCSTR format, ...), ondk_vsprintf(out, format, args))
WITH_ARGUMENTS(ondk_snprintf, (PSTR out, size_t size, PCSTR format, ...), ondk_vsnprintf(out, size, format, args))
WITH_ARGUMENTS(ondk__snprintf, (PSTR out, size_t count, PCSTR format, ...), ondk__vsnprintf(out, count, format, args))
WITH_ARGUMENTS(ondk_sprintf_s, (PSTR out, size_t size, PCSTR format, ...), ondk_vsprintf_s(out, size, format, args))
WITH_ARGUMENTS(ondk__snprintf_s, (PSTR out, size_t size, size_t count, PCSTR format, ...),
               ondk__vsnprintf_s(out, size, count, format, args))
WITH_ARGUMENTS(ondk__scprintf, (PCSTR format, ...), ondk__vscprintf(format, args))

WITH_ARGUMENTS(ondk_swprintf, (PWSTR out, PCWSTR format, ...), wide(out, INT_MAX, true, format, args))
WITH_ARGUMENTS(ondk_swprintf_sized, (PWSTR out, size_t size, PCWSTR format, ...),
               ondk_vswprintf(out, size, format, args))
WITH_ARGUMENTS(ondk__snwprintf, (PWSTR out, size_t count, PCWSTR format, ...),
               ondk__vsnwprintf(out, count, format, args))
WITH_ARGUMENTS(ondk_swprintf_s, (PWSTR out, size_t size, PCWSTR format, ...), ondk_vswprintf_s(out, size, format, args))
WITH_ARGUMENTS(ondk__snwprintf_s, (PWSTR out, size_t size, size_t count, PCWSTR format, ...),
               ondk__vsnwprintf_s(out, size, count, format, args))
WITH_ARGUMENTS(ondk__scwprintf, (PCWSTR format, ...), ondk__vscwprintf(format, args))
