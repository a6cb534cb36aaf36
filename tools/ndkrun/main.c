/* SPDX-License-Identifier: MIT */
/* ndkrun: runs drivers in this process (run.h) or, with --nbd, in nbdkit (nbd.h). options.c parses the command line. */
#include <stdio.h>

#include "nbd.h"
#include "options.h"
#include "peers.h"
#include "reexec.h"
#include "run.h"

int main(int argc, char **argv)
{
    static struct options o;
    /* options_parse also makes the process ignore SIGPIPE, because `ip` or a symbol tool may end early. */
    int code = options_parse(&o, argc, argv);

    if (code >= 0)
        return code;
    if (!reexec_prepare(&o, argv))
        return NDKRUN_USAGE;
    if (o.nbd) {
        nbd_execute(&o);
        return NDKRUN_USAGE;
    }
    if (!peers_create(&o))
        return NDKRUN_USAGE;
    if (!run_prepare(&o, stdout)) /* changes the environment, so ndkrun must not execute itself again after this */
        return NDKRUN_USAGE;
    if (!run_start_servers())
        return run_end();
    do {
        if (run_load()) {
            (void)run_send();
            run_start_clients();
            run_wait();
        }
    } while (run_end_round());
    return run_end();
}
