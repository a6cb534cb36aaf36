/* SPDX-License-Identifier: MIT */
/*
 * The driver: its settings and disks from the registry, its start and its stop. The values of the service's key:
 *
 *   Interface  REG_DWORD  index of the interface whose adapter is used; default 12
 *   Address    REG_SZ     an IPv4 or IPv6 address of the interface, as numbers; default 192.168.1.1
 *   Port       REG_DWORD  default 4420
 *   Nqn        REG_SZ     the subsystem's name
 *   File       REG_SZ     a file as namespace 1, for example \??\C:\disk.img; without it, a disk of memory
 *   MemoryMiB  REG_DWORD  the size of the disk of memory; default 64
 *   SrqDepth   REG_DWORD  receives of a shared receive queue; 0, the default: each queue pair has its own
 *   Fast       REG_DWORD  not 0: fast registration
 */
#include "target.h"

#include <ip2string.h>
#include <ntstrsafe.h>

DRIVER_INITIALIZE DriverEntry;
static DRIVER_UNLOAD TargetUnload;

enum { TEXT_CHARS = 256 };

static struct target Target;
static struct disk *Disk;

/* ---- The registry: a value that does not exist, or has another type, leaves the variable as it is ---------------- */

static VOID ReadNumber(HANDLE Key, PCWSTR Name, ULONG *Value)
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

/* The text has TEXT_CHARS characters, and always a zero at the end. */
static VOID ReadText(HANDLE Key, PCWSTR Name, WCHAR *Text)
{
    UCHAR room[sizeof(KEY_VALUE_PARTIAL_INFORMATION) + TEXT_CHARS * sizeof(WCHAR)];
    KEY_VALUE_PARTIAL_INFORMATION *information = (KEY_VALUE_PARTIAL_INFORMATION *)room;
    UNICODE_STRING name;
    ULONG size;

    RtlInitUnicodeString(&name, Name);
    if (!NT_SUCCESS(ZwQueryValueKey(Key, &name, KeyValuePartialInformation, information, sizeof(room), &size)) ||
        information->Type != REG_SZ || information->DataLength >= TEXT_CHARS * sizeof(WCHAR))
        return;
    RtlZeroMemory(Text, TEXT_CHARS * sizeof(WCHAR));
    RtlCopyMemory(Text, information->Data, information->DataLength);
}

/* Copies ASCII characters. Returns STATUS_INVALID_PARAMETER for others, and for a text that is too long. */
static NTSTATUS CopyNarrow(CHAR *To, ULONG Size, const WCHAR *From)
{
    ULONG i;

    for (i = 0; From[i]; i++) {
        if (i + 1 >= Size || From[i] > 126)
            return STATUS_INVALID_PARAMETER;
        To[i] = (CHAR)From[i];
    }
    To[i] = 0;
    return STATUS_SUCCESS;
}

/* ---- Settings ---------------------------------------------------------------------------------------------------- */

static NTSTATUS SetAddress(struct target_settings *Settings, const WCHAR *Text, USHORT Port)
{
    SOCKADDR_IN *v4 = (SOCKADDR_IN *)&Settings->address;
    SOCKADDR_IN6 *v6 = (SOCKADDR_IN6 *)&Settings->address;
    PCWSTR end;

    Settings->port.id = 1;
    if (NT_SUCCESS(RtlIpv4StringToAddressW(Text, TRUE, &end, (struct in_addr *)&v4->sin_addr)) && !*end) {
        v4->sin_family = AF_INET;
        v4->sin_port = RtlUshortByteSwap(Port);
        Settings->address_len = sizeof(*v4);
        Settings->port.family = NVME_ADRFAM_IPV4;
    } else if (NT_SUCCESS(RtlIpv6StringToAddressW(Text, &end, (struct in6_addr *)&v6->sin6_addr)) && !*end) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = RtlUshortByteSwap(Port);
        Settings->address_len = sizeof(*v6);
        Settings->port.family = NVME_ADRFAM_IPV6;
    } else {
        return STATUS_INVALID_PARAMETER;
    }
    RtlStringCbPrintfA(Settings->port.service, sizeof(Settings->port.service), "%u", Port);
    return CopyNarrow(Settings->port.address, sizeof(Settings->port.address), Text);
}

static struct disk *OpenDisk(const WCHAR *File, ULONG MemoryMiB)
{
    UNICODE_STRING name;

    if (!File[0])
        return disk_memory_open((uint64_t)MemoryMiB << 20);
    RtlInitUnicodeString(&name, File);
    return disk_file_open(&name, false);
}

/* Reads the settings and opens the disk, Disk. After a failure, the reason was printed. */
static NTSTATUS ReadSettings(PUNICODE_STRING RegistryPath, struct target_settings *Settings)
{
    static WCHAR address[TEXT_CHARS] = L"192.168.1.1", file[TEXT_CHARS];
    static WCHAR nqn[TEXT_CHARS] = L"nqn.2026-11.org.openndk:nvme-target";
    ULONG port = 4420, memory = 64, srq = 0, fast = 0;
    OBJECT_ATTRIBUTES attributes;
    NTSTATUS status;
    HANDLE key;

    target_settings_init(Settings);
    Settings->if_index = 12;
    InitializeObjectAttributes(&attributes, RegistryPath, OBJ_CASE_INSENSITIVE | OBJ_KERNEL_HANDLE, NULL, NULL);
    if (NT_SUCCESS(ZwOpenKey(&key, KEY_READ, &attributes))) {
        ReadNumber(key, L"Interface", &Settings->if_index);
        ReadText(key, L"Address", address);
        ReadNumber(key, L"Port", &port);
        ReadText(key, L"Nqn", nqn);
        ReadText(key, L"File", file);
        ReadNumber(key, L"MemoryMiB", &memory);
        ReadNumber(key, L"SrqDepth", &srq);
        ReadNumber(key, L"Fast", &fast);
        ZwClose(key);
    }
    Settings->has_srq = srq != 0;
    Settings->n_srq_receives = srq;
    Settings->has_fast_registration = fast != 0;
    status = CopyNarrow(Settings->nqn, sizeof(Settings->nqn), nqn);
    if (NT_SUCCESS(status))
        status = SetAddress(Settings, address, (USHORT)port);
    if (!NT_SUCCESS(status)) {
        host_log("Address or Nqn in the registry is invalid");
        return status;
    }
    Disk = OpenDisk(file, memory);
    return Disk ? STATUS_SUCCESS : STATUS_NO_SUCH_DEVICE;
}

/* ---- Start and stop ---------------------------------------------------------------------------------------------- */

static VOID TargetUnload(PDRIVER_OBJECT DriverObject)
{
    UNREFERENCED_PARAMETER(DriverObject);
    target_stop(&Target);
    host_stop();
    disk_close(Disk);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    static struct target_settings settings;
    NTSTATUS status = ReadSettings(RegistryPath, &settings);

    if (!NT_SUCCESS(status))
        return status;
    status = host_start();
    if (NT_SUCCESS(status) && !target_start(&Target, &settings, &Disk, 1)) {
        host_stop();
        status = STATUS_UNSUCCESSFUL;
    }
    if (!NT_SUCCESS(status)) {
        disk_close(Disk);
        return status;
    }
    DriverObject->DriverUnload = TargetUnload;
    host_log("listening on %s port %s, %s", settings.port.address, settings.port.service, settings.nqn);
    return STATUS_SUCCESS;
}
