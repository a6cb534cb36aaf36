/* SPDX-License-Identifier: MIT */
/*
 * Functions that parse the values of options that several tools have. Each function is the member `set` of a
 * COMMAND_CALL option (see command.h). Its first parameter is the address of the option's field. It returns NULL, or a
 * text that describes the mistake.
 */
#ifndef TOOLS_CONNECTION_OPTIONS_H
#define TOOLS_CONNECTION_OPTIONS_H

/* Parses "HOST:PORT" into a struct endpoint. */
const char *option_set_host_port(void *endpoint, const char *value);
/* Parses "HOST" into a struct endpoint. */
const char *option_set_host(void *endpoint, const char *value);
/* Parses an interface's index or name, and stores the index in a uint32_t. */
const char *option_set_interface(void *if_index, const char *value);

/* Sets a profile in an ondk_config_t. `value` is one of the names in OPTION_PROFILES. */
#define OPTION_PROFILES "default|narrow|no-windows|shallow|minimal"
const char *option_set_profile(void *config, const char *value);

#endif
