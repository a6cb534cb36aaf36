/* SPDX-License-Identifier: MIT */
/*
 * Keeps chains of deferred requests: see posted_chain.h. Most posts are outside of a chain. To be fast, such a post
 * writes nothing here.
 */
#include "verify/call.h"
#include "verify/posted.h"

void chain_add(struct posted_chain *chain, const struct post *post)
{
    chain->routine = post->routine;
    chain->by = post->by;
    chain->context = post->context;
    chain->posted_ms = posted_now_ms();
    chain->thread = verify_this_thread();
    if (atomic_fetch_add(&chain->count, 1) == 0 && chain->open)
        atomic_fetch_add(chain->open, 1);
}

void chain_end(struct posted_chain *chain)
{
    if (atomic_load_explicit(&chain->count, memory_order_relaxed) > 0 && atomic_exchange(&chain->count, 0) > 0 &&
        chain->open)
        atomic_fetch_sub(chain->open, 1);
}
