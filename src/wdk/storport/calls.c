/* SPDX-License-Identifier: MIT */
/*
 * Implements the StorPort routines with which a miniport completes requests, controls their flow and queries the port.
 * All these routines may be called at DISPATCH_LEVEL and from HwStartIo.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "storport.h"

#include "wdk/common/bug_code.h"
#include "wdk/common/check.h"
#include "wdk/ke/clock.h"
#include "wdk/ke/timer.h"
#include "wdk/storport/port.h"

/* ---- StorPortNotification ---------------------------------------------------------------------------------------- */

VOID port_timer_expired(PKDPC Dpc, PVOID DeferredContext, PVOID SystemArgument1, PVOID SystemArgument2)
{
    struct port_adapter *a = DeferredContext;
    PHW_TIMER routine = atomic_load(&a->timer_routine);
    struct port_inside inside;

    UNREFERENCED_PARAMETER(Dpc);
    UNREFERENCED_PARAMETER(SystemArgument1);
    UNREFERENCED_PARAMETER(SystemArgument2);
    inside = port_enter(DISPATCH_LEVEL);
    routine(a->extension->data);
    port_exit(&inside, "HwTimer", (const void *)(uintptr_t)routine);
}

static void port_request_timer(struct port_adapter *a, PHW_TIMER routine, ULONG microseconds, const void *by)
{
    if (!microseconds) {
        (void)timer_cancel(&a->timer);
        return;
    }
    pthread_mutex_lock(&a->lock);
    if (!a->removing) {
        atomic_store(&a->timer_routine, routine);
        (void)timer_set(&a->timer, -(LONGLONG)microseconds * 10, 0, &a->timer_dpc, by);
    }
    pthread_mutex_unlock(&a->lock);
}

static void port_set_link(struct port_adapter *a, bool down)
{
    pthread_mutex_lock(&a->lock);
    a->link_down = down;
    pthread_mutex_unlock(&a->lock);
    if (!down)
        port_pump(a);
}

static void port_handle_reset(struct port_adapter *a)
{
    pthread_mutex_lock(&a->lock);
    port_pause_after_reset(a);
    pthread_mutex_unlock(&a->lock);
}

/*
 * Handles AsyncNotificationDetected and StateChangeDetectedCall. The last argument of both points to the ULONG that
 * receives the status.
 */
static void port_notice(struct port_adapter *a, SCSI_NOTIFICATION_TYPE type, va_list args)
{
    ULONG entities = type == StateChangeDetectedCall ? va_arg(args, ULONG) : 0, status;
    STOR_ADDRESS *address = va_arg(args, STOR_ADDRESS *);
    PHW_STATE_CHANGE routine;
    void *context;

    if (type == AsyncNotificationDetected) {
        status = port_notice_async(a, address, va_arg(args, ULONGLONG));
    } else {
        (void)va_arg(args, ULONG); /* the attributes, which concern the host of virtual machines */
        routine = va_arg(args, PHW_STATE_CHANGE);
        context = va_arg(args, void *);
        status = port_notice_state(a, entities, address, routine, context);
    }
    *va_arg(args, PULONG) = status;
}

static void port_notify(struct port_adapter *a, SCSI_NOTIFICATION_TYPE type, va_list args, const void *by)
{
    PHW_TIMER routine;

    switch (type) {
    case RequestComplete:
        port_complete(a, va_arg(args, void *), by);
        break;
    case RequestTimerCall:
        routine = va_arg(args, PHW_TIMER);
        port_request_timer(a, routine, va_arg(args, ULONG), by);
        break;
    case BusChangeDetected:
        (void)port_scan_later(a);
        break;
    case ResetDetected:
        port_handle_reset(a);
        break;
    case LinkUp:
    case LinkDown:
        port_set_link(a, type == LinkDown);
        break;
    case QueryTickCount:
        KeQueryTickCount(va_arg(args, PLARGE_INTEGER));
        break;
    case AsyncNotificationDetected:
    case StateChangeDetectedCall:
        port_notice(a, type, args);
        break;
    case BufferOverrunDetected:
        check_bug(DRIVER_OVERRAN_STACK_BUFFER, 0, 0, 0, 0);
    case NextRequest:
    case NextLuRequest:
    case WMIEvent:
    case WMIReregister:
    case TraceNotification:
    case IoTargetRequestServiceTime:
        break;
    default:
        if (check_on())
            check_failed(CHECK_ASSERTION, "StorPortNotification", (uintptr_t)a, type, 0, 0,
                         "notification type 0x%x, which virtual miniports do not have", type);
    }
}

VOID StorPortNotification(SCSI_NOTIFICATION_TYPE NotificationType, PVOID HwDeviceExtension, ...)
{
    va_list args;

    irql_check_max("StorPortNotification", DISPATCH_LEVEL);
    va_start(args, HwDeviceExtension);
    port_notify(port_of(HwDeviceExtension), NotificationType, args, __builtin_return_address(0));
    va_end(args);
}

VOID StorPortCompleteRequest(PVOID HwDeviceExtension, UCHAR PathId, UCHAR TargetId, UCHAR Lun, UCHAR SrbStatus)
{
    irql_check_max("StorPortCompleteRequest", DISPATCH_LEVEL);
    port_complete_all(port_of(HwDeviceExtension), (UCHAR[]){ PathId, TargetId, Lun }, SrbStatus,
                      __builtin_return_address(0));
}

/* ---- Requests' memory -------------------------------------------------------------------------------------------- */

static PMDL port_mdl_of_srb(struct port_adapter *a, const void *srb)
{
    struct port_request *r;
    PMDL mdl;

    pthread_mutex_lock(&a->lock);
    r = port_find(a, srb);
    mdl = r ? r->mdl : NULL;
    pthread_mutex_unlock(&a->lock);
    return mdl;
}

ULONG StorPortGetSystemAddress(PVOID HwDeviceExtension, PSCSI_REQUEST_BLOCK Srb, PVOID *SystemAddress)
{
    PMDL mdl = port_mdl_of_srb(port_of(HwDeviceExtension), Srb);

    irql_check_max("StorPortGetSystemAddress", DISPATCH_LEVEL);
    if (!mdl || !SystemAddress)
        return STOR_STATUS_INVALID_PARAMETER;
    *SystemAddress = MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority);
    return STOR_STATUS_SUCCESS;
}

ULONG StorPortGetOriginalMdl(PVOID HwDeviceExtension, PSCSI_REQUEST_BLOCK Srb, PVOID *Mdl)
{
    irql_check_max("StorPortGetOriginalMdl", DISPATCH_LEVEL);
    if (!Mdl)
        return STOR_STATUS_INVALID_PARAMETER;
    *Mdl = port_mdl_of_srb(port_of(HwDeviceExtension), Srb);
    return STOR_STATUS_SUCCESS;
}

/* ---- Units ------------------------------------------------------------------------------------------------------- */

/*
 * Returns the unit's extension if an INQUIRY has found the unit, or if the miniport has a request to the unit that is
 * not yet completed. Otherwise returns NULL.
 */
PVOID StorPortGetLogicalUnit(PVOID HwDeviceExtension, UCHAR PathId, UCHAR TargetId, UCHAR Lun)
{
    struct port_adapter *a = port_of(HwDeviceExtension);
    struct port_unit *u;
    void *extension;

    irql_check_max("StorPortGetLogicalUnit", DISPATCH_LEVEL);
    pthread_mutex_lock(&a->lock);
    u = port_unit_get(a, PathId, TargetId, Lun, false);
    extension = u && (u->found || u->active) ? u->extension : NULL;
    pthread_mutex_unlock(&a->lock);
    return extension;
}

enum flow { FLOW_PAUSE, FLOW_RESUME, FLOW_BUSY, FLOW_READY };

/* Pauses or resumes an adapter or unit, or marks it as busy or ready. Requires the lock. */
static void port_apply_flow(enum flow flow, ULONG value, ULONG active, int64_t *paused_until, ULONG *busy_until)
{
    if (flow == FLOW_PAUSE)
        *paused_until = clock_after(clock_interrupt(), (int64_t)value * CLOCK_UNITS);
    else if (flow == FLOW_RESUME)
        *paused_until = 0;
    else if (flow == FLOW_READY)
        *busy_until = UINT32_MAX;
    else if (active) /* without an active request, no completion would end the busy state */
        *busy_until = value < active ? active - value : 0;
}

static BOOLEAN port_set_adapter_flow(PVOID extension, const char *routine, enum flow flow, ULONG value)
{
    struct port_adapter *a = port_of(extension);

    irql_check_max(routine, DISPATCH_LEVEL);
    pthread_mutex_lock(&a->lock);
    port_apply_flow(flow, value, a->active, &a->paused_until, &a->busy_until);
    pthread_mutex_unlock(&a->lock);
    if (flow == FLOW_RESUME || flow == FLOW_READY)
        port_pump(a);
    return TRUE;
}

static BOOLEAN port_set_unit_flow(PVOID extension, const char *routine, const UCHAR address[3], enum flow flow,
                                  ULONG value)
{
    struct port_adapter *a = port_of(extension);
    struct port_unit *u;

    irql_check_max(routine, DISPATCH_LEVEL);
    pthread_mutex_lock(&a->lock);
    u = port_unit_get(a, address[0], address[1], address[2], false);
    if (u)
        port_apply_flow(flow, value, u->active, &u->paused_until, &u->busy_until);
    pthread_mutex_unlock(&a->lock);
    if (u && (flow == FLOW_RESUME || flow == FLOW_READY))
        port_pump(a);
    return u != NULL;
}

BOOLEAN StorPortPause(PVOID HwDeviceExtension, ULONG Timeout)
{
    return port_set_adapter_flow(HwDeviceExtension, "StorPortPause", FLOW_PAUSE, Timeout);
}

BOOLEAN StorPortResume(PVOID HwDeviceExtension)
{
    return port_set_adapter_flow(HwDeviceExtension, "StorPortResume", FLOW_RESUME, 0);
}

BOOLEAN StorPortBusy(PVOID HwDeviceExtension, ULONG RequestsToComplete)
{
    return port_set_adapter_flow(HwDeviceExtension, "StorPortBusy", FLOW_BUSY, RequestsToComplete);
}

BOOLEAN StorPortReady(PVOID HwDeviceExtension)
{
    return port_set_adapter_flow(HwDeviceExtension, "StorPortReady", FLOW_READY, 0);
}

BOOLEAN StorPortPauseDevice(PVOID HwDeviceExtension, UCHAR PathId, UCHAR TargetId, UCHAR Lun, ULONG Timeout)
{
    return port_set_unit_flow(HwDeviceExtension, "StorPortPauseDevice", (UCHAR[]){ PathId, TargetId, Lun }, FLOW_PAUSE,
                              Timeout);
}

BOOLEAN StorPortResumeDevice(PVOID HwDeviceExtension, UCHAR PathId, UCHAR TargetId, UCHAR Lun)
{
    return port_set_unit_flow(HwDeviceExtension, "StorPortResumeDevice", (UCHAR[]){ PathId, TargetId, Lun },
                              FLOW_RESUME, 0);
}

BOOLEAN StorPortDeviceBusy(PVOID HwDeviceExtension, UCHAR PathId, UCHAR TargetId, UCHAR Lun, ULONG RequestsToComplete)
{
    return port_set_unit_flow(HwDeviceExtension, "StorPortDeviceBusy", (UCHAR[]){ PathId, TargetId, Lun }, FLOW_BUSY,
                              RequestsToComplete);
}

BOOLEAN StorPortDeviceReady(PVOID HwDeviceExtension, UCHAR PathId, UCHAR TargetId, UCHAR Lun)
{
    return port_set_unit_flow(HwDeviceExtension, "StorPortDeviceReady", (UCHAR[]){ PathId, TargetId, Lun }, FLOW_READY,
                              0);
}

BOOLEAN StorPortSetDeviceQueueDepth(PVOID HwDeviceExtension, UCHAR PathId, UCHAR TargetId, UCHAR Lun, ULONG Depth)
{
    struct port_adapter *a = port_of(HwDeviceExtension);
    struct port_unit *u;
    bool set;

    irql_check_max("StorPortSetDeviceQueueDepth", DISPATCH_LEVEL);
    pthread_mutex_lock(&a->lock);
    u = port_unit_get(a, PathId, TargetId, Lun, false);
    set = u && Depth && Depth <= a->config.MaxIOsPerLun;
    if (set)
        u->depth = Depth;
    pthread_mutex_unlock(&a->lock);
    return set;
}

/* ---- Other calls ------------------------------------------------------------------------------------------------- */

ULONG StorPortCompleteServiceIrp(PVOID HwDeviceExtension, PVOID Irp)
{
    UNREFERENCED_PARAMETER(HwDeviceExtension);
    irql_check_max("StorPortCompleteServiceIrp", DISPATCH_LEVEL);
    if (!Irp)
        return STOR_STATUS_INVALID_PARAMETER;
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
    return STOR_STATUS_SUCCESS;
}

BOOLEAN StorPortEnablePassiveInitialization(PVOID DeviceExtension,
                                            PHW_PASSIVE_INITIALIZE_ROUTINE HwPassiveInitializeRoutine)
{
    struct port_adapter *a = port_of(DeviceExtension);
    bool early = !atomic_load(&a->running);

    if (early)
        a->passive = HwPassiveInitializeRoutine;
    return early;
}

VOID StorPortLogError(PVOID HwDeviceExtension, PSCSI_REQUEST_BLOCK Srb, UCHAR PathId, UCHAR TargetId, UCHAR Lun,
                      ULONG ErrorCode, ULONG UniqueId)
{
    struct port_adapter *a = port_of(HwDeviceExtension);

    UNREFERENCED_PARAMETER(Srb);
    (void)DbgPrint("event log: %wZ: %u:%u:%u: storage error 0x%04X, unique value %u\n",
                   &a->driver->DriverExtension->ServiceKeyName, PathId, TargetId, Lun, ErrorCode, UniqueId);
}

VOID StorPortDebugPrint(ULONG DebugPrintLevel, PCCHAR DebugMessage, ...)
{
    va_list args;

    UNREFERENCED_PARAMETER(DebugPrintLevel);
    va_start(args, DebugMessage);
    (void)vDbgPrintEx(DPFLTR_DEFAULT_ID, DPFLTR_ERROR_LEVEL, DebugMessage, args);
    va_end(args);
}

VOID StorPortStallExecution(ULONG Delay)
{
    KeStallExecutionProcessor(Delay);
}

VOID StorPortMoveMemory(PVOID WriteBuffer, PVOID ReadBuffer, ULONG Length)
{
    memmove(WriteBuffer, ReadBuffer, Length);
}

VOID StorPortQuerySystemTime(PLARGE_INTEGER CurrentTime)
{
    KeQuerySystemTime(CurrentTime);
}

ULONG StorPortQueryPerformanceCounter(PVOID HwDeviceExtension, PLARGE_INTEGER PerformanceFrequency,
                                      PLARGE_INTEGER PerformanceCounter)
{
    UNREFERENCED_PARAMETER(HwDeviceExtension);
    if (!PerformanceCounter)
        return STOR_STATUS_INVALID_PARAMETER;
    *PerformanceCounter = KeQueryPerformanceCounter(PerformanceFrequency);
    return STOR_STATUS_SUCCESS;
}

ULONG StorPortGetCurrentIrql(PVOID HwDeviceExtension, PKIRQL Irql)
{
    UNREFERENCED_PARAMETER(HwDeviceExtension);
    if (!Irql)
        return STOR_STATUS_INVALID_PARAMETER;
    *Irql = irql_now();
    return STOR_STATUS_SUCCESS;
}

ULONG StorPortGetDeviceObjects(PVOID HwDeviceExtension, PVOID *AdapterDeviceObject, PVOID *PhysicalDeviceObject,
                               PVOID *LowerDeviceObject)
{
    if (!HwDeviceExtension || !AdapterDeviceObject || !PhysicalDeviceObject || !LowerDeviceObject)
        return STOR_STATUS_INVALID_PARAMETER;
    *AdapterDeviceObject = port_of(HwDeviceExtension)->device;
    *PhysicalDeviceObject = *LowerDeviceObject = port_of(HwDeviceExtension)->lower;
    return STOR_STATUS_SUCCESS;
}
