/* SPDX-License-Identifier: MIT */
/* Regions, windows and logical addresses of the scripted fabric: see fake_fabric.h. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ndk/ndkpi.h"
#include "provider/fake_fabric_internal.h"

struct fabric_mr {
    const void *domain;
    uint32_t token, before;
};

struct fabric_lam {
    uint64_t first;
};

int fake_mr_create(struct fabric *f, const void *domain, struct fabric_mr **out)
{
    int error = fake_pop_error();

    (void)f;
    if (error)
        return error;
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return ENOMEM;
    (*out)->domain = domain;
    atomic_fetch_add(&fake.mrs, 1);
    return 0;
}

void fake_mr_kill(struct fabric_mr *mr)
{
    mr->token = 0;
}

bool fake_mr_close(struct fabric_mr *mr, void (*done)(void *context), void *context)
{
    bool later = fake_defer_end(done, context);

    free(mr);
    atomic_fetch_sub(&fake.mrs, 1);
    return !later;
}

static uint32_t fake_mr_new_token(struct fabric_mr *mr)
{
    static atomic_uint tokens = 100;

    mr->before = mr->token;
    return mr->token = atomic_fetch_add(&tokens, 1);
}

int fake_mr_register(struct fabric_mr *mr, void *memory, uint64_t len, uint64_t base_address, unsigned access,
                     uint32_t *token)
{
    int error = fake_pop_error();

    if (error)
        return error;
    *token = fake_mr_new_token(mr);
    fake.domain = mr->domain;
    fake.memory = memory;
    fake.length = len;
    fake.base = base_address;
    fake.access = access;
    return 0;
}

bool fake_mr_deregister(struct fabric_mr *mr, void (*done)(void *context), void *context)
{
    mr->token = 0;
    return !fake_defer_end(done, context);
}

/* Returns fake.prepare_error. The post that follows returns fake.error. */
static int fake_mr_prepare(struct fabric_mr *mr, uint32_t *token)
{
    int error = fake.prepare_error;

    fake.prepare_error = 0;
    if (!error)
        fake.prepared = *token = fake_mr_new_token(mr);
    return error;
}

int fake_mr_reserve(struct fabric_mr *mr)
{
    (void)mr;
    return 0;
}

int fake_mr_prepare_pages(struct fabric_mr *mr, const struct rdma_pages *p, uint32_t *token)
{
    assert(p->count <= FAKE_MAX_PAGES);
    fake.pages = *p;
    memcpy(fake.page_list, p->logical, p->count * sizeof(*p->logical));
    fake.pages.logical = fake.page_list;
    fake.access = p->access;
    return fake_mr_prepare(mr, token);
}

int fake_mr_prepare_window(struct fabric_mr *mw, uint32_t of, uint64_t address, uint64_t len, unsigned access,
                           uint32_t *token)
{
    fake.of = of;
    fake.base = address;
    fake.length = len;
    fake.access = access;
    return fake_mr_prepare(mw, token);
}

void fake_mr_unprepare(struct fabric_mr *mr, uint32_t token)
{
    fake.discarded = token;
    if (mr->token == token)
        mr->token = mr->before;
}

uint32_t fake_mr_newest_token(struct fabric_mr *mr)
{
    return mr->token;
}

void fake_mr_info(struct fabric_mr *mr, struct fabric_mr_info *info)
{
    *info = (struct fabric_mr_info){ .token = fake_mr_newest_token(mr) };
}

int fake_lam_create(struct fabric *f, void *memory, uint64_t len, struct fabric_lam **out)
{
    int error = fake_pop_error();

    (void)f;
    if (error)
        return error;
    *out = malloc(sizeof(**out));
    if (!*out)
        return ENOMEM;
    fake.memory = memory;
    fake.length = len;
    (*out)->first = FAKE_LOGICAL;
    atomic_fetch_add(&fake.lams, 1);
    return 0;
}

/* Adjacent pages in memory are not adjacent for the adapter. */
uint64_t fake_lam_page(const struct fabric_lam *lam, uint64_t index)
{
    return lam->first + index * 2 * PAGE_SIZE;
}

void fake_lam_release(struct fabric_lam *lam)
{
    free(lam);
    atomic_fetch_sub(&fake.lams, 1);
}
