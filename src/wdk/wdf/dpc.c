/* SPDX-License-Identifier: MIT */
/* Implements the framework's DPCs. After a DPC has been deleted, its callback does not run. */
#include "wdf.h"

#include "wdk/ke/dpc.h"
#include "wdk/ke/thread.h"
#include "wdk/wdf/callback.h"
#include "wdk/wdf/object.h"

struct wdf_dpc {
    struct wdf_object object;
    KDPC dpc;
    PFN_WDF_DPC routine;
    struct wdf_sync *sync; /* held during the callback, or NULL */
    atomic_bool stopping;  /* the object is being deleted: the DPC cannot be queued any more */
};

static VOID wdf_dpc_run(PKDPC Dpc, PVOID DeferredContext, PVOID SystemArgument1, PVOID SystemArgument2)
{
    struct wdf_dpc *d = DeferredContext;
    struct wdf_call call;

    UNREFERENCED_PARAMETER(Dpc);
    UNREFERENCED_PARAMETER(SystemArgument1);
    UNREFERENCED_PARAMETER(SystemArgument2);
    wdf_call_begin(&call, d->sync);
    d->routine((WDFDPC)d);
    wdf_call_end(&call, "EvtDpcFunc", (const void *)(uintptr_t)d->routine);
}

static bool wdf_dpc_cancel(struct wdf_dpc *d, bool wait)
{
    bool was = KeRemoveQueueDpc(&d->dpc);

    if (wait)
        dpc_flush();
    return was;
}

/* Cancels twice, because a running callback may have queued the DPC before `stopping` was set. */
static void wdf_dpc_stop(struct wdf_object *o)
{
    struct wdf_dpc *d = CONTAINING_RECORD(o, struct wdf_dpc, object);

    atomic_store(&d->stopping, true);
    (void)wdf_dpc_cancel(d, true);
    (void)wdf_dpc_cancel(d, true);
}

NTSTATUS WdfDpcCreate(PWDF_DPC_CONFIG Config, PWDF_OBJECT_ATTRIBUTES Attributes, WDFDPC *Dpc)
{
    struct wdf_sync *sync = NULL;
    struct wdf_object *o;
    struct wdf_dpc *d;
    NTSTATUS status;

    irql_check_max("WdfDpcCreate", DISPATCH_LEVEL);
    if (!Config || !Dpc || !Config->EvtDpcFunc)
        return STATUS_INVALID_PARAMETER;
    if (Config->Size != sizeof *Config)
        return STATUS_INFO_LENGTH_MISMATCH;
    status = Config->AutomaticSerialization ? wdf_serialize(Attributes, false, &sync) : STATUS_SUCCESS;
    if (!status)
        status = wdf_object_new_below_parent(WDF_DPC, sizeof *d, Attributes, &o);
    if (status)
        return status;
    d = CONTAINING_RECORD(o, struct wdf_dpc, object);
    d->routine = Config->EvtDpcFunc;
    d->sync = sync;
    KeInitializeDpc(&d->dpc, wdf_dpc_run, d);
    o->stop = wdf_dpc_stop;
    status = wdf_object_publish(o);
    if (NT_SUCCESS(status))
        *Dpc = (WDFDPC)d;
    return status;
}

BOOLEAN WdfDpcEnqueue(WDFDPC Dpc)
{
    struct wdf_dpc *d = wdf_object_lookup("WdfDpcEnqueue", Dpc, WDF_DPC);

    return d && !atomic_load(&d->stopping) && KeInsertQueueDpc(&d->dpc, NULL, NULL);
}

BOOLEAN WdfDpcCancel(WDFDPC Dpc, BOOLEAN Wait)
{
    struct wdf_dpc *d = wdf_object_lookup("WdfDpcCancel", Dpc, WDF_DPC);

    if (Wait)
        irql_check_max("WdfDpcCancel", PASSIVE_LEVEL);
    return d && wdf_dpc_cancel(d, Wait);
}

WDFOBJECT WdfDpcGetParentObject(WDFDPC Dpc)
{
    struct wdf_dpc *d = wdf_object_lookup("WdfDpcGetParentObject", Dpc, WDF_DPC);

    return d ? d->object.parent : NULL;
}

PKDPC WdfDpcWdmGetDpc(WDFDPC Dpc)
{
    struct wdf_dpc *d = wdf_object_lookup("WdfDpcWdmGetDpc", Dpc, WDF_DPC);

    return d ? &d->dpc : NULL;
}
