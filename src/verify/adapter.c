/* SPDX-License-Identifier: MIT */
/* Adapters: opened, closed, and what is made from them. See verify.h. */
#include <time.h>

#include "verify/proxy.h"
#include "verify/verify.h"

#include "openndk/adapter.h"
#include "wdk/common/address_map.h"
#include "wdk/common/interface_map.h"
#include "wdk/common/live.h"
#include "wdk/ndk/adapters.h"

enum { PATIENCE = 300 }; /* times 10 ms */

static NTSTATUS query_info(NDK_ADAPTER *pub, NDK_ADAPTER_INFO *info, ULONG *size)
{
    struct proxy *p = ENTER(pub, "NdkQueryAdapterInfo");
    NDK_ADAPTER *real = p ? p->real : NULL;

    irql_check_max("NdkQueryAdapterInfo", PASSIVE_LEVEL);
    return real ? real->Dispatch->NdkQueryAdapterInfo(real, info, size) : STATUS_INVALID_DEVICE_STATE;
}

static NTSTATUS build_lam(NDK_ADAPTER *pub, MDL *mdl, SIZE_T length, NDK_FN_REQUEST_COMPLETION done, PVOID context,
                          NDK_LOGICAL_ADDRESS_MAPPING *lam, ULONG *size, ULONG *fbo)
{
    struct proxy *p = ENTER(pub, "NdkBuildLAM");
    NDK_ADAPTER *real = p ? p->real : NULL;
    struct request *r;

    if (!real)
        return STATUS_INVALID_DEVICE_STATE;
    r = pend_begin(p, "NdkBuildLAM", done, context, NULL);
    return pend_answer(r, real->Dispatch->NdkBuildLAM(real, mdl, length, pend_routine(r, done),
                                                         pend_context(r, context), lam, size, fbo));
}

/* Of one that was released before nothing is left to look at. */
static void check_unused(const struct proxy *p, const NDK_LOGICAL_ADDRESS_MAPPING *lam)
{
    uint64_t at = 0;
    const char *user = lam && lam->AdapterContext ? filter_find_user(p, lam, &at) : NULL;

    if (user)
        check_failed(CHECK_NDK_LAM_RELEASED, "NdkReleaseLAM", (uintptr_t)lam, at, 0, 0,
                     "a request of %s that has not completed uses the mapping", user);
}

static VOID release_lam(NDK_ADAPTER *pub, NDK_LOGICAL_ADDRESS_MAPPING *lam)
{
    struct proxy *p = ENTER(pub, "NdkReleaseLAM");
    NDK_ADAPTER *real = p ? p->real : NULL;

    if (!real)
        return;
    if (check_on())
        check_unused(p, lam);
    real->Dispatch->NdkReleaseLAM(real, lam);
}

static const NDK_ADAPTER_DISPATCH dispatch = {
    .NdkQueryExtension = proxy_query_extension,
    .NdkQueryAdapterInfo = query_info,
    .NdkCreateCq = filter_create_cq,
    .NdkCreatePd = filter_create_pd,
    .NdkCreateSharedEndpoint = filter_create_shared_endpoint,
    .NdkCreateConnector = filter_create_connector,
    .NdkCreateListener = filter_create_listener,
    .NdkBuildLAM = build_lam,
    .NdkReleaseLAM = release_lam,
};

NTSTATUS ndk_filter_open(NDK_VERSION version, NET_IFINDEX index, NDK_ADAPTER **out)
{
    bool wanted = check_on() || address_map_any();
    struct proxy *p = wanted ? proxy_make(sizeof *p, NdkObjectTypeAdapter, &dispatch, NULL) : NULL;
    NDK_ADAPTER *real = NULL;
    NTSTATUS status;

    if (wanted && !p)
        return STATUS_INSUFFICIENT_RESOURCES;
    if (p)
        proxy_enlist(p);
    status = adapters_open(version, interface_map_host(index), out ? &real : NULL);
    if (NT_SUCCESS(status)) {
        ondk_use_windows_families(real, 1);
        *out = p ? (NDK_ADAPTER *)p : real;
    }
    if (NT_SUCCESS(status) && p)
        proxy_give(p, real);
    else if (NT_SUCCESS(status))
        live_add(LIVE_NDK_OBJECT, real, "NDK_ADAPTER"); /* once, however often it is opened */
    else if (p)
        proxy_discard(p);
    return status;
}

/* A driver that forgot to close something would hang without a word. */
static void tell_what_is_waited_for(struct proxy *p)
{
    FILE *out = check_output();

    fprintf(out, "WskCloseNdkAdapter waits for %d NDK object(s) that are not closed:\n", atomic_load(&p->children));
    (void)live_report(out);
    fflush(out);
}

/* Of this open of the adapter: the provider knows of all of them together. */
static void wait_for_objects(struct proxy *p)
{
    const struct timespec pause = { 0, 10 * 1000 * 1000 };

    for (int i = 0; atomic_load(&p->children) > 0; i++) {
        if (i == PATIENCE)
            tell_what_is_waited_for(p);
        nanosleep(&pause, NULL);
    }
}

bool ndk_filter_close(NDK_ADAPTER *adapter)
{
    struct proxy *p = (struct proxy *)adapter;
    enum adapters_closed closed;

    if (proxy_known(adapter)) {
        if (!proxy_begin_close(p, "WskCloseNdkAdapter"))
            return false;
        wait_for_objects(p);
        adapters_close(p->real);
        proxy_end(p);
        return true;
    }
    closed = adapters_close(adapter);
    if (closed == ADAPTERS_CLOSED)
        live_remove(LIVE_NDK_OBJECT, adapter);
    if (closed != ADAPTERS_UNKNOWN)
        return true;
    if (check_on())
        check_failed(CHECK_HANDLE_INVALID, "WskCloseNdkAdapter", (uintptr_t)adapter, 0, 0, 0,
                     "%p is no open NDK_ADAPTER", (void *)adapter);
    return false;
}

NDK_ADAPTER *ndk_filter_real(NDK_ADAPTER *adapter)
{
    return proxy_known(adapter) ? ((struct proxy *)adapter)->real : adapter;
}
