/* SPDX-License-Identifier: MIT */
/* Keys and values by handle: see wdm/zw.h. */
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "wdk/cm/registry.h"
#include "wdk/common/check.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/handle.h"
#include "wdk/ob/object.h"

/* ---- Handles ---------------------------------------------------------------------------------------------------- */

static void report_handle(const char *routine, HANDLE handle)
{
    if (check_on())
        check_failed(CHECK_HANDLE_INVALID, routine, (uintptr_t)handle, 0, 0, 0, "handle %p is not open", handle);
}

NTSTATUS ZwClose(HANDLE Handle)
{
    irql_check_max("ZwClose", PASSIVE_LEVEL);
    if (handle_close(Handle))
        return STATUS_SUCCESS;
    report_handle("ZwClose", Handle);
    return STATUS_INVALID_HANDLE;
}

/* With a reference. */
static struct reg_key *key_of(const char *routine, HANDLE handle, NTSTATUS *status)
{
    struct reg_key *key;

    irql_check_max(routine, PASSIVE_LEVEL);
    key = handle_lookup(handle, registry_key_type, status);
    if (!key && *status == STATUS_INVALID_HANDLE)
        report_handle(routine, handle);
    return key;
}

/* With the lock and a reference; both given back by close_key. A deleted key has nothing to look at. */
static struct reg_key *open_key(const char *routine, HANDLE handle, NTSTATUS *status)
{
    struct reg_key *key = key_of(routine, handle, status);

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

static void close_key(struct reg_key *key)
{
    registry_unlock();
    ob_unref(key);
}

static NTSTATUS open_handle(const char *routine, PHANDLE handle, POBJECT_ATTRIBUTES attributes,
                            enum registry_make make, bool *made)
{
    struct reg_key *from = NULL, *key;
    NTSTATUS status;

    irql_check_max(routine, PASSIVE_LEVEL);
    *handle = NULL;
    if (!attributes->ObjectName)
        return STATUS_OBJECT_NAME_INVALID;
    if (attributes->RootDirectory) {
        from = key_of(routine, attributes->RootDirectory, &status);
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
    return open_handle("ZwOpenKey", KeyHandle, ObjectAttributes, REGISTRY_MAKE_NONE, NULL);
}

NTSTATUS ZwCreateKey(PHANDLE KeyHandle, ACCESS_MASK DesiredAccess, POBJECT_ATTRIBUTES ObjectAttributes,
                     ULONG TitleIndex, PUNICODE_STRING Class, ULONG CreateOptions, PULONG Disposition)
{
    bool made;
    NTSTATUS status = open_handle("ZwCreateKey", KeyHandle, ObjectAttributes, REGISTRY_MAKE_LAST, &made);

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
    struct reg_key *key = open_key("ZwDeleteKey", KeyHandle, &status);

    if (!key)
        return status;
    status = registry_remove(key);
    close_key(key);
    return status;
}

NTSTATUS ZwFlushKey(HANDLE KeyHandle)
{
    NTSTATUS status;
    struct reg_key *key = open_key("ZwFlushKey", KeyHandle, &status);

    if (key)
        close_key(key);
    return status;
}

/* ---- Information ------------------------------------------------------------------------------------------------ */

/* A fixed part and up to two that follow; what fits of all is handed over. */
struct answer {
    const void *fixed;
    ULONG fixed_size;
    const void *tail;
    ULONG tail_size, second_at;
    const void *second;
    ULONG second_size;
};

static void copy_part(char *out, ULONG cap, ULONG at, const void *from, ULONG size)
{
    if (at < cap && size)
        memcpy(out + at, from, min(size, cap - at));
}

static NTSTATUS give(const struct answer *a, PVOID out, ULONG length, PULONG result_length)
{
    ULONG whole = a->second_at ? a->second_at + a->second_size : a->fixed_size + a->tail_size;

    *result_length = whole;
    if (!out || length < a->fixed_size)
        return STATUS_BUFFER_TOO_SMALL;
    copy_part(out, length, 0, a->fixed, a->fixed_size);
    copy_part(out, length, a->fixed_size, a->tail, a->tail_size);
    if (a->second_at)
        copy_part(out, length, a->second_at, a->second, a->second_size);
    return length < whole ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;
}

static NTSTATUS give_full_key(const struct reg_key *key, PVOID out, ULONG length, PULONG result_length)
{
    KEY_FULL_INFORMATION full = { .LastWriteTime = key->written, .ClassOffset = MAXULONG };
    struct answer a = { .fixed = &full, .fixed_size = offsetof(KEY_FULL_INFORMATION, Class) };

    for (const struct reg_key *c = key->children; c; c = c->next) {
        full.SubKeys++;
        full.MaxNameLen = max(full.MaxNameLen, (ULONG)c->name.Length);
    }
    for (const struct reg_value *v = key->values; v; v = v->next) {
        full.Values++;
        full.MaxValueNameLen = max(full.MaxValueNameLen, (ULONG)v->name.Length);
        full.MaxValueDataLen = max(full.MaxValueDataLen, v->size);
    }
    return give(&a, out, length, result_length);
}

/* \REGISTRY\..., from the root down. */
static NTSTATUS give_path(const struct reg_key *key, PVOID out, ULONG length, PULONG result_length)
{
    KEY_NAME_INFORMATION name = { 0 };
    struct answer a = { .fixed = &name, .fixed_size = offsetof(KEY_NAME_INFORMATION, Name) };
    WCHAR *path, *at;
    NTSTATUS status;

    for (const struct reg_key *k = key; k; k = k->parent)
        name.NameLength += sizeof(WCHAR) + k->name.Length;
    path = malloc(name.NameLength);
    if (!path)
        return STATUS_INSUFFICIENT_RESOURCES;
    at = path + name.NameLength / sizeof(WCHAR);
    for (const struct reg_key *k = key; k; k = k->parent) {
        at -= k->name.Length / sizeof(WCHAR);
        memcpy(at, k->name.Buffer, k->name.Length);
        *--at = '\\';
    }
    a.tail = path;
    a.tail_size = name.NameLength;
    status = give(&a, out, length, result_length);
    free(path);
    return status;
}

static NTSTATUS give_key(const struct reg_key *key, KEY_INFORMATION_CLASS class, PVOID out, ULONG length,
                         PULONG result_length)
{
    KEY_BASIC_INFORMATION basic = { .LastWriteTime = key->written, .NameLength = key->name.Length };
    KEY_NODE_INFORMATION node = { .LastWriteTime = key->written,
                                  .ClassOffset = MAXULONG,
                                  .NameLength = key->name.Length };
    struct answer a = { .tail = key->name.Buffer, .tail_size = key->name.Length };

    switch (class) {
    case KeyBasicInformation:
        a.fixed = &basic;
        a.fixed_size = offsetof(KEY_BASIC_INFORMATION, Name);
        return give(&a, out, length, result_length);
    case KeyNodeInformation:
        a.fixed = &node;
        a.fixed_size = offsetof(KEY_NODE_INFORMATION, Name);
        return give(&a, out, length, result_length);
    case KeyFullInformation:
        return give_full_key(key, out, length, result_length);
    case KeyNameInformation:
        return give_path(key, out, length, result_length);
    default:
        return STATUS_INVALID_PARAMETER;
    }
}

NTSTATUS ZwQueryKey(HANDLE KeyHandle, KEY_INFORMATION_CLASS KeyInformationClass, PVOID KeyInformation, ULONG Length,
                    PULONG ResultLength)
{
    NTSTATUS status;
    struct reg_key *key = open_key("ZwQueryKey", KeyHandle, &status);

    if (!key)
        return status;
    status = give_key(key, KeyInformationClass, KeyInformation, Length, ResultLength);
    close_key(key);
    return status;
}

NTSTATUS ZwEnumerateKey(HANDLE KeyHandle, ULONG Index, KEY_INFORMATION_CLASS KeyInformationClass, PVOID KeyInformation,
                        ULONG Length, PULONG ResultLength)
{
    NTSTATUS status;
    struct reg_key *key = open_key("ZwEnumerateKey", KeyHandle, &status), *child;

    if (!key)
        return status;
    for (child = key->children; child && Index; child = child->next)
        Index--;
    status =
        child ? give_key(child, KeyInformationClass, KeyInformation, Length, ResultLength) : STATUS_NO_MORE_ENTRIES;
    close_key(key);
    return status;
}

static NTSTATUS give_full_value(const struct reg_value *v, PVOID out, ULONG length, PULONG result_length)
{
    ULONG fixed = offsetof(KEY_VALUE_FULL_INFORMATION, Name);
    ULONG at = (fixed + v->name.Length + 7) & ~7u;
    KEY_VALUE_FULL_INFORMATION full = { .Type = v->type, .DataOffset = at, .DataLength = v->size,
                                        .NameLength = v->name.Length };
    struct answer a = { &full, fixed, v->name.Buffer, v->name.Length, at, v->data, v->size };

    return give(&a, out, length, result_length);
}

static NTSTATUS give_value(const struct reg_value *v, KEY_VALUE_INFORMATION_CLASS class, PVOID out, ULONG length,
                           PULONG result_length)
{
    KEY_VALUE_BASIC_INFORMATION basic = { .Type = v->type, .NameLength = v->name.Length };
    KEY_VALUE_PARTIAL_INFORMATION partial = { .Type = v->type, .DataLength = v->size };
    KEY_VALUE_PARTIAL_INFORMATION_ALIGN64 aligned = { .Type = v->type, .DataLength = v->size };
    struct answer a = { .tail = v->data, .tail_size = v->size };

    switch (class) {
    case KeyValueBasicInformation:
        a = (struct answer){
            &basic, offsetof(KEY_VALUE_BASIC_INFORMATION, Name), v->name.Buffer, v->name.Length, 0, NULL, 0
        };
        return give(&a, out, length, result_length);
    case KeyValueFullInformation:
    case KeyValueFullInformationAlign64:
        return give_full_value(v, out, length, result_length);
    case KeyValuePartialInformation:
        a.fixed = &partial;
        a.fixed_size = offsetof(KEY_VALUE_PARTIAL_INFORMATION, Data);
        return give(&a, out, length, result_length);
    case KeyValuePartialInformationAlign64:
        a.fixed = &aligned;
        a.fixed_size = offsetof(KEY_VALUE_PARTIAL_INFORMATION_ALIGN64, Data);
        return give(&a, out, length, result_length);
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
    struct reg_key *key = open_key("ZwQueryValueKey", KeyHandle, &status);
    struct reg_value *v;

    if (!key)
        return status;
    v = registry_find(key, ValueName);
    status = v ? give_value(v, KeyValueInformationClass, KeyValueInformation, Length, ResultLength)
               : STATUS_OBJECT_NAME_NOT_FOUND;
    close_key(key);
    return status;
}

NTSTATUS ZwEnumerateValueKey(HANDLE KeyHandle, ULONG Index, KEY_VALUE_INFORMATION_CLASS KeyValueInformationClass,
                             PVOID KeyValueInformation, ULONG Length, PULONG ResultLength)
{
    NTSTATUS status;
    struct reg_key *key = open_key("ZwEnumerateValueKey", KeyHandle, &status);
    struct reg_value *v;

    if (!key)
        return status;
    for (v = key->values; v && Index; v = v->next)
        Index--;
    status = v ? give_value(v, KeyValueInformationClass, KeyValueInformation, Length, ResultLength)
               : STATUS_NO_MORE_ENTRIES;
    close_key(key);
    return status;
}

NTSTATUS ZwSetValueKey(HANDLE KeyHandle, PUNICODE_STRING ValueName, ULONG TitleIndex, ULONG Type, PVOID Data,
                       ULONG DataSize)
{
    NTSTATUS status;
    struct reg_key *key = open_key("ZwSetValueKey", KeyHandle, &status);

    UNREFERENCED_PARAMETER(TitleIndex);
    if (!key)
        return status;
    status = registry_set(key, ValueName, Type, Data, DataSize);
    close_key(key);
    return status;
}

NTSTATUS ZwDeleteValueKey(HANDLE KeyHandle, PUNICODE_STRING ValueName)
{
    NTSTATUS status;
    struct reg_key *key = open_key("ZwDeleteValueKey", KeyHandle, &status);

    if (!key)
        return status;
    status = registry_remove_value(key, ValueName);
    close_key(key);
    return status;
}
