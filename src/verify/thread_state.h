/* SPDX-License-Identifier: MIT */
/*
 * Reads the state and the memory of other threads of the process, as /proc shows them. No thread is stopped or
 * signalled.
 */
#ifndef VERIFY_THREAD_STATE_H
#define VERIFY_THREAD_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum thread_state {
    THREAD_UNKNOWN, /* /proc does not show the state */
    THREAD_RUNS,
    THREAD_WAITS, /* the thread waits in the kernel */
    THREAD_ENDED,
};

/* The registers that Linux shows for a thread that waits. */
struct thread_registers {
    uintptr_t sp, pc;
};

/* Returns the state of the thread with the ID `thread`. If the thread waits, sets *r to its registers. */
enum thread_state thread_get_registers(int thread, struct thread_registers *r);

/*
 * Copies `size` bytes of the process's memory from the address `from`. Requires a size of at most 124 KiB. Returns the
 * number of copied bytes, which is smaller than `size` if some of the memory is not mapped.
 */
size_t thread_read_memory(uintptr_t from, void *to, size_t size);

#endif
