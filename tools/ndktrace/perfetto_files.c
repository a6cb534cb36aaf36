/* SPDX-License-Identifier: MIT */
/* ndktrace perfetto: writes trace files for the viewer Perfetto. */
#include "command.h"
#include "output_file.h"
#include "perfetto.h"
#include "roles.h"

static int perfetto_write_file(const struct options *o, const struct traces *traces)
{
    FILE *out = output_file_create(o->output);
    size_t n_events;
    bool ok;
    int code;

    if (!out)
        return COMMAND_FAILED;
    ok = perfetto_write(out, traces, &n_events);
    code = output_file_close(o->output, out);
    if (!ok) {
        fprintf(stderr, "ndktrace: out of memory\n");
        return COMMAND_FAILED;
    }
    if (code == COMMAND_OK && !output_file_is_stdout(o->output))
        fprintf(stderr, "ndktrace: %s has %zu events; open it in ui.perfetto.dev\n", o->output, n_events);
    return code;
}

int perfetto_files(const struct options *o)
{
    static struct traces traces;
    int code = COMMAND_FAILED;

    if (!traces_open(&traces, o->n_arguments, o->arguments))
        return COMMAND_FAILED;
    if (traces_read(&traces))
        code = perfetto_write_file(o, &traces);
    traces_close(&traces);
    return code;
}
