/* SPDX-License-Identifier: MIT */
/* Which seeded bug is on: see mutant.h. Empty in a build without them. */
#include "base/mutant.h"

#ifdef ONDK_MUTANTS
#include <stdlib.h>
#include <string.h>

bool mutant_is_on(const char *name)
{
    const char *wanted = getenv("ONDK_MUTANT");
    return wanted && strcmp(wanted, name) == 0;
}
#else
typedef int mutant_none; /* a translation unit must declare something */
#endif
