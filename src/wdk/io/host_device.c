/* SPDX-License-Identifier: MIT */
/* Implements the host program's calls to drivers' devices: see openndk/wdk.h. */
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "openndk/wdk.h"
#include "wdk/common/host_error.h"
#include "wdk/common/kernel_names.h"
#include "wdk/common/text.h"
#include "wdk/io/device.h"
#include "wdk/io/irp.h"
#include "wdk/ke/clock.h"
#include "wdk/ob/object.h"
#include "wdk/ps/process.h"

struct ondk_wdk_device {
    PFILE_OBJECT file;
};

enum { MAX_NAME = 1000 };

/* Converts a name. \\.\X, \\?\X and X become \??\X. \Device\X remains \Device\X. The caller frees the buffer. */
static bool host_device_name(UNICODE_STRING *out, const char *name)
{
    char whole[MAX_NAME + 8];
    size_t n;

    if (strlen(name) > MAX_NAME)
        return false;
    if (!strncmp(name, "\\\\.\\", 4) || !strncmp(name, "\\\\?\\", 4))
        n = (size_t)snprintf(whole, sizeof whole, "\\??\\%s", name + 4);
    else
        n = (size_t)snprintf(whole, sizeof whole, "%s%s", name[0] == '\\' ? "" : "\\??\\", name);
    out->Buffer = text_wide_copy(whole);
    if (!out->Buffer)
        return false;
    n = text_wide_length(out->Buffer) * sizeof(WCHAR);
    out->Length = out->MaximumLength = (USHORT)n;
    return true;
}

static const char *host_device_reason(NTSTATUS status, bool is_class)
{
    switch (status) {
    case STATUS_OBJECT_NAME_NOT_FOUND:
        return is_class ? "no driver has enabled a device interface of this class"
                        : "no driver has created a device or symbolic link of this name, or its driver refused";
    case STATUS_ACCESS_DENIED:
        return "the device is exclusive and open, its security descriptor denies it, or its driver denied it";
    case STATUS_NO_SUCH_DEVICE:
        return "its driver has not cleared DO_DEVICE_INITIALIZING";
    case STATUS_INVALID_DEVICE_REQUEST:
        return "its driver has no dispatch routine for IRP_MJ_CREATE";
    default:
        return "its driver refused";
    }
}

/*
 * Opens a device by the class of its interface. `name` is \??\ and the class' GUID. If several interfaces of the class
 * are enabled, chooses the interface that was registered first.
 */
static NTSTATUS host_device_open_class(const UNICODE_STRING *name, PFILE_OBJECT *file)
{
    UNICODE_STRING link = { 0 }, text = { .Buffer = name->Buffer + 4, .Length = name->Length - 4 * sizeof(WCHAR) };
    ULONG_PTR information;
    NTSTATUS status;
    GUID class;

    if (!NT_SUCCESS(RtlGUIDFromString(&text, &class)) || !interface_find_enabled(&class, &link))
        return STATUS_OBJECT_NAME_NOT_FOUND;
    status = file_object_open(&link, FILE_GENERIC_READ | FILE_GENERIC_WRITE, 0, 0, IRP_FROM_USER, file, &information);
    free(link.Buffer);
    return status;
}

/* Stores the reason why a device is not open, and returns -1. */
static int host_device_error(const char *device, NTSTATUS status, bool is_class)
{
    const char *name = kernel_status_name((uint32_t)status);
    char number[16];

    snprintf(number, sizeof number, "0x%08X", (uint32_t)status);
    return host_error("%s: %s: %s", device, name ? name : number, host_device_reason(status, is_class));
}

int ondk_wdk_open(const char *name, ondk_wdk_device_t **device, uint32_t *status)
{
    struct ondk_wdk_device *d = calloc(1, sizeof *d);
    NTSTATUS result = STATUS_INSUFFICIENT_RESOURCES;
    bool is_class = name[0] == '{';
    UNICODE_STRING wide = { 0 };
    ULONG_PTR information;

    if (d && host_device_name(&wide, name))
        result = process_begin();
    if (d && wide.Buffer && NT_SUCCESS(result))
        result = file_object_open(&wide, FILE_GENERIC_READ | FILE_GENERIC_WRITE, 0, 0, IRP_FROM_USER, &d->file,
                                  &information);
    if (is_class && result == STATUS_OBJECT_NAME_NOT_FOUND)
        result = host_device_open_class(&wide, &d->file);
    free(wide.Buffer);
    *status = (uint32_t)result;
    if (!NT_SUCCESS(result)) {
        free(d);
        return host_device_error(name, result, is_class);
    }
    *device = d;
    return 0;
}

void ondk_wdk_close(ondk_wdk_device_t *device)
{
    file_object_cleanup(device->file);
    ob_unref(device->file);
    free(device);
}

void ondk_wdk_cancel(ondk_wdk_device_t *device)
{
    irp_cancel_file(device->file);
}

void ondk_wdk_cancel_thread(uint32_t thread)
{
    irp_cancel_thread(thread);
}

/* ---- Pending requests ------------------------------------------------------------------------------------------- */

static const char *host_request_name(UCHAR major)
{
    const char *name = kernel_irp_major_name(major);

    return name ? name : "request";
}

static void host_request_print(const struct irp_pending *p, FILE *out)
{
    long long tenths = p->age * 10 / CLOCK_UNITS;

    fprintf(out, "pending: %s", host_request_name(p->major));
    if (p->major == IRP_MJ_DEVICE_CONTROL)
        fprintf(out, " 0x%X", p->code);
    fprintf(out, " to %s, for %lld.%lld s, sent by thread %u, IRP %p\n", p->driver, tenths / 10, tenths % 10, p->thread,
            p->irp);
    fprintf(out, "    its dispatch routine has %s\n", p->returned ? "returned STATUS_PENDING" : "not returned");
    if (p->completed) {
        fprintf(out, "    the IRP is completed\n");
        return;
    }
    fprintf(out, "    the IRP is %smarked pending%s\n", p->marked ? "" : "not ",
            p->cancelled ? ", and it was cancelled" : "");
    fprintf(out, "    %s\n", p->cancel ? "its cancel routine is" : "it has no cancel routine");
    if (p->cancel) {
        struct stack routine = { .frames = { (char *)(uintptr_t)p->cancel + 1 }, .depth = 1 };

        stack_print(&routine, out, "      ");
    }
}

/*
 * Prints at most ROOM pending requests. Returns the number of printed requests whose dispatch routine has not returned.
 */
uint32_t ondk_wdk_report_requests(uint32_t thread, FILE *out)
{
    enum { ROOM = 16 };
    struct irp_pending found[ROOM];
    unsigned n = irp_copy_pending(thread, found, ROOM);
    uint32_t inside = 0;

    for (unsigned i = 0; i < n && i < ROOM; i++) {
        host_request_print(&found[i], out);
        inside += !found[i].returned;
    }
    return inside;
}

/* ---- Requests --------------------------------------------------------------------------------------------------- */

static int host_device_fail(NTSTATUS why, uint32_t *status)
{
    *status = (uint32_t)why;
    return host_error("no request could be created: 0x%08X: %s", (uint32_t)why, host_device_reason(why, false));
}

/*
 * Sends the request. Sets *length to the IRP's Information, or to `room`, the size of the buffer, if Information is
 * larger by a driver's mistake. Otherwise the program might read beyond its buffer.
 */
static int host_device_send(PIRP irp, uint32_t room, uint32_t *length, uint32_t *status)
{
    ULONG_PTR information = 0;

    *status = (uint32_t)irp_send(irp, &information);
    if (length)
        *length = information < room ? (uint32_t)information : room;
    return 0;
}

int ondk_wdk_device_control(ondk_wdk_device_t *device, uint32_t code, const void *in, uint32_t in_length, void *out,
                            uint32_t out_capacity, uint32_t *out_length, uint32_t *status)
{
    struct irp_buffers buffers = { in, in_length, out, out_capacity };
    PIO_STACK_LOCATION next;
    PIRP irp = file_object_irp(device->file, IRP_MJ_DEVICE_CONTROL, IRP_FROM_USER, &next);
    NTSTATUS result = irp ? irp_set_control(irp, code, &buffers) : STATUS_INSUFFICIENT_RESOURCES;

    if (!NT_SUCCESS(result))
        return host_device_fail(result, status);
    return host_device_send(irp, out_capacity, out_length, status);
}

static int host_device_transfer(ondk_wdk_device_t *device, UCHAR major, const struct irp_buffers *buffers,
                                uint64_t offset, uint32_t *length, uint32_t *status)
{
    PIO_STACK_LOCATION next;
    PIRP irp = file_object_irp(device->file, major, IRP_FROM_USER, &next);
    NTSTATUS result = irp ? irp_set_transfer(irp, buffers, (int64_t)offset) : STATUS_INSUFFICIENT_RESOURCES;

    if (!NT_SUCCESS(result))
        return host_device_fail(result, status);
    /* in_length or out_capacity is 0. */
    return host_device_send(irp, buffers->in_length + buffers->out_capacity, length, status);
}

int ondk_wdk_read(ondk_wdk_device_t *device, uint64_t offset, void *out, uint32_t out_capacity, uint32_t *out_length,
                  uint32_t *status)
{
    struct irp_buffers buffers = { NULL, 0, out, out_capacity };

    return host_device_transfer(device, IRP_MJ_READ, &buffers, offset, out_length, status);
}

int ondk_wdk_write(ondk_wdk_device_t *device, uint64_t offset, const void *in, uint32_t in_length, uint32_t *in_taken,
                   uint32_t *status)
{
    struct irp_buffers buffers = { in, in_length, NULL, 0 };

    return host_device_transfer(device, IRP_MJ_WRITE, &buffers, offset, in_taken, status);
}
