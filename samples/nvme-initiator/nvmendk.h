/* SPDX-License-Identifier: MIT */
/*
 * The lower part of the initiator: controllers and their queues over NDK. nvmedrv.h has the list of files.
 *
 * Threads. Each controller has one system thread, which runs at PASSIVE_LEVEL. Only this thread creates, connects and
 * closes NDK objects, waits, and changes the state of the controller. Requests are posted and results are handled on
 * any thread at up to DISPATCH_LEVEL, and never wait.
 *
 * Locks. NVME_QUEUE.Lock guards a queue's state, slots and lists, the posts to its queue pair, and the calls to its
 * completion queue. NVME_CONTROLLER.Lock guards what its comment names. A thread may acquire the controller's lock
 * while it holds a queue's lock, and not the other way round. No completion routine and no NdkBuildLAM is called with
 * a lock.
 *
 * A request is in one place at a time: in NVME_CONTROLLER.Parked, in a queue's Waiting, in a slot, or in a list of a
 * thread that moves or completes it.
 */
#ifndef NVMENDK_H
#define NVMENDK_H

#include "nvmedrv.h"

#include <wsk.h>
#include <wskndk.h>

#include "../nvme/fabrics.h"
#include "../nvme/nvme_data.h"

#define NVME_PAGES (NVME_MAX_TRANSFER / PAGE_SIZE + 1) /* pages of one command's data, which may begin inside a page */
#define NVME_ADMIN_DEPTH (NVME_RDMA_ADMIN_QUEUE_ENTRIES - 1)
#define NVME_MAX_IN_CAPSULE 4096                       /* bytes of data that this driver puts into a capsule */
#define NVME_SECOND 10000000ULL                        /* in the units of KeQueryInterruptTime */
#define NVME_TICK (NVME_SECOND / 4)                    /* the controller's thread looks after time limits so often */
#define NVME_CLOSE_SECONDS 3                           /* for the target's answer to a disconnect, and for a shutdown */
#define NVME_NO_DEADLINE MAXULONGLONG
#define NVME_DISCOVERY_MAX (NVME_MAX_TRANSFER / sizeof(struct nvme_discovery_entry) - 1) /* entries in one transfer */

/* ---- wait.c ---- */
/* The state of a wait for one NDK request. It must exist until the request has completed. */
typedef struct _NVME_WAIT {
    KEVENT Done;
    NTSTATUS Status;
    NDK_OBJECT_HEADER *Object;
} NVME_WAIT;
VOID NvmeWaitInitialize(NVME_WAIT *Wait);
VOID NvmeCreated(PVOID Context, NTSTATUS Status, NDK_OBJECT_HEADER *Object);
VOID NvmeCompleted(PVOID Context, NTSTATUS Status);
/* Waits until the request has completed, and returns its status. For a create, *Object receives the new object. */
NTSTATUS NvmeWaitFor(NVME_WAIT *Wait, NTSTATUS Status, PVOID *Object);
/* Closes the object, and waits until the close has completed. */
VOID NvmeClose(NDK_OBJECT_HEADER *Object, NDK_FN_CLOSE_OBJECT Close);

/* ---- settings.c ---- */
/* Writes the target's name and address for people, with a terminator. */
VOID NvmeFormatTarget(const NVME_TARGET *Target, PCHAR Text, ULONG Size);

/* ---- provider.c ---- */
/* Fills in the target's interface and local address if the interface is 0. */
NTSTATUS NvmeFindRoute(NVME_TARGET *Target);
NTSTATUS NvmeOpenAdapter(ULONG Interface, NDK_ADAPTER **Adapter);
VOID NvmeCloseAdapter(NDK_ADAPTER *Adapter);

/* ---- A slot: one command that the target has; the states are in queue.c ---- */

#define NVME_PENDING_START 1      /* the slot is being started: NvmeSlotMap uses it */
#define NVME_PENDING_SEND 2       /* the send has no result yet */
#define NVME_PENDING_RESPONSE 4   /* the controller has not completed the command */
#define NVME_PENDING_INVALIDATE 8 /* NdkInvalidate has no result yet */

typedef struct _NVME_SLOT {
    LIST_ENTRY Link;               /* in the queue's Free, or in a list of slots to start */
    struct _NVME_QUEUE *Queue;
    NVME_REQUEST *Request;         /* NULL: the slot is free */
    USHORT Index;
    USHORT CommandId;              /* index and generation */
    UCHAR Pending;                 /* NVME_PENDING_ */
    BOOLEAN Answered;              /* Answer is valid */
    BOOLEAN Mapped;                /* Mapping is valid */
    BOOLEAN Registered;            /* the target may use Token */
    UINT32 Token;
    PVOID CapsuleData;             /* the data, if they travel in the capsule */
    struct nvme_completion Answer;
    NDK_MR *Mr;                    /* for fast registration of the data */
    ULONG MappingSize;
    ULONG Offset;                  /* of the data in the first page */
    union {
        NDK_LOGICAL_ADDRESS_MAPPING Mapping;
        UCHAR MappingRoom[sizeof(NDK_LOGICAL_ADDRESS_MAPPING) + NVME_PAGES * sizeof(NDK_LOGICAL_ADDRESS)];
    };
    union {
        MDL Mdl;                   /* of a request that has a buffer instead of an MDL */
        UCHAR MdlRoom[sizeof(MDL) + NVME_PAGES * sizeof(PFN_NUMBER)];
    };
} NVME_SLOT;

/* ---- A queue: queue.c, memory.c, connect.c ---- */

/* A slot has at most three requests in the initiator queue at the same time: registration, send, and invalidation. */
#define NVME_QP_DEPTH(Depth) (3u * (Depth))
#define NVME_CQ_DEPTH(Depth) (NVME_QP_DEPTH(Depth) + (Depth) + 1) /* and the receives */

typedef enum _NVME_QUEUE_STATE {
    NvmeQueueClosed,
    NvmeQueueConnecting,
    NvmeQueueOpen,
    NvmeQueueFailed
} NVME_QUEUE_STATE;

typedef struct _NVME_QUEUE {
    NVME_CONTROLLER *Controller;
    USHORT Id;                /* 0: the admin queue */
    USHORT Depth;             /* slots; the queue has one entry more, because a full queue of NVMe has a free entry */
    ULONG InCapsule;          /* bytes of a write that may travel in the capsule */
    ULONG InCapsuleOffset;    /* their offset behind the command */
    KSPIN_LOCK Lock;
    /* Lock guards the following members. */
    NVME_QUEUE_STATE State;
    BOOLEAN CqClosing;        /* Cq must not be called any more */
    LIST_ENTRY Free;          /* slots */
    LIST_ENTRY Waiting;       /* requests without a slot */
    /* The controller's thread writes the following members. Others read them only while the queue is open or failed. */
    EX_RUNDOWN_REF Starting;  /* one acquisition for each slot with NVME_PENDING_START */
    NVME_SLOT *Slots;
    NDK_ADAPTER *Adapter;     /* the controller's */
    NDK_PD *Pd;
    NDK_CQ *Cq;
    NDK_QP *Qp;
    NDK_CONNECTOR *Connector;
    BOOLEAN Connected;        /* NdkDisconnect must be called */
    PUCHAR Messages;          /* Depth capsules, then Depth + 1 responses */
    ULONG CapsuleSize;
    MDL *MessagesMdl;
    NDK_MR *MessagesMr;
    UINT32 MessagesToken;
} NVME_QUEUE;

/* The steps that follow after Lock has been released. */
typedef struct _NVME_WORK {
    LIST_ENTRY Start; /* slots whose data must be mapped and whose command must be sent */
    LIST_ENTRY Done;  /* requests that have ended */
} NVME_WORK;

/* ---- queue.c ---- */
VOID NvmeQueueInitialize(NVME_QUEUE *Queue, NVME_CONTROLLER *Controller, USHORT Id);
/* Starts a request, or lets it wait for a slot. Returns FALSE if the queue is not open; nothing has happened then. */
BOOLEAN NvmeQueueSubmit(NVME_QUEUE *Queue, NVME_REQUEST *Request);
/*
 * Ends requests early: Request, or with NULL all I/O requests of the namespace or of all. Requests that are waiting
 * end at once; the deadline of those that were sent becomes the present, so that the controller's thread aborts them.
 */
VOID NvmeQueueAbort(NVME_QUEUE *Queue, NVME_REQUEST *Request, ULONG NamespaceId);
/* TRUE if NvmeAbort or NvmeAbortAll with these arguments concerns the request. */
BOOLEAN NvmeRequestMatches(const NVME_REQUEST *Request, const NVME_REQUEST *Wanted, ULONG NamespaceId);
/* Gives the queue's connection up. Lock is held. Status is an error, Reason a constant text. */
VOID NvmeQueueFail(NVME_QUEUE *Queue, NTSTATUS Status, const CHAR *Reason);
/* The notification of a queue's completion queue: reads and handles results. */
VOID NvmeQueueNotified(PVOID Context, NTSTATUS CqStatus);
/* Reads and handles the results that are in the completion queue now. */
VOID NvmeQueuePoll(NVME_QUEUE *Queue);
/* Appends the requests of a closed queue to the list, and completes those that the controller had completed. */
VOID NvmeQueueTakeRequests(NVME_QUEUE *Queue, LIST_ENTRY *Requests);
/* Completes a request. No lock is held. */
VOID NvmeRequestEnd(NVME_REQUEST *Request, NTSTATUS Status);

/* ---- memory.c ---- */
/* Creates slots and messages. After a failure the two deletions below must be called, too. PASSIVE_LEVEL. */
NTSTATUS NvmeQueueCreateMemory(NVME_QUEUE *Queue);
/* Ends every access of the adapter to the memory. The queue pair must be closed. PASSIVE_LEVEL. */
VOID NvmeQueueCloseRegions(NVME_QUEUE *Queue);
/* Frees slots and messages. No slot has a request any more. PASSIVE_LEVEL. */
VOID NvmeQueueFreeMemory(NVME_QUEUE *Queue);
/* Posts all receives of a new queue pair. */
NTSTATUS NvmeQueuePostReceives(NVME_QUEUE *Queue);
/*
 * Maps the data of the slot's request if they must be registered. If it returns STATUS_PENDING, NvmeSlotMapped is
 * called later. No lock is held.
 */
NTSTATUS NvmeSlotMap(NVME_SLOT *Slot);
VOID NvmeSlotMapped(PVOID Context, NTSTATUS Status); /* queue.c */
/* Ends the mapping, if there is one. The data must not be registered any more. */
VOID NvmeSlotUnmap(NVME_SLOT *Slot);
/* The following three post a request, with Lock held. */
NTSTATUS NvmeQueuePostReceive(NVME_QUEUE *Queue, struct nvme_completion *Response);
NTSTATUS NvmeSlotSend(NVME_SLOT *Slot);
NTSTATUS NvmeSlotInvalidate(NVME_SLOT *Slot);

/* ---- connect.c: PASSIVE_LEVEL, the controller's thread ---- */
/* Creates the queue's objects and connects it to the target. After a failure NvmeQueueClose must be called, too. */
NTSTATUS NvmeQueueConnect(NVME_QUEUE *Queue);
/*
 * Ends the connection, and closes and frees everything that NvmeQueueConnect has created. Graceful TRUE waits a little
 * for the target's disconnect; returns FALSE if that has not come. Appends the queue's unfinished requests to the
 * list.
 */
BOOLEAN NvmeQueueClose(NVME_QUEUE *Queue, BOOLEAN Graceful, LIST_ENTRY *Requests);

/* ---- A controller: controller.c, setup.c, namespace.c, timeout.c ---- */

/* A request of the controller itself. */
typedef struct _NVME_OWN_REQUEST {
    NVME_REQUEST Request;
    KEVENT Done;          /* a notification event: set if the request is not in use */
} NVME_OWN_REQUEST;

struct _NVME_CONTROLLER {
    LONG References;
    ULONG Flags;                        /* NVME_CREATE_ */
    NVME_SETTINGS Settings;
    NVME_TARGET Target;
    CHAR Name[NVME_NQN_SIZE + 64];      /* subsystem and address, for messages */
    VOID (*Changed)(NVME_CONTROLLER *Controller, PVOID Context);
    PVOID Context;
    PVOID Thread;
    KEVENT Stop;                        /* notification: NvmeControllerDelete was called */
    KEVENT Attempted;                   /* notification: the first attempt to connect has ended */
    KEVENT Wake;                        /* synchronization: something for the thread to do */

    KSPIN_LOCK Lock;
    /*
     * Lock guards the following members. The thread, which alone writes Info and Namespaces, reads them without it.
     * Info.MaxTransfer is written while no queue is open to requests, so their queues read it without it.
     */
    NVME_CONTROLLER_INFO Info;
    NVME_NAMESPACE Namespaces[NVME_MAX_NAMESPACES];
    LIST_ENTRY Parked;                  /* requests that wait for a connection */
    NTSTATUS LostStatus;                /* not STATUS_SUCCESS: the connection must be given up */
    const CHAR *LostReason;
    BOOLEAN ResetWanted;                /* NvmeControllerReset was called */
    BOOLEAN FailAtOnce;                 /* the connection has been away for IoFailSeconds */

    /* Only the thread uses the following members. */
    NDK_ADAPTER *Adapter;
    NDK_ADAPTER_INFO AdapterInfo;
    ULONGLONG LostTime;                 /* since when there is no connection */
    ULONGLONG KeepAliveTime;            /* when the next Keep Alive is sent */
    PUCHAR Page;                        /* NVME_PAGE_SIZE bytes for the data of Execute */
    NVME_OWN_REQUEST Execute, KeepAlive, Abort, Event;
    ULONG IoDepth;                      /* slots of an I/O queue */
    ULONG InCapsule, InCapsuleOffset;   /* of an I/O queue */
    ULONGLONG Capabilities;             /* CAP */
    ULONG Configuration;                /* CC */
    ULONG QueueCount;                   /* I/O queues that are connected, or being connected or closed */
    BOOLEAN EventsSupported;            /* the controller reports changes of its namespaces */
    NTSTATUS FirstStatus;               /* of the first attempt to connect */
    NVME_NAMESPACE Scanned[NVME_MAX_NAMESPACES];

    LONG LiveQueues;                    /* queues to which requests go: 0 if not live, else 1 + QueueCount. No lock */
    LONG EventArrived;                  /* the asynchronous event request has completed */
    NVME_QUEUE Queues[1 + NVME_MAX_QUEUES];
};

/* ---- controller.c ---- */
/* Lets the thread give the connection up. Status and reason of the first call are kept. DISPATCH_LEVEL. */
VOID NvmeControllerLost(NVME_CONTROLLER *Controller, NTSTATUS Status, const CHAR *Reason);
/*
 * While there is no connection: ends parked requests if it has been away for too long, or if a reset is wanted. The
 * thread calls this several times a second while it waits for something else.
 */
VOID NvmeControllerServeParked(NVME_CONTROLLER *Controller);
/* Moves parked requests to the list: all that match as in NvmeRequestMatches. */
VOID NvmeControllerTakeParked(NVME_CONTROLLER *Controller, const NVME_REQUEST *Wanted, ULONG NamespaceId,
    LIST_ENTRY *Requests);
/* Completes the requests of a list. */
VOID NvmeRequestsEnd(LIST_ENTRY *Requests, NTSTATUS Status);
/* Stores and prints why there is no connection, and returns the status. */
NTSTATUS NvmeControllerReason(NVME_CONTROLLER *Controller, NTSTATUS Status, const CHAR *Reason);
/*
 * Returns and prints why the thread has to give the connection up: it was lost, a reset is wanted, or the controller
 * is deleted. Returns STATUS_SUCCESS if there is no reason.
 */
NTSTATUS NvmeControllerInterrupted(NVME_CONTROLLER *Controller);
/* TRUE if NvmeControllerDelete was called. */
BOOLEAN NvmeControllerStopping(NVME_CONTROLLER *Controller);
VOID NvmeControllerChanged(NVME_CONTROLLER *Controller);

/* ---- setup.c ---- */
/* Connects all queues and sets the controller up. After a failure the queues and the adapter must be closed, too. */
NTSTATUS NvmeControllerConnect(NVME_CONTROLLER *Controller);
/* Shuts the controller down. The state is NvmeStateDeleting. */
NTSTATUS NvmeControllerShutDown(NVME_CONTROLLER *Controller);
/* Starts one of the controller's own requests on a queue. Returns FALSE if the queue is not open. */
BOOLEAN NvmeOwnStart(NVME_OWN_REQUEST *Own, NVME_QUEUE *Queue, NVME_COMPLETION *Completion);
/* The completion of an own request: only sets Done. */
VOID NvmeOwnDone(NVME_REQUEST *Request);
/*
 * Executes Controller->Execute on a queue, with Length bytes of Controller->Page as data, and waits. Returns the
 * request's status, or why the wait has ended early; then the request is still in use, and the connection must be
 * given up. STATUS_IO_DEVICE_ERROR means that the controller has answered with an error; every other failure has been
 * printed.
 */
NTSTATUS NvmeExecute(NVME_CONTROLLER *Controller, NVME_QUEUE *Queue, NVME_DIRECTION Direction, ULONG Length);
/* Commands that NvmeExecute executes. The answer is in Controller->Page or in Controller->Execute.Request.Result. */
NTSTATUS NvmeIdentify(NVME_CONTROLLER *Controller, UCHAR Cns, ULONG NamespaceId);
NTSTATUS NvmeGetLogPage(NVME_CONTROLLER *Controller, UCHAR Page, ULONG Length);
NTSTATUS NvmeSetFeature(NVME_CONTROLLER *Controller, UCHAR Feature, ULONG Value);

/* ---- namespace.c ---- */
/* Reads the controller's namespaces. Calls NvmeControllerChanged if they are different from those before. */
NTSTATUS NvmeScanNamespaces(NVME_CONTROLLER *Controller);
/* Lets the controller report changes of its namespaces. */
NTSTATUS NvmeEventsStart(NVME_CONTROLLER *Controller);
/* Handles an event that has arrived. A failure means that the connection must be given up. */
NTSTATUS NvmeEventsServe(NVME_CONTROLLER *Controller);

/* ---- timeout.c ---- */
/* Sends Keep Alive when it is due. */
VOID NvmeKeepAliveServe(NVME_CONTROLLER *Controller);
/* Aborts commands that have exceeded their time limit, or gives the connection up. */
VOID NvmeTimeoutsServe(NVME_CONTROLLER *Controller);

#endif
