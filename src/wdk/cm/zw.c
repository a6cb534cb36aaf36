/* SPDX-License-Identifier: MIT */
/*
 * Implements the Zw routines for keys and values, which use handles: see wdm/zw.h. If a key is deleted, all routines
 * except ZwClose fail.
 */
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

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

static NTSTATUS registry_open_handle(const char *routine, PHANDLE handle, POBJECT_ATTRIBUTES attributes,
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
    return registry_open_handle("ZwOpenKey", KeyHandle, ObjectAttributes, REGISTRY_MAKE_NONE, NULL);
}

NTSTATUS ZwCreateKey(PHANDLE KeyHandle, ACCESS_MASK DesiredAccess, POBJECT_ATTRIBUTES ObjectAttributes,
                     ULONG TitleIndex, PUNICODE_STRING Class, ULONG CreateOptions, PULONG Disposition)
{
    bool made;
    NTSTATUS status = registry_open_handle("ZwCreateKey", KeyHandle, ObjectAttributes, REGISTRY_MAKE_LAST, &made);

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

/* ---- Information ------------------------------------------------------------------------------------------------ */

/*
 * The parts of an information structure for the driver: the fixed part, a tail directly behind it, and a second tail
 * at offset second_at. If second_at is 0, there is no second tail. The driver receives as much as fits.
 */
struct registry_info {
    const void *fixed;
    ULONG fixed_size;
    const void *tail;
    ULONG tail_size, second_at;
    const void *second;
    ULONG second_size;
};

static void registry_copy_part(char *out, ULONG cap, ULONG at, const void *from, ULONG size)
{
    if (at < cap && size)
        memcpy(out + at, from, min(size, cap - at));
}

static NTSTATUS registry_info_copy(const struct registry_info *a, PVOID out, ULONG length, PULONG result_length)
{
    ULONG whole = a->second_at ? a->second_at + a->second_size : a->fixed_size + a->tail_size;

    *result_length = whole;
    if (!out || length < a->fixed_size)
        return STATUS_BUFFER_TOO_SMALL;
    registry_copy_part(out, length, 0, a->fixed, a->fixed_size);
    registry_copy_part(out, length, a->fixed_size, a->tail, a->tail_size);
    if (a->second_at)
        registry_copy_part(out, length, a->second_at, a->second, a->second_size);
    return length < whole ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;
}

static NTSTATUS registry_info_full_key(const struct registry_key *key, PVOID out, ULONG length, PULONG result_length)
{
    KEY_FULL_INFORMATION full = { .LastWriteTime = key->written, .ClassOffset = MAXULONG };
    struct registry_info a = { .fixed = &full, .fixed_size = offsetof(KEY_FULL_INFORMATION, Class) };

    for (const struct registry_key *c = key->children; c; c = c->next) {
        full.SubKeys++;
        full.MaxNameLen = max(full.MaxNameLen, (ULONG)c->name.Length);
    }
    for (const struct registry_value *v = key->values; v; v = v->next) {
        full.Values++;
        full.MaxValueNameLen = max(full.MaxValueNameLen, (ULONG)v->name.Length);
        full.MaxValueDataLen = max(full.MaxValueDataLen, v->size);
    }
    return registry_info_copy(&a, out, length, result_length);
}

/* Writes the key's path from the root: \Registry\... */
static NTSTATUS registry_info_path(const struct registry_key *key, PVOID out, ULONG length, PULONG result_length)
{
    KEY_NAME_INFORMATION name = { 0 };
    struct registry_info a = { .fixed = &name, .fixed_size = offsetof(KEY_NAME_INFORMATION, Name) };
    WCHAR *path, *at;
    NTSTATUS status;

    for (const struct registry_key *k = key; k; k = k->parent)
        name.NameLength += sizeof(WCHAR) + k->name.Length;
    path = malloc(name.NameLength);
    if (!path)
        return STATUS_INSUFFICIENT_RESOURCES;
    at = path + name.NameLength / sizeof(WCHAR);
    for (const struct registry_key *k = key; k; k = k->parent) {
        at -= k->name.Length / sizeof(WCHAR);
        memcpy(at, k->name.Buffer, k->name.Length);
        *--at = '\\';
    }
    a.tail = path;
    a.tail_size = name.NameLength;
    status = registry_info_copy(&a, out, length, result_length);
    free(path);
    return status;
}

static NTSTATUS registry_info_key(const struct registry_key *key, KEY_INFORMATION_CLASS class, PVOID out, ULONG length,
                                  PULONG result_length)
{
    KEY_BASIC_INFORMATION basic = { .LastWriteTime = key->written, .NameLength = key->name.Length };
    KEY_NODE_INFORMATION node = { .LastWriteTime = key->written,
                                  .ClassOffset = MAXULONG,
                                  .NameLength = key->name.Length };
    struct registry_info a = { .tail = key->name.Buffer, .tail_size = key->name.Length };

    switch (class) {
    case KeyBasicInformation:
        a.fixed = &basic;
        a.fixed_size = offsetof(KEY_BASIC_INFORMATION, Name);
        return registry_info_copy(&a, out, length, result_length);
    case KeyNodeInformation:
        a.fixed = &node;
        a.fixed_size = offsetof(KEY_NODE_INFORMATION, Name);
        return registry_info_copy(&a, out, length, result_length);
    case KeyFullInformation:
        return registry_info_full_key(key, out, length, result_length);
    case KeyNameInformation:
        return registry_info_path(key, out, length, result_length);
    default:
        return STATUS_INVALID_PARAMETER;
    }
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

static NTSTATUS registry_info_full_value(const struct registry_value *v, PVOID out, ULONG length, PULONG result_length)
{
    ULONG fixed = offsetof(KEY_VALUE_FULL_INFORMATION, Name);
    ULONG at = (fixed + v->name.Length + 7) & ~7u;
    KEY_VALUE_FULL_INFORMATION full = {
        .Type = v->type, .DataOffset = at, .DataLength = v->size, .NameLength = v->name.Length
    };
    struct registry_info a = { &full, fixed, v->name.Buffer, v->name.Length, at, v->data, v->size };

    return registry_info_copy(&a, out, length, result_length);
}

static NTSTATUS registry_info_value(const struct registry_value *v, KEY_VALUE_INFORMATION_CLASS class, PVOID out,
                                    ULONG length, PULONG result_length)
{
    KEY_VALUE_BASIC_INFORMATION basic = { .Type = v->type, .NameLength = v->name.Length };
    KEY_VALUE_PARTIAL_INFORMATION partial = { .Type = v->type, .DataLength = v->size };
    KEY_VALUE_PARTIAL_INFORMATION_ALIGN64 aligned = { .Type = v->type, .DataLength = v->size };
    struct registry_info a = { .tail = v->data, .tail_size = v->size };

    switch (class) {
    case KeyValueBasicInformation:
        a = (struct registry_info){
            &basic, offsetof(KEY_VALUE_BASIC_INFORMATION, Name), v->name.Buffer, v->name.Length, 0, NULL, 0
        };
        return registry_info_copy(&a, out, length, result_length);
    case KeyValueFullInformation:
    case KeyValueFullInformationAlign64:
        return registry_info_full_value(v, out, length, result_length);
    case KeyValuePartialInformation:
        a.fixed = &partial;
        a.fixed_size = offsetof(KEY_VALUE_PARTIAL_INFORMATION, Data);
        return registry_info_copy(&a, out, length, result_length);
    case KeyValuePartialInformationAlign64:
        a.fixed = &aligned;
        a.fixed_size = offsetof(KEY_VALUE_PARTIAL_INFORMATION_ALIGN64, Data);
        return registry_info_copy(&a, out, length, result_length);
    default:
        return STATUS_INVALID_PARAMETER;
    }
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
