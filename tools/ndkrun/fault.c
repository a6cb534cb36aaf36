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

#include "frames.h"
#include "openndk/trace.h"
#include "output.h"

enum { REPORT_TIMEOUT_SECONDS = 10, CRASH_FRAMES = 32, CRASH_OWN_FRAMES = 2, CRASH_STACK = 1 << 17 };

static FILE *fault_out;

/*
 * Prints the fault to the output stream, so that output in the stream's buffer is not lost. Such a write is not
 * async-signal-safe and may deadlock; alarm() then ends the program.
 */
static void fault_handle(int number, siginfo_t *info, void *context)
{
    void *frames[CRASH_FRAMES];
    int depth = backtrace(frames, CRASH_FRAMES);

    (void)context;
    alarm(REPORT_TIMEOUT_SECONDS);
    signal(number, SIG_DFL);
    fprintf(fault_out, "*** %s at %p: the memory is not mapped or was freed\n", strsignal(number), info->si_addr);
    /* Subtracts 1, because a return address is after its call instruction. */
    for (int i = CRASH_OWN_FRAMES; i < depth; i++)
        frames_print_line(fault_out, i - CRASH_OWN_FRAMES, (const char *)frames[i] - (i > CRASH_OWN_FRAMES));
    fflush(fault_out); /* flushed before the events are printed, which may fail */
    (void)ondk_trace_print_last(fault_out, OUTPUT_LAST_EVENTS);
    fflush(fault_out);
    raise(number);
}

bool fault_has_sanitizer(void)
{
    return dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__tsan_init");
}

/*
 * Installs the handlers, and gives this thread a signal stack. The threads of the libraries and of call.c already have
 * one.
 */
void fault_install_handlers(FILE *out)
{
    struct sigaction action = { .sa_sigaction = fault_handle, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };
    static const int numbers[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE };
    static char handler_stack[CRASH_STACK];

    if (fault_has_sanitizer())
        return;
    fault_out = out;
    (void)sigaltstack(&(stack_t){ .ss_sp = handler_stack, .ss_size = sizeof handler_stack }, NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
}
