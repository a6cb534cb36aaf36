/* SPDX-License-Identifier: MIT */
/*
 * Declarations of the initiator's lower part, which manages controllers and their queues with the functions of NDK.
 * nvmedrv.h lists the driver's files.
 *
 * Threads. Each controller has one system thread, which runs at PASSIVE_LEVEL. Only this thread creates, connects and
 * closes NDK objects, waits for NDK requests, and changes the controller's state. Any thread at up to DISPATCH_LEVEL
 * may post requests and handle results; these functions never wait.
 *
 * Locks. NVME_QUEUE.Lock guards a queue's state, slots and lists, the posts to its queue pair, and the calls of its
 * completion queue. NVME_CONTROLLER.Lock guards the members that follow it in the structure. A thread that holds a
 * queue's lock may acquire the controller's lock, but not the other way round. No thread holds a lock when it calls a
 * completion routine or NdkBuildLAM.
 *
 * A request is in one place at a time: in NVME_CONTROLLER.Parked or Moving, in a queue's Waiting, in a slot, or in a
 * local list of a thread that moves or completes the request.
 */
#ifndef NVMENDK_H
#define NVMENDK_H

#include "nvmedrv.h"

#include <wsk.h>
#include <wskndk.h>

#include "../nvme/fabrics.h"
#include "../nvme/nvme_data.h"

/* Maximum number of pages that contain a command's data, which may begin inside a page. */
#define NVME_PAGES (NVME_MAX_TRANSFER / PAGE_SIZE + 1)
#define NVME_ADMIN_DEPTH (NVME_RDMA_ADMIN_QUEUE_ENTRIES - 1)
#define NVME_MAX_IN_CAPSULE 4096                       /* maximum number of data bytes in a capsule */
#define NVME_SECOND 10000000ULL                        /* one second in the units of KeQueryInterruptTime */
/* Interval at which the controller's thread checks time limits. */
#define NVME_TICK (NVME_SECOND / 4)
/* Time limit for a shutdown, and for the target's answer to a disconnect. */
#define NVME_CLOSE_SECONDS 3
#define NVME_NO_DEADLINE MAXULONGLONG
/* Maximum number of discovery entries that one transfer reads after the log page's header. */
#define NVME_MAX_DISCOVERY_ENTRIES (NVME_MAX_TRANSFER / sizeof(struct nvme_discovery_entry) - 1)

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
/*
 * Waits if Status is STATUS_PENDING. Returns the final status of the call that has returned Status. If Object is not
 * NULL, *Object receives the object that a pending call has created.
 */
NTSTATUS NvmeWaitFor(NVME_WAIT *Wait, NTSTATUS Status, PVOID *Object);
/* Closes the object, and waits until the close has completed. */
VOID NvmeClose(NDK_OBJECT_HEADER *Object, NDK_FN_CLOSE_OBJECT Close);

/* ---- settings.c ---- */
/* Writes the target's name and address as text for messages, with a terminating zero. */
VOID NvmeFormatTarget(const NVME_TARGET *Target, PCHAR Text, ULONG Size);

/* ---- provider.c ---- */
/* Sets the target's interface and local address from the route to the target, if the interface is 0. */
NTSTATUS NvmeFindRoute(NVME_TARGET *Target);
NTSTATUS NvmeOpenAdapter(ULONG Interface, NDK_ADAPTER **Adapter);
VOID NvmeCloseAdapter(NDK_ADAPTER *Adapter);

/* ---- A slot: carries one command; queue.c describes the states ---- */

#define NVME_PENDING_START 1      /* the data are being mapped, or the command is not posted yet */
#define NVME_PENDING_SEND 2       /* the send is posted and has no result yet */
#define NVME_PENDING_RESPONSE 4   /* the command is posted, and the controller has not responded yet */
#define NVME_PENDING_INVALIDATE 8 /* NdkInvalidate is posted and has no result yet */

typedef struct _NVME_SLOT {
    LIST_ENTRY Link;               /* in the queue's Free, or in a list of slots to start */
    struct _NVME_QUEUE *Queue;
    NVME_REQUEST *Request;         /* NULL: the slot is free */
    USHORT Index;
    USHORT CommandId;              /* index in the low bits, and above it a generation that changes with each use */
    UCHAR Pending;                 /* NVME_PENDING_... bits */
    BOOLEAN Answered;              /* Answer is valid */
    BOOLEAN Mapped;                /* Mapping is valid */
    BOOLEAN Registered;            /* the target may use Token */
    UINT32 Token;                  /* token of the data; valid if Mapped is TRUE and the command was sent */
    PVOID CapsuleData;             /* the data, if the capsule contains them; otherwise NULL */
    struct nvme_completion Answer;
    NDK_MR *Mr;                    /* the region that fast registration uses for the data */
    ULONG MappingSize;
    ULONG Offset;                  /* offset of the data in the first page */
    union {
        NDK_LOGICAL_ADDRESS_MAPPING Mapping;
        UCHAR MappingRoom[sizeof(NDK_LOGICAL_ADDRESS_MAPPING) + NVME_PAGES * sizeof(NDK_LOGICAL_ADDRESS)];
    };
    union {
        MDL Mdl;                   /* describes the data of a request that has a buffer instead of an MDL */
        UCHAR MdlRoom[sizeof(MDL) + NVME_PAGES * sizeof(PFN_NUMBER)];
    };
} NVME_SLOT;

/* ---- A queue: queue.c, memory.c, connect.c ---- */

/* A slot has at most three requests in the initiator queue at the same time: registration, send, and invalidation. */
#define NVME_QP_DEPTH(Depth) (3u * (Depth))
/* Results of the requests above, and of the Depth + 1 receives. */
#define NVME_CQ_DEPTH(Depth) (NVME_QP_DEPTH(Depth) + (Depth) + 1)

typedef enum _NVME_QUEUE_STATE {
    NvmeQueueClosed,
    NvmeQueueConnecting,
    NvmeQueueOpen,
    NvmeQueueFailed
} NVME_QUEUE_STATE;

typedef struct _NVME_QUEUE {
    NVME_CONTROLLER *Controller;
    USHORT Id;                /* 0: the admin queue */
    /* Number of slots; the NVMe queue has one entry more, because a full NVMe queue has one unused entry. */
    USHORT Depth;
    ULONG InCapsule;          /* maximum size in bytes of a write whose data are sent in the capsule */
    ULONG InCapsuleOffset;    /* offset of these data after the command */
    KSPIN_LOCK Lock;
    /* Lock guards the following members. */
    NVME_QUEUE_STATE State;
    BOOLEAN CqClosing;        /* Cq is being closed and must not be used */
    LIST_ENTRY Free;          /* slots */
    LIST_ENTRY Waiting;       /* requests without a slot */
    /* The controller's thread writes the following members. Others read them only while the queue is open or failed. */
    EX_RUNDOWN_REF Starting;  /* one acquisition for each slot with NVME_PENDING_START */
    NVME_SLOT *Slots;
    NDK_ADAPTER *Adapter;     /* the controller's adapter, which the queue does not close */
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

/* The work that a function has collected while it held Lock. WorkRun executes it after the release of Lock. */
typedef struct _NVME_WORK {
    LIST_ENTRY Start; /* slots whose data must be mapped and whose command must be sent */
    LIST_ENTRY Done;  /* requests that have ended */
} NVME_WORK;

/* ---- queue.c ---- */
VOID NvmeQueueInitialize(NVME_QUEUE *Queue, NVME_CONTROLLER *Controller, USHORT Id);
/*
 * Starts a request, or queues it until a slot is free. Returns FALSE and does nothing if the queue is not open. If Own
 * is FALSE, also returns FALSE if the controller is not live, or if a reset must end the request. Own is TRUE for the
 * controller's own requests, which set it up.
 */
BOOLEAN NvmeQueueSubmit(NVME_QUEUE *Queue, NVME_REQUEST *Request, BOOLEAN Own);
/*
 * Ends `Request` early. If Request is NULL, ends all I/O requests of the namespace, or of all namespaces
 * (NVME_ALL_NAMESPACES), early. A waiting request ends at once. For a request that was sent, makes its time limit
 * expire at once, so that the controller's thread aborts it, unless an Abort command was sent for it already.
 */
VOID NvmeQueueAbort(NVME_QUEUE *Queue, NVME_REQUEST *Request, ULONG NamespaceId);
/* Returns TRUE if an abort with the arguments Wanted and NamespaceId applies to Request; see NvmeQueueAbort. */
BOOLEAN NvmeRequestMatches(const NVME_REQUEST *Request, const NVME_REQUEST *Wanted, ULONG NamespaceId);
/*
 * Sets the state to Failed, and makes the controller's thread close the connection. Reason must be a constant string.
 * Requires Queue->Lock.
 */
VOID NvmeQueueFail(NVME_QUEUE *Queue, NTSTATUS Status, const CHAR *Reason);
/* Handles a notification of the queue's CQ: reads and handles results. */
VOID NvmeQueueNotified(PVOID Context, NTSTATUS CqStatus);
/* Reads and handles the results that the completion queue contains at the call. */
VOID NvmeQueuePoll(NVME_QUEUE *Queue);
/*
 * Removes all requests from a closed queue and its slots. Completes the requests for which the controller has
 * responded, and appends the others to the list.
 */
VOID NvmeQueueTakeRequests(NVME_QUEUE *Queue, LIST_ENTRY *Requests);
/* Calls the request's completion routine with Status. The caller must hold no lock. */
VOID NvmeRequestEnd(NVME_REQUEST *Request, NTSTATUS Status);

/* ---- memory.c ---- */
/*
 * Creates slots and messages. After a failure the caller must call NvmeQueueCloseRegions and NvmeQueueFreeMemory.
 * PASSIVE_LEVEL.
 */
NTSTATUS NvmeQueueCreateMemory(NVME_QUEUE *Queue);
/*
 * Closes all memory regions, after which the adapter cannot access the memory. Requires that the queue pair is closed.
 * PASSIVE_LEVEL.
 */
VOID NvmeQueueCloseRegions(NVME_QUEUE *Queue);
/* Frees slots and messages. Requires that no slot has a request. PASSIVE_LEVEL. */
VOID NvmeQueueFreeMemory(NVME_QUEUE *Queue);
/* Posts all receives of a new queue pair. */
NTSTATUS NvmeQueuePostReceives(NVME_QUEUE *Queue);
/*
 * Maps the data of the slot's request, if they must be registered. After STATUS_PENDING, NvmeSlotMapped is called
 * later. The caller must hold no lock.
 */
NTSTATUS NvmeSlotMap(NVME_SLOT *Slot);
VOID NvmeSlotMapped(PVOID Context, NTSTATUS Status); /* in queue.c */
/* Releases the mapping, if the slot has one. Requires that the data are not registered. */
VOID NvmeSlotUnmap(NVME_SLOT *Slot);
/* Each of the following three functions posts a request. Requires Queue->Lock. */
NTSTATUS NvmeQueuePostReceive(NVME_QUEUE *Queue, struct nvme_completion *Response);
NTSTATUS NvmeSlotSend(NVME_SLOT *Slot);
NTSTATUS NvmeSlotInvalidate(NVME_SLOT *Slot);

/* ---- connect.c: PASSIVE_LEVEL, the controller's thread ---- */
/*
 * Creates the queue's objects and connects the queue to the target. After a failure the caller must call
 * NvmeQueueClose.
 */
NTSTATUS NvmeQueueConnect(NVME_QUEUE *Queue);
/*
 * Ends the connection, and closes and frees everything that NvmeQueueConnect has created. If Graceful is TRUE, waits up
 * to NVME_CLOSE_SECONDS until the target has disconnected. Returns TRUE if Graceful is TRUE and the target has
 * disconnected in time. Appends the queue's unfinished requests to the list.
 */
BOOLEAN NvmeQueueClose(NVME_QUEUE *Queue, BOOLEAN Graceful, LIST_ENTRY *Requests);

/* ---- A controller: controller.c, setup.c, namespace.c, timeout.c ---- */

/* A request that the controller's own code submits, for example Keep Alive. */
typedef struct _NVME_OWN_REQUEST {
    NVME_REQUEST Request;
    KEVENT Done;          /* a notification event, which is set while the request is not in use */
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
    KEVENT Stop;                        /* notification event: NvmeControllerDelete was called */
    KEVENT Attempted;                   /* notification event: the first attempt to connect has ended */
    KEVENT Wake;                        /* synchronization event: the thread has something to do */

    KSPIN_LOCK Lock;
    /*
     * Lock guards the following members. Only the thread writes Info and Namespaces, so the thread reads them without
     * the lock. Info.MaxTransfer changes only while no queue accepts requests, so the queues read it without the lock.
     */
    NVME_CONTROLLER_INFO Info;
    NVME_NAMESPACE Namespaces[NVME_MAX_NAMESPACES];
    LIST_ENTRY Parked;                  /* requests that wait for a connection */
    LIST_ENTRY Moving;                  /* requests that the thread is about to send, park or complete */
    NTSTATUS LostStatus;                /* if not STATUS_SUCCESS, the thread must close the connection */
    const CHAR *LostReason;
    BOOLEAN FailAtOnce;                 /* the connection has been lost for IoFailSeconds, so requests fail */

    /* Only the thread uses the following members. */
    NDK_ADAPTER *Adapter;
    NDK_ADAPTER_INFO AdapterInfo;
    LONG ResetsServed;                  /* the value of Resets up to which the thread has handled resets */
    ULONGLONG LostTime;                 /* when the connection was lost */
    ULONGLONG KeepAliveTime;            /* when the next Keep Alive must be sent */
    PUCHAR Page;                        /* data of Execute: NVME_PAGE_SIZE bytes */
    NVME_OWN_REQUEST Execute, KeepAlive, Abort, Event;
    ULONG IoDepth;                      /* number of slots in an I/O queue */
    ULONG InCapsule, InCapsuleOffset;   /* the values for NVME_QUEUE.InCapsule and InCapsuleOffset of I/O queues */
    ULONGLONG Capabilities;             /* the property CAP */
    ULONG Configuration;                /* the property CC */
    ULONG QueueCount;                   /* number of I/O queues that are connected, being connected or being closed */
    BOOLEAN EventsSupported;            /* the controller reports changes of its namespaces */
    NTSTATUS FirstStatus;               /* result of the first attempt to connect */
    NVME_NAMESPACE Scanned[NVME_MAX_NAMESPACES];

    /* No lock guards the following members. */
    LONG LiveQueues;                    /* number of queues that accept requests: 1 + QueueCount if Live, else 0 */
    LONG Resets;                        /* number of calls of NvmeControllerReset */
    LONG EventArrived;                  /* the asynchronous event request has completed */
    NVME_QUEUE Queues[1 + NVME_MAX_QUEUES];
};

/* ---- controller.c ---- */
/* Makes the thread close the connection. If called several times, keeps the first status and reason. DISPATCH_LEVEL. */
VOID NvmeControllerLost(NVME_CONTROLLER *Controller, NTSTATUS Status, const CHAR *Reason);
/*
 * Ends the parked requests that a reset must end, or all if the connection has been lost for IoFailSeconds. The thread
 * calls this several times a second while it waits and the controller is not live.
 */
VOID NvmeControllerServeParked(NVME_CONTROLLER *Controller);
/* Removes from the lists Parked and Moving the requests that match (NvmeRequestMatches); adds them to *Requests. */
VOID NvmeControllerTakeParked(NVME_CONTROLLER *Controller, const NVME_REQUEST *Wanted, ULONG NamespaceId,
    LIST_ENTRY *Requests);
/* Completes all requests in the list with Status. */
VOID NvmeRequestsEnd(LIST_ENTRY *Requests, NTSTATUS Status);
/* Stores and prints the reason why there is no connection. Returns Status. */
NTSTATUS NvmeControllerReason(NVME_CONTROLLER *Controller, NTSTATUS Status, const CHAR *Reason);
/*
 * Returns an error if the thread must close the connection, otherwise STATUS_SUCCESS. The thread must close the
 * connection if the connection was lost (then also stores and prints the reason), if a reset of a live controller was
 * requested, or if NvmeControllerDelete was called and the state is not yet Deleting.
 */
NTSTATUS NvmeControllerInterrupted(NVME_CONTROLLER *Controller);
/* Returns TRUE if NvmeControllerDelete was called. */
BOOLEAN NvmeControllerStopping(NVME_CONTROLLER *Controller);
/* Calls the routine Changed if the controller is live, or if Replaced is TRUE. */
VOID NvmeControllerChanged(NVME_CONTROLLER *Controller, BOOLEAN Replaced);

/* ---- setup.c ---- */
/*
 * Connects all queues and initializes the controller. After a failure the caller must close the queues and the adapter.
 */
NTSTATUS NvmeControllerConnect(NVME_CONTROLLER *Controller);
/* Shuts the controller down. Requires the state NvmeStateDeleting. */
NTSTATUS NvmeControllerShutDown(NVME_CONTROLLER *Controller);
/* Starts one of the controller's own requests on a queue. Returns FALSE if the queue is not open. */
BOOLEAN NvmeOwnStart(NVME_OWN_REQUEST *Own, NVME_QUEUE *Queue, NVME_COMPLETION *Completion);
/* Sets Done. This is the completion routine of the controller's own requests. */
VOID NvmeOwnDone(NVME_REQUEST *Request);
/*
 * Returns TRUE if the request is not in use. The caller may then access the request. Does not block: the time limit of
 * its wait for Done is 0. KeReadStateEvent cannot replace the wait, because only a wait orders the accesses of the
 * completion before those of the caller.
 */
BOOLEAN NvmeOwnIsDone(NVME_OWN_REQUEST *Own);
/*
 * Executes the command in Controller->Execute on a queue, with Length bytes of Controller->Page as data, and waits.
 * Returns the request's status, or the reason for which the wait has ended early. After an early end the request is
 * still in use, and the caller must close the connection. STATUS_IO_DEVICE_ERROR means that the controller has
 * responded with an error, which has not been printed. The reasons for all other failures have been printed.
 */
NTSTATUS NvmeExecute(NVME_CONTROLLER *Controller, NVME_QUEUE *Queue, NVME_DIRECTION Direction, ULONG Length);
/*
 * Each of these functions executes a command with NvmeExecute. The response is in Controller->Page or in
 * Controller->Execute.Request.Result.
 */
NTSTATUS NvmeIdentify(NVME_CONTROLLER *Controller, UCHAR Cns, ULONG NamespaceId);
NTSTATUS NvmeGetLogPage(NVME_CONTROLLER *Controller, UCHAR Page, ULONG Length);
NTSTATUS NvmeSetFeature(NVME_CONTROLLER *Controller, UCHAR Feature, ULONG Value);

/* ---- namespace.c ---- */
/*
 * Reads the controller's namespaces. Reports a change if they differ from those that were stored before: at once if the
 * controller is live or a namespace was replaced, otherwise when the controller becomes live.
 */
NTSTATUS NvmeScanNamespaces(NVME_CONTROLLER *Controller);
/* Enables the events for changes of namespaces, and sends the asynchronous event request. */
NTSTATUS NvmeEventsStart(NVME_CONTROLLER *Controller);
/* Handles the event if one has arrived. After a failure the caller must close the connection. */
NTSTATUS NvmeEventsServe(NVME_CONTROLLER *Controller);

/* ---- timeout.c ---- */
/* Sends a Keep Alive command if it is due. */
VOID NvmeKeepAliveServe(NVME_CONTROLLER *Controller);
/*
 * Aborts I/O commands that have exceeded their time limit. Calls NvmeControllerLost if an admin command or an aborted
 * command has exceeded its limit.
 */
VOID NvmeTimeoutsServe(NVME_CONTROLLER *Controller);

#endif
