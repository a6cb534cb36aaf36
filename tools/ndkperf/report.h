/* SPDX-License-Identifier: MIT */
/* ndkperf's output: the columns of perftest or WinOF, or JSON. */
#ifndef NDKPERF_REPORT_H
#define NDKPERF_REPORT_H

#include "session.h"
#include "times.h"

/* The result of one size. */
struct result {
    uint32_t size;
    uint64_t messages; /* of all queue pairs */
    double seconds;
    double peak; /* bytes per second in the best tenth of a second */
    uint64_t client_cpu_us, server_cpu_us;
    bool has_server_cpu; /* false: the run failed before the server sent its part */
    struct times times;  /* latency */
};

/* Returns why a server refused a client. */
const char *report_refusal(uint32_t code, uint32_t value, uint32_t version);

void report_begin(const struct session *s);
void report_result(const struct session *s, const struct result *r);
void report_end(const struct session *s);

/* Server: prints the result of a run that has ended. */
void report_server(const struct session *s, uint64_t messages, uint64_t cpu_us);

/* Prints the live line: the progress of this run. */
void report_live(const struct session *s, uint32_t size, uint64_t messages, double seconds, const struct times *times);
void report_live_end(const struct session *s);

#endif
