/* SPDX-License-Identifier: MIT */
/*
 * `ndkperf perftest`: acts as the peer of Linux perftest's ib_send_bw, ib_send_lat, ib_write_bw, ib_write_lat,
 * ib_read_bw and ib_read_lat. These tools need the option -R. perftest.c contains the program, perftest_session.c the
 * connections and the messages about the test, and perftest_data.c the transfer of the data.
 */
#ifndef NDKPERF_PERFTEST_H
#define NDKPERF_PERFTEST_H

#include <stdbool.h>
#include <stdint.h>

#include "consumer/consumer.h"
#include "options.h"
#include "times.h"

enum {
    PERFTEST_MAX_SIZE = 1 << 30,
    PERFTEST_MAX_RECEIVES = 16384,
    PERFTEST_POLLS = 2000,   /* number of empty polls in sequence before a thread sleeps or yields: about 100 us */
    PERFTEST_WINDOW = 32,    /* maximum number of requests in flight */
    PERFTEST_CONTROL = 64,   /* size in bytes of the longest message on the control connection */
    PERFTEST_SPREAD = 65536, /* maximum size in bytes of the area in which the peer may place small messages */
};

enum perftest_verb { PERFTEST_SEND, PERFTEST_WRITE, PERFTEST_READ };

/* A test, and the messages that both ends exchange for it on the control connection. */
struct perftest_test {
    const char *name;
    enum perftest_verb verb;
    bool latency;
    /* The ends exchange addresses `addresses_before` + 1 times, after the data QP's connect and before the data. */
    unsigned addresses_before;
    bool reports_after;   /* after the data, the ends exchange addresses and then their reports */
    bool addresses_after; /* as the last step, the ends exchange addresses */
};

struct perftest_options {
    bool server, client;
    struct endpoint address, client_address;
    uint32_t test; /* index for perftest_test; UINT32_MAX: not given */
    uint32_t size, iterations, receives;
    double wait_seconds; /* server: time limit for the wait for a client; 0: no limit */
    bool json;
    const char *provider; /* file of a provider module; NULL: OpenNDK */
    ondk_config_t config; /* settings for which an option was given; see provider_options.h */
};

/*
 * The kinds of results. The member `ready` of a link counts the results of each kind that perftest_wait has not
 * consumed yet.
 */
enum perftest_request { PERFTEST_RECEIVED, PERFTEST_POSTED };

struct perftest_link {
    struct consumer c;
    struct consumer_region region;
    unsigned ready[2];
    uint32_t length;          /* the length that each received message must have; 0: any length */
    uint32_t received_length; /* length of the last received message */
};

/* The peer's results, as the peer reports them. */
struct perftest_report {
    bool is_known;
    double mib_per_second, million_per_second;
};

struct perftest {
    const struct perftest_options *options;
    const struct perftest_test *test;
    enum ndkperf_exit failed; /* NDKPERF_OK, or the exit code of the first failure */
    char error[400];          /* a text that describes the first failure */
    bool is_connected;        /* the control connection is established */
    bool has_advised;         /* the advice about the options of both ends was printed */
    struct sockaddr_storage server_address, client_address;
    uint32_t area;     /* size of each half of data.region: the first half receives data, the second half sends data */
    uint32_t receives; /* number of posted receives; only for send tests */
    struct perftest_link control, data;
    /* Two words: the number of messages that the peer has received, and the number that this end has received. */
    struct consumer_region credit;
    uint64_t remote_address;
    uint32_t remote_token;
    char peer_version[17];
    bool is_peer_openndk;
    bool is_crc_known; /* false until the data connection is established, and if the provider is not OpenNDK */
    bool has_crc;      /* the data connection uses the CRC */
    double seconds;    /* duration of the data transfer */
    struct times times;
    struct perftest_report peer;
};

/* Runs `ndkperf perftest`. argv[0] must be "perftest". Returns the exit code. */
int perftest_main(int argc, char **argv);

/* ---- perftest_session.c ---- */

/* Returns the test with this index, or NULL. */
const struct perftest_test *perftest_test(uint32_t index);
/* Prints a message and stores the exit code. Does nothing if an earlier failure was stored. Returns false. */
bool perftest_refuse(struct perftest *p, enum ndkperf_exit code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/*
 * Returns true if the status is a success. Otherwise prints which step has failed on the link, and stores an exit code.
 */
bool perftest_check(struct perftest *p, struct perftest_link *l, const char *step, NTSTATUS status);
/*
 * Opens the adapter and creates the objects that the test needs. At the server also starts to listen. Returns false
 * after a failure.
 */
bool perftest_open(struct perftest *p, uint32_t if_index);
/* The client connects to the server; the server waits for a client. Returns false after a failure. */
bool perftest_connect_control(struct perftest *p);
/*
 * Exchanges settings and memory addresses with the peer, and opens the data connection. Returns false after a failure.
 */
bool perftest_prepare(struct perftest *p);
/* Exchanges the messages that follow the data, and disconnects. Returns false after a failure. */
bool perftest_finish(struct perftest *p);
void perftest_close(struct perftest *p);

/*
 * Returns true if the connection has ended, or if the user has ended the test. The caller must call this before it
 * reads results or memory that the peer writes. In the other order it could miss data that arrive just before the end.
 */
bool perftest_is_over(struct perftest_link *l);
/* Prints that the test has ended early. Returns false. */
bool perftest_refuse_end(struct perftest *p);
/*
 * Prints which options must be equal at both ends. Prints nothing in later calls. Called after a message about a
 * failure or a long wait.
 */
void perftest_advise(struct perftest *p);
/*
 * After a long wait, prints that the peer has done nothing for a while. Prints nothing in later calls. `since` is the
 * time of monotonic_ns at the start of the wait.
 */
void perftest_report_wait(struct perftest *p, uint64_t since);

/*
 * Waits for one result of the kind `which`. This function, perftest_poll and perftest_post_receive print a message and
 * return false if the test cannot continue.
 */
bool perftest_wait(struct perftest *p, struct perftest_link *l, enum perftest_request which);
/* Counts the results that have arrived. Does not wait, and does not check whether the test has ended. */
bool perftest_poll(struct perftest *p, struct perftest_link *l);
bool perftest_post_receive(struct perftest *p, struct perftest_link *l, uint32_t size);

/* ---- perftest_data.c ---- */

/*
 * Transfers the data of the test, and sets p->seconds. If this end measures latencies, also sets p->times. Returns
 * false after a failure.
 */
bool perftest_transfer(struct perftest *p);

#endif
