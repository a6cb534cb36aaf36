/* SPDX-License-Identifier: MIT */
/* Records of posted requests: see ndk_filter_posts.h. */
#include <stdlib.h>
#include <string.h>

#include "wdk/ndk_filter_posts.h"

enum { POST_SGES = 4, POSTS_MOST = 16384 }; /* of a request, that are looked after; records of a queue */

struct post {
    struct post *next; /* free ones */
    const char *routine; /* NULL: not posted */
    void *context;
    ULONG sges;
    struct {
        const void *start;
        ULONG length;
    } sge[POST_SGES];
};

/* Results may be polled before they are looked at: more than the depth can be outstanding. Without memory: none. */
static void posts_init(struct posts *posts, size_t depth)
{
    spin_init(&posts->lock);
    posts->count = (unsigned)(depth > POSTS_MOST / 2 ? POSTS_MOST : 2 * depth);
    posts->all = calloc(posts->count ? posts->count : 1, sizeof *posts->all);
    if (!posts->all)
        posts->count = 0;
}

static void fill(struct post *post, const char *routine, void *context, const NDK_SGE *sgl, ULONG sges)
{
    post->routine = routine;
    post->context = context;
    post->sges = sgl ? (sges < POST_SGES ? sges : POST_SGES) : 0;
    for (ULONG i = 0; i < post->sges; i++) {
        post->sge[i].start = sgl[i].VirtualAddress;
        post->sge[i].length = sgl[i].Length;
    }
}

void *posts_take(struct posts *posts, const char *routine, void *context, const NDK_SGE *sgl, ULONG sges, ULONG flags)
{
    struct post *post = NULL;

    if (!check_on() || flags & NDK_OP_FLAG_SILENT_SUCCESS)
        return context;
    spin_lock(&posts->lock);
    if (posts->free) {
        post = posts->free;
        posts->free = post->next;
    } else if (posts->used < posts->count) {
        post = &posts->all[posts->used++];
    }
    if (post) {
        posts->outstanding++;
        fill(post, routine, context, sgl, flags & NDK_OP_FLAG_INLINE ? 0 : sges);
    }
    spin_unlock(&posts->lock);
    return post ? post : context;
}

static struct post *free_if_idle(struct posts *posts)
{
    struct post *all = posts->all;

    if (!posts->retired || posts->outstanding > 0)
        return NULL;
    posts->all = posts->free = NULL;
    posts->count = posts->used = 0;
    return all;
}

bool posts_give_back(struct posts *posts, void **context)
{
    struct post *post = *context, *gone = NULL;
    bool is_record;

    spin_lock(&posts->lock);
    is_record = (uintptr_t)post - (uintptr_t)posts->all < posts->count * sizeof *post;
    if (is_record) {
        *context = post->context;
        post->routine = NULL;
        post->next = posts->free;
        posts->free = post;
        posts->outstanding--;
        gone = free_if_idle(posts);
    }
    spin_unlock(&posts->lock);
    free(gone);
    return is_record;
}

void posts_retire(struct posts *posts)
{
    struct post *gone;

    spin_lock(&posts->lock);
    posts->retired = true;
    gone = free_if_idle(posts);
    spin_unlock(&posts->lock);
    free(gone);
}

NTSTATUS posts_answer(struct posts *posts, void *context, NTSTATUS status)
{
    if (!NT_SUCCESS(status))
        (void)posts_give_back(posts, &context);
    return status;
}

static bool overlaps(const void *a, size_t a_size, const void *b, size_t b_size)
{
    return (uintptr_t)a - (uintptr_t)b < b_size || (uintptr_t)b - (uintptr_t)a < a_size;
}

static const char *names_memory(const struct post *post, const void *start, size_t size, const void **at)
{
    *at = post->context;
    if ((uintptr_t)post->context - (uintptr_t)start < size)
        return "context of a posted request that has not completed";
    for (ULONG i = 0; i < post->sges; i++) {
        *at = post->sge[i].start;
        if (post->sge[i].length && overlaps(post->sge[i].start, post->sge[i].length, start, size))
            return "buffer of a posted request that has not completed";
    }
    return NULL;
}

bool filter_find_posted(struct proxy *p, const void *start, size_t size, struct inuse_found *out)
{
    struct queue *q = (struct queue *)p;
    const char *what = NULL;

    if ((p->type != NdkObjectTypeQp && p->type != NdkObjectTypeSrq) || atomic_load(&p->state) != PROXY_OPEN ||
        atomic_load(&q->over))
        return false;
    spin_lock(&q->posts.lock);
    for (unsigned i = 0, left = q->posts.outstanding; left > 0 && !what; i++)
        if (q->posts.all[i].routine) {
            what = names_memory(&q->posts.all[i], start, size, &out->object);
            left--;
        }
    spin_unlock(&q->posts.lock);
    if (what) {
        out->rule = CHECK_CONTEXT_FREED_IN_USE;
        out->what = what;
    }
    return what != NULL;
}

void filter_qp_is_over(struct proxy *qp)
{
    atomic_store(&((struct queue *)qp)->over, true);
}

/* ---- the pairs of a completion queue ---- */

static _Atomic uint64_t pairs_ended; /* how many have */

void queue_join(struct queue *cq, struct queue *qp, int which)
{
    if (!cq)
        return;
    proxy_ref(&qp->p);
    proxies_lock();
    qp->next[which] = cq->pairs[which];
    cq->pairs[which] = qp;
    proxies_unlock();
}

static void let_go(struct queue *first, int which)
{
    for (struct queue *qp = first, *next; qp; qp = next) {
        next = qp->next[which];
        proxy_unref(&qp->p);
    }
}

/* Those that had ended by then. Under the lock of proxies. */
static struct queue *take_ended(struct queue *cq, int which, uint64_t by)
{
    struct queue *taken = NULL, **at = &cq->pairs[which], *qp;

    while ((qp = *at)) {
        if (qp->ended == 0 || qp->ended > by) {
            at = &qp->next[which];
            continue;
        }
        *at = qp->next[which];
        qp->next[which] = taken;
        taken = qp;
    }
    return taken;
}

uint64_t queue_poll_begin(struct queue *cq)
{
    atomic_fetch_add(&cq->polls, 1);
    return atomic_load(&pairs_ended);
}

/*
 * The queue was empty after these pairs had ended, so that none of their results comes any more. Another poll may have
 * taken the last of them: then a later one lets the pairs go.
 */
static void sweep(struct queue *cq, uint64_t ended)
{
    struct queue *taken[2] = { NULL, NULL };

    proxies_lock();
    if (atomic_load(&cq->polls) == 1) {
        for (int which = 0; which < 2; which++)
            taken[which] = take_ended(cq, which, ended);
        atomic_store(&cq->swept, ended);
    }
    proxies_unlock();
    for (int which = 0; which < 2; which++)
        let_go(taken[which], which);
}

void queue_poll_end(struct queue *cq, uint64_t ended, bool emptied)
{
    if (emptied && atomic_load(&cq->swept) != ended)
        sweep(cq, ended);
    atomic_fetch_sub(&cq->polls, 1);
}

/* ---- queues ---- */

static void end_pair_or_srq(struct proxy *p)
{
    struct queue *q = (struct queue *)p;

    posts_retire(&q->posts);
    if (p->type != NdkObjectTypeQp)
        return;
    proxies_lock(); /* who has seen the number and then the lists sees that the pair has it */
    q->ended = atomic_fetch_add(&pairs_ended, 1) + 1;
    proxies_unlock();
}

static void end_cq(struct proxy *p)
{
    struct queue *cq = (struct queue *)p, *pairs[2];

    proxies_lock();
    memcpy(pairs, cq->pairs, sizeof pairs);
    memset(cq->pairs, 0, sizeof cq->pairs);
    proxies_unlock();
    for (int which = 0; which < 2; which++)
        let_go(pairs[which], which);
}

static void free_queue(struct proxy *p)
{
    struct queue *q = (struct queue *)p;

    free(q->posts.all);
    if (q->srq)
        proxy_unref(&q->srq->p);
}

struct queue *queue_make(NDK_OBJECT_TYPE type, const void *dispatch, size_t depth, struct proxy *parent)
{
    struct queue *q = (struct queue *)proxy_make(sizeof *q, type, dispatch, parent);

    if (!q)
        return NULL;
    q->p.end_parts = type == NdkObjectTypeCq ? end_cq : end_pair_or_srq;
    q->p.free_parts = free_queue;
    if (type != NdkObjectTypeCq)
        posts_init(&q->posts, depth);
    return q;
}
