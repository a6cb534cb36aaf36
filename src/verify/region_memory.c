/* SPDX-License-Identifier: MIT */
/* Records the memory of registered regions: see region_memory.h. */
#include <stdint.h>

#include "verify/memory.h"
#include "verify/proxy.h"
#include "verify/region_memory.h"

enum { MAX_CHAIN = 1 << 16 }; /* maximum number of MDLs that are recorded; a longer chain may be a ring by mistake */

static const char *mdl_memory_of(const MDL *mdl)
{
    bool is_mapped = mdl->MdlFlags & (MDL_MAPPED_TO_SYSTEM_VA | MDL_SOURCE_IS_NONPAGED_POOL);

    return is_mapped ? mdl->MappedSystemVa : (const char *)mdl->StartVa + mdl->ByteOffset;
}

/* Stores the memory up to the first gap of the chain, because the provider accepts only a contiguous chain. */
void region_memory_set(struct region_memory *m, const MDL *mdl, SIZE_T length, const struct stack *by)
{
    const char *start = mdl ? mdl_memory_of(mdl) : NULL;
    size_t size = 0;

    for (int i = 0; i < MAX_CHAIN && mdl && size < length && mdl_memory_of(mdl) == start + size; i++, mdl = mdl->Next)
        size += mdl->ByteCount;
    m->start = start;
    m->size = start ? (size < length ? size : length) : 0;
    m->reported = false;
    m->registered_by = *by;
}

bool region_memory_find_use(struct region_memory *m, const void *start, size_t size, struct verify_use *use)
{
    bool starts_inside = (uintptr_t)m->start - (uintptr_t)start < size;

    if (!m->size || !(starts_inside || (uintptr_t)start - (uintptr_t)m->start < m->size))
        return false;
    *use = (struct verify_use){ .rule = &verify_rules[RULE_REGION_FREED],
                                .object = starts_inside ? m->start : start,
                                .what = "memory of a registered region",
                                .routine = m->registered_by.entry,
                                .by = m->registered_by };
    m->reported = true;
    return true;
}

bool region_memory_set_reported(struct region_memory *m, const void *start, size_t size)
{
    size_t offset = (size_t)((uintptr_t)start - (uintptr_t)m->start);

    if (offset > m->size || size > m->size - offset || !m->size)
        return false;
    m->reported = true;
    return true;
}

void region_memory_check(struct proxy *mr, const char *routine)
{
    struct region_memory found;

    if (!verify_on())
        return;
    proxy_lock_all();
    found = mr->memory;
    proxy_unlock_all();
    if (found.reported || !memory_is_freed(found.start, found.size))
        return;
    proxy_lock_all();
    mr->memory.reported = true;
    proxy_unlock_all();
    proxy_set_report_object(mr);
    report_add_stack("registered by", &found.registered_by);
    report_breach(&verify_rules[RULE_REGION_FREED], routine, (uintptr_t)found.start, (uintptr_t)found.start,
                  (uintptr_t)mr, 0, "the memory of the region, %zu bytes at %p, is freed already", found.size,
                  found.start);
}
