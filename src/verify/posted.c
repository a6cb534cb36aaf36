/* SPDX-License-Identifier: MIT */
/* Records of posted requests: see posted.h. */
#include <stdlib.h>
#include <string.h>

#include "verify/posted.h"

enum { POSTS_MOST = 16384 }; /* records of a queue */

struct post {
    struct post *next; /* free ones */
    const char *routine; /* NULL: not posted */
    void *context;
    ULONG sges;
    struct {
        const void *start;
        ULONG length;
        bool logical;
    } sge[POST_SGES];
};

struct post_chunk {
    struct post_chunk *next;
    unsigned count;
    struct post all[];
};

/* Results may be polled before they are looked at: more than the depth can be outstanding. */
static unsigned records_for(size_t depth)
{
    return (unsigned)(depth > POSTS_MOST / 2 ? POSTS_MOST : 2 * depth);
}

static void give_free(struct posts *posts, struct post *post)
{
    post->next = posts->free;
    posts->free = post;
}

/* Under the lock. What the newest chunk has left is not forgotten. */
static void add_chunk(struct posts *posts, struct post_chunk *chunk)
{
    while (posts->chunks && posts->used < posts->chunks->count)
        give_free(posts, &posts->chunks->all[posts->used++]);
    chunk->next = posts->chunks;
    posts->chunks = chunk;
    posts->used = 0;
    posts->count += chunk->count;
}

void posts_grow(struct posts *posts, size_t depth)
{
    struct post_chunk *chunk;
    unsigned wanted = records_for(depth), had;

    spin_lock(&posts->lock);
    had = posts->count;
    spin_unlock(&posts->lock);
    if (wanted <= had)
        return;
    chunk = calloc(1, sizeof *chunk + (wanted - had) * sizeof chunk->all[0]);
    if (!chunk)
        return;
    chunk->count = wanted - had;
    spin_lock(&posts->lock);
    if (!posts->retired && posts->count == had) {
        add_chunk(posts, chunk);
        chunk = NULL;
    }
    spin_unlock(&posts->lock);
    free(chunk); /* or another thread has made it deeper meanwhile */
}

static void fill(struct post *post, const char *routine, void *context, const NDK_SGE *sgl, ULONG sges,
                 UINT32 privileged)
{
    post->routine = routine;
    post->context = context;
    post->sges = sgl ? (sges < POST_SGES ? sges : POST_SGES) : 0;
    for (ULONG i = 0; i < post->sges; i++) {
        post->sge[i].start = sgl[i].VirtualAddress;
        post->sge[i].length = sgl[i].Length;
        post->sge[i].logical = sgl[i].MemoryRegionToken == privileged;
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
    } else if (posts->chunks && posts->used < posts->chunks->count) {
        post = &posts->chunks->all[posts->used++];
    }
    if (post) {
        posts->outstanding++;
        fill(post, routine, context, sgl, flags & NDK_OP_FLAG_INLINE ? 0 : sges, posts->privileged);
    }
    spin_unlock(&posts->lock);
    return post ? post : context;
}

static struct post_chunk *take_if_idle(struct posts *posts)
{
    struct post_chunk *chunks = posts->chunks;

    if (!posts->retired || posts->outstanding > 0)
        return NULL;
    posts->chunks = NULL;
    posts->free = NULL;
    posts->count = posts->used = 0;
    return chunks;
}

static void free_chunks(struct post_chunk *first)
{
    for (struct post_chunk *next; first; first = next) {
        next = first->next;
        free(first);
    }
}

static bool is_record(const struct posts *posts, const struct post *post)
{
    for (const struct post_chunk *c = posts->chunks; c; c = c->next)
        if ((uintptr_t)post - (uintptr_t)c->all < c->count * sizeof *post)
            return true;
    return false;
}

bool posts_give_back(struct posts *posts, void **context)
{
    struct post *post = *context;
    struct post_chunk *gone = NULL;
    bool known;

    spin_lock(&posts->lock);
    known = is_record(posts, post);
    if (known) {
        *context = post->context;
        post->routine = NULL;
        give_free(posts, post);
        posts->outstanding--;
        gone = take_if_idle(posts);
    }
    spin_unlock(&posts->lock);
    free_chunks(gone);
    return known;
}

void posts_retire(struct posts *posts)
{
    struct post_chunk *gone;

    spin_lock(&posts->lock);
    posts->retired = true;
    gone = take_if_idle(posts);
    spin_unlock(&posts->lock);
    free_chunks(gone);
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
        if (post->sge[i].length && !post->sge[i].logical &&
            overlaps(post->sge[i].start, post->sge[i].length, start, size))
            return "buffer of a posted request that has not completed";
    }
    return NULL;
}

/* Under the lock. */
static const char *find_memory(const struct posts *posts, const void *start, size_t size, const void **at)
{
    const char *what = NULL;
    unsigned left = posts->outstanding;

    for (const struct post_chunk *c = posts->chunks; c && left > 0 && !what; c = c->next)
        for (unsigned i = 0; i < c->count && left > 0 && !what; i++)
            if (c->all[i].routine) {
                what = names_memory(&c->all[i], start, size, at);
                left--;
            }
    return what;
}

/* Is anything outstanding that is looked after? */
static bool is_live(struct proxy *p)
{
    struct queue *q = (struct queue *)p;

    return (p->type == NdkObjectTypeQp || p->type == NdkObjectTypeSrq) && atomic_load(&p->state) == PROXY_OPEN &&
           !atomic_load(&q->over);
}

bool filter_find_posted(struct proxy *p, const void *start, size_t size, struct inuse_found *out)
{
    struct queue *q = (struct queue *)p;
    const char *what;

    if (!is_live(p))
        return false;
    spin_lock(&q->posts.lock);
    what = find_memory(&q->posts, start, size, &out->object);
    spin_unlock(&q->posts.lock);
    if (what) {
        out->rule = CHECK_CONTEXT_FREED_IN_USE;
        out->what = what;
    }
    return what != NULL;
}

/* ---- logical addresses ---- */

ULONG posts_page_run(const NDK_LOGICAL_ADDRESS *pages, ULONG count)
{
    ULONG n = 1;

    while (n < count && pages[n].QuadPart == pages[n - 1].QuadPart + PAGE_SIZE)
        n++;
    return n;
}

ULONG posts_page_sges(const struct posts *posts, const NDK_LOGICAL_ADDRESS *pages, ULONG count, NDK_SGE *sges)
{
    ULONG n = 0, run;

    for (ULONG i = 0; pages && i < count && n < POST_SGES; i += run) {
        run = posts_page_run(pages + i, count - i);
        sges[n++] = (NDK_SGE){ .LogicalAddress = pages[i], .Length = run * PAGE_SIZE,
                               .MemoryRegionToken = posts->privileged };
    }
    return n;
}

static bool names_logical(const struct post *post, uint64_t first, uint64_t size, uint64_t *at)
{
    for (ULONG i = 0; i < post->sges; i++) {
        *at = (uintptr_t)post->sge[i].start;
        if (post->sge[i].logical && post->sge[i].length &&
            (*at - first < size || first - *at < post->sge[i].length))
            return true;
    }
    return false;
}

const char *posts_find_logical(struct proxy *p, uint64_t first, uint64_t size, uint64_t *at)
{
    struct posts *posts = &((struct queue *)p)->posts;
    const char *routine = NULL;

    if (!is_live(p))
        return NULL;
    spin_lock(&posts->lock);
    for (const struct post_chunk *c = posts->chunks; c && !routine; c = c->next)
        for (unsigned i = 0; i < c->count && !routine; i++)
            if (c->all[i].routine && names_logical(&c->all[i], first, size, at))
                routine = c->all[i].routine;
    spin_unlock(&posts->lock);
    return routine;
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

    free_chunks(q->posts.chunks);
    if (q->srq)
        proxy_unref(&q->srq->p);
}

/* What a queue for posts is made from. */
static NDK_PD *real_pd(struct proxy *parent)
{
    return parent->real;
}

struct queue *queue_make(NDK_OBJECT_TYPE type, const void *dispatch, size_t depth, struct proxy *parent)
{
    struct queue *q = (struct queue *)proxy_make(sizeof *q, type, dispatch, parent);

    if (!q)
        return NULL;
    q->p.end_parts = type == NdkObjectTypeCq ? end_cq : end_pair_or_srq;
    q->p.free_parts = free_queue;
    spin_init(&q->posts.lock);
    if (type != NdkObjectTypeCq) {
        posts_grow(&q->posts, depth);
        real_pd(parent)->Dispatch->NdkGetPrivilegedMemoryRegionToken(real_pd(parent), &q->posts.privileged);
    }
    return q;
}
