/* SPDX-License-Identifier: MIT */
/*
 * Implements the tree of keys: see registry.h. A deleted key has no parent and no children, and is never found by path.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "wdm.h"

#include "wdk/cm/registry.h"
#include "wdk/ob/object.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct registry_key *root;

static void registry_key_destroy(void *object);
static struct _OBJECT_TYPE key_type = { .name = "registry key", .destroy = registry_key_destroy };

void registry_lock(void)
{
    pthread_mutex_lock(&lock);
}

void registry_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

static void registry_value_free(struct registry_value *v)
{
    free(v->name.Buffer);
    free(v->data);
    free(v);
}

/*
 * Frees the members of a key when its last reference is dropped. The key has no children, because only a key without
 * children is removed from its parent.
 */
static void registry_key_destroy(void *object)
{
    struct registry_key *key = object;

    for (struct registry_value *v = key->values, *next; v; v = next) {
        next = v->next;
        registry_value_free(v);
    }
    free(key->name.Buffer);
}

static bool registry_copy_name(UNICODE_STRING *to, const WCHAR *from, size_t units)
{
    to->Buffer = malloc((units + 1) * sizeof(WCHAR));
    if (!to->Buffer)
        return false;
    if (units)
        memcpy(to->Buffer, from, units * sizeof(WCHAR));
    to->Buffer[units] = 0;
    to->Length = to->MaximumLength = (USHORT)(units * sizeof(WCHAR));
    return true;
}

/* Sets the time of the last write, in 100 ns since 1601. */
static void registry_key_set_written(struct registry_key *key)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    key->written.QuadPart = (now.tv_sec + 11644473600LL) * 10000000 + now.tv_nsec / 100;
}

static struct registry_key *registry_key_find_child(const struct registry_key *key, const WCHAR *name, size_t units)
{
    for (struct registry_key *c = key->children; c; c = c->next)
        if (!RtlCompareUnicodeStrings(c->name.Buffer, c->name.Length / sizeof(WCHAR), name, units, TRUE))
            return c;
    return NULL;
}

static struct registry_key *registry_key_add_child(struct registry_key *parent, const WCHAR *name, size_t units)
{
    struct registry_key *key = ob_new(&key_type, sizeof *key), **at;

    if (!key)
        return NULL;
    if (!registry_copy_name(&key->name, name, units)) {
        ob_unref(key);
        return NULL;
    }
    registry_key_set_written(key);
    key->parent = parent;
    if (!parent)
        return key;
    for (at = &parent->children; *at; at = &(*at)->next)
        ;
    *at = key;
    registry_key_set_written(parent);
    return key;
}

/* If \Registry does not exist, creates it with its subkeys Machine and User. Returns false if out of memory. */
static bool registry_create_root(void)
{
    if (root)
        return true;
    root = registry_key_add_child(NULL, L"Registry", 8);
    return root && registry_key_add_child(root, L"Machine", 7) && registry_key_add_child(root, L"User", 4);
}

/*
 * Opens or creates the child for one component of a path. `more` is true if other components follow. Never creates a
 * child of \Registry itself.
 */
static struct registry_key *registry_open_child(struct registry_key *at, const WCHAR *name, size_t units, bool more,
                                                enum registry_make make, bool *made)
{
    struct registry_key *next = registry_key_find_child(at, name, units);

    if (next || make == REGISTRY_MAKE_NONE || (more && make == REGISTRY_MAKE_LAST) || at == root)
        return next;
    *made = true;
    return registry_key_add_child(at, name, units);
}

static struct registry_key *registry_open_path(struct registry_key *at, const WCHAR *text, size_t units,
                                               enum registry_make make, bool *made)
{
    while (at && units) {
        size_t n = 0;

        while (n < units && text[n] != '\\')
            n++;
        if (n)
            at = registry_open_child(at, text, n, n + 1 < units, make, made);
        n = min(n + 1, units);
        text += n;
        units -= n;
    }
    return at;
}

struct registry_key *registry_open(struct registry_key *from, PCUNICODE_STRING path, enum registry_make make,
                                   bool *made, NTSTATUS *status)
{
    static const WCHAR prefix[] = L"\\Registry";
    size_t units = path->Length / sizeof(WCHAR), prefix_units = RTL_NUMBER_OF(prefix) - 1;
    bool dummy = false, absolute = units && path->Buffer[0] == '\\';
    struct registry_key *key = from;

    if (!made)
        made = &dummy;
    *made = false;
    *status = STATUS_OBJECT_NAME_NOT_FOUND;
    if (absolute != !from ||
        (absolute && (units < prefix_units || (units > prefix_units && path->Buffer[prefix_units] != '\\') ||
                      RtlCompareUnicodeStrings(path->Buffer, prefix_units, prefix, prefix_units, TRUE)))) {
        *status = from ? STATUS_OBJECT_PATH_SYNTAX_BAD : STATUS_OBJECT_NAME_INVALID;
        return NULL;
    }
    registry_lock();
    if (!from)
        key = registry_create_root() ? root : NULL;
    if (key && key->deleted)
        *status = STATUS_KEY_DELETED;
    else if (key)
        key = registry_open_path(key, path->Buffer + (from ? 0 : prefix_units), units - (from ? 0 : prefix_units), make,
                                 made);
    if (key && !key->deleted) {
        ob_ref(key);
        *status = STATUS_SUCCESS;
    } else {
        key = NULL;
    }
    registry_unlock();
    return key;
}

struct registry_value *registry_find(const struct registry_key *key, PCUNICODE_STRING name)
{
    for (struct registry_value *v = key->values; v; v = v->next)
        if (RtlEqualUnicodeString(&v->name, name, TRUE))
            return v;
    return NULL;
}

static struct registry_value *registry_key_add_value(struct registry_key *key, PCUNICODE_STRING name)
{
    struct registry_value *v = calloc(1, sizeof *v), **at;

    if (!v || !registry_copy_name(&v->name, name->Buffer, name->Length / sizeof(WCHAR))) {
        free(v);
        return NULL;
    }
    for (at = &key->values; *at; at = &(*at)->next)
        ;
    *at = v;
    return v;
}

NTSTATUS registry_set(struct registry_key *key, PCUNICODE_STRING name, ULONG type, const void *data, ULONG size)
{
    void *copy = malloc(size ? size : 1);
    struct registry_value *v;

    if (key->deleted || !copy) {
        free(copy);
        return key->deleted ? STATUS_KEY_DELETED : STATUS_INSUFFICIENT_RESOURCES;
    }
    v = registry_find(key, name);
    if (!v)
        v = registry_key_add_value(key, name);
    if (!v) {
        free(copy);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    if (size)
        memcpy(copy, data, size);
    free(v->data);
    v->data = copy;
    v->size = size;
    v->type = type;
    registry_key_set_written(key);
    return STATUS_SUCCESS;
}

NTSTATUS registry_remove_value(struct registry_key *key, PCUNICODE_STRING name)
{
    struct registry_value *v = registry_find(key, name), **at;

    if (!v)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    for (at = &key->values; *at != v; at = &(*at)->next)
        ;
    *at = v->next;
    registry_value_free(v);
    registry_key_set_written(key);
    return STATUS_SUCCESS;
}

NTSTATUS registry_remove(struct registry_key *key)
{
    struct registry_key **at;

    if (key->deleted)
        return STATUS_KEY_DELETED;
    if (key->children || !key->parent || key->parent == root)
        return STATUS_CANNOT_DELETE;
    for (at = &key->parent->children; *at != key; at = &(*at)->next)
        ;
    *at = key->next;
    key->deleted = true;
    registry_key_set_written(key->parent);
    key->parent = NULL;
    ob_unref(key);
    return STATUS_SUCCESS;
}

ULONG registry_path_length(const struct registry_key *key)
{
    ULONG length = 0;

    for (; key; key = key->parent)
        length += (ULONG)sizeof(WCHAR) + key->name.Length;
    return length;
}

void registry_copy_path(const struct registry_key *key, WCHAR *path, ULONG length)
{
    WCHAR *at = path + length / sizeof(WCHAR);

    for (; key; key = key->parent) {
        at -= key->name.Length / sizeof(WCHAR);
        memcpy(at, key->name.Buffer, key->name.Length);
        *--at = '\\';
    }
}
