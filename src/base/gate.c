/* SPDX-License-Identifier: MIT */
/* Implements gates with a futex: see gate.h. */
#include "base/gate.h"

#include <stddef.h>

#include "base/owner.h"

bool gate_is_open(const struct gate *g)
{
    return atomic_load_explicit(&g->open, memory_order_acquire) != 0;
}

void gate_open(struct gate *g)
{
    atomic_store_explicit(&g->open, 1, memory_order_release);
    /* The gate may be freed from here on, because FUTEX_WAKE uses the address of g->open but not its value. */
    owner_futex_wake(NULL, &g->open);
}

bool gate_wait(struct gate *g, uint64_t deadline)
{
    while (!gate_is_open(g)) {
        if (deadline != UINT64_MAX && owner_clock(NULL) >= deadline)
            return false;
        owner_futex_wait(NULL, &g->open, 0, deadline);
    }
    return true;
}
