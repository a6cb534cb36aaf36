/* SPDX-License-Identifier: MIT */
/* A provider of objects that do nothing, one of each type, and what it was called with. */
#ifndef TESTS_VERIFY_FAKE_PROVIDER_H
#define TESTS_VERIFY_FAKE_PROVIDER_H

#include <stdbool.h>

#include <ndk/ndkpi.h>

struct fake_provider {
    NDK_ADAPTER adapter;
    NDK_CQ cq;
    NDK_SHARED_ENDPOINT endpoint;
    NDK_PD pd;
    NDK_MR mr;
    NDK_QP qp;
    NDK_SRQ srq;
    NDK_LISTENER listener;
    NDK_CONNECTOR connector;
    const void *called;   /* the object of the latest call */
    void (*inside)(void); /* called in each call on a queue, before it returns; NULL: nothing */
    unsigned open;        /* objects that are not closed */
    NTSTATUS posted;      /* what NdkSend returns */
    bool pend;            /* creates, closes and requests complete by fake_provider_complete */
    char address[32];     /* of the latest NdkCreateSharedEndpoint */
    NDK_FN_CREATE_COMPLETION created;
    NDK_FN_CLOSE_COMPLETION closed;
    NDK_FN_REQUEST_COMPLETION requested;
    NDK_FN_CQ_NOTIFICATION_CALLBACK notify;
    void *completion_context, *notify_context;
    NDK_OBJECT_HEADER *created_object;
};

enum { FAKE_FLAGS = NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED | NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED };

/* The settings that fake_provider_init uses. By default the version 2.1, FAKE_FLAGS and STATUS_SUCCESS. */
extern struct fake_setting {
    NDK_VERSION version;
    ULONG flags;          /* AdapterFlags */
    NTSTATUS info_status; /* what NdkQueryAdapterInfo returns */
} fake_setting;

/* There is one. Returns it in its initial state. */
struct fake_provider *fake_provider_init(void);
/* Completes the create, close or request that is pending. */
void fake_provider_complete(struct fake_provider *f, NTSTATUS status);

#endif
