/* SPDX-License-Identifier: MIT */
/* Prints calls: see call_printer.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "trace/call_printer.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "openndk/adapter.h"

void print_event(const char *format, ...)
{
    va_list arguments;

    flockfile(stdout);
    printf("%d ", gettid());
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    funlockfile(stdout);
}

const char *status_text(NTSTATUS status)
{
    return ondk_status_name(status);
}

struct op *op_begin(const char *routine, const void *object)
{
    struct op *op = calloc(1, sizeof *op);

    if (!op)
        abort();
    op->routine = routine;
    op->object = object;
    sem_init(&op->done, 0, 0);
    return op;
}

void on_created(void *context, NTSTATUS status, NDK_OBJECT_HEADER *created)
{
    struct op *op = context;

    print_event("completed object=%p routine=%s status=%s created=%p context=%p", op->object, op->routine,
                status_text(status), (void *)(NT_SUCCESS(status) ? created : NULL), context);
    print_event("callback_returned object=%p", op->object);
    op->status = status;
    op->created = created;
    sem_post(&op->done);
}

void on_request(void *context, NTSTATUS status)
{
    on_created(context, status, NULL);
}

void on_closed(void *context)
{
    on_created(context, STATUS_SUCCESS, NULL);
}

NTSTATUS op_end(struct op *op, NTSTATUS status, void *out)
{
    void *created = NULL;

    if (out && NT_SUCCESS(status) && status != STATUS_PENDING)
        memcpy(&created, out, sizeof created);
    print_event("returned object=%p routine=%s status=%s created=%p context=%p", op->object, op->routine,
                status_text(status), created, (void *)op);
    if (status == STATUS_PENDING) {
        while (sem_wait(&op->done)) /* interrupted by a signal */
            ;
        status = op->status;
        if (out)
            memcpy(out, &op->created, sizeof op->created);
    }
    sem_destroy(&op->done);
    free(op);
    return status;
}
