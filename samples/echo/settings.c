/* SPDX-License-Identifier: MIT */
/* Interfaces and addresses, wired in; 0xC0A80101 is 192.168.1.1. */
#include "echo.h"

VOID EchoReadSettings(PUNICODE_STRING RegistryPath, ECHO_SETTINGS *Settings)
{
    UNREFERENCED_PARAMETER(RegistryPath);
    Settings->ServiceInterface = 12;
    Settings->ServiceAddress = 0xC0A80101;
    Settings->ClientInterface = 13;
    Settings->ClientAddress = 0xC0A80102;
    Settings->Port = 54321;
}

VOID EchoFillAddress(SOCKADDR_IN *Address, ULONG Host, USHORT Port)
{
    RtlZeroMemory(Address, sizeof(*Address));
    Address->sin_family = AF_INET;
    Address->sin_port = RtlUshortByteSwap(Port);
    Address->sin_addr.s_addr = RtlUlongByteSwap(Host);
}
