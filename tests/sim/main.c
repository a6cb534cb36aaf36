/* SPDX-License-Identifier: MIT */
/*
 * sim --seeds A-B      runs all of them; prints the seeds that fail
 * sim --seed N         runs one and prints its result; --trace: also every event
 * sim --replay A-B     runs each twice and compares the hashes of the traces
 * sim --file F         runs the seeds in a file, one for each line that begins with a digit
 *
 * Each seed runs in a process of its own, so that each begins with the same memory, and a crash has a seed's number.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/sim.h"

enum { SKIPPED = 77, MAX_SECONDS = 60, MAX_SEEDS = 4096 };

struct result {
    bool good;
    uint64_t hash;
};

static _Noreturn void run_child(uint64_t seed, int out)
{
    uint64_t hash;

    (void)alarm(MAX_SECONDS); /* the simulation cannot detect a spin without a step */
    sim_seed(seed);
    sim_run();
    hash = sim_trace_hash();
    if (write(out, &hash, sizeof hash) != (ssize_t)sizeof hash)
        exit(EXIT_FAILURE);
    close(out);
    exit(EXIT_SUCCESS); /* the leak checker runs at exit */
}

static struct result run(uint64_t seed)
{
    struct result r = { false, 0 };
    int pipe_fds[2], status = 0;
    pid_t child;

    fflush(stdout);
    if (pipe(pipe_fds) || (child = fork()) < 0) {
        perror("sim");
        exit(EXIT_FAILURE);
    }
    if (child == 0) {
        close(pipe_fds[0]);
        run_child(seed, pipe_fds[1]);
    }
    close(pipe_fds[1]);
    r.good = read(pipe_fds[0], &r.hash, sizeof r.hash) == (ssize_t)sizeof r.hash;
    close(pipe_fds[0]);
    if (waitpid(child, &status, 0) != child || status)
        r.good = false;
    if (!r.good) {
        if (WIFSIGNALED(status))
            printf("killed by: %s\n", strsignal(WTERMSIG(status)));
        printf("FAILED: seed %llu; see it again: sim --seed %llu --trace\n", (unsigned long long)seed,
               (unsigned long long)seed);
    }
    return r;
}

static int run_range(const char *text, bool twice)
{
    unsigned long long first, last, failed = 0;

    if (sscanf(text, "%llu-%llu", &first, &last) != 2 || last < first) {
        fprintf(stderr, "sim: not a range: %s\n", text);
        return EXIT_FAILURE;
    }
    for (unsigned long long seed = first; seed <= last; seed++) {
        struct result r = run(seed);

        if (r.good && twice && run(seed).hash != r.hash) {
            printf("FAILED: seed %llu went two ways\n", seed);
            r.good = false;
        }
        failed += !r.good;
    }
    printf("%llu seeds, %llu failed\n", last - first + 1, failed);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run_file(const char *path)
{
    FILE *f = fopen(path, "r");
    static uint64_t seeds[MAX_SEEDS];
    unsigned count = 0, failed = 0;
    char line[256];

    if (!f) {
        perror(path);
        return EXIT_FAILURE;
    }
    while (count < MAX_SEEDS && fgets(line, sizeof line, f))
        if (isdigit((unsigned char)*line))
            seeds[count++] = strtoull(line, NULL, 10);
    fclose(f); /* before the fork: a child's exit would change the offset of a shared file */
    for (unsigned i = 0; i < count; i++)
        failed += !run(seeds[i]).good;
    printf("%u seeds, %u failed\n", count, failed);
    if (!count) {
        printf("SKIP: no seed has failed so far\n");
        return SKIPPED;
    }
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run_one(const char *text)
{
    struct result r = run(strtoull(text, NULL, 10));

    if (r.good)
        printf("good; the hash of its trace: %016llx\n", (unsigned long long)r.hash);
    return r.good ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* the trace must be complete if the process crashes */
    sim_tracing = argc == 4 && strcmp(argv[3], "--trace") == 0;
    if (argc >= 3 && strcmp(argv[1], "--seeds") == 0)
        return run_range(argv[2], false);
    if (argc >= 3 && strcmp(argv[1], "--replay") == 0)
        return run_range(argv[2], true);
    if (argc >= 3 && strcmp(argv[1], "--file") == 0)
        return run_file(argv[2]);
    if (argc >= 3 && strcmp(argv[1], "--seed") == 0)
        return run_one(argv[2]);
    fprintf(stderr, "sim --seeds A-B | --replay A-B | --file F | --seed N [--trace]\n");
    return EXIT_FAILURE;
}
