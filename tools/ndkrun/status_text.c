/* SPDX-License-Identifier: MIT */
/* Returns names of NTSTATUS values: see status_text.h. */
#include "status_text.h"

#include <stdio.h>

#include "wdk/common/kernel_names.h"

const char *status_text(uint32_t status)
{
    static _Thread_local char number[16];
    const char *name = kernel_status_name(status);

    if (name)
        return name;
    snprintf(number, sizeof number, "0x%08X", status);
    return number;
}
