/* SPDX-License-Identifier: MIT */
/*
 * Device interfaces: names with the GUID of a class, under which programs and other drivers find devices. Without plug
 * and play, any device may take the place of a physical device object (PDO). An instance stays registered until the
 * process ends. IoDeleteDevice disables the device's instances.
 */
#ifndef ONDK_WDK_WDM_INTERFACE_H
#define ONDK_WDK_WDM_INTERFACE_H

#include "../guiddef.h"
#include "io.h"

EXTERN_C_START

#define DEVICE_INTERFACE_INCLUDE_NONACTIVE 0x00000001

/*
 * Registers an instance of the class for the device, and returns the name of its symbolic link, which
 * RtlFreeUnicodeString frees. The name is \??\ROOT#SERVICE#NUMBER#{GUID}, followed by the reference string if there is
 * one. SERVICE is the service of the device's driver. NUMBER counts the driver's devices that have interfaces. Returns
 * STATUS_OBJECT_NAME_EXISTS, which is a success, if the instance is already registered. Returns
 * STATUS_INVALID_DEVICE_REQUEST if there is no such device, or if the reference string has a slash or backslash.
 * PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS IoRegisterDeviceInterface(_In_ PDEVICE_OBJECT PhysicalDeviceObject,
                                               _In_ const GUID *InterfaceClassGuid,
                                               _In_opt_ PUNICODE_STRING ReferenceString,
                                               _Out_ PUNICODE_STRING SymbolicLinkName);
/*
 * Creates or removes the symbolic link. An open of the link opens the device. FileName is then a backslash and the
 * reference string. Returns STATUS_OBJECT_NAME_EXISTS, which is a success, if the instance is already enabled. Fails
 * with STATUS_OBJECT_NAME_NOT_FOUND if the instance is not registered or already disabled, and with
 * STATUS_INVALID_DEVICE_REQUEST if the device was deleted. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS IoSetDeviceInterfaceState(_In_ PUNICODE_STRING SymbolicLinkName, _In_ BOOLEAN Enable);
/*
 * Returns the links of the class, or only those of the device, in pool that ExFreePool frees: terminated strings, and
 * an empty string at the end. DEVICE_INTERFACE_INCLUDE_NONACTIVE includes the links of disabled instances.
 * PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS IoGetDeviceInterfaces(_In_ const GUID *InterfaceClassGuid,
                                           _In_opt_ PDEVICE_OBJECT PhysicalDeviceObject, _In_ ULONG Flags,
                                           _Outptr_result_nullonfailure_ PZZWSTR *SymbolicLinkList);
/*
 * Returns the link of another class that the device has registered with the same reference string, or
 * STATUS_OBJECT_NAME_NOT_FOUND. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS IoGetDeviceInterfaceAlias(_In_ PUNICODE_STRING SymbolicLinkName,
                                               _In_ const GUID *AliasInterfaceClassGuid,
                                               _Out_ PUNICODE_STRING AliasSymbolicLinkName);
/*
 * Opens the instance's key for values of the driver's own, and creates it if it does not exist. It is the subkey
 * Device Parameters of the instance's key below \Registry\Machine\System\CurrentControlSet\Control\DeviceClasses.
 * ZwClose closes it. PASSIVE_LEVEL.
 */
NTKERNELAPI NTSTATUS IoOpenDeviceInterfaceRegistryKey(_In_ PUNICODE_STRING SymbolicLinkName,
                                                      _In_ ACCESS_MASK DesiredAccess,
                                                      _Out_ PHANDLE DeviceInterfaceRegKey);

EXTERN_C_END

#endif
