/* SPDX-License-Identifier: MIT */
/* Connections with one end made by hand (raw.h) and the other by the provider, up to any step of establishment. */
#ifndef TESTS_CONTRACT_PEER_H
#define TESTS_CONTRACT_PEER_H

#include "contract/kit/kit.h"
#include "contract/kit/raw.h"

/* Ready-to-receive forms, and none. */
enum peer_form { PEER_NONE, PEER_FPDU, PEER_WRITE, PEER_READ };
enum { PEER_READS = 8 };

/*
 * A frame of revision 2 with CRC, 8 reads each way, and flag A with this form (none: without A). Skips the case where
 * the adapter has fewer reads.
 */
struct raw_frame peer_frame(enum peer_form form);

/* The case accepts by hand what the provider asks, over a shared endpoint where there is one. */
struct peer_acceptor {
    struct kit_side side;
    NDK_SHARED_ENDPOINT *endpoint;
    int listener, s;
    struct raw_frame request;
    struct kit_call connect;
    NTSTATUS connecting;
};
/*
 * The request has come, NdkConnect pends. All zero but for an adapter, an endpoint of it, and for what shall run inside
 * NdkConnect's completion.
 */
void peer_acceptor_open(struct peer_acceptor *p);
void peer_acceptor_again(struct peer_acceptor *p); /* once more, where that has failed */
NTSTATUS peer_acceptor_try_reply(struct peer_acceptor *p, enum peer_form form); /* what NdkConnect came to */
void peer_acceptor_reply(struct peer_acceptor *p, enum peer_form form);   /* ... which is success */
void peer_acceptor_complete(struct peer_acceptor *p, enum peer_form form); /* ... and then NdkCompleteConnect's, too */
void peer_acceptor_connect(struct peer_acceptor *p, enum peer_form form); /* the reply and that */
/* The ready-to-receive has come; a read is answered. */
void peer_acceptor_ready(struct peer_acceptor *p, enum peer_form form);
void peer_acceptor_close(struct peer_acceptor *p); /* not the endpoint, nor an adapter that was given */

/* The case asks by hand, the provider listens. */
struct peer_initiator {
    struct kit_side side;
    struct kit_listener listener;
    int s;
    struct raw_frame reply;
    struct kit_call accept;
    NTSTATUS accepting;
};
void peer_initiator_open(struct peer_initiator *p, const struct raw_frame *request); /* its connector is there */
void peer_initiator_accept(struct peer_initiator *p);                        /* ... and the reply has been read */
void peer_initiator_ready(struct peer_initiator *p, enum peer_form form);    /* sends it; a read's answer is awaited */
void peer_initiator_connect(struct peer_initiator *p, enum peer_form form);  /* all of it, NdkAccept has succeeded */
void peer_initiator_close(struct peer_initiator *p);

/*
 * Waits for the end of the stream (true) or a message (false). A provider may send a silent peer, which could have lost
 * its first FPDU, empty writes: they are no message.
 */
bool peer_ended(int s);
/* Is it such an empty write? */
bool peer_is_nudge(const uint8_t *ulpdu, int len);
/* Our stream ends, and the provider has taken notice: it has let go of its end, which must not be streaming yet. */
void peer_give_up(int s);

#endif
