/* SPDX-License-Identifier: MIT */
/* ndkperf: measures an NDK connection, as server or client. options.c has the command line. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "address.h"
#include "report.h"
#include "roles.h"
#include "print.h"

/* The first interrupt ends the measurement in order, the second one ends the program. */
static void on_interrupt(int signal_number)
{
    (void)signal_number;
    session_interrupted = 1;
}

static void catch_interrupts(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESETHAND | SA_RESTART;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static bool prepare(struct session *s, uint32_t index)
{
    const NDK_ADAPTER_INFO *info = &s->control.info;
    const char *step = "opening";
    ULONG room;
    NTSTATUS status = consumer_open(&s->control, index, &step);

    if (!NT_SUCCESS(status))
        return session_fail(s, step, status, 0);
    room = info->MaxCallerData < info->MaxCalleeData ? info->MaxCallerData : info->MaxCalleeData;
    if (room < WIRE_PRIVATE) {
        say("this adapter carries %u bytes of private data; ndkperf's two ends need %u to agree", (unsigned)room,
            (unsigned)WIRE_PRIVATE);
        return session_give_up(s, NDKPERF_PEER);
    }
    status = consumer_region_create(&s->orders, s->control.pd, 2 * WIRE_ORDER, CONSUMER_ALL_RIGHTS);
    return NT_SUCCESS(status) || session_fail(s, "registering memory", status, 0);
}

static enum ndkperf_exit run(const struct options *o)
{
    static struct session s;
    struct sockaddr_storage from = o->client_address;
    uint32_t index = o->server ? o->server_if : o->client_if;

    s.options = o;
    if (!o->server && !o->has_client_address && !address_own(&o->server_address, &from)) {
        say("no route to the server: say --client-addr, or check the server's address");
        session_give_up(&s, NDKPERF_FAILED);
    } else if (!index) {
        index = address_interface(o->server ? &o->server_address : &from);
        if (!index) {
            say("no interface of this machine has the %s address", o->server ? "server's" : "client's");
            session_give_up(&s, NDKPERF_FAILED);
        }
    }
    if (s.failed == NDKPERF_OK && prepare(&s, index))
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
        return code == NDKPERF_OK && !say_close() ? NDKPERF_LOST : code;
    if (o.format == FORMAT_JSON)
        say_to(stderr);
    if (o.log_file && !say_log(o.log_file, o.append))
        return NDKPERF_USAGE;
    catch_interrupts();
    status = ondk_configure(&o.config);
    if (NT_SUCCESS(status)) {
        code = run(&o);
    } else {
        say_failed("ondk_configure", status);
        code = NDKPERF_FAILED;
    }
    if (code == NDKPERF_OK && o.format != FORMAT_JSON)
        say("ndkperf %s completes", o.server ? "server" : "client");
    if (!say_close() && code == NDKPERF_OK)
        code = NDKPERF_LOST;
    return code;
}
