/* SPDX-License-Identifier: MIT */
/*
 * The rules about NDK. The comment on a rule lists the parameters p1 to p4 that report_breach receives for it.
 * src/wdk/common/check.h has the rules about WDK routines.
 */
#ifndef VERIFY_RULES_H
#define VERIFY_RULES_H

#include "verify/report.h"

enum verify_rule {
    RULE_CQ_CONCURRENT,          /* p1 completion queue, p2 ID of the other thread */
    RULE_QUEUE_CONCURRENT,       /* p1 queue pair or SRQ, p2 ID of the other thread, p3 queue: 1 receive, 2 initiator */
    RULE_MODERATION_CONCURRENT,  /* p1 completion queue, p2 ID of the other thread */
    RULE_COMPLETION_MISSING,     /* p1 object */
    RULE_NOTIFICATION_MISSING,   /* p1 adapter, p2 type of the object to create */
    RULE_CLOSE_WRONG_ENTRY,      /* p1 object, p2 its type, p3 type of the objects that the entry closes */
    RULE_VERSION_TOO_NEW,        /* p1 object, p2 adapter's version, p3 entry's version: major << 16 | minor */
    RULE_ARM_TYPE,               /* p1 completion queue, p2 type */
    RULE_MODERATION_RANGE,       /* p1 completion queue, p2 interval, p3 count, p4 depth */
    RULE_MODERATION_UNSUPPORTED, /* p1 completion queue, p2 AdapterFlags */
    RULE_RESIZE_UNSUPPORTED,     /* p1 completion queue, p2 AdapterFlags */
    RULE_IRQL_TOO_HIGH,          /* p1 current IRQL, p2 highest allowed IRQL */
    RULE_CONTEXT_FREED,          /* p1 freed memory, p2 context in it, p3 object of the call or request */
    RULE_CONTEXT_ON_DEAD_STACK,  /* p1 context of a pending call, in a stack frame that has returned */
    RULE_MDL_FREED,              /* p1 freed memory, p2 MDL in it, p3 region that is registered with the MDL */
    RULE_BUFFER_FREED,           /* p1 freed memory, p2 buffer in it, p3 queue of the posted request */
    RULE_REGION_FREED,           /* p1 freed memory, p2 address in the region, p3 region */
    RULE_SOURCE_CHANGED,         /* p1 first buffer, p2 queue pair, p3 number of SGEs */
    RULE_INLINE_PAGED,           /* p1 buffer, p2 IRQL, p3 queue pair */
    RULE_CLOSE_DURING_CALL,      /* p1 object, p2 type, p3 ID of the thread that was in the call */
    RULE_CLOSED_TWICE,           /* p1 object, p2 type */
    RULE_CLOSED_USED,            /* p1 object, p2 type */
    RULE_ADAPTER_CLOSE_IN_CALLBACK, /* p1 adapter */
    /*
     * p1 adapter, p2 number of objects and mappings that are left, p3 first object, p4 its type. If adapters are left,
     * p1 and p3 are 0, p2 is the number of adapters, and p4 is NdkObjectTypeAdapter.
     */
    RULE_OBJECTS_LEFT,
    RULE_QUEUE_PAIR_REUSED,        /* p1 queue pair or connector, p2 its type, p3 connector that used it first */
    RULE_CONNECTOR_PHASE,          /* p1 connector, p2 phase, p3 status of the call */
    RULE_CONNECTION_DATA_PHASE,    /* p1 connector, p2 phase, p3 status of the call */
    RULE_CONNECTION_ADDRESS_PHASE, /* p1 connector, p2 phase, p3 status of the call */
    RULE_LISTEN_TWICE,             /* p1 listener */
    RULE_PRIVATE_DATA_LENGTH,      /* p1 connector, p2 length, p3 limit */
    RULE_BUFFER_MISSING,           /* p1 object, p2 length */
    RULE_REQUEST_UNANSWERED,       /* p1 connector, p2 listener, p3 age in ms */
    RULE_CONNECT_UNCOMPLETED,      /* p1 connector, p2 age in ms */
    RULE_DISCONNECT_IGNORED,       /* p1 connector, p2 age in ms */
    RULE_DISCONNECT_OUTSTANDING,   /* p1 queue pair, p2 number of initiator requests */
    RULE_QUEUE_DEPTH,              /* p1 adapter, p2 depth, p3 limit */
    RULE_SGE_LIMIT,                /* p1 queue pair, SRQ or adapter, p2 number of SGEs, p3 limit */
    RULE_INLINE_LIMIT,             /* p1 queue pair or adapter, p2 number of bytes, p3 limit */
    RULE_TRANSFER_LENGTH,          /* p1 queue pair or SRQ, p2 number of bytes, p3 limit */
    RULE_FLAGS_UNKNOWN,            /* p1 object, p2 flags, p3 flags that the call does not support */
    RULE_POST_UNCONNECTED,         /* p1 queue pair, p2 status of the call */
    RULE_RECEIVE_WITH_SRQ,         /* p1 queue pair, p2 shared receive queue */
    RULE_DEFER_OPEN,         /* p1 queue pair, p2 number of deferred requests, p3 RequestContext of the last one */
    RULE_RECEIVE_MISSING,    /* p1 queue pair, p2 peer's queue pair, p3 number of the message, p4 number of receives */
    RULE_SILENT_ONLY,        /* p1 queue pair, p2 number of silent requests, p3 depth */
    RULE_QUEUE_SLOTS,        /* p1 queue pair, p2 number of requests, p3 depth */
    RULE_CQ_OVERFLOW,        /* p1 completion queue, p2 number of outstanding requests, p3 depth */
    RULE_CQ_UNATTENDED,      /* p1 completion queue, p2 number of requests, p3 age of the oldest request in ms */
    RULE_LAM_RELEASED,       /* p1 mapping, p2 logical address that a posted request uses */
    RULE_LAM_RELEASED_TWICE, /* p1 mapping, p2 is 1 if it was built and released earlier, or 0 if it was never built */
    RULE_LAM_CHANGED,        /* p1 mapping, p2 its AdapterContext now, p3 AdapterContext that the provider has set */
    RULE_READ_SINK_RIGHT,    /* p1 queue pair, p2 index of the SGE, p3 token, p4 region, or 0 */
    RULE_LOCAL_WRITE_RIGHT,  /* p1 queue pair or SRQ, p2 index of the SGE, p3 token, p4 region */
    RULE_PRIVILEGED_TOKEN_VIRTUAL, /* p1 queue pair or SRQ, p2 index of the SGE, p3 address, p4 length */
    RULE_PRIVILEGED_TOKEN_PEER,    /* p1 queue pair, p2 token */
    RULE_TOKEN_EARLY,              /* p1 region or window */
    RULE_TOKEN_UNKNOWN, /* p1 queue pair or SRQ, p2 index of the SGE, p3 token, p4 region that had the token, or 0 */
    RULE_SGE_RANGE,     /* p1 queue pair or SRQ, p2 index of the SGE, p3 address, p4 region */
    RULE_MR_KIND,       /* p1 region, p2 is 1 if the region is for fast registration */
    RULE_MR_REGISTERED_TWICE,   /* p1 region, p2 is 1 if NdkRegisterMr or NdkDeregisterMr is pending */
    RULE_MR_UNREGISTERED,       /* p1 region */
    RULE_MDL_UNLOCKED,          /* p1 is always 0xe, p2 MDL, p3 its flags */
    RULE_MDL_READ_ONLY,         /* p1 queue pair or SRQ, p2 index of the SGE, p3 token, p4 region */
    RULE_MDL_GAP,               /* p1 MDL, p2 address at which it should begin, p3 address at which it begins */
    RULE_MDL_USED_PENDING,      /* p1 MDL, p2 object of the pending call */
    RULE_MR_LENGTH,             /* p1 MDL, p2 length, p3 number of bytes in the MDL chain */
    RULE_REGISTRATION_SIZE,     /* p1 region, p2 length, p3 limit */
    RULE_FAST_REGISTER_LIMIT,   /* p1 region, p2 number of pages, p3 FRMRPageCount */
    RULE_FAST_REGISTER_STATE,   /* p1 region */
    RULE_FAST_REGISTER_PAGES,   /* p1 region, p2 number of pages, p3 limit */
    RULE_FAST_REGISTER_LENGTH,  /* p1 region, p2 length, p3 number of pages, p4 first byte offset */
    RULE_FAST_REGISTER_BASE,    /* p1 region, p2 base address, p3 first byte offset */
    RULE_FAST_REGISTER_ADDRESS, /* p1 region, p2 index of the page, p3 its logical address */
    RULE_FAST_REGISTER_RIGHT,   /* p1 region, p2 flags */
    RULE_INVALIDATE_KIND,       /* p1 object, p2 its type, p3 is 1 if the object is a region of NdkRegisterMr */
    RULE_INVALIDATE_TWICE,      /* p1 region, p2 token */
    RULE_WINDOW_RANGE,          /* p1 window, p2 region, p3 address, p4 length */
    RULE_WINDOW_SIZE,           /* p1 window, p2 length, p3 limit */
    RULE_WINDOW_RIGHT,          /* p1 window, p2 region, p3 flags */
    RULE_STALL,                 /* advice */
    VERIFY_RULES                /* number of rules */
};

extern const struct rule verify_rules[VERIFY_RULES];
extern struct rule_table verify_rule_table;

#endif
