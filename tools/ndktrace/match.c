/* SPDX-License-Identifier: MIT */
/*
 * Matches frames: see match.h. Both files contain the frames of a direction in the same order. If newer events have
 * overwritten some frames in a file, the unique frames show which frames are missing. A frame is unique if it has a
 * message number.
 */
#include "match.h"

#include <stdlib.h>
#include <string.h>

#include "trace_reader/value.h"

struct match_frame {
    uint64_t key; /* hash of the fields that both ends record with equal values */
    bool is_bad;  /* the receiver found a wrong CRC, so the contents may differ */
    bool is_unique;
};

struct match_list {
    size_t count;
    const size_t *records;
    struct match_frame *frames;
};

static uint64_t match_hash(uint64_t hash, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/*
 * Describes an FPDU. The key is a hash of all fields except direction, CRC and bytes, which differ between the two
 * ends.
 */
static struct match_frame match_describe(const struct trace_record *r)
{
    struct match_frame f = { .key = UINT64_C(0xcbf29ce484222325) };
    const char *event = ends_event_name(r);
    struct value_cursor c = { 0 };
    struct value v;

    f.key = match_hash(f.key, event, strlen(event));
    f.is_unique = strcmp(event, "untagged") == 0;
    while (value_next(r, &c, &v)) {
        if (strcmp(v.field->name, "crc") == 0)
            f.is_bad = v.name && strcmp(v.name, "bad") == 0;
        else if (strcmp(v.field->name, "direction") != 0 && v.field->kind != KIND_BYTES)
            f.key = match_hash(f.key, &v.number, sizeof v.number);
    }
    return f;
}

static bool match_list_create(struct match_list *l, const struct trace_records *records, const struct end_list *from)
{
    *l = (struct match_list){ .count = from->count, .records = from->records };
    l->frames = calloc(from->count + 1, sizeof *l->frames);
    for (size_t i = 0; l->frames && i < from->count; i++)
        l->frames[i] = match_describe(&records->records[from->records[i]]);
    return l->frames != NULL;
}

static void match_set(size_t *partner, size_t sent, size_t received)
{
    partner[sent] = received;
    partner[received] = sent;
}

/* Matches frames in their order, up to the first frame that differs. */
static void match_in_order(const struct match_list *sent, const struct match_list *received, size_t *partner)
{
    for (size_t i = 0; i < sent->count && i < received->count; i++) {
        if (sent->frames[i].key != received->frames[i].key && !received->frames[i].is_bad)
            return;
        match_set(partner, sent->records[i], received->records[i]);
    }
}

/*
 * Matches `n` sent frames from position s with `n` received frames from position r, if the frames of each pair are
 * equal.
 */
static void match_run(const struct match_list *sent, size_t s, const struct match_list *received, size_t r, size_t n,
                      size_t *partner)
{
    for (size_t i = 0; i < n; i++)
        if (sent->frames[s + i].key != received->frames[r + i].key)
            return;
    for (size_t i = 0; i < n; i++)
        match_set(partner, sent->records[s + i], received->records[r + i]);
}

struct match_anchor {
    uint64_t key;
    size_t at;
};

static int match_anchor_compare(const void *left, const void *right)
{
    const struct match_anchor *a = left, *b = right;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Returns the unique frames of the list, sorted by key, and sets *n to their number. Returns NULL if out of memory. */
static struct match_anchor *match_find_anchors(const struct match_list *l, size_t *n)
{
    struct match_anchor *anchors = calloc(l->count + 1, sizeof *anchors);

    *n = 0;
    for (size_t i = 0; anchors && i < l->count; i++)
        if (l->frames[i].is_unique)
            anchors[(*n)++] = (struct match_anchor){ l->frames[i].key, i };
    if (*n)
        qsort(anchors, *n, sizeof *anchors, match_anchor_compare);
    return anchors;
}

/*
 * Matches the unique frames. Also matches the frames between two neighbouring unique frames, if both files have the
 * same number of frames there. The beginning and the end of the lists count as unique frames.
 */
static bool match_around_gaps(const struct match_list *sent, const struct match_list *received, size_t *partner)
{
    /* s and r: in `sent` and `received`, the index after the last unique frame that was matched. */
    size_t n, s = 0, r = 0;
    struct match_anchor *anchors = match_find_anchors(received, &n);

    if (!anchors)
        return false;
    for (size_t i = 0; i < sent->count && n; i++) {
        struct match_anchor wanted = { sent->frames[i].key, r };
        const struct match_anchor *a = anchors;
        size_t rest = n;

        if (!sent->frames[i].is_unique)
            continue;
        while (rest) { /* binary search for the first anchor that is not less than `wanted` */
            const struct match_anchor *middle = a + rest / 2;
            bool is_less = match_anchor_compare(middle, &wanted) < 0;

            a = is_less ? middle + 1 : a;
            rest = is_less ? rest - rest / 2 - 1 : rest / 2;
        }
        if (a == anchors + n || a->key != wanted.key)
            continue;
        if (i - s == a->at - r)
            match_run(sent, s, received, r, i - s, partner);
        match_set(partner, sent->records[i], received->records[a->at]);
        s = i + 1;
        r = a->at + 1;
    }
    if (sent->count - s == received->count - r)
        match_run(sent, s, received, r, sent->count - s, partner);
    free(anchors);
    return true;
}

/* ---- start-up frames ---- */

/*
 * Returns true if both records contain the same start-up frame. If the bytes are no valid frame, a record may contain
 * only the first of them.
 */
static bool match_is_same_startup(const struct trace_record *a, const struct trace_record *b)
{
    struct value x, y;

    if (!value_find(a, "bytes", &x) || !value_find(b, "bytes", &y) || x.field->kind != KIND_BYTES ||
        y.field->kind != KIND_BYTES)
        return false;
    return memcmp(x.bytes, y.bytes, x.size < y.size ? x.size : y.size) == 0;
}

/* Matches the start-up frame that one end sent with the start-up frame that the other end received. */
static void match_startup(const struct trace_records *records, const struct end_list *sent,
                          const struct end_list *received, size_t *partner)
{
    if (sent->count && received->count &&
        match_is_same_startup(&records->records[sent->records[0]], &records->records[received->records[0]]))
        match_set(partner, sent->records[0], received->records[0]);
}

bool match_frames(const struct trace_records *records, const struct end *from, const struct end *to, bool is_whole,
                  size_t *partner)
{
    struct match_list sent, received = { 0 };
    bool ok = match_list_create(&sent, records, &from->lists[END_FPDUS_SENT]) &&
              match_list_create(&received, records, &to->lists[END_FPDUS_RECEIVED]);

    match_startup(records, &from->lists[END_MPA_SENT], &to->lists[END_MPA_RECEIVED], partner);
    if (ok && is_whole)
        match_in_order(&sent, &received, partner);
    else if (ok)
        ok = match_around_gaps(&sent, &received, partner);
    free(sent.frames);
    free(received.frames);
    return ok;
}

/*
 * Returns true if the received start-up frame can be the one that the other end sent, or if none was received. If
 * `is_whole` is true, neither file lacks events.
 */
static bool match_explains(const struct trace_records *records, const struct end_list *sent,
                           const struct end_list *received, bool is_whole)
{
    if (!received->count)
        return true;
    if (!sent->count)
        return !is_whole;
    return match_is_same_startup(&records->records[sent->records[0]], &records->records[received->records[0]]);
}

bool match_is_possible(const struct trace_records *records, const struct end *initiator, const struct end *acceptor,
                       bool is_whole)
{
    return match_explains(records, &initiator->lists[END_MPA_SENT], &acceptor->lists[END_MPA_RECEIVED], is_whole) &&
           match_explains(records, &acceptor->lists[END_MPA_SENT], &initiator->lists[END_MPA_RECEIVED], is_whole);
}
