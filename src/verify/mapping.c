/* SPDX-License-Identifier: MIT */
/* Logical address mappings: see mapping.h. */
#include <stdlib.h>

#include "verify/mapping.h"

struct mapping {
    LIST_ENTRY(mapping) link;
    const struct proxy *adapter;
    const NDK_LOGICAL_ADDRESS_MAPPING *lam;
};

static LIST_HEAD(, mapping) mappings = LIST_HEAD_INITIALIZER(mappings); /* under the proxies' lock */

void mapping_add(struct proxy *adapter, const NDK_LOGICAL_ADDRESS_MAPPING *lam)
{
    struct mapping *m = malloc(sizeof *m);

    if (!m)
        return;
    *m = (struct mapping){ .adapter = adapter, .lam = lam };
    atomic_fetch_add(&adapter->children, 1);
    proxy_lock_all();
    LIST_INSERT_HEAD(&mappings, m, link);
    proxy_unlock_all();
}

bool mapping_remove(struct proxy *adapter, const NDK_LOGICAL_ADDRESS_MAPPING *lam)
{
    struct mapping *m;

    proxy_lock_all();
    LIST_FOREACH (m, &mappings, link)
        if (m->lam == lam && m->adapter == adapter)
            break;
    if (m)
        LIST_REMOVE(m, link);
    proxy_unlock_all();
    if (!m)
        return false;
    free(m);
    atomic_fetch_sub(&adapter->children, 1);
    return true;
}
