/* SPDX-License-Identifier: MIT */
/*
 * Finds the two ends of each connection: see pairs.h. Several connections may have the same addresses, one after the
 * other. Their ends are in the same order in both files. NAT is not supported: an end with a translated address finds
 * no partner.
 */
#include "pairs.h"

#include <stdlib.h>

#include "match.h"

enum {
    PAIRS_MAX_SHIFT = 1000,
    PAIRS_SLACK_NS = 1000000, /* maximum error of a time, in addition to the clocks' uncertainty */
    /* If the delays of a shift's pairs differ by much less than this time, mainly the number of pairs decides. */
    PAIRS_JITTER_NS = 10000000,
};

/* An end. `flow` contains the addresses in the order initiator, acceptor. */
struct pairs_side {
    struct flow flow;
    uint64_t time_ns;
    size_t end;
    bool is_initiator;
};

struct pairs_search {
    struct ends *ends;
    const struct trace_records *records;
    pairs_find_offset offset; /* NULL: a connection is paired only if no other connection has its addresses */
    const void *context;
    size_t *initiators, *acceptors; /* for pairs_find_group: the ends that have the same addresses, ordered by time */
    size_t n_initiators, n_acceptors;
};

bool pairs_is_whole(const struct trace_file *f)
{
    for (uint32_t i = 0; i < f->segment_count; i++)
        if (f->states[i].sequence > f->segment_count)
            return false;
    return !f->lost && !f->damaged && !f->missing;
}

static int pairs_compare(const void *left, const void *right)
{
    const struct pairs_side *a = left, *b = right;
    int order = flow_compare_ends(&a->flow, &b->flow);

    if (order)
        return order;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

static const struct trace_record *pairs_begin_of(const struct pairs_search *s, size_t end)
{
    return &s->records->records[s->ends->ends[end].first];
}

static bool pairs_is_possible(const struct pairs_search *s, size_t initiator, size_t acceptor)
{
    const struct end *i = &s->ends->ends[initiator], *a = &s->ends->ends[acceptor];

    return match_is_possible(s->records, i, a, pairs_is_whole(i->file) && pairs_is_whole(a->file));
}

static void pairs_set(struct pairs_search *s, size_t initiator, size_t acceptor)
{
    s->ends->ends[initiator].other = acceptor;
    s->ends->ends[acceptor].other = initiator;
}

static struct pairs_offset pairs_clocks(const struct pairs_search *s, size_t initiator, size_t acceptor)
{
    return s->offset(s->context, s->ends->ends[initiator].file, s->ends->ends[acceptor].file);
}

/*
 * Returns how much later the acceptor's side begins than the initiator's side. Assumes that the clocks have the same
 * time if their offset is not known.
 */
static int64_t pairs_delay(const struct pairs_search *s, size_t initiator, size_t acceptor)
{
    struct pairs_offset clocks = pairs_clocks(s, initiator, acceptor);

    return ends_time_between(pairs_begin_of(s, initiator), pairs_begin_of(s, acceptor)) -
           (clocks.is_known ? clocks.offset_ns : 0);
}

/*
 * Pairs each acceptor with the last initiator that began before the acceptor. Requires that the offset of the clocks is
 * known.
 */
static void pairs_by_time(struct pairs_search *s)
{
    size_t next = 0;

    for (size_t a = 0; a < s->n_acceptors; a++) {
        size_t acceptor = s->acceptors[a];

        while (next < s->n_initiators && pairs_delay(s, s->initiators[next], acceptor) +
                                                 pairs_clocks(s, s->initiators[next], acceptor).uncertainty_ns +
                                                 PAIRS_SLACK_NS >=
                                             0)
            next++;
        if (next && s->ends->ends[s->initiators[next - 1]].other == END_NONE &&
            pairs_is_possible(s, s->initiators[next - 1], acceptor))
            pairs_set(s, s->initiators[next - 1], acceptor);
    }
}

/* A way to pair the two lists: initiators[i + shift] is paired with acceptors[i]. */
struct pairs_shift {
    int64_t shift, cost;
    bool is_found;
};

static void pairs_try_shift(const struct pairs_search *s, int64_t shift, struct pairs_shift *best)
{
    int64_t least = INT64_MAX, most = INT64_MIN, cost;
    size_t n = 0, fewer = s->n_initiators < s->n_acceptors ? s->n_initiators : s->n_acceptors;

    for (size_t a = 0; a < s->n_acceptors; a++) {
        int64_t i = (int64_t)a + shift, delay;

        if (i < 0 || i >= (int64_t)s->n_initiators)
            continue;
        if (!pairs_is_possible(s, s->initiators[i], s->acceptors[a]))
            return;
        delay = pairs_delay(s, s->initiators[i], s->acceptors[a]);
        least = delay < least ? delay : least;
        most = delay > most ? delay : most;
        n++;
    }
    if (n == 0 || 2 * n < fewer || (n == 1 && fewer > 1))
        return;
    cost = n > 1 ? (most - least + PAIRS_JITTER_NS) / (int64_t)(n - 1) : llabs(most);
    if (!best->is_found || cost < best->cost)
        *best = (struct pairs_shift){ shift, cost, true };
}

/*
 * Pairs acceptor `a` with initiator `a + shift`. Both lists are in the order in which their ends began. Times cannot be
 * compared, because the clocks' offset is not known. Chooses the shift with the least cost (pairs_try_shift). The cost
 * is low if the pairs' delays differ little, and if there are many pairs.
 */
static void pairs_by_order(struct pairs_search *s)
{
    int64_t low = -(int64_t)s->n_acceptors, high = (int64_t)s->n_initiators;
    struct pairs_shift best = { 0 };

    low = low < -PAIRS_MAX_SHIFT ? -PAIRS_MAX_SHIFT : low;
    high = high > PAIRS_MAX_SHIFT ? PAIRS_MAX_SHIFT : high;
    for (int64_t shift = low; shift <= high; shift++)
        pairs_try_shift(s, shift, &best);
    for (size_t a = 0; best.is_found && a < s->n_acceptors; a++) {
        int64_t i = (int64_t)a + best.shift;

        if (i >= 0 && i < (int64_t)s->n_initiators)
            pairs_set(s, s->initiators[i], s->acceptors[a]);
    }
}

/*
 * Returns true if the end can be paired in a group of connections with the same addresses. The end needs a start-up
 * frame for that, and must not be paired already.
 */
static bool pairs_is_candidate(const struct end *end, bool is_initiator)
{
    return end->other == END_NONE && end->lists[is_initiator ? END_MPA_SENT : END_MPA_RECEIVED].count;
}

/* Pairs the ends in sides[0] to sides[n - 1], which all have the same addresses. */
static void pairs_find_group(struct pairs_search *s, const struct pairs_side *sides, size_t n)
{
    s->n_initiators = s->n_acceptors = 0;
    for (size_t i = 0; i < n; i++) {
        if (s->offset && !pairs_is_candidate(&s->ends->ends[sides[i].end], sides[i].is_initiator))
            continue;
        if (sides[i].is_initiator)
            s->initiators[s->n_initiators++] = sides[i].end;
        else
            s->acceptors[s->n_acceptors++] = sides[i].end;
    }
    if (!s->n_initiators || !s->n_acceptors)
        return;
    if (!s->offset) {
        if (s->n_initiators == 1 && s->n_acceptors == 1 && pairs_is_possible(s, s->initiators[0], s->acceptors[0]))
            pairs_set(s, s->initiators[0], s->acceptors[0]);
        return;
    }
    if (pairs_clocks(s, s->initiators[0], s->acceptors[0]).is_known)
        pairs_by_time(s);
    else
        pairs_by_order(s);
}

/* Returns a sorted array with the sides of all ends that have addresses. Returns NULL if out of memory. */
static struct pairs_side *pairs_list_sides(const struct ends *e, const struct trace_records *records, size_t *n)
{
    struct pairs_side *sides = calloc(e->count + 1, sizeof *sides);

    *n = 0;
    for (size_t i = 0; sides && i < e->count; i++) {
        const struct end *end = &e->ends[i];

        if (!end->has_begin)
            continue;
        sides[*n] = (struct pairs_side){ .end = i,
                                         .is_initiator = end->flow.is_initiator,
                                         .flow = end->flow.is_initiator ? end->flow : flow_other_end(&end->flow),
                                         .time_ns = trace_record_realtime(&records->records[end->first]) };
        ++*n;
    }
    if (*n)
        qsort(sides, *n, sizeof *sides, pairs_compare);
    return sides;
}

bool pairs_find(struct ends *e, const struct trace_records *records, pairs_find_offset offset, const void *context)
{
    struct pairs_search s = { .ends = e, .records = records, .offset = offset, .context = context };
    size_t n, end;
    struct pairs_side *sides = pairs_list_sides(e, records, &n);

    s.initiators = calloc(n + 1, sizeof *s.initiators);
    s.acceptors = calloc(n + 1, sizeof *s.acceptors);
    if (!sides || !s.initiators || !s.acceptors) {
        free(sides);
        free(s.initiators);
        free(s.acceptors);
        return false;
    }
    for (size_t begin = 0; begin < n; begin = end) {
        end = begin + 1;
        while (end < n && flow_compare_ends(&sides[begin].flow, &sides[end].flow) == 0)
            end++;
        pairs_find_group(&s, &sides[begin], end - begin);
    }
    free(sides);
    free(s.initiators);
    free(s.acceptors);
    return true;
}
