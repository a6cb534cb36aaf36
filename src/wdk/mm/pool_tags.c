/* SPDX-License-Identifier: MIT */
/* Counters by pool tag: see pool_tags.h. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "wdk/mm/pool_tags.h"

enum { OTHERS = MAX_POOL_TAGS - 1, NO_TAG = 0x656e6f4e /* "None": blocks without a tag are counted under this tag */ };

struct thread_counts {
    struct pool_count counts[MAX_POOL_TAGS];
    LIST_ENTRY(thread_counts) link;
};

_Thread_local struct pool_tag_local pool_tag_local;

static _Atomic uint32_t tags[MAX_POOL_TAGS];          /* 0: the entry is not used */
static struct pool_count ended_counts[MAX_POOL_TAGS]; /* sums of the counts of ended threads; guarded by `lock` */
static LIST_HEAD(, thread_counts) all_counts = LIST_HEAD_INITIALIZER(all_counts);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t thread_exit_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/*
 * Returns the tag's index in the table, and adds the tag if it is new. Returns OTHERS if the table is full. The table
 * is a hash table with open addressing; entries are never removed.
 */
static unsigned tag_find_index(uint32_t tag)
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
    return pool_tag_local.index = tag_find_index(pool_tag_local.tag);
}

static void counts_merge(void *ending)
{
    struct thread_counts *s = ending;

    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < MAX_POOL_TAGS; i++)
        pool_count_add(&ended_counts[i], s->counts[i].blocks, s->counts[i].bytes);
    LIST_REMOVE(s, link);
    pthread_mutex_unlock(&lock);
    pool_tag_local.counts = NULL;
    free(s);
}

static void counts_init_key(void)
{
    if (pthread_key_create(&thread_exit_key, counts_merge))
        abort();
}

struct pool_count *pool_tag_counts(void)
{
    struct thread_counts *s = calloc(1, sizeof *s);

    pthread_once(&once, counts_init_key);
    if (!s || pthread_setspecific(thread_exit_key, s))
        abort(); /* out of memory: each thread needs some kilobytes for its counts */
    pthread_mutex_lock(&lock);
    LIST_INSERT_HEAD(&all_counts, s, link);
    pthread_mutex_unlock(&lock);
    return pool_tag_local.counts = s->counts;
}

unsigned pool_tag_sums(struct pool_tag_sum sums[MAX_POOL_TAGS])
{
    unsigned n = 0;

    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < MAX_POOL_TAGS; i++) {
        struct pool_tag_sum sum = { tags[i], ended_counts[i].blocks, ended_counts[i].bytes };
        struct thread_counts *s;

        if (i == OTHERS)
            memcpy(&sum.tag, "****", 4);
        LIST_FOREACH (s, &all_counts, link) {
            sum.blocks += s->counts[i].blocks;
            sum.bytes += s->counts[i].bytes;
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
