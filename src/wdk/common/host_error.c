/* SPDX-License-Identifier: MIT */
/* Stores the error text of each thread: the reason why its last call of this library failed. */
#include "wdk/common/host_error.h"

#include <stdarg.h>
#include <stdio.h>

#include "openndk/wdk.h"

static _Thread_local char error_text[1024];

int host_error(const char *text, ...)
{
    va_list args;

    va_start(args, text);
    vsnprintf(error_text, sizeof error_text, text, args);
    va_end(args);
    return -1;
}

const char *ondk_wdk_error(void)
{
    return error_text;
}
