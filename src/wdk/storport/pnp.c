/* SPDX-License-Identifier: MIT */
/*
 * Implements the adapter's plug and play. The port takes the place of the PnP manager: it sends IRP_MN_START_DEVICE,
 * IRP_MN_QUERY_REMOVE_DEVICE and IRP_MN_REMOVE_DEVICE to the adapter's device. A miniport may have put a dispatch
 * routine of its own in front of the port's. The invariant: the adapter starts once and is stopped once.
 */
#include <stdatomic.h>

#include "storport.h"

#include "wdk/storport/port.h"

/* If the state is `from`, changes it to `to` and returns true. Otherwise returns false. */
static bool port_pnp_step(struct port_adapter *a, enum port_pnp from, enum port_pnp to)
{
    return atomic_compare_exchange_strong(&a->pnp, &from, to);
}

static NTSTATUS port_pnp_start(struct port_adapter *a)
{
    if (!port_pnp_step(a, PNP_NEW, PNP_STARTED))
        return STATUS_INVALID_DEVICE_STATE;
    a->start_failure = port_adapter_start(a);
    return a->start_failure ? STATUS_UNSUCCESSFUL : STATUS_SUCCESS;
}

static NTSTATUS port_pnp_remove(struct port_adapter *a)
{
    if (port_pnp_step(a, PNP_STARTED, PNP_REMOVED) && !a->start_failure)
        port_adapter_stop(a);
    return STATUS_SUCCESS;
}

NTSTATUS port_pnp_dispatch(PDEVICE_OBJECT device, PIRP irp)
{
    struct port_adapter *a = port_of_device(device);
    NTSTATUS status = irp->IoStatus.Status; /* returned for a request that the port does not handle */

    switch (a ? IoGetCurrentIrpStackLocation(irp)->MinorFunction : IRP_MN_QUERY_ID) {
    case IRP_MN_START_DEVICE:
        status = port_pnp_start(a);
        break;
    case IRP_MN_QUERY_REMOVE_DEVICE:
    case IRP_MN_CANCEL_REMOVE_DEVICE:
        status = STATUS_SUCCESS;
        break;
    case IRP_MN_REMOVE_DEVICE:
        status = port_pnp_remove(a);
        break;
    default:
        break;
    }
    irp->IoStatus.Status = status;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return status;
}
