/* SPDX-License-Identifier: MIT */
/*
 * Translates SCSI commands to NVMe commands, and NVMe status to SCSI status with sense data. The functions in these
 * files use no other part of the driver, do not wait and allocate nothing, so they run at any IRQL and on any thread.
 *
 *   scsi.c          the table of commands, and commands about the unit: REPORT LUNS, MODE SENSE, START STOP UNIT...
 *   scsi_inquiry.c  INQUIRY and its pages, READ CAPACITY
 *   scsi_block.c    commands for blocks: reads, writes, flushes, unmaps
 *   scsi_sense.c    status and sense data
 *
 * The caller sets the first part of an NVME_SCSI_REQUEST and calls NvmeScsiTranslate. This function either answers the
 * SCSI command or builds an NVMe command for it. When the NVMe command has completed, NvmeScsiFinish sets the answer.
 */
#ifndef NVMESCSI_H
#define NVMESCSI_H

#include <ntddk.h>
#include <storport.h>

#include "../nvme/nvme.h"

#define NVME_SCSI_MAX_LUNS 64   /* number of bits in NVME_SCSI_REQUEST.Luns */
#define NVME_SCSI_MAX_RANGES 16 /* maximum number of descriptors in one UNMAP */
#define NVME_SCSI_MAX_BLOCKS 65536 /* maximum number of blocks in one NVMe command */

/* A logical unit, which is one namespace of one controller. */
typedef struct _NVME_SCSI_UNIT {
    ULONG NamespaceId;
    ULONG BlockSize;              /* in bytes; a power of two */
    ULONGLONG BlockCount;         /* at least 1 */
    ULONG MaximumTransfer;        /* maximum number of data bytes in a SCSI command */
    ULONG PartTransfer;           /* maximum number of data bytes in an NVMe command */
    BOOLEAN Ready;                /* the controller is connected */
    BOOLEAN ReadOnly;
    BOOLEAN ThinProvisioned;
    BOOLEAN VolatileCache;
    BOOLEAN CanDeallocate;        /* the controller supports Dataset Management */
    BOOLEAN CanWriteZeroes;
    BOOLEAN ZeroesDeallocate;     /* Write Zeroes may deallocate the blocks */
    BOOLEAN CanCompare;
    BOOLEAN DeallocatedReadsZero;
    UCHAR Eui64[8], Nguid[16];    /* all zero: none */
    UCHAR Uuid[16];               /* all zero: none */
    CHAR Serial[20], Model[40], Firmware[8]; /* padded with blanks, without a terminator */
} NVME_SCSI_UNIT;

typedef enum _NVME_SCSI_DATA {
    NvmeScsiNoData,
    NvmeScsiDataIn,
    NvmeScsiDataOut
} NVME_SCSI_DATA;

typedef enum _NVME_SCSI_STEP {
    NvmeScsiAnswered,  /* the command needs no NVMe command; the answer is in the request */
    NvmeScsiSend,      /* Command must be sent, without data */
    /*
     * Command must be sent, with the first Transferred bytes of the caller's data. If they are more than PartTransfer,
     * the caller must send several commands, each with a part of the blocks and of the data.
     */
    NvmeScsiSendData,
    NvmeScsiSendRanges /* Command must be sent, with RangeCount entries of Ranges */
} NVME_SCSI_STEP;

typedef struct _NVME_SCSI_REQUEST {
    /* The caller sets: */
    const CDB *Cdb;            /* 16 bytes, of which CdbLength are valid */
    UCHAR CdbLength;
    NVME_SCSI_DATA Direction;
    PUCHAR Data;               /* may be NULL for a read or write: see NvmeScsiTransferDirection */
    ULONG DataLength;
    ULONGLONG Luns;            /* bit n: the target has the logical unit n */
    /* NvmeScsiTranslate and NvmeScsiFinish set: */
    UCHAR ScsiStatus;          /* SCSISTAT_... */
    UCHAR SenseKey, SenseCode, SenseQualifier; /* valid with SCSISTAT_CHECK_CONDITION */
    ULONG Transferred;         /* number of data bytes transferred; 0 after a failure */
    struct nvme_command Command; /* without command identifier and SGL */
    ULONG RangeCount;
    struct nvme_dataset_range Ranges[NVME_SCSI_MAX_RANGES];
} NVME_SCSI_REQUEST;

/*
 * Translates a SCSI command, or answers it. Unit must be NULL if the target has no such unit. Returns what the caller
 * must do next.
 */
NVME_SCSI_STEP NvmeScsiTranslate(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request);
/* Sets the answer. NvmeStatus is the status field of a completion queue entry, without the phase bit. */
VOID NvmeScsiFinish(NVME_SCSI_REQUEST *Request, USHORT NvmeStatus);
/*
 * If the command is a read or write, returns the direction of its data, and NVME_SCSI_REQUEST.Data may be NULL. Returns
 * NvmeScsiNoData for all other commands.
 */
NVME_SCSI_DATA NvmeScsiTransferDirection(const CDB *Cdb);
/* Returns FALSE for a command that is answered even if the unit has a unit attention to report. */
BOOLEAN NvmeScsiReportsAttention(const CDB *Cdb);
/* Completes the request with a check condition and this sense data. Returns NvmeScsiAnswered. */
NVME_SCSI_STEP NvmeScsiFail(NVME_SCSI_REQUEST *Request, UCHAR Key, UCHAR Code, UCHAR Qualifier);
/* Writes up to Length bytes of the sense data. Returns the number of bytes written: 0 without a check condition. */
UCHAR NvmeScsiWriteSense(const NVME_SCSI_REQUEST *Request, PVOID Sense, UCHAR Length);

/* ---- Used only by the files in the list above -------------------------------------------------------------------- */

typedef NVME_SCSI_STEP NVME_SCSI_COMMAND(const NVME_SCSI_UNIT *Unit, NVME_SCSI_REQUEST *Request);

/*
 * Completes the request with the first bytes of Answer, which has Length bytes. Copies at most AllocationLength bytes,
 * a limit from the command, and at most the size of the caller's data buffer.
 */
NVME_SCSI_STEP NvmeScsiAnswer(NVME_SCSI_REQUEST *Request, const VOID *Answer, ULONG Length, ULONG AllocationLength);
NVME_SCSI_STEP NvmeScsiSucceed(NVME_SCSI_REQUEST *Request);
/* Completes the request with the sense data for a field that is invalid or not supported. */
NVME_SCSI_STEP NvmeScsiInvalidCdb(NVME_SCSI_REQUEST *Request);
NVME_SCSI_COMMAND NvmeScsiInquiry, NvmeScsiReadCapacity, NvmeScsiReadCapacity16;
NVME_SCSI_COMMAND NvmeScsiReadWrite, NvmeScsiVerify, NvmeScsiSynchronizeCache, NvmeScsiUnmap, NvmeScsiWriteSame;
NVME_SCSI_COMMAND NvmeScsiFlush; /* Sends a Flush, or succeeds at once if the unit has no volatile cache. */

/* Numbers in SCSI are big-endian and may have any alignment. */
static inline ULONG NvmeScsiGet16(const UCHAR *At)
{
    return (ULONG)At[0] << 8 | At[1];
}

static inline ULONG NvmeScsiGet32(const UCHAR *At)
{
    return NvmeScsiGet16(At) << 16 | NvmeScsiGet16(At + 2);
}

static inline ULONGLONG NvmeScsiGet64(const UCHAR *At)
{
    return (ULONGLONG)NvmeScsiGet32(At) << 32 | NvmeScsiGet32(At + 4);
}

static inline VOID NvmeScsiPut16(PUCHAR At, ULONG Value)
{
    At[0] = (UCHAR)(Value >> 8);
    At[1] = (UCHAR)Value;
}

static inline VOID NvmeScsiPut32(PUCHAR At, ULONG Value)
{
    NvmeScsiPut16(At, Value >> 16);
    NvmeScsiPut16(At + 2, Value);
}

static inline VOID NvmeScsiPut64(PUCHAR At, ULONGLONG Value)
{
    NvmeScsiPut32(At, (ULONG)(Value >> 32));
    NvmeScsiPut32(At + 4, (ULONG)Value);
}

#endif
