/* SPDX-License-Identifier: MIT */
/*
 * Requests to a miniport: SCSI_REQUEST_BLOCK, and STORAGE_REQUEST_BLOCK with its data blocks.
 */
#ifndef ONDK_WDK_SRB_H
#define ONDK_WDK_SRB_H
#ifndef _NTSRB_
#define _NTSRB_ /* Windows' own include guard, which some drivers test */
#endif

#include "wdm.h"

EXTERN_C_START

/* ---- Functions, status, flags ------------------------------------------------------------------------------------ */

#define SRB_FUNCTION_EXECUTE_SCSI 0x00
#define SRB_FUNCTION_CLAIM_DEVICE 0x01
#define SRB_FUNCTION_IO_CONTROL 0x02
#define SRB_FUNCTION_RECEIVE_EVENT 0x03
#define SRB_FUNCTION_RELEASE_QUEUE 0x04
#define SRB_FUNCTION_ATTACH_DEVICE 0x05
#define SRB_FUNCTION_RELEASE_DEVICE 0x06
#define SRB_FUNCTION_SHUTDOWN 0x07
#define SRB_FUNCTION_FLUSH 0x08
#define SRB_FUNCTION_PROTOCOL_COMMAND 0x09
#define SRB_FUNCTION_ABORT_COMMAND 0x10
#define SRB_FUNCTION_RELEASE_RECOVERY 0x11
#define SRB_FUNCTION_RESET_BUS 0x12
#define SRB_FUNCTION_RESET_DEVICE 0x13
#define SRB_FUNCTION_TERMINATE_IO 0x14
#define SRB_FUNCTION_FLUSH_QUEUE 0x15
#define SRB_FUNCTION_REMOVE_DEVICE 0x16
#define SRB_FUNCTION_WMI 0x17
#define SRB_FUNCTION_LOCK_QUEUE 0x18
#define SRB_FUNCTION_UNLOCK_QUEUE 0x19
#define SRB_FUNCTION_QUIESCE_DEVICE 0x1A
#define SRB_FUNCTION_RESET_LOGICAL_UNIT 0x20
#define SRB_FUNCTION_SET_LINK_TIMEOUT 0x21
#define SRB_FUNCTION_LINK_TIMEOUT_OCCURRED 0x22
#define SRB_FUNCTION_LINK_TIMEOUT_COMPLETE 0x23
#define SRB_FUNCTION_POWER 0x24
#define SRB_FUNCTION_PNP 0x25
#define SRB_FUNCTION_DUMP_POINTERS 0x26
#define SRB_FUNCTION_FREE_DUMP_POINTERS 0x27
#define SRB_FUNCTION_STORAGE_REQUEST_BLOCK 0x28 /* a block with this Function is a STORAGE_REQUEST_BLOCK */
#define SRB_FUNCTION_CRYPTO_OPERATION 0x29
#define SRB_FUNCTION_GET_DUMP_INFO 0x2A
#define SRB_FUNCTION_FREE_DUMP_INFO 0x2B

#define SRB_STATUS_PENDING 0x00
#define SRB_STATUS_SUCCESS 0x01
#define SRB_STATUS_ABORTED 0x02
#define SRB_STATUS_ABORT_FAILED 0x03
#define SRB_STATUS_ERROR 0x04
#define SRB_STATUS_BUSY 0x05
#define SRB_STATUS_INVALID_REQUEST 0x06
#define SRB_STATUS_INVALID_PATH_ID 0x07
#define SRB_STATUS_NO_DEVICE 0x08
#define SRB_STATUS_TIMEOUT 0x09
#define SRB_STATUS_SELECTION_TIMEOUT 0x0A
#define SRB_STATUS_COMMAND_TIMEOUT 0x0B
#define SRB_STATUS_MESSAGE_REJECTED 0x0D
#define SRB_STATUS_BUS_RESET 0x0E
#define SRB_STATUS_PARITY_ERROR 0x0F
#define SRB_STATUS_REQUEST_SENSE_FAILED 0x10
#define SRB_STATUS_NO_HBA 0x11
#define SRB_STATUS_DATA_OVERRUN 0x12 /* also used if fewer bytes than requested were transferred */
#define SRB_STATUS_UNEXPECTED_BUS_FREE 0x13
#define SRB_STATUS_PHASE_SEQUENCE_FAILURE 0x14
#define SRB_STATUS_BAD_SRB_BLOCK_LENGTH 0x15
#define SRB_STATUS_REQUEST_FLUSHED 0x16
#define SRB_STATUS_INVALID_LUN 0x20
#define SRB_STATUS_INVALID_TARGET_ID 0x21
#define SRB_STATUS_BAD_FUNCTION 0x22
#define SRB_STATUS_ERROR_RECOVERY 0x23
#define SRB_STATUS_NOT_POWERED 0x24
#define SRB_STATUS_LINK_DOWN 0x25
#define SRB_STATUS_INSUFFICIENT_RESOURCES 0x26
#define SRB_STATUS_THROTTLED_REQUEST 0x27
#define SRB_STATUS_INVALID_PARAMETER 0x28
#define SRB_STATUS_INTERNAL_ERROR 0x30
#define SRB_STATUS_QUEUE_FROZEN 0x40
#define SRB_STATUS_AUTOSENSE_VALID 0x80
#define SRB_STATUS(status) ((status) & ~(SRB_STATUS_AUTOSENSE_VALID | SRB_STATUS_QUEUE_FROZEN))

#define SRB_FLAGS_NO_DATA_TRANSFER 0x00000000
#define SRB_FLAGS_QUEUE_ACTION_ENABLE 0x00000002
#define SRB_FLAGS_DISABLE_DISCONNECT 0x00000004
#define SRB_FLAGS_DISABLE_SYNCH_TRANSFER 0x00000008
#define SRB_FLAGS_BYPASS_FROZEN_QUEUE 0x00000010
#define SRB_FLAGS_DISABLE_AUTOSENSE 0x00000020
#define SRB_FLAGS_DATA_IN 0x00000040
#define SRB_FLAGS_DATA_OUT 0x00000080
#define SRB_FLAGS_UNSPECIFIED_DIRECTION (SRB_FLAGS_DATA_IN | SRB_FLAGS_DATA_OUT)
#define SRB_FLAGS_NO_QUEUE_FREEZE 0x00000100
#define SRB_FLAGS_ADAPTER_CACHE_ENABLE 0x00000200
#define SRB_FLAGS_FREE_SENSE_BUFFER 0x00000400
#define SRB_FLAGS_D3_PROCESSING 0x00000800
#define SRB_FLAGS_SEQUENTIAL_REQUIRED 0x00001000
#define SRB_FLAGS_IS_ACTIVE 0x00010000
#define SRB_FLAGS_ALLOCATED_FROM_ZONE 0x00020000
#define SRB_FLAGS_SGLIST_FROM_POOL 0x00040000
#define SRB_FLAGS_BYPASS_LOCKED_QUEUE 0x00080000
#define SRB_FLAGS_NO_KEEP_AWAKE 0x00100000
#define SRB_FLAGS_PORT_DRIVER_ALLOCSENSE 0x00200000
#define SRB_FLAGS_PORT_DRIVER_SENSEHASPORT 0x00400000
#define SRB_FLAGS_DONT_START_NEXT_PACKET 0x00800000
#define SRB_FLAGS_PORT_DRIVER_RESERVED 0x0F000000
#define SRB_FLAGS_CLASS_DRIVER_RESERVED 0xF0000000

#define SRB_SIMPLE_TAG_REQUEST 0x20
#define SRB_HEAD_OF_QUEUE_TAG_REQUEST 0x21
#define SRB_ORDERED_QUEUE_TAG_REQUEST 0x22

#define SP_UNTAGGED ((UCHAR) ~0)

/* ---- SCSI_REQUEST_BLOCK ------------------------------------------------------------------------------------------ */

typedef struct _SCSI_REQUEST_BLOCK {
    USHORT Length;
    UCHAR Function;
    UCHAR SrbStatus;
    UCHAR ScsiStatus;
    UCHAR PathId;
    UCHAR TargetId;
    UCHAR Lun;
    UCHAR QueueTag;
    UCHAR QueueAction;
    UCHAR CdbLength;
    UCHAR SenseInfoBufferLength;
    ULONG SrbFlags;
    ULONG DataTransferLength;
    ULONG TimeOutValue; /* seconds */
    PVOID DataBuffer;
    PVOID SenseInfoBuffer;
    struct _SCSI_REQUEST_BLOCK *NextSrb;
    PVOID OriginalRequest;
    PVOID SrbExtension;
    union {
        ULONG InternalStatus;
        ULONG QueueSortKey;
        ULONG LinkTimeoutValue;
    };
    ULONG Reserved;
    UCHAR Cdb[16];
} SCSI_REQUEST_BLOCK, *PSCSI_REQUEST_BLOCK;

#define SCSI_REQUEST_BLOCK_SIZE sizeof(SCSI_REQUEST_BLOCK)

typedef struct _SCSI_WMI_REQUEST_BLOCK {
    USHORT Length;
    UCHAR Function; /* for SRB_FUNCTION_WMI */
    UCHAR SrbStatus;
    UCHAR WMISubFunction;
    UCHAR PathId;
    UCHAR TargetId;
    UCHAR Lun;
    UCHAR Reserved1;
    UCHAR WMIFlags;
    UCHAR Reserved2[2];
    ULONG SrbFlags;
    ULONG DataTransferLength;
    ULONG TimeOutValue;
    PVOID DataBuffer;
    PVOID DataPath;
    PVOID Reserved3;
    PVOID OriginalRequest;
    PVOID SrbExtension;
    ULONG Reserved4;
    ULONG Reserved6;
    UCHAR Reserved5[16];
} SCSI_WMI_REQUEST_BLOCK, *PSCSI_WMI_REQUEST_BLOCK;

#define SRB_WMI_FLAGS_ADAPTER_REQUEST 0x01

typedef enum _STOR_DEVICE_POWER_STATE {
    StorPowerDeviceUnspecified = 0,
    StorPowerDeviceD0,
    StorPowerDeviceD1,
    StorPowerDeviceD2,
    StorPowerDeviceD3,
    StorPowerDeviceMaximum
} STOR_DEVICE_POWER_STATE, *PSTOR_DEVICE_POWER_STATE;

typedef enum {
    StorPowerActionNone = 0,
    StorPowerActionReserved,
    StorPowerActionSleep,
    StorPowerActionHibernate,
    StorPowerActionShutdown,
    StorPowerActionShutdownReset,
    StorPowerActionShutdownOff,
    StorPowerActionWarmEject
} STOR_POWER_ACTION, *PSTOR_POWER_ACTION;

typedef struct _SCSI_POWER_REQUEST_BLOCK {
    USHORT Length;
    UCHAR Function; /* for SRB_FUNCTION_POWER */
    UCHAR SrbStatus;
    UCHAR SrbPowerFlags;
    UCHAR PathId;
    UCHAR TargetId;
    UCHAR Lun;
    STOR_DEVICE_POWER_STATE DevicePowerState;
    ULONG SrbFlags;
    ULONG DataTransferLength;
    ULONG TimeOutValue;
    PVOID DataBuffer;
    PVOID SenseInfoBuffer;
    struct _SCSI_REQUEST_BLOCK *NextSrb;
    PVOID OriginalRequest;
    PVOID SrbExtension;
    STOR_POWER_ACTION PowerAction;
    ULONG Reserved;
    UCHAR Reserved5[16];
} SCSI_POWER_REQUEST_BLOCK, *PSCSI_POWER_REQUEST_BLOCK;

#define SRB_POWER_FLAGS_ADAPTER_REQUEST 0x01

typedef enum {
    StorStartDevice = 0x0,
    StorRemoveDevice = 0x2,
    StorStopDevice = 0x4,
    StorQueryCapabilities = 0x9,
    StorQueryResourceRequirements = 0xB,
    StorFilterResourceRequirements = 0xD,
    StorSurpriseRemoval = 0x17
} STOR_PNP_ACTION, *PSTOR_PNP_ACTION;

typedef struct _SCSI_PNP_REQUEST_BLOCK {
    USHORT Length;
    UCHAR Function; /* for SRB_FUNCTION_PNP */
    UCHAR SrbStatus;
    UCHAR PnPSubFunction;
    UCHAR PathId;
    UCHAR TargetId;
    UCHAR Lun;
    STOR_PNP_ACTION PnPAction;
    ULONG SrbFlags;
    ULONG DataTransferLength;
    ULONG TimeOutValue;
    PVOID DataBuffer;
    PVOID SenseInfoBuffer;
    struct _SCSI_REQUEST_BLOCK *NextSrb;
    PVOID OriginalRequest;
    PVOID SrbExtension;
    ULONG SrbPnPFlags;
    ULONG Reserved;
    UCHAR Reserved4[16];
} SCSI_PNP_REQUEST_BLOCK, *PSCSI_PNP_REQUEST_BLOCK;

#define SRB_PNP_FLAGS_ADAPTER_REQUEST 0x01

typedef struct _STOR_DEVICE_CAPABILITIES {
    USHORT Version;
    ULONG DeviceD1 : 1;
    ULONG DeviceD2 : 1;
    ULONG LockSupported : 1;
    ULONG EjectSupported : 1;
    ULONG Removable : 1;
    ULONG DockDevice : 1;
    ULONG UniqueID : 1;
    ULONG SilentInstall : 1;
    ULONG SurpriseRemovalOK : 1;
    ULONG NoDisplayInUI : 1;
} STOR_DEVICE_CAPABILITIES, *PSTOR_DEVICE_CAPABILITIES;

typedef struct _STOR_DEVICE_CAPABILITIES_EX {
    USHORT Version;
    USHORT Size;
    ULONG DeviceD1 : 1;
    ULONG DeviceD2 : 1;
    ULONG LockSupported : 1;
    ULONG EjectSupported : 1;
    ULONG Removable : 1;
    ULONG DockDevice : 1;
    ULONG UniqueID : 1;
    ULONG SilentInstall : 1;
    ULONG RawDeviceOK : 1;
    ULONG SurpriseRemovalOK : 1;
    ULONG NoDisplayInUI : 1;
    ULONG DefaultWriteCacheEnabled : 1;
    ULONG Reserved0 : 20;
    ULONG Address;
    ULONG UINumber;
    ULONG Reserved1[2];
} STOR_DEVICE_CAPABILITIES_EX, *PSTOR_DEVICE_CAPABILITIES_EX;

#define STOR_DEVICE_CAPABILITIES_EX_VERSION_1 0x1

/* ---- STORAGE_REQUEST_BLOCK --------------------------------------------------------------------------------------- */

#define SRB_SIGNATURE 0x53524258 /* 'SRBX' */
#define STORAGE_REQUEST_BLOCK_VERSION_1 0x1

#define SRB_TYPE_SCSI_REQUEST_BLOCK 0
#define SRB_TYPE_STORAGE_REQUEST_BLOCK 1
#define STORAGE_ADDRESS_TYPE_BTL8 0

typedef struct DECLSPEC_ALIGN(8) _STOR_ADDRESS {
    USHORT Type;
    USHORT Port;
    ULONG AddressLength;
    UCHAR AddressData[ANYSIZE_ARRAY];
} STOR_ADDRESS, *PSTOR_ADDRESS;

#define STOR_ADDRESS_TYPE_UNKNOWN 0x0
#define STOR_ADDRESS_TYPE_BTL8 0x1
#define STOR_ADDRESS_TYPE_MAX 0xffff
#define STOR_ADDR_BTL8_ADDRESS_LENGTH 4

typedef struct DECLSPEC_ALIGN(8) _STOR_ADDR_BTL8 {
    USHORT Type;
    USHORT Port;
    ULONG AddressLength;
    UCHAR Path;
    UCHAR Target;
    UCHAR Lun;
    UCHAR Reserved;
} STOR_ADDR_BTL8, *PSTOR_ADDR_BTL8;

typedef enum _SRBEXDATATYPE {
    SrbExDataTypeUnknown = 0,
    SrbExDataTypeBidirectional = 0x01,
    SrbExDataTypeScsiCdb16 = 0x40,
    SrbExDataTypeScsiCdb32 = 0x41,
    SrbExDataTypeScsiCdbVar = 0x42,
    SrbExDataTypeWmi = 0x60,
    SrbExDataTypePower = 0x61,
    SrbExDataTypePnP = 0x62,
    SrbExDataTypeIoInfo = 0x80,
    SrbExDataTypeMSReservedStart = (int)0xf0000000,
    SrbExDataTypeReserved = (int)0xffffffff
} SRBEXDATATYPE, *PSRBEXDATATYPE;

typedef struct DECLSPEC_ALIGN(8) _SRBEX_DATA {
    SRBEXDATATYPE Type;
    ULONG Length;
    UCHAR Data[ANYSIZE_ARRAY];
} SRBEX_DATA, *PSRBEX_DATA;

#define SRBEX_DATA_BIDIRECTIONAL_LENGTH ((4 * sizeof(ULONG)) + sizeof(PVOID) - (2 * sizeof(ULONG)))
#define SRBEX_DATA_SCSI_CDB16_LENGTH ((sizeof(SRBEX_DATA_SCSI_CDB16)) - (2 * sizeof(ULONG)))
#define SRBEX_DATA_SCSI_CDB32_LENGTH ((sizeof(SRBEX_DATA_SCSI_CDB32)) - (2 * sizeof(ULONG)))
#define SRBEX_DATA_SCSI_CDB_VAR_LENGTH_MIN ((sizeof(SRBEX_DATA_SCSI_CDB_VAR)) - (2 * sizeof(ULONG)))
#define SRBEX_DATA_WMI_LENGTH ((sizeof(SRBEX_DATA_WMI)) - (2 * sizeof(ULONG)))
#define SRBEX_DATA_POWER_LENGTH ((sizeof(SRBEX_DATA_POWER)) - (2 * sizeof(ULONG)))
#define SRBEX_DATA_PNP_LENGTH ((sizeof(SRBEX_DATA_PNP)) - (2 * sizeof(ULONG)))
#define SRBEX_DATA_IO_INFO_LENGTH ((sizeof(SRBEX_DATA_IO_INFO)) - (2 * sizeof(ULONG)))

typedef struct DECLSPEC_ALIGN(8) _SRBEX_DATA_BIDIRECTIONAL {
    SRBEXDATATYPE Type;
    ULONG Length;
    ULONG DataInTransferLength;
    ULONG Reserved1;
    PVOID DataInBuffer;
} SRBEX_DATA_BIDIRECTIONAL, *PSRBEX_DATA_BIDIRECTIONAL;

typedef struct DECLSPEC_ALIGN(8) _SRBEX_DATA_SCSI_CDB16 {
    SRBEXDATATYPE Type;
    ULONG Length;
    UCHAR ScsiStatus;
    UCHAR SenseInfoBufferLength;
    UCHAR CdbLength;
    UCHAR Reserved;
    ULONG Reserved1;
    PVOID SenseInfoBuffer;
    UCHAR DECLSPEC_ALIGN(8) Cdb[16];
} SRBEX_DATA_SCSI_CDB16, *PSRBEX_DATA_SCSI_CDB16;

typedef struct DECLSPEC_ALIGN(8) _SRBEX_DATA_SCSI_CDB32 {
    SRBEXDATATYPE Type;
    ULONG Length;
    UCHAR ScsiStatus;
    UCHAR SenseInfoBufferLength;
    UCHAR CdbLength;
    UCHAR Reserved;
    ULONG Reserved1;
    PVOID SenseInfoBuffer;
    UCHAR DECLSPEC_ALIGN(8) Cdb[32];
} SRBEX_DATA_SCSI_CDB32, *PSRBEX_DATA_SCSI_CDB32;

typedef struct DECLSPEC_ALIGN(8) _SRBEX_DATA_SCSI_CDB_VAR {
    SRBEXDATATYPE Type;
    ULONG Length;
    UCHAR ScsiStatus;
    UCHAR SenseInfoBufferLength;
    UCHAR Reserved[2];
    ULONG CdbLength;
    ULONG Reserved1[2];
    PVOID SenseInfoBuffer;
    UCHAR DECLSPEC_ALIGN(8) Cdb[ANYSIZE_ARRAY];
} SRBEX_DATA_SCSI_CDB_VAR, *PSRBEX_DATA_SCSI_CDB_VAR;

typedef struct DECLSPEC_ALIGN(8) _SRBEX_DATA_WMI {
    SRBEXDATATYPE Type;
    ULONG Length;
    UCHAR WMISubFunction;
    UCHAR WMIFlags;
    UCHAR Reserved[2];
    ULONG Reserved1;
    PVOID DataPath;
} SRBEX_DATA_WMI, *PSRBEX_DATA_WMI;

typedef struct DECLSPEC_ALIGN(8) _SRBEX_DATA_POWER {
    SRBEXDATATYPE Type;
    ULONG Length;
    UCHAR SrbPowerFlags;
    UCHAR Reserved[3];
    STOR_DEVICE_POWER_STATE DevicePowerState;
    STOR_POWER_ACTION PowerAction;
} SRBEX_DATA_POWER, *PSRBEX_DATA_POWER;

typedef struct DECLSPEC_ALIGN(8) _SRBEX_DATA_PNP {
    SRBEXDATATYPE Type;
    ULONG Length;
    UCHAR PnPSubFunction;
    UCHAR Reserved[3];
    STOR_PNP_ACTION PnPAction;
    ULONG SrbPnPFlags;
    ULONG Reserved1;
} SRBEX_DATA_PNP, *PSRBEX_DATA_PNP;

typedef struct DECLSPEC_ALIGN(8) _SRBEX_DATA_IO_INFO {
    SRBEXDATATYPE Type;
    ULONG Length;
    ULONG Flags;
    ULONG Key;
    ULONG RWLength;
    BOOLEAN IsWriteRequest;
    UCHAR CachePriority;
    UCHAR Reserved[2];
    ULONG Reserved1[4];
} SRBEX_DATA_IO_INFO, *PSRBEX_DATA_IO_INFO;

typedef struct DECLSPEC_ALIGN(8) _STORAGE_REQUEST_BLOCK {
    USHORT Length;
    UCHAR Function; /* SRB_FUNCTION_STORAGE_REQUEST_BLOCK */
    UCHAR SrbStatus;
    ULONG ReservedUlong1;
    ULONG Signature;
    ULONG Version;
    ULONG SrbLength;
    ULONG SrbFunction;
    ULONG SrbFlags;
    ULONG ReservedUlong2;
    ULONG RequestTag;
    USHORT RequestPriority;
    USHORT RequestAttribute;
    ULONG TimeOutValue;
    ULONG SystemStatus;
    ULONG ZeroGuard1;
    ULONG DECLSPEC_ALIGN(8) AddressOffset; /* offset of a STOR_ADDRESS from the start of the block */
    ULONG NumSrbExData;
    ULONG DataTransferLength;
    PVOID DataBuffer;
    PVOID ZeroGuard2;
    PVOID OriginalRequest;
    PVOID ClassContext;
    PVOID PortContext;
    PVOID MiniportContext; /* the SRB extension */
    struct _STORAGE_REQUEST_BLOCK *NextSrb;
    ULONG SrbExDataOffset[ANYSIZE_ARRAY];
} STORAGE_REQUEST_BLOCK, *PSTORAGE_REQUEST_BLOCK;

EXTERN_C_END

#endif
