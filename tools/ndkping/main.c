/* SPDX-License-Identifier: MIT */
/* ndkping: tests an NDK connection, as server or client. options.c has the command line. */
#include <stdio.h>

#include "json_output.h"
#include "print.h"
#include "provider_options.h"
#include "roles.h"

enum { JSON_FORMAT = 1 };

static bool ndkping_resolve(struct endpoint *e, json_t *result)
{
    char error[512];

    if (!e->text[0] || endpoint_resolve(e, error, sizeof error))
        return true;
    (void)roles_report_problem("looking up a host", error, result);
    return false;
}

static int ndkping_run(struct options *o, json_t *result)
{
    NTSTATUS status = provider_options_configure(&o->config);

    provider_options_print();
    if (!NT_SUCCESS(status))
        return roles_report_failed("ondk_configure", status, 0, result);
    if (!ndkping_resolve(&o->server_address, result) || !ndkping_resolve(&o->client_address, result))
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
    result = json_output_begin("ndkping", JSON_FORMAT);
    json_object_set_new(result, "role", json_string(o.server ? "server" : "client"));
    provider_options_add(result);
    code = ndkping_run(&o, result);
    if (code == NDKPING_OK)
        print_line("ndkping %s completes", o.server ? "server" : "client");
    if (o.json) {
        json_object_set_new(result, "exit", json_integer(code));
        if (!json_output_write(stdout, result, JSON_INDENT(2) | JSON_REAL_PRECISION(9))) {
            print_error("not all of the JSON object was written");
            code = code == NDKPING_OK ? NDKPING_LOST : code;
        }
    }
    json_decref(result);
    if (!print_close() && code == NDKPING_OK)
        code = NDKPING_LOST;
    return code;
}
