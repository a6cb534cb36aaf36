/* SPDX-License-Identifier: MIT */
/*
 * What an NDK adapter says about itself: interface version, limits, abilities. Up to NDK 2.1.
 */
#ifndef ONDK_NDK_NDKINFO_H
#define ONDK_NDK_NDKINFO_H

#include "nt.h"

/* A version of the interface: 1.0 to 1.2, 2.0, 2.1. A minor may be served by a higher one of the same major. */
typedef struct {
    USHORT Major;
    USHORT Minor;
} NDK_VERSION;

/* What carries the data; the same numbers as the adapter keyword *NetworkDirectTechnology. */
typedef enum _NDK_RDMA_TECHNOLOGY {
    NdkUndefined = 0,
    NdkiWarp = 1,
    NdkInfiniBand = 2,
    NdkRoCE = 3,
    NdkRoCEv2 = 4,
    NdkMaxTechnology = 5
} NDK_RDMA_TECHNOLOGY;

/* The last byte of a buffer is never written before the bytes in front of it. */
#define NDK_ADAPTER_FLAG_IN_ORDER_DMA_SUPPORTED               0x00000001
/* Memory that reads are placed in needs no RDMA_READ_SINK flag; logical addresses may serve as sink, too. */
#define NDK_ADAPTER_FLAG_RDMA_READ_SINK_NOT_REQUIRED          0x00000002
/* NdkControlCqInterruptModeration works. */
#define NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED    0x00000004
/* Several connections are processed side by side, so that using more than one may be faster. */
#define NDK_ADAPTER_FLAG_MULTI_ENGINE_SUPPORTED               0x00000008
/* NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE works. */
#define NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED 0x00000010
/* NdkResizeCq works. */
#define NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED                  0x00000100
/* An address of this adapter can be connected to from this adapter. */
#define NDK_ADAPTER_FLAG_LOOPBACK_CONNECTIONS_SUPPORTED       0x00010000

/* What NdkQueryAdapterInfo fills in. */
typedef struct _NDK_ADAPTER_INFO {
    NDK_VERSION Version;
    UINT32 VendorId;                    /* the vendor's OUI */
    UINT32 DeviceId;
    SIZE_T MaxRegistrationSize;         /* bytes of one memory region */
    SIZE_T MaxWindowSize;               /* bytes of one memory window; 0: there are no windows */
    ULONG FRMRPageCount;                /* pages of one fast registration */
    ULONG MaxInitiatorRequestSge;       /* SGEs of one send or write */
    ULONG MaxReceiveRequestSge;         /* SGEs of one receive */
    ULONG MaxReadRequestSge;            /* SGEs of one read */
    ULONG MaxTransferLength;            /* bytes of one request */
    ULONG MaxInlineDataSize;            /* bytes of one request with NDK_OP_FLAG_INLINE */
    ULONG MaxInboundReadLimit;          /* reads of the peer in progress on one QP (IRD) */
    ULONG MaxOutboundReadLimit;         /* own reads in progress on one QP (ORD) */
    ULONG MaxReceiveQueueDepth;
    ULONG MaxInitiatorQueueDepth;
    ULONG MaxSrqDepth;                  /* 0: there are no shared receive queues */
    ULONG MaxCqDepth;
    ULONG LargeRequestThreshold;        /* a hint: the bytes from which read and write beat send and receive */
    ULONG MaxCallerData;                /* bytes of private data with a connect */
    ULONG MaxCalleeData;                /* bytes of private data with an accept or a reject */
    ULONG AdapterFlags;                 /* NDK_ADAPTER_FLAG_ */
    NDK_RDMA_TECHNOLOGY RdmaTechnology; /* since NDK 2.0 */
} NDK_ADAPTER_INFO;

static_assert(sizeof(NDK_VERSION) == 4, "NDK_VERSION");
static_assert(sizeof(NDK_RDMA_TECHNOLOGY) == 4, "NDK_RDMA_TECHNOLOGY");
static_assert(sizeof(NDK_ADAPTER_INFO) == 0x68, "NDK_ADAPTER_INFO");

#endif
