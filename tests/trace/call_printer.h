/* SPDX-License-Identifier: MIT */
/*
 * A consumer's calls, printed as the events that a trace must have: a line has the thread's ID, the event's name and
 * its fields. The lines of a thread are in the order of its events.
 */
#ifndef TESTS_TRACE_CALL_PRINTER_H
#define TESTS_TRACE_CALL_PRINTER_H

#include <semaphore.h>

#include <ndk/ndkpi.h>

/* Prints a line. */
__attribute__((format(printf, 1, 2))) void print_event(const char *format, ...);
/* As ondk_status_name, but not of a thread. */
const char *status_text(NTSTATUS status);

/* A call that may be pending. */
struct op {
    const char *routine;
    const void *object;
    sem_t done;
    NTSTATUS status;
    NDK_OBJECT_HEADER *created;
};

struct op *op_begin(const char *routine, const void *object);
/* Completion routines; their context is the operation. */
void on_created(void *context, NTSTATUS status, NDK_OBJECT_HEADER *created);
void on_request(void *context, NTSTATUS status);
void on_closed(void *context);
/*
 * The call has returned `status`, and has stored its object at `out` (NULL: it creates none). Waits until it has
 * completed, and returns the final status. A pending create stores its object at `out`, too.
 */
NTSTATUS op_end(struct op *op, NTSTATUS status, void *out);

/*
 * Calls that complete by a routine, with that routine and its context as the last arguments. The caller prints their
 * beginning.
 */
#define REQUEST(pointer, entry, ...)                                                                                   \
    ({                                                                                                                 \
        struct op *op_ = op_begin(#entry, (pointer));                                                                  \
        op_end(op_, (pointer)->Dispatch->entry((pointer), __VA_ARGS__, on_request, op_), NULL);                        \
    })
#define CREATE(pointer, entry, out, ...)                                                                               \
    ({                                                                                                                 \
        struct op *op_ = op_begin(#entry, (pointer));                                                                  \
        op_end(op_, (pointer)->Dispatch->entry((pointer), ##__VA_ARGS__, on_created, op_, (out)), (out));              \
    })
#define CLOSE(pointer, entry)                                                                                          \
    ({                                                                                                                 \
        struct op *op_ = op_begin(#entry, (pointer));                                                                  \
        print_event(#entry " object=%p", (const void *)(pointer));                                                     \
        op_end(op_, (pointer)->Dispatch->entry(&(pointer)->Header, on_closed, op_), NULL);                             \
    })
/* The result of a call that never pends. */
#define RETURNED(pointer, entry, result)                                                                               \
    print_event("returned object=%p routine=%s status=%s created=0", (const void *)(pointer), entry,                   \
                status_text(result))

#endif
