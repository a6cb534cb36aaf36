/* SPDX-License-Identifier: MIT */
/*
 * Implements the routines with which a miniport reports its features, its units and their changes. The port has no
 * class driver above it, so it answers every change with a scan. The section "Notices" has the table of a notice's
 * states.
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
 * The adapter has at most one notice of each kind. scan.c processes the notices in rounds, of which at most one runs at
 * a time. All changes of a notice's state happen with the adapter's lock held:
 *
 *     state      event                                     next state  what the port does
 *     none       the miniport's call, a scan is possible   accepted    requests a round, returns STOR_STATUS_SUCCESS
 *     none       the call, no scan is possible             none        returns STOR_STATUS_UNSUCCESSFUL
 *     accepted   a round begins                            in process  copies the notice, and scans
 *     accepted,  the call                                  the same    returns STOR_STATUS_BUSY or, for a state
 *     in process                                                       change, STOR_STATUS_UNSUCCESSFUL
 *     in process the round ends                            none        then calls HwStateChange
 *
 * The flag in a->notices is set while the notice is accepted or in process. The invariant: the flag is set only
 * together with a successful request of a round. No round can be requested after the removal has set `no_scan`, and the
 * removal waits for the rounds that were requested before. Therefore HwStateChange is called exactly once for each
 * accepted notice, before the miniport is stopped, and is not called for any other notice. A round that begins after
 * `no_scan` was set does not scan, and passes STOR_STATUS_UNSUCCESSFUL to HwStateChange.
 */
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
    else if (!port_scan_later_locked(a))
        status = STOR_STATUS_UNSUCCESSFUL;
    else
        a->notices.async = true;
    pthread_mutex_unlock(&a->lock);
    return status;
}

ULONG port_notice_state(struct port_adapter *a, ULONG entities, STOR_ADDRESS *address, PHW_STATE_CHANGE routine,
                        void *context)
{
    bool accepted;

    if (!port_address_is_valid(address) || !entities ||
        entities & ~(ULONG)(STATE_CHANGE_LUN | STATE_CHANGE_TARGET | STATE_CHANGE_BUS))
        return STOR_STATUS_INVALID_PARAMETER;
    pthread_mutex_lock(&a->lock);
    accepted = !a->notices.state && port_scan_later_locked(a);
    if (accepted) {
        a->notices.state = true;
        a->notices.routine = routine;
        a->notices.context = context;
        a->notices.address = address;
    }
    pthread_mutex_unlock(&a->lock);
    return accepted ? STOR_STATUS_SUCCESS : STOR_STATUS_UNSUCCESSFUL;
}

/* The notices end before the call of the miniport's routine, which may make the next notice. */
void port_end_notices(struct port_adapter *a, const struct port_notices *notices, ULONG status)
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
    notices->routine(a->extension->data, notices->context, (SHORT)notices->address->Type, notices->address, status);
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
