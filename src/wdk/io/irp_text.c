/* SPDX-License-Identifier: MIT */
/* Describes IRPs for reports: see irp.h. */
#include <stdio.h>

#include "wdm.h"

#include "wdk/common/kernel_names.h"
#include "wdk/io/irp.h"

/* Returns the location of the highest driver. It stays unchanged when the IRP is completed. */
static const IO_STACK_LOCATION *irp_top_location(const IRP *irp)
{
    return (const IO_STACK_LOCATION *)(irp + 1) + irp->StackCount - 1;
}

static int irp_text_major(const IRP *irp, char *text, size_t size)
{
    const IO_STACK_LOCATION *top = irp_top_location(irp);
    const char *name = kernel_irp_major_name(top->MajorFunction);

    if (!top->DeviceObject || !name)
        return 0;
    switch (top->MajorFunction) {
    case IRP_MJ_DEVICE_CONTROL:
    case IRP_MJ_INTERNAL_DEVICE_CONTROL:
    case IRP_MJ_FILE_SYSTEM_CONTROL: /* Parameters.FileSystemControl has the same layout */
        return snprintf(text, size, ", %s code 0x%08X", name, top->Parameters.DeviceIoControl.IoControlCode);
    case IRP_MJ_PNP:
    case IRP_MJ_POWER:
    case IRP_MJ_SYSTEM_CONTROL:
        return snprintf(text, size, ", %s minor function 0x%02X", name, top->MinorFunction);
    default:
        return snprintf(text, size, ", %s", name);
    }
}

const char *irp_text(PIRP irp, char text[IRP_TEXT_SIZE])
{
    int n = snprintf(text, IRP_TEXT_SIZE, "IRP %p", (void *)irp);

    (void)irp_text_major(irp, text + n, IRP_TEXT_SIZE - (size_t)n);
    return text;
}

const char *irp_status_text(NTSTATUS status, char text[IRP_STATUS_TEXT_SIZE])
{
    const char *name = kernel_status_name((uint32_t)status);

    if (name)
        (void)snprintf(text, IRP_STATUS_TEXT_SIZE, "%s", name);
    else
        (void)snprintf(text, IRP_STATUS_TEXT_SIZE, "status 0x%08X", (uint32_t)status);
    return text;
}
