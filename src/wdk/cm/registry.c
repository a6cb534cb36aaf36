/* SPDX-License-Identifier: MIT */
/* The tree of keys: see registry.h. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "wdm.h"

#include "wdk/cm/registry.h"
#include "wdk/ob/object.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct reg_key *root;

static void destroy(void *object);
static struct _OBJECT_TYPE key_type = { "registry key", destroy, NULL };
POBJECT_TYPE const registry_key_type = &key_type;

void registry_lock(void)
{
    pthread_mutex_lock(&lock);
}

void registry_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

static void free_value(struct reg_value *v)
{
    free(v->name.Buffer);
    free(v->data);
    free(v);
}

/* Its parent has let go of it: it has no children. */
static void destroy(void *object)
{
    struct reg_key *key = object;

    for (struct reg_value *v = key->values, *next; v; v = next) {
        next = v->next;
        free_value(v);
    }
    free(key->name.Buffer);
}

static bool copy_name(UNICODE_STRING *to, const WCHAR *from, size_t units)
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

/* 100 ns since 1601. */
static void touch(struct reg_key *key)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    key->written.QuadPart = (now.tv_sec + 11644473600LL) * 10000000 + now.tv_nsec / 100;
}

static struct reg_key *find_child(const struct reg_key *key, const WCHAR *name, size_t units)
{
    for (struct reg_key *c = key->children; c; c = c->next)
        if (!RtlCompareUnicodeStrings(c->name.Buffer, c->name.Length / sizeof(WCHAR), name, units, TRUE))
            return c;
    return NULL;
}

static struct reg_key *add_child(struct reg_key *parent, const WCHAR *name, size_t units)
{
    struct reg_key *key = ob_new(&key_type, sizeof *key), **at;

    if (!key)
        return NULL;
    if (!copy_name(&key->name, name, units)) {
        ob_unref(key);
        return NULL;
    }
    touch(key);
    key->parent = parent;
    if (!parent)
        return key;
    for (at = &parent->children; *at; at = &(*at)->next)
        ;
    *at = key;
    touch(parent);
    return key;
}

/* \Registry with Machine and User. */
static bool make_root(void)
{
    if (root)
        return true;
    root = add_child(NULL, L"Registry", 8);
    return root && add_child(root, L"Machine", 7) && add_child(root, L"User", 4);
}

/* One component; more: whether something follows. */
static struct reg_key *step(struct reg_key *at, const WCHAR *name, size_t units, bool more, enum registry_make make,
                            bool *made)
{
    struct reg_key *next = find_child(at, name, units);

    if (next || make == REGISTRY_MAKE_NONE ||
        (more && make == REGISTRY_MAKE_LAST) || at == root)
        return next;
    *made = true;
    return add_child(at, name, units);
}

static struct reg_key *walk(struct reg_key *at, const WCHAR *text, size_t units, enum registry_make make, bool *made)
{
    while (at && units) {
        size_t n = 0;

        while (n < units && text[n] != '\\')
            n++;
        if (n)
            at = step(at, text, n, n + 1 < units, make, made);
        n = min(n + 1, units);
        text += n;
        units -= n;
    }
    return at;
}

struct reg_key *registry_open(struct reg_key *from, PCUNICODE_STRING path, enum registry_make make, bool *made,
                              NTSTATUS *status)
{
    static const WCHAR prefix[] = L"\\Registry";
    size_t units = path->Length / sizeof(WCHAR), skipped = RTL_NUMBER_OF(prefix) - 1;
    bool dummy = false, absolute = units && path->Buffer[0] == '\\';
    struct reg_key *key = from;

    if (!made)
        made = &dummy;
    *made = false;
    *status = STATUS_OBJECT_NAME_NOT_FOUND;
    if (absolute != !from || (absolute && (units < skipped || (units > skipped && path->Buffer[skipped] != '\\') ||
                                           RtlCompareUnicodeStrings(path->Buffer, skipped, prefix, skipped, TRUE)))) {
        *status = from ? STATUS_OBJECT_PATH_SYNTAX_BAD : STATUS_OBJECT_NAME_INVALID;
        return NULL;
    }
    registry_lock();
    if (!from)
        key = make_root() ? root : NULL;
    if (key && key->deleted)
        *status = STATUS_KEY_DELETED;
    else if (key)
        key = walk(key, path->Buffer + (from ? 0 : skipped), units - (from ? 0 : skipped), make, made);
    if (key && !key->deleted) {
        ob_ref(key);
        *status = STATUS_SUCCESS;
    } else {
        key = NULL;
    }
    registry_unlock();
    return key;
}

struct reg_value *registry_find(const struct reg_key *key, PCUNICODE_STRING name)
{
    for (struct reg_value *v = key->values; v; v = v->next)
        if (RtlEqualUnicodeString(&v->name, name, TRUE))
            return v;
    return NULL;
}

static struct reg_value *add_value(struct reg_key *key, PCUNICODE_STRING name)
{
    struct reg_value *v = calloc(1, sizeof *v), **at;

    if (!v || !copy_name(&v->name, name->Buffer, name->Length / sizeof(WCHAR))) {
        free(v);
        return NULL;
    }
    for (at = &key->values; *at; at = &(*at)->next)
        ;
    *at = v;
    return v;
}

NTSTATUS registry_set(struct reg_key *key, PCUNICODE_STRING name, ULONG type, const void *data, ULONG size)
{
    void *copy = malloc(size ? size : 1);
    struct reg_value *v;

    if (key->deleted || !copy) {
        free(copy);
        return key->deleted ? STATUS_KEY_DELETED : STATUS_INSUFFICIENT_RESOURCES;
    }
    v = registry_find(key, name);
    if (!v)
        v = add_value(key, name);
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
    touch(key);
    return STATUS_SUCCESS;
}

NTSTATUS registry_remove_value(struct reg_key *key, PCUNICODE_STRING name)
{
    struct reg_value *v = registry_find(key, name), **at;

    if (!v)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    for (at = &key->values; *at != v; at = &(*at)->next)
        ;
    *at = v->next;
    free_value(v);
    touch(key);
    return STATUS_SUCCESS;
}

NTSTATUS registry_remove(struct reg_key *key)
{
    struct reg_key **at;

    if (key->deleted)
        return STATUS_KEY_DELETED;
    if (key->children || !key->parent || key->parent == root)
        return STATUS_CANNOT_DELETE;
    for (at = &key->parent->children; *at != key; at = &(*at)->next)
        ;
    *at = key->next;
    key->deleted = true;
    touch(key->parent);
    key->parent = NULL;
    ob_unref(key);
    return STATUS_SUCCESS;
}
