/* SPDX-License-Identifier: MIT */
/*
 * Reads interfaces and addresses from REG_DWORD values in the driver's service key, or uses the defaults below.
 * Addresses are IPv4, most significant byte first: 0xC0A80101 is 192.168.1.1. All functions need PASSIVE_LEVEL.
 */
#include "echo.h"

static VOID ReadValue(HANDLE Key, PCWSTR Name, ULONG *Value)
{
    UCHAR room[sizeof(KEY_VALUE_PARTIAL_INFORMATION) + sizeof(ULONG)];
    KEY_VALUE_PARTIAL_INFORMATION *information = (KEY_VALUE_PARTIAL_INFORMATION *)room;
    UNICODE_STRING name;
    ULONG size;

    RtlInitUnicodeString(&name, Name);
    if (NT_SUCCESS(ZwQueryValueKey(Key, &name, KeyValuePartialInformation, information, sizeof(room), &size)) &&
        information->Type == REG_DWORD && information->DataLength == sizeof(ULONG))
        RtlCopyMemory(Value, information->Data, sizeof(ULONG));
}

VOID EchoReadSettings(PUNICODE_STRING RegistryPath, ECHO_SETTINGS *Settings)
{
    OBJECT_ATTRIBUTES attributes;
    ULONG port = 54321;
    HANDLE key;

    Settings->ServiceInterface = 12;
    Settings->ServiceAddress = 0xC0A80101;
    Settings->ClientInterface = 13;
    Settings->ClientAddress = 0xC0A80102;
    InitializeObjectAttributes(&attributes, RegistryPath, OBJ_CASE_INSENSITIVE | OBJ_KERNEL_HANDLE, NULL, NULL);
    if (NT_SUCCESS(ZwOpenKey(&key, KEY_READ, &attributes))) {
        ReadValue(key, L"ServiceInterface", &Settings->ServiceInterface);
        ReadValue(key, L"ServiceAddress", &Settings->ServiceAddress);
        ReadValue(key, L"ClientInterface", &Settings->ClientInterface);
        ReadValue(key, L"ClientAddress", &Settings->ClientAddress);
        ReadValue(key, L"Port", &port);
        ZwClose(key);
    }
    Settings->Port = (USHORT)port;
}

VOID EchoFillAddress(SOCKADDR_IN *Address, ULONG Host, USHORT Port)
{
    RtlZeroMemory(Address, sizeof(*Address));
    Address->sin_family = AF_INET;
    Address->sin_port = RtlUshortByteSwap(Port);
    Address->sin_addr.s_addr = RtlUlongByteSwap(Host);
}
