/* SPDX-License-Identifier: MIT */
/*
 * Checks the buffers of completed requests: see completed.h. No lock is held while the memory is examined. Meanwhile
 * another thread may end the connection, and the consumer may then free or change the buffers. So a freed or changed
 * buffer is reported only if posted_has_ended still returns false after the examination.
 */
#include "verify/completed.h"
#include "verify/memory.h"
#include "verify/setting.h"

static void completed_report_freed(const struct posted_copy *request, const NDK_SGE *sge, const char *routine,
                                   const struct queue *q)
{
    struct stack by = { .depth = 1, .entry = request->routine };

    by.frames[0] = (void *)(uintptr_t)request->by;
    proxy_set_report_object(&q->p);
    report_add_stack("posted by", &by);
    report_breach(&verify_rules[RULE_BUFFER_FREED], routine, (uintptr_t)sge->VirtualAddress,
                  (uintptr_t)sge->VirtualAddress, (uintptr_t)q, 0,
                  "the buffer of a posted %s, %u bytes at %p, is freed already", request->routine, sge->Length,
                  sge->VirtualAddress);
}

/*
 * Reports the request's first buffer whose memory is freed. Returns true if a buffer was reported. Skips memory outside
 * of registered regions, because it is not known whether such memory is a buffer.
 */
static bool completed_check_freed(const struct posted_copy *request, const char *routine, const struct queue *q,
                                  struct posted *posted)
{
    for (ULONG i = 0; i < request->sges; i++) {
        const NDK_SGE *sge = &request->sge[i];

        if (!memory_is_freed(sge->VirtualAddress, sge->Length) || posted_has_ended(posted) ||
            !proxy_set_memory_reported(sge->VirtualAddress, sge->Length))
            continue;
        completed_report_freed(request, sge, routine, q);
        return true;
    }
    return false;
}

static void completed_check_source(const struct posted_copy *request, const char *routine, const struct queue *q,
                                   struct posted *posted)
{
    struct stack by = { .depth = 1, .entry = request->routine };

    if (!source_has_changed(&request->source, request->sge, request->sges) ||
        !source_is_consumers(&request->source, request->sge, request->sges) || posted_has_ended(posted))
        return;
    by.frames[0] = (void *)(uintptr_t)request->by;
    proxy_set_report_object(&q->p);
    report_add_stack("posted by", &by);
    report_breach(&verify_rules[RULE_SOURCE_CHANGED], routine, (uintptr_t)request->sge[0].VirtualAddress, (uintptr_t)q,
                  request->sges, 0, "the data of a posted %s, %u SGEs, the first at %p, has changed since the post",
                  request->routine, request->sges, request->sge[0].VirtualAddress);
}

static void completed_check_copy(const struct posted_copy *request, const char *routine, const struct queue *q,
                                 struct posted *posted)
{
    if (!completed_check_freed(request, routine, q, posted))
        completed_check_source(request, routine, q, posted);
}

void completed_check(const struct queue *q, struct posted *posted, void *context, const char *routine)
{
    struct posted_copy request;

    if (!verify_on() || !memory_can_ask_often() || atomic_load(&q->disconnected))
        return;
    while (posted_copy_silent_before(posted, context, &request))
        completed_check_copy(&request, routine, q, posted);
    if (posted_copy_completed(posted, context, &request))
        completed_check_copy(&request, routine, q, posted);
}
