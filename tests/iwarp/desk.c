/* SPDX-License-Identifier: MIT */
/* A pump with memory that requests register: see desk.h. */
#include "iwarp/desk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

void desk_open_with(struct desk *d, const struct pump_config *c)
{
    pump_open(&d->p, c);
    d->crc = c->crc;
    d->memory = aligned_alloc(MEM_PAGE, LEN);
    assert_non_null(d->memory);
    for (uint32_t i = 0; i < LEN; i++)
        d->memory[i] = (uint8_t)(i * 2654435761u >> 13);
    d->made = 0;
    for (int i = 0; i < GROUPS; i++)
        mem_group_init(&d->groups[i]);
    mem_group_init(&d->windows);
    uint64_t first;
    assert_int_equal(mem_map(d->p.memory, d->memory, LEN, &d->mapping, &first), 0);
    for (int i = 0; i < PAGES; i++)
        d->logical[i] = first + (uint64_t)(PAGES - 1 - i) * MEM_PAGE;
    region_open(&d->p, &d->far, LEN, REMOTE);
}

void desk_open(struct desk *d, uint64_t seed)
{
    desk_open_with(d, &(struct pump_config){
                          .crc = seed & 1,
                          .seed = seed,
                          .whole = seed < 2,
                          .max_segment = seed % 3 ? 1448 : 30000,
                      });
}

void desk_close(struct desk *d)
{
    iw_qp_stop(d->p.a.qp, RDMA_STATUS_FLUSHED);
    iw_qp_stop(d->p.b.qp, RDMA_STATUS_FLUSHED);
    mem_group_kill(&d->windows);
    for (int i = 0; i < GROUPS; i++)
        mem_group_kill(&d->groups[i]);
    assert_true(mem_group_close(&d->windows, NULL, NULL)); /* every protection and registration has been released */
    for (int i = 0; i < GROUPS; i++)
        assert_true(mem_group_close(&d->groups[i], NULL, NULL));
    region_close(&d->far);
    mem_unmap(d->mapping);
    free(d->memory);
    pump_close(&d->p);
}

uint8_t *byte_at(const struct desk *d, uint64_t at)
{
    return d->memory + (PAGES - 1 - at / MEM_PAGE) * MEM_PAGE + at % MEM_PAGE;
}

uint32_t prepare_in(struct desk *d, struct mem_group *g, unsigned access)
{
    struct rdma_pages p = { .logical = d->logical, .count = PAGES, .len = LEN, .base_address = base, .access = access };
    uint32_t stag;

    assert_int_equal(mem_prepare_pages(d->p.memory, g, &d->p.domain, &p, &stag), 0);
    return stag;
}

uint32_t prepare(struct desk *d, unsigned access)
{
    assert_true(d->made < GROUPS);
    return prepare_in(d, &d->groups[d->made++], access);
}

uint32_t prepare_window(struct desk *d, uint32_t of, uint64_t at, uint64_t len, unsigned access)
{
    uint32_t stag;

    assert_int_equal(mem_prepare_window(d->p.memory, &d->windows, &d->p.domain, of, base + at, len, access, &stag), 0);
    return stag;
}

uint32_t make_alive(struct desk *d, unsigned access)
{
    uint32_t stag = prepare(d, access);

    assert_int_equal(mem_activate(d->p.memory, stag, true), MEM_DONE);
    return stag;
}

bool is_alive(struct desk *d, uint32_t stag, uint64_t at)
{
    struct mem_ref ref;
    bool found = mem_lookup(d->p.memory, &d->p.domain, stag, base + at, 1, 0, &ref) == WIRE_OK;

    mem_release(&ref);
    return found;
}

bool is_known(struct desk *d, uint32_t stag)
{
    return mem_check(d->p.memory, &d->p.domain, stag, base, 1, 0) == WIRE_OK;
}

int post_local(struct side *s, enum rdma_op op, unsigned flags, unsigned context, uint32_t stag)
{
    struct rdma_request r = { .op = op, .flags = flags, .context = tag(context), .token = stag };

    return iw_qp_post(s->qp, &r, NULL);
}

struct rdma_sge sge_at(uint32_t stag, uint64_t at, uint32_t len)
{
    return (struct rdma_sge){ base + at, len, stag };
}
