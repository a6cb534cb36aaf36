/* SPDX-License-Identifier: MIT */
/* ndkperf: measures an NDK connection, as server or client. options.c has the command line. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "address.h"
#include "interface.h"
#include "report.h"
#include "roles.h"
#include "print.h"

/* The first interrupt ends the measurement, the second one the program. */
static void ndkperf_on_interrupt(int signal_number)
{
    (void)signal_number;
    session_interrupted = 1;
}

static void ndkperf_catch_interrupts(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = ndkperf_on_interrupt;
    action.sa_flags = SA_RESETHAND | SA_RESTART;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static bool ndkperf_prepare(struct session *s, uint32_t index)
{
    const NDK_ADAPTER_INFO *info = &s->control.info;
    const char *step = "opening";
    ULONG room;
    NTSTATUS status = consumer_open(&s->control, index, &step);

    if (!NT_SUCCESS(status))
        return session_fail(s, step, status, 0);
    room = info->MaxCallerData < info->MaxCalleeData ? info->MaxCallerData : info->MaxCalleeData;
    if (room < WIRE_PRIVATE) {
        print_line("this adapter supports %u bytes of private data; ndkperf needs %u", (unsigned)room,
                   (unsigned)WIRE_PRIVATE);
        return session_set_failed(s, NDKPERF_PEER);
    }
    status = consumer_region_create(&s->orders, s->control.pd, 2 * WIRE_ORDER, CONSUMER_ALL_RIGHTS);
    return NT_SUCCESS(status) || session_fail(s, "registering memory", status, 0);
}

static enum ndkperf_exit ndkperf_run(const struct options *o)
{
    static struct session s;
    struct sockaddr_storage from = o->client_address;
    uint32_t index = o->server ? o->server_if : o->client_if;

    s.options = o;
    if (!o->server && !o->has_client_address && !address_own(&o->server_address, &from)) {
        print_line("no route to the server: specify --client-addr, or check the server's address");
        session_set_failed(&s, NDKPERF_FAILED);
    } else if (!index) {
        index = interface_of_address(o->server ? &o->server_address : &from);
        if (!index) {
            print_line("no interface of this machine has the %s address", o->server ? "server's" : "client's");
            session_set_failed(&s, NDKPERF_FAILED);
        }
    }
    if (s.failed == NDKPERF_OK && ndkperf_prepare(&s, index))
        (void)(o->server ? server_run(&s) : client_run(&s, &from));
    report_end(&s);
    if (s.control.adapter)
        session_close(&s);
    return s.failed;
}

int main(int argc, char **argv)
{
    struct options o;
    bool done;
    enum ndkperf_exit code = options_parse(&o, argc, argv, &done);
    NTSTATUS status;

    if (done)
        return code == NDKPERF_OK && !print_close() ? NDKPERF_LOST : code;
    if (o.format == FORMAT_JSON)
        print_set_stream(stderr);
    if (o.log_file && !print_open_log(o.log_file, o.append))
        return NDKPERF_USAGE;
    ndkperf_catch_interrupts();
    status = ondk_configure(&o.config);
    if (NT_SUCCESS(status)) {
        code = ndkperf_run(&o);
    } else {
        print_failed("ondk_configure", status);
        code = NDKPERF_FAILED;
    }
    if (code == NDKPERF_OK && o.format != FORMAT_JSON)
        print_line("ndkperf %s completes", o.server ? "server" : "client");
    if (!print_close() && code == NDKPERF_OK)
        code = NDKPERF_LOST;
    return code;
}
