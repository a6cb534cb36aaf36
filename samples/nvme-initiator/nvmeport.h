/* SPDX-License-Identifier: MIT */
/*
 * The upper part of the driver: a Storport adapter whose SCSI targets are NVMe controllers and whose logical units are
 * the controllers' namespaces. nvmedrv.h has the list of files and the interface to the lower part.
 */
#ifndef NVMEPORT_H
#define NVMEPORT_H

#include "nvmedrv.h"
#include "nvmescsi.h"

#define NVME_MAX_GROUPS 8 /* controllers of the adapter: its SCSI targets */

typedef struct _NVME_ADAPTER NVME_ADAPTER;

/* One namespace, which is one logical unit. */
typedef struct _NVME_DISK {
    BOOLEAN Attention; /* the capacity has changed, and the next command reports that */
    LONG Outstanding;  /* SRBs of this unit that are not completed */
    NVME_SCSI_UNIT Unit;
} NVME_DISK;

/* The namespaces of one controller, which is one SCSI target. */
typedef struct _NVME_DISK_GROUP {
    NVME_ADAPTER *Adapter;
    LONG References;                      /* one of the table, one of each SRB and of each device control */
    UCHAR TargetId;
    NVME_TARGET Target;
    /* Adapter->Lock guards the following members. */
    NVME_CONTROLLER *Controller;          /* NULL until the controller exists; then the group has a reference */
    LONG Outstanding;                     /* SRBs of the group that are not completed */
    LIST_ENTRY Resets;                    /* SRBs that wait for the completion of others */
    ULONGLONG Luns;                       /* one bit for each of the Disks that exists */
    NVME_DISK Disks[NVME_SCSI_MAX_LUNS];
    /* Only the controller's thread uses these: they are too large for its stack. */
    NVME_NAMESPACE Found[NVME_MAX_NAMESPACES];
    NVME_CONTROLLER_INFO Info;
} NVME_DISK_GROUP;

/* The adapter's device extension, which Storport fills with zeros. */
struct _NVME_ADAPTER {
    BOOLEAN Registered; /* NvmeProviderRegister has succeeded */
    KMUTEX Connecting;  /* held while controllers are created and deleted */
    KSPIN_LOCK Lock;
    NVME_DISK_GROUP *Groups[NVME_MAX_GROUPS]; /* by TargetId; guarded by Lock */
};

/* The extension of an SRB. Storport does not initialize it. */
typedef struct _NVME_SRB {
    PSCSI_REQUEST_BLOCK Srb;
    NVME_DISK_GROUP *Group;
    ULONG Lun;
    LIST_ENTRY Link;      /* a reset: in Group->Resets */
    const LONG *WaitsFor; /* a reset: an Outstanding count of the group, which must become 0 */
    NVME_REQUEST Request;
    NVME_SCSI_REQUEST Scsi;
} NVME_SRB;

/* Describes a SCSI command's unit. It is a copy, so that nothing changes while the command is translated. */
typedef struct _NVME_DISK_VIEW {
    NVME_SCSI_UNIT Unit;
    BOOLEAN Present;   /* FALSE: the target exists, but not its unit 0, which the command is for */
    BOOLEAN Attention; /* the command must report that the capacity has changed */
    ULONGLONG Luns;    /* one bit for each unit of the target */
} NVME_DISK_VIEW;

/* ---- miniport.c -------------------------------------------------------------------------------------------------- */

extern NVME_SETTINGS NvmeSettings; /* read in DriverEntry */

/* ---- disks.c ----------------------------------------------------------------------------------------------------- */

/* PASSIVE_LEVEL. Creates a controller with NVME_CREATE_... flags; *TargetId receives the number of its SCSI target. */
NTSTATUS NvmeDisksConnect(NVME_ADAPTER *Adapter, const NVME_TARGET *Target, ULONG Flags, PULONG TargetId);
/* PASSIVE_LEVEL. Deletes a controller, and its disks disappear. STATUS_NO_SUCH_DEVICE: there is none. */
NTSTATUS NvmeDisksDisconnect(NVME_ADAPTER *Adapter, ULONG TargetId);
/* DISPATCH_LEVEL. Returns the group with a reference, or NULL. */
NVME_DISK_GROUP *NvmeDisksReference(NVME_ADAPTER *Adapter, ULONG TargetId);
/* DISPATCH_LEVEL. Returns the group's controller, which is valid as long as the group, or NULL: none yet. */
NVME_CONTROLLER *NvmeDisksController(NVME_DISK_GROUP *Group);
/* DISPATCH_LEVEL. */
VOID NvmeDisksRelease(NVME_DISK_GROUP *Group);
/*
 * DISPATCH_LEVEL. Finds the unit of a SCSI command, describes it, and counts the SRB, which NvmeDisksEnd must end.
 * Returns SRB_STATUS_PENDING; or the status with which the SRB fails, and then the SRB is not counted.
 */
UCHAR NvmeDisksBegin(NVME_ADAPTER *Adapter, NVME_SRB *Srb, NVME_DISK_VIEW *View);
/*
 * DISPATCH_LEVEL. The SRB of the group's unit has been completed. Completes the resets that have waited for this SRB,
 * and releases the SRB's reference to the group.
 */
VOID NvmeDisksEnd(NVME_DISK_GROUP *Group, ULONG Lun);
/*
 * DISPATCH_LEVEL. Aborts the requests of a unit, or of all units of the target. Returns SRB_STATUS_PENDING if the reset
 * completes when these requests have completed, perhaps before the return; otherwise the status with which it fails.
 */
UCHAR NvmeDisksReset(NVME_ADAPTER *Adapter, NVME_SRB *Srb, BOOLEAN WholeTarget);

/* ---- startio.c --------------------------------------------------------------------------------------------------- */

HW_STARTIO NvmeStartIo;
HW_RESET_BUS NvmeResetBus;
/* DISPATCH_LEVEL. Completes the SRB; its memory, with the extension, is not valid any more. */
VOID NvmeCompleteSrb(NVME_ADAPTER *Adapter, PSCSI_REQUEST_BLOCK Srb, UCHAR Status);

/* ---- control.c --------------------------------------------------------------------------------------------------- */

HW_PROCESS_SERVICE_REQUEST NvmeProcessServiceRequest;

#endif
