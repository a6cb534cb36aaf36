/* SPDX-License-Identifier: MIT */
/* Names of devices and symbolic links: see name.h. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "wdm.h"

#include "wdk/common/live.h"
#include "wdk/common/text.h"
#include "wdk/ob/name.h"
#include "wdk/ob/object.h"

enum { MAX_LINKS = 16 };

/*
 * An object's name, a link to another name, or an alias, which is a link to an object. name_normalize has written
 * `text` and `target`: in upper case, and with \??\ instead of \DosDevices\ at the start of a link's name.
 */
struct name {
    WCHAR *text;
    size_t length;                          /* in units */
    void *object;                           /* NULL for a link */
    WCHAR *target;                          /* NULL for an object and an alias */
    UNICODE_STRING written, written_target; /* the name and the target as the driver has written them */
    char *label;                            /* the written name of a link in UTF-8, for reports; may be NULL */
    bool is_alias;
    struct name *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct name *names;

/* Replaces the prefix `from` by `to`, which must not be longer. Does nothing if the text has a different prefix. */
static void name_replace_prefix(WCHAR *text, const WCHAR *from, const WCHAR *to)
{
    size_t from_length = text_wide_length(from), to_length = text_wide_length(to);

    if (text_wide_length(text) < from_length || memcmp(text, from, from_length * sizeof *text))
        return;
    memcpy(text, to, to_length * sizeof *text);
    memmove(text + to_length, text + from_length, (text_wide_length(text + from_length) + 1) * sizeof *text);
}

static WCHAR *name_normalize(PCUNICODE_STRING name)
{
    size_t n = name->Length / sizeof(WCHAR);
    WCHAR *text = malloc((n + 1) * sizeof *text);

    if (!text)
        return NULL;
    for (size_t i = 0; i < n; i++)
        text[i] = text_upcase(name->Buffer[i]);
    text[n] = 0;
    name_replace_prefix(text, L"\\DOSDEVICES\\", L"\\??\\");
    name_replace_prefix(text, L"\\GLOBAL??\\", L"\\??\\");
    name_replace_prefix(text, L"\\??\\GLOBAL\\", L"\\??\\");
    name_replace_prefix(text, L"\\BASENAMEDOBJECTS\\GLOBAL\\", L"\\BASENAMEDOBJECTS\\");
    return text;
}

static bool name_is_valid(PCUNICODE_STRING name)
{
    return name && name->Buffer && name->Length > sizeof(WCHAR) && name->Length % sizeof(WCHAR) == 0 &&
           name->Buffer[0] == '\\';
}

/*
 * Returns the name that equals the whole text. If `part` is true, returns the longest name that is a path prefix of
 * the text. Requires the lock.
 */
static struct name *name_lookup(const WCHAR *text, bool part)
{
    size_t length = text_wide_length(text);
    struct name *best = NULL;

    for (struct name *n = names; n; n = n->next)
        if (n->length <= length && !memcmp(n->text, text, n->length * sizeof *text) &&
            (!text[n->length] || (part && text[n->length] == '\\')) && (!best || n->length > best->length))
            best = n;
    return best;
}

static void name_free(struct name *n)
{
    if (!n)
        return;
    free(n->text);
    free(n->target);
    free(n->written.Buffer);
    free(n->written_target.Buffer);
    free(n->label);
    free(n);
}

/* Copies the name. Returns false if out of memory. The caller frees the copy's Buffer. */
static bool name_copy(UNICODE_STRING *copy, PCUNICODE_STRING name)
{
    copy->Length = copy->MaximumLength = name->Length;
    copy->Buffer = malloc(name->Length + sizeof(WCHAR));
    if (copy->Buffer)
        memcpy(copy->Buffer, name->Buffer, name->Length);
    return copy->Buffer != NULL;
}

static NTSTATUS name_add(PCUNICODE_STRING name, void *object, PCUNICODE_STRING target, bool is_alias)
{
    NTSTATUS status = STATUS_SUCCESS;
    struct name *n;

    if (!name_is_valid(name) || (target && !name_is_valid(target)))
        return STATUS_OBJECT_NAME_INVALID;
    n = calloc(1, sizeof *n);
    if (n) {
        n->text = name_normalize(name);
        n->target = target ? name_normalize(target) : NULL;
        n->object = object;
        n->is_alias = is_alias;
        n->label = target ? text_narrow_copy(name->Buffer, name->Length / sizeof(WCHAR)) : NULL;
    }
    if (!n || !n->text || !name_copy(&n->written, name) ||
        (target && (!n->target || !name_copy(&n->written_target, target)))) {
        name_free(n);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    n->length = text_wide_length(n->text);
    pthread_mutex_lock(&lock);
    if (name_lookup(n->text, false)) {
        status = STATUS_OBJECT_NAME_COLLISION;
    } else {
        n->next = names;
        names = n;
        if (target)
            live_add(LIVE_SYMLINK, n, n->label ? n->label : "IoCreateSymbolicLink");
    }
    pthread_mutex_unlock(&lock);
    if (status)
        name_free(n);
    return status;
}

NTSTATUS name_add_object(PCUNICODE_STRING name, void *object)
{
    return name_add(name, object, NULL, false);
}

NTSTATUS name_add_link(PCUNICODE_STRING name, PCUNICODE_STRING target)
{
    return name_add(name, NULL, target, false);
}

NTSTATUS name_add_alias(PCUNICODE_STRING name, void *object)
{
    return name_add(name, object, NULL, true);
}

/* Removes the name from the list of names. Requires the lock. */
static void name_unlink(struct name *n)
{
    struct name **at = &names;

    while (*at != n)
        at = &(*at)->next;
    *at = n->next;
}

void name_remove_object(const void *object)
{
    struct name *n;

    pthread_mutex_lock(&lock);
    for (n = names; n && (n->object != object || n->is_alias); n = n->next)
        ;
    if (n)
        name_unlink(n);
    pthread_mutex_unlock(&lock);
    name_free(n);
}

NTSTATUS name_remove_link(PCUNICODE_STRING name)
{
    WCHAR *text = name_is_valid(name) ? name_normalize(name) : NULL;
    struct name *n;

    if (!text)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    pthread_mutex_lock(&lock);
    n = name_lookup(text, false);
    if (n && !n->target && !n->is_alias)
        n = NULL;
    if (n)
        name_unlink(n);
    pthread_mutex_unlock(&lock);
    free(text);
    if (!n)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    (void)live_remove(LIVE_SYMLINK, n);
    name_free(n);
    return STATUS_SUCCESS;
}

bool name_of_object(const void *object, UNICODE_STRING *out)
{
    struct name *n;
    bool copied = true;

    *out = (UNICODE_STRING){ 0, 0, NULL };
    pthread_mutex_lock(&lock);
    for (n = names; n && (n->object != object || n->is_alias); n = n->next)
        ;
    if (n)
        copied = name_copy(out, &n->written);
    pthread_mutex_unlock(&lock);
    return copied;
}

/*
 * Copies the target of a link. Requires the lock. The target of an alias is the object's name, if the object has a
 * name.
 */
static NTSTATUS name_copy_target(const struct name *link, UNICODE_STRING *out)
{
    const struct name *n = names;

    if (!link->is_alias)
        return name_copy(out, &link->written_target) ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
    while (n && (n->object != link->object || n->is_alias))
        n = n->next;
    if (!n)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    return name_copy(out, &n->written) ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS name_get_target(PCUNICODE_STRING name, UNICODE_STRING *out)
{
    WCHAR *text = name_is_valid(name) ? name_normalize(name) : NULL;
    NTSTATUS status = STATUS_OBJECT_NAME_NOT_FOUND;
    struct name *n;

    if (!text)
        return STATUS_OBJECT_NAME_INVALID;
    pthread_mutex_lock(&lock);
    n = name_lookup(text, false);
    if (n)
        status = n->target || n->is_alias ? name_copy_target(n, out) : STATUS_OBJECT_TYPE_MISMATCH;
    pthread_mutex_unlock(&lock);
    free(text);
    return status;
}

/* Returns the link's target followed by the rest of the text after the link, or NULL if out of memory. */
static WCHAR *name_follow(const struct name *link, const WCHAR *text)
{
    const WCHAR *rest = text + link->length;
    size_t target_length = text_wide_length(link->target), rest_length = text_wide_length(rest);
    WCHAR *next = malloc((target_length + rest_length + 1) * sizeof *next);

    if (!next)
        return NULL;
    memcpy(next, link->target, target_length * sizeof *next);
    memcpy(next + target_length, rest, (rest_length + 1) * sizeof *next);
    return next;
}

/*
 * Sets *rest to a copy of the path that follows the object's name. Returns false if out of memory.
 *   text       the path in upper case
 *   name       the whole name as the driver passed it, which has the driver's case
 *   unchanged  number of units at the end of `name` that no link has replaced
 * If `text` has at most `unchanged` units, `name` ends with the same path, and that end of `name` is copied. Otherwise
 * `text` is copied.
 */
static bool name_copy_rest(UNICODE_STRING *rest, PCUNICODE_STRING name, const WCHAR *text, size_t unchanged)
{
    size_t units = text_wide_length(text);
    const WCHAR *from = units <= unchanged ? name->Buffer + name->Length / sizeof(WCHAR) - units : text;

    rest->Length = rest->MaximumLength = (USHORT)(units * sizeof(WCHAR));
    rest->Buffer = malloc(rest->Length + sizeof(WCHAR));
    if (rest->Buffer)
        memcpy(rest->Buffer, from, rest->Length);
    return rest->Buffer != NULL;
}

/*
 * Follows links: replaces *text until it begins with an object's name, and returns that name. Returns NULL if there is
 * no such name. *unchanged receives the number of units at the end of *text that no link has replaced. Requires the
 * lock.
 */
static struct name *name_resolve(WCHAR **text, size_t *unchanged)
{
    *unchanged = text_wide_length(*text);
    for (int links = 0; *text && links < MAX_LINKS; links++) {
        struct name *n = name_lookup(*text, true);
        WCHAR *next;

        if (!n || n->object)
            return n;
        if (text_wide_length(*text + n->length) < *unchanged)
            *unchanged = text_wide_length(*text + n->length);
        next = name_follow(n, *text);
        free(*text);
        *text = next;
    }
    return NULL;
}

void *name_find(PCUNICODE_STRING name, UNICODE_STRING *rest, NTSTATUS *status)
{
    WCHAR *text = name_is_valid(name) ? name_normalize(name) : NULL;
    void *object = NULL;
    struct name *n;
    size_t unchanged;

    *status = STATUS_OBJECT_NAME_INVALID;
    if (!text)
        return NULL;
    *status = STATUS_OBJECT_NAME_NOT_FOUND;
    pthread_mutex_lock(&lock);
    n = name_resolve(&text, &unchanged);
    if (n && name_copy_rest(rest, name, text + n->length, unchanged)) {
        object = n->object;
        ob_ref(object);
        *status = STATUS_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    free(text);
    return object;
}
