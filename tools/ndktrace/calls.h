/* SPDX-License-Identifier: MIT */
/*
 * The calls and callbacks of NDK consumers in traces: each call with its return and its completion. The invariant: calls
 * are in the order of their events, and all members that name records are indexes into the sorted records.
 */
#ifndef NDKTRACE_CALLS_H
#define NDKTRACE_CALLS_H

#include "ends.h"

struct call {
    const struct trace_file *file;
    uint32_t thread;
    bool is_callback;
    bool is_kernel; /* a driver's call of its kernel, or a call of the driver; `returned` is the only other event */
    const char *routine; /* the function, for example NdkConnect; of a callback the event, for example connect_event */
    uint64_t object;
    size_t record;             /* the event of the call: its beginning, or the only event of a post */
    size_t returned;           /* the event of its return; for a post `record`; END_NONE: it has not returned */
    size_t completed;          /* the event of its completion, a callback; END_NONE: there is none */
    uint64_t begin_ns, end_ns; /* times of day; end_ns: of the return, or of the end of the trace */
    bool has_status;           /* false for a callback without status, and for a call that has not returned */
    uint64_t status;           /* the final one: of the completion if there is one */
    const char *status_name;   /* NULL: the schema has no name for it */
    bool is_pending;           /* has not returned, or has returned STATUS_PENDING and has not completed */
    uint64_t created;          /* the object that the call has created, or the connector of a connect event, or 0 */
};

struct calls {
    size_t count;
    struct call *calls;
    size_t *by_object;  /* the calls, sorted by file, object and time */
    size_t *by_created; /* the same by the object that a call has created or a connect event has brought */
    size_t *of_record;  /* for each record that begins, ends or completes a call the call's index, otherwise END_NONE */
};

/* Finds all calls. The records are sorted. Returns false if out of memory. */
bool calls_find(struct calls *c, const struct trace_records *records);
void calls_free(struct calls *c);
/* Sets *first to the position in by_object (by_created) of the object's first call, and returns their number. */
size_t calls_of_object(const struct calls *c, const struct trace_file *file, uint64_t object, size_t *first);
size_t calls_that_created(const struct calls *c, const struct trace_file *file, uint64_t object, size_t *first);
/* Is the record the beginning of an NDK call, or the only event of one? */
bool calls_is_call(const struct trace_record *r);
/* Is the record the beginning of a callback of NDK? */
bool calls_is_callback(const struct trace_record *r);
/* Is the record the beginning of a call of or by a driver, which kernel_returned or kernel_done ends? */
bool calls_is_kernel(const struct trace_record *r);
/* Has the status the meaning of a failure? STATUS_PENDING has not. */
bool calls_status_is_failure(uint64_t status);

#endif
