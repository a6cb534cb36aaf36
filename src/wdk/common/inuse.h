/* SPDX-License-Identifier: MIT */
/*
 * Finds memory that is freed or initialized while it is in use. For example, a thread waits for an event in the memory,
 * or a timer in the memory is set. Each file that uses memory of the driver registers a function that finds these uses.
 * Code that frees memory calls inuse_check. Code that initializes an object calls inuse_check_init.
 */
#ifndef WDK_INUSE_H
#define WDK_INUSE_H

#include <stdbool.h>
#include <stddef.h>

#include "wdk/common/check.h"

struct inuse_found {
    const struct rule *rule; /* CHECK_OBJECT_FREED_IN_USE, unless inuse_find sets another */
    const void *object;      /* address of the object in use, inside the searched memory */
    const char *what;        /* for example "event that a thread waits for" */
    const char *routine;     /* the call that began the use, for example "NdkConnect"; NULL: not known */
    const char *owner_type;  /* the NDK object that uses the memory, for example "NDK_QP"; NULL: none */
    const void *owner;
    struct stack by;     /* stack of the call that began the use; its depth is 0 if the stack is not known */
    bool may_begin_anew; /* the object may be initialized again while it is in use, but must not be freed */
};

/*
 * Finds an object that is in use and begins inside [start, start + size). If there is one, describes the use in *out
 * and returns true. Otherwise returns false. The caller holds no lock. The function may acquire only locks that are
 * held for a short time.
 */
typedef bool inuse_find(const void *start, size_t size, struct inuse_found *out);

/* Registers a function, which stays registered until the process ends. At most 16 can be registered. Idempotent. */
void inuse_add_source(inuse_find *find) PRIVATE_EXPORT(inuse_add_source);

/* Must be called before memory is freed. Reports the first use that is found. Does nothing while checks are off. */
void inuse_check(const char *routine, const void *start, size_t size);

/* The pool block that is about to be freed, for the report. */
struct inuse_block {
    const void *start;
    size_t size;
    const char *tag;
    const struct stack *allocated;
};
/*
 * Works like inuse_check, for a pool block. The report also describes the block and prints the stack that has allocated
 * it.
 */
void inuse_check_block(const char *routine, const struct inuse_block *block);

/* Must be called before an object is initialized. If the object is in use, reports CHECK_OBJECT_REINITIALIZED. */
void inuse_check_init(const char *routine, const void *object, size_t size);

#endif
