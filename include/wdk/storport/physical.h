/* SPDX-License-Identifier: MIT */
/* Structures of hardware miniports. Virtual miniports may use the types, but receive no such structure. */
#ifndef ONDK_WDK_STORPORT_PHYSICAL_H
#define ONDK_WDK_STORPORT_PHYSICAL_H

#include "config.h"

typedef struct _STOR_SCATTER_GATHER_ELEMENT {
    STOR_PHYSICAL_ADDRESS PhysicalAddress;
    ULONG Length;
    ULONG_PTR Reserved;
} STOR_SCATTER_GATHER_ELEMENT, *PSTOR_SCATTER_GATHER_ELEMENT;

/* NumberOfElements elements follow. */
typedef struct _STOR_SCATTER_GATHER_LIST {
    ULONG NumberOfElements;
    ULONG_PTR Reserved;
    STOR_SCATTER_GATHER_ELEMENT List[];
} STOR_SCATTER_GATHER_LIST, *PSTOR_SCATTER_GATHER_LIST;

/* The answer to ScsiUnitRichDescription, which the port does not send. The lengths are those of NVMe. */
#define STOR_RICH_DEVICE_DESCRIPTION_STRUCTURE_VERSION 1
#define STOR_VENDOR_ID_LENGTH 8
#define STOR_MODEL_NUMBER_LENGTH 40
#define STOR_FIRMWARE_REVISION_LENGTH 8

typedef struct _STOR_RICH_DEVICE_DESCRIPTION {
    ULONG Version;
    ULONG Size;
    UCHAR VendorId[STOR_VENDOR_ID_LENGTH + 1];
    UCHAR ModelNumber[STOR_MODEL_NUMBER_LENGTH + 1];
    UCHAR FirmwareRevision[STOR_FIRMWARE_REVISION_LENGTH + 1];
} STOR_RICH_DEVICE_DESCRIPTION, *PSTOR_RICH_DEVICE_DESCRIPTION;

#endif
