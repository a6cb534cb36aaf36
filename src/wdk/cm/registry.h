/* SPDX-License-Identifier: MIT */
/*
 * The registry: a tree of keys in memory. Comparison of names ignores case. The registry's lock protects every key and
 * every value. After registry_unlock, a pointer to a value is no longer valid.
 */
#ifndef ONDK_WDK_REGISTRY_H
#define ONDK_WDK_REGISTRY_H

#include <stdbool.h>

#include "wdm.h"

struct registry_value {
    struct registry_value *next;
    UNICODE_STRING name;
    ULONG type, size;
    void *data;
};

/*
 * A registry key, which is a counted object (object.h). The parent and each key object (key_object.h) of the key have a
 * reference on the key. A handle refers to a key object.
 */
struct registry_key {
    struct registry_key *parent, *children, *next;
    struct registry_value *values; /* list of values, oldest first; the list of children is also oldest first */
    UNICODE_STRING name;
    LARGE_INTEGER written;
    bool deleted;
};

/*
 * These two functions acquire and release the registry's lock, which is required for every access to the members of a
 * key.
 */
void registry_lock(void);
void registry_unlock(void);

/* Selects the missing keys that registry_open creates: none, only the last key of the path, or all keys of the path. */
enum registry_make { REGISTRY_MAKE_NONE, REGISTRY_MAKE_LAST, REGISTRY_MAKE_ALL };

/*
 * Opens a path relative to `from`. If `from` is NULL, the path must begin with \Registry. Returns the key with a
 * reference. On failure returns NULL and stores the reason in *status. *made receives whether a key was created;
 * `made` may be NULL. The caller must not hold the registry's lock.
 */
struct registry_key *registry_open(struct registry_key *from, PCUNICODE_STRING path, enum registry_make make,
                                   bool *made, NTSTATUS *status);

/* Opens a handle. Takes over the caller's reference on the key, also if it fails. */
NTSTATUS registry_open_handle(struct registry_key *key, PHANDLE handle);
/* Returns the key of a handle, with a reference. Reports a handle that is not open. Requires PASSIVE_LEVEL. */
struct registry_key *registry_key_of_handle(const char *routine, HANDLE handle, NTSTATUS *status);

/*
 * registry_find, registry_set, registry_remove_value and registry_remove require the lock. registry_find returns NULL
 * if the key has no such value. registry_set copies the data, and replaces the value if the key has it already.
 */
struct registry_value *registry_find(const struct registry_key *key, PCUNICODE_STRING name);
NTSTATUS registry_set(struct registry_key *key, PCUNICODE_STRING name, ULONG type, const void *data, ULONG size);
NTSTATUS registry_remove_value(struct registry_key *key, PCUNICODE_STRING name);
/* Returns STATUS_CANNOT_DELETE for a key with subkeys, and for \Registry, \Registry\Machine and \Registry\User. */
NTSTATUS registry_remove(struct registry_key *key);

/*
 * These two functions return the length in bytes of the key's absolute path, and copy this path. The path begins with
 * \Registry. Both functions require the lock.
 */
ULONG registry_path_length(const struct registry_key *key);
void registry_copy_path(const struct registry_key *key, WCHAR *path, ULONG length);

/*
 * Replaces each %NAME% in the text by its value in `environment`. The environment is a list of terminated NAME=value
 * strings. An empty string ends the list. If `environment` is NULL, uses the system's environment. An unknown %NAME%
 * remains. Returns a terminated copy, which the caller frees with free(), or NULL if out of memory. *expanded receives
 * the copy's length in WCHARs, without the terminator.
 */
WCHAR *registry_expand(const WCHAR *text, size_t units, const WCHAR *environment, size_t *expanded);

#endif
