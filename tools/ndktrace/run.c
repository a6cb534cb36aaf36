/* SPDX-License-Identifier: MIT */
/*
 * ndktrace run: runs a program with the environment variable ONDK_TRACE, and then prints the names of the files that
 * the program has written. The program uses ndktrace's standard streams and terminal. ndktrace ignores Ctrl-C, so that
 * the program can handle it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "roles.h"
#include "run_last.h"

enum { RUN_LAST = 20, RUN_MAX_SHOWN = 4 /* RUN_MAX_SHOWN: maximum number of files whose events are printed */ };
enum { RUN_NOT_EXECUTABLE = 126, RUN_NOT_FOUND = 127 };

/* ---- the files ---- */

/* Returns true if `name` matches `pattern`, in which %p stands for digits and %% for a percent sign. */
static bool run_name_matches(const char *pattern, const char *name)
{
    for (; *pattern; pattern++) {
        if (*pattern == '%' && pattern[1] == 'p') {
            size_t digits = strspn(name, "0123456789");

            if (digits == 0)
                return false;
            name += digits;
            pattern++;
            continue;
        }
        pattern += *pattern == '%' && pattern[1] == '%';
        if (*name++ != *pattern)
            return false;
    }
    return !*name;
}

static bool run_is_new_trace(int directory, const char *name, const struct timespec *began)
{
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char magic[8] = "";
    struct stat now;
    bool is_new;

    if (fd < 0)
        return false;
    is_new = fstat(fd, &now) == 0 && S_ISREG(now.st_mode) &&
             (now.st_ctim.tv_sec > began->tv_sec ||
              (now.st_ctim.tv_sec == began->tv_sec && now.st_ctim.tv_nsec >= began->tv_nsec)) &&
             read(fd, magic, sizeof magic) == (ssize_t)sizeof magic && memcmp(magic, "ONDKTRCE", sizeof magic) == 0;
    close(fd);
    return is_new;
}

/*
 * Prints a line for each trace file that was written after `began`. For at most RUN_MAX_SHOWN files, prints the last
 * `max` events of the file before the file's line.
 */
static void run_print_files(const char *pattern, const struct timespec *began, uint32_t max)
{
    const char *slash = strrchr(pattern, '/'), *base = slash ? slash + 1 : pattern;
    char directory[PATH_MAX], path[PATH_MAX + 256];
    struct dirent *entry;
    unsigned n = 0;
    DIR *d;

    snprintf(directory, sizeof directory, "%.*s", slash ? (int)(base - pattern) : 2, slash ? pattern : "./");
    d = opendir(directory);
    while (d && (entry = readdir(d))) {
        if (!run_name_matches(base, entry->d_name) || !run_is_new_trace(dirfd(d), entry->d_name, began))
            continue;
        snprintf(path, sizeof path, "%s%s", slash ? directory : "", entry->d_name);
        if (max && n < RUN_MAX_SHOWN)
            run_last_print(path, max);
        fprintf(stderr, "ndktrace: ndktrace show %s\n", path);
        n++;
    }
    if (d)
        closedir(d);
    if (!n)
        fprintf(stderr, "ndktrace: nothing was traced: the program has not opened an NDK adapter with this library, or "
                        "has reported why the file cannot be created\n");
}

/* ---- the program ---- */

static int run_execute(const struct options *o, const char *setting)
{
    int error;

    signal(SIGPIPE, SIG_DFL); /* command_parse sets SIGPIPE to be ignored, and the program would inherit that */
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    if (setenv("ONDK_TRACE", setting, 1) == 0)
        (void)execvp(o->arguments[0], o->arguments);
    error = errno;
    fprintf(stderr, "ndktrace: %s: %s\n", o->arguments[0], strerror(error));
    return error == ENOENT ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE;
}

/*
 * Returns true if a signal has ended the program. If the program is a shell, an exit code above 128 may mean that a
 * signal has ended the shell's child. Ignores the codes of signals other than faults and SIGKILL, because programs use
 * these codes for other purposes.
 */
static bool run_was_killed(int status)
{
    static const int numbers[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, SIGKILL };

    for (size_t i = 0; WIFEXITED(status) && i < sizeof numbers / sizeof numbers[0]; i++)
        if (WEXITSTATUS(status) == 128 + numbers[i])
            return true;
    return WIFSIGNALED(status);
}

static int run_child(const struct options *o, const char *setting, bool *was_killed)
{
    int status = 0;
    pid_t child;

    signal(SIGINT, SIG_IGN); /* the program gets these signals from the terminal, too, and decides when to end */
    signal(SIGQUIT, SIG_IGN);
    child = fork();
    if (child == 0)
        _exit(run_execute(o, setting));
    if (child < 0) {
        fprintf(stderr, "ndktrace: %s\n", strerror(errno));
        return COMMAND_FAILED;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    *was_killed = run_was_killed(status);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int run_program(const struct options *o)
{
    char setting[PATH_MAX + 64];
    struct timespec began;
    bool was_killed = false;
    int code, length;

    /* ONDK_TRACE=ring would select a ring in memory, which is lost when the program ends. "./ring" selects a file. */
    length = snprintf(setting, sizeof setting, "%s%s,%u", strcmp(o->output, "ring") == 0 ? "./" : "", o->output,
                      (unsigned)o->size_mib);
    if (o->payload)
        snprintf(setting + length, sizeof setting - (size_t)length, ",payload=%u", (unsigned)o->payload);
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &began); /* the clock that file systems use for the times of files */
    code = run_child(o, setting, &was_killed);
    if (code != RUN_NOT_FOUND && code != RUN_NOT_EXECUTABLE)
        run_print_files(o->output, &began, o->has_last ? o->last : was_killed ? RUN_LAST : 0);
    return code;
}
