/* SPDX-License-Identifier: MIT */
/*
 * Declares the device controls with which programs control the NVMe initiator. A program opens the adapter (\\.\Scsi0:,
 * or another number) and sends IOCTL_MINIPORT_PROCESS_SERVICE_IRP (0x4D038) with an NVME_IOCTL_REQUEST as the input:
 *
 *   NVME_IOCTL_DISCOVER    Address                 output: NVME_IOCTL_LOG, the subsystems of the target at the address
 *   NVME_IOCTL_CONNECT     Address, Subsystem      output: NVME_IOCTL_CONNECTED; the disks appear
 *   NVME_IOCTL_DISCONNECT  TargetId                no output; the disks disappear, and their requests fail
 *   NVME_IOCTL_LIST                                output: NVME_IOCTL_CONTROLLERS
 *
 * NVME_IOCTL_CONNECT waits until the target is connected, and fails if the attempt fails. With the flag
 * NVME_IOCTL_RETRY it returns at once. The driver then makes attempts until one succeeds, but at most for the setting
 * LossSeconds, as for a target in the registry. The disks appear later. NVME_IOCTL_LIST has the state and the last
 * error.
 *
 * If the output has no room for all entries, it has the first ones. Count is the number of all entries.
 *
 *   STATUS_BUFFER_TOO_SMALL      the input is too short, or the output has no room for the part before the entries
 *   STATUS_INVALID_PARAMETER     Size, Operation, Flags, Address or Subsystem is wrong
 *   STATUS_NO_SUCH_DEVICE        there is no controller TargetId; the target does not have the subsystem
 *   STATUS_OBJECT_NAME_COLLISION there is a controller for this address and subsystem already
 *   STATUS_CONNECTION_REFUSED and others: the reason why the target cannot be reached
 */
#ifndef NVMEIOCTL_H
#define NVMEIOCTL_H

#include <stdint.h>

#define NVME_IOCTL_DISCOVER 1
#define NVME_IOCTL_CONNECT 2
#define NVME_IOCTL_DISCONNECT 3
#define NVME_IOCTL_LIST 4

#define NVME_IOCTL_RETRY 1 /* a flag of NVME_IOCTL_CONNECT */

#define NVME_IOCTL_ADDRESS_SIZE 64
#define NVME_IOCTL_NAME_SIZE 224

/* The input of each device control. Each string ends with a zero. */
typedef struct _NVME_IOCTL_REQUEST {
    uint32_t Size;      /* sizeof(NVME_IOCTL_REQUEST) */
    uint32_t Operation; /* NVME_IOCTL_DISCOVER... */
    uint32_t TargetId;  /* number of the SCSI target */
    uint32_t Flags;     /* NVME_IOCTL_RETRY, or 0 */
    char Address[NVME_IOCTL_ADDRESS_SIZE]; /* for example "192.168.1.1", "192.168.1.1:4420" or "[fe80::1]:4420" */
    char Subsystem[NVME_IOCTL_NAME_SIZE];  /* the subsystem's NQN */
} NVME_IOCTL_REQUEST;

typedef struct _NVME_IOCTL_CONNECTED {
    uint32_t TargetId;
} NVME_IOCTL_CONNECTED;

/* An entry of a discovery log page. */
typedef struct _NVME_IOCTL_ENTRY {
    uint32_t IsDiscovery; /* 1: another discovery service; 0: a subsystem with namespaces */
    char Address[NVME_IOCTL_ADDRESS_SIZE]; /* with the port */
    char Subsystem[NVME_IOCTL_NAME_SIZE];
} NVME_IOCTL_ENTRY;

typedef struct _NVME_IOCTL_LOG {
    uint32_t Count;
    NVME_IOCTL_ENTRY Entries[1];
} NVME_IOCTL_LOG;

#define NVME_IOCTL_CONNECTING 0
#define NVME_IOCTL_LIVE 1
#define NVME_IOCTL_RECONNECTING 2
#define NVME_IOCTL_FAILED 3
#define NVME_IOCTL_DELETING 4

typedef struct _NVME_IOCTL_CONTROLLER {
    uint32_t TargetId;
    uint32_t State;       /* NVME_IOCTL_CONNECTING... */
    /* An NTSTATUS: the error of the last attempt to connect, or the reason why the connection was lost. */
    uint32_t LastStatus;
    uint32_t Reconnects;
    uint32_t Namespaces;
    uint32_t Queues;      /* number of I/O queues */
    uint32_t QueueDepth;
    uint32_t MaxTransfer; /* maximum number of data bytes in a command */
    char LastReason[96];  /* LastStatus as text */
    char Address[NVME_IOCTL_ADDRESS_SIZE];
    char Subsystem[NVME_IOCTL_NAME_SIZE];
    char Model[48], Serial[24], Firmware[16];
} NVME_IOCTL_CONTROLLER;

typedef struct _NVME_IOCTL_CONTROLLERS {
    uint32_t Count;
    NVME_IOCTL_CONTROLLER Controllers[1];
} NVME_IOCTL_CONTROLLERS;

#endif
