/* SPDX-License-Identifier: MIT */
/* Implements the process: the host program, for example ndkrun. It is also the system's process. */
#include <unistd.h>

#include "ntifs.h"

#include "wdk/ke/thread.h"
#include "wdk/ob/object.h"

struct _EPROCESS {
    pid_t id;
};

static struct _OBJECT_TYPE process_type = { .name = "process" };
static POBJECT_TYPE process_type_pointer = &process_type;
POBJECT_TYPE *PsProcessType = &process_type_pointer;
static PEPROCESS the_process;
PEPROCESS PsInitialSystemProcess;

__attribute__((constructor)) static void process_init(void)
{
    the_process = ob_new(&process_type, sizeof *the_process);
    if (the_process)
        the_process->id = getpid();
    PsInitialSystemProcess = the_process;
}

PEPROCESS IoGetCurrentProcess(VOID)
{
    return the_process;
}

HANDLE PsGetCurrentProcessId(VOID)
{
    return (HANDLE)(intptr_t)the_process->id;
}

PEPROCESS IoGetRequestorProcess(PIRP Irp)
{
    irql_check_max(__func__, DISPATCH_LEVEL);
    return Irp->Tail.Overlay.Thread ? the_process : NULL;
}

ULONG IoGetRequestorProcessId(PIRP Irp)
{
    irql_check_max(__func__, DISPATCH_LEVEL);
    return Irp->Tail.Overlay.Thread ? (ULONG)the_process->id : 0;
}

BOOLEAN IoIs32bitProcess(PIRP Irp)
{
    UNREFERENCED_PARAMETER(Irp);
    irql_check_max(__func__, DISPATCH_LEVEL);
    return FALSE;
}

NTSTATUS PsLookupProcessByProcessId(HANDLE ProcessId, PEPROCESS *Process)
{
    irql_check_max(__func__, APC_LEVEL);
    if (ProcessId != PsGetCurrentProcessId())
        return STATUS_INVALID_CID;
    ob_ref(the_process);
    ob_pass_to_driver(the_process);
    *Process = the_process;
    return STATUS_SUCCESS;
}
