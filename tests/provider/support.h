/* SPDX-License-Identifier: MIT */
/* What the provider's tests share: a consumer's callbacks, recorded, and objects made with one call. */
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
 * One callback that a test expects, or expects not to come. Its fields are read after gate, or fake_settle, has told
 * that the callback has run.
 */
struct call {
    atomic_int count;
    NTSTATUS status;            /* that it was given */
    NDK_OBJECT_HEADER *object;
    NTSTATUS answer;            /* of a call that the test made in or for it */
    int order;                  /* among all calls: when it was entered */
    int left;                   /* and when it was left */
    void (*inside)(struct call *call); /* what the consumer does in it */
    void *argument;
    struct gate *blocks;  /* it waits for this one before it returns */
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
/* Closes whatever way it goes, and waits for it. */
void close_and_wait(void *object);
NTSTATUS register_buffer(NDK_MR *mr, void *buffer, ULONG length, ULONG flags);

#endif
