/* SPDX-License-Identifier: MIT */
/*
 * Implements device interfaces: see wdm/interface.h. A registered instance stays in the list until the process ends.
 * The invariant: an enabled instance has a device that is not deleted, and its link exists.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "wdk/cm/registry.h"
#include "wdk/common/live.h"
#include "wdk/common/text.h"
#include "wdk/io/device.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/name.h"

struct interface {
    struct interface *next;
    GUID class;
    UNICODE_STRING name; /* \??\ROOT#SERVICE#NUMBER#{GUID}, or \??\ROOT#SERVICE#NUMBER#{GUID}\REFERENCE */
    USHORT instance;     /* size in bytes of \??\ROOT#SERVICE#NUMBER, which identifies the device */
    USHORT link;         /* size in bytes of the name without \REFERENCE */
    unsigned number;
    PDEVICE_OBJECT device; /* NULL: deleted */
    bool enabled;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list, and `device` and `enabled` of each entry */
static struct interface *interfaces, **interfaces_end = &interfaces;

/* ---- Names ------------------------------------------------------------------------------------------------------- */

#define FORMAT_GUID "{%08x-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x}"
enum { GUID_UNITS = 38 };

static void interface_print_class(char text[GUID_UNITS + 1], const GUID *class)
{
    const uint8_t *d = class->Data4;

    (void)snprintf(text, GUID_UNITS + 1, FORMAT_GUID, class->Data1, class->Data2, class->Data3, d[0], d[1], d[2], d[3],
                   d[4], d[5], d[6], d[7]);
}

static void interface_append_text(UNICODE_STRING *name, const char *text)
{
    for (; *text; text++) {
        name->Buffer[name->Length / sizeof(WCHAR)] = (WCHAR)*text;
        name->Length += sizeof(WCHAR);
    }
}

static void interface_append(UNICODE_STRING *name, PCUNICODE_STRING more, bool upcase)
{
    for (size_t i = 0; i < more->Length / sizeof(WCHAR); i++) {
        name->Buffer[name->Length / sizeof(WCHAR)] = upcase ? text_upcase(more->Buffer[i]) : more->Buffer[i];
        name->Length += sizeof(WCHAR);
    }
}

static void interface_free(struct interface *i)
{
    free(i->name.Buffer);
    free(i);
}

/* Returns an instance that is not registered, or NULL if out of memory. `reference` may be NULL. */
static struct interface *interface_new(PCUNICODE_STRING service, unsigned number, const GUID *class,
                                       PCUNICODE_STRING reference)
{
    struct interface *i = calloc(1, sizeof *i);
    char text[GUID_UNITS + 1];
    size_t size = sizeof(WCHAR) * 64 + service->Length + (reference ? reference->Length : 0);

    if (!i)
        return NULL;
    i->class = *class;
    i->number = number;
    i->name.Buffer = size <= UNICODE_STRING_MAX_BYTES ? malloc(size) : NULL;
    if (!i->name.Buffer) {
        free(i);
        return NULL;
    }
    i->name.MaximumLength = (USHORT)size;
    interface_append_text(&i->name, "\\??\\ROOT#");
    interface_append(&i->name, service, true);
    (void)snprintf(text, sizeof text, "#%04u", number);
    interface_append_text(&i->name, text);
    i->instance = i->name.Length;
    interface_append_text(&i->name, "#");
    interface_print_class(text, class);
    interface_append_text(&i->name, text);
    i->link = i->name.Length;
    if (reference && reference->Length) {
        interface_append_text(&i->name, "\\");
        interface_append(&i->name, reference, false);
    }
    return i;
}

/* Returns true if two names are equal without regard to case. */
static bool interface_names_are_equal(PCUNICODE_STRING a, PCUNICODE_STRING b)
{
    size_t i = 0;

    if (a->Length != b->Length)
        return false;
    while (i < a->Length / sizeof(WCHAR) && text_upcase(a->Buffer[i]) == text_upcase(b->Buffer[i]))
        i++;
    return i == a->Length / sizeof(WCHAR);
}

/* Returns the first `size` bytes of the instance's name, without a copy. */
static UNICODE_STRING interface_prefix(const struct interface *i, USHORT size)
{
    return (UNICODE_STRING){ size, size, i->name.Buffer };
}

static bool interface_has_instance_of(const struct interface *a, const struct interface *b)
{
    UNICODE_STRING of_a = interface_prefix(a, a->instance), of_b = interface_prefix(b, b->instance);

    return interface_names_are_equal(&of_a, &of_b);
}

/* Returns the instance of this name, or NULL. Requires the lock. */
static struct interface *interface_find(PCUNICODE_STRING name)
{
    struct interface *i;

    for (i = interfaces; i && !interface_names_are_equal(&i->name, name); i = i->next)
        ;
    return i;
}

/* Sets *out to a copy, which the driver frees with RtlFreeUnicodeString. Names never change, so no lock is required. */
static NTSTATUS interface_copy_name(const struct interface *i, PUNICODE_STRING out)
{
    return RtlDuplicateUnicodeString(RTL_DUPLICATE_UNICODE_STRING_NULL_TERMINATE, &i->name, out);
}

/* ---- Registering ------------------------------------------------------------------------------------------------- */

/* Returns true if another device has the instance's number. Requires the lock. */
static bool interface_is_taken(const struct interface *made, PDEVICE_OBJECT device)
{
    const struct interface *i;

    for (i = interfaces; i; i = i->next)
        if (i->device && i->device != device && interface_has_instance_of(i, made))
            return true;
    return false;
}

/* Returns a new instance with the device's number, or with the lowest free one. Requires the lock. */
static struct interface *interface_make(PDEVICE_OBJECT device, const GUID *class, PCUNICODE_STRING reference)
{
    const UNICODE_STRING *service = &device->DriverObject->DriverExtension->ServiceKeyName;
    struct interface *known = interfaces, *made;
    unsigned number;

    while (known && known->device != device)
        known = known->next;
    number = known ? known->number : 0;
    made = interface_new(service, number, class, reference);
    while (made && interface_is_taken(made, device)) {
        interface_free(made);
        made = interface_new(service, ++number, class, reference);
    }
    return made;
}

/*
 * Assigns the device to all instances with its number. An earlier, deleted device may have registered these instances.
 */
static void interface_adopt(const struct interface *made, PDEVICE_OBJECT device)
{
    for (struct interface *i = interfaces; i; i = i->next)
        if (interface_has_instance_of(i, made))
            i->device = device;
}

static NTSTATUS interface_register(PDEVICE_OBJECT device, const GUID *class, PCUNICODE_STRING reference,
                                   struct interface **out)
{
    struct interface *made = interface_make(device, class, reference);

    if (!made)
        return STATUS_INSUFFICIENT_RESOURCES;
    interface_adopt(made, device);
    *out = interface_find(&made->name);
    if (*out) {
        interface_free(made);
        return STATUS_OBJECT_NAME_EXISTS;
    }
    made->device = device;
    *interfaces_end = *out = made;
    interfaces_end = &made->next;
    return STATUS_SUCCESS;
}

static bool interface_reference_is_valid(PCUNICODE_STRING reference)
{
    for (size_t i = 0; reference && i < reference->Length / sizeof(WCHAR); i++)
        if (reference->Buffer[i] == '/' || reference->Buffer[i] == '\\')
            return false;
    return true;
}

NTSTATUS IoRegisterDeviceInterface(PDEVICE_OBJECT PhysicalDeviceObject, const GUID *InterfaceClassGuid,
                                   PUNICODE_STRING ReferenceString, PUNICODE_STRING SymbolicLinkName)
{
    struct interface *i = NULL;
    NTSTATUS status, copied;

    irql_check_max("IoRegisterDeviceInterface", PASSIVE_LEVEL);
    *SymbolicLinkName = (UNICODE_STRING){ 0, 0, NULL };
    if (!live_has(LIVE_DEVICE, PhysicalDeviceObject) || !interface_reference_is_valid(ReferenceString))
        return STATUS_INVALID_DEVICE_REQUEST;
    pthread_mutex_lock(&lock);
    status = interface_register(PhysicalDeviceObject, InterfaceClassGuid, ReferenceString, &i);
    pthread_mutex_unlock(&lock);
    if (!NT_SUCCESS(status))
        return status;
    copied = interface_copy_name(i, SymbolicLinkName);
    return NT_SUCCESS(copied) ? status : copied;
}

/* ---- Enabling and disabling -------------------------------------------------------------------------------------- */

/* Returns true if another enabled instance uses the same link. Requires the lock. */
static bool interface_link_is_shared(const struct interface *of)
{
    UNICODE_STRING link = interface_prefix(of, of->link), other;

    for (const struct interface *i = interfaces; i; i = i->next) {
        other = interface_prefix(i, i->link);
        if (i != of && i->enabled && interface_names_are_equal(&link, &other))
            return true;
    }
    return false;
}

static NTSTATUS interface_enable(struct interface *i)
{
    UNICODE_STRING link = interface_prefix(i, i->link);
    NTSTATUS status = STATUS_SUCCESS;

    if (i->enabled)
        return STATUS_OBJECT_NAME_EXISTS;
    if (!i->device)
        return STATUS_INVALID_DEVICE_REQUEST;
    if (!interface_link_is_shared(i))
        status = name_add_alias(&link, i->device);
    i->enabled = NT_SUCCESS(status);
    return status;
}

static NTSTATUS interface_disable(struct interface *i)
{
    UNICODE_STRING link = interface_prefix(i, i->link);

    if (!i->enabled)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    i->enabled = false;
    if (!interface_link_is_shared(i))
        (void)name_remove_link(&link);
    return STATUS_SUCCESS;
}

NTSTATUS IoSetDeviceInterfaceState(PUNICODE_STRING SymbolicLinkName, BOOLEAN Enable)
{
    NTSTATUS status = STATUS_OBJECT_NAME_NOT_FOUND;
    struct interface *i;

    irql_check_max("IoSetDeviceInterfaceState", PASSIVE_LEVEL);
    pthread_mutex_lock(&lock);
    i = interface_find(SymbolicLinkName);
    if (i)
        status = Enable ? interface_enable(i) : interface_disable(i);
    pthread_mutex_unlock(&lock);
    return status;
}

void interface_device_deleted(PDEVICE_OBJECT device)
{
    pthread_mutex_lock(&lock);
    for (struct interface *i = interfaces; i; i = i->next) {
        if (i->device != device)
            continue;
        (void)interface_disable(i);
        i->device = NULL;
    }
    pthread_mutex_unlock(&lock);
}

/* ---- Finding ----------------------------------------------------------------------------------------------------- */

static bool interface_matches(const struct interface *i, const GUID *class, PDEVICE_OBJECT device, ULONG flags)
{
    return !memcmp(&i->class, class, sizeof *class) && (!device || i->device == device) &&
           (i->enabled || flags & DEVICE_INTERFACE_INCLUDE_NONACTIVE);
}

/*
 * Writes the names of the matching instances to `out`, each with a terminating zero, and then an empty string. If `out`
 * is NULL, only counts. Returns the number of WCHARs. Requires the lock.
 */
static size_t interface_list(const GUID *class, PDEVICE_OBJECT device, ULONG flags, WCHAR *out)
{
    size_t units = 0;

    for (const struct interface *i = interfaces; i; i = i->next) {
        if (!interface_matches(i, class, device, flags))
            continue;
        if (out) {
            memcpy(out + units, i->name.Buffer, i->name.Length);
            out[units + i->name.Length / sizeof(WCHAR)] = 0;
        }
        units += i->name.Length / sizeof(WCHAR) + 1;
    }
    if (out)
        out[units] = 0;
    return units + 1;
}

NTSTATUS IoGetDeviceInterfaces(const GUID *InterfaceClassGuid, PDEVICE_OBJECT PhysicalDeviceObject, ULONG Flags,
                               PZZWSTR *SymbolicLinkList)
{
    size_t size;

    irql_check_max("IoGetDeviceInterfaces", PASSIVE_LEVEL);
    *SymbolicLinkList = NULL;
    if (PhysicalDeviceObject && !live_has(LIVE_DEVICE, PhysicalDeviceObject))
        return STATUS_INVALID_DEVICE_REQUEST;
    pthread_mutex_lock(&lock);
    size = interface_list(InterfaceClassGuid, PhysicalDeviceObject, Flags, NULL) * sizeof(WCHAR);
    *SymbolicLinkList = ExAllocatePoolWithTag(PagedPool, size, 'fIoI');
    if (*SymbolicLinkList)
        (void)interface_list(InterfaceClassGuid, PhysicalDeviceObject, Flags, *SymbolicLinkList);
    pthread_mutex_unlock(&lock);
    return *SymbolicLinkList ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
}

/*
 * Returns the instance of the class `class` that has the same device and the same reference string as `of`, or NULL.
 * Requires the lock.
 */
static struct interface *interface_find_alias(const struct interface *of, const GUID *class)
{
    UNICODE_STRING reference, other;
    struct interface *i;

    reference = (UNICODE_STRING){ .Buffer = of->name.Buffer + of->link / sizeof(WCHAR) };
    reference.Length = reference.MaximumLength = of->name.Length - of->link;
    for (i = interfaces; i; i = i->next) {
        other = (UNICODE_STRING){ .Buffer = i->name.Buffer + i->link / sizeof(WCHAR) };
        other.Length = other.MaximumLength = i->name.Length - i->link;
        if (!memcmp(&i->class, class, sizeof *class) && interface_has_instance_of(i, of) &&
            interface_names_are_equal(&reference, &other))
            break;
    }
    return i;
}

NTSTATUS IoGetDeviceInterfaceAlias(PUNICODE_STRING SymbolicLinkName, const GUID *AliasInterfaceClassGuid,
                                   PUNICODE_STRING AliasSymbolicLinkName)
{
    struct interface *i, *alias = NULL;

    irql_check_max("IoGetDeviceInterfaceAlias", PASSIVE_LEVEL);
    *AliasSymbolicLinkName = (UNICODE_STRING){ 0, 0, NULL };
    pthread_mutex_lock(&lock);
    i = interface_find(SymbolicLinkName);
    if (i)
        alias = interface_find_alias(i, AliasInterfaceClassGuid);
    pthread_mutex_unlock(&lock);
    if (!alias)
        return i ? STATUS_OBJECT_NAME_NOT_FOUND : STATUS_INVALID_HANDLE;
    return interface_copy_name(alias, AliasSymbolicLinkName);
}

bool interface_find_enabled(const GUID *class, UNICODE_STRING *link)
{
    struct interface *i;

    pthread_mutex_lock(&lock);
    for (i = interfaces; i && !interface_matches(i, class, NULL, 0); i = i->next)
        ;
    pthread_mutex_unlock(&lock);
    if (!i)
        return false;
    *link = i->name;
    link->Buffer = malloc(i->name.Length);
    if (link->Buffer)
        memcpy(link->Buffer, i->name.Buffer, i->name.Length);
    return link->Buffer != NULL;
}

/* ---- Registry ---------------------------------------------------------------------------------------------------- */

/*
 * Sets the path of the instance's key, which is
 * ...\DeviceClasses\{GUID}\##?#ROOT#SERVICE#NUMBER#{GUID}\#REFERENCE\Device Parameters. Returns false if the path is
 * too long.
 */
static bool interface_make_path(const struct interface *i, UNICODE_STRING *path)
{
    static const char *const classes = "\\Registry\\Machine\\System\\CurrentControlSet\\Control\\DeviceClasses\\";
    UNICODE_STRING rest = { .Buffer = i->name.Buffer + 4, .Length = i->link - 4 * sizeof(WCHAR) };
    char class[GUID_UNITS + 1];

    if (i->name.Length > path->MaximumLength - (strlen(classes) + GUID_UNITS + 32) * sizeof(WCHAR))
        return false;
    interface_print_class(class, &i->class);
    interface_append_text(path, classes);
    interface_append_text(path, class);
    interface_append_text(path, "\\##?#");
    interface_append(path, &rest, false);
    interface_append_text(path, "\\#");
    if (i->name.Length > i->link) {
        rest = (UNICODE_STRING){ .Buffer = i->name.Buffer + i->link / sizeof(WCHAR) + 1 };
        rest.Length = (USHORT)(i->name.Length - i->link - sizeof(WCHAR));
        interface_append(path, &rest, false);
    }
    interface_append_text(path, "\\Device Parameters");
    return true;
}

NTSTATUS IoOpenDeviceInterfaceRegistryKey(PUNICODE_STRING SymbolicLinkName, ACCESS_MASK DesiredAccess,
                                          PHANDLE DeviceInterfaceRegKey)
{
    WCHAR buffer[1024];
    UNICODE_STRING path = { 0, sizeof buffer, buffer };
    struct registry_key *key;
    NTSTATUS status;
    struct interface *i;

    UNREFERENCED_PARAMETER(DesiredAccess);
    irql_check_max("IoOpenDeviceInterfaceRegistryKey", PASSIVE_LEVEL);
    *DeviceInterfaceRegKey = NULL;
    pthread_mutex_lock(&lock);
    i = interface_find(SymbolicLinkName);
    pthread_mutex_unlock(&lock);
    if (!i)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    if (!interface_make_path(i, &path))
        return STATUS_INVALID_PARAMETER;
    key = registry_open(NULL, &path, REGISTRY_MAKE_ALL, NULL, &status);
    return key ? registry_open_handle(key, DeviceInterfaceRegKey) : status;
}
