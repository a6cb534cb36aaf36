/* SPDX-License-Identifier: MIT */
/*
 * Reads settings and targets from the driver's service key, or uses the defaults below. All functions require
 * PASSIVE_LEVEL.
 *
 *   IoQueues, QueueDepth, MaxTransfer, ...   REG_DWORD  the members of NVME_SETTINGS
 *   HostName                                 REG_SZ     the host's name (NQN)
 *   HostId                                   REG_BINARY 16 bytes
 *   Targets                                  REG_MULTI_SZ or REG_SZ: "192.168.1.1:4420 nqn.2026-11.org.example:disk"
 *
 * A host should always have the same name and identifier, because targets use them to grant access. If these values are
 * missing, the driver generates a new identifier each time it is loaded, and a name that contains the identifier.
 */
#include "nvmendk.h"

#include <ip2string.h>

#define DEFAULT_PORT 4420
#define VALUE_SIZE 4096
#define UUID_PREFIX "nqn.2014-08.org.nvmexpress:uuid:"

typedef struct _NUMBER {
    PCWSTR Name;
    ULONG Offset; /* offset of the member in NVME_SETTINGS */
    ULONG Default, Minimum, Maximum;
} NUMBER;

static const NUMBER Numbers[] = {
    { L"IoQueues", FIELD_OFFSET(NVME_SETTINGS, IoQueues), 4, 1, NVME_MAX_QUEUES },
    { L"QueueDepth", FIELD_OFFSET(NVME_SETTINGS, QueueDepth), 127, 1, NVME_MAX_DEPTH },
    { L"MaxTransfer", FIELD_OFFSET(NVME_SETTINGS, MaxTransfer), NVME_MAX_TRANSFER, PAGE_SIZE, NVME_MAX_TRANSFER },
    { L"KeepAliveSeconds", FIELD_OFFSET(NVME_SETTINGS, KeepAliveSeconds), 5, 0, 3600 },
    { L"CommandSeconds", FIELD_OFFSET(NVME_SETTINGS, CommandSeconds), 30, 1, 3600 },
    { L"AbortSeconds", FIELD_OFFSET(NVME_SETTINGS, AbortSeconds), 5, 1, 3600 },
    { L"ReconnectSeconds", FIELD_OFFSET(NVME_SETTINGS, ReconnectSeconds), 10, 1, 3600 },
    { L"IoFailSeconds", FIELD_OFFSET(NVME_SETTINGS, IoFailSeconds), 60, 0, NVME_FOREVER },
    { L"LossSeconds", FIELD_OFFSET(NVME_SETTINGS, LossSeconds), 600, 0, NVME_FOREVER },
};

/*
 * Reads a registry value. Returns its data and sets *Length, or returns NULL if the value does not exist or is too
 * long.
 */
static PVOID ReadValue(HANDLE Key, PCWSTR Name, KEY_VALUE_PARTIAL_INFORMATION *Room, ULONG *Type, ULONG *Length)
{
    UNICODE_STRING name;
    ULONG size;

    RtlInitUnicodeString(&name, Name);
    if (!Key || !NT_SUCCESS(ZwQueryValueKey(Key, &name, KeyValuePartialInformation, Room, VALUE_SIZE, &size)))
        return NULL;
    *Type = Room->Type;
    *Length = Room->DataLength;
    return Room->Data;
}

static VOID ReadNumbers(HANDLE Key, KEY_VALUE_PARTIAL_INFORMATION *Room, NVME_SETTINGS *Settings)
{
    ULONG i, type, length;

    for (i = 0; i < RTL_NUMBER_OF(Numbers); i++) {
        const NUMBER *number = &Numbers[i];
        ULONG value = number->Default;
        PVOID data = ReadValue(Key, number->Name, Room, &type, &length);

        if (data && type == REG_DWORD && length == sizeof(ULONG))
            RtlCopyMemory(&value, data, sizeof(value));
        *(ULONG *)((PUCHAR)Settings + number->Offset) = min(max(value, number->Minimum), number->Maximum);
    }
}

/*
 * Copies a name of 1 to Size - 1 printable ASCII characters without spaces. Returns the number of characters, or 0 if
 * Text is empty, too long, or has other characters.
 */
static ULONG CopyName(PCHAR Name, ULONG Size, PCWSTR Text, ULONG Length)
{
    ULONG i;

    for (i = 0; i < Length && Text[i] != L'\0'; i++) {
        if (i == Size - 1 || Text[i] <= L' ' || Text[i] > L'~')
            return 0;
        Name[i] = (CHAR)Text[i];
    }
    Name[i] = '\0';
    return i;
}

/* ---- The host ---------------------------------------------------------------------------------------------------- */

static VOID AppendHex(PCHAR *At, const UCHAR *Bytes, ULONG Count)
{
    static const CHAR digits[] = "0123456789abcdef";
    ULONG i;

    for (i = 0; i < Count; i++) {
        *(*At)++ = digits[Bytes[i] >> 4];
        *(*At)++ = digits[Bytes[i] & 15];
    }
}

/*
 * Sets the host's name, which contains the host's identifier in the form of a UUID: groups of 4, 2, 2, 2, and 6 bytes.
 */
static VOID NameHost(NVME_SETTINGS *Settings)
{
    static const UCHAR groups[] = { 4, 2, 2, 2, 6 };
    const UCHAR *id = Settings->HostId;
    PCHAR at = Settings->HostName + sizeof(UUID_PREFIX) - 1;
    ULONG i;

    RtlCopyMemory(Settings->HostName, UUID_PREFIX, sizeof(UUID_PREFIX));
    for (i = 0; i < RTL_NUMBER_OF(groups); i++) {
        if (i != 0)
            *at++ = '-';
        AppendHex(&at, id, groups[i]);
        id += groups[i];
    }
    *at = '\0';
}

static VOID ReadHost(HANDLE Key, KEY_VALUE_PARTIAL_INFORMATION *Room, NVME_SETTINGS *Settings)
{
    ULONG type, length;
    PVOID data = ReadValue(Key, L"HostId", Room, &type, &length);
    GUID id;

    if (data && type == REG_BINARY && length == sizeof(Settings->HostId)) {
        RtlCopyMemory(Settings->HostId, data, length);
    } else {
        ExUuidCreate(&id);
        RtlCopyMemory(Settings->HostId, &id, sizeof(id));
    }
    data = ReadValue(Key, L"HostName", Room, &type, &length);
    if (!data || type != REG_SZ ||
        CopyName(Settings->HostName, sizeof(Settings->HostName), data, length / sizeof(WCHAR)) == 0)
        NameHost(Settings);
}

/* ---- Targets ----------------------------------------------------------------------------------------------------- */

NTSTATUS NvmeParseTarget(PCWSTR Address, PCSTR Subsystem, NVME_TARGET *Target)
{
    USHORT port = 0;
    ULONG scope = 0, i;

    RtlZeroMemory(Target, sizeof(*Target));
    if (NT_SUCCESS(RtlIpv4StringToAddressExW(Address, TRUE, &Target->Address.Ipv4.sin_addr, &port))) {
        Target->Address.si_family = AF_INET;
    } else if (NT_SUCCESS(RtlIpv6StringToAddressExW(Address, &Target->Address.Ipv6.sin6_addr, &scope, &port))) {
        Target->Address.si_family = AF_INET6;
        Target->Address.Ipv6.sin6_scope_id = scope;
    } else {
        return STATUS_INVALID_PARAMETER;
    }
    /* The port of an IPv6 address is at the same offset. */
    Target->Address.Ipv4.sin_port = port ? port : RtlUshortByteSwap(DEFAULT_PORT);
    for (i = 0; Subsystem[i] != '\0'; i++) {
        if (i == sizeof(Target->Subsystem) - 1 || Subsystem[i] <= ' ' || Subsystem[i] > '~')
            return STATUS_INVALID_PARAMETER;
        Target->Subsystem[i] = Subsystem[i];
    }
    return i ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

VOID NvmeFormatTarget(const NVME_TARGET *Target, PCHAR Text, ULONG Size)
{
    CHAR address[64];
    ULONG length = sizeof(address), at, i;

    if (Target->Address.si_family == AF_INET)
        RtlIpv4AddressToStringExA(&Target->Address.Ipv4.sin_addr, Target->Address.Ipv4.sin_port, address, &length);
    else
        RtlIpv6AddressToStringExA(&Target->Address.Ipv6.sin6_addr, 0, Target->Address.Ipv6.sin6_port, address,
            &length);
    for (at = 0; at + 1 < Size && Target->Subsystem[at] != '\0'; at++)
        Text[at] = Target->Subsystem[at];
    for (i = 0; at + 1 < Size && i < 4; i++)
        Text[at++] = " at "[i];
    for (i = 0; at + 1 < Size && address[i] != '\0'; i++)
        Text[at++] = address[i];
    Text[at] = '\0';
}

/* Adds the target in a line such as "ADDRESS NAME". Modifies the line. */
static VOID AddTarget(NVME_SETTINGS *Settings, PWSTR Line)
{
    CHAR name[NVME_NQN_SIZE];
    ULONG i = 0;

    while (Line[i] != L'\0' && Line[i] != L' ')
        i++;
    if (Line[i] == L' ')
        Line[i++] = L'\0';
    while (Line[i] == L' ')
        i++;
    if (Settings->TargetCount < NVME_MAX_TARGETS && CopyName(name, sizeof(name), Line + i, VALUE_SIZE) != 0 &&
        NT_SUCCESS(NvmeParseTarget(Line, name, &Settings->Targets[Settings->TargetCount])))
        Settings->TargetCount++;
    else
        DbgPrint("nvme: Targets: \"%ws %ws\" is not a target, or one too many\n", Line, Line + i);
}

static VOID ReadTargets(HANDLE Key, KEY_VALUE_PARTIAL_INFORMATION *Room, NVME_SETTINGS *Settings)
{
    ULONG type, length, at = 0;
    PWSTR lines = ReadValue(Key, L"Targets", Room, &type, &length);

    if (!lines || (type != REG_SZ && type != REG_MULTI_SZ) || length < sizeof(WCHAR))
        return;
    length /= sizeof(WCHAR);
    lines[length - 1] = L'\0'; /* a registry value may lack its terminating zero */
    while (at < length && lines[at] != L'\0') {
        ULONG next = at;

        while (lines[next] != L'\0')
            next++;
        AddTarget(Settings, lines + at);
        at = next + 1;
    }
}

VOID NvmeReadSettings(PUNICODE_STRING RegistryPath, NVME_SETTINGS *Settings)
{
    KEY_VALUE_PARTIAL_INFORMATION *room = ExAllocatePoolWithTag(PagedPool, VALUE_SIZE, NVME_TAG);
    OBJECT_ATTRIBUTES attributes;
    HANDLE key = NULL;

    PAGED_CODE();
    RtlZeroMemory(Settings, sizeof(*Settings));
    InitializeObjectAttributes(&attributes, RegistryPath, OBJ_CASE_INSENSITIVE | OBJ_KERNEL_HANDLE, NULL, NULL);
    if (room && !NT_SUCCESS(ZwOpenKey(&key, KEY_READ, &attributes)))
        key = NULL;
    ReadNumbers(key, room, Settings);
    ReadHost(key, room, Settings);
    ReadTargets(key, room, Settings);
    if (key)
        ZwClose(key);
    if (room)
        ExFreePoolWithTag(room, NVME_TAG);
}
