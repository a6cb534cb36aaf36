/* SPDX-License-Identifier: MIT */
/* Numbers by pool tag: see pool_tags.h. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "wdk/mm/pool_tags.h"

enum { OTHERS = POOL_TAGS_MOST - 1, NO_TAG = 0x656e6f4e /* "None": what a block without a tag is counted under */ };

struct shard {
    struct pool_count counts[POOL_TAGS_MOST];
    LIST_ENTRY(shard) link;
};

_Thread_local struct pool_tag_local pool_tag_local;

static _Atomic uint32_t tags[POOL_TAGS_MOST]; /* 0: free */
static struct pool_count gone[POOL_TAGS_MOST];     /* of threads that have ended; under the lock */
static LIST_HEAD(, shard) shards = LIST_HEAD_INITIALIZER(shards);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t leaving;
static pthread_once_t once = PTHREAD_ONCE_INIT;

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

unsigned pool_tag_find(uint32_t tag)
{
    pool_tag_local.tag = tag ? tag : NO_TAG;
    return pool_tag_local.index = find_index(pool_tag_local.tag);
}

static void leave(void *ending)
{
    struct shard *s = ending;

    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < POOL_TAGS_MOST; i++)
        pool_count_add(&gone[i], s->counts[i].blocks, s->counts[i].octets);
    LIST_REMOVE(s, link);
    pthread_mutex_unlock(&lock);
    pool_tag_local.counts = NULL;
    free(s);
}

static void start(void)
{
    if (pthread_key_create(&leaving, leave))
        abort();
}

struct pool_count *pool_tag_counts(void)
{
    struct shard *s = calloc(1, sizeof *s);

    pthread_once(&once, start);
    if (!s || pthread_setspecific(leaving, s))
        abort(); /* some kilobytes at a thread's first allocation */
    pthread_mutex_lock(&lock);
    LIST_INSERT_HEAD(&shards, s, link);
    pthread_mutex_unlock(&lock);
    return pool_tag_local.counts = s->counts;
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
