/* SPDX-License-Identifier: MIT */
/*
 * Assigns calls to connections: see owners.h. The records are read once, in the order of time, and each record is
 * assigned an owner. An owner stands for one connection. Sometimes only a later record shows the connection's number.
 * At the end, the owners' numbers are stored in the records. The invariant: only owners_destroy frees memory, so every
 * pointer remains valid.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* tdestroy */
#endif
#include "owners.h"

#include <search.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "trace_reader/value.h"

enum {
    STATUS_PENDING = 0x103,
    MAX_DEPTH = 16, /* maximum number of parents above an owner; only a damaged file has more */
};

/* One connection, or an attempt to connect. */
struct owner {
    uint32_t id;          /* number of the connection; 0: as `parent`, or not known if `parent` is NULL */
    struct owner *parent; /* NULL: none */
};

struct owner_object {
    const struct trace_file *file;
    uint64_t address;
    struct owner *owner;
    /* Only for a queue pair: */
    /* The queue pair's completion queues; NULL: not known; [1] is NULL if it equals [0]. */
    struct owner_object *queues[2];
    uint64_t qp_context;
    bool is_bound; /* a connector has used the queue pair, so `owner` leads to the connector's connection */
    /* Only for a completion queue: */
    size_t n_users;
    void *users; /* a tree of struct owner_user, sorted by qp_context */
};

/* The queue pairs that use one completion queue and have the same qp_context. */
struct owner_user {
    uint64_t qp_context;
    size_t count;
    struct owner_object *qp; /* one of these queue pairs */
};

/* A call of NdkCreateQp or NdkCreateQpWithSrq that has not completed. */
struct owner_create {
    struct owner_create *next;
    const struct trace_file *file;
    uint64_t object, queues[2], qp_context;
    uint64_t context; /* context of the pending call; 0: the call has not returned yet */
};

/* A call or callback that has not returned. */
struct owner_frame {
    uint64_t object;
    struct owner *owner;
    struct owner_create *create; /* the entry of a call that creates a queue pair; NULL for other calls */
    bool is_callback;
};

struct owner_thread {
    const struct trace_file *file;
    uint32_t id;
    size_t n_frames, room;
    struct owner_frame *frames;
};

struct owner_block {
    struct owner_block *next;
    max_align_t memory[];
};

struct owners {
    struct owner_block *blocks;
    void *objects, *threads; /* trees */
    struct owner_create *creates;
    bool is_out_of_memory;
};

/* ---- memory ---- */

/* Returns zeroed memory. If out of memory, sets is_out_of_memory and returns NULL. */
static void *owners_alloc(struct owners *o, size_t size)
{
    struct owner_block *b = calloc(1, sizeof *b + size);

    if (!b) {
        o->is_out_of_memory = true;
        return NULL;
    }
    b->next = o->blocks;
    o->blocks = b;
    return b->memory;
}

/* Does nothing. This is the argument of tdestroy, because owners_destroy frees the elements of the trees. */
static void owner_keep(void *element)
{
    (void)element;
}

static struct owner *owner_new(struct owners *o, uint32_t id, struct owner *parent)
{
    struct owner *w = owners_alloc(o, sizeof *w);

    if (w)
        *w = (struct owner){ .id = id, .parent = parent };
    return w;
}

static uint32_t owner_id(const struct owner *w)
{
    for (unsigned depth = 0; w && !w->id && depth < MAX_DEPTH; depth++)
        w = w->parent;
    return w ? w->id : 0;
}

/* ---- objects ---- */

static int owner_object_compare(const void *left, const void *right)
{
    const struct owner_object *a = left, *b = right;

    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return a->address < b->address ? -1 : a->address > b->address;
}

static int owner_user_compare(const void *left, const void *right)
{
    const struct owner_user *a = left, *b = right;

    return a->qp_context < b->qp_context ? -1 : a->qp_context > b->qp_context;
}

/* Returns the object, or NULL if it is not known. */
static struct owner_object *owner_object_find(const struct owners *o, const struct trace_file *file, uint64_t address)
{
    struct owner_object wanted = { .file = file, .address = address }, **found;

    found = tfind(&wanted, &o->objects, owner_object_compare);
    return found ? *found : NULL;
}

/* Returns the object. If it is not known, adds it. Returns NULL if out of memory. */
static struct owner_object *owner_object_get(struct owners *o, const struct trace_file *file, uint64_t address)
{
    struct owner_object *found = owner_object_find(o, file, address);

    if (found)
        return found;
    found = owners_alloc(o, sizeof *found);
    if (!found)
        return NULL;
    *found = (struct owner_object){ .file = file, .address = address, .owner = owner_new(o, 0, NULL) };
    if (!found->owner || !tsearch(found, &o->objects, owner_object_compare))
        o->is_out_of_memory = true;
    return o->is_out_of_memory ? NULL : found;
}

static void owner_queue_remove(struct owner_object *cq, const struct owner_object *qp)
{
    struct owner_user wanted = { .qp_context = qp->qp_context };
    struct owner_user **found = cq ? tfind(&wanted, &cq->users, owner_user_compare) : NULL;

    if (!found)
        return;
    cq->n_users--;
    if (--(*found)->count == 0)
        (void)tdelete(&wanted, &cq->users, owner_user_compare);
}

static void owner_queue_add(struct owners *o, struct owner_object *cq, struct owner_object *qp)
{
    struct owner_user *user = owners_alloc(o, sizeof *user), **found;

    if (!user)
        return;
    *user = (struct owner_user){ .qp_context = qp->qp_context };
    found = tsearch(user, &cq->users, owner_user_compare);
    if (!found) {
        o->is_out_of_memory = true;
        return;
    }
    (*found)->qp = qp;
    (*found)->count++;
    cq->n_users++;
}

/*
 * Removes an object. Must be called when the object has been closed, or when another object was created at its address.
 */
static void owner_object_end(struct owners *o, const struct trace_file *file, uint64_t address)
{
    struct owner_object *ended = owner_object_find(o, file, address);

    if (!ended)
        return;
    for (size_t i = 0; i < 2; i++)
        owner_queue_remove(ended->queues[i], ended);
    tdestroy(ended->users, owner_keep);
    ended->users = NULL;
    ended->n_users = 0;
    (void)tdelete(ended, &o->objects, owner_object_compare);
}

static struct owner_object *owner_object_begin(struct owners *o, const struct trace_file *file, uint64_t address)
{
    owner_object_end(o, file, address);
    return owner_object_get(o, file, address);
}

/* Returns the owner of calls on an object. Returns NULL for a completion queue that several queue pairs use. */
static struct owner *owner_of(const struct owner_object *object)
{
    const struct owner_user *only;

    if (!object || object->n_users > 1)
        return NULL;
    if (object->n_users == 0)
        return object->owner;
    /* The tree has one node, and a node begins with a pointer to its element. */
    only = *(struct owner_user *const *)object->users;
    return only->qp->owner;
}

/* Returns the owner of a result that was polled from `cq`, or NULL. */
static struct owner *owner_of_result(const struct owner_object *cq, uint64_t qp_context)
{
    struct owner_user wanted = { .qp_context = qp_context }, **found;

    if (!cq || cq->n_users < 2)
        return owner_of(cq);
    found = tfind(&wanted, &cq->users, owner_user_compare);
    return found && (*found)->count == 1 ? (*found)->qp->owner : NULL;
}

/* ---- the fields of a record ---- */

/* Returns the value of a field, or 0 if the event does not have it. */
static uint64_t owner_field(const struct trace_record *r, const char *name)
{
    struct value v;

    return value_find(r, name, &v) ? v.number : 0;
}

static bool owner_has_routine(const struct trace_record *r, const char *beginning)
{
    struct value v;

    return value_find(r, "routine", &v) && v.name && strncmp(v.name, beginning, strlen(beginning)) == 0;
}

/* ---- calls that are in progress ---- */

static int owner_thread_compare(const void *left, const void *right)
{
    const struct owner_thread *a = left, *b = right;

    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static struct owner_thread *owner_thread_get(struct owners *o, const struct trace_record *r)
{
    struct owner_thread wanted = { .file = r->file, .id = r->thread }, *t, **found;

    found = tfind(&wanted, &o->threads, owner_thread_compare);
    if (found)
        return *found;
    t = owners_alloc(o, sizeof *t);
    if (!t)
        return NULL;
    *t = wanted;
    if (tsearch(t, &o->threads, owner_thread_compare))
        return t;
    o->is_out_of_memory = true;
    return NULL;
}

static void owner_push(struct owners *o, const struct trace_record *r, struct owner_frame frame)
{
    struct owner_thread *t = owner_thread_get(o, r);

    if (!t)
        return;
    if (t->n_frames == t->room) {
        size_t room = t->room ? 2 * t->room : 4;
        struct owner_frame *frames = owners_alloc(o, room * sizeof *frames);

        if (!frames)
            return;
        if (t->n_frames)
            memcpy(frames, t->frames, t->n_frames * sizeof *frames);
        t->frames = frames;
        t->room = room;
    }
    t->frames[t->n_frames++] = frame;
}

/*
 * Removes the innermost call or callback on the object, and copies it to *out. Returns false if the trace does not
 * contain its beginning.
 */
static bool owner_pop(struct owners *o, const struct trace_record *r, uint64_t object, bool is_callback,
                      struct owner_frame *out)
{
    struct owner_thread *t = owner_thread_get(o, r);

    for (size_t i = t ? t->n_frames : 0; i > 0; i--) {
        if (t->frames[i - 1].object == object && t->frames[i - 1].is_callback == is_callback) {
            *out = t->frames[i - 1];
            t->n_frames = i - 1;
            return true;
        }
    }
    return false;
}

/* ---- queue pairs ---- */

static struct owner_create *owner_begin_create_qp(struct owners *o, const struct trace_record *r)
{
    struct owner_create *c = owners_alloc(o, sizeof *c);

    if (!c)
        return NULL;
    *c = (struct owner_create){ .next = o->creates,
                                .file = r->file,
                                .object = owner_field(r, "object"),
                                .queues = { owner_field(r, "receive_cq"), owner_field(r, "initiator_cq") },
                                .qp_context = owner_field(r, "qp_context") };
    o->creates = c;
    return c;
}

static void owner_end_create_qp(struct owners *o, struct owner_create *ended, struct owner_object *qp)
{
    struct owner_create **at = &o->creates;

    while (*at && *at != ended)
        at = &(*at)->next;
    if (!*at)
        return; /* a completion, recorded before the call returned, has already removed `ended` */
    *at = ended->next;
    if (!qp)
        return;
    qp->qp_context = ended->qp_context;
    for (size_t i = 0; i < 2 && (i == 0 || ended->queues[1] != ended->queues[0]); i++) {
        qp->queues[i] = owner_object_get(o, ended->file, ended->queues[i]);
        if (qp->queues[i])
            owner_queue_add(o, qp->queues[i], qp);
    }
}

/*
 * Returns the create call that the record completes: the call with the record's context. If no call has this context,
 * returns a call that has not returned yet, because such a call's context is not known.
 */
static struct owner_create *owner_find_create_qp(const struct owners *o, const struct trace_record *r)
{
    uint64_t object = owner_field(r, "object"), context = owner_field(r, "context");
    struct owner_create *not_returned = NULL;

    for (struct owner_create *c = o->creates; c; c = c->next) {
        if (c->file != r->file || c->object != object)
            continue;
        if (c->context && c->context == context)
            return c;
        if (!c->context)
            not_returned = c;
    }
    return not_returned;
}

/*
 * Assigns the queue pair's calls to the connector's connection. `connector` is the connector's owner. Called when a
 * connector connects or accepts with a queue pair.
 */
static void owner_bind_qp(struct owners *o, const struct trace_record *r, struct owner *connector)
{
    struct owner_object *qp = owner_object_get(o, r->file, owner_field(r, "qp"));

    if (!qp)
        return;
    /*
     * If is_bound is set, an earlier attempt to connect with this queue pair has failed. The calls of that attempt keep
     * their owner.
     */
    if (qp->is_bound)
        qp->owner = owner_new(o, 0, connector);
    else
        qp->owner->parent = connector;
    qp->is_bound = true;
}

/* ---- events ---- */

/* Returns the owner of the call to which `r` belongs. `r` is the call's first or only record. */
static struct owner *owner_handle_call(struct owners *o, const struct trace_record *r)
{
    const char *name = r->event->name;
    struct owner_object *object = owner_object_get(o, r->file, owner_field(r, "object"));
    bool is_connect = strncmp(name, "NdkConnect", 10) == 0;
    struct owner_frame frame;
    struct value duration;

    if (!object)
        return NULL;
    if (is_connect && object->owner->id)
        object->owner = owner_new(o, 0, object->owner); /* a new attempt to connect */
    if (is_connect || strncmp(name, "NdkAccept", 9) == 0)
        owner_bind_qp(o, r, object->owner);
    frame = (struct owner_frame){ .object = object->address, .owner = owner_of(object) };
    if (strncmp(name, "NdkCreateQp", 11) == 0)
        frame.create = owner_begin_create_qp(o, r);
    if (!value_find(r, "duration", &duration))
        owner_push(o, r, frame);
    return frame.owner;
}

static struct owner *owner_handle_returned(struct owners *o, const struct trace_record *r)
{
    uint64_t address = owner_field(r, "object"), created = owner_field(r, "created");
    bool is_pending = owner_field(r, "status") == STATUS_PENDING;
    struct owner_object *object = NULL;
    struct owner_frame frame;

    if (!owner_pop(o, r, address, false, &frame))
        frame = (struct owner_frame){ .owner = owner_of(owner_object_find(o, r->file, address)) };
    if (created)
        object = owner_object_begin(o, r->file, created);
    if (frame.create && is_pending)
        frame.create->context = owner_field(r, "context");
    else if (frame.create)
        owner_end_create_qp(o, frame.create, object);
    if (!is_pending && owner_has_routine(r, "NdkClose"))
        owner_object_end(o, r->file, address);
    return object ? object->owner : frame.owner;
}

static struct owner *owner_handle_completed(struct owners *o, const struct trace_record *r)
{
    uint64_t address = owner_field(r, "object"), created = owner_field(r, "created");
    struct owner *owner = owner_of(owner_object_find(o, r->file, address));
    struct owner_create *create = owner_has_routine(r, "NdkCreateQp") ? owner_find_create_qp(o, r) : NULL;
    struct owner_object *object = created ? owner_object_begin(o, r->file, created) : NULL;

    owner = object ? object->owner : owner;
    if (create)
        owner_end_create_qp(o, create, object);
    owner_push(o, r, (struct owner_frame){ .object = address, .owner = owner, .is_callback = true });
    if (owner_has_routine(r, "NdkClose"))
        owner_object_end(o, r->file, address);
    return owner;
}

/*
 * Handles an event that already contains a connection's number: stores the number in the owner of the event's object.
 * Returns NULL, because the record needs no owner. `is_new` is true if the event creates the object.
 */
static struct owner *owner_handle_connection(struct owners *o, const struct trace_record *r, bool is_new)
{
    uint64_t address = owner_field(r, "object");
    struct owner_object *object = NULL;

    if (address)
        object = is_new ? owner_object_begin(o, r->file, address) : owner_object_get(o, r->file, address);
    if (object && object->owner->id && object->owner->id != r->id)
        object->owner = owner_new(o, r->id, object->owner);
    else if (object)
        object->owner->id = r->id;
    return NULL;
}

static struct owner *owner_handle_callback(struct owners *o, const struct trace_record *r)
{
    uint64_t address = owner_field(r, "object"), connector = owner_field(r, "connector");
    struct owner *owner = owner_of(owner_object_find(o, r->file, connector ? connector : address));

    owner_push(o, r, (struct owner_frame){ .object = address, .owner = owner, .is_callback = true });
    return owner;
}

static struct owner *owner_handle(struct owners *o, const struct trace_record *r)
{
    const char *name = r->event ? r->event->name : "";
    struct owner_frame frame;

    if (strncmp(name, "Ndk", 3) == 0)
        return owner_handle_call(o, r);
    if (strcmp(name, "returned") == 0)
        return owner_handle_returned(o, r);
    if (strcmp(name, "completed") == 0)
        return owner_handle_completed(o, r);
    if (strcmp(name, "callback_returned") == 0)
        return owner_pop(o, r, owner_field(r, "object"), true, &frame) ? frame.owner : NULL;
    if (strcmp(name, "result") == 0)
        return owner_of_result(owner_object_find(o, r->file, owner_field(r, "object")), owner_field(r, "qp_context"));
    if (strcmp(name, "connection") == 0 || strcmp(name, "connector") == 0)
        return owner_handle_connection(o, r, strcmp(name, "connector") == 0);
    if (strcmp(name, "connect_event") == 0 || strcmp(name, "disconnect_event") == 0 ||
        strcmp(name, "cq_notification") == 0 || strcmp(name, "srq_notification") == 0)
        return owner_handle_callback(o, r);
    return NULL;
}

/* ---- the whole assignment ---- */

struct owners *owners_create(void)
{
    return calloc(1, sizeof(struct owners));
}

static void owner_user_tree_free(void *object)
{
    tdestroy(((struct owner_object *)object)->users, owner_keep);
}

void owners_destroy(struct owners *o)
{
    struct owner_block *next;

    if (!o)
        return;
    tdestroy(o->objects, owner_user_tree_free);
    tdestroy(o->threads, owner_keep);
    for (struct owner_block *b = o->blocks; b; b = next) {
        next = b->next;
        free(b);
    }
    free(o);
}

bool owners_assign(struct owners *o, struct trace_records *records)
{
    struct owner **found = calloc(records->count + 1, sizeof(struct owner *));

    for (size_t i = 0; found && !o->is_out_of_memory && i < records->count; i++)
        found[i] = owner_handle(o, &records->records[i]);
    for (size_t i = 0; found && i < records->count; i++)
        if (!records->records[i].id)
            records->records[i].id = owner_id(found[i]);
    free(found);
    return found && !o->is_out_of_memory;
}
