/* SPDX-License-Identifier: MIT */
/*
 * Sends device controls from the command line: see ioctl.h.
 *
 * An IRP belongs to the driver from its dispatch until its completion. The request's thread sends the IRP, and waits
 * for its completion. The program's thread never touches the IRP: it waits for the request's thread, reports through
 * ondk_wdk_report_requests, and on Ctrl-C starts a thread that cancels. A cancellation and a completion may meet:
 *
 *   if IoCancelIrp is called         then
 *   before the request is sent       the call is repeated until the request's thread has returned
 *   before a cancel routine is set   the driver finds Cancel set after it has set the routine
 *   with a cancel routine set        IoCancelIrp calls the routine, which completes the IRP
 *   while the driver completes it    only one of IoCancelIrp and the driver gets the routine, by an atomic exchange
 *   after the completion             a reference keeps the IRP's memory, and no routine is set
 */
#include "ioctl.h"

#include <poll.h>
#include <stdint.h>
#include <string.h>

#include "call.h"
#include "frames.h"
#include "number.h"
#include "hex.h"
#include "openndk/adapter.h"
#include "openndk/trace.h"
#include "openndk/wdk.h"
#include "output.h"

enum { MAX_NAME = 256, MAX_INPUT = 4096, MAX_OUTPUT = 65536, MAX_NUMBER = 32, MAX_ERROR = 1024 };
enum { CANCEL_STEP_MS = 20, CANCEL_TIMEOUT_MS = 10000 };

struct control {
    char device[MAX_NAME];
    uint32_t code, length;
    uint8_t input[MAX_INPUT];
};

static bool ioctl_parse(const char *word, struct control *c)
{
    const char *colon = strchr(word, ':'), *hex;
    char number[MAX_NUMBER];
    size_t digits;
    uint64_t code;

    if (!colon || colon == word || colon - word >= MAX_NAME)
        return false;
    memcpy(c->device, word, (size_t)(colon - word));
    c->device[colon - word] = '\0';
    hex = strchr(colon + 1, ':');
    digits = hex ? (size_t)(hex - colon - 1) : strlen(colon + 1);
    if (digits >= sizeof number)
        return false;
    memcpy(number, colon + 1, digits);
    number[digits] = '\0';
    if (!number_parse_c(number, UINT32_MAX, &code))
        return false;
    c->code = (uint32_t)code;
    c->length = 0;
    return !hex || hex_parse(hex + 1, c->input, sizeof c->input, &c->length);
}

/* ---- On a thread of its own: open, control, close --------------------------------------------------------------- */

/*
 * A device control in progress. Until the call has returned, `control` must not change, and only the call's thread uses
 * the members after `call`.
 */
struct request {
    struct control control;
    struct call call;
    enum { NOT_OPENED, NOT_SENT, ENDED } outcome;
    uint32_t status, length;
    char error[MAX_ERROR];
    uint8_t output[MAX_OUTPUT];
};

static void request_run(void *context)
{
    struct request *r = context;
    ondk_wdk_device_t *device;

    if (ondk_wdk_open(r->control.device, &device, &r->status)) {
        r->outcome = NOT_OPENED;
        return;
    }
    r->outcome = ENDED;
    if (ondk_wdk_device_control(device, r->control.code, r->control.input, r->control.length, r->output,
                                sizeof r->output, &r->length, &r->status)) {
        r->outcome = NOT_SENT;
        snprintf(r->error, sizeof r->error, "%s", ondk_wdk_error());
    }
    ondk_wdk_close(device);
}

/*
 * Cancels the request repeatedly until the request's call has returned, because the request may not have been sent yet
 * at the first cancellation. Runs on its own thread, because the driver's cancel routine may hang.
 */
static void request_cancel(void *context)
{
    struct request *r = context;

    while (!call_has_returned(&r->call)) {
        unsigned thread = call_thread_id(&r->call);

        if (thread)
            ondk_wdk_cancel_thread(thread);
        poll(NULL, 0, CANCEL_STEP_MS);
    }
}

/* ---- On the program's thread: wait, report, cancel -------------------------------------------------------------- */

static void request_print_wait(struct request *r, FILE *out)
{
    unsigned thread = call_thread_id(&r->call);

    if (!thread || !ondk_wdk_report_requests(thread, out))
        return;
    fprintf(out, "  thread %u is in the driver:\n", thread);
    frames_print_thread(out, r->call.thread);
}

static void request_report(struct request *r, FILE *out)
{
    request_print_wait(r, out);
    (void)ondk_trace_print_last(out, OUTPUT_LAST_EVENTS);
}

/*
 * Cancels the request. Returns false if the request's call or the cancellation has not returned. No driver may then be
 * unloaded, because a thread may still execute the driver's code.
 */
static bool request_end_cancelled(struct request *r, FILE *out)
{
    static struct call cancel;
    bool has_thread;

    fprintf(out, "ndkrun: interrupted: %s 0x%X is cancelled\n", r->control.device, r->control.code);
    has_thread = call_start(&cancel, request_cancel, r);
    if (!has_thread)
        fprintf(out, "ndkrun: cannot create a thread for the cancellation\n");
    if (!call_wait(&r->call, CANCEL_TIMEOUT_MS, false)) {
        fprintf(out, "ndkrun: %s 0x%X has not ended %d seconds after it was cancelled; no driver is unloaded\n",
                r->control.device, r->control.code, CANCEL_TIMEOUT_MS / 1000);
        request_report(r, out);
        return false;
    }
    if (!has_thread || call_wait(&cancel, CANCEL_TIMEOUT_MS, false))
        return true;
    fprintf(out, "ndkrun: the cancel routine of %s 0x%X has not returned for %d seconds; no driver is unloaded\n",
            r->control.device, r->control.code, CANCEL_TIMEOUT_MS / 1000);
    fprintf(out, "  thread %u is in the driver:\n", call_thread_id(&cancel));
    frames_print_thread(out, cancel.thread);
    return false;
}

static bool request_wait(struct request *r, uint32_t report_ms, FILE *out)
{
    if (report_ms) {
        if (call_wait(&r->call, (int)report_ms, true))
            return true;
        if (!call_interrupted()) {
            fprintf(out, "ndkrun: %s 0x%X has not ended for %u.%u seconds; Ctrl-C cancels it\n", r->control.device,
                    r->control.code, report_ms / 1000, report_ms % 1000 / 100);
            request_report(r, out);
        }
    }
    return call_wait(&r->call, -1, true) || request_end_cancelled(r, out);
}

static enum ioctl_result request_print(const struct request *r, FILE *out)
{
    const struct control *c = &r->control;
    const char *status = ondk_status_name((NTSTATUS)r->status);

    switch (r->outcome) {
    case NOT_OPENED:
        fprintf(out, "ndkrun: device %s cannot be opened: %s\n", c->device, status);
        return IOCTL_FAILED;
    case NOT_SENT:
        fprintf(out, "ndkrun: device control 0x%X could not be sent: %s\n", c->code, r->error);
        return IOCTL_FAILED;
    default:
        fprintf(out, "ndkrun: %s 0x%X: %s, %u bytes\n", c->device, c->code, status, r->length);
        hex_dump(r->output, r->length, out);
        return NT_SUCCESS((NTSTATUS)r->status) ? IOCTL_SUCCEEDED : IOCTL_FAILED;
    }
}

enum ioctl_result ioctl_send(const char *word, uint32_t report_ms, FILE *out)
{
    static struct request r;

    if (!ioctl_parse(word, &r.control)) {
        fprintf(out, "ndkrun: --ioctl %s: expected DEVICE:CODE[:HEX], for example echo:0x12a004:00100000\n", word);
        return IOCTL_FAILED;
    }
    r.length = 0;
    if (!call_start(&r.call, request_run, &r)) {
        fprintf(out, "ndkrun: cannot create a thread for --ioctl %s\n", word);
        return IOCTL_FAILED;
    }
    return request_wait(&r, report_ms, out) ? request_print(&r, out) : IOCTL_HANGS;
}
