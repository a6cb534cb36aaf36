/* SPDX-License-Identifier: MIT */
/*
 * Loads a block device or a file with many requests at once, each from a thread of its own, past the page cache.
 *
 *   blockload rate DEVICE read|write SIZE DEPTH SECONDS
 *       reads or writes at random places; prints the rate.
 *   blockload keep DEVICE MIB DEPTH SECONDS
 *       writes numbered blocks for so long, then reads all of them: each must have the last generation that a write
 *       acknowledged, or the one of a write that has failed. Prints "@writing" once each thread has written a block.
 *
 * A block belongs to one thread, so that at most one write to it is in flight.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 4096, WORDS = BLOCK / 8, READ_BLOCKS = 32, MAX_DEPTH = 256, MAX_PRINTED = 10 };

struct load {
    int fd;
    bool writes;
    size_t size;         /* of a request */
    uint64_t places;     /* requests of that size on the device */
    uint32_t *acked;     /* the generation of each block that a write acknowledged; 0: none */
    uint32_t *attempted; /* the last generation that a write tried */
    unsigned depth;
    double end;
    atomic_uint begun; /* threads with a first acknowledged write */
    atomic_ullong done, failed;
};

struct worker {
    struct load *load;
    unsigned index;
    pthread_t thread;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
    perror(what);
    exit(2);
}

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

static void fill_block(uint64_t *words, uint64_t block, uint32_t generation)
{
    words[0] = block;
    words[1] = generation;
    for (unsigned i = 2; i < WORDS; i++)
        words[i] = mix(block << 32 ^ (uint64_t)generation << 10 ^ i);
}

/* Returns a page-aligned buffer of the load's request size. */
static void *allocate_buffer(size_t size)
{
    void *buffer = NULL;

    if (posix_memalign(&buffer, BLOCK, size))
        die("memory");
    memset(buffer, 0x5a, size);
    return buffer;
}

static void *rate_thread(void *arg)
{
    struct worker *worker = arg;
    struct load *load = worker->load;
    void *buffer = allocate_buffer(load->size);
    uint64_t random = worker->index + 1;

    while (now() < load->end) {
        random = mix(random);
        off_t offset = (off_t)(random % load->places * load->size);
        ssize_t n = load->writes ? pwrite(load->fd, buffer, load->size, offset)
                                 : pread(load->fd, buffer, load->size, offset);
        atomic_fetch_add(n == (ssize_t)load->size ? &load->done : &load->failed, 1);
        if (n < 0 && errno != EIO)
            die("request");
    }
    free(buffer);
    return NULL;
}

static void *keep_thread(void *arg)
{
    struct worker *worker = arg;
    struct load *load = worker->load;
    uint64_t *buffer = allocate_buffer(BLOCK), block = worker->index;
    bool begun = false;

    while (now() < load->end) {
        uint32_t generation = ++load->attempted[block];

        fill_block(buffer, block, generation);
        if (pwrite(load->fd, buffer, BLOCK, (off_t)(block * BLOCK)) == BLOCK) {
            load->acked[block] = generation;
            atomic_fetch_add(&load->done, 1);
            if (!begun && atomic_fetch_add(&load->begun, 1) + 1 == load->depth) {
                printf("@writing\n");
                fflush(stdout);
            }
            begun = true;
        } else {
            atomic_fetch_add(&load->failed, 1);
            usleep(10000);
        }
        block += load->depth;
        if (block >= load->places)
            block = worker->index;
    }
    free(buffer);
    return NULL;
}

static void run_threads(struct load *load, void *(*routine)(void *))
{
    static struct worker workers[MAX_DEPTH];

    for (unsigned i = 0; i < load->depth; i++) {
        workers[i] = (struct worker){ .load = load, .index = i };
        if (pthread_create(&workers[i].thread, NULL, routine, &workers[i]))
            die("thread");
    }
    for (unsigned i = 0; i < load->depth; i++)
        pthread_join(workers[i].thread, NULL);
}

static bool block_is_right(struct load *load, uint64_t block, const uint64_t *words, uint64_t *expected)
{
    if (!load->attempted[block])
        return true;
    if (!load->acked[block] && words[0] != block)
        return true; /* the only writes have failed */
    if (words[1] < load->acked[block] || words[1] > load->attempted[block])
        return false;
    fill_block(expected, block, (uint32_t)words[1]);
    return memcmp(words, expected, BLOCK) == 0;
}

/* Counts a wrong block, and prints what it has, unless that was done often enough. */
static void keep_verify_block(struct load *load, uint64_t block, const uint64_t *words, unsigned long long *lost)
{
    static uint64_t expected[WORDS];

    if (block_is_right(load, block, words, expected))
        return;
    if ((*lost)++ < MAX_PRINTED)
        printf("block %llu: expected generation %u to %u, read block %llu generation %llu%s\n",
               (unsigned long long)block, load->acked[block], load->attempted[block], (unsigned long long)words[0],
               (unsigned long long)words[1], words[1] == load->acked[block] ? ", other bytes" : "");
}

static int keep_verify(struct load *load)
{
    uint64_t *words = allocate_buffer(READ_BLOCKS * BLOCK);
    unsigned long long lost = 0;

    for (uint64_t block = 0; block < load->places; block += READ_BLOCKS) {
        uint64_t n = load->places - block < READ_BLOCKS ? load->places - block : READ_BLOCKS;

        if (pread(load->fd, words, n * BLOCK, (off_t)(block * BLOCK)) != (ssize_t)(n * BLOCK))
            die("read back");
        for (uint64_t i = 0; i < n; i++)
            keep_verify_block(load, block + i, words + i * WORDS, &lost);
    }
    printf("acknowledged=%llu failed=%llu lost=%llu\n", load->done, load->failed, lost);
    free(words);
    return lost || !load->done ? 1 : 0;
}

static int usage(void)
{
    fprintf(stderr, "usage: blockload rate DEVICE read|write SIZE DEPTH SECONDS\n"
                    "       blockload keep DEVICE MIB DEPTH SECONDS\n");
    return 2;
}

int main(int argc, char **argv)
{
    static struct load load;

    if (argc < 6 || (strcmp(argv[1], "rate") && strcmp(argv[1], "keep")))
        return usage();
    bool keeps = !strcmp(argv[1], "keep");
    if (argc != (keeps ? 6 : 7))
        return usage();
    double seconds = atof(argv[argc - 1]);
    load.depth = (unsigned)atoi(argv[argc - 2]);
    load.size = keeps ? BLOCK : (size_t)atol(argv[4]);
    load.writes = keeps || !strcmp(argv[3], "write");
    load.fd = open(argv[2], O_RDWR | O_DIRECT);
    if (load.fd < 0)
        die(argv[2]);
    off_t bytes = lseek(load.fd, 0, SEEK_END);
    if (keeps && bytes > (off_t)atol(argv[3]) << 20)
        bytes = (off_t)atol(argv[3]) << 20;
    if (!load.depth || load.depth > MAX_DEPTH || !load.size || load.size % 512 || bytes < (off_t)load.size)
        return usage();
    load.places = (uint64_t)bytes / load.size;
    if (keeps) {
        load.acked = calloc(load.places, sizeof(*load.acked));
        load.attempted = calloc(load.places, sizeof(*load.attempted));
        if (!load.acked || !load.attempted || load.places < load.depth)
            return usage();
    }

    double begun = now();
    load.end = begun + seconds;
    run_threads(&load, keeps ? keep_thread : rate_thread);
    if (keeps)
        return keep_verify(&load);
    seconds = now() - begun;
    printf("requests=%llu failed=%llu seconds=%.3f iops=%.1f mib_per_second=%.3f\n", load.done, load.failed, seconds,
           (double)load.done / seconds, (double)load.done * (double)load.size / seconds / (1 << 20));
    return load.failed ? 1 : 0;
}
