/* SPDX-License-Identifier: MIT */
/* Output of the tools: see print.h. */
#include "print.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "openndk/adapter.h"
#include "openndk/netstat.h"
#include "openndk/reason.h"

static FILE *main_stream, *log_stream;
static const char *log_name;
static bool lost; /* some output could not be written, which has been reported */

void print_set_stream(FILE *stream)
{
    main_stream = stream;
}

bool print_open_log(const char *file, bool append)
{
    log_name = file;
    log_stream = fopen(file, append ? "ae" : "we");
    if (!log_stream)
        perror(file);
    return log_stream != NULL;
}

/* Reports the first failure only: on a full disk, for example, all further output fails, too. */
static void print_report_loss(const char *name)
{
    if (!lost)
        fprintf(stderr, "%s: %s: not all of the output was written\n", name, strerror(errno));
    lost = true;
}

static void print_flush(FILE *stream, const char *name)
{
    if (fflush(stream) != 0 || ferror(stream))
        print_report_loss(name);
}

bool print_close(void)
{
    print_flush(stdout, "standard output");
    if (log_stream && fclose(log_stream) != 0)
        print_report_loss(log_name);
    log_stream = NULL;
    return !lost;
}

void print_line(const char *format, ...)
{
    FILE *streams[2] = { main_stream ? main_stream : stdout, log_stream };

    for (int i = 0; i < 2 && streams[i]; i++) {
        va_list args;
        va_start(args, format);
        vfprintf(streams[i], format, args);
        va_end(args);
        fputc('\n', streams[i]);
        print_flush(streams[i], i ? log_name : "standard output");
    }
}

void print_failed(const char *step, NTSTATUS status)
{
    print_line("%s failed: %s (0x%08X)", step, ondk_status_name(status), (unsigned)status);
    print_line("  %s", ondk_status_advice(status));
}

void print_failed_for(const char *step, NTSTATUS status, uint32_t reason)
{
    print_failed(step, status);
    if (reason) {
        print_line("  reason 0x%08X %s: %s", (unsigned)reason, ondk_reason_name(reason), ondk_reason_text(reason));
        print_line("  %s", ondk_reason_advice(reason));
    }
}

void print_step_failed(const struct consumer *c, const char *step, NTSTATUS status)
{
    print_failed_for(step, status, c->connector ? ondk_connector_reason(c->connector) : 0);
}

void print_address_holder(NTSTATUS status, const struct sockaddr_storage *local)
{
    char text[256];

    if (status != STATUS_SHARING_VIOLATION)
        return;
    if (ondk_address_holder((const struct sockaddr *)local, sizeof *local, text, sizeof text))
        print_line("  it is in use by %s", text);
    else
        print_line("  it is not in use now: the process that used it has ended, or this user may not use the port "
                   "(ports below net.ipv4.ip_unprivileged_port_start need CAP_NET_BIND_SERVICE)");
}
