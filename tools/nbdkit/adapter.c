/* SPDX-License-Identifier: MIT */
/*
 * Opens and queries the first Storport adapter: see adapter.h. The structures of its device controls are Windows' own.
 * So this file includes the kernel's headers, and is compiled like a driver.
 */
#include <stdlib.h>
#include <string.h>

#include "ntddscsi.h"
#include "scsi.h"

#include "adapter.h"
#include "ndkrun/scsi.h"

enum { MAX_LIST = 65536 };

bool adapter_open(ondk_wdk_device_t **adapter, FILE *out)
{
    uint32_t status;

    if (!ondk_wdk_open(SCSI_ADAPTER, adapter, &status))
        return true;
    fprintf(out, "ndkrun: --nbd: no driver has a Storport adapter: %s\n", ondk_wdk_error());
    return false;
}

uint32_t adapter_max_transfer(ondk_wdk_device_t *adapter)
{
    IO_SCSI_CAPABILITIES capabilities = { 0 };
    uint64_t pages, limit;
    uint32_t status;

    if (ondk_wdk_device_control(adapter, IOCTL_SCSI_GET_CAPABILITIES, NULL, 0, &capabilities, sizeof capabilities, NULL,
                                &status) ||
        !NT_SUCCESS((NTSTATUS)status))
        return 0;
    /*
     * Data of n pages may begin inside a page and then touch n + 1 pages. So the limit is one page less than
     * MaximumPhysicalPages, but at least one page, as in Windows' class driver.
     */
    pages = capabilities.MaximumPhysicalPages;
    limit = pages > 1 ? (pages - 1) << PAGE_SHIFT : PAGE_SIZE;
    return !pages || limit > capabilities.MaximumTransferLength ? capabilities.MaximumTransferLength : (uint32_t)limit;
}

/* Appends a field of the inquiry data, without its trailing spaces, to `model`. */
static void adapter_append_field(char *model, size_t room, const UCHAR *field, int width)
{
    size_t length = strlen(model);

    while (width && (field[width - 1] == ' ' || !field[width - 1]))
        width--;
    snprintf(model + length, room - length, "%s%.*s", length ? " " : "", width, (const char *)field);
}

static void adapter_set_unit(struct adapter_unit *u, const SCSI_INQUIRY_DATA *entry)
{
    const INQUIRYDATA *inquiry = (const void *)entry->InquiryData;

    *u = (struct adapter_unit){ .path = entry->PathId, .target = entry->TargetId, .lun = entry->Lun };
    snprintf(u->address, sizeof u->address, "%u:%u:%u", u->path, u->target, u->lun);
    adapter_append_field(u->model, sizeof u->model, inquiry->VendorId, sizeof inquiry->VendorId);
    adapter_append_field(u->model, sizeof u->model, inquiry->ProductId, sizeof inquiry->ProductId);
    adapter_append_field(u->model, sizeof u->model, inquiry->ProductRevisionLevel,
                         sizeof inquiry->ProductRevisionLevel);
}

static int adapter_compare(const void *a, const void *b)
{
    const struct adapter_unit *x = a, *y = b;
    int order = x->path - y->path;

    order = order ? order : x->target - y->target;
    return order ? order : x->lun - y->lun;
}

uint32_t adapter_list_disks(ondk_wdk_device_t *adapter, struct adapter_unit units[ADAPTER_MAX_UNITS])
{
    char *list = calloc(1, MAX_LIST);
    const SCSI_ADAPTER_BUS_INFO *info = (const void *)list;
    uint32_t status, count = 0;

    if (!list ||
        ondk_wdk_device_control(adapter, IOCTL_SCSI_GET_INQUIRY_DATA, NULL, 0, list, MAX_LIST, NULL, &status) ||
        !NT_SUCCESS((NTSTATUS)status)) {
        free(list);
        return 0;
    }
    for (unsigned path = 0; path < info->NumberOfBuses; path++) {
        ULONG at = info->BusData[path].InquiryDataOffset;

        while (at && count < ADAPTER_MAX_UNITS) {
            const SCSI_INQUIRY_DATA *entry = (const void *)(list + at);

            if ((entry->InquiryData[0] & 0x1f) == DIRECT_ACCESS_DEVICE)
                adapter_set_unit(&units[count++], entry);
            at = entry->NextInquiryDataOffset;
        }
    }
    free(list);
    qsort(units, count, sizeof *units, adapter_compare);
    return count;
}
