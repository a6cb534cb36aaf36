/* SPDX-License-Identifier: MIT */
/*
 * OpenNDK through Winsock Kernel, as drivers use it, with all checks on. A broken rule is reported, and
 * verified_test.py compares the reports with a list. All cases must pass, as they do without Winsock Kernel. Each
 * adapter has a registration of its own.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "wsk.h"
#include "wskndk.h"

#include "contract/modules/openndk.h"
#include "openndk/adapter.h"
#include "openndk/wdk.h"
#include "verify/verify.h"
#include "openndk/verify.h"

struct client {
    WSK_REGISTRATION registration;
    WSK_PROVIDER_NPI npi;
    WSK_PROVIDER_NDK_DISPATCH ndk;
    NDK_ADAPTER *adapter;
    struct client *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct client *clients;

static void must(int condition)
{
    if (!condition)
        abort();
}

static struct client *attach(void)
{
    static const WSK_CLIENT_DISPATCH dispatch = { .Version = MAKE_WSK_VERSION(1, 0) };
    WSK_CLIENT_NPI npi = { NULL, &dispatch };
    struct client *c = calloc(1, sizeof *c);

    must(c != NULL);
    must(WskRegister(&npi, &c->registration) == STATUS_SUCCESS);
    must(WskCaptureProviderNPI(&c->registration, WSK_INFINITE_WAIT, &c->npi) == STATUS_SUCCESS);
    must(c->npi.Dispatch->WskControlClient(c->npi.Client, WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH, 0, NULL, sizeof c->ndk,
                                           &c->ndk, NULL, NULL) == STATUS_SUCCESS);
    return c;
}

static void detach(struct client *c)
{
    WskReleaseProviderNPI(&c->registration);
    WskDeregister(&c->registration);
    free(c);
}

static NTSTATUS open_adapter(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter)
{
    struct client *c;
    NTSTATUS status;

    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    c = attach();
    status = c->ndk.WskOpenNdkAdapter(c->npi.Client, version, if_index, adapter);
    if (status != STATUS_SUCCESS) {
        detach(c);
        return status;
    }
    /* The cases are compiled for the host, whose AF_INET6 is not Windows'. */
    ondk_use_windows_families(verify_unwrap(*adapter), 0);
    c->adapter = *adapter;
    pthread_mutex_lock(&lock);
    c->next = clients;
    clients = c;
    pthread_mutex_unlock(&lock);
    return status;
}

static void close_adapter(NDK_ADAPTER *adapter)
{
    struct client *c, **at = &clients;

    pthread_mutex_lock(&lock);
    while (*at && (*at)->adapter != adapter)
        at = &(*at)->next;
    must(*at != NULL);
    c = *at;
    *at = c->next;
    pthread_mutex_unlock(&lock);
    c->ndk.WskCloseNdkAdapter(c->npi.Client, adapter);
    detach(c);
}

const struct ndkconform_provider *ndkconform_provider(void)
{
    static struct ndkconform_provider p;

    p = *openndk_provider();
    p.name = "OpenNDK through Winsock Kernel";
    p.open_adapter = open_adapter;
    p.close_adapter = close_adapter;
    return &p;
}
