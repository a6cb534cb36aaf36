/* SPDX-License-Identifier: MIT */
/* Calls the routines for device interfaces, names and stacks with the devices of controls.c. */
#include <initguid.h>

#include <ntifs.h>

#include "controls.h"

DEFINE_GUID(CLASS_A, 0x0a0b0c0d, 0x0102, 0x0304, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c);
DEFINE_GUID(CLASS_B, 0x1a1b1c1d, 0x0102, 0x0304, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c);

#define EXPECT(condition)        \
    do {                         \
        if (!(condition))        \
            return __LINE__;     \
    } while (0)

int controls_check_interfaces(PDEVICE_OBJECT device, PDEVICE_OBJECT second);

static UNICODE_STRING plain, left, right, other;
static UNICODE_STRING left_reference = RTL_CONSTANT_STRING(L"Left"), right_reference = RTL_CONSTANT_STRING(L"right");

static int names_are(const GUID *class, PDEVICE_OBJECT device, ULONG flags, PUNICODE_STRING first,
                     PUNICODE_STRING second)
{
    UNICODE_STRING name;
    PZZWSTR list;
    WCHAR *at;
    int equal = 1;

    if (IoGetDeviceInterfaces(class, device, flags, &list) != STATUS_SUCCESS)
        return 0;
    at = list;
    for (int i = 0; i < 2; i++) {
        PUNICODE_STRING expected = i ? second : first;

        if (!expected)
            continue;
        RtlInitUnicodeString(&name, at);
        equal = equal && RtlEqualUnicodeString(&name, expected, FALSE);
        at += name.Length / sizeof(WCHAR) + 1;
    }
    equal = equal && !*at;
    ExFreePool(list);
    return equal;
}

static int check_registering(PDEVICE_OBJECT device)
{
    static UNICODE_STRING wrong = RTL_CONSTANT_STRING(L"a\\b"), slash = RTL_CONSTANT_STRING(L"a/b");
    UNICODE_STRING again;
    UCHAR nothing[sizeof(DEVICE_OBJECT)] = { 0 };

    EXPECT(IoRegisterDeviceInterface(NULL, &CLASS_A, NULL, &plain) == STATUS_INVALID_DEVICE_REQUEST);
    EXPECT(IoRegisterDeviceInterface((PDEVICE_OBJECT)(PVOID)nothing, &CLASS_A, NULL, &plain) ==
           STATUS_INVALID_DEVICE_REQUEST);
    EXPECT(IoRegisterDeviceInterface(device, &CLASS_A, &wrong, &plain) == STATUS_INVALID_DEVICE_REQUEST);
    EXPECT(IoRegisterDeviceInterface(device, &CLASS_A, &slash, &plain) == STATUS_INVALID_DEVICE_REQUEST);
    EXPECT(IoRegisterDeviceInterface(device, &CLASS_A, NULL, &plain) == STATUS_SUCCESS);
    EXPECT(plain.MaximumLength == plain.Length + sizeof(WCHAR) && !plain.Buffer[plain.Length / sizeof(WCHAR)]);
    EXPECT(IoRegisterDeviceInterface(device, &CLASS_A, NULL, &again) == STATUS_OBJECT_NAME_EXISTS);
    EXPECT(RtlEqualUnicodeString(&plain, &again, FALSE));
    RtlFreeUnicodeString(&again);
    EXPECT(IoRegisterDeviceInterface(device, &CLASS_A, &left_reference, &left) == STATUS_SUCCESS);
    EXPECT(IoRegisterDeviceInterface(device, &CLASS_A, &right_reference, &right) == STATUS_SUCCESS);
    EXPECT(IoRegisterDeviceInterface(device, &CLASS_B, &right_reference, &other) == STATUS_SUCCESS);
    return 0;
}

static int check_lookup(PDEVICE_OBJECT device, PDEVICE_OBJECT second)
{
    UNICODE_STRING alias;

    EXPECT(names_are(&CLASS_B, NULL, 0, NULL, NULL));
    EXPECT(names_are(&CLASS_B, NULL, DEVICE_INTERFACE_INCLUDE_NONACTIVE, &other, NULL));
    EXPECT(IoSetDeviceInterfaceState(&left, TRUE) == STATUS_SUCCESS);
    EXPECT(IoSetDeviceInterfaceState(&left, TRUE) == STATUS_OBJECT_NAME_EXISTS);
    EXPECT(IoSetDeviceInterfaceState(&right, TRUE) == STATUS_SUCCESS);
    EXPECT(names_are(&CLASS_A, NULL, 0, &left, &right));
    EXPECT(names_are(&CLASS_A, device, 0, &left, &right));
    EXPECT(names_are(&CLASS_A, second, 0, NULL, NULL));
    EXPECT(IoGetDeviceInterfaceAlias(&right, &CLASS_B, &alias) == STATUS_SUCCESS);
    EXPECT(RtlEqualUnicodeString(&alias, &other, FALSE));
    RtlFreeUnicodeString(&alias);
    EXPECT(IoGetDeviceInterfaceAlias(&left, &CLASS_B, &alias) == STATUS_OBJECT_NAME_NOT_FOUND);
    EXPECT(IoGetDeviceInterfaceAlias(&left_reference, &CLASS_B, &alias) == STATUS_INVALID_HANDLE);
    return 0;
}

/* The values of an instance are found again by the name of its key. */
static int check_registry(void)
{
    static const WCHAR *const path =
        L"\\Registry\\Machine\\System\\CurrentControlSet\\Control\\DeviceClasses\\"
        L"{0a0b0c0d-0102-0304-0506-0708090a0b0c}\\##?#ROOT#CONTROLS#0000#{0a0b0c0d-0102-0304-0506-0708090a0b0c}\\"
        L"#Left\\Device Parameters";
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"Level");
    ULONG seven = 7, read = 0;
    RTL_QUERY_REGISTRY_TABLE table[2] = {
        { .Flags = RTL_QUERY_REGISTRY_DIRECT | RTL_QUERY_REGISTRY_REQUIRED | RTL_QUERY_REGISTRY_TYPECHECK,
          .Name = L"Level", .EntryContext = &read, .DefaultType = REG_DWORD << RTL_QUERY_REGISTRY_TYPECHECK_SHIFT },
    };
    HANDLE key;

    EXPECT(IoOpenDeviceInterfaceRegistryKey(&name, KEY_ALL_ACCESS, &key) == STATUS_OBJECT_NAME_NOT_FOUND);
    EXPECT(IoOpenDeviceInterfaceRegistryKey(&left, KEY_ALL_ACCESS, &key) == STATUS_SUCCESS);
    EXPECT(ZwSetValueKey(key, &name, 0, REG_DWORD, &seven, sizeof seven) == STATUS_SUCCESS);
    ZwClose(key);
    EXPECT(RtlQueryRegistryValues(RTL_REGISTRY_ABSOLUTE, path, table, NULL, NULL) == STATUS_SUCCESS && read == 7);
    return 0;
}

/* Both references have one link, which exists until both are disabled. */
static int check_opening(PDEVICE_OBJECT device)
{
    PFILE_OBJECT file;
    PDEVICE_OBJECT target;

    EXPECT(IoGetDeviceObjectPointer(&plain, FILE_READ_DATA, &file, &target) == STATUS_SUCCESS && target == device);
    EXPECT(file->DeviceObject == device && file->FileName.Length == 0);
    ObDereferenceObject(file);
    EXPECT(IoSetDeviceInterfaceState(&left, FALSE) == STATUS_SUCCESS);
    EXPECT(IoSetDeviceInterfaceState(&left, FALSE) == STATUS_OBJECT_NAME_NOT_FOUND);
    EXPECT(IoGetDeviceObjectPointer(&plain, FILE_READ_DATA, &file, &target) == STATUS_SUCCESS);
    ObDereferenceObject(file);
    EXPECT(IoGetDeviceObjectPointer(&right, FILE_READ_DATA, &file, &target) == STATUS_OBJECT_PATH_NOT_FOUND);
    EXPECT(IoSetDeviceInterfaceState(&right, FALSE) == STATUS_SUCCESS);
    EXPECT(IoGetDeviceObjectPointer(&plain, FILE_READ_DATA, &file, &target) == STATUS_OBJECT_NAME_NOT_FOUND);
    EXPECT(IoSetDeviceInterfaceState(&left_reference, TRUE) == STATUS_OBJECT_NAME_NOT_FOUND);
    return 0;
}

/*
 * Each device has its own interfaces. A device that is deleted loses them, and the next device has its number and its
 * instances.
 */
static int check_deleting(PDEVICE_OBJECT device)
{
    PDRIVER_OBJECT driver = device->DriverObject;
    PDEVICE_OBJECT one, two;
    UNICODE_STRING of_one, of_two;

    EXPECT(NT_SUCCESS(IoCreateDevice(driver, 0, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &one)));
    EXPECT(IoRegisterDeviceInterface(one, &CLASS_B, NULL, &of_one) == STATUS_SUCCESS);
    EXPECT(IoSetDeviceInterfaceState(&of_one, TRUE) == STATUS_SUCCESS);
    EXPECT(names_are(&CLASS_B, one, 0, &of_one, NULL));
    EXPECT(names_are(&CLASS_B, device, DEVICE_INTERFACE_INCLUDE_NONACTIVE, &other, NULL));
    IoDeleteDevice(one);
    EXPECT(names_are(&CLASS_B, NULL, 0, NULL, NULL));
    EXPECT(IoSetDeviceInterfaceState(&of_one, TRUE) == STATUS_INVALID_DEVICE_REQUEST);
    EXPECT(NT_SUCCESS(IoCreateDevice(driver, 0, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &two)));
    EXPECT(IoRegisterDeviceInterface(two, &CLASS_B, NULL, &of_two) == STATUS_OBJECT_NAME_EXISTS);
    EXPECT(RtlEqualUnicodeString(&of_one, &of_two, FALSE));
    IoDeleteDevice(two);
    RtlFreeUnicodeString(&of_one);
    RtlFreeUnicodeString(&of_two);
    return 0;
}

static int check_names(PDEVICE_OBJECT device)
{
    static UNICODE_STRING routine = RTL_CONSTANT_STRING(L"KeSetEvent"), libc = RTL_CONSTANT_STRING(L"printf"),
                          link = RTL_CONSTANT_STRING(L"\\DosDevices\\Controls");
    static const WCHAR *const name = L"\\Device\\Controls";
    struct {
        OBJECT_NAME_INFORMATION info;
        WCHAR text[40];
    } buffer;
    PDEVICE_OBJECT target;
    PFILE_OBJECT file;
    ULONG need;

    EXPECT(MmGetSystemRoutineAddress(&routine) == (PVOID)(ULONG_PTR)&KeSetEvent);
    EXPECT(!MmGetSystemRoutineAddress(&libc));
    EXPECT(ObQueryNameString(device, &buffer.info, sizeof buffer, &need) == STATUS_SUCCESS);
    EXPECT(!wcscmp(buffer.info.Name.Buffer, name) && need == sizeof buffer.info + buffer.info.Name.MaximumLength);
    EXPECT(ObQueryNameString(device->DriverObject, &buffer.info, sizeof buffer, &need) == STATUS_SUCCESS);
    EXPECT(!wcscmp(buffer.info.Name.Buffer, L"\\Driver\\controls"));
    EXPECT(IoGetDeviceObjectPointer(&link, FILE_READ_DATA, &file, &target) == STATUS_SUCCESS);
    EXPECT(ObQueryNameString(file, &buffer.info, sizeof buffer, &need) == STATUS_SUCCESS);
    EXPECT(!wcscmp(buffer.info.Name.Buffer, name));
    ObDereferenceObject(file);
    return 0;
}

/* `third` is attached to the unnamed device `one`. */
static int check_stack(PDEVICE_OBJECT one, PDEVICE_OBJECT third)
{
    PDEVICE_OBJECT at = NULL;

    one->Flags &= ~(ULONG)DO_DEVICE_INITIALIZING;
    EXPECT(!IoGetLowerDeviceObject(one));
    EXPECT(IoAttachDeviceToDeviceStackSafe(third, one, &at) == STATUS_SUCCESS && at == one);
    EXPECT(IoGetLowerDeviceObject(third) == one);
    ObDereferenceObject(one);
    EXPECT(IoGetDeviceAttachmentBaseRef(third) == one);
    ObDereferenceObject(one);
    EXPECT(IoGetDeviceAttachmentBaseRef(one) == one);
    ObDereferenceObject(one);
    IoDetachDevice(one);
    return 0;
}

static int check_modes(PDRIVER_OBJECT driver)
{
    PDEVICE_OBJECT one = NULL, third = NULL;
    LONG count = 5;
    IRP irp;
    int line;

    EXPECT(ExGetPreviousMode() == UserMode);
    EXPECT(!IoGetTopLevelIrp());
    IoSetTopLevelIrp(&irp);
    EXPECT(IoGetTopLevelIrp() == &irp);
    IoSetTopLevelIrp(NULL);
    IoAdjustPagingPathCount(&count, TRUE);
    EXPECT(count == 6);
    IoAdjustPagingPathCount(&count, FALSE);
    EXPECT(count == 5);
    EXPECT(NT_SUCCESS(IoCreateDevice(driver, 0, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &one)));
    EXPECT(NT_SUCCESS(IoCreateDevice(driver, 0, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &third)));
    line = check_stack(one, third);
    IoDeleteDevice(third);
    IoDeleteDevice(one);
    return line;
}

/* The driver counts its file system controls: see controls.c. */
static int check_fs_control(void)
{
    static UNICODE_STRING name = RTL_CONSTANT_STRING(L"\\Device\\Exclusive");
    OBJECT_ATTRIBUTES a;
    IO_STATUS_BLOCK block;
    UCHAR out = 0;
    HANDLE handle;

    InitializeObjectAttributes(&a, &name, OBJ_KERNEL_HANDLE, NULL, NULL);
    EXPECT(NT_SUCCESS(ZwOpenFile(&handle, GENERIC_READ, &a, &block, 0, FILE_SYNCHRONOUS_IO_NONALERT)));
    EXPECT(ZwFsControlFile(handle, NULL, NULL, NULL, &block, FSCTL_LOCK_VOLUME, "\7", 1, &out, 1) == STATUS_SUCCESS);
    EXPECT(block.Information == 1 && out == 8);
    EXPECT(ZwFsControlFile(handle, handle, NULL, NULL, &block, FSCTL_LOCK_VOLUME, NULL, 0, NULL, 0) ==
           STATUS_INVALID_PARAMETER_2);
    ZwClose(handle);
    return 0;
}

int controls_check_interfaces(PDEVICE_OBJECT device, PDEVICE_OBJECT second)
{
    int line = check_registering(device);

    line = line ? line : check_lookup(device, second);
    line = line ? line : check_registry();
    line = line ? line : check_opening(device);
    line = line ? line : check_deleting(device);
    line = line ? line : check_names(device);
    line = line ? line : check_modes(device->DriverObject);
    line = line ? line : check_fs_control();
    RtlFreeUnicodeString(&plain);
    RtlFreeUnicodeString(&left);
    RtlFreeUnicodeString(&right);
    RtlFreeUnicodeString(&other);
    return line;
}
