/* SPDX-License-Identifier: MIT */
/* ndkperf: measures an NDK connection as server or client, or compares two runs. options.c parses the command line. */
#include <stdio.h>
#include <string.h>

#include "address.h"
#include "compare.h"
#include "connect.h"
#include "interface.h"
#include "interrupt.h"
#include "local_address.h"
#include "perftest.h"
#include "print.h"
#include "provider_options.h"
#include "report.h"
#include "roles.h"

static bool ndkperf_resolve(struct session *s, struct endpoint *e)
{
    char error[512];

    if (!e->text[0])
        return true;
    s->phase = PHASE_RESOLVE;
    interrupt_set_wait("for a name server");
    return endpoint_resolve(e, error, sizeof error) || session_refuse(s, NDKPERF_FAILED, "%s", error);
}

/*
 * Opens the adapter of the interface `index`. If `index` is 0, opens the adapter of the interface that has the address
 * `own`. After a failure prints a message and returns false.
 */
static bool ndkperf_open(struct session *s, const struct sockaddr_storage *own, uint32_t index)
{
    const NDK_ADAPTER_INFO *info = &s->control.info;
    const char *step = "opening";
    char why[512];
    ULONG room;
    NTSTATUS status;

    s->phase = PHASE_OPEN;
    index = index ? index : local_address_interface(own, why, sizeof why);
    if (!index)
        return session_refuse(s, NDKPERF_FAILED, "%s", why);
    status = consumer_open(&s->control, index, &step);
    if (!NT_SUCCESS(status))
        return session_fail(s, step, status, 0);
    room = info->MaxCallerData < info->MaxCalleeData ? info->MaxCallerData : info->MaxCalleeData;
    if (room < WIRE_PRIVATE)
        return session_refuse(s, NDKPERF_PEER, "this adapter supports %u bytes of private data; ndkperf needs %u",
                              (unsigned)room, (unsigned)WIRE_PRIVATE);
    status = consumer_region_create(&s->orders, s->control.pd, 2 * WIRE_ORDER, CONSUMER_ALL_RIGHTS);
    return NT_SUCCESS(status) || session_fail(s, "registering memory", status, 0);
}

/* ---- client ---- */

/*
 * Finds the client's own address for a connection to s->server_address. After a failure prints a message and returns
 * false.
 */
static bool ndkperf_own_address(struct session *s)
{
    char why[512];

    return local_address_for_server(&s->options->client_address, &s->server_address, "--client-addr",
                                    &s->client_address, why, sizeof why) ||
           session_refuse(s, NDKPERF_FAILED, "%s", why);
}

static bool ndkperf_try_address(struct session *s, const struct sockaddr_storage *server)
{
    s->server_address = *server;
    s->phase = PHASE_OPEN;
    return ndkperf_own_address(s) && ndkperf_open(s, &s->client_address, s->options->client_if) && client_connect(s);
}

/*
 * Tries to connect to the server's addresses, one after the other. Stops after a success, and after a failure that is
 * not NDKPERF_FAILED. Returns true after a success.
 */
static bool ndkperf_connect(struct session *s)
{
    const struct endpoint *to = &s->options->server_address;

    for (uint32_t i = 0;; i++) {
        const struct options *o = s->options;
        char text[128];

        if (ndkperf_try_address(s, &to->addresses[i]))
            return true;
        if (i + 1 == to->count || s->failed != NDKPERF_FAILED)
            return false;
        session_close(s);
        *s = (struct session){ .options = o };
        address_text(&to->addresses[i + 1], text, sizeof text);
        print_line("%s has another address: %s", to->host, text);
    }
}

/* ---- server ---- */

/*
 * Opens the adapter, and sets s->server_address. If no interface was given, tries the server's addresses in order. The
 * first address that an interface of this machine has determines the adapter.
 */
static bool ndkperf_open_server(struct session *s)
{
    const struct endpoint *at = &s->options->server_address;

    s->server_address = s->options->server_if ? at->addresses[0] : *local_address_first(at);
    return ndkperf_open(s, &s->server_address, s->options->server_if);
}

/* ---- the program ---- */

static enum ndkperf_exit ndkperf_run(struct options *o)
{
    static struct session s;
    NTSTATUS status = provider_options_configure(&o->config);

    s.options = o;
    provider_options_print();
    if (!NT_SUCCESS(status))
        session_fail(&s, "ondk_configure", status, 0);
    else if (!ndkperf_resolve(&s, &o->server_address) || !ndkperf_resolve(&s, &o->client_address))
        ;
    else if (o->server && ndkperf_open_server(&s))
        server_role(&s);
    else if (!o->server && ndkperf_connect(&s))
        client_role(&s);
    if (interrupt_received())
        session_set_failed(&s, NDKPERF_INTERRUPTED);
    if (!report_end(&s))
        session_set_failed(&s, NDKPERF_LOST);
    session_close(&s);
    return s.failed;
}

int main(int argc, char **argv)
{
    static struct options o;
    int code;

    if (argc > 1 && strcmp(argv[1], "compare") == 0)
        return compare_main(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "perftest") == 0)
        return perftest_main(argc - 1, argv + 1);
    code = options_parse(&o, argc, argv);
    if (code >= 0)
        return code;
    if (o.format == FORMAT_NONE)
        print_set_stream(stderr);
    if ((o.log_file && !print_open_log(o.log_file, o.append)) || !report_open(&o))
        return NDKPERF_USAGE;
    interrupt_catch(NULL);
    code = ndkperf_run(&o);
    if (code == NDKPERF_OK && o.format != FORMAT_NONE)
        print_line("ndkperf %s completes", o.server ? "server" : "client");
    if (!print_close() && code == NDKPERF_OK)
        code = NDKPERF_LOST;
    return code;
}
