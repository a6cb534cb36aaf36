/* SPDX-License-Identifier: MIT */
/* Second hosts and second processes: see net.h. */
#define _GNU_SOURCE
#include "contract/kit/net.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract/kit/kit.h"

extern char **environ;

enum { MAX_WORDS = 40 };

/* ---- children ---- */

static void net_child_main(void (*run)(int wire), int wire, bool own_net)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (own_net) {
        CHECK(unshare(CLONE_NEWNET) == 0);
        kit_ip("link set lo up");
    }
    kit_wire_send(wire, "", 1);
    run(wire);
    fflush(NULL);
    exit(0);
}

/* Returns true if the thread does not exist, or if it sleeps. */
static bool net_is_asleep(const char *thread)
{
    char path[64], state = 'S';
    FILE *f;

    snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", thread);
    f = fopen(path, "re");
    if (!f)
        return true;
    if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
        state = '?';
    fclose(f);
    return state == 'S';
}

static bool net_are_threads_asleep(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    bool asleep = true;

    CHECK(tasks);
    while ((entry = readdir(tasks)))
        if (entry->d_name[0] != '.' && strtol(entry->d_name, NULL, 10) != gettid() && !net_is_asleep(entry->d_name))
            asleep = false;
    closedir(tasks);
    return asleep;
}

void kit_wait_threads_asleep(void)
{
    while (!net_are_threads_asleep())
        kit_pause();
}

void kit_fork(struct kit_child *child, void (*run)(int wire), bool own_net)
{
    int ends[2];
    char ready;

    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    fflush(NULL);
    child->pid = fork();
    CHECK(child->pid >= 0);
    if (child->pid == 0) {
        close(ends[0]);
        net_child_main(run, ends[1], own_net);
    }
    close(ends[1]);
    child->wire = ends[0];
    kit_wire_receive(child->wire, &ready, 1);
}

void kit_join(struct kit_child *child)
{
    int status = -1;

    close(child->wire);
    CHECK(waitpid(child->pid, &status, 0) == child->pid);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
}

void kit_wire_send(int wire, const void *bytes, size_t len)
{
    CHECK(send(wire, bytes, len, MSG_NOSIGNAL) == (ssize_t)len);
}

void kit_wire_receive(int wire, void *bytes, size_t len)
{
    CHECK_EQ(recv(wire, bytes, len, 0), len);
}

void kit_wait_join(int wire)
{
    char none;

    CHECK_EQ(recv(wire, &none, 1, 0), 0);
}

/* ---- commands ---- */

static void net_run_command(char *const argv[], size_t program)
{
    pid_t pid;
    int status, failed = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);

    if (failed)
        kit_skip("%s cannot be run: %s", argv[0], strerror(failed));
    CHECK(waitpid(pid, &status, 0) == pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        kit_skip("%s is not installed", argv[program]);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        kit_fail(__FILE__, __LINE__, "%s %s %s ... failed", argv[program], argv[program + 1], argv[program + 2]);
}

/*
 * Runs the program with the formatted arguments. If `at` is not NULL, runs it in the network namespace of `at`. The
 * program is killed when the case's process ends, so that it does not outlive a case that the watchdog kills.
 */
static void net_run_line(const struct kit_child *at, const char *program, const char *format, va_list args)
{
    char line[512], target[32], *argv[MAX_WORDS] = { "setpriv", "--pdeathsig", "KILL" }, *save = NULL;
    size_t n = 3, first;

    if (at) {
        snprintf(target, sizeof target, "--target=%d", (int)at->pid);
        argv[n++] = "nsenter";
        argv[n++] = target;
        argv[n++] = "--net";
    }
    first = n;
    argv[n++] = (char *)program;
    vsnprintf(line, sizeof line, format, args);
    for (char *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        CHECK(n < MAX_WORDS - 1);
        argv[n++] = word;
    }
    net_run_command(argv, first);
}

void kit_ip(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    net_run_line(NULL, "ip", format, args);
    va_end(args);
}

void kit_ip_at(const struct kit_child *at, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    net_run_line(at, "ip", format, args);
    va_end(args);
}

void kit_nft(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    net_run_line(NULL, "nft", format, args);
    va_end(args);
}

/* ---- the cable ---- */

/* Sends a datagram from socket `from` to socket `at`, whose address is *to. Returns whether the datagram arrives. */
static bool net_datagram_arrives(int from, const struct sockaddr_storage *to, int at)
{
    struct pollfd arrival = { .fd = at, .events = POLLIN };
    char byte = 0;

    return sendto(from, &byte, 1, 0, (const struct sockaddr *)to, kit_address_len(to)) == 1 &&
           poll(&arrival, 1, 10) == 1 && recv(at, &byte, 1, 0) == 1;
}

/* Returns whether datagrams arrive in both directions. */
static bool net_is_reachable(const struct sockaddr_storage *from, const struct sockaddr_storage *to)
{
    struct sockaddr_storage here, there;
    socklen_t len = sizeof here;
    int s = socket(from->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int at = socket(to->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool usable = bind(s, (const struct sockaddr *)from, kit_address_len(from)) == 0 &&
                  bind(at, (const struct sockaddr *)to, kit_address_len(to)) == 0 &&
                  getsockname(s, (struct sockaddr *)&here, &len) == 0 && (len = sizeof there) > 0 &&
                  getsockname(at, (struct sockaddr *)&there, &len) == 0 && net_datagram_arrives(s, &there, at) &&
                  net_datagram_arrives(at, &here, s);

    close(s);
    close(at);
    return usable;
}

/*
 * Waits until `to` can be reached: sends datagrams until they arrive. The kernel activates a new IPv6 address, and
 * then its routes, some time after the command that added the address. Until then the kernel may choose another route.
 */
static void net_wait_reachable(const struct sockaddr_storage *from, const struct sockaddr_storage *to)
{
    bool usable = false;

    for (int tries = 0; !usable && tries < 1000; tries++) {
        usable = net_is_reachable(from, to);
        if (!usable)
            usleep(10000);
    }
    CHECK(usable);
}

void kit_wait_address(const char *address)
{
    struct sockaddr_storage a = kit_address(address, 0);

    net_wait_reachable(&a, &a);
}

void kit_cable(const struct kit_child *other)
{
    kit_ip("link add near type veth peer name far");
    kit_ip("link set far netns %d", (int)other->pid);
    kit_ip_at(other, "link set far up");
    kit_ip("link set near addrgenmode none");
    kit_ip("address add 10.9.0.1/24 dev near");
    kit_ip("-6 address add fd09::1/64 dev near nodad");
    kit_ip("-6 address add fe80::9:1/64 dev near nodad");
    kit_ip("link set near up");
    kit_wait_address("fd09::1");
    kit_wait_address("fe80::9:1%near");
}

void kit_add_far_address(const struct kit_child *other)
{
    kit_ip_at(other, "address add 10.9.0.2/24 dev far");
    kit_ip_at(other, "-6 address add fd09::2/64 dev far nodad");
    kit_ip_at(other, "-6 address add fe80::9:2/64 dev far nodad");
}

void kit_add_address(const char *address, const struct sockaddr_storage *from)
{
    struct sockaddr_storage a = kit_address(address, 0);

    kit_ip("address add %s dev lo%s", address, strchr(address, ':') ? " nodad" : "");
    net_wait_reachable(&a, &a);
    net_wait_reachable(from, &a); /* the route from `from` may become active later */
}

struct sockaddr_storage kit_cable_host(int number, unsigned short port)
{
    char text[32];

    snprintf(text, sizeof text, kit_family() == AF_INET ? "10.9.0.%d" : "fd09::%d", number);
    return kit_address(text, port);
}

void kit_bind_ports(int sockets[KIT_PORTS])
{
    struct rlimit limit;

    kit_need_iwarp(); /* only iWARP uses TCP's ports */
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (limit.rlim_max < KIT_PORTS + 500)
        kit_skip("only %llu descriptors allowed, %d needed", (unsigned long long)limit.rlim_max, KIT_PORTS + 500);
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (int i = 0; i < KIT_PORTS; i++) {
        struct sockaddr_storage a = kit_host((unsigned short)(KIT_PORT_FIRST + i));

        sockets[i] = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK(sockets[i] >= 0);
        CHECK(bind(sockets[i], (struct sockaddr *)&a, kit_address_len(&a)) == 0);
    }
}

bool kit_port_is_dynamic(unsigned short port)
{
    return port >= KIT_PORT_FIRST;
}

/* ---- descriptors ---- */

enum { DESCRIPTORS_END = 1024 };

int kit_count_descriptors(void)
{
    int n = 0;

    for (int fd = 0; fd < DESCRIPTORS_END; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static rlim_t net_set_descriptor_limit(rlim_t limit_now)
{
    struct rlimit limit;
    rlim_t old;

    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    old = limit.rlim_cur;
    limit.rlim_cur = limit_now;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    return old;
}

unsigned long long kit_limit_descriptors(int room)
{
    int fd = 0;

    for (; fd < DESCRIPTORS_END; fd++)
        if (fcntl(fd, F_GETFD) < 0 && room-- == 0)
            break;
    return net_set_descriptor_limit((rlim_t)fd);
}

void kit_restore_descriptors(unsigned long long old)
{
    net_set_descriptor_limit((rlim_t)old);
}

NDK_ADAPTER *kit_open_interface(const char *interface)
{
    NDK_ADAPTER *adapter = NULL;
    uint32_t index = if_nametoindex(interface);

    CHECK(index != 0);
    CHECK_STATUS(kit_open_status(2, 1, index, &adapter), STATUS_SUCCESS);
    return adapter;
}
