/* SPDX-License-Identifier: MIT */
/* See wsk_peer.h. */
#include "wsk_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

int peer_connect(unsigned short port)
{
    const struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = port, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof to)) {
        close(fd);
        return -1;
    }
    return fd;
}

bool peer_send(int peer, const void *data, size_t size, bool urgent)
{
    return send(peer, data, size, MSG_NOSIGNAL | (urgent ? MSG_OOB : 0)) == (ssize_t)size;
}

void peer_close(int peer)
{
    close(peer);
}
