/* SPDX-License-Identifier: MIT */
/* ndkping: tests an NDK connection, as server or client. options.c has the command line. */
#include <stdio.h>

#include "print.h"
#include "roles.h"

static bool ndkping_resolve(struct endpoint *e)
{
    char error[512];

    if (!e->text[0] || endpoint_resolve(e, error, sizeof error))
        return true;
    print_error("%s", error);
    return false;
}

static int ndkping_run(struct options *o, json_t *result)
{
    NTSTATUS status = ondk_configure(&o->config);

    if (!NT_SUCCESS(status))
        return roles_report_failed("ondk_configure", status, 0, result);
    if (!ndkping_resolve(&o->server_address) || !ndkping_resolve(&o->client_address))
        return NDKPING_FAILED;
    return o->server ? server_run(o, result) : client_run(o, result);
}

int main(int argc, char **argv)
{
    static struct options o;
    int code = options_parse(&o, argc, argv);
    json_t *result;

    if (code >= 0)
        return code;
    if (o.json || o.csv)
        print_set_stream(stderr);
    if (o.log_file && !print_open_log(o.log_file, o.append))
        return NDKPING_USAGE;
    result = json_pack("{s:s,s:s,s:s}", "tool", "ndkping", "version", TOOL_VERSION, "role",
                       o.server ? "server" : "client");
    code = ndkping_run(&o, result);
    if (code == NDKPING_OK)
        print_line("ndkping %s completes", o.server ? "server" : "client");
    if (o.json) {
        json_object_set_new(result, "exit", json_integer(code));
        json_dumpf(result, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
        putchar('\n');
    }
    json_decref(result);
    if (!print_close() && code == NDKPING_OK)
        code = NDKPING_LOST;
    return code;
}
