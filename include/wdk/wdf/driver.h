/* SPDX-License-Identifier: MIT */
/*
 * The framework's driver object, and the device object of a miniport. A driver is a miniport, a non-PnP driver with
 * control devices (device.h), or a driver with EvtDriverDeviceAdd, which gets a device (pnp.h).
 */
#ifndef ONDK_WDK_WDF_DRIVER_H
#define ONDK_WDK_WDF_DRIVER_H

#include "object.h"

EXTERN_C_START

/* ---- The driver -------------------------------------------------------------------------------------------------- */

typedef struct WDFDEVICE_INIT *PWDFDEVICE_INIT;
typedef NTSTATUS EVT_WDF_DRIVER_DEVICE_ADD(_In_ WDFDRIVER Driver, _Inout_ PWDFDEVICE_INIT DeviceInit);
typedef EVT_WDF_DRIVER_DEVICE_ADD *PFN_WDF_DRIVER_DEVICE_ADD;
typedef VOID EVT_WDF_DRIVER_UNLOAD(_In_ WDFDRIVER Driver);
typedef EVT_WDF_DRIVER_UNLOAD *PFN_WDF_DRIVER_UNLOAD;

typedef enum _WDF_DRIVER_INIT_FLAGS {
    WdfDriverInitNonPnpDriver = 0x00000001,
    WdfDriverInitNoDispatchOverride = 0x00000002, /* for miniports: the framework does not replace DriverUnload */
    WdfVerifyOn = 0x00000004,
    WdfVerifierOn = 0x00000008
} WDF_DRIVER_INIT_FLAGS;

/*
 * The configuration of a driver. EvtDriverDeviceAdd is called once, after DriverEntry: see pnp.h. With
 * WdfDriverInitNonPnpDriver, EvtDriverDeviceAdd must be NULL, and a driver without EvtDriverUnload cannot be unloaded.
 * EvtDriverUnload is called at PASSIVE_LEVEL. Afterwards the framework deletes the driver's objects.
 */
typedef struct _WDF_DRIVER_CONFIG {
    ULONG Size;
    PFN_WDF_DRIVER_DEVICE_ADD EvtDriverDeviceAdd;
    PFN_WDF_DRIVER_UNLOAD EvtDriverUnload;
    ULONG DriverInitFlags;
    ULONG DriverPoolTag;
} WDF_DRIVER_CONFIG, *PWDF_DRIVER_CONFIG;

FORCEINLINE VOID WDF_DRIVER_CONFIG_INIT(_Out_ PWDF_DRIVER_CONFIG Config,
                                        _In_opt_ PFN_WDF_DRIVER_DEVICE_ADD EvtDriverDeviceAdd)
{
    RtlZeroMemory(Config, sizeof(*Config));
    Config->Size = sizeof(*Config);
    Config->EvtDriverDeviceAdd = EvtDriverDeviceAdd;
}

/* WdfDriverCreate and WdfDriverMiniportUnload require PASSIVE_LEVEL. */
NTKERNELAPI NTSTATUS WdfDriverCreate(_In_ PDRIVER_OBJECT DriverObject, _In_ PCUNICODE_STRING RegistryPath,
                                     _In_opt_ PWDF_OBJECT_ATTRIBUTES DriverAttributes,
                                     _In_ PWDF_DRIVER_CONFIG DriverConfig, _Out_opt_ WDFDRIVER *Driver);
NTKERNELAPI VOID WdfDriverMiniportUnload(_In_ WDFDRIVER Driver);
NTKERNELAPI PDRIVER_OBJECT WdfDriverWdmGetDriverObject(_In_ WDFDRIVER Driver);
/* Returns the driver's registry path, which ends with a zero. PASSIVE_LEVEL. */
NTKERNELAPI PWSTR WdfDriverGetRegistryPath(_In_ WDFDRIVER Driver);
/* Returns the calling driver's object, or NULL before WdfDriverCreate. */
NTKERNELAPI WDFDRIVER WdfGetDriver(VOID);
/* ---- Version and verifier ---------------------------------------------------------------------------------------- */

typedef struct _WDF_DRIVER_VERSION_AVAILABLE_PARAMS {
    ULONG Size;
    ULONG MajorVersion;
    ULONG MinorVersion;
} WDF_DRIVER_VERSION_AVAILABLE_PARAMS, *PWDF_DRIVER_VERSION_AVAILABLE_PARAMS;

FORCEINLINE VOID WDF_DRIVER_VERSION_AVAILABLE_PARAMS_INIT(_Out_ PWDF_DRIVER_VERSION_AVAILABLE_PARAMS Params,
                                                          _In_ ULONG MajorVersion, _In_ ULONG MinorVersion)
{
    RtlZeroMemory(Params, sizeof(*Params));
    Params->Size = sizeof(*Params);
    Params->MajorVersion = MajorVersion;
    Params->MinorVersion = MinorVersion;
}

/*
 * The framework's version is 1.15. WdfDriverIsVersionAvailable and WdfDriverRetrieveVersionString require
 * PASSIVE_LEVEL.
 */
NTKERNELAPI BOOLEAN WdfDriverIsVersionAvailable(_In_ WDFDRIVER Driver,
                                                _In_ PWDF_DRIVER_VERSION_AVAILABLE_PARAMS VersionAvailableParams);
NTKERNELAPI NTSTATUS WdfDriverRetrieveVersionString(_In_ WDFDRIVER Driver, _In_ WDFSTRING String);
/* Does nothing, because there is no kernel debugger: a broken rule stops the driver where it happens. */
NTKERNELAPI VOID WdfVerifierDbgBreakPoint(VOID);
#define WdfVerifierKeBugCheck(code, p1, p2, p3, p4) KeBugCheckEx((code), (p1), (p2), (p3), (p4))

/* ---- Other handles ----------------------------------------------------------------------------------------------- */

/* Returns NULL if WdfDriverCreate was not called for this driver object. */
NTKERNELAPI WDFDRIVER WdfWdmDriverGetWdfDriverHandle(_In_ PDRIVER_OBJECT DriverObject);

/* Creates a framework object for the port driver's device. The framework object can be the parent of other objects. */
NTKERNELAPI NTSTATUS WdfDeviceMiniportCreate(_In_ WDFDRIVER Driver, _In_opt_ PWDF_OBJECT_ATTRIBUTES Attributes,
                                             _In_ PDEVICE_OBJECT DeviceObject,
                                             _In_opt_ PDEVICE_OBJECT AttachedDeviceObject, _In_opt_ PDEVICE_OBJECT Pdo,
                                             _Out_ WDFDEVICE *Device);

EXTERN_C_END

#endif
