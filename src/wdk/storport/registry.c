/* SPDX-License-Identifier: MIT */
/*
 * Implements the miniport's access to the registry: see storport/routines.h. The values are in subkeys of the driver's
 * Parameters key. Device has the values for all adapters, and Device0 has the values for adapter 0. A text has 8-bit
 * characters in the miniport's buffer, and 16-bit characters in the registry.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "storport.h"

#include "wdk/storport/port.h"

static const ULONG BUFFER_TAG = 'RpoS';

/* The buffer that an adapter's miniport has allocated. An adapter has at most one. */
struct registry_buffer {
    struct registry_buffer *next;
    const struct port_adapter *adapter;
    UCHAR *start;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static struct registry_buffer *buffers;

/*
 * Returns the pointer in the list that points at the adapter's buffer. If the adapter has no buffer, returns the NULL
 * pointer at the end of the list. Requires the lock.
 */
static struct registry_buffer **buffer_find(const struct port_adapter *a)
{
    struct registry_buffer **at = &buffers;

    while (*at && (*at)->adapter != a)
        at = &(*at)->next;
    return at;
}

PUCHAR StorPortAllocateRegistryBuffer(PVOID HwDeviceExtension, PULONG Length)
{
    struct registry_buffer *b = calloc(1, sizeof *b);
    bool is_first;

    irql_check_max("StorPortAllocateRegistryBuffer", PASSIVE_LEVEL);
    if (!b)
        return NULL;
    b->adapter = port_of(HwDeviceExtension);
    b->start = *Length ? ExAllocatePoolWithTag(NonPagedPoolNx, *Length, BUFFER_TAG) : NULL;
    pthread_mutex_lock(&lock);
    is_first = b->start && !*buffer_find(b->adapter);
    if (is_first) {
        b->next = buffers;
        buffers = b;
    }
    pthread_mutex_unlock(&lock);
    if (is_first)
        return b->start;
    if (b->start)
        ExFreePoolWithTag(b->start, BUFFER_TAG);
    free(b);
    return NULL;
}

VOID StorPortFreeRegistryBuffer(PVOID HwDeviceExtension, PUCHAR Buffer)
{
    struct registry_buffer **at, *b;

    irql_check_max("StorPortFreeRegistryBuffer", PASSIVE_LEVEL);
    pthread_mutex_lock(&lock);
    at = buffer_find(port_of(HwDeviceExtension));
    b = *at;
    if (b && b->start == Buffer)
        *at = b->next;
    else
        b = NULL;
    pthread_mutex_unlock(&lock);
    if (!b)
        return;
    ExFreePoolWithTag(b->start, BUFFER_TAG);
    free(b);
}

void port_registry_forget(const struct port_adapter *a)
{
    struct registry_buffer **at, *b;

    pthread_mutex_lock(&lock);
    at = buffer_find(a);
    b = *at;
    if (b)
        *at = b->next;
    pthread_mutex_unlock(&lock);
    free(b);
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

static bool port_registry_is_text(ULONG type)
{
    return type == REG_SZ || type == REG_EXPAND_SZ || type == REG_MULTI_SZ;
}

/*
 * Opens the subkey Device of the driver's Parameters key if `global` is true. Otherwise opens the subkey of this
 * adapter, for example Device0. If `create` is true, creates a missing subkey.
 */
static NTSTATUS port_registry_open(const struct port_adapter *a, bool global, bool create, HANDLE *key)
{
    HANDLE parameters;
    WCHAR room[24];
    UNICODE_STRING name = { 0, sizeof room, room }, number = { 0, 0, NULL };
    WCHAR digits[12];
    OBJECT_ATTRIBUTES attributes;
    NTSTATUS status = IoOpenDriverRegistryKey(a->driver, DriverRegKeyParameters, KEY_ALL_ACCESS, 0, &parameters);

    if (!NT_SUCCESS(status))
        return status;
    number = (UNICODE_STRING){ 0, sizeof digits, digits };
    (void)RtlAppendUnicodeToString(&name, L"Device");
    if (!global && NT_SUCCESS(RtlIntegerToUnicodeString(a->number, 10, &number)))
        (void)RtlAppendUnicodeStringToString(&name, &number);
    InitializeObjectAttributes(&attributes, &name, OBJ_KERNEL_HANDLE, parameters, NULL);
    status = create ? ZwCreateKey(key, KEY_ALL_ACCESS, &attributes, 0, NULL, 0, NULL)
                    : ZwOpenKey(key, KEY_READ, &attributes);
    ZwClose(parameters);
    return status;
}

/* Reads the value. Returns a pool block, which the caller frees, or NULL. */
static KEY_VALUE_PARTIAL_INFORMATION *port_registry_query(HANDLE key, PUNICODE_STRING name)
{
    KEY_VALUE_PARTIAL_INFORMATION *info;
    ULONG size = 0;

    (void)ZwQueryValueKey(key, name, KeyValuePartialInformation, NULL, 0, &size);
    info = size ? ExAllocatePoolWithTag(PagedPool, size, BUFFER_TAG) : NULL;
    if (info && !NT_SUCCESS(ZwQueryValueKey(key, name, KeyValuePartialInformation, info, size, &size))) {
        ExFreePoolWithTag(info, BUFFER_TAG);
        info = NULL;
    }
    return info;
}

/*
 * Copies the value to the miniport's buffer of *length bytes, and sets *length to the size of the value. Returns false,
 * and copies nothing, if the value does not fit.
 */
static bool port_registry_copy(const KEY_VALUE_PARTIAL_INFORMATION *info, PUCHAR buffer, PULONG length)
{
    ULONG unit = port_registry_is_text(info->Type) ? sizeof(WCHAR) : 1, size = info->DataLength / unit;
    bool fits = size <= *length;

    *length = size;
    for (ULONG i = 0; fits && i < size; i++) {
        WCHAR c = info->Data[i * unit];

        if (unit > 1)
            memcpy(&c, info->Data + i * unit, sizeof c);
        buffer[i] = (UCHAR)(unit > 1 && c > 0x7f ? '?' : c);
    }
    return fits;
}

/* Returns the name as a Unicode string, which RtlFreeUnicodeString frees. */
static bool port_registry_name(const UCHAR *name, UNICODE_STRING *out)
{
    ANSI_STRING narrow;

    RtlInitAnsiString(&narrow, (PCSZ)name);
    return NT_SUCCESS(RtlAnsiStringToUnicodeString(out, &narrow, TRUE));
}

BOOLEAN StorPortRegistryRead(PVOID HwDeviceExtension, PUCHAR ValueName, ULONG Global, ULONG Type, PUCHAR Buffer,
                             PULONG BufferLength)
{
    KEY_VALUE_PARTIAL_INFORMATION *info = NULL;
    UNICODE_STRING name;
    bool done = false;
    HANDLE key;

    irql_check_max("StorPortRegistryRead", PASSIVE_LEVEL);
    if (port_registry_name(ValueName, &name)) {
        if (NT_SUCCESS(port_registry_open(port_of(HwDeviceExtension), Global, false, &key))) {
            info = port_registry_query(key, &name);
            ZwClose(key);
        }
        RtlFreeUnicodeString(&name);
    }
    if (info && info->Type == Type)
        done = port_registry_copy(info, Buffer, BufferLength);
    else
        *BufferLength = 0;
    if (info)
        ExFreePoolWithTag(info, BUFFER_TAG);
    return done;
}

static NTSTATUS port_registry_set(HANDLE key, PUNICODE_STRING name, ULONG type, const UCHAR *data, ULONG length)
{
    ULONG unit = port_registry_is_text(type) ? sizeof(WCHAR) : 1;
    UCHAR *wide = ExAllocatePoolWithTag(PagedPool, length * unit + 1, BUFFER_TAG);
    NTSTATUS status;

    if (!wide)
        return STATUS_INSUFFICIENT_RESOURCES;
    for (ULONG i = 0; i < length; i++) {
        WCHAR c = data[i];

        memcpy(wide + i * unit, unit > 1 ? (const void *)&c : &data[i], unit);
    }
    status = ZwSetValueKey(key, name, 0, type, wide, length * unit);
    ExFreePoolWithTag(wide, BUFFER_TAG);
    return status;
}

BOOLEAN StorPortRegistryWrite(PVOID HwDeviceExtension, PUCHAR ValueName, ULONG Global, ULONG Type, PUCHAR Buffer,
                              ULONG BufferLength)
{
    NTSTATUS status = STATUS_INSUFFICIENT_RESOURCES;
    UNICODE_STRING name;
    HANDLE key;

    irql_check_max("StorPortRegistryWrite", PASSIVE_LEVEL);
    if (BufferLength > MAXULONG / 4 || !port_registry_name(ValueName, &name))
        return FALSE;
    status = port_registry_open(port_of(HwDeviceExtension), Global, true, &key);
    if (NT_SUCCESS(status)) {
        status = port_registry_set(key, &name, Type, Buffer, BufferLength);
        ZwClose(key);
    }
    RtlFreeUnicodeString(&name);
    return NT_SUCCESS(status);
}
