/* SPDX-License-Identifier: MIT */
/* Declares the shared endpoint: a local address from which many connectors can connect to different peers. */
#ifndef PROVIDER_SHARED_ENDPOINT_H
#define PROVIDER_SHARED_ENDPOINT_H

#include "base/addr.h"
#include "fabric/fabric.h"
#include "ndk/ndkpi.h"
#include "provider/object.h"

struct shared_endpoint {
    NDK_SHARED_ENDPOINT pub;
    struct object obj;
    struct fabric_endpoint *fabric;
    struct addr local;
};
OBJECT_ASSERT_LAYOUT(shared_endpoint);

static inline struct shared_endpoint *shared_endpoint_of(NDK_SHARED_ENDPOINT *pub)
{
    return (struct shared_endpoint *)pub;
}

#endif
