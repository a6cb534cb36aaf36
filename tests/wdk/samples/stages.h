/* SPDX-License-Identifier: MIT */
/* Clients of the echo service, made by hand: each comes to a stage and ends there in one of a few ways. */
#ifndef TESTS_WDK_SAMPLES_STAGES_H
#define TESTS_WDK_SAMPLES_STAGES_H

#include "peer.h"

enum { ECHO_PORT = 54321 }; /* the samples' default */

enum stage {
    STAGE_TCP, /* a TCP connection, nothing sent */
    STAGE_HALF_REQUEST,
    STAGE_REQUEST,       /* the reply is not read: the service may not have accepted yet */
    STAGE_REPLY,         /* no ready-to-receive: NdkAccept pends */
    STAGE_READY,         /* connected, no message */
    STAGE_MESSAGES,      /* eight messages, nothing read */
    STAGE_ECHOES,        /* ... and all echoes read */
    STAGE_HALF_MESSAGE,  /* the last of some messages stops in the middle of its FPDU */
    STAGE_FIRST_SEGMENT, /* ... behind its first segment, so that it holds a receive */
    STAGE_BULK,          /* the service waits for the answer to its read */
    STAGE_HALF_BULK,     /* ... and has half of it */
    STAGE_BULK_READ,     /* ... and has all of it, and writes and answers, which is not read */
    STAGE_BULK_DONE,     /* ... which is read */
    STAGE_GARBAGE,       /* some messages, then what no FPDU begins with */
    STAGE_FLOOD,         /* more messages than the service has receives */
    STAGES
};

enum end {
    END_CLOSE, /* what the peer has not read makes it a reset */
    END_RESET,
    END_HALF, /* sends the end of its stream, then waits for the service's */
    END_STAY, /* not before the service has been unloaded */
    ENDS
};

extern const char *const stage_names[STAGES], *const end_names[ENDS];

/* False: the service refused, or ended the connection earlier. */
bool stage_reach(struct peer *p, enum stage stage);
/* The connection ends here; END_STAY does nothing. */
void stage_end(struct peer *p, enum end end);
/* A client that behaves: some messages, their echoes, an orderly end of both sides. False: it was not served. */
bool stage_good_client(void);

#endif
