/* SPDX-License-Identifier: MIT */
/* Connections between the provider and a raw peer (raw.h), up to any step of establishment. */
#ifndef TESTS_CONTRACT_PEER_H
#define TESTS_CONTRACT_PEER_H

#include "contract/kit/kit.h"
#include "contract/kit/raw.h"

/* The form of the ready-to-receive message (RFC 6581). PEER_NONE: there is no such message. */
enum peer_form { PEER_NONE, PEER_FPDU, PEER_WRITE, PEER_READ };
enum { PEER_READS = 8 };

/*
 * Returns an MPA frame of revision 2 with CRC and with PEER_READS as both read limits. If `form` is not PEER_NONE, the
 * frame also has flag A and the flag of `form`. Skips the case if the adapter supports fewer reads.
 */
struct raw_frame peer_frame(enum peer_form form);

/* A connection that the provider begins. The case accepts it with a socket. */
struct peer_acceptor {
    struct kit_side side;
    NDK_SHARED_ENDPOINT *endpoint; /* optional: NdkConnect's source */
    int listener, s;
    struct raw_frame request;
    struct kit_call connect;
    NTSTATUS connecting;
};
/*
 * Calls NdkConnect, which stays pending, and reads the provider's MPA request. *p must be zeroed, except that the
 * caller may set side.adapter, endpoint, and connect.inside.
 */
void peer_acceptor_open(struct peer_acceptor *p);
void peer_acceptor_reopen(struct peer_acceptor *p); /* calls NdkConnect again after a failure */
/* Sends the MPA reply, and returns NdkConnect's final status. */
NTSTATUS peer_acceptor_try_reply(struct peer_acceptor *p, enum peer_form form);
/* Sends the MPA reply, and checks that NdkConnect succeeds. */
void peer_acceptor_reply(struct peer_acceptor *p, enum peer_form form);
/* Calls NdkCompleteConnect, which must succeed, and reads the ready-to-receive message. */
void peer_acceptor_complete(struct peer_acceptor *p, enum peer_form form);
void peer_acceptor_connect(struct peer_acceptor *p, enum peer_form form); /* calls _reply, then _complete */
/* Reads the ready-to-receive message. If the message is a read request, sends the read response. */
void peer_acceptor_ready(struct peer_acceptor *p, enum peer_form form);
/* Closes the sockets and the side, but neither the endpoint nor an adapter that the caller has set. */
void peer_acceptor_close(struct peer_acceptor *p);

/* A connection that the case initiates with a TCP socket, and that the provider accepts. */
struct peer_initiator {
    struct kit_side side;
    struct kit_listener listener;
    int s;
    struct raw_frame reply;
    struct kit_call accept;
    NTSTATUS accepting;
};
void peer_initiator_open(struct peer_initiator *p, const struct raw_frame *request); /* waits for the connect event */
void peer_initiator_accept(struct peer_initiator *p); /* calls NdkAccept and reads the MPA reply */
/* Sends the ready-to-receive message. If the message is a read request, reads the read response. */
void peer_initiator_ready(struct peer_initiator *p, enum peer_form form);
/* Calls peer_initiator_open, _accept and _ready. NdkAccept must succeed. */
void peer_initiator_connect(struct peer_initiator *p, enum peer_form form);
void peer_initiator_close(struct peer_initiator *p);

/*
 * Reads the stream. Returns true at the end of the stream, or false if a message arrives first. Skips empty writes,
 * because a provider may send them as nudges to a peer that has sent nothing (docs/architecture.md).
 */
bool peer_wait_end(int s);
bool peer_is_empty_write(const uint8_t *ulpdu, int len);
/* For unfinished connections. Ends the case's direction of the stream, and waits until the provider ends its own. */
void peer_end_stream(int s);

#endif
