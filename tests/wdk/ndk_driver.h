/* SPDX-License-Identifier: MIT */
/*
 * A driver for tests of what stands between drivers and the provider: one adapter, and on it both ends of a connection.
 * Its calls wait as a driver's do, and fail the test where they fail.
 */
#ifndef TESTS_WDK_NDK_DRIVER_H
#define TESTS_WDK_NDK_DRIVER_H

#include "wdm.h"
#include "ndkpi.h"
#include "ws2def.h"

enum { TAG = 0x74736554, DEPTH = 8, BYTES = 256 };

struct end {
    NDK_CQ *cq;
    NDK_QP *qp;
    NDK_CONNECTOR *connector;
    UCHAR *buffer;
};

extern NDK_ADAPTER *adapter;
extern NDK_PD *pd;
extern NDK_LISTENER *listener;
extern struct end near, far;

/* A call that waits as a driver does. */
struct call {
    KEVENT event;
    NTSTATUS status;
    NDK_OBJECT_HEADER *object;
};

void call_init(struct call *c);
VOID request_done(PVOID context, NTSTATUS status);
VOID create_done(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object);
VOID close_done(PVOID context);
NTSTATUS finish(struct call *c, NTSTATUS status);
void *made(struct call *c, NTSTATUS status, void *inline_object);

/* A creating call, whichever way it answers. In it, c_ and inline_ are the context and where an object goes. */
#define MADE(type, variable, call_)                                        \
    do {                                                                   \
        struct call c_;                                                    \
        type *inline_ = NULL;                                              \
        NTSTATUS status_;                                                  \
        call_init(&c_);                                                    \
        status_ = call_;                                                   \
        (variable) = made(&c_, status_, inline_);                          \
    } while (0)

void close_object(void *object);
/* context: a KEVENT or NULL. */
VOID cq_notified(PVOID context, NTSTATUS status);

void open_end(struct end *e);
void close_end(struct end *e);

/* The connector of the request that comes next. */
NDK_CONNECTOR *wait_asked(void);
/* Makes `listener`; the port that it got is put into the address. */
void listen_at(PSOCKADDR at, ULONG length);

void open_adapter(void);
void close_adapter(void);
/* Checks on, report and go on; all but the connection. */
void open_all(void);
void close_all(void);

NTSTATUS start_connect(NDK_FN_REQUEST_COMPLETION done, void *context);
void establish(void);
void disconnect(void);

/* A region over the buffer, with the MDL that it was registered with. */
NDK_MR *register_buffer(UCHAR *buffer, PMDL *mdl);
void deregister(NDK_MR *mr);
NDK_RESULT_EX next_result(struct end *e);

#endif
