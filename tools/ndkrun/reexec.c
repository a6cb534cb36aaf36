/* SPDX-License-Identifier: MIT */
/* Executes ndkrun again if a run needs a network namespace or a preloaded sanitizer runtime: see reexec.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "reexec.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf_needs.h"
#include "nbd.h"
#include "program.h"

/*
 * Names of environment variables. ndkrun sets IN_NETWORK before it restarts itself in a new network namespace, and
 * PRELOADED before it restarts itself with AddressSanitizer preloaded. If a variable is set, the restarted ndkrun does
 * not repeat that step. The value of IN_NETWORK is IN_USER_NAMESPACE if the network namespace belongs to a new user
 * namespace.
 */
#define IN_NETWORK "NDKRUN_IN_NETWORK"
#define IN_USER_NAMESPACE "user"
#define PRELOADED NBD_PRELOADED

enum { MAX_PREFIX = 8 /* maximum number of words before ndkrun on its new command line */, PEER_INDEX = 1000000 };

const char *__asan_default_options(void)
{
    return "detect_odr_violation=1";
}

static bool reexec_has_symbol(const char *symbol)
{
    return dlsym(RTLD_DEFAULT, symbol) != NULL;
}

/* Returns the AddressSanitizer runtime that a driver needs and this process lacks, or NULL. */
static const char *reexec_missing_asan(const struct options *o)
{
    static char name[4096];

    for (uint32_t i = 0; i < o->driver_count && !reexec_has_symbol("__asan_init"); i++)
        if (elf_needs(o->drivers[i], "libasan.so", name, sizeof name) ||
            elf_needs(o->drivers[i], "libclang_rt.asan", name, sizeof name))
            return name;
    return NULL;
}

/*
 * Returns false if a driver needs ThreadSanitizer and this ndkrun is built without it. The locks of the kernel
 * functions would then be invisible to the driver's ThreadSanitizer, which would report races that do not exist.
 */
static bool reexec_check_tsan(const struct options *o)
{
    char name[4096];

    for (uint32_t i = 0; i < o->driver_count && !reexec_has_symbol("__tsan_init"); i++)
        if (elf_needs(o->drivers[i], "libtsan.so", name, sizeof name) ||
            elf_needs(o->drivers[i], "libclang_rt.tsan", name, sizeof name)) {
            fprintf(stderr,
                    "ndkrun: %s is built for ThreadSanitizer, and this ndkrun is not: its kernel's locks "
                    "would be invisible to it. Use one that is: cmake --preset tsan && cmake --build build/tsan, then "
                    "build/tsan/tools/ndkrun\n",
                    o->drivers[i]);
            return false;
        }
    return true;
}

static bool reexec_is_new_index(const struct options *o, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (o->net[k].index == o->net[i].index)
            return false;
    return o->net[i].index != 1; /* the loopback interface, with index 1, exists already */
}

/*
 * Writes the commands that add the address. The kernel adds the local route of an IPv6 address asynchronously, possibly
 * after `ip` has returned. Until then the address can be bound, but packets to it leave through the interface and are
 * lost. Therefore another command adds a local route, which exists when `ip` returns.
 */
static void reexec_write_address(const struct net_interface *n, FILE *ip)
{
    char link[16] = "lo"; /* the loopback interface has the index 1 */

    if (n->index != 1)
        snprintf(link, sizeof link, "ndk%u", n->index);
    if (!strchr(n->address, ':')) {
        fprintf(ip, "addr add %s dev %s\n", n->address, link);
        return;
    }
    fprintf(ip, "addr add %s dev %s nodad\n", n->address, link);
    fprintf(ip, "route append local %.*s dev %s table local\n", (int)strcspn(n->address, "/"), n->address, link);
}

/*
 * Writes the commands for `ip`. The commands that create links come first. So if the kernel does not support this kind
 * of link, `ip` fails before it has changed anything.
 */
static void reexec_write_commands(const struct options *o, const char *kind, FILE *ip)
{
    for (uint32_t i = 0; i < o->net_count; i++) {
        uint32_t index = o->net[i].index;

        if (!reexec_is_new_index(o, i))
            continue;
        fprintf(ip, "link add name ndk%u index %u type %s", index, index, kind);
        if (!strcmp(kind, "veth"))
            fprintf(ip, " peer name peer%u index %u\nlink set peer%u up", index, PEER_INDEX + index, index);
        fprintf(ip, "\nlink set ndk%u up\n", index);
    }
    fprintf(ip, "link set lo up\n");
    for (uint32_t i = 0; i < o->net_count; i++)
        reexec_write_address(&o->net[i], ip);
}

/* Runs `ip`. Shows its messages only for veth, because that is the last kind that is tried. */
static bool reexec_create_interfaces(const struct options *o, const char *kind)
{
    FILE *ip = popen(!strcmp(kind, "veth") ? "ip -batch - 1>&2" : "ip -batch - >/dev/null 2>&1", "w");
    bool written;
    int status;

    if (!ip)
        return false;
    reexec_write_commands(o, kind, ip);
    written = !ferror(ip);
    status = pclose(ip);
    return written && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool reexec_create_network(const struct options *o)
{
    if (reexec_create_interfaces(o, "dummy") || reexec_create_interfaces(o, "veth"))
        return true;
    fprintf(stderr, "ndkrun: --net: `ip` could not make the interfaces. Has the kernel the driver dummy or veth, are "
                    "index and address right? The commands were:\n");
    reexec_write_commands(o, "veth", stderr);
    return false;
}

static bool reexec_command_succeeds(const char *command)
{
    int status = system(command);

    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/*
 * Adds the command that creates a network namespace. If that is not permitted, the command also creates a user
 * namespace. If neither is possible, prints a message and returns false.
 */
static bool reexec_add_unshare(char **words, int *count, bool *has_user_namespace)
{
    static const char *const needed[][2] = { { "unshare", "util-linux" }, { "ip", "iproute2" } };
    static char *const plain[] = { "unshare", "-n", "--" }, *const mapped[] = { "unshare", "-r", "-n", "--" };

    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (!program_is_installed(needed[i][0])) {
            fprintf(stderr,
                    "ndkrun: --net needs the program `%s`, which is in no folder of PATH: install the package "
                    "%s, or use --map\n",
                    needed[i][0], needed[i][1]);
            return false;
        }
    if (reexec_command_succeeds("unshare -n true 2>/dev/null")) {
        for (int i = 0; i < 3; i++)
            words[(*count)++] = plain[i];
        return true;
    }
    *has_user_namespace = reexec_command_succeeds("unshare -r -n true 2>/dev/null");
    if (*has_user_namespace) {
        for (int i = 0; i < 4; i++)
            words[(*count)++] = mapped[i];
        return true;
    }
    fprintf(stderr, "ndkrun: --net needs a network namespace, and this system gives none without root (`unshare -r -n "
                    "true` fails): run as root, or use --map\n");
    return false;
}

/*
 * Executes ndkrun again, in a new network namespace, or with AddressSanitizer preloaded. Returns only after an error.
 */
static void reexec_execute(char **words, char **argv, bool net, const char *asan)
{
    bool has_user_namespace = false;
    static char self[4096], preload[4200];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    int count = 0;

    if (length < 0) {
        fprintf(stderr, "ndkrun: /proc/self/exe: %s: ndkrun cannot start itself again\n", strerror(errno));
        return;
    }
    self[length] = '\0';
    if (net && !reexec_add_unshare(words, &count, &has_user_namespace))
        return;
    if (asan) { /* `env` sets the variable only for ndkrun, because unshare must not preload the runtime */
        snprintf(preload, sizeof preload, "LD_PRELOAD=%s", asan);
        words[count++] = "env";
        words[count++] = preload;
        setenv(PRELOADED, "1", 1);
    }
    words[count++] = self;
    for (int i = 1; argv[i]; i++)
        words[count++] = argv[i];
    words[count] = NULL;
    if (net)
        setenv(IN_NETWORK, has_user_namespace ? IN_USER_NAMESPACE : "root", 1);
    execvp(words[0], words);
    fprintf(stderr, "ndkrun: %s: %s\n", words[0], strerror(errno));
}

bool reexec_prepare(struct options *o, char **argv)
{
    /* With --nbd, ndkrun does not preload the runtime for itself: nbd.c preloads it for nbdkit. */
    const char *asan = getenv(PRELOADED) || o->nbd ? NULL : reexec_missing_asan(o);
    bool net = o->net_count && !getenv(IN_NETWORK);
    size_t count = 0;
    char **words;

    if (!reexec_check_tsan(o))
        return false;
    if (!net && !asan) {
        const char *network = getenv(IN_NETWORK);

        o->has_user_namespace = network && !strcmp(network, IN_USER_NAMESPACE);
        if (getenv(PRELOADED))
            unsetenv("LD_PRELOAD");
        unsetenv(PRELOADED);
        unsetenv(IN_NETWORK);
        return !o->net_count || reexec_create_network(o);
    }
    while (argv[count])
        count++;
    words = calloc(MAX_PREFIX + count + 1, sizeof *words);
    if (words)
        reexec_execute(words, argv, net, asan);
    else
        fprintf(stderr, "ndkrun: out of memory\n");
    free(words);
    return false;
}
