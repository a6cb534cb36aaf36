/* SPDX-License-Identifier: MIT */
/*
 * An RDMA echo service and a client of it, in one driver.
 *
 *   driver.c      DriverEntry, the device and its controls, DriverUnload
 *   settings.c    interfaces and addresses from the registry
 *   provider.c    opening an adapter through Winsock Kernel
 *   wait.c        waiting for requests, at PASSIVE_LEVEL
 *   buffer.c      memory, and its two kinds of registration
 *   service.c     listener, completion queue and shared receive queue
 *   connection.c  one client's connection
 *   client.c      a run against the service
 */
#ifndef ECHO_H
#define ECHO_H

#include <ntddk.h>
#include <wsk.h>
#include <wskndk.h>

#include "protocol.h"

#define ECHO_TAG 'ohcE'
#define ECHO_SLOTS 32       /* maximum number of messages in the service's memory */
#define ECHO_CONNECTIONS 64 /* maximum number of clients that are connected at the same time */
/* At most one result for each slot, and one for each connection whose NDK_OP_FLAG_SILENT_SUCCESS request failed. */
#define ECHO_CQ_DEPTH (ECHO_SLOTS + ECHO_CONNECTIONS)
#define ECHO_QP_DEPTH (2 * ECHO_SLOTS) /* maximum number of posted requests of a connection */
#define ECHO_BULK_PAGES (ECHO_MAX_BULK / PAGE_SIZE + 1)

/* ---- settings.c ---- */
typedef struct _ECHO_SETTINGS {
    ULONG ServiceInterface, ClientInterface;
    ULONG ServiceAddress, ClientAddress; /* IPv4, in the processor's byte order */
    USHORT Port;
} ECHO_SETTINGS;
VOID EchoReadSettings(PUNICODE_STRING RegistryPath, ECHO_SETTINGS *Settings);
VOID EchoFillAddress(SOCKADDR_IN *Address, ULONG Host, USHORT Port);

/* ---- provider.c ---- */
NTSTATUS EchoRegister(VOID);
VOID EchoDeregister(VOID);
NTSTATUS EchoOpenAdapter(ULONG Interface, NDK_ADAPTER **Adapter);
VOID EchoCloseAdapter(NDK_ADAPTER *Adapter);

/* ---- wait.c ---- */
/*
 * The state of a wait for one request. The structure must exist until the request has completed, so it may be on a
 * thread's stack only if that thread waits for the completion.
 */
typedef struct _ECHO_WAIT {
    KEVENT Done;
    NTSTATUS Status;
    NDK_OBJECT_HEADER *Object;
} ECHO_WAIT;
VOID EchoWaitInitialize(ECHO_WAIT *Wait);
VOID EchoCreated(PVOID Context, NTSTATUS Status, NDK_OBJECT_HEADER *Object);
VOID EchoCompleted(PVOID Context, NTSTATUS Status);
/* Waits until the request has completed, and returns its status. For a create, *Object receives the new object. */
NTSTATUS EchoWaitFor(ECHO_WAIT *Wait, NTSTATUS Status, PVOID *Object);
/* Closes the object, and waits until the close has completed. */
VOID EchoClose(NDK_OBJECT_HEADER *Object, NDK_FN_CLOSE_OBJECT Close);

/* ---- buffer.c ---- */
typedef struct _ECHO_BUFFER {
    PUCHAR Data;
    ULONG Length;
    MDL *Mdl;
    NDK_MR *Mr;
    UINT32 Token; /* the local token, for SGEs */
    NDK_ADAPTER *Adapter;
    NDK_LOGICAL_ADDRESS_MAPPING *Lam; /* only for fast registration */
    ULONG Offset;
} ECHO_BUFFER;
/* Allocates memory and registers it at once, for requests of this driver. */
NTSTATUS EchoBufferCreate(ECHO_BUFFER *Buffer, NDK_PD *Pd, ULONG Length);
/* Allocates memory and prepares its fast registration, which EchoBufferRegister posts to a queue pair. */
NTSTATUS EchoBufferCreateFast(ECHO_BUFFER *Buffer, NDK_ADAPTER *Adapter, NDK_PD *Pd, ULONG Length, BOOLEAN Remote);
NTSTATUS EchoBufferRegister(ECHO_BUFFER *Buffer, NDK_QP *Qp, ULONG Flags);
/* Deletes the buffer, even if it was created only partly. The queue pair that used the buffer must be closed. */
VOID EchoBufferDelete(ECHO_BUFFER *Buffer);
NDK_SGE EchoBufferSge(const ECHO_BUFFER *Buffer, ULONG Offset, ULONG Length);

/* ---- service.c ---- */
struct _ECHO_SERVICE;

/* Describes the memory of one message. The answer overwrites the received message. */
typedef struct _ECHO_SLOT {
    LIST_ENTRY Link; /* in the connection's list of early messages */
    ULONG Offset;
    ULONG Length;    /* length of the message */
    BOOLEAN Bulk;    /* the connection's bulk buffer is in use for this message */
} ECHO_SLOT;

typedef struct _ECHO_SERVICE {
    PDEVICE_OBJECT Device;
    NDK_ADAPTER *Adapter;
    NDK_PD *Pd;
    NDK_CQ *Cq;
    NDK_SRQ *Srq;
    NDK_LISTENER *Listener;
    ECHO_BUFFER Messages;
    ECHO_SLOT Slots[ECHO_SLOTS];
    EX_RUNDOWN_REF Alive;      /* acquired once for each connection */
    KSPIN_LOCK Lock;           /* guards the members below, slots, connection states, posts, and calls to Cq and Srq */
    LIST_ENTRY Connections;
    BOOLEAN Refusing;          /* new connections are refused */
    BOOLEAN CqClosing;         /* Cq must no longer be called */
    ECHO_COUNTERS Counters;
} ECHO_SERVICE;
NTSTATUS EchoServiceStart(ECHO_SERVICE *Service, PDEVICE_OBJECT Device, const ECHO_SETTINGS *Settings);
VOID EchoServiceStop(ECHO_SERVICE *Service);
/*
 * Reads and handles all results that are in the completion queue now. If a queue pair was closed, its last results are
 * among them.
 */
VOID EchoServicePollResults(ECHO_SERVICE *Service);
/* Posts the slot to the shared receive queue again. Lock is held. */
VOID EchoServicePost(ECHO_SERVICE *Service, ECHO_SLOT *Slot);

/* ---- connection.c ---- */
typedef struct _ECHO_CONNECTION ECHO_CONNECTION;
VOID EchoConnectEvent(PVOID ConnectEventContext, NDK_CONNECTOR *Connector);
/* Handles the result of a connection's request. Lock is held. */
VOID EchoConnectionResult(const NDK_RESULT_EX *Result);
/* Ends every connection. Each connection closes itself, then releases Service->Alive. Lock is held. */
VOID EchoConnectionEndAll(ECHO_SERVICE *Service);

/* ---- client.c ---- */
NTSTATUS EchoClientRun(const ECHO_SETTINGS *Settings, const ECHO_RUN *Run, ECHO_REPORT *Report);

#endif
