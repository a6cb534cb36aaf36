/* SPDX-License-Identifier: MIT */
/*
 * The information that an NDK adapter reports: interface version, limits, capabilities. Up to NDK 2.1.
 */
#ifndef ONDK_NDK_NDKINFO_H
#define ONDK_NDK_NDKINFO_H

#include "nt.h"

/* A version of the interface: 1.0, 1.1, 1.2, 2.0 or 2.1. A provider of 1.2 also serves 1.0 and 1.1. */
typedef struct {
    USHORT Major;
    USHORT Minor;
} NDK_VERSION;

/* The transport. The adapter keyword *NetworkDirectTechnology has the same numbers. */
typedef enum _NDK_RDMA_TECHNOLOGY {
    NdkUndefined = 0,
    NdkiWarp = 1,
    NdkInfiniBand = 2,
    NdkRoCE = 3,
    NdkRoCEv2 = 4,
    NdkMaxTechnology = 5
} NDK_RDMA_TECHNOLOGY;

/* The adapter never writes the last byte of a buffer before the other bytes of that buffer. */
#define NDK_ADAPTER_FLAG_IN_ORDER_DMA_SUPPORTED               0x00000001
/* The destination memory of reads needs no RDMA_READ_SINK flag and may be given as logical addresses. */
#define NDK_ADAPTER_FLAG_RDMA_READ_SINK_NOT_REQUIRED          0x00000002
/* NdkControlCqInterruptModeration works. */
#define NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED    0x00000004
/* The adapter processes several connections in parallel, so more than one connection may be faster. */
#define NDK_ADAPTER_FLAG_MULTI_ENGINE_SUPPORTED               0x00000008
/* NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE works. */
#define NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED 0x00000010
/* NdkResizeCq works. */
#define NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED                  0x00000100
/* The adapter can connect to its own addresses. */
#define NDK_ADAPTER_FLAG_LOOPBACK_CONNECTIONS_SUPPORTED       0x00010000

/* The result of NdkQueryAdapterInfo. */
typedef struct _NDK_ADAPTER_INFO {
    NDK_VERSION Version;
    UINT32 VendorId;                    /* the vendor's OUI */
    UINT32 DeviceId;
    SIZE_T MaxRegistrationSize;         /* maximum size of a memory region in bytes */
    SIZE_T MaxWindowSize;               /* maximum size of a memory window in bytes; 0: there are no windows */
    ULONG FRMRPageCount;                /* maximum number of pages in a fast registration */
    ULONG MaxInitiatorRequestSge;       /* maximum number of SGEs in a send or write */
    ULONG MaxReceiveRequestSge;         /* maximum number of SGEs in a receive */
    ULONG MaxReadRequestSge;            /* maximum number of SGEs in a read */
    ULONG MaxTransferLength;            /* maximum number of bytes in a request */
    ULONG MaxInlineDataSize;            /* maximum number of bytes in a request with NDK_OP_FLAG_INLINE */
    ULONG MaxInboundReadLimit;          /* maximum number of the peer's reads in progress on a QP (IRD) */
    ULONG MaxOutboundReadLimit;         /* maximum number of this side's reads in progress on a QP (ORD) */
    ULONG MaxReceiveQueueDepth;
    ULONG MaxInitiatorQueueDepth;
    ULONG MaxSrqDepth;                  /* 0: there are no shared receive queues */
    ULONG MaxCqDepth;
    ULONG LargeRequestThreshold;        /* a hint: from this many bytes on, a read or write is faster than a send */
    ULONG MaxCallerData;                /* maximum bytes of private data in a connect */
    ULONG MaxCalleeData;                /* maximum bytes of private data in an accept or reject */
    ULONG AdapterFlags;                 /* NDK_ADAPTER_FLAG_ */
    NDK_RDMA_TECHNOLOGY RdmaTechnology; /* since NDK 2.0 */
} NDK_ADAPTER_INFO;

static_assert(sizeof(NDK_VERSION) == 4, "NDK_VERSION");
static_assert(sizeof(NDK_RDMA_TECHNOLOGY) == 4, "NDK_RDMA_TECHNOLOGY");
static_assert(sizeof(NDK_ADAPTER_INFO) == 0x68, "NDK_ADAPTER_INFO");

#endif
