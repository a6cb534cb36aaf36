/* SPDX-License-Identifier: MIT */
/*
 * A driver for tests of the NDK filter: one adapter, and both ends of a connection on it. Its calls wait for their
 * completions, and fail the test if they fail.
 */
#ifndef TESTS_WDK_NDK_DRIVER_H
#define TESTS_WDK_NDK_DRIVER_H

#include "wdm.h"
#include "ndkpi.h"
#include "ws2def.h"

enum { TAG = 0x74736554, DEPTH = 8, BYTES = 256, INLINE = 16 };

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

/* A call that waits for its completion. */
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

/* A create call, which completes inline or later. c_ and inline_ are its context and its out parameter. */
#define MADE(type, variable, call_)                                                                                    \
    do {                                                                                                               \
        struct call c_;                                                                                                \
        type *inline_ = NULL;                                                                                          \
        NTSTATUS status_;                                                                                              \
        call_init(&c_);                                                                                                \
        status_ = call_;                                                                                               \
        (variable) = made(&c_, status_, inline_);                                                                      \
    } while (0)

void close_object(void *object);
/* context: a KEVENT or NULL. */
VOID cq_notified(PVOID context, NTSTATUS status);

void open_end(struct end *e);
void close_end(struct end *e);

/* Waits for the next connect request and returns its connector. */
NDK_CONNECTOR *wait_asked(void);
/* Creates `listener` and stores its port in the address. */
void listen_at(PSOCKADDR at, ULONG length);

extern NDK_VERSION open_version; /* of open_adapter; 2.1 at first */
void open_adapter(void);
/* Calls WskCloseNdkAdapter only. */
void call_close_adapter(void);
void close_adapter(void);
/* Turns verification on in mode report, and creates everything but the connection. */
void open_all(void);
void close_all(void);

NTSTATUS start_connect(NDK_FN_REQUEST_COMPLETION done, void *context);
void establish(void);
void disconnect(void);

/* Registers the buffer. Returns the region and its MDL. */
NDK_MR *register_buffer(UCHAR *buffer, PMDL *mdl);
void deregister(NDK_MR *mr);
NDK_RESULT_EX next_result(struct end *e);

#endif
