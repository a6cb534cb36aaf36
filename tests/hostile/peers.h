/* SPDX-License-Identifier: MIT */
/*
 * Many raw TCP peers in one thread: connecting, the MPA handshake, FPDUs in both directions, and how each connection
 * ended. An attack is a table of functions, struct attack. The connections at a time, all connections, and the time are
 * limited.
 */
#ifndef HOSTILE_PEERS_H
#define HOSTILE_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "hostile/frames.h"

enum peer_state {
    PEER_FREE,
    PEER_CONNECTING,
    PEER_CONNECTED, /* client: no request was sent yet; server: no request was received yet */
    PEER_REQUESTED,
    PEER_OPEN, /* client: the reply was received; server: the reply was sent */
};

/* The victim's memory, from the private data of its reply; zero for another service. */
struct victim_memory {
    uint64_t address; /* readable and writable for peers */
    uint32_t token, length;
    uint64_t fixed_address; /* readable, of the same length */
    uint32_t fixed_token;
};

struct peer {
    int fd;
    enum peer_state state;
    unsigned number; /* counts all connections, from 0 */
    unsigned slot;   /* index among the connections at a time */
    bool arrived;    /* peer_arrived was called */
    bool deaf;       /* does not read any more */
    bool crc;
    uint64_t due_ms; /* time at which attack->due is called; 0: never */
    uint8_t *out;    /* bytes that wait to be sent */
    size_t out_len, out_size;
    uint8_t *in; /* an incomplete frame */
    size_t in_len, in_size;
    bool has_terminate;
    uint16_t terminate;
    uint32_t msn; /* message number of the next send */
    uint32_t read_msn;
    struct victim_memory memory;
    /* For the attack. */
    unsigned step, how;
    uint64_t since_ns;
};

struct options {
    struct sockaddr_storage target; /* for a server: the address to listen on */
    struct sockaddr_storage source; /* the first source address; family 0: any address */
    unsigned sources;               /* number of source addresses (IPv4), or of their /64 networks (IPv6) */
    unsigned connections, total;
    unsigned seconds;
    unsigned count;    /* number of messages, or of other things that the attack sends */
    unsigned size;     /* size of a message */
    unsigned mss;      /* TCP_MAXSEG; 0: the system's default */
    unsigned delay_ms; /* delay before the request, or between bytes */
    int how;           /* the attack's variant; -1: all variants in turn */
    bool reconnect, no_crc;
    bool until_stdin; /* the attack ends at the end of standard input */
    uint64_t seed;
};

struct attack {
    const char *name, *text;
    bool is_server;
    unsigned receive_buffer;          /* SO_RCVBUF; 0: the system's default */
    void (*connected)(struct peer *); /* NULL: peer_request */
    void (*requested)(struct peer *); /* server: a request was received */
    void (*opened)(struct peer *);
    void (*received)(struct peer *, const uint8_t *ulpdu, size_t len);
    void (*writable)(struct peer *); /* called whenever no bytes wait to be sent; may be NULL */
    void (*due)(struct peer *);
    void (*ended)(struct peer *, const char *how);
};

enum { MAX_ENDS = 64, ENDS_NAME = 48, MAX_TIMES = 65536 };

struct totals {
    unsigned started, connected, refused, failed, replied, rejected, arrived, closed;
    uint64_t messages, frames, bytes, received_frames, wrong_bytes, wrong_crc;
    unsigned served; /* well-behaved clients that received everything */
    struct {
        char name[ENDS_NAME];
        unsigned count;
    } ends[MAX_ENDS];
    unsigned ends_count;
    unsigned unexpected; /* unexpected ends, which are printed to stderr */
    uint32_t times_us[MAX_TIMES];
    unsigned times_count;
};

extern struct options options;
extern struct totals totals;

/* Runs the attack until it is done, the time is over, or standard input ends. Returns false on a local failure. */
bool peers_run(const struct attack *attack);

void peer_request(struct peer *p);                             /* sends a valid request, revision 2 */
void peer_reply(struct peer *p);                               /* sends a valid reply; then p is PEER_OPEN */
void peer_send(struct peer *p, const void *bytes, size_t len); /* the rest waits if the socket is full */
void peer_send_ulpdu(struct peer *p, const uint8_t *ulpdu, size_t len);
void peer_send_message(struct peer *p, const void *payload, size_t len); /* one segment with the next MSN */
/* peer_close closes the connection in good order, peer_reset by a reset. Both count as closed in `totals`. */
void peer_close(struct peer *p);
void peer_reset(struct peer *p);
void peer_half_close(struct peer *p);
void peer_stop_reading(struct peer *p);
void peer_drop_bytes(struct peer *p, size_t len); /* for a peer that does not read: reads and drops len bytes */
void peer_stop_acknowledging(struct peer *p);     /* the socket drops everything, even acknowledgements */
void peer_arrived(struct peer *p);                /* called by the attack when it is in its final state */
void peer_due_in(struct peer *p, unsigned ms);

uint64_t clock_ns(void);
uint32_t seeded_below(uint32_t limit); /* the next random number, seeded by options.seed */
void seeded_fill(void *bytes, size_t len);
void totals_time(uint64_t since_ns);

extern const struct attack *const attacks[]; /* ends with NULL */

#endif
