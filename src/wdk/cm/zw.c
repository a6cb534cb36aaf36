/* SPDX-License-Identifier: MIT */
/*
 * Implements the Zw routines for keys and values, which use handles: see wdm/zw.h. If a key is deleted, all routines
 * except ZwClose fail.
 */
#include "wdm.h"

#include "wdk/cm/information.h"
#include "wdk/cm/registry.h"
#include "wdk/common/check.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/handle.h"
#include "wdk/ob/object.h"

/* ---- Handles ---------------------------------------------------------------------------------------------------- */

static void registry_report_handle(const char *routine, HANDLE handle)
{
    if (check_on())
        check_failed(CHECK_HANDLE_INVALID, routine, (uintptr_t)handle, 0, 0, 0, "handle %p is not open", handle);
}

NTSTATUS ZwClose(HANDLE Handle)
{
    irql_check_max("ZwClose", PASSIVE_LEVEL);
    if (handle_close(Handle))
        return STATUS_SUCCESS;
    registry_report_handle("ZwClose", Handle);
    return STATUS_INVALID_HANDLE;
}

__typeof__(ZwClose) NtClose __attribute__((alias("ZwClose")));

/* Returns the key of the handle, with a reference. Returns NULL and sets *status if there is no such key. */
static struct registry_key *registry_key_of_handle(const char *routine, HANDLE handle, NTSTATUS *status)
{
    struct registry_key *key;

    irql_check_max(routine, PASSIVE_LEVEL);
    key = handle_lookup(handle, registry_key_type, status);
    if (!key && *status == STATUS_INVALID_HANDLE)
        registry_report_handle(routine, handle);
    return key;
}

/*
 * Locks the registry and returns the key with a reference; registry_unlock_key releases both. Fails for a deleted key.
 */
static struct registry_key *registry_lock_key(const char *routine, HANDLE handle, NTSTATUS *status)
{
    struct registry_key *key = registry_key_of_handle(routine, handle, status);

    if (!key)
        return NULL;
    registry_lock();
    if (!key->deleted)
        return key;
    registry_unlock();
    ob_unref(key);
    *status = STATUS_KEY_DELETED;
    return NULL;
}

static void registry_unlock_key(struct registry_key *key)
{
    registry_unlock();
    ob_unref(key);
}

static NTSTATUS registry_open_attributes(const char *routine, PHANDLE handle, POBJECT_ATTRIBUTES attributes,
                                         enum registry_make make, bool *made)
{
    struct registry_key *from = NULL, *key;
    NTSTATUS status;

    irql_check_max(routine, PASSIVE_LEVEL);
    *handle = NULL;
    if (!attributes->ObjectName)
        return STATUS_OBJECT_NAME_INVALID;
    if (attributes->RootDirectory) {
        from = registry_key_of_handle(routine, attributes->RootDirectory, &status);
        if (!from)
            return status;
    }
    key = registry_open(from, attributes->ObjectName, make, made, &status);
    if (from)
        ob_unref(from);
    if (!key)
        return status;
    status = handle_open(key, handle);
    if (status)
        ob_unref(key);
    return status;
}

NTSTATUS ZwOpenKey(PHANDLE KeyHandle, ACCESS_MASK DesiredAccess, POBJECT_ATTRIBUTES ObjectAttributes)
{
    UNREFERENCED_PARAMETER(DesiredAccess);
    return registry_open_attributes("ZwOpenKey", KeyHandle, ObjectAttributes, REGISTRY_MAKE_NONE, NULL);
}

NTSTATUS ZwCreateKey(PHANDLE KeyHandle, ACCESS_MASK DesiredAccess, POBJECT_ATTRIBUTES ObjectAttributes,
                     ULONG TitleIndex, PUNICODE_STRING Class, ULONG CreateOptions, PULONG Disposition)
{
    bool made;
    NTSTATUS status = registry_open_attributes("ZwCreateKey", KeyHandle, ObjectAttributes, REGISTRY_MAKE_LAST, &made);

    UNREFERENCED_PARAMETER(DesiredAccess);
    UNREFERENCED_PARAMETER(TitleIndex);
    UNREFERENCED_PARAMETER(Class);
    UNREFERENCED_PARAMETER(CreateOptions);
    if (!status && Disposition)
        *Disposition = made ? REG_CREATED_NEW_KEY : REG_OPENED_EXISTING_KEY;
    return status;
}

NTSTATUS IoOpenDriverRegistryKey(PDRIVER_OBJECT DriverObject, DRIVER_REGKEY_TYPE RegKeyType, ACCESS_MASK DesiredAccess,
                                 ULONG Flags, PHANDLE DriverRegKey)
{
    WCHAR buffer[300];
    UNICODE_STRING path = { 0, sizeof buffer, buffer };
    OBJECT_ATTRIBUTES attributes;

    if (Flags)
        return STATUS_INVALID_PARAMETER;
    (void)RtlAppendUnicodeToString(&path, L"\\Registry\\Machine\\System\\CurrentControlSet\\Services\\");
    (void)RtlAppendUnicodeStringToString(&path, &DriverObject->DriverExtension->ServiceKeyName);
    (void)RtlAppendUnicodeToString(&path,
                                   RegKeyType == DriverRegKeyParameters ? L"\\Parameters" : L"\\PersistentState");
    InitializeObjectAttributes(&attributes, &path, OBJ_KERNEL_HANDLE, NULL, NULL);
    return ZwCreateKey(DriverRegKey, DesiredAccess, &attributes, 0, NULL, 0, NULL);
}

NTSTATUS ZwDeleteKey(HANDLE KeyHandle)
{
    NTSTATUS status;
    struct registry_key *key = registry_lock_key("ZwDeleteKey", KeyHandle, &status);

    if (!key)
        return status;
    status = registry_remove(key);
    registry_unlock_key(key);
    return status;
}

NTSTATUS ZwFlushKey(HANDLE KeyHandle)
{
    NTSTATUS status;
    struct registry_key *key = registry_lock_key("ZwFlushKey", KeyHandle, &status);

    if (key)
        registry_unlock_key(key);
    return status;
}

NTSTATUS ZwQueryKey(HANDLE KeyHandle, KEY_INFORMATION_CLASS KeyInformationClass, PVOID KeyInformation, ULONG Length,
                    PULONG ResultLength)
{
    NTSTATUS status;
    struct registry_key *key = registry_lock_key("ZwQueryKey", KeyHandle, &status);

    if (!key)
        return status;
    status = registry_info_key(key, KeyInformationClass, KeyInformation, Length, ResultLength);
    registry_unlock_key(key);
    return status;
}

NTSTATUS ZwEnumerateKey(HANDLE KeyHandle, ULONG Index, KEY_INFORMATION_CLASS KeyInformationClass, PVOID KeyInformation,
                        ULONG Length, PULONG ResultLength)
{
    NTSTATUS status;
    struct registry_key *key = registry_lock_key("ZwEnumerateKey", KeyHandle, &status), *child;

    if (!key)
        return status;
    for (child = key->children; child && Index; child = child->next)
        Index--;
    status = child ? registry_info_key(child, KeyInformationClass, KeyInformation, Length, ResultLength)
                   : STATUS_NO_MORE_ENTRIES;
    registry_unlock_key(key);
    return status;
}

/* ---- Values ----------------------------------------------------------------------------------------------------- */

NTSTATUS ZwQueryValueKey(HANDLE KeyHandle, PUNICODE_STRING ValueName,
                         KEY_VALUE_INFORMATION_CLASS KeyValueInformationClass, PVOID KeyValueInformation, ULONG Length,
                         PULONG ResultLength)
{
    NTSTATUS status;
    struct registry_key *key = registry_lock_key("ZwQueryValueKey", KeyHandle, &status);
    struct registry_value *v;

    if (!key)
        return status;
    v = registry_find(key, ValueName);
    status = v ? registry_info_value(v, KeyValueInformationClass, KeyValueInformation, Length, ResultLength)
               : STATUS_OBJECT_NAME_NOT_FOUND;
    registry_unlock_key(key);
    return status;
}

NTSTATUS ZwEnumerateValueKey(HANDLE KeyHandle, ULONG Index, KEY_VALUE_INFORMATION_CLASS KeyValueInformationClass,
                             PVOID KeyValueInformation, ULONG Length, PULONG ResultLength)
{
    NTSTATUS status;
    struct registry_key *key = registry_lock_key("ZwEnumerateValueKey", KeyHandle, &status);
    struct registry_value *v;

    if (!key)
        return status;
    for (v = key->values; v && Index; v = v->next)
        Index--;
    status = v ? registry_info_value(v, KeyValueInformationClass, KeyValueInformation, Length, ResultLength)
               : STATUS_NO_MORE_ENTRIES;
    registry_unlock_key(key);
    return status;
}

NTSTATUS ZwSetValueKey(HANDLE KeyHandle, PUNICODE_STRING ValueName, ULONG TitleIndex, ULONG Type, PVOID Data,
                       ULONG DataSize)
{
    NTSTATUS status;
    struct registry_key *key = registry_lock_key("ZwSetValueKey", KeyHandle, &status);

    UNREFERENCED_PARAMETER(TitleIndex);
    if (!key)
        return status;
    status = registry_set(key, ValueName, Type, Data, DataSize);
    registry_unlock_key(key);
    return status;
}

NTSTATUS ZwDeleteValueKey(HANDLE KeyHandle, PUNICODE_STRING ValueName)
{
    NTSTATUS status;
    struct registry_key *key = registry_lock_key("ZwDeleteValueKey", KeyHandle, &status);

    if (!key)
        return status;
    status = registry_remove_value(key, ValueName);
    registry_unlock_key(key);
    return status;
}
