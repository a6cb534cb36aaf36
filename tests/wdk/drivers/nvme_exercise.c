/* SPDX-License-Identifier: MIT */
/*
 * A driver that exercises the lower part of the NVMe initiator without Storport: it connects to the first target of
 * the registry, does what the value Exercise names, disconnects, and prints what it has seen. DriverEntry fails if the
 * data were wrong, or a request did not end as it should.
 *
 *   registry value   what it is
 *   Exercise         one of enum exercise, below
 *   Depth            requests at the same time
 *   Bytes            of each request
 *   Offset           of the data in the request's buffer; a multiple of 8
 *   Rounds           of a write and a read for each of the requests
 *   Expect           the status with which requests may fail besides STATUS_SUCCESS; 0: none
 */
#include "../../../samples/nvme-initiator/nvmedrv.h"

enum exercise {
    ExerciseTransfer, /* writes, reads, compares */
    ExerciseDelete,   /* deletes the controller while requests are outstanding */
    ExerciseReset,    /* resets the controller a few times, then ends */
    ExerciseAbort,    /* aborts everything when one request is left */
    ExerciseDiscover, /* prints the discovery log page */
    ExerciseChange,   /* waits until there are two namespaces */
    ExerciseFail      /* the creation must fail with Expect */
};

#define TAG 'cxEN'
#define MAX_DEPTH 256
#define SECOND 10000000LL

typedef struct _OPERATION {
    NVME_REQUEST Request;
    PUCHAR Buffer;
    PUCHAR Data; /* Buffer + Offset */
    PMDL Mdl;
    ULONG Index;
    ULONG Round;
    LONG Resets; /* value of ResetsMade when the request was submitted */
    BOOLEAN Reading;
} OPERATION;

static NVME_SETTINGS Settings;
static ULONG Exercise, Depth, Bytes, Offset, Rounds, Expect;
static NVME_CONTROLLER *Controller;
static OPERATION *Operations;
static LONG Outstanding, Different, Unexpected, Expected, Done, Changes, Stopping;
static LONG ResetsBegun, ResetsMade; /* number of calls of NvmeControllerReset that have begun, and have returned */
static KEVENT AllDone, Changed;

/* Returns the word number i of the operation's data. */
static ULONGLONG Word(const OPERATION *Operation, ULONG i)
{
    return (i + 1) * 0x9E3779B97F4A7C15ULL + ((ULONGLONG)Operation->Index << 32) + Operation->Round;
}

static VOID Fill(OPERATION *Operation)
{
    ULONGLONG *words = (ULONGLONG *)Operation->Data;
    ULONG i;

    for (i = 0; i < Bytes / sizeof(*words); i++)
        words[i] = Word(Operation, i);
}

static ULONG Differences(const OPERATION *Operation)
{
    const ULONGLONG *words = (const ULONGLONG *)Operation->Data;
    ULONG i;

    for (i = 0; i < Bytes / sizeof(*words); i++)
        if (words[i] != Word(Operation, i))
            return 1;
    return 0;
}

static VOID Start(OPERATION *Operation)
{
    NVME_REQUEST *request = &Operation->Request;

    RtlZeroMemory(&request->Command, sizeof(request->Command));
    request->Command.opcode = Operation->Reading ? NVME_IO_READ : NVME_IO_WRITE;
    request->Command.nsid = 1;
    request->Command.io.lba = (ULONGLONG)Operation->Index * (Bytes / 512);
    request->Command.io.blocks = (USHORT)(Bytes / 512 - 1);
    request->Direction = Operation->Reading ? NvmeFromController : NvmeToController;
    Operation->Resets = ReadAcquire(&ResetsMade);
    request->Resets = NvmeControllerResets(Controller);
    NvmeSubmit(Controller, request);
}

/* Returns TRUE if the request may have failed with Expect. A reset ends only requests that were submitted before it. */
static BOOLEAN MayFail(const OPERATION *Operation)
{
    return Exercise != ExerciseReset || ReadAcquire(&ResetsBegun) > Operation->Resets;
}

static VOID Completed(NVME_REQUEST *Request)
{
    OPERATION *operation = CONTAINING_RECORD(Request, OPERATION, Request);
    BOOLEAN again = !ReadNoFence(&Stopping);

    InterlockedIncrement(&Done);
    if (Request->Status == STATUS_SUCCESS) {
        if (operation->Reading && Differences(operation))
            InterlockedIncrement(&Different);
        operation->Round += operation->Reading;
        operation->Reading = !operation->Reading;
        again = again && operation->Round < Rounds;
        if (!operation->Reading)
            Fill(operation);
        else
            RtlZeroMemory(operation->Data, Bytes);
    } else if ((ULONG)Request->Status == Expect && MayFail(operation)) {
        InterlockedIncrement(&Expected);
        again = again && Exercise == ExerciseReset;
        if (!operation->Reading)
            Fill(operation);
    } else {
        DbgPrint("exercise: request %u ends with 0x%08X, NVMe status 0x%X\n", operation->Index, Request->Status,
            Request->NvmeStatus);
        InterlockedIncrement(&Unexpected);
        again = FALSE;
    }
    if (again)
        Start(operation);
    else if (InterlockedDecrement(&Outstanding) == 0)
        KeSetEvent(&AllDone, IO_NO_INCREMENT, FALSE);
}

/* Ends the requests for a namespace that was replaced before the controller is live. */
static VOID ControllerChanged(NVME_CONTROLLER *Changing, PVOID Context)
{
    NVME_NAMESPACE namespace;
    NVME_CONTROLLER_INFO info;

    UNREFERENCED_PARAMETER(Context);
    NvmeControllerQuery(Changing, &info);
    if (info.State == NvmeStateReconnecting && NvmeControllerNamespaces(Changing, &namespace, 1) &&
        namespace.Eui64[0]) {
        DbgPrint("exercise: a change before the controller is live\n");
        WriteNoFence(&Stopping, TRUE);
        NvmeAbortAll(Changing, 1);
    }
    InterlockedIncrement(&Changes);
    KeSetEvent(&Changed, IO_NO_INCREMENT, FALSE);
}

/* Odd operations have an MDL, even ones a buffer only; each begins at another offset in its page. */
static NTSTATUS Prepare(VOID)
{
    ULONG i;

    Operations = ExAllocatePoolWithTag(NonPagedPoolNx, Depth * sizeof(*Operations), TAG);
    if (!Operations)
        return STATUS_INSUFFICIENT_RESOURCES;
    RtlZeroMemory(Operations, Depth * sizeof(*Operations));
    for (i = 0; i < Depth; i++) {
        OPERATION *operation = &Operations[i];

        operation->Index = i;
        operation->Buffer = ExAllocatePoolWithTag(NonPagedPoolNx, Offset + Bytes, TAG);
        operation->Data = operation->Buffer + Offset;
        operation->Mdl = i % 2 ? IoAllocateMdl(operation->Buffer, Offset + Bytes, FALSE, FALSE, NULL) : NULL;
        if (!operation->Buffer || (i % 2 && !operation->Mdl))
            return STATUS_INSUFFICIENT_RESOURCES;
        RtlZeroMemory(operation->Buffer, Offset);
        if (operation->Mdl)
            MmBuildMdlForNonPagedPool(operation->Mdl);
        Fill(operation);
        operation->Request.Mdl = operation->Mdl;
        operation->Request.Buffer = operation->Buffer;
        operation->Request.Offset = Offset;
        operation->Request.Length = Bytes;
        operation->Request.Completion = Completed;
    }
    return STATUS_SUCCESS;
}

static VOID Free(VOID)
{
    ULONG i;

    for (i = 0; Operations && i < Depth; i++) {
        if (Operations[i].Mdl)
            IoFreeMdl(Operations[i].Mdl);
        if (Operations[i].Buffer)
            ExFreePoolWithTag(Operations[i].Buffer, TAG);
    }
    if (Operations)
        ExFreePoolWithTag(Operations, TAG);
}

static VOID Pause(LONGLONG Milliseconds)
{
    LARGE_INTEGER pause;

    pause.QuadPart = -Milliseconds * 10000;
    KeDelayExecutionThread(KernelMode, FALSE, &pause);
}

static VOID WaitForProgress(LONG Requests)
{
    LONG end = ReadNoFence(&Done) + Requests;

    while (ReadNoFence(&Done) < end && ReadNoFence(&Outstanding))
        Pause(5);
}

static ULONG Reconnects(VOID)
{
    NVME_CONTROLLER_INFO info;

    NvmeControllerQuery(Controller, &info);
    return info.Reconnects;
}

/* Resets the controller, and waits until it is connected again. */
static VOID Reset(VOID)
{
    ULONG before = Reconnects();

    InterlockedIncrement(&ResetsBegun);
    NvmeControllerReset(Controller);
    InterlockedIncrement(&ResetsMade);
    while (Reconnects() == before)
        Pause(5);
}

static VOID Interfere(VOID)
{
    ULONG i;

    switch (Exercise) {
    case ExerciseDelete:
        Pause(100); /* the requests go on until one of them fails */
        NvmeControllerReference(Controller);
        NvmeControllerDelete(Controller);
        break;
    case ExerciseReset:
        for (i = 0; i < 3; i++) {
            WaitForProgress(4 * (LONG)Depth);
            Reset();
        }
        WaitForProgress(4 * (LONG)Depth);
        WriteNoFence(&Stopping, TRUE);
        break;
    case ExerciseAbort:
        while (ReadNoFence(&Outstanding) > 1) /* the target answers all requests except one */
            Pause(5);
        WriteNoFence(&Stopping, TRUE);
        NvmeAbortAll(Controller, 1);
        break;
    default:
        break;
    }
}

static NTSTATUS Transfer(VOID)
{
    LARGE_INTEGER start, end, frequency;
    NTSTATUS status = Prepare();
    ULONG i;

    if (!NT_SUCCESS(status))
        return status;
    start = KeQueryPerformanceCounter(&frequency);
    Outstanding = Depth;
    for (i = 0; i < Depth; i++)
        Start(&Operations[i]);
    Interfere();
    KeWaitForSingleObject(&AllDone, Executive, KernelMode, FALSE, NULL);
    end = KeQueryPerformanceCounter(NULL);
    DbgPrint("exercise: %d requests in %I64d us, %d different, %d unexpected, %d expected failures\n", Done,
        (end.QuadPart - start.QuadPart) * 1000000 / frequency.QuadPart, Different, Unexpected, Expected);
    return Different || Unexpected ? STATUS_DATA_ERROR : STATUS_SUCCESS;
}

static VOID Print(VOID)
{
    NVME_NAMESPACE namespaces[4];
    NVME_CONTROLLER_INFO info;
    ULONG count = NvmeControllerNamespaces(Controller, namespaces, 4), i;

    NvmeControllerQuery(Controller, &info);
    DbgPrint("exercise: state %d, %u queues of %u, transfer %u, capsule %u, reconnects %u, changes %d, model %.40s\n",
        info.State, info.QueueCount, info.QueueDepth, info.MaxTransfer, info.InCapsule,
        info.Reconnects, Changes, info.ModelNumber);
    for (i = 0; i < min(count, 4); i++)
        DbgPrint("exercise: namespace %u, %I64u blocks of %u\n", namespaces[i].Id, namespaces[i].Blocks,
            1u << namespaces[i].BlockShift);
}

static NTSTATUS WaitForChange(VOID)
{
    NVME_NAMESPACE namespaces[2];

    while (NvmeControllerNamespaces(Controller, namespaces, 2) < 2)
        KeWaitForSingleObject(&Changed, Executive, KernelMode, FALSE, NULL);
    return STATUS_SUCCESS;
}

static NTSTATUS Discover(VOID)
{
    struct nvme_discovery_entry *entries = ExAllocatePoolWithTag(PagedPool, 8 * sizeof(*entries), TAG);
    ULONG count = 8, i;
    NTSTATUS status = NvmeDiscover(&Settings.Targets[0], &Settings, entries, &count);

    for (i = 0; NT_SUCCESS(status) && i < count && i < 8; i++)
        DbgPrint("exercise: \"%s\" at %.15s:%.5s\n", entries[i].subnqn, entries[i].traddr, entries[i].trsvcid);
    ExFreePoolWithTag(entries, TAG);
    return status;
}

static NTSTATUS Run(VOID)
{
    NVME_CREATE create = { .Target = Settings.Targets[0], .Settings = &Settings, .Changed = ControllerChanged };
    NTSTATUS status;

    if (Exercise == ExerciseDiscover)
        return Discover();
    status = NvmeControllerCreate(&create, &Controller);
    if (Exercise == ExerciseFail)
        return (ULONG)status == Expect ? STATUS_SUCCESS : STATUS_DATA_ERROR;
    if (!NT_SUCCESS(status))
        return status;
    Print();
    status = Transfer();
    if (NT_SUCCESS(status) && Exercise == ExerciseChange)
        status = WaitForChange();
    Print();
    if (Exercise == ExerciseDelete)
        NvmeControllerRelease(Controller);
    else
        NvmeControllerDelete(Controller);
    Free();
    return status;
}

static VOID ReadNumber(PUNICODE_STRING RegistryPath, PCWSTR Name, ULONG *Value)
{
    RTL_QUERY_REGISTRY_TABLE table[2];

    RtlZeroMemory(table, sizeof(table));
    table[0].Flags = RTL_QUERY_REGISTRY_DIRECT;
    table[0].Name = (PWSTR)Name;
    table[0].EntryContext = Value;
    RtlQueryRegistryValues(RTL_REGISTRY_ABSOLUTE, RegistryPath->Buffer, table, NULL, NULL);
}

static VOID Unload(PDRIVER_OBJECT DriverObject)
{
    UNREFERENCED_PARAMETER(DriverObject);
    NvmeProviderDeregister();
}

DRIVER_INITIALIZE DriverEntry;

NTSTATUS DriverEntry(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath)
{
    NTSTATUS status;

    Depth = 8;
    Bytes = 4096;
    Rounds = 10;
    ReadNumber(RegistryPath, L"Exercise", &Exercise);
    ReadNumber(RegistryPath, L"Depth", &Depth);
    ReadNumber(RegistryPath, L"Bytes", &Bytes);
    ReadNumber(RegistryPath, L"Offset", &Offset);
    ReadNumber(RegistryPath, L"Rounds", &Rounds);
    ReadNumber(RegistryPath, L"Expect", &Expect);
    NvmeReadSettings(RegistryPath, &Settings);
    KeInitializeEvent(&AllDone, SynchronizationEvent, FALSE);
    KeInitializeEvent(&Changed, SynchronizationEvent, FALSE);
    status = Settings.TargetCount ? NvmeProviderRegister() : STATUS_INVALID_PARAMETER;
    if (!NT_SUCCESS(status))
        return status;
    status = Run();
    if (!NT_SUCCESS(status)) {
        NvmeProviderDeregister();
        return status;
    }
    DriverObject->DriverUnload = Unload;
    return status;
}
