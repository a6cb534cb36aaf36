/* SPDX-License-Identifier: MIT */
/*
 * Registry keys. All routines require PASSIVE_LEVEL; above it they return STATUS_INVALID_DEVICE_REQUEST. A key's
 * default parent is the driver.
 */
#ifndef ONDK_WDK_WDF_REGISTRY_H
#define ONDK_WDK_WDF_REGISTRY_H

#include "driver.h"
#include "memory.h"

EXTERN_C_START

/* Creates the key Parameters of the driver's service if it does not exist. */
NTKERNELAPI NTSTATUS WdfDriverOpenParametersRegistryKey(_In_ WDFDRIVER Driver, _In_ ACCESS_MASK DesiredAccess,
                                                        _In_opt_ PWDF_OBJECT_ATTRIBUTES KeyAttributes,
                                                        _Out_ WDFKEY *Key);
/* If ParentKey is NULL, KeyName is a whole path: \Registry\Machine\... */
NTKERNELAPI NTSTATUS WdfRegistryOpenKey(_In_opt_ WDFKEY ParentKey, _In_ PCUNICODE_STRING KeyName,
                                        _In_ ACCESS_MASK DesiredAccess, _In_opt_ PWDF_OBJECT_ATTRIBUTES KeyAttributes,
                                        _Out_ WDFKEY *Key);
NTKERNELAPI NTSTATUS WdfRegistryCreateKey(_In_opt_ WDFKEY ParentKey, _In_ PCUNICODE_STRING KeyName,
                                          _In_ ACCESS_MASK DesiredAccess, _In_ ULONG CreateOptions,
                                          _Out_opt_ PULONG CreateDisposition,
                                          _In_opt_ PWDF_OBJECT_ATTRIBUTES KeyAttributes, _Out_ WDFKEY *Key);
/* Closes the key and deletes the object. */
NTKERNELAPI VOID WdfRegistryClose(_In_ WDFKEY Key);
/* The handle stays open as long as the key object exists. */
NTKERNELAPI HANDLE WdfRegistryWdmGetHandle(_In_ WDFKEY Key);
/* Removes the key from the registry; the driver still closes it. */
NTKERNELAPI NTSTATUS WdfRegistryRemoveKey(_In_ WDFKEY Key);
NTKERNELAPI NTSTATUS WdfRegistryRemoveValue(_In_ WDFKEY Key, _In_ PCUNICODE_STRING ValueName);

/*
 * Queries return STATUS_OBJECT_NAME_NOT_FOUND if there is no such value, STATUS_OBJECT_TYPE_MISMATCH if it has another
 * type than the query expects. WdfRegistryQueryULong also returns STATUS_INVALID_PARAMETER if the value does not have
 * four bytes. WdfRegistryQueryMemory, WdfRegistryQueryString and WdfRegistryQueryMultiString return
 * STATUS_RESOURCE_DATA_NOT_FOUND if the value is empty.
 */
NTKERNELAPI NTSTATUS WdfRegistryQueryULong(_In_ WDFKEY Key, _In_ PCUNICODE_STRING ValueName, _Out_ PULONG Value);
/*
 * Returns STATUS_BUFFER_OVERFLOW if the buffer is too small; *ValueLengthQueried then receives the length of the data.
 */
NTKERNELAPI NTSTATUS WdfRegistryQueryValue(_In_ WDFKEY Key, _In_ PCUNICODE_STRING ValueName, _In_ ULONG ValueLength,
                                           _Out_opt_ PVOID Value, _Out_opt_ PULONG ValueLengthQueried,
                                           _Out_opt_ PULONG ValueType);
NTKERNELAPI NTSTATUS WdfRegistryQueryMemory(_In_ WDFKEY Key, _In_ PCUNICODE_STRING ValueName, _In_ POOL_TYPE PoolType,
                                            _In_opt_ PWDF_OBJECT_ATTRIBUTES MemoryAttributes, _Out_ WDFMEMORY *Memory,
                                            _Out_opt_ PULONG ValueType);
/*
 * Copies a REG_SZ. *ValueByteLength receives the number of bytes that are needed, including the zero at the end.
 * Returns STATUS_BUFFER_OVERFLOW if Value is too small.
 */
NTKERNELAPI NTSTATUS WdfRegistryQueryUnicodeString(_In_ WDFKEY Key, _In_ PCUNICODE_STRING ValueName,
                                                   _Out_opt_ PUSHORT ValueByteLength,
                                                   _Inout_opt_ PUNICODE_STRING Value);
NTKERNELAPI NTSTATUS WdfRegistryQueryString(_In_ WDFKEY Key, _In_ PCUNICODE_STRING ValueName, _In_ WDFSTRING String);
/* Adds a string object for each string of a REG_MULTI_SZ to the collection. */
NTKERNELAPI NTSTATUS WdfRegistryQueryMultiString(_In_ WDFKEY Key, _In_ PCUNICODE_STRING ValueName,
                                                 _In_opt_ PWDF_OBJECT_ATTRIBUTES StringsAttributes,
                                                 _In_ WDFCOLLECTION Collection);

NTKERNELAPI NTSTATUS WdfRegistryAssignULong(_In_ WDFKEY Key, _In_ PCUNICODE_STRING ValueName, _In_ ULONG Value);
NTKERNELAPI NTSTATUS WdfRegistryAssignValue(_In_ WDFKEY Key, _In_ PCUNICODE_STRING ValueName, _In_ ULONG ValueType,
                                            _In_ ULONG ValueLength, _In_ PVOID Value);
NTKERNELAPI NTSTATUS WdfRegistryAssignMemory(_In_ WDFKEY Key, _In_ PCUNICODE_STRING ValueName, _In_ ULONG ValueType,
                                             _In_ WDFMEMORY Memory, _In_opt_ PWDFMEMORY_OFFSET MemoryOffsets);
NTKERNELAPI NTSTATUS WdfRegistryAssignUnicodeString(_In_ WDFKEY Key, _In_ PCUNICODE_STRING ValueName,
                                                    _In_ PCUNICODE_STRING Value);
NTKERNELAPI NTSTATUS WdfRegistryAssignString(_In_ WDFKEY Key, _In_ PCUNICODE_STRING ValueName, _In_ WDFSTRING String);

EXTERN_C_END

#endif
