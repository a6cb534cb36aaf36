/* SPDX-License-Identifier: MIT */
/*
 * The configuration that a miniport and the port driver exchange, and the miniport's routines.
 */
#ifndef ONDK_WDK_STORPORT_CONFIG_H
#define ONDK_WDK_STORPORT_CONFIG_H

#include "../srb.h"
#include "../wdm/bus.h"

#ifdef __MINGW32__
#include <ntddstor.h>
#else
#include "../ntddstor.h"
#endif

EXTERN_C_START

typedef PHYSICAL_ADDRESS STOR_PHYSICAL_ADDRESS, *PSTOR_PHYSICAL_ADDRESS;

#define SP_UNINITIALIZED_VALUE ((ULONG)~0)
#define SP_RETURN_NOT_FOUND 0
#define SP_RETURN_FOUND 1
#define SP_RETURN_ERROR 2
#define SP_RETURN_BAD_CONFIG 3

#define STOR_MAP_NO_BUFFERS 0
#define STOR_MAP_ALL_BUFFERS 1
#define STOR_MAP_NON_READ_WRITE_BUFFERS 2
#define STOR_MAP_ALL_BUFFERS_INCLUDING_READ_WRITE 3

#define SCSI_DMA64_MINIPORT_SUPPORTED 0x01
#define SCSI_DMA64_SYSTEM_SUPPORTED 0x80
#define SCSI_DMA64_MINIPORT_FULL64BIT_SUPPORTED 0x02
#define SCSI_DMA64_MINIPORT_FULL64BIT_NO_BOUNDARY_REQ_SUPPORTED 0x04
#define SCSI_DMA64_MINIPORT_64BIT_ONE_4GB_SUPPORTED 0x08

#define DUMP_MODE_CRASH 0x01
#define DUMP_MODE_HIBER 0x02
#define DUMP_MODE_MARK_MEMORY 0x03
#define DUMP_MODE_RESUME 0x04

#define SP_VER_TRACE_SUPPORT 0x0010

/* ---- Configuration ----------------------------------------------------------------------------------------------- */

typedef struct _ACCESS_RANGE {
    STOR_PHYSICAL_ADDRESS RangeStart;
    ULONG RangeLength;
    BOOLEAN RangeInMemory;
} ACCESS_RANGE, *PACCESS_RANGE;

typedef struct _MEMORY_REGION {
    PUCHAR VirtualBase;
    PHYSICAL_ADDRESS PhysicalBase;
    ULONG Length;
} MEMORY_REGION, *PMEMORY_REGION;

typedef enum _STOR_SYNCHRONIZATION_MODEL {
    StorSynchronizeHalfDuplex,
    StorSynchronizeFullDuplex
} STOR_SYNCHRONIZATION_MODEL;

typedef enum _INTERRUPT_SYNCHRONIZATION_MODE {
    InterruptSupportNone,
    InterruptSynchronizeAll,
    InterruptSynchronizePerMessage
} INTERRUPT_SYNCHRONIZATION_MODE;

typedef BOOLEAN HW_MESSAGE_SIGNALED_INTERRUPT_ROUTINE(_In_ PVOID HwDeviceExtension, _In_ ULONG MessageId);
typedef HW_MESSAGE_SIGNALED_INTERRUPT_ROUTINE *PHW_MESSAGE_SIGNALED_INTERRUPT_ROUTINE;

#define STOR_ADAPTER_FEATURE_DEVICE_TELEMETRY 0x00000001
#define STOR_ADAPTER_FEATURE_STOP_UNIT_DURING_POWER_DOWN 0x00000002
#define STOR_ADAPTER_UNCACHED_EXTENSION_NUMA_NODE_PREFERRED 0x00000004
#define STOR_ADAPTER_DMA_V3_PREFERRED 0x00000008
#define STOR_ADAPTER_FEATURE_ABORT_COMMAND 0x00000010
#define STOR_ADAPTER_FEATURE_RICH_TEMPERATURE_THRESHOLD 0x00000020
#define STOR_ADAPTER_DMA_ADDRESS_WIDTH_SPECIFIED 0x00000040

typedef struct _PORT_CONFIGURATION_INFORMATION {
    ULONG Length;
    ULONG SystemIoBusNumber;
    INTERFACE_TYPE AdapterInterfaceType;
    ULONG BusInterruptLevel;
    ULONG BusInterruptVector;
    KINTERRUPT_MODE InterruptMode;
    ULONG MaximumTransferLength;
    ULONG NumberOfPhysicalBreaks;
    ULONG DmaChannel;
    ULONG DmaPort;
    DMA_WIDTH DmaWidth;
    DMA_SPEED DmaSpeed;
    ULONG AlignmentMask;
    ULONG NumberOfAccessRanges;
    ACCESS_RANGE (*AccessRanges)[];
    union {
        PVOID MiniportDumpData;
        PVOID Reserved;
    };
    UCHAR NumberOfBuses;
    CCHAR InitiatorBusId[8];
    BOOLEAN ScatterGather;
    BOOLEAN Master;
    BOOLEAN CachesData;
    BOOLEAN AdapterScansDown;
    BOOLEAN AtdiskPrimaryClaimed;
    BOOLEAN AtdiskSecondaryClaimed;
    BOOLEAN Dma32BitAddresses;
    BOOLEAN DemandMode;
    UCHAR MapBuffers;
    BOOLEAN NeedPhysicalAddresses;
    BOOLEAN TaggedQueuing;
    BOOLEAN AutoRequestSense;
    BOOLEAN MultipleRequestPerLu;
    BOOLEAN ReceiveEvent;
    BOOLEAN RealModeInitialized;
    BOOLEAN BufferAccessScsiPortControlled;
    UCHAR MaximumNumberOfTargets;
    union {
        struct {
            UCHAR SrbType;
            UCHAR AddressType;
        };
        UCHAR ReservedUchars[2];
    };
    ULONG SlotNumber;
    ULONG BusInterruptLevel2;
    ULONG BusInterruptVector2;
    KINTERRUPT_MODE InterruptMode2;
    ULONG DmaChannel2;
    ULONG DmaPort2;
    DMA_WIDTH DmaWidth2;
    DMA_SPEED DmaSpeed2;
    ULONG DeviceExtensionSize;
    ULONG SpecificLuExtensionSize;
    ULONG SrbExtensionSize;
    UCHAR Dma64BitAddresses;
    BOOLEAN ResetTargetSupported;
    UCHAR MaximumNumberOfLogicalUnits;
    BOOLEAN WmiDataProvider;
    STOR_SYNCHRONIZATION_MODEL SynchronizationModel;
    PHW_MESSAGE_SIGNALED_INTERRUPT_ROUTINE HwMSInterruptRoutine;
    INTERRUPT_SYNCHRONIZATION_MODE InterruptSynchronizationMode;
    MEMORY_REGION DumpRegion;
    ULONG RequestedDumpBufferSize;
    BOOLEAN VirtualDevice;
    UCHAR DumpMode;
    UCHAR DmaAddressWidth;
    ULONG ExtendedFlags1;
    ULONG MaxNumberOfIO;
    ULONG MaxIOsPerLun;
    ULONG InitialLunQueueDepth;
    ULONG BusResetHoldTime;
    ULONG FeatureSupport;
} PORT_CONFIGURATION_INFORMATION, *PPORT_CONFIGURATION_INFORMATION;

#define CONFIG_INFO_VERSION_2 sizeof(PORT_CONFIGURATION_INFORMATION)

/* ---- Control of adapters and units ------------------------------------------------------------------------------- */

typedef enum _SCSI_ADAPTER_CONTROL_TYPE {
    ScsiQuerySupportedControlTypes = 0,
    ScsiStopAdapter,
    ScsiRestartAdapter,
    ScsiSetBootConfig,
    ScsiSetRunningConfig,
    ScsiPowerSettingNotification,
    ScsiAdapterPower,
    ScsiAdapterPoFxPowerRequired,
    ScsiAdapterPoFxPowerActive,
    ScsiAdapterPoFxPowerSetFState,
    ScsiAdapterPoFxPowerControl,
    ScsiAdapterPrepareForBusReScan,
    ScsiAdapterSystemPowerHints,
    ScsiAdapterFilterResourceRequirements,
    ScsiAdapterPoFxMaxOperationalPower,
    ScsiAdapterPoFxSetPerfState,
    ScsiAdapterSurpriseRemoval,
    ScsiAdapterSerialNumber,
    ScsiAdapterCryptoOperation,
    ScsiAdapterQueryFruId,
    ScsiAdapterSetEventLogging,
    ScsiAdapterReportInternalData,
    ScsiAdapterResetBusSynchronous,
    ScsiAdapterPostHwInitialize,
    ScsiAdapterPrepareEarlyDumpData,
    ScsiAdapterRestoreEarlyDumpData,
    ScsiAdapterControlMax,
    MakeAdapterControlTypeSizeOfUlong = (int)0xffffffff
} SCSI_ADAPTER_CONTROL_TYPE, *PSCSI_ADAPTER_CONTROL_TYPE;

typedef enum _SCSI_ADAPTER_CONTROL_STATUS {
    ScsiAdapterControlSuccess = 0,
    ScsiAdapterControlUnsuccessful
} SCSI_ADAPTER_CONTROL_STATUS, *PSCSI_ADAPTER_CONTROL_STATUS;

typedef enum _SCSI_UNIT_CONTROL_TYPE {
    ScsiQuerySupportedUnitControlTypes = 0,
    ScsiUnitUsage,
    ScsiUnitStart,
    ScsiUnitPower,
    ScsiUnitPoFxPowerInfo,
    ScsiUnitPoFxPowerRequired,
    ScsiUnitPoFxPowerActive,
    ScsiUnitPoFxPowerSetFState,
    ScsiUnitPoFxPowerControl,
    ScsiUnitRemove,
    ScsiUnitSurpriseRemoval,
    ScsiUnitRichDescription,
    ScsiUnitQueryBusType,
    ScsiUnitQueryFruId,
    ScsiUnitReportInternalData,
    ScsiUnitControlMax,
    MakeUnitControlTypeSizeOfUlong = (int)0xffffffff
} SCSI_UNIT_CONTROL_TYPE, *PSCSI_UNIT_CONTROL_TYPE;

typedef enum _SCSI_UNIT_CONTROL_STATUS {
    ScsiUnitControlSuccess = 0,
    ScsiUnitControlUnsuccessful
} SCSI_UNIT_CONTROL_STATUS, *PSCSI_UNIT_CONTROL_STATUS;

#ifdef __cplusplus
#define ONDK_SUPPORTED_LIST_ROOM 1
#else
#define ONDK_SUPPORTED_LIST_ROOM
#endif
typedef struct _SCSI_SUPPORTED_CONTROL_TYPE_LIST {
    ULONG MaxControlType;
    BOOLEAN SupportedTypeList[ONDK_SUPPORTED_LIST_ROOM];
} SCSI_SUPPORTED_CONTROL_TYPE_LIST, *PSCSI_SUPPORTED_CONTROL_TYPE_LIST;

/* ---- The miniport's routines ------------------------------------------------------------------------------------- */

/* Called at PASSIVE_LEVEL, without a lock, because a virtual miniport has no interrupt. */
typedef BOOLEAN HW_INITIALIZE(_In_ PVOID DeviceExtension);
typedef HW_INITIALIZE *PHW_INITIALIZE;
/* Called at PASSIVE_LEVEL. */
typedef BOOLEAN HW_PASSIVE_INITIALIZE_ROUTINE(_In_ PVOID DeviceExtension);
typedef HW_PASSIVE_INITIALIZE_ROUTINE *PHW_PASSIVE_INITIALIZE_ROUTINE;
/*
 * HwBuildIo and HwStartIo are called at DISPATCH_LEVEL, without a lock, and possibly on several threads at the same
 * time.
 */
typedef BOOLEAN HW_BUILDIO(_In_ PVOID DeviceExtension, _In_ PSCSI_REQUEST_BLOCK Srb);
typedef HW_BUILDIO *PHW_BUILDIO;
typedef BOOLEAN HW_STARTIO(_In_ PVOID DeviceExtension, _In_ PSCSI_REQUEST_BLOCK Srb);
typedef HW_STARTIO *PHW_STARTIO;
typedef BOOLEAN HW_INTERRUPT(_In_ PVOID DeviceExtension);
typedef HW_INTERRUPT *PHW_INTERRUPT;
/* Called at DISPATCH_LEVEL. */
typedef VOID HW_TIMER(_In_ PVOID DeviceExtension);
typedef HW_TIMER *PHW_TIMER;
typedef VOID HW_TIMER_EX(_In_ PVOID DeviceExtension, _In_opt_ PVOID Context);
typedef HW_TIMER_EX *PHW_TIMER_EX;
/* Called at PASSIVE_LEVEL. */
typedef VOID HW_WORKITEM(_In_ PVOID HwDeviceExtension, _In_opt_ PVOID Context, _In_ PVOID Worker);
typedef HW_WORKITEM *PHW_WORKITEM;
typedef VOID HW_DMA_STARTED(_In_ PVOID DeviceExtension);
typedef HW_DMA_STARTED *PHW_DMA_STARTED;
typedef BOOLEAN HW_ADAPTER_STATE(_In_ PVOID DeviceExtension, _In_ PVOID Context, _In_ BOOLEAN SaveState);
typedef HW_ADAPTER_STATE *PHW_ADAPTER_STATE;
/* Called at PASSIVE_LEVEL. */
typedef ULONG HW_FIND_ADAPTER(_In_ PVOID DeviceExtension, _In_ PVOID HwContext, _In_ PVOID BusInformation,
                              _In_z_ PCHAR ArgumentString, _Inout_ PPORT_CONFIGURATION_INFORMATION ConfigInfo,
                              _In_ PBOOLEAN Reserved3);
typedef HW_FIND_ADAPTER *PHW_FIND_ADAPTER;
typedef ULONG VIRTUAL_HW_FIND_ADAPTER(_In_ PVOID DeviceExtension, _In_ PVOID HwContext, _In_ PVOID BusInformation,
                                      _In_ PVOID LowerDevice, _In_z_ PCHAR ArgumentString,
                                      _Inout_ PPORT_CONFIGURATION_INFORMATION ConfigInfo, _Out_ PBOOLEAN Again);
typedef VIRTUAL_HW_FIND_ADAPTER *PVIRTUAL_HW_FIND_ADAPTER;
/* Called at DISPATCH_LEVEL. No call of HwStartIo begins before this routine has returned. */
typedef BOOLEAN HW_RESET_BUS(_In_ PVOID DeviceExtension, _In_ ULONG PathId);
typedef HW_RESET_BUS *PHW_RESET_BUS;
/* Called at DISPATCH_LEVEL for ScsiStopAdapter and ScsiRestartAdapter, and at PASSIVE_LEVEL for all other types. */
typedef SCSI_ADAPTER_CONTROL_STATUS HW_ADAPTER_CONTROL(_In_ PVOID DeviceExtension,
                                                       _In_ SCSI_ADAPTER_CONTROL_TYPE ControlType,
                                                       _In_ PVOID Parameters);
typedef HW_ADAPTER_CONTROL *PHW_ADAPTER_CONTROL;
typedef SCSI_UNIT_CONTROL_STATUS HW_UNIT_CONTROL(_In_ PVOID DeviceExtension, _In_ SCSI_UNIT_CONTROL_TYPE ControlType,
                                                 _In_ PVOID Parameters);
typedef HW_UNIT_CONTROL *PHW_UNIT_CONTROL;
/* This routine and the next two routines are called at PASSIVE_LEVEL. */
typedef VOID HW_FREE_ADAPTER_RESOURCES(_In_ PVOID DeviceExtension);
typedef HW_FREE_ADAPTER_RESOURCES *PHW_FREE_ADAPTER_RESOURCES;
typedef VOID HW_PROCESS_SERVICE_REQUEST(_In_ PVOID DeviceExtension, _In_ PVOID Irp);
typedef HW_PROCESS_SERVICE_REQUEST *PHW_PROCESS_SERVICE_REQUEST;
typedef VOID HW_COMPLETE_SERVICE_IRP(_In_ PVOID DeviceExtension);
typedef HW_COMPLETE_SERVICE_IRP *PHW_COMPLETE_SERVICE_IRP;
typedef VOID HW_INITIALIZE_TRACING(_In_ PVOID Arg1, _In_ PVOID Arg2);
typedef HW_INITIALIZE_TRACING *PHW_INITIALIZE_TRACING;
typedef VOID HW_CLEANUP_TRACING(_In_ PVOID Arg1);
typedef HW_CLEANUP_TRACING *PHW_CLEANUP_TRACING;
typedef VOID HW_TRACING_ENABLED(_In_ PVOID HwDeviceExtension, _In_ BOOLEAN Enabled);
typedef HW_TRACING_ENABLED *PHW_TRACING_ENABLED;
/* Called at DISPATCH_LEVEL with StartIoLock. The notice has succeeded if Status is below 0x80000000. */
typedef VOID HW_STATE_CHANGE(_In_ PVOID HwDeviceExtension, _In_opt_ PVOID Context, _In_ SHORT AddressType,
                             _In_ PVOID Address, _In_ ULONG Status);
typedef HW_STATE_CHANGE *PHW_STATE_CHANGE;
typedef BOOLEAN STOR_SYNCHRONIZED_ACCESS(_In_ PVOID HwDeviceExtension, _In_ PVOID Context);
typedef STOR_SYNCHRONIZED_ACCESS *PSTOR_SYNCHRONIZED_ACCESS;

/* ---- The argument of StorPortInitialize -------------------------------------------------------------------------- */

#define STOR_FEATURE_VIRTUAL_MINIPORT 0x00000001
#define STOR_FEATURE_ATA_PASS_THROUGH 0x00000002
#define STOR_FEATURE_FULL_PNP_DEVICE_CAPABILITIES 0x00000004
#define STOR_FEATURE_DUMP_POINTERS 0x00000008
#define STOR_FEATURE_DEVICE_NAME_NO_SUFFIX 0x00000010
#define STOR_FEATURE_DUMP_RESUME_CAPABLE 0x00000020
#define STOR_FEATURE_DEVICE_DESCRIPTOR_FROM_ATA_INFO_VPD 0x00000040
#define STOR_FEATURE_EXTRA_IO_INFORMATION 0x00000080
#define STOR_FEATURE_ADAPTER_CONTROL_PRE_FINDADAPTER 0x00000100
#define STOR_FEATURE_ADAPTER_NOT_REQUIRE_IO_PORT 0x00000200
#define STOR_FEATURE_DUMP_16_BYTE_ALIGNMENT 0x00000400
#define STOR_FEATURE_SET_ADAPTER_INTERFACE_TYPE 0x00000800
#define STOR_FEATURE_DUMP_INFO 0x00001000
#define STOR_FEATURE_DMA_ALLOCATION_NO_BOUNDARY 0x00002000
#define STOR_FEATURE_NVME 0x00004000

#define SRB_TYPE_FLAG_SCSI_REQUEST_BLOCK (1 << SRB_TYPE_SCSI_REQUEST_BLOCK)
#define SRB_TYPE_FLAG_STORAGE_REQUEST_BLOCK (1 << SRB_TYPE_STORAGE_REQUEST_BLOCK)
#define ADDRESS_TYPE_FLAG_BTL8 (1 << STORAGE_ADDRESS_TYPE_BTL8)

typedef struct _HW_INITIALIZATION_DATA {
    ULONG HwInitializationDataSize;
    INTERFACE_TYPE AdapterInterfaceType;
    PHW_INITIALIZE HwInitialize;
    PHW_STARTIO HwStartIo;
    PHW_INTERRUPT HwInterrupt;
    PVOID HwFindAdapter; /* PHW_FIND_ADAPTER, or PVIRTUAL_HW_FIND_ADAPTER for a virtual miniport */
    PHW_RESET_BUS HwResetBus;
    PHW_DMA_STARTED HwDmaStarted;
    PHW_ADAPTER_STATE HwAdapterState;
    ULONG DeviceExtensionSize;
    ULONG SpecificLuExtensionSize;
    ULONG SrbExtensionSize;
    ULONG NumberOfAccessRanges;
    PVOID Reserved;
    UCHAR MapBuffers;
    BOOLEAN NeedPhysicalAddresses;
    BOOLEAN TaggedQueuing;
    BOOLEAN AutoRequestSense;
    BOOLEAN MultipleRequestPerLu;
    BOOLEAN ReceiveEvent;
    USHORT VendorIdLength;
    PVOID VendorId;
    union {
        USHORT ReservedUshort;
        USHORT PortVersionFlags;
    };
    USHORT DeviceIdLength;
    PVOID DeviceId;
    PHW_ADAPTER_CONTROL HwAdapterControl;
    PHW_BUILDIO HwBuildIo;
    PHW_FREE_ADAPTER_RESOURCES HwFreeAdapterResources;
    PHW_PROCESS_SERVICE_REQUEST HwProcessServiceRequest;
    PHW_COMPLETE_SERVICE_IRP HwCompleteServiceIrp;
    PHW_INITIALIZE_TRACING HwInitializeTracing;
    PHW_CLEANUP_TRACING HwCleanupTracing;
    PHW_TRACING_ENABLED HwTracingEnabled;
    ULONG FeatureSupport;
    ULONG SrbTypeFlags;
    ULONG AddressTypeFlags;
    ULONG Reserved1;
    PHW_UNIT_CONTROL HwUnitControl;
} HW_INITIALIZATION_DATA, *PHW_INITIALIZATION_DATA;

typedef struct _VIRTUAL_HW_INITIALIZATION_DATA {
    ULONG HwInitializationDataSize;
    INTERFACE_TYPE AdapterInterfaceType;
    PHW_INITIALIZE HwInitialize;
    PHW_STARTIO HwStartIo;
    PHW_INTERRUPT HwInterrupt;
    PVIRTUAL_HW_FIND_ADAPTER HwFindAdapter;
    PHW_RESET_BUS HwResetBus;
    PHW_DMA_STARTED HwDmaStarted;
    PHW_ADAPTER_STATE HwAdapterState;
    ULONG DeviceExtensionSize;
    ULONG SpecificLuExtensionSize;
    ULONG SrbExtensionSize;
    ULONG NumberOfAccessRanges;
    PVOID Reserved;
    UCHAR MapBuffers;
    BOOLEAN NeedPhysicalAddresses;
    BOOLEAN TaggedQueuing;
    BOOLEAN AutoRequestSense;
    BOOLEAN MultipleRequestPerLu;
    BOOLEAN ReceiveEvent;
    USHORT VendorIdLength;
    PVOID VendorId;
    union {
        USHORT ReservedUshort;
        USHORT PortVersionFlags;
    };
    USHORT DeviceIdLength;
    PVOID DeviceId;
    PHW_ADAPTER_CONTROL HwAdapterControl;
    PHW_BUILDIO HwBuildIo;
    PHW_FREE_ADAPTER_RESOURCES HwFreeAdapterResources;
    PHW_PROCESS_SERVICE_REQUEST HwProcessServiceRequest;
    PHW_COMPLETE_SERVICE_IRP HwCompleteServiceIrp;
    PHW_INITIALIZE_TRACING HwInitializeTracing;
    PHW_CLEANUP_TRACING HwCleanupTracing;
} VIRTUAL_HW_INITIALIZATION_DATA, *PVIRTUAL_HW_INITIALIZATION_DATA;

EXTERN_C_END

#endif
