/* SPDX-License-Identifier: MIT */
/* Lists the members of NDK_ADAPTER_INFO, with readable names and units. */
#ifndef NDKINFO_ADAPTER_LIMITS_H
#define NDKINFO_ADAPTER_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include "ndk/ndkpi.h"

struct limit {
    const char *member; /* the limit's name in NDK_ADAPTER_INFO */
    const char *text;   /* what is limited */
    const char *unit;   /* "bytes", "" ... */
    size_t at, size;
};

/* Ends with an entry whose `member` is NULL. Version, AdapterFlags and RdmaTechnology are not in the list. */
extern const struct limit limits[];
uint64_t limit_value(const struct limit *l, const NDK_ADAPTER_INFO *info);
/* Writes a limit with its unit: "16 MiB", "64", "none". Returns text. */
const char *limit_write(const struct limit *l, const NDK_ADAPTER_INFO *info, char *text, size_t room);

struct flag {
    const char *name; /* without NDK_ADAPTER_FLAG_ */
    const char *text;
    ULONG bit;
};

/* Ends with an entry whose `name` is NULL. */
extern const struct flag flags[];

const char *technology_name(NDK_RDMA_TECHNOLOGY technology);

#endif
