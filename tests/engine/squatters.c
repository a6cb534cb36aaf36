/* SPDX-License-Identifier: MIT */
/*
 * Names of addresses that processes of other users have bound: they count only if the process also has the address.
 * Needs root, to run as another user.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/support.h"

enum { SKIPPED = 77, SOMEBODY = 65534, SOMEBODY_ELSE = 65533 };

static const struct net_ops *ops;
static struct net *net;

static int reserve(const struct addr *at, struct net_reservation **out)
{
    struct addr local = *at;

    return ops->reserve(net, &local, NULL, NET_USE_LISTEN, out);
}

static int reserve_errno(const struct addr *at)
{
    struct net_reservation *r;
    int err = reserve(at, &r);

    if (!err)
        ops->reservation_unref(r);
    return err;
}

/* ---- names ---- */

/* Copies all names of the provider, as the kernel prints them. Returns how many there are. */
enum { MAX_NAMES = 8 };
static int list_names(char names[MAX_NAMES][108])
{
    FILE *f = fopen("/proc/net/unix", "re");
    char line[256];
    int n = 0;

    CHECK(f != NULL);
    while (n < MAX_NAMES && fgets(line, sizeof line, f)) {
        const char *name = strstr(line, "@openndk/tcp/");

        if (name)
            snprintf(names[n++], 108, "%.*s", (int)strcspn(name + 1, "\n"), name + 1);
    }
    fclose(f);
    return n;
}

static void name_of(const struct addr *at, char name[108])
{
    char names[MAX_NAMES][108];
    struct net_reservation *r;

    CHECK(reserve(at, &r) == 0);
    CHECK(list_names(names) == 1);
    ops->reservation_unref(r);
    memcpy(name, names[0], sizeof names[0]);
}

static void bind_name(const char *text)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    memcpy(name.sun_path + 1, text, strlen(text));
    CHECK(fd >= 0 && bind(fd, (const struct sockaddr *)&name,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(text))) == 0);
}

/* ---- processes of other users ---- */

struct other {
    pid_t pid;
    int end;
};

/* Runs what(arg) as that user, in a process that then waits. Returns its result. */
static int other_start(struct other *o, uid_t uid, int (*what)(const void *arg), const void *arg)
{
    int ready[2], end[2];
    char result = -1;

    CHECK(pipe(ready) == 0 && pipe(end) == 0);
    o->pid = fork();
    CHECK(o->pid >= 0);
    if (o->pid == 0) {
        close(end[1]);
        if (uid && (setgid(uid) || setuid(uid)))
            _exit(SKIPPED);
        result = (char)what(arg);
        CHECK(write(ready[1], &result, 1) == 1);
        while (read(end[0], &result, 1) > 0)
            ;
        _exit(0);
    }
    close(ready[1]);
    close(end[0]);
    CHECK(read(ready[0], &result, 1) == 1);
    close(ready[0]);
    o->end = end[1];
    return result;
}

static void other_end(struct other *o)
{
    int status = -1;

    close(o->end);
    CHECK(waitpid(o->pid, &status, 0) == o->pid && status == 0);
}

static int squat(const void *name)
{
    bind_name(name);
    return 0;
}

static int reserve_and_wait(const void *at)
{
    struct net_reservation *r;

    return reserve(at, &r);
}

static int reserve_as(uid_t uid, const struct addr *at)
{
    struct other o;
    int err = other_start(&o, uid, reserve_and_wait, at);

    other_end(&o);
    return err;
}

/* ---- the cases ---- */

/*
 * covers: CSE-05 (the transport's part): a name without the address does not count. It does not block the address for
 * us, and we block it for others.
 */
static void test_squatter(const char *host, uint16_t port)
{
    struct addr at = support_addr(host, port);
    struct net_reservation *r;
    struct other squatter;
    char name[108], names[MAX_NAMES][108];

    name_of(&at, name);
    CHECK(other_start(&squatter, SOMEBODY, squat, name) == 0);
    for (int round = 0; round < 2; round++) {
        CHECK(reserve(&at, &r) == 0);
        CHECK(list_names(names) == 2); /* his name, and a further one */
        CHECK(reserve_errno(&at) == EADDRINUSE);
        CHECK(reserve_as(0, &at) == EADDRINUSE);
        CHECK(port < 1024 || reserve_as(SOMEBODY_ELSE, &at) == EADDRINUSE);
        ops->reservation_unref(r);
        CHECK(list_names(names) == 1);
    }
    other_end(&squatter);
    CHECK(reserve(&at, &r) == 0);
    CHECK(list_names(names) == 1 && strcmp(names[0], name) == 0);
    ops->reservation_unref(r);
}

/*
 * covers: CSE-05 (the transport's part): another user's process that has the address by the rules is respected, as is a
 * name of root.
 */
static void test_honest(const char *host)
{
    struct addr at = support_addr(host, 5445);
    struct other other;
    char name[108];

    name_of(&at, name);
    CHECK(other_start(&other, SOMEBODY, reserve_and_wait, &at) == 0);
    CHECK(reserve_errno(&at) == EADDRINUSE);
    CHECK(reserve_as(SOMEBODY_ELSE, &at) == EADDRINUSE);
    other_end(&other);
    CHECK(reserve_errno(&at) == 0);

    CHECK(other_start(&other, 0, squat, name) == 0);
    CHECK(reserve_errno(&at) == EADDRINUSE);
    CHECK(reserve_as(SOMEBODY, &at) == EADDRINUSE);
    other_end(&other);
    CHECK(reserve_errno(&at) == 0);

    CHECK(other_start(&other, SOMEBODY, squat, name) == 0);
    CHECK(reserve_as(SOMEBODY, &at) == EADDRINUSE); /* his own name */
    other_end(&other);
}

/* The same with a further name of a later version, and with a name that is only similar. */
static void test_versions(void)
{
    struct addr at = support_addr("127.0.0.1", 5446);
    char name[108], later[108 + 8], no_name[108 + 8];
    struct other first, second;

    name_of(&at, name);
    snprintf(later, sizeof later, "%s 9/abc", name);
    snprintf(no_name, sizeof no_name, "%sx", name);
    CHECK(other_start(&first, SOMEBODY, squat, name) == 0);
    CHECK(other_start(&second, 0, squat, no_name) == 0);
    CHECK(reserve_errno(&at) == 0);
    other_end(&second);
    CHECK(other_start(&second, 0, squat, later) == 0);
    CHECK(reserve_errno(&at) == EADDRINUSE);
    other_end(&second);
    CHECK(reserve_errno(&at) == 0);
    other_end(&first);
}

/* Leaves the remains (TIME_WAIT) of a closed connection at the address. */
static void create_remains(const struct addr *at)
{
    struct addr from;
    socklen_t len = sizeof from;
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0), server, on = 1;

    CHECK(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
    CHECK(bind(listener, &at->sa, addr_len(at)) == 0 && listen(listener, 1) == 0);
    CHECK(connect(client, &at->sa, addr_len(at)) == 0);
    server = accept(listener, &from.sa, &len);
    CHECK(server >= 0);
    close(server); /* closed first, so the remains are at its address */
    close(client);
    close(listener);
}

/*
 * Beside remains, a kernel before 6.8 does not list sockets that are only bound, so only a privileged port shows the
 * user.
 */
static bool is_judged_beside_remains(uint16_t port)
{
    unsigned major = 0, minor = 0, first = 1024;
    FILE *f = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "re");
    struct utsname u;

    CHECK(f && fscanf(f, "%u", &first) == 1 && uname(&u) == 0);
    CHECK(sscanf(u.release, "%u.%u", &major, &minor) == 2);
    fclose(f);
    return port < first || major > 6 || (major == 6 && minor >= 8);
}

/* covers: CSE-05 (the transport's part): the same beside remains, where TCP itself refuses nobody. */
static void test_beside_remains(void)
{
    struct addr at[2] = { support_addr("127.0.0.1", 446), support_addr("127.0.0.1", 5447) };
    struct other other;
    char name[108];

    for (int i = 0; i < 2; i++) {
        if (i == 0 && !is_judged_beside_remains(446)) {
            printf("a squatter beside remains: skipped: this kernel does not tell who has a bound socket\n");
            continue;
        }
        name_of(&at[i], name);
        create_remains(&at[i]);
        if (i == 0)
            CHECK(other_start(&other, SOMEBODY, squat, name) == 0);
        else
            CHECK(other_start(&other, SOMEBODY, reserve_and_wait, &at[i]) == 0);
        CHECK(reserve_errno(&at[i]) == (i == 0 ? 0 : EADDRINUSE));
        other_end(&other);
        CHECK(reserve_errno(&at[i]) == 0);
    }
}

int main(void)
{
    net = net_kernel();
    ops = net->ops;
    if (geteuid() != 0) {
        printf("skipped: only root can become another user\n");
        return SKIPPED;
    }
    test_squatter("127.0.0.1", 445);
    test_squatter("127.0.0.1", 5445);
    test_squatter("127.0.0.1", 50445);
    test_squatter("::1", 445);
    test_squatter("::1", 5445);
    test_honest("127.0.0.1");
    test_honest("::1");
    test_versions();
    test_beside_remains();
    return 0;
}
