/* SPDX-License-Identifier: MIT */
/*
 * Reads the last events of the trace: see last_events.h. The invariant: nothing in this file allocates memory, because
 * a report may come from a signal handler.
 */
#include "front/last_events.h"

#include "openndk/trace.h"
#include "trace/last.h"
#include "verify/report_forms.h"
#include "verify/verify.h"

_Static_assert((int)REPORT_EVENTS <= (int)TRACE_MAX_LAST_EVENTS, "the trace returns as many events as a report has");

/*
 * Reads the last events of the trace. Prefers the events that are related to `object`: see trace_last. If `object` is a
 * proxy of the verify layer, also prefers the events that are related to the provider's object behind the proxy.
 */
static unsigned last_events_read(const void *object, struct last_event *events, unsigned max)
{
    const void *real = object ? verify_unwrap((void *)(uintptr_t)object) : NULL;
    const uint64_t addresses[2] = { (uintptr_t)object, real != object ? (uintptr_t)real : 0 };

    return trace_last(addresses, events, max);
}

static unsigned last_events_of(const void *object, struct last_event events[REPORT_EVENTS])
{
    return last_events_read(object, events, REPORT_EVENTS);
}

void last_events_start(void)
{
    report_set_events(last_events_of);
}

uint32_t ondk_trace_print_last(FILE *out, uint32_t max_events)
{
    struct last_event events[TRACE_MAX_LAST_EVENTS];
    unsigned count = last_events_read(NULL, events,
                                      max_events < TRACE_MAX_LAST_EVENTS ? max_events : TRACE_MAX_LAST_EVENTS);

    report_print_events(out, events, count);
    return count;
}
