/* SPDX-License-Identifier: MIT */
/* Implements the functions of host.h in the Windows kernel. Winsock Kernel opens the adapter. */
#include "host.h"

#include <ntstrsafe.h>

#define TARGET_TAG 'tmvN'

/* ---- Locks and threads ------------------------------------------------------------------------------------------- */

void host_lock_init(struct host_lock *lock)
{
    KeInitializeSpinLock(&lock->lock);
}

void host_lock_fini(struct host_lock *lock)
{
    UNREFERENCED_PARAMETER(lock);
}

void host_lock_acquire(struct host_lock *lock)
{
    KIRQL irql;

    KeAcquireSpinLock(&lock->lock, &irql);
    lock->irql = irql; /* only the lock's owner writes this member */
}

void host_lock_release(struct host_lock *lock)
{
    KeReleaseSpinLock(&lock->lock, lock->irql);
}

void host_semaphore_init(struct host_semaphore *semaphore)
{
    KeInitializeSemaphore(&semaphore->semaphore, 0, MAXLONG);
}

void host_semaphore_fini(struct host_semaphore *semaphore)
{
    UNREFERENCED_PARAMETER(semaphore);
}

void host_semaphore_post(struct host_semaphore *semaphore)
{
    KeReleaseSemaphore(&semaphore->semaphore, IO_NO_INCREMENT, 1, FALSE);
}

void host_semaphore_wait(struct host_semaphore *semaphore)
{
    KeWaitForSingleObject(&semaphore->semaphore, Executive, KernelMode, FALSE, NULL);
}

bool host_semaphore_wait_ms(struct host_semaphore *semaphore, uint32_t ms)
{
    LARGE_INTEGER limit;

    limit.QuadPart = -10000LL * ms;
    return KeWaitForSingleObject(&semaphore->semaphore, Executive, KernelMode, FALSE, &limit) == STATUS_SUCCESS;
}

static VOID ThreadRun(PVOID Context)
{
    struct host_thread *thread = Context;

    thread->routine(thread->context);
    PsTerminateSystemThread(STATUS_SUCCESS);
}

/*
 * Starts a thread. Stores a reference to the thread object instead of the handle, so that host_thread_join can wait for
 * the thread.
 */
bool host_thread_start(struct host_thread *thread, void (*routine)(void *context), void *context)
{
    HANDLE handle;
    NTSTATUS status;

    thread->routine = routine;
    thread->context = context;
    if (!NT_SUCCESS(PsCreateSystemThread(&handle, THREAD_ALL_ACCESS, NULL, NULL, NULL, ThreadRun, thread)))
        return false;
    status = ObReferenceObjectByHandle(handle, THREAD_ALL_ACCESS, *PsThreadType, KernelMode, &thread->object, NULL);
    NT_ASSERT(NT_SUCCESS(status)); /* cannot fail for a handle that was just created */
    UNREFERENCED_PARAMETER(status);
    ZwClose(handle);
    return true;
}

void host_thread_join(struct host_thread *thread)
{
    KeWaitForSingleObject(thread->object, Executive, KernelMode, FALSE, NULL);
    ObDereferenceObject(thread->object);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

void *host_alloc(size_t size)
{
    void *memory = ExAllocatePoolWithTag(NonPagedPoolNx, size, TARGET_TAG);

    if (memory)
        RtlZeroMemory(memory, size);
    return memory;
}

void host_free(void *memory)
{
    if (memory)
        ExFreePoolWithTag(memory, TARGET_TAG);
}

/* Allocates whole pages. The pool aligns memory to a page if its size is a page or more, so the size is rounded up. */
bool host_pages_alloc(struct host_pages *pages, uint32_t size)
{
    RtlZeroMemory(pages, sizeof(*pages));
    pages->data = host_alloc(ROUND_TO_PAGES(size));
    if (!pages->data)
        return false;
    pages->mdl = IoAllocateMdl(pages->data, size, FALSE, FALSE, NULL);
    if (!pages->mdl) {
        host_pages_free(pages);
        return false;
    }
    MmBuildMdlForNonPagedPool(pages->mdl);
    pages->size = size;
    return true;
}

void host_pages_free(struct host_pages *pages)
{
    if (pages->mdl)
        IoFreeMdl(pages->mdl);
    host_free(pages->data);
    RtlZeroMemory(pages, sizeof(*pages));
}

/* ---- Time and messages ------------------------------------------------------------------------------------------- */

uint64_t host_now_ms(void)
{
    return KeQueryInterruptTime() / 10000;
}

uint64_t host_time_of_day(void)
{
    LARGE_INTEGER now;

    KeQuerySystemTime(&now);
    return (uint64_t)now.QuadPart;
}

void host_vlog(const char *format, va_list list)
{
    CHAR line[512];

    RtlStringCbVPrintfA(line, sizeof(line), format, list);
    DbgPrint("nvme-target: %s\n", line);
}

void host_log(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    host_vlog(format, list);
    va_end(list);
}

void host_log_status(const char *what, NTSTATUS status)
{
    host_log("%s: status 0x%08x", what, (unsigned)status);
}

/* ---- The adapter ------------------------------------------------------------------------------------------------- */

static WSK_REGISTRATION Registration;
static WSK_PROVIDER_NPI Provider;
static WSK_PROVIDER_NDK_DISPATCH Ndk;

NTSTATUS host_start(void)
{
    static const WSK_CLIENT_DISPATCH dispatch = { MAKE_WSK_VERSION(1, 0), 0, NULL };
    WSK_CLIENT_NPI client = { NULL, &dispatch };
    NTSTATUS status = WskRegister(&client, &Registration);

    if (!NT_SUCCESS(status))
        return status;
    status = WskCaptureProviderNPI(&Registration, WSK_INFINITE_WAIT, &Provider);
    if (!NT_SUCCESS(status)) {
        WskDeregister(&Registration);
        return status;
    }
    status = Provider.Dispatch->WskControlClient(Provider.Client, WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH, 0, NULL,
        sizeof(Ndk), &Ndk, NULL, NULL);
    if (!NT_SUCCESS(status))
        host_stop();
    return status;
}

void host_stop(void)
{
    WskReleaseProviderNPI(&Registration);
    WskDeregister(&Registration);
}

NTSTATUS host_adapter_open(uint32_t if_index, NDK_ADAPTER **adapter)
{
    NDK_VERSION version = { 1, 2 };

    *adapter = NULL;
    return Ndk.WskOpenNdkAdapter(Provider.Client, version, if_index, adapter);
}

void host_adapter_close(NDK_ADAPTER *adapter)
{
    Ndk.WskCloseNdkAdapter(Provider.Client, adapter);
}
