/* SPDX-License-Identifier: MIT */
/*
 * An NVMe over Fabrics initiator: a Storport virtual miniport. Its disks are namespaces of NVMe targets. The driver
 * reaches the targets by RDMA through the Network Direct Kernel interface.
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
 * The files above the line are the driver's upper part, those below it the lower part. This header is the interface
 * between the two parts, and needs neither storport.h nor ndkpi.h. nvmendk.h declares the inside of the lower part.
 *
 * Each function's comment begins with the highest IRQL at which the function may be called.
 */
#ifndef NVMEDRV_H
#define NVMEDRV_H

#include <ntddk.h>
#include <ws2def.h>
#include <ws2ipdef.h>

#include "../nvme/nvme.h"

#define NVME_TAG 'emvN'
#define NVME_MAX_TARGETS 8             /* maximum number of targets in the registry */
#define NVME_MAX_NAMESPACES 64         /* maximum number of namespaces for each controller */
#define NVME_MAX_QUEUES 16             /* maximum number of I/O queues for each controller */
#define NVME_MAX_DEPTH 1023            /* maximum number of outstanding commands for each queue */
#define NVME_MAX_TRANSFER (128 * 1024) /* maximum number of data bytes in a command */

/* ---- settings.c ------------------------------------------------------------------------------------------------- */

/* A subsystem of a target. If Interface is 0, the route to Address determines interface and local address. */
typedef struct _NVME_TARGET {
    SOCKADDR_INET Address;      /* with the port, usually 4420 */
    SOCKADDR_INET LocalAddress; /* used only if Interface is not 0; its port is 0 */
    ULONG Interface;
    CHAR Subsystem[NVME_NQN_SIZE]; /* the subsystem's name (NQN) */
} NVME_TARGET;

typedef struct _NVME_SETTINGS {
    ULONG IoQueues;         /* number of I/O queues for each controller */
    ULONG QueueDepth;       /* maximum number of outstanding commands for each I/O queue */
    ULONG MaxTransfer;      /* maximum number of data bytes in a SCSI command, and in an NVMe command */
    ULONG KeepAliveSeconds; /* the target ends a controller whose host sends nothing for this time; 0: never */
    ULONG CommandSeconds;   /* time limit of a command whose caller sets none; an expired command is aborted */
    ULONG AbortSeconds;     /* time limit of an aborted command; if it expires, the controller is reset */
    /* Maximum pause between attempts to reconnect; the pauses are 1, 2, 4... seconds up to this one. */
    ULONG ReconnectSeconds;
    ULONG IoFailSeconds;    /* waiting requests fail after the connection has been lost for this time */
    ULONG LossSeconds;      /* attempts to connect or reconnect end after this time; NVME_FOREVER: never */
    CHAR HostName[NVME_NQN_SIZE]; /* the host's name (NQN) */
    UCHAR HostId[16];
    ULONG TargetCount;      /* number of targets to which the miniport connects when it starts */
    NVME_TARGET Targets[NVME_MAX_TARGETS];
} NVME_SETTINGS;
#define NVME_FOREVER 0xFFFFFFFF

/*
 * PASSIVE_LEVEL. Reads the settings from the driver's service key. Uses the default for a missing value, and the
 * nearest permitted value for a value that is out of range. Prints and omits a malformed target.
 */
VOID NvmeReadSettings(PUNICODE_STRING RegistryPath, NVME_SETTINGS *Settings);
/*
 * PASSIVE_LEVEL. Parses an address such as "192.168.1.1:4420" or "[fe80::1]:4420" and a subsystem's name into *Target.
 * The default port is 4420. Returns STATUS_INVALID_PARAMETER if the address or the name is malformed.
 */
NTSTATUS NvmeParseTarget(PCWSTR Address, PCSTR Subsystem, NVME_TARGET *Target);

/* ---- provider.c ------------------------------------------------------------------------------------------------- */

/*
 * PASSIVE_LEVEL. Registers with Winsock Kernel. The caller must do this once, before it creates the first controller.
 */
NTSTATUS NvmeProviderRegister(VOID);
/*
 * PASSIVE_LEVEL. Deregisters from Winsock Kernel. The caller must do this once, after the last controller was deleted.
 */
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
 * DISPATCH_LEVEL. Called when a request has ended. The request and its data then belong to the caller of NvmeSubmit
 * again: this driver and the target do not access them any more. The routine may free the request, submit it again, or
 * submit other requests. The lower part of the driver holds no lock during the call. The routine runs inside
 * NvmeSubmit, NvmeAbort or NvmeAbortAll, in a callback of the adapter, or in the controller's thread.
 */
typedef VOID NVME_COMPLETION(NVME_REQUEST *Request);

/*
 * One NVMe command. The caller provides nonpaged memory (for example an SRB extension), and sets the members of the
 * first part. The other members need no initial values. The structure and the data belong to the lower part of the
 * driver from NvmeSubmit until the completion routine is called.
 */
struct _NVME_REQUEST {
    /* Set by the caller. */
    struct nvme_command Command; /* the caller sets all members except identifier, flags and data pointer */
    BOOLEAN Admin;               /* TRUE: an admin command; FALSE: an I/O command */
    NVME_DIRECTION Direction;    /* for NvmeNoData the members Mdl, Buffer, Offset and Length are not used */
    /* The data begin at the byte Offset of this MDL chain. The chain is locked and virtually contiguous. */
    PMDL Mdl;
    PVOID Buffer;                /* if Mdl is NULL, the data begin at the byte Offset of this nonpaged pool */
    ULONG Offset;                /* at most NVME_MAX_TRANSFER - Length */
    ULONG Length;                /* size of the data in bytes: 1 to the controller's MaxTransfer */
    ULONG Seconds;               /* time limit; 0: the setting CommandSeconds; NVME_FOREVER: no limit */
    LONG Resets;                 /* a result of NvmeControllerResets; every later reset ends the request */
    NVME_COMPLETION *Completion;
    PVOID Context;               /* not used by the lower part; for the caller */

    /* Valid when the completion routine is called. */
    NTSTATUS Status;             /* see NvmeSubmit */
    USHORT NvmeStatus;           /* enum nvme_status, possibly with NVME_DNR and NVME_MORE */
    ULONGLONG Result;            /* dwords 0 and 1 of the completion queue entry */

    /* Only for the lower part. */
    LIST_ENTRY Link;             /* in a list of waiting or ended requests, while no slot has the request */
    /* End of the time limit, in the units of KeQueryInterruptTime; valid while a slot has the request. */
    ULONGLONG Deadline;
    /* NvmeAbort or NvmeAbortAll was called, so the request is not sent again after a reconnect */
    BOOLEAN Aborted;
    BOOLEAN AbortSent;           /* an Abort command was sent for the request */
};

/*
 * DISPATCH_LEVEL. Starts a request. The completion routine is called exactly once, perhaps before NvmeSubmit returns,
 * so the caller must hold no lock that the routine acquires. The caller must have a reference to the controller during
 * the call. The request needs no reference, because the deletion of a controller ends all of its requests.
 *
 * An I/O request is sent on the queue of the current processor. The request waits if all slots of the queue are in use,
 * or during a reconnect. If the connection is lost, the I/O requests that were at the target are sent again after the
 * reconnect. Requests may be executed in any order.
 *
 * Status of the completed request:
 *   STATUS_SUCCESS                the controller has completed the command with NvmeStatus 0
 *   STATUS_IO_DEVICE_ERROR        the controller has completed the command with the error in NvmeStatus
 *   STATUS_CANCELLED              NvmeAbort, NvmeAbortAll or NvmeControllerReset ended the request
 *   STATUS_IO_TIMEOUT             the connection has been lost for the setting IoFailSeconds
 *   STATUS_CONNECTION_DISCONNECTED  the connection was lost while the admin command was at the target or had no slot
 *   STATUS_DEVICE_NOT_CONNECTED   the controller has stopped its attempts to connect (NvmeStateFailed)
 *   STATUS_DELETE_PENDING         NvmeControllerDelete has been called
 *   STATUS_INVALID_BUFFER_SIZE    Length is 0, or above MaxTransfer, which can be smaller after a reconnect
 *   STATUS_INSUFFICIENT_RESOURCES the adapter cannot map the data
 * With every status except the first two, NvmeStatus and Result are 0, and the target may or may not have executed the
 * command.
 */
VOID NvmeSubmit(NVME_CONTROLLER *Controller, NVME_REQUEST *Request);

/*
 * DISPATCH_LEVEL. Aborts a request that was submitted to this controller. If the request waits, it completes with
 * STATUS_CANCELLED during the call. If an I/O request was sent, the controller's thread sends an Abort command for it.
 * The request then completes with the controller's response. If the controller does not respond within AbortSeconds,
 * the controller is reset, and the request completes with STATUS_CANCELLED. If an admin request was sent, the
 * controller is reset at once, and the request completes with STATUS_CONNECTION_DISCONNECTED. If the request has
 * completed already, the call has no effect. The function does not access *Request in this case; it only compares the
 * pointer.
 */
VOID NvmeAbort(NVME_CONTROLLER *Controller, NVME_REQUEST *Request);
/*
 * DISPATCH_LEVEL. Works like NvmeAbort, but for every I/O request of the namespace, or of all namespaces
 * (NVME_ALL_NAMESPACES).
 */
VOID NvmeAbortAll(NVME_CONTROLLER *Controller, ULONG NamespaceId);

/* ---- Controllers: controller.c ---------------------------------------------------------------------------------- */

typedef enum _NVME_STATE {
    NvmeStateConnecting,   /* no attempt to connect has succeeded yet; with NVME_CREATE_RETRY, attempts continue */
    NvmeStateLive,
    NvmeStateReconnecting, /* the connection was lost; the thread connects again, and requests wait */
    NvmeStateFailed,       /* the thread has stopped its attempts to connect; the controller can only be deleted */
    NvmeStateDeleting
} NVME_STATE;

typedef struct _NVME_NAMESPACE {
    ULONG Id;
    ULONG BlockShift;      /* log2 of the block size in bytes: 9 to 12 */
    ULONGLONG Blocks;
    BOOLEAN ReadOnly;
    BOOLEAN ThinProvisioned;
    BOOLEAN DeallocatedReadsZero;
    BOOLEAN ZeroesDeallocate; /* Write Zeroes accepts the flag NVME_IO_DEALLOCATE */
    UCHAR Eui64[8];        /* zeros: none */
    UCHAR Nguid[16];       /* zeros: none */
    UCHAR Uuid[16];        /* zeros: none */
} NVME_NAMESPACE;

typedef struct _NVME_CONTROLLER_INFO {
    NVME_STATE State;
    NTSTATUS LastStatus;        /* error of the last attempt to connect, or the reason why the connection was lost */
    CHAR LastReason[96];        /* LastStatus as text, with a terminating zero */
    ULONG Reconnects;           /* number of connections after the first one */
    NVME_TARGET Target;
    USHORT ControllerId;        /* the controller's number (CNTLID) */
    USHORT QueueCount;          /* number of I/O queues: the setting, or fewer if the target has granted fewer */
    ULONG QueueDepth;           /* maximum number of outstanding commands for each I/O queue */
    /*
     * maximum number of data bytes of a command: the minimum of the setting, the adapter's limit and the target's limit
     */
    ULONG MaxTransfer;
    ULONG InCapsule;            /* maximum size in bytes of a write whose data are sent in the capsule */
    CHAR SerialNumber[20];      /* padded with spaces, without terminator */
    CHAR ModelNumber[40];
    CHAR FirmwareRevision[8];
    BOOLEAN WriteCache;         /* the write cache is volatile, so Flush is necessary */
    USHORT OptionalCommands;    /* NVME_ONCS_ */
    ULONG NamespaceCount;
} NVME_CONTROLLER_INFO;

typedef struct _NVME_CREATE {
    NVME_TARGET Target;
    const NVME_SETTINGS *Settings; /* the controller copies the settings */
    ULONG Flags;                   /* NVME_CREATE_ */
    /*
     * PASSIVE_LEVEL, in the controller's thread. Called after the state or the set of namespaces has changed; may be
     * NULL. The first call comes when the controller is live or has failed, perhaps before NvmeControllerCreate has
     * returned. No call comes after NvmeControllerDelete has returned. The routine must not wait for a thread that is
     * in NvmeControllerDelete.
     *
     * If a namespace has other identifiers after a reconnect, it is another disk with the same number. The routine is
     * then called before the state becomes NvmeStateLive. It must end the requests for the old disk with NvmeAbortAll,
     * because the requests that wait are sent to the new disk after the routine has returned.
     */
    VOID (*Changed)(NVME_CONTROLLER *Controller, PVOID Context);
    PVOID Context;
} NVME_CREATE;
/*
 * Does not wait for the first attempt to connect. If the attempt fails, keeps the controller and makes further
 * attempts.
 */
#define NVME_CREATE_RETRY 1
#define NVME_CREATE_DISCOVERY 2 /* creates a discovery controller, which has no I/O queues and no namespaces */

/*
 * PASSIVE_LEVEL. Creates a controller with one reference, which NvmeControllerDelete releases. With NVME_CREATE_RETRY
 * returns STATUS_PENDING and the controller at once. Without that flag waits until the attempt to connect has succeeded
 * or failed. If the attempt fails, prints the reason, sets *Controller to NULL, and returns an error, for example:
 *   STATUS_CONNECTION_REFUSED and the other statuses of NdkConnect: no connection
 *   STATUS_ACCESS_DENIED            the target does not admit this host
 *   STATUS_NO_SUCH_DEVICE           the target does not have the subsystem
 *   STATUS_DEVICE_BUSY              the target has no free controller
 *   STATUS_INVALID_NETWORK_RESPONSE the target has broken the protocol
 *   STATUS_IO_TIMEOUT               the target has not answered in time
 *   STATUS_NOT_SUPPORTED            the adapter or the target lacks something that the driver needs
 */
NTSTATUS NvmeControllerCreate(const NVME_CREATE *Create, NVME_CONTROLLER **Controller);
/*
 * PASSIVE_LEVEL. Waits until the controller's first attempt to connect has succeeded or failed, at most until Deadline,
 * in the units of KeQueryInterruptTime.
 */
VOID NvmeControllerWait(NVME_CONTROLLER *Controller, ULONGLONG Deadline);
/*
 * PASSIVE_LEVEL, but not in a completion routine and not in Changed. Ends all requests with STATUS_DELETE_PENDING,
 * shuts the controller down, disconnects, and releases the creator's reference. After the return no completion routine
 * runs, and NvmeSubmit completes further requests at once. Must be called exactly once.
 */
VOID NvmeControllerDelete(NVME_CONTROLLER *Controller);
/* DISPATCH_LEVEL. These functions acquire and release a reference, which only keeps the controller's memory valid. */
VOID NvmeControllerReference(NVME_CONTROLLER *Controller);
VOID NvmeControllerRelease(NVME_CONTROLLER *Controller);
/*
 * DISPATCH_LEVEL. Makes the controller's thread close the connection and connect again. Requests whose member Resets is
 * older than the call complete soon, but not during the call: with the controller's response if it has arrived,
 * otherwise with STATUS_CANCELLED. For newer requests the reset is a lost connection (see NvmeSubmit). HwResetBus calls
 * this function.
 */
VOID NvmeControllerReset(NVME_CONTROLLER *Controller);
/* DISPATCH_LEVEL. Returns the number of calls of NvmeControllerReset until now. */
LONG NvmeControllerResets(const NVME_CONTROLLER *Controller);
/* DISPATCH_LEVEL. Copies the controller's present state and properties to *Info. */
VOID NvmeControllerQuery(NVME_CONTROLLER *Controller, NVME_CONTROLLER_INFO *Info);
/* DISPATCH_LEVEL. Returns the present maximum number of data bytes of a command. */
ULONG NvmeControllerMaxTransfer(NVME_CONTROLLER *Controller);
/*
 * DISPATCH_LEVEL. Copies up to Count namespaces in the order of their identifiers. Returns the number of all
 * namespaces. During a reconnect these are the namespaces from before the connection was lost.
 */
ULONG NvmeControllerNamespaces(NVME_CONTROLLER *Controller, NVME_NAMESPACE *Namespaces, ULONG Count);

/* ---- discovery.c ------------------------------------------------------------------------------------------------ */

/*
 * PASSIVE_LEVEL. Connects to the discovery subsystem at the target's address, and ignores the target's name. Copies up
 * to *Count entries of the discovery log page, and sets *Count to the number of all entries. Returns the statuses of
 * NvmeControllerCreate and NvmeSubmit.
 */
NTSTATUS NvmeDiscover(const NVME_TARGET *Target, const NVME_SETTINGS *Settings, struct nvme_discovery_entry *Entries,
    ULONG *Count);

#endif
