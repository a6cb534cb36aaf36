/* SPDX-License-Identifier: MIT */
/* Unloads with an adapter open and a protection domain in it. */
#include <wdm.h>
#include <wsk.h>
#include <ndkpi.h>
#include <wskndk.h>

static const WSK_CLIENT_DISPATCH client_dispatch = { MAKE_WSK_VERSION(1, 0), 0, NULL };
static WSK_REGISTRATION registration;
static WSK_PROVIDER_NPI npi;
static WSK_PROVIDER_NDK_DISPATCH ndk;
static NDK_ADAPTER *adapter;
static NDK_PD *pd;

static VOID created(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    UNREFERENCED_PARAMETER(context);
    UNREFERENCED_PARAMETER(status);
    UNREFERENCED_PARAMETER(object);
}

static VOID unload(PDRIVER_OBJECT driver)
{
    UNREFERENCED_PARAMETER(driver);
}

DRIVER_INITIALIZE DriverEntry;
NTSTATUS DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    WSK_CLIENT_NPI client = { NULL, &client_dispatch };
    NDK_VERSION version = { 1, 0 };
    NTSTATUS status;

    UNREFERENCED_PARAMETER(path);
    driver->DriverUnload = unload;
    status = WskRegister(&client, &registration);
    if (!NT_SUCCESS(status))
        return status;
    status = WskCaptureProviderNPI(&registration, WSK_INFINITE_WAIT, &npi);
    if (!NT_SUCCESS(status))
        return status;
    status = npi.Dispatch->WskControlClient(npi.Client, WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH, 0, NULL, sizeof(ndk),
                                            &ndk, NULL, NULL);
    if (!NT_SUCCESS(status))
        return status;
    status = ndk.WskOpenNdkAdapter(npi.Client, version, 1, &adapter);
    if (!NT_SUCCESS(status))
        return status;
    return adapter->Dispatch->NdkCreatePd(adapter, created, NULL, &pd);
}
