/* SPDX-License-Identifier: MIT */
/* Numbers by pool tag: see pool_tags.h. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "wdk/pool_tags.h"

enum { OTHERS = POOL_TAGS_MOST - 1, NO_TAG = 0x656e6f4e /* "None": what a block without a tag is counted under */ };

/* One writer; readers see each number whole. */
struct count {
    _Atomic int64_t blocks, octets;
};

struct shard {
    struct count counts[POOL_TAGS_MOST];
    LIST_ENTRY(shard) link;
};

struct local {
    struct shard *shard;
    uint32_t tag; /* the last one asked for */
    unsigned index;
};

static _Atomic uint32_t tags[POOL_TAGS_MOST]; /* 0: free */
static struct count gone[POOL_TAGS_MOST];     /* of threads that have ended; under the lock */
static LIST_HEAD(, shard) shards = LIST_HEAD_INITIALIZER(shards);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t leaving;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local struct local local __attribute__((tls_model("initial-exec")));

static unsigned find_index(uint32_t tag)
{
    unsigned start = (unsigned)((tag * 0x9e3779b1u) >> 16) % OTHERS;

    for (unsigned i = 0; i < OTHERS; i++) {
        unsigned at = (start + i) % OTHERS;
        uint32_t there = atomic_load_explicit(&tags[at], memory_order_relaxed);

        if (there == tag)
            return at;
        if (!there && (atomic_compare_exchange_strong(&tags[at], &there, tag) || there == tag))
            return at;
    }
    return OTHERS;
}

unsigned pool_tag_index(uint32_t tag)
{
    if (!tag)
        tag = NO_TAG;
    if (local.tag != tag) {
        local.index = find_index(tag);
        local.tag = tag;
    }
    return local.index;
}

static void add(struct count *c, int64_t blocks, int64_t octets)
{
    int64_t b = atomic_load_explicit(&c->blocks, memory_order_relaxed);
    int64_t o = atomic_load_explicit(&c->octets, memory_order_relaxed);

    atomic_store_explicit(&c->blocks, b + blocks, memory_order_relaxed);
    atomic_store_explicit(&c->octets, o + octets, memory_order_relaxed);
}

static void leave(void *ending)
{
    struct shard *s = ending;

    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < POOL_TAGS_MOST; i++)
        add(&gone[i], s->counts[i].blocks, s->counts[i].octets);
    LIST_REMOVE(s, link);
    pthread_mutex_unlock(&lock);
    local.shard = NULL;
    free(s);
}

static void start(void)
{
    if (pthread_key_create(&leaving, leave))
        abort();
}

static struct shard *new_shard(void)
{
    struct shard *s = calloc(1, sizeof *s);

    pthread_once(&once, start);
    if (!s || pthread_setspecific(leaving, s))
        abort(); /* some kilobytes at a thread's first allocation */
    pthread_mutex_lock(&lock);
    LIST_INSERT_HEAD(&shards, s, link);
    pthread_mutex_unlock(&lock);
    return local.shard = s;
}

void pool_tag_count(unsigned index, int blocks, int64_t octets)
{
    struct shard *s = local.shard;

    add(&(s ? s : new_shard())->counts[index], blocks, octets);
}

unsigned pool_tag_sums(struct pool_tag_sum sums[POOL_TAGS_MOST])
{
    unsigned n = 0;

    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < POOL_TAGS_MOST; i++) {
        struct pool_tag_sum sum = { tags[i], gone[i].blocks, gone[i].octets };
        struct shard *s;

        if (i == OTHERS)
            memcpy(&sum.tag, "****", 4);
        LIST_FOREACH(s, &shards, link) {
            sum.blocks += s->counts[i].blocks;
            sum.octets += s->counts[i].octets;
        }
        if (sum.tag)
            sums[n++] = sum;
    }
    pthread_mutex_unlock(&lock);
    return n;
}

const char *pool_tag_text(uint32_t tag, char *text)
{
    for (int i = 0; i < 4; i++) {
        unsigned c = tag >> (8 * i) & 0xff;

        text[i] = (char)(c >= ' ' && c <= '~' ? c : '.');
    }
    text[4] = 0;
    return text;
}
