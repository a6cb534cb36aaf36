/* SPDX-License-Identifier: MIT */
/* The registry: a tree of keys in memory. Names are compared without regard to case. */
#ifndef ONDK_WDK_REGISTRY_H
#define ONDK_WDK_REGISTRY_H

#include <stdbool.h>

#include "wdm.h"

struct reg_value {
    struct reg_value *next;
    UNICODE_STRING name;
    ULONG type, size;
    void *data;
};

/* An object (object.h): whoever has a handle or pointer to it has a reference, and so has its parent. */
struct reg_key {
    struct reg_key *parent, *children, *next;
    struct reg_value *values; /* in the order in which they were made, as the keys */
    UNICODE_STRING name;
    LARGE_INTEGER written;
    bool deleted;
};

extern POBJECT_TYPE const registry_key_type;

/* Around every look into a key. */
void registry_lock(void);
void registry_unlock(void);

/* How much of a path is made when it is not there. */
enum registry_make { REGISTRY_MAKE_NONE, REGISTRY_MAKE_LAST, REGISTRY_MAKE_ALL };

/* From `from`, or, if that is NULL, a path that begins with \Registry. The key with a reference; NULL: *status says
 * why. */
struct reg_key *registry_open(struct reg_key *from, PCUNICODE_STRING path, enum registry_make make, bool *made,
                              NTSTATUS *status);

/* Under the lock. */
struct reg_value *registry_find(const struct reg_key *key, PCUNICODE_STRING name);
NTSTATUS registry_set(struct reg_key *key, PCUNICODE_STRING name, ULONG type, const void *data, ULONG size);
NTSTATUS registry_remove_value(struct reg_key *key, PCUNICODE_STRING name);
/* STATUS_CANNOT_DELETE: it has subkeys, or is a root. */
NTSTATUS registry_remove(struct reg_key *key);

/*
 * `text` with what %NAME% stands for in `environment` (NAME=value, terminated each, an empty one at the end; NULL: the
 * system's), allocated with malloc and terminated; a name that is not there stays. NULL: no memory.
 */
WCHAR *registry_expand(const WCHAR *text, size_t units, const WCHAR *environment, size_t *expanded);

#endif
