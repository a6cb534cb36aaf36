/* SPDX-License-Identifier: MIT */
/* Takes a moment in DriverEntry, and in DriverUnload, where WskDeregister waits for a thread. */
#include <wdm.h>
#include <wsk.h>

enum { MOMENT = 50 * 10000 }; /* 100 ns */

static const WSK_CLIENT_DISPATCH client_dispatch = { MAKE_WSK_VERSION(1, 0), 0, NULL };
static WSK_REGISTRATION registration;
static WSK_PROVIDER_NPI npi;
static HANDLE thread;

static void wait_a_moment(void)
{
    LARGE_INTEGER moment = { .QuadPart = -MOMENT };

    KeDelayExecutionThread(KernelMode, FALSE, &moment);
}

static VOID release(PVOID context)
{
    UNREFERENCED_PARAMETER(context);
    wait_a_moment();
    WskReleaseProviderNPI(&registration);
    PsTerminateSystemThread(STATUS_SUCCESS);
}

static VOID unload(PDRIVER_OBJECT driver)
{
    UNREFERENCED_PARAMETER(driver);
    if (NT_SUCCESS(PsCreateSystemThread(&thread, 0, NULL, NULL, NULL, release, NULL)))
        ZwClose(thread);
    WskDeregister(&registration);
    wait_a_moment(); /* the thread ends */
}

DRIVER_INITIALIZE DriverEntry;
NTSTATUS DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    WSK_CLIENT_NPI client = { NULL, &client_dispatch };
    NTSTATUS status;

    UNREFERENCED_PARAMETER(path);
    driver->DriverUnload = unload;
    wait_a_moment();
    status = WskRegister(&client, &registration);
    return NT_SUCCESS(status) ? WskCaptureProviderNPI(&registration, WSK_INFINITE_WAIT, &npi) : status;
}
