/* SPDX-License-Identifier: MIT */
/*
 * Cancel-safe queues. The driver's routines maintain the queue. The functions below make sure that each request is
 * removed only once, by the driver or by its cancellation. They use DriverContext[3] of a queued IRP.
 */
#ifndef ONDK_WDK_WDM_CSQ_H
#define ONDK_WDK_WDM_CSQ_H

#include "io.h"

EXTERN_C_START

typedef struct _IO_CSQ IO_CSQ, *PIO_CSQ;
typedef struct _IO_CSQ_IRP_CONTEXT {
    ULONG Type;
    PIRP Irp;
    PIO_CSQ Csq;
} IO_CSQ_IRP_CONTEXT, *PIO_CSQ_IRP_CONTEXT;

typedef VOID IO_CSQ_INSERT_IRP(PIO_CSQ Csq, PIRP Irp);
typedef IO_CSQ_INSERT_IRP *PIO_CSQ_INSERT_IRP;
typedef NTSTATUS IO_CSQ_INSERT_IRP_EX(PIO_CSQ Csq, PIRP Irp, PVOID InsertContext);
typedef IO_CSQ_INSERT_IRP_EX *PIO_CSQ_INSERT_IRP_EX;
typedef VOID IO_CSQ_REMOVE_IRP(PIO_CSQ Csq, PIRP Irp);
typedef IO_CSQ_REMOVE_IRP *PIO_CSQ_REMOVE_IRP;
typedef PIRP IO_CSQ_PEEK_NEXT_IRP(PIO_CSQ Csq, PIRP Irp, PVOID PeekContext);
typedef IO_CSQ_PEEK_NEXT_IRP *PIO_CSQ_PEEK_NEXT_IRP;
typedef VOID IO_CSQ_ACQUIRE_LOCK(PIO_CSQ Csq, PKIRQL Irql);
typedef IO_CSQ_ACQUIRE_LOCK *PIO_CSQ_ACQUIRE_LOCK;
typedef VOID IO_CSQ_RELEASE_LOCK(PIO_CSQ Csq, KIRQL Irql);
typedef IO_CSQ_RELEASE_LOCK *PIO_CSQ_RELEASE_LOCK;
typedef VOID IO_CSQ_COMPLETE_CANCELED_IRP(PIO_CSQ Csq, PIRP Irp);
typedef IO_CSQ_COMPLETE_CANCELED_IRP *PIO_CSQ_COMPLETE_CANCELED_IRP;

struct _IO_CSQ {
    ULONG Type;
    PIO_CSQ_INSERT_IRP CsqInsertIrp; /* or PIO_CSQ_INSERT_IRP_EX, depending on Type */
    PIO_CSQ_REMOVE_IRP CsqRemoveIrp;
    PIO_CSQ_PEEK_NEXT_IRP CsqPeekNextIrp;
    PIO_CSQ_ACQUIRE_LOCK CsqAcquireLock;
    PIO_CSQ_RELEASE_LOCK CsqReleaseLock;
    PIO_CSQ_COMPLETE_CANCELED_IRP CsqCompleteCanceledIrp;
    PVOID ReservePointer;
};

NTKERNELAPI NTSTATUS IoCsqInitialize(_In_ PIO_CSQ Csq, _In_ PIO_CSQ_INSERT_IRP CsqInsertIrp,
                                     _In_ PIO_CSQ_REMOVE_IRP CsqRemoveIrp, _In_ PIO_CSQ_PEEK_NEXT_IRP CsqPeekNextIrp,
                                     _In_ PIO_CSQ_ACQUIRE_LOCK CsqAcquireLock,
                                     _In_ PIO_CSQ_RELEASE_LOCK CsqReleaseLock,
                                     _In_ PIO_CSQ_COMPLETE_CANCELED_IRP CsqCompleteCanceledIrp);
NTKERNELAPI NTSTATUS IoCsqInitializeEx(_In_ PIO_CSQ Csq, _In_ PIO_CSQ_INSERT_IRP_EX CsqInsertIrp,
                                       _In_ PIO_CSQ_REMOVE_IRP CsqRemoveIrp, _In_ PIO_CSQ_PEEK_NEXT_IRP CsqPeekNextIrp,
                                       _In_ PIO_CSQ_ACQUIRE_LOCK CsqAcquireLock,
                                       _In_ PIO_CSQ_RELEASE_LOCK CsqReleaseLock,
                                       _In_ PIO_CSQ_COMPLETE_CANCELED_IRP CsqCompleteCanceledIrp);
NTKERNELAPI VOID IoCsqInsertIrp(_In_ PIO_CSQ Csq, _In_ PIRP Irp, _In_opt_ PIO_CSQ_IRP_CONTEXT Context);
NTKERNELAPI NTSTATUS IoCsqInsertIrpEx(_In_ PIO_CSQ Csq, _In_ PIRP Irp, _In_opt_ PIO_CSQ_IRP_CONTEXT Context,
                                      _In_opt_ PVOID InsertContext);
NTKERNELAPI PIRP IoCsqRemoveIrp(_In_ PIO_CSQ Csq, _In_ PIO_CSQ_IRP_CONTEXT Context);
NTKERNELAPI PIRP IoCsqRemoveNextIrp(_In_ PIO_CSQ Csq, _In_opt_ PVOID PeekContext);

EXTERN_C_END

#endif
