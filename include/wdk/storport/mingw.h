/* SPDX-License-Identifier: MIT */
/*
 * Needed to build a miniport as a real .sys with mingw-w64. storport.sys does not export these routines: in Microsoft's
 * storport.h they are inline functions that call one of two exports.
 */
#ifndef ONDK_WDK_STORPORT_MINGW_H
#define ONDK_WDK_STORPORT_MINGW_H

#include "routines.h"

EXTERN_C_START

typedef enum _STORPORT_FUNCTION_CODE {
    ExtFunctionAllocatePool,
    ExtFunctionFreePool,
    ExtFunctionAllocateMdl,
    ExtFunctionFreeMdl,
    ExtFunctionBuildMdlForNonPagedPool,
    ExtFunctionGetSystemAddress,
    ExtFunctionGetOriginalMdl,
    ExtFunctionCompleteServiceIrp,
    ExtFunctionGetDeviceObjects
} STORPORT_FUNCTION_CODE, *PSTORPORT_FUNCTION_CODE;

NTKERNELAPI ULONG StorPortExtendedFunction(_In_ STORPORT_FUNCTION_CODE FunctionCode, _In_ PVOID HwDeviceExtension, ...);

#define StorPortAllocatePool(extension, bytes, tag, buffer) \
    StorPortExtendedFunction(ExtFunctionAllocatePool, extension, bytes, tag, buffer)
#define StorPortFreePool(extension, buffer) StorPortExtendedFunction(ExtFunctionFreePool, extension, buffer)
#define StorPortAllocateMdl(extension, buffer, bytes, mdl) \
    StorPortExtendedFunction(ExtFunctionAllocateMdl, extension, buffer, bytes, mdl)
#define StorPortFreeMdl(extension, mdl) StorPortExtendedFunction(ExtFunctionFreeMdl, extension, mdl)
#define StorPortBuildMdlForNonPagedPool(extension, mdl) \
    StorPortExtendedFunction(ExtFunctionBuildMdlForNonPagedPool, extension, mdl)
#define StorPortGetSystemAddress(extension, srb, address) \
    StorPortExtendedFunction(ExtFunctionGetSystemAddress, extension, srb, address)
#define StorPortGetOriginalMdl(extension, srb, mdl) \
    StorPortExtendedFunction(ExtFunctionGetOriginalMdl, extension, srb, mdl)
#define StorPortCompleteServiceIrp(extension, irp) \
    StorPortExtendedFunction(ExtFunctionCompleteServiceIrp, extension, irp)
#define StorPortGetDeviceObjects(extension, adapter, physical, lower) \
    StorPortExtendedFunction(ExtFunctionGetDeviceObjects, extension, adapter, physical, lower)

static inline BOOLEAN ondk_enable_passive_initialization(PVOID extension, PHW_PASSIVE_INITIALIZE_ROUTINE routine)
{
    LONG enabled = FALSE;

    StorPortNotification(EnablePassiveInitialization, extension, routine, &enabled);
    return (BOOLEAN)enabled;
}
#define StorPortEnablePassiveInitialization ondk_enable_passive_initialization

EXTERN_C_END

#endif
