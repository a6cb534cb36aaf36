/* SPDX-License-Identifier: MIT */
/* Reports faults: see fault.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "fault.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "exit_now.h"
#include "frames.h"
#include "openndk/trace.h"
#include "output.h"

enum { REPORT_TIMEOUT_SECONDS = 10, CRASH_FRAMES = 32, CRASH_STACK = 1 << 17 };

static FILE *fault_out;
static void (*fault_print_summary)(FILE *out);
/* Not NULL while this thread collects its call stack. If the collection faults, the handler jumps to *fault_escape. */
static _Thread_local sigjmp_buf *fault_escape;

/*
 * Stores the call stack in frames[CRASH_FRAMES], and returns the number of frames. If the driver has overwritten its
 * stack, the unwinder itself may fault. In this case sets *is_cut to true, and returns the number of frames that were
 * found before the unwinder's fault.
 */
static int fault_collect_frames(void **frames, bool *is_cut)
{
    sigjmp_buf escape;
    sigset_t faults;
    int depth = 0;

    /* SIGSEGV or SIGBUS is blocked if special pool's handler (wdk/mm/special_pool.c) has called fault_handle. */
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    sigaddset(&faults, SIGBUS);
    (void)pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
    memset(frames, 0, CRASH_FRAMES * sizeof frames[0]);
    *is_cut = sigsetjmp(escape, 0) != 0;
    if (!*is_cut) {
        fault_escape = &escape;
        (void)backtrace(frames, CRASH_FRAMES);
    }
    fault_escape = NULL;
    while (depth < CRASH_FRAMES && frames[depth])
        depth++;
    return depth;
}

/* Returns the address of the instruction that has faulted. */
static void *fault_address(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (void *)(uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (void *)(uintptr_t)context->uc_mcontext.pc;
#else
    (void)context;
    return NULL;
#endif
}

/* Prints the frames, beginning with the frame of the fault. The frames before that frame belong to signal handlers. */
static void fault_print_stack(void **frames, int depth, void *fault)
{
    int first = 0;

    while (first < depth && frames[first] != fault)
        first++;
    if (first == depth)
        first = 0;
    /* frames[first] is the instruction that has faulted. Each other frame is the address after a call instruction. */
    for (int i = first; i < depth; i++)
        frames_print_line(fault_out, i - first, (const char *)frames[i] - (i > first));
}

/*
 * Prints the fault, the call stack, the last trace events and the summary to fault_out, and ends the program with the
 * signal. Uses the buffered stream, so that output that is already in the buffer is not lost. fprintf is not
 * async-signal-safe and may deadlock. Therefore alarm() ends the program after REPORT_TIMEOUT_SECONDS.
 */
static void fault_handle(int number, siginfo_t *info, void *context)
{
    void *frames[CRASH_FRAMES];
    bool is_cut;
    int depth;

    alarm(REPORT_TIMEOUT_SECONDS); /* set first, because the unwinder (in fault_collect_frames) may not return */
    if (fault_escape)
        siglongjmp(*fault_escape, 1);
    depth = fault_collect_frames(frames, &is_cut);
    signal(number, SIG_DFL);
    fprintf(fault_out, "*** %s at %p: the memory is not mapped or was freed\n", strsignal(number), info->si_addr);
    fault_print_stack(frames, depth, fault_address(context));
    if (is_cut)
        fprintf(fault_out, "    the stack cannot be followed further: the thread has overwritten it. "
                           "ndk-cc --sanitize address makes ndkrun name the write\n");
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
