/* SPDX-License-Identifier: MIT */
/*
 * Sends requests to devices: see device_request.h.
 *
 * An IRP belongs to the driver from its dispatch until its completion. The request's thread sends the IRP, and waits
 * for its completion. The program's thread never touches the IRP: it waits for the request's thread, reports through
 * ondk_wdk_report_requests, and on Ctrl-C starts a thread that cancels. A cancellation and a completion may meet:
 *
 *   if IoCancelIrp is called         then
 *   before the request is sent       the call is repeated until the request's thread has returned
 *   before a cancel routine is set   the driver sets the routine, then finds that Irp->Cancel is TRUE
 *   with a cancel routine set        IoCancelIrp calls the routine, which completes the IRP
 *   while the driver completes it    only one of IoCancelIrp and the driver gets the routine, by an atomic exchange
 *   after the completion             a reference keeps the IRP's memory, and no routine is set
 */
#include "device_request.h"

#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "frames.h"
#include "hex.h"
#include "openndk/adapter.h"
#include "openndk/trace.h"
#include "openndk/wdk.h"
#include "output.h"
#include "status_text.h"
#include "watchdog.h"

enum { MAX_ERROR = 1024 };
enum { CANCEL_STEP_MS = 20, CANCEL_TIMEOUT_MS = 10000 };

/* ---- On a thread of its own: open, send, close ------------------------------------------------------------------ */

/*
 * A request in progress. Until the call has returned, *command must not change, and only the call's thread uses the
 * members after `call`. If the request hangs, the struct and the output are never freed.
 */
struct request {
    const struct device_command *command;
    char name[DEVICE_MAX_TEXT]; /* for messages */
    struct call call;
    enum { NOT_OPENED, NOT_SENT, ENDED } outcome;
    uint32_t status, length;
    char error[MAX_ERROR];
    uint8_t *output; /* command->output_length bytes */
};

/* Sends the request. Returns the result of the function of openndk/wdk.h. */
static int request_send(struct request *r, ondk_wdk_device_t *device)
{
    const struct device_command *c = r->command;

    switch (c->kind) {
    case DEVICE_CONTROL:
        return ondk_wdk_device_control(device, c->code, c->input, c->input_length, r->output, c->output_length,
                                       &r->length, &r->status);
    case DEVICE_READ:
        return ondk_wdk_read(device, c->offset, r->output, c->output_length, &r->length, &r->status);
    default:
        return ondk_wdk_write(device, c->offset, c->input, c->input_length, &r->length, &r->status);
    }
}

static void request_run(void *context)
{
    struct request *r = context;
    ondk_wdk_device_t *device;

    if (ondk_wdk_open(r->command->device, &device, &r->status)) {
        r->outcome = NOT_OPENED;
        snprintf(r->error, sizeof r->error, "%s", ondk_wdk_error());
        return;
    }
    r->outcome = ENDED;
    if (request_send(r, device)) {
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
    frames_print_thread(out, (int)thread);
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

    watchdog_pass(); /* does not return if the watchdog's time has passed: the watchdog then reports the hang */
    fprintf(out, "ndkrun: interrupted: %s is cancelled\n", r->name);
    has_thread = call_start(&cancel, request_cancel, r);
    if (!has_thread)
        fprintf(out, "ndkrun: cannot create a thread for the cancellation\n");
    if (!call_wait(&r->call, CANCEL_TIMEOUT_MS, false)) {
        fprintf(out, "ndkrun: %s has not ended %d seconds after it was cancelled; no driver is unloaded\n", r->name,
                CANCEL_TIMEOUT_MS / 1000);
        request_report(r, out);
        return false;
    }
    if (!has_thread || call_wait(&cancel, CANCEL_TIMEOUT_MS, false))
        return true;
    fprintf(out, "ndkrun: the cancel routine of %s has not returned for %d seconds; no driver is unloaded\n", r->name,
            CANCEL_TIMEOUT_MS / 1000);
    fprintf(out, "  thread %u is in the driver:\n", call_thread_id(&cancel));
    frames_print_thread(out, (int)call_thread_id(&cancel));
    return false;
}

static bool request_wait(struct request *r, uint32_t report_ms, FILE *out)
{
    if (report_ms) {
        if (call_wait(&r->call, (int)report_ms, true))
            return true;
        if (!call_interrupted()) {
            fprintf(out, "ndkrun: %s has not ended for %u.%u seconds; Ctrl-C cancels it\n", r->name, report_ms / 1000,
                    report_ms % 1000 / 100);
            request_report(r, out);
        }
    }
    return call_wait(&r->call, -1, true) || request_end_cancelled(r, out);
}

/* Prints the output, which exists unless the status is an error. */
static void request_print_output(const struct request *r, FILE *out)
{
    bool is_error = r->status >> 30 == 3; /* the test of the macro NT_ERROR */

    if (r->output && !is_error)
        hex_dump(r->output, r->length, out);
}

static enum device_result request_print(const struct request *r, FILE *out)
{
    switch (r->outcome) {
    case NOT_OPENED:
        fprintf(out, "ndkrun: cannot open %s\n", r->error);
        return DEVICE_FAILED;
    case NOT_SENT:
        fprintf(out, "ndkrun: %s could not be sent: %s\n", r->name, r->error);
        return DEVICE_FAILED;
    default:
        fprintf(out, "ndkrun: %s: %s, %u bytes\n", r->name, status_text(r->status), r->length);
        request_print_output(r, out);
        return NT_SUCCESS((NTSTATUS)r->status) ? DEVICE_SUCCEEDED : DEVICE_FAILED;
    }
}

enum device_result device_request_send(const struct device_command *command, uint32_t report_ms, FILE *out)
{
    struct request *r = calloc(1, sizeof *r);
    enum device_result result = DEVICE_FAILED;

    if (r) {
        r->command = command;
        (void)device_command_describe(command, r->name);
        r->output = command->output_length ? calloc(1, command->output_length) : NULL;
    }
    if (!r || (command->output_length && !r->output)) {
        fprintf(out, "ndkrun: %s: out of memory\n", command->device);
    } else if (!call_start(&r->call, request_run, r)) {
        fprintf(out, "ndkrun: cannot create a thread for %s\n", r->name);
    } else {
        if (!request_wait(r, report_ms, out))
            return DEVICE_HANGS;
        result = request_print(r, out);
    }
    if (r)
        free(r->output);
    free(r);
    return result;
}
