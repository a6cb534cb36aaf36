/* SPDX-License-Identifier: MIT */
/*
 * The calls and callbacks of NDK consumers in traces: each call with its return and its completion. The invariant:
 * calls are in the order of their events, and all members that name records are indexes into the sorted records.
 */
#ifndef NDKTRACE_CALLS_H
#define NDKTRACE_CALLS_H

#include "ends.h"

struct call {
    const struct trace_file *file;
    uint32_t thread;
    bool is_callback;
    bool is_kernel;      /* a call between a driver and the kernel, in either direction; `completed` is not used */
    const char *routine; /* the function, for example NdkConnect; of a callback the event, for example connect_event */
    uint64_t object;
    size_t record;             /* the event of the call: its beginning, or the only event of a post */
    size_t returned;           /* the event of its return; for a post `record`; END_NONE: it has not returned */
    size_t completed;          /* the event of its completion, a callback; END_NONE: there is none */
    uint64_t begin_ns, end_ns; /* times of day; end_ns: when the call returned, otherwise the end of the trace */
    bool has_status;           /* false for a callback without status, and for a call that has not returned */
    uint64_t status;           /* the status of the completion if there is one, otherwise of the return */
    const char *status_name;   /* NULL: the schema has no name for it */
    bool is_pending;           /* has not returned, or has returned STATUS_PENDING and has not completed */
    uint64_t created;          /* the object that the call has created, or the connector of a connect event, or 0 */
};

struct calls {
    size_t count;
    struct call *calls;
    size_t *by_object;  /* the calls, sorted by file, object and time */
    size_t *by_created; /* the same, sorted by `created` instead of the object */
    size_t *of_record;  /* for each record: the index of the call that it begins, ends or completes, or END_NONE */
};

/* Finds all calls. The records are sorted. Returns false if out of memory. */
bool calls_find(struct calls *c, const struct trace_records *records);
void calls_free(struct calls *c);
/*
 * Sets *first to the position of the object's first call in by_object (by_created). Returns the number of the object's
 * calls.
 */
size_t calls_of_object(const struct calls *c, const struct trace_file *file, uint64_t object, size_t *first);
size_t calls_that_created(const struct calls *c, const struct trace_file *file, uint64_t object, size_t *first);
/* Returns whether the record is the first or only event of an NDK call. */
bool calls_is_call(const struct trace_record *r);
/* Returns whether the record begins a callback of NDK. */
bool calls_is_callback(const struct trace_record *r);
/* Returns whether the record begins a call of or by a driver. Such a call ends with kernel_returned or kernel_done. */
bool calls_is_kernel(const struct trace_record *r);
/* Returns whether the status means a failure. STATUS_PENDING does not. */
bool calls_status_is_failure(uint64_t status);

#endif
