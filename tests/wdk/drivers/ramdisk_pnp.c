/* SPDX-License-Identifier: MIT */
/* The RAM disk's plug and play, device interface, attributes and notices of changes. */
#include <initguid.h>

#include "ramdisk_disk.h"

DEFINE_GUID(RAMDISK_CLASS, 0x6a1d0f5e, 0x3c1b, 0x4d0e, 0x9a, 0x11, 0x52, 0x41, 0x4d, 0x44, 0x49, 0x53);

/* Stores the line of the first expectation that is not met. */
#define EXPECT(condition)                      \
    do {                                       \
        if (!(condition) && !d->told.unmet)    \
            d->told.unmet = __LINE__;          \
    } while (0)

static PDRIVER_DISPATCH port_pnp;
static ULONG starts, queries, cancels, removes, refuse;

static NTSTATUS complete(PIRP irp, NTSTATUS status)
{
    irp->IoStatus.Status = status;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return status;
}

static DRIVER_DISPATCH dispatch_pnp;
static NTSTATUS dispatch_pnp(PDEVICE_OBJECT DeviceObject, PIRP Irp)
{
    UCHAR minor = IoGetCurrentIrpStackLocation(Irp)->MinorFunction;
    ULONG refused = refuse;

    PAGED_CODE();
    starts += minor == IRP_MN_START_DEVICE;
    queries += minor == IRP_MN_QUERY_REMOVE_DEVICE;
    cancels += minor == IRP_MN_CANCEL_REMOVE_DEVICE;
    removes += minor == IRP_MN_REMOVE_DEVICE;
    if (minor == IRP_MN_REMOVE_DEVICE)
        ramdisk_removal_begins();
    if (minor == IRP_MN_REMOVE_DEVICE)
        DbgPrint("ramdisk: %u starts, %u queries, %u cancels, %u removes\n", starts, queries, cancels, removes);
    if (refused == RAMDISK_REFUSE_START && minor == IRP_MN_START_DEVICE)
        return complete(Irp, STATUS_INSUFFICIENT_RESOURCES);
    if (refused == RAMDISK_FORGET_START && minor == IRP_MN_START_DEVICE)
        return complete(Irp, STATUS_SUCCESS);
    if (refused == RAMDISK_FORGET_REMOVE && minor == IRP_MN_REMOVE_DEVICE)
        return complete(Irp, STATUS_SUCCESS);
    if (refused == RAMDISK_REFUSE_REMOVE && minor == IRP_MN_QUERY_REMOVE_DEVICE) {
        refuse = 0;
        return complete(Irp, STATUS_DEVICE_BUSY);
    }
    return port_pnp(DeviceObject, Irp);
}

VOID ramdisk_hook_pnp(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    RTL_QUERY_REGISTRY_TABLE table[2] = {
        { .Flags = RTL_QUERY_REGISTRY_DIRECT | RTL_QUERY_REGISTRY_TYPECHECK, .Name = L"Refuse",
          .EntryContext = &refuse, .DefaultType = REG_DWORD << RTL_QUERY_REGISTRY_TYPECHECK_SHIFT },
    };

    (void)RtlQueryRegistryValues(RTL_REGISTRY_ABSOLUTE, path->Buffer, table, NULL, NULL);
    port_pnp = driver->MajorFunction[IRP_MJ_PNP];
    driver->MajorFunction[IRP_MJ_PNP] = dispatch_pnp;
}

static STOR_ADDR_BTL8 address_of(UCHAR lun)
{
    return (STOR_ADDR_BTL8){ .Type = STOR_ADDRESS_TYPE_BTL8, .AddressLength = STOR_ADDR_BTL8_ADDRESS_LENGTH,
                             .Lun = lun };
}

/* Called by HwFindAdapter. */
VOID ramdisk_set_features(struct disk *d, PDEVICE_OBJECT physical)
{
    BOOLEAN features[StorportFeatureMax + 1] = { TRUE };
    STOR_ADDR_BTL8 address = address_of(0);
    PSTOR_ADDRESS any = (PSTOR_ADDRESS)&address;

    EXPECT(StorPortSetFeatureList(NULL, 1, features) == STOR_STATUS_INVALID_PARAMETER);
    EXPECT(StorPortSetFeatureList(d, 1, NULL) == STOR_STATUS_INVALID_PARAMETER);
    EXPECT(StorPortSetFeatureList(d, 0, features) == STOR_STATUS_INVALID_PARAMETER);
    EXPECT(StorPortSetFeatureList(d, StorportFeatureMax + 1, features) == STOR_STATUS_INVALID_PARAMETER);
    EXPECT(StorPortSetFeatureList(d, StorportFeatureMax, features) == STOR_STATUS_SUCCESS);
    EXPECT(StorPortSetAdapterBusType(d, BusTypeMax) == STOR_STATUS_INVALID_PARAMETER);
    EXPECT(StorPortSetAdapterBusType(d, BusTypeVirtual) == STOR_STATUS_SUCCESS);
    EXPECT(StorPortGetSystemPortNumber(NULL, any) == STOR_STATUS_INVALID_PARAMETER);
    address.Port = 77;
    EXPECT(StorPortGetSystemPortNumber(d, any) == STOR_STATUS_SUCCESS && address.Port == 0);
    EXPECT(StorPortStateChangeDetected(d, STATE_CHANGE_BUS, any, 0, NULL, NULL) == STOR_STATUS_UNSUCCESSFUL);
    EXPECT(NT_SUCCESS(IoRegisterDeviceInterface(physical, &RAMDISK_CLASS, NULL, &d->interface_name)));
}

/* Called by HwInitialize. */
VOID ramdisk_enable_interface(struct disk *d)
{
    EXPECT(IoSetDeviceInterfaceState(&d->interface_name, TRUE) == STATUS_SUCCESS);
    RtlFreeUnicodeString(&d->interface_name);
}

/* Called while an INQUIRY to the unit runs. */
VOID ramdisk_announce(struct disk *d, UCHAR lun)
{
    STOR_ADDR_BTL8 address = address_of(lun), missing = address_of(9);
    PSTOR_ADDRESS any = (PSTOR_ADDRESS)&address;
    STOR_UNIT_ATTRIBUTES attributes = { .AsyncNotificationSupported = 1, .Reserved = 1 };

    EXPECT(StorPortSetFeatureList(d, 1, (BOOLEAN[]){ TRUE }) == STOR_STATUS_UNSUCCESSFUL);
    EXPECT(StorPortSetAdapterBusType(d, BusTypeSas) == STOR_STATUS_UNSUCCESSFUL);
    if (!d->announced)
        EXPECT(StorPortAsyncNotificationDetected(d, any, 0) == STOR_STATUS_INVALID_DEVICE_REQUEST);
    d->announced = TRUE;
    EXPECT(StorPortSetUnitAttributes(d, any, attributes) == STOR_STATUS_INVALID_PARAMETER);
    attributes.Reserved = 0;
    EXPECT(StorPortSetUnitAttributes(NULL, any, attributes) == STOR_STATUS_INVALID_PARAMETER);
    EXPECT(StorPortSetUnitAttributes(d, (PSTOR_ADDRESS)&missing, attributes) == STOR_STATUS_INVALID_PARAMETER);
    EXPECT(StorPortSetUnitAttributes(d, any, attributes) == STOR_STATUS_SUCCESS);
    address.Type = STOR_ADDRESS_TYPE_UNKNOWN;
    EXPECT(StorPortSetUnitAttributes(d, any, attributes) == STOR_STATUS_INVALID_PARAMETER);
    EXPECT(StorPortGetSystemPortNumber(d, any) == STOR_STATUS_INVALID_PARAMETER);
}

static HW_STATE_CHANGE state_changed;
static VOID state_changed(PVOID HwDeviceExtension, PVOID Context, SHORT AddressType, PVOID Address, ULONG Status)
{
    struct disk *d = HwDeviceExtension;

    EXPECT(Context == &d->told && AddressType == STOR_ADDRESS_TYPE_BTL8 && Address == &d->changed);
    EXPECT(Status == STOR_STATUS_SUCCESS && KeGetCurrentIrql() == DISPATCH_LEVEL);
    if (++d->told.changes < 2) /* the earlier notice has ended */
        EXPECT(StorPortStateChangeDetected(d, STATE_CHANGE_TARGET, Address, 0, state_changed, Context) ==
               STOR_STATUS_SUCCESS);
}

/* Makes both kinds of notices. The pause keeps their scan from ending before the later ones. */
VOID ramdisk_notify(struct disk *d)
{
    PSTOR_ADDRESS any = (PSTOR_ADDRESS)&d->changed;
    ULONG status = 77;

    d->changed = address_of(9);
    (void)StorPortPause(d, 60);
    EXPECT(StorPortAsyncNotificationDetected(d, any, 0) == STOR_STATUS_INVALID_DEVICE_REQUEST);
    d->changed = address_of(0);
    EXPECT(StorPortAsyncNotificationDetected(d, any, 0x100) == STOR_STATUS_INVALID_PARAMETER);
    EXPECT(StorPortAsyncNotificationDetected(d, NULL, 0) == STOR_STATUS_INVALID_PARAMETER);
    EXPECT(StorPortAsyncNotificationDetected(d, any, RAID_ASYNC_NOTIFY_FLAG_MEDIA_STATUS) == STOR_STATUS_SUCCESS);
    StorPortNotification(AsyncNotificationDetected, d, any, (ULONGLONG)0, &status);
    EXPECT(status == STOR_STATUS_BUSY);
    EXPECT(StorPortStateChangeDetected(d, 0, any, 0, NULL, NULL) == STOR_STATUS_INVALID_PARAMETER);
    EXPECT(StorPortStateChangeDetected(d, 8, any, 0, NULL, NULL) == STOR_STATUS_INVALID_PARAMETER);
    StorPortNotification(StateChangeDetectedCall, d, STATE_CHANGE_LUN, any, 0, state_changed, &d->told, &status);
    EXPECT(status == STOR_STATUS_SUCCESS);
    EXPECT(StorPortStateChangeDetected(d, STATE_CHANGE_LUN, any, 0, NULL, NULL) == STOR_STATUS_UNSUCCESSFUL);
    (void)StorPortResume(d);
}
