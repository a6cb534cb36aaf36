/* SPDX-License-Identifier: MIT */
/*
 * One connection in the traces: for each side the events that matter, and the calls of its program. The
 * invariant: all members that name records or calls are indexes, or END_NONE if there is none.
 */
#ifndef NDKTRACE_STORY_H
#define NDKTRACE_STORY_H

#include "calls.h"
#include "traces.h"

/* Used in place of a record's index: the trace of a side ends here. */
#define STORY_END_OF_TRACE (SIZE_MAX - 1)

enum story_role { STORY_CLIENT, STORY_SERVER };

struct story_calls {
    size_t connect, complete, accept, reject, disconnect, close; /* the first call of each kind */
    size_t connect_event, disconnect_event;                      /* callbacks */
};

struct story_side {
    enum story_role role;
    const struct end *end;       /* NULL: the traces do not have this side of the connection */
    bool has_calls;              /* the file has calls of programs */
    uint64_t connector, qp, srq; /* objects, or 0 */
    /* Records: */
    size_t begin;       /* connection */
    size_t tcp_up;      /* the client's TCP connection was opened */
    size_t request;     /* the client's start-up frame, sent or received by this side */
    size_t reply;       /* the server's start-up frame, received or sent by this side */
    size_t answer;      /* this side's program has called NdkCompleteConnect or NdkAccept */
    size_t stream;      /* what was agreed */
    size_t established; /* outcome=established */
    size_t limit_expired, stall_expired;
    size_t terminate;  /* the first Terminate that this side sent or received */
    size_t bad_crc;    /* the first FPDU with a wrong checksum */
    size_t outcome;    /* why the connection ended; END_NONE if it has not ended */
    const char *state; /* the last state, or "" */
    struct story_calls calls;
};

/* The event that led to a failure, mostly a call of a program. */
struct story_cause {
    size_t record; /* END_NONE: not known, or the same as the first event that went wrong */
    enum story_role role;
    const char *note; /* a sentence about it, or NULL */
};

struct story {
    const struct traces *traces;
    const struct calls *calls;
    uint64_t begin_ns; /* when the first trace began */
    struct story_side sides[2];
};

/* Collects what the traces show about the connection to which the end belongs. */
void story_collect(struct story *s, const struct traces *traces, const struct calls *calls, const struct end *end);

const struct trace_record *story_record(const struct story *s, size_t record);
/* Returns the name of the field's value, or "" if the record is END_NONE or the value has no name. */
const char *story_name(const struct story *s, size_t record, const char *field);
bool story_name_is(const struct story *s, size_t record, const char *field, const char *name);
/* Returns the number in a field, or 0. */
uint64_t story_number(const struct story *s, size_t record, const char *field);
/* Returns the name and the explanation that the schema has for the field's value, or NULL. */
const struct schema_name *story_explained(const struct story *s, size_t record, const char *field);
/* Returns the record's time in seconds since the beginning of the first trace. */
double story_seconds(const struct story *s, size_t record);
double story_seconds_of(const struct story *s, uint64_t time_ns);
/* "the client" or "the server". */
const char *story_who(const struct story_side *side);
static inline const struct story_side *story_other(const struct story *s, const struct story_side *side)
{
    return &s->sides[side->role == STORY_CLIENT ? STORY_SERVER : STORY_CLIENT];
}
/* Returns a call, or NULL if the index is END_NONE. */
const struct call *story_call(const struct story *s, size_t call);
/* Returns the call that created the side's queue pair, or NULL. */
const struct call *story_create_qp(const struct story *s, const struct story_side *side);
/* Returns whether this side's connection failed or was refused. */
bool story_has_failed(const struct story *s, const struct story_side *side);

/* Returns the last record of the side's file. */
size_t story_last_record(const struct story *s, const struct story_side *side);

/* Returns how many calls of the routine on the object had succeeded at the time until_ns. */
size_t story_count_posts(const struct story *s, const struct trace_file *file, uint64_t object, const char *routine,
                         uint64_t until_ns);
/* Returns how many messages (sends) had arrived at this side before the record. */
size_t story_count_messages(const struct story *s, const struct story_side *side, size_t before);

#endif
