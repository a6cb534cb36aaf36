/* SPDX-License-Identifier: MIT */
/* Other threads of the process: what /proc shows about them, and their memory. No thread is stopped or signalled. */
#ifndef VERIFY_THREAD_STATE_H
#define VERIFY_THREAD_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum thread_state {
    THREAD_UNKNOWN, /* /proc does not show it */
    THREAD_RUNS,
    THREAD_WAITS, /* in the kernel */
    THREAD_ENDED,
};

/* The registers that Linux shows of a thread that waits. */
struct thread_registers {
    uintptr_t sp, pc;
};

/* Returns the state of the thread with this ID. Sets *r if the state is THREAD_WAITS. */
enum thread_state thread_get_registers(int thread, struct thread_registers *r);

/*
 * Copies `size` bytes of the process's memory from the address `from`. Returns the number of copied bytes, which is
 * smaller than `size` if not all of the memory is mapped.
 */
size_t thread_read_memory(uintptr_t from, void *to, size_t size);

#endif
