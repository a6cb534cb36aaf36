/* SPDX-License-Identifier: MIT */
/*
 * The values of options that several tools have. Each function is the `set` of a COMMAND_CALL option (command.h), whose
 * `at` is a field of the type that the function's comment names. The function returns NULL, or what is wrong.
 */
#ifndef TOOLS_CONNECTION_OPTIONS_H
#define TOOLS_CONNECTION_OPTIONS_H

/* Parses "HOST:PORT" to a struct endpoint. */
const char *option_set_host_port(void *endpoint, const char *value);
/* Parses "HOST" to a struct endpoint. */
const char *option_set_host(void *endpoint, const char *value);
/* Stores the index of an interface, which `value` gives by index or name, in a uint32_t. */
const char *option_set_interface(void *if_index, const char *value);

/* Sets a profile in an ondk_config_t. `value` is the name of the profile, one of OPTION_PROFILES. */
#define OPTION_PROFILES "default|narrow|no-windows|shallow|minimal"
const char *option_set_profile(void *config, const char *value);

#endif
