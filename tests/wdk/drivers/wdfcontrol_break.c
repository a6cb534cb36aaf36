/* SPDX-License-Identifier: MIT */
/* Breaks one rule of KMDF in each case, and checks purges, and the objects that are not about requests. */
#include <ntddk.h>
#include <wdf.h>

#include "wdfcontrol_driver.h"

#define TAG 'tseT'

static VOID canceled(WDFREQUEST Request)
{
    WdfRequestComplete(Request, STATUS_CANCELLED);
}

static VOID changed(WDFQUEUE Queue, WDFCONTEXT Context)
{
    UNREFERENCED_PARAMETER(Queue);
    UNREFERENCED_PARAMETER(Context);
}

/* ---- Rules ------------------------------------------------------------------------------------------------------- */

static VOID break_handle(ULONG Case)
{
    DECLARE_CONST_UNICODE_STRING(sddl, L"D:P");
    PWDFDEVICE_INIT init;
    WDFOBJECT object;

    switch (Case) {
    case WDFCONTROL_HANDLE_WRONG:
        (VOID)WdfIoQueueGetDevice((WDFQUEUE)control.device);
        break;
    case WDFCONTROL_HANDLE_DELETED:
        if (!NT_SUCCESS(WdfObjectCreate(WDF_NO_OBJECT_ATTRIBUTES, &object)))
            return;
        WdfObjectDelete(object);
        WdfObjectReference(object);
        break;
    default:
        init = WdfControlDeviceInitAllocate(control.driver, &sddl);
        WdfDeviceInitFree(init);
        WdfDeviceInitSetExclusive(init, TRUE);
    }
}

/* Returns whether the request is complete. */
static BOOLEAN break_request(WDFREQUEST Request, ULONG Case)
{
    WDFREQUEST other;
    WDFMEMORY memory;

    switch (Case) {
    case WDFCONTROL_COMPLETE_TWICE:
        WdfObjectReference(Request);
        WdfRequestComplete(Request, STATUS_SUCCESS);
        WdfRequestComplete(Request, STATUS_SUCCESS);
        WdfObjectDereference(Request);
        return TRUE;
    case WDFCONTROL_COMPLETE_QUEUED:
        if (NT_SUCCESS(WdfIoQueueFindRequest(control.queues[WDFCONTROL_QUEUE_MANUAL], NULL, NULL, NULL, &other))) {
            WdfRequestComplete(other, STATUS_SUCCESS);
            WdfObjectDereference(other);
        }
        return FALSE;
    case WDFCONTROL_COMPLETE_CANCELABLE:
        WdfRequestMarkCancelable(Request, canceled);
        return FALSE;
    case WDFCONTROL_FORWARD_CANCELABLE:
        WdfRequestMarkCancelable(Request, canceled);
        (VOID)WdfRequestForwardToIoQueue(Request, control.queues[WDFCONTROL_QUEUE_MANUAL]);
        (VOID)WdfRequestUnmarkCancelable(Request);
        return FALSE;
    case WDFCONTROL_TOO_MUCH:
        WdfRequestCompleteWithInformation(Request, STATUS_SUCCESS, 1000);
        return TRUE;
    case WDFCONTROL_MEMORY_HELD:
        if (!NT_SUCCESS(WdfRequestRetrieveInputMemory(Request, &memory)))
            return FALSE;
        WdfObjectReference(memory);
        WdfRequestComplete(Request, STATUS_SUCCESS);
        WdfObjectDereference(memory);
        return TRUE;
    case WDFCONTROL_STOP_ACKNOWLEDGE:
        WdfRequestStopAcknowledge(Request, FALSE);
        return FALSE;
    default:
        (VOID)WdfDeviceEnqueueRequest(control.device, Request);
        return FALSE;
    }
}

static VOID break_queue(ULONG Case)
{
    WDFQUEUE manual = control.queues[WDFCONTROL_QUEUE_MANUAL], own = control.queues[WDFCONTROL_QUEUE_DEFAULT];

    switch (Case) {
    case WDFCONTROL_WAIT_IN_HANDLER:
        WdfIoQueuePurgeSynchronously(control.queues[WDFCONTROL_QUEUE_TOLD]);
        break;
    case WDFCONTROL_DRAIN_STOPPED:
        WdfIoQueueStop(manual, NULL, NULL);
        WdfIoQueueDrain(manual, NULL, NULL);
        WdfIoQueueStart(manual);
        break;
    default: /* the request of this handler delays the callback */
        WdfIoQueueStop(own, changed, NULL);
        WdfIoQueueStopAndPurge(own, changed, NULL);
        WdfIoQueueStart(own);
    }
}

static VOID break_lock(WDFREQUEST Request, ULONG Case)
{
    switch (Case) {
    case WDFCONTROL_LOCK_WRONG:
        WdfObjectAcquireLock(Request);
        break;
    case WDFCONTROL_LOCK_TWICE:
        WdfObjectAcquireLock(control.device);
        WdfObjectAcquireLock(control.device);
        WdfObjectReleaseLock(control.device);
        break;
    default:
        WdfObjectReleaseLock(control.device);
    }
}

static VOID break_level(ULONG Case)
{
    KIRQL before;

    if (Case == WDFCONTROL_REGION_ENTERED) {
        KeEnterCriticalRegion();
        return;
    }
    KeRaiseIrql(DISPATCH_LEVEL, &before);
    if (Case == WDFCONTROL_IRQL_TOO_HIGH) {
        (VOID)WdfDriverGetRegistryPath(control.driver);
        KeLowerIrql(before);
    }
}

BOOLEAN break_in_caller_context(WDFREQUEST Request, ULONG IoControlCode)
{
    if (IoControlCode != WDFCONTROL_CODE(WDFCONTROL_BREAK, WDFCONTROL_NEITHER))
        return FALSE;
    InterlockedExchangePointer((PVOID *)&control.reading, Request); /* WDFCONTROL_RELEASE completes it */
    return TRUE;
}

VOID break_rule(WDFREQUEST Request, ULONG Case)
{
    switch (Case) {
    case WDFCONTROL_HANDLE_WRONG:
    case WDFCONTROL_HANDLE_DELETED:
    case WDFCONTROL_INIT_CONSUMED:
        break_handle(Case);
        break;
    case WDFCONTROL_PARAMETER_NULL:
        WdfRequestMarkCancelable(Request, NULL);
        break;
    case WDFCONTROL_DELETE_REQUEST:
        WdfObjectDelete(Request);
        break;
    case WDFCONTROL_DELETE_QUEUE:
        WdfObjectDelete(control.queues[WDFCONTROL_QUEUE_DEFAULT]);
        break;
    case WDFCONTROL_DEREFERENCE:
        WdfObjectDereference(control.device);
        break;
    case WDFCONTROL_WAIT_IN_HANDLER:
    case WDFCONTROL_DRAIN_STOPPED:
    case WDFCONTROL_CHANGE_TWICE:
        break_queue(Case);
        break;
    case WDFCONTROL_LOCK_WRONG:
    case WDFCONTROL_LOCK_TWICE:
    case WDFCONTROL_LOCK_FOREIGN:
        break_lock(Request, Case);
        break;
    case WDFCONTROL_IRQL_RAISED:
    case WDFCONTROL_REGION_ENTERED:
    case WDFCONTROL_IRQL_TOO_HIGH:
        break_level(Case);
        break;
    default:
        if (break_request(Request, Case))
            return;
    }
    WdfRequestComplete(Request, STATUS_SUCCESS);
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

#define CHECK(what)          \
    do {                     \
        if (!(what))         \
            return __LINE__; \
    } while (0)

struct notes {
    ULONG value;
};
typedef struct notes struct_notes;
WDF_DECLARE_CONTEXT_TYPE_WITH_NAME(struct_notes, notes_of)

static ULONG check_memory(VOID)
{
    CHAR own[16] = "0123456789abcde", copy[16];
    WDF_OBJECT_ATTRIBUTES attributes;
    WDFLOOKASIDE lookaside;
    WDFMEMORY memory;
    size_t size;
    CHAR *buffer;

    CHECK(WdfMemoryCreate(NULL, NonPagedPoolNx, TAG, 0, &memory, NULL) == STATUS_INVALID_PARAMETER);
    CHECK(NT_SUCCESS(WdfMemoryCreate(NULL, NonPagedPoolNx, TAG, 16, &memory, (PVOID *)&buffer)));
    CHECK(WdfMemoryGetBuffer(memory, &size) == buffer && size == 16);
    CHECK(NT_SUCCESS(WdfMemoryCopyFromBuffer(memory, 4, own, 12)));
    CHECK(WdfMemoryCopyFromBuffer(memory, 5, own, 12) == STATUS_BUFFER_TOO_SMALL);
    CHECK(WdfMemoryCopyFromBuffer(memory, 16, own, 1) == STATUS_INVALID_BUFFER_SIZE);
    CHECK(NT_SUCCESS(WdfMemoryCopyToBuffer(memory, 5, copy, 11)));
    CHECK(RtlEqualMemory(copy, "123456789ab", 11));
    CHECK(WdfMemoryAssignBuffer(memory, own, 16) == STATUS_INVALID_PARAMETER);
    WdfObjectDelete(memory);
    CHECK(NT_SUCCESS(WdfMemoryCreatePreallocated(NULL, own, 16, &memory)));
    CHECK(NT_SUCCESS(WdfMemoryAssignBuffer(memory, copy, 8)));
    CHECK(WdfMemoryGetBuffer(memory, &size) == copy && size == 8);
    WdfObjectDelete(memory);
    WDF_OBJECT_ATTRIBUTES_INIT_CONTEXT_TYPE(&attributes, struct_notes);
    CHECK(NT_SUCCESS(WdfLookasideListCreate(NULL, 24, NonPagedPoolNx, &attributes, TAG, &lookaside)));
    CHECK(NT_SUCCESS(WdfMemoryCreateFromLookaside(lookaside, &memory)));
    CHECK(WdfMemoryGetBuffer(memory, &size) && size == 24 && notes_of(memory)->value == 0);
    CHECK(WdfObjectContextGetObject(notes_of(memory)) == (WDFOBJECT)memory);
    WdfObjectDelete(lookaside); /* the memory keeps the list */
    WdfObjectDelete(memory);
    return 0;
}

static ULONG check_version(VOID)
{
    WDF_DRIVER_VERSION_AVAILABLE_PARAMS version;
    WDFSTRING string;
    UNICODE_STRING got;

    CHECK(WdfGetDriver() == control.driver && WdfDeviceGetDriver(control.device) == control.driver);
    WDF_DRIVER_VERSION_AVAILABLE_PARAMS_INIT(&version, 1, 9);
    CHECK(WdfDriverIsVersionAvailable(control.driver, &version));
    version.MinorVersion = 99;
    CHECK(!WdfDriverIsVersionAvailable(control.driver, &version));
    CHECK(NT_SUCCESS(WdfStringCreate(NULL, NULL, &string)));
    CHECK(NT_SUCCESS(WdfDriverRetrieveVersionString(control.driver, string)));
    WdfStringGetUnicodeString(string, &got);
    CHECK(got.Length);
    WdfObjectDelete(string);
    return 0;
}

static ULONG check_strings(WDFDEVICE Device)
{
    DECLARE_CONST_UNICODE_STRING(text, L"text");
    WDFCOLLECTION collection;
    WDFSTRING string, empty;
    UNICODE_STRING got;

    CHECK(NT_SUCCESS(WdfStringCreate(&text, NULL, &string)));
    WdfStringGetUnicodeString(string, &got);
    CHECK(RtlEqualUnicodeString(&got, &text, FALSE) && got.Buffer != text.Buffer);
    CHECK(NT_SUCCESS(WdfStringCreate(NULL, NULL, &empty)));
    CHECK(NT_SUCCESS(WdfDeviceRetrieveDeviceName(Device, empty)));
    WdfStringGetUnicodeString(empty, &got);
    CHECK(got.Length == 18 * sizeof(WCHAR));
    CHECK(NT_SUCCESS(WdfCollectionCreate(NULL, &collection)));
    CHECK(!WdfCollectionGetFirstItem(collection));
    CHECK(NT_SUCCESS(WdfCollectionAdd(collection, string)) && NT_SUCCESS(WdfCollectionAdd(collection, empty)));
    WdfObjectDelete(string); /* the collection keeps it */
    CHECK(WdfCollectionGetCount(collection) == 2 && WdfCollectionGetItem(collection, 1) == (WDFOBJECT)empty);
    CHECK(WdfCollectionGetFirstItem(collection) == (WDFOBJECT)string);
    WdfCollectionRemove(collection, string);
    CHECK(WdfCollectionGetLastItem(collection) == (WDFOBJECT)empty && !WdfCollectionGetItem(collection, 1));
    WdfCollectionRemoveItem(collection, 0);
    CHECK(WdfCollectionGetCount(collection) == 0);
    WdfObjectDelete(empty);
    WdfObjectDelete(collection);
    return 0;
}

static ULONG check_empty_values(WDFKEY Key)
{
    DECLARE_CONST_UNICODE_STRING(list, L"EmptyList");
    DECLARE_CONST_UNICODE_STRING(name, L"EmptyName");
    WDFCOLLECTION collection;
    WDFSTRING string;
    WDFMEMORY memory;
    USHORT bytes = 0;

    CHECK(NT_SUCCESS(WdfRegistryAssignValue(Key, &list, REG_MULTI_SZ, 0, NULL)));
    CHECK(NT_SUCCESS(WdfCollectionCreate(NULL, &collection)));
    CHECK(WdfRegistryQueryMultiString(Key, &list, NULL, collection) == STATUS_RESOURCE_DATA_NOT_FOUND);
    CHECK(WdfCollectionGetCount(collection) == 0);
    WdfObjectDelete(collection);
    CHECK(NT_SUCCESS(WdfRegistryAssignValue(Key, &name, REG_SZ, 0, NULL)));
    CHECK(NT_SUCCESS(WdfStringCreate(NULL, NULL, &string)));
    CHECK(WdfRegistryQueryString(Key, &name, string) == STATUS_RESOURCE_DATA_NOT_FOUND);
    CHECK(WdfRegistryQueryString(Key, &list, string) == STATUS_OBJECT_TYPE_MISMATCH);
    WdfObjectDelete(string);
    CHECK(WdfRegistryQueryMemory(Key, &name, PagedPool, NULL, &memory, NULL) == STATUS_RESOURCE_DATA_NOT_FOUND);
    CHECK(NT_SUCCESS(WdfRegistryQueryUnicodeString(Key, &name, &bytes, NULL)) && bytes == sizeof(WCHAR));
    return 0;
}

static ULONG check_registry(VOID)
{
    DECLARE_CONST_UNICODE_STRING(number, L"Number");
    DECLARE_CONST_UNICODE_STRING(list, L"List");
    DECLARE_CONST_UNICODE_STRING(name, L"Name");
    DECLARE_CONST_UNICODE_STRING(text, L"text");
    static WCHAR strings[] = L"one\0two\0";
    ULONG value = 0, type = 0, length = 0;
    WDFCOLLECTION collection;
    UNICODE_STRING got;
    WDFSTRING string;
    WDFMEMORY memory;
    USHORT bytes;
    WDFKEY key;

    CHECK(NT_SUCCESS(WdfDriverOpenParametersRegistryKey(control.driver, KEY_ALL_ACCESS, NULL, &key)));
    CHECK(WdfRegistryQueryULong(key, &number, &value) == STATUS_OBJECT_NAME_NOT_FOUND);
    CHECK(NT_SUCCESS(WdfRegistryAssignULong(key, &number, 4711)));
    CHECK(NT_SUCCESS(WdfRegistryQueryULong(key, &number, &value)) && value == 4711);
    CHECK(NT_SUCCESS(WdfRegistryAssignUnicodeString(key, &name, &text)));
    CHECK(WdfRegistryQueryULong(key, &name, &value) == STATUS_OBJECT_TYPE_MISMATCH);
    CHECK(NT_SUCCESS(WdfRegistryQueryUnicodeString(key, &name, &bytes, NULL)) && bytes == 10);
    CHECK(NT_SUCCESS(WdfStringCreate(NULL, NULL, &string)));
    CHECK(NT_SUCCESS(WdfRegistryQueryString(key, &name, string)));
    WdfStringGetUnicodeString(string, &got);
    CHECK(RtlEqualUnicodeString(&got, &text, FALSE));
    WdfObjectDelete(string);
    CHECK(NT_SUCCESS(WdfRegistryAssignValue(key, &list, REG_MULTI_SZ, sizeof strings, strings)));
    CHECK(NT_SUCCESS(WdfCollectionCreate(NULL, &collection)));
    CHECK(NT_SUCCESS(WdfRegistryQueryMultiString(key, &list, NULL, collection)));
    CHECK(WdfCollectionGetCount(collection) == 2);
    WdfStringGetUnicodeString(WdfCollectionGetLastItem(collection), &got);
    CHECK(got.Length == 6 && got.Buffer[0] == 't');
    WdfObjectDelete(WdfCollectionGetItem(collection, 0));
    WdfObjectDelete(WdfCollectionGetItem(collection, 1));
    WdfObjectDelete(collection);
    CHECK(WdfRegistryQueryValue(key, &list, 4, &value, &length, &type) == STATUS_BUFFER_OVERFLOW);
    CHECK(length == sizeof strings && type == REG_MULTI_SZ);
    CHECK(NT_SUCCESS(WdfRegistryQueryMemory(key, &number, PagedPool, NULL, &memory, &type)) && type == REG_DWORD);
    CHECK(*(ULONG *)WdfMemoryGetBuffer(memory, NULL) == 4711);
    WdfObjectDelete(memory);
    CHECK(NT_SUCCESS(WdfRegistryRemoveValue(key, &number)));
    CHECK(check_empty_values(key) == 0);
    WdfRegistryClose(key);
    return 0;
}

static VOID dpc(WDFDPC Dpc)
{
    notes_of(Dpc)->value++;
}

static ULONG check_dpc(WDFDEVICE Device)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_DPC_CONFIG config;
    WDFDPC object;

    WDF_DPC_CONFIG_INIT(&config, dpc);
    CHECK(WdfDpcCreate(&config, NULL, &object) == STATUS_WDF_PARENT_NOT_SPECIFIED);
    WDF_OBJECT_ATTRIBUTES_INIT_CONTEXT_TYPE(&attributes, struct_notes);
    attributes.ParentObject = control.driver;
    CHECK(WdfDpcCreate(&config, &attributes, &object) == STATUS_INVALID_DEVICE_REQUEST);
    attributes.ParentObject = Device;
    CHECK(NT_SUCCESS(WdfDpcCreate(&config, &attributes, &object)));
    CHECK(WdfDpcGetParentObject(object) == (WDFOBJECT)Device && WdfDpcWdmGetDpc(object));
    CHECK(WdfDpcEnqueue(object));
    CHECK(!WdfDpcCancel(object, TRUE) == (notes_of(object)->value == 1));
    WdfObjectDelete(object);
    return 0;
}

/* ---- Serialization ----------------------------------------------------------------------------------------------- */

static KEVENT called;
static KIRQL level;

static VOID timer_called(WDFTIMER Timer)
{
    UNREFERENCED_PARAMETER(Timer);
    level = KeGetCurrentIrql();
    KeSetEvent(&called, IO_NO_INCREMENT, FALSE);
}

static VOID work_called(WDFWORKITEM WorkItem)
{
    UNREFERENCED_PARAMETER(WorkItem);
}

/* A callback that cannot hold the lock of its parent's scope is refused. */
static ULONG check_serialization(VOID)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_WORKITEM_CONFIG work;
    WDF_TIMER_CONFIG timer;
    WDFWORKITEM item;
    WDF_DPC_CONFIG config;
    WDFTIMER object;
    WDFDPC other;

    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    WDF_DPC_CONFIG_INIT(&config, dpc);
    WDF_TIMER_CONFIG_INIT(&timer, timer_called);
    WDF_WORKITEM_CONFIG_INIT(&work, work_called);
    attributes.ParentObject = control.passive;
    CHECK(WdfDpcCreate(&config, &attributes, &other) == STATUS_WDF_INCOMPATIBLE_EXECUTION_LEVEL);
    CHECK(WdfTimerCreate(&timer, &attributes, &object) == STATUS_WDF_INCOMPATIBLE_EXECUTION_LEVEL);
    CHECK(NT_SUCCESS(WdfWorkItemCreate(&work, &attributes, &item)));
    WdfObjectDelete(item);
    attributes.ParentObject = control.dispatch;
    CHECK(WdfWorkItemCreate(&work, &attributes, &item) == STATUS_WDF_INCOMPATIBLE_EXECUTION_LEVEL);
    CHECK(NT_SUCCESS(WdfDpcCreate(&config, &attributes, &other)));
    WdfObjectDelete(other);
    attributes.ParentObject = control.passive;
    attributes.ExecutionLevel = WdfExecutionLevelPassive;
    CHECK(NT_SUCCESS(WdfTimerCreate(&timer, &attributes, &object)));
    KeInitializeEvent(&called, NotificationEvent, FALSE);
    level = HIGH_LEVEL;
    (VOID)WdfTimerStart(object, WDF_REL_TIMEOUT_IN_MS(1));
    KeWaitForSingleObject(&called, Executive, KernelMode, FALSE, NULL);
    WdfObjectDelete(object); /* waits for the callback */
    CHECK(level == PASSIVE_LEVEL);
    return 0;
}

/* ---- Purges ------------------------------------------------------------------------------------------------------ */

static WDFWORKITEM stopper;

static VOID stop_read(WDFWORKITEM WorkItem)
{
    UNREFERENCED_PARAMETER(WorkItem);
    WdfIoQueueStopSynchronously(control.queues[WDFCONTROL_QUEUE_READ]);
    note('w');
    WdfIoQueueStart(control.queues[WDFCONTROL_QUEUE_READ]);
}

VOID linger(WDFREQUEST Request)
{
    LARGE_INTEGER delay = { .QuadPart = -20 * 10000 };
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_WORKITEM_CONFIG config;

    WDF_OBJECT_ATTRIBUTES_INIT(&attributes);
    attributes.ParentObject = control.device;
    WDF_WORKITEM_CONFIG_INIT(&config, stop_read);
    if (!NT_SUCCESS(WdfWorkItemCreate(&config, &attributes, &stopper))) {
        WdfRequestComplete(Request, STATUS_INSUFFICIENT_RESOURCES);
        return;
    }
    WdfWorkItemEnqueue(stopper);
    WdfRequestComplete(Request, STATUS_SUCCESS);
    KeDelayExecutionThread(KernelMode, FALSE, &delay);
    note('l');
}

NTSTATUS mark_alone(WDFREQUEST Request)
{
    WdfRequestMarkCancelable(Request, canceled);
    return STATUS_PENDING;
}

static VOID stopped(WDFQUEUE Queue, WDFCONTEXT Context)
{
    UNREFERENCED_PARAMETER(Context);
    note('Z');
    WdfIoQueueStart(Queue);
}

NTSTATUS handle_purge(ULONG Function)
{
    WDFREQUEST request = (WDFREQUEST)control.reading;
    NTSTATUS status;

    switch (Function) {
    case WDFCONTROL_MARK_READ:
        control.reading = NULL;
        WdfRequestMarkCancelable(request, canceled);
        return STATUS_SUCCESS;
    case WDFCONTROL_REQUEUE:
        status = WdfIoQueueRetrieveNextRequest(control.queues[WDFCONTROL_QUEUE_MANUAL], &request);
        if (!NT_SUCCESS(status))
            return status;
        WdfIoQueueStopAndPurge(control.queues[WDFCONTROL_QUEUE_MANUAL], stopped, NULL);
        return WdfRequestRequeue(request);
    case WDFCONTROL_FLUSH:
        WdfWorkItemFlush(stopper);
        WdfObjectDelete(stopper);
        return STATUS_SUCCESS;
    default:
        return STATUS_INVALID_DEVICE_REQUEST;
    }
}

/* ---- All objects ------------------------------------------------------------------------------------------------- */

ULONG check_objects(WDFDEVICE Device)
{
    ULONG line = check_memory();

    if (!line)
        line = check_strings(Device);
    if (!line)
        line = check_registry();
    if (!line)
        line = check_version();
    if (!line)
        line = check_serialization();
    return line ? line : check_dpc(Device);
}
