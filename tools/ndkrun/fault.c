/* SPDX-License-Identifier: MIT */
/* Reports faults: see fault.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "fault.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "exit_now.h"
#include "frames.h"
#include "openndk/trace.h"
#include "output.h"

enum { REPORT_TIMEOUT_SECONDS = 10, CRASH_FRAMES = 32, CRASH_OWN_FRAMES = 2, CRASH_STACK = 1 << 17 };

static FILE *fault_out;
static void (*fault_print_summary)(FILE *out);

/*
 * Prints the fault, the call stack and the last trace events to fault_out, and ends the program with the signal. Uses
 * the buffered stream, so that output that is already in the buffer is not lost. fprintf is not async-signal-safe and
 * may deadlock. Therefore alarm() ends the program after REPORT_TIMEOUT_SECONDS.
 */
static void fault_handle(int number, siginfo_t *info, void *context)
{
    void *frames[CRASH_FRAMES];
    int depth = backtrace(frames, CRASH_FRAMES);

    (void)context;
    alarm(REPORT_TIMEOUT_SECONDS);
    signal(number, SIG_DFL);
    fprintf(fault_out, "*** %s at %p: the memory is not mapped or was freed\n", strsignal(number), info->si_addr);
    /* The first printed frame is the address of the fault. The others are return addresses, which follow the call. */
    for (int i = CRASH_OWN_FRAMES; i < depth; i++)
        frames_print_line(fault_out, i - CRASH_OWN_FRAMES, (const char *)frames[i] - (i > CRASH_OWN_FRAMES));
    fflush(fault_out); /* so that the stack is written even if ondk_trace_print_last faults */
    (void)ondk_trace_print_last(fault_out, OUTPUT_LAST_EVENTS);
    fflush(fault_out);
    fault_print_summary(fault_out);
    fflush(fault_out);
    exit_clean_up();
    raise(number);
}

/* Adds the summary to the report of a bug check, which has been printed before the call of abort(). */
static void fault_handle_abort(int number)
{
    alarm(REPORT_TIMEOUT_SECONDS);
    signal(number, SIG_DFL);
    fault_print_summary(fault_out);
    fflush(fault_out);
    exit_clean_up();
    raise(number);
}

bool fault_has_sanitizer(void)
{
    return dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__tsan_init");
}

/*
 * Installs the signal handlers, and gives the calling thread a stack for them. The threads that OpenNDK's libraries and
 * call.c create already have such a stack.
 */
void fault_install_handlers(FILE *out, void (*print_summary)(FILE *out))
{
    struct sigaction action = { .sa_sigaction = fault_handle, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };
    struct sigaction aborted = { .sa_handler = fault_handle_abort };
    static const int numbers[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE };
    static char handler_stack[CRASH_STACK];

    fault_out = out;
    fault_print_summary = print_summary;
    (void)sigaction(SIGABRT, &aborted, NULL);
    if (fault_has_sanitizer())
        return;
    (void)sigaltstack(&(stack_t){ .ss_sp = handler_stack, .ss_size = sizeof handler_stack }, NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
}
