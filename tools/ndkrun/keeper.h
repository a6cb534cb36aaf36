/* SPDX-License-Identifier: MIT */
/*
 * Runs shell commands as children of a separate process, the keeper. The keeper ends the commands even if the program
 * is killed. Each command has a process group, so that the processes that it starts can be ended, too.
 */
#ifndef NDKRUN_KEEPER_H
#define NDKRUN_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

/* An event of a command. */
struct keeper_event {
    enum keeper_news {
        KEEPER_STARTED, /* `value` is the command's process group, or a negative errno if it could not be started */
        KEEPER_ENDED,   /* the command's shell has ended; `value` is the status of waitpid */
        KEEPER_STOPPED, /* after keeper_end: `value` is an enum keeper_stop */
    } news;
    uint32_t index;
    int value;
};

/* How a process group ended. */
enum keeper_stop {
    KEEPER_STOP_ENDED,
    KEEPER_STOP_KILLED, /* SIGKILL was necessary */
    KEEPER_STOP_FAILED, /* it has not ended, for example because a process belongs to another user */
};

enum {
    KEEPER_KILL_SECONDS = 5,    /* time between SIGTERM and SIGKILL */
    KEEPER_GIVE_UP_SECONDS = 3, /* time after SIGKILL */
};

/*
 * Creates the keeper for these commands, which must stay valid. Starts no command. Requires that the process has only
 * the calling thread. Returns false and sets errno if the keeper could not be created.
 */
bool keeper_create(const char *const *commands, uint32_t count);
/*
 * Starts the command. Its standard input is /dev/null, and its standard output is the program's standard error.
 * KEEPER_STARTED follows.
 */
void keeper_run(uint32_t index);
/*
 * Sends SIGTERM to the process group of a started command. Later sends SIGKILL, if a process of the group is left.
 * KEEPER_STOPPED follows.
 */
void keeper_end(uint32_t index);
/* Waits for the next event, at most timeout_ms. Returns false if there is none. */
bool keeper_next(struct keeper_event *event, int timeout_ms);
/* Returns true if keeper_next has found that the keeper was killed. No further event then arrives. */
bool keeper_is_lost(void);
/* Makes the keeper end all commands, as far as it can, and then exit. Waits until the keeper has exited. */
void keeper_destroy(void);

#endif
