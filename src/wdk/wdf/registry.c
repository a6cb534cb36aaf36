/* SPDX-License-Identifier: MIT */
/* Implements the framework's registry keys. A key has an open handle, which is closed when the key is deleted. */
#include <stdlib.h>
#include <string.h>

#include "wdf.h"

#include "wdk/ke/thread.h"
#include "wdk/wdf/memory.h"
#include "wdk/wdf/object.h"

struct wdf_key {
    struct wdf_object object;
    HANDLE handle;
};

static bool is_passive(const char *routine)
{
    irql_check_max(routine, PASSIVE_LEVEL);
    return irql_now() == PASSIVE_LEVEL;
}

/*
 * Returns the key for a routine that requires PASSIVE_LEVEL. If it returns NULL, *status is the status that the routine
 * must return.
 */
static struct wdf_key *wdf_key_of(const char *routine, WDFKEY key, NTSTATUS *status)
{
    *status = STATUS_INVALID_DEVICE_REQUEST;
    if (!is_passive(routine))
        return NULL;
    *status = STATUS_INVALID_PARAMETER;
    return wdf_object_lookup(routine, key, WDF_KEY);
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static void wdf_key_stop(struct wdf_object *o)
{
    struct wdf_key *k = CONTAINING_RECORD(o, struct wdf_key, object);

    if (k->handle)
        (void)ZwClose(k->handle);
    k->handle = NULL;
}

/* Selects a key, and whether it is created if it does not exist. */
struct key_request {
    HANDLE parent;
    PCUNICODE_STRING name;
    ACCESS_MASK access;
    bool create;
    ULONG options;
    PULONG disposition;
};

static NTSTATUS wdf_key_open(const struct key_request *request, PWDF_OBJECT_ATTRIBUTES attributes, const void *caller,
                             WDFKEY *key)
{
    UNICODE_STRING name = *request->name;
    OBJECT_ATTRIBUTES what;
    struct wdf_object *o;
    struct wdf_key *k;
    NTSTATUS status = wdf_object_new_for(WDF_KEY, sizeof *k, attributes, caller, &o);

    if (!NT_SUCCESS(status))
        return status;
    k = CONTAINING_RECORD(o, struct wdf_key, object);
    o->stop = wdf_key_stop;
    InitializeObjectAttributes(&what, &name, OBJ_CASE_INSENSITIVE | OBJ_KERNEL_HANDLE, request->parent, NULL);
    status = request->create
                 ? ZwCreateKey(&k->handle, request->access, &what, 0, NULL, request->options, request->disposition)
                 : ZwOpenKey(&k->handle, request->access, &what);
    if (NT_SUCCESS(status) && !wdf_object_insert(o)) {
        (void)ZwClose(k->handle);
        status = STATUS_DELETE_PENDING;
    }
    if (NT_SUCCESS(status))
        *key = (WDFKEY)k;
    else
        wdf_object_discard(o);
    return status;
}

NTSTATUS WdfDriverOpenParametersRegistryKey(WDFDRIVER Driver, ACCESS_MASK DesiredAccess,
                                            PWDF_OBJECT_ATTRIBUTES KeyAttributes, WDFKEY *Key)
{
    static const WCHAR parameters[] = { '\\', 'P', 'a', 'r', 'a', 'm', 'e', 't', 'e', 'r', 's' };
    const char *routine = "WdfDriverOpenParametersRegistryKey";
    const void *caller = __builtin_return_address(0);
    struct wdf_object *driver = wdf_object_lookup(routine, Driver, WDF_DRIVER);
    const UNICODE_STRING *path;
    UNICODE_STRING name;
    NTSTATUS status;

    if (!is_passive(routine))
        return STATUS_INVALID_DEVICE_REQUEST;
    if (!driver || !wdf_check_pointer(routine, Key, caller))
        return STATUS_INVALID_PARAMETER;
    path = wdf_driver_registry_path(driver);
    name.Length = name.MaximumLength = (USHORT)(path->Length + sizeof parameters);
    name.Buffer = malloc(name.Length);
    if (!name.Buffer)
        return STATUS_INSUFFICIENT_RESOURCES;
    memcpy(name.Buffer, path->Buffer, path->Length);
    memcpy((char *)name.Buffer + path->Length, parameters, sizeof parameters);
    status = wdf_key_open(&(struct key_request){ .name = &name, .access = DesiredAccess, .create = true },
                          KeyAttributes, caller, Key);
    free(name.Buffer);
    return status;
}

/* Opens or creates a key below `parent`, which may be NULL. */
static NTSTATUS wdf_key_open_below(const char *routine, WDFKEY parent, struct key_request *request,
                                   PWDF_OBJECT_ATTRIBUTES attributes, const void *caller, WDFKEY *key)
{
    NTSTATUS status = STATUS_INVALID_DEVICE_REQUEST;
    struct wdf_key *above = NULL;

    if (!is_passive(routine))
        return status;
    if (parent && !(above = wdf_key_of(routine, parent, &status)))
        return status;
    if (!wdf_check_pointer(routine, request->name, caller) || !wdf_check_pointer(routine, key, caller))
        return STATUS_INVALID_PARAMETER;
    request->parent = above ? above->handle : NULL;
    return wdf_key_open(request, attributes, caller, key);
}

NTSTATUS WdfRegistryOpenKey(WDFKEY ParentKey, PCUNICODE_STRING KeyName, ACCESS_MASK DesiredAccess,
                            PWDF_OBJECT_ATTRIBUTES KeyAttributes, WDFKEY *Key)
{
    struct key_request request = { .name = KeyName, .access = DesiredAccess };

    return wdf_key_open_below("WdfRegistryOpenKey", ParentKey, &request, KeyAttributes, __builtin_return_address(0),
                              Key);
}

NTSTATUS WdfRegistryCreateKey(WDFKEY ParentKey, PCUNICODE_STRING KeyName, ACCESS_MASK DesiredAccess,
                              ULONG CreateOptions, PULONG CreateDisposition, PWDF_OBJECT_ATTRIBUTES KeyAttributes,
                              WDFKEY *Key)
{
    struct key_request request = { .name = KeyName,
                                   .access = DesiredAccess,
                                   .create = true,
                                   .options = CreateOptions,
                                   .disposition = CreateDisposition };

    return wdf_key_open_below("WdfRegistryCreateKey", ParentKey, &request, KeyAttributes, __builtin_return_address(0),
                              Key);
}

VOID WdfRegistryClose(WDFKEY Key)
{
    NTSTATUS status;
    struct wdf_key *k = wdf_key_of("WdfRegistryClose", Key, &status);

    if (k)
        (void)wdf_object_delete(&k->object);
}

HANDLE WdfRegistryWdmGetHandle(WDFKEY Key)
{
    NTSTATUS status;
    struct wdf_key *k = wdf_key_of("WdfRegistryWdmGetHandle", Key, &status);

    return k ? k->handle : NULL;
}

NTSTATUS WdfRegistryRemoveKey(WDFKEY Key)
{
    NTSTATUS status;
    struct wdf_key *k = wdf_key_of("WdfRegistryRemoveKey", Key, &status);

    return k ? ZwDeleteKey(k->handle) : status;
}

NTSTATUS WdfRegistryRemoveValue(WDFKEY Key, PCUNICODE_STRING ValueName)
{
    NTSTATUS status;
    struct wdf_key *k = wdf_key_of("WdfRegistryRemoveValue", Key, &status);
    UNICODE_STRING name;

    if (!k || !wdf_check_pointer("WdfRegistryRemoveValue", ValueName, __builtin_return_address(0)))
        return status;
    name = *ValueName;
    return ZwDeleteValueKey(k->handle, &name);
}

/* ---- Queries ----------------------------------------------------------------------------------------------------- */

/*
 * Reads a value. *out receives memory that the caller frees. Returns STATUS_OBJECT_TYPE_MISMATCH if the value has
 * another type than `type`. If `type` is REG_NONE, accepts any type.
 */
static NTSTATUS wdf_key_read(const char *routine, WDFKEY key, PCUNICODE_STRING value, ULONG type,
                             KEY_VALUE_PARTIAL_INFORMATION **out)
{
    NTSTATUS status;
    struct wdf_key *k = wdf_key_of(routine, key, &status);
    KEY_VALUE_PARTIAL_INFORMATION *info;
    UNICODE_STRING name;
    ULONG size = 0;

    if (!k || !value)
        return status;
    name = *value;
    status = ZwQueryValueKey(k->handle, &name, KeyValuePartialInformation, NULL, 0, &size);
    if (status != STATUS_BUFFER_TOO_SMALL && status != STATUS_BUFFER_OVERFLOW)
        return status;
    info = malloc(size);
    if (!info)
        return STATUS_INSUFFICIENT_RESOURCES;
    status = ZwQueryValueKey(k->handle, &name, KeyValuePartialInformation, info, size, &size);
    if (NT_SUCCESS(status) && type != REG_NONE && info->Type != type)
        status = STATUS_OBJECT_TYPE_MISMATCH;
    if (NT_SUCCESS(status))
        *out = info;
    else
        free(info);
    return status;
}

/* Same as wdf_key_read, but returns STATUS_RESOURCE_DATA_NOT_FOUND if the value is empty. */
static NTSTATUS wdf_key_read_data(const char *routine, WDFKEY key, PCUNICODE_STRING value, ULONG type,
                                  KEY_VALUE_PARTIAL_INFORMATION **out)
{
    NTSTATUS status = wdf_key_read(routine, key, value, type, out);

    if (!NT_SUCCESS(status) || (*out)->DataLength)
        return status;
    free(*out);
    return STATUS_RESOURCE_DATA_NOT_FOUND;
}

NTSTATUS WdfRegistryQueryULong(WDFKEY Key, PCUNICODE_STRING ValueName, PULONG Value)
{
    KEY_VALUE_PARTIAL_INFORMATION *info;
    NTSTATUS status = wdf_key_read("WdfRegistryQueryULong", Key, ValueName, REG_DWORD, &info);

    if (!NT_SUCCESS(status))
        return status;
    if (info->DataLength == sizeof *Value && Value)
        memcpy(Value, info->Data, sizeof *Value);
    else
        status = STATUS_INVALID_PARAMETER;
    free(info);
    return status;
}

NTSTATUS WdfRegistryQueryValue(WDFKEY Key, PCUNICODE_STRING ValueName, ULONG ValueLength, PVOID Value,
                               PULONG ValueLengthQueried, PULONG ValueType)
{
    KEY_VALUE_PARTIAL_INFORMATION *info;
    NTSTATUS status = wdf_key_read("WdfRegistryQueryValue", Key, ValueName, REG_NONE, &info);

    if (!NT_SUCCESS(status))
        return status;
    if (ValueLengthQueried)
        *ValueLengthQueried = info->DataLength;
    if (ValueType)
        *ValueType = info->Type;
    if (Value)
        memcpy(Value, info->Data, min(ValueLength, info->DataLength));
    if (ValueLength < info->DataLength)
        status = STATUS_BUFFER_OVERFLOW;
    free(info);
    return status;
}

NTSTATUS WdfRegistryQueryMemory(WDFKEY Key, PCUNICODE_STRING ValueName, POOL_TYPE PoolType,
                                PWDF_OBJECT_ATTRIBUTES MemoryAttributes, WDFMEMORY *Memory, PULONG ValueType)
{
    const void *caller = __builtin_return_address(0);
    KEY_VALUE_PARTIAL_INFORMATION *info;
    struct wdf_memory *m;
    NTSTATUS status = wdf_key_read_data("WdfRegistryQueryMemory", Key, ValueName, REG_NONE, &info);

    if (!NT_SUCCESS(status))
        return status;
    status = wdf_memory_allocate(MemoryAttributes, PoolType, 0, info->DataLength, caller, &m);
    if (NT_SUCCESS(status)) {
        memcpy(wdf_memory_buffer(m), info->Data, info->DataLength);
        *Memory = (WDFMEMORY)m;
        if (ValueType)
            *ValueType = info->Type;
    }
    free(info);
    return status;
}

/* Returns the string at `data`, which has at most `bytes` bytes and ends before the first zero. */
static UNICODE_STRING wdf_string_in(const void *data, ULONG bytes)
{
    UNICODE_STRING s = { 0, 0, (PWCH)(uintptr_t)data };

    while (s.Length + sizeof(WCHAR) <= bytes && s.Length < MAXUSHORT - 1 && s.Buffer[s.Length / sizeof(WCHAR)])
        s.Length = (USHORT)(s.Length + sizeof(WCHAR));
    s.MaximumLength = s.Length;
    return s;
}

NTSTATUS WdfRegistryQueryUnicodeString(WDFKEY Key, PCUNICODE_STRING ValueName, PUSHORT ValueByteLength,
                                       PUNICODE_STRING Value)
{
    KEY_VALUE_PARTIAL_INFORMATION *info;
    UNICODE_STRING text;
    NTSTATUS status = wdf_key_read("WdfRegistryQueryUnicodeString", Key, ValueName, REG_SZ, &info);

    if (!NT_SUCCESS(status))
        return status;
    text = wdf_string_in(info->Data, info->DataLength);
    if (ValueByteLength)
        *ValueByteLength = (USHORT)(text.Length + sizeof(WCHAR));
    if (Value && Value->MaximumLength < text.Length + sizeof(WCHAR)) {
        status = STATUS_BUFFER_OVERFLOW;
    } else if (Value) {
        memcpy(Value->Buffer, text.Buffer, text.Length);
        Value->Buffer[text.Length / sizeof(WCHAR)] = 0;
        Value->Length = text.Length;
    }
    free(info);
    return status;
}

NTSTATUS WdfRegistryQueryString(WDFKEY Key, PCUNICODE_STRING ValueName, WDFSTRING String)
{
    KEY_VALUE_PARTIAL_INFORMATION *info;
    UNICODE_STRING text;
    NTSTATUS status = wdf_key_read_data("WdfRegistryQueryString", Key, ValueName, REG_SZ, &info);

    if (!NT_SUCCESS(status))
        return status;
    text = wdf_string_in(info->Data, info->DataLength);
    status = wdf_string_set("WdfRegistryQueryString", String, &text);
    free(info);
    return status;
}

NTSTATUS WdfRegistryQueryMultiString(WDFKEY Key, PCUNICODE_STRING ValueName, PWDF_OBJECT_ATTRIBUTES StringsAttributes,
                                     WDFCOLLECTION Collection)
{
    const void *caller = __builtin_return_address(0);
    KEY_VALUE_PARTIAL_INFORMATION *info;
    NTSTATUS status = wdf_key_read_data("WdfRegistryQueryMultiString", Key, ValueName, REG_MULTI_SZ, &info);
    UNICODE_STRING text;
    WDFSTRING string;

    if (!NT_SUCCESS(status))
        return status;
    for (ULONG at = 0; NT_SUCCESS(status); at += text.Length + (ULONG)sizeof(WCHAR)) {
        text = wdf_string_in(info->Data + at, at < info->DataLength ? info->DataLength - at : 0);
        if (!text.Length)
            break;
        status = wdf_string_new(&text, StringsAttributes, caller, &string);
        if (NT_SUCCESS(status))
            status = WdfCollectionAdd(Collection, string);
    }
    free(info);
    return status;
}

/* ---- Assignments ------------------------------------------------------------------------------------------------- */

static NTSTATUS wdf_key_write(const char *routine, WDFKEY key, PCUNICODE_STRING value, ULONG type, const void *data,
                              ULONG length)
{
    NTSTATUS status;
    struct wdf_key *k = wdf_key_of(routine, key, &status);
    UNICODE_STRING name;

    if (!k || !value)
        return status;
    name = *value;
    return ZwSetValueKey(k->handle, &name, 0, type, (PVOID)(uintptr_t)data, length);
}

NTSTATUS WdfRegistryAssignULong(WDFKEY Key, PCUNICODE_STRING ValueName, ULONG Value)
{
    return wdf_key_write("WdfRegistryAssignULong", Key, ValueName, REG_DWORD, &Value, sizeof Value);
}

NTSTATUS WdfRegistryAssignValue(WDFKEY Key, PCUNICODE_STRING ValueName, ULONG ValueType, ULONG ValueLength, PVOID Value)
{
    return wdf_key_write("WdfRegistryAssignValue", Key, ValueName, ValueType, Value, ValueLength);
}

NTSTATUS WdfRegistryAssignMemory(WDFKEY Key, PCUNICODE_STRING ValueName, ULONG ValueType, WDFMEMORY Memory,
                                 PWDFMEMORY_OFFSET MemoryOffsets)
{
    size_t size = 0, offset = MemoryOffsets ? MemoryOffsets->BufferOffset : 0;
    char *buffer = WdfMemoryGetBuffer(Memory, &size);

    if (!buffer || offset > size || (MemoryOffsets && MemoryOffsets->BufferLength > size - offset))
        return STATUS_INVALID_PARAMETER;
    size = MemoryOffsets && MemoryOffsets->BufferLength ? MemoryOffsets->BufferLength : size - offset;
    return wdf_key_write("WdfRegistryAssignMemory", Key, ValueName, ValueType, buffer + offset, (ULONG)size);
}

/* Writes the text as a REG_SZ, with a terminating zero. */
static NTSTATUS wdf_key_write_string(const char *routine, WDFKEY key, PCUNICODE_STRING value, PCUNICODE_STRING text)
{
    NTSTATUS status;
    WCHAR *copy = calloc(1, text->Length + sizeof(WCHAR));

    if (!copy)
        return STATUS_INSUFFICIENT_RESOURCES;
    if (text->Length)
        memcpy(copy, text->Buffer, text->Length);
    status = wdf_key_write(routine, key, value, REG_SZ, copy, text->Length + (ULONG)sizeof(WCHAR));
    free(copy);
    return status;
}

NTSTATUS WdfRegistryAssignUnicodeString(WDFKEY Key, PCUNICODE_STRING ValueName, PCUNICODE_STRING Value)
{
    const char *routine = "WdfRegistryAssignUnicodeString";

    if (!wdf_check_pointer(routine, Value, __builtin_return_address(0)))
        return STATUS_INVALID_PARAMETER;
    return wdf_key_write_string(routine, Key, ValueName, Value);
}

NTSTATUS WdfRegistryAssignString(WDFKEY Key, PCUNICODE_STRING ValueName, WDFSTRING String)
{
    UNICODE_STRING text = { 0 };

    WdfStringGetUnicodeString(String, &text);
    return wdf_key_write_string("WdfRegistryAssignString", Key, ValueName, &text);
}
