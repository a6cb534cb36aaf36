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
    [RULE_IRQL_TOO_HIGH] = { "irql-too-high", IRQL_NOT_LESS_OR_EQUAL,
        "The routine's reference names the highest IRQL at which it may be called." },
    [RULE_CONTEXT_FREED] = { "context-freed-in-use", DRIVER_CORRUPTED_EXPOOL,
        "The context of a request that returned STATUS_PENDING stays valid until its completion callback has been "
        "called." },
    [RULE_CONTEXT_ON_DEAD_STACK] = { "context-on-dead-stack", DRIVER_CORRUPTED_EXPOOL,
        "A context on the stack ends when its function returns: wait for the completion callback before that." },
    [RULE_MDL_FREED] = { "mdl-freed-in-use", DRIVER_VERIFIER_DETECTED_VIOLATION,
        "The MDL of a registered region stays allocated until the region has been deregistered." },
    [RULE_CLOSED_TWICE] = { "ndk-closed-twice", DRIVER_VERIFIER_DETECTED_VIOLATION,
        "An NDK object is closed once: after the close call it no longer belongs to the consumer." },
    [RULE_CLOSED_USED] = { "ndk-closed-used", DRIVER_VERIFIER_DETECTED_VIOLATION,
        "After the close call an NDK object must not be used, even while the close is pending." },
    [RULE_LAM_RELEASED] = { "ndk-lam-released", DRIVER_VERIFIER_DETECTED_VIOLATION,
        "A logical address mapping is released when all work requests that use it have completed." },
};
/* clang-format on */
