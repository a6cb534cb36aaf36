/* SPDX-License-Identifier: MIT */
/*
 * Implements the published reasons. A code consists of a cause (a row of the table below) and perhaps the code of a
 * Terminate. If a code has a Terminate, its text is the text of the cause followed by the text of the Terminate. The
 * invariant: a published number never changes its meaning.
 */
#include "provider/reason.h"

#include <stdbool.h>
#include <string.h>

#include "openndk/reason.h"
#include "provider/connector.h"
#include "trace/trace.h"

/* clang-format off */
static const struct cause {
    uint8_t number, by; /* `number`: enum ondk_cause. `by`: enum ondk_reason_by, the side that sends a Terminate. */
    const char *text, *advice;
} reason_causes[FABRIC_REASON_COUNT] = {
    [FABRIC_OK] = {ONDK_CAUSE_NONE, 0, "Nothing failed.", "There is nothing to do."},
    [FABRIC_NO_ROUTE] = {ONDK_CAUSE_NO_ROUTE, 0, "There is no route to the peer's network.",
                         "Check the address and the routes (ip route)."},
    [FABRIC_NO_HOST] = {ONDK_CAUSE_NO_HOST, 0,
                        "The peer's host cannot be reached: no neighbour answered, or a router reported it.",
                        "Check the address, that the host is up and answers (ip neighbour), and that no firewall "
                        "rejects the connection."},
    [FABRIC_ADDRESS_TAKEN] = {ONDK_CAUSE_ADDRESS_TAKEN, 0,
                              "The local address and port are in use.",
                              "Use another port, or port 0, or end the process that holds it: ndkstat -A and ss "
                              "-tlnp name it, and ondk_address_holder with its user."},
    [FABRIC_ADDRESS_FOREIGN] = {ONDK_CAUSE_ADDRESS_FOREIGN, 0, "The local address is not one of the adapter's.",
                                "Use an address that the interface has (ip address)."},
    [FABRIC_PORTS_EXHAUSTED] = {ONDK_CAUSE_PORTS_EXHAUSTED, 0,
                                "All ports from 49152 to 65535 are in use.",
                                "Close connections, or have the program share one endpoint between them "
                                "(NdkCreateSharedEndpoint)."},
    [FABRIC_FOUR_TUPLE] = {ONDK_CAUSE_FOUR_TUPLE, 0,
                           "A connection with the same two addresses and ports exists already.",
                           "Close it first, or connect from another local port."},
    [FABRIC_INTERFACE_GONE] = {ONDK_CAUSE_INTERFACE_GONE, 0,
                               "The adapter's network interface was deleted, or moved to another network namespace.",
                               "Restart the program with an interface that exists (ndkinfo --list). A program can "
                               "close the adapter, and open that of another interface."},
    [FABRIC_PORT_FORBIDDEN] = {ONDK_CAUSE_PORT_FORBIDDEN, 0, "The system does not allow this user to bind the local "
                                                             "port.",
                               "Use a port from 1024 on (net.ipv4.ip_unprivileged_port_start), or port 0, or give the "
                               "program CAP_NET_BIND_SERVICE."},
    [FABRIC_PROHIBITED] = {ONDK_CAUSE_PROHIBITED, 0,
                           "A packet filter, a router or a route forbids the connection.",
                           "Check the firewalls of both hosts and between them (nft list ruleset), and the routes (ip "
                           "route)."},
    [FABRIC_NO_PROTOCOL] = {ONDK_CAUSE_NO_PROTOCOL, 0,
                            "The peer's host, or a host before it, answered that it does not accept such packets.",
                            "Check the address, and that no firewall answers instead of the host (nft list ruleset)."},
    [FABRIC_SYSTEM] = {ONDK_CAUSE_SYSTEM, 0, "The system refused for a reason that OpenNDK does not recognize.",
                       "Run the program under strace -f -e trace=network: the failing call shows the error."},
    [FABRIC_REFUSED] = {ONDK_CAUSE_REFUSED, 0, "Nobody listens at the peer's address.",
                        "Start the server, check the port, that the server listens on this address (ndkstat or ss -tln "
                        "there), and that no firewall rejects the connection. A paused listener looks the same."},
    [FABRIC_REJECTED] = {ONDK_CAUSE_REJECTED, 0, "The peer rejected the request; private data may have the reason.",
                         "The server's log (ONDK_LOG=info) or ndkstat --failures there has the cause: backlog, private "
                         "data, ready-to-receive, or its program."},
    [FABRIC_PEER_RESET] = {ONDK_CAUSE_PEER_RESET, 0,
                           "The peer reset the connection, or its process died.",
                           "Check the peer's log and list of failures: its program crashed, or closed without a "
                           "disconnect, or its host lost the network. While connecting: the peer is not iWARP, or a "
                           "proxy without its backend. In the phase peer-gone: this side had not disconnected in "
                           "time."},
    [FABRIC_PEER_CLOSED] = {ONDK_CAUSE_PEER_CLOSED, 0,
                            "The peer disconnected.",
                            "Not an error: the program of this side should disconnect, too (NdkDisconnect)."},
    [FABRIC_PEER_GAVE_UP] = {ONDK_CAUSE_PEER_GAVE_UP, 0, "The peer closed the connection before it was established.",
                             "Read the peer's log: it cancelled, its own time limit passed, or it is not an RDMA "
                             "peer."},
    [FABRIC_PEER_TERMINATE] = {ONDK_CAUSE_PEER_TERMINATE, ONDK_BY_PEER,
                               "The peer found an error in what this side sent, and ended the connection with a "
                               "Terminate.",
                               "Compare what was posted here with what the peer offered."},
    [FABRIC_PROTOCOL] = {ONDK_CAUSE_PROTOCOL, ONDK_BY_US,
                         "This side found an error in what the peer sent, and ended the connection with a Terminate.",
                         "Compare what the peer posted with what was offered to it here."},
    [FABRIC_BAD_REPLY] = {ONDK_CAUSE_BAD_REPLY, 0, "The peer's answer is not a valid MPA reply.",
                          "Check that an iWARP server, and not another service, listens at that port."},
    [FABRIC_READ_LIMITS] = {ONDK_CAUSE_READ_LIMITS, 0,
                            "The reply requests more RDMA reads in flight than were offered.",
                            "Raise ONDK_MAX_INBOUND_READS (max_inbound_reads) of this side, have its program "
                            "connect with higher read limits, or lower those of the peer."},
    [FABRIC_NO_READY_FORM] = {ONDK_CAUSE_NO_READY_FORM, 0,
                              "The reply chose a ready-to-receive form that was not offered.",
                              "Offer all forms, which is the default of ONDK_RTR (rtr), or none for a peer that "
                              "does not support them."},
    [FABRIC_NOT_CONNECTING] = {ONDK_CAUSE_NOT_CONNECTING, 0,
                               "The call was made while no connection was being established.",
                               "An error in this side's program: check the order of its calls, and that an earlier "
                               "step succeeded."},
    [FABRIC_LOCAL_CLOSE] = {ONDK_CAUSE_LOCAL_CLOSE, 0,
                            "This side's program closed the connection without a disconnect.",
                            "The peer finds a reset. Not an error if the program gave up or was ended; otherwise it "
                            "should disconnect first (NdkDisconnect)."},
    [FABRIC_LOCAL_DISCONNECT] = {ONDK_CAUSE_LOCAL_DISCONNECT, 0, "The local side disconnected.",
                                 "Not an error: receives that are still posted end this way."},
    [FABRIC_LOCAL_FLUSH] = {ONDK_CAUSE_LOCAL_FLUSH, ONDK_BY_US, "The local side flushed or closed the queue pair.",
                            "Not an error; a flush of a half-sent message ends the connection."},
    [FABRIC_LOCAL_ERROR] = {ONDK_CAUSE_LOCAL_ERROR, ONDK_BY_US,
                            "A local request failed because its memory was no longer registered.",
                            "Keep a region registered until every request that names it has completed."},
    [FABRIC_TOKEN] = {ONDK_CAUSE_TOKEN, 0,
                      "A token of this side is unknown or no longer valid.",
                      "An error in one of the programs. The region was deregistered or invalidated, or the region "
                      "of its window has ended, or the token is an old one: a new registration has a new token."},
    [FABRIC_TOKEN_DOMAIN] = {ONDK_CAUSE_TOKEN_DOMAIN, 0,
                             "A token of this side belongs to another protection domain.",
                             "An error in this side's program: it must create region and queue pair in the same "
                             "protection domain (NDK_PD)."},
    [FABRIC_TOKEN_RIGHT] = {ONDK_CAUSE_TOKEN_RIGHT, 0,
                            "A region of this side lacks the right for the request.",
                            "An error in this side's program: receives and reads need the right of local write "
                            "(NDK_MR_FLAG_ALLOW_LOCAL_WRITE)."},
    [FABRIC_TOKEN_RANGE] = {ONDK_CAUSE_TOKEN_RANGE, 0, "Address and length are not inside this side's region.",
                            "Compare them with the address and length that were registered or bound."},
    [FABRIC_TOKEN_LASTING] = {ONDK_CAUSE_TOKEN_LASTING, 0, "The token cannot be invalidated.",
                              "Only fast-registered regions and bound windows can; others are deregistered."},
    [FABRIC_REGION_GONE] = {ONDK_CAUSE_REGION_GONE, 0,
                            "The memory of a fast registration or bind was no longer registered when the request was "
                            "processed.",
                            "Keep the region of a window until the bind has completed, and do not close or deregister "
                            "it."},
    [FABRIC_RECEIVE_SHORT] = {ONDK_CAUSE_RECEIVE_SHORT, ONDK_BY_US, "The message was longer than the receive.",
                              "Post longer receives, or have the peer send shorter messages."},
    [FABRIC_PEER_TOKEN] = {ONDK_CAUSE_PEER_TOKEN, ONDK_BY_PEER, "The peer's memory cannot be accessed with this token.",
                           "Check that the token is the current one, and that its region allows the access."},
    [FABRIC_PEER_RANGE] = {ONDK_CAUSE_PEER_RANGE, ONDK_BY_PEER, "Address and length are not inside the peer's region.",
                           "Compare them with what the peer registered and announced."},
    [FABRIC_RESOURCES] = {ONDK_CAUSE_RESOURCES, 0, "Memory, or another resource of the system, ran out.",
                          "Check the memory of the host and the limits of the process (ulimit -v, a control group), "
                          "use shallower queues, or close idle objects."},
    [FABRIC_DESCRIPTORS] = {ONDK_CAUSE_DESCRIPTORS, 0, "This process, or its host, had no file descriptor left.",
                            "Raise the limit (ulimit -n, or LimitNOFILE= of a systemd unit; fs.file-max for the host), "
                            "or close connections. A connection needs two descriptors."},
    [FABRIC_CQ_OVERFLOW] = {ONDK_CAUSE_CQ_OVERFLOW, 0,
                            "More requests completed than a completion queue holds.",
                            "An error in this side's program: a completion queue must be as deep as all queues that "
                            "use it together."},
    [FABRIC_SRQ_SHARE] = {ONDK_CAUSE_SRQ_SHARE, 0,
                          "Unfinished messages held too many receives of the shared receive queue, and this one had "
                          "not advanced for the longest time.",
                          "Check the peer: it began a message and did not continue. Have this side's program post "
                          "more receives, or raise ONDK_SRQ_STALL_MS (srq_stall_ms) or ONDK_SRQ_SHARE_PERCENT "
                          "(srq_share_percent)."},
    [FABRIC_CONNECT_TIMEOUT] = {ONDK_CAUSE_CONNECT_TIMEOUT, 0,
                                "Nothing answered at the transport level in time.",
                                "Check the address, and that no firewall drops the packets; ONDK_CONNECT_MS "
                                "(connect_ms) is the limit."},
    [FABRIC_REPLY_TIMEOUT] = {ONDK_CAUSE_REPLY_TIMEOUT, 0,
                              "The transport opened, but the MPA request was not answered in time.",
                              "Check that the peer is an iWARP server, and that its program accepts or rejects "
                              "(NdkAccept, NdkReject): meanwhile its ndkstat -C shows the state requested. "
                              "ONDK_REPLY_MS (reply_ms) is the limit."},
    [FABRIC_ESTABLISH_TIMEOUT] = {ONDK_CAUSE_ESTABLISH_TIMEOUT, 0,
                                  "The ready-to-receive message did not arrive, was not sent, or was not answered "
                                  "in time.",
                                  "Check that the connecting program is not stopped, and completes the connection "
                                  "(NdkCompleteConnect); ONDK_ESTABLISH_MS (establish_ms) is the limit."},
    [FABRIC_DISCONNECT_TIMEOUT] = {ONDK_CAUSE_DISCONNECT_TIMEOUT, 0,
                                   "The peer did not disconnect in time.",
                                   "Check whether the peer's program is stopped or slow: it must disconnect when "
                                   "this side has (NdkDisconnect, in its disconnect callback). ONDK_DISCONNECT_MS "
                                   "(disconnect_ms) is the limit."},
    [FABRIC_PEER_SILENT] = {ONDK_CAUSE_PEER_SILENT, 0,
                            "The peer's host did not acknowledge or accept in time what was sent to it.",
                            "Check the network between the two hosts, and whether the peer's host is up and its "
                            "program runs; ONDK_UNACKED_MS (unacked_ms) and ONDK_KEEPALIVE_IDLE_MS "
                            "(keepalive_idle_ms) are the limits."},
    [FABRIC_FRAME_STALLED] = {ONDK_CAUSE_FRAME_STALLED, 0,
                              "The peer began an FPDU and did not finish it in time.",
                              "Check whether the peer's process is stopped, or does not use MPA; ONDK_STALL_MS "
                              "(stall_ms) is the limit."},
    [FABRIC_MESSAGE_STALLED] = {ONDK_CAUSE_MESSAGE_STALLED, 0,
                                "The peer began a message, and too little of the rest arrived in time.",
                                "Check whether the peer's process is stopped; ONDK_STALL_MS (stall_ms) is the limit."},
    [FABRIC_REQUEST_TIMEOUT] = {ONDK_CAUSE_REQUEST_TIMEOUT, 0,
                                "The peer connected and did not send a complete MPA request in time.",
                                "Check whether the peer is an iWARP initiator, and not a port scan or another "
                                "protocol; ONDK_REQUEST_MS (request_ms) is the limit."},
    [FABRIC_BAD_REQUEST] = {ONDK_CAUSE_BAD_REQUEST, 0, "The peer's first bytes are not a valid MPA request.",
                            "Check that the peer is an iWARP initiator: another protocol's client connects to this "
                            "port."},
    [FABRIC_BAD_REVISION] = {ONDK_CAUSE_BAD_REVISION, 0,
                             "The peer's request has an MPA revision that does not exist; 0, 1 and 2 do.",
                             "Configure the peer's MPA revision; 2 is the newest. The setting of OpenNDK is "
                             "ONDK_MPA_REVISION (mpa_revision)."},
    [FABRIC_UNSUPPORTED_REQUEST] = {ONDK_CAUSE_UNSUPPORTED_REQUEST, 0,
                                    "The peer's request requires MPA markers, which OpenNDK does not support.",
                                    "Switch markers off at the peer."},
    [FABRIC_REQUEST_NO_LIMITS] = {ONDK_CAUSE_REQUEST_NO_LIMITS, 0,
                                  "The peer's request has flag S, which announces read limits, but no read limits.",
                                  "An error in the peer's protocol software: capture the traffic and report it."},
    [FABRIC_REQUEST_DATA] = {ONDK_CAUSE_REQUEST_DATA, 0,
                             "The peer's request has more private data than this side allows.",
                             "Have the peer's program send less, or raise ONDK_MAX_PRIVATE (max_private) of this "
                             "side."},
    [FABRIC_REQUEST_NO_FORM] = {ONDK_CAUSE_REQUEST_NO_FORM, 0,
                                "The peer's request offers no form of ready-to-receive that this side accepts.",
                                "Compare the forms that the peer offers with ONDK_RTR (rtr) of this side; the default "
                                "accepts all."},
    [FABRIC_BACKLOG_FULL] = {ONDK_CAUSE_BACKLOG_FULL, 0,
                             "As many requests as the backlog allows wait for this side's program.",
                             "Find out why the program does not accept or reject sooner, or raise ONDK_BACKLOG "
                             "(backlog); ndkstat -o shows how many wait."},
    [FABRIC_CROWDED_OUT] = {ONDK_CAUSE_CROWDED_OUT, 0,
                            "Too many peers had connected without a complete request, and this one was the oldest "
                            "of the source that had most.",
                            "Check for a flood of connections from that source; ONDK_MAX_UNFINISHED "
                            "(max_unfinished) is the limit."},
    [FABRIC_NOT_DELIVERED] = {ONDK_CAUSE_NOT_DELIVERED, 0,
                              "The request could not be passed to this side's program, because the listener was "
                              "being closed or memory ran out.",
                              "Try again; if the listener is open, check the memory of its process."},
    [FABRIC_LISTENER_PAUSED] = {ONDK_CAUSE_LISTENER_PAUSED, 0,
                                "This side's program has paused the listener.",
                                "Read the program's log. It must resume the listener (NdkControlConnectEvents)."},
    [FABRIC_LISTENER_CLOSED] = {ONDK_CAUSE_LISTENER_CLOSED, 0,
                                "The local side closed the listener before the peer's request was complete.",
                                "Not an error; the peer may connect to another listener."},
    [FABRIC_LOCAL_REJECT] = {ONDK_CAUSE_LOCAL_REJECT, 0,
                             "This side's program rejected the connection.",
                             "Not an error of the network: read the program's own log."},
    [FABRIC_UNANSWERED] = {ONDK_CAUSE_UNANSWERED, 0,
                           "This side's program had neither accepted nor rejected the request when the peer ended it.",
                           "If the peer's reason is reply-timeout, this side's program is too slow: find out why, or "
                           "raise ONDK_REPLY_MS (reply_ms) of the peer. Otherwise the peer's program or user "
                           "cancelled. ndkstat -C shows requests that wait, in the state requested, with their age."},
};
/* clang-format on */

static const struct fabric_terminate unknown_terminate = { 0, "other", "The code is not one of the protocol's.",
                                                           "Read the documentation of the side that sent it. Linux "
                                                           "siw exchanges layer and type: docs/guide-operator.md lists "
                                                           "what its codes mean." };

/* ---- Codes ---- */

uint32_t reason_code(enum fabric_reason why, uint16_t terminate)
{
    const struct cause *c;

    if (why == FABRIC_OK || (unsigned)why >= FABRIC_REASON_COUNT)
        return 0;
    c = &reason_causes[why];
    if (c->by == ONDK_BY_NOBODY || terminate == FABRIC_NO_TERMINATE)
        return (uint32_t)c->number << 16;
    return c->by << 24 | (uint32_t)c->number << 16 | terminate;
}

uint32_t ondk_connector_reason(NDK_CONNECTOR *connector)
{
    struct connector *c = connector_of(provider_unwrap(connector));
    enum fabric_reason why;
    uint16_t terminate;

    connector_lock(c);
    why = c->reason;
    terminate = c->terminate;
    /*
     * The queue pair has a reason before the connector receives the report that the connection has ended. If the
     * connector has no reason yet, the reason of the queue pair is used.
     */
    if (why == FABRIC_OK && connector_has_qp(c->phase))
        why = connector_ops(c)->qp_reason(c->qp->fabric, &terminate);
    connector_unlock(c);
    return reason_code(why, terminate);
}

/* ---- The meaning of codes ---- */

/* Returns the cause of a code, or FABRIC_REASON_COUNT if there is no such code. */
static enum fabric_reason reason_find(uint32_t code)
{
    for (int why = 0; why < FABRIC_REASON_COUNT; why++) {
        const struct cause *c = &reason_causes[why];
        uint32_t by = ONDK_REASON_BY(code);

        if (code >> 24 == by && c->number == ONDK_REASON_CAUSE(code) &&
            (by ? by == c->by : !ONDK_REASON_TERMINATE(code)))
            return why;
    }
    return FABRIC_REASON_COUNT;
}

/* Returns the Terminate of a code, or NULL if the code has none. */
static const struct fabric_terminate *reason_find_terminate(uint32_t code)
{
    unsigned count;
    const struct fabric_terminate *all = fabric_terminates(&count);

    if (!ONDK_REASON_BY(code))
        return NULL;
    for (unsigned i = 0; i < count; i++) {
        if (all[i].code == ONDK_REASON_TERMINATE(code))
            return &all[i];
    }
    return &unknown_terminate;
}

const char *reason_write_name(uint32_t code, char text[REASON_NAME])
{
    enum fabric_reason why = reason_find(code);
    const struct fabric_terminate *t = reason_find_terminate(code);

    if (why == FABRIC_REASON_COUNT)
        return "unknown";
    if (!t)
        return fabric_reason_name(why);
    snprintf(text, REASON_NAME, "%s/%s", fabric_reason_name(why), t->name);
    return text;
}

const char *reason_write_text(uint32_t code, char text[REASON_TEXT])
{
    enum fabric_reason why = reason_find(code);
    const struct fabric_terminate *t = reason_find_terminate(code);

    if (why == FABRIC_REASON_COUNT)
        return "A code that this provider does not return.";
    if (!t)
        return reason_causes[why].text;
    snprintf(text, REASON_TEXT, "%s %s", reason_causes[why].text, t->text);
    return text;
}

const char *ondk_reason_name(uint32_t code)
{
    static _Thread_local char name[REASON_NAME];

    return reason_write_name(code, name);
}

const char *ondk_reason_text(uint32_t code)
{
    static _Thread_local char text[REASON_TEXT];

    return reason_write_text(code, text);
}

const char *ondk_reason_advice(uint32_t code)
{
    enum fabric_reason why = reason_find(code);
    const struct fabric_terminate *t = reason_find_terminate(code);

    if (why == FABRIC_REASON_COUNT)
        return "Look it up in the documentation of its origin.";
    return t && why != FABRIC_LOCAL_FLUSH && why != FABRIC_LOCAL_ERROR ? t->advice : reason_causes[why].advice;
}

/* ---- The texts of traces ---- */

static bool reason_next_text(unsigned index, struct trace_text *text)
{
    if (index < FABRIC_REASON_COUNT)
        *text = (struct trace_text){ index, reason_causes[index].text, reason_causes[index].advice };
    return index < FABRIC_REASON_COUNT;
}

__attribute__((constructor)) static void reason_set_texts(void)
{
    trace_set_texts(TRACE_NAMES_reason, reason_next_text);
}

/* ---- The tables of docs/reasons.md ---- */

static void reason_print_cause(FILE *out, unsigned number)
{
    static const char *const by[] = { "", "this side's", "the peer's" };

    for (int why = FABRIC_OK + 1; why < FABRIC_REASON_COUNT; why++) {
        const struct cause *c = &reason_causes[why];
        if (c->number == number)
            fprintf(out, "| 0x%08x | %s | %s | %s | %s |\n", number << 16, fabric_reason_name(why), by[c->by], c->text,
                    c->advice);
    }
}

void reason_print_tables(FILE *out)
{
    unsigned count;
    const struct fabric_terminate *terminates = fabric_terminates(&count);

    fprintf(out, "## Causes\n\n| code | name | Terminate | what happened | what to check |\n|---|---|---|---|---|\n");
    for (unsigned number = 1; number <= UINT8_MAX; number++)
        reason_print_cause(out, number);
    fprintf(out, "\n## Terminate codes\n\n| lower 16 bits | name | what was found | what to check |\n"
                 "|---|---|---|---|\n");
    for (unsigned i = 0; i < count; i++)
        fprintf(out, "| 0x%04x | %s | %s | %s |\n", terminates[i].code, terminates[i].name, terminates[i].text,
                terminates[i].advice);
    fprintf(out, "| any other | %s | %s | %s |\n", unknown_terminate.name, unknown_terminate.text,
            unknown_terminate.advice);
}
