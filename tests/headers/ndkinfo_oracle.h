/* SPDX-License-Identifier: MIT */
/* One fact of ndkinfo.h as a compiler sees it: a constant's value, or where a member lies and how big it is. */
#ifndef NDKINFO_ORACLE_H
#define NDKINFO_ORACLE_H

#include <stddef.h>

struct ndkinfo_fact {
    const char *name;
    unsigned long long value;
    size_t size;
};

#define CONSTANT(name) { #name, (name), 0 },
#define FIELD(type, member) { #type "." #member, offsetof(type, member), sizeof(((type *)0)->member) },

extern const struct ndkinfo_fact ndkinfo_theirs[];
extern const size_t ndkinfo_theirs_info_size;
extern const size_t ndkinfo_theirs_version_size;

#endif
