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

enum { LINKS_MOST = 16 };

/* One way to write each name: upper case, links in \??. */
struct name {
    WCHAR *text;
    size_t length; /* in units */
    void *object;  /* or */
    WCHAR *target; /* of a link, written the same way */
    struct name *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct name *names;

/* Takes `from` away from the front of the text and puts `to` there, which is no longer. */
static void replace_front(WCHAR *text, const WCHAR *from, const WCHAR *to)
{
    size_t from_length = text_wide_length(from), to_length = text_wide_length(to);

    if (text_wide_length(text) < from_length || memcmp(text, from, from_length * sizeof *text))
        return;
    memcpy(text, to, to_length * sizeof *text);
    memmove(text + to_length, text + from_length, (text_wide_length(text + from_length) + 1) * sizeof *text);
}

static WCHAR *write_name(PCUNICODE_STRING name)
{
    size_t n = name->Length / sizeof(WCHAR);
    WCHAR *text = malloc((n + 1) * sizeof *text);

    if (!text)
        return NULL;
    for (size_t i = 0; i < n; i++)
        text[i] = text_upcase(name->Buffer[i]);
    text[n] = 0;
    replace_front(text, L"\\DOSDEVICES\\", L"\\??\\");
    replace_front(text, L"\\GLOBAL??\\", L"\\??\\");
    replace_front(text, L"\\??\\GLOBAL\\", L"\\??\\");
    return text;
}

static bool is_valid(PCUNICODE_STRING name)
{
    return name && name->Buffer && name->Length > sizeof(WCHAR) && name->Length % sizeof(WCHAR) == 0 &&
           name->Buffer[0] == '\\';
}

/* Under the lock: the whole text, or, if `part`, the longest name that a backslash follows in it. */
static struct name *find(const WCHAR *text, bool part)
{
    size_t length = text_wide_length(text);
    struct name *best = NULL;

    for (struct name *n = names; n; n = n->next)
        if (n->length <= length && !memcmp(n->text, text, n->length * sizeof *text) &&
            (!text[n->length] || (part && text[n->length] == '\\')) && (!best || n->length > best->length))
            best = n;
    return best;
}

static void free_name(struct name *n)
{
    if (!n)
        return;
    free(n->text);
    free(n->target);
    free(n);
}

static NTSTATUS add(PCUNICODE_STRING name, void *object, PCUNICODE_STRING target)
{
    NTSTATUS status = STATUS_SUCCESS;
    struct name *n;

    if (!is_valid(name) || (target && !is_valid(target)))
        return STATUS_OBJECT_NAME_INVALID;
    n = calloc(1, sizeof *n);
    if (n) {
        n->text = write_name(name);
        n->target = target ? write_name(target) : NULL;
        n->object = object;
    }
    if (!n || !n->text || (target && !n->target)) {
        free_name(n);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    n->length = text_wide_length(n->text);
    pthread_mutex_lock(&lock);
    if (find(n->text, false)) {
        status = STATUS_OBJECT_NAME_COLLISION;
    } else {
        n->next = names;
        names = n;
        if (target)
            live_add(LIVE_SYMLINK, n, "IoCreateSymbolicLink");
    }
    pthread_mutex_unlock(&lock);
    if (status)
        free_name(n);
    return status;
}

NTSTATUS name_add_object(PCUNICODE_STRING name, void *object)
{
    return add(name, object, NULL);
}

NTSTATUS name_add_link(PCUNICODE_STRING name, PCUNICODE_STRING target)
{
    return add(name, NULL, target);
}

/* Under the lock. */
static void take_out(struct name *n)
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
    for (n = names; n && n->object != object; n = n->next)
        ;
    if (n)
        take_out(n);
    pthread_mutex_unlock(&lock);
    free_name(n);
}

NTSTATUS name_remove_link(PCUNICODE_STRING name)
{
    WCHAR *text = is_valid(name) ? write_name(name) : NULL;
    struct name *n;

    if (!text)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    pthread_mutex_lock(&lock);
    n = find(text, false);
    if (n && !n->target)
        n = NULL;
    if (n)
        take_out(n);
    pthread_mutex_unlock(&lock);
    free(text);
    if (!n)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    (void)live_remove(LIVE_SYMLINK, n);
    free_name(n);
    return STATUS_SUCCESS;
}

/* Under the lock: the link's target and what follows the link in the text. NULL: no memory. */
static WCHAR *follow(const struct name *link, const WCHAR *text)
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
 * What follows the object's name: as the opener wrote it, if all of it is the opener's (`kept` units are), else as the
 * link has it.
 */
static bool copy_rest(UNICODE_STRING *rest, PCUNICODE_STRING name, const WCHAR *text, size_t kept)
{
    size_t units = text_wide_length(text);

    rest->Length = rest->MaximumLength = (USHORT)(units * sizeof(WCHAR));
    rest->Buffer = malloc(rest->Length + sizeof(WCHAR));
    if (rest->Buffer)
        memcpy(rest->Buffer, units <= kept ? name->Buffer + name->Length / sizeof(WCHAR) - units : text, rest->Length);
    return rest->Buffer != NULL;
}

/* Under the lock. *text is replaced for each link. */
static struct name *find_object(WCHAR **text, size_t *kept)
{
    *kept = text_wide_length(*text);
    for (int links = 0; *text && links < LINKS_MOST; links++) {
        struct name *n = find(*text, true);
        WCHAR *next;

        if (!n || n->object)
            return n;
        if (text_wide_length(*text + n->length) < *kept)
            *kept = text_wide_length(*text + n->length);
        next = follow(n, *text);
        free(*text);
        *text = next;
    }
    return NULL;
}

void *name_find(PCUNICODE_STRING name, UNICODE_STRING *rest, NTSTATUS *status)
{
    WCHAR *text = is_valid(name) ? write_name(name) : NULL;
    void *object = NULL;
    struct name *n;
    size_t kept;

    *status = STATUS_OBJECT_NAME_INVALID;
    if (!text)
        return NULL;
    *status = STATUS_OBJECT_NAME_NOT_FOUND;
    pthread_mutex_lock(&lock);
    n = find_object(&text, &kept);
    if (n && copy_rest(rest, name, text + n->length, kept)) {
        object = n->object;
        ob_ref(object);
        *status = STATUS_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    free(text);
    return object;
}
