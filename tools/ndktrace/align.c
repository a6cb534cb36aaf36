/* SPDX-License-Identifier: MIT */
/*
 * Aligns clocks: see align.h. Two files are linked if one file has frames that the other file received, or if both
 * files have the same clock. The first file is the reference. Then each step aligns one more file: the file with the
 * best link to an aligned file. When no remaining file has such a link, the next remaining file becomes another
 * reference.
 */
#include "align.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "match.h"
#include "pairs.h"
#include "base/printable.h"
#include "trace_reader/value.h"

enum {
    /* Maximum difference between the start times (see align_start_of_host) of two files of one host. */
    SAME_HOST_NS = 1000000000,
    /* For files with the same clock: maximum error of the estimate, in addition to its uncertainty. */
    SAME_CLOCK_NS = 1000000,
};

/*
 * The measurements from the frames between two files. forward_ns and backward_ns are minimum delays: a frame's receive
 * time by the receiver's clock minus its send time by the sender's clock.
 */
struct align_link {
    /* forward: from the file with the lower index to the other file; backward: the opposite direction */
    int64_t forward_ns, backward_ns;
    size_t n_forward, n_backward;
    /*
     * The minimum delays of resets and closes of TCP. The delay is the receive time minus the time of the event that
     * made the other end send the reset or close.
     */
    int64_t end_forward_ns, end_backward_ns;
    bool has_end_forward, has_end_backward;
};

struct align_work {
    struct align *align;
    const struct trace_file *files;
    const struct trace_records *records;
    struct align_link *links; /* the link of files i and j, with i < j, is links[i * n_files + j] */
    /* For each file, the index of the reference file to which the file is aligned, directly or through other files. */
    size_t *component;
    bool *is_aligned;
};

/* ---- links ---- */

static struct align_link *align_find_link(const struct align_work *w, size_t i, size_t j)
{
    return &w->links[i < j ? i * w->align->n_files + j : j * w->align->n_files + i];
}

/*
 * Adds a frame to the measurements of the link between the sender's file and the receiver's file. `sent` is the send
 * record of the frame.
 */
static void align_add_frame(const struct align_work *w, size_t sent)
{
    const struct trace_record *from = &w->records->records[sent];
    const struct trace_record *to = &w->records->records[w->align->partner[sent]];
    size_t i = (size_t)(from->file - w->files), j = (size_t)(to->file - w->files);
    int64_t difference = ends_time_between(from, to);
    struct align_link *link = align_find_link(w, i, j);
    int64_t *least = i < j ? &link->forward_ns : &link->backward_ns;
    size_t *n = i < j ? &link->n_forward : &link->n_backward;

    if (i == j)
        return;
    *least = *n == 0 || difference < *least ? difference : *least;
    ++*n;
}

/*
 * Returns the record of the event that made this end close TCP: a time limit that passed. Returns END_NONE if the end
 * has no such record.
 */
static size_t align_find_close(const struct align_work *w, const struct end *e)
{
    for (size_t i = e->first; i != END_NONE; i = w->align->ends.next[i]) {
        const char *name = ends_event_name(&w->records->records[i]);

        if (strcmp(name, "limit_expired") == 0 || strcmp(name, "stall_expired") == 0)
            return i;
    }
    return END_NONE;
}

/* Returns the record with which this end reports that the other end closed or reset TCP, or END_NONE. */
static size_t align_find_closed(const struct align_work *w, const struct end *e)
{
    static const char *const reasons[] = { "peer-reset", "peer-gave-up", "unanswered" };
    struct value v;

    for (size_t i = e->first; i != END_NONE; i = w->align->ends.next[i]) {
        const struct trace_record *r = &w->records->records[i];

        if (strcmp(ends_event_name(r), "outcome") != 0 || !value_find(r, "why", &v) || !v.name)
            continue;
        for (size_t k = 0; k < sizeof reasons / sizeof reasons[0]; k++)
            if (strcmp(v.name, reasons[k]) == 0)
                return i;
    }
    return END_NONE;
}

/*
 * Adds a delay to the link of two files: the time from the event that made `from` reset or close TCP to the event with
 * which `to` reports the reset or close. The minimum delay limits the difference of the clocks, because the reset or
 * close cannot arrive before it was sent.
 */
static void align_add_close(const struct align_work *w, const struct end *from, const struct end *to)
{
    size_t closed = align_find_closed(w, to), close = closed == END_NONE ? END_NONE : align_find_close(w, from);
    size_t i = (size_t)(from->file - w->files), j = (size_t)(to->file - w->files);
    struct align_link *link = align_find_link(w, i, j);
    int64_t *least = i < j ? &link->end_forward_ns : &link->end_backward_ns, delay;
    bool *has = i < j ? &link->has_end_forward : &link->has_end_backward;

    if (close == END_NONE || i == j)
        return;
    delay = ends_time_between(&w->records->records[close], &w->records->records[closed]);
    *least = !*has || delay < *least ? delay : *least;
    *has = true;
}

static void align_for_each_sent(const struct align_work *w, void (*handle)(const struct align_work *, size_t))
{
    static const enum end_list_kind sent[] = { END_MPA_SENT, END_FPDUS_SENT };
    const struct ends *e = &w->align->ends;

    for (size_t i = 0; i < e->count; i++) {
        for (size_t k = 0; k < sizeof sent / sizeof sent[0]; k++) {
            const struct end_list *list = &e->ends[i].lists[sent[k]];

            for (size_t n = 0; n < list->count; n++)
                if (w->align->partner[list->records[n]] != END_NONE)
                    handle(w, list->records[n]);
        }
    }
}

static void align_find_links(const struct align_work *w)
{
    memset(w->links, 0, w->align->n_files * w->align->n_files * sizeof *w->links);
    align_for_each_sent(w, align_add_frame);
    for (size_t i = 0; i < w->align->ends.count; i++)
        if (w->align->ends.ends[i].other != END_NONE)
            align_add_close(w, &w->align->ends.ends[w->align->ends.ends[i].other], &w->align->ends.ends[i]);
}

/* ---- clocks ---- */

/*
 * Returns how much later the host of `f` started than the host of `than`. A host's start time is its time of day minus
 * its monotonic clock.
 */
static int64_t align_start_of_host(const struct trace_file *f, const struct trace_file *than)
{
    return ends_limit_time((int64_t)(f->realtime_ns - f->monotonic_ns - (than->realtime_ns - than->monotonic_ns)));
}

/*
 * Narrows the range of the offset, from -*backward_ns to *forward_ns, by the resets and closes of TCP. Ignores the
 * delay of a reset or close if the delay contradicts the frames. Then the reset has another cause, for example a
 * firewall.
 */
static void align_narrow(int64_t *forward_ns, int64_t *backward_ns, const struct align_link *link, bool is_swapped)
{
    const bool has_forward = is_swapped ? link->has_end_backward : link->has_end_forward;
    const bool has_backward = is_swapped ? link->has_end_forward : link->has_end_backward;
    int64_t forward = is_swapped ? link->end_backward_ns : link->end_forward_ns;
    int64_t backward = is_swapped ? link->end_forward_ns : link->end_backward_ns;

    if (has_forward && forward < *forward_ns && forward + *backward_ns >= 0)
        *forward_ns = forward;
    if (has_backward && backward < *backward_ns && *forward_ns + backward >= 0)
        *backward_ns = backward;
}

/* Returns the clock difference that the link shows: the clock of file `to` relative to the clock of file `from`. */
static struct align_clock align_measure(const struct align_work *w, size_t from, size_t to)
{
    const struct align_link *link = align_find_link(w, from, to);
    int64_t forward = from < to ? link->forward_ns : link->backward_ns;
    int64_t backward = from < to ? link->backward_ns : link->forward_ns;
    size_t n_forward = from < to ? link->n_forward : link->n_backward, n = link->n_forward + link->n_backward;
    int64_t same = align_start_of_host(&w->files[to], &w->files[from]);
    struct align_clock c = { .method = n ? ALIGN_ONE_WAY : ALIGN_REFERENCE, .n_frames = n };

    if (!n_forward)
        forward = ENDS_MAX_TIME;
    if (n == n_forward)
        backward = ENDS_MAX_TIME;
    if (n)
        align_narrow(&forward, &backward, link, from > to);
    if (link->n_forward && link->n_backward) {
        c.method = ALIGN_MEASURED;
        c.has_estimate = true;
        c.estimate_ns = (forward - backward) / 2;
        c.uncertainty_ns = llabs(forward + backward) / 2;
        c.offset_ns = c.estimate_ns;
    } else if (n && forward < 0) {
        c.offset_ns = forward;
    } else if (n && backward < 0) {
        c.offset_ns = -backward;
    }
    if (strcmp(w->files[from].host, w->files[to].host) == 0 && llabs(same) < SAME_HOST_NS &&
        (!c.has_estimate || llabs(same - c.estimate_ns) <= c.uncertainty_ns + SAME_CLOCK_NS)) {
        c.method = ALIGN_SAME;
        c.offset_ns = same;
    }
    return c;
}

/* Returns true if `a` is a better link than `b`. */
static bool align_is_better(const struct align_clock *a, const struct align_clock *b)
{
    static const int ranks[] = { [ALIGN_SAME] = 3, [ALIGN_MEASURED] = 2, [ALIGN_ONE_WAY] = 1, [ALIGN_REFERENCE] = 0 };

    if (ranks[a->method] != ranks[b->method])
        return ranks[a->method] > ranks[b->method];
    return a->has_estimate && (!b->has_estimate || a->uncertainty_ns < b->uncertainty_ns);
}

/* Aligns the file with the best link to an aligned file. Returns false if no remaining file has such a link. */
static bool align_extend(struct align_work *w)
{
    size_t n = w->align->n_files, from = 0, to = 0;
    struct align_clock best = { .method = ALIGN_REFERENCE }, c;

    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            if (!w->is_aligned[i] || w->is_aligned[j])
                continue;
            c = align_measure(w, i, j);
            if (!align_is_better(&c, &best))
                continue;
            best = c;
            from = i;
            to = j;
        }
    }
    if (best.method == ALIGN_REFERENCE)
        return false;
    c = w->align->clocks[from];
    best.offset_ns = ends_limit_time(best.offset_ns + c.offset_ns);
    best.estimate_ns = ends_limit_time(best.estimate_ns + c.offset_ns);
    best.uncertainty_ns = ends_limit_time(best.uncertainty_ns + (c.method == ALIGN_MEASURED ? c.uncertainty_ns : 0));
    w->align->clocks[to] = best;
    w->component[to] = w->component[from];
    return w->is_aligned[to] = true;
}

static void align_find_clocks(struct align_work *w)
{
    size_t n = w->align->n_files;

    align_find_links(w);
    memset(w->is_aligned, 0, n * sizeof *w->is_aligned);
    for (size_t i = 0; i < n; i++) {
        if (w->is_aligned[i])
            continue;
        w->align->clocks[i] = (struct align_clock){ .method = ALIGN_REFERENCE };
        w->component[i] = i;
        w->is_aligned[i] = true;
        while (align_extend(w))
            ;
    }
}

static struct pairs_offset align_offset_between(const void *context, const struct trace_file *from,
                                                const struct trace_file *to)
{
    const struct align_work *w = context;
    size_t i = (size_t)(from - w->files), j = (size_t)(to - w->files);
    const struct align_clock *a = &w->align->clocks[i], *b = &w->align->clocks[j];

    return (struct pairs_offset){
        .is_known = w->component[i] == w->component[j] && a->method != ALIGN_ONE_WAY && b->method != ALIGN_ONE_WAY,
        .offset_ns = b->offset_ns - a->offset_ns,
        .uncertainty_ns = (a->method == ALIGN_MEASURED ? a->uncertainty_ns : 0) +
                          (b->method == ALIGN_MEASURED ? b->uncertainty_ns : 0),
    };
}

/* ---- the whole alignment ---- */

/* Matches the frames of all connections whose two ends were found. Returns false if out of memory. */
static bool align_match(const struct align_work *w)
{
    struct align *a = w->align;
    bool ok = true;

    for (size_t i = 0; i < w->records->count; i++)
        a->partner[i] = END_NONE;
    for (size_t i = 0; ok && i < a->ends.count; i++) {
        const struct end *from = &a->ends.ends[i], *to;

        if (from->other == END_NONE)
            continue;
        to = &a->ends.ends[from->other];
        ok = match_frames(w->records, from, to, pairs_is_whole(from->file) && pairs_is_whole(to->file), a->partner);
    }
    return ok;
}

/*
 * Calls trace_records_sort. Returns an array that contains, for each old index of a record, the new index. Returns NULL
 * if out of memory.
 */
static size_t *align_sort_records(struct trace_records *records)
{
    size_t n = records->count, *moved = malloc((n + 1) * sizeof *moved), *at = malloc((n + 1) * sizeof *at);

    for (size_t i = 0; moved && i < n; i++)
        moved[i] = records->records[i].order;
    if (moved && at) {
        trace_records_sort(records);
        for (size_t i = 0; i < n; i++)
            at[records->records[i].order] = i;
        for (size_t i = 0; i < n; i++)
            moved[i] = at[moved[i]];
    } else {
        free(moved);
        moved = NULL;
    }
    free(at);
    return moved;
}

/* Sorts the records by the aligned time, and updates all indexes of records. Returns false if out of memory. */
static bool align_sort(struct align *a, struct trace_records *records)
{
    size_t *partner = malloc((records->count + 1) * sizeof *partner), *moved = align_sort_records(records);
    bool ok = partner && moved && ends_renumber(&a->ends, moved);

    for (size_t i = 0; ok && i < records->count; i++)
        partner[moved[i]] = a->partner[i] == END_NONE ? END_NONE : moved[a->partner[i]];
    free(moved);
    if (!ok) {
        free(partner);
        return false;
    }
    free(a->partner);
    a->partner = partner;
    return true;
}

static void align_count_early(const struct align_work *w, size_t sent)
{
    const struct trace_record *from = &w->records->records[sent];
    const struct trace_record *to = &w->records->records[w->align->partner[sent]];
    size_t i = (size_t)(from->file - w->files), j = (size_t)(to->file - w->files);

    if (trace_record_realtime(to) < trace_record_realtime(from))
        w->align->clocks[i < j ? j : i].n_early++;
}

static bool align_run(struct align_work *w, struct trace_file *files, struct trace_records *records)
{
    struct align *a = w->align;
    bool ok = ends_find(&a->ends, records) && pairs_find(&a->ends, records, NULL, NULL) && align_match(w);

    if (!ok)
        return false;
    align_find_clocks(w);
    if (!pairs_find(&a->ends, records, align_offset_between, w) || !align_match(w))
        return false;
    align_find_clocks(w);
    for (size_t i = 0; i < a->n_files; i++)
        files[i].offset_ns = a->clocks[i].offset_ns;
    if (!align_sort(a, records))
        return false;
    align_for_each_sent(w, align_count_early);
    return true;
}

bool align_create(struct align *a, struct trace_file *files, size_t n_files, struct trace_records *records)
{
    struct align_work w = { .align = a, .files = files, .records = records };
    bool ok;

    *a = (struct align){ .n_files = n_files };
    for (size_t i = 0; i < n_files; i++)
        files[i].offset_ns = 0;
    trace_records_sort(records);
    a->partner = malloc((records->count + 1) * sizeof *a->partner);
    a->clocks = calloc(n_files, sizeof *a->clocks);
    w.links = calloc(n_files * n_files, sizeof *w.links);
    w.component = calloc(n_files, sizeof *w.component);
    w.is_aligned = calloc(n_files, sizeof *w.is_aligned);
    ok = a->partner && a->clocks && w.links && w.component && w.is_aligned && align_run(&w, files, records);
    free(w.links);
    free(w.component);
    free(w.is_aligned);
    if (!ok)
        align_free(a);
    return ok;
}

void align_free(struct align *a)
{
    ends_free(&a->ends);
    free(a->partner);
    free(a->clocks);
    *a = (struct align){ 0 };
}

/* ---- output ---- */

/* Writes a duration, for example "1.234567 s" or "12.5 us". */
static const char *align_time_text(int64_t ns, char text[32])
{
    double size = fabs((double)ns);
    const char *unit = size >= 1e9 ? "s" : size >= 1e6 ? "ms" : "us";

    snprintf(text, 32, "%.*f %s", size >= 1e9 ? 6 : 3, size / (size >= 1e9 ? 1e9 : size >= 1e6 ? 1e6 : 1e3), unit);
    return text;
}

static void align_print_offset(FILE *out, int64_t offset_ns)
{
    char text[32];

    fprintf(out, "%s %s", align_time_text(offset_ns, text), offset_ns < 0 ? "behind" : "ahead");
}

static void align_print_process(FILE *out, const struct trace_file *f)
{
    char host[sizeof f->host * PRINTABLE_MAX_GROWTH];

    (void)printable_copy(host, sizeof host, f->host, strlen(f->host));
    fprintf(out, "process %" PRIu32 " on %s", f->pid, host);
}

/* Writes the offset, its range if that is wide, and how exactly times of the two clocks can be compared. */
static void align_print_measured(FILE *out, const struct align_clock *c)
{
    char uncertainty[32];

    fputs("about ", out);
    align_print_offset(out, c->estimate_ns);
    fputs(" (", out);
    if (c->uncertainty_ns > llabs(c->estimate_ns) / 2) {
        align_print_offset(out, c->estimate_ns - c->uncertainty_ns);
        fputs(" to ", out);
        align_print_offset(out, c->estimate_ns + c->uncertainty_ns);
        fputs(", ", out);
    }
    fprintf(out, "from %zu frames), and the times are corrected; compare times of the two clocks only to +-%s",
            c->n_frames, align_time_text(c->uncertainty_ns, uncertainty));
}

static void align_print_clock(FILE *out, const struct align_clock *c, const struct trace_file *f,
                              const struct trace_file *reference)
{
    char uncertainty[32];

    fputs("# clock of ", out);
    align_print_process(out, f);
    fputs(c->method == ALIGN_SAME ? ": the same as of " : ", compared with ", out);
    align_print_process(out, reference);
    fputs(c->method == ALIGN_SAME ? "" : ": ", out);
    if (c->method == ALIGN_REFERENCE)
        fputs("unknown, because the traces have no connection in common; no difference is assumed", out);
    if (c->method == ALIGN_ONE_WAY) {
        fprintf(out, "unknown, because frames went in one direction only (%zu); ", c->n_frames);
        if (c->offset_ns)
            align_print_offset(out, c->offset_ns);
        else
            fputs("no difference", out);
        fputs(" is assumed", out);
    }
    if (c->method == ALIGN_SAME && c->has_estimate) {
        fprintf(out, "; %zu frames say ", c->n_frames);
        align_print_offset(out, c->estimate_ns);
        fprintf(out, ", +-%s", align_time_text(c->uncertainty_ns, uncertainty));
    }
    if (c->method == ALIGN_MEASURED)
        align_print_measured(out, c);
    if (c->n_early)
        fprintf(out, "; the clocks drift: %zu frames seem to arrive before they were sent", c->n_early);
    fputc('\n', out);
}

void align_print(FILE *out, const struct align *a, const struct trace_file *files)
{
    for (size_t i = 1; i < a->n_files; i++)
        align_print_clock(out, &a->clocks[i], &files[i], &files[0]);
}
