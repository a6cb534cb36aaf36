/* SPDX-License-Identifier: MIT */
/* Ends the connections of nbdkit: see connections.h. Finds their sockets among the open files of the process. */
#include "connections.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_LISTENERS = 8 };

struct listener {
    struct sockaddr_storage address;
    socklen_t length;
};

static struct listener listeners[MAX_LISTENERS];
static int n_listeners;

/*
 * If `is_listening` is true, calls routine(fd, local address) for each socket of the process that listens. If it is
 * false, calls the routine for each socket that does not listen. Returns the sum of the results.
 */
static int connections_for_each(bool is_listening, int (*routine)(int fd, const struct listener *local))
{
    DIR *files = opendir("/proc/self/fd");
    struct dirent *entry;
    int sum = 0;

    while (files && (entry = readdir(files))) {
        struct listener local = { .length = sizeof local.address };
        int listens, fd;
        socklen_t size = sizeof listens;

        if (entry->d_name[0] == '.')
            continue;
        /* The duplicate refers to this socket even if another thread closes the original descriptor. */
        fd = fcntl(atoi(entry->d_name), F_DUPFD_CLOEXEC, 0);
        if (fd < 0)
            continue;
        if (!getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) && listens == is_listening &&
            !getsockname(fd, (struct sockaddr *)&local.address, &local.length))
            sum += routine(fd, &local);
        close(fd);
    }
    if (files)
        closedir(files);
    return sum;
}

static int connections_add_listener(int fd, const struct listener *local)
{
    (void)fd;
    if (n_listeners < MAX_LISTENERS)
        listeners[n_listeners++] = *local;
    return 1;
}

void connections_find_listeners(void)
{
    (void)connections_for_each(true, connections_add_listener);
}

/* A listener with the address "any" accepts connections to all addresses of its family. */
static bool connections_match_ipv4(const struct sockaddr_in *listener, const struct sockaddr_in *local)
{
    return listener->sin_port == local->sin_port &&
           (listener->sin_addr.s_addr == htonl(INADDR_ANY) || listener->sin_addr.s_addr == local->sin_addr.s_addr);
}

static bool connections_match_ipv6(const struct sockaddr_in6 *listener, const struct sockaddr_in6 *local)
{
    return listener->sin6_port == local->sin6_port && (IN6_IS_ADDR_UNSPECIFIED(&listener->sin6_addr) ||
                                                       (IN6_ARE_ADDR_EQUAL(&listener->sin6_addr, &local->sin6_addr) &&
                                                        listener->sin6_scope_id == local->sin6_scope_id));
}

/* Returns true if the listener accepts connections to this local address. */
static bool connections_match(const struct listener *listener, const struct listener *local)
{
    if (listener->address.ss_family != local->address.ss_family)
        return false;
    if (local->address.ss_family == AF_INET)
        return connections_match_ipv4((const void *)&listener->address, (const void *)&local->address);
    if (local->address.ss_family == AF_INET6)
        return connections_match_ipv6((const void *)&listener->address, (const void *)&local->address);
    return listener->length == local->length && !memcmp(&listener->address, &local->address, local->length);
}

/*
 * Returns true if one of the listeners has accepted a connection with this local address. A driver's own connection has
 * another port, or another address.
 */
static bool connections_is_accepted(const struct listener *local)
{
    for (int i = 0; i < n_listeners; i++)
        if (connections_match(&listeners[i], local))
            return true;
    return false;
}

static int connections_end_one(int fd, const struct listener *local)
{
    bool is_accepted = connections_is_accepted(local);

    if (is_accepted)
        (void)shutdown(fd, SHUT_RD);
    return is_accepted;
}

int connections_end(void)
{
    return connections_for_each(false, connections_end_one);
}
