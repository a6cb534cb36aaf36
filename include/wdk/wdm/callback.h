/* SPDX-License-Identifier: MIT */
/* Callback objects: a driver's notifications to other drivers. */
#ifndef ONDK_WDK_WDM_CALLBACK_H
#define ONDK_WDK_WDM_CALLBACK_H

#include "../ntdef.h"
#include "../ntstatus.h"
#include "io.h"

EXTERN_C_START

typedef struct _CALLBACK_OBJECT *PCALLBACK_OBJECT;

typedef VOID CALLBACK_FUNCTION(_In_opt_ PVOID CallbackContext, _In_opt_ PVOID Argument1, _In_opt_ PVOID Argument2);
typedef CALLBACK_FUNCTION *PCALLBACK_FUNCTION;

/*
 * Opens the callback object of that name, or creates it if Create is TRUE. The caller receives a reference, which
 * ObDereferenceObject drops. Returns STATUS_UNSUCCESSFUL if ObjectAttributes has no name. The object and its name exist
 * until the last reference is dropped, or until the process ends if the object was created with OBJ_PERMANENT. Specify
 * OBJ_PERMANENT: on Windows the name of another object may end before this routine returns. RootDirectory must be NULL.
 *
 * \Callback\SetSystemTime, \Callback\PowerState and \Callback\ProcessorAdd exist, but the kernel never notifies them.
 * IRQL <= APC_LEVEL.
 */
NTKERNELAPI NTSTATUS ExCreateCallback(_Out_ PCALLBACK_OBJECT *CallbackObject, _In_ POBJECT_ATTRIBUTES ObjectAttributes,
                                      _In_ BOOLEAN Create, _In_ BOOLEAN AllowMultipleCallbacks);
/*
 * Returns the registration, for ExUnregisterCallback. Returns NULL if the object allows one routine and has one, or if
 * out of memory. IRQL <= APC_LEVEL.
 */
NTKERNELAPI PVOID ExRegisterCallback(_Inout_ PCALLBACK_OBJECT CallbackObject, _In_ PCALLBACK_FUNCTION CallbackFunction,
                                     _In_opt_ PVOID CallbackContext);
/*
 * Waits until the routine has returned on other threads. The registered routine must not call ExUnregisterCallback,
 * because the call would wait for the routine's own return (rule lock-recursive). IRQL <= APC_LEVEL.
 */
NTKERNELAPI VOID ExUnregisterCallback(_Inout_ PVOID CallbackRegistration);
/* Calls all routines of the object in the order of their registration, at the caller's IRQL. IRQL <= DISPATCH_LEVEL. */
NTKERNELAPI VOID ExNotifyCallback(_In_ PVOID CallbackObject, _In_opt_ PVOID Argument1, _In_opt_ PVOID Argument2);

EXTERN_C_END

#endif
