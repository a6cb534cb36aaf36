/* SPDX-License-Identifier: MIT */
/* `ndkperf perftest`: parses the command line, runs the test, and prints the result. See perftest.h. */
#include "perftest.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "address.h"
#include "command.h"
#include "connection_entry.h"
#include "connection_options.h"
#include "interface.h"
#include "interrupt.h"
#include "json_output.h"
#include "local_address.h"
#include "print.h"
#include "provider_options.h"
#include "record.h"

enum { PERFTEST_FORMAT = 1 };

/* ---- the command line ---- */

static const char *perftest_add_role(void *options, const char *word)
{
    struct perftest_options *o = options;

    o->server = o->server || strcmp(word, "server") == 0;
    o->client = o->client || strcmp(word, "client") == 0;
    return strcmp(word, "server") == 0 || strcmp(word, "client") == 0 ? NULL : "server or client is expected";
}

/*
 * Stores the index of the test with the given name. The name may begin with "ib_". Returns NULL, or a text that
 * describes the mistake.
 */
static const char *perftest_set_test(void *at, const char *value)
{
    const char *name = strncasecmp(value, "ib_", 3) == 0 ? value + 3 : value;
    const struct perftest_test *test;

    for (uint32_t i = 0; (test = perftest_test(i)) != NULL; i++)
        if (strcasecmp(name, test->name) == 0) {
            *(uint32_t *)at = i;
            return NULL;
        }
    return "send_bw, send_lat, write_bw, write_lat, read_bw or read_lat is expected";
}

#define AT(field) .at = offsetof(struct perftest_options, field)

static const struct command_option known_options[] = {
    { "--address", "HOST:PORT", "where the server listens", COMMAND_CALL, AT(address), .set = option_set_host_port },
    { "--test", "send_bw|send_lat|write_bw|write_lat|read_bw|read_lat", "the peer's program, with or without ib_",
      COMMAND_CALL, AT(test), .set = perftest_set_test },
    { "-s, --size", "BYTES", "message size", COMMAND_SIZE, AT(size), 1, PERFTEST_MAX_SIZE, "64K; of a latency test 2" },
    { "-n, --iters, --iterations", "N", "number of messages", COMMAND_NUMBER, AT(iterations), 5, 100000000,
      "1000; of write_bw 5000" },
    { "-r, --rx-depth", "N", "send_bw and send_lat: receives posted at once", COMMAND_NUMBER, AT(receives), 3,
      PERFTEST_MAX_RECEIVES, "512" },
    { "--crc", "off|on", "request CRC", COMMAND_CHOICE, AT(config.crc), .standard = "on" },
    PROVIDER_OPTION(offsetof(struct perftest_options, provider)),
    { "--client-addr", "HOST", "client: its own address (default: by the route)", COMMAND_CALL, AT(client_address),
      .set = option_set_host },
    { "-W, --wait", "SECONDS", "server: how long to wait for a client", COMMAND_SECONDS, AT(wait_seconds), 0, INT32_MAX,
      "no limit" },
    { "--json", NULL, "print the result as one JSON object; all else goes to stderr", COMMAND_FLAG, AT(json) },
};

static const char *const usage[] = {
    "server --address HOST:PORT --test TEST [OPTION]...",
    "client --address HOST:PORT --test TEST [OPTION]...",
    NULL,
};

static const struct command_status statuses[] = {
    { NDKPERF_OK, "done" },
    { NDKPERF_FAILED, "a name has no address, or a connection or request failed" },
    { NDKPERF_USAGE, "wrong usage, a provider that cannot be used, or an ONDK_ variable of the environment that is not "
                     "used" },
    { NDKPERF_DATA, "a read returned other bytes than the first one" },
    { NDKPERF_NOBODY, "server: nobody connected in time" },
    { NDKPERF_PEER, "the peer ended the test early, or has other options" },
    { NDKPERF_LOST, "the output could not be written completely" },
    { NDKPERF_INTERRUPTED, "interrupted" },
    { 0, NULL },
};

static const struct command command = {
    .name = "ndkperf perftest",
    .summary =
        "ndkperf perftest is the other end of a program of Linux perftest: ib_send_bw, ib_send_lat, ib_write_bw, "
        "ib_write_lat, ib_read_bw or ib_read_lat, on a machine with siw or an iWARP card. Both ends need the same "
        "test, size and iterations, and the program of perftest needs -R and -F.",
    .usage = usage,
    .options = known_options,
    .n_options = sizeof known_options / sizeof known_options[0],
    .add_argument = perftest_add_role,
    .statuses = statuses,
    .notes = "For example: ib_send_bw -R -F -p 18515 -s 65536 on linux, then here\n"
             "ndkperf perftest client --address linux:18515 --test send_bw -s 65536.\n"
             "Or: ndkperf perftest server --address 192.0.2.1:18515 --test read_lat here, then\n"
             "ib_read_lat -R -F -p 18515 192.0.2.1 on linux.\n",
};

/*
 * Sets perftest's defaults, and parses the arguments. Returns -1 if the program must continue, otherwise the exit code.
 */
static int perftest_parse(struct perftest_options *o, int argc, char **argv)
{
    const struct perftest_test *test;
    char error[512];
    int code;

    memset(o, 0, sizeof *o);
    provider_options_init(&o->config);
    o->test = UINT32_MAX;
    o->receives = 512;
    code = command_parse(&command, o, argc, argv);
    if (code >= 0)
        return code;
    test = perftest_test(o->test);
    if (o->server == o->client)
        return command_usage_error(&command, "specify either server or client");
    if (!o->address.text[0])
        return command_usage_error(&command, "--address HOST:PORT is missing");
    if (o->client && !o->address.port)
        return command_usage_error(&command, "--address: a client needs the server's port, which is not 0");
    if (!test)
        return command_usage_error(&command, "--test is missing");
    if (ondk_config_check_environment())
        return command_usage_error(&command, "an ONDK_ variable of the environment is not used");
    if (!provider_options_load(o->provider, &o->config, error, sizeof error))
        return command_usage_error(&command, "%s", error);
    if (!o->size)
        o->size = test->latency ? 2 : 65536;
    if (!o->iterations)
        o->iterations = test->verb == PERFTEST_WRITE && !test->latency ? 5000 : 1000;
    return -1;
}

/* ---- output ---- */

static const char rule[] = "---------------------------------------------------------------------------------------";

/*
 * Returns true if this end can measure the duration of the transfer. In read tests and one-way write tests a server
 * cannot, because it is passive.
 */
static bool perftest_has_time(const struct perftest *p)
{
    return p->options->client || p->test->verb == PERFTEST_SEND ||
           (p->test->verb == PERFTEST_WRITE && p->test->latency);
}

static double perftest_rate(const struct perftest *p)
{
    return p->seconds > 0 ? p->options->iterations / p->seconds : 0;
}

/* Sets p->has_crc and p->is_crc_known for the data connection. */
static void perftest_find_crc(struct perftest *p)
{
    ondk_connection_t entry;

    p->is_crc_known = connection_entry_find(&p->data.c, &entry);
    p->has_crc = p->is_crc_known && entry.crc;
}

static void perftest_print_head(const struct perftest *p)
{
    NDK_CONNECTOR *k = p->data.c.connector;
    struct sockaddr_storage peer = { 0 };
    ULONG length = sizeof peer;
    char text[128];

    if (!NT_SUCCESS(k->Dispatch->NdkGetPeerAddress(k, (PSOCKADDR)&peer, &length)))
        memset(&peer, 0, sizeof peer);
    address_text(&peer, text, sizeof text);
    print_line("%s", rule);
    print_line("                    ib_%s", p->test->name);
    print_line(" Peer            : %s, perftest %s%s", text, p->peer_version, p->is_peer_openndk ? " (OpenNDK)" : "");
    if (p->is_crc_known)
        print_line(" CRC             : %s", p->has_crc ? "on" : "off");
    print_line("%s", rule);
}

static void perftest_print_latency(const struct perftest *p)
{
    const struct times *t = &p->times;

    print_line(" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   "
               "99%% percentile[usec]   99.9%% percentile[usec] ");
    print_line(" %-7u %-10u     %-7.2f        %-7.2f      %-7.2f            %-7.2f        %-7.2f         %-7.2f"
               "                 %-7.2f",
               (unsigned)p->options->size, (unsigned)p->options->iterations, (double)t->min / 1e3, (double)t->max / 1e3,
               times_quantile(t, 0.5), times_mean(t), times_deviation(t), times_quantile(t, 0.99),
               times_quantile(t, 0.999));
}

static void perftest_print_bandwidth(const struct perftest *p, double mib, double million)
{
    print_line(" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]");
    print_line(" %-7u    %-10u       -                  %-7.2f              %-7.6f", (unsigned)p->options->size,
               (unsigned)p->options->iterations, mib, million);
}

static void perftest_print_result(const struct perftest *p)
{
    double rate = perftest_rate(p);

    if (p->times.count)
        perftest_print_latency(p);
    else if (p->peer.is_known)
        perftest_print_bandwidth(p, p->peer.mib_per_second, p->peer.million_per_second);
    else if (perftest_has_time(p) && !p->test->latency)
        perftest_print_bandwidth(p, rate * p->options->size / 1048576, rate / 1e6);
    else
        print_line(" The client measures.");
    print_line("%s", rule);
}

static bool perftest_write_json(const struct perftest *p)
{
    const struct perftest_options *o = p->options;
    json_t *object = json_output_begin("ndkperf perftest", PERFTEST_FORMAT);
    bool is_measured = perftest_has_time(p) && p->seconds > 0 && !p->failed;
    bool is_written;

    provider_options_add(object);
    (void)json_object_update_new(
        object, json_pack("{s:s,s:s,s:i,s:i,s:o,s:o,s:i,s:o}", "role", o->server ? "server" : "client", "test",
                          p->test->name, "size", (int)o->size, "iterations", (int)o->iterations, "crc",
                          p->is_crc_known ? json_boolean(p->has_crc) : json_null(), "peer_version",
                          json_output_text(p->peer_version), "exit", (int)p->failed, "seconds",
                          is_measured ? json_real(p->seconds) : json_null()));
    if (p->failed)
        (void)json_object_set_new(object, "error", json_output_text(p->error));
    if (p->times.count)
        (void)json_object_set_new(object, "latency_us", record_latency(&p->times));
    else if (p->peer.is_known)
        (void)json_object_set_new(object, "bytes_per_second", json_real(p->peer.mib_per_second * 1048576));
    else if (is_measured && !p->test->latency)
        (void)json_object_set_new(object, "bytes_per_second", json_real(perftest_rate(p) * o->size));
    is_written = json_output_write(stdout, object, 0);
    json_decref(object);
    return is_written;
}

/* ---- the program ---- */

static bool perftest_resolve(struct perftest *p, struct endpoint *e)
{
    char error[512];

    return !e->text[0] || endpoint_resolve(e, error, sizeof error) || perftest_refuse(p, NDKPERF_FAILED, "%s", error);
}

/*
 * Opens the adapter that has this end's address. Then connects to the server (client), or listens and waits for the
 * client (server).
 */
static bool perftest_begin(struct perftest *p, const struct sockaddr_storage *server)
{
    const struct sockaddr_storage *own = p->options->server ? &p->server_address : &p->client_address;
    char text[512];
    uint32_t if_index;

    p->server_address = *server;
    if (p->options->client && !local_address_for_server(&p->options->client_address, server, "--client-addr",
                                                        &p->client_address, text, sizeof text))
        return perftest_refuse(p, NDKPERF_FAILED, "%s", text);
    if_index = local_address_interface(own, text, sizeof text);
    if (!if_index)
        return perftest_refuse(p, NDKPERF_FAILED, "%s", text);
    if (!perftest_open(p, if_index))
        return false;
    if (p->options->server) {
        if (p->test->verb == PERFTEST_WRITE && p->test->latency)
            print_line("in write_lat the server writes first, which MPA forbids until the client has sent something: a "
                       "client on siw sends nothing and waits forever");
        address_text(&p->server_address, text, sizeof text);
        print_line("listening on %s", text);
    }
    p->is_connected = perftest_connect_control(p);
    return p->is_connected;
}

/*
 * Tries the server's addresses one after the other. At the client, one of them must answer. At the server, one of them
 * must belong to this machine.
 */
static bool perftest_connect(struct perftest *p)
{
    const struct perftest_options *o = p->options;
    const struct endpoint *at = &o->address;
    uint32_t i = 0;

    while (o->server && i + 1 < at->count && !interface_of_address(&at->addresses[i]))
        i++;
    while (!perftest_begin(p, &at->addresses[i])) {
        if (o->server || ++i == at->count || p->failed != NDKPERF_FAILED)
            return false;
        perftest_close(p);
        *p = (struct perftest){ .options = o, .test = p->test };
        print_line("trying the next address of %s", at->host);
    }
    return true;
}

/*
 * Configures the provider, connects, transfers the data and prints the result. If a step fails, prints the reason and
 * returns false.
 */
static bool perftest_try(struct perftest *p, struct perftest_options *o)
{
    provider_options_print();
    if (!perftest_check(p, &p->control, "ondk_configure", provider_options_configure(&o->config)))
        return false;
    if (!perftest_resolve(p, &o->address) || !perftest_resolve(p, &o->client_address))
        return false;
    if (!perftest_connect(p) || !perftest_prepare(p))
        return false;
    perftest_find_crc(p);
    perftest_print_head(p);
    if (!perftest_transfer(p) || !perftest_finish(p))
        return false;
    perftest_print_result(p);
    return true;
}

/* Runs the test after the options were parsed. */
static void perftest_run(struct perftest *p, struct perftest_options *o)
{
    if (!perftest_try(p, o) && p->is_connected && p->failed != NDKPERF_INTERRUPTED)
        perftest_advise(p);
}

int perftest_main(int argc, char **argv)
{
    static struct perftest_options o;
    static struct perftest p = { .options = &o };
    int code = perftest_parse(&o, argc, argv);

    if (code >= 0)
        return code;
    p.test = perftest_test(o.test);
    if (o.json)
        print_set_stream(stderr);
    interrupt_catch(NULL);
    interrupt_set_wait("for the peer's disconnect");
    perftest_run(&p, &o);
    perftest_close(&p);
    if (o.json && !perftest_write_json(&p) && p.failed == NDKPERF_OK)
        p.failed = NDKPERF_LOST;
    if (!print_close() && p.failed == NDKPERF_OK)
        p.failed = NDKPERF_LOST;
    return p.failed;
}
