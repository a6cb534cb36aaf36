/* SPDX-License-Identifier: MIT */
/*
 * The WMI structures of miniports. No WMI requests are sent to miniports here.
 */
#ifndef ONDK_WDK_SCSIWMI_H
#define ONDK_WDK_SCSIWMI_H

#include "wdm.h"

EXTERN_C_START

typedef struct {
    PVOID UserContext;
    ULONG BufferSize;
    PUCHAR Buffer;
    UCHAR MinorFunction;
    UCHAR ReturnStatus;
    ULONG ReturnSize;
} SCSIWMI_REQUEST_CONTEXT, *PSCSIWMI_REQUEST_CONTEXT;

typedef struct {
    LPCGUID Guid;
    ULONG InstanceCount;
    ULONG Flags;
} SCSIWMIGUIDREGINFO, *PSCSIWMIGUIDREGINFO;

typedef enum { ScsiWmiEventControl, ScsiWmiDataBlockControl } SCSIWMI_ENABLE_DISABLE_CONTROL;

typedef UCHAR SCSIWMI_QUERY_REGINFO(_In_ PVOID DeviceContext, _In_ PSCSIWMI_REQUEST_CONTEXT RequestContext,
                                    _Out_ PWCHAR *MofResourceName);
typedef SCSIWMI_QUERY_REGINFO *PSCSIWMI_QUERY_REGINFO;

typedef BOOLEAN SCSIWMI_QUERY_DATABLOCK(_In_ PVOID Context, _In_ PSCSIWMI_REQUEST_CONTEXT DispatchContext,
                                        _In_ ULONG GuidIndex, _In_ ULONG InstanceIndex, _In_ ULONG InstanceCount,
                                        _Inout_ PULONG InstanceLengthArray, _In_ ULONG BufferAvail,
                                        _Out_ PUCHAR Buffer);
typedef SCSIWMI_QUERY_DATABLOCK *PSCSIWMI_QUERY_DATABLOCK;

typedef BOOLEAN SCSIWMI_SET_DATABLOCK(_In_ PVOID DeviceContext, _In_ PSCSIWMI_REQUEST_CONTEXT RequestContext,
                                      _In_ ULONG GuidIndex, _In_ ULONG InstanceIndex, _In_ ULONG BufferSize,
                                      _In_ PUCHAR Buffer);
typedef SCSIWMI_SET_DATABLOCK *PSCSIWMI_SET_DATABLOCK;

typedef BOOLEAN SCSIWMI_SET_DATAITEM(_In_ PVOID DeviceContext, _In_ PSCSIWMI_REQUEST_CONTEXT RequestContext,
                                     _In_ ULONG GuidIndex, _In_ ULONG InstanceIndex, _In_ ULONG DataItemId,
                                     _In_ ULONG BufferSize, _In_ PUCHAR Buffer);
typedef SCSIWMI_SET_DATAITEM *PSCSIWMI_SET_DATAITEM;

typedef BOOLEAN SCSIWMI_EXECUTE_METHOD(_In_ PVOID DeviceContext, _In_ PSCSIWMI_REQUEST_CONTEXT RequestContext,
                                       _In_ ULONG GuidIndex, _In_ ULONG InstanceIndex, _In_ ULONG MethodId,
                                       _In_ ULONG InBufferSize, _In_ ULONG OutBufferSize, _Inout_ PUCHAR Buffer);
typedef SCSIWMI_EXECUTE_METHOD *PSCSIWMI_EXECUTE_METHOD;

typedef BOOLEAN SCSIWMI_FUNCTION_CONTROL(_In_ PVOID DeviceContext, _In_ PSCSIWMI_REQUEST_CONTEXT RequestContext,
                                         _In_ ULONG GuidIndex, _In_ SCSIWMI_ENABLE_DISABLE_CONTROL Function,
                                         _In_ BOOLEAN Enable);
typedef SCSIWMI_FUNCTION_CONTROL *PSCSIWMI_FUNCTION_CONTROL;

typedef struct _SCSIWMILIB_CONTEXT {
    ULONG GuidCount;
    PSCSIWMIGUIDREGINFO GuidList;
    PSCSIWMI_QUERY_REGINFO QueryWmiRegInfo;
    PSCSIWMI_QUERY_DATABLOCK QueryWmiDataBlock;
    PSCSIWMI_SET_DATABLOCK SetWmiDataBlock;
    PSCSIWMI_SET_DATAITEM SetWmiDataItem;
    PSCSIWMI_EXECUTE_METHOD ExecuteWmiMethod;
    PSCSIWMI_FUNCTION_CONTROL WmiFunctionControl;
} SCSI_WMILIB_CONTEXT, *PSCSI_WMILIB_CONTEXT;

EXTERN_C_END

#endif
