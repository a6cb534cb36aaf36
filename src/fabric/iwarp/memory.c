/* SPDX-License-Identifier: MIT */
/*
 * Implements memory regions, windows and logical addresses, on top of the protocol core's STag table. A region or
 * window is a group of registrations (struct mem_group). A range of logical addresses consists of parts. Each part is a
 * mapping (mem_map) of at most LAM_PART_SIZE bytes.
 */
#include "iwarp/memory.h"

#include <errno.h>
#include <stdlib.h>

#include "fabric/iwarp/adapter.h"
#include "fabric/iwarp/memory.h"

/*
 * The maximum size in bytes of a part of a range of logical addresses. The range has parts, because mem_map maps less
 * than 4 GiB in one call. Each part except the last ends at a page boundary.
 */
#define LAM_PART_SIZE (UINT64_C(1) << 31)

struct fabric_mr {
    struct mem_table *table;
    const void *domain;
    struct mem_group group;
    struct mem_region *region; /* set by iwarp_mr_register */
    void (*closed)(void *context);
    void *context;
};

struct fabric_lam {
    uint64_t parts;
    struct {
        struct mem_region *region;
        uint64_t logical; /* address of the page in which the part begins */
    } part[];
};

int iwarp_mr_create(struct fabric *f, const void *domain, struct fabric_mr **out)
{
    struct fabric_mr *mr = calloc(1, sizeof *mr);

    if (!mr)
        return ENOMEM;
    mr->table = ((struct iwarp_fabric *)f)->memory;
    mr->domain = domain;
    mem_group_init(&mr->group);
    *out = mr;
    return 0;
}

void iwarp_mr_kill(struct fabric_mr *mr)
{
    mem_group_kill(&mr->group);
}

static void mr_on_empty(void *context)
{
    struct fabric_mr *mr = context;
    void (*closed)(void *context) = mr->closed;
    void *closed_context = mr->context;

    free(mr);
    closed(closed_context);
}

bool iwarp_mr_close(struct fabric_mr *mr, void (*done)(void *context), void *context)
{
    mr->closed = done;
    mr->context = context;
    if (!mem_group_close(&mr->group, mr_on_empty, mr))
        return false;
    free(mr);
    return true;
}

int iwarp_mr_register(struct fabric_mr *mr, void *memory, uint64_t len, uint64_t base_address, unsigned access,
                      uint32_t *token)
{
    return mem_register(mr->table, &mr->group, mr->domain, memory, len, base_address, access, &mr->region, token);
}

bool iwarp_mr_deregister(struct fabric_mr *mr, void (*done)(void *context), void *context)
{
    return mem_invalidate(mr->region, done, context);
}

int iwarp_mr_reserve(struct fabric_mr *mr)
{
    return mem_group_reserve(mr->table, &mr->group);
}

int iwarp_mr_prepare_pages(struct fabric_mr *mr, const struct rdma_pages *p, uint32_t *token)
{
    return mem_prepare_pages(mr->table, &mr->group, mr->domain, p, token);
}

int iwarp_mr_prepare_window(struct fabric_mr *mw, uint32_t of, uint64_t address, uint64_t len, unsigned access,
                            uint32_t *token)
{
    return mem_prepare_window(mw->table, &mw->group, mw->domain, of, address, len, access, token);
}

void iwarp_mr_unprepare(struct fabric_mr *mr, uint32_t token)
{
    mem_group_unprepare(mr->table, &mr->group, mr->domain, token);
}

uint32_t iwarp_mr_newest_token(struct fabric_mr *mr)
{
    return mem_group_newest_stag(&mr->group);
}

uint32_t iwarp_mr_current_token(struct fabric_mr *mr)
{
    return mem_group_current_stag(&mr->group);
}

void iwarp_mr_info(struct fabric_mr *mr, struct fabric_mr_info *info)
{
    struct mem_description d;
    bool is_registered = mem_group_describe(&mr->group, &d);

    *info = (struct fabric_mr_info){
        .token = d.stag,
        .is_registered = is_registered,
        .is_prepared = d.is_prepared,
        .address = d.base_to,
        .len = d.len,
        .access = d.access,
    };
}

/* ---- logical addresses ---- */

static uint64_t lam_page_offset(const void *memory)
{
    return (uintptr_t)memory & (MEM_PAGE - 1);
}

int iwarp_lam_create(struct fabric *f, void *memory, uint64_t len, struct fabric_lam **out)
{
    struct mem_table *table = ((struct iwarp_fabric *)f)->memory;
    uint64_t parts = (lam_page_offset(memory) + len + LAM_PART_SIZE - 1) / LAM_PART_SIZE;
    struct fabric_lam *lam = malloc(sizeof *lam + parts * sizeof lam->part[0]);
    uint8_t *at = memory;

    if (!lam)
        return ENOMEM;
    for (lam->parts = 0; lam->parts < parts; lam->parts++) {
        uint64_t room = LAM_PART_SIZE - lam_page_offset(at), n = len < room ? len : room, logical;
        int error = mem_map(table, at, n, &lam->part[lam->parts].region, &logical);

        if (error) {
            iwarp_lam_release(lam);
            return error;
        }
        lam->part[lam->parts].logical = logical - lam_page_offset(at);
        at += n;
        len -= n;
    }
    *out = lam;
    return 0;
}

uint64_t iwarp_lam_page(const struct fabric_lam *lam, uint64_t index)
{
    const uint64_t pages = LAM_PART_SIZE / MEM_PAGE;

    return lam->part[index / pages].logical + index % pages * MEM_PAGE;
}

void iwarp_lam_release(struct fabric_lam *lam)
{
    for (uint64_t i = 0; i < lam->parts; i++)
        mem_unmap(lam->part[i].region);
    free(lam);
}
