/* SPDX-License-Identifier: MIT */
/*
 * The command line of the attacked service: options, then commands on standard input. Each answer is a line of JSON.
 * Configuration comes from the environment (ONDK_...).
 */
#include <dirent.h>
#include <getopt.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "hostile/service.h"
#include "number.h"
#include "openndk/adapter.h"

static const char usage[] =
    "victim [options] ADDRESS:PORT\n"
    "\n"
    "Echoes messages. Prints the ports that it listens at, then answers commands on standard input:\n"
    "  stat    counts, descriptors, resident memory (KiB)\n"
    "  answer  answers the requests that --hold has kept\n"
    "  quit    closes everything; exit status 1 if memory around its regions was changed\n"
    "\n"
    "  --listeners N     (1)\n"
    "  --connections N   at a time; more are rejected (1024)\n"
    "  --receives N      posted for each connection (8)\n"
    "  --size N          bytes of a receive (512)\n"
    "  --srq N           one shared receive queue of N receives\n"
    "  --answer-ms N     a request waits so long for its answer (0)\n"
    "  --hold            or until `answer`\n";

enum { LISTENERS = 1, CONNECTIONS, RECEIVES, SIZE, SRQ, ANSWER_MS, HOLD };

/* clang-format off */
static const struct option long_options[] = {
    { "listeners", required_argument, NULL, LISTENERS }, { "connections", required_argument, NULL, CONNECTIONS },
    { "receives", required_argument, NULL, RECEIVES },   { "size", required_argument, NULL, SIZE },
    { "srq", required_argument, NULL, SRQ },             { "answer-ms", required_argument, NULL, ANSWER_MS },
    { "hold", no_argument, NULL, HOLD },                 { NULL, 0, NULL, 0 },
};
/* clang-format on */

static bool parse(int argc, char **argv, struct service_options *o)
{
    uint32_t *const numbers[] = { [LISTENERS] = &o->listeners,
                                  [CONNECTIONS] = &o->connections,
                                  [RECEIVES] = &o->receives,
                                  [SIZE] = &o->receive_size,
                                  [SRQ] = &o->srq,
                                  [ANSWER_MS] = &o->answer_ms };
    int option;

    *o = (struct service_options){ .listeners = 1, .connections = 1024, .receives = 8, .receive_size = 512 };
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == HOLD)
            o->delays_answers = true;
        else if (option == '?' || !number_parse(optarg, option == ANSWER_MS ? 0 : 1,
                                                option == LISTENERS ? SERVICE_MAX_LISTENERS : 65536, numbers[option]))
            return false;
    }
    return argc - optind == 1 && address_parse(argv[optind], true, &o->address);
}

static unsigned descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    unsigned n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return d ? n - 3 : UINT_MAX; /* without `.`, `..` and the directory's own; UINT_MAX: no descriptor is free */
}

/* Returns a field of /proc/self/status, in KiB. */
static unsigned memory(const char *field)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    unsigned kib = 0;

    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, field, strlen(field)) == 0)
            kib = (unsigned)strtoul(line + strlen(field), NULL, 10);
    if (f)
        fclose(f);
    return kib;
}

static void print_stat(void)
{
    malloc_trim(0); /* memory that the allocator caches is not a leak */
    printf("{");
    service_print(stdout);
    printf(", \"descriptors\": %u, \"rss_kib\": %u, \"peak_kib\": %u}\n", descriptors(), memory("VmRSS:"),
           memory("VmHWM:"));
    fflush(stdout);
}

static void obey(void)
{
    char line[64];

    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "quit\n") == 0)
            return;
        if (strcmp(line, "answer\n") == 0)
            service_answer();
        print_stat();
    }
}

int main(int argc, char **argv)
{
    struct service_options o;
    const char *step;
    NTSTATUS status;
    bool whole;

    if (!parse(argc, argv, &o)) {
        fputs(usage, stderr);
        return 2;
    }
    status = service_start(&o, &step);
    if (!NT_SUCCESS(status)) {
        fprintf(stderr, "victim: %s: %s\n", step, ondk_status_name(status));
        return 3;
    }
    printf("ports");
    for (uint32_t i = 0; i < o.listeners; i++)
        printf(" %u", service_port(i));
    printf("\n");
    fflush(stdout);
    obey();
    whole = service_stop();
    printf("{\"whole\": %s, ", whole ? "true" : "false");
    service_print(stdout);
    printf("}\n");
    return whole ? 0 : 1;
}
