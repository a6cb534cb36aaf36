/* SPDX-License-Identifier: MIT */
/* Implements the adapters' dispatch table, and wraps and closes adapters. */
#include "base/fork.h"
#include "base/own_call.h"
#include "verify/async_call.h"
#include "verify/logical.h"
#include "verify/mdl_chain.h"
#include "verify/mapping.h"
#include "verify/mdl_locked.h"
#include "verify/memory.h"
#include "verify/net_namespace.h"
#include "verify/objects_left.h"
#include "verify/proxy.h"
#include "verify/queue.h"
#include "verify/source.h"
#include "verify/stall.h"

struct adapter {
    struct proxy p;
    NDK_ADAPTER_INFO info; /* the provider's information; only Version is set if has_info is false */
    struct logical_pages pages;
    unsigned generation; /* fork_generation of the process that wrapped the adapter */
    atomic_bool gave_up; /* a close has returned although objects were still open: see verify_close_gave_up */
    bool has_info;
};

static NTSTATUS verify_adapter_query_info(NDK_ADAPTER *pub, NDK_ADAPTER_INFO *info, ULONG *size)
{
    PROXY_CALL(p, pub, "NdkQueryAdapterInfo");
    NDK_ADAPTER *real = p ? p->real : NULL;

    verify_check_irql("NdkQueryAdapterInfo", VERIFY_PASSIVE_LEVEL);
    return real ? real->Dispatch->NdkQueryAdapterInfo(real, info, size) : STATUS_INVALID_DEVICE_STATE;
}

static void adapter_on_lam_built(struct proxy *p, NTSTATUS status, void *lam)
{
    if (!NT_SUCCESS(status))
        return;
    source_set_unknown_writers();
    mapping_add(p, lam);
    logical_add(proxy_logical_pages(p), lam);
}

/*
 * Handles the return of an NdkBuildLAM call whose completion the layer cannot observe, because the call has no
 * completion routine or memory ran out.
 */
static NTSTATUS adapter_end_unseen_build(struct proxy *p, NTSTATUS status, void *lam)
{
    if (status == STATUS_PENDING) {
        source_set_unknown_writers();
        logical_set_incomplete(proxy_logical_pages(p));
        mapping_set_unseen();
    } else {
        adapter_on_lam_built(p, status, lam);
    }
    return status;
}

static NTSTATUS verify_adapter_build_lam(NDK_ADAPTER *pub, MDL *mdl, SIZE_T length, NDK_FN_REQUEST_COMPLETION done,
                                         PVOID context, NDK_LOGICAL_ADDRESS_MAPPING *lam, ULONG *size, ULONG *fbo)
{
    PROXY_CALL(p, pub, "NdkBuildLAM");
    NDK_ADAPTER *real = p ? p->real : NULL;
    const MDL *unlocked;
    unsigned flags;
    struct async_call *c = NULL;
    NTSTATUS status;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    mdl_check_chain(p, "NdkBuildLAM", mdl, length);
    mdl_check_pending(p, "NdkBuildLAM", mdl);
    unlocked = verify_on() ? mdl_find_unlocked(mdl, length) : NULL;
    flags = unlocked ? mdl_flags(unlocked) : 0; /* read now, because the completion may free the MDL */
    if (done)                                   /* NdkBuildLAM is the only routine for which `done` is optional */
        c = async_call_begin(p, "NdkBuildLAM", done, context, adapter_on_lam_built);
    async_call_set_subject(c, lam);
    async_call_set_mdls(c, mdl);
    status = real->Dispatch->NdkBuildLAM(real, mdl, length, async_call_routine(c, done), async_call_context(c, context),
                                         lam, size, fbo);
    if (unlocked && status != STATUS_BUFFER_TOO_SMALL) /* that status means: no memory was mapped */
        mdl_report_unlocked(p, "NdkBuildLAM", unlocked, flags);
    return c ? async_call_end(c, status) : adapter_end_unseen_build(p, status, lam);
}

/*
 * Searches the adapter's outstanding requests for one that uses a logical address in [first, first + size). Returns the
 * name of the routine that posted the request, and sets *at to the address. Returns NULL if no request uses such an
 * address.
 */
static const char *adapter_find_logical_use(const struct proxy *adapter, uint64_t first, uint64_t size, uint64_t *at)
{
    const char *routine = NULL;
    struct proxy *p = NULL;

    proxy_lock_all();
    while (!routine && (p = proxy_next_watched(p)))
        if (p->adapter && p->adapter->real == adapter->real)
            routine = queue_find_logical_use(p, first, size, at);
    proxy_unlock_all();
    return routine;
}

/*
 * Searches the adapter's outstanding requests for one that uses an address of the mapping. Returns the name of the
 * routine that posted the request, and sets *at to the address. Returns NULL if no request uses the mapping.
 */
static const char *adapter_find_lam_use(const struct proxy *adapter, const NDK_LOGICAL_ADDRESS_MAPPING *lam,
                                        uint64_t *at)
{
    const NDK_LOGICAL_ADDRESS *pages = lam->AdapterPageArray;
    const char *routine = NULL;
    ULONG run;

    for (ULONG i = 0; i < lam->AdapterPageCount && !routine; i += run) {
        run = posted_page_run(pages + i, lam->AdapterPageCount - i);
        routine = adapter_find_logical_use(adapter, (uint64_t)pages[i].QuadPart, (uint64_t)run * PAGE_SIZE, at);
    }
    return routine;
}

/*
 * Reports the release of a mapping that a request still uses. Skips a mapping without AdapterContext, because that
 * mapping was released earlier.
 */
static void adapter_check_lam_unused(const struct proxy *p, const NDK_LOGICAL_ADDRESS_MAPPING *lam)
{
    uint64_t at = 0;
    const char *user = lam && lam->AdapterContext ? adapter_find_lam_use(p, lam, &at) : NULL;

    if (user) {
        proxy_set_report_object(p);
        report_breach(&verify_rules[RULE_LAM_RELEASED], "NdkReleaseLAM", (uintptr_t)lam, at, 0, 0,
                      "a request of %s that has not completed uses the mapping", user);
    }
}

static VOID verify_adapter_release_lam(NDK_ADAPTER *pub, NDK_LOGICAL_ADDRESS_MAPPING *lam)
{
    PROXY_CALL(p, pub, "NdkReleaseLAM");
    NDK_ADAPTER *real = p ? p->real : NULL;
    struct mapping *m;

    if (!real)
        return;
    if (verify_on())
        adapter_check_lam_unused(p, lam);
    logical_remove(proxy_logical_pages(p), lam);
    m = mapping_begin_release(p, lam);
    real->Dispatch->NdkReleaseLAM(real, lam);
    mapping_end_release(m);
}

static const NDK_ADAPTER_DISPATCH adapter_dispatch = {
    .NdkQueryExtension = proxy_query_extension,
    .NdkQueryAdapterInfo = verify_adapter_query_info,
    .NdkCreateCq = verify_create_cq,
    .NdkCreatePd = verify_create_pd,
    .NdkCreateSharedEndpoint = verify_create_shared_endpoint,
    .NdkCreateConnector = verify_create_connector,
    .NdkCreateListener = verify_create_listener,
    .NdkBuildLAM = verify_adapter_build_lam,
    .NdkReleaseLAM = verify_adapter_release_lam,
};

const NDK_ADAPTER_INFO *proxy_adapter_info(const struct proxy *p)
{
    return &((const struct adapter *)proxy_adapter(p))->info;
}

bool proxy_has_adapter_info(const struct proxy *p)
{
    return ((const struct adapter *)proxy_adapter(p))->has_info;
}

struct logical_pages *proxy_logical_pages(const struct proxy *p)
{
    return &((struct adapter *)proxy_adapter(p))->pages;
}

static void adapter_free(struct proxy *p)
{
    logical_fini(proxy_logical_pages(p));
}

bool proxy_is_inherited(const struct proxy *p)
{
    return ((const struct adapter *)proxy_adapter(p))->generation != fork_generation();
}

NDK_ADAPTER *verify_wrap(NDK_ADAPTER *provider, const char *routine)
{
    struct proxy *p = proxy_create(sizeof(struct adapter), NdkObjectTypeAdapter, &adapter_dispatch, NULL);
    NDK_ADAPTER_INFO *info;
    ULONG size = sizeof *info;

    if (!p)
        return NULL;
    info = &((struct adapter *)p)->info;
    ((struct adapter *)p)->has_info = NT_SUCCESS(
        OWN_CALL(provider->Dispatch->NdkQueryAdapterInfo(provider, info, &size)));
    if (!((struct adapter *)p)->has_info)
        *info = (NDK_ADAPTER_INFO){ .Version = provider->Header.Version };
    memory_watch_frees();
    net_namespace_note();
    logical_init(proxy_logical_pages(p));
    p->on_free = adapter_free;
    p->created_by.entry = routine;
    proxy_set_real(p, provider);
    ((struct adapter *)p)->generation = fork_generation();
    proxy_insert(p);
    stall_start();
    return (NDK_ADAPTER *)p;
}

bool verify_is_wrapped(const NDK_ADAPTER *adapter)
{
    return proxy_exists(adapter);
}

/*
 * If the calling thread is in one of the adapter's callbacks, reports the close and returns true, because the close
 * would wait for the end of that callback.
 */
static bool adapter_check_callback(const struct proxy *p, const char *routine)
{
    const char *callback = verify_on() ? callback_of(p) : NULL;

    if (!callback)
        return false;
    proxy_set_report_object(p);
    report_breach(&verify_rules[RULE_ADAPTER_CLOSE_IN_CALLBACK], routine, (uintptr_t)p, 0, 0, 0,
                  "called in a callback of this adapter, %s; the adapter stays open", callback);
    return true;
}

bool verify_is_in_callback(const NDK_ADAPTER *adapter)
{
    return verify_on() && callback_of((const struct proxy *)adapter);
}

NDK_ADAPTER *verify_close(NDK_ADAPTER *adapter, const char *routine)
{
    struct adapter *a = (struct adapter *)adapter;
    NDK_ADAPTER *provider = a->p.real;
    bool inherited = a->generation != fork_generation();

    if (adapter_check_callback(&a->p, routine))
        return NULL;
    if (!proxy_begin_close(&a->p, routine))
        return NULL;
    /*
     * A child of fork does not wait, because nobody closes the parent's objects in the child. The provider's close of
     * the parent's adapter does nothing in a child.
     */
    if (inherited || objects_left_wait(&a->p, routine)) {
        proxy_end_close(&a->p);
    } else {
        atomic_store(&a->gave_up, true);
        provider = NULL;
    }
    if (!inherited)
        stall_stop();
    return provider;
}

bool verify_close_gave_up(NDK_ADAPTER *adapter)
{
    return atomic_exchange(&((struct adapter *)adapter)->gave_up, false);
}

void *verify_unwrap(void *object)
{
    return proxy_exists(object) ? ((struct proxy *)object)->real : object;
}
