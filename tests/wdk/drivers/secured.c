/* SPDX-License-Identifier: MIT */
/* Devices with several security descriptors. DriverEntry checks what the kernel's routines return for them. */
#include <ntifs.h>
#include <wdmsec.h>

enum { MOST_DEVICES = 8 };

static PDEVICE_OBJECT devices[MOST_DEVICES];
static unsigned n_devices;

/* Prints and fails if the condition is false. */
#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            DbgPrintEx(DPFLTR_IHVDRIVER_ID, DPFLTR_ERROR_LEVEL, "line %d: %s\n", __LINE__, #condition);                \
            return STATUS_UNSUCCESSFUL;                                                                                \
        }                                                                                                              \
    } while (0)

static NTSTATUS secured_request(PDEVICE_OBJECT device, PIRP irp)
{
    UNREFERENCED_PARAMETER(device);
    irp->IoStatus.Status = STATUS_SUCCESS;
    irp->IoStatus.Information = 0;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return STATUS_SUCCESS;
}

static void secured_unload(PDRIVER_OBJECT driver)
{
    UNREFERENCED_PARAMETER(driver);
    while (n_devices)
        IoDeleteDevice(devices[--n_devices]);
}

/* Creates a device, without a descriptor if `sddl` is NULL. */
static NTSTATUS secured_create(PDRIVER_OBJECT driver, PCWSTR name, PCWSTR sddl, ULONG characteristics)
{
    UNICODE_STRING wide, text;
    NTSTATUS status;

    RtlInitUnicodeString(&wide, name);
    RtlInitUnicodeString(&text, sddl);
    status = sddl ? IoCreateDeviceSecure(driver, 0, &wide, FILE_DEVICE_UNKNOWN, characteristics, FALSE, &text, NULL,
                                         &devices[n_devices])
                  : IoCreateDevice(driver, 0, &wide, FILE_DEVICE_UNKNOWN, characteristics, FALSE, &devices[n_devices]);
    n_devices += NT_SUCCESS(status);
    return status;
}

/* The texts that are refused leave no device. */
static NTSTATUS secured_refuse(PDRIVER_OBJECT driver)
{
    static const PCWSTR wrong[] = {
        L"",
        L"D",
        L"O:SYD:P",
        L"D:PX",
        L"D:P(A;;GA;;;SY",
        L"D:P(A;;GA;;;SY)x",
        L"D:P(A;;GA;;SY)",
        L"D:P(A;;GA;;;)",
        L"D:P(A;;GA;;;XX)",
        L"D:P(Q;;GA;;;SY)",
        L"D:P(A;XX;GA;;;SY)",
        L"D:P(A;;GQ;;;SY)",
        L"D:P(A;;0x;;;SY)",
        L"D:P(A;;0x100000000;;;SY)",
        L"D:P(A;;GA;;;S-1-5)",
        L"D:P(A;;GA;;;S-1-5-)",
        L"D:P(A;;GA;;;S-2-5-18)",
        L"D:P(A;;GA;;;S-1-5-4294967296)",
        L"D:P(A;;GA;;;S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15-16)",
    };

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        NTSTATUS status = secured_create(driver, L"\\Device\\Refused", wrong[i], 0);

        if (status != STATUS_INVALID_PARAMETER) {
            DbgPrintEx(DPFLTR_IHVDRIVER_ID, DPFLTR_ERROR_LEVEL, "%ws: 0x%X\n", wrong[i], status);
            return STATUS_UNSUCCESSFUL;
        }
    }
    return STATUS_SUCCESS;
}

/* The list of a device as rights, flags, type and last subauthority of each entry. */
static NTSTATUS secured_entry_is(PACL list, ULONG index, UCHAR type, UCHAR flags, ACCESS_MASK mask, ULONG rid)
{
    PACCESS_ALLOWED_ACE ace;
    PSID sid;

    REQUIRE(RtlGetAce(list, index, (PVOID *)&ace) == STATUS_SUCCESS);
    sid = &ace->SidStart;
    REQUIRE(ace->Header.AceType == type && ace->Header.AceFlags == flags);
    REQUIRE(ace->Mask == mask);
    REQUIRE(*RtlSubAuthoritySid(sid, (ULONG)(*RtlSubAuthorityCountSid(sid) - 1)) == rid);
    return STATUS_SUCCESS;
}

/* Compares the device's list with its text. */
static NTSTATUS secured_read_list(PDRIVER_OBJECT driver)
{
    PSECURITY_DESCRIPTOR descriptor;
    BOOLEAN allocated, present, defaulted;
    PACL list;
    PSID owner;

    REQUIRE(!secured_create(driver, L"\\Device\\Listed",
                            L"d:pai(a;oiciio;grGX;;;BU)(D;;0x1F;;;s-1-5-21-7-8)(A;NPID;RCWDCCCR;;;CO)(A;;16;;;WD)", 0));
    REQUIRE(!ObGetObjectSecurity(devices[n_devices - 1], &descriptor, &allocated) && descriptor && allocated);
    REQUIRE(RtlValidSecurityDescriptor(descriptor));
    REQUIRE(!RtlGetDaclSecurityDescriptor(descriptor, &present, &list, &defaulted) && present && !defaulted);
    REQUIRE(((SECURITY_DESCRIPTOR *)descriptor)->Control ==
            (SE_SELF_RELATIVE | SE_DACL_PRESENT | SE_DACL_PROTECTED | SE_DACL_AUTO_INHERITED));
    REQUIRE(list->AceCount == 4 && list->AclSize == sizeof(ACL) + 24 + 28 + 20 + 20);
    REQUIRE(!secured_entry_is(list, 0, ACCESS_ALLOWED_ACE_TYPE,
                              OBJECT_INHERIT_ACE | CONTAINER_INHERIT_ACE | INHERIT_ONLY_ACE,
                              FILE_GENERIC_READ | FILE_GENERIC_EXECUTE, DOMAIN_ALIAS_RID_USERS));
    REQUIRE(!secured_entry_is(list, 1, ACCESS_DENIED_ACE_TYPE, 0, 0x1f, 8));
    REQUIRE(!secured_entry_is(list, 2, ACCESS_ALLOWED_ACE_TYPE, NO_PROPAGATE_INHERIT_ACE | INHERITED_ACE,
                              READ_CONTROL | WRITE_DAC | 0x101, 0));
    REQUIRE(!secured_entry_is(list, 3, ACCESS_ALLOWED_ACE_TYPE, 0, 16, SECURITY_WORLD_RID));
    REQUIRE(!RtlGetOwnerSecurityDescriptor(descriptor, &owner, &defaulted));
    REQUIRE(RtlEqualSid(owner, SeExports->SeLocalSystemSid));
    ObReleaseObjectSecurity(descriptor, allocated);
    return STATUS_SUCCESS;
}

/* Sets the list of a device that has none, as published drivers do: through a handle. */
static NTSTATUS secured_set(PDEVICE_OBJECT device, PACL list)
{
    SECURITY_DESCRIPTOR descriptor;
    NTSTATUS status;
    HANDLE handle;

    REQUIRE(ObOpenObjectByPointer(device, OBJ_KERNEL_HANDLE, NULL, WRITE_DAC, *IoDriverObjectType, KernelMode,
                                  &handle) == STATUS_OBJECT_TYPE_MISMATCH);
    REQUIRE(
        !ObOpenObjectByPointer(device, OBJ_KERNEL_HANDLE, NULL, WRITE_DAC, *IoDeviceObjectType, KernelMode, &handle));
    REQUIRE(!RtlCreateSecurityDescriptor(&descriptor, SECURITY_DESCRIPTOR_REVISION));
    REQUIRE(!RtlSetDaclSecurityDescriptor(&descriptor, TRUE, list, FALSE));
    REQUIRE(ZwSetSecurityObject(handle, DACL_SECURITY_INFORMATION, NULL) == STATUS_ACCESS_VIOLATION);
    REQUIRE(ZwSetSecurityObject(handle, OWNER_SECURITY_INFORMATION, &descriptor) == STATUS_INVALID_SECURITY_DESCR);
    descriptor.Revision = 2;
    REQUIRE(ZwSetSecurityObject(handle, DACL_SECURITY_INFORMATION, &descriptor) == STATUS_UNKNOWN_REVISION);
    descriptor.Revision = SECURITY_DESCRIPTOR_REVISION;
    list->AclRevision = 9;
    REQUIRE(ZwSetSecurityObject(handle, DACL_SECURITY_INFORMATION, &descriptor) == STATUS_INVALID_ACL);
    list->AclRevision = ACL_REVISION;
    status = ZwSetSecurityObject(handle, DACL_SECURITY_INFORMATION, &descriptor);
    REQUIRE(!ZwClose(handle));
    return status;
}

static NTSTATUS secured_query(PDEVICE_OBJECT device)
{
    SECURITY_INFORMATION what = DACL_SECURITY_INFORMATION | GROUP_SECURITY_INFORMATION;
    union {
        SECURITY_DESCRIPTOR_RELATIVE descriptor;
        UCHAR room[100];
    } read;
    ULONG needed;
    HANDLE handle;

    REQUIRE(!ObOpenObjectByPointer(device, OBJ_KERNEL_HANDLE, NULL, READ_CONTROL, NULL, KernelMode, &handle));
    REQUIRE(ZwQuerySecurityObject(handle, what, NULL, 0, &needed) == STATUS_BUFFER_TOO_SMALL);
    REQUIRE(needed == 20 + 12 + sizeof(ACL) + 20 + 24);
    REQUIRE(ZwQuerySecurityObject(handle, what, &read, needed - 1, &needed) == STATUS_BUFFER_TOO_SMALL);
    REQUIRE(!ZwQuerySecurityObject(handle, what, &read, needed, &needed));
    REQUIRE(RtlValidRelativeSecurityDescriptor(&read, needed, what) && !read.descriptor.Owner);
    REQUIRE(!ZwClose(handle));
    return STATUS_SUCCESS;
}

static NTSTATUS secured_check(PDRIVER_OBJECT driver)
{
    union {
        ACL acl;
        UCHAR room[64];
    } empty, all;
    PSECURITY_DESCRIPTOR descriptor;
    BOOLEAN allocated;

    REQUIRE(!secured_refuse(driver) && !secured_read_list(driver));
    REQUIRE(!secured_create(driver, L"\\Device\\Closed", NULL, 0));
    REQUIRE(!ObGetObjectSecurity(devices[n_devices - 1], &descriptor, &allocated) && !descriptor && !allocated);
    REQUIRE(!secured_query(devices[n_devices - 1]));
    REQUIRE(!RtlCreateAcl(&all.acl, sizeof all, ACL_REVISION));
    REQUIRE(!RtlAddAccessAllowedAce(&all.acl, ACL_REVISION, GENERIC_ALL, SeExports->SeWorldSid));
    REQUIRE(!RtlCreateAcl(&empty.acl, sizeof empty, ACL_REVISION));
    REQUIRE(!secured_set(devices[n_devices - 1], &all.acl));
    REQUIRE(!secured_set(devices[n_devices - 1], &empty.acl));
    return STATUS_SUCCESS;
}

/* The kernel itself may open every device. */
static NTSTATUS secured_open_own(void)
{
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"\\Device\\Closed");
    PDEVICE_OBJECT device;
    PFILE_OBJECT file;
    HANDLE handle;

    devices[n_devices - 1]->Flags &= ~(ULONG)DO_DEVICE_INITIALIZING;
    REQUIRE(!IoGetDeviceObjectPointer(&name, FILE_ALL_ACCESS, &file, &device));
    REQUIRE(ObOpenObjectByPointer(file, OBJ_KERNEL_HANDLE, NULL, 0, NULL, KernelMode, &handle) == STATUS_NOT_SUPPORTED);
    ObDereferenceObject(file);
    return STATUS_SUCCESS;
}

DRIVER_INITIALIZE DriverEntry;
NTSTATUS DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    UNREFERENCED_PARAMETER(path);
    driver->DriverUnload = secured_unload;
    for (int i = 0; i <= IRP_MJ_MAXIMUM_FUNCTION; i++)
        driver->MajorFunction[i] = secured_request;
    if (secured_check(driver) || secured_open_own() ||
        secured_create(driver, L"\\Device\\All", L"D:P(A;;GA;;;SY)(A;;GA;;;BA)", 0) ||
        secured_create(driver, L"\\Device\\KernelOnly", L"D:P", 0) ||
        secured_create(driver, L"\\Device\\KernelOnlySecure", L"D:P", FILE_DEVICE_SECURE_OPEN) ||
        secured_create(driver, L"\\Device\\ReadOnly", L"D:P(A;;GR;;;WD)", 0)) {
        secured_unload(driver);
        return STATUS_UNSUCCESSFUL;
    }
    return STATUS_SUCCESS;
}
