/* SPDX-License-Identifier: MIT */
/* Ends the program at once: see exit_now.h. */
#include "exit_now.h"

#include <stdatomic.h>
#include <unistd.h>

static void (*_Atomic exit_clean_up_routine)(void); /* lock-free, because signal handlers read it */

void exit_set_clean_up(void (*clean_up)(void))
{
    atomic_store(&exit_clean_up_routine, clean_up);
}

void exit_clean_up(void)
{
    void (*clean_up)(void) = atomic_load(&exit_clean_up_routine);

    if (clean_up)
        clean_up();
}

void exit_now(int status)
{
    exit_clean_up();
    _exit(status);
}
