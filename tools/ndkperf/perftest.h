/* SPDX-License-Identifier: MIT */
/*
 * `ndkperf perftest`: the other end of Linux perftest's ib_send_bw, ib_send_lat, ib_write_bw, ib_write_lat, ib_read_bw
 * and ib_read_lat. These tools need the option -R. perftest.c has the program, perftest_session.c has the connections
 * and the messages about the test, and perftest_data.c has the data.
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
    PERFTEST_POLLS = 2000,   /* empty polls in sequence before a thread sleeps or yields: about 100 us */
    PERFTEST_WINDOW = 32,    /* requests in flight */
    PERFTEST_CONTROL = 64,   /* bytes of the longest message of the control connection */
    PERFTEST_SPREAD = 65536, /* largest area in which the peer may place small messages */
};

enum perftest_verb { PERFTEST_SEND, PERFTEST_WRITE, PERFTEST_READ };

/* A test, and what the tools exchange for it over the control connection. */
struct perftest_test {
    const char *name;
    enum perftest_verb verb;
    bool latency;
    unsigned addresses_before; /* exchanges of addresses after the data QP's connect and before the data, minus 1 */
    bool reports_after;        /* after the data, the tools exchange addresses and then their reports */
    bool addresses_after;      /* the tools exchange addresses as the last step */
};

struct perftest_options {
    bool server, client;
    struct endpoint address, client_address;
    uint32_t test; /* index for perftest_test; UINT32_MAX: not given */
    uint32_t size, iterations, receives;
    double wait_seconds; /* server; 0: no limit */
    bool json;
    const char *provider; /* the file of a provider module, or NULL for OpenNDK */
    ondk_config_t config; /* the settings that the options give: see provider_options.h */
};

/* The kinds of results. A link's `ready` counts the results of each kind that perftest_wait has not yet consumed. */
enum perftest_request { PERFTEST_RECEIVED, PERFTEST_POSTED };

struct perftest_link {
    struct consumer c;
    struct consumer_region region;
    unsigned ready[2];
    uint32_t length;          /* the length that each received message must have; 0: any */
    uint32_t received_length; /* length of the last received message */
};

/* The measurement that the peer reports. */
struct perftest_report {
    bool is_known;
    double mib_per_second, million_per_second;
};

struct perftest {
    const struct perftest_options *options;
    const struct perftest_test *test;
    enum ndkperf_exit failed; /* NDKPERF_OK until something has failed */
    char error[400];          /* what has failed */
    bool is_connected;        /* the control connection is established */
    bool has_advised;         /* the advice about the options of both ends was printed */
    struct sockaddr_storage server_address, client_address;
    uint32_t area;     /* size of each half of data.region: the peer uses the first half, this end the second */
    uint32_t receives; /* number of posted receives of a send test */
    struct perftest_link control, data;
    struct consumer_region credit; /* two words: the numbers of messages that the peer and this end have received */
    uint64_t remote_address;
    uint32_t remote_token;
    char peer_version[17];
    bool is_peer_openndk;
    bool is_crc_known; /* false before the data connection is established, and if the provider is not OpenNDK */
    bool has_crc;      /* the connection of the data uses the CRC */
    double seconds;    /* duration of the data transfer */
    struct times times;
    struct perftest_report peer;
};

/* The program. argv[0] is the word "perftest". Returns the exit code. */
int perftest_main(int argc, char **argv);

/* ---- perftest_session.c ---- */

/* Returns a test by its index, or NULL. */
const struct perftest_test *perftest_test(uint32_t index);
/* Prints a message and stores the exit code, unless something failed before. Returns false. */
bool perftest_refuse(struct perftest *p, enum ndkperf_exit code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Returns whether the status is a success. If not, prints the step that failed on the link, and stores an exit code. */
bool perftest_check(struct perftest *p, struct perftest_link *l, const char *step, NTSTATUS status);
/* Opens the adapter and creates the objects that the test needs. At the server, also begins to listen. */
bool perftest_open(struct perftest *p, uint32_t if_index);
/* Client: connects to the server. Server: waits for a client. */
bool perftest_connect_control(struct perftest *p);
/* Exchanges settings and memory addresses with the peer, and opens the connection of the data. */
bool perftest_prepare(struct perftest *p);
/* Exchanges the messages that follow the data, and disconnects. */
bool perftest_finish(struct perftest *p);
void perftest_close(struct perftest *p);

/*
 * Returns whether the connection or the user has ended the test. The caller must call this first, and then read
 * results and the memory that the peer writes. In the other order the caller could miss data that arrives just before
 * the end.
 */
bool perftest_is_over(struct perftest_link *l);
/* Prints that the test has ended early. Returns false. */
bool perftest_refuse_end(struct perftest *p);
/* Prints once which options both ends must have in common. Called after a message about a failure or a long wait. */
void perftest_advise(struct perftest *p);
/* Reports once that the peer has not done anything for a while. since: monotonic_ns at the start of the wait. */
void perftest_report_wait(struct perftest *p, uint64_t since);

/*
 * Waits for one result. If the test cannot go on, this function and the next two print a message and return false.
 */
bool perftest_wait(struct perftest *p, struct perftest_link *l, enum perftest_request which);
/* Counts the results that have arrived. Does not wait, and does not check whether the test is over. */
bool perftest_poll(struct perftest *p, struct perftest_link *l);
bool perftest_post_receive(struct perftest *p, struct perftest_link *l, uint32_t size);

/* ---- perftest_data.c ---- */

/* Transfers the data of the test. Sets p->seconds. If this end measures a latency, also sets p->times. */
bool perftest_transfer(struct perftest *p);

#endif
