/* SPDX-License-Identifier: MIT */
/* Opens the token of the process: see ntifs.h. */
#include "ntifs.h"

#include "wdk/common/check.h"
#include "wdk/ke/thread.h"
#include "wdk/ob/handle.h"
#include "wdk/ob/object.h"
#include "wdk/se/token.h"

NTSTATUS ZwOpenProcessTokenEx(HANDLE ProcessHandle, ACCESS_MASK DesiredAccess, ULONG HandleAttributes,
                              PHANDLE TokenHandle)
{
    PACCESS_TOKEN token = token_system();
    NTSTATUS status = STATUS_SUCCESS;
    void *process = NULL;

    UNREFERENCED_PARAMETER(DesiredAccess);
    UNREFERENCED_PARAMETER(HandleAttributes);
    irql_check_max("ZwOpenProcessToken", PASSIVE_LEVEL);
    if (ProcessHandle != NtCurrentProcess()) {
        process = handle_lookup(ProcessHandle, *PsProcessType, &status);
        if (!process)
            return status;
        ob_unref(process);
    }
    ob_ref(token);
    status = handle_open(token, TokenHandle);
    if (!NT_SUCCESS(status))
        ob_unref(token);
    return status;
}

NTSTATUS ZwOpenProcessToken(HANDLE ProcessHandle, ACCESS_MASK DesiredAccess, PHANDLE TokenHandle)
{
    return ZwOpenProcessTokenEx(ProcessHandle, DesiredAccess, 0, TokenHandle);
}

/* ---- Names of user mode ------------------------------------------------------------------------------------------ */

__typeof__(ZwOpenProcessToken) NtOpenProcessToken __attribute__((alias("ZwOpenProcessToken")));
