/* SPDX-License-Identifier: MIT */
/*
 * Creates the library's threads and sets their signal masks and their stacks for signal handlers. The invariant: every
 * thread of the library is created here.
 *
 * Signals that are sent to the process are for the program's own threads, so library threads block them. The signals of
 * a thread's own faults (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT) are not blocked. If they were, the
 * kernel would kill the process at a fault, and no handler, sanitizer or debugger of the program could report the
 * fault. SIGPROF is not blocked, because profilers send it to the thread that has used the processor. Each thread has a
 * stack for handlers (SA_ONSTACK), so that an overflow of its own stack can be reported.
 */
#ifndef BASE_LIBRARY_THREAD_H
#define BASE_LIBRARY_THREAD_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

/*
 * Size of a thread's stack for signal handlers, in bytes. A handler can print a stack trace with it. The kernel's
 * signal frame needs additional space.
 */
enum { LIBRARY_THREAD_HANDLER_BYTES = 64 << 10 };

struct library_thread {
    void *(*routine)(void *argument);
    void *argument, *result;
    char *mapping; /* a guard page, and then the stack for signal handlers; NULL: the library has set no such stack */
    size_t mapping_size;
};

/*
 * Sets the calling thread's stack for signal handlers. Not inline: GCC would warn that the setjmp in the
 * pthread_cleanup_push of library_thread_run could clobber the variables of this function.
 */
__attribute__((noinline, unused)) static void library_thread_set_stack(struct library_thread *t)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (LIBRARY_THREAD_HANDLER_BYTES + getauxval(AT_MINSIGSTKSZ) + page - 1) / page * page;
    stack_t stack;
    void *mapping;

    t->mapping = NULL;
    if (sigaltstack(NULL, &stack) || !(stack.ss_flags & SS_DISABLE))
        return; /* a sanitizer has already set such a stack */
    mapping = mmap(NULL, page + size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED)
        return; /* the thread works without such a stack, but an overflow of its own stack is not reported */
    stack = (stack_t){ .ss_sp = (char *)mapping + page, .ss_size = size };
    if (mprotect(stack.ss_sp, size, PROT_READ | PROT_WRITE) || sigaltstack(&stack, NULL)) {
        munmap(mapping, page + size);
        return;
    }
    t->mapping = mapping;
    t->mapping_size = page + size;
}

static inline void library_thread_free_stack(void *argument)
{
    struct library_thread *t = argument;
    stack_t none = { .ss_flags = SS_DISABLE };

    if (t->mapping && !sigaltstack(&none, NULL))
        munmap(t->mapping, t->mapping_size);
}

/* Runs the routine of a library thread. The cleanup handler also runs if the routine calls pthread_exit. */
static inline void *library_thread_run(void *argument)
{
    struct library_thread t = *(struct library_thread *)argument;

    free(argument);
    pthread_cleanup_push(library_thread_free_stack, &t);
    library_thread_set_stack(&t);
    t.result = t.routine(t.argument);
    pthread_cleanup_pop(1);
    return t.result;
}

static inline void library_thread_signals(sigset_t *blocked)
{
    static const int received[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT, SIGPROF };

    sigfillset(blocked);
    for (size_t i = 0; i < sizeof received / sizeof received[0]; i++)
        sigdelset(blocked, received[i]);
}

/*
 * Creates a thread like pthread_create, with the signal mask and the handlers' stack of a library thread. `attr` may be
 * NULL. Returns 0 or an error number.
 */
static inline int library_thread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *),
                                        void *argument)
{
    struct library_thread *t = malloc(sizeof *t);
    sigset_t blocked, before;
    int err;

    if (!t)
        return ENOMEM;
    *t = (struct library_thread){ .routine = routine, .argument = argument };
    library_thread_signals(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    err = pthread_create(thread, attr, library_thread_run, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err)
        free(t);
    return err;
}

#endif
