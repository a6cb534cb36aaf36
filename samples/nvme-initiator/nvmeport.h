/* SPDX-License-Identifier: MIT */
/*
 * Declarations of the driver's upper part, which presents a Storport adapter. Each SCSI target of the adapter is an
 * NVMe controller, and each logical unit is a namespace. nvmedrv.h lists the files and declares the lower part's
 * interface.
 */
#ifndef NVMEPORT_H
#define NVMEPORT_H

#include "nvmedrv.h"
#include "nvmescsi.h"

#define NVME_MAX_GROUPS 8 /* maximum number of controllers, which are the adapter's SCSI targets */

typedef struct _NVME_ADAPTER NVME_ADAPTER;

/* One logical unit, which is one namespace. */
typedef struct _NVME_DISK {
    BOOLEAN Attention; /* the next command must report that the capacity has changed */
    LONG Outstanding;  /* number of SRBs of this unit that have not completed */
    ULONG Generation;  /* number of disks that have had this LUN until now */
    NVME_SCSI_UNIT Unit;
} NVME_DISK;

/* One SCSI target, which is one controller with its namespaces. */
typedef struct _NVME_DISK_GROUP {
    NVME_ADAPTER *Adapter;
    /* Number of references: one for the table, one for each SRB and for each device control. */
    LONG References;
    UCHAR TargetId;
    NVME_TARGET Target;
    /* Adapter->Lock guards the following members. */
    NVME_CONTROLLER *Controller;          /* NULL until the controller exists; the group then has a reference to it */
    LONG Outstanding;                     /* number of SRBs of the group that have not completed */
    LIST_ENTRY Resets;                    /* resets (SRBs) that wait until other SRBs have completed */
    ULONGLONG Luns;                       /* bit n: Disks[n] exists */
    NVME_DISK Disks[NVME_SCSI_MAX_LUNS];
    /* Only the controller's thread uses these members. They are here because they are too large for a stack. */
    NVME_NAMESPACE Found[NVME_MAX_NAMESPACES];
    NVME_CONTROLLER_INFO Info;
} NVME_DISK_GROUP;

/* The adapter's device extension, which Storport fills with zeros. */
struct _NVME_ADAPTER {
    BOOLEAN Registered; /* NvmeProviderRegister has succeeded */
    KMUTEX Connecting;  /* held while a controller is created or deleted */
    KSPIN_LOCK Lock;
    NVME_DISK_GROUP *Groups[NVME_MAX_GROUPS]; /* indexed by TargetId; guarded by Lock */
};

/* The extension of an SRB. Storport does not initialize it. */
typedef struct _NVME_SRB {
    PSCSI_REQUEST_BLOCK Srb;
    NVME_DISK_GROUP *Group;
    ULONG Lun;
    ULONG Generation;     /* the disk's Generation when the SRB began */
    LONG Resets;          /* NvmeControllerResets when the SRB began, for each of its NVMe commands */
    LIST_ENTRY Link;      /* in Group->Resets; only for a reset */
    const LONG *WaitsFor; /* an Outstanding count of the group; the reset completes when the count is 0 */
    ULONG BlockSize;      /* block size of the unit, in bytes */
    ULONG PartSize;       /* maximum number of data bytes in one NVMe command */
    ULONGLONG Deadline;   /* end of the time limit, in the units of KeQueryInterruptTime; 0: no limit in the SRB */
    ULONG Left;           /* number of data bytes of a read or write that no completed NVMe command has transferred */
    NVME_REQUEST Request;
    NVME_SCSI_REQUEST Scsi;
} NVME_SRB;

/* A copy of a unit's properties, so that they do not change while a SCSI command is translated. */
typedef struct _NVME_DISK_VIEW {
    NVME_SCSI_UNIT Unit;
    BOOLEAN Present;   /* FALSE: the command is for unit 0 of an existing target, and the target has no unit 0 */
    BOOLEAN Attention; /* the command must report that the capacity has changed */
    ULONGLONG Luns;    /* bit n: the target has the unit n */
} NVME_DISK_VIEW;

/* ---- miniport.c -------------------------------------------------------------------------------------------------- */

extern NVME_SETTINGS NvmeSettings; /* read in DriverEntry */

/* ---- disks.c ----------------------------------------------------------------------------------------------------- */

/*
 * PASSIVE_LEVEL. Creates a controller with NVME_CREATE_... flags; *TargetId receives the number of its SCSI target.
 * Returns the statuses of NvmeControllerCreate, STATUS_OBJECT_NAME_COLLISION if the adapter has this target already, or
 * STATUS_INSUFFICIENT_RESOURCES if it has NVME_MAX_GROUPS targets.
 */
NTSTATUS NvmeDisksConnect(NVME_ADAPTER *Adapter, const NVME_TARGET *Target, ULONG Flags, PULONG TargetId);
/*
 * PASSIVE_LEVEL. Waits until the first attempt of each controller to connect has succeeded or failed, at most for the
 * setting CommandSeconds.
 */
VOID NvmeDisksWait(NVME_ADAPTER *Adapter);
/* PASSIVE_LEVEL. Deletes a controller and its disks. Returns STATUS_NO_SUCH_DEVICE if no controller has this number. */
NTSTATUS NvmeDisksDisconnect(NVME_ADAPTER *Adapter, ULONG TargetId);
/* DISPATCH_LEVEL. Acquires a reference to the group with the number TargetId. Returns the group, or NULL. */
NVME_DISK_GROUP *NvmeDisksReference(NVME_ADAPTER *Adapter, ULONG TargetId);
/*
 * DISPATCH_LEVEL. Returns the group's controller, or NULL if the group has none yet. The caller must have a reference
 * to the group while it uses the controller.
 */
NVME_CONTROLLER *NvmeDisksController(NVME_DISK_GROUP *Group);
/* DISPATCH_LEVEL. Releases a reference to the group. */
VOID NvmeDisksRelease(NVME_DISK_GROUP *Group);
/*
 * DISPATCH_LEVEL. Finds the unit of a SCSI command, copies its properties to *View, and counts the SRB as outstanding.
 * Returns SRB_STATUS_PENDING, after which the caller must call NvmeDisksEnd when the SRB has completed. If the SRB
 * fails, returns its status; the SRB is then not counted.
 */
UCHAR NvmeDisksBegin(NVME_ADAPTER *Adapter, NVME_SRB *Srb, NVME_DISK_VIEW *View);
/*
 * DISPATCH_LEVEL. Returns TRUE if a further NVMe command may be submitted for the SRB. Returns FALSE if the SRB's disk
 * was removed or replaced, or if a reset waits for the SRB.
 */
BOOLEAN NvmeDisksMayContinue(const NVME_SRB *Srb);
/*
 * DISPATCH_LEVEL. Counts an SRB of the group's unit as completed. Completes the resets that have waited for this SRB,
 * and releases the SRB's reference to the group.
 */
VOID NvmeDisksEnd(NVME_DISK_GROUP *Group, ULONG Lun);
/*
 * DISPATCH_LEVEL. Aborts the requests of a unit, or of all units of the target if WholeTarget is TRUE. Returns
 * SRB_STATUS_PENDING if the reset has begun. The reset completes after these requests, perhaps during this call. If the
 * reset has not begun, returns the status with which the caller must complete the reset.
 */
UCHAR NvmeDisksReset(NVME_ADAPTER *Adapter, NVME_SRB *Srb, BOOLEAN WholeTarget);
/*
 * DISPATCH_LEVEL. Resets all controllers. Does not wait for their SRBs, which complete soon after the return with
 * SRB_STATUS_BUS_RESET, or with their result if they have just been executed. SRBs that begin after the call are not
 * ended by it; they may wait until their controller is connected again.
 */
VOID NvmeDisksResetBus(NVME_ADAPTER *Adapter);

/* ---- startio.c --------------------------------------------------------------------------------------------------- */

HW_STARTIO NvmeStartIo;
HW_RESET_BUS NvmeResetBus;
/* DISPATCH_LEVEL. Completes the SRB. Afterwards the memory of the SRB and of its extension is not valid any more. */
VOID NvmeCompleteSrb(NVME_ADAPTER *Adapter, PSCSI_REQUEST_BLOCK Srb, UCHAR Status);

/* ---- control.c --------------------------------------------------------------------------------------------------- */

HW_PROCESS_SERVICE_REQUEST NvmeProcessServiceRequest;

#endif
