/* SPDX-License-Identifier: MIT */
/* ndktrace: records and shows what a program's NDK connections do. options.c has the command line. */
#include "options.h"
#include "roles.h"

int main(int argc, char **argv)
{
    static struct options o;
    int code = options_parse(&o, argc, argv);

    if (code >= 0)
        return code;
    return o.command == COMMAND_RUN ? run_program(&o) : show_files(&o);
}
