/* SPDX-License-Identifier: MIT */
/*
 * A process that ndkstat shows: a connection with both ends, a listener that listens and one that does not, a shared
 * endpoint. It prints them as one line of JSON. After a line of input it exchanges data, after the next one it exits.
 */
#include <arpa/inet.h>
#include <unistd.h>

#include "contract/kit/kit.h"

static const char *text(const struct sockaddr_storage *a, char out[80])
{
    char host[INET6_ADDRSTRLEN];
    const void *at = a->ss_family == AF_INET ? (const void *)&((const struct sockaddr_in *)a)->sin_addr
                                             : (const void *)&((const struct sockaddr_in6 *)a)->sin6_addr;

    CHECK(inet_ntop(a->ss_family, at, host, sizeof host) != NULL);
    snprintf(out, 80, a->ss_family == AF_INET ? "%s:%u" : "[%s]:%u", host, kit_port(a));
    return out;
}

static void wait_for_line(void)
{
    char byte;

    while (read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n')
        ;
}

CASE(stand_still, KIT_FAMILIES)
{
    static struct kit_pair p;
    static struct kit_listener idle;
    struct sockaddr_storage any = kit_host(0), shared, local, peer;
    ULONG size = sizeof shared;
    NDK_SHARED_ENDPOINT *e;
    char own[80], foreign[80], endpoint[80];

    kit_pair_open(&p);
    kit_listener_create(&idle, p.active.adapter);
    CHECK_STATUS(kit_shared_endpoint(p.active.adapter, &any, &e), STATUS_SUCCESS);
    CHECK_STATUS(e->Dispatch->NdkGetLocalAddress(e, (PSOCKADDR)&shared, &size), STATUS_SUCCESS);
    local = kit_local_address(p.active.connector);
    peer = kit_peer_address(p.active.connector);
    printf("{\"pid\":%d,\"active\":\"%s\",\"passive\":\"%s\",\"endpoint\":\"%s\"}\n", (int)getpid(), text(&local, own),
           text(&peer, foreign), text(&shared, endpoint));
    fflush(stdout);
    wait_for_line();
    kit_exchange(&p.active, &p.passive);
    printf("exchanged\n");
    fflush(stdout);
    wait_for_line();
    kit_pair_disconnect(&p);
    printf("disconnected\n");
    fflush(stdout);
    wait_for_line();
    CHECK_STATUS(kit_close(e), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(idle.listener), STATUS_SUCCESS);
    kit_pair_close(&p);
}
