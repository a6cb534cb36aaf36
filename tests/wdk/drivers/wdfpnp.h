/* SPDX-License-Identifier: MIT */
/* The modes and the interface of the driver wdfpnp. */
#ifndef TESTS_WDK_DRIVERS_WDFPNP_H
#define TESTS_WDK_DRIVERS_WDFPNP_H

/* The value Mode below the service's key Parameters selects which callback fails. */
enum wdfpnp_mode {
    WDFPNP_WORKS,
    WDFPNP_ADD_FAILS,
    WDFPNP_ADDS_NOTHING,
    WDFPNP_PREPARE_FAILS,
    WDFPNP_ENTRY_FAILS,
    WDFPNP_INTERRUPTS_FAIL,
    WDFPNP_INIT_FAILS,
    WDFPNP_REFUSES_REMOVAL, /* once */
    WDFPNP_ACKNOWLEDGES,    /* EvtIoStop acknowledges, and the request is completed later */
    WDFPNP_ACKNOWLEDGES_SENT, /* EvtIoStop acknowledges a request that is sent to an I/O target */
    WDFPNP_REQUEUES,        /* EvtIoStop acknowledges with Requeue */
    WDFPNP_PURGES,          /* requests wait in both kinds of queues during the removal */
    WDFPNP_HANDLER_RUNS,    /* a request handler runs when its queue stops */
    WDFPNP_NOTICE_RUNS,     /* an EvtIoQueueState runs when its queue stops */
    WDFPNP_NOTICE_AT_END,   /* an EvtIoQueueState of a queue that is not power-managed runs during the removal */
    WDFPNP_CANCELLED,       /* a request that was not delivered is being cancelled when its queue stops */
    WDFPNP_NOTICE_DUE,      /* another thread completes the request of EvtIoStop, so an EvtIoQueueState becomes due */
    WDFPNP_CREATES,         /* queues are created while the device starts */
    WDFPNP_FORGETS_CREATE,  /* a create request with a file object is sent and forgotten */
    WDFPNP_DELETES,         /* deletes its device, which is the framework's to delete */
    WDFPNP_MODES
};

/* Control codes beside those of the driver itself. */
#define WDFPNP_FORGET 0x220008u /* sent to the device below, and forgotten */
#define WDFPNP_LOCAL 0x22000Cu  /* fails unless the local target is the device below */

#define WDFPNP_CLASS "{3d2a0c51-5f5e-4a4e-8a0e-3f2f61b0a7c4}"
#define WDFPNP_START_CLASS "{3d2a0c52-5f5e-4a4e-8a0e-3f2f61b0a7c4}" /* the interface is created during the start */

#endif
