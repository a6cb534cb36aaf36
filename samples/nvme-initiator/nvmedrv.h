/* SPDX-License-Identifier: MIT */
/*
 * An NVMe over Fabrics initiator: a Storport virtual miniport whose disks are namespaces of NVMe targets, which it
 * reaches by RDMA through the Network Direct Kernel interface.
 *
 *   miniport.c   DriverEntry, starting and stopping the adapter
 *   startio.c    the requests of Storport
 *   disks.c      targets and units, which are controllers and namespaces
 *   control.c    device controls: discover, connect, disconnect, list (nvmeioctl.h)
 *   scsi*.c      translation of SCSI commands to NVMe commands (nvmescsi.h)
 *   -------------------------------------------------------------- this header
 *   settings.c   settings and targets from the registry
 *   discovery.c  the discovery log page of a target
 *   controller.c a controller: its thread, its states, reconnects
 *   setup.c      the commands with which a controller is set up
 *   namespace.c  the controller's namespaces, and the events that change them
 *   timeout.c    commands that take too long, and aborts
 *   queue.c      an admin or I/O queue: slots, commands, responses
 *   memory.c     the memory of a queue, registration and invalidation of data
 *   connect.c    the NDK objects of a queue: create, connect, close
 *   provider.c   opening an adapter through Winsock Kernel
 *   wait.c       waiting for NDK requests, at PASSIVE_LEVEL
 *   ../nvme      wire structures, Connect, private data, scatter gather descriptors
 *
 * This header is the interface between the two parts. It needs neither storport.h nor ndkpi.h; nvmendk.h has the
 * declarations of the lower part.
 *
 * Each function's comment begins with its highest IRQL.
 */
#ifndef NVMEDRV_H
#define NVMEDRV_H

#include <ntddk.h>
#include <ws2def.h>
#include <ws2ipdef.h>

#include "../nvme/nvme.h"

#define NVME_TAG 'emvN'
#define NVME_MAX_TARGETS 8             /* targets in the registry */
#define NVME_MAX_NAMESPACES 64         /* namespaces of one controller */
#define NVME_MAX_QUEUES 16             /* I/O queues of one controller */
#define NVME_MAX_DEPTH 1023            /* commands of one queue */
#define NVME_MAX_TRANSFER (128 * 1024) /* bytes of one command's data */

/* ---- settings.c ------------------------------------------------------------------------------------------------- */

/* A subsystem of a target. Interface 0: the interface and the local address are those of the route to Address. */
typedef struct _NVME_TARGET {
    SOCKADDR_INET Address;      /* with the port, usually 4420 */
    SOCKADDR_INET LocalAddress; /* only if Interface is not 0; port 0 */
    ULONG Interface;
    CHAR Subsystem[NVME_NQN_SIZE]; /* the subsystem's name (NQN) */
} NVME_TARGET;

typedef struct _NVME_SETTINGS {
    ULONG IoQueues;         /* I/O queues of a controller */
    ULONG QueueDepth;       /* commands of an I/O queue that the target has at the same time */
    ULONG MaxTransfer;      /* bytes of one command's data */
    ULONG KeepAliveSeconds; /* the target ends a controller that is silent for so long; 0: never */
    ULONG CommandSeconds;   /* a command without a time limit of its own is aborted after this */
    ULONG AbortSeconds;     /* the controller is reset if an aborted command has not ended after this */
    ULONG ReconnectSeconds; /* the longest pause between two attempts to reconnect: 1, 2, 4... up to this */
    ULONG IoFailSeconds;    /* requests fail if the connection has been away for so long */
    ULONG LossSeconds;      /* no more attempts after this; NVME_FOREVER: no limit */
    CHAR HostName[NVME_NQN_SIZE]; /* the host's name (NQN) */
    UCHAR HostId[16];
    ULONG TargetCount;      /* targets to which the miniport connects when it starts */
    NVME_TARGET Targets[NVME_MAX_TARGETS];
} NVME_SETTINGS;
#define NVME_FOREVER 0xFFFFFFFF

/*
 * PASSIVE_LEVEL. Reads the settings below the driver's service key. A value that is missing has its default; a value
 * that is out of range is brought into the range. A target that is malformed is printed and left out.
 */
VOID NvmeReadSettings(PUNICODE_STRING RegistryPath, NVME_SETTINGS *Settings);
/*
 * PASSIVE_LEVEL. Fills in a target from an address such as "192.168.1.1:4420" or "[fe80::1]:4420" and a name. Without
 * a port the port is 4420. Returns STATUS_INVALID_PARAMETER if the address or the name is malformed.
 */
NTSTATUS NvmeParseTarget(PCWSTR Address, PCSTR Subsystem, NVME_TARGET *Target);

/* ---- provider.c ------------------------------------------------------------------------------------------------- */

/* PASSIVE_LEVEL. Called once before the first controller is created. */
NTSTATUS NvmeProviderRegister(VOID);
/* PASSIVE_LEVEL. Called once after the last controller has been deleted. */
VOID NvmeProviderDeregister(VOID);

/* ---- Requests: queue.c ------------------------------------------------------------------------------------------ */

typedef struct _NVME_CONTROLLER NVME_CONTROLLER;
typedef struct _NVME_REQUEST NVME_REQUEST;

typedef enum _NVME_DIRECTION {
    NvmeNoData,
    NvmeToController,
    NvmeFromController
} NVME_DIRECTION;

/*
 * DISPATCH_LEVEL. The request has ended. The request and its data belong to the caller of NvmeSubmit again: this
 * driver and the target have no access to them any more. The routine may free the request, submit it again, or submit
 * others. No lock of the lower part is held. The routine runs inside NvmeSubmit, NvmeAbort or NvmeAbortAll, in a
 * callback of the adapter, or in the controller's thread.
 */
typedef VOID NVME_COMPLETION(NVME_REQUEST *Request);

/*
 * One NVMe command. The caller provides the memory, which must be nonpaged (an SRB extension, for example), and sets
 * the members of the first part; the members of the other parts need no initial values. The structure and the data
 * belong to the lower part from NvmeSubmit until the completion routine is called.
 */
struct _NVME_REQUEST {
    /* Set by the caller. */
    struct nvme_command Command; /* without command identifier, flags and data pointer */
    BOOLEAN Admin;               /* an admin command; otherwise an I/O command */
    NVME_DIRECTION Direction;    /* NvmeNoData: Mdl, Buffer and Length are not used */
    PMDL Mdl;                    /* the data: an MDL chain, locked, virtually contiguous; its first Length bytes */
    PVOID Buffer;                /* if Mdl is NULL: the data in nonpaged pool */
    ULONG Length;                /* 1 to the controller's MaxTransfer */
    ULONG Seconds;               /* time limit; 0: the setting CommandSeconds; NVME_FOREVER: none */
    NVME_COMPLETION *Completion;
    PVOID Context;               /* for the caller */

    /* Valid when the completion routine is called. */
    NTSTATUS Status;             /* see NvmeSubmit */
    USHORT NvmeStatus;           /* enum nvme_status, perhaps with NVME_DNR and NVME_MORE */
    ULONGLONG Result;            /* dwords 0 and 1 of the completion */

    /* Only for the lower part. */
    LIST_ENTRY Link;             /* in a list of waiting or ended requests, while the request has no slot */
    ULONGLONG Deadline;          /* of the command that was sent, in the units of KeQueryInterruptTime */
    BOOLEAN Aborted;             /* NvmeAbort was called: the request is not repeated after a reconnect */
    BOOLEAN AbortSent;           /* an Abort command was sent for the request */
};

/*
 * DISPATCH_LEVEL. Starts a request. The completion routine is called exactly once, perhaps before NvmeSubmit returns,
 * so the caller must hold no lock that the routine needs. The caller holds a reference to the controller during the
 * call; the request holds none, because the deletion of a controller ends all of its requests.
 *
 * An I/O request goes to the queue of the current processor. If all of the queue's slots are busy, or while the
 * controller is being connected again, the request waits. Requests that the target had when the connection was lost
 * are sent again after the reconnect. The order of requests is not kept.
 *
 * Status of the completed request:
 *   STATUS_SUCCESS                the controller has completed the command with NvmeStatus 0
 *   STATUS_IO_DEVICE_ERROR        the controller has completed the command with the error in NvmeStatus
 *   STATUS_CANCELLED              NvmeAbort, NvmeAbortAll or NvmeControllerReset ended the request
 *   STATUS_IO_TIMEOUT             the connection has been away for the setting IoFailSeconds
 *   STATUS_CONNECTION_DISCONNECTED  the target had the admin command when the connection was lost
 *   STATUS_DEVICE_NOT_CONNECTED   the controller is not connected and does not try any more (NvmeStateFailed)
 *   STATUS_DELETE_PENDING         NvmeControllerDelete has been called
 *   STATUS_INVALID_BUFFER_SIZE    Length is 0 or above MaxTransfer
 *   STATUS_INSUFFICIENT_RESOURCES the adapter cannot map the data
 * With every status but the first two NvmeStatus and Result are 0, and the command may have been executed or not.
 */
VOID NvmeSubmit(NVME_CONTROLLER *Controller, NVME_REQUEST *Request);

/*
 * DISPATCH_LEVEL. Asks for the early end of a request that was submitted to this controller. A request that is waiting
 * completes with STATUS_CANCELLED during the call. For a request that was sent, an Abort command is sent; the request
 * completes with whatever the controller answers, or with STATUS_CANCELLED after a reset of the controller if it does
 * not answer within AbortSeconds. A request that has completed is not affected: only its address is used.
 */
VOID NvmeAbort(NVME_CONTROLLER *Controller, NVME_REQUEST *Request);
/* DISPATCH_LEVEL. As NvmeAbort, for every I/O request of a namespace, or of all (NVME_ALL_NAMESPACES). */
VOID NvmeAbortAll(NVME_CONTROLLER *Controller, ULONG NamespaceId);

/* ---- Controllers: controller.c ---------------------------------------------------------------------------------- */

typedef enum _NVME_STATE {
    NvmeStateConnecting,   /* the first attempt to connect, or a later one because of NVME_CREATE_RETRY */
    NvmeStateLive,
    NvmeStateReconnecting, /* the connection was lost; requests wait */
    NvmeStateFailed,       /* no connection for LossSeconds: gave up, only the deletion is left */
    NvmeStateDeleting
} NVME_STATE;

typedef struct _NVME_NAMESPACE {
    ULONG Id;
    ULONG BlockShift;      /* blocks of 1 << BlockShift bytes, 9 to 12 */
    ULONGLONG Blocks;
    BOOLEAN ReadOnly;
    BOOLEAN ThinProvisioned;
    BOOLEAN DeallocatedReadsZero;
    BOOLEAN ZeroesDeallocate; /* Write Zeroes may carry NVME_IO_DEALLOCATE */
    UCHAR Eui64[8];        /* zeros: none */
    UCHAR Nguid[16];       /* zeros: none */
    UCHAR Uuid[16];        /* zeros: none */
} NVME_NAMESPACE;

typedef struct _NVME_CONTROLLER_INFO {
    NVME_STATE State;
    NTSTATUS LastStatus;        /* why the last attempt to connect failed, or why the connection was lost */
    CHAR LastReason[96];        /* the same in words, for people, with a terminator */
    ULONG Reconnects;           /* connections since the first one */
    NVME_TARGET Target;
    USHORT ControllerId;        /* CNTLID */
    USHORT QueueCount;          /* I/O queues that the target has granted */
    ULONG QueueDepth;           /* commands of one I/O queue */
    ULONG MaxTransfer;          /* bytes of one command's data: the smallest of setting, adapter's and target's limit */
    ULONG InCapsule;            /* bytes of a write that travel in the command's capsule */
    CHAR SerialNumber[20];      /* padded with spaces, without terminator */
    CHAR ModelNumber[40];
    CHAR FirmwareRevision[8];
    BOOLEAN WriteCache;         /* volatile, so that Flush is needed */
    USHORT OptionalCommands;    /* NVME_ONCS_ */
    ULONG NamespaceCount;
} NVME_CONTROLLER_INFO;

typedef struct _NVME_CREATE {
    NVME_TARGET Target;
    const NVME_SETTINGS *Settings; /* copied */
    ULONG Flags;                   /* NVME_CREATE_ */
    /*
     * PASSIVE_LEVEL, in the controller's thread, which must not be made to wait for NvmeControllerDelete: the state or
     * the set of namespaces has changed. May be NULL. Not called after NvmeControllerDelete has returned. Called for
     * the first time when the controller is live, which may be before NvmeControllerCreate has returned.
     */
    VOID (*Changed)(NVME_CONTROLLER *Controller, PVOID Context);
    PVOID Context;
} NVME_CREATE;
#define NVME_CREATE_RETRY 1     /* if the first attempt to connect fails, keep the controller and try again */
#define NVME_CREATE_DISCOVERY 2 /* a discovery controller: without I/O queues and namespaces */

/*
 * PASSIVE_LEVEL. Creates a controller with one reference, which NvmeControllerDelete releases, and waits until the
 * first attempt to connect has succeeded or failed. With NVME_CREATE_RETRY a failure returns STATUS_PENDING and the
 * controller; without, the failure's status and no controller. The reason has been printed.
 *   STATUS_CONNECTION_REFUSED and the other statuses of NdkConnect: no connection
 *   STATUS_ACCESS_DENIED            the target does not admit this host
 *   STATUS_NO_SUCH_DEVICE           the target does not have the subsystem
 *   STATUS_INVALID_NETWORK_RESPONSE the target has broken the protocol
 *   STATUS_IO_TIMEOUT               the target has not answered in time
 *   STATUS_NOT_SUPPORTED            the adapter or the target lacks something that the driver needs
 */
NTSTATUS NvmeControllerCreate(const NVME_CREATE *Create, NVME_CONTROLLER **Controller);
/*
 * PASSIVE_LEVEL, not in a completion routine and not in Changed. Ends all requests with STATUS_DELETE_PENDING, shuts
 * the controller down, disconnects, and releases the creator's reference. No completion routine runs afterwards;
 * NvmeSubmit completes further requests at once. Called once.
 */
VOID NvmeControllerDelete(NVME_CONTROLLER *Controller);
/* DISPATCH_LEVEL. A reference keeps the memory valid, and nothing else. */
VOID NvmeControllerReference(NVME_CONTROLLER *Controller);
VOID NvmeControllerRelease(NVME_CONTROLLER *Controller);
/*
 * DISPATCH_LEVEL. Gives the connection up and makes a new one. All requests complete with STATUS_CANCELLED, soon but
 * not during the call. For HwResetBus.
 */
VOID NvmeControllerReset(NVME_CONTROLLER *Controller);
/* DISPATCH_LEVEL. */
VOID NvmeControllerQuery(NVME_CONTROLLER *Controller, NVME_CONTROLLER_INFO *Info);
/*
 * DISPATCH_LEVEL. Copies up to Count namespaces, in the order of their identifiers, and returns the number of all.
 * While the controller is being connected again these are the namespaces that it had before.
 */
ULONG NvmeControllerNamespaces(NVME_CONTROLLER *Controller, NVME_NAMESPACE *Namespaces, ULONG Count);

/* ---- discovery.c ------------------------------------------------------------------------------------------------ */

/*
 * PASSIVE_LEVEL. Connects to the discovery subsystem at the target's address (the target's name is ignored), and
 * copies up to *Count entries of its discovery log page. *Count receives the number of all entries. The statuses are
 * those of NvmeControllerCreate.
 */
NTSTATUS NvmeDiscover(const NVME_TARGET *Target, const NVME_SETTINGS *Settings, struct nvme_discovery_entry *Entries,
    ULONG *Count);

#endif
