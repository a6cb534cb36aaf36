/* SPDX-License-Identifier: MIT */
/*
 * The Network Direct Kernel provider interface, NDK 1.1 to 2.1: objects, their dispatch tables, the functions in them.
 * Identifiers, values, layouts and parameter orders are Microsoft's; the words are ours.
 *
 * What holds for every function, and is not repeated below
 *
 *   IRQL         Functions and callbacks run at any IRQL up to DISPATCH_LEVEL; NdkQueryAdapterInfo(Ex) alone needs
 *                PASSIVE_LEVEL and may block.
 *   Pending      A function with a completion callback either answers in its return value and never calls the callback,
 *                or returns STATUS_PENDING and calls it exactly once, perhaps before it has returned. A status named
 *                below comes either way, never both ways.
 *   Create       STATUS_SUCCESS puts the object into the out parameter. After STATUS_PENDING the out parameter is left
 *                alone and the object comes with NDK_FN_CREATE_COMPLETION. The consumer owns the object until it calls
 *                the object's close function. STATUS_INSUFFICIENT_RESOURCES: memory or another resource ran out.
 *   Ownership    Addresses, private data, GUIDs and SGE arrays stay the consumer's, read before the call returns.
 *                Contexts are handed back as they were, never looked into. Until its request has completed, memory that
 *                an SGE names, an MDL chain, and where to put results other than a created object are the provider's.
 *   Requests     The functions of NDK_QP_DISPATCH and NdkSrqReceive that take a RequestContext post a request:
 *                STATUS_SUCCESS means that it will complete with one NDK_RESULT on the CQ, or with none if it is silent
 *                and succeeds; any other value that it was not posted. A flushed request completes with
 *                STATUS_CANCELLED.
 *   Lengths      Functions with an in/out length write the size needed and answer STATUS_BUFFER_TOO_SMALL where the
 *                buffer is too short; otherwise they write the size used.
 *   (here)       marks what the interface leaves open and this provider settles. STATUS_INVALID_PARAMETER answers a
 *                malformed argument, STATUS_INVALID_DEVICE_STATE an object in the wrong state (here).
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

/* Room for whoever sits between consumer and provider: zero in a new object, and the provider never touches it. */
typedef struct _NDK_OBJECT_HEADER_RESERVED_BLOCK {
    PVOID rf[4];
} NDK_OBJECT_HEADER_RESERVED_BLOCK;

/*
 * The start of every object; a pointer to the dispatch table follows. Version is the highest that the provider has for
 * the major that the adapter was opened with, and tells how long the table is.
 */
typedef struct _NDK_OBJECT_HEADER {
    NDK_VERSION Version;
    NDK_OBJECT_TYPE ObjectType;
    NDK_OBJECT_HEADER_RESERVED_BLOCK NdkReserved;
} NDK_OBJECT_HEADER;

/*
 * Callback of a create that was pending. Status is STATUS_SUCCESS, and pNdkObject is the new object, or an error of the
 * create function, and pNdkObject means nothing.
 */
typedef VOID (*NDK_FN_CREATE_COMPLETION)(
    _In_opt_ PVOID Context, _In_ NTSTATUS Status, _In_ NDK_OBJECT_HEADER *pNdkObject);

/* Callback of a pending request on an object. Status is one that the requested function documents. */
typedef VOID (*NDK_FN_REQUEST_COMPLETION)(_In_opt_ PVOID Context, _In_ NTSTATUS Status);

/*
 * Callback of a pending close: there is no status, as close cannot fail. It is the last callback for the object. It is
 * not called when the close function itself has returned STATUS_SUCCESS.
 */
typedef VOID (*NDK_FN_CLOSE_COMPLETION)(_In_opt_ PVOID Context);

/*
 * Closes an object of any type but the adapter, and takes it away from the consumer at once: no further call on it is
 * allowed. What is pending on it completes first, with STATUS_CANCELLED if it cannot finish. Closing an object before
 * those that depend on it is legal; the close then stays pending until the last of them is closed.
 *   STATUS_SUCCESS   closed; CloseCompletion is not called
 *   STATUS_PENDING   CloseCompletion follows when requests, callbacks and dependent objects are gone
 * There is no other answer.
 */
typedef NTSTATUS (*NDK_FN_CLOSE_OBJECT)(
    _In_ NDK_OBJECT_HEADER *pNdkObject, _In_ NDK_FN_CLOSE_COMPLETION CloseCompletion, _In_opt_ PVOID RequestContext);

/* A table of functions beyond this interface; who defines the GUID defines what Dispatch points to. */
typedef struct _NDK_EXTENSION_INTERFACE {
    CONST VOID *Dispatch;
} NDK_EXTENSION_INTERFACE;

/*
 * Looks for an extension of the object's interface by GUID and version.
 *   STATUS_SUCCESS        *pExtensionInterface was filled in; the table lives as long as the object
 *   STATUS_NOT_SUPPORTED  the provider has no such extension
 */
typedef NTSTATUS (*NDK_FN_QUERY_EXTENSION_INTERFACE)(
    _In_ NDK_OBJECT_HEADER *pNdkObject, _In_ GUID *ExtensionInterfaceID, _In_ NDK_VERSION ExtensionInterfaceVersion,
    _Out_ NDK_EXTENSION_INTERFACE *pExtensionInterface);

/* ---- Memory as requests name it ---------------------------------------------------------------------------------- */

/* An address as the adapter sees it. */
typedef PHYSICAL_ADDRESS NDK_LOGICAL_ADDRESS;

/*
 * The adapter's pages behind a range of memory, made by NdkBuildLAM: AdapterPageCount addresses, each of a page of
 * PAGE_SIZE bytes, neighbours in memory but not necessarily for the adapter. The array runs on behind the structure.
 */
typedef struct _NDK_LOGICAL_ADDRESS_MAPPING {
    PVOID AdapterContext; /* the provider's own */
    ULONG AdapterPageCount;
    NDK_LOGICAL_ADDRESS AdapterPageArray[1];
} NDK_LOGICAL_ADDRESS_MAPPING;

/*
 * A piece of local memory. With the privileged token LogicalAddress counts, and must come from a mapping that is still
 * built; with any other token VirtualAddress, and the piece must lie inside that token's region. With
 * NDK_OP_FLAG_INLINE the token is not looked at.
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

/* What completed. A send with invalidate completes as NdkOperationTypeSend. */
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

/* One completed request: the QP's context and the request's own. BytesTransferred is defined for receives alone. */
typedef struct _NDK_RESULT {
    NTSTATUS Status;
    ULONG BytesTransferred;
    PVOID QPContext;
    PVOID RequestContext;
} NDK_RESULT;

/*
 * The same with its type. ProviderErrorCode came with NDK 2.1, in what was padding: zero with STATUS_SUCCESS, otherwise
 * the provider's own reason, or zero for none given. TypeSpecificCompletionOutput is defined for
 * NdkOperationTypeReceiveAndInvalidate alone and holds the 32-bit token that has been invalidated.
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
 * The consumer is told that an armed CQ has something. One call for each arm; calls for one CQ never overlap.
 *   STATUS_SUCCESS          completions, as armed for, are there
 *   STATUS_BUFFER_OVERFLOW  more requests completed than the CQ holds; the CQ and its QPs are of no more use
 *   STATUS_INTERNAL_ERROR   the CQ failed otherwise; the same
 */
typedef VOID (*NDK_FN_CQ_NOTIFICATION_CALLBACK)(_In_opt_ PVOID CqNotificationContext, _In_ NTSTATUS CqStatus);

/* What NdkArmCq waits for; errors of the CQ itself are told with each of them. */
#define NDK_CQ_NOTIFY_ERRORS    0 /* these errors alone */
#define NDK_CQ_NOTIFY_ANY       1 /* any completion */
#define NDK_CQ_NOTIFY_SOLICITED 2 /* a receive whose sender asked for it, or a failed request */

/*
 * Arms the CQ for one notification of Type (NDK_CQ_NOTIFY_). Completions that were queued since the last notification
 * fire it at once. Of two arms before one notification the wider counts: ANY over SOLICITED over ERRORS.
 */
typedef VOID (*NDK_FN_ARM_CQ)(_In_ NDK_CQ *pNdkCq, _In_ ULONG Type);

/*
 * Takes up to nResults completions off the CQ, oldest first, into the consumer's array; returns how many. A receive
 * with invalidate comes as a plain receive, its token invalidated nevertheless. The consumer keeps its calls of
 * NdkArmCq, NdkGetCqResults and NdkGetCqResultsEx for one CQ apart.
 */
typedef ULONG (*NDK_FN_GET_CQ_RESULTS)(
    _In_ NDK_CQ *pNdkCq, _Out_writes_to_(nResults, return) NDK_RESULT Results[], _In_ ULONG nResults);

/* The same with type and provider's reason. */
typedef ULONG (*NDK_FN_GET_CQ_RESULTS_EX)(
    _In_ NDK_CQ *pNdkCq, _Out_writes_to_(nResults, return) NDK_RESULT_EX Results[], _In_ ULONG nResults);

/*
 * Changes the depth; what is queued stays.
 *   STATUS_INVALID_PARAMETER       over the adapter's MaxCqDepth, or less than is queued (here)
 *   STATUS_INSUFFICIENT_RESOURCES  the CQ is as it was
 *   STATUS_NOT_SUPPORTED           the adapter lacks NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED
 */
typedef NTSTATUS (*NDK_FN_RESIZE_CQ)(
    _In_ NDK_CQ *pNdkCq, _In_ ULONG CqDepth, _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion,
    _In_opt_ PVOID RequestContext);

/*
 * Lets the provider gather completions before it notifies: for ModerationInterval microseconds at most, or until
 * ModerationCount of them are there. MAXULONG leaves the decision to the other one; an interval of 0, or a count of 0
 * or 1, switches gathering off, as in a new CQ. The newest setting wins. Calls for one CQ must not overlap.
 *   STATUS_INVALID_PARAMETER_MIX   neither decides: interval MAXULONG with a count of MAXULONG or over the depth
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

/* Flags of NdkRegisterMr. Local read is always allowed; remote write contains local write. */
#define NDK_MR_FLAG_ALLOW_LOCAL_READ   0x00000000
#define NDK_MR_FLAG_ALLOW_LOCAL_WRITE  0x00000001
#define NDK_MR_FLAG_ALLOW_REMOTE_READ  0x00000002
#define NDK_MR_FLAG_ALLOW_REMOTE_WRITE 0x00000005
#define NDK_MR_FLAG_RDMA_READ_SINK     0x00000008 /* needed where the adapter lacks RDMA_READ_SINK_NOT_REQUIRED */

/*
 * Registers the first Length bytes of an MDL chain with the rights in Flags (NDK_MR_FLAG_). They must be virtually
 * contiguous and may begin anywhere. The chain belongs to the provider while the call is pending; the memory must stay
 * until NdkDeregisterMr or the close has completed.
 *   STATUS_INVALID_PARAMETER       the chain has a hole; or Length exceeds the chain or MaxRegistrationSize (here)
 *   STATUS_INSUFFICIENT_RESOURCES  memory ran out
 */
typedef NTSTATUS (*NDK_FN_REGISTER_MR)(
    _In_ NDK_MR *pNdkMr, _In_ MDL *Mdl, _In_ SIZE_T Length, _In_ ULONG Flags,
    _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion, _In_opt_ PVOID RequestContext);

/*
 * Ends a registration: when it has completed no access, local or remote, reaches the memory. STATUS_SUCCESS or
 * STATUS_PENDING: it cannot fail.
 */
typedef NTSTATUS (*NDK_FN_DEREGISTER_MR)(
    _In_ NDK_MR *pNdkMr, _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion, _In_opt_ PVOID RequestContext);

/*
 * Prepares a region that was created with FastRegister for up to AdapterPageCount pages; RemoteAccess tells whether
 * NdkFastRegister will ask for remote rights.
 *   STATUS_IMPLEMENTATION_LIMIT  over the adapter's FRMRPageCount
 */
typedef NTSTATUS (*NDK_FN_INITIALIZE_FAST_REGISTER_MR)(
    _In_ NDK_MR *pNdkMr, _In_ ULONG AdapterPageCount, _In_ BOOLEAN RemoteAccess,
    _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion, _In_opt_ PVOID RequestContext);

/*
 * The token that a peer names in reads and writes. Valid once registered, or as soon as NdkFastRegister returned. After
 * NdkInitializeFastRegisterMr it is known already: the one that the first NdkFastRegister gives rights to (here).
 */
typedef UINT32 (*NDK_FN_GET_REMOTE_TOKEN_FROM_MR)(_In_ NDK_MR *pNdkMr);

/* The token for this side's SGEs. Valid once registered or initialised for fast registration. */
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

/* The token that a peer names to reach what is bound. Valid as soon as NdkBind returned; each bind gives another. */
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
 * The number of queued receives fell below the threshold, or the SRQ failed. One call for each arming.
 *   STATUS_SUCCESS         below the threshold
 *   STATUS_INTERNAL_ERROR  the SRQ failed; it and its QPs are of no more use
 */
typedef VOID (*NDK_FN_SRQ_NOTIFICATION_CALLBACK)(_In_opt_ PVOID SrqNotificationContext, _In_ NTSTATUS SrqStatus);

/*
 * Sets depth and threshold. Depth 0 keeps the depth. A threshold above 0 arms the notification, which comes at once if
 * fewer receives are queued already; 0 keeps threshold and arming.
 *   STATUS_INVALID_PARAMETER  over the adapter's MaxSrqDepth
 */
typedef NTSTATUS (*NDK_FN_MODIFY_SRQ)(
    _In_ NDK_SRQ *pNdkSrq, _In_ ULONG SrqDepth, _In_ ULONG NotifyThreshold,
    _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion, _In_opt_ PVOID RequestContext);

/* Posts a receive for whichever QP of the SRQ needs one next; it completes on that QP's receive CQ. */
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

/* Flags of requests. "Initiator" is every request but a receive. */
#define NDK_OP_FLAG_SILENT_SUCCESS             0x00000001 /* initiator: no completion unless it fails */
#define NDK_OP_FLAG_READ_FENCE                 0x00000002 /* initiator: start when all reads before it are done */
#define NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT     0x00000004 /* sends: satisfies the peer's NDK_CQ_NOTIFY_SOLICITED */
#define NDK_OP_FLAG_ALLOW_REMOTE_READ          0x00000008 /* bind, fast register */
#define NDK_OP_FLAG_ALLOW_LOCAL_WRITE          0x00000010 /* fast register */
#define NDK_OP_FLAG_ALLOW_REMOTE_WRITE         0x00000030 /* bind, fast register; contains local write */
#define NDK_OP_FLAG_INLINE                     0x00000040 /* sends: data is taken before the call returns */
#define NDK_OP_FLAG_RDMA_READ_SINK             0x00000080 /* fast register; where it is not needed it does no harm */
#define NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE 0x00000100 /* read: invalidate the token of the first SGE afterwards */
#define NDK_OP_FLAG_DEFER                      0x00000200 /* initiator: may wait for the next one without it */

/*
 * Completes what is queued, receives and initiator requests, with STATUS_CANCELLED: each request that was posted before
 * the call has come out of the CQ when the CQ is empty. May run beside a post.
 */
typedef VOID (*NDK_FN_FLUSH)(_In_ NDK_QP *pNdkQp);

/*
 * Sends the SGEs' bytes, none included, as one message, which takes one receive at the peer. With NDK_OP_FLAG_INLINE
 * the memory is the consumer's again on return, tokens are not looked at, the total is bounded by the QP's inline size,
 * and the number of SGEs is not.
 *   STATUS_CONNECTION_INVALID  the QP is not connected
 */
typedef NTSTATUS (*NDK_FN_SEND)(
    _In_ NDK_QP *pNdkQp, _In_opt_ PVOID RequestContext, _In_reads_(nSge) CONST NDK_SGE *pSgl, _In_ ULONG nSge,
    _In_ ULONG Flags);

/*
 * The same, and the peer's region or window of RemoteToken is invalidated before its receive completes. A token that
 * the peer does not have ends the connection. Since NDK 1.2.
 *   STATUS_CONNECTION_INVALID  the QP is not connected
 */
typedef NTSTATUS (*NDK_FN_SEND_AND_INVALIDATE)(
    _In_ NDK_QP *pNdkQp, _In_opt_ PVOID RequestContext, _In_reads_(nSge) CONST NDK_SGE *pSgl, _In_ ULONG nSge,
    _In_ ULONG Flags, _In_ UINT32 RemoteToken);

/*
 * Posts memory for one message; allowed before the QP is connected. A longer message, or one that finds no receive,
 * ends the connection. Not for a QP with an SRQ.
 */
typedef NTSTATUS (*NDK_FN_RECEIVE)(
    _In_ NDK_QP *pNdkQp, _In_opt_ PVOID RequestContext, _In_reads_(nSge) CONST NDK_SGE *pSgl, _In_ ULONG nSge);

/*
 * Reads the peer's memory at RemoteAddress in the region or window of RemoteToken into the SGEs. No more than the
 * connection's outbound read limit are in progress; the others wait their turn.
 *   STATUS_CONNECTION_INVALID  the QP is not connected
 *   STATUS_NOT_SUPPORTED       that limit is 0 (here): the adapter, this side or the peer allows no reads
 * and as the completion's status, the connection being over:
 *   STATUS_REMOTE_RESOURCES    it went beyond the remote region
 *   STATUS_ACCESS_VIOLATION    the remote token is stale or does not allow reading (here)
 */
typedef NTSTATUS (*NDK_FN_READ)(
    _In_ NDK_QP *pNdkQp, _In_opt_ PVOID RequestContext, _In_reads_(nSge) CONST NDK_SGE *pSgl, _In_ ULONG nSge,
    _In_ UINT64 RemoteAddress, _In_ UINT32 RemoteToken, _In_ ULONG Flags);

/*
 * Writes the SGEs' bytes to RemoteAddress in the peer's region or window of RemoteToken; the peer is not told. The
 * bytes are there when a send that was posted later has been received. A token, range or right that does not hold ends
 * the connection.
 *   STATUS_CONNECTION_INVALID  the QP is not connected
 */
typedef NTSTATUS (*NDK_FN_WRITE)(
    _In_ NDK_QP *pNdkQp, _In_opt_ PVOID RequestContext, _In_reads_(nSge) CONST NDK_SGE *pSgl, _In_ ULONG nSge,
    _In_ UINT64 RemoteAddress, _In_ UINT32 RemoteToken, _In_ ULONG Flags);

/*
 * Binds a window to Length bytes from VirtualAddress of a region, with the remote rights in Flags; it replaces an
 * earlier binding. The region's close stays pending while a window is bound to it.
 *   STATUS_CONNECTION_INVALID  the QP is not connected
 *   STATUS_ACCESS_VIOLATION    a right that the region does not have
 */
typedef NTSTATUS (*NDK_FN_BIND)(
    _In_ NDK_QP *pNdkQp, _In_opt_ PVOID RequestContext, _In_ NDK_MR *pMr, _In_ NDK_MW *pMw, _In_ PVOID VirtualAddress,
    _In_ SIZE_T Length, _In_ ULONG Flags);

/*
 * Puts Length bytes, from the offset FBO in the first of AdapterPageCount pages, behind a region that was initialised
 * for it; SGEs and peers then name them from BaseVirtualAddress on, which must be FBO more than a multiple of
 * PAGE_SIZE; zero is one (here). The pages must stay mapped until the region is invalidated or closed.
 *   STATUS_CONNECTION_INVALID  the QP is not connected
 *   STATUS_ACCESS_VIOLATION    remote rights, though the region was not initialised for remote access
 */
typedef NTSTATUS (*NDK_FN_FAST_REGISTER)(
    _In_ NDK_QP *pNdkQp, _In_opt_ PVOID RequestContext, _In_ NDK_MR *pMr, _In_ ULONG AdapterPageCount,
    _In_reads_(AdapterPageCount) CONST NDK_LOGICAL_ADDRESS *AdapterPageArray, _In_ ULONG FBO, _In_ SIZE_T Length,
    _In_ PVOID BaseVirtualAddress, _In_ ULONG Flags);

/*
 * Ends the access that a fast registration or a bind gave; pNdkMrOrMw is the header of the region or window.
 *   STATUS_CONNECTION_INVALID  the QP is not connected
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
 * Creates a shared receive queue of SrqDepth receives with up to MaxReceiveRequestSge SGEs each. SrqNotification, if
 * given, is called when fewer than NotifyThreshold receives are left, preferably on a processor of Affinity.
 *   STATUS_INVALID_PARAMETER  depth or SGE count over the adapter's limit
 */
typedef NTSTATUS (*NDK_FN_CREATE_SRQ)(
    _In_ NDK_PD *pNdkPd, _In_ ULONG SrqDepth, _In_ ULONG MaxReceiveRequestSge, _In_ ULONG NotifyThreshold,
    _In_opt_ NDK_FN_SRQ_NOTIFICATION_CALLBACK SrqNotification, _In_opt_ PVOID SrqNotificationContext,
    _In_opt_ GROUP_AFFINITY *Affinity, _In_ NDK_FN_CREATE_COMPLETION CreateCompletion, _In_opt_ PVOID RequestContext,
    _Outptr_ NDK_SRQ **ppNdkSrq);

/*
 * Creates a queue pair. Receives complete on pReceiveCq, all else on pInitiatorCq, which may be the same; QPContext
 * comes back in each result. The CQs' closes stay pending while the QP lives.
 *   STATUS_INVALID_PARAMETER  a depth, an SGE count or the inline size is over the adapter's limit
 */
typedef NTSTATUS (*NDK_FN_CREATE_QP)(
    _In_ NDK_PD *pNdkPd, _In_ NDK_CQ *pReceiveCq, _In_ NDK_CQ *pInitiatorCq, _In_opt_ PVOID QPContext,
    _In_ ULONG ReceiveQueueDepth, _In_ ULONG InitiatorQueueDepth, _In_ ULONG MaxReceiveRequestSge,
    _In_ ULONG MaxInitiatorRequestSge, _In_ ULONG InlineDataSize, _In_ NDK_FN_CREATE_COMPLETION CreateCompletion,
    _In_opt_ PVOID RequestContext, _Outptr_ NDK_QP **ppNdkQp);

/* Creates a queue pair that takes its receives from an SRQ, whose close stays pending while the QP lives; as above. */
typedef NTSTATUS (*NDK_FN_CREATE_QP_WITH_SRQ)(
    _In_ NDK_PD *pNdkPd, _In_ NDK_CQ *pReceiveCq, _In_ NDK_CQ *pInitiatorCq, _In_ NDK_SRQ *pSrq,
    _In_opt_ PVOID QPContext, _In_ ULONG InitiatorQueueDepth, _In_ ULONG MaxInitiatorRequestSge,
    _In_ ULONG InlineDataSize, _In_ NDK_FN_CREATE_COMPLETION CreateCompletion, _In_opt_ PVOID RequestContext,
    _Outptr_ NDK_QP **ppNdkQp);

/* The token with which SGEs name logical addresses. It belongs to the PD and gives a peer no access. */
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
 * The address that the endpoint holds, its port included, into the consumer's buffer of *pAddressLength bytes.
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
 * The peer has disconnected, in good order or not. Called once, unless this side disconnects or closes first, and never
 * before the completion of the NdkCompleteConnect or NdkAccept that it was given to. The QP still has to be
 * disconnected, flushed or closed by this side.
 */
typedef VOID (*NDK_FN_DISCONNECT_EVENT_CALLBACK)(_In_opt_ PVOID DisconnectEventContext);

/*
 * The same with the provider's reason, 0 for none given; the context is the one given to NdkCompleteConnectEx or
 * NdkAcceptEx. Since NDK 2.1.
 */
typedef VOID (*NDK_FN_DISCONNECT_EVENT_CALLBACK_EX)(
    _In_opt_ PVOID DisconnectEventContext, _In_ ULONG ProviderDisconnectReason);

/*
 * Asks the listener at pDestAddress for a connection of pNdkQp, from pSrcAddress, an address of the adapter; port 0
 * there takes one from 49152-65535. The listener's side reads the private data, MaxCallerData bytes at most, with
 * NdkGetConnectionData. Read limits are capped by the adapter, and end up no higher than the peer's opposite ones. On
 * success the peer has accepted: its private data and the limits are readable, and NdkCompleteConnect or NdkReject has
 * to follow; the QP cannot be used yet. After a failure the connector can be used again.
 *   STATUS_INSUFFICIENT_RESOURCES  memory or descriptors ran out
 *   STATUS_NETWORK_UNREACHABLE     no route to the destination's network
 *   STATUS_HOST_UNREACHABLE        the destination host does not exist, or the network says it cannot be reached
 *   STATUS_CONNECTION_REFUSED      nobody listens, the backlog is full, the listener is paused, or the peer rejected;
 *                                  what it said is then readable with NdkGetConnectionData
 *   STATUS_IO_TIMEOUT              no answer in time
 *   STATUS_SHARING_VIOLATION       the local address and port are in use
 *   STATUS_INVALID_ADDRESS         the local address is not one of the adapter's
 *   STATUS_TOO_MANY_ADDRESSES      port 0, and no port of the range is free
 *   STATUS_ADDRESS_ALREADY_EXISTS  these two addresses and ports are connected already
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
 * The same from the address of a shared endpoint, from which any number of destinations can be connected; its close
 * stays pending while the connector lives. The statuses that concern taking a local address do not occur:
 *   STATUS_INSUFFICIENT_RESOURCES, STATUS_NETWORK_UNREACHABLE, STATUS_HOST_UNREACHABLE, STATUS_CONNECTION_REFUSED,
 *   STATUS_IO_TIMEOUT, STATUS_ADDRESS_ALREADY_EXISTS, STATUS_CANCELLED  as above
 */
typedef NTSTATUS (*NDK_FN_CONNECT_WITH_SHARED_ENDPOINT)(
    _In_ NDK_CONNECTOR *pNdkConnector, _In_ NDK_QP *pNdkQp, _In_ NDK_SHARED_ENDPOINT *pNdkSharedEndpoint,
    _In_reads_bytes_(DestAddressLength) CONST PSOCKADDR pDestAddress, _In_ ULONG DestAddressLength,
    _In_ ULONG InboundReadLimit, _In_ ULONG OutboundReadLimit,
    _In_reads_bytes_opt_(PrivateDataLength) CONST PVOID pPrivateData, _In_ ULONG PrivateDataLength,
    _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion, _In_opt_ PVOID RequestContext);

/*
 * Finishes a connection after NdkConnect succeeded. On success the QPs of both sides are connected. DisconnectEvent, if
 * given, is called when the peer disconnects.
 *   STATUS_CONNECTION_INVALID  the QP is not connecting: connect has not completed, this is the second call, or the
 *                              connector accepts
 *   STATUS_CONNECTION_ABORTED  the accepting peer gave up meanwhile
 *   STATUS_IO_TIMEOUT          not finished in time; this connector is done with
 *   STATUS_CANCELLED           the connector was closed meanwhile
 */
typedef NTSTATUS (*NDK_FN_COMPLETE_CONNECT)(
    _In_ NDK_CONNECTOR *pNdkConnector, _In_opt_ NDK_FN_DISCONNECT_EVENT_CALLBACK DisconnectEvent,
    _In_opt_ PVOID DisconnectEventContext, _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion,
    _In_opt_ PVOID RequestContext);

/* The same with the disconnect callback that is given a reason. Since NDK 2.1. */
typedef NTSTATUS (*NDK_FN_COMPLETE_CONNECT_EX)(
    _In_ NDK_CONNECTOR *pNdkConnector, _In_opt_ NDK_FN_DISCONNECT_EVENT_CALLBACK_EX DisconnectEvent,
    _In_opt_ PVOID DisconnectEventContext, _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion,
    _In_opt_ PVOID RequestContext);

/*
 * Accepts the request that came with a connector from NDK_FN_CONNECT_EVENT_CALLBACK, inside it or later, for pNdkQp.
 * The private data, MaxCalleeData bytes at most, reaches the peer; read limits as with NdkConnect. On success the
 * connection is established, or, where the peer's protocol has no word for that, the acceptance has been sent, and what
 * is posted is held until the peer's first message (here). Receives should be posted before the call.
 *   STATUS_CONNECTION_ABORTED  the connecting peer gave up
 *   STATUS_IO_TIMEOUT          the connecting peer did not complete in time
 *   STATUS_CANCELLED           the connector was closed meanwhile
 */
typedef NTSTATUS (*NDK_FN_ACCEPT)(
    _In_ NDK_CONNECTOR *pNdkConnector, _In_ NDK_QP *pNdkQp, _In_ ULONG InboundReadLimit, _In_ ULONG OutboundReadLimit,
    _In_reads_bytes_opt_(PrivateDataLength) CONST PVOID pPrivateData, _In_ ULONG PrivateDataLength,
    _In_opt_ NDK_FN_DISCONNECT_EVENT_CALLBACK DisconnectEvent, _In_opt_ PVOID DisconnectEventContext,
    _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion, _In_opt_ PVOID RequestContext);

/* The same with the disconnect callback that is given a reason. Since NDK 2.1. */
typedef NTSTATUS (*NDK_FN_ACCEPT_EX)(
    _In_ NDK_CONNECTOR *pNdkConnector, _In_ NDK_QP *pNdkQp, _In_ ULONG InboundReadLimit, _In_ ULONG OutboundReadLimit,
    _In_reads_bytes_opt_(PrivateDataLength) CONST PVOID pPrivateData, _In_ ULONG PrivateDataLength,
    _In_opt_ NDK_FN_DISCONNECT_EVENT_CALLBACK_EX DisconnectEvent, _In_opt_ PVOID DisconnectEventContext,
    _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion, _In_opt_ PVOID RequestContext);

/*
 * Refuses: on the listening side the request that came with the connector, on the connecting side, after NdkConnect
 * succeeded, the peer's accept. The private data, MaxCalleeData bytes at most, goes with the refusal of a request.
 *   STATUS_CONNECTION_ABORTED  the peer is gone already
 * Never pending.
 */
typedef NTSTATUS (*NDK_FN_REJECT)(
    _In_ NDK_CONNECTOR *pNdkConnector, _In_reads_bytes_opt_(PrivateDataLength) CONST PVOID pPrivateData,
    _In_ ULONG PrivateDataLength);

/*
 * The read limits, and what the peer said with its connect, accept or reject. Each out parameter may be null.
 * Connecting side, after NdkConnect: the limits in effect. Listening side: before NdkAccept what the peer offers,
 * capped by the adapter; afterwards the limits in effect (here). A null buffer goes with a length of 0 and succeeds
 * with the size. A transport may hand over more bytes than the peer gave, so the data itself should tell its length.
 *   STATUS_BUFFER_TOO_SMALL   as much as fits was copied; *pPrivateDataLength is the size of all
 *   STATUS_INVALID_PARAMETER  a null buffer with another length than 0 (here)
 */
typedef NTSTATUS (*NDK_FN_GET_CONNECTION_DATA)(
    _In_ NDK_CONNECTOR *pNdkConnector, _Out_opt_ ULONG *pInboundReadLimit, _Out_opt_ ULONG *pOutboundReadLimit,
    _Out_writes_bytes_to_opt_(*pPrivateDataLength, *pPrivateDataLength) PVOID pPrivateData,
    _Inout_ ULONG *pPrivateDataLength);

/*
 * The connection's own end, into the consumer's buffer of *pAddressLength bytes.
 *   STATUS_BUFFER_TOO_SMALL  *pAddressLength is the size needed
 */
typedef NTSTATUS (*NDK_FN_GET_LOCAL_ADDRESS)(
    _In_ NDK_CONNECTOR *pNdkConnector,
    _Out_writes_bytes_to_opt_(*pAddressLength, *pAddressLength) PSOCKADDR pAddress, _Inout_ ULONG *pAddressLength);

/* The connection's other end; as above. */
typedef NTSTATUS (*NDK_FN_GET_PEER_ADDRESS)(
    _In_ NDK_CONNECTOR *pNdkConnector,
    _Out_writes_bytes_to_opt_(*pAddressLength, *pAddressLength) PSOCKADDR pAddress, _Inout_ ULONG *pAddressLength);

/*
 * Ends the connection: what was posted before goes out, then a notice to the peer, and the request completes when the
 * peer has answered with its own. By then all requests of the QP have completed and no memory is touched any more.
 * Neither QP nor connector can be connected again.
 *   STATUS_IO_TIMEOUT          the peer did not answer in time; the connection is over nevertheless
 *   STATUS_CONNECTION_ABORTED  the peer broke off instead of answering; the same (here)
 *   STATUS_CONNECTION_INVALID  the connector is not connected (here)
 */
typedef NTSTATUS (*NDK_FN_DISCONNECT)(
    _In_ NDK_CONNECTOR *pNdkConnector, _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion, _In_opt_ PVOID RequestContext);

/* Declared by the interface, in no dispatch table of any version: with Abortive the peer is not waited for. */
typedef NTSTATUS (*NDK_FN_DISCONNECT_EX)(
    _In_ NDK_CONNECTOR *pNdkConnector, _In_ BOOLEAN Abortive, _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion,
    _In_opt_ PVOID RequestContext);

/* Up to NDK 2.0 the table ends with NdkDisconnect. */
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
 * A peer asks for a connection. The consumer owns the new connector, accepts or rejects, now or later, and closes it;
 * private data, limits and both addresses are readable already.
 */
typedef VOID (*NDK_FN_CONNECT_EVENT_CALLBACK)(_In_opt_ PVOID ConnectEventContext, _In_ NDK_CONNECTOR *pNdkConnector);

/*
 * Starts listening at an address of the adapter; port 0 takes one from 49152-65535. The address stays taken until the
 * listener and all connectors that were accepted over it are closed.
 *   STATUS_INSUFFICIENT_RESOURCES  memory or descriptors ran out
 *   STATUS_SHARING_VIOLATION       the address and port are in use
 *   STATUS_INVALID_ADDRESS         the address is not one of the adapter's
 *   STATUS_TOO_MANY_ADDRESSES      port 0, and no port of the range is free
 */
typedef NTSTATUS (*NDK_FN_LISTEN)(
    _In_ NDK_LISTENER *pNdkListener, _In_reads_bytes_(AddressLength) CONST PSOCKADDR pAddress, _In_ ULONG AddressLength,
    _In_ NDK_FN_REQUEST_COMPLETION RequestCompletion, _In_opt_ PVOID RequestContext);

/* The address that is listened at; as NDK_FN_GET_LOCAL_ADDRESS. */
typedef NTSTATUS (*NDK_FN_GET_LISTENER_LOCAL_ADDRESS)(
    _In_ NDK_LISTENER *pNdkListener,
    _Out_writes_bytes_to_opt_(*pAddressLength, *pAddressLength) PSOCKADDR pAddress, _Inout_ ULONG *pAddressLength);

/* With Pause new requests are refused as if nobody listened, while the address stays taken; without, taken again. */
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
 * Fills in the consumer's buffer of *pBufferSize bytes. IRQL PASSIVE_LEVEL; may block.
 *   STATUS_BUFFER_TOO_SMALL  *pBufferSize is the size needed
 */
typedef NTSTATUS (*NDK_FN_QUERY_ADAPTER_INFO)(
    _In_ NDK_ADAPTER *pNdkAdapter, _Out_writes_bytes_to_opt_(*pBufferSize, *pBufferSize) NDK_ADAPTER_INFO *pInfo,
    _Inout_ ULONG *pBufferSize);

/* Declared by the interface, in no dispatch table of any version: the same for a version of NDK_ADAPTER_INFO. */
typedef NTSTATUS (*NDK_FN_QUERY_ADAPTER_INFO_EX)(
    _In_ NDK_ADAPTER *pNdkAdapter, _In_ NDK_VERSION Version,
    _Out_writes_bytes_to_opt_(*pBufferSize, *pBufferSize) NDK_ADAPTER_INFO *pInfo, _Inout_ ULONG *pBufferSize);

/*
 * Creates a completion queue for CqDepth completions; CqNotification is called when it was armed, preferably on a
 * processor of Affinity.
 *   STATUS_INVALID_PARAMETER  over the adapter's MaxCqDepth
 */
typedef NTSTATUS (*NDK_FN_CREATE_CQ)(
    _In_ NDK_ADAPTER *pNdkAdapter, _In_ ULONG CqDepth, _In_ NDK_FN_CQ_NOTIFICATION_CALLBACK CqNotification,
    _In_opt_ PVOID CqNotificationContext, _In_opt_ GROUP_AFFINITY *Affinity,
    _In_ NDK_FN_CREATE_COMPLETION CreateCompletion, _In_opt_ PVOID RequestContext, _Outptr_ NDK_CQ **ppNdkCq);

/* Creates a protection domain: regions, windows and queues of different domains do not reach each other. */
typedef NTSTATUS (*NDK_FN_CREATE_PD)(
    _In_ NDK_ADAPTER *pNdkAdapter, _In_ NDK_FN_CREATE_COMPLETION CreateCompletion, _In_opt_ PVOID RequestContext,
    _Outptr_ NDK_PD **ppNdkPd);

/*
 * Takes a local address for NdkConnectWithSharedEndpoint; port 0 takes one from 49152-65535. It stays taken until the
 * endpoint and all connectors over it are closed.
 *   STATUS_SHARING_VIOLATION, STATUS_INVALID_ADDRESS, STATUS_TOO_MANY_ADDRESSES  as NdkListen
 */
typedef NTSTATUS (*NDK_FN_CREATE_SHARED_ENDPOINT)(
    _In_ NDK_ADAPTER *pNdkAdapter, _In_reads_bytes_(AddressLength) CONST PSOCKADDR pAddress, _In_ ULONG AddressLength,
    _In_ NDK_FN_CREATE_COMPLETION CreateCompletion, _In_opt_ PVOID RequestContext,
    _Outptr_ NDK_SHARED_ENDPOINT **ppNdkSharedEndpoint);

/* Creates a connector, to connect with. Those that accept come with NDK_FN_CONNECT_EVENT_CALLBACK. */
typedef NTSTATUS (*NDK_FN_CREATE_CONNECTOR)(
    _In_ NDK_ADAPTER *pNdkAdapter, _In_ NDK_FN_CREATE_COMPLETION CreateCompletion, _In_opt_ PVOID RequestContext,
    _Outptr_ NDK_CONNECTOR **ppNdkConnector);

/* Creates a listener; ConnectEvent is called for each request once NdkListen has succeeded. */
typedef NTSTATUS (*NDK_FN_CREATE_LISTENER)(
    _In_ NDK_ADAPTER *pNdkAdapter, _In_ NDK_FN_CONNECT_EVENT_CALLBACK ConnectEvent, _In_opt_ PVOID ConnectEventContext,
    _In_ NDK_FN_CREATE_COMPLETION CreateCompletion, _In_opt_ PVOID RequestContext,
    _Outptr_ NDK_LISTENER **ppNdkListener);

/*
 * Maps the first Length bytes of a virtually contiguous, locked MDL chain for the adapter, into the consumer's buffer
 * of *pLAMSize bytes; *pFBO is where they begin in the first page. Buffer, *pLAMSize, *pFBO and chain belong to the
 * provider while the call is pending; the mapping is then the consumer's, until NdkReleaseLAM.
 *   STATUS_INVALID_PARAMETER       the chain has a hole or is shorter than Length
 *   STATUS_BUFFER_TOO_SMALL        *pLAMSize is the size needed
 *   STATUS_INSUFFICIENT_RESOURCES  memory ran out; nothing stays mapped
 */
typedef NTSTATUS (*NDK_FN_BUILD_LAM)(
    _In_ NDK_ADAPTER *pNdkAdapter, _In_ MDL *Mdl, _In_ SIZE_T Length,
    _In_opt_ NDK_FN_REQUEST_COMPLETION RequestCompletion, _In_opt_ PVOID RequestContext,
    _Out_writes_bytes_to_opt_(*pLAMSize, *pLAMSize) NDK_LOGICAL_ADDRESS_MAPPING *pNdkLAM, _Inout_ ULONG *pLAMSize,
    _Out_ ULONG *pFBO);

/* Undoes NdkBuildLAM; no request may still use the addresses. The MDL chain is as it was before. */
typedef VOID (*NDK_FN_RELEASE_LAM)(_In_ NDK_ADAPTER *pNdkAdapter, _In_ NDK_LOGICAL_ADDRESS_MAPPING *pNdkLAM);

/* There is no close: who opened the adapter closes it the same way. */
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
