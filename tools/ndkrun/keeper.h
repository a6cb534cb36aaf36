/* SPDX-License-Identifier: MIT */
/*
 * Runs shell commands in a process of its own, the keeper, which also ends them if the program dies in any way. Each
 * command has a process group, so that everything that it starts can be ended.
 */
#ifndef NDKRUN_KEEPER_H
#define NDKRUN_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

/* An event of a command. */
struct keeper_event {
    enum keeper_news {
        KEEPER_STARTED, /* `value` is its process group, or a negative errno if it could not be started */
        KEEPER_ENDED,   /* its shell has ended; `value` is the status of waitpid */
        KEEPER_STOPPED, /* after keeper_end: `value` is an enum keeper_stop */
    } news;
    uint32_t index;
    int value;
};

/* How a process group ended. */
enum keeper_stop {
    KEEPER_STOP_ENDED,
    KEEPER_STOP_KILLED, /* SIGKILL was necessary */
    KEEPER_STOP_FAILED, /* it is still there, for example because a process belongs to another user */
};

enum {
    KEEPER_KILL_SECONDS = 5,    /* time between SIGTERM and SIGKILL */
    KEEPER_GIVE_UP_SECONDS = 3, /* time after SIGKILL */
};

/*
 * Creates the keeper of these commands, which must stay valid. Starts none. Requires that the process has only the
 * calling thread, and that it ignores SIGPIPE. Returns false and sets errno if there is no keeper.
 */
bool keeper_create(const char *const *commands, uint32_t count);
/* Starts the command, with standard output at standard error, and without standard input. KEEPER_STARTED follows. */
void keeper_run(uint32_t index);
/* Ends the process group of a command that was started: SIGTERM, later SIGKILL. KEEPER_STOPPED follows. */
void keeper_end(uint32_t index);
/* Waits for the next event, at most timeout_ms. Returns false if there is none. */
bool keeper_next(struct keeper_event *event, int timeout_ms);
/* Returns true if the keeper was killed. Then no event comes any more. */
bool keeper_is_lost(void);
/* Waits until the keeper has ended all commands or has given up, and ends it. */
void keeper_destroy(void);

#endif
