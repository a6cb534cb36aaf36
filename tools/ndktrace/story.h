/* SPDX-License-Identifier: MIT */
/*
 * Collects what the traces contain about one connection: for each side the important events, and the calls of the
 * side's program. The invariant: all members that refer to records or calls are indexes, or END_NONE if there is none.
 */
#ifndef NDKTRACE_STORY_H
#define NDKTRACE_STORY_H

#include "calls.h"
#include "traces.h"

/* Stands for the end of a side's trace, where otherwise the index of a record is stored. */
#define STORY_END_OF_TRACE (SIZE_MAX - 1)

enum story_role { STORY_CLIENT, STORY_SERVER };

struct story_calls {
    size_t connect, complete, accept, reject, disconnect, close; /* the first call of each kind */
    size_t connect_event, disconnect_event;                      /* the callbacks of these kinds */
};

struct story_side {
    enum story_role role;
    const struct end *end;       /* NULL: the traces do not contain this side of the connection */
    bool has_calls;              /* the side's file contains calls of programs */
    uint64_t connector, qp, srq; /* addresses of these objects, or 0 */
    /* Indexes of records: */
    size_t begin;       /* the event `connection` */
    size_t tcp_up;      /* the client's TCP connection was opened */
    size_t request;     /* the client's start-up frame, as this side sent or received it */
    size_t reply;       /* the server's start-up frame, as this side received or sent it */
    size_t answer;      /* this side's program called NdkCompleteConnect or NdkAccept */
    size_t stream;      /* the event that contains the agreed parameters */
    size_t established; /* the event with outcome=established */
    size_t limit_expired, stall_expired;
    size_t terminate;  /* the first Terminate that this side sent or received */
    size_t bad_crc;    /* the first FPDU with a wrong checksum */
    size_t outcome;    /* the event with the reason for which the connection ended; END_NONE if it has not ended */
    const char *state; /* the connection's last state, or "" */
    struct story_calls calls;
};

/* The event that led to a failure. It is usually a call of a program. */
struct story_cause {
    size_t record; /* END_NONE: the event is not known, or is itself the first event that went wrong */
    enum story_role role;
    const char *note; /* a sentence about the event, or NULL */
};

struct story {
    const struct traces *traces;
    const struct calls *calls;
    uint64_t begin_ns; /* time of day when the first trace began */
    struct story_side sides[2];
};

/* Collects what the traces contain about the connection to which the end `end` belongs. */
void story_collect(struct story *s, const struct traces *traces, const struct calls *calls, const struct end *end);

const struct trace_record *story_record(const struct story *s, size_t record);
/*
 * Returns the name of the field's value. Returns "" if `record` is END_NONE, if the record does not have the field, or
 * if the schema has no name for the value.
 */
const char *story_name(const struct story *s, size_t record, const char *field);
bool story_name_is(const struct story *s, size_t record, const char *field, const char *name);
/* Returns the number in a field, or 0 if the record does not have the field. */
uint64_t story_number(const struct story *s, size_t record, const char *field);
/* Returns the name and the explanation that the schema contains for the field's value, or NULL. */
const struct schema_name *story_explained(const struct story *s, size_t record, const char *field);
/*
 * Both functions return seconds since the beginning of the first trace. story_seconds converts the time of a record,
 * and story_seconds_of converts `time_ns`.
 */
double story_seconds(const struct story *s, size_t record);
double story_seconds_of(const struct story *s, uint64_t time_ns);
/* Returns "the client" or "the server". */
const char *story_who(const struct story_side *side);
static inline const struct story_side *story_other(const struct story *s, const struct story_side *side)
{
    return &s->sides[side->role == STORY_CLIENT ? STORY_SERVER : STORY_CLIENT];
}
/* Returns the call with this index, or NULL if the index is END_NONE. */
const struct call *story_call(const struct story *s, size_t call);
/* Returns the call that created the side's queue pair, or NULL. */
const struct call *story_create_qp(const struct story *s, const struct story_side *side);
/* Returns true if this side's connection failed or was refused. */
bool story_has_failed(const struct story *s, const struct story_side *side);

/* Returns the last record of the side's file. */
size_t story_last_record(const struct story *s, const struct story_side *side);

/* Returns the number of calls of `routine` on `object` that had succeeded at the time `until_ns`. */
size_t story_count_posts(const struct story *s, const struct trace_file *file, uint64_t object, const char *routine,
                         uint64_t until_ns);
/* Returns the number of messages (sends) that had arrived at this side before the record `before`. */
size_t story_count_messages(const struct story *s, const struct story_side *side, size_t before);

#endif
