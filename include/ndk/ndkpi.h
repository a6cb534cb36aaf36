/* SPDX-License-Identifier: MIT */
/*
 * The Network Direct Kernel provider interface, NDK 1.1 to 2.1: objects, their dispatch tables, the functions in them.
 * Identifiers, values, layouts and parameter orders are Microsoft's; the words are ours.
 *
 * Rules for all functions, not repeated below
 *
 *   IRQL         Functions and callbacks run at any IRQL up to DISPATCH_LEVEL. Only NdkQueryAdapterInfo(Ex) needs
 *                PASSIVE_LEVEL; it may block.
 *   Pending      A function with a completion callback either returns its result and never calls the callback, or
 *                returns STATUS_PENDING and calls the callback exactly once, perhaps before the function has returned.
 *                Each status below can be returned or passed to the callback, never both.
 *   Create       With STATUS_SUCCESS the out parameter receives the object. With STATUS_PENDING the out parameter is
 *                not written and NDK_FN_CREATE_COMPLETION receives the object. The consumer owns the object until it
 *                calls the object's close function. STATUS_INSUFFICIENT_RESOURCES: memory or another resource ran out.
 *   Ownership    The consumer owns addresses, private data, GUIDs and SGE arrays; the provider reads them before the
 *                call returns. The provider passes contexts back unchanged and never dereferences them. Until a request
 *                has completed, the provider owns the memory that the request's SGEs name. While a call is pending,
 *                the provider owns the call's MDL chain and out parameters, except the out parameter of a create.
 *   Requests     The functions of NDK_QP_DISPATCH that take a RequestContext, and NdkSrqReceive, post a request.
 *                STATUS_SUCCESS: the request will complete with one NDK_RESULT on the CQ, or with none if it is silent
 *                and succeeds. Any other status: the request was not posted. A flushed request completes with
 *                STATUS_CANCELLED.
 *   Lengths      Functions with an in/out length write the size needed and return STATUS_BUFFER_TOO_SMALL if the buffer
 *                is too short. Otherwise they write the size used.
 *   (OpenNDK)    marks a choice of this provider that the interface leaves open. A malformed argument gives
 *                STATUS_INVALID_PARAMETER, an object in the wrong state STATUS_INVALID_DEVICE_STATE (OpenNDK).
 */
#ifndef ONDK_NDK_NDKPI_H
#define ONDK_NDK_NDKPI_H

#include "ndkinfo.h"
#include "nt.h"

typedef struct _NDK_ADAPTER NDK_ADAPTER;
typedef struct _NDK_PD NDK_PD;
typedef struct _NDK_CQ NDK_CQ;
typedef struct _NDK_MR NDK_MR;
typedef struct _NDK_MW NDK_MW;
typedef struct _NDK_SRQ NDK_SRQ;
typedef struct _NDK_QP NDK_QP;
typedef struct _NDK_CONNECTOR NDK_CONNECTOR;
typedef struct _NDK_LISTENER NDK_LISTENER;
typedef struct _NDK_SHARED_ENDPOINT NDK_SHARED_ENDPOINT;

/* ---- What all objects share ------------------------------------------------------------------------------------- */

typedef enum _NDK_OBJECT_TYPE {
    NdkObjectTypeUndefined = 0,
    NdkObjectTypeAdapter = 1,
    NdkObjectTypeQp = 2,
    NdkObjectTypeCq = 3,
    NdkObjectTypeMr = 4,
    NdkObjectTypeMw = 5,
    NdkObjectTypePd = 6,
    NdkObjectTypeSharedEndpoint = 7,
    NdkObjectTypeConnector = 8,
    NdkObjectTypeListener = 9,
    NdkObjectTypeSrq = 10,
    NdkObjectTypeMax = 11
} NDK_OBJECT_TYPE;

/*
 * Reserved for a layer between consumer and provider. The provider zeroes the block of a new object and does not access
 * it afterwards.
 */
typedef struct _NDK_OBJECT_HEADER_RESERVED_BLOCK {
    PVOID rf[4];
} NDK_OBJECT_HEADER_RESERVED_BLOCK;

/*
 * The start of every object; a pointer to the dispatch table follows. Version.Major is the major version that the
 * adapter was opened with. Version.Minor is the provider's highest minor version of this major version. Version
 * determines the length of the table.
 */
typedef struct _NDK_OBJECT_HEADER {
    NDK_VERSION Version;
    NDK_OBJECT_TYPE ObjectType;
    NDK_OBJECT_HEADER_RESERVED_BLOCK NdkReserved;
} NDK_OBJECT_HEADER;

/*
 * Called when a pending create has completed. If Status is STATUS_SUCCESS, pNdkObject is the new object. Otherwise
 * Status is an error that the create function documents, and pNdkObject is undefined.
 */
typedef VOID (*NDK_FN_CREATE_COMPLETION)(
    _In_opt_ PVOID Context, _In_ NTSTATUS Status, _In_ NDK_OBJECT_HEADER *pNdkObject);

/* Called when a pending request on an object has completed. Status is one of those that the function documents. */
typedef VOID (*NDK_FN_REQUEST_COMPLETION)(_In_opt_ PVOID Context, _In_ NTSTATUS Status);

/*
 * Called when a pending close has completed. A close cannot fail, so there is no status. This callback is the last one
 * for the object. It is not called if the close function returned STATUS_SUCCESS.
 */
typedef VOID (*NDK_FN_CLOSE_COMPLETION)(_In_opt_ PVOID Context);

/*
 * Closes an object of any type but the adapter. The consumer must not use the object afterwards. Pending requests on
 * the object complete before the close, with STATUS_CANCELLED if they cannot finish. An object may be closed before the
 * objects that depend on it; the close then stays pending until the last dependent object is closed.
 *   STATUS_SUCCESS   closed; CloseCompletion is not called
 *   STATUS_PENDING   CloseCompletion is called when no request, callback or dependent object is left
 * No other status is returned.
 */
typedef NTSTATUS (*NDK_FN_CLOSE_OBJECT)(
    _In_ NDK_OBJECT_HEADER *pNdkObject, _In_ NDK_FN_CLOSE_COMPLETION CloseCompletion, _In_opt_ PVOID RequestContext);

/* A table of functions that this interface does not have. The owner of the GUID defines the table at Dispatch. */
typedef struct _NDK_EXTENSION_INTERFACE {
    CONST VOID *Dispatch;
} NDK_EXTENSION_INTERFACE;

/*
 * Finds an extension of the object's interface by GUID and version.
 *   STATUS_SUCCESS        *pExtensionInterface is filled in; the table is valid as long as the object
 *   STATUS_NOT_SUPPORTED  the provider has no such extension
 */
typedef NTSTATUS (*NDK_FN_QUERY_EXTENSION_INTERFACE)(
    _In_ NDK_OBJECT_HEADER *pNdkObject, _In_ GUID *ExtensionInterfaceID, _In_ NDK_VERSION ExtensionInterfaceVersion,
    _Out_ NDK_EXTENSION_INTERFACE *pExtensionInterface);

/* ---- Memory in requests ------------------------------------------------------------------------------------------ */

/* An address in the adapter's address space. */
typedef PHYSICAL_ADDRESS NDK_LOGICAL_ADDRESS;

/*
 * The adapter's addresses of the pages of a memory range. NdkBuildLAM writes AdapterPageCount addresses of pages of
 * PAGE_SIZE bytes; the array continues behind the structure. The pages are contiguous in virtual memory. Their
 * addresses in AdapterPageArray need not be contiguous.
 */
typedef struct _NDK_LOGICAL_ADDRESS_MAPPING {
    PVOID AdapterContext; /* only for the provider */
    ULONG AdapterPageCount;
    NDK_LOGICAL_ADDRESS AdapterPageArray[1];
} NDK_LOGICAL_ADDRESS_MAPPING;

/*
 * A piece of local memory. With the privileged token, LogicalAddress is used, and the address must come from a mapping
 * that has not been released. With any other token, VirtualAddress is used, and the piece must lie inside that token's
 * region. With NDK_OP_FLAG_INLINE the token is ignored.
 */
typedef struct _NDK_SGE {
    union {
        PVOID VirtualAddress;
        NDK_LOGICAL_ADDRESS LogicalAddress;
    };
    ULONG Length;
    UINT32 MemoryRegionToken;
} NDK_SGE;

/* ---- Completion queue -------------------------------------------------------------------------------------------- */

/* The type of the completed request. A send with invalidate completes as NdkOperationTypeSend. */
typedef enum _NDK_OPERATION_TYPE {
    NdkOperationTypeReceive = 1,
    NdkOperationTypeReceiveAndInvalidate = 32769,
    NdkOperationTypeSend = 2,
    NdkOperationTypeFastRegister = 4,
    NdkOperationTypeBind = 8,
    NdkOperationTypeInvalidate = 16,
    NdkOperationTypeRead = 32,
    NdkOperationTypeWrite = 64
} NDK_OPERATION_TYPE;

/*
 * One completed request, with the contexts of the QP and of the request. BytesTransferred is defined only for receives.
 */
typedef struct _NDK_RESULT {
    NTSTATUS Status;
    ULONG BytesTransferred;
    PVOID QPContext;
    PVOID RequestContext;
} NDK_RESULT;

/*
 * NDK_RESULT with the request's type. ProviderErrorCode is new in NDK 2.1 and uses former padding. The code is zero
 * with STATUS_SUCCESS. Otherwise the code is the provider's reason, or zero if the provider gives none.
 * TypeSpecificCompletionOutput is defined only for NdkOperationTypeReceiveAndInvalidate and contains the 32-bit token
 * that was invalidated.
 */
typedef struct _NDK_RESULT_EX {
    NTSTATUS Status;
    ULONG BytesTransferred;
    PVOID QPContext;
    PVOID RequestContext;
    NDK_OPERATION_TYPE Type;
    ULONG ProviderErrorCode;
    ULONG_PTR TypeSpecificCompletionOutput;
} NDK_RESULT_EX;

/*
 * Called once for each time that a CQ is armed. The call disarms the CQ. Calls for one CQ never overlap.
 *   STATUS_SUCCESS          the CQ has completions of the armed type
 *   STATUS_BUFFER_OVERFLOW  more requests completed than the CQ holds; the CQ and its QPs are unusable
 *   STATUS_INTERNAL_ERROR   another failure of the CQ; the CQ and its QPs are unusable
 */
typedef VOID (*NDK_FN_CQ_NOTIFICATION_CALLBACK)(_In_opt_ PVOID CqNotificationContext, _In_ NTSTATUS CqStatus);

/* Types of notification for NdkArmCq. A notification of any type also reports errors of the CQ itself. */
#define NDK_CQ_NOTIFY_ERRORS    0 /* only errors of the CQ */
#define NDK_CQ_NOTIFY_ANY       1 /* any completion */
#define NDK_CQ_NOTIFY_SOLICITED 2 /* a failed request, or the receive of a message sent with SEND_AND_SOLICIT_EVENT */

/*
 * Arms the CQ for one notification of Type (NDK_CQ_NOTIFY_). If completions were queued since the last notification,
 * the new notification is called at once. If the CQ is armed twice before a notification, the wider type applies: ANY
 * over SOLICITED over ERRORS.
 */
typedef VOID (*NDK_FN_ARM_CQ)(_In_ NDK_CQ *pNdkCq, _In_ ULONG Type);

/*
 * Moves up to nResults completions, oldest first, from the CQ to the consumer's array. Returns their number. A receive
 * of a send with invalidate is reported as a plain receive. The consumer must serialize its calls of NdkArmCq,
 * NdkGetCqResults and NdkGetCqResultsEx for one CQ.
 */
typedef ULONG (*NDK_FN_GET_CQ_RESULTS)(
    _In_ NDK_CQ *pNdkCq, _Out_writes_to_(nResults, return) NDK_RESULT Results[], _In_ ULONG nResults);

/* Works like NDK_FN_GET_CQ_RESULTS, but also returns each request's type and the provider's reason. */
typedef ULONG (*NDK_FN_GET_CQ_RESULTS_EX)(
    _In_ NDK_CQ *pNdkCq, _Out_writes_to_(nResults, return) NDK_RESULT_EX Results[], _In_ ULONG nResults);

/*
 * Changes the depth; queued completions stay.
 *   STATUS_INVALID_PARAMETER       over the adapter's MaxCqDepth, or below the number of queued completions (OpenNDK)
 *   STATUS_INSUFFICIENT_RESOURCES  the CQ is unchanged
 *   STATUS_NOT_SUPPORTED           the adapter lacks NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED
 */
typedef NTSTATUS (*NDK_FN_RESIZE_CQ)(
    _In_ NDK_CQ *pNdkCq, _In_ ULONG CqDepth, _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion,
    _In_opt_ PVOID RequestContext);

/*
 * Lets the provider delay a notification. The delay ends after ModerationInterval microseconds, or when
 * ModerationCount completions are queued. MAXULONG means no limit. An interval of 0, or a count of 0 or 1, switches
 * moderation off, as in a new CQ. The latest setting applies. Calls for one CQ must not overlap.
 *   STATUS_INVALID_PARAMETER_MIX   neither limit applies: the interval is MAXULONG, and the count is MAXULONG or larger
 *                                  than the depth
 *   STATUS_INSUFFICIENT_RESOURCES  memory ran out
 *   STATUS_NOT_SUPPORTED           the adapter lacks NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED
 * Never pending.
 */
typedef NTSTATUS (*NDK_FN_CONTROL_CQ_INTERRUPT_MODERATION)(
    _In_ NDK_CQ *pNdkCq, _In_ ULONG ModerationInterval, _In_ ULONG ModerationCount);

typedef struct _NDK_CQ_DISPATCH {
    NDK_FN_CLOSE_OBJECT NdkCloseCq;
    NDK_FN_QUERY_EXTENSION_INTERFACE NdkQueryExtension;
    NDK_FN_RESIZE_CQ NdkResizeCq;
    NDK_FN_ARM_CQ NdkArmCq;
    NDK_FN_GET_CQ_RESULTS NdkGetCqResults;
    NDK_FN_CONTROL_CQ_INTERRUPT_MODERATION NdkControlCqInterruptModeration;
    NDK_FN_GET_CQ_RESULTS_EX NdkGetCqResultsEx; /* since NDK 1.2 */
} NDK_CQ_DISPATCH;

struct _NDK_CQ {
    NDK_OBJECT_HEADER Header;
    CONST NDK_CQ_DISPATCH *Dispatch;
};

/* ---- Memory region ----------------------------------------------------------------------------------------------- */

/* Flags of NdkRegisterMr. Local read is always allowed; remote write includes local write. */
#define NDK_MR_FLAG_ALLOW_LOCAL_READ   0x00000000
#define NDK_MR_FLAG_ALLOW_LOCAL_WRITE  0x00000001
#define NDK_MR_FLAG_ALLOW_REMOTE_READ  0x00000002
#define NDK_MR_FLAG_ALLOW_REMOTE_WRITE 0x00000005
#define NDK_MR_FLAG_RDMA_READ_SINK     0x00000008 /* the memory may be a read's target (see the adapter's flags) */

/*
 * Registers the first Length bytes of an MDL chain with the rights in Flags (NDK_MR_FLAG_). The bytes must be virtually
 * contiguous and may begin at any address. The provider owns the chain while the call is pending. The memory must stay
 * mapped until NdkDeregisterMr or the close has completed.
 *   STATUS_INVALID_PARAMETER       the chain has a hole, or Length exceeds the chain or MaxRegistrationSize (OpenNDK)
 *   STATUS_INSUFFICIENT_RESOURCES  memory ran out
 */
typedef NTSTATUS (*NDK_FN_REGISTER_MR)(
    _In_ NDK_MR *pNdkMr, _In_ MDL *Mdl, _In_ SIZE_T Length, _In_ ULONG Flags,
    _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion, _In_opt_ PVOID RequestContext);

/*
 * Ends a registration. When the call has completed, no local or remote access reaches the memory any more. The call
 * cannot fail: it returns STATUS_SUCCESS or STATUS_PENDING.
 */
typedef NTSTATUS (*NDK_FN_DEREGISTER_MR)(
    _In_ NDK_MR *pNdkMr, _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion, _In_opt_ PVOID RequestContext);

/*
 * Prepares a region for fast registrations of up to AdapterPageCount pages. The region must have been created with
 * FastRegister TRUE. RemoteAccess TRUE allows NdkFastRegister to grant remote rights.
 *   STATUS_IMPLEMENTATION_LIMIT  over the adapter's FRMRPageCount
 */
typedef NTSTATUS (*NDK_FN_INITIALIZE_FAST_REGISTER_MR)(
    _In_ NDK_MR *pNdkMr, _In_ ULONG AdapterPageCount, _In_ BOOLEAN RemoteAccess,
    _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion, _In_opt_ PVOID RequestContext);

/*
 * Returns the token that a peer uses in reads and writes. Valid after a registration, or as soon as NdkFastRegister has
 * returned. After NdkInitializeFastRegisterMr this function already returns the token of the first NdkFastRegister
 * (OpenNDK).
 */
typedef UINT32 (*NDK_FN_GET_REMOTE_TOKEN_FROM_MR)(_In_ NDK_MR *pNdkMr);

/* Returns the token for this side's SGEs. Valid after a registration or an initialization for fast registration. */
typedef UINT32 (*NDK_FN_GET_LOCAL_TOKEN_FROM_MR)(_In_ NDK_MR *pNdkMr);

typedef struct _NDK_MR_DISPATCH {
    NDK_FN_CLOSE_OBJECT NdkCloseMr;
    NDK_FN_QUERY_EXTENSION_INTERFACE NdkQueryExtension;
    NDK_FN_REGISTER_MR NdkRegisterMr;
    NDK_FN_DEREGISTER_MR NdkDeregisterMr;
    NDK_FN_INITIALIZE_FAST_REGISTER_MR NdkInitializeFastRegisterMr;
    NDK_FN_GET_REMOTE_TOKEN_FROM_MR NdkGetRemoteTokenFromMr;
    NDK_FN_GET_LOCAL_TOKEN_FROM_MR NdkGetLocalTokenFromMr;
} NDK_MR_DISPATCH;

struct _NDK_MR {
    NDK_OBJECT_HEADER Header;
    CONST NDK_MR_DISPATCH *Dispatch;
};

/* ---- Memory window ----------------------------------------------------------------------------------------------- */

/*
 * Returns the token that a peer uses for the bound memory. Valid as soon as NdkBind has returned; each bind gives a new
 * token.
 */
typedef UINT32 (*NDK_FN_GET_REMOTE_TOKEN_FROM_MW)(_In_ NDK_MW *pNdkMw);

typedef struct _NDK_MW_DISPATCH {
    NDK_FN_CLOSE_OBJECT NdkCloseMw;
    NDK_FN_QUERY_EXTENSION_INTERFACE NdkQueryExtension;
    NDK_FN_GET_REMOTE_TOKEN_FROM_MW NdkGetRemoteTokenFromMw;
} NDK_MW_DISPATCH;

struct _NDK_MW {
    NDK_OBJECT_HEADER Header;
    CONST NDK_MW_DISPATCH *Dispatch;
};

/* ---- Shared receive queue ---------------------------------------------------------------------------------------- */

/*
 * Called once for each time that the notification of a shared receive queue is armed.
 *   STATUS_SUCCESS         the number of queued receives fell below the threshold
 *   STATUS_INTERNAL_ERROR  the SRQ failed; the SRQ and its QPs are unusable
 */
typedef VOID (*NDK_FN_SRQ_NOTIFICATION_CALLBACK)(_In_opt_ PVOID SrqNotificationContext, _In_ NTSTATUS SrqStatus);

/*
 * Sets the SRQ's depth and threshold. Depth 0 keeps the depth. A threshold above 0 arms the notification. If the number
 * of queued receives is already below the threshold, the notification is called at once. Threshold 0 changes neither
 * the threshold nor the notification.
 *   STATUS_INVALID_PARAMETER  over the adapter's MaxSrqDepth
 */
typedef NTSTATUS (*NDK_FN_MODIFY_SRQ)(
    _In_ NDK_SRQ *pNdkSrq, _In_ ULONG SrqDepth, _In_ ULONG NotifyThreshold,
    _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion, _In_opt_ PVOID RequestContext);

/*
 * Posts a receive. The next QP of the SRQ that needs a receive uses the posted receive, which completes on that QP's
 * receive CQ. The statuses are those of NDK_FN_RECEIVE. A receive that is still queued when the SRQ is closed has no
 * completion.
 */
typedef NTSTATUS (*NDK_FN_SRQ_RECEIVE)(
    _In_ NDK_SRQ *pNdkSrq, _In_opt_ PVOID RequestContext, _In_reads_(nSge) CONST NDK_SGE *pSgl, _In_ ULONG nSge);

typedef struct _NDK_SRQ_DISPATCH {
    NDK_FN_CLOSE_OBJECT NdkCloseSrq;
    NDK_FN_QUERY_EXTENSION_INTERFACE NdkQueryExtension;
    NDK_FN_MODIFY_SRQ NdkModifySrq;
    NDK_FN_SRQ_RECEIVE NdkSrqReceive;
} NDK_SRQ_DISPATCH;

struct _NDK_SRQ {
    NDK_OBJECT_HEADER Header;
    CONST NDK_SRQ_DISPATCH *Dispatch;
};

/* ---- Queue pair -------------------------------------------------------------------------------------------------- */

/*
 * Flags of requests. Each comment begins with the requests that accept the flag. An "initiator" request is every
 * request except a receive.
 */
#define NDK_OP_FLAG_SILENT_SUCCESS             0x00000001 /* initiator: has a completion only if it fails */
#define NDK_OP_FLAG_READ_FENCE                 0x00000002 /* initiator: starts when all earlier reads are done */
#define NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT     0x00000004 /* sends: satisfies the peer's NDK_CQ_NOTIFY_SOLICITED */
#define NDK_OP_FLAG_ALLOW_REMOTE_READ          0x00000008 /* bind, fast register */
#define NDK_OP_FLAG_ALLOW_LOCAL_WRITE          0x00000010 /* fast register */
#define NDK_OP_FLAG_ALLOW_REMOTE_WRITE         0x00000030 /* bind, fast register; includes local write */
#define NDK_OP_FLAG_INLINE                     0x00000040 /* send, write: data is copied before the call returns */
#define NDK_OP_FLAG_RDMA_READ_SINK             0x00000080 /* fast register: the memory may be a read's target */
#define NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE 0x00000100 /* read: invalidates the token of the first SGE afterwards */
#define NDK_OP_FLAG_DEFER                      0x00000200 /* initiator: the request may wait for one without DEFER */

/*
 * Posts. The functions from NDK_FN_SEND to NDK_FN_INVALIDATE, and NDK_FN_SRQ_RECEIVE, never pend. With STATUS_SUCCESS
 * the request is queued and will complete; with any other status it is not queued. The statuses of these functions:
 *   STATUS_SUCCESS                 queued
 *   STATUS_CONNECTION_INVALID      the QP is not connected, or one of its CQs has overflowed (OpenNDK). A receive does
 *                                  not require a connected QP. NDK_FN_SRQ_RECEIVE does not return this status.
 *   STATUS_INSUFFICIENT_RESOURCES  the queue is full, or memory ran out (OpenNDK)
 *   STATUS_INVALID_PARAMETER       a flag that the function does not have, more SGEs or bytes than the queue or the
 *                                  adapter allows, or the list is null although nSge is not 0 (OpenNDK)
 *   STATUS_ACCESS_VIOLATION        the token of an SGE is invalid or of another PD, the SGE is not inside the token's
 *                                  region, or, for a receive or read, the region lacks local write (OpenNDK)
 * The statuses of a completion:
 *   STATUS_SUCCESS                 done; after a send or write the memory may be reused, even if the data is not yet
 *                                  at the peer
 *   STATUS_CANCELLED               a flush, a disconnect or a close of this side ended the request
 *   STATUS_CONNECTION_ABORTED      the connection was lost before the request was carried out (OpenNDK)
 *   STATUS_ACCESS_VIOLATION        the registration of an SGE ended before the request was carried out (OpenNDK)
 * The comments of the functions name further statuses. docs/status.md has all causes, and the provider's reasons.
 */

/*
 * Completes all queued receives and initiator requests with STATUS_CANCELLED. If the consumer finds the CQ empty after
 * the call, all requests that were posted before the call have completed. May run at the same time as a post.
 */
typedef VOID (*NDK_FN_FLUSH)(_In_ NDK_QP *pNdkQp);

/*
 * Sends the SGEs' bytes as one message, which consumes one receive at the peer. The message may be empty. With
 * NDK_OP_FLAG_INLINE the bytes are copied before the call returns. Inline data may have any number of SGEs, and their
 * tokens are ignored. The number of its bytes is limited by the QP's inline size. A message that the peer does not
 * accept ends the connection. The send may have completed before the connection ends.
 *   STATUS_CONNECTION_INVALID  the QP is not connected
 *   STATUS_INVALID_PARAMETER   inline data longer than the QP's inline size (OpenNDK)
 */
typedef NTSTATUS (*NDK_FN_SEND)(
    _In_ NDK_QP *pNdkQp, _In_opt_ PVOID RequestContext, _In_reads_(nSge) CONST NDK_SGE *pSgl, _In_ ULONG nSge,
    _In_ ULONG Flags);

/*
 * Works like NDK_FN_SEND, and also invalidates the peer's region or window of RemoteToken before the peer's receive
 * completes. A token that the peer does not have ends the connection. Since NDK 1.2.
 *   STATUS_CONNECTION_INVALID  the QP is not connected
 */
typedef NTSTATUS (*NDK_FN_SEND_AND_INVALIDATE)(
    _In_ NDK_QP *pNdkQp, _In_opt_ PVOID RequestContext, _In_reads_(nSge) CONST NDK_SGE *pSgl, _In_ ULONG nSge,
    _In_ ULONG Flags, _In_ UINT32 RemoteToken);

/*
 * Posts a receive for one message; allowed before the QP is connected. A message that is longer than its receive, or
 * that finds no receive, ends the connection.
 *   STATUS_INVALID_PARAMETER  the QP has an SRQ (OpenNDK)
 * If the completion has this status, the connection has ended:
 *   STATUS_DATA_OVERRUN       the message was longer than the receive (OpenNDK)
 */
typedef NTSTATUS (*NDK_FN_RECEIVE)(
    _In_ NDK_QP *pNdkQp, _In_opt_ PVOID RequestContext, _In_reads_(nSge) CONST NDK_SGE *pSgl, _In_ ULONG nSge);

/*
 * Reads the peer's memory at RemoteAddress in the region or window of RemoteToken into the SGEs. The connection's
 * outbound read limit bounds the reads in progress; further reads wait in the queue.
 *   STATUS_CONNECTION_INVALID  the QP is not connected
 *   STATUS_NOT_SUPPORTED       the adapter, this side or the peer allows no reads: the read limit is 0 (OpenNDK)
 *   STATUS_INVALID_PARAMETER   more SGEs than MaxReadRequestSge; RDMA_READ_LOCAL_INVALIDATE without an SGE (OpenNDK)
 *   STATUS_ACCESS_VIOLATION    RDMA_READ_LOCAL_INVALIDATE with a token that no fast registration made (OpenNDK)
 * If the completion has one of these statuses, the connection has ended:
 *   STATUS_REMOTE_RESOURCES    the range exceeds the remote region
 *   STATUS_ACCESS_VIOLATION    the remote token is invalid or does not allow reads (OpenNDK)
 */
typedef NTSTATUS (*NDK_FN_READ)(
    _In_ NDK_QP *pNdkQp, _In_opt_ PVOID RequestContext, _In_reads_(nSge) CONST NDK_SGE *pSgl, _In_ ULONG nSge,
    _In_ UINT64 RemoteAddress, _In_ UINT32 RemoteToken, _In_ ULONG Flags);

/*
 * Writes the SGEs' bytes to RemoteAddress in the peer's region or window of RemoteToken. The peer's consumer is not
 * notified. The bytes are in place when the peer has received a send that was posted later. An invalid token, a range
 * outside the region, or a missing right ends the connection. The write may have completed before the connection ends.
 *   STATUS_CONNECTION_INVALID  the QP is not connected
 *   STATUS_INVALID_PARAMETER   inline data longer than the QP's inline size (OpenNDK)
 */
typedef NTSTATUS (*NDK_FN_WRITE)(
    _In_ NDK_QP *pNdkQp, _In_opt_ PVOID RequestContext, _In_reads_(nSge) CONST NDK_SGE *pSgl, _In_ ULONG nSge,
    _In_ UINT64 RemoteAddress, _In_ UINT32 RemoteToken, _In_ ULONG Flags);

/*
 * Binds a window to Length bytes of a region, which begin at VirtualAddress, with the remote rights in Flags. Replaces
 * an earlier binding. The region's close stays pending while a window is bound to it.
 *   STATUS_CONNECTION_INVALID    the QP is not connected
 *   STATUS_ACCESS_VIOLATION      Flags has a right that the region does not have
 *   STATUS_INVALID_PARAMETER     the range is empty, not inside the region, or longer than MaxWindowSize; an object is
 *                                null or of another PD; local write without remote write (OpenNDK)
 *   STATUS_INVALID_DEVICE_STATE  the region has no registration; region or window is being closed (OpenNDK)
 *   STATUS_NOT_SUPPORTED         the adapter's MaxWindowSize is 0 (OpenNDK)
 * The completion can have this status:
 *   STATUS_ACCESS_VIOLATION      the registration ended, or region or window was closed, before the bind was carried
 *                                out (OpenNDK)
 */
typedef NTSTATUS (*NDK_FN_BIND)(
    _In_ NDK_QP *pNdkQp, _In_opt_ PVOID RequestContext, _In_ NDK_MR *pMr, _In_ NDK_MW *pMw, _In_ PVOID VirtualAddress,
    _In_ SIZE_T Length, _In_ ULONG Flags);

/*
 * Registers memory with a region that was initialized for fast registration. The memory is Length bytes of
 * AdapterPageCount pages and begins at offset FBO in the first page. SGEs and peers use BaseVirtualAddress as the
 * address of the first byte. BaseVirtualAddress minus FBO must be zero or a multiple of PAGE_SIZE (OpenNDK). The pages
 * must stay mapped until the region is invalidated or closed.
 *   STATUS_CONNECTION_INVALID    the QP is not connected
 *   STATUS_ACCESS_VIOLATION      Flags has remote rights, but the region was not initialized for remote access; or a
 *                                page is not mapped (OpenNDK)
 *   STATUS_INVALID_PARAMETER     more pages than NdkInitializeFastRegisterMr set, a length of 0 or beyond the pages, a
 *                                wrong BaseVirtualAddress, a null region or AdapterPageArray, a region of another PD,
 *                                or remote write without local write (OpenNDK)
 *   STATUS_INVALID_DEVICE_STATE  the region is not initialized for fast registration, or is being closed (OpenNDK)
 *   STATUS_NOT_SUPPORTED         the adapter's FRMRPageCount is 0 (OpenNDK)
 * The completion can have this status:
 *   STATUS_ACCESS_VIOLATION      the region was closed before the request was carried out (OpenNDK)
 */
typedef NTSTATUS (*NDK_FN_FAST_REGISTER)(
    _In_ NDK_QP *pNdkQp, _In_opt_ PVOID RequestContext, _In_ NDK_MR *pMr, _In_ ULONG AdapterPageCount,
    _In_reads_(AdapterPageCount) CONST NDK_LOGICAL_ADDRESS *AdapterPageArray, _In_ ULONG FBO, _In_ SIZE_T Length,
    _In_ PVOID BaseVirtualAddress, _In_ ULONG Flags);

/*
 * Ends the access that a fast registration or a bind granted. pNdkMrOrMw is the header of the region or window.
 *   STATUS_CONNECTION_INVALID    the QP is not connected
 *   STATUS_INVALID_PARAMETER     pNdkMrOrMw is null, a region that is not for fast registration, or of another PD
 *                                (OpenNDK)
 *   STATUS_INVALID_DEVICE_STATE  nothing has ever been registered or bound, or the object is being closed (OpenNDK)
 *   STATUS_NOT_SUPPORTED         the adapter has neither fast registration nor windows (OpenNDK)
 * The completion can have this status:
 *   STATUS_ACCESS_VIOLATION      the token was not valid any more (OpenNDK)
 */
typedef NTSTATUS (*NDK_FN_INVALIDATE)(
    _In_ NDK_QP *pNdkQp, _In_opt_ PVOID RequestContext, _In_ NDK_OBJECT_HEADER *pNdkMrOrMw, _In_ ULONG Flags);

typedef struct _NDK_QP_DISPATCH {
    NDK_FN_CLOSE_OBJECT NdkCloseQp;
    NDK_FN_QUERY_EXTENSION_INTERFACE NdkQueryExtension;
    NDK_FN_FLUSH NdkFlush;
    NDK_FN_SEND NdkSend;
    NDK_FN_RECEIVE NdkReceive;
    NDK_FN_BIND NdkBind;
    NDK_FN_FAST_REGISTER NdkFastRegister;
    NDK_FN_INVALIDATE NdkInvalidate;
    NDK_FN_READ NdkRead;
    NDK_FN_WRITE NdkWrite;
    NDK_FN_SEND_AND_INVALIDATE NdkSendAndInvalidate; /* since NDK 1.2 */
} NDK_QP_DISPATCH;

struct _NDK_QP {
    NDK_OBJECT_HEADER Header;
    CONST NDK_QP_DISPATCH *Dispatch;
};

/* ---- Protection domain ------------------------------------------------------------------------------------------- */

/* Creates a memory region without memory: for NdkRegisterMr, or, with FastRegister, for NdkInitializeFastRegisterMr. */
typedef NTSTATUS (*NDK_FN_CREATE_MR)(
    _In_ NDK_PD *pNdkPd, _In_ BOOLEAN FastRegister, _In_ NDK_FN_CREATE_COMPLETION CreateCompletion,
    _In_opt_ PVOID RequestContext, _Outptr_ NDK_MR **ppNdkMr);

/* Creates a memory window that is bound to nothing. */
typedef NTSTATUS (*NDK_FN_CREATE_MW)(
    _In_ NDK_PD *pNdkPd, _In_ NDK_FN_CREATE_COMPLETION CreateCompletion, _In_opt_ PVOID RequestContext,
    _Outptr_ NDK_MW **ppNdkMw);

/*
 * Creates a shared receive queue of SrqDepth receives with up to MaxReceiveRequestSge SGEs each. SrqNotification may be
 * null. It is called when fewer than NotifyThreshold receives are queued. It preferably runs on a processor of
 * Affinity.
 *   STATUS_INVALID_PARAMETER  depth or SGE count over the adapter's limit
 */
typedef NTSTATUS (*NDK_FN_CREATE_SRQ)(
    _In_ NDK_PD *pNdkPd, _In_ ULONG SrqDepth, _In_ ULONG MaxReceiveRequestSge, _In_ ULONG NotifyThreshold,
    _In_opt_ NDK_FN_SRQ_NOTIFICATION_CALLBACK SrqNotification, _In_opt_ PVOID SrqNotificationContext,
    _In_opt_ GROUP_AFFINITY *Affinity, _In_ NDK_FN_CREATE_COMPLETION CreateCompletion, _In_opt_ PVOID RequestContext,
    _Outptr_ NDK_SRQ **ppNdkSrq);

/*
 * Creates a queue pair. Receives complete on pReceiveCq, initiator requests on pInitiatorCq, which may be the same CQ.
 * Each result contains QPContext. The CQs' closes stay pending while the QP exists.
 *   STATUS_INVALID_PARAMETER  a depth, an SGE count or the inline size is over the adapter's limit
 */
typedef NTSTATUS (*NDK_FN_CREATE_QP)(
    _In_ NDK_PD *pNdkPd, _In_ NDK_CQ *pReceiveCq, _In_ NDK_CQ *pInitiatorCq, _In_opt_ PVOID QPContext,
    _In_ ULONG ReceiveQueueDepth, _In_ ULONG InitiatorQueueDepth, _In_ ULONG MaxReceiveRequestSge,
    _In_ ULONG MaxInitiatorRequestSge, _In_ ULONG InlineDataSize, _In_ NDK_FN_CREATE_COMPLETION CreateCompletion,
    _In_opt_ PVOID RequestContext, _Outptr_ NDK_QP **ppNdkQp);

/*
 * Works like NDK_FN_CREATE_QP, but the QP takes its receives from an SRQ. The SRQ's close stays pending while the QP
 * exists.
 */
typedef NTSTATUS (*NDK_FN_CREATE_QP_WITH_SRQ)(
    _In_ NDK_PD *pNdkPd, _In_ NDK_CQ *pReceiveCq, _In_ NDK_CQ *pInitiatorCq, _In_ NDK_SRQ *pSrq,
    _In_opt_ PVOID QPContext, _In_ ULONG InitiatorQueueDepth, _In_ ULONG MaxInitiatorRequestSge,
    _In_ ULONG InlineDataSize, _In_ NDK_FN_CREATE_COMPLETION CreateCompletion, _In_opt_ PVOID RequestContext,
    _Outptr_ NDK_QP **ppNdkQp);

/* Returns the token for SGEs with logical addresses. The token belongs to the PD. Peers cannot use the token. */
typedef VOID (*NDK_FN_GET_PRIVILEGED_MEMORY_REGION_TOKEN)(_In_ NDK_PD *pNdkPd, _Out_ UINT32 *pToken);

typedef struct _NDK_PD_DISPATCH {
    NDK_FN_CLOSE_OBJECT NdkClosePd;
    NDK_FN_QUERY_EXTENSION_INTERFACE NdkQueryExtension;
    NDK_FN_CREATE_MR NdkCreateMr;
    NDK_FN_CREATE_MW NdkCreateMw;
    NDK_FN_CREATE_SRQ NdkCreateSrq;
    NDK_FN_CREATE_QP NdkCreateQp;
    NDK_FN_CREATE_QP_WITH_SRQ NdkCreateQpWithSrq;
    NDK_FN_GET_PRIVILEGED_MEMORY_REGION_TOKEN NdkGetPrivilegedMemoryRegionToken;
} NDK_PD_DISPATCH;

struct _NDK_PD {
    NDK_OBJECT_HEADER Header;
    CONST NDK_PD_DISPATCH *Dispatch;
};

/* ---- Shared endpoint --------------------------------------------------------------------------------------------- */

/*
 * Copies the endpoint's local address and port to the consumer's buffer of *pAddressLength bytes.
 *   STATUS_BUFFER_TOO_SMALL  *pAddressLength is the size needed
 */
typedef NTSTATUS (*NDK_FN_GET_SHARED_ENDPOINT_LOCAL_ADDRESS)(
    _In_ NDK_SHARED_ENDPOINT *pNdkSharedEndpoint,
    _Out_writes_bytes_to_opt_(*pAddressLength, *pAddressLength) PSOCKADDR pAddress, _Inout_ ULONG *pAddressLength);

typedef struct _NDK_SHARED_ENDPOINT_DISPATCH {
    NDK_FN_CLOSE_OBJECT NdkCloseSharedEndpoint;
    NDK_FN_QUERY_EXTENSION_INTERFACE NdkQueryExtension;
    NDK_FN_GET_SHARED_ENDPOINT_LOCAL_ADDRESS NdkGetLocalAddress;
} NDK_SHARED_ENDPOINT_DISPATCH;

struct _NDK_SHARED_ENDPOINT {
    NDK_OBJECT_HEADER Header;
    CONST NDK_SHARED_ENDPOINT_DISPATCH *Dispatch;
};

/* ---- Connector --------------------------------------------------------------------------------------------------- */

/*
 * Reports that the peer has disconnected or the connection was lost. Called at most once, and not after this side has
 * disconnected or closed. NdkCompleteConnect or NdkAccept registers the callback, and completes before the callback is
 * called. After the callback this side must disconnect, flush the QP, or close the QP.
 */
typedef VOID (*NDK_FN_DISCONNECT_EVENT_CALLBACK)(_In_opt_ PVOID DisconnectEventContext);

/*
 * NDK_FN_DISCONNECT_EVENT_CALLBACK with the provider's reason; 0: none. The context is that of NdkCompleteConnectEx or
 * NdkAcceptEx. Since NDK 2.1.
 */
typedef VOID (*NDK_FN_DISCONNECT_EVENT_CALLBACK_EX)(
    _In_opt_ PVOID DisconnectEventContext, _In_ ULONG ProviderDisconnectReason);

/*
 * Requests a connection of pNdkQp with the listener at pDestAddress. pSrcAddress is an address of the adapter; port 0
 * selects a free port of 49152-65535. The listener's side reads the private data, at most MaxCallerData bytes, with
 * NdkGetConnectionData. The adapter caps the read limits. The limit in effect is the smaller of this side's limit and
 * the peer's limit for the opposite direction. On success the peer has accepted, and NdkGetConnectionData returns the
 * peer's private data and the limits. The QP cannot be used yet: the consumer must call NdkCompleteConnect or
 * NdkReject. After a failure the connector can be used again.
 *   STATUS_INSUFFICIENT_RESOURCES  memory or descriptors ran out
 *   STATUS_NETWORK_UNREACHABLE     no route to the destination's network, or the adapter's interface was removed
 *   STATUS_HOST_UNREACHABLE        the destination host does not exist or the network reports it unreachable
 *   STATUS_CONNECTION_REFUSED      nobody listens, the backlog is full, the listener is paused, or the peer ended the
 *                                  connection without an accept. If the peer rejected, NdkGetConnectionData returns
 *                                  the private data of the reject.
 *   STATUS_IO_TIMEOUT              no answer in time
 *   STATUS_SHARING_VIOLATION       the local address and port are in use, or this user may not bind the port (OpenNDK)
 *   STATUS_INVALID_ADDRESS         the local address is not one of the adapter's
 *   STATUS_TOO_MANY_ADDRESSES      port 0, and no port of the range is free
 *   STATUS_ADDRESS_ALREADY_EXISTS  a connection with these two addresses and ports exists
 *   STATUS_UNSUCCESSFUL            another error of the system (OpenNDK)
 *   STATUS_CANCELLED               the connector was closed meanwhile
 */
typedef NTSTATUS (*NDK_FN_CONNECT)(
    _In_ NDK_CONNECTOR *pNdkConnector, _In_ NDK_QP *pNdkQp,
    _In_reads_bytes_(SrcAddressLength) CONST PSOCKADDR pSrcAddress, _In_ ULONG SrcAddressLength,
    _In_reads_bytes_(DestAddressLength) CONST PSOCKADDR pDestAddress, _In_ ULONG DestAddressLength,
    _In_ ULONG InboundReadLimit, _In_ ULONG OutboundReadLimit,
    _In_reads_bytes_opt_(PrivateDataLength) CONST PVOID pPrivateData, _In_ ULONG PrivateDataLength,
    _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion, _In_opt_ PVOID RequestContext);

/*
 * Works like NDK_FN_CONNECT, but from the address of a shared endpoint. Connectors can connect from one endpoint to any
 * number of destinations. The endpoint's close stays pending while the connector exists. The endpoint has already
 * reserved its address, so only these statuses of NdkConnect occur:
 *   STATUS_INSUFFICIENT_RESOURCES, STATUS_NETWORK_UNREACHABLE, STATUS_HOST_UNREACHABLE, STATUS_CONNECTION_REFUSED,
 *   STATUS_IO_TIMEOUT, STATUS_ADDRESS_ALREADY_EXISTS, STATUS_UNSUCCESSFUL, STATUS_CANCELLED
 */
typedef NTSTATUS (*NDK_FN_CONNECT_WITH_SHARED_ENDPOINT)(
    _In_ NDK_CONNECTOR *pNdkConnector, _In_ NDK_QP *pNdkQp, _In_ NDK_SHARED_ENDPOINT *pNdkSharedEndpoint,
    _In_reads_bytes_(DestAddressLength) CONST PSOCKADDR pDestAddress, _In_ ULONG DestAddressLength,
    _In_ ULONG InboundReadLimit, _In_ ULONG OutboundReadLimit,
    _In_reads_bytes_opt_(PrivateDataLength) CONST PVOID pPrivateData, _In_ ULONG PrivateDataLength,
    _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion, _In_opt_ PVOID RequestContext);

/*
 * Finishes a connection after NdkConnect succeeded. On success the QPs of both sides are connected. DisconnectEvent, if
 * given, is called when the peer disconnects. STATUS_CONNECTION_INVALID leaves the connector as it is. After any other
 * failure the connector can only be closed.
 *   STATUS_CONNECTION_INVALID  NdkConnect has not succeeded, NdkCompleteConnect or NdkReject was called before, or the
 *                              connector came from a listener
 *   STATUS_CONNECTION_ABORTED  the peer gave up meanwhile or broke the protocol, or the adapter's interface was removed
 *   STATUS_IO_TIMEOUT          not finished in time
 *   STATUS_CANCELLED           the connector was closed meanwhile
 */
typedef NTSTATUS (*NDK_FN_COMPLETE_CONNECT)(
    _In_ NDK_CONNECTOR *pNdkConnector, _In_opt_ NDK_FN_DISCONNECT_EVENT_CALLBACK DisconnectEvent,
    _In_opt_ PVOID DisconnectEventContext, _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion,
    _In_opt_ PVOID RequestContext);

/* Works like NDK_FN_COMPLETE_CONNECT, with a disconnect callback that receives a reason. Since NDK 2.1. */
typedef NTSTATUS (*NDK_FN_COMPLETE_CONNECT_EX)(
    _In_ NDK_CONNECTOR *pNdkConnector, _In_opt_ NDK_FN_DISCONNECT_EVENT_CALLBACK_EX DisconnectEvent,
    _In_opt_ PVOID DisconnectEventContext, _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion,
    _In_opt_ PVOID RequestContext);

/*
 * Accepts a peer's request and connects pNdkQp. The connector comes from NDK_FN_CONNECT_EVENT_CALLBACK; the call may
 * be made in that callback or later. The private data, at most MaxCalleeData bytes, is sent to the peer. The read
 * limits have the same rules as in NdkConnect. Receives should be posted before the call. On success the connection is
 * established. After each of the statuses below the connector can only be closed. If the two sides use no
 * ready-to-receive message, the call succeeds when the reply has been sent. Posted requests then wait for the peer's
 * first message (OpenNDK).
 *   STATUS_CONNECTION_ABORTED  the peer gave up or broke the protocol, or the adapter's interface was removed
 *   STATUS_IO_TIMEOUT          the peer did not complete in time
 *   STATUS_CANCELLED           the connector was closed meanwhile
 */
typedef NTSTATUS (*NDK_FN_ACCEPT)(
    _In_ NDK_CONNECTOR *pNdkConnector, _In_ NDK_QP *pNdkQp, _In_ ULONG InboundReadLimit, _In_ ULONG OutboundReadLimit,
    _In_reads_bytes_opt_(PrivateDataLength) CONST PVOID pPrivateData, _In_ ULONG PrivateDataLength,
    _In_opt_ NDK_FN_DISCONNECT_EVENT_CALLBACK DisconnectEvent, _In_opt_ PVOID DisconnectEventContext,
    _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion, _In_opt_ PVOID RequestContext);

/* Works like NDK_FN_ACCEPT, with a disconnect callback that receives a reason. Since NDK 2.1. */
typedef NTSTATUS (*NDK_FN_ACCEPT_EX)(
    _In_ NDK_CONNECTOR *pNdkConnector, _In_ NDK_QP *pNdkQp, _In_ ULONG InboundReadLimit, _In_ ULONG OutboundReadLimit,
    _In_reads_bytes_opt_(PrivateDataLength) CONST PVOID pPrivateData, _In_ ULONG PrivateDataLength,
    _In_opt_ NDK_FN_DISCONNECT_EVENT_CALLBACK_EX DisconnectEvent, _In_opt_ PVOID DisconnectEventContext,
    _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion, _In_opt_ PVOID RequestContext);

/*
 * Refuses a connection. On the listening side, rejects the peer's request and sends the private data, at most
 * MaxCalleeData bytes. On the connecting side, may be called instead of NdkCompleteConnect, and sends no private data.
 *   STATUS_CONNECTION_ABORTED  the peer has ended the connection already
 * Never pending.
 */
typedef NTSTATUS (*NDK_FN_REJECT)(
    _In_ NDK_CONNECTOR *pNdkConnector, _In_reads_bytes_opt_(PrivateDataLength) CONST PVOID pPrivateData,
    _In_ ULONG PrivateDataLength);

/*
 * Returns the read limits and the private data of the peer's connect, accept or reject. Each out parameter may be null.
 * After NdkConnect or NdkAccept, the limits are those in effect. On the listening side, before NdkAccept, the limits
 * are those that the peer offers, capped by the adapter (OpenNDK). A null buffer needs a length of 0; the call then
 * succeeds and returns the size. A transport may deliver more bytes than the peer sent, so the data itself should
 * contain its length.
 *   STATUS_BUFFER_TOO_SMALL   the beginning was copied; *pPrivateDataLength is the size of the whole data
 *   STATUS_INVALID_PARAMETER  a null buffer with a length other than 0 (OpenNDK)
 */
typedef NTSTATUS (*NDK_FN_GET_CONNECTION_DATA)(
    _In_ NDK_CONNECTOR *pNdkConnector, _Out_opt_ ULONG *pInboundReadLimit, _Out_opt_ ULONG *pOutboundReadLimit,
    _Out_writes_bytes_to_opt_(*pPrivateDataLength, *pPrivateDataLength) PVOID pPrivateData,
    _Inout_ ULONG *pPrivateDataLength);

/*
 * Copies the connection's local address to the consumer's buffer of *pAddressLength bytes.
 *   STATUS_BUFFER_TOO_SMALL  *pAddressLength is the size needed
 */
typedef NTSTATUS (*NDK_FN_GET_LOCAL_ADDRESS)(
    _In_ NDK_CONNECTOR *pNdkConnector,
    _Out_writes_bytes_to_opt_(*pAddressLength, *pAddressLength) PSOCKADDR pAddress, _Inout_ ULONG *pAddressLength);

/* Works like NDK_FN_GET_LOCAL_ADDRESS, but copies the connection's remote address. */
typedef NTSTATUS (*NDK_FN_GET_PEER_ADDRESS)(
    _In_ NDK_CONNECTOR *pNdkConnector,
    _Out_writes_bytes_to_opt_(*pAddressLength, *pAddressLength) PSOCKADDR pAddress, _Inout_ ULONG *pAddressLength);

/*
 * Ends the connection. The requests that were posted before the call are sent, then this side's end of stream. The call
 * completes when the peer has ended its stream too. At that time all requests of the QP have completed, and the
 * provider does not access their memory any more. Neither QP nor connector can be connected again.
 *   STATUS_IO_TIMEOUT          the peer did not end its stream in time; the connection has ended nevertheless
 *   STATUS_CONNECTION_ABORTED  the connection was lost before the peer ended its stream (OpenNDK)
 *   STATUS_CONNECTION_INVALID  the connector is not connected (OpenNDK)
 */
typedef NTSTATUS (*NDK_FN_DISCONNECT)(
    _In_ NDK_CONNECTOR *pNdkConnector, _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion, _In_opt_ PVOID RequestContext);

/*
 * The interface declares this type, but no dispatch table has it. With Abortive TRUE, the call does not wait for the
 * peer.
 */
typedef NTSTATUS (*NDK_FN_DISCONNECT_EX)(
    _In_ NDK_CONNECTOR *pNdkConnector, _In_ BOOLEAN Abortive, _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion,
    _In_opt_ PVOID RequestContext);

/* In versions before NDK 2.1, NdkDisconnect is the last entry. */
typedef struct _NDK_CONNECTOR_DISPATCH {
    NDK_FN_CLOSE_OBJECT NdkCloseConnector;
    NDK_FN_QUERY_EXTENSION_INTERFACE NdkQueryExtension;
    NDK_FN_CONNECT NdkConnect;
    NDK_FN_CONNECT_WITH_SHARED_ENDPOINT NdkConnectWithSharedEndpoint;
    NDK_FN_COMPLETE_CONNECT NdkCompleteConnect;
    NDK_FN_ACCEPT NdkAccept;
    NDK_FN_REJECT NdkReject;
    NDK_FN_GET_CONNECTION_DATA NdkGetConnectionData;
    NDK_FN_GET_LOCAL_ADDRESS NdkGetLocalAddress;
    NDK_FN_GET_PEER_ADDRESS NdkGetPeerAddress;
    NDK_FN_DISCONNECT NdkDisconnect;
    NDK_FN_COMPLETE_CONNECT_EX NdkCompleteConnectEx; /* since NDK 2.1 */
    NDK_FN_ACCEPT_EX NdkAcceptEx;                    /* since NDK 2.1 */
} NDK_CONNECTOR_DISPATCH;

struct _NDK_CONNECTOR {
    NDK_OBJECT_HEADER Header;
    CONST NDK_CONNECTOR_DISPATCH *Dispatch;
};

/* ---- Listener ---------------------------------------------------------------------------------------------------- */

/*
 * Reports that a peer requests a connection. The consumer owns the new connector. The consumer accepts or rejects the
 * request, in the callback or later, and closes the connector. Private data, limits and both addresses are already
 * readable.
 */
typedef VOID (*NDK_FN_CONNECT_EVENT_CALLBACK)(_In_opt_ PVOID ConnectEventContext, _In_ NDK_CONNECTOR *pNdkConnector);

/*
 * Starts listening at an address of the adapter; port 0 selects a free port of 49152-65535. The address stays reserved
 * until the listener and all connectors of its connections are closed.
 *   STATUS_INSUFFICIENT_RESOURCES  memory or descriptors ran out
 *   STATUS_SHARING_VIOLATION       the address and port are in use, or this user may not bind the port (OpenNDK)
 *   STATUS_INVALID_ADDRESS         the address is not one of the adapter's
 *   STATUS_TOO_MANY_ADDRESSES      port 0, and no port of the range is free
 *   STATUS_UNSUCCESSFUL            another error of the system (OpenNDK)
 *   STATUS_CANCELLED               the listener was closed meanwhile
 */
typedef NTSTATUS (*NDK_FN_LISTEN)(
    _In_ NDK_LISTENER *pNdkListener, _In_reads_bytes_(AddressLength) CONST PSOCKADDR pAddress, _In_ ULONG AddressLength,
    _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion, _In_opt_ PVOID RequestContext);

/* Copies the listener's address, as NDK_FN_GET_LOCAL_ADDRESS does. */
typedef NTSTATUS (*NDK_FN_GET_LISTENER_LOCAL_ADDRESS)(
    _In_ NDK_LISTENER *pNdkListener,
    _Out_writes_bytes_to_opt_(*pAddressLength, *pAddressLength) PSOCKADDR pAddress, _Inout_ ULONG *pAddressLength);

/* Pause TRUE refuses new requests as if nobody listened; the address stays reserved. Pause FALSE listens again. */
typedef VOID (*NDK_FN_CONTROL_CONNECT_EVENTS)(_In_ NDK_LISTENER *pNdkListener, _In_ BOOLEAN Pause);

typedef struct _NDK_LISTENER_DISPATCH {
    NDK_FN_CLOSE_OBJECT NdkCloseListener;
    NDK_FN_QUERY_EXTENSION_INTERFACE NdkQueryExtension;
    NDK_FN_LISTEN NdkListen;
    NDK_FN_GET_LISTENER_LOCAL_ADDRESS NdkGetLocalAddress;
    NDK_FN_CONTROL_CONNECT_EVENTS NdkControlConnectEvents;
} NDK_LISTENER_DISPATCH;

struct _NDK_LISTENER {
    NDK_OBJECT_HEADER Header;
    CONST NDK_LISTENER_DISPATCH *Dispatch;
};

/* ---- Adapter ----------------------------------------------------------------------------------------------------- */

/*
 * Fills the consumer's buffer of *pBufferSize bytes. IRQL PASSIVE_LEVEL; may block.
 *   STATUS_BUFFER_TOO_SMALL  *pBufferSize is the size needed
 */
typedef NTSTATUS (*NDK_FN_QUERY_ADAPTER_INFO)(
    _In_ NDK_ADAPTER *pNdkAdapter, _Out_writes_bytes_to_opt_(*pBufferSize, *pBufferSize) NDK_ADAPTER_INFO *pInfo,
    _Inout_ ULONG *pBufferSize);

/*
 * The interface declares this type, but no dispatch table has it. It works like NDK_FN_QUERY_ADAPTER_INFO, for a given
 * version of the struct.
 */
typedef NTSTATUS (*NDK_FN_QUERY_ADAPTER_INFO_EX)(
    _In_ NDK_ADAPTER *pNdkAdapter, _In_ NDK_VERSION Version,
    _Out_writes_bytes_to_opt_(*pBufferSize, *pBufferSize) NDK_ADAPTER_INFO *pInfo, _Inout_ ULONG *pBufferSize);

/*
 * Creates a completion queue for CqDepth completions. CqNotification is called when the CQ has been armed and has
 * completions. It preferably runs on a processor of Affinity.
 *   STATUS_INVALID_PARAMETER  over the adapter's MaxCqDepth
 */
typedef NTSTATUS (*NDK_FN_CREATE_CQ)(
    _In_ NDK_ADAPTER *pNdkAdapter, _In_ ULONG CqDepth, _In_ NDK_FN_CQ_NOTIFICATION_CALLBACK CqNotification,
    _In_opt_ PVOID CqNotificationContext, _In_opt_ GROUP_AFFINITY *Affinity,
    _In_ NDK_FN_CREATE_COMPLETION CreateCompletion, _In_opt_ PVOID RequestContext, _Outptr_ NDK_CQ **ppNdkCq);

/* Creates a protection domain. A queue pair cannot use the regions and windows of another domain. */
typedef NTSTATUS (*NDK_FN_CREATE_PD)(
    _In_ NDK_ADAPTER *pNdkAdapter, _In_ NDK_FN_CREATE_COMPLETION CreateCompletion, _In_opt_ PVOID RequestContext,
    _Outptr_ NDK_PD **ppNdkPd);

/*
 * Reserves a local address for NdkConnectWithSharedEndpoint; port 0 selects a free port of 49152-65535. The address
 * stays reserved until the endpoint and all connectors that use the endpoint are closed.
 *   STATUS_SHARING_VIOLATION, STATUS_INVALID_ADDRESS, STATUS_TOO_MANY_ADDRESSES  as NdkListen
 */
typedef NTSTATUS (*NDK_FN_CREATE_SHARED_ENDPOINT)(
    _In_ NDK_ADAPTER *pNdkAdapter, _In_reads_bytes_(AddressLength) CONST PSOCKADDR pAddress, _In_ ULONG AddressLength,
    _In_ NDK_FN_CREATE_COMPLETION CreateCompletion, _In_opt_ PVOID RequestContext,
    _Outptr_ NDK_SHARED_ENDPOINT **ppNdkSharedEndpoint);

/* Creates a connector for NdkConnect. NDK_FN_CONNECT_EVENT_CALLBACK provides the connectors for NdkAccept. */
typedef NTSTATUS (*NDK_FN_CREATE_CONNECTOR)(
    _In_ NDK_ADAPTER *pNdkAdapter, _In_ NDK_FN_CREATE_COMPLETION CreateCompletion, _In_opt_ PVOID RequestContext,
    _Outptr_ NDK_CONNECTOR **ppNdkConnector);

/* Creates a listener. After NdkListen has succeeded, ConnectEvent is called for each request. */
typedef NTSTATUS (*NDK_FN_CREATE_LISTENER)(
    _In_ NDK_ADAPTER *pNdkAdapter, _In_ NDK_FN_CONNECT_EVENT_CALLBACK ConnectEvent, _In_opt_ PVOID ConnectEventContext,
    _In_ NDK_FN_CREATE_COMPLETION CreateCompletion, _In_opt_ PVOID RequestContext,
    _Outptr_ NDK_LISTENER **ppNdkListener);

/*
 * Maps the first Length bytes of a virtually contiguous, locked MDL chain for the adapter. The mapping is stored in the
 * consumer's buffer of *pLAMSize bytes; *pFBO receives the offset of the first byte in the first page. The provider
 * owns buffer, *pLAMSize, *pFBO and chain while the call is pending. The consumer owns the mapping until NdkReleaseLAM.
 *   STATUS_INVALID_PARAMETER       the chain has a hole or is shorter than Length
 *   STATUS_BUFFER_TOO_SMALL        *pLAMSize is the size needed
 *   STATUS_INSUFFICIENT_RESOURCES  memory ran out; nothing stays mapped
 */
typedef NTSTATUS (*NDK_FN_BUILD_LAM)(
    _In_ NDK_ADAPTER *pNdkAdapter, _In_ MDL *Mdl, _In_ SIZE_T Length,
    _In_opt_ NDK_FN_REQUEST_COMPLETION RequestCompletion, _In_opt_ PVOID RequestContext,
    _Out_writes_bytes_to_opt_(*pLAMSize, *pLAMSize) NDK_LOGICAL_ADDRESS_MAPPING *pNdkLAM, _Inout_ ULONG *pLAMSize,
    _Out_ ULONG *pFBO);

/* Undoes NdkBuildLAM. No request may still use the addresses. The MDL chain is then as it was before NdkBuildLAM. */
typedef VOID (*NDK_FN_RELEASE_LAM)(_In_ NDK_ADAPTER *pNdkAdapter, _In_ NDK_LOGICAL_ADDRESS_MAPPING *pNdkLAM);

/* The table has no close: the consumer closes the adapter through the interface with which it opened the adapter. */
typedef struct _NDK_ADAPTER_DISPATCH {
    NDK_FN_QUERY_EXTENSION_INTERFACE NdkQueryExtension;
    NDK_FN_QUERY_ADAPTER_INFO NdkQueryAdapterInfo;
    NDK_FN_CREATE_CQ NdkCreateCq;
    NDK_FN_CREATE_PD NdkCreatePd;
    NDK_FN_CREATE_SHARED_ENDPOINT NdkCreateSharedEndpoint;
    NDK_FN_CREATE_CONNECTOR NdkCreateConnector;
    NDK_FN_CREATE_LISTENER NdkCreateListener;
    NDK_FN_BUILD_LAM NdkBuildLAM;
    NDK_FN_RELEASE_LAM NdkReleaseLAM;
} NDK_ADAPTER_DISPATCH;

struct _NDK_ADAPTER {
    NDK_OBJECT_HEADER Header;
    CONST NDK_ADAPTER_DISPATCH *Dispatch;
};

static_assert(sizeof(NDK_OBJECT_HEADER) == 0x28, "NDK_OBJECT_HEADER");
static_assert(sizeof(NDK_RESULT) == 0x18, "NDK_RESULT");
static_assert(sizeof(NDK_RESULT_EX) == 0x28, "NDK_RESULT_EX");
static_assert(sizeof(NDK_SGE) == 0x10, "NDK_SGE");
static_assert(sizeof(NDK_LOGICAL_ADDRESS_MAPPING) == 0x18, "NDK_LOGICAL_ADDRESS_MAPPING");
static_assert(sizeof(NDK_ADAPTER_DISPATCH) == 0x48, "NDK_ADAPTER_DISPATCH");
static_assert(sizeof(NDK_CQ_DISPATCH) == 0x38, "NDK_CQ_DISPATCH");
static_assert(sizeof(NDK_PD_DISPATCH) == 0x40, "NDK_PD_DISPATCH");
static_assert(sizeof(NDK_MR_DISPATCH) == 0x38, "NDK_MR_DISPATCH");
static_assert(sizeof(NDK_MW_DISPATCH) == 0x18, "NDK_MW_DISPATCH");
static_assert(sizeof(NDK_SRQ_DISPATCH) == 0x20, "NDK_SRQ_DISPATCH");
static_assert(sizeof(NDK_QP_DISPATCH) == 0x58, "NDK_QP_DISPATCH");
static_assert(sizeof(NDK_SHARED_ENDPOINT_DISPATCH) == 0x18, "NDK_SHARED_ENDPOINT_DISPATCH");
static_assert(sizeof(NDK_CONNECTOR_DISPATCH) == 0x68, "NDK_CONNECTOR_DISPATCH");
static_assert(sizeof(NDK_LISTENER_DISPATCH) == 0x28, "NDK_LISTENER_DISPATCH");

#endif
