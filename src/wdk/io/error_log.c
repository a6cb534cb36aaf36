/* SPDX-License-Identifier: MIT */
/* Implements the event log. An entry is printed when the driver writes it. */
#include <string.h>

#include "wdm.h"

#include "wdk/ke/thread.h"

#define LOG_TAG 'goLE'

/* An entry of the event log. The driver receives the address of `packet` and fills it in. */
struct entry {
    PVOID object;
    ULONG size;
    _Alignas(16) char packet[];
};

static struct entry *error_log_entry(PVOID packet)
{
    return CONTAINING_RECORD(packet, struct entry, packet);
}

PVOID IoAllocateErrorLogEntry(PVOID IoObject, UCHAR EntrySize)
{
    struct entry *e;

    irql_check_max("IoAllocateErrorLogEntry", DISPATCH_LEVEL);
    if (!IoObject || EntrySize < sizeof(IO_ERROR_LOG_PACKET) || EntrySize > ERROR_LOG_MAXIMUM_SIZE)
        return NULL;
    e = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof *e + EntrySize, LOG_TAG);
    if (!e)
        return NULL;
    memset(e, 0, sizeof *e + EntrySize);
    e->object = IoObject;
    e->size = EntrySize;
    return e->packet;
}

VOID IoFreeErrorLogEntry(PVOID ElEntry)
{
    irql_check_max("IoFreeErrorLogEntry", DISPATCH_LEVEL);
    ExFreePoolWithTag(error_log_entry(ElEntry), LOG_TAG);
}

/* Returns the driver of a DRIVER_OBJECT or DEVICE_OBJECT. Both structures begin with their type. */
static PDRIVER_OBJECT error_log_driver(PVOID object)
{
    return *(const CSHORT *)object == IO_TYPE_DEVICE ? ((PDEVICE_OBJECT)object)->DriverObject : object;
}

/*
 * Returns the first string behind the packet, or an empty string. A string without a terminator ends at the end of the
 * entry.
 */
static UNICODE_STRING error_log_first_string(const struct entry *e, const IO_ERROR_LOG_PACKET *packet)
{
    UNICODE_STRING s = { 0, 0, NULL };
    const char *at = e->packet + packet->StringOffset;

    if (!packet->NumberOfStrings || packet->StringOffset >= e->size || packet->StringOffset % sizeof(WCHAR))
        return s;
    s.Buffer = (PWSTR)(void *)(uintptr_t)at;
    while (packet->StringOffset + s.Length + sizeof(WCHAR) <= e->size && s.Buffer[s.Length / sizeof(WCHAR)])
        s.Length += sizeof(WCHAR);
    return s;
}

VOID IoWriteErrorLogEntry(PVOID ElEntry)
{
    struct entry *e = error_log_entry(ElEntry);
    const IO_ERROR_LOG_PACKET *packet = (const void *)e->packet;
    UNICODE_STRING text = error_log_first_string(e, packet);

    irql_check_max("IoWriteErrorLogEntry", DISPATCH_LEVEL);
    (void)DbgPrint("event log: %wZ: error 0x%08X, unique value %u, final status 0x%08X: %wZ\n",
                   &error_log_driver(e->object)->DriverExtension->ServiceKeyName, packet->ErrorCode,
                   packet->UniqueErrorValue, packet->FinalStatus, &text);
    IoFreeErrorLogEntry(ElEntry);
}
