/* SPDX-License-Identifier: MIT */
/* Helpers of the provider's tests: recorded callbacks, and functions that create and close objects. */
#ifndef TESTS_PROVIDER_SUPPORT_H
#define TESTS_PROVIDER_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/shard.h"
#include "ndk/ndkpi.h"
#include "openndk/adapter.h"
#include "openndk/config.h"
#include "openndk/mdl.h"
#include "provider/fake_fabric.h"

extern const NDK_VERSION version_2_1;

/*
 * A recorded callback. Its fields may be read after the gate `returned` or after fake_drain.
 */
struct call {
    atomic_int count;
    NTSTATUS status; /* the callback's argument */
    NDK_OBJECT_HEADER *object;
    NTSTATUS answer;                   /* the status of a call that `inside` has made */
    int order;                         /* position of the callback's begin among all begins and returns of callbacks */
    int returned_order;                /* position of its return, in the same count */
    void (*inside)(struct call *call); /* called inside the callback; or NULL */
    void *argument;
    struct gate *blocks; /* the callback waits for this gate before it returns; or NULL */
    struct gate entered, returned;
};

int next_order(void);
void on_create(void *context, NTSTATUS status, NDK_OBJECT_HEADER *object);
void on_request(void *context, NTSTATUS status);
void on_close(void *context);
void on_notify(void *context, NTSTATUS status);

NDK_PD *make_pd(NDK_ADAPTER *adapter);
NDK_CQ *make_cq(NDK_ADAPTER *adapter, struct call *notify);
NDK_MR *make_mr(NDK_PD *pd);
NDK_QP *make_qp(NDK_PD *pd, NDK_CQ *receive, NDK_CQ *initiator);
NTSTATUS close_object(void *object, struct call *call);
/* Closes the object, inline or not, and waits for the end. */
void close_and_wait(void *object);
NTSTATUS register_buffer(NDK_MR *mr, void *buffer, ULONG length, ULONG flags);

#endif
