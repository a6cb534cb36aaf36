/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes the fields of a request, which may be a SCSI_REQUEST_BLOCK or a STORAGE_REQUEST_BLOCK. A field that
 * the request's kind lacks reads as 0, and a write to it does nothing. Any IRQL.
 */
#ifndef ONDK_WDK_SRBHELPER_H
#define ONDK_WDK_SRBHELPER_H

#include "scsi.h"
#include "srb.h"

EXTERN_C_START

#ifndef SRBHELPER_ASSERT
#define SRBHELPER_ASSERT NT_ASSERT
#endif
#ifndef SRB_ALIGN_SIZEOF
#define SRB_ALIGN_SIZEOF(type) ((sizeof(type) + sizeof(PVOID) - 1) & ~(sizeof(PVOID) - 1))
#endif

#define SrbMoveMemory(destination, source, length) RtlMoveMemory(destination, source, length)
#define SrbCopyMemory(destination, source, length) RtlCopyMemory(destination, source, length)
#define SrbZeroMemory(destination, length) RtlZeroMemory(destination, length)
#define SrbEqualMemory(a, b, length) RtlEqualMemory(a, b, length)

FORCEINLINE BOOLEAN ondk_srb_is_extended(const VOID *srb)
{
    return ((const SCSI_REQUEST_BLOCK *)srb)->Function == SRB_FUNCTION_STORAGE_REQUEST_BLOCK;
}

/* ---- Data blocks of a STORAGE_REQUEST_BLOCK ---------------------------------------------------------------------- */

/* Returns NULL if there is no such block. */
FORCEINLINE PSRBEX_DATA SrbGetSrbExDataByIndex(_In_ PSTORAGE_REQUEST_BLOCK Srb, _In_ ULONG SrbExDataIndex)
{
    ULONG offset;

    if (!ondk_srb_is_extended(Srb) || SrbExDataIndex >= Srb->NumSrbExData)
        return NULL;
    offset = Srb->SrbExDataOffset[SrbExDataIndex];
    if (offset < sizeof(STORAGE_REQUEST_BLOCK) || offset >= Srb->SrbLength)
        return NULL;
    return (PSRBEX_DATA)(PVOID)((PUCHAR)Srb + offset);
}

/* Returns the first block of the type, or NULL. */
FORCEINLINE PSRBEX_DATA SrbGetSrbExDataByType(_In_ PSTORAGE_REQUEST_BLOCK Srb, _In_ SRBEXDATATYPE Type)
{
    ULONG index;

    for (index = 0; ondk_srb_is_extended(Srb) && index < Srb->NumSrbExData; index++) {
        PSRBEX_DATA data = SrbGetSrbExDataByIndex(Srb, index);

        if (data && data->Type == Type)
            return data;
    }
    return NULL;
}

/* Returns NULL if the request has no address behind the block. */
FORCEINLINE PSTOR_ADDRESS SrbGetAddress(_In_ PSTORAGE_REQUEST_BLOCK Srb)
{
    if (!ondk_srb_is_extended(Srb) || Srb->AddressOffset < sizeof(STORAGE_REQUEST_BLOCK) ||
        Srb->AddressOffset >= Srb->SrbLength)
        return NULL;
    return (PSTOR_ADDRESS)(PVOID)((PUCHAR)Srb + Srb->AddressOffset);
}

FORCEINLINE STOR_ADDR_BTL8 *ondk_srb_address(PVOID srb)
{
    PSTOR_ADDRESS address = SrbGetAddress((PSTORAGE_REQUEST_BLOCK)srb);

    return address && address->Type == STOR_ADDRESS_TYPE_BTL8 ? (STOR_ADDR_BTL8 *)(PVOID)address : NULL;
}

/* ---- Whole requests ---------------------------------------------------------------------------------------------- */

FORCEINLINE ULONG SrbGetSrbLength(_In_ PVOID Srb)
{
    return ondk_srb_is_extended(Srb) ? ((PSTORAGE_REQUEST_BLOCK)Srb)->SrbLength : ((PSCSI_REQUEST_BLOCK)Srb)->Length;
}

/* If the request does not fit, copies nothing and returns FALSE. */
FORCEINLINE BOOLEAN SrbCopySrb(_Out_writes_bytes_(DestinationSrbLength) PVOID DestinationSrb,
                               _In_ ULONG DestinationSrbLength, _In_ PVOID SourceSrb)
{
    ULONG length = SrbGetSrbLength(SourceSrb);

    if (DestinationSrbLength < length)
        return FALSE;
    RtlCopyMemory(DestinationSrb, SourceSrb, length);
    return TRUE;
}

/* Zeroes the request, except its length and function. */
FORCEINLINE VOID SrbZeroSrb(_Inout_ PVOID Srb)
{
    BOOLEAN is_extended = ondk_srb_is_extended(Srb);
    ULONG length = SrbGetSrbLength(Srb);
    USHORT head = ((PSCSI_REQUEST_BLOCK)Srb)->Length;
    UCHAR function = ((PSCSI_REQUEST_BLOCK)Srb)->Function;

    RtlZeroMemory(Srb, length);
    ((PSCSI_REQUEST_BLOCK)Srb)->Length = head;
    ((PSCSI_REQUEST_BLOCK)Srb)->Function = function;
    if (is_extended)
        RtlCopyMemory((PUCHAR)Srb + FIELD_OFFSET(STORAGE_REQUEST_BLOCK, SrbLength), &length, sizeof(length));
}

/* Returns the function of a request of either kind. An extended request has it in SrbFunction. */
FORCEINLINE ULONG SrbGetSrbFunction(_In_ PVOID Srb)
{
    return ondk_srb_is_extended(Srb) ? ((PSTORAGE_REQUEST_BLOCK)Srb)->SrbFunction
                                     : ((PSCSI_REQUEST_BLOCK)Srb)->Function;
}

FORCEINLINE UCHAR SrbGetSrbStatus(_In_ PVOID Srb)
{
    return ((PSCSI_REQUEST_BLOCK)Srb)->SrbStatus; /* both structures have it at the same place */
}

FORCEINLINE VOID SrbSetSrbStatus(_In_ PVOID Srb, _In_ UCHAR status)
{
    ((PSCSI_REQUEST_BLOCK)Srb)->SrbStatus = status;
}

/* ---- Fields of both ---------------------------------------------------------------------------------------------- */

FORCEINLINE PVOID SrbGetDataBuffer(_In_ PVOID Srb)
{
    return ondk_srb_is_extended(Srb) ? ((PSTORAGE_REQUEST_BLOCK)Srb)->DataBuffer
                                     : ((PSCSI_REQUEST_BLOCK)Srb)->DataBuffer;
}

FORCEINLINE VOID SrbSetDataBuffer(_In_ PVOID Srb, _In_ PVOID DataBuffer)
{
    if (ondk_srb_is_extended(Srb))
        ((PSTORAGE_REQUEST_BLOCK)Srb)->DataBuffer = DataBuffer;
    else
        ((PSCSI_REQUEST_BLOCK)Srb)->DataBuffer = DataBuffer;
}

FORCEINLINE ULONG SrbGetDataTransferLength(_In_ PVOID Srb)
{
    return ondk_srb_is_extended(Srb) ? ((PSTORAGE_REQUEST_BLOCK)Srb)->DataTransferLength
                                     : ((PSCSI_REQUEST_BLOCK)Srb)->DataTransferLength;
}

FORCEINLINE VOID SrbSetDataTransferLength(_In_ PVOID Srb, _In_ ULONG DataTransferLength)
{
    if (ondk_srb_is_extended(Srb))
        ((PSTORAGE_REQUEST_BLOCK)Srb)->DataTransferLength = DataTransferLength;
    else
        ((PSCSI_REQUEST_BLOCK)Srb)->DataTransferLength = DataTransferLength;
}

FORCEINLINE ULONG SrbGetTimeOutValue(_In_ PVOID Srb)
{
    return ondk_srb_is_extended(Srb) ? ((PSTORAGE_REQUEST_BLOCK)Srb)->TimeOutValue
                                     : ((PSCSI_REQUEST_BLOCK)Srb)->TimeOutValue;
}

FORCEINLINE VOID SrbSetTimeOutValue(_In_ PVOID Srb, _In_ ULONG TimeOutValue)
{
    if (ondk_srb_is_extended(Srb))
        ((PSTORAGE_REQUEST_BLOCK)Srb)->TimeOutValue = TimeOutValue;
    else
        ((PSCSI_REQUEST_BLOCK)Srb)->TimeOutValue = TimeOutValue;
}

FORCEINLINE PVOID SrbGetOriginalRequest(_In_ PVOID Srb)
{
    return ondk_srb_is_extended(Srb) ? ((PSTORAGE_REQUEST_BLOCK)Srb)->OriginalRequest
                                     : ((PSCSI_REQUEST_BLOCK)Srb)->OriginalRequest;
}

FORCEINLINE VOID SrbSetOriginalRequest(_In_ PVOID Srb, _In_ PVOID OriginalRequest)
{
    if (ondk_srb_is_extended(Srb))
        ((PSTORAGE_REQUEST_BLOCK)Srb)->OriginalRequest = OriginalRequest;
    else
        ((PSCSI_REQUEST_BLOCK)Srb)->OriginalRequest = OriginalRequest;
}

FORCEINLINE ULONG SrbGetSystemStatus(_In_ PVOID Srb)
{
    return ondk_srb_is_extended(Srb) ? ((PSTORAGE_REQUEST_BLOCK)Srb)->SystemStatus
                                     : ((PSCSI_REQUEST_BLOCK)Srb)->InternalStatus;
}

FORCEINLINE VOID SrbSetSystemStatus(_In_ PVOID Srb, _In_ ULONG SystemStatus)
{
    if (ondk_srb_is_extended(Srb))
        ((PSTORAGE_REQUEST_BLOCK)Srb)->SystemStatus = SystemStatus;
    else
        ((PSCSI_REQUEST_BLOCK)Srb)->InternalStatus = SystemStatus;
}

FORCEINLINE PVOID SrbGetMiniportContext(_In_ PVOID Srb)
{
    return ondk_srb_is_extended(Srb) ? ((PSTORAGE_REQUEST_BLOCK)Srb)->MiniportContext
                                     : ((PSCSI_REQUEST_BLOCK)Srb)->SrbExtension;
}

FORCEINLINE ULONG SrbGetSrbFlags(_In_ PVOID Srb)
{
    return ondk_srb_is_extended(Srb) ? ((PSTORAGE_REQUEST_BLOCK)Srb)->SrbFlags : ((PSCSI_REQUEST_BLOCK)Srb)->SrbFlags;
}

/* Adds the flags to those that the request already has. */
FORCEINLINE VOID SrbSetSrbFlags(_In_ PVOID Srb, _In_ ULONG Flags)
{
    if (ondk_srb_is_extended(Srb))
        ((PSTORAGE_REQUEST_BLOCK)Srb)->SrbFlags |= Flags;
    else
        ((PSCSI_REQUEST_BLOCK)Srb)->SrbFlags |= Flags;
}

FORCEINLINE VOID SrbClearSrbFlags(_In_ PVOID Srb, _In_ ULONG Flags)
{
    if (ondk_srb_is_extended(Srb))
        ((PSTORAGE_REQUEST_BLOCK)Srb)->SrbFlags &= ~Flags;
    else
        ((PSCSI_REQUEST_BLOCK)Srb)->SrbFlags &= ~Flags;
}

/* Replaces all flags. */
FORCEINLINE VOID SrbAssignSrbFlags(_In_ PVOID Srb, _In_ ULONG Flags)
{
    if (ondk_srb_is_extended(Srb))
        ((PSTORAGE_REQUEST_BLOCK)Srb)->SrbFlags = Flags;
    else
        ((PSCSI_REQUEST_BLOCK)Srb)->SrbFlags = Flags;
}

FORCEINLINE PVOID SrbGetNextSrb(_In_ PVOID Srb)
{
    if (ondk_srb_is_extended(Srb))
        return ((PSTORAGE_REQUEST_BLOCK)Srb)->NextSrb;
    return ((PSCSI_REQUEST_BLOCK)Srb)->NextSrb;
}

FORCEINLINE VOID SrbSetNextSrb(_In_ PVOID Srb, _In_opt_ PVOID NextSrb)
{
    if (ondk_srb_is_extended(Srb))
        ((PSTORAGE_REQUEST_BLOCK)Srb)->NextSrb = (PSTORAGE_REQUEST_BLOCK)NextSrb;
    else
        ((PSCSI_REQUEST_BLOCK)Srb)->NextSrb = (PSCSI_REQUEST_BLOCK)NextSrb;
}

FORCEINLINE ULONG SrbGetRequestTag(_In_ PVOID Srb)
{
    return ondk_srb_is_extended(Srb) ? ((PSTORAGE_REQUEST_BLOCK)Srb)->RequestTag : ((PSCSI_REQUEST_BLOCK)Srb)->QueueTag;
}

#define SrbGetQueueTag(srb) SrbGetRequestTag(srb)

FORCEINLINE VOID SrbSetQueueTag(_In_ PVOID Srb, _In_ ULONG QueueTag)
{
    if (ondk_srb_is_extended(Srb))
        ((PSTORAGE_REQUEST_BLOCK)Srb)->RequestTag = QueueTag;
    else
        ((PSCSI_REQUEST_BLOCK)Srb)->QueueTag = (UCHAR)QueueTag;
}

FORCEINLINE ULONG SrbGetRequestAttribute(_In_ PVOID Srb)
{
    return ondk_srb_is_extended(Srb) ? ((PSTORAGE_REQUEST_BLOCK)Srb)->RequestAttribute
                                     : ((PSCSI_REQUEST_BLOCK)Srb)->QueueAction;
}

FORCEINLINE VOID SrbSetRequestAttribute(_In_ PVOID Srb, _In_ UCHAR RequestAttribute)
{
    if (ondk_srb_is_extended(Srb))
        ((PSTORAGE_REQUEST_BLOCK)Srb)->RequestAttribute = RequestAttribute;
    else
        ((PSCSI_REQUEST_BLOCK)Srb)->QueueAction = RequestAttribute;
}

FORCEINLINE UCHAR SrbGetPathId(_In_ PVOID Srb)
{
    STOR_ADDR_BTL8 *address = ondk_srb_address(Srb);

    if (ondk_srb_is_extended(Srb))
        return address ? address->Path : 0;
    return ((PSCSI_REQUEST_BLOCK)Srb)->PathId;
}

FORCEINLINE UCHAR SrbGetTargetId(_In_ PVOID Srb)
{
    STOR_ADDR_BTL8 *address = ondk_srb_address(Srb);

    if (ondk_srb_is_extended(Srb))
        return address ? address->Target : 0;
    return ((PSCSI_REQUEST_BLOCK)Srb)->TargetId;
}

FORCEINLINE UCHAR SrbGetLun(_In_ PVOID Srb)
{
    STOR_ADDR_BTL8 *address = ondk_srb_address(Srb);

    if (ondk_srb_is_extended(Srb))
        return address ? address->Lun : 0;
    return ((PSCSI_REQUEST_BLOCK)Srb)->Lun;
}

/* Returns the three parts of the request's address. A pointer may be NULL. */
FORCEINLINE VOID SrbGetPathTargetLun(_In_ PVOID Srb, _Out_opt_ PUCHAR PathId, _Out_opt_ PUCHAR TargetId,
                                     _Out_opt_ PUCHAR Lun)
{
    if (PathId)
        *PathId = SrbGetPathId(Srb);
    if (TargetId)
        *TargetId = SrbGetTargetId(Srb);
    if (Lun)
        *Lun = SrbGetLun(Srb);
}

/* ---- SCSI commands ----------------------------------------------------------------------------------------------- */

/*
 * Returns the command block of an extended request with SRB_FUNCTION_EXECUTE_SCSI, and the other fields of its SCSI
 * data. CdbLength8 is set for a block of 16 or 32 bytes, CdbLength32 for a block of variable length. For any other
 * request, returns NULL and zeros.
 */
FORCEINLINE PCDB SrbGetScsiData(_In_ PSTORAGE_REQUEST_BLOCK SrbEx, _Out_opt_ PUCHAR CdbLength8,
                                _Out_opt_ PULONG CdbLength32, _Out_opt_ PUCHAR ScsiStatus,
                                _Outptr_opt_result_maybenull_ PVOID *SenseInfoBuffer,
                                _Out_opt_ PUCHAR SenseInfoBufferLength)
{
    UCHAR length = 0, status = 0, sense_length = 0;
    ULONG length32 = 0, index, count = 0;
    PVOID sense = NULL;
    PCDB cdb = NULL;

    if (ondk_srb_is_extended(SrbEx) && SrbEx->SrbFunction == SRB_FUNCTION_EXECUTE_SCSI)
        count = SrbEx->NumSrbExData;
    for (index = 0; index < count && !cdb; index++) {
        PSRBEX_DATA data = SrbGetSrbExDataByIndex(SrbEx, index);
        /* SRBEX_DATA_SCSI_CDB32 has the same first members. */
        PSRBEX_DATA_SCSI_CDB16 fixed = (PSRBEX_DATA_SCSI_CDB16)(PVOID)data;
        PSRBEX_DATA_SCSI_CDB_VAR variable = (PSRBEX_DATA_SCSI_CDB_VAR)(PVOID)data;

        if (data && (data->Type == SrbExDataTypeScsiCdb16 || data->Type == SrbExDataTypeScsiCdb32)) {
            cdb = (PCDB)fixed->Cdb;
            length = fixed->CdbLength;
            status = fixed->ScsiStatus;
            sense = fixed->SenseInfoBuffer;
            sense_length = fixed->SenseInfoBufferLength;
        } else if (data && data->Type == SrbExDataTypeScsiCdbVar) {
            cdb = (PCDB)variable->Cdb;
            length32 = variable->CdbLength;
            status = variable->ScsiStatus;
            sense = variable->SenseInfoBuffer;
            sense_length = variable->SenseInfoBufferLength;
        }
    }
    if (CdbLength8)
        *CdbLength8 = length;
    if (CdbLength32)
        *CdbLength32 = length32;
    if (ScsiStatus)
        *ScsiStatus = status;
    if (SenseInfoBuffer)
        *SenseInfoBuffer = sense;
    if (SenseInfoBufferLength)
        *SenseInfoBufferLength = sense_length;
    return cdb;
}

/* Writes the fields of the SCSI data whose pointers are not NULL. */
FORCEINLINE VOID SrbSetScsiData(_In_ PSTORAGE_REQUEST_BLOCK SrbEx, _In_opt_ PUCHAR CdbLength8,
                                _In_opt_ PULONG CdbLength32, _In_opt_ PUCHAR ScsiStatus,
                                _In_opt_ PVOID *SenseInfoBuffer, _In_opt_ PUCHAR SenseInfoBufferLength)
{
    PSRBEX_DATA_SCSI_CDB16 fixed = NULL;
    PSRBEX_DATA_SCSI_CDB_VAR variable = NULL;
    ULONG index, count = 0;

    if (ondk_srb_is_extended(SrbEx) && SrbEx->SrbFunction == SRB_FUNCTION_EXECUTE_SCSI)
        count = SrbEx->NumSrbExData;
    for (index = 0; index < count && !fixed && !variable; index++) {
        PSRBEX_DATA data = SrbGetSrbExDataByIndex(SrbEx, index);

        if (data && (data->Type == SrbExDataTypeScsiCdb16 || data->Type == SrbExDataTypeScsiCdb32))
            fixed = (PSRBEX_DATA_SCSI_CDB16)(PVOID)data;
        else if (data && data->Type == SrbExDataTypeScsiCdbVar)
            variable = (PSRBEX_DATA_SCSI_CDB_VAR)(PVOID)data;
    }
    if (fixed && CdbLength8)
        fixed->CdbLength = *CdbLength8;
    if (variable && CdbLength32)
        variable->CdbLength = *CdbLength32;
    if ((fixed || variable) && ScsiStatus)
        *(fixed ? &fixed->ScsiStatus : &variable->ScsiStatus) = *ScsiStatus;
    if ((fixed || variable) && SenseInfoBuffer)
        *(fixed ? &fixed->SenseInfoBuffer : &variable->SenseInfoBuffer) = *SenseInfoBuffer;
    if ((fixed || variable) && SenseInfoBufferLength)
        *(fixed ? &fixed->SenseInfoBufferLength : &variable->SenseInfoBufferLength) = *SenseInfoBufferLength;
}

FORCEINLINE PCDB SrbGetCdb(_In_ PVOID Srb)
{
    if (ondk_srb_is_extended(Srb))
        return SrbGetScsiData((PSTORAGE_REQUEST_BLOCK)Srb, NULL, NULL, NULL, NULL, NULL);
    return (PCDB)((PSCSI_REQUEST_BLOCK)Srb)->Cdb;
}

/*
 * Returns the length of the command block. Returns 0 for a block of variable length; SrbGetScsiData returns its length
 * in CdbLength32.
 */
FORCEINLINE UCHAR SrbGetCdbLength(_In_ PVOID Srb)
{
    UCHAR length;

    if (!ondk_srb_is_extended(Srb))
        return ((PSCSI_REQUEST_BLOCK)Srb)->CdbLength;
    SrbGetScsiData((PSTORAGE_REQUEST_BLOCK)Srb, &length, NULL, NULL, NULL, NULL);
    return length;
}

FORCEINLINE VOID SrbSetCdbLength(_In_ PVOID Srb, _In_ UCHAR CdbLength)
{
    if (ondk_srb_is_extended(Srb))
        SrbSetScsiData((PSTORAGE_REQUEST_BLOCK)Srb, &CdbLength, NULL, NULL, NULL, NULL);
    else
        ((PSCSI_REQUEST_BLOCK)Srb)->CdbLength = CdbLength;
}

FORCEINLINE UCHAR SrbGetScsiStatus(_In_ PVOID Srb)
{
    UCHAR status;

    if (!ondk_srb_is_extended(Srb))
        return ((PSCSI_REQUEST_BLOCK)Srb)->ScsiStatus;
    SrbGetScsiData((PSTORAGE_REQUEST_BLOCK)Srb, NULL, NULL, &status, NULL, NULL);
    return status;
}

FORCEINLINE VOID SrbSetScsiStatus(_In_ PVOID Srb, _In_ UCHAR ScsiStatus)
{
    if (ondk_srb_is_extended(Srb))
        SrbSetScsiData((PSTORAGE_REQUEST_BLOCK)Srb, NULL, NULL, &ScsiStatus, NULL, NULL);
    else
        ((PSCSI_REQUEST_BLOCK)Srb)->ScsiStatus = ScsiStatus;
}

FORCEINLINE PVOID SrbGetSenseInfoBuffer(_In_ PVOID Srb)
{
    PVOID sense;

    if (!ondk_srb_is_extended(Srb))
        return ((PSCSI_REQUEST_BLOCK)Srb)->SenseInfoBuffer;
    SrbGetScsiData((PSTORAGE_REQUEST_BLOCK)Srb, NULL, NULL, NULL, &sense, NULL);
    return sense;
}

FORCEINLINE VOID SrbSetSenseInfoBuffer(_In_ PVOID Srb, _In_opt_ PVOID SenseInfoBuffer)
{
    if (ondk_srb_is_extended(Srb))
        SrbSetScsiData((PSTORAGE_REQUEST_BLOCK)Srb, NULL, NULL, NULL, &SenseInfoBuffer, NULL);
    else
        ((PSCSI_REQUEST_BLOCK)Srb)->SenseInfoBuffer = SenseInfoBuffer;
}

FORCEINLINE UCHAR SrbGetSenseInfoBufferLength(_In_ PVOID Srb)
{
    UCHAR length;

    if (!ondk_srb_is_extended(Srb))
        return ((PSCSI_REQUEST_BLOCK)Srb)->SenseInfoBufferLength;
    SrbGetScsiData((PSTORAGE_REQUEST_BLOCK)Srb, NULL, NULL, NULL, NULL, &length);
    return length;
}

FORCEINLINE VOID SrbSetSenseInfoBufferLength(_In_ PVOID Srb, _In_ UCHAR SenseInfoBufferLength)
{
    if (ondk_srb_is_extended(Srb))
        SrbSetScsiData((PSTORAGE_REQUEST_BLOCK)Srb, NULL, NULL, NULL, NULL, &SenseInfoBufferLength);
    else
        ((PSCSI_REQUEST_BLOCK)Srb)->SenseInfoBufferLength = SenseInfoBufferLength;
}

EXTERN_C_END

#endif
