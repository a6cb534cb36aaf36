/* SPDX-License-Identifier: MIT */
/*
 * The commands of --server and --client: the drivers' peers, in the run's network. A server is started before the first
 * driver is loaded, and ended after the last round. A client is started in each round after the drivers were loaded,
 * and ended at the end of the round. Only the program's thread calls these functions.
 */
#ifndef NDKRUN_PEERS_H
#define NDKRUN_PEERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "options.h"

/*
 * Creates the process that runs the commands (keeper.h). If this fails, prints a message and returns false. Requires
 * that this process has only the calling thread. If the options have no commands, this and all functions below do
 * nothing.
 */
bool peers_create(const struct options *o);

/*
 * Starts the servers, one after the other. Waits until each listens or has ended, at most 10 seconds for each. Returns
 * false if the drivers must not be loaded, because a server has failed or Ctrl-C was pressed.
 */
bool peers_start_servers(FILE *out);

/*
 * Must be called before the first driver of a round is loaded. Reports servers that have ended while the drivers of the
 * round before were unloaded. Their exit statuses count, because this round has to run without these servers.
 */
void peers_begin_round(FILE *out);
/* Waits until the drivers listen, at most 3 seconds, and starts the clients. */
void peers_start_clients(FILE *out);
/* Reports commands that have ended. Returns true if the options have clients, and all have ended. */
bool peers_have_ended(FILE *out);

/*
 * Begins the end of a round. A client that is still running counts as failed, unless Ctrl-C was pressed. The exit
 * status of a command that is still running does not count, because the unload of the drivers may be its cause.
 */
void peers_begin_end(FILE *out);
/* Ends the clients of the round. Must be called after the drivers were unloaded. */
void peers_end_round(FILE *out);
/* Ends all commands, and the process that runs them. */
void peers_end(FILE *out);

/*
 * Returns true if a command could not be started, was killed by a signal, or ended with an exit status other than 0, or
 * if a client has not ended in time. Ignores the commands that end after peers_begin_end.
 */
bool peers_have_failed(void);
/* Returns an array with an object for each command, or NULL if there is none. */
json_t *peers_json(void);

#endif
