/* SPDX-License-Identifier: MIT */
/* ndktrace: records and shows the events of a program's NDK connections. options.c parses the command line. */
#include "options.h"
#include "roles.h"

int main(int argc, char **argv)
{
    static struct options o;
    int code = options_parse(&o, argc, argv);

    if (code >= 0)
        return code;
    switch (o.command) {
    case COMMAND_RUN:
        return run_program(&o);
    case COMMAND_HTML:
        return html_files(&o);
    case COMMAND_PCAP:
        return pcap_files(&o);
    case COMMAND_EXPLAIN:
        return explain_files(&o);
    case COMMAND_PERFETTO:
        return perfetto_files(&o);
    case COMMAND_ATTACH:
        return attach_processes(&o);
    case COMMAND_SHOW:
    case COMMAND_NONE:
        break;
    }
    return show_files(&o);
}
