/* SPDX-License-Identifier: MIT */
/* The facts of mingw-w64's ndkinfo.h, with the Windows types that it needs. */
#include "ndkinfo_oracle.h"

#include <stdint.h>

typedef unsigned short USHORT;
typedef unsigned int ULONG;
typedef uint32_t UINT32;
typedef uint64_t SIZE_T;

#include THEIR_NDKINFO

const struct ndkinfo_fact ndkinfo_theirs[] = {
#include "ndkinfo_facts.inc"
};

const size_t ndkinfo_theirs_info_size = sizeof(NDK_ADAPTER_INFO);
const size_t ndkinfo_theirs_version_size = sizeof(NDK_VERSION);
