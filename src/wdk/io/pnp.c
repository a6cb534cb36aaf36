/* SPDX-License-Identifier: MIT */
/* Sends the requests of plug and play: see pnp.h. */
#include "wdm.h"

#include "wdk/io/irp.h"
#include "wdk/io/pnp.h"

NTSTATUS pnp_send(PDEVICE_OBJECT device, UCHAR minor)
{
    PIRP irp = irp_new(device);

    if (!irp)
        return STATUS_INSUFFICIENT_RESOURCES;
    irp->IoStatus.Status = STATUS_NOT_SUPPORTED; /* as the PnP manager does */
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_PNP;
    IoGetNextIrpStackLocation(irp)->MinorFunction = minor;
    return irp_send(irp, NULL);
}
