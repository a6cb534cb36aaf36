/* SPDX-License-Identifier: MIT */
/*
 * Compares our ndkinfo.h with mingw-w64's, which others wrote. ndkinfo_facts.inc names each constant and member of
 * theirs; it is made from their header by ndkinfo_oracle.sh, and compiled against each of the two.
 */
#include "ndkinfo_oracle.h"

#include <ndk/ndkinfo.h>

#include <stdio.h>

static const struct ndkinfo_fact ours[] = {
#include "ndkinfo_facts.inc"
};

static int differs(const char *name, unsigned long long our_value, unsigned long long their_value)
{
    if (our_value == their_value) {
        return 0;
    }
    printf("%s: ours %#llx, theirs %#llx\n", name, our_value, their_value);
    return 1;
}

int main(void)
{
    size_t count = sizeof(ours) / sizeof(ours[0]);
    /* Their structure may be that of NDK 1.x, which ends where RdmaTechnology begins. */
    size_t info_size = ndkinfo_theirs_info_size == sizeof(NDK_ADAPTER_INFO)
        ? sizeof(NDK_ADAPTER_INFO) : offsetof(NDK_ADAPTER_INFO, RdmaTechnology);
    int failures = 0;

    for (size_t i = 0; i < count; i++) {
        failures += differs(ours[i].name, ours[i].value, ndkinfo_theirs[i].value);
        failures += differs(ours[i].name, ours[i].size, ndkinfo_theirs[i].size);
    }
    failures += differs("sizeof(NDK_ADAPTER_INFO)", info_size, ndkinfo_theirs_info_size);
    failures += differs("sizeof(NDK_VERSION)", sizeof(NDK_VERSION), ndkinfo_theirs_version_size);
    printf("%zu constants and members compared, %d differences\n", count, failures);
    return failures != 0;
}
