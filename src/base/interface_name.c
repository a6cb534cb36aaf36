/* SPDX-License-Identifier: MIT */
/*
 * Finds the names of interfaces: see interface_name.h. No fork may happen during the search (fork_change_begin),
 * because if_indextoname opens a socket that a child of fork must not inherit.
 */
#include "base/interface_name.h"

#include "base/fork.h"

void interface_name(uint32_t if_index, char name[IF_NAMESIZE])
{
    fork_change_begin();
    if (!if_indextoname(if_index, name))
        name[0] = '\0';
    fork_change_end();
}
