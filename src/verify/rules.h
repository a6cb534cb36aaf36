/* SPDX-License-Identifier: MIT */
/*
 * The rules about NDK. The kernel surface (src/wdk) has rules of its own about WDK routines (src/wdk/common/check.h).
 */
#ifndef VERIFY_RULES_H
#define VERIFY_RULES_H

#include "verify/report.h"

enum verify_rule {
    RULE_CQ_CONCURRENT,             /* p1 completion queue, p2 ID of the other thread */
    RULE_QUEUE_CONCURRENT,          /* p1 queue pair or SRQ, p2 ID of the other thread, p3 1 for the receive queue */
    RULE_MODERATION_CONCURRENT,     /* p1 completion queue, p2 ID of the other thread */
    RULE_IRQL_TOO_HIGH,             /* p1 IRQL now, p2 highest allowed */
    RULE_CONTEXT_FREED,             /* memory freed that a pending call or a posted request uses */
    RULE_CONTEXT_ON_DEAD_STACK,     /* a pending call's context is in a stack frame that has returned: p1 context */
    RULE_MDL_FREED,                 /* MDL freed while a region is registered with it */
    RULE_CLOSE_DURING_CALL,         /* p1 object, p2 type, p3 ID of the thread inside */
    RULE_CLOSED_TWICE,              /* p1 object, p2 type */
    RULE_CLOSED_USED,               /* p1 object, p2 type */
    RULE_ADAPTER_CLOSE_IN_CALLBACK, /* p1 adapter */
    RULE_LAM_RELEASED, /* mapping released while a posted request uses it: p1 mapping, p2 logical address */
    VERIFY_RULES       /* the number of rules */
};

extern const struct rule verify_rules[VERIFY_RULES];
extern struct rule_table verify_rule_table;

#endif
