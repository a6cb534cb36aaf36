/* SPDX-License-Identifier: MIT */
/* The maps from the transport's errno to reasons are total, and correct for every documented errno. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fabric/iwarp/reason.h"
#include "fabric/world.h"

enum { ERRNOS = 134 };

struct expected {
    int error;
    enum fabric_reason reserve, connect, stream; /* FABRIC_OK: it cannot occur there; any other reason will do */
};

static const struct expected expected[] = {
    { EACCES, FABRIC_PORT_FORBIDDEN, FABRIC_PROHIBITED, FABRIC_PEER_SILENT },
    { EPERM, FABRIC_PORT_FORBIDDEN, FABRIC_PROHIBITED, FABRIC_OK },
    { EADDRINUSE, FABRIC_ADDRESS_TAKEN, FABRIC_ADDRESS_TAKEN, FABRIC_OK },
    { EADDRNOTAVAIL, FABRIC_ADDRESS_FOREIGN, FABRIC_FOUR_TUPLE, FABRIC_OK },
    { EAFNOSUPPORT, FABRIC_ADDRESS_FOREIGN, FABRIC_NO_ROUTE, FABRIC_OK },
    { EINVAL, FABRIC_ADDRESS_FOREIGN, FABRIC_NO_ROUTE, FABRIC_OK },
    { ENODEV, FABRIC_ADDRESS_FOREIGN, FABRIC_NO_ROUTE, FABRIC_OK },
    { EEXIST, FABRIC_FOUR_TUPLE, FABRIC_FOUR_TUPLE, FABRIC_OK },
    { ENOSPC, FABRIC_PORTS_EXHAUSTED, FABRIC_RESOURCES, FABRIC_RESOURCES },
    { ENOMEM, FABRIC_RESOURCES, FABRIC_RESOURCES, FABRIC_RESOURCES },
    { ENOBUFS, FABRIC_RESOURCES, FABRIC_RESOURCES, FABRIC_RESOURCES },
    { EMFILE, FABRIC_DESCRIPTORS, FABRIC_DESCRIPTORS, FABRIC_DESCRIPTORS },
    { ENFILE, FABRIC_DESCRIPTORS, FABRIC_DESCRIPTORS, FABRIC_DESCRIPTORS },
    { EAGAIN, FABRIC_RESOURCES, FABRIC_RESOURCES, FABRIC_RESOURCES },
    { ENETUNREACH, FABRIC_OK, FABRIC_NO_ROUTE, FABRIC_PEER_SILENT },
    { ENETDOWN, FABRIC_OK, FABRIC_NO_ROUTE, FABRIC_PEER_SILENT },
    { EMSGSIZE, FABRIC_OK, FABRIC_NO_ROUTE, FABRIC_PEER_SILENT },
    { EHOSTUNREACH, FABRIC_OK, FABRIC_NO_HOST, FABRIC_PEER_SILENT },
    { EHOSTDOWN, FABRIC_OK, FABRIC_NO_HOST, FABRIC_PEER_SILENT },
    { ENONET, FABRIC_OK, FABRIC_NO_HOST, FABRIC_PEER_SILENT },
    { ECONNREFUSED, FABRIC_OK, FABRIC_REFUSED, FABRIC_PEER_SILENT },
    { ENOPROTOOPT, FABRIC_OK, FABRIC_NO_PROTOCOL, FABRIC_PEER_SILENT },
    { EOPNOTSUPP, FABRIC_OK, FABRIC_NO_PROTOCOL, FABRIC_PEER_SILENT },
    { EPROTO, FABRIC_OK, FABRIC_NO_PROTOCOL, FABRIC_PEER_SILENT },
    { ETIMEDOUT, FABRIC_OK, FABRIC_CONNECT_TIMEOUT, FABRIC_PEER_SILENT },
    { ECONNRESET, FABRIC_OK, FABRIC_PEER_RESET, FABRIC_PEER_RESET },
    { EPIPE, FABRIC_OK, FABRIC_PEER_RESET, FABRIC_PEER_RESET },
    { EFAULT, FABRIC_OK, FABRIC_OK, FABRIC_LOCAL_ERROR },
    /* An undocumented errno gets FABRIC_SYSTEM, not a shortage. */
    { ENOTEMPTY, FABRIC_SYSTEM, FABRIC_SYSTEM, FABRIC_OK },
};

static void check_one(int error, enum fabric_reason why, enum fabric_reason wanted)
{
    if (why == FABRIC_OK || why >= FABRIC_REASON_COUNT || (wanted != FABRIC_OK && why != wanted))
        printf("%s: %s\n", strerror(error), fabric_reason_name(why));
    CHECK(why > FABRIC_OK && why < FABRIC_REASON_COUNT);
    CHECK(wanted == FABRIC_OK || why == wanted);
}

static void total(void)
{
    for (int error = 1; error < ERRNOS; error++) {
        check_one(error, iwarp_reason_reserve(error), FABRIC_OK);
        check_one(error, iwarp_reason_listen(error), FABRIC_OK);
        check_one(error, iwarp_reason_connect(error), FABRIC_OK);
        check_one(error, iwarp_reason_stream(error), FABRIC_OK);
    }
    CHECK(iwarp_reason_reserve(0) == FABRIC_OK && iwarp_reason_listen(0) == FABRIC_OK);
    CHECK(iwarp_reason_connect(0) == FABRIC_OK && iwarp_reason_stream(0) == FABRIC_OK);
}

/* covers: CON-05, CON-06, CON-07, CON-12, CON-13, CON-15, CON-16 */
static void documented(void)
{
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct expected *e = &expected[i];

        check_one(e->error, iwarp_reason_reserve(e->error), e->reserve);
        check_one(e->error, iwarp_reason_connect(e->error), e->connect);
        check_one(e->error, iwarp_reason_stream(e->error), e->stream);
    }
}

/* A full epoll set is not a shortage of ports. */
static void listening(void)
{
    CHECK(iwarp_reason_listen(ENOSPC) == FABRIC_RESOURCES);
    CHECK(iwarp_reason_listen(EMFILE) == FABRIC_DESCRIPTORS);
    CHECK(iwarp_reason_listen(EADDRINUSE) == FABRIC_ADDRESS_TAKEN);
    CHECK(iwarp_reason_listen(EACCES) == FABRIC_PORT_FORBIDDEN);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = { { "total", total }, { "documented", documented }, { "listening", listening } };

    return run_tests(tests, sizeof tests / sizeof tests[0], argc, argv);
}
