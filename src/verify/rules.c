/* SPDX-License-Identifier: MIT */
/* The table of rules about NDK. docs/driver-checks.md is printed from it. */
#include "verify/rules.h"

/* Windows' bug check codes. */
enum {
    IRQL_NOT_LESS_OR_EQUAL = 0x0a,
    DRIVER_VERIFIER_DETECTED_VIOLATION = 0xc4,
    DRIVER_CORRUPTED_EXPOOL = 0xc5,
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
    [RULE_IRQL_TOO_HIGH] = { .name = "irql-too-high", .bug_check = IRQL_NOT_LESS_OR_EQUAL,
        .text = "The routine's reference names the highest IRQL at which it may be called.",
        .page = "nc-ndkpi-ndk_fn_query_adapter_info",
        .sentence = "NdkQueryAdapterInfo requires an IRQL equal to PASSIVE_LEVEL and it blocks until the request is "
                    "completed.",
        .advice = "Call the routine before you raise the IRQL, or from a work item. A callback may run at "
                  "DISPATCH_LEVEL." },
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
    [RULE_LAM_RELEASED] = { .name = "ndk-lam-released", .bug_check = DRIVER_VERIFIER_DETECTED_VIOLATION,
        .text = "A logical address mapping is released when all work requests that use it have completed.",
        .page = "nc-ndkpi-ndk_fn_release_lam",
        .sentence = "The NDK consumer must not release a LAM until after all of the work requests that use the LAM "
                    "are completed.",
        .advice = "Release the mapping when you have taken the results of these requests." },
};
/* clang-format on */

static atomic_uint reports[VERIFY_RULES];

struct rule_table verify_rule_table = {
    .layer = "ndk", .rules = verify_rules, .count = VERIFY_RULES, .reports = reports
};
