/* SPDX-License-Identifier: MIT */
/* Plain sockets: see raw.h. */
#include "fabric/raw.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "fabric/world.h"

static void raw_set_timeouts(int fd)
{
    struct timeval t = { WAIT_MS / 1000, 0 };

    CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) == 0);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t) == 0);
}

int raw_listen(int backlog, struct addr *at)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t len = sizeof at->v4;

    CHECK(fd >= 0);
    raw_set_timeouts(fd);
    *at = loopback(AF_INET, 0);
    CHECK(bind(fd, &at->sa, addr_len(at)) == 0);
    CHECK(listen(fd, backlog) == 0);
    CHECK(getsockname(fd, &at->sa, &len) == 0);
    return fd;
}

int raw_accept(int fd)
{
    int peer = accept(fd, NULL, NULL);

    CHECK(peer >= 0);
    raw_set_timeouts(peer);
    return peer;
}

int raw_connect(const struct addr *to)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(fd >= 0);
    raw_set_timeouts(fd);
    CHECK(connect(fd, &to->sa, addr_len(to)) == 0);
    return fd;
}

void raw_send(int fd, const void *bytes, size_t len)
{
    CHECK(send(fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len);
}

void raw_send_frame(int fd, const struct mpa_frame *f)
{
    uint8_t bytes[MPA_MAX_FRAME];
    size_t len = mpa_frame_encode(f, bytes, sizeof bytes);

    CHECK(len > 0);
    raw_send(fd, bytes, len);
}

void raw_read(int fd, void *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = recv(fd, (uint8_t *)bytes + at, len - at, 0);
        CHECK(n > 0);
        at += (size_t)n;
    }
}

void raw_read_frame(int fd, bool reply, struct mpa_frame *f, uint8_t bytes[MPA_MAX_FRAME])
{
    size_t have = 0, need = MPA_FRAME_HEADER;

    while (have < need) {
        raw_read(fd, bytes + have, need - have);
        have = need;
        enum mpa_decode d = mpa_frame_decode(f, reply, bytes, have, &need);
        CHECK(d == MPA_DECODED || d == MPA_MORE);
        if (d == MPA_DECODED)
            return;
    }
    CHECK(!"a whole frame");
}

long raw_read_to_end(int fd, void *bytes, size_t room)
{
    uint8_t rest[256];
    size_t have = 0;

    for (;;) {
        bool fits = have < room;
        ssize_t n = recv(fd, fits ? (uint8_t *)bytes + have : rest, fits ? room - have : sizeof rest, 0);
        if (n < 0) {
            CHECK(errno == ECONNRESET);
            return -1;
        }
        if (n == 0)
            return (long)have;
        have += (size_t)n;
    }
}

void raw_reset(int fd)
{
    struct linger l = { 1, 0 };

    CHECK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l) == 0);
    close(fd);
}
