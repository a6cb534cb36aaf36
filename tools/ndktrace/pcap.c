/* SPDX-License-Identifier: MIT */
/* ndktrace pcap: writes the connections of trace files as a capture for Wireshark. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "packets.h"
#include "roles.h"
#include "traces.h"

static int pcap_fail(const char *path, const char *why)
{
    fprintf(stderr, "ndktrace: %s%s%s\n", path, *path ? ": " : "", why);
    return COMMAND_FAILED;
}

/* Returns true if `path` names a trace file. To overwrite it would end a process that records to it. */
static bool pcap_is_trace(const char *path)
{
    struct trace_file f;
    char error[256];

    if (!trace_file_open(&f, path, error, sizeof error))
        return false;
    trace_file_close(&f);
    return true;
}

/* Writes the packets to the file that --output names. */
static int pcap_write(const struct options *o, const struct packets *p)
{
    bool to_stdout = strcmp(o->output, "-") == 0, ok;
    FILE *out;

    if (!to_stdout && pcap_is_trace(o->output))
        return pcap_fail(o->output, "this is a trace file, and is not overwritten");
    out = to_stdout ? stdout : fopen(o->output, "we");
    if (!out)
        return pcap_fail(o->output, strerror(errno));
    packets_write(p, out);
    ok = fflush(out) == 0 && !ferror(out);
    if (!to_stdout)
        ok = fclose(out) == 0 && ok;
    if (!ok) {
        (void)pcap_fail(o->output, "not all of the output was written");
        return COMMAND_LOST;
    }
    if (!to_stdout)
        fprintf(stderr, "ndktrace: %s has %zu packets; read it with wireshark or tshark -r\n", o->output,
                packets_count(p));
    if (packets_left_out(p))
        fprintf(stderr, "ndktrace: %zu connections are left out, because the trace does not have their beginning\n",
                packets_left_out(p));
    return COMMAND_OK;
}

int pcap_files(struct options *o)
{
    static struct traces traces;
    struct packets *p;
    int code = COMMAND_FAILED;

    if (!traces_open(&traces, o->n_arguments, o->arguments))
        return COMMAND_FAILED;
    if (traces_read(&traces)) {
        p = packets_create(&o->filter, o->zeros, &traces.records);
        code = p ? pcap_write(o, p) : pcap_fail("", "out of memory");
        if (p)
            packets_destroy(p);
    }
    traces_close(&traces);
    return code;
}
