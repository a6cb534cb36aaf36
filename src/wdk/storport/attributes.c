/* SPDX-License-Identifier: MIT */
/*
 * Implements the routines with which a miniport reports its features, its units and their changes. The port has no
 * class driver above it, so it answers every change with a scan.
 */
#include <pthread.h>

#include "storport.h"

#include "wdk/storport/port.h"

/* The features are controls that the port may send. It sends none of them, so it keeps no list. */
ULONG StorPortSetFeatureList(PVOID HwDeviceExtension, ULONG FeatureCount, PBOOLEAN FeatureList)
{
    irql_check_max("StorPortSetFeatureList", DISPATCH_LEVEL);
    if (!HwDeviceExtension || !FeatureList || !FeatureCount || FeatureCount > StorportFeatureMax)
        return STOR_STATUS_INVALID_PARAMETER;
    return port_of(HwDeviceExtension)->finding ? STOR_STATUS_SUCCESS : STOR_STATUS_UNSUCCESSFUL;
}

ULONG StorPortSetAdapterBusType(PVOID HwDeviceExtension, STORAGE_BUS_TYPE BusType)
{
    irql_check_max("StorPortSetAdapterBusType", DISPATCH_LEVEL);
    if (!HwDeviceExtension || (ULONG)BusType >= BusTypeMax)
        return STOR_STATUS_INVALID_PARAMETER;
    if (!port_of(HwDeviceExtension)->finding)
        return STOR_STATUS_UNSUCCESSFUL;
    port_of(HwDeviceExtension)->bus_type = BusType;
    return STOR_STATUS_SUCCESS;
}

ULONG StorPortGetSystemPortNumber(PVOID HwDeviceExtension, PSTOR_ADDRESS Address)
{
    irql_check_max("StorPortGetSystemPortNumber", DISPATCH_LEVEL);
    if (!HwDeviceExtension || !Address || Address->Type != STOR_ADDRESS_TYPE_BTL8)
        return STOR_STATUS_INVALID_PARAMETER;
    Address->Port = (USHORT)port_of(HwDeviceExtension)->number;
    return STOR_STATUS_SUCCESS;
}

/* ---- Units ------------------------------------------------------------------------------------------------------- */

static bool port_address_is_valid(const STOR_ADDRESS *address)
{
    return address && address->Type == STOR_ADDRESS_TYPE_BTL8 &&
           address->AddressLength >= STOR_ADDR_BTL8_ADDRESS_LENGTH;
}

/* Returns the unit, or NULL if there is none at the address. Requires the lock. */
static struct port_unit *port_unit_at(struct port_adapter *a, const STOR_ADDRESS *address)
{
    const STOR_ADDR_BTL8 *btl = (const STOR_ADDR_BTL8 *)(const void *)address;
    struct port_unit *u = port_unit_get(a, btl->Path, btl->Target, btl->Lun, false);

    return u && (u->found || u->active) ? u : NULL;
}

ULONG StorPortSetUnitAttributes(PVOID HwDeviceExtension, PSTOR_ADDRESS Address, STOR_UNIT_ATTRIBUTES Attributes)
{
    struct port_adapter *a;
    struct port_unit *u;

    irql_check_max("StorPortSetUnitAttributes", DISPATCH_LEVEL);
    if (!HwDeviceExtension || !port_address_is_valid(Address) || Attributes.Reserved)
        return STOR_STATUS_INVALID_PARAMETER;
    a = port_of(HwDeviceExtension);
    pthread_mutex_lock(&a->lock);
    u = port_unit_at(a, Address);
    if (u)
        u->attributes = Attributes;
    pthread_mutex_unlock(&a->lock);
    return u ? STOR_STATUS_SUCCESS : STOR_STATUS_INVALID_PARAMETER;
}

/* ---- Notices ----------------------------------------------------------------------------------------------------- */

/*
 * Requests a scan, which ends the notice. `pending` points to the member of a->notices that is true until then. If no
 * scan is possible, sets *pending to false.
 */
static ULONG port_notice_scan(struct port_adapter *a, bool *pending)
{
    if (port_scan_later(a))
        return STOR_STATUS_SUCCESS;
    pthread_mutex_lock(&a->lock);
    *pending = false;
    pthread_mutex_unlock(&a->lock);
    return STOR_STATUS_UNSUCCESSFUL;
}

ULONG port_notice_async(struct port_adapter *a, const STOR_ADDRESS *address, ULONGLONG flags)
{
    ULONG status = STOR_STATUS_SUCCESS;
    struct port_unit *u;

    if (!port_address_is_valid(address) || flags & ~(ULONGLONG)RAID_ASYNC_NOTIFY_SUPPORTED_FLAGS)
        return STOR_STATUS_INVALID_PARAMETER;
    pthread_mutex_lock(&a->lock);
    u = port_unit_at(a, address);
    if (!u || !u->attributes.AsyncNotificationSupported)
        status = STOR_STATUS_INVALID_DEVICE_REQUEST;
    else if (a->notices.async)
        status = STOR_STATUS_BUSY;
    else
        a->notices.async = true;
    pthread_mutex_unlock(&a->lock);
    return status ? status : port_notice_scan(a, &a->notices.async);
}

ULONG port_notice_state(struct port_adapter *a, ULONG entities, STOR_ADDRESS *address, PHW_STATE_CHANGE routine,
                        void *context)
{
    bool busy;

    if (!port_address_is_valid(address) || !entities ||
        entities & ~(ULONG)(STATE_CHANGE_LUN | STATE_CHANGE_TARGET | STATE_CHANGE_BUS))
        return STOR_STATUS_INVALID_PARAMETER;
    pthread_mutex_lock(&a->lock);
    busy = a->notices.state;
    if (!busy) {
        a->notices.state = true;
        a->notices.routine = routine;
        a->notices.context = context;
        a->notices.address = address;
    }
    pthread_mutex_unlock(&a->lock);
    return busy ? STOR_STATUS_UNSUCCESSFUL : port_notice_scan(a, &a->notices.state);
}

/* The notices end before the call of the miniport's routine, which may make the next notice. */
void port_end_notices(struct port_adapter *a, const struct port_notices *notices)
{
    struct port_inside inside;

    pthread_mutex_lock(&a->lock);
    if (notices->async)
        a->notices.async = false;
    if (notices->state)
        a->notices.state = false;
    pthread_mutex_unlock(&a->lock);
    if (!notices->state || !notices->routine)
        return;
    inside = port_enter(DISPATCH_LEVEL);
    KeAcquireSpinLockAtDpcLevel(&a->start_io_lock);
    notices->routine(a->extension->data, notices->context, (SHORT)notices->address->Type, notices->address,
                     STOR_STATUS_SUCCESS);
    KeReleaseSpinLockFromDpcLevel(&a->start_io_lock);
    port_exit(&inside, "HwStateChange", (const void *)(uintptr_t)notices->routine);
}

ULONG StorPortAsyncNotificationDetected(PVOID HwDeviceExtension, PSTOR_ADDRESS Address, ULONGLONG Flags)
{
    irql_check_max("StorPortAsyncNotificationDetected", DISPATCH_LEVEL);
    if (!HwDeviceExtension)
        return STOR_STATUS_INVALID_PARAMETER;
    return port_notice_async(port_of(HwDeviceExtension), Address, Flags);
}

ULONG StorPortStateChangeDetected(PVOID HwDeviceExtension, ULONG ChangedEntity, PSTOR_ADDRESS Address, ULONG Attributes,
                                  PHW_STATE_CHANGE HwStateChange, PVOID HwStateChangeContext)
{
    UNREFERENCED_PARAMETER(Attributes);
    irql_check_max("StorPortStateChangeDetected", DISPATCH_LEVEL);
    if (!HwDeviceExtension)
        return STOR_STATUS_INVALID_PARAMETER;
    return port_notice_state(port_of(HwDeviceExtension), ChangedEntity, Address, HwStateChange, HwStateChangeContext);
}
