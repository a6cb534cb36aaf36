/* SPDX-License-Identifier: MIT */
/*
 * Converts events to packets. The invariant: a TCP connection's sequence numbers grow by exactly the number of bytes in
 * its frames, so a reader of the capture finds each frame in the TCP stream. The packets of the TCP handshake are
 * created no later than the connection's first byte.
 *
 * If a trace contains both ends of a connection, only the initiator's events become packets.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "packets.h"

#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "pcapng.h"
#include "roce.h"
#include "base/printable.h"
#include "trace_reader/value.h"

enum { MAX_COMMENT = 200 };

struct packet {
    uint64_t time_ns;
    uint32_t interface, captured, original;
    uint8_t *bytes;
    char *comment;
};

/* A network interface in a trace file. */
struct packets_interface {
    const struct trace_file *file;
    uint64_t index;
    char name[VALUE_MAX_TEXT];
};

struct packets {
    size_t count, room, n_interfaces, left_out;
    struct packet *packets;
    void *flows;      /* a tree (search.h) of flows, sorted by file and connection number */
    void *initiators; /* a tree of the flows with is_initiator, sorted by addresses */
    struct packets_interface *interfaces;
    struct packets_style style;
    uint32_t n_roce; /* number of struct roce that were created; the next one gets this number */
    bool is_out_of_memory;
};

/* Enlarges the array to count + 1 elements. Returns the new array, or NULL if out of memory. */
static void *packets_grow(struct packets *p, void *array, size_t count, size_t size)
{
    void *grown = reallocarray(array, count + 1, size);

    p->is_out_of_memory = p->is_out_of_memory || !grown;
    return grown;
}

/* Returns true if there is room for another packet, and false if out of memory. */
static bool packets_has_room(struct packets *p)
{
    size_t room = p->room ? 2 * p->room : 1024;
    struct packet *grown;

    if (p->count < p->room)
        return true;
    grown = reallocarray(p->packets, room, sizeof *grown);
    if (!grown)
        return false;
    p->packets = grown;
    p->room = room;
    return true;
}

/* Stores a copy of a packet of the flow. Returns the packet's bytes as flow_emit does. */
static uint8_t *packets_add(struct packets *p, struct flow *f, uint64_t time_ns, const struct flow_packet *made)
{
    uint8_t *bytes = packets_has_room(p) ? malloc(made->captured) : NULL;
    char *comment = bytes && made->comment ? strdup(made->comment) : NULL;

    if (!bytes || (made->comment && !comment)) {
        free(bytes);
        p->is_out_of_memory = true;
        return NULL;
    }
    memcpy(bytes, made->bytes, made->captured);
    p->packets[p->count] = (struct packet){ .time_ns = time_ns,
                                            .interface = f->interface,
                                            .captured = made->captured,
                                            .original = made->original,
                                            .bytes = bytes,
                                            .comment = comment };
    f->last_packet = ++p->count;
    return bytes;
}

/* ---- interfaces ---- */

static struct packets_interface *packets_find_interface(struct packets *p, const struct trace_file *file,
                                                        uint64_t index)
{
    for (size_t i = 0; i < p->n_interfaces; i++)
        if (p->interfaces[i].file == file && p->interfaces[i].index == index)
            return &p->interfaces[i];
    return NULL;
}

/*
 * Adds the interface if it is new. If `name` is not NULL, sets the interface's name. Returns the interface's number in
 * the capture.
 */
static uint32_t packets_add_interface(struct packets *p, const struct trace_file *file, uint64_t index,
                                      const struct value *name)
{
    struct packets_interface *found = packets_find_interface(p, file, index), *grown;

    if (!found) {
        grown = packets_grow(p, p->interfaces, p->n_interfaces, sizeof *grown);
        if (!grown)
            return 0;
        p->interfaces = grown;
        found = &grown[p->n_interfaces++];
        *found = (struct packets_interface){ .file = file, .index = index };
        snprintf(found->name, sizeof found->name, "interface %" PRIu64, index);
    }
    if (name)
        (void)value_text(name, found->name);
    return (uint32_t)(found - p->interfaces);
}

/* ---- flows ---- */

static int packets_compare_ids(const void *left, const void *right)
{
    const struct flow *a = left, *b = right;

    if (a->file != b->file)
        return (uintptr_t)a->file < (uintptr_t)b->file ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/*
 * Returns the tree's flow that equals *f. If there is none, inserts a copy of *f and returns the copy. Returns NULL if
 * out of memory.
 */
static struct flow *packets_insert_flow(struct packets *p, void **tree, const struct flow *f,
                                        int (*compare)(const void *, const void *))
{
    struct flow *copy = malloc(sizeof *copy), **node = NULL, *found = NULL;

    if (copy) {
        *copy = *f;
        node = tsearch(copy, tree, compare);
    }
    if (node)
        found = *node;
    if (found != copy || !node)
        free(copy);
    p->is_out_of_memory = p->is_out_of_memory || !node;
    return found;
}

static struct flow *packets_find_flow(const struct packets *p, const struct trace_record *r)
{
    struct flow key = { .file = r->file, .id = r->id };
    struct flow *const *node = tfind(&key, &p->flows, packets_compare_ids);

    return node ? *node : NULL;
}

/* Returns true and initializes *f if the event begins a connection that the filter accepts. */
static bool packets_is_beginning(const struct filter *filter, const struct trace_record *r, struct flow *f)
{
    return r->id && filter_has_connection(filter, r->id) && r->event && strcmp(r->event->name, "connection") == 0 &&
           flow_begin(f, r);
}

/*
 * If the event begins a connection at its initiator, adds the initiator's flow to p->initiators. Must be called for all
 * records before flows are created: the acceptor's events may come first, because the clocks of two hosts differ.
 */
static void packets_note_initiator(struct packets *p, const struct filter *filter, const struct trace_record *r)
{
    struct flow f;

    if (packets_is_beginning(filter, r, &f) && f.is_initiator)
        (void)packets_insert_flow(p, &p->initiators, &f, flow_compare_ends);
}

static void packets_begin_flow(struct packets *p, const struct trace_record *r, struct flow *f)
{
    struct flow other = flow_other_end(f), *stored;
    struct value interface = { 0 };

    (void)value_find(r, "interface", &interface);
    f->max_filled = p->style.max_filled;
    f->interface = packets_add_interface(p, r->file, interface.number, NULL);
    f->is_duplicate = !f->is_initiator && tfind(&other, &p->initiators, flow_compare_ends);
    stored = packets_insert_flow(p, &p->flows, f, packets_compare_ids);
    if (!stored)
        return;
    /* If a connector connects again, the new connection has the same number, and its flow replaces the old one. */
    roce_destroy(stored->roce);
    *stored = *f;
    if (!p->style.is_roce)
        return;
    stored->roce = roce_create(p->n_roce++);
    p->is_out_of_memory = p->is_out_of_memory || !stored->roce;
}

/* Adds a comment to the connection's last packet: how the connection was established, or why it ended. */
static void packets_comment(struct packets *p, const struct flow *f, const struct trace_record *r)
{
    char text[MAX_COMMENT], words[3][VALUE_MAX_TEXT] = { "", "", "" }, *joined;
    static const char *const names[] = { "outcome", "phase", "why" };
    struct packet *packet;
    struct value v;

    if (!f->last_packet)
        return;
    for (unsigned i = 0; i < 3; i++)
        if (value_find(r, names[i], &v))
            (void)value_text(&v, words[i]);
    packet = &p->packets[f->last_packet - 1];
    if (strcmp(words[2], "ok") == 0)
        snprintf(text, sizeof text, "connection %" PRIu32 ": %.40s", r->id, words[0]);
    else
        snprintf(text, sizeof text, "connection %" PRIu32 ": %.40s in phase %.40s: %.40s", r->id, words[0], words[1],
                 words[2]);
    if (asprintf(&joined, "%s%s%s", packet->comment ? packet->comment : "", packet->comment ? "; " : "", text) < 0) {
        p->is_out_of_memory = true;
        return;
    }
    free(packet->comment);
    packet->comment = joined;
}

/* ---- records ---- */

static uint8_t *packets_emit(void *context, struct flow *f, uint64_t time_ns, const struct flow_packet *made)
{
    return packets_add(context, f, time_ns, made);
}

static void packets_handle(struct packets *p, const struct filter *filter, const struct trace_record *r)
{
    const char *event = r->event ? r->event->name : "";
    struct value index, name;
    struct flow *f, begun;

    if (strcmp(event, "adapter") == 0 && value_find(r, "interface", &index) && value_find(r, "name", &name))
        (void)packets_add_interface(p, r->file, index.number, &name);
    if (!r->id || !filter_has_connection(filter, r->id))
        return;
    if (packets_is_beginning(filter, r, &begun))
        packets_begin_flow(p, r, &begun);
    f = packets_find_flow(p, r);
    if (!f) {
        begun = (struct flow){ .file = r->file, .id = r->id, .is_duplicate = true };
        f = packets_insert_flow(p, &p->flows, &begun, packets_compare_ids);
        p->left_out++;
    }
    if (!f || f->is_duplicate)
        return;
    if (!f->roce)
        flow_handle(f, r, packets_emit, p);
    else if (!roce_handle(f, r, packets_emit, p))
        p->is_out_of_memory = true;
    if (strcmp(event, "outcome") == 0)
        packets_comment(p, f, r);
}

static void packets_free_flow(void *flow)
{
    struct flow *f = flow;

    roce_destroy(f->roce);
    free(f);
}

struct packets *packets_create(const struct filter *filter, const struct packets_style *style,
                               const struct trace_records *records)
{
    struct packets *p = calloc(1, sizeof *p);

    if (p)
        p->style = *style;
    for (size_t i = 0; p && !p->is_out_of_memory && i < records->count; i++)
        packets_note_initiator(p, filter, &records->records[i]);
    for (size_t i = 0; p && !p->is_out_of_memory && i < records->count; i++)
        packets_handle(p, filter, &records->records[i]);
    if (p && p->is_out_of_memory) {
        packets_destroy(p);
        return NULL;
    }
    return p;
}

void packets_destroy(struct packets *p)
{
    for (size_t i = 0; i < p->count; i++) {
        free(p->packets[i].bytes);
        free(p->packets[i].comment);
    }
    free(p->packets);
    tdestroy(p->flows, packets_free_flow);
    tdestroy(p->initiators, free);
    free(p->interfaces);
    free(p);
}

size_t packets_count(const struct packets *p)
{
    return p->count;
}

size_t packets_left_out(const struct packets *p)
{
    return p->left_out;
}

void packets_write(const struct packets *p, FILE *out)
{
    char program[65], host[65], description[160];

    pcapng_begin(out, "ndktrace (OpenNDK) " TOOL_VERSION);
    for (size_t i = 0; i < p->n_interfaces; i++) {
        const struct packets_interface *n = &p->interfaces[i];

        (void)printable_copy(program, sizeof program, n->file->program, strlen(n->file->program));
        (void)printable_copy(host, sizeof host, n->file->host, strlen(n->file->host));
        snprintf(description, sizeof description, "%s, process %" PRIu32 " on %s", program, n->file->pid, host);
        pcapng_add_interface(out, n->name, description);
    }
    for (size_t i = 0; i < p->count; i++) {
        const struct packet *packet = &p->packets[i];

        pcapng_add_packet(out, packet->interface, packet->time_ns, packet->bytes, packet->captured, packet->original,
                          packet->comment);
    }
}
