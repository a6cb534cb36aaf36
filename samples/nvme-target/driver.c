/* SPDX-License-Identifier: MIT */
/*
 * Implements the driver: reads its settings, opens the disks, and starts and stops the target. Its device has the
 * device control of targetioctl.h. The service's registry key has these values:
 *
 *   Interface       REG_DWORD     index of the interface whose adapter is used; default 12
 *   Address         REG_SZ        an IPv4 or IPv6 address of the interface, as numbers; default 192.168.1.1
 *   Port            REG_DWORD     TCP port on which the target listens; default 4420
 *   Nqn             REG_SZ        the subsystem's name
 *   MemoryMiB       REG_DWORD     size of namespace 1, a disk in memory; 0: none; default 64, or 0 if there are files
 *   Files           REG_MULTI_SZ  files as further namespaces, for example \??\C:\disk.img
 *   ReadOnlyFiles   REG_MULTI_SZ  as Files, but hosts cannot write
 *   Hosts           REG_MULTI_SZ  the names of the hosts that may connect; if the value is missing, any host
 *   SrqDepth        REG_DWORD     number of receives in a shared receive queue; 0, the default: no shared queue
 *   Fast            REG_DWORD     not 0: the target uses fast registration
 *   Buffers         REG_DWORD     number of buffers of 128 KiB for each I/O queue
 *   MaxControllers  REG_DWORD     maximum number of controllers at the same time; default 16
 *   MaxIoQueues     REG_DWORD     maximum number of I/O queues of a controller; default 8
 *   MaxQueues       REG_DWORD     maximum number of connections at the same time; default: enough for all queues
 */
#include "target.h"

#include <ip2string.h>

#include "targetioctl.h"

DRIVER_INITIALIZE DriverEntry;
static DRIVER_UNLOAD TargetUnload;
static DRIVER_DISPATCH TargetOpenOrClose, TargetControl;

enum { TEXT_CHARS = 1024, MAX_HOSTS = 16 };

static struct target Target;
static struct disk *Disks[TARGET_MAX_NAMESPACES];
static ULONG DiskCount;

/* ---- The registry ------------------------------------------------------------------------------------------------ */

/* Returns a REG_DWORD, or the default if there is no such value. */
static ULONG ReadNumber(HANDLE Key, PCWSTR Name, ULONG Default)
{
    UCHAR room[sizeof(KEY_VALUE_PARTIAL_INFORMATION) + sizeof(ULONG)];
    KEY_VALUE_PARTIAL_INFORMATION *information = (KEY_VALUE_PARTIAL_INFORMATION *)room;
    UNICODE_STRING name;
    ULONG size, number;

    RtlInitUnicodeString(&name, Name);
    if (!NT_SUCCESS(ZwQueryValueKey(Key, &name, KeyValuePartialInformation, information, sizeof(room), &size)) ||
        information->Type != REG_DWORD || information->DataLength != sizeof(ULONG))
        return Default;
    RtlCopyMemory(&number, information->Data, sizeof(number));
    return number;
}

/*
 * Reads a REG_DWORD with ReadNumber. If the number is not in the range from Min to Max, prints a message, sets *Status
 * to STATUS_INVALID_PARAMETER, and returns Default.
 */
static ULONG ReadLimit(HANDLE Key, PCWSTR Name, ULONG Default, ULONG Min, ULONG Max, NTSTATUS *Status)
{
    ULONG number = ReadNumber(Key, Name, Default);

    if (number >= Min && number <= Max)
        return number;
    DbgPrint("nvme-target: %ws in the registry is %u; a number from %u to %u is needed\n", Name, number, Min, Max);
    *Status = STATUS_INVALID_PARAMETER;
    return Default;
}

/*
 * Reads a REG_SZ or REG_MULTI_SZ of less than TEXT_CHARS characters into *Text, and ends it with two zeroes. Leaves
 * *Text unchanged if the registry has no such value.
 */
static VOID ReadText(HANDLE Key, PCWSTR Name, ULONG Type, WCHAR *Text)
{
    /* A static buffer is safe, because only DriverEntry, which runs once, reads the registry. */
    static UCHAR room[sizeof(KEY_VALUE_PARTIAL_INFORMATION) + TEXT_CHARS * sizeof(WCHAR)];
    KEY_VALUE_PARTIAL_INFORMATION *information = (KEY_VALUE_PARTIAL_INFORMATION *)room;
    UNICODE_STRING name;
    ULONG size;

    RtlInitUnicodeString(&name, Name);
    if (!NT_SUCCESS(ZwQueryValueKey(Key, &name, KeyValuePartialInformation, information, sizeof(room), &size)) ||
        information->Type != Type || information->DataLength > (TEXT_CHARS - 2) * sizeof(WCHAR))
        return;
    RtlZeroMemory(Text, TEXT_CHARS * sizeof(WCHAR));
    RtlCopyMemory(Text, information->Data, information->DataLength);
}

/* Copies ASCII characters. Returns STATUS_INVALID_PARAMETER if a character is not ASCII or if the text is too long. */
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

/* Writes the number in decimal. Requires space for six characters. */
static VOID WriteNumber(CHAR *Text, USHORT Number)
{
    CHAR digits[5];
    ULONG n = 0;

    do {
        digits[n++] = (CHAR)('0' + Number % 10);
        Number /= 10;
    } while (Number);
    while (n)
        *Text++ = digits[--n];
    *Text = 0;
}

/* ---- Settings ---------------------------------------------------------------------------------------------------- */

static NTSTATUS SetAddress(struct target_settings *Settings, const WCHAR *Text, USHORT Port)
{
    SOCKADDR_IN *v4 = (SOCKADDR_IN *)&Settings->address;
    SOCKADDR_IN6 *v6 = (SOCKADDR_IN6 *)&Settings->address;
    USHORT none = 0;

    Settings->port.id = 1;
    if (NT_SUCCESS(RtlIpv4StringToAddressExW(Text, TRUE, (struct in_addr *)&v4->sin_addr, &none)) && !none) {
        v4->sin_family = AF_INET;
        v4->sin_port = RtlUshortByteSwap(Port);
        Settings->address_len = sizeof(*v4);
        Settings->port.family = NVME_ADRFAM_IPV4;
    } else if (NT_SUCCESS(RtlIpv6StringToAddressExW(Text, (struct in6_addr *)&v6->sin6_addr, &v6->sin6_scope_id,
                   &none)) && !none) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = RtlUshortByteSwap(Port);
        Settings->address_len = sizeof(*v6);
        Settings->port.family = NVME_ADRFAM_IPV6;
    } else {
        return STATUS_INVALID_PARAMETER;
    }
    WriteNumber(Settings->port.service, Port);
    return CopyNarrow(Settings->port.address, sizeof(Settings->port.address), Text);
}

/*
 * Adds the disk to the list. Fails if `Disk` is NULL; the function that tried to open the disk has printed the reason.
 */
static NTSTATUS AddDisk(struct disk *Disk)
{
    if (!Disk)
        return STATUS_NO_SUCH_DEVICE;
    if (DiskCount == TARGET_MAX_NAMESPACES) {
        disk_close(Disk);
        return STATUS_TOO_MANY_NAMES;
    }
    Disks[DiskCount++] = Disk;
    return STATUS_SUCCESS;
}

/* Adds each file in a list of strings, which ends with an empty string. */
static NTSTATUS AddFiles(const WCHAR *Files, bool ReadOnly)
{
    NTSTATUS status = STATUS_SUCCESS;
    UNICODE_STRING name;

    for (; *Files && NT_SUCCESS(status); Files += name.Length / sizeof(WCHAR) + 1) {
        RtlInitUnicodeString(&name, Files);
        status = AddDisk(disk_file_open(&name, ReadOnly));
    }
    return status;
}

static VOID CloseDisks(VOID)
{
    while (DiskCount)
        disk_close(Disks[--DiskCount]);
}

/* Copies the hosts' names into static memory, because the target uses them until it stops. */
static NTSTATUS AddHosts(struct target_settings *Settings, const WCHAR *Hosts)
{
    static CHAR names[MAX_HOSTS][NVME_NQN_SIZE];
    static const char *pointers[MAX_HOSTS];
    NTSTATUS status = STATUS_SUCCESS;

    for (; *Hosts && NT_SUCCESS(status); Hosts += wcslen(Hosts) + 1) {
        if (Settings->n_hosts == MAX_HOSTS)
            return STATUS_TOO_MANY_NAMES;
        status = CopyNarrow(names[Settings->n_hosts], NVME_NQN_SIZE, Hosts);
        pointers[Settings->n_hosts] = names[Settings->n_hosts];
        Settings->n_hosts++;
    }
    Settings->hosts = pointers;
    return status;
}

/* The strings from the registry. They are static because a kernel stack is small. */
static WCHAR Address[TEXT_CHARS] = L"192.168.1.1", Nqn[TEXT_CHARS] = L"nqn.2026-11.org.openndk:nvme-target";
static WCHAR Files[TEXT_CHARS], ReadOnlyFiles[TEXT_CHARS], Hosts[TEXT_CHARS];

/* Reads all values. If a number is out of range, prints a message and returns STATUS_INVALID_PARAMETER. */
static NTSTATUS ReadKey(HANDLE Key, struct target_settings *Settings, USHORT *Port, ULONG *MemoryMiB)
{
    NTSTATUS status = STATUS_SUCCESS;

    ReadText(Key, L"Address", REG_SZ, Address);
    ReadText(Key, L"Nqn", REG_SZ, Nqn);
    ReadText(Key, L"Files", REG_MULTI_SZ, Files);
    ReadText(Key, L"ReadOnlyFiles", REG_MULTI_SZ, ReadOnlyFiles);
    ReadText(Key, L"Hosts", REG_MULTI_SZ, Hosts);
    *Port = (USHORT)ReadLimit(Key, L"Port", *Port, 1, 65535, &status);
    *MemoryMiB = ReadNumber(Key, L"MemoryMiB", Files[0] || ReadOnlyFiles[0] ? 0 : *MemoryMiB);
    Settings->if_index = ReadNumber(Key, L"Interface", Settings->if_index);
    Settings->n_srq_receives = ReadNumber(Key, L"SrqDepth", 0);
    Settings->has_srq = Settings->n_srq_receives != 0;
    if (Settings->has_srq)
        Settings->n_srq_receives = ReadLimit(Key, L"SrqDepth", 0, 32, 65536, &status);
    Settings->has_fast_registration = ReadNumber(Key, L"Fast", 0) != 0;
    Settings->max_buffers = ReadLimit(Key, L"Buffers", Settings->max_buffers, 1, 1024, &status);
    Settings->max_controllers =
        (USHORT)ReadLimit(Key, L"MaxControllers", Settings->max_controllers, 1, TARGET_MAX_CONTROLLERS, &status);
    Settings->max_io_queues =
        (uint16_t)ReadLimit(Key, L"MaxIoQueues", Settings->max_io_queues, 1, TARGET_MAX_IO_QUEUES, &status);
    Settings->max_queues =
        ReadLimit(Key, L"MaxQueues", target_default_queues(Settings), 2, TARGET_MAX_QUEUES, &status);
    return status;
}

/* Reads the settings and opens the disks. The caller must call CloseDisks even after a failure. */
static NTSTATUS ReadSettings(PUNICODE_STRING RegistryPath, struct target_settings *Settings)
{
    OBJECT_ATTRIBUTES attributes;
    USHORT port = 4420;
    ULONG memory = 64;
    NTSTATUS status;
    HANDLE key;

    target_settings_init(Settings);
    Settings->if_index = 12;
    InitializeObjectAttributes(&attributes, RegistryPath, OBJ_CASE_INSENSITIVE | OBJ_KERNEL_HANDLE, NULL, NULL);
    if (NT_SUCCESS(ZwOpenKey(&key, KEY_READ, &attributes))) {
        status = ReadKey(key, Settings, &port, &memory);
        ZwClose(key);
        if (!NT_SUCCESS(status))
            return status;
    }
    status = CopyNarrow(Settings->nqn, sizeof(Settings->nqn), Nqn);
    if (NT_SUCCESS(status))
        status = AddHosts(Settings, Hosts);
    if (NT_SUCCESS(status))
        status = SetAddress(Settings, Address, port);
    if (!NT_SUCCESS(status))
        host_log("Address, Nqn or Hosts in the registry is invalid");
    if (NT_SUCCESS(status) && memory)
        status = AddDisk(disk_memory_open((uint64_t)memory << 20));
    if (NT_SUCCESS(status))
        status = AddFiles(Files, false);
    if (NT_SUCCESS(status))
        status = AddFiles(ReadOnlyFiles, true);
    return status;
}

/* ---- Device controls --------------------------------------------------------------------------------------------- */

static UNICODE_STRING DeviceName = RTL_CONSTANT_STRING(L"\\Device\\NvmeTarget");
static UNICODE_STRING LinkName = RTL_CONSTANT_STRING(L"\\DosDevices\\NvmeTarget");

static NTSTATUS Complete(PIRP Irp, NTSTATUS Status, ULONG_PTR Information)
{
    Irp->IoStatus.Status = Status;
    Irp->IoStatus.Information = Information;
    IoCompleteRequest(Irp, IO_NO_INCREMENT);
    return Status;
}

static NTSTATUS TargetOpenOrClose(PDEVICE_OBJECT DeviceObject, PIRP Irp)
{
    UNREFERENCED_PARAMETER(DeviceObject);
    return Complete(Irp, STATUS_SUCCESS, 0);
}

/* Windows sends no device control before DriverEntry has returned, so the target runs. */
static NTSTATUS TargetControl(PDEVICE_OBJECT DeviceObject, PIRP Irp)
{
    PIO_STACK_LOCATION stack = IoGetCurrentIrpStackLocation(Irp);
    ULONG changed;

    UNREFERENCED_PARAMETER(DeviceObject);
    if (stack->Parameters.DeviceIoControl.IoControlCode != IOCTL_NVME_TARGET_RESCAN)
        return Complete(Irp, STATUS_INVALID_DEVICE_REQUEST, 0);
    changed = target_rescan(&Target);
    if (stack->Parameters.DeviceIoControl.OutputBufferLength < sizeof(changed))
        return Complete(Irp, STATUS_SUCCESS, 0);
    RtlCopyMemory(Irp->AssociatedIrp.SystemBuffer, &changed, sizeof(changed));
    return Complete(Irp, STATUS_SUCCESS, sizeof(changed));
}

static NTSTATUS CreateDevice(PDRIVER_OBJECT DriverObject)
{
    PDEVICE_OBJECT device;
    NTSTATUS status = IoCreateDevice(DriverObject, 0, &DeviceName, FILE_DEVICE_CONTROLLER, FILE_DEVICE_SECURE_OPEN,
        FALSE, &device);

    if (!NT_SUCCESS(status))
        return status;
    DriverObject->MajorFunction[IRP_MJ_CREATE] = TargetOpenOrClose;
    DriverObject->MajorFunction[IRP_MJ_CLEANUP] = TargetOpenOrClose;
    DriverObject->MajorFunction[IRP_MJ_CLOSE] = TargetOpenOrClose;
    DriverObject->MajorFunction[IRP_MJ_DEVICE_CONTROL] = TargetControl;
    status = IoCreateSymbolicLink(&LinkName, &DeviceName);
    if (!NT_SUCCESS(status))
        IoDeleteDevice(device);
    return status;
}

static VOID DeleteDevice(PDRIVER_OBJECT DriverObject)
{
    IoDeleteSymbolicLink(&LinkName);
    IoDeleteDevice(DriverObject->DeviceObject);
}

/* ---- Start and stop ---------------------------------------------------------------------------------------------- */

/* Stops the target and deletes the device. Windows calls this only when no handle to the device is open. */
static VOID TargetUnload(PDRIVER_OBJECT DriverObject)
{
    target_stop(&Target);
    host_stop();
    CloseDisks();
    DeleteDevice(DriverObject);
}

static NTSTATUS Start(const struct target_settings *Settings)
{
    NTSTATUS status = host_start();

    if (NT_SUCCESS(status) && !target_start(&Target, Settings, Disks, DiskCount)) {
        host_stop();
        status = STATUS_UNSUCCESSFUL;
    }
    return status;
}

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    static struct target_settings settings;
    NTSTATUS status = ReadSettings(RegistryPath, &settings);

    if (NT_SUCCESS(status))
        status = CreateDevice(DriverObject);
    if (NT_SUCCESS(status)) {
        status = Start(&settings);
        if (!NT_SUCCESS(status))
            DeleteDevice(DriverObject);
    }
    if (!NT_SUCCESS(status)) {
        CloseDisks();
        return status;
    }
    DriverObject->DriverUnload = TargetUnload;
    host_log("listening on %s port %s, %s", settings.port.address, settings.port.service, settings.nqn);
    return STATUS_SUCCESS;
}
