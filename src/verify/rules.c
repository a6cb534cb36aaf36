/* SPDX-License-Identifier: MIT */
/* The table of rules about NDK. docs/driver-checks.md is generated from it. */
#include "verify/rules.h"

/* Windows' bug check codes. */
enum {
    IRQL_NOT_LESS_OR_EQUAL = 0x0a,
    DRIVER_VERIFIER_DETECTED_VIOLATION = 0xc4,
    DRIVER_CORRUPTED_EXPOOL = 0xc5,
    DRIVER_VERIFIER_DMA_VIOLATION = 0xe6,
};

/* clang-format off */
const struct rule verify_rules[VERIFY_RULES] = {
    [RULE_CQ_CONCURRENT] = { .name = "cq-concurrent", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "NdkGetCqResults, NdkGetCqResultsEx and NdkArmCq of one completion queue are called one at a time.",
        .page = "ndkpi-completion-handling-requirements",
        .sentence = "This means not only that the consumer will never call the same provider function multiple "
                    "times concurrently, but also that it will never call any combination of these functions "
                    "concurrently on the same CQ from multiple threads.",
        .advice = "Let one thread poll and arm the queue, or hold one lock around these calls." },
    [RULE_QUEUE_CONCURRENT] = { .name = "queue-concurrent", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "Requests are posted to one queue one at a time. A queue pair has two queues: initiator and receive.",
        .page = "ndkpi-work-request-posting-requirements",
        .sentence = "In other words, the consumer will never have two concurrent calls to any work request "
                    "functions on the same individual queue belonging to an NDK_QP or NDK_SRQ.",
        .advice = "Hold one lock around the posts to each queue, or post to it from one thread." },
    [RULE_MODERATION_CONCURRENT] = { .name = "moderation-concurrent", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "NdkControlCqInterruptModeration of one completion queue is called one at a time.",
        .page = "nc-ndkpi-ndk_fn_control_cq_interrupt_moderation",
        .sentence = "The NDK consumer must not call this function on the same CQ concurrently.",
        .advice = "Hold a lock around the call, or let one thread set the moderation." },
    [RULE_COMPLETION_MISSING] = { .name = "completion-missing", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A create, a close, and each other call that may return STATUS_PENDING has a completion routine.",
        .page = "nc-ndkpi-ndk_fn_request_completion",
        .sentence = "Asynchronous request functions require the consumer to pass an NDK_FN_REQUEST_COMPLETION "
                    "function pointer as an input.",
        .advice = "Pass a completion routine, even if this provider has always completed the call at once." },
    [RULE_NOTIFICATION_MISSING] = { .name = "notification-missing", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A completion queue has a notification routine, and a listener has a connect event routine.",
        .page = "nc-ndkpi-ndk_fn_create_cq",
        .sentence = "A pointer to the NdkCqNotificationCallback function (NDK_FN_CQ_NOTIFICATION_CALLBACK) that the "
                    "provider uses to notify the consumer when request completions are queued in the CQ.",
        .advice = "Pass a routine. That of a completion queue which is only polled can do nothing." },
    [RULE_CLOSE_WRONG_ENTRY] = { .name = "close-wrong-entry", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "An object is closed through the close entry of its own dispatch table.",
        .page = "nc-ndkpi-ndk_fn_close_object",
        .sentence = "The function dispatch table for each type of NDK object includes an NDK_FN_CLOSE_OBJECT "
                    "function pointer.",
        .advice = "Close with object->Dispatch->NdkCloseXxx, where Xxx is the type of that object." },
    [RULE_VERSION_TOO_NEW] = { .name = "version-too-new", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A consumer uses only entries and flags of the version in the header of the adapter.",
        .page = "nc-ndkpi-ndk_fn_accept_ex",
        .sentence = "Supported in NDKPI 2.1 and later.",
        .advice = "Compare adapter->Header.Version first, or open the adapter with the newer version." },
    [RULE_ARM_TYPE] = { .name = "arm-type", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "NdkArmCq receives NDK_CQ_NOTIFY_ERRORS, NDK_CQ_NOTIFY_ANY or NDK_CQ_NOTIFY_SOLICITED.",
        .page = "nc-ndkpi-ndk_fn_arm_cq",
        .sentence = "The type of notification to arm. The following notification types are defined:",
        .advice = "Pass one of the three types. They are values, not flags, and cannot be combined." },
    [RULE_MODERATION_RANGE] = { .name = "moderation-range", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "An interval of MAXULONG needs a count that is not above the depth of the completion queue.",
        .page = "nc-ndkpi-ndk_fn_control_cq_interrupt_moderation",
        .sentence = "The NDK consumer must not specify a MAXULONG for ModerationInterval and MAXULONG or a value "
                    "larger than the number of completion entries that the CQ can hold (CqDepth) for "
                    "ModerationCount at the same time.",
        .advice = "Limit the count or the interval. An interval of 0 switches moderation off." },
    [RULE_MODERATION_UNSUPPORTED] = { .name = "moderation-unsupported",
        .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "NdkControlCqInterruptModeration is only for adapters that report support for it.",
        .page = "nc-ndkpi-ndk_fn_control_cq_interrupt_moderation",
        .sentence = "NDK consumers must not call NDK_FN_CONTROL_CQ_INTERRUPT_MODERATION unless the provider sets "
                    "the NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED flag in the NDK_ADAPTER_INFO "
                    "structure's AdapterFlags member.",
        .advice = "Test NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED in AdapterFlags first." },
    [RULE_RESIZE_UNSUPPORTED] = { .name = "resize-unsupported", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "NdkResizeCq is only for adapters that report support for it.",
        .page = "ns-ndkinfo-ndk_adapter_info",
        .sentence = "If this flag is not set, the consumer must not attempt a CQ resize.",
        .advice = "Test NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED in AdapterFlags, or create the queue large enough." },
    [RULE_IRQL_TOO_HIGH] = { .name = "irql-too-high", .bug_check = IRQL_NOT_LESS_OR_EQUAL,
        .text = "The routine's reference names the highest IRQL at which it may be called.",
        .page = "managing-hardware-priorities",
        .sentence = "The IRQL at which a driver routine executes determines which kernel-mode driver support routines "
                    "it can call.",
        .advice = "Call the routine before you raise the IRQL, or from a work item. A spin lock raises it to "
                  "DISPATCH_LEVEL, a fast mutex to APC_LEVEL. A callback may run at DISPATCH_LEVEL." },
    [RULE_CONTEXT_FREED] = { .name = "context-freed-in-use", .bug_check = DRIVER_CORRUPTED_EXPOOL,
        .text = "The context of a request that returned STATUS_PENDING stays valid until its completion callback "
                "has been called.",
        .page = "nc-ndkpi-ndk_fn_request_completion",
        .sentence = "If an asynchronous request function returns STATUS_PENDING, the provider must call the "
                    "NdkRequestCompletion (NDK_FN_REQUEST_COMPLETION) function to indicate completion of the "
                    "request.",
        .advice = "Free the context in the completion callback, or after the close of the object that passes it." },
    [RULE_CONTEXT_ON_DEAD_STACK] = { .name = "context-on-dead-stack", .bug_check = DRIVER_CORRUPTED_EXPOOL,
        .text = "A context on the stack ends when its function returns: wait for the completion callback before "
                "that.",
        .page = "nc-ndkpi-ndk_fn_request_completion",
        .sentence = "The context value passed to the NDK provider when a consumer calls an asynchronous request "
                    "function.",
        .advice = "Allocate the context, or wait for the completion in the function that has it on its stack." },
    [RULE_MDL_FREED] = { .name = "mdl-freed-in-use", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "The MDL of a registered region stays allocated until the region has been deregistered.",
        .page = "nf-wdm-iofreemdl",
        .sentence = "If a driver allocates an MDL to describe a buffer, it must explicitly release the MDL when "
                    "operations on the buffer are done.",
        .advice = "Deregister or close the region, wait for the completion, then unlock and free the MDL." },
    [RULE_BUFFER_FREED] = { .name = "buffer-freed-in-use", .bug_check = DRIVER_CORRUPTED_EXPOOL,
        .text = "The buffers of a posted request stay allocated until its result is taken, those of a silent one "
                "until a later result.",
        .page = "networkdirect-disconnect-scheme",
        .sentence = "All DMA activity on the QP is finished (including DMA activity for work requests that were "
                    "posted with silent-success flag).",
        .advice = "Free the buffer when NdkGetCqResults reports the request, also after a flush or disconnect." },
    [RULE_REGION_FREED] = { .name = "region-freed-in-use", .bug_check = DRIVER_CORRUPTED_EXPOOL,
        .text = "The memory of a region stays allocated until the region has been deregistered, because a peer may "
                "access it.",
        .page = "nf-wdm-mmprobeandlockpages",
        .sentence = "This ensures the pages cannot be freed and reallocated while a device driver (or hardware) is "
                    "still using them.",
        .advice = "Deregister, invalidate or close the region, wait for the completion, then free the memory." },
    [RULE_SOURCE_CHANGED] = { .name = "source-changed", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "The data of a send or write does not change between its post and its completion. Checked with the "
                "option full.",
        .page = "nc-ndkpi-ndk_fn_write",
        .sentence = "An array of SGE structures (NDK_SGE) that represent the buffers holding the data to write.",
        .advice = "Use the buffer again when NdkGetCqResults reports the request, or send it inline." },
    [RULE_INLINE_PAGED] = { .name = "inline-paged", .bug_check = IRQL_NOT_LESS_OR_EQUAL,
        .text = "Inline data is in memory that stays resident during the call: at DISPATCH_LEVEL not in paged pool.",
        .page = "ns-ndkpi-_ndk_sge",
        .sentence = "When the NDK_OP_FLAG_INLINE flag is specified, the VirtualAddress member of any NDK_SGE "
                    "structure that is passed to the work request function must point to a buffer that can be "
                    "accessed by the NDK provider at an IRQL less than or equal to DISPATCH_LEVEL",
        .advice = "Copy the data to nonpaged pool or to the stack first." },
    [RULE_CLOSE_DURING_CALL] = { .name = "close-during-call", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "An object is closed after every other call on it has returned. A close from the completion of that "
                "call is allowed.",
        .page = "ndkpi-object-lifetime-requirements",
        .sentence = "The consumer will not call the NdkCloseObject function for an object until all provider "
                    "functions for that object have returned.",
        .advice = "Count the calls in progress, or hold a lock around calls and close." },
    [RULE_CLOSED_TWICE] = { .name = "ndk-closed-twice", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "An NDK object is closed once: after the close call it no longer belongs to the consumer.",
        .page = "ndkpi-object-lifetime-requirements",
        .sentence = "The consumer will not use the antecedent object after calling NdkCloseObject on it, so the "
                    "provider does not have to add any handling for failing further provider functions on the "
                    "antecedent object (but it may if it chooses to).",
        .advice = "Set the pointer to NULL when you close the object, and let one owner close it." },
    [RULE_CLOSED_USED] = { .name = "ndk-closed-used", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "After the close call an NDK object must not be used, even while the close is pending.",
        .page = "nc-ndkpi-ndk_fn_close_object",
        .sentence = "An NDK consumer must not access the object after a close request is started.",
        .advice = "Stop every user of the object before you close it." },
    [RULE_ADAPTER_CLOSE_IN_CALLBACK] = { .name = "adapter-close-in-callback",
        .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "An adapter is not closed inside a callback, because the close waits until every callback has "
                "returned.",
        .page = "ndkpi-object-lifetime-requirements",
        .sentence = "An NDK consumer will not call NdkCloseObject for an NDK_ADAPTER object (which is a blocking "
                    "call) from inside a consumer callback function.",
        .advice = "Signal a thread or queue a work item that closes the adapter." },
    /*
     * According to .sentence, the close returns STATUS_PENDING. But the close of an adapter cannot return
     * STATUS_PENDING, so the close blocks instead.
     */
    [RULE_OBJECTS_LEFT] = { .name = "objects-left", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "Every object and mapping of an adapter is closed or released, else the adapter close waits for "
                "ever.",
        .page = "ndkpi-object-lifetime-requirements",
        .sentence = "The provider must not close the antecedent object until all the successor objects are closed, "
                    "i.e., provider must return STATUS_PENDING from the close request and complete it [...] once "
                    "all successor objects are closed.",
        .advice = "Close the listed objects. A create that returned STATUS_PENDING delivers its object later." },
    [RULE_QUEUE_PAIR_REUSED] = { .name = "queue-pair-reused", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A queue pair and a connector serve one connection, and are not used for another one.",
        .page = "networkdirect-disconnect-scheme",
        .sentence = "A disconnected QP or connector cannot be reused by the consumer.",
        .advice = "Close both, and create new ones for the next connection." },
    [RULE_CONNECTOR_PHASE] = { .name = "connector-phase", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A connector goes through connect, complete and disconnect, or through accept and disconnect. "
                "NdkReject is called in place of complete or accept.",
        .page = "nc-ndkpi-ndk_fn_complete_connect",
        .sentence = "The NdkCompleteConnect function completes a connection request that was initiated by a "
                    "previous call to the NdkConnect (NDK_FN_CONNECT) function. The NDK consumer calls "
                    "NdkCompleteConnect after the peer accepts the connection request.",
        .advice = "Wait for the completion of the call before, and check its status. To give up, close the "
                  "connector." },
    [RULE_CONNECTION_DATA_PHASE] = { .name = "connection-data-phase", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "NdkGetConnectionData is called between request and NdkAccept, or between NdkConnect's completion "
                "and NdkCompleteConnect.",
        .page = "nc-ndkpi-ndk_fn_get_connection_data",
        .sentence = "An NDK consumer will not call this function after it calls the NDK_FN_ACCEPT function on the "
                    "passive side or the NDK_FN_COMPLETE_CONNECT function on the active side.",
        .advice = "Read private data and read limits before you accept or complete, and keep a copy." },
    [RULE_CONNECTION_ADDRESS_PHASE] = { .name = "connection-address-phase",
        .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A connector has addresses after NdkConnect was called, or if a listener has delivered it.",
        .page = "nc-ndkpi-ndk_fn_get_local_address",
        .sentence = "The NdkGetLocalAddress (NDK_FN_GET_LOCAL_ADDRESS) function returns the local address for an NDK "
                    "connection.",
        .advice = "Read the addresses when NdkConnect has completed, or when the request has come." },
    [RULE_LISTEN_TWICE] = { .name = "listen-twice", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A listener listens at one address: NdkListen is called again only if it has failed.",
        .page = "ndkpi-terminology",
        .sentence = "An NDK_LISTENER has an implicit endpoint (which the consumer specifies when calling NdkListen "
                    "(NDK_FN_LISTEN)).",
        .advice = "Create a listener for each address. To stop listening, close it, or pause its connect events." },
    [RULE_PRIVATE_DATA_LENGTH] = { .name = "private-data-length", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "Private data is at most MaxCallerData bytes with a connect, MaxCalleeData with an accept or reject.",
        .page = "ns-ndkinfo-ndk_adapter_info",
        .sentence = "The maximum size, in bytes, of the private data that can be sent with a connect request.",
        .advice = "Limit the data to the adapter's values, and send the rest as a message." },
    [RULE_BUFFER_MISSING] = { .name = "buffer-missing", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A buffer with a length above zero is not NULL.",
        .page = "nc-ndkpi-ndk_fn_get_connection_data",
        .sentence = "If pPrivateData is NULL and *pPrivateDataLength is greater than zero, this is an invalid "
                    "request. A consumer must never do this.",
        .advice = "Pass the buffer, or set the length to zero." },
    /* The rule follows from .sentence, which does not demand it literally. */
    [RULE_REQUEST_UNANSWERED] = { .name = "request-unanswered", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "Each connection request is accepted, rejected, or ended by the close of its connector.",
        .page = "nc-ndkpi-ndk_fn_accept",
        .sentence = "The NdkConnectEventCallback function is used by the NDK provider to notify the consumer about "
                    "each incoming connection request.",
        .advice = "Call NdkAccept or NdkReject for each connector that the callback delivers, then close it." },
    /* The rule follows from .sentence, which does not demand it literally. */
    [RULE_CONNECT_UNCOMPLETED] = { .name = "connect-uncompleted", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A connect that succeeded is completed, rejected, or ended by the close of its connector.",
        .page = "nc-ndkpi-ndk_fn_accept",
        .sentence = "The peer did not call the CompleteConnect (NDK_FN_COMPLETE_CONNECT) function to complete the "
                    "pending connection request.",
        .advice = "Call NdkCompleteConnect or NdkReject when NdkConnect has completed; the peer's NdkAccept waits "
                  "for it." },
    /* The rule follows from .sentence, which does not demand it literally. */
    [RULE_DISCONNECT_IGNORED] = { .name = "disconnect-ignored", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A consumer answers a disconnect event with NdkDisconnect or a close; the peer's NdkDisconnect "
                "waits for it.",
        .page = "networkdirect-disconnect-scheme",
        .sentence = "complete consumer A's NdDisconnect request only when [...] A graceful disconnect notification "
                    "is received from B (which leads to successful completion of consumer A's NdDisconnect)",
        .advice = "Call NdkDisconnect when the disconnect event comes, then close connector and queue pair." },
    [RULE_DISCONNECT_OUTSTANDING] = { .name = "disconnect-outstanding", .kind = RULE_ADVICE,
        .text = "NdkDisconnect is called after all initiator requests have completed, else it may not be graceful.",
        .page = "networkdirect-disconnect-scheme",
        .sentence = "A consumer should typically call NdDisconnect only after it gets completions for all work "
                    "requests it posted to the initiator queue.",
        .advice = "Poll the results of all initiator requests first. Posted receives may stay." },
    [RULE_QUEUE_DEPTH] = { .name = "queue-depth", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "The depth of a queue is within the limit that the adapter reports.",
        .page = "nc-ndkpi-ndk_fn_create_qp",
        .sentence = "This value must be less than or equal to the value in the MaxInitiatorQueueDepth member of the "
                    "NDK_ADAPTER_INFO structure.",
        .advice = "Query the adapter, and create the queue with the smaller of limit and need." },
    [RULE_SGE_LIMIT] = { .name = "sge-limit", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A request has at most as many SGEs as its queue pair was created for, a queue pair at most the "
                "adapter's limit.",
        .page = "nc-ndkpi-ndk_fn_create_qp",
        .sentence = "The maximum number of SGEs that can be supported in a single initiator request. This value "
                    "must be less than or equal to the value in the MaxInitiatorRequestSge member of the "
                    "NDK_ADAPTER_INFO structure.",
        .advice = "Split the request, or create the queue pair for more SGEs." },
    [RULE_INLINE_LIMIT] = { .name = "inline-limit", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "Inline data is at most as long as the InlineDataSize of the queue pair, which the adapter limits.",
        .page = "ns-ndkpi-_ndk_sge",
        .sentence = "The total size of inline data that is passed to the provider in a single call must not exceed "
                    "the value in the InlineDataSize parameter that was specified when the queue pair (QP) was "
                    "created.",
        .advice = "Send longer data from registered memory, without NDK_OP_FLAG_INLINE." },
    [RULE_TRANSFER_LENGTH] = { .name = "transfer-length", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "The SGEs of one request have together at most MaxTransferLength bytes.",
        .page = "ns-ndkinfo-ndk_adapter_info",
        .sentence = "The maximum total length that can be referenced by all SGEs in a single send, receive, read, "
                    "or write request.",
        .advice = "Split the transfer into several requests." },
    [RULE_FLAGS_UNKNOWN] = { .name = "flags-unknown", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A call has only flags that its page lists.",
        .page = "nc-ndkpi-ndk_fn_read",
        .sentence = "A bitwise OR of flags which specifies the operations that are allowed. The following flags are "
                    "supported:",
        .advice = "Check the flag against the page. NDK_MR_FLAG_ and NDK_OP_FLAG_ have different values." },
    /*
     * This is checked only until NdkAccept or NdkCompleteConnect is called for the queue pair. Later posts may fail
     * without a fault of the consumer, because the peer may end the connection at any time.
     */
    [RULE_POST_UNCONNECTED] = { .name = "post-unconnected", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "Initiator requests are posted after NdkAccept or NdkCompleteConnect has completed. Receives may be "
                "earlier.",
        .page = "nc-ndkpi-ndk_fn_send",
        .sentence = "The queue pair (QP) is not connected.",
        .advice = "Post the first request from the completion of NdkAccept or NdkCompleteConnect." },
    /* The rule follows from .sentence, which does not demand it literally. */
    [RULE_RECEIVE_WITH_SRQ] = { .name = "receive-with-srq", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "The receives of a queue pair with a shared receive queue are posted there, not with NdkReceive.",
        .page = "nc-ndkpi-ndk_fn_create_qp_with_srq",
        .sentence = "A pointer to an NDK shared receive queue (SRQ) object (NDK_SRQ) to post receive requests.",
        .advice = "Post the receive with NdkSrqReceive." },
    [RULE_DEFER_OPEN] = { .name = "defer-open", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A chain of requests with NDK_OP_FLAG_DEFER ends with a request without it.",
        .page = "ndkpi-deferred-processing-scheme",
        .sentence = "The consumer guarantees that, in the absence of an inline failure, all initiator request "
                    "chains will be terminated by an initiator request that does not set the NDK_OP_FLAG_DEFER flag.",
        .advice = "Post the last request of the chain without NDK_OP_FLAG_DEFER, else none of them may start." },
    /*
     * Only advice, because no page demands a posted receive. InfiniBand sends the message again until a receive is
     * posted.
     */
    [RULE_RECEIVE_MISSING] = { .name = "receive-missing", .kind = RULE_ADVICE,
        .text = "A message finds a posted receive at the peer. Checked if the peer is in the same process.",
        .page = "nc-ndkpi-ndk_fn_receive",
        .sentence = "An array of SGE structures (NDK_SGE) that represent the buffers to receive incoming data.",
        .advice = "Post receives before the peer can send, and agree on credits. Without one, iWARP ends the "
                  "connection." },
    /* The rule follows from .sentence, which does not demand it literally. */
    [RULE_SILENT_ONLY] = { .name = "silent-only", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "Among as many requests as the queue is deep, at least one is signalled: only its result frees "
                "their slots.",
        .page = "nc-ndkpi-ndk_fn_send",
        .sentence = "Indicates the successful completion of this request does not generate a completion event in "
                    "the outbound completion queue.",
        .advice = "Post every n-th request without NDK_OP_FLAG_SILENT_SUCCESS, with n at most half of the depth." },
    /* The rule follows from .sentence, because a request keeps its slot until its result is polled. */
    [RULE_QUEUE_SLOTS] = { .name = "queue-slots", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "At most as many requests are outstanding as the queue is deep, counting results that were not "
                "polled.",
        .page = "nc-ndkpi-ndk_fn_create_qp",
        .sentence = "The maximum number of initiator requests that can be outstanding over the QP.",
        .advice = "Count free slots: use one for each post, and free it when NdkGetCqResults reports the request." },
    /* The rule follows from .sentence, which does not demand it literally. */
    [RULE_CQ_OVERFLOW] = { .name = "cq-overflow", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "At most as many requests are outstanding, silent ones included, as their completion queue can hold.",
        .page = "nc-ndkpi-ndk_fn_cq_notification_callback",
        .sentence = "Indicates more completions than that maximum that the CQ can hold were attempted to be queued "
                    "on the CQ and the CQ is unusable. All of the associated queue pairs (QPs) are also unusable. "
                    "No future completions will be reported. A STATUS_BUFFER_OVERFLOW error usually indicates a "
                    "programming error.",
        .advice = "Create the completion queue for the sum of the queues' depths, or limit what is outstanding." },
    [RULE_CQ_UNATTENDED] = { .name = "cq-unattended", .kind = RULE_ADVICE,
        .text = "A completion queue is polled or armed while initiator requests are outstanding.",
        .page = "nc-ndkpi-ndk_fn_create_cq",
        .sentence = "The provider will not call NdkCqNotificationCallback unless the consumer arms the notification "
                    "with the NdkArmCq (NDK_FN_ARM_CQ) function.",
        .advice = "Poll until NdkGetCqResults returns 0, arm, then poll once more." },
    [RULE_LAM_RELEASED] = { .name = "ndk-lam-released", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A logical address mapping is released when all work requests that use it have completed.",
        .page = "nc-ndkpi-ndk_fn_release_lam",
        .sentence = "The NDK consumer must not release a LAM until after all of the work requests that use the LAM "
                    "are completed.",
        .advice = "Release the mapping when you have taken the results of these requests." },
    [RULE_LAM_RELEASED_TWICE] = { .name = "lam-released-twice", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "NdkReleaseLAM is called once for each mapping that NdkBuildLAM has built.",
        .page = "nc-ndkpi-ndk_fn_release_lam",
        .sentence = "A pointer to an NDK_LOGICAL_ADDRESS_MAPPING structure that was previously initialized by "
                    "calling the NdkBuildLAM (NDK_FN_BUILD_LAM) function.",
        .advice = "Release the structure of NdkBuildLAM itself, not a copy, and only if NdkBuildLAM succeeded." },
    [RULE_LAM_CHANGED] = { .name = "lam-changed", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A logical address mapping is released as it was built. Its AdapterContext belongs to the provider.",
        .page = "ns-ndkpi-_ndk_logical_address_mapping",
        .sentence = "Reserved for the NDK provider's use. The NDK consumer must not modify this member.",
        .advice = "Keep your own data beside the structure." },
    [RULE_READ_SINK_RIGHT] = { .name = "read-sink-right", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "The sink of a read is registered as such, unless the adapter reports RDMA_READ_SINK_NOT_REQUIRED.",
        .page = "nc-ndkpi-ndk_fn_fast_register",
        .sentence = "If the NDK_ADAPTER_FLAG_RDMA_READ_SINK_NOT_REQUIRED flag is not set in the AdapterFlags member "
                    "of the NDK_ADAPTER_INFO structure, an NDK consumer must pass the NDK_OP_FLAG_RDMA_READ_SINK "
                    "flag when it registers memory that might be used as the sink buffer for an RDMA read request.",
        .advice = "Register with NDK_MR_FLAG_RDMA_READ_SINK or NDK_OP_FLAG_RDMA_READ_SINK, also beside other "
                  "rights." },
    [RULE_LOCAL_WRITE_RIGHT] = { .name = "local-write-right", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "Memory that a receive or a read fills is registered with local write access.",
        .page = "nc-ndkpi-ndk_fn_fast_register",
        .sentence = "Allow local write access to the memory region.",
        .advice = "Register with NDK_MR_FLAG_ALLOW_LOCAL_WRITE or NDK_OP_FLAG_ALLOW_LOCAL_WRITE." },
    [RULE_PRIVILEGED_TOKEN_VIRTUAL] = { .name = "privileged-token-virtual",
        .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "An SGE with the privileged token has a logical address of a mapping that is built.",
        .page = "ns-ndkpi-_ndk_sge",
        .sentence = "When the MemoryRegionToken member is set to the token returned by "
                    "NdkGetPrivilegedMemoryRegionToken (NDK_FN_GET_PRIVILEGED_MEMORY_REGION_TOKEN), the NDK_SGE "
                    "must contain a logical address returned by the NdkBuildLam (NDK_FN_BUILD_LAM) function with "
                    "the NDK_LOGICAL_ADDRESS_MAPPING structure.",
        .advice = "Use an address of AdapterPageArray, or the token of a registered region." },
    [RULE_PRIVILEGED_TOKEN_PEER] = { .name = "privileged-token-peer", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "The privileged token is only for local SGEs. A peer has no access with it.",
        .page = "nc-ndkpi-ndk_fn_get_privileged_memory_region_token",
        .sentence = "A provider must never allow remote access for the privileged memory region token.",
        .advice = "Give the peer the remote token of a region or window that has remote rights." },
    [RULE_TOKEN_EARLY] = { .name = "token-early", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A token is read after the region is registered or initialized, or the window is bound.",
        .page = "nc-ndkpi-ndk_fn_get_local_token_from_mr",
        .sentence = "NdkGetLocalTokenFromMr can be called after a call to the NdkRegisterMr (NDK_FN_REGISTER_MR) "
                    "function or NdkInitializeFastRegisterMr (NDK_FN_INITIALIZE_FAST_REGISTER_MR) function "
                    "completes without errors.",
        .advice = "Read the token in the completion, and again after each fast registration or bind." },
    [RULE_TOKEN_UNKNOWN] = { .name = "token-unknown", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "An SGE has the token of a region that is registered: not before the registration, not after its "
                "end.",
        .page = "ns-ndkpi-_ndk_sge",
        .sentence = "When the token in the MemoryRegionToken member is not equal to the token that is returned by "
                    "NdkGetPrivilegedMemoryRegionToken, the NDK_SGE structure must contain a virtual address that "
                    "falls within the virtual address span of a previously registered memory region.",
        .advice = "Read the token again after each registration; each one gives a new token." },
    [RULE_SGE_RANGE] = { .name = "sge-range", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "The buffer of an SGE is inside the region of its token.",
        .page = "ns-ndkpi-_ndk_sge",
        .sentence = "When the token in the MemoryRegionToken member is not equal to the token that is returned by "
                    "NdkGetPrivilegedMemoryRegionToken, the NDK_SGE structure must contain a virtual address that "
                    "falls within the virtual address span of a previously registered memory region.",
        .advice = "Compare address and length with the region: its base is the MDL's virtual address, or "
                  "BaseVirtualAddress." },
    [RULE_MR_KIND] = { .name = "mr-kind", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A region is for NdkRegisterMr or for fast registration, as it was created.",
        .page = "nc-ndkpi-ndk_fn_create_mr",
        .sentence = "If TRUE, MR is for fast-register only. Otherwise, MR is for normal register only.",
        .advice = "Create the region with the FastRegister value that its use needs." },
    [RULE_MR_REGISTERED_TWICE] = { .name = "mr-registered-twice", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A region is registered once: NdkRegisterMr is called again only after NdkDeregisterMr has completed.",
        .page = "nc-ndkpi-ndk_fn_register_mr",
        .sentence = "On an NDK_MR object that was created with the FastRegister parameter set to FALSE, NdkRegisterMr "
                    "is used to register a virtually contiguous memory region with the adapter.",
        .advice = "Create a region for each registration, or wait for the completion of NdkDeregisterMr." },
    [RULE_MR_UNREGISTERED] = { .name = "mr-unregistered", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "NdkDeregisterMr is for a region that NdkRegisterMr has registered, once for each registration.",
        .page = "nc-ndkpi-ndk_fn_deregister_mr",
        .sentence = "A pointer to an NDK memory region (MR) object (NDK_MR) that is in the registered state.",
        .advice = "Wait for the registration. A fast registration ends with NdkInvalidate." },
    [RULE_MDL_UNLOCKED] = { .name = "mdl-unlocked", .bug_check = DRIVER_VERIFIER_DMA_VIOLATION,
        .text = "An MDL for NDK describes memory that is locked or nonpaged.",
        .page = "nc-ndkpi-ndk_fn_register_mr",
        .sentence = "The NDK consumer must pass an MDL or chain of MDLs that represent virtually contiguous memory "
                    "region that is pinned in physical memory.",
        .advice = "Call MmProbeAndLockPages, or MmBuildMdlForNonPagedPool, for each MDL of the chain first." },
    [RULE_MDL_READ_ONLY] = { .name = "mdl-read-only", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "Memory that a receive or a read fills is not locked for reading only.",
        .page = "nf-wdm-mmprobeandlockpages",
        .sentence = "IoReadAccess indicates that the driver can examine the contents of the buffer but cannot change "
                    "the contents.",
        .advice = "Pass IoWriteAccess or IoModifyAccess to MmProbeAndLockPages." },
    [RULE_MDL_GAP] = { .name = "mdl-gap", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "The MDLs of a chain describe one virtually contiguous range.",
        .page = "nc-ndkpi-ndk_fn_register_mr",
        .sentence = "An MDL or chain of MDLs that represent a virtually contiguous memory region from the starting "
                    "virtual address up to the number of bytes specified in the Length parameter.",
        .advice = "Register each contiguous part as a region of its own." },
    [RULE_MDL_USED_PENDING] = { .name = "mdl-used-pending", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "An MDL chain is not used elsewhere while NdkRegisterMr or NdkBuildLAM with it is pending.",
        .page = "nc-ndkpi-ndk_fn_register_mr",
        .sentence = "The NDK consumer must not use the MDL chain while the registration request is pending.",
        .advice = "Wait for the completion before you pass the chain to another call, change, unlock or free it." },
    [RULE_MR_LENGTH] = { .name = "mr-length", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A registration or mapping is not longer than its MDL chain.",
        .page = "nc-ndkpi-ndk_fn_register_mr",
        .sentence = "The length must not exceed the total number of bytes represented by the MDL chain.",
        .advice = "Pass the sum of MmGetMdlByteCount of the chain, or less." },
    [RULE_REGISTRATION_SIZE] = { .name = "registration-size", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A registration has at most MaxRegistrationSize bytes.",
        .page = "ns-ndkinfo-ndk_adapter_info",
        .sentence = "The maximum size, in bytes, of a single memory registration that the adapter can address.",
        .advice = "Register the memory in several regions." },
    /* Only advice, because an adapter may accept more pages than FRMRPageCount. */
    [RULE_FAST_REGISTER_LIMIT] = { .name = "fast-register-limit", .kind = RULE_ADVICE,
        .text = "A region is initialized for at most FRMRPageCount pages. An adapter need not support more.",
        .page = "ns-ndkinfo-ndk_adapter_info",
        .sentence = "The fast-register memory region (FRMR) size (in PAGE_SIZE pages) for which the adapter supports "
                    "the greatest number of FRMRs.",
        .advice = "Initialize regions for FRMRPageCount pages or less, and register more memory in parts." },
    [RULE_FAST_REGISTER_STATE] = { .name = "fast-register-state", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "NdkFastRegister is for a region that NdkInitializeFastRegisterMr has initialized.",
        .page = "nc-ndkpi-ndk_fn_fast_register",
        .sentence = "A pointer to an NDK memory region (MR) object (NDK_MR) that was initialized for fast "
                    "registration.",
        .advice = "Call NdkInitializeFastRegisterMr once after NdkCreateMr." },
    [RULE_FAST_REGISTER_PAGES] = { .name = "fast-register-pages", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A fast registration has at most as many pages as its region was initialized for.",
        .page = "nc-ndkpi-ndk_fn_initialize_fast_register_mr",
        .sentence = "The maximum number of adapter pages to support in this MR such that fast-register work "
                    "requests with equal or a lower number of adapter pages can be supported.",
        .advice = "Initialize the region for the largest count, or register in parts." },
    [RULE_FAST_REGISTER_LENGTH] = { .name = "fast-register-length", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A fast registration is not longer than its pages behind the first byte offset.",
        .page = "nc-ndkpi-ndk_fn_fast_register",
        .sentence = "The length must be less than or equal to the total number of bytes that are represented by the "
                    "first set (AdapterPageCount) of pages that are contained in the AdapterPageArray array minus "
                    "the FBO.",
        .advice = "Pass AdapterPageCount and FBO as NdkBuildLAM has returned them, and the length of the mapping." },
    [RULE_FAST_REGISTER_BASE] = { .name = "fast-register-base", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "The base address of a fast registration has the first byte offset as its offset in the page.",
        .page = "nc-ndkpi-ndk_fn_fast_register",
        .sentence = "This value must be a multiple of PAGE_SIZE plus FBO.",
        .advice = "Pass the buffer's virtual address together with the FBO of NdkBuildLAM." },
    [RULE_FAST_REGISTER_ADDRESS] = { .name = "fast-register-address", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "The pages of a fast registration are page-aligned logical addresses of a mapping that is built.",
        .page = "nc-ndkpi-ndk_fn_build_lam",
        .sentence = "Similarly, an NDK consumer must also use logical addresses in fast-register requests.",
        .advice = "Take the addresses from AdapterPageArray of NdkBuildLAM, and keep the mapping." },
    [RULE_FAST_REGISTER_RIGHT] = { .name = "fast-register-right", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A fast registration has remote rights only if its region was initialized for remote access.",
        .page = "nc-ndkpi-ndk_fn_initialize_fast_register_mr",
        .sentence = "An NDK consumer must set RemoteAccess to TRUE if the consumer will request remote access with "
                    "the NdkFastRegister (NDK_FN_FAST_REGISTER) function.",
        .advice = "Initialize the region with RemoteAccess set to TRUE." },
    [RULE_INVALIDATE_KIND] = { .name = "invalidate-kind", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "NdkInvalidate is for a fast-registered region or a bound window.",
        .page = "nc-ndkpi-ndk_fn_invalidate",
        .sentence = "If an MR object is specified, the MR object must have been registered with the NdkFastRegister "
                    "(NDK_FN_FAST_REGISTER) function. The NDK consumer must never specify an MR object that was "
                    "registered with the NdkRegister (NDK_FN_REGISTER) function in the pNdkMrOrMw parameter.",
        .advice = "End a registration of NdkRegisterMr with NdkDeregisterMr." },
    [RULE_INVALIDATE_TWICE] = { .name = "invalidate-twice", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A registration or binding is invalidated once: by NdkInvalidate, by the peer, or by a read.",
        .page = "ndkpi-completion-handling-requirements",
        .sentence = "A later NdkInvalidate (NDK_FN_INVALIDATE) for the same token will fail, as usual.",
        .advice = "Poll with NdkGetCqResultsEx to see what the peer has invalidated." },
    [RULE_WINDOW_RANGE] = { .name = "window-range", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A window is bound to a range inside a registered region.",
        .page = "nc-ndkpi-ndk_fn_bind",
        .sentence = "The address in the VirtualAddress parameter must be an address within the virtually contiguous "
                    "region that is described by the MDL chain that was specified during memory registration.",
        .advice = "Register the region first. Count from MmGetMdlVirtualAddress of its first MDL." },
    [RULE_WINDOW_SIZE] = { .name = "window-size", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A window has at most MaxWindowSize bytes.",
        .page = "ns-ndkinfo-ndk_adapter_info",
        .sentence = "The maximum size, in bytes, for a single memory window.",
        .advice = "Bind several windows. An adapter with a MaxWindowSize of 0 has none." },
    [RULE_WINDOW_RIGHT] = { .name = "window-right", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A window with write access needs a region with local write access.",
        .page = "nc-ndkpi-ndk_fn_bind",
        .sentence = "The memory region does not allow the type of access requested for the memory window. The "
                    "NDK_OP_FLAG_ALLOW_WRITE flag requires a memory region that was registered with the "
                    "NDK_MR_FLAG_ALLOW_LOCAL_WRITE flag.",
        .advice = "Register the region with NDK_MR_FLAG_ALLOW_LOCAL_WRITE." },

    /* ---- Stalls ---- */

    [RULE_STALL] = { .name = "stall", .kind = RULE_ADVICE,
        .text = "A call or an initiator request that does not complete for a long time (the option stall) is "
                "reported, with what it waits for. If the thread that made the call waits elsewhere, the report has "
                "its stack." },
};
/* clang-format on */

static atomic_uint reports[VERIFY_RULES];

struct rule_table verify_rule_table = {
    .layer = "ndk", .rules = verify_rules, .count = VERIFY_RULES, .reports = reports
};
