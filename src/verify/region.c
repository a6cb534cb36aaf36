/* SPDX-License-Identifier: MIT */
/* Checks the requests that register and invalidate regions and bind windows: see region.h. */
#include "base/own_call.h"
#include "base/range.h"
#include "verify/logical.h"
#include "verify/region.h"
#include "verify/source.h"

enum { REMOTE_WRITE_ONLY = NDK_OP_FLAG_ALLOW_REMOTE_WRITE & ~NDK_OP_FLAG_ALLOW_LOCAL_WRITE };

struct token_table *region_table(const struct proxy *p)
{
    return &((struct protection_domain *)p->parent)->tokens;
}

static void region_lock(const struct region *r)
{
    spin_lock(&region_table(&r->p)->lock);
}

static void region_unlock(const struct region *r)
{
    spin_unlock(&region_table(&r->p)->lock);
}

/* ---- the provider's tokens ---- */

bool region_ask(struct region *r, UINT32 *local, UINT32 *remote)
{
    NDK_MR *real = r->p.real;
    bool open;

    atomic_fetch_add(&r->asking, 1);
    open = atomic_load(&r->p.state) == PROXY_OPEN;
    if (open) {
        *local = OWN_CALL(real->Dispatch->NdkGetLocalTokenFromMr(real));
        *remote = OWN_CALL(real->Dispatch->NdkGetRemoteTokenFromMr(real));
    }
    atomic_fetch_sub(&r->asking, 1);
    return open;
}

/*
 * Waits for the calls of region_ask in progress. A later region_ask does not call the provider, because the region is
 * not open.
 */
void region_on_closing(struct proxy *p)
{
    while (atomic_load(&((struct region *)p)->asking) > 0)
        sched_yield();
}

/* ---- NdkFastRegister ---- */

static bool fast_register_is_longer(const struct fast_registration *f)
{
    uint64_t room = (uint64_t)f->page_count * PAGE_SIZE;

    return f->length > 0 && (f->fbo > room || f->length > room - f->fbo);
}

static bool fast_register_base_is_wrong(const struct fast_registration *f)
{
    return f->base < f->fbo || (f->base - f->fbo) % PAGE_SIZE != 0;
}

/* Returns the number of pages that contain registered bytes. The provider does not use the other pages. */
static ULONG fast_register_used_pages(const struct fast_registration *f)
{
    return (ULONG)((f->fbo + f->length + PAGE_SIZE - 1) / PAGE_SIZE);
}

static void fast_register_check_pages(const struct fast_registration *f, const struct proxy *qp)
{
    ULONG used = fast_register_used_pages(f), i;
    long long address;

    i = f->pages ? logical_find_foreign(proxy_logical_pages(qp), f->pages, used) : used;
    if (i == used)
        return;
    address = f->pages[i].QuadPart;
    proxy_set_report_object(&f->region->p);
    report_breach(&verify_rules[RULE_FAST_REGISTER_ADDRESS], "NdkFastRegister", (uintptr_t)f->region, i,
                  (uint64_t)address, 0, "page %u has the address 0x%llx, which is %s", i, (unsigned long long)address,
                  address % PAGE_SIZE ? "not aligned" : "in no mapping");
}

/* Returns the rule that the request breaks, or VERIFY_RULES if it breaks none. Does not check the pages. */
static enum verify_rule fast_register_check(const struct fast_registration *f, ULONG max_pages, bool remote)
{
    if (!max_pages)
        return RULE_FAST_REGISTER_STATE;
    if (f->page_count > max_pages)
        return RULE_FAST_REGISTER_PAGES;
    if (fast_register_is_longer(f))
        return RULE_FAST_REGISTER_LENGTH;
    if (fast_register_base_is_wrong(f))
        return RULE_FAST_REGISTER_BASE;
    if (f->flags & (NDK_OP_FLAG_ALLOW_REMOTE_READ | REMOTE_WRITE_ONLY) && !remote)
        return RULE_FAST_REGISTER_RIGHT;
    return VERIFY_RULES;
}

static void fast_register_report(const struct fast_registration *f, enum verify_rule broken, ULONG max_pages)
{
    const struct rule *rule = &verify_rules[broken];
    const void *mr = f->region;
    const char *routine = "NdkFastRegister";
    unsigned long long length = f->length;
    int64_t room = (int64_t)f->page_count * PAGE_SIZE - (int64_t)f->fbo;

    proxy_set_report_object(mr);
    if (broken == RULE_FAST_REGISTER_STATE)
        report_breach(rule, routine, (uintptr_t)mr, 0, 0, 0, "NDK_MR %p is not initialized for fast registration", mr);
    else if (broken == RULE_FAST_REGISTER_PAGES)
        report_breach(rule, routine, (uintptr_t)mr, f->page_count, max_pages, 0,
                      "%u pages, but NDK_MR %p is initialized for %u", f->page_count, mr, max_pages);
    else if (broken == RULE_FAST_REGISTER_LENGTH)
        report_breach(rule, routine, (uintptr_t)mr, f->length, f->page_count, f->fbo,
                      "%llu bytes, but %u pages have %lld bytes behind the first byte offset %u", length, f->page_count,
                      (long long)room, f->fbo);
    else if (broken == RULE_FAST_REGISTER_BASE)
        report_breach(rule, routine, (uintptr_t)mr, f->base, f->fbo, 0,
                      "the base address 0x%llx is not a multiple of the page size plus the first byte offset %u",
                      (unsigned long long)f->base, f->fbo);
    else
        report_breach(rule, routine, (uintptr_t)mr, f->flags, 0, 0,
                      "the flags 0x%x have remote rights, but NDK_MR %p is not initialized for remote access", f->flags,
                      mr);
}

void region_begin_fast_register(const struct fast_registration *f, const struct proxy *qp)
{
    struct region *r = f->region;
    enum verify_rule broken;
    ULONG max_pages;
    bool remote, unsure;

    if (!r)
        return;
    proxy_ref(&r->p); /* released by region_end_fast_register */
    region_lock(r);
    max_pages = r->max_pages;
    remote = r->remote;
    unsure = r->unsure;
    r->posting++;
    region_unlock(r);
    if (!verify_on() || unsure)
        return;
    broken = fast_register_check(f, max_pages, remote);
    if (broken == VERIFY_RULES)
        fast_register_check_pages(f, qp);
    else
        fast_register_report(f, broken, max_pages);
}

/*
 * Records that the registration is posted. The tokens of earlier registrations become invalid when the provider
 * processes the request. If the new registration has the same token again, fast_register_set_token makes it valid.
 */
static void fast_register_set_posted(const struct fast_registration *f, const struct proxy *qp, uint64_t place)
{
    struct region *r = f->region;

    tokens_end(r, r->registration, qp, place, "a later NdkFastRegister has replaced");
    r->registration++;
    r->was_posted = true;
}

static void fast_register_set_token(const struct fast_registration *f, UINT32 value)
{
    const struct registration memory = { .base = f->base,
                                         .length = f->length,
                                         .local_write = f->flags & NDK_OP_FLAG_ALLOW_LOCAL_WRITE,
                                         .read_sink = f->flags & NDK_OP_FLAG_RDMA_READ_SINK };

    tokens_set(f->region, value, TOKEN_VALID, &memory);
}

void region_end_fast_register(const struct fast_registration *f, const struct proxy *qp, uint64_t place,
                              NTSTATUS status)
{
    struct region *r = f->region;
    UINT32 local = 0, remote = 0;
    bool posted = NT_SUCCESS(status), known;

    if (!r)
        return;
    known = posted && region_ask(r, &local, &remote);
    region_lock(r);
    if (posted)
        fast_register_set_posted(f, qp, place);
    if (known) {
        fast_register_set_token(f, local);
        fast_register_set_token(f, remote);
    }
    r->posting--;
    region_unlock(r);
    proxy_unref(&r->p);
}

/* ---- NdkInvalidate ---- */

/*
 * Returns a token of the region's newest registration if all tokens of that registration are in the state TOKEN_ENDED.
 * Returns NULL otherwise. Requires the lock.
 */
static const struct token *region_find_ended(const struct region *r)
{
    const struct token *ended = NULL;

    if (r->unsure || r->posting > 0)
        return NULL;
    for (int i = 0; i < REGION_TOKENS; i++) {
        const struct token *t = &r->tokens[i];

        if (t->state == TOKEN_UNUSED || t->number != r->registration)
            continue;
        if (t->state != TOKEN_ENDED)
            return NULL;
        ended = t;
    }
    return ended;
}

static void report_invalidated_twice(const struct region *r, const struct token *ended)
{
    proxy_set_report_object(&r->p);
    report_breach(&verify_rules[RULE_INVALIDATE_TWICE], "NdkInvalidate", (uintptr_t)r, ended->value, 0, 0,
                  "NDK_MR %p is not registered any more: its token 0x%x is one that %s", (const void *)r, ended->value,
                  ended->end);
}

/*
 * Reports an NdkInvalidate of the region if the region's newest registration has ended already. Returns the number of
 * the newest registration in every case. Sets *wrong to true if no NdkFastRegister was ever posted for the region.
 */
static uint64_t region_check_invalidate(const struct region *r, bool *wrong)
{
    struct token ended = { .state = TOKEN_UNUSED };
    const struct token *found;
    uint64_t number;

    region_lock(r);
    number = r->registration;
    *wrong = !r->unsure && r->posting == 0 && !r->was_posted;
    found = *wrong ? NULL : region_find_ended(r);
    if (found)
        ended = *found;
    region_unlock(r);
    if (ended.state != TOKEN_UNUSED && verify_on())
        report_invalidated_twice(r, &ended);
    return number;
}

uint64_t region_begin_invalidate(struct proxy *mr_or_mw)
{
    struct region *r = (struct region *)mr_or_mw;
    uint64_t number = 0;
    bool wrong = true;

    if (!mr_or_mw)
        return 0;
    proxy_ref(mr_or_mw); /* released by region_end_invalidate */
    if (mr_or_mw->type == NdkObjectTypeMr)
        number = region_check_invalidate(r, &wrong);
    else if (mr_or_mw->type == NdkObjectTypeMw)
        wrong = !atomic_load(&((const struct window *)mr_or_mw)->was_bound);
    if (wrong && verify_on()) {
        proxy_set_report_object(mr_or_mw);
        report_breach(&verify_rules[RULE_INVALIDATE_KIND], "NdkInvalidate", (uintptr_t)mr_or_mw, mr_or_mw->type,
                      mr_or_mw->type == NdkObjectTypeMr && !r->fast, 0, "%s %p has never been %s",
                      proxy_type_name(mr_or_mw), (void *)mr_or_mw,
                      mr_or_mw->type == NdkObjectTypeMw ? "bound" : "registered by NdkFastRegister");
    }
    return number;
}

void region_end_invalidate(struct proxy *mr_or_mw, const struct proxy *qp, uint64_t place, uint64_t number,
                           NTSTATUS status)
{
    struct region *r = (struct region *)mr_or_mw;

    if (!mr_or_mw)
        return;
    if (mr_or_mw->type == NdkObjectTypeMr && NT_SUCCESS(status)) {
        region_lock(r);
        tokens_end(r, number, qp, place, "an earlier NdkInvalidate has ended");
        region_unlock(r);
    }
    proxy_unref(mr_or_mw);
}

/* ---- NdkBind ---- */

/*
 * Sets *memory to the memory and the rights of the region's newest registration. Returns false if they are not known.
 * Requires the lock.
 */
static bool region_get_memory(const struct region *r, struct registration *memory)
{
    for (int i = 0; i < REGION_TOKENS; i++)
        if (r->tokens[i].state == TOKEN_VALID && r->tokens[i].number == r->registration) {
            *memory = r->tokens[i].memory;
            return !r->unsure && r->posting == 0;
        }
    return false;
}

/* Returns true if it is certain that the region has no registration. Requires the lock. */
static bool region_is_unregistered(const struct region *r)
{
    if (r->unsure || r->posting > 0)
        return false;
    return r->fast ? !r->was_posted || region_find_ended(r) : !r->registered;
}

/* The arguments of an NdkBind, and the memory of the region that it binds to. */
struct bind {
    const struct proxy *mr, *mw;
    uint64_t address, length;
    ULONG flags;
    bool is_unregistered; /* the region has no registration, so `memory` is not set */
    struct registration memory;
};

static void bind_report_range(const struct bind *b)
{
    if (b->is_unregistered) {
        report_breach(&verify_rules[RULE_WINDOW_RANGE], "NdkBind", (uintptr_t)b->mw, (uintptr_t)b->mr, b->address,
                      b->length, "NDK_MR %p is not registered", (const void *)b->mr);
        return;
    }
    report_breach(&verify_rules[RULE_WINDOW_RANGE], "NdkBind", (uintptr_t)b->mw, (uintptr_t)b->mr, b->address,
                  b->length, "%llu bytes at 0x%llx are not inside NDK_MR %p, %llu bytes at 0x%llx",
                  (unsigned long long)b->length, (unsigned long long)b->address, (const void *)b->mr,
                  (unsigned long long)b->memory.length, (unsigned long long)b->memory.base);
}

static void bind_check(const struct bind *b)
{
    SIZE_T max = proxy_adapter_info(b->mw)->MaxWindowSize;

    if (max && b->length > max) {
        proxy_set_report_object(b->mw);
        report_breach(&verify_rules[RULE_WINDOW_SIZE], "NdkBind", (uintptr_t)b->mw, b->length, max, 0,
                      "a window of %llu bytes, but the adapter's MaxWindowSize is %llu", (unsigned long long)b->length,
                      (unsigned long long)max);
    } else if (b->is_unregistered || !range_within(b->memory.base, b->memory.length, b->address, b->length)) {
        proxy_set_report_object(b->mw);
        bind_report_range(b);
    } else if (b->flags & REMOTE_WRITE_ONLY && !b->memory.local_write) {
        proxy_set_report_object(b->mw);
        report_breach(&verify_rules[RULE_WINDOW_RIGHT], "NdkBind", (uintptr_t)b->mw, (uintptr_t)b->mr, b->flags, 0,
                      "a window with write access to NDK_MR %p, which is not registered with local write access",
                      (const void *)b->mr);
    }
}

void region_begin_bind(struct proxy *mr, struct proxy *mw, const void *address, SIZE_T length, ULONG flags)
{
    struct bind b = { .mr = mr, .mw = mw, .address = (uintptr_t)address, .length = length, .flags = flags };
    bool known;

    if (mw) /* set before the post, because another thread may read the token before NdkBind returns */
        atomic_store(&((struct window *)mw)->was_bound, true);
    if (mr && flags & REMOTE_WRITE_ONLY)
        source_set_remote_write((struct region *)mr);
    if (!mr || !mw || !verify_on())
        return;
    region_lock((const struct region *)mr);
    known = region_get_memory((const struct region *)mr, &b.memory);
    b.is_unregistered = !known && region_is_unregistered((const struct region *)mr);
    region_unlock((const struct region *)mr);
    if (known || b.is_unregistered)
        bind_check(&b);
}
