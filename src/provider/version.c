/* SPDX-License-Identifier: MIT */
/* The library's version. */
#include <openndk/version.h>

const char *ondk_version(void)
{
    return OPENNDK_VERSION_STRING;
}
