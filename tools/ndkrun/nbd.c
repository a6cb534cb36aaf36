/* SPDX-License-Identifier: MIT */
/* Implements the option --nbd: see nbd.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "nbd.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "elf_needs.h"
#include "program.h"

#define PLUGIN "nbdkit-openndk-plugin.so"
/*
 * Maximum number of requests that nbdkit executes in parallel for a connection. The number may exceed the unit's queue
 * depth, because Storport then queues requests.
 */
#define THREADS "128"

/* OWN_WORDS: maximum number of nbdkit's arguments, without the arguments of nbd_add_parameters */
enum { OWN_WORDS = 16, MAX_PATH = 4096 };

/*
 * Finds the plugin. In a build tree it is beside ndkrun. After installation it is in the plugin folder of ndkrun's
 * prefix. Returns false if the plugin is in neither place.
 */
static bool nbd_find_plugin(char path[MAX_PATH])
{
    static const char *const folders[] = { "", ONDK_PLUGIN_FOLDER "/" }; /* relative to ndkrun's folder, or absolute */
    ssize_t length = readlink("/proc/self/exe", path, MAX_PATH - 1);
    char *file;

    if (length < 0)
        return false;
    path[length] = '\0';
    file = strrchr(path, '/') + 1;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char *at = folders[i][0] == '/' ? path : file;

        if (snprintf(at, (size_t)(path + MAX_PATH - at), "%s" PLUGIN, folders[i]) < path + MAX_PATH - at &&
            access(path, R_OK) == 0)
            return true;
    }
    return false;
}

/*
 * Removes the socket if no process uses it, for example because nbdkit was killed. Returns false if a process uses it.
 * The test is an attempt to connect a datagram socket. nbdkit listens at a stream socket, so the attempt fails without
 * an effect on nbdkit. The error shows whether a process uses the socket.
 */
static bool nbd_remove_stale_socket(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct stat file;
    int fd, error;

    if (strlen(path) >= sizeof address.sun_path || lstat(path, &file) || !S_ISSOCK(file.st_mode))
        return true; /* nbdkit reports the error, if there is one */
    memcpy(address.sun_path, path, strlen(path));
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return true;
    error = connect(fd, (struct sockaddr *)&address, sizeof address) ? errno : 0;
    close(fd);
    if (error == ECONNREFUSED)
        (void)unlink(path);
    return error && error != EPROTOTYPE;
}

/* Finds the sanitizer runtime that the shared object needs. Returns false if it needs none. */
static bool nbd_find_runtime(const char *path, char name[MAX_PATH])
{
    static const char *const prefixes[] = { "libasan.so", "libclang_rt.asan", "libtsan.so", "libclang_rt.tsan" };

    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (elf_needs(path, prefixes[i], name, MAX_PATH))
            return true;
    return false;
}

/*
 * Preloads the sanitizer runtime that the plugin or a driver needs, because nbdkit does not load the runtime. Also
 * preloads the plugin, whose constructor initializes the runtime. nbdkit does not export __asan_default_options
 * (reexec.h). So the option that __asan_default_options returns is added to ASAN_OPTIONS. Returns false if out of
 * memory.
 */
static bool nbd_preload_sanitizer(const struct options *o, const char *plugin)
{
    const char *options = getenv("ASAN_OPTIONS");
    bool needs_runtime, is_set;
    char name[MAX_PATH], preloaded[2 * MAX_PATH], *text;

    needs_runtime = nbd_find_runtime(plugin, name);
    for (uint32_t i = 0; i < o->driver_count && !needs_runtime; i++)
        needs_runtime = nbd_find_runtime(o->drivers[i], name);
    if (!needs_runtime)
        return true;
    if (asprintf(&text, "detect_odr_violation=1%s%s", options ? ":" : "", options ? options : "") < 0)
        return false;
    snprintf(preloaded, sizeof preloaded, "%s:%s", name, plugin);
    is_set = !setenv("LD_PRELOAD", preloaded, 1) && !setenv("ASAN_OPTIONS", text, 1) && !setenv(NBD_PRELOADED, "1", 1);
    free(text);
    return is_set;
}

/* Returns the newly allocated word "name=value", or NULL if out of memory. */
static char *nbd_parameter(const char *name, const char *value)
{
    char *word;

    return asprintf(&word, "%s=%s", name, value) < 0 ? NULL : word;
}

/*
 * Appends the options and drivers of this run to nbdkit's words, as parameters of the plugin. Returns false if out of
 * memory.
 */
static bool nbd_add_parameters(const struct options *o, char **words, size_t n)
{
    for (size_t i = 0; i < o->given_count; i++) {
        const char *name = o->given[i].name, *value = o->given[i].value ? o->given[i].value : "true";
        /* Each --net becomes net=host, because nbdkit runs in this process's network, whether ndkrun made it or not. */
        bool is_network = !strcmp(name, "net");

        if ((is_network || !options_needs_ndkrun(name, value)) &&
            !(words[n++] = nbd_parameter(name, is_network ? "host" : value)))
            return false;
    }
    for (uint32_t i = 0; i < o->driver_count; i++)
        if (!(words[n++] = nbd_parameter("driver", o->drivers[i])))
            return false;
    return true;
}

/* Returns nbdkit's command line, or NULL if out of memory. */
static char **nbd_build_words(const struct options *o, const char *plugin)
{
    char **words = calloc(OWN_WORDS + o->given_count + o->driver_count, sizeof *words);
    size_t n = 0;

    if (!words)
        return NULL;
    words[n++] = "nbdkit";
    words[n++] = "--foreground";
    words[n++] = "--threads=" THREADS;
    words[n++] = "--unix";
    words[n++] = (char *)(uintptr_t)o->nbd;
    if (o->nbd_read_only)
        words[n++] = "--readonly";
    words[n++] = (char *)(uintptr_t)plugin;
    return nbd_add_parameters(o, words, n) ? words : NULL;
}

void nbd_execute(const struct options *o)
{
    char plugin[MAX_PATH], **words;

    if (!program_is_installed("nbdkit")) {
        fprintf(stderr, "ndkrun: --nbd needs the program `nbdkit`, which is in no folder of PATH: install the package "
                        "nbdkit\n");
        return;
    }
    if (!nbd_find_plugin(plugin)) {
        fprintf(stderr, "ndkrun: --nbd: this OpenNDK has no " PLUGIN ": it was built without nbdkit-plugin-dev\n");
        return;
    }
    if (!nbd_remove_stale_socket(o->nbd)) {
        fprintf(stderr, "ndkrun: --nbd %s: another process serves at this socket\n", o->nbd);
        return;
    }
    words = nbd_preload_sanitizer(o, plugin) ? nbd_build_words(o, plugin) : NULL;
    if (words)
        execvp(words[0], words);
    fprintf(stderr, "ndkrun: nbdkit: %s\n", words ? strerror(errno) : "out of memory");
}
