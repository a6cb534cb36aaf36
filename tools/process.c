/* SPDX-License-Identifier: MIT */
/* Reads what the kernel reports: see process.h. A process chooses its own name, so the name is untrusted text. */
#include "process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/printable.h"

static FILE *process_open(long pid, const char *file)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%ld/%s", pid, file);
    return fopen(path, "re");
}

long process_pid_inside(long pid)
{
    FILE *f = process_open(pid, "status");
    size_t room = 0;
    char *line = NULL;
    long inside = pid;

    while (f && getline(&line, &room, f) > 0) {
        char *last = strncmp(line, "NSpid:", 6) == 0 ? strrchr(line, '\t') : NULL;
        if (last)
            inside = strtol(last, NULL, 10);
    }
    free(line);
    if (f)
        fclose(f);
    return inside;
}

char process_state(long pid)
{
    FILE *f = process_open(pid, "status");
    size_t room = 0;
    char *line = NULL, state = 0;

    while (f && !state && getline(&line, &room, f) > 0)
        (void)sscanf(line, "State: %c", &state);
    free(line);
    if (f)
        fclose(f);
    return state;
}

uid_t process_uid(long pid)
{
    char path[64];
    struct stat owner;

    snprintf(path, sizeof path, "/proc/%ld", pid);
    return stat(path, &owner) == 0 ? owner.st_uid : (uid_t)-1;
}

/*
 * /proc/PID/cmdline is not read: the kernel would read it from the process's memory, and would block if a hostile
 * process has mapped a file of a file system that never answers. The process itself reports its command line.
 */
void process_describe(long pid, json_t *object)
{
    FILE *f = process_open(pid, "comm");
    char text[64];
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;

    if (f)
        fclose(f);
    if (n > 0 && text[n - 1] == '\n')
        n--;
    text[n] = '\0';
    printable_replace(text);
    json_object_set_new(object, "program", json_string(text));
}
