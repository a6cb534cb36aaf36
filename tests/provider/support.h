/* SPDX-License-Identifier: MIT */
/* The kit of the provider's tests: callbacks that record themselves, and objects that are made with one call. */
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
 * One callback that a test expects, or expects not to come. Its fields are read after the gate `returned`, or after
 * fake_drain.
 */
struct call {
    atomic_int count;
    NTSTATUS status;            /* the callback's argument */
    NDK_OBJECT_HEADER *object;
    NTSTATUS answer;            /* the status of a call that the test made in it or for it */
    int order;                  /* counts all calls: when it was entered */
    int left;                   /* the same, when it returned */
    void (*inside)(struct call *call); /* what the test does in it */
    void *argument;
    struct gate *blocks;  /* waits for this gate before it returns */
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
