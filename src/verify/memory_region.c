/* SPDX-License-Identifier: MIT */
/*
 * Implements the dispatch tables of memory regions and windows. A region's MDLs are watched from its registration to
 * its deregistration. Its tokens are in the table of its protection domain: see tokens.h. After each registration the
 * layer queries the tokens from the provider.
 */
#include <stdlib.h>

#include "verify/async_call.h"
#include "verify/limits.h"
#include "verify/mdl_chain.h"
#include "verify/mdl_locked.h"
#include "verify/region.h"
#include "verify/source.h"

/* ---- memory regions ---- */

static void mr_clear_mdls(struct proxy *mr)
{
    source_end_region((struct region *)mr);
    proxy_lock_all();
    mr->mdl_count = 0;
    mr->memory.size = 0;
    proxy_unlock_all();
}

/*
 * Stores the MDLs of a registration in the region. Returns false if the region has MDLs already; the provider then
 * refuses the call.
 */
static bool mr_set_mdls(struct proxy *mr, const MDL *mdl, SIZE_T length)
{
    struct stack by;
    bool first;

    stack_capture_call(&by, __builtin_return_address(0));
    proxy_lock_all();
    first = mr->mdl_count == 0;
    proxy_watch(mr);
    if (first)
        region_memory_set(&mr->memory, mdl, length, &by);
    for (; first && mdl && mr->mdl_count < PROXY_MAX_MDLS; mdl = mdl->Next)
        mr->mdls[mr->mdl_count++] = mdl;
    proxy_unlock_all();
    return first;
}

static void mr_lock(const struct proxy *mr)
{
    spin_lock(&region_table(mr)->lock);
}

static void mr_unlock(const struct proxy *mr)
{
    spin_unlock(&region_table(mr)->lock);
}

/*
 * Stops the reports that depend on the region's state. Must be called if the result of a pending call on the region is
 * not observed, because the state is then not known.
 */
static void mr_set_unsure(struct proxy *mr)
{
    mr_lock(mr);
    ((struct region *)mr)->unsure = true;
    mr_unlock(mr);
}

static void mr_begin_change(struct proxy *mr)
{
    mr_lock(mr);
    ((struct region *)mr)->changing++;
    mr_unlock(mr);
}

/* ---- NdkRegisterMr ---- */

/* An NdkRegisterMr call that has not completed. */
struct mr_registration {
    struct registration memory;
    bool watches; /* the region has stored the MDLs of this registration: see mr_set_mdls */
};

static void mr_on_registered(struct proxy *mr, NTSTATUS status, void *subject)
{
    const struct mr_registration *m = subject;
    struct region *r = (struct region *)mr;
    UINT32 local = 0, remote = 0;
    bool succeeded = NT_SUCCESS(status), known = succeeded && region_ask(r, &local, &remote);

    if (!succeeded && m->watches)
        mr_clear_mdls(mr);
    mr_lock(mr);
    r->changing--;
    if (succeeded) {
        r->registration++;
        r->was_registered = r->registered = true;
    }
    if (known) {
        tokens_set(r, local, TOKEN_VALID, &m->memory);
        tokens_set(r, remote, TOKEN_VALID, &m->memory);
    }
    mr_unlock(mr);
}

static void mr_on_registered_later(struct proxy *mr, NTSTATUS status, void *subject)
{
    mr_on_registered(mr, status, subject);
    free(subject);
}

static uint64_t mdl_address(const MDL *mdl)
{
    return mdl ? (uintptr_t)mdl->StartVa + mdl->ByteOffset : 0;
}

static void mr_report_kind(const struct proxy *p, const char *routine, bool fast)
{
    proxy_set_report_object(p);
    report_breach(&verify_rules[RULE_MR_KIND], routine, (uintptr_t)p, fast, 0, 0, "NDK_MR %p was created for %s",
                  (const void *)p, fast ? "fast registration" : "NdkRegisterMr");
}

/*
 * Reports an NdkRegisterMr on a region that is registered, or that a pending call is about to change. Returns true if
 * the call was reported.
 */
static bool mr_check_registered(const struct proxy *p)
{
    const struct region *r = (const struct region *)p;

    mr_lock(p);
    bool changes = r->changing > 0, wrong = !r->unsure && (r->registered || changes);
    mr_unlock(p);
    if (!wrong)
        return false;
    proxy_set_report_object(p);
    report_breach(&verify_rules[RULE_MR_REGISTERED_TWICE], "NdkRegisterMr", (uintptr_t)p, changes, 0, 0,
                  changes ? "a call of NdkRegisterMr or NdkDeregisterMr with NDK_MR %p has not completed"
                          : "NDK_MR %p is registered",
                  (const void *)p);
    return true;
}

static void mr_check_registration(const struct proxy *p, const MDL *mdl, SIZE_T length)
{
    SIZE_T max = proxy_adapter_info(p)->MaxRegistrationSize;

    if (!verify_on() || mr_check_registered(p))
        return;
    if (((const struct region *)p)->fast) {
        mr_report_kind(p, "NdkRegisterMr", true);
    } else if (max && length > max) {
        proxy_set_report_object(p);
        report_breach(&verify_rules[RULE_REGISTRATION_SIZE], "NdkRegisterMr", (uintptr_t)p, length, max, 0,
                      "%llu bytes, but the adapter's MaxRegistrationSize is %llu", (unsigned long long)length,
                      (unsigned long long)max);
    } else {
        mdl_check_chain(p, "NdkRegisterMr", mdl, length);
    }
}

static NTSTATUS verify_mr_register(NDK_MR *pub, MDL *mdl, SIZE_T length, ULONG flags, NDK_FN_REQUEST_COMPLETION done,
                                   PVOID context)
{
    PROXY_CALL(p, pub, "NdkRegisterMr");
    NDK_MR *real = p ? p->real : NULL;
    struct mr_registration now = { .memory = { .base = mdl_address(mdl),
                                               .length = length,
                                               .local_write = flags & NDK_MR_FLAG_ALLOW_LOCAL_WRITE,
                                               .read_sink = flags & NDK_MR_FLAG_RDMA_READ_SINK,
                                               .read_only = verify_on() && mdl_is_read_only(mdl, length) } },
                           *later;
    struct async_call *c;
    NTSTATUS status;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    limits_check_registration(p, flags);
    mr_check_registration(p, mdl, length);
    mdl_check_locked(p, "NdkRegisterMr", mdl, length);
    mdl_check_pending(p, "NdkRegisterMr", mdl);
    if (flags & NDK_MR_FLAG_ALLOW_REMOTE_WRITE & ~NDK_MR_FLAG_ALLOW_LOCAL_WRITE)
        source_set_remote_write((struct region *)p);
    if (!verify_on())
        source_set_unknown_writers();
    now.watches = verify_on() && mr_set_mdls(p, mdl, length);
    mr_begin_change(p);
    later = malloc(sizeof *later);
    if (later)
        *later = now;
    c = later ? async_call_begin(p, "NdkRegisterMr", done, context, mr_on_registered_later) : NULL;
    async_call_set_subject(c, later);
    async_call_set_mdls(c, mdl);
    status = real->Dispatch->NdkRegisterMr(real, mdl, length, flags, async_call_routine(c, done),
                                           async_call_context(c, context));
    if (c)
        return async_call_end(c, status);
    free(later);
    if (status == STATUS_PENDING)
        mr_set_unsure(p);
    else
        mr_on_registered(p, status, &now);
    return status;
}

/* ---- NdkDeregisterMr ---- */

static void mr_on_deregistered(struct proxy *mr, NTSTATUS status, void *subject)
{
    struct region *r = (struct region *)mr;

    (void)subject;
    mr_clear_mdls(mr);
    mr_lock(mr);
    r->changing--;
    if (!NT_SUCCESS(status))
        tokens_doubt(r);
    mr_unlock(mr);
}

/* Invalidates the tokens of the region's registration. Reports a region that is not registered. */
static void mr_begin_deregistration(struct proxy *p)
{
    struct region *r = (struct region *)p;

    mr_lock(p);
    bool wrong = !r->unsure && !r->registered;
    r->registered = false;
    tokens_end(r, r->registration, NULL, 0, "NdkDeregisterMr has ended");
    mr_unlock(p);
    if (!wrong || !verify_on())
        return;
    proxy_set_report_object(p);
    report_breach(&verify_rules[RULE_MR_UNREGISTERED], "NdkDeregisterMr", (uintptr_t)p, 0, 0, 0,
                  "NDK_MR %p is not registered by NdkRegisterMr", (const void *)p);
}

static NTSTATUS verify_mr_deregister(NDK_MR *pub, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    PROXY_CALL(p, pub, "NdkDeregisterMr");
    NDK_MR *real = p ? p->real : NULL;
    struct async_call *c;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    mr_begin_deregistration(p);
    region_memory_check(p, "NdkDeregisterMr");
    c = async_call_begin(p, "NdkDeregisterMr", done, context, mr_on_deregistered);
    if (c)
        mr_begin_change(p);
    return async_call_end(
        c, real->Dispatch->NdkDeregisterMr(real, async_call_routine(c, done), async_call_context(c, context)));
}

/* ---- NdkInitializeFastRegisterMr ---- */

static void mr_check_initialization(const struct proxy *p, ULONG pages)
{
    static const char routine[] = "NdkInitializeFastRegisterMr";
    ULONG limit = proxy_adapter_info(p)->FRMRPageCount;

    if (!verify_on())
        return;
    if (!((const struct region *)p)->fast) {
        mr_report_kind(p, routine, false);
    } else if (limit && pages > limit) {
        proxy_set_report_object(p);
        report_breach(&verify_rules[RULE_FAST_REGISTER_LIMIT], routine, (uintptr_t)p, pages, limit, 0,
                      "%u pages, but the adapter's FRMRPageCount is %u", pages, limit);
    }
}

/* Packs the arguments of an initialization into one pointer, which mr_on_initialized unpacks. */
static void *mr_pack_initialization(ULONG pages, bool remote)
{
    return (void *)((uintptr_t)pages << 1 | remote);
}

static void mr_on_initialized(struct proxy *mr, NTSTATUS status, void *subject)
{
    struct region *r = (struct region *)mr;
    ULONG pages = (ULONG)((uintptr_t)subject >> 1);

    if (!NT_SUCCESS(status))
        return;
    mr_lock(mr);
    if (pages > r->max_pages)
        r->max_pages = pages;
    r->remote = r->remote || (uintptr_t)subject & 1;
    mr_unlock(mr);
}

static NTSTATUS verify_mr_initialize_fast_register(NDK_MR *pub, ULONG pages, BOOLEAN remote,
                                                   NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    PROXY_CALL(p, pub, "NdkInitializeFastRegisterMr");
    NDK_MR *real = p ? p->real : NULL;
    void *subject = mr_pack_initialization(pages, remote);
    struct async_call *c;
    NTSTATUS status;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    mr_check_initialization(p, pages);
    c = async_call_begin(p, "NdkInitializeFastRegisterMr", done, context, mr_on_initialized);
    async_call_set_subject(c, subject);
    status = real->Dispatch->NdkInitializeFastRegisterMr(real, pages, remote, async_call_routine(c, done),
                                                         async_call_context(c, context));
    if (NT_SUCCESS(status))
        atomic_store(&p->fast_pages, pages);
    if (!c && status == STATUS_PENDING)
        mr_set_unsure(p);
    else if (!c)
        mr_on_initialized(p, status, subject);
    return async_call_end(c, status);
}

/* ---- tokens ---- */

static void mr_check_token(const struct proxy *p, const char *routine)
{
    const struct region *r = (const struct region *)p;

    mr_lock(p);
    bool early = !r->unsure && (r->fast ? !r->max_pages : !r->was_registered);
    mr_unlock(p);
    if (!early || !verify_on())
        return;
    proxy_set_report_object(p);
    report_breach(&verify_rules[RULE_TOKEN_EARLY], routine, (uintptr_t)p, 0, 0, 0, "NDK_MR %p has never been %s",
                  (const void *)p, r->fast ? "initialized" : "registered");
}

/*
 * Records a token that the consumer has read. Does nothing if the token has a record. If the region was registered, or
 * an NdkFastRegister is being posted, the token becomes TOKEN_UNSURE, because another thread's NdkFastRegister may have
 * made it. If the region is only initialized, the token becomes TOKEN_EARLY. In other cases the token is not recorded.
 */
static void mr_record_token(struct proxy *p, UINT32 value)
{
    struct region *r = (struct region *)p;

    mr_lock(p);
    if (!tokens_find(r, value) && (r->registration > 0 || r->posting > 0))
        tokens_set(r, value, TOKEN_UNSURE, NULL);
    else if (!tokens_find(r, value) && r->max_pages > 0)
        tokens_set(r, value, TOKEN_EARLY, NULL);
    mr_unlock(p);
}

static UINT32 verify_mr_remote_token(NDK_MR *pub)
{
    PROXY_CALL(p, pub, "NdkGetRemoteTokenFromMr");
    NDK_MR *real = p ? p->real : NULL;
    UINT32 value;

    if (!real)
        return 0;
    mr_check_token(p, "NdkGetRemoteTokenFromMr");
    value = real->Dispatch->NdkGetRemoteTokenFromMr(real);
    mr_record_token(p, value);
    return value;
}

static UINT32 verify_mr_local_token(NDK_MR *pub)
{
    PROXY_CALL(p, pub, "NdkGetLocalTokenFromMr");
    NDK_MR *real = p ? p->real : NULL;
    UINT32 value;

    if (!real)
        return 0;
    mr_check_token(p, "NdkGetLocalTokenFromMr");
    value = real->Dispatch->NdkGetLocalTokenFromMr(real);
    mr_record_token(p, value);
    return value;
}

static const NDK_MR_DISPATCH mr_dispatch = {
    .NdkCloseMr = proxy_close_mr,
    .NdkQueryExtension = proxy_query_extension,
    .NdkRegisterMr = verify_mr_register,
    .NdkDeregisterMr = verify_mr_deregister,
    .NdkInitializeFastRegisterMr = verify_mr_initialize_fast_register,
    .NdkGetRemoteTokenFromMr = verify_mr_remote_token,
    .NdkGetLocalTokenFromMr = verify_mr_local_token,
};

static void mr_free(struct proxy *p)
{
    mr_lock(p);
    tokens_remove((struct region *)p);
    mr_unlock(p);
}

static void mr_end(struct proxy *p)
{
    source_end_region((struct region *)p);
}

static struct proxy *mr_create(struct proxy *parent, bool fast)
{
    struct proxy *p;

    if (!tokens_reserve(&((struct protection_domain *)parent)->tokens))
        return NULL;
    p = proxy_create(sizeof(struct region), NdkObjectTypeMr, &mr_dispatch, parent);
    if (!p) {
        tokens_unreserve(&((struct protection_domain *)parent)->tokens);
        return NULL;
    }
    p->on_end = mr_end;
    p->on_free = mr_free;
    p->on_closing = region_on_closing;
    ((struct region *)p)->fast = fast;
    return p;
}

NTSTATUS verify_create_mr(NDK_PD *pub, BOOLEAN fast, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_MR **out)
{
    PROXY_CALL(parent, pub, "NdkCreateMr");
    struct proxy *p;
    NDK_PD *real = parent ? parent->real : NULL;
    NDK_MR *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    p = mr_create(parent, fast);
    if (!p)
        return STATUS_INSUFFICIENT_RESOURCES;
    proxy_begin_create(p, "NdkCreateMr", done, context);
    return proxy_end_create(p, real->Dispatch->NdkCreateMr(real, fast, proxy_create_routine(p), p, &made), &made, out);
}

/* ---- memory windows ---- */

static UINT32 verify_mw_remote_token(NDK_MW *pub)
{
    PROXY_CALL(p, pub, "NdkGetRemoteTokenFromMw");
    NDK_MW *real = p ? p->real : NULL;

    if (real && verify_on() && !atomic_load(&((struct window *)p)->was_bound)) {
        proxy_set_report_object(p);
        report_breach(&verify_rules[RULE_TOKEN_EARLY], "NdkGetRemoteTokenFromMw", (uintptr_t)p, 0, 0, 0,
                      "NDK_MW %p has never been bound", (void *)p);
    }
    return real ? real->Dispatch->NdkGetRemoteTokenFromMw(real) : 0;
}

static const NDK_MW_DISPATCH mw_dispatch = {
    .NdkCloseMw = proxy_close_mw,
    .NdkQueryExtension = proxy_query_extension,
    .NdkGetRemoteTokenFromMw = verify_mw_remote_token,
};

NTSTATUS verify_create_mw(NDK_PD *pub, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_MW **out)
{
    PROXY_CALL(parent, pub, "NdkCreateMw");
    struct proxy *p;
    NDK_PD *real = parent ? parent->real : NULL;
    NDK_MW *made = NULL;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    p = proxy_create(sizeof(struct window), NdkObjectTypeMw, &mw_dispatch, parent);
    if (!p)
        return STATUS_INSUFFICIENT_RESOURCES;
    proxy_begin_create(p, "NdkCreateMw", done, context);
    return proxy_end_create(p, real->Dispatch->NdkCreateMw(real, proxy_create_routine(p), p, &made), &made, out);
}
