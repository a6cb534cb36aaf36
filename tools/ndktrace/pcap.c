/* SPDX-License-Identifier: MIT */
/* ndktrace pcap: writes the connections of trace files as a capture for Wireshark. */
#include "command.h"
#include "output_file.h"
#include "packets.h"
#include "roles.h"
#include "traces.h"

/* Writes the packets to the file that the option --output names. Returns the exit code. */
static int pcap_write(const struct options *o, const struct packets *p)
{
    FILE *out = output_file_create(o->output);
    int code;

    if (!out)
        return COMMAND_FAILED;
    packets_write(p, out);
    code = output_file_close(o->output, out);
    if (code != COMMAND_OK)
        return code;
    if (!output_file_is_stdout(o->output))
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
        p = packets_create(&o->filter, &(struct packets_style){ o->zeros, o->is_roce }, &traces.records);
        if (p) {
            code = pcap_write(o, p);
            packets_destroy(p);
        } else {
            fprintf(stderr, "ndktrace: out of memory\n");
        }
    }
    traces_close(&traces);
    return code;
}
