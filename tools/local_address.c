/* SPDX-License-Identifier: MIT */
/* Finds the local address for a connection: see local_address.h. */
#include "local_address.h"

#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <unistd.h>

#include "address.h"
#include "consumer/provider.h"
#include "interface.h"
#include "openndk/netstat.h"

enum { HOST_LEN = 128 };

static socklen_t local_address_len(const struct sockaddr_storage *a)
{
    return a->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static bool local_address_needs_zone(const struct sockaddr_storage *a)
{
    const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a;

    return a->ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&a6->sin6_addr) && !a6->sin6_scope_id;
}

static bool local_address_is_wildcard(const struct sockaddr_storage *a)
{
    if (a->ss_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr == htonl(INADDR_ANY);
    return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

static bool local_address_explain_foreign(const struct sockaddr_storage *a, uint32_t if_index, char *text, size_t size)
{
    uint32_t owner = interface_of_address(a);
    char host[HOST_LEN] = "", owner_name[IF_NAMESIZE] = "?", name[IF_NAMESIZE] = "?";

    (void)getnameinfo((const struct sockaddr *)a, local_address_len(a), host, sizeof host, NULL, 0, NI_NUMERICHOST);
    if (owner)
        (void)if_indextoname(owner, owner_name);
    if (if_index)
        (void)if_indextoname(if_index, name);
    if (local_address_is_wildcard(a))
        snprintf(text, size, "%s stands for all addresses: name one of them (ndkinfo --list)", host);
    else if (!owner)
        snprintf(text, size, "no interface of this machine has the address %s (ndkinfo --list)", host);
    else if (local_address_needs_zone(a))
        snprintf(text, size, "a link-local address needs a zone: %s%%%s", host, owner_name);
    else if (if_index && owner != if_index)
        snprintf(text, size, "the address %s belongs to %s, not %s", host, owner_name, name);
    else
        return false;
    return true;
}

/* Binds a socket to the address and closes it. Returns the error of the bind, or 0. */
static int local_address_try_bind(const struct sockaddr_storage *a)
{
    int s = socket(a->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error = s < 0 || bind(s, (const struct sockaddr *)a, local_address_len(a)) != 0 ? errno : 0;

    if (s >= 0)
        close(s);
    return error;
}

static unsigned local_address_first_free_port(void)
{
    FILE *file = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "re");
    unsigned port = 1024;

    if (!file)
        return port;
    if (fscanf(file, "%u", &port) != 1)
        port = 1024;
    fclose(file);
    return port;
}

static bool local_address_explain_taken(const struct sockaddr_storage *a, char *text, size_t size)
{
    unsigned port = address_port(a), first = local_address_first_free_port();
    char holder[256];
    int error;

    if (ondk_address_holder((const struct sockaddr *)a, sizeof *a, holder, sizeof holder)) {
        snprintf(text, size, "the address and port are in use by %s", holder);
        return true;
    }
    error = local_address_try_bind(a);
    if (error == EACCES && port < first)
        snprintf(text, size, "this user may not use port %u: a port below %u needs CAP_NET_BIND_SERVICE", port, first);
    else if (error == EACCES)
        snprintf(text, size, "the system does not allow this user to use port %u", port);
    else if (!error)
        snprintf(text, size, "the address and port were in use, and are free now: try again");
    else
        return false;
    return true;
}

bool local_address_explain(NTSTATUS status, const struct sockaddr_storage *a, uint32_t if_index, char *text,
                           size_t size)
{
    if (status == STATUS_INVALID_ADDRESS)
        return local_address_explain_foreign(a, if_index, text, size);
    if (consumer_foreign_provider()) /* a bind shows nothing about the addresses of another provider */
        return false;
    return status == STATUS_SHARING_VIOLATION && local_address_explain_taken(a, text, size);
}

/* ---- Choosing an address ---- */

bool local_address_for_server(const struct endpoint *given, const struct sockaddr_storage *server, const char *option,
                              struct sockaddr_storage *own, char *why, size_t size)
{
    for (uint32_t i = 0; i < given->count; i++)
        if (given->addresses[i].ss_family == server->ss_family) {
            *own = given->addresses[i];
            return true;
        }
    if (given->count)
        snprintf(why, size, "%s has no address of the server's family", given->host);
    else if (address_own(server, own))
        return true;
    else if (local_address_needs_zone(server))
        snprintf(why, size,
                 "the server's link-local address needs a zone, the interface of this machine: fe80::1%%eth0");
    else
        snprintf(why, size, "no route to the server: specify %s, or check the server's address", option);
    return false;
}

uint32_t local_address_interface(const struct sockaddr_storage *own, char *why, size_t size)
{
    uint32_t if_index = interface_of_address(own);

    if (!if_index && !local_address_explain(STATUS_INVALID_ADDRESS, own, 0, why, size))
        snprintf(why, size, "no interface of this machine has the address");
    return if_index;
}

const struct sockaddr_storage *local_address_first(const struct endpoint *given)
{
    for (uint32_t i = 0; i < given->count; i++)
        if (interface_of_address(&given->addresses[i]))
            return &given->addresses[i];
    return &given->addresses[0];
}
