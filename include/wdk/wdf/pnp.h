/* SPDX-License-Identifier: MIT */
/*
 * Plug and play, as far as drivers of software devices need it. If a driver has set EvtDriverDeviceAdd, the load adds
 * one device that the system has enumerated without hardware: it calls EvtDriverDeviceAdd, and then starts the device.
 * The unload removes the device before EvtDriverUnload. The device never sleeps and is not removed otherwise.
 *
 *   start    EvtDevicePrepareHardware, EvtDeviceD0Entry, EvtDeviceD0EntryPostInterruptsEnabled, power-managed queues
 *            deliver, EvtDeviceSelfManagedIoInit, interfaces are enabled
 *   removal  EvtDeviceQueryRemove; interfaces are disabled, EvtDeviceSelfManagedIoSuspend, power-managed queues stop,
 *            EvtDeviceD0ExitPreInterruptsDisabled, EvtDeviceD0Exit, EvtDeviceReleaseHardware,
 *            EvtDeviceSelfManagedIoFlush, EvtDeviceSelfManagedIoCleanup, the deletion of the device
 *
 * All these callbacks are called at PASSIVE_LEVEL. If a callback of the start fails, the steps before it are undone,
 * the device is removed, and the load fails.
 */
#ifndef ONDK_WDK_WDF_PNP_H
#define ONDK_WDK_WDF_PNP_H

#include "device.h"

EXTERN_C_START

DECLARE_ONDK_WDF_HANDLE(WDFCMRESLIST);

typedef enum _WDF_POWER_DEVICE_STATE {
    WdfPowerDeviceInvalid = 0,
    WdfPowerDeviceD0,
    WdfPowerDeviceD1,
    WdfPowerDeviceD2,
    WdfPowerDeviceD3,
    WdfPowerDeviceD3Final,
    WdfPowerDevicePrepareForHibernation,
    WdfPowerDeviceMaximum
} WDF_POWER_DEVICE_STATE, *PWDF_POWER_DEVICE_STATE;

typedef enum _WDF_SPECIAL_FILE_TYPE {
    WdfSpecialFileUndefined = 0,
    WdfSpecialFilePaging = 1,
    WdfSpecialFileHibernation,
    WdfSpecialFileDump,
    WdfSpecialFileBoot,
    WdfSpecialFileMax
} WDF_SPECIAL_FILE_TYPE, *PWDF_SPECIAL_FILE_TYPE;

/* ---- Callbacks --------------------------------------------------------------------------------------------------- */

/* PreviousState and TargetState are always WdfPowerDeviceD3Final. After a failed D0Entry, D0Exit is not called. */
typedef NTSTATUS EVT_WDF_DEVICE_D0_ENTRY(_In_ WDFDEVICE Device, _In_ WDF_POWER_DEVICE_STATE PreviousState);
typedef EVT_WDF_DEVICE_D0_ENTRY *PFN_WDF_DEVICE_D0_ENTRY;
typedef EVT_WDF_DEVICE_D0_ENTRY EVT_WDF_DEVICE_D0_ENTRY_POST_INTERRUPTS_ENABLED;
typedef EVT_WDF_DEVICE_D0_ENTRY_POST_INTERRUPTS_ENABLED *PFN_WDF_DEVICE_D0_ENTRY_POST_INTERRUPTS_ENABLED;
typedef NTSTATUS EVT_WDF_DEVICE_D0_EXIT(_In_ WDFDEVICE Device, _In_ WDF_POWER_DEVICE_STATE TargetState);
typedef EVT_WDF_DEVICE_D0_EXIT *PFN_WDF_DEVICE_D0_EXIT;
typedef EVT_WDF_DEVICE_D0_EXIT EVT_WDF_DEVICE_D0_EXIT_PRE_INTERRUPTS_DISABLED;
typedef EVT_WDF_DEVICE_D0_EXIT_PRE_INTERRUPTS_DISABLED *PFN_WDF_DEVICE_D0_EXIT_PRE_INTERRUPTS_DISABLED;
/*
 * The lists are empty, and exist until EvtDeviceReleaseHardware has returned, which is also called after a failed
 * EvtDevicePrepareHardware.
 */
typedef NTSTATUS EVT_WDF_DEVICE_PREPARE_HARDWARE(_In_ WDFDEVICE Device, _In_ WDFCMRESLIST ResourcesRaw,
                                                 _In_ WDFCMRESLIST ResourcesTranslated);
typedef EVT_WDF_DEVICE_PREPARE_HARDWARE *PFN_WDF_DEVICE_PREPARE_HARDWARE;
typedef NTSTATUS EVT_WDF_DEVICE_RELEASE_HARDWARE(_In_ WDFDEVICE Device, _In_ WDFCMRESLIST ResourcesTranslated);
typedef EVT_WDF_DEVICE_RELEASE_HARDWARE *PFN_WDF_DEVICE_RELEASE_HARDWARE;
/* Flush and Cleanup are called if Init was called, also after a failed Init. Restart is never called. */
typedef NTSTATUS EVT_WDF_DEVICE_SELF_MANAGED_IO_INIT(_In_ WDFDEVICE Device);
typedef EVT_WDF_DEVICE_SELF_MANAGED_IO_INIT *PFN_WDF_DEVICE_SELF_MANAGED_IO_INIT;
typedef EVT_WDF_DEVICE_SELF_MANAGED_IO_INIT EVT_WDF_DEVICE_SELF_MANAGED_IO_SUSPEND;
typedef EVT_WDF_DEVICE_SELF_MANAGED_IO_SUSPEND *PFN_WDF_DEVICE_SELF_MANAGED_IO_SUSPEND;
typedef EVT_WDF_DEVICE_SELF_MANAGED_IO_INIT EVT_WDF_DEVICE_SELF_MANAGED_IO_RESTART;
typedef EVT_WDF_DEVICE_SELF_MANAGED_IO_RESTART *PFN_WDF_DEVICE_SELF_MANAGED_IO_RESTART;
typedef VOID EVT_WDF_DEVICE_SELF_MANAGED_IO_FLUSH(_In_ WDFDEVICE Device);
typedef EVT_WDF_DEVICE_SELF_MANAGED_IO_FLUSH *PFN_WDF_DEVICE_SELF_MANAGED_IO_FLUSH;
typedef EVT_WDF_DEVICE_SELF_MANAGED_IO_FLUSH EVT_WDF_DEVICE_SELF_MANAGED_IO_CLEANUP;
typedef EVT_WDF_DEVICE_SELF_MANAGED_IO_CLEANUP *PFN_WDF_DEVICE_SELF_MANAGED_IO_CLEANUP;
/* If this callback fails, the unload fails. */
typedef NTSTATUS EVT_WDF_DEVICE_QUERY_REMOVE(_In_ WDFDEVICE Device);
typedef EVT_WDF_DEVICE_QUERY_REMOVE *PFN_WDF_DEVICE_QUERY_REMOVE;
/* The callbacks below are never called. */
typedef NTSTATUS EVT_WDF_DEVICE_QUERY_STOP(_In_ WDFDEVICE Device);
typedef EVT_WDF_DEVICE_QUERY_STOP *PFN_WDF_DEVICE_QUERY_STOP;
typedef VOID EVT_WDF_DEVICE_SURPRISE_REMOVAL(_In_ WDFDEVICE Device);
typedef EVT_WDF_DEVICE_SURPRISE_REMOVAL *PFN_WDF_DEVICE_SURPRISE_REMOVAL;
typedef VOID EVT_WDF_DEVICE_USAGE_NOTIFICATION(_In_ WDFDEVICE Device, _In_ WDF_SPECIAL_FILE_TYPE NotificationType,
                                               _In_ BOOLEAN IsInNotificationPath);
typedef EVT_WDF_DEVICE_USAGE_NOTIFICATION *PFN_WDF_DEVICE_USAGE_NOTIFICATION;
typedef NTSTATUS EVT_WDF_DEVICE_USAGE_NOTIFICATION_EX(_In_ WDFDEVICE Device,
                                                      _In_ WDF_SPECIAL_FILE_TYPE NotificationType,
                                                      _In_ BOOLEAN IsInNotificationPath);
typedef EVT_WDF_DEVICE_USAGE_NOTIFICATION_EX *PFN_WDF_DEVICE_USAGE_NOTIFICATION_EX;
typedef VOID EVT_WDF_DEVICE_RELATIONS_QUERY(_In_ WDFDEVICE Device, _In_ DEVICE_RELATION_TYPE RelationType);
typedef EVT_WDF_DEVICE_RELATIONS_QUERY *PFN_WDF_DEVICE_RELATIONS_QUERY;

typedef struct _WDF_PNPPOWER_EVENT_CALLBACKS {
    ULONG Size;
    PFN_WDF_DEVICE_D0_ENTRY EvtDeviceD0Entry;
    PFN_WDF_DEVICE_D0_ENTRY_POST_INTERRUPTS_ENABLED EvtDeviceD0EntryPostInterruptsEnabled;
    PFN_WDF_DEVICE_D0_EXIT EvtDeviceD0Exit;
    PFN_WDF_DEVICE_D0_EXIT_PRE_INTERRUPTS_DISABLED EvtDeviceD0ExitPreInterruptsDisabled;
    PFN_WDF_DEVICE_PREPARE_HARDWARE EvtDevicePrepareHardware;
    PFN_WDF_DEVICE_RELEASE_HARDWARE EvtDeviceReleaseHardware;
    PFN_WDF_DEVICE_SELF_MANAGED_IO_CLEANUP EvtDeviceSelfManagedIoCleanup;
    PFN_WDF_DEVICE_SELF_MANAGED_IO_FLUSH EvtDeviceSelfManagedIoFlush;
    PFN_WDF_DEVICE_SELF_MANAGED_IO_INIT EvtDeviceSelfManagedIoInit;
    PFN_WDF_DEVICE_SELF_MANAGED_IO_SUSPEND EvtDeviceSelfManagedIoSuspend;
    PFN_WDF_DEVICE_SELF_MANAGED_IO_RESTART EvtDeviceSelfManagedIoRestart;
    PFN_WDF_DEVICE_SURPRISE_REMOVAL EvtDeviceSurpriseRemoval;
    PFN_WDF_DEVICE_QUERY_REMOVE EvtDeviceQueryRemove;
    PFN_WDF_DEVICE_QUERY_STOP EvtDeviceQueryStop;
    PFN_WDF_DEVICE_USAGE_NOTIFICATION EvtDeviceUsageNotification;
    PFN_WDF_DEVICE_RELATIONS_QUERY EvtDeviceRelationsQuery;
    PFN_WDF_DEVICE_USAGE_NOTIFICATION_EX EvtDeviceUsageNotificationEx;
} WDF_PNPPOWER_EVENT_CALLBACKS, *PWDF_PNPPOWER_EVENT_CALLBACKS;

FORCEINLINE VOID WDF_PNPPOWER_EVENT_CALLBACKS_INIT(_Out_ PWDF_PNPPOWER_EVENT_CALLBACKS Callbacks)
{
    RtlZeroMemory(Callbacks, sizeof(*Callbacks));
    Callbacks->Size = sizeof(*Callbacks);
}

/* ---- Initialization ---------------------------------------------------------------------------------------------- */

/* For a WDFDEVICE_INIT that EvtDriverDeviceAdd has received. IRQL <= DISPATCH_LEVEL. */
NTKERNELAPI VOID WdfDeviceInitSetPnpPowerEventCallbacks(_In_ PWDFDEVICE_INIT DeviceInit,
                                                        _In_ PWDF_PNPPOWER_EVENT_CALLBACKS PnpPowerEventCallbacks);
/* Has no effect, because the device never sleeps. */
NTKERNELAPI VOID WdfDeviceInitSetPowerPolicyOwnership(_In_ PWDFDEVICE_INIT DeviceInit,
                                                      _In_ BOOLEAN IsPowerPolicyOwner);
/* Set and remove DO_POWER_PAGABLE of the device. */
NTKERNELAPI VOID WdfDeviceInitSetPowerPageable(_In_ PWDFDEVICE_INIT DeviceInit);
NTKERNELAPI VOID WdfDeviceInitSetPowerNotPageable(_In_ PWDFDEVICE_INIT DeviceInit);
NTKERNELAPI PDEVICE_OBJECT WdfFdoInitWdmGetPhysicalDevice(_In_ PWDFDEVICE_INIT DeviceInit);

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

typedef struct _WDF_DEVICE_PNP_CAPABILITIES {
    ULONG Size;
    WDF_TRI_STATE LockSupported;
    WDF_TRI_STATE EjectSupported;
    WDF_TRI_STATE Removable;
    WDF_TRI_STATE DockDevice;
    WDF_TRI_STATE UniqueID;
    WDF_TRI_STATE SilentInstall;
    WDF_TRI_STATE SurpriseRemovalOK;
    WDF_TRI_STATE HardwareDisabled;
    WDF_TRI_STATE NoDisplayInUI;
    ULONG Address;
    ULONG UINumber;
} WDF_DEVICE_PNP_CAPABILITIES, *PWDF_DEVICE_PNP_CAPABILITIES;

FORCEINLINE VOID WDF_DEVICE_PNP_CAPABILITIES_INIT(_Out_ PWDF_DEVICE_PNP_CAPABILITIES Caps)
{
    RtlZeroMemory(Caps, sizeof(*Caps));
    Caps->Size = sizeof(*Caps);
    Caps->LockSupported = Caps->EjectSupported = Caps->Removable = Caps->DockDevice = WdfUseDefault;
    Caps->UniqueID = Caps->SilentInstall = Caps->SurpriseRemovalOK = Caps->HardwareDisabled = WdfUseDefault;
    Caps->NoDisplayInUI = WdfUseDefault;
    Caps->Address = Caps->UINumber = (ULONG)-1;
}

/* Has no effect, because no program asks for the capabilities. IRQL <= DISPATCH_LEVEL. */
NTKERNELAPI VOID WdfDeviceSetPnpCapabilities(_In_ WDFDEVICE Device,
                                             _In_ PWDF_DEVICE_PNP_CAPABILITIES PnpCapabilities);
/* The devices below the framework's device. Return NULL for a control device. */
NTKERNELAPI PDEVICE_OBJECT WdfDeviceWdmGetAttachedDevice(_In_ WDFDEVICE Device);
NTKERNELAPI PDEVICE_OBJECT WdfDeviceWdmGetPhysicalDevice(_In_ WDFDEVICE Device);
/*
 * Registers a device interface. The start of the device enables the interfaces that were registered before, for example
 * in EvtDriverDeviceAdd. The driver must enable interfaces that it registers later. Returns
 * STATUS_INVALID_DEVICE_REQUEST for a control device. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS WdfDeviceCreateDeviceInterface(_In_ WDFDEVICE Device, _In_ CONST GUID *InterfaceClassGUID,
                                                    _In_opt_ PCUNICODE_STRING ReferenceString);
/* Does nothing if the device has no such interface. PASSIVE_LEVEL. */
NTKERNELAPI VOID WdfDeviceSetDeviceInterfaceState(_In_ WDFDEVICE Device, _In_ CONST GUID *InterfaceClassGUID,
                                                  _In_opt_ PCUNICODE_STRING ReferenceString,
                                                  _In_ BOOLEAN IsInterfaceEnabled);
/*
 * Copies the interface's symbolic link to a string object. Returns STATUS_OBJECT_NAME_NOT_FOUND if the device has no
 * such interface. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS WdfDeviceRetrieveDeviceInterfaceString(_In_ WDFDEVICE Device, _In_ CONST GUID *InterfaceClassGUID,
                                                            _In_opt_ PCUNICODE_STRING ReferenceString,
                                                            _In_ WDFSTRING String);

/* ---- Resources --------------------------------------------------------------------------------------------------- */

#ifndef __MINGW32__ /* mingw-w64's wdm.h has them */
#define CmResourceTypeNull 0
#define CmResourceTypePort 1
#define CmResourceTypeInterrupt 2
#define CmResourceTypeMemory 3
#define CmResourceTypeDma 4

#include "../pshpack4.h"
typedef struct _CM_PARTIAL_RESOURCE_DESCRIPTOR {
    UCHAR Type;
    UCHAR ShareDisposition;
    USHORT Flags;
    union {
        struct {
            PHYSICAL_ADDRESS Start;
            ULONG Length;
        } Generic, Port, Memory;
        struct {
            ULONG Level;
            ULONG Vector;
            KAFFINITY Affinity;
        } Interrupt;
        struct {
            ULONG Channel;
            ULONG Port;
            ULONG Reserved1;
        } Dma;
        struct {
            ULONG Data[3];
        } DevicePrivate;
    } u;
} CM_PARTIAL_RESOURCE_DESCRIPTOR, *PCM_PARTIAL_RESOURCE_DESCRIPTOR;
#include "../poppack.h"
#endif

/* Returns 0, because a software device has no resources. IRQL <= DISPATCH_LEVEL. */
NTKERNELAPI ULONG WdfCmResourceListGetCount(_In_ WDFCMRESLIST List);
/* Returns NULL: see WdfCmResourceListGetCount. IRQL <= DISPATCH_LEVEL. */
NTKERNELAPI PCM_PARTIAL_RESOURCE_DESCRIPTOR WdfCmResourceListGetDescriptor(_In_ WDFCMRESLIST List, _In_ ULONG Index);

EXTERN_C_END

#endif
