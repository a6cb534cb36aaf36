/* SPDX-License-Identifier: MIT */
/* Finds MDLs whose memory is neither locked nor nonpaged, or is locked for reading only: see mdl_locked.h. */
#include <stdint.h>

#include "verify/mdl_locked.h"

/* Maximum number of MDLs that are examined; a longer chain may be a ring by mistake. */
enum { MAX_CHAIN = 1 << 16 };
enum { DMA_OF_UNLOCKED_PAGES = 0x0e }; /* parameter 1 of Windows' bug check 0xE6 for unlocked pages */

const MDL *mdl_find_unlocked(const MDL *mdl, SIZE_T length)
{
    const ondk_verify_host_t *host = verify_host();
    SIZE_T found = 0;

    for (int i = 0; i < MAX_CHAIN && mdl && found < length; i++, mdl = mdl->Next) {
        if (host->mdl_state(mdl) == ONDK_VERIFY_MDL_UNLOCKED)
            return mdl;
        found += mdl->ByteCount;
    }
    return NULL;
}

void mdl_report_unlocked(const struct proxy *p, const char *routine, const MDL *mdl, unsigned flags)
{
    proxy_set_report_object(p);
    report_breach(&verify_rules[RULE_MDL_UNLOCKED], routine, DMA_OF_UNLOCKED_PAGES, (uintptr_t)mdl, flags, 0,
                  "MDL %p, flags 0x%x, is neither built nor locked", (const void *)mdl, flags);
}

void mdl_check_locked(const struct proxy *p, const char *routine, const MDL *mdl, SIZE_T length)
{
    const MDL *unlocked = verify_on() ? mdl_find_unlocked(mdl, length) : NULL;

    if (unlocked)
        mdl_report_unlocked(p, routine, unlocked, mdl_flags(unlocked));
}

void mdl_check_pending(const struct proxy *p, const char *routine, const MDL *mdl)
{
    struct pending call;
    const MDL *used;

    if (!mdl || !verify_on() || !pending_find_mdl(mdl, &call, &used))
        return;
    proxy_set_report_object(p);
    report_add_stack("the pending request was made by", &call.by);
    report_breach(&verify_rules[RULE_MDL_USED_PENDING], routine, (uintptr_t)used, (uintptr_t)call.object.proxy, 0, 0,
                  "MDL %p is used by %s of %s %p, which is pending", (const void *)used, call.routine, call.object.type,
                  call.object.proxy);
}

bool mdl_is_read_only(const MDL *mdl, SIZE_T length)
{
    const ondk_verify_host_t *host = verify_host();
    SIZE_T found = 0;

    for (int i = 0; i < MAX_CHAIN && mdl && found < length; i++, mdl = mdl->Next) {
        if (host->mdl_state(mdl) != ONDK_VERIFY_MDL_READ_ONLY)
            return false;
        found += mdl->ByteCount;
    }
    return found > 0;
}
