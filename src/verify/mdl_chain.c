/* SPDX-License-Identifier: MIT */
/* Checks MDL chains that a consumer registers or maps. */
#include <stdint.h>

#include "verify/mdl_chain.h"

enum { MAX_CHAIN = 1 << 20 }; /* maximum number of MDLs that are checked; a longer chain may be a ring by mistake */

void mdl_check_chain(const struct proxy *p, const char *routine, const MDL *mdl, SIZE_T length)
{
    const MDL *first = mdl;
    uint64_t expected = 0, found = 0;

    if (!verify_on())
        return;
    for (int i = 0; mdl && found < length; i++, mdl = mdl->Next) {
        uint64_t address = (uintptr_t)mdl->StartVa + mdl->ByteOffset;

        if (i == MAX_CHAIN)
            return;
        if (mdl->ByteCount == 0)
            continue;
        if (found > 0 && address != expected) {
            proxy_set_report_object(p);
            report_breach(&verify_rules[RULE_MDL_GAP], routine, (uintptr_t)mdl, expected, address, 0,
                          "MDL %p begins at 0x%llx, but the MDL before it ends at 0x%llx", (const void *)mdl,
                          (unsigned long long)address, (unsigned long long)expected);
            return;
        }
        expected = address + mdl->ByteCount;
        found += mdl->ByteCount;
    }
    if (!first || found >= length)
        return;
    proxy_set_report_object(p);
    report_breach(&verify_rules[RULE_MR_LENGTH], routine, (uintptr_t)first, length, found, 0,
                  "%llu bytes, but the MDL chain %p has %llu", (unsigned long long)length, (const void *)first,
                  (unsigned long long)found);
}
