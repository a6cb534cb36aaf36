/* SPDX-License-Identifier: MIT */
/*
 * Implements the Zw routines for keys and values, which use handles: see wdm/zw.h. If a key is deleted, all routines
 * except ZwClose fail. The routines that drivers have registered (callback.h) are notified before and after each
 * operation.
 */
#include <pthread.h>

#include "wdm.h"

#include "wdk/cm/callback.h"
#include "wdk/cm/information.h"
#include "wdk/cm/key_object.h"
#include "wdk/cm/registry.h"
#include "wdk/common/check.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/handle.h"
#include "wdk/ob/object.h"

NTSTATUS ZwClose(HANDLE Handle)
{
    irql_check_max("ZwClose", PASSIVE_LEVEL);
    if (handle_close(Handle))
        return STATUS_SUCCESS;
    if (check_on())
        check_failed(CHECK_HANDLE_INVALID, "ZwClose", (uintptr_t)Handle, 0, 0, 0, "handle %p is not open", Handle);
    return STATUS_INVALID_HANDLE;
}

__typeof__(ZwClose) NtClose __attribute__((alias("ZwClose")));

/* ---- Opening ---------------------------------------------------------------------------------------------------- */

/* A key that is to be opened or created. */
struct key_request {
    const char *routine;
    POBJECT_ATTRIBUTES attributes;
    struct key_object *from;   /* see key_request_find_root */
    struct key_object *result; /* the request has a reference to the object */
    UNICODE_STRING remaining;  /* the name without \Registry\ */
    REG_CREATE_KEY_INFORMATION_V1 info;
    ULONG disposition;
    bool create;
};

/* Returns the object of \Registry with a reference. The object is never closed. Returns NULL if out of memory. */
static struct key_object *key_root_object(void)
{
    static const UNICODE_STRING name = RTL_CONSTANT_STRING(L"\\Registry");
    static pthread_mutex_t root_lock = PTHREAD_MUTEX_INITIALIZER;
    static struct key_object *root;
    struct registry_key *key;
    NTSTATUS status;

    pthread_mutex_lock(&root_lock);
    if (!root) {
        key = registry_open(NULL, &name, REGISTRY_MAKE_NONE, NULL, &status);
        root = key ? key_object_new(key) : NULL;
    }
    if (root)
        ob_ref(root);
    pthread_mutex_unlock(&root_lock);
    return root;
}

/*
 * Sets r->from to the object of RootDirectory. If the name is absolute (RootDirectory is NULL) and a routine is
 * registered, sets r->from to the object of \Registry, which only the notifications need. If the name is absolute and
 * no routine is registered, leaves r->from NULL.
 */
static NTSTATUS key_request_find_root(struct key_request *r)
{
    NTSTATUS status = STATUS_SUCCESS;

    if (r->attributes->RootDirectory) {
        r->from = key_object_of_handle(r->routine, r->attributes->RootDirectory, &status);
        return status;
    }
    if (!registry_has_callbacks())
        return STATUS_SUCCESS;
    r->from = key_root_object();
    return r->from ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
}

static UNICODE_STRING key_remaining_name(const UNICODE_STRING *name)
{
    static const UNICODE_STRING prefix = RTL_CONSTANT_STRING(L"\\Registry\\");
    UNICODE_STRING rest = *name;

    if (RtlPrefixUnicodeString(&prefix, name, TRUE)) {
        rest.Buffer += prefix.Length / sizeof(WCHAR);
        rest.Length -= prefix.Length;
        rest.MaximumLength = rest.Length;
    }
    return rest;
}

/* Opens or creates the key, and sets r->result. */
static NTSTATUS key_request_carry_out(struct key_request *r)
{
    struct registry_key *from = r->attributes->RootDirectory ? r->from->key : NULL, *key;
    NTSTATUS status;
    bool made;

    key = registry_open(from, r->attributes->ObjectName, r->create ? REGISTRY_MAKE_LAST : REGISTRY_MAKE_NONE, &made,
                        &status);
    if (!key)
        return status;
    r->disposition = made ? REG_CREATED_NEW_KEY : REG_OPENED_EXISTING_KEY;
    r->info.GrantedAccess = r->info.DesiredAccess;
    r->result = key_object_new(key);
    return r->result ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
}

/*
 * Sets r->result to the object that a registered routine has returned. Takes over the driver's reference on the object.
 * If the driver has none, acquires a reference. Returns STATUS_INVALID_PARAMETER if the object is not a key object.
 */
static NTSTATUS key_request_accept_result(struct key_request *r, void *object)
{
    if (!object || ob_type(object) != *CmKeyObjectType)
        return STATUS_INVALID_PARAMETER;
    if (!ob_reclaim_from_driver(object))
        ob_ref(object);
    r->result = object;
    return STATUS_SUCCESS;
}

static NTSTATUS key_request_notify(struct key_request *r)
{
    void *object = NULL;
    struct registry_call call = { .pre = r->create ? RegNtPreCreateKeyEx : RegNtPreOpenKeyEx,
                                  .post = r->create ? RegNtPostCreateKeyEx : RegNtPostOpenKeyEx,
                                  .info = &r->info,
                                  .call_context = &r->info.CallContext,
                                  .object_context = &r->info.RootObjectContext,
                                  .object = r->from };
    NTSTATUS status;

    r->info.RootObject = r->from;
    r->info.ResultObject = &object;
    if (registry_call_begin(&call, &status))
        status = key_request_carry_out(r);
    else if (NT_SUCCESS(status))
        status = key_request_accept_result(r, object);
    object = r->result;
    call.result = r->result;
    status = registry_call_end(&call, status);
    if (NT_SUCCESS(status) && !r->result)
        status = key_request_accept_result(r, object);
    return status;
}

static NTSTATUS key_request_open(struct key_request *r, PHANDLE handle)
{
    UNICODE_STRING *name = r->attributes->ObjectName;
    NTSTATUS status;

    irql_check_max(r->routine, PASSIVE_LEVEL);
    *handle = NULL;
    if (!name)
        return STATUS_OBJECT_NAME_INVALID;
    status = key_request_find_root(r);
    if (status)
        return status;
    r->remaining = r->attributes->RootDirectory ? *name : key_remaining_name(name);
    r->info.CompleteName = name;
    r->info.RemainingName = &r->remaining;
    r->info.ObjectType = *CmKeyObjectType;
    r->info.SecurityDescriptor = r->attributes->SecurityDescriptor;
    r->info.SecurityQualityOfService = r->attributes->SecurityQualityOfService;
    r->info.Disposition = &r->disposition;
    r->info.Version = 1;
    r->info.Attributes = r->attributes->Attributes;
    status = key_request_notify(r);
    if (NT_SUCCESS(status))
        status = handle_open(r->result, handle);
    if (r->result && !NT_SUCCESS(status))
        ob_unref(r->result);
    if (r->from)
        ob_unref(r->from);
    return status;
}

NTSTATUS ZwOpenKey(PHANDLE KeyHandle, ACCESS_MASK DesiredAccess, POBJECT_ATTRIBUTES ObjectAttributes)
{
    struct key_request r = { .routine = "ZwOpenKey",
                             .attributes = ObjectAttributes,
                             .info = { .DesiredAccess = DesiredAccess } };

    return key_request_open(&r, KeyHandle);
}

NTSTATUS ZwCreateKey(PHANDLE KeyHandle, ACCESS_MASK DesiredAccess, POBJECT_ATTRIBUTES ObjectAttributes,
                     ULONG TitleIndex, PUNICODE_STRING Class, ULONG CreateOptions, PULONG Disposition)
{
    struct key_request r = { .routine = "ZwCreateKey",
                             .attributes = ObjectAttributes,
                             .info = { .DesiredAccess = DesiredAccess, .Options = CreateOptions, .Class = Class },
                             .create = true };
    NTSTATUS status = key_request_open(&r, KeyHandle);

    UNREFERENCED_PARAMETER(TitleIndex);
    if (!status && Disposition)
        *Disposition = r.disposition;
    return status;
}

NTSTATUS IoOpenDriverRegistryKey(PDRIVER_OBJECT DriverObject, DRIVER_REGKEY_TYPE RegKeyType, ACCESS_MASK DesiredAccess,
                                 ULONG Flags, PHANDLE DriverRegKey)
{
    WCHAR buffer[300];
    UNICODE_STRING path = { 0, sizeof buffer, buffer };
    OBJECT_ATTRIBUTES attributes;

    if (Flags)
        return STATUS_INVALID_PARAMETER;
    (void)RtlAppendUnicodeToString(&path, L"\\Registry\\Machine\\System\\CurrentControlSet\\Services\\");
    (void)RtlAppendUnicodeStringToString(&path, &DriverObject->DriverExtension->ServiceKeyName);
    (void)RtlAppendUnicodeToString(&path,
                                   RegKeyType == DriverRegKeyParameters ? L"\\Parameters" : L"\\PersistentState");
    InitializeObjectAttributes(&attributes, &path, OBJ_KERNEL_HANDLE, NULL, NULL);
    return ZwCreateKey(DriverRegKey, DesiredAccess, &attributes, 0, NULL, 0, NULL);
}

/* ---- Keys ------------------------------------------------------------------------------------------------------- */

/*
 * If the key is not deleted, acquires the registry's lock and returns true; the caller must release the lock. If the
 * key is deleted, sets *status and returns false.
 */
static bool registry_lock_key(const struct registry_key *key, NTSTATUS *status)
{
    registry_lock();
    if (!key->deleted)
        return true;
    registry_unlock();
    *status = STATUS_KEY_DELETED;
    return false;
}

NTSTATUS ZwDeleteKey(HANDLE KeyHandle)
{
    NTSTATUS status;
    struct key_object *o = key_object_of_handle("ZwDeleteKey", KeyHandle, &status);
    REG_DELETE_KEY_INFORMATION info = { .Object = o };
    struct registry_call call = REGISTRY_CALL(DeleteKey, o, info);

    if (!o)
        return status;
    if (registry_call_begin(&call, &status) && registry_lock_key(o->key, &status)) {
        status = registry_remove(o->key);
        registry_unlock();
    }
    status = registry_call_end(&call, status);
    ob_unref(o);
    return status;
}

NTSTATUS ZwFlushKey(HANDLE KeyHandle)
{
    NTSTATUS status;
    struct key_object *o = key_object_of_handle("ZwFlushKey", KeyHandle, &status);
    REG_FLUSH_KEY_INFORMATION info = { .Object = o };
    struct registry_call call = REGISTRY_CALL(FlushKey, o, info);

    if (!o)
        return status;
    if (registry_call_begin(&call, &status) && registry_lock_key(o->key, &status))
        registry_unlock();
    status = registry_call_end(&call, status);
    ob_unref(o);
    return status;
}

NTSTATUS ZwQueryKey(HANDLE KeyHandle, KEY_INFORMATION_CLASS KeyInformationClass, PVOID KeyInformation, ULONG Length,
                    PULONG ResultLength)
{
    NTSTATUS status;
    struct key_object *o = key_object_of_handle("ZwQueryKey", KeyHandle, &status);
    REG_QUERY_KEY_INFORMATION info = { .Object = o,
                                       .KeyInformationClass = KeyInformationClass,
                                       .KeyInformation = KeyInformation,
                                       .Length = Length,
                                       .ResultLength = ResultLength };
    struct registry_call call = REGISTRY_CALL(QueryKey, o, info);

    if (!o)
        return status;
    if (registry_call_begin(&call, &status) && registry_lock_key(o->key, &status)) {
        status = registry_info_key(o->key, KeyInformationClass, KeyInformation, Length, ResultLength);
        registry_unlock();
    }
    status = registry_call_end(&call, status);
    ob_unref(o);
    return status;
}

NTSTATUS ZwEnumerateKey(HANDLE KeyHandle, ULONG Index, KEY_INFORMATION_CLASS KeyInformationClass, PVOID KeyInformation,
                        ULONG Length, PULONG ResultLength)
{
    NTSTATUS status;
    struct key_object *o = key_object_of_handle("ZwEnumerateKey", KeyHandle, &status);
    REG_ENUMERATE_KEY_INFORMATION info = { .Object = o,
                                           .Index = Index,
                                           .KeyInformationClass = KeyInformationClass,
                                           .KeyInformation = KeyInformation,
                                           .Length = Length,
                                           .ResultLength = ResultLength };
    struct registry_call call = REGISTRY_CALL(EnumerateKey, o, info);

    if (!o)
        return status;
    if (registry_call_begin(&call, &status) && registry_lock_key(o->key, &status)) {
        struct registry_key *child = o->key->children;

        for (; child && Index; child = child->next)
            Index--;
        status = child ? registry_info_key(child, KeyInformationClass, KeyInformation, Length, ResultLength)
                       : STATUS_NO_MORE_ENTRIES;
        registry_unlock();
    }
    status = registry_call_end(&call, status);
    ob_unref(o);
    return status;
}

/* ---- Values ----------------------------------------------------------------------------------------------------- */

NTSTATUS ZwQueryValueKey(HANDLE KeyHandle, PUNICODE_STRING ValueName,
                         KEY_VALUE_INFORMATION_CLASS KeyValueInformationClass, PVOID KeyValueInformation, ULONG Length,
                         PULONG ResultLength)
{
    NTSTATUS status;
    struct key_object *o = key_object_of_handle("ZwQueryValueKey", KeyHandle, &status);
    REG_QUERY_VALUE_KEY_INFORMATION info = { .Object = o,
                                             .ValueName = ValueName,
                                             .KeyValueInformationClass = KeyValueInformationClass,
                                             .KeyValueInformation = KeyValueInformation,
                                             .Length = Length,
                                             .ResultLength = ResultLength };
    struct registry_call call = REGISTRY_CALL(QueryValueKey, o, info);

    if (!o)
        return status;
    if (registry_call_begin(&call, &status) && registry_lock_key(o->key, &status)) {
        struct registry_value *v = registry_find(o->key, ValueName);

        status = v ? registry_info_value(v, KeyValueInformationClass, KeyValueInformation, Length, ResultLength)
                   : STATUS_OBJECT_NAME_NOT_FOUND;
        registry_unlock();
    }
    status = registry_call_end(&call, status);
    ob_unref(o);
    return status;
}

NTSTATUS ZwEnumerateValueKey(HANDLE KeyHandle, ULONG Index, KEY_VALUE_INFORMATION_CLASS KeyValueInformationClass,
                             PVOID KeyValueInformation, ULONG Length, PULONG ResultLength)
{
    NTSTATUS status;
    struct key_object *o = key_object_of_handle("ZwEnumerateValueKey", KeyHandle, &status);
    REG_ENUMERATE_VALUE_KEY_INFORMATION info = { .Object = o,
                                                 .Index = Index,
                                                 .KeyValueInformationClass = KeyValueInformationClass,
                                                 .KeyValueInformation = KeyValueInformation,
                                                 .Length = Length,
                                                 .ResultLength = ResultLength };
    struct registry_call call = REGISTRY_CALL(EnumerateValueKey, o, info);

    if (!o)
        return status;
    if (registry_call_begin(&call, &status) && registry_lock_key(o->key, &status)) {
        struct registry_value *v = o->key->values;

        for (; v && Index; v = v->next)
            Index--;
        status = v ? registry_info_value(v, KeyValueInformationClass, KeyValueInformation, Length, ResultLength)
                   : STATUS_NO_MORE_ENTRIES;
        registry_unlock();
    }
    status = registry_call_end(&call, status);
    ob_unref(o);
    return status;
}

NTSTATUS ZwSetValueKey(HANDLE KeyHandle, PUNICODE_STRING ValueName, ULONG TitleIndex, ULONG Type, PVOID Data,
                       ULONG DataSize)
{
    NTSTATUS status;
    struct key_object *o = key_object_of_handle("ZwSetValueKey", KeyHandle, &status);
    REG_SET_VALUE_KEY_INFORMATION info = {
        .Object = o, .ValueName = ValueName, .TitleIndex = TitleIndex, .Type = Type, .Data = Data, .DataSize = DataSize
    };
    struct registry_call call = REGISTRY_CALL(SetValueKey, o, info);

    if (!o)
        return status;
    if (registry_call_begin(&call, &status) && registry_lock_key(o->key, &status)) {
        status = registry_set(o->key, ValueName, Type, Data, DataSize);
        registry_unlock();
    }
    status = registry_call_end(&call, status);
    ob_unref(o);
    return status;
}

NTSTATUS ZwDeleteValueKey(HANDLE KeyHandle, PUNICODE_STRING ValueName)
{
    NTSTATUS status;
    struct key_object *o = key_object_of_handle("ZwDeleteValueKey", KeyHandle, &status);
    REG_DELETE_VALUE_KEY_INFORMATION info = { .Object = o, .ValueName = ValueName };
    struct registry_call call = REGISTRY_CALL(DeleteValueKey, o, info);

    if (!o)
        return status;
    if (registry_call_begin(&call, &status) && registry_lock_key(o->key, &status)) {
        status = registry_remove_value(o->key, ValueName);
        registry_unlock();
    }
    status = registry_call_end(&call, status);
    ob_unref(o);
    return status;
}
