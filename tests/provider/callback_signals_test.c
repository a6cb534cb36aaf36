/* SPDX-License-Identifier: MIT */
/*
 * Signals in the provider's threads: faults in a consumer's callback, and in memory into which messages are placed,
 * reach the program's handlers and the sanitizer. Signals for the process do not interrupt these threads.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract/kit/kit.h"
#include "openndk/adapter.h"

enum { REPORT_ROOM = 1 << 16, TRANSFER = 1 << 20, DATA = 1 << 16 };

/* Calls run(call) in a thread of the provider, in the completion of a creation. */
static void call_back(void (*run)(struct kit_call *call))
{
    struct kit_config c = kit_config();
    struct kit_call create = { .inside = run };
    NDK_PD *pd = NULL;

    c.pend_creates = 1;
    kit_configure(&c);
    NDK_ADAPTER *adapter = kit_open(2, 1);
    CHECK_STATUS(adapter->Dispatch->NdkCreatePd(adapter, kit_create_done, &create, &pd), STATUS_PENDING);
    kit_wait_calls(&create, 1);
    CHECK_STATUS(kit_close(create.object), STATUS_SUCCESS);
    kit_close_adapter(adapter);
}

static void handle(int number, void (*handler)(int number, siginfo_t *info, void *context))
{
    struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK };

    CHECK_EQ(sigaction(number, &action, NULL), 0);
}

/* ---- which signals ---- */

static const int received[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT, SIGPROF };
static _Thread_local volatile sig_atomic_t handled;

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)info, (void)context;
    handled = number;
}

static void raise_them(struct kit_call *call)
{
    sigset_t blocked;

    (void)call;
    CHECK(ondk_on_provider_thread());
    for (size_t i = 0; i < sizeof received / sizeof received[0]; i++) {
        raise(received[i]);
        CHECK_EQ(handled, received[i]);
    }
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &blocked), 0);
    for (int number = 1; number <= SIGRTMAX; number++) {
        bool is_received = number == SIGKILL || number == SIGSTOP || (number >= 32 && number < SIGRTMIN);

        for (size_t i = 0; i < sizeof received / sizeof received[0]; i++)
            is_received = is_received || received[i] == number;
        if (sigismember(&blocked, number) != !is_received)
            kit_fail(__FILE__, __LINE__, "signal %d (%s) is %s", number, strsignal(number),
                     is_received ? "blocked" : "not blocked");
    }
}

CASE(signals_of_a_callback, 0)
{
    for (size_t i = 0; i < sizeof received / sizeof received[0]; i++)
        handle(received[i], on_signal);
    call_back(raise_them);
}

/* ---- faults of a callback ---- */

static sigjmp_buf back;
static void *volatile fault_address;
static volatile bool on_own_stack;
static uintptr_t stack_start, stack_end;

static void jump_back(int number, siginfo_t *info, void *context)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    (void)number, (void)context;
    fault_address = info->si_addr;
    on_own_stack = here >= stack_start && here < stack_end;
    siglongjmp(back, 1);
}

/* Not instrumented, so that the sanitizers report the fault and not the access. */
__attribute__((noinline, no_sanitize("undefined", "address", "thread"))) static void
null_in_callback(struct kit_call *c)
{
    volatile int *volatile nothing = NULL; /* hides the value from the compiler */

    (void)c;
    *nothing = 1;
}

static void null_with_handler(struct kit_call *call)
{
    fault_address = call;
    if (!sigsetjmp(back, 1))
        null_in_callback(call);
}

CASE(null_in_a_callback, 0)
{
    handle(SIGSEGV, jump_back);
    call_back(null_with_handler);
    CHECK(fault_address == NULL);
}

__attribute__((noinline, no_sanitize("undefined", "address", "thread"))) static int overflow(int depth)
{
    volatile char frame[4096];

    frame[0] = (char)depth;
    return overflow(depth + 1) + frame[0];
}

static void overflow_with_handler(struct kit_call *call)
{
    pthread_attr_t attr;
    void *start;
    size_t size;

    (void)call;
    CHECK_EQ(pthread_getattr_np(pthread_self(), &attr), 0);
    CHECK_EQ(pthread_attr_getstack(&attr, &start, &size), 0);
    pthread_attr_destroy(&attr);
    stack_start = (uintptr_t)start;
    stack_end = stack_start + size;
    on_own_stack = true;
    if (!sigsetjmp(back, 1))
        (void)overflow(0);
}

CASE(stack_overflow_in_a_callback, 0)
{
    handle(SIGSEGV, jump_back);
    call_back(overflow_with_handler);
    CHECK(!on_own_stack);
}

/* ---- faults of data ---- */

/* The last pages of a side's region are mapped when they are accessed. */
static uint8_t *absent;
static size_t absent_size;
static atomic_int faults;

static void map_pages(int number, siginfo_t *info, void *context)
{
    uint8_t *at = info->si_addr;

    (void)context;
    if (at < absent || at >= absent + absent_size || mprotect(absent, absent_size, PROT_READ | PROT_WRITE)) {
        signal(number, SIG_DFL);
        return;
    }
    atomic_fetch_add(&faults, 1);
}

static void move_data(uint32_t crc, bool absent_at_source)
{
    static struct kit_pair p;
    struct kit_config c = kit_config();

    c.crc = crc;
    kit_configure(&c);
    kit_pair_open(&p);
    kit_pattern(p.active.memory + DATA, TRANSFER, 7);
    handle(SIGSEGV, map_pages);
    absent_size = TRANSFER / 2;
    absent = (absent_at_source ? p.active.memory : p.passive.memory) + DATA + TRANSFER / 2;
    CHECK_EQ(mprotect(absent, absent_size, PROT_NONE), 0);
    CHECK_STATUS(kit_post_write(&p.active, 1, DATA, TRANSFER, &p.passive, DATA), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    kit_exchange(&p.active, &p.passive); /* it arrives after the data, which has been placed then */
    CHECK(atomic_load(&faults) > 0);
    CHECK(kit_pattern_is(p.passive.memory + DATA, TRANSFER, 7));
    kit_pair_close(&p);
}

CASE(fault_while_placing, 0)
{
    move_data(1, false);
}

CASE(fault_while_placing_without_crc, 0)
{
    move_data(0, false);
}

CASE(fault_while_sending, 0)
{
    move_data(1, true);
}

CASE(fault_while_sending_without_crc, 0)
{
    move_data(0, true);
}

/* ---- a sanitizer's report ---- */

/* Returns what a child that runs this case prints. */
static char *report_of_null(void)
{
    static char text[REPORT_ROOM];
    int pipes[2], status;
    size_t have = 0;
    ssize_t n;

    CHECK_EQ(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], STDERR_FILENO);
        close(pipes[0]);
        close(pipes[1]);
        call_back(null_in_callback);
        _exit(0);
    }
    close(pipes[1]);
    while ((n = read(pipes[0], text + have, sizeof text - 1 - have)) > 0)
        have += (size_t)n;
    close(pipes[0]);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
    return text;
}

CASE(null_is_reported_by_a_sanitizer, 0)
{
#if defined __SANITIZE_ADDRESS__
    const char *text = report_of_null();

    if (!strstr(text, "AddressSanitizer: SEGV on unknown address 0x000000000000") ||
        !strstr(text, "in null_in_callback") || !strstr(text, "in object_run_created"))
        kit_fail(__FILE__, __LINE__, "the report is:\n%s", text);
#elif defined __SANITIZE_THREAD__
    const char *text = report_of_null();

    if (!strstr(text, "ThreadSanitizer: SEGV on unknown address 0x000000000000"))
        kit_fail(__FILE__, __LINE__, "the report is:\n%s", text);
#else
    (void)report_of_null;
    kit_skip("this build has no sanitizer");
#endif
}
