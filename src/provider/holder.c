/* SPDX-License-Identifier: MIT */
/*
 * Describes in words the process and the user that use a local address. The kernel reports the user. The process is
 * found by its descriptors in /proc. Only root can read the descriptors of another user's process. The invariant: the
 * text contains only printable characters.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <openndk/netstat.h>

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/addr.h"
#include "fabric/host.h"

enum { MAX_PROCESS_NAME = 16 };

static bool holder_has_socket(int fds, const char *wanted)
{
    DIR *d = fdopendir(fds);
    const struct dirent *e;
    char link[64];
    bool has = false;

    while (d && !has && (e = readdir(d)) != NULL) {
        ssize_t n = readlinkat(fds, e->d_name, link, sizeof link - 1);

        link[n > 0 ? n : 0] = '\0';
        has = strcmp(link, wanted) == 0;
    }
    if (d)
        closedir(d);
    else
        close(fds);
    return has;
}

/*
 * Returns the ID of a process that has the socket open. Returns 0 if it finds no such process. The search does not find
 * a process whose descriptors this process cannot read.
 */
static long holder_find_process(uint32_t inode)
{
    DIR *proc = opendir("/proc");
    const struct dirent *e;
    char wanted[32], path[300];
    long pid = 0;

    snprintf(wanted, sizeof wanted, "socket:[%u]", (unsigned)inode);
    while (proc && !pid && (e = readdir(proc)) != NULL) {
        int fds;

        if (!isdigit((unsigned char)e->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%s/fd", e->d_name);
        fds = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fds >= 0 && holder_has_socket(fds, wanted))
            pid = strtol(e->d_name, NULL, 10);
    }
    if (proc)
        closedir(proc);
    return pid;
}

/*
 * Copies the process's name. Replaces all characters that could control a terminal, because a process can choose any
 * name.
 */
static void holder_process_name(long pid, char name[MAX_PROCESS_NAME])
{
    char path[64];
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/%ld/comm", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd >= 0 ? read(fd, name, MAX_PROCESS_NAME - 1) : 0;
    if (fd >= 0)
        close(fd);
    name[n > 0 ? n : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    for (char *at = name; *at; at++)
        if (*at < 0x20 || *at > 0x7e)
            *at = '?';
}

uint32_t ondk_address_holder(const struct sockaddr *address, uint32_t address_length, char *text, uint32_t size)
{
    char process[64] = "a process that cannot be seen from here", user[32] = "unknown", name[MAX_PROCESS_NAME];
    struct address_holder holder;
    struct addr local;
    long pid;
    int n;

    if (size)
        text[0] = '\0';
    if (!address || !addr_from(&local, address, address_length) || !host_address_holder(&local, &holder))
        return 0;
    pid = holder_find_process(holder.inode);
    if (pid) {
        holder_process_name(pid, name);
        snprintf(process, sizeof process, "process %ld (%s)", pid, name);
    }
    if (holder.has_uid)
        snprintf(user, sizeof user, "%u", (unsigned)holder.uid);
    n = snprintf(text, size, "%s of user %s%s", process, user, holder.is_provider ? ", by OpenNDK" : "");
    return n > 0 ? (uint32_t)n : 0;
}
