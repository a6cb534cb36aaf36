/* SPDX-License-Identifier: MIT */
/* The event log: entries are printed. */
#include <string.h>

#include "wdm.h"

#include "wdk/ke/thread.h"

#define LOG_TAG 'goLE'

/* In front of what the driver fills in. */
struct entry {
    PVOID object;
    ULONG size;
    _Alignas(16) char packet[];
};

static struct entry *entry_of(PVOID packet)
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
    ExFreePoolWithTag(entry_of(ElEntry), LOG_TAG);
}

/* A DRIVER_OBJECT and a DEVICE_OBJECT begin with their type. */
static PDRIVER_OBJECT driver_of(PVOID object)
{
    return *(const CSHORT *)object == IO_TYPE_DEVICE ? ((PDEVICE_OBJECT)object)->DriverObject : object;
}

/* Of the strings behind the packet, the first; it may lack its terminator. */
static UNICODE_STRING first_string(const struct entry *e, const IO_ERROR_LOG_PACKET *packet)
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
    struct entry *e = entry_of(ElEntry);
    const IO_ERROR_LOG_PACKET *packet = (const void *)e->packet;
    UNICODE_STRING text = first_string(e, packet);

    irql_check_max("IoWriteErrorLogEntry", DISPATCH_LEVEL);
    (void)DbgPrint("event log: %wZ: error 0x%08X, unique value %u, final status 0x%08X: %wZ\n",
                   &driver_of(e->object)->DriverExtension->ServiceKeyName, packet->ErrorCode, packet->UniqueErrorValue,
                   packet->FinalStatus, &text);
    IoFreeErrorLogEntry(ElEntry);
}
