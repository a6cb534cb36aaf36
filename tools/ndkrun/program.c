/* SPDX-License-Identifier: MIT */
/* Checks for other programs: see program.h. */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool program_is_installed(const char *name)
{
    const char *path = getenv("PATH");
    char copy[8192], whole[4096];

    snprintf(copy, sizeof copy, "%s", path ? path : "/usr/bin:/bin");
    for (char *save, *folder = strtok_r(copy, ":", &save); folder; folder = strtok_r(NULL, ":", &save))
        if (snprintf(whole, sizeof whole, "%s/%s", folder, name) < (int)sizeof whole && !access(whole, X_OK))
            return true;
    return false;
}
