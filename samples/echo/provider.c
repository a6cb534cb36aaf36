/* SPDX-License-Identifier: MIT */
/* Opens and closes an NDK adapter by two functions of Winsock Kernel. Needs PASSIVE_LEVEL. */
#include "echo.h"

static WSK_REGISTRATION Registration;
static WSK_PROVIDER_NPI Provider;
static WSK_PROVIDER_NDK_DISPATCH Ndk;

NTSTATUS EchoRegister(VOID)
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
        EchoDeregister();
    return status;
}

VOID EchoDeregister(VOID)
{
    WskReleaseProviderNPI(&Registration);
    WskDeregister(&Registration);
}

/* Version 1.2 is the first version with NdkSendAndInvalidate and NdkGetCqResultsEx. */
NTSTATUS EchoOpenAdapter(ULONG Interface, NDK_ADAPTER **Adapter)
{
    NDK_VERSION version = { 1, 2 };

    *Adapter = NULL;
    return Ndk.WskOpenNdkAdapter(Provider.Client, version, Interface, Adapter);
}

VOID EchoCloseAdapter(NDK_ADAPTER *Adapter)
{
    Ndk.WskCloseNdkAdapter(Provider.Client, Adapter);
}
