/* SPDX-License-Identifier: MIT */
/*
 * Runs contract cases, each in a process of its own with a watchdog.
 *   --list             the names        --filter TEXT[,TEXT...]   names that contain one of the texts
 *   --family 4|6|both  address families (default both)            --slow   long cases too
 *   --watchdog SECONDS what a case may take (default 60, long ones 300)
 * One line a case, `name: passed`, or `name: FAILED` after what was expected and seen. Exit 0 where nothing failed, 1
 * otherwise, 2 on wrong usage or where no case matches.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract/kit.h"
#include "contract/runner.h"

enum { EXIT_SKIPPED = 77, WATCHDOG_SECONDS = 60, WATCHDOG_SLOW_SECONDS = 300 };

static struct kit_case *first_case, **last_case = &first_case;
static int current_family = AF_INET;
static unsigned watchdog; /* 0: the default */

void kit_register(struct kit_case *c)
{
    *last_case = c;
    last_case = &c->next;
}

int kit_family(void)
{
    return current_family;
}

void kit_fail(const char *file, int line, const char *format, ...)
{
    const char *name = strrchr(file, '/');
    va_list args;

    fprintf(stderr, "  %s:%d: ", name ? name + 1 : file, line);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    fflush(NULL);
    _exit(1);
}

void kit_skip(const char *format, ...)
{
    va_list args;

    fputs("  skipped: ", stdout);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(NULL);
    _exit(EXIT_SKIPPED);
}

static void loopback_up(void)
{
    struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
    int s = socket(AF_INET, SOCK_DGRAM, 0);

    if (s < 0 || ioctl(s, SIOCSIFFLAGS, &request) != 0)
        kit_skip("cannot set up lo in a network namespace: %s", strerror(errno));
    close(s);
}

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        kit_skip("cannot write %s: %s", path, strerror(errno));
    close(fd);
}

/* Without privileges: root of a user namespace, so that ip and nft, which the case starts, may work there. */
static void own_network_of_a_user(void)
{
    char uid[32], gid[32];

    snprintf(uid, sizeof uid, "0 %u 1", (unsigned)geteuid());
    snprintf(gid, sizeof gid, "0 %u 1", (unsigned)getegid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
        kit_skip("no network namespace to be had: %s", strerror(errno));
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", uid);
    write_file("/proc/self/gid_map", gid);
}

static void run_child(const struct kit_case *c, int family)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    current_family = family;
    if (c->flags & KIT_NETNS) {
        if (unshare(CLONE_NEWNET) != 0)
            own_network_of_a_user();
        loopback_up();
    }
    c->run();
    fflush(NULL);
    exit(0); /* through atexit: a leak checker has its say */
}

/* Returns the exit status, or 128 + signal. */
static int run_case(const struct kit_case *c, int family)
{
    int status;
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child < 0) {
        perror("fork");
        return 1;
    }
    if (child == 0) {
        alarm(watchdog ? watchdog : c->flags & KIT_SLOW ? WATCHDOG_SLOW_SECONDS : WATCHDOG_SECONDS);
        run_child(c, family);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status)) {
        if (WTERMSIG(status) == SIGALRM)
            fprintf(stderr, "  still waiting when the watchdog ended it\n");
        else
            fprintf(stderr, "  killed by signal %d\n", WTERMSIG(status));
        return 128 + WTERMSIG(status);
    }
    return WEXITSTATUS(status);
}

static bool matches(const char *name, const char *filter)
{
    char texts[4096];

    if (!filter)
        return true;
    snprintf(texts, sizeof texts, "%s", filter);
    for (char *save, *text = strtok_r(texts, ",", &save); text; text = strtok_r(NULL, ",", &save))
        if (strstr(name, text))
            return true;
    return false;
}

struct totals {
    unsigned passed, failed, skipped;
};

static void run_family(const struct kit_case *c, int family, struct totals *t)
{
    const char *suffix = !(c->flags & KIT_FAMILIES) ? "" : family == AF_INET ? " (IPv4)" : " (IPv6)";
    int status = run_case(c, family);

    if (status == 0)
        t->passed++;
    else if (status == EXIT_SKIPPED)
        t->skipped++;
    else
        t->failed++;
    printf("%s%s: %s\n", c->name, suffix, status == 0 ? "passed" : status == EXIT_SKIPPED ? "skipped" : "FAILED");
}

static int usage(void)
{
    fputs("usage: ndkconform [--list] [--filter TEXT[,TEXT...]] [--family 4|6|both] [--slow] "
          "[--watchdog SECONDS]\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "list", no_argument, NULL, 'l' },           { "filter", required_argument, NULL, 'f' },
        { "family", required_argument, NULL, 'F' },   { "slow", no_argument, NULL, 's' },
        { "watchdog", required_argument, NULL, 'w' }, { NULL, 0, NULL, 0 },
    };
    const char *filter = NULL, *families = "both";
    bool list = false, slow = false;
    struct totals totals = { 0 };

    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (o) {
        case 'l': list = true; break;
        case 'f': filter = optarg; break;
        case 'F': families = optarg; break;
        case 's': slow = true; break;
        case 'w': watchdog = (unsigned)strtoul(optarg, NULL, 10); break;
        default: return usage();
        }
    }
    kit_provider = ndkconform_provider();
    /* Ports that a case finds free are not taken by whatever else runs on the machine, where a user may have that. */
    if (!list && unshare(CLONE_NEWNET) == 0)
        loopback_up();
    for (const struct kit_case *c = first_case; c; c = c->next) {
        if (!matches(c->name, filter))
            continue;
        if (list) {
            puts(c->name);
            continue;
        }
        if ((c->flags & KIT_SLOW) && !slow)
            continue;
        if (strcmp(families, "6") != 0)
            run_family(c, AF_INET, &totals);
        if ((c->flags & KIT_FAMILIES) && strcmp(families, "4") != 0)
            run_family(c, AF_INET6, &totals);
    }
    if (list)
        return 0;
    printf("%u passed, %u failed, %u skipped\n", totals.passed, totals.failed, totals.skipped);
    if (totals.passed + totals.failed + totals.skipped == 0) {
        fputs("ndkconform: no case matches\n", stderr);
        return 2;
    }
    return totals.failed != 0;
}
