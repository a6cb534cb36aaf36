/* SPDX-License-Identifier: MIT */
/*
 * Finds the memory of the pages that a fast registration names: see memory_internal.h. The pages must be mapped as
 * logical addresses during pages_resolve. The registration stores the addresses of the memory, not the logical
 * addresses.
 */
#include <errno.h>
#include <stdlib.h>

#include "iwarp/memory_internal.h"

static uint64_t pages_count(const struct rdma_pages *p)
{
    return (p->offset + p->len + MEM_PAGE - 1) >> MEM_PAGE_SHIFT;
}

bool pages_are_valid(const struct rdma_pages *p)
{
    uint64_t room = (uint64_t)p->count << MEM_PAGE_SHIFT;

    if (p->count == 0 || p->len == 0 || p->offset >= MEM_PAGE)
        return false;
    return p->len <= room - p->offset;
}

/*
 * Returns the number of pages of a run of pages at consecutive addresses. The run begins with the page `first`, and
 * contains only pages whose index is less than `used`. Sets *at to the address of the page `first`. Returns 0 if that
 * address is not aligned, or if a registered byte of the run is not mapped. The registered bytes are p->len bytes. They
 * begin at the offset p->offset in page 0.
 */
static uint64_t pages_find_run(struct mem_table *t, const struct rdma_pages *p, uint64_t first, uint64_t used,
                               uint8_t **at)
{
    uint64_t n = 1, from = first == 0 ? p->offset : 0;
    /* The number of registered bytes in the pages before `first`. */
    uint64_t before = first == 0 ? 0 : (first << MEM_PAGE_SHIFT) - p->offset;
    struct mem_ref ref;

    while (first + n < used && p->logical[first + n] == p->logical[first + n - 1] + MEM_PAGE)
        n++;
    uint64_t len = (n << MEM_PAGE_SHIFT) - from;
    if (len > p->len - before)
        len = p->len - before;
    if (p->logical[first] & (MEM_PAGE - 1) ||
        mem_lookup_local(t, NULL, 0, p->logical[first] + from, len, RDMA_ACCESS_LOCAL_READ, &ref) != WIRE_OK)
        return 0;
    *at = ref.at - from;
    mem_release(&ref);
    return n;
}

int pages_resolve(struct mem_table *t, const struct rdma_pages *p, struct mem_region *r)
{
    uint64_t used = pages_count(p), n;
    uint8_t *at;

    n = pages_find_run(t, p, 0, used, &at);
    if (n == used) {
        r->memory = at + p->offset;
        return 0;
    }
    if (n == 0)
        return EFAULT;
    r->pages = calloc(used, sizeof *r->pages);
    if (!r->pages)
        return ENOMEM;
    for (uint64_t first = 0; first < used; first += n) {
        n = pages_find_run(t, p, first, used, &at);
        if (n == 0) {
            free(r->pages);
            return EFAULT;
        }
        for (uint64_t i = 0; i < n; i++)
            r->pages[first + i] = at + (i << MEM_PAGE_SHIFT);
    }
    r->kind = SLOT_PAGED;
    r->offset = p->offset;
    return 0;
}
