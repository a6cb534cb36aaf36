/* SPDX-License-Identifier: MIT */
/* Finds functions and lines: see symbol.h. Runs one addr2line process for each module, and queries it through pipes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "symbol.h"

#include <errno.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>

#include "program.h"

enum { MAX_MODULES = 64, MAX_NAME = 256, ANSWER_MS = 5000 };

/*
 * An address that no module contains. After each real query, a query of this address follows. Its answer marks the end
 * of the real answer, which may have any number of lines.
 */
#define AFTER_LAST "0xffffffffffffffff"

extern char **environ;

struct helper {
    char module[MAX_NAME];
    int query, answer; /* pipes to and from the process; -1: the process is not running */
};

static struct helper helpers[MAX_MODULES];
static int helper_count;

struct search {
    const char *module;
    char path[4096];
};

static const char *symbol_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int symbol_match_module(struct dl_phdr_info *info, size_t size, void *context)
{
    struct search *s = context;

    (void)size;
    if (!info->dlpi_name || strcmp(symbol_file_name(info->dlpi_name), s->module))
        return 0;
    snprintf(s->path, sizeof s->path, "%s", info->dlpi_name);
    return 1;
}

const char *symbol_tool(void)
{
    static const char *const names[] = { "addr2line", "eu-addr2line", "llvm-addr2line", "llvm-addr2line-14" };
    static const char *tool;

    for (size_t i = 0; !tool && i < sizeof names / sizeof names[0]; i++)
        if (program_is_installed(names[i]))
            tool = names[i];
    return tool;
}

static void helper_start(struct helper *h, const char *path)
{
    char *argv[] = { (char *)symbol_tool(), "-a", "-i", "-f", "-C", "-e", (char *)path, NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int in[2], out[2];
    sigset_t all;
    pid_t child;

    if (pipe2(in, O_CLOEXEC))
        return;
    if (pipe2(out, O_CLOEXEC)) {
        close(in[0]);
        close(in[1]);
        return;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    /* The helper is in its own process group, because Ctrl-C must not end it. */
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    sigemptyset(&all);
    posix_spawnattr_setsigmask(&attributes, &all);
    if (!posix_spawnp(&child, argv[0], &actions, &attributes, argv, environ)) {
        h->query = in[1];
        h->answer = out[0];
    } else {
        close(in[1]);
        close(out[0]);
    }
    close(in[0]);
    close(out[1]);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
}

/*
 * Returns the module's helper, which is an addr2line process. The first call for a module starts the helper. A helper
 * ends when its input is closed, and no later than this process.
 */
static struct helper *helper_find(const char *module)
{
    struct search s = { .module = module };
    struct helper *h;

    for (int i = 0; i < helper_count; i++)
        if (!strcmp(helpers[i].module, module))
            return &helpers[i];
    if (helper_count == MAX_MODULES || strlen(module) >= MAX_NAME)
        return NULL;
    h = &helpers[helper_count++];
    strcpy(h->module, module);
    h->query = h->answer = -1;
    dl_iterate_phdr(symbol_match_module, &s);
    if (!s.path[0]) /* dl_iterate_phdr reports an empty name for the program itself */
        (void)!readlink("/proc/self/exe", s.path, sizeof s.path - 1);
    if (strcmp(symbol_file_name(s.path), module))
        s.path[0] = '\0';
    if (s.path[0])
        helper_start(h, s.path);
    return h;
}

/* Reads one byte. Repeats a call of poll or read that Ctrl-C has interrupted, because the answer is still needed. */
static bool symbol_read_byte(int fd, char *byte)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    ssize_t n;

    do {
        n = poll(&p, 1, ANSWER_MS);
        if (n == 1)
            n = read(fd, byte, 1);
    } while (n < 0 && errno == EINTR);
    return n == 1;
}

static bool symbol_read_line(int fd, char *line, size_t room)
{
    size_t have = 0;

    while (have < room - 1) {
        if (!symbol_read_byte(fd, line + have))
            return false;
        if (line[have] == '\n')
            break;
        have++;
    }
    line[have] = '\0';
    return true;
}

/*
 * Appends "function at file:line" to `text`, on a new line if `text` is not empty. Appends nothing if there is no room.
 */
static void symbol_append(char *text, size_t room, const char *function, char *place)
{
    char *extra = strstr(place, " (discriminator");
    size_t length = strlen(text);

    if (extra)
        *extra = '\0';
    if (snprintf(text + length, room - length, "%s%s at %s", length ? "\n" : "", function, place) >=
        (int)(room - length))
        text[length] = '\0';
}

/*
 * Reads an answer: a line with the address, two lines for the function, two more lines for each function into which
 * the first one was inlined, and the answer to AFTER_LAST. Returns false if the helper has ended, or has written
 * anything else.
 */
static bool symbol_read_answer(int fd, char *text, size_t room)
{
    char function[512], place[2048];

    if (!symbol_read_line(fd, function, sizeof function) || strncmp(function, "0x", 2))
        return false;
    while (symbol_read_line(fd, function, sizeof function) && symbol_read_line(fd, place, sizeof place)) {
        /* The answer to AFTER_LAST has three lines: `function`, `place`, and a third line, which is read here. */
        if (!strcmp(function, AFTER_LAST))
            return symbol_read_line(fd, place, sizeof place);
        if (strncmp(place, "??", 2) && strcmp(function, "??"))
            symbol_append(text, room, function, place);
    }
    return false;
}

bool symbol_find(const char *module, unsigned long offset, char *text, size_t room)
{
    struct helper *h = symbol_tool() ? helper_find(module) : NULL;
    char question[64];
    int length = snprintf(question, sizeof question, "0x%lx\n" AFTER_LAST "\n", offset);

    text[0] = '\0';
    if (!h || h->query < 0)
        return false;
    if (write(h->query, question, (size_t)length) != length || !symbol_read_answer(h->answer, text, room)) {
        close(h->query); /* closed, because a later query could receive the answer to this query */
        h->query = -1;
        return false;
    }
    return text[0];
}
