/* SPDX-License-Identifier: MIT */
/* A C++ program: connects two queue pairs of its own over loopback. Each side must receive the other's private data. */
#include <arpa/inet.h>
#include <net/if.h>
#include <openndk/adapter.h>
#include <openndk/version.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <string>

namespace {

/* The completion of one call. */
class Call {
public:
    static void completed(void *context, NTSTATUS status)
    {
        static_cast<Call *>(context)->done.set_value(status);
    }

    static void created(void *context, NTSTATUS status, NDK_OBJECT_HEADER *object)
    {
        static_cast<Call *>(context)->object = object;
        completed(context, status);
    }

    static void closed(void *context)
    {
        completed(context, STATUS_SUCCESS);
    }

    /* Takes what the function returned, and waits if the call is pending. Ends the program if the call has failed. */
    void finish(const char *function, NTSTATUS status)
    {
        if (status == STATUS_PENDING)
            status = done.get_future().get();
        if (status == STATUS_SUCCESS)
            return;
        std::fprintf(stderr, "%s: %s\n", function, ondk_status_name(status));
        std::exit(1);
    }

    /* The same for a create, which may or may not have filled *out. */
    template <typename T> void finish_create(const char *function, NTSTATUS status, T **out)
    {
        finish(function, status);
        if (status == STATUS_PENDING)
            *out = reinterpret_cast<T *>(object);
    }

private:
    std::promise<NTSTATUS> done;
    NDK_OBJECT_HEADER *object = nullptr;
};

/* What a queue pair needs, and a connector of either side. */
struct Side {
    NDK_PD *pd = nullptr;
    NDK_CQ *cq = nullptr;
    NDK_QP *qp = nullptr;
    NDK_CONNECTOR *connector = nullptr;
};

void ignore_cq_event(void *, NTSTATUS)
{
}

void create_queue_pair(NDK_ADAPTER *adapter, Side &side)
{
    Call pd, cq, qp;

    pd.finish_create("NdkCreatePd", adapter->Dispatch->NdkCreatePd(adapter, Call::created, &pd, &side.pd), &side.pd);
    cq.finish_create("NdkCreateCq",
                     adapter->Dispatch->NdkCreateCq(adapter, 4, ignore_cq_event, nullptr, nullptr, Call::created, &cq,
                                                    &side.cq),
                     &side.cq);
    qp.finish_create("NdkCreateQp",
                     side.pd->Dispatch->NdkCreateQp(side.pd, side.cq, side.cq, nullptr, 2, 2, 1, 1, 0, Call::created,
                                                    &qp, &side.qp),
                     &side.qp);
}

void close_object(NDK_FN_CLOSE_OBJECT function, NDK_OBJECT_HEADER *object)
{
    Call call;

    call.finish("close", function(object, Call::closed, &call));
}

void close_side(Side &side)
{
    close_object(side.connector->Dispatch->NdkCloseConnector, &side.connector->Header);
    close_object(side.qp->Dispatch->NdkCloseQp, &side.qp->Header);
    close_object(side.cq->Dispatch->NdkCloseCq, &side.cq->Header);
    close_object(side.pd->Dispatch->NdkClosePd, &side.pd->Header);
}

void on_request(void *context, NDK_CONNECTOR *connector)
{
    static_cast<std::promise<NDK_CONNECTOR *> *>(context)->set_value(connector);
}

std::string private_data(NDK_CONNECTOR *connector)
{
    char data[64];
    ULONG inbound, outbound, size = sizeof data;
    NTSTATUS status = connector->Dispatch->NdkGetConnectionData(connector, &inbound, &outbound, data, &size);

    return status == STATUS_SUCCESS ? std::string(data, size) : ondk_status_name(status);
}

/* Connects client and server. Returns whether each has received the other's private data. */
bool connect_sides(NDK_ADAPTER *adapter, NDK_LISTENER *listener, std::future<NDK_CONNECTOR *> request, Side &client,
                   Side &server)
{
    char hello[] = "hello", welcome[] = "welcome";
    sockaddr_in from{}, to{};
    ULONG size = sizeof to;
    Call created, connected, accepted, completed;

    if (listener->Dispatch->NdkGetLocalAddress(listener, reinterpret_cast<sockaddr *>(&to), &size) != STATUS_SUCCESS)
        return false;
    from.sin_family = AF_INET;
    from.sin_addr = to.sin_addr;
    created.finish_create("NdkCreateConnector",
                          adapter->Dispatch->NdkCreateConnector(adapter, Call::created, &created, &client.connector),
                          &client.connector);
    NTSTATUS connect = client.connector->Dispatch->NdkConnect(
        client.connector, client.qp, reinterpret_cast<sockaddr *>(&from), sizeof from,
        reinterpret_cast<sockaddr *>(&to), sizeof to, 1, 1, hello, sizeof hello, Call::completed, &connected);
    server.connector = request.get();
    bool is_received = private_data(server.connector) == std::string(hello, sizeof hello);
    NTSTATUS accept = server.connector->Dispatch->NdkAccept(server.connector, server.qp, 1, 1, welcome, sizeof welcome,
                                                            nullptr, nullptr, Call::completed, &accepted);
    connected.finish("NdkConnect", connect);
    is_received = is_received && private_data(client.connector) == std::string(welcome, sizeof welcome);
    completed.finish("NdkCompleteConnect",
                     client.connector->Dispatch->NdkCompleteConnect(client.connector, nullptr, nullptr,
                                                                    Call::completed, &completed));
    accepted.finish("NdkAccept", accept);
    return is_received;
}

} // namespace

int main()
{
    std::promise<NDK_CONNECTOR *> request;
    NDK_VERSION version = { 2, 1 };
    NDK_ADAPTER *adapter;
    NDK_LISTENER *listener;
    ondk_config_t options;
    Side client, server;
    Call opened, created, listening;
    sockaddr_in loopback{};

    if (std::strcmp(ondk_version(), OPENNDK_VERSION_STRING) != 0)
        return 2;
    ondk_config_init(&options);
    opened.finish("ondk_open_adapter_with",
                  ondk_open_adapter_with(version, if_nametoindex("lo"), &options, &adapter));
    create_queue_pair(adapter, client);
    create_queue_pair(adapter, server);
    created.finish_create("NdkCreateListener",
                          adapter->Dispatch->NdkCreateListener(adapter, on_request, &request, Call::created, &created,
                                                               &listener),
                          &listener);
    loopback.sin_family = AF_INET;
    loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listening.finish("NdkListen",
                     listener->Dispatch->NdkListen(listener, reinterpret_cast<sockaddr *>(&loopback), sizeof loopback,
                                                   Call::completed, &listening));
    bool is_connected = connect_sides(adapter, listener, request.get_future(), client, server);

    close_side(client);
    close_side(server);
    close_object(listener->Dispatch->NdkCloseListener, &listener->Header);
    ondk_close_adapter(adapter);
    std::puts(is_connected ? "connected" : "not connected");
    return is_connected ? 0 : 1;
}
