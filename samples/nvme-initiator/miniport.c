/* SPDX-License-Identifier: MIT */
/*
 * Implements DriverEntry, and the entry points that Storport calls to start and stop the adapter. A virtual miniport
 * has no hardware, so it has no interrupts, no ports and no DMA, and Storport does not call HwStorBuildIo. Storport
 * calls:
 *
 *   FindAdapter                PASSIVE_LEVEL   describes the adapter
 *   Initialize                 high IRQL       only asks for PassiveInitialize
 *   PassiveInitialize          PASSIVE_LEVEL   connects to the targets in the registry
 *   NvmeStartIo, NvmeResetBus  <= DISPATCH     requests, several at the same time (startio.c)
 *   NvmeProcessServiceRequest  PASSIVE_LEVEL   device controls (control.c)
 *   AdapterControl             DISPATCH_LEVEL  the adapter stops, or starts again
 *   FreeAdapterResources       PASSIVE_LEVEL   deletes the controllers
 */
#include "nvmeport.h"

DRIVER_INITIALIZE DriverEntry;
static VIRTUAL_HW_FIND_ADAPTER FindAdapter;
static HW_INITIALIZE Initialize;
static HW_PASSIVE_INITIALIZE_ROUTINE PassiveInitialize;
static HW_ADAPTER_CONTROL AdapterControl;
static HW_FREE_ADAPTER_RESOURCES FreeAdapterResources;
static HW_COMPLETE_SERVICE_IRP CompleteServiceIrp;

NVME_SETTINGS NvmeSettings;
static LONG AdapterFound; /* TRUE after FindAdapter has found the only adapter, until its resources are freed */

static ULONG FindAdapter(PVOID DeviceExtension, PVOID HwContext, PVOID BusInformation, PVOID LowerDevice,
    PCHAR ArgumentString, PPORT_CONFIGURATION_INFORMATION ConfigInfo, PBOOLEAN Again)
{
    NVME_ADAPTER *adapter = DeviceExtension;

    UNREFERENCED_PARAMETER(HwContext);
    UNREFERENCED_PARAMETER(BusInformation);
    UNREFERENCED_PARAMETER(LowerDevice);
    UNREFERENCED_PARAMETER(ArgumentString);
    *Again = FALSE;
    if (InterlockedExchange(&AdapterFound, TRUE))
        return SP_RETURN_NOT_FOUND;
    KeInitializeMutex(&adapter->Connecting, 0);
    KeInitializeSpinLock(&adapter->Lock);
    ConfigInfo->VirtualDevice = TRUE;
    ConfigInfo->MaximumTransferLength = NvmeSettings.MaxTransfer;
    ConfigInfo->NumberOfPhysicalBreaks = NvmeSettings.MaxTransfer / PAGE_SIZE + 1;
    ConfigInfo->AlignmentMask = FILE_LONG_ALIGNMENT;
    ConfigInfo->NumberOfBuses = 1;
    ConfigInfo->MaximumNumberOfTargets = NVME_MAX_GROUPS;
    ConfigInfo->MaximumNumberOfLogicalUnits = NVME_SCSI_MAX_LUNS;
    ConfigInfo->ScatterGather = TRUE;
    ConfigInfo->Master = TRUE;
    ConfigInfo->CachesData = FALSE;
    ConfigInfo->ResetTargetSupported = TRUE;
    ConfigInfo->WmiDataProvider = FALSE;
    ConfigInfo->SynchronizationModel = StorSynchronizeFullDuplex;
    return SP_RETURN_FOUND;
}

static BOOLEAN Initialize(PVOID DeviceExtension)
{
    return StorPortEnablePassiveInitialization(DeviceExtension, PassiveInitialize);
}

/*
 * Connects to all targets in the registry at the same time. If a target does not answer, the controller's thread tries
 * again for up to LossSeconds, because the network may start later than this driver. Waits for the first attempts, so
 * that the first scan finds the disks.
 */
static BOOLEAN PassiveInitialize(PVOID DeviceExtension)
{
    NVME_ADAPTER *adapter = DeviceExtension;
    ULONG i, targetId;

    if (!NT_SUCCESS(NvmeProviderRegister()))
        return FALSE;
    adapter->Registered = TRUE;
    for (i = 0; i < NvmeSettings.TargetCount; i++)
        NvmeDisksConnect(adapter, &NvmeSettings.Targets[i], NVME_CREATE_RETRY, &targetId);
    NvmeDisksWait(adapter);
    return TRUE;
}

/* Accepts a stop and a restart of the adapter. Neither needs any action, because the adapter has no hardware. */
static SCSI_ADAPTER_CONTROL_STATUS AdapterControl(PVOID DeviceExtension, SCSI_ADAPTER_CONTROL_TYPE ControlType,
    PVOID Parameters)
{
    static const SCSI_ADAPTER_CONTROL_TYPE supported[] = { ScsiQuerySupportedControlTypes, ScsiStopAdapter,
                                                           ScsiRestartAdapter };
    PSCSI_SUPPORTED_CONTROL_TYPE_LIST list = Parameters;
    ULONG i;

    UNREFERENCED_PARAMETER(DeviceExtension);
    for (i = 0; ControlType == ScsiQuerySupportedControlTypes && i < ARRAYSIZE(supported); i++)
        if ((ULONG)supported[i] < list->MaxControlType)
            list->SupportedTypeList[supported[i]] = TRUE;
    return ControlType <= ScsiRestartAdapter ? ScsiAdapterControlSuccess : ScsiAdapterControlUnsuccessful;
}

/*
 * Deletes all controllers, which ends the requests that still wait during a reconnect. Storport sends no request during
 * or after this call.
 */
static VOID FreeAdapterResources(PVOID DeviceExtension)
{
    NVME_ADAPTER *adapter = DeviceExtension;
    ULONG i;

    for (i = 0; i < NVME_MAX_GROUPS; i++)
        NvmeDisksDisconnect(adapter, i);
    if (adapter->Registered)
        NvmeProviderDeregister();
    InterlockedExchange(&AdapterFound, FALSE);
}

/* Does nothing, because NvmeProcessServiceRequest completes each IRP before it returns. */
static VOID CompleteServiceIrp(PVOID DeviceExtension)
{
    UNREFERENCED_PARAMETER(DeviceExtension);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    HW_INITIALIZATION_DATA data;

    NvmeReadSettings(RegistryPath, &NvmeSettings);
    RtlZeroMemory(&data, sizeof(data));
    data.HwInitializationDataSize = sizeof(data);
    data.AdapterInterfaceType = Internal;
    data.FeatureSupport = STOR_FEATURE_VIRTUAL_MINIPORT;
    data.HwFindAdapter = (PVOID)FindAdapter;
    data.HwInitialize = Initialize;
    data.HwStartIo = NvmeStartIo;
    data.HwResetBus = NvmeResetBus;
    data.HwAdapterControl = AdapterControl;
    data.HwFreeAdapterResources = FreeAdapterResources;
    data.HwProcessServiceRequest = NvmeProcessServiceRequest;
    data.HwCompleteServiceIrp = CompleteServiceIrp;
    data.DeviceExtensionSize = sizeof(NVME_ADAPTER);
    data.SrbExtensionSize = sizeof(NVME_SRB);
    data.TaggedQueuing = TRUE;
    data.AutoRequestSense = TRUE;
    data.MultipleRequestPerLu = TRUE;
    data.ReceiveEvent = TRUE;
    return (NTSTATUS)StorPortInitialize(DriverObject, RegistryPath, &data, NULL);
}
