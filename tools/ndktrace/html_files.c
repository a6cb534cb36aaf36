/* SPDX-License-Identifier: MIT */
/* ndktrace html: writes the events of trace files as an HTML page that draws them. */
#include <stdlib.h>

#include "command.h"
#include "html.h"
#include "output_file.h"
#include "owners.h"
#include "roles.h"

static int html_fail_memory(void)
{
    fprintf(stderr, "ndktrace: out of memory\n");
    return COMMAND_FAILED;
}

static int html_write_file(const struct options *o, const struct traces *t)
{
    FILE *out = output_file_create(o->output);
    size_t written;
    bool ok;
    int code;

    if (!out)
        return COMMAND_FAILED;
    ok = html_write(out, t, &o->filter, &written);
    code = output_file_close(o->output, out);
    if (!ok)
        return html_fail_memory();
    if (code == COMMAND_OK && !output_file_is_stdout(o->output))
        fprintf(stderr, "ndktrace: %s has %zu events; open it with a browser\n", o->output, written);
    return code;
}

static int html_write_traces(struct options *o, struct traces *t)
{
    struct owners *owners = owners_create();
    int code;

    if (owners && owners_assign(owners, &t->records) && filter_learn(&o->filter, &t->records))
        code = html_write_file(o, t);
    else
        code = html_fail_memory();
    owners_destroy(owners);
    return code;
}

int html_files(struct options *o)
{
    static struct traces traces;
    int code = COMMAND_FAILED;

    if (!traces_open(&traces, o->n_arguments, o->arguments))
        return COMMAND_FAILED;
    if (traces_read(&traces))
        code = html_write_traces(o, &traces);
    traces_close(&traces);
    free(o->filter.tied);
    return code;
}
