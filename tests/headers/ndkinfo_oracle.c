/* SPDX-License-Identifier: MIT */
/*
 * Compares ndkinfo.h with the independent one of mingw-w64. ndkinfo_oracle.sh generates ndkinfo_facts.inc, which has
 * each constant and member of mingw's header, and is compiled with each of the two headers.
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
    /* mingw's structure may be that of NDK 1.x, which ends before RdmaTechnology. */
    size_t info_size = ndkinfo_theirs_info_size == sizeof(NDK_ADAPTER_INFO)
                           ? sizeof(NDK_ADAPTER_INFO)
                           : offsetof(NDK_ADAPTER_INFO, RdmaTechnology);
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
