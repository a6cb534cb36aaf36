/* SPDX-License-Identifier: MIT */
/*
 * Keeps the tokens of protection domains: see tokens.h. A provider may reuse a token for a second region while the
 * first region still has an entry for the token. The token then has two entries, and a request is accepted if one of
 * the entries accepts it.
 */
#include <stdlib.h>

#include "base/range.h"
#include "verify/logical.h"
#include "verify/queue.h"
#include "verify/region.h"
#include "verify/source.h"
#include "verify/tokens.h"

enum { FIRST_BUCKETS = 64, MAX_CHECKED_SGES = 256 };
#define ACCEPTED VERIFY_RULES /* the value for "no rule is broken" */

/* The list of all tables, for searches of a token in every protection domain of the process. */
static struct spin tables_lock; /* guards `tables`; acquired before the lock of a table */
static LIST_HEAD(, token_table) tables = LIST_HEAD_INITIALIZER(tables);

void tokens_init(struct token_table *t)
{
    spin_init(&t->lock);
    spin_lock(&tables_lock);
    LIST_INSERT_HEAD(&tables, t, link);
    spin_unlock(&tables_lock);
}

void tokens_fini(struct token_table *t)
{
    spin_lock(&tables_lock);
    LIST_REMOVE(t, link);
    spin_unlock(&tables_lock);
    free(t->buckets);
}

/* ---- the table ---- */

static struct token_bucket *tokens_bucket(const struct token_table *t, UINT32 value)
{
    return &t->buckets[(value * 2654435761U >> 8) & (t->bucket_count - 1)];
}

/* Moves all entries to the new buckets. Returns the old buckets, which the caller frees. Requires the lock of *t. */
static struct token_bucket *tokens_rehash(struct token_table *t, struct token_bucket *buckets, unsigned count)
{
    struct token_bucket *old = t->buckets;
    unsigned old_count = t->bucket_count;
    struct token *token;

    t->buckets = buckets;
    t->bucket_count = count;
    for (unsigned i = 0; i < old_count; i++)
        while ((token = LIST_FIRST(&old[i]))) {
            LIST_REMOVE(token, link);
            LIST_INSERT_HEAD(tokens_bucket(t, token->value), token, link);
        }
    return old;
}

bool tokens_reserve(struct token_table *t)
{
    struct token_bucket *buckets = NULL;
    unsigned wanted, had;

    spin_lock(&t->lock);
    had = t->bucket_count;
    wanted = !had ? FIRST_BUCKETS : t->region_count >= had ? 2 * had : had;
    t->region_count++;
    spin_unlock(&t->lock);
    if (wanted == had)
        return true;
    buckets = calloc(wanted, sizeof *buckets);
    spin_lock(&t->lock);
    if (buckets && t->bucket_count == had)
        buckets = tokens_rehash(t, buckets, wanted);
    bool done = t->bucket_count > 0;
    if (!done)
        t->region_count--;
    spin_unlock(&t->lock);
    free(buckets);
    return done;
}

void tokens_unreserve(struct token_table *t)
{
    spin_lock(&t->lock);
    t->region_count--;
    spin_unlock(&t->lock);
}

void tokens_set_privileged(struct token_table *t, UINT32 privileged)
{
    spin_lock(&t->lock);
    t->privileged = privileged;
    t->has_privileged = true;
    spin_unlock(&t->lock);
}

/* ---- the tokens of a region ---- */

static void token_set_state(struct token *token, enum token_state state)
{
    if (token->state == TOKEN_ENDING && state != TOKEN_ENDING)
        LIST_REMOVE(token, ending);
    if (token->state != TOKEN_ENDING && state == TOKEN_ENDING)
        LIST_INSERT_HEAD(&region_table(&token->region->p)->ending, token, ending);
    token->state = state;
}

struct token *tokens_find(struct region *region, UINT32 value)
{
    for (int i = 0; i < REGION_TOKENS; i++)
        if (region->tokens[i].state != TOKEN_UNUSED && region->tokens[i].value == value)
            return &region->tokens[i];
    return NULL;
}

/*
 * Returns an unused entry of the region. If there is none, removes an entry of the region's oldest registration from
 * its bucket and returns that entry.
 */
static struct token *tokens_pop_oldest(struct region *region)
{
    struct token *oldest = &region->tokens[0];

    for (int i = 0; i < REGION_TOKENS; i++) {
        if (region->tokens[i].state == TOKEN_UNUSED)
            return &region->tokens[i];
        if (region->tokens[i].number < oldest->number)
            oldest = &region->tokens[i];
    }
    LIST_REMOVE(oldest, link);
    token_set_state(oldest, TOKEN_UNUSED);
    return oldest;
}

void tokens_set(struct region *region, UINT32 value, enum token_state state, const struct registration *memory)
{
    struct token *token = tokens_find(region, value);

    if (!token) {
        token = tokens_pop_oldest(region);
        token->value = value;
        token->region = region;
        token->number = region->registration;
        token->reused = false;
        LIST_INSERT_HEAD(tokens_bucket(region_table(&region->p), value), token, link);
    }
    token->reused = token->reused || (token->state != TOKEN_EARLY && token->number != region->registration);
    token_set_state(token, state);
    token->number = region->registration;
    token->end = NULL;
    if (memory)
        token->memory = *memory;
}

void tokens_end(struct region *region, uint64_t number, const struct proxy *qp, uint64_t place, const char *end)
{
    for (int i = 0; i < REGION_TOKENS; i++) {
        struct token *token = &region->tokens[i];

        if (token->number > number || (token->state != TOKEN_VALID && token->state != TOKEN_ENDING))
            continue;
        if (qp && token->state == TOKEN_ENDING)
            continue; /* a request that was posted earlier will invalidate the token */
        token_set_state(token, qp ? TOKEN_ENDING : TOKEN_ENDED);
        token->ended_by = qp ? qp->serial : 0;
        token->ended_place = place;
        token->end = end;
    }
}

void tokens_doubt(struct region *region)
{
    for (int i = 0; i < REGION_TOKENS; i++)
        if (region->tokens[i].state != TOKEN_UNUSED)
            token_set_state(&region->tokens[i], TOKEN_UNSURE);
}

void tokens_remove(struct region *region)
{
    for (int i = 0; i < REGION_TOKENS; i++)
        if (region->tokens[i].state != TOKEN_UNUSED) {
            LIST_REMOVE(&region->tokens[i], link);
            token_set_state(&region->tokens[i], TOKEN_UNUSED);
        }
    region_table(&region->p)->region_count--;
}

/* ---- SGEs ---- */

struct check {
    const struct proxy *queue;
    const char *routine;
    enum sge_use use;
    bool needs_sink; /* reads need NDK_MR_FLAG_RDMA_READ_SINK on this adapter */
};

/* The result of the check of one SGE. */
struct verdict {
    enum verify_rule rule; /* the broken rule, or ACCEPTED */
    const struct region *region;
    const char *end;
    struct registration memory;
    struct stack created_by;
};

static const char *token_end(const struct token *t)
{
    if (atomic_load(&t->region->p.state) != PROXY_OPEN)
        return "is closed";
    return t->state == TOKEN_EARLY ? "has never been registered" : t->end;
}

static bool token_is_invalid(const struct token *t, const struct check *check)
{
    if (atomic_load(&t->region->p.state) != PROXY_OPEN)
        return true;
    if (t->state == TOKEN_ENDING)
        return check->use != SGE_RECEIVE && t->ended_by == check->queue->serial;
    return t->state == TOKEN_ENDED || t->state == TOKEN_EARLY;
}

/* Checks the SGE against one of the entries for its token. Returns the rule that the SGE breaks, or ACCEPTED. */
static enum verify_rule token_check(const struct token *t, const struct check *check, const NDK_SGE *sge)
{
    const struct registration *m = &t->memory;

    if (t->state == TOKEN_UNSURE || t->region->unsure || t->region->posting > 0)
        return ACCEPTED;
    if (token_is_invalid(t, check))
        return RULE_TOKEN_UNKNOWN;
    if (t->state == TOKEN_ENDING)
        return ACCEPTED;
    if (!range_within(m->base, m->length, (uintptr_t)sge->VirtualAddress, sge->Length))
        return RULE_SGE_RANGE;
    if (check->use != SGE_SOURCE && !m->local_write && !(check->use == SGE_READ && m->read_sink))
        return RULE_LOCAL_WRITE_RIGHT;
    if (check->use != SGE_SOURCE && m->read_only)
        return RULE_MDL_READ_ONLY;
    return check->use == SGE_READ && check->needs_sink && !m->read_sink ? RULE_READ_SINK_RIGHT : ACCEPTED;
}

static void verdict_set(struct verdict *v, enum verify_rule rule, const struct token *t)
{
    v->rule = rule;
    v->region = t->region;
    v->end = token_end(t);
    v->memory = t->memory;
    v->created_by = t->region->p.created_by;
}

/* Checks an SGE that does not have the privileged token. Sets *v. Requires the lock. */
static void tokens_check_sge(const struct token_table *t, const struct check *check, const NDK_SGE *sge,
                             struct verdict *v)
{
    const struct token *token;

    v->rule = RULE_TOKEN_UNKNOWN;
    v->region = NULL;
    if (!t->buckets)
        return;
    LIST_FOREACH (token, tokens_bucket(t, sge->MemoryRegionToken), link) {
        if (token->value != sge->MemoryRegionToken)
            continue;
        if (check->use != SGE_SOURCE)
            source_add_sink(token->region, sge);
        enum verify_rule rule = token_check(token, check, sge);
        if (rule == ACCEPTED) {
            v->rule = ACCEPTED;
            return;
        }
        if (!v->region || rule != RULE_TOKEN_UNKNOWN)
            verdict_set(v, rule, token);
    }
    if (!v->region && check->use != SGE_SOURCE)
        source_set_unknown_writers();
}

/* Checks an SGE that has the privileged token. Returns the rule that the SGE breaks, or ACCEPTED. */
static enum verify_rule tokens_check_logical(const struct check *check, const NDK_SGE *sge)
{
    if (!logical_contains(proxy_logical_pages(check->queue), (uint64_t)sge->LogicalAddress.QuadPart, sge->Length))
        return RULE_PRIVILEGED_TOKEN_VIRTUAL;
    return check->use == SGE_READ && check->needs_sink ? RULE_READ_SINK_RIGHT : ACCEPTED;
}

static void report_unknown(const struct check *check, ULONG i, const NDK_SGE *sge, const struct verdict *v)
{
    if (v->region) {
        report_add_stack("the region was created by", &v->created_by);
        report_breach(&verify_rules[RULE_TOKEN_UNKNOWN], check->routine, (uintptr_t)check->queue, i,
                      sge->MemoryRegionToken, (uintptr_t)v->region, "SGE %u has token 0x%x of NDK_MR %p, which %s", i,
                      sge->MemoryRegionToken, (const void *)v->region, v->end);
        return;
    }
    report_breach(&verify_rules[RULE_TOKEN_UNKNOWN], check->routine, (uintptr_t)check->queue, i, sge->MemoryRegionToken,
                  0, "SGE %u has token 0x%x, which names no region of the protection domain", i,
                  sge->MemoryRegionToken);
}

static void report_range(const struct check *check, ULONG i, const NDK_SGE *sge, const struct verdict *v)
{
    report_add_stack("the region was created by", &v->created_by);
    report_breach(&verify_rules[RULE_SGE_RANGE], check->routine, (uintptr_t)check->queue, i,
                  (uintptr_t)sge->VirtualAddress, (uintptr_t)v->region,
                  "SGE %u, %u bytes at %p, is not inside NDK_MR %p, %llu bytes at %p", i, sge->Length,
                  sge->VirtualAddress, (const void *)v->region, (unsigned long long)v->memory.length,
                  (void *)(uintptr_t)v->memory.base);
}

static void report_right(const struct check *check, ULONG i, const NDK_SGE *sge, const struct verdict *v)
{
    const char *right = v->rule == RULE_READ_SINK_RIGHT ? "as a read sink" : "with local write access";

    if (v->region)
        report_add_stack("the region was created by", &v->created_by);
    report_breach(&verify_rules[v->rule], check->routine, (uintptr_t)check->queue, i, sge->MemoryRegionToken,
                  (uintptr_t)v->region,
                  v->region ? "SGE %u has token 0x%x of NDK_MR %p, which is not registered %s"
                            : "SGE %u has the privileged token 0x%x (%p), which is not allowed %s",
                  i, sge->MemoryRegionToken, (const void *)v->region, right);
}

static void report_read_only(const struct check *check, ULONG i, const NDK_SGE *sge, const struct verdict *v)
{
    report_add_stack("the region was created by", &v->created_by);
    report_breach(&verify_rules[RULE_MDL_READ_ONLY], check->routine, (uintptr_t)check->queue, i, sge->MemoryRegionToken,
                  (uintptr_t)v->region,
                  "SGE %u is filled, but the memory of its NDK_MR %p was locked with IoReadAccess", i,
                  (const void *)v->region);
}

static void report_sge(const struct check *check, ULONG i, const NDK_SGE *sge, const struct verdict *v)
{
    proxy_set_report_object(check->queue);
    switch (v->rule) {
    case RULE_TOKEN_UNKNOWN:
        report_unknown(check, i, sge, v);
        break;
    case RULE_SGE_RANGE:
        report_range(check, i, sge, v);
        break;
    case RULE_MDL_READ_ONLY:
        report_read_only(check, i, sge, v);
        break;
    case RULE_PRIVILEGED_TOKEN_VIRTUAL:
        report_breach(&verify_rules[v->rule], check->routine, (uintptr_t)check->queue, i,
                      (uint64_t)sge->LogicalAddress.QuadPart, sge->Length,
                      "SGE %u has the privileged token, but address 0x%llx with %u bytes is in no mapping", i,
                      (unsigned long long)sge->LogicalAddress.QuadPart, sge->Length);
        break;
    default:
        report_right(check, i, sge, v);
        break;
    }
}

/*
 * Returns the index of the first SGE that breaks a rule, and sets *v to the result of its check. Returns `sges` if no
 * SGE breaks a rule.
 */
static ULONG tokens_find_breach(struct token_table *t, const struct check *check, const NDK_SGE *sgl, ULONG sges,
                                struct verdict *v)
{
    ULONG i = 0;

    spin_lock(&t->lock);
    for (; i < sges; i++) {
        if (sgl[i].Length == 0)
            continue;
        if (t->has_privileged && sgl[i].MemoryRegionToken == t->privileged) {
            v->region = NULL;
            v->rule = tokens_check_logical(check, &sgl[i]);
        } else {
            tokens_check_sge(t, check, &sgl[i], v);
        }
        if (v->rule != ACCEPTED)
            break;
    }
    spin_unlock(&t->lock);
    return i;
}

void tokens_check_post(const struct proxy *queue, const char *routine, const NDK_SGE *sgl, ULONG sges, ULONG flags,
                       enum sge_use use)
{
    const NDK_ADAPTER_INFO *info = proxy_adapter_info(queue);
    const struct queue *q = (const struct queue *)queue;
    ULONG max = q->size[use == SGE_RECEIVE ? QUEUE_RECEIVE : QUEUE_INITIATE].sges, i;
    struct verdict v;

    if (!verify_on() && use != SGE_SOURCE)
        source_set_unknown_writers();
    /*
     * If there are more SGEs than the limit, the provider refuses the request. `sgl` is not read in this case, because
     * the array may be shorter than `sges`.
     */
    if (!verify_on() || !sgl || sges > max || flags & NDK_OP_FLAG_INLINE)
        return;
    struct check check = { .queue = queue,
                           .routine = routine,
                           .use = use,
                           .needs_sink = !(info->AdapterFlags & NDK_ADAPTER_FLAG_RDMA_READ_SINK_NOT_REQUIRED) };
    i = tokens_find_breach(region_table(queue), &check, sgl, sges, &v);
    if (i < sges)
        report_sge(&check, i, &sgl[i], &v);
}

/* ---- remote tokens ---- */

/* Returns true if a region in the table may have this token. Requires the table's lock. */
static bool tokens_may_contain(const struct token_table *t, UINT32 value)
{
    const struct token *token;

    if (t->buckets)
        LIST_FOREACH (token, tokens_bucket(t, value), link)
            if (token->value == value)
                return true;
    return false;
}

static bool tokens_any_contains(UINT32 value)
{
    struct token_table *t;
    bool found = false;

    spin_lock(&tables_lock);
    LIST_FOREACH (t, &tables, link) {
        spin_lock(&t->lock);
        found = found || tokens_may_contain(t, value);
        spin_unlock(&t->lock);
    }
    spin_unlock(&tables_lock);
    return found;
}

static uint64_t sges_length(const NDK_SGE *sgl, ULONG sges)
{
    uint64_t length = 0;

    for (ULONG i = 0; sgl && i < sges && i < MAX_CHECKED_SGES; i++)
        length += sgl[i].Length;
    return length;
}

static void tokens_check_remote(const struct proxy *qp, const char *routine, const NDK_SGE *sgl, ULONG sges,
                                UINT32 token)
{
    struct token_table *t;
    bool privileged;

    if (!verify_on())
        return;
    t = region_table(qp);
    spin_lock(&t->lock);
    privileged = t->has_privileged && t->privileged == token;
    spin_unlock(&t->lock);
    /*
     * A request without data does not use the remote token. If a region of this process has the same token by chance,
     * the consumer may mean that region.
     */
    if (!privileged || sges_length(sgl, sges) == 0 || tokens_any_contains(token))
        return;
    proxy_set_report_object(qp);
    report_breach(&verify_rules[RULE_PRIVILEGED_TOKEN_PEER], routine, (uintptr_t)qp, token, 0, 0,
                  "the remote token 0x%x is the privileged token", token);
}

/* ---- reads and writes ---- */

/*
 * Makes the tokens of the SGE's region unsure. Called for a read that invalidates the SGE's token, because the result
 * of the read is not known yet.
 */
static void tokens_doubt_sink(const struct proxy *qp, const NDK_SGE *sge)
{
    struct token_table *t = region_table(qp);
    struct token *token;

    spin_lock(&t->lock);
    if (t->buckets)
        LIST_FOREACH (token, tokens_bucket(t, sge->MemoryRegionToken), link)
            if (token->value == sge->MemoryRegionToken)
                tokens_doubt(token->region);
    spin_unlock(&t->lock);
}

void tokens_check_read(const struct proxy *qp, const NDK_SGE *sgl, ULONG sges, UINT32 remote, ULONG flags)
{
    tokens_check_post(qp, "NdkRead", sgl, sges, flags, SGE_READ);
    tokens_check_remote(qp, "NdkRead", sgl, sges, remote);
    if (flags & NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE && sgl && sges > 0 &&
        proxy_adapter_info(qp)->AdapterFlags & NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED)
        tokens_doubt_sink(qp, &sgl[0]);
}

void tokens_check_write(const struct proxy *qp, const NDK_SGE *sgl, ULONG sges, UINT32 remote, ULONG flags)
{
    tokens_check_post(qp, "NdkWrite", sgl, sges, flags, SGE_SOURCE);
    tokens_check_remote(qp, "NdkWrite", sgl, sges, remote);
}

/* ---- results ---- */

/*
 * Handles a token that the peer has invalidated: the registration ends. If an earlier registration of the region had
 * the same token, all tokens of the region become unsure instead, because the peer may have invalidated the earlier
 * registration.
 */
static void tokens_end_registration(const struct token *token)
{
    if (token->reused)
        tokens_doubt(token->region);
    else
        tokens_end(token->region, token->number, NULL, 0, "the peer has invalidated");
}

static void tokens_end_invalidated(const struct proxy *qp, UINT32 value)
{
    struct token_table *t = region_table(qp);
    struct token *token;

    spin_lock(&t->lock);
    if (t->buckets)
        LIST_FOREACH (token, tokens_bucket(t, value), link)
            if (token->value == value)
                tokens_end_registration(token);
    spin_unlock(&t->lock);
}

/*
 * Handles the completion of the request at `place` in the initiator queue of qp. If the request has succeeded, the
 * tokens that this request and earlier requests invalidate become TOKEN_ENDED. If the request has failed, all tokens
 * that requests of qp invalidate become TOKEN_UNSURE, because the queue pair has failed too.
 */
static void tokens_end_posted(const struct queue *qp, uint64_t place, bool succeeded)
{
    struct token_table *t = region_table(&qp->p);
    struct token *token, *next;

    spin_lock(&t->lock);
    for (token = LIST_FIRST(&t->ending); token; token = next) {
        next = LIST_NEXT(token, ending);
        if (token->ended_by == qp->p.serial && !succeeded)
            token_set_state(token, TOKEN_UNSURE);
        else if (token->ended_by == qp->p.serial && token->ended_place > 0 && token->ended_place <= place)
            token_set_state(token, TOKEN_ENDED);
    }
    spin_unlock(&t->lock);
}

static void tokens_process_result(const NDK_RESULT_EX *result)
{
    struct queue *qp = result->QPContext;
    bool succeeded = NT_SUCCESS(result->Status);

    if (result->Type == NdkOperationTypeReceiveAndInvalidate && succeeded)
        tokens_end_invalidated(&qp->p, (UINT32)result->TypeSpecificCompletionOutput);
    else if (result->Type == NdkOperationTypeInvalidate || result->Type == NdkOperationTypeFastRegister)
        tokens_end_posted(qp, posted_place(&qp->posted[QUEUE_INITIATE], result->RequestContext), succeeded);
}

void tokens_process_results(const NDK_RESULT_EX *results, ULONG count)
{
    for (ULONG i = 0; i < count; i++)
        tokens_process_result(&results[i]);
}
