/* SPDX-License-Identifier: MIT */
/*
 * Counts sockets that listen: see listening.h. /proc/net lists the sockets of the network namespace with their inodes,
 * and /proc/PID/fd has the inodes of a process's sockets.
 */
#include "listening.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_SOCKETS = 4096, TCP_LISTENS = 0x0a, UDP_OPEN = 0x07 };

struct inodes {
    uint32_t count;
    uint64_t numbers[MAX_SOCKETS];
};

/*
 * Adds the sockets in a file of /proc/net that have this state. UDP_OPEN excludes UDP sockets with a fixed peer, which
 * have another state.
 */
static void inodes_add(struct inodes *all, const char *path, unsigned state)
{
    FILE *in = fopen(path, "re");
    char line[512];

    while (in && all->count < MAX_SOCKETS && fgets(line, sizeof line, in)) {
        uint64_t inode;
        unsigned seen;

        /* Fields of a line: `number:` local remote state queues timer retransmits user timeout inode */
        if (sscanf(line, "%*s %*s %*s %x %*s %*s %*s %*s %*s %" SCNu64, &seen, &inode) == 2 && seen == state)
            all->numbers[all->count++] = inode;
    }
    if (in)
        fclose(in);
}

static void inodes_read(struct inodes *all)
{
    all->count = 0;
    inodes_add(all, "/proc/net/tcp", TCP_LISTENS);
    inodes_add(all, "/proc/net/tcp6", TCP_LISTENS);
    inodes_add(all, "/proc/net/udp", UDP_OPEN);
    inodes_add(all, "/proc/net/udp6", UDP_OPEN);
}

static bool inodes_contain(const struct inodes *all, uint64_t inode)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (all->numbers[i] == inode)
            return true;
    return false;
}

/* Returns the number of the process's descriptors that refer to one of the sockets. */
static uint32_t listening_count_process(const struct inodes *all, const char *process)
{
    char folder[64], target[64];
    const struct dirent *entry;
    uint32_t count = 0;
    uint64_t inode;
    ssize_t length;
    DIR *files;

    snprintf(folder, sizeof folder, "/proc/%.20s/fd", process);
    files = opendir(folder);
    while (files && (entry = readdir(files))) {
        length = readlinkat(dirfd(files), entry->d_name, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        count += sscanf(target, "socket:[%" SCNu64 "]", &inode) == 1 && inodes_contain(all, inode);
    }
    if (files)
        closedir(files);
    return count;
}

uint32_t listening_count(pid_t group)
{
    static struct inodes all;
    DIR *processes = group ? opendir("/proc") : NULL;
    const struct dirent *entry;
    uint32_t count = 0;

    inodes_read(&all);
    if (!group)
        return listening_count_process(&all, "self");
    while (processes && (entry = readdir(processes))) {
        pid_t process = (pid_t)atoi(entry->d_name);

        if (process > 0 && getpgid(process) == group)
            count += listening_count_process(&all, entry->d_name);
    }
    if (processes)
        closedir(processes);
    return count;
}
