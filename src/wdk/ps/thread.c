/* SPDX-License-Identifier: MIT */
/*
 * Implements system threads, and queries about threads. A thread's object has one reference from the thread while it
 * runs, and one from each handle.
 */
#include <pthread.h>

#include "ntifs.h"

#include "base/schedule.h"
#include "wdk/common/futex.h"
#include "wdk/common/live.h"
#include "wdk/ke/processor.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/handle.h"
#include "wdk/ob/object.h"

static void thread_object_destroy(void *object)
{
    thread_fini(object);
}

static struct _OBJECT_TYPE thread_type = { .name = "thread", .destroy = thread_object_destroy, .is_waitable = true };
static POBJECT_TYPE thread_type_pointer = &thread_type;
POBJECT_TYPE *PsThreadType = &thread_type_pointer;

static struct kernel_thread *thread_object_create(void)
{
    struct kernel_thread *t = ob_new(&thread_type, sizeof *t);

    if (t)
        thread_init(t);
    return t;
}

static void thread_object_release(struct kernel_thread *t)
{
    ob_unref(t);
}

static const struct thread_objects thread_objects = { thread_object_create, thread_object_release };

__attribute__((constructor)) static void ps_init(void)
{
    thread_set_objects(&thread_objects);
}

static HANDLE ps_thread_id(struct kernel_thread *t)
{
    return (HANDLE)(uintptr_t)atomic_load(&t->id);
}

static void *ps_thread_main(void *argument)
{
    struct kernel_thread *t = argument;
    struct thread_mark mark;

    processor_unbind();
    thread_begin(t);
    futex_wake(&t->id, 1);
    mark = thread_mark_get();
    schedule_point();
    t->start(t->context);
    thread_mark_check(&mark, "system thread", (const void *)(uintptr_t)t->start);
    return NULL;
}

static struct kernel_thread *ps_thread_create(PKSTART_ROUTINE routine, PVOID context)
{
    struct kernel_thread *t = thread_object_create();
    pthread_attr_t attr;
    pthread_t thread;
    int failed;

    if (!t)
        return NULL;
    t->system = true;
    t->kind = THREAD_DRIVERS;
    t->start = routine;
    t->context = context;
    t->critical = 1; /* normal kernel APCs are disabled in system threads, as documented */
    live_add(LIVE_THREAD, t, "PsCreateSystemThread");
    ob_ref(t); /* the handle's reference */
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    failed = thread_create(&thread, &attr, ps_thread_main, t);
    pthread_attr_destroy(&attr);
    if (!failed)
        return t;
    (void)live_remove(LIVE_THREAD, t);
    ob_unref(t);
    ob_unref(t);
    return NULL;
}

NTSTATUS PsCreateSystemThread(PHANDLE ThreadHandle, ULONG DesiredAccess, POBJECT_ATTRIBUTES ObjectAttributes,
                              HANDLE ProcessHandle, PCLIENT_ID ClientId, PKSTART_ROUTINE StartRoutine,
                              PVOID StartContext)
{
    struct kernel_thread *t;
    NTSTATUS status;

    UNREFERENCED_PARAMETER(DesiredAccess);
    UNREFERENCED_PARAMETER(ObjectAttributes);
    UNREFERENCED_PARAMETER(ProcessHandle);
    irql_check_max("PsCreateSystemThread", PASSIVE_LEVEL);
    t = ps_thread_create(StartRoutine, StartContext);
    if (!t)
        return STATUS_INSUFFICIENT_RESOURCES;
    while (ClientId && atomic_load(&t->id) == 0)
        (void)futex_sleep(&t->id, 0, NULL);
    if (ClientId)
        *ClientId = (CLIENT_ID){ PsGetCurrentProcessId(), ps_thread_id(t) };
    status = handle_open(t, ThreadHandle);
    if (!NT_SUCCESS(status))
        ob_unref(t); /* the reference of the handle; the thread keeps running without a handle */
    return status;
}

NTSTATUS PsTerminateSystemThread(NTSTATUS ExitStatus)
{
    struct kernel_thread *t = thread_self();

    irql_check_max("PsTerminateSystemThread", PASSIVE_LEVEL);
    if (!t->system)
        return STATUS_INVALID_PARAMETER;
    t->exit_status = ExitStatus;
    t->irql = PASSIVE_LEVEL;
    pthread_exit(NULL);
}

PKTHREAD KeGetCurrentThread(VOID)
{
    return (PKTHREAD)thread_self();
}

HANDLE PsGetCurrentThreadId(VOID)
{
    return ps_thread_id(thread_self());
}

HANDLE PsGetThreadId(PETHREAD Thread)
{
    return ps_thread_id((struct kernel_thread *)Thread);
}

NTSTATUS PsGetThreadExitStatus(PETHREAD Thread)
{
    struct kernel_thread *t = (struct kernel_thread *)Thread;

    return KeReadStateEvent((PRKEVENT)&t->header) ? t->exit_status : STATUS_PENDING;
}

BOOLEAN PsIsSystemThread(PETHREAD Thread)
{
    return ((struct kernel_thread *)Thread)->system;
}

/* A thread can only end itself, and then ends at once. So a thread that is terminating has already ended. */
BOOLEAN PsIsThreadTerminating(PETHREAD Thread)
{
    irql_check_max("PsIsThreadTerminating", DISPATCH_LEVEL);
    return KeReadStateEvent((PRKEVENT) & ((struct kernel_thread *)Thread)->header) != 0;
}

KPRIORITY KeSetPriorityThread(PKTHREAD Thread, KPRIORITY Priority)
{
    irql_check_max("KeSetPriorityThread", DISPATCH_LEVEL);
    return __atomic_exchange_n(&((struct kernel_thread *)Thread)->priority, Priority, __ATOMIC_RELAXED);
}

KPRIORITY KeQueryPriorityThread(PKTHREAD Thread)
{
    irql_check_max("KeQueryPriorityThread", DISPATCH_LEVEL);
    return __atomic_load_n(&((struct kernel_thread *)Thread)->priority, __ATOMIC_RELAXED);
}
