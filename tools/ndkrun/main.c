/* SPDX-License-Identifier: MIT */
/* ndkrun: runs drivers (run.h) in this process, or for --nbd in nbdkit (nbd.h). options.c has the command line. */
#include <stdio.h>

#include "nbd.h"
#include "options.h"
#include "reexec.h"
#include "run.h"

int main(int argc, char **argv)
{
    static struct options o;
    int code = options_parse(&o, argc, argv); /* also ignores SIGPIPE, because `ip` or a symbol tool may end early */

    if (code >= 0)
        return code;
    if (!reexec_prepare(&o, argv))
        return NDKRUN_USAGE;
    if (o.nbd) {
        nbd_execute(&o);
        return NDKRUN_USAGE;
    }
    if (!run_prepare(&o)) /* changes the environment, so that ndkrun must not be executed again */
        return NDKRUN_USAGE;
    if (run_load()) {
        (void)run_send();
        run_wait();
    }
    return run_end(stdout);
}
