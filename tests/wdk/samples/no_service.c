/* SPDX-License-Identifier: MIT */
/* The echo sample with its client alone: the test itself serves. */
#include "../../../samples/echo/echo.h"

NTSTATUS EchoServiceStart(ECHO_SERVICE *Service, PDEVICE_OBJECT Device, const ECHO_SETTINGS *Settings)
{
    UNREFERENCED_PARAMETER(Service);
    UNREFERENCED_PARAMETER(Device);
    UNREFERENCED_PARAMETER(Settings);
    return STATUS_SUCCESS;
}

VOID EchoServiceStop(ECHO_SERVICE *Service)
{
    UNREFERENCED_PARAMETER(Service);
}
