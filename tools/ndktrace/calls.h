/* SPDX-License-Identifier: MIT */
/*
 * Finds the calls in traces: the calls that NDK consumers made, and the callbacks that consumers received. A call is
 * stored with its return and its completion. The invariant: the calls are in the order of their events. All members
 * that refer to records are indexes into the sorted records.
 */
#ifndef NDKTRACE_CALLS_H
#define NDKTRACE_CALLS_H

#include "ends.h"

struct call {
    const struct trace_file *file;
    uint32_t thread;
    bool is_callback;
    /* A call between a driver and the kernel, in either direction; such a call has no completion. */
    bool is_kernel;
    const char *routine; /* the function, for example NdkConnect; for a callback the event, for example connect_event */
    uint64_t object;
    size_t record; /* the event with which the call begins, or the only event of a post */
    /* The event of the return; for a post the same as `record`; END_NONE: the call has not returned. */
    size_t returned;
    size_t completed; /* the callback that reports the completion; END_NONE: the trace has none */
    /* Times of day. If the call has not returned, end_ns is the time of the last record of all traces. */
    uint64_t begin_ns, end_ns;
    bool has_status;         /* false for a callback without a status, and for a call without return and completion */
    uint64_t status;         /* the status of the completion, or of the return if there is no completion */
    const char *status_name; /* NULL: the schema has no name for the status */
    bool is_pending;         /* the call has not returned, or has returned STATUS_PENDING and has not completed */
    uint64_t created;        /* the object that the call has created; for a connect event the connector; 0: none */
};

struct calls {
    size_t count;
    struct call *calls;
    size_t *by_object;  /* indexes of the calls, sorted by file, object and time */
    size_t *by_created; /* indexes of the calls, sorted by file, `created` and time */
    /* For each record, the index of the call that the record begins, ends or completes, or END_NONE. */
    size_t *of_record;
};

/* Finds all calls in `records`, which must be sorted. Returns false if out of memory. */
bool calls_find(struct calls *c, const struct trace_records *records);
void calls_free(struct calls *c);
/*
 * calls_of_object finds the calls on the object, and calls_that_created finds the calls that created the object. Both
 * return the number of the found calls. Consecutive elements of by_object or by_created are the indexes of these calls.
 * Both set *first to the position of the first of these elements.
 */
size_t calls_of_object(const struct calls *c, const struct trace_file *file, uint64_t object, size_t *first);
size_t calls_that_created(const struct calls *c, const struct trace_file *file, uint64_t object, size_t *first);
/* Returns true if the record is the first or only event of an NDK call. */
bool calls_is_call(const struct trace_record *r);
/* Returns true if the record is the first event of an NDK callback. */
bool calls_is_callback(const struct trace_record *r);
/*
 * Returns true if the record begins a call from a driver to the kernel or from the kernel to a driver. Such a call ends
 * with the event kernel_returned or kernel_done.
 */
bool calls_is_kernel(const struct trace_record *r);
/* Returns true if the status is an error. STATUS_PENDING is not an error. */
bool calls_status_is_failure(uint64_t status);

#endif
